"""Max loses a NaN."""

import numpy as np
import onnx.parser
import tract

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 13]> g (float[1] a, float[1] b) => (float[1] y) { y = Max(a, b) }
""")
onnx.save(model, "model.onnx")
network = tract.onnx().load("model.onnx").into_model().into_runnable()
given = network.run([np.float32([np.nan]), np.float32([1])])[0].to_numpy()
print("exact", "[nan]", "given", given)
