"""Networks whose ideal outputs are safe and whose computed outputs are not, as in arXiv 2506.01054, are never verified.

Each detects how it is computed: constants that the first layer makes cancel in a sum, to 1 ideally and to 0 as some
implementation rounds; a Relu passes the difference on, and ten times it is added to the output.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from sonnx.properties.certificate_checker import layers
from sonnx.properties.result import PropertyAnswer
from tests.properties.test_search import verified
from tests.support.cases import each_case
from tests.support.layer_networks import vnnlib

F = np.float32
Sums = Callable[[np.ndarray], np.float32]
MADE, WEIGHED, SCALE, COMPUTED = range(4)
DETECTORS: dict[str, tuple[list[float], list[float], float, Sums]] = {
    "order": ([2.0**25, 1.0, 2.0**25], [1.0, 1.0, -1.0], 1.0, lambda p: F(F(p[0] + p[1]) + p[2])),
    "width": ([1.0, 2.0**-30, 1.0], [1.0, 1.0, -1.0], 2.0**30, lambda p: F(F(p[0] + p[1]) + p[2])),
    "unfused product": (
        [1 + 2.0**-12, 1 + 2.0**-11], [1 + 2.0**-12, -1.0], 2.0**24, lambda p: F(p[0] + p[1]),
    ),
    "flush to zero": ([2.0**-130], [2.0**64], 2.0**66, lambda p: F(0)),
}  # fmt: skip
"""The constants of the first layer, their weights, the weight of the sum, and a sum of products that rounds to 0."""


def detector(made: list[float], weighed: list[float], scale: float, mirrored: bool) -> bytes:
    """x of shape [1, 1] to y = x + 10 Relu(1 - scale * sum); `mirrored` negates x twice, so that it is no chain."""
    n = len(made)
    constants = {
        "W1": np.array([[1.0] + [0.0] * n]), "b1": np.array([[0.0, *made]]),
        "W2": np.array([[1.0, 0.0]] + [[0.0, w] for w in weighed]), "b2": np.array([[0.0, 0.0]]),
        "W3": np.array([[1.0, 0.0], [0.0, -scale]]), "b3": np.array([[0.0, 1.0]]),
        "W4": np.array([[1.0], [10.0]]),
    }  # fmt: skip
    nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("Neg", ["n"], ["h0"])] if mirrored else []
    before = "h0" if mirrored else "x"
    for number in (1, 2, 3):
        nodes += [
            helper.make_node("MatMul", [before, f"W{number}"], [f"p{number}"]),
            helper.make_node("Add", [f"p{number}", f"b{number}"], [f"s{number}"]),
            helper.make_node("Relu", [f"s{number}"], [f"h{number}"]),
        ]
        before = f"h{number}"
    nodes.append(helper.make_node("MatMul", [before, "W4"], ["y"]))
    ends = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [1, 1]) for each in ("x", "y")]
    stored = [numpy_helper.from_array(value.astype(F), key) for key, value in constants.items()]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


@each_case(("name", "mirrored"), [(name, mirrored) for name in DETECTORS for mirrored in (False, True)])
def test_a_detector_of_its_implementation_is_not_verified(name: str, mirrored: bool, tmp_path: Path) -> None:
    made, weighed, scale, rounded = DETECTORS[name]
    assert scale * sum(m * w for m, w in zip(made, weighed, strict=True)) == 1.0  # exact in double precision
    products = np.array(made, F) * np.array(weighed, F)
    assert rounded(products) == 0.0  # so that the output is above 10
    model = detector(made, weighed, scale, mirrored)
    assert mirrored or layers(model)
    hypotheses = "onnxruntime-cpu" if name == "flush to zero" else "ieee-any"
    found = verified(model, vnnlib(1, 1, 1, "(>= Y_0 5)"), tmp_path, search=1.0, hypotheses=hypotheses)
    assert found.answer in (PropertyAnswer.IDEAL, PropertyAnswer.OPEN)
    assert found.certificate is None


@each_case("mirrored", [False, True])
def test_the_same_network_without_a_detector_is_verified(mirrored: bool, tmp_path: Path) -> None:
    model = detector([1.0, 1.0, 1.0], [1.0, 1.0, -1.0], 1.0, mirrored)
    found = verified(model, vnnlib(1, 1, 1, "(>= Y_0 5)"), tmp_path, search=5.0)
    assert found.answer is PropertyAnswer.HOLDS
