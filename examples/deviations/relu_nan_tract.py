"""Relu makes 0 of a NaN."""

import numpy as np
import onnx.parser
import tract

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 14]> g (float[1] x) => (float[1] y) { y = Relu(x) }
""")
onnx.save(model, "model.onnx")
network = tract.onnx().load("model.onnx").into_model().into_runnable()
given = network.run([np.float32([np.nan])])[0].to_numpy()
print("exact", "[nan]", "given", given)
