"""A slice of the bounds campaign (tests/support/fusions.py), and that it notices what it is there to notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sonnx.numerics.enclosures import powers, sums
from sonnx.numerics.enclosures.arithmetic import Factors
from tests.support import fusions
from tests.support.cases import each_case, examples


def test_a_slice_of_the_campaign() -> None:
    values = examples(15_000, 30_000)
    tally = fusions.campaign(values, 3)
    assert not tally.broken, str(tally)
    assert set(tally.networks) == set(fusions.EVERY_TOPIC)
    assert all(tally.values[topic] > 0 for topic in fusions.EVERY_TOPIC)
    assert tally.makers["onnxruntime"] > values // 10
    assert tally.makers["steps"] > values // 2


@pytest.mark.campaign
def test_no_implementation_breaks_a_claim() -> None:
    tally = fusions.campaign(10_000_000, 1)
    assert not tally.broken, str(tally)


def without_factors_that_follow(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Factors, "after_rounding", 1.0)


def without_sums_before_scales(patch: pytest.MonkeyPatch) -> None:
    finite = sums.finite
    patch.setattr(sums, "finite", lambda *given: finite(*given[:5]))


def without_constants_multiplied_in_advance(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        Factors, "scaled", lambda self, size, **_: Factors((*self.sizes, max(size, 1.0)), self.constants, self.operand)
    )


def without_sums_that_are_carried(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(powers, "carried", lambda context, made, squares: made)


def without_rounded_constants(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("sonnx.bounds.domain._rounded", lambda inputs, outputs: False)


def without_scales_before_products(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("sonnx.numerics.enclosures.bilinear.as_operand", lambda context, value: sums.term(value))


FAULTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str, int]] = {
    "factors that follow a rounding": (without_factors_that_follow, "normalization", 8),
    "sums before their scales": (without_sums_before_scales, "scaled sums", 1),
    "constants multiplied in advance": (without_constants_multiplied_in_advance, "convolutions", 2),
    "sums that are carried on": (without_sums_that_are_carried, "response", 20),
    "rounded constants": (without_rounded_constants, "casts", 11),
    "scales before products": (without_scales_before_products, "constants", 12),
    "quantized values": (without_sums_before_scales, "quantized", 5),
}
"""A fault of the bounds, a topic, and the number of a network of `campaign(…, 1)` that shows it."""


@each_case("name", FAULTS)
def test_a_fault_of_the_bounds_breaks_a_claim(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault, topic, number = FAULTS[name]
    with monkeypatch.context() as patch:
        fault(patch)
        tally = fusions.Tally()
        fusions.one(tally, 1, number, topic)
    assert tally.broken, f"{name}: another network of seed 1 may show it, if the drawing of networks has changed"


def test_a_network_depends_on_its_number_only() -> None:
    one, two = (fusions.campaign(3_000, 5, topics) for topics in (["casts"], ["casts", "constants"]))
    assert one.values["casts"] >= two.values["casts"] > 0
    first, second = (fusions.network(np.random.default_rng([5, 2, 1]), "constants") for _ in "ab")
    assert [each.name for each in first.stages] == [each.name for each in second.stages]
    assert (first.x == second.x).all()


@each_case("order", ["inside", "outside", "not finite"])
def test_the_tally_tells_what_broke(order: str) -> None:
    claim: Any = type("Claim", (), {"low": np.zeros(2), "high": np.ones(2), "error": np.full(2, 0.5)})
    tally = fusions.Tally()
    tally.networks["casts"] = 4
    computed = {"inside": [-0.5, 1.5], "outside": [0.5, 1.75], "not finite": [np.nan, 0.5]}[order]
    tally.compare("casts", "steps flushed", claim, np.array(computed))
    tally.compare("casts", "steps", None, np.array(computed))
    assert tally.values["casts"] == 2
    assert (tally.claims["casts"], tally.claims["casts, none"]) == (1, 1)
    assert [*tally.broken] == ([] if order == "inside" else [("casts", f"steps, {order}")])
    if order == "outside":
        assert "first by network 4: steps flushed: 1.75, claimed [0.0, 1.0] +- 0.5" in str(tally)
