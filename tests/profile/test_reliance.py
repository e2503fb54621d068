"""A shape that is computed from a parameter waits for the rules on that parameter: one fault, one finding."""

from __future__ import annotations

from sonnx.profile import catalogue
from sonnx.profile.signature import Signature, signature
from tests.support.cases import each_case

OPERATORS = catalogue.operators()
ANY_EDITION = {
    each.name: next(e.name for e in reversed(catalogue.editions().editions.values()) if e.status(each.name))
    for each in OPERATORS
}
OF_TYPES = {"Constant.C-type"}
"""Rules on a parameter's element type; no shape follows from it."""


def through(made: Signature, names: frozenset[str]) -> set[str]:
    """Names with those that their definitions read."""
    found, waiting = set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += made.define[name].names if name in made.define else ()
    return found


@each_case("described", OPERATORS, ids=lambda each: each.name)
def test_shapes_wait_for_the_rules_on_their_parameters(described: catalogue.Operator) -> None:
    own = {rule.name for rule in described.rules}
    for version in described.versions:
        made = signature(described.name, version, ANY_EDITION[described.name])
        assert made is not None
        parameters = {each.name for each in made.parameters}
        tensors = {each.name for each in made.inputs} - parameters
        for output in made.outputs:
            shape = made.shapes.get(output.name)
            read = through(made, shape.names) & parameters if shape is not None else set()
            for rule in made.rules:
                if rule.name not in own or rule.kind != "validity" or rule.slug in OF_TYPES or rule.require is None:
                    continue
                about = through(made, rule.require.names) & (parameters | tensors)
                if about and about <= read:
                    assert rule.name in output.relies, (version, output.name, rule.name)
