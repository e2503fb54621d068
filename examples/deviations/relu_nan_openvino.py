"""Relu makes 0 of a NaN."""

import numpy as np
import onnx.parser
import openvino

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 14]> g (float[1] x) => (float[1] y) { y = Relu(x) }
""")
network = openvino.Core().read_model(model.SerializeToString(), b"")
given = openvino.Core().compile_model(network, "CPU", {"EXECUTION_MODE_HINT": "ACCURACY"})({"x": np.float32([np.nan])})[
    0
]
print("exact", "[nan]", "given", given)
