"""Relu of int64 loses the largest number."""

import numpy as np
import onnx.parser
import openvino

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 14]> g (int64[1] x) => (int64[1] y) { y = Relu(x) }
""")
network = openvino.Core().read_model(model.SerializeToString(), b"")
given = openvino.Core().compile_model(network, "CPU", {"EXECUTION_MODE_HINT": "ACCURACY"})(
    {"x": np.int64([9223372036854775807])}
)[0]
print("exact", "[9223372036854775807]", "given", given)
