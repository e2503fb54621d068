"""MaxPool loses a NaN."""

import numpy as np
import onnx.parser
import openvino

model = onnx.parser.parse_model("""
<ir_version: 10, opset_import: ["" : 22]> g (float[1, 1, 2] x) => (float[1, 1, 1] y) { y = MaxPool<kernel_shape = [2]>(x) }
""")
network = openvino.Core().read_model(model.SerializeToString(), b"")
given = openvino.Core().compile_model(network, "CPU", {"EXECUTION_MODE_HINT": "ACCURACY"})(
    {"x": np.float32([[[np.nan, 1]]])}
)[0]
print("exact", "[[[nan]]]", "given", given)
