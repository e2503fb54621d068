"""The inputs of a model: which ones a caller must give, and whether arrays are such inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from sonnx.base.errors import BadInput, NotExecutable
from sonnx.base.escaping import quote
from sonnx.model.ir import Model, Type, ValueInfo
from sonnx.numerics.formats import ELEMENTS, NAMES, TEXT, Array


def required_inputs(model: Model) -> tuple[ValueInfo, ...]:
    """The graph inputs that a caller must give: those without an initializer."""
    constant = {tensor.name for tensor in model.graph.initializers}
    return tuple(value for value in model.graph.inputs if value.name not in constant)


def fitting_inputs(model: Model, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs, in the order of the model.

    From IR version 4 on an input may replace an initializer; before it an initializer is a constant.

    Raises:
        BadInput: the inputs are not those of the model.
        NotExecutable: the executor does not know a type.
    """
    if model.graph.sparse_initializers:
        raise NotExecutable("the executor does not know sparse tensors")
    needed = {value.name: value.type for value in required_inputs(model)}
    replaceable = {value.name: value.type for value in model.graph.inputs} if (model.ir_version or 0) >= 4 else needed
    missing, extra = needed.keys() - inputs.keys(), inputs.keys() - replaceable.keys()
    if missing or extra:
        problems = [f"missing inputs: {_listed(missing)}"] if missing else []
        problems += [f"unknown inputs: {_listed(extra)}"] if extra else []
        takes = ", ".join(f"{quote(name)} {declared}" for name, declared in needed.items())
        raise BadInput(f"{'; '.join(problems)}; the model takes {takes or 'no input'}")
    symbols: dict[str, tuple[int, str]] = {}
    return {name: _fitting(name, inputs[name], replaceable[name], symbols) for name in replaceable if name in inputs}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(quote, sorted(names)))


def _fitting(name: str, values: Array, declared: Type, symbols: dict[str, tuple[int, str]]) -> Array:
    """The input, if it has the declared type and shape; a symbol stands for one number in all inputs."""
    kind = ELEMENTS.get(declared.element or "")
    if declared.kind != "tensor" or kind is None:
        what = declared.element or declared.kind
        raise NotExecutable(f"the input {quote(name)} is declared as {what}, which the executor does not know")
    if isinstance(values, np.generic):
        values = np.asarray(values)
    if not isinstance(values, np.ndarray):
        raise BadInput(f"the input {quote(name)} is not a numpy array but of type {type(values).__name__}")
    if kind == TEXT:
        values = _strings(name, values)
    if values.dtype != kind:
        element = NAMES.get(values.dtype, str(values.dtype))
        raise BadInput(f"the input {quote(name)} is of type {element}; the model declares {declared.element}")
    if kind == np.bool_ and bool((values.view(np.uint8) > 1).any()):
        raise BadInput(f"the input {quote(name)} is of type bool and has a byte that is neither 0 nor 1")
    if not all(_agrees(name, *pair, symbols) for pair in _pairs(values.shape, declared)):
        shape = ", ".join("?" if d is None else str(d) for d in declared.shape or ())
        raise BadInput(f"the input {quote(name)} has the shape {list(values.shape)}; the model declares [{shape}]")
    return values


def _strings(name: str, values: Array) -> Array:
    """Strings of any numpy type as an array of `str`."""
    if values.dtype.kind in "UT":
        return values.astype(TEXT)
    not_strings = (
        [element for element in values.reshape(-1).tolist() if not isinstance(element, str)]
        if values.dtype == TEXT
        else []
    )
    if not_strings:
        what = type(not_strings[0]).__name__
        raise BadInput(f"the input {quote(name)} is declared as strings and has an element of type {what}")
    return values


def _pairs(shape: tuple[int, ...], declared: Type) -> Iterator[tuple[int, Any]]:
    """Each number with the dimension that is declared for it; a pair that never agrees where the ranks differ."""
    if declared.shape is None:
        return iter(())
    if len(shape) != len(declared.shape):
        return iter([(0, -1)])
    return iter(zip(shape, declared.shape, strict=True))


def _agrees(name: str, number: int, stated: int | str | None, symbols: dict[str, tuple[int, str]]) -> bool:
    """Whether a number is the stated dimension; a symbol is bound to the first number that stands for it."""
    if isinstance(stated, str):
        known, where = symbols.setdefault(stated, (number, name))
        if known != number:
            both = f"{known} in the input {quote(where)} and {number} in {quote(name)}"
            raise BadInput(f"the symbol {quote(stated)} is {both}")
        return True
    return stated is None or stated == number
