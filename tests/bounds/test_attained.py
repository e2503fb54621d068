"""How much of a bound roundings reach: a run of numbers that an implementation may compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser

import sonnx
from sonnx.bounds import attained
from sonnx.bounds.analysis import Analyser
from sonnx.bounds.box import box_of_arrays
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from tests.support.cases import each_case, examples
from tests.support.deep_networks import SMALL, centre_of

HEAD = '<ir_version: 9, opset_import: ["" : 17]> g '
UNIT = 2.0**-24


def product(seed: int, terms: int) -> tuple[bytes, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Y = relu(x w) v, the input, and w."""
    draw = np.random.default_rng(seed)
    x, w, v = (draw.standard_normal(shape).astype("f4") for shape in ((1, terms), (terms, 5), (5, 2)))
    model = onnx.parser.parse_model(f"{HEAD}(float[1, {terms}] x) => (float[1, 2] y) {{ h = MatMul(x, w) r = Relu(h)"
                                    " y = MatMul(r, v) }")  # fmt: skip
    model.graph.initializer.extend([onnx.numpy_helper.from_array(w, "w"), onnx.numpy_helper.from_array(v, "v")])
    return model.SerializeToString(), x, w


@each_case("seed", range(examples(3, 30)))
@each_case("terms", [1, 2, 50])
def test_each_number_is_one_that_a_sum_in_some_order_may_give(seed: int, terms: int) -> None:
    """By the plain bound of n roundings, n u / (1 - n u) Σ |a| |b|; and it is a float."""
    model, x, w = product(seed, terms)
    ready = read(model)
    analyser = Analyser(ready, hypotheses_named("ieee-any"))
    box = box_of_arrays(ready, {"x": x})
    y = analyser.run(box).values["y"]
    signs = attained.directions(y, attained.worst_row(y))
    assert signs is not None
    domain = attained.InjectedDomain(analyser.hypotheses, None, analyser.memory, signs)
    analyser._interpreted(domain, {"x": (box["x"].low, box["x"].high, None)})
    h = domain.nodes["h"].low
    most = terms * UNIT / (1 - terms * UNIT) * (np.abs(x.astype(float)) @ np.abs(w.astype(float)))
    assert (np.abs(h - x.astype(float) @ w.astype(float)) <= most * (1 + 1e-6)).all()
    assert np.array_equal(h, h.astype("f4"))
    assert np.array_equal(domain.nodes["r"].low, np.maximum(h, 0))


@each_case("kind", ["resnet", "transformer", "mobile"])
def test_the_report_says_within_how_many_times(kind: str) -> None:
    model = SMALL[kind](1)
    found = sonnx.bound(model.SerializeToString(), {"x": centre_of(model)}, unchecked=True)
    assert found.attained is not None and 0.3 < found.attained <= 1
    assert f"within {1 / found.attained:.3g} times what the hypotheses allow" in found.to_text()


def test_steps_inside_a_node_are_not_set_so_nothing_is_said() -> None:
    model = SMALL["lstm"](1)
    found = sonnx.bound(model.SerializeToString(), {"x": centre_of(model)}, unchecked=True)
    assert found.attained is None
    assert "attained" not in found.to_text()


def test_forms_that_were_not_run_are_named() -> None:
    """A Conv without kernel_shape is not among the node tests that onnxruntime was run on."""
    model = SMALL["resnet"](0)
    named = sonnx.bound(model.SerializeToString(), {"x": centre_of(model)}, "onnxruntime-cpu", unchecked=True)
    assert any("Conv" in node for node in named.not_run)
    assert "assumed: " in named.to_text()
    other = sonnx.bound(model.SerializeToString(), {"x": centre_of(model)}, "ieee-any", unchecked=True)
    assert other.not_run == ()
