"""Operators that the executor does not run, on constants: results that are exact in every implementation.

They compute with whole numbers and truth values, or choose among elements; nothing is rounded but by Cos, which is
rounded once, as the profile rounds functions of real numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from sonnx.model.ir import Node
from sonnx.model.reader import element_names
from sonnx.numerics.elementwise import each
from sonnx.numerics.formats import ELEMENTS, Array

Arrays: TypeAlias = Sequence[Array | None]
"""The inputs, None for one that is left out."""
Definition: TypeAlias = Callable[[Mapping[str, Any], Arrays], Array | None]
"""From attributes and inputs to the output; None where the text does not say what it is, or it would be rounded."""

MAX_ELEMENTS = 1 << 20
"""Elements of the largest result."""

_DEFINITIONS: dict[str, Definition] = {}
_ABSENT: dict[str, Mapping[str, int | str]] = {}


def _exactly(operator: str, **absent: int | str) -> Callable[[Definition], Definition]:
    """Registers what computes an operator; `absent` is what attributes mean that are not written."""

    def register(define: Definition) -> Definition:
        _DEFINITIONS[operator], _ABSENT[operator] = define, absent
        return define

    return register


def has_constant_result(operator: str) -> bool:
    """Whether an operator of the standard domain is computed here."""
    return operator in _DEFINITIONS


def absent_values(operator: str) -> Mapping[str, int | str]:
    """What the attributes of an operator mean that are not written; the tests compare it with the onnx package."""
    return _ABSENT[operator]


def constant_result(node: Node, inputs: Arrays) -> Array | None:
    """The output of a node with one output, of constant inputs; None where it is not known."""
    define = _DEFINITIONS.get(node.operator)
    if define is None or len(node.outputs) != 1 or any(attribute.reference for attribute in node.attributes):
        return None
    written = {attribute.name: attribute.value for attribute in node.attributes}
    attributes = {**_ABSENT[node.operator], **written}
    try:
        found = define(attributes, inputs)
    except (IndexError, TypeError, ValueError, OverflowError):  # inputs that the text does not allow
        return None
    return None if found is None or found.size > MAX_ELEMENTS else found


def _is_whole(array: Array | None) -> bool:
    return array is not None and array.dtype.kind in "iu"


def _axes(attributes: Mapping[str, Any], inputs: Arrays, rank: int) -> tuple[int, ...] | None:
    """The axes of a reduction: those of the attribute or of the second input, all without them."""
    given = inputs[1] if len(inputs) > 1 else None
    axes = attributes.get("axes") if given is None else given.reshape(-1).tolist()
    if not axes:
        return None if attributes["noop_with_empty_axes"] else tuple(range(rank))
    inside = {axis % rank for axis in axes if -rank <= axis < rank}
    return tuple(sorted(inside)) if len(inside) == len(axes) else None


def _reduced(function: Callable[..., Array], attributes: Mapping[str, Any], inputs: Arrays) -> Array | None:
    data = inputs[0]
    if data is None or not _is_whole(data):
        return None
    axes = _axes(attributes, inputs, data.ndim)
    if axes is None or not data.size:
        return None
    found = function(data, axis=axes, keepdims=bool(attributes["keepdims"]), **_of_type(function, data))
    return np.asarray(found).astype(data.dtype)


def _of_type(function: Callable[..., Array], data: Array) -> dict[str, Any]:
    return {"dtype": data.dtype} if function is np.prod else {}


@_exactly("ReduceProd", keepdims=1, noop_with_empty_axes=0)
def _product(attributes: Mapping[str, Any], inputs: Arrays) -> Array | None:
    """ONNX ReduceProd-1 to ReduceProd-18, of whole numbers whose product the type holds."""
    data = inputs[0]
    if data is None or not _is_whole(data):
        return None
    largest = prod(max(1, abs(int(number))) for number in data.reshape(-1))
    return _reduced(np.prod, attributes, inputs) if largest <= np.iinfo(data.dtype).max else None


@_exactly("ReduceMin", keepdims=1, noop_with_empty_axes=0)
def _least(attributes: Mapping[str, Any], inputs: Arrays) -> Array | None:
    """ONNX ReduceMin-1 to ReduceMin-20, of whole numbers."""
    return _reduced(np.min, attributes, inputs)


@_exactly("CumSum", exclusive=0, reverse=0)
def _sums(attributes: Mapping[str, Any], inputs: Arrays) -> Array | None:
    """ONNX CumSum-11 and CumSum-14, of whole numbers whose sums the type holds; of floats those that are exact."""
    data, axis = inputs[0], inputs[1]
    if data is None or axis is None or axis.size != 1 or not data.size or data.dtype.kind not in "iuf":
        return None
    if data.dtype.kind == "f" and not (np.isfinite(data).all() and (data == np.trunc(data)).all()):
        return None
    most = np.iinfo(data.dtype).max if _is_whole(data) else 2 ** np.finfo(data.dtype).nmant
    if sum(abs(int(number)) for number in data.reshape(-1)) > most or (np.signbit(data) & (data == 0)).any():
        return None
    along = int(axis.reshape(-1)[0])
    source = np.flip(data, along) if attributes["reverse"] else data
    found = np.cumsum(source, along, dtype=data.dtype)
    if attributes["exclusive"]:
        found = found - source
    return np.flip(found, along) if attributes["reverse"] else found


@_exactly("Cos")
def _cosine(attributes: Mapping[str, Any], inputs: Arrays) -> Array | None:
    """ONNX Cos-7 to Cos-22, rounded once."""
    [data] = inputs
    return None if data is None or data.dtype.kind != "f" else each(lambda x, once: once.cos(x), data)


@_exactly("OneHot", axis=-1)
def _one_hot(attributes: Mapping[str, Any], inputs: Arrays) -> Array | None:
    """ONNX OneHot-9 and OneHot-11: `values` are what stands elsewhere and what stands at an index."""
    indices, depth, values = inputs
    if indices is None or depth is None or values is None or not _is_whole(indices) or values.shape != (2,):
        return None
    count, axis = int(depth.reshape(-1)[0]), attributes["axis"]
    if count < 1 or not -indices.ndim - 1 <= axis <= indices.ndim:
        return None
    inside = np.where((indices >= -count) & (indices < count), indices % count, -1)
    is_index = np.expand_dims(inside, -1) == np.arange(count)
    chosen: Array = np.where(is_index, values[1], values[0])
    return np.moveaxis(chosen, -1, axis)


@_exactly("EyeLike", k=0)
def _eye(attributes: Mapping[str, Any], inputs: Arrays) -> Array | None:
    """ONNX EyeLike-9, of the type of its input where none is written."""
    data = inputs[0]
    if data is None or data.ndim != 2:
        return None
    written = attributes.get("dtype")
    kind = data.dtype if written is None else ELEMENTS.get(element_names().get(written) or "")
    rows, columns = data.shape
    return None if kind is None else np.eye(rows, columns, int(attributes["k"])).astype(kind)


@_exactly("NonZero")
def _places(attributes: Mapping[str, Any], inputs: Arrays) -> Array | None:
    """ONNX NonZero-9 and NonZero-13: the indices of elements that are not 0, one row for each axis."""
    data = inputs[0]
    return None if data is None or not data.ndim else np.array(np.nonzero(data != 0), np.int64)


@_exactly("Compress")
def _selected(attributes: Mapping[str, Any], inputs: Arrays) -> Array | None:
    """ONNX Compress-9 and Compress-11."""
    data, condition = inputs
    if data is None or condition is None or condition.dtype != np.bool_ or condition.ndim != 1:
        return None
    return np.compress(condition, data, attributes.get("axis"))


@_exactly("Xor")
def _exclusive_or(attributes: Mapping[str, Any], inputs: Arrays) -> Array | None:
    """ONNX Xor-7, with broadcasting."""
    first, second = inputs
    return None if first is None or second is None else np.logical_xor(first, second)


@_exactly("LessOrEqual")
def _at_most(attributes: Mapping[str, Any], inputs: Arrays) -> Array | None:
    """ONNX LessOrEqual-12 and LessOrEqual-16."""
    first, second = inputs
    return None if first is None or second is None else np.asarray(first <= second)


@_exactly("GreaterOrEqual")
def _at_least(attributes: Mapping[str, Any], inputs: Arrays) -> Array | None:
    """ONNX GreaterOrEqual-12 and GreaterOrEqual-16."""
    first, second = inputs
    return None if first is None or second is None else np.asarray(first >= second)


@_exactly("IsNaN")
def _is_nan(attributes: Mapping[str, Any], inputs: Arrays) -> Array | None:
    """ONNX IsNaN-9 to IsNaN-20."""
    [data] = inputs
    return None if data is None else np.asarray(data != data)


@_exactly("ScatterElements", axis=0, reduction="none")
def _scattered(attributes: Mapping[str, Any], inputs: Arrays) -> Array | None:
    """ONNX ScatterElements-11 to ScatterElements-18 without a reduction, at indices that are different."""
    data, indices, updates = inputs
    if data is None or indices is None or updates is None or attributes["reduction"] != "none":
        return None
    axis = attributes["axis"]
    places = np.where(indices < 0, indices + data.shape[axis], indices)
    if places.size and not ((places >= 0) & (places < data.shape[axis])).all():
        return None
    numbered = np.zeros(data.shape, np.int64)
    for index in np.ndindex(places.shape):
        target = list(index)
        target[axis] = int(places[index])
        numbered[tuple(target)] += 1
    if (numbered > 1).any():
        return None
    found = data.copy()
    np.put_along_axis(found, places, updates, axis)
    return found
