"""Pow of int64 goes through double."""

import numpy as np
import onnx.parser
import onnxruntime

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 15]> g (int64[2] a, int64[2] b) => (int64[2] y) { y = Pow(a, b) }
""")
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
[given] = session.run(None, {"a": np.int64([9007199254740993, 3]), "b": np.int64([1, 39])})
print("exact", "[9007199254740993 4052555153018976267]", "given", given)
