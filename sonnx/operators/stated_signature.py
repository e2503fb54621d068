"""The signatures of operators that have no data file: their ONNX text, as far as a run needs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.numerics.application import Application
from sonnx.numerics.broadcasting import along_axis, common_shape
from sonnx.numerics.formats import NAMES, TensorSpec, format_of

OutputSpecs: TypeAlias = Callable[[Application, Sequence[Any]], tuple[TensorSpec, ...]]
"""The outputs for inputs of known shapes and types; an input that is left out is None."""

UNBOUNDED = 2**31 - 1
"""ONNX's greatest number of inputs or outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedSignature:
    """What a node of the operator may have, and which outputs follow.

    `inputs` and `outputs` are the least and the greatest number; inputs beyond the least may be left out.  `attributes`
    has the type of each attribute, as ONNX names it.
    """

    inputs: tuple[int, int]
    outputs: tuple[int, int] = (1, 1)
    attributes: Mapping[str, str] = field(default_factory=dict)
    output_specs: OutputSpecs


def same_as_input(application: Application, inputs: Sequence[Any]) -> tuple[TensorSpec]:
    """The output of an operator that keeps the shape and the type of its first input."""
    return (inputs[0],)


def same_numbers(application: Application, inputs: Sequence[Any]) -> tuple[TensorSpec]:
    """The output of an operator on numbers of one type: the common shape, their type."""
    kind = common_type(application, inputs)
    if kind == np.bool_:
        raise NotExecutable(f"{application.operator} is not defined for bool")
    return ((common_shape(application.operator, [shape for shape, _ in inputs]), kind),)


def same_floats(application: Application, inputs: Sequence[Any]) -> tuple[TensorSpec]:
    """The output of an operator on floating-point numbers of one type: the common shape, their type."""
    if format_of(common_type(application, inputs)) is None:
        raise NotExecutable(f"{application.operator} is not defined for {NAMES[inputs[0][1]]}")
    return same_numbers(application, inputs)


def comparison(application: Application, inputs: Sequence[Any]) -> tuple[TensorSpec]:
    """The output of a comparison of elements of one type: the common shape, bool."""
    common_type(application, inputs)
    shapes = [shape for shape, _ in inputs]
    if len(shapes) > 1:
        shapes = [shapes[0], along_axis(application, *shapes)]
    return ((common_shape(application.operator, shapes), np.dtype(np.bool_)),)


def of_truths(application: Application, inputs: Sequence[Any]) -> tuple[TensorSpec]:
    """The output of an operator on elements of type bool: the common shape, bool."""
    if common_type(application, inputs) != np.bool_:
        raise NotExecutable(f"{application.operator} is defined for bool only")
    return comparison(application, inputs)


def common_type(application: Application, inputs: Sequence[Any]) -> np.dtype[Any]:
    """The element type that all inputs have.

    Raises:
        NotExecutable: they have several.
    """
    kinds: list[np.dtype[Any]] = list(dict.fromkeys(kind for _, kind in inputs))
    if len(kinds) > 1:
        listed = " and ".join(NAMES[kind] for kind in kinds)
        raise NotExecutable(f"the inputs of {application.operator} are of types {listed}; ONNX wants one")
    return kinds[0]
