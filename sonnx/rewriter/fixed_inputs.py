"""Graph inputs that `--input` fixes: constants of one number, recorded as rewrites."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import prod

import numpy as np
from msgspec.structs import replace

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape, quote
from sonnx.base.suggestions import did_you_mean
from sonnx.checker.verdicts import Where
from sonnx.model.ir import Model, ValueInfo
from sonnx.numerics.formats import ELEMENTS, TEXT, Array
from sonnx.report.fix_record import AppliedRewrite
from sonnx.rewriter import constant_tensors

TRUTH_VALUES = {"true": True, "false": False}


def with_fixed_inputs(model: Model, given: Collection[str]) -> tuple[Model, tuple[AppliedRewrite, ...]]:
    """The model with constants for the inputs of `NAME=NUMBER`, and what that changes.

    Raises:
        UsageError: the model lacks an input, or its type or shape does not allow the number.
    """
    numbers = dict(_pairs(given))
    known = {value.name: index for index, value in enumerate(model.graph.inputs)}
    constants, applied = [], []
    for name, text in numbers.items():
        if name not in known:
            raise UsageError(f"--input names {quote(name)}, which is not an input{did_you_mean(name, list(known))}")
        value = model.graph.inputs[known[name]]
        constants.append(constant_tensors.from_array(name, _array(value, text)))
        where = Where(f"graph/input[{known[name]}]", "value", name)
        changes = f"the model is for {escape(name)} = {escape(text)} only; callers no longer give it"
        record = AppliedRewrite(
            "fixed-input", "Fix graph inputs", (), where, str(value.type), escape(text), "", changes
        )
        applied.append(record)
    graph = model.graph
    kept = tuple(tensor for tensor in graph.initializers if tensor.name not in numbers)
    inputs = tuple(value for value in graph.inputs if value.name not in numbers)
    return replace(model, graph=replace(graph, inputs=inputs, initializers=(*kept, *constants))), tuple(applied)


def _pairs(given: Collection[str]) -> Iterator[tuple[str, str]]:
    for text in given:
        name, is_pair, number = text.rpartition("=")
        if not is_pair or not name or not number:
            raise UsageError(f"--input takes NAME=NUMBER, not {quote(text)}")
        yield name, number


def _array(value: ValueInfo, text: str) -> Array:
    """The number everywhere, in the type and the shape of an input.

    Raises:
        UsageError: the type or shape is not known, or the type does not have the number.
    """
    kind, shape = ELEMENTS.get(value.type.element or ""), value.type.shape
    extents = [extent for extent in shape or () if isinstance(extent, int) and extent >= 0]
    if kind is None or kind == TEXT or shape is None or len(extents) < len(shape) or prod(extents) > MOST_ELEMENTS:
        raise UsageError(
            f"--input cannot fix {quote(value.name)}, which is {value.type}: its shape must be known, and small"
        )
    try:
        number = TRUTH_VALUES[text.lower()] if kind == np.bool_ else int(text) if kind.kind in "iu" else float(text)
        array: Array = np.full(tuple(extents), number, kind)
    except (KeyError, ValueError, OverflowError, TypeError):
        raise UsageError(
            f"{quote(text)} is not a number of the type {value.type.element} of {quote(value.name)}"
        ) from None
    return array


MOST_ELEMENTS = 1 << 20
"""Elements of the largest input that becomes a constant."""
