"""ReduceMax loses a NaN."""

import numpy as np
import onnx.parser
import tract

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 13]> g (float[5] x) => (float[1] y) { y = ReduceMax<axes = [0]>(x) }
""")
onnx.save(model, "model.onnx")
network = tract.onnx().load("model.onnx").into_model().into_runnable()
given = network.run([np.float32([2, np.nan, 7, 4, 1])])[0].to_numpy()
print("exact", "[nan]", "given", given)
