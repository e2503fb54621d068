"""Parts that are sides of neurons: in the search, in certificates, and broken ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from sonnx.properties import certificate_checker as checker
from tests.support.cases import each_case
from tests.support.certificate_mutants import certified, changed_certificates, outcome
from tests.support.layer_networks import network, vnnlib

Certified = tuple[bytes, str, str]


@pytest.fixture(scope="module")
def divided(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    """A model of twelve inputs, a property, and a certificate with sides of neurons."""
    folder = tmp_path_factory.mktemp("phases")
    for seed in range(2, 40, 2):
        case = certified(seed, folder)
        if case is not None and case[2].count('"neuron"') > 2:
            return case[:3]
    raise AssertionError("no property was decided by signs of neurons")


def nodes(tree: Any) -> list[dict[str, Any]]:
    """All parts of a tree."""
    return [tree, *(part for side in ("above", "below") if side in tree for part in nodes(tree[side]))]


def test_the_checker_accepts_sides_of_neurons(divided: Certified) -> None:
    model, text, certificate = divided
    [tree] = json.loads(certificate)["boxes"]
    assert checker.check(model, text.encode(), certificate.encode()).leaves == certificate.count('"slopes"')
    assert any(any(one for one in part.get("multipliers", [])) for part in nodes(tree))


def test_a_changed_certificate_claims_the_same_or_is_refused(divided: Certified) -> None:
    model, text, certificate = divided
    assert {outcome(model, text, changed) for changed in changed_certificates(certificate, 60, 3)} <= {
        "refused", "accepted, with the same claim",
    }  # fmt: skip


BREAKS = {
    "a multiplier below 0": lambda leaf, neuron: leaf["multipliers"][0].update({f"{neuron[0]},{neuron[1]}": -1}),
    "a multiplier that is no integer": lambda leaf, neuron: leaf["multipliers"][0].update(
        {f"{neuron[0]},{neuron[1]}": 0.5}
    ),
    "a multiplier of a neuron that is not divided": lambda leaf, neuron: leaf["multipliers"][0].update({"0,99": 1}),
    "multipliers of more comparisons": lambda leaf, neuron: leaf["multipliers"].append({}),
    "a neuron of the outputs": lambda leaf, neuron: neuron.__setitem__(0, 2),
    "a neuron that is none": lambda leaf, neuron: neuron.__setitem__(1, 99),
    "a neuron below 0": lambda leaf, neuron: neuron.__setitem__(1, -1),
}


@each_case("name", list(BREAKS))
def test_a_certificate_that_is_no_such_is_refused(name: str, divided: Certified) -> None:
    model, text, certificate = divided
    stated = json.loads(certificate)
    [tree] = stated["boxes"]
    leaf = next(part for part in nodes(tree) if "slopes" in part)
    BREAKS[name](leaf, tree["neuron"])
    with pytest.raises(checker.Refused):
        checker.check(model, text.encode(), json.dumps(stated).encode())


def test_both_sides_are_needed(divided: Certified) -> None:
    model, text, certificate = divided
    stated = json.loads(certificate)
    del stated["boxes"][0]["below"]
    with pytest.raises((checker.Refused, LookupError)):
        checker.check(model, text.encode(), json.dumps(stated).encode())


def test_a_neuron_is_divided_once(divided: Certified) -> None:
    model, text, certificate = divided
    stated = json.loads(certificate)
    [tree] = stated["boxes"]
    tree["above"] = {"neuron": tree["neuron"], "above": tree["above"], "below": tree["above"]}
    with pytest.raises(checker.Refused, match="once more"):
        checker.check(model, text.encode(), json.dumps(stated).encode())


@each_case("sign", [1, -1])
def test_a_side_has_the_inputs_of_its_sign_only(sign: int, tmp_path: Path) -> None:
    """Y = relu(x) - relu(-x) = x; below 0 on the side of negative inputs, and no leaf of the other side shows it."""
    model, _ = network(np.random.default_rng(0), (1, 2, 1))

    loaded = onnx.load_from_string(model)
    arrays = {"W0": [[1.0], [-1.0]], "B0": [0.0, 0.0], "W1": [[1.0, -1.0]], "B1": [0.0]}
    for each in loaded.graph.initializer:
        each.CopyFrom(onnx.numpy_helper.from_array(np.array(arrays[each.name], "f4"), each.name))
    model = loaded.SerializeToString()
    text = vnnlib(1, 1, 1.0, "(>= Y_0 0.5)")
    network_ = checker.layers(model)
    [(ends, sets)] = checker.property_of(text)
    box = checker.box_of(ends, 1, False)
    known = checker.known_on(network_, box, ["00"])
    on = checker.on_sides(known, {(0, 0): sign, (0, 1): -sign})
    shown = checker.excluded(network_, on, box, sets, [{(0, 0): sign * 256}])
    assert shown == (sign < 0)
