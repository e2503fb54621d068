"""QuantizeLinear of a large number is 0."""

import numpy as np
import onnx.parser
from onnx.reference import ReferenceEvaluator

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 21]> g (float[1] x, float s, uint8 z) => (uint8[1] y) { y = QuantizeLinear(x, s, z) }
""")
[given] = ReferenceEvaluator(model).run(None, {"x": np.float32([3.4028235e38]), "s": np.float32(1), "z": np.uint8(0)})
print("exact", "[255]", "given", given)
