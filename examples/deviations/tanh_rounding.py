"""Tanh is not the nearest number."""

import numpy as np
import onnx.parser
import onnxruntime

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 13]> g (float[1] x) => (float[1] y) { y = Tanh(x) }
""")
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
[given] = session.run(None, {"x": np.float32([0.3357037305831909])})
print("exact", "[0.32363647]", "given", given)
