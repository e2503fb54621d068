"""Constants that follow from constants: the elements of a small output of integers or bool whose inputs are known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from sonnx.language.domain import Expression
from sonnx.language.evaluator import TensorFacts, evaluate
from sonnx.language.known_numbers import KnownNumbers
from sonnx.profile.signature import Signature

MAX_DERIVED_ELEMENTS = 256
"""Elements of the largest output whose values are derived: shapes, axes and indices are short lists."""

_INTEGER = r"(u?)int(\d+)"


def with_derived_values(
    signature: Signature, names: Mapping[str, Any], outputs: Sequence[TensorFacts]
) -> list[TensorFacts]:
    """The facts of the outputs after a call whose rules hold, with the values that follow from those of the inputs."""
    after = list(outputs)
    for index, (output, facts) in enumerate(zip(signature.outputs, outputs, strict=False)):
        expression = signature.elements.get(output.name)
        values = None if expression is None else _derived(expression, names, facts)
        if values is not None:
            after[index] = facts._replace(values=values, derived=True)
    return after


def _derived(expression: Expression, names: Mapping[str, Any], facts: TensorFacts) -> KnownNumbers | None:
    """The values of an output, None where they are not known or are not a constant that a rule may rest on.

    They are derived of outputs of rank 0 or 1 with at most `MAX_DERIVED_ELEMENTS` elements, and only if every element
    is a number of the element type: what wraps around or is rounded is left to the run.
    """
    bounds = _bounds(facts.type)
    if bounds is None or not _is_list(facts.shape):
        return None
    elements = evaluate(expression, names)
    if not isinstance(elements, tuple) or len(elements) != prod(facts.shape):  # type: ignore[arg-type]  # they are numbers
        return None
    least, greatest = bounds
    return KnownNumbers(elements) if all(type(each) is int and least <= each <= greatest for each in elements) else None


def _is_list(shape: Any) -> bool:
    """Whether a shape is known, of rank 0 or 1, and of few elements."""
    return (
        isinstance(shape, tuple)
        and len(shape) <= 1
        and all(type(extent) is int and extent <= MAX_DERIVED_ELEMENTS for extent in shape)
    )


def _bounds(element: Any) -> tuple[int, int] | None:
    """The least and the greatest number of an element type of integers or bool, None for other types."""
    if element == "bool":
        return 0, 1
    match_ = re.fullmatch(_INTEGER, element) if isinstance(element, str) else None
    if match_ is None:
        return None
    unsigned, bits = bool(match_[1]), int(match_[2])
    return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
