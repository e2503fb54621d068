"""ReduceMax of double loses a NaN."""

import numpy as np
import onnx.parser
import onnxruntime

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 13]> g (double[2] x) => (double[1] y) { y = ReduceMax<axes = [0]>(x) }
""")
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
[given] = session.run(None, {"x": np.float64([3, np.nan])})
print("exact", "[nan]", "given", given)
