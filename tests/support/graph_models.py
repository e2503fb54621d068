"""Models of a few nodes with outputs of any type, for tests of bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def graph_model(nodes: list[Any], shapes: dict[str, tuple[int, ...]], outputs: list[str], constants: dict[str, Any],
                element: int = TensorProto.FLOAT) -> Any:  # fmt: skip
    """A model of nodes, with outputs of any type."""
    made = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, element, shape) for name, shape in shapes.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()],
    )  # fmt: skip
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
