"""Max loses a NaN."""

import numpy as np
import onnx.parser
import openvino

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 13]> g (float[1] a, float[1] b) => (float[1] y) { y = Max(a, b) }
""")
network = openvino.Core().read_model(model.SerializeToString(), b"")
given = openvino.Core().compile_model(network, "CPU", {"EXECUTION_MODE_HINT": "ACCURACY"})(
    {"a": np.float32([np.nan]), "b": np.float32([1])}
)[0]
print("exact", "[nan]", "given", given)
