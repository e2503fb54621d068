"""The constants of calls of every operator: with zeros or equal elements nothing would depend on another input."""

from __future__ import annotations

import pytest

from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import Array
from sonnx.profile.catalogue import edition_named, operators
from sonnx.prover.smt_values import bool_term
from sonnx.suite.cases import families_of
from sonnx.suite.constants import conforms, model_of_call
from sonnx.suite.structures import conforming_call
from tests.support.cases import DEEP
from tests.support.editions import NEWEST

EDITION = edition_named(NEWEST).name
DETERMINED = {"LSTM": {"x4"}}
"""Constants whose elements rules determine: each length of a sequence is the number of steps."""
SLOW = () if DEEP else ("Reshape", "Slice")
"""Operators whose calls take the solver seconds: most of the time of all 41."""
IN_EDITION = {described.name: described for described in operators() if [*families_of(described, EDITION, every=False)]}


def test_the_suite_is_about_41_operators() -> None:
    assert len(IN_EDITION) == 41


def is_telling(array: Array) -> bool:
    """Whether elements differ, or the only one is neither 0 nor 1."""
    elements = array.reshape(-1).tolist()
    return len({*elements}) > 1 if len(elements) > 1 else all(element not in (0, 1, "") for element in elements)


@pytest.mark.parametrize("operator", [name for name in IN_EDITION if name not in SLOW])
def test_constants_of_a_call_tell_something(operator: str) -> None:
    [family] = families_of(IN_EDITION[operator], EDITION, every=False)
    with family.context():
        present = [bool_term(tensor.present) for tensor in family.variables.tensors.values()]
        call = conforming_call(family, [], present)
    assert call is not None
    model = model_of_call(call, EDITION)
    assert conforms(model, EDITION)
    listed = {f"x{at}" for at, operand in enumerate(family.signature.inputs)
              if operand.name in {value.name for value in family.signature.values}}  # fmt: skip
    constants = {
        tensor.name: decode(tensor, None)
        for tensor in model.graph.initializers
        if tensor.name not in listed | DETERMINED.get(operator, set())
    }
    assert {name: array for name, array in constants.items() if not is_telling(array)} == {}
    numbers = [
        attribute.value for node in model.graph.nodes for attribute in node.attributes if attribute.kind == "float"
    ]
    assert not {0.0} & {*numbers}
