"""An implementation of Relu, as a program for sonnx suite run.

    sonnx suite run suite --operator Relu --command 'python relu.py {model} {inputs} {outputs}'

It reads input_0.pb in the folder of the inputs and writes output_0.pb.  What it does not implement it refuses: it ends
with an exit code that is not 0, and a line that says why.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

model, inputs, outputs = map(Path, sys.argv[1:])
for node in onnx.load(model).graph.node:
    if node.op_type != "Relu":
        sys.exit(f"{node.op_type} is not implemented")
x = numpy_helper.to_array(onnx.TensorProto.FromString((inputs / "input_0.pb").read_bytes()))
y = np.where(x < 0, np.zeros_like(x), x)  # a NaN stays, and so does -0
(outputs / "output_0.pb").write_bytes(numpy_helper.from_array(y).SerializeToString())
