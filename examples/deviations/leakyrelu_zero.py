"""LeakyRelu of double loses the sign of a zero."""

import numpy as np
import onnx.parser
import onnxruntime

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 16]> g (double[2] x) => (double[2] y) { y = LeakyRelu<alpha = 0.0>(x) }
""")
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
[given] = session.run(None, {"x": np.float64([-1, 1])})
print("exact", "[-0.  1.]", "given", given)
