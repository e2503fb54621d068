"""ReduceMax loses a NaN."""

import numpy as np
import onnx.parser
import onnxruntime

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 13]> g (float[5] x) => (float[1] y) { y = ReduceMax<axes = [0]>(x) }
""")
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
[given] = session.run(None, {"x": np.float32([2, np.nan, 7, 4, 1])})
print("exact", "[nan]", "given", given)
