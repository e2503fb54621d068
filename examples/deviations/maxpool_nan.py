"""MaxPool of float16 loses a NaN."""

import numpy as np
import onnx.parser
import onnxruntime

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 22]> g (float16[1, 1, 2] x) => (float16[1, 1, 1] y) { y = MaxPool<kernel_shape = [2]>(x) }
""")
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
[given] = session.run(None, {"x": np.float16([[[np.nan, np.inf]]])})
print("exact", "[[[nan]]]", "given", given)
