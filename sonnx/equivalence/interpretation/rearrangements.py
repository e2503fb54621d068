"""Operators that only move elements and that the executor does not run: where each element of the output comes from.

A definition is what the ONNX text says, done to the numbers 0, 1, 2, … in the place of the elements; -1 stands for a
zero that the operator writes.  `equivalent` takes the map as a movement, and `fix` as what constants become.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sonnx.equivalence.terms.movements import MAX_ELEMENTS
from sonnx.model.ir import Node
from sonnx.numerics.formats import Array

Parameters: TypeAlias = Sequence[Array | None]
"""The constants that are the inputs behind the first, None for one that is left out."""
Definition: TypeAlias = Callable[[Array, Mapping[str, Any], Parameters], Array | None]
"""From the numbered elements, the attributes and the parameters to the numbers of the output."""

ZERO = -1
"""Stands for a zero in a map."""

_DEFINITIONS: dict[str, Definition] = {}


def definition_of(operator: str) -> Callable[[Definition], Definition]:
    """Register the definition of an operator of the standard domain."""

    def register(define: Definition) -> Definition:
        _DEFINITIONS[operator] = define
        return define

    return register


def rearranged(node: Node, shape: Sequence[int], parameters: Parameters) -> Array | None:
    """The numbers of the elements of the output of a node, in its shape; None where they are not known.

    Args:
        node: of the standard domain.
        shape: of its first input.
        parameters: its other inputs.
    """
    define = _DEFINITIONS.get(node.operator)
    if define is None or any(attribute.reference for attribute in node.attributes) or prod(shape) > MAX_ELEMENTS:
        return None
    attributes = {attribute.name: attribute.value for attribute in node.attributes}
    found = define(np.arange(prod(shape), dtype=np.int64).reshape(tuple(shape)), attributes, parameters)
    return None if found is None or found.size > MAX_ELEMENTS else found


def is_rearrangement(operator: str) -> bool:
    """Whether the map of an operator is defined here."""
    return operator in _DEFINITIONS


class Blocks(NamedTuple):
    """How DepthToSpace and SpaceToDepth move blocks: the shape with blocks apart, the order of its axes, the result."""

    apart: tuple[int, ...]
    order: tuple[int, ...]
    joined: tuple[int, ...]


def blocks_of(operator: str, shape: Sequence[int], attributes: Mapping[str, Any]) -> Blocks | None:
    """The blocks of a node; None where they do not divide the axes."""
    size, mode = attributes.get("blocksize"), attributes.get("mode", "DCR")
    if type(size) is not int or size < 1 or len(shape) != 4 or mode not in ("DCR", "CRD"):
        return None
    n, c, h, w = shape
    if operator == "SpaceToDepth":
        if h % size or w % size:
            return None
        apart = (n, c, h // size, size, w // size, size)
        return Blocks(apart, (0, 3, 5, 1, 2, 4), (n, c * size * size, h // size, w // size))
    if c % (size * size):
        return None
    depth, joined = c // (size * size), (n, c // (size * size), h * size, w * size)
    if mode == "CRD":
        return Blocks((n, depth, size, size, h, w), (0, 1, 4, 2, 5, 3), joined)
    return Blocks((n, size, size, depth, h, w), (0, 3, 4, 1, 5, 2), joined)


def _in_blocks(data: Array, found: Blocks | None) -> Array | None:
    return None if found is None else data.reshape(found.apart).transpose(found.order).reshape(found.joined)


@definition_of("DepthToSpace")
def _depth_to_space(data: Array, attributes: Mapping[str, Any], parameters: Parameters) -> Array | None:
    """ONNX DepthToSpace-1 to DepthToSpace-13."""
    return _in_blocks(data, blocks_of("DepthToSpace", data.shape, attributes))


@definition_of("SpaceToDepth")
def _space_to_depth(data: Array, attributes: Mapping[str, Any], parameters: Parameters) -> Array | None:
    """ONNX SpaceToDepth-1 and SpaceToDepth-13."""
    return _in_blocks(data, blocks_of("SpaceToDepth", data.shape, attributes))


@definition_of("Tile")
def _tile(data: Array, attributes: Mapping[str, Any], parameters: Parameters) -> Array | None:
    """ONNX Tile-6 and Tile-13: the tensor as often along each axis as `repeats` says."""
    repeats = _numbers(parameters, 0)
    if repeats is None or len(repeats) != data.ndim or min(repeats, default=0) < 0:
        return None
    if data.size * prod(repeats) > MAX_ELEMENTS:
        return None
    return np.tile(data, repeats)


@definition_of("Trilu")
def _trilu(data: Array, attributes: Mapping[str, Any], parameters: Parameters) -> Array | None:
    """ONNX Trilu-14: zeros below (upper = 1) or above the k-th diagonal of each matrix."""
    written = parameters[0] if parameters else None
    if data.ndim < 2:
        return None
    k, upper = 0 if written is None else int(written.reshape(-1)[0]), attributes.get("upper", 1)
    kept = np.triu(np.ones(data.shape[-2:], bool), k) if upper else np.tril(np.ones(data.shape[-2:], bool), k)
    return np.where(kept, data, ZERO)


@definition_of("Upsample")
def _upsample(data: Array, attributes: Mapping[str, Any], parameters: Parameters) -> Array | None:
    """ONNX Upsample-7 and Upsample-9, mode nearest: the element at floor(i / scale)."""
    written = parameters[0] if parameters else None
    scales = attributes.get("scales") if written is None else tuple(written.reshape(-1).tolist())
    if scales is None or len(scales) != data.ndim or attributes.get("mode", "nearest") != "nearest":
        return None
    if any(scale < 1 or scale != int(scale) for scale in scales):
        return None
    for axis, scale in enumerate(scales):
        data = np.repeat(data, int(scale), axis)
    return data


@definition_of("GatherElements")
def _gather_elements(data: Array, attributes: Mapping[str, Any], parameters: Parameters) -> Array | None:
    """ONNX GatherElements-11 and GatherElements-13, by constant indices."""
    indices, axis = parameters[0] if parameters else None, attributes.get("axis", 0)
    if indices is None or indices.dtype.kind != "i" or indices.ndim != data.ndim or not -data.ndim <= axis < data.ndim:
        return None
    extent = data.shape[axis]
    others = zip(indices.shape, data.shape, strict=True)
    if any(mine > theirs for place, (mine, theirs) in enumerate(others) if place != axis % data.ndim):
        return None
    if indices.size and not ((indices >= -extent) & (indices < extent)).all():
        return None
    cut = tuple(slice(None) if place == axis % data.ndim else slice(mine) for place, mine in enumerate(indices.shape))
    found: Array = np.take_along_axis(data[cut], indices % max(extent, 1), axis)
    return found


@definition_of("GatherND")
def _gather_nd(data: Array, attributes: Mapping[str, Any], parameters: Parameters) -> Array | None:
    """ONNX GatherND-11 to GatherND-13 without batches, by constant indices."""
    indices = parameters[0] if parameters else None
    if indices is None or indices.dtype != np.int64 or attributes.get("batch_dims", 0) != 0 or not indices.ndim:
        return None
    depth = indices.shape[-1]
    if not 1 <= depth <= data.ndim:
        return None
    extents = np.array(data.shape[:depth])
    if indices.size and not ((indices >= -extents) & (indices < extents)).all():
        return None
    found: Array = data[tuple(np.moveaxis(np.where(indices < 0, indices + extents, indices), -1, 0))]
    return found


def _numbers(parameters: Parameters, place: int) -> list[int] | None:
    """A constant list of whole numbers."""
    array = parameters[place] if place < len(parameters) else None
    return None if array is None or array.dtype.kind not in "iu" else [int(number) for number in array.reshape(-1)]
