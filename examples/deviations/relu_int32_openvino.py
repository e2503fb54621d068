"""Relu of int32 makes a negative number of the largest one."""

import numpy as np
import onnx.parser
import openvino

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 14]> g (int32[1] x) => (int32[1] y) { y = Relu(x) }
""")
network = openvino.Core().read_model(model.SerializeToString(), b"")
given = openvino.Core().compile_model(network, "CPU", {"EXECUTION_MODE_HINT": "ACCURACY"})(
    {"x": np.int32([2147483647])}
)[0]
print("exact", "[2147483647]", "given", given)
