"""The order of parts that ONNX does not order decides nothing: a permuted model gets the same verdicts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import Any

from msgspec.structs import replace

from sonnx.checker.request import CheckRequest, check_model
from sonnx.evidence.verification import model_bytes
from sonnx.model.ir import NOT_STATED, Model, Type, joined_type
from sonnx.model.reader import read
from sonnx.profile.cases import all_cases
from tests.support.cases import spread


def verdicts(model: Model) -> Counter[tuple[str, str]]:
    """How often each rule gets each verdict."""
    found = Counter[tuple[str, str]]()
    for count in check_model(model, "", CheckRequest(), "model.onnx").counts:
        found[count.rule, str(count.verdict)] += count.number
    return found


def permuted(model: Model, draw: random.Random) -> Model:
    """The model with its declarations, initializers, attributes and metadata in another order."""
    graph = model.graph
    nodes = tuple(replace(node, attributes=shuffled(node.attributes, draw)) for node in graph.nodes)
    changed = replace(
        graph,
        inputs=shuffled(graph.inputs, draw),
        outputs=shuffled(graph.outputs, draw),
        value_info=shuffled(graph.value_info, draw),
        initializers=shuffled(graph.initializers, draw),
        nodes=nodes,
    )
    return replace(model, graph=changed, metadata=shuffled(model.metadata, draw))


def shuffled(parts: Sequence[Any], draw: random.Random) -> tuple[Any, ...]:
    return tuple(draw.sample(parts, len(parts)))


def test_permuted_cases_get_the_same_verdicts():
    draw, different = random.Random(28), []
    # Of an attribute that is written twice, the last value counts.
    chosen = [case for case in all_cases() if case.beside is None and "attribute-once" not in case.rules("invalid")]
    for case in spread(chosen, 150):
        model = read(model_bytes(case))
        if verdicts(permuted(model, draw)) != verdicts(model):
            different.append(case.id)
    assert different == []


def test_declarations_together_have_no_order():
    types = [
        NOT_STATED, Type("tensor", "float", None), Type("tensor", None, (2, None)), Type("tensor", "float", ("N", 3)),
        Type("tensor", "float", (2, 3)), Type("tensor", "double", (4,)), Type("sequence"),
    ]  # fmt: skip
    for one in range(len(types)):
        chosen = [each for index, each in enumerate(types) if index != one]
        assert len({joined_type(each) for each in permutations(chosen, 4) if set(each) == set(chosen[:4])}) == 1


def test_what_declarations_state_together():
    given = [Type("tensor", None, ("N", 3)), Type("tensor", "float", (2, None)), NOT_STATED]
    assert joined_type(given) == Type("tensor", "float", (2, 3))
