"""ReduceMax of int64 misses an element beyond 32 bits."""

import numpy as np
import onnx.parser
import onnxruntime

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 13]> g (int64[4] x) => (int64[1] y) { y = ReduceMax<axes = [0]>(x) }
""")
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
[given] = session.run(None, {"x": np.int64([2147483646, 2147483647, 2147483648, 2147483649])})
print("exact", "[2147483649]", "given", given)
