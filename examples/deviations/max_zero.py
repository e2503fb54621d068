"""Whether Max(+0, -0) is +0 depends on the place of the element."""

import numpy as np
import onnx.parser
import onnxruntime

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 13]> g (float[5] a, float[5] b) => (float[5] y) { y = Max(a, b) }
""")
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
[given] = session.run(None, {"a": np.zeros(5, np.float32), "b": -np.zeros(5, np.float32)})
print("exact", "[0. 0. 0. 0. 0.]", "given", given)
