"""Sigmoid is not within the bound of correctly rounded functions."""

import numpy as np
import onnx.parser
import onnxruntime

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 13]> g (float[1] x) => (float[1] y) { y = Sigmoid(x) }
""")
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
[given] = session.run(None, {"x": np.float32([-1.5])})
print("exact", "[0.18242553]", "given", given)
