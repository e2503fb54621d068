"""ArgMax loses a NaN: it is the greatest element, at index 1."""

import numpy as np
import onnx.parser
import onnxruntime

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 13]> g (float[2, 2] x) => (int64[2, 1] y) { y = ArgMax<axis = 1>(x) }
""")
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
[given] = session.run(None, {"x": np.float32([[1, 2], [3, np.nan]])})
print("exact", "[[1] [1]]", "given", given)
