"""Operators applied without a model: the definition, the kernel and the fast path on the same inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from sonnx.model.ir import Attribute
from sonnx.numerics.application import Application
from sonnx.numerics.formats import Array
from sonnx.operators import Operator
from tests.support.oracle import same

ATTRIBUTE_TYPES: dict[type, str] = {int: "int", float: "float", str: "string", list: "ints"}


def application(operator: str, names: Mapping[str, Any] | None = None) -> Application:
    """An application with these names of the data file."""
    return Application(operator, 1, "onnx", dict(names or {}))


def written(operator: str, version: int = 13, **attributes: Any) -> Application:
    """An application with these attributes."""
    made = {name: Attribute(name, ATTRIBUTE_TYPES[type(value)], value) for name, value in attributes.items()}
    return Application(operator, version, "onnx", {}, made)


def kernel_output(operator: Operator, made: Application, inputs: Sequence[Array | None], like: Array) -> Array:
    """The output of the kernel, in an array of the shape and type of another one."""
    assert operator.kernel is not None, f"{operator.name} has no kernel"
    out = numpy.full_like(like, 7)
    with numpy.errstate(all="ignore"):
        return operator.kernel(made)(inputs, out)


def fast_outputs(operator: Operator, made: Application, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """The outputs of the fast path."""
    assert operator.fast_path is not None, f"{operator.name} has no fast path"
    with numpy.errstate(all="ignore"):
        return operator.fast_path(made, inputs)


def agreed(operator: Operator, made: Application, inputs: Sequence[Array | None]) -> Array:
    """The value by the definition, which kernel and fast path must give as well, whichever there are."""
    assert operator.kernel is not None or operator.fast_path is not None
    with numpy.errstate(all="ignore"):
        [value] = operator.define(made, inputs)
    if operator.kernel is not None:
        assert same(kernel_output(operator, made, inputs, value), value)
    if operator.fast_path is not None:
        assert same(fast_outputs(operator, made, inputs)[0], value)
    return value
