"""Operators on tensors whose elements stand in another order, by the operator on channels in the second axis.

`layouts.toml` states which operators they are.  The inputs are moved into the order of the operator that is meant, and
its output back, so that two layouts of one model are two movements of the same elements.

Blocks of channels that are filled up have channels which mean nothing.  Their elements are values of which nothing is
known, but for those that ReorderInput writes, which are zeros.  A convolution leaves such channels out where all their
weights are zero.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct, convert
from msgspec.structs import replace

from sonnx.equivalence.terms.movements import MAX_ELEMENTS, constant_of, moved, shaped, size
from sonnx.equivalence.terms.store import BLOCK_SIZES, Store, Term
from sonnx.graph.environment import NOTHING_STATED
from sonnx.model.ir import Attribute, Model, Node
from sonnx.model.scopes import canonical_domain
from sonnx.numerics.formats import ELEMENTS, Array

BLOCKS = "com.microsoft.nchwc"
"""The domain of operators on blocks of channels."""

FILLING = "a block of channels that is filled up"
"""What a mismatch calls elements of which nothing is known."""

MAX_DEPTH = 64
"""Operators in a row through which filled up channels are followed."""


class Meant(Struct, frozen=True):
    """The operator that is meant, on channels in the second axis."""

    domain: str
    name: str


class LayoutOperator(Struct, frozen=True, forbid_unknown_fields=True):
    """An operator on tensors in another order, as layouts.toml has it."""

    domain: str
    name: str
    layout: Literal["blocks", "channels-last"]
    means: Meant
    inputs: tuple[Literal["values", "filter", "same"], ...]
    source: str
    where: Mapping[str, int] = {}
    without: Mapping[str, int] = {}
    adds: Mapping[str, str] = {}


@cache
def layout_operators() -> Mapping[tuple[str, str], LayoutOperator]:
    """The operators with another layout, by domain and name."""
    data = tomllib.loads(files(__package__).joinpath("layouts.toml").read_text("utf-8"))
    operators = convert(data["operator"], list[LayoutOperator])
    return {(operator.domain, operator.name): operator for operator in operators}


def block_sizes(*models: Model) -> tuple[int, ...]:
    """The channels of a block that are possible; one where no model has blocks."""
    has_blocks = any(canonical_domain(node.domain) == BLOCKS for model in models for node in model.graph.nodes)
    return BLOCK_SIZES if has_blocks else BLOCK_SIZES[:1]


class CallInOrder(NamedTuple):
    """A call in channels-first order.

    Attributes:
        operator: what is stated of it.
        node: the call of the operator that is meant, with new names of inputs.
        operands: the term of each of these names.
        inputs: the values that the call in its own layout reads.
        is_exact: whether the elements keep every bit; else the channels that were left out have weights of zero.
    """

    operator: LayoutOperator
    node: Node
    operands: Mapping[str, Term]
    inputs: tuple[Term | None, ...]
    is_exact: bool


def stated_layout(domain: str, node: Node) -> LayoutOperator | None:
    """The layout that is stated for a call; None where its attributes say another one, or none is stated."""
    operator = layout_operators().get((domain, node.operator))
    if operator is None or any(attribute.reference for attribute in node.attributes):
        return None
    numbers = {attribute.name: attribute.value for attribute in node.attributes}
    return operator if all(numbers.get(name) == number for name, number in operator.where.items()) else None


def standard_call(
    store: Store, operator: LayoutOperator, node: Node, operands: Sequence[Term | None], block: int
) -> CallInOrder | None:
    """A call in channels-first order; None where shapes or constants that it needs are not known.

    Args:
        store: of the terms.
        operator: what is stated of it.
        node: the call.
        operands: its inputs.
        block: the channels of a block.
    """
    if len(operands) > len(operator.inputs) or len(node.outputs) != 1 or not operands or operands[0] is None:
        return None
    if any(_is_unfit(operand) for operand, role in zip(operands, operator.inputs, strict=False) if role != "same"):
        return None
    if operator.means.name == "Identity":
        call = _reordered(store, operator, node, operands[0], block)
    elif operator.domain == BLOCKS:
        call = _on_blocks(store, operator, node, operands, block)
    else:
        moved_terms = [
            channels_first(store, operand) if operand is not None and role == "values" else operand
            for operand, role in zip(operands, operator.inputs, strict=False)
        ]
        call = _call(operator, node, moved_terms)
    return None if call is None else call._replace(inputs=tuple(operands))


def restored(store: Store, order: CallInOrder, result: Term, block: int) -> Term:
    """The output of a call in the order of its layout, from that of the operator that is meant; where the shape of the
    latter is not known, a function of it and of the inputs of the call.
    """
    if result.shape is None or len(result.shape) < 2:
        own = order.operator
        return store.applied(own.name, ("order", block), [result, *order.inputs], 0, NOTHING_STATED, domain=own.domain)
    if order.operator.means.name == "Identity":
        return result
    return blocked(store, result, block) if order.operator.domain == BLOCKS else channels_last(store, result)


def _is_unfit(operand: Term | None) -> bool:
    """Whether an operand has no known shape with channels, or is too large for a map."""
    if operand is None:
        return False
    return operand.shape is None or len(operand.shape) < 3 or not 0 < size(operand) <= MAX_ELEMENTS


def _call(
    operator: LayoutOperator,
    node: Node,
    operands: Sequence[Term | None],
    *,
    is_exact: bool = True,
) -> CallInOrder:
    """The call of the operator that is meant."""
    label = node.outputs[0]
    names = [f"{label} (input {index})" if operand is not None else "" for index, operand in enumerate(operands)]
    left_out = {**operator.without, **operator.where}
    kept = [each for each in node.attributes if each.name not in left_out or each.value != left_out[each.name]]
    written = {attribute.name for attribute in kept}
    kept += [Attribute(name, "string", text, fields=("s",)) for name, text in operator.adds.items()
             if name not in written]  # fmt: skip
    call = Node("", operator.means.name, operator.means.domain, "", tuple(names), (f"{label} (in order)",), tuple(kept))
    terms = {name: operand for name, operand in zip(names, operands, strict=True) if operand is not None}
    return CallInOrder(operator, call, terms, (), is_exact)


# ------------------------------------------------------------------ channels last


def channels_first(store: Store, term: Term) -> Term:
    """The elements of a tensor with channels last, with channels in the second axis."""
    numbered = _numbers(term)
    return _moved(store, [term], np.moveaxis(numbered, -1, 1))


def channels_last(store: Store, term: Term) -> Term:
    """The elements of a tensor with channels in the second axis, with channels last."""
    return _moved(store, [term], np.moveaxis(_numbers(term), 1, -1))


# ------------------------------------------------------------------ blocks of channels


def blocked(store: Store, term: Term, block: int, filler: Term | None = None) -> Term:
    """Channels in blocks; the last block is filled up with the number `filler`, or with elements of which nothing is
    known.
    """
    shape = term.shape or ()
    channels, numbered = shape[1], _numbers(term)
    added, sources = -channels % block, [term]
    if added:
        rest = (shape[0], added, *shape[2:])
        first = size(term)
        if filler is None:
            sources.append(store.fresh("unknown", shaped(term.facts.type, rest), FILLING))
            filling = np.arange(first, first + prod(rest), dtype=np.int64).reshape(rest)
        else:
            sources.append(filler)
            filling = np.full(rest, first, np.int64)
        numbered = np.concatenate([numbered, filling], axis=1)
    apart = numbered.reshape(shape[0], -1, block, *shape[2:])
    return _moved(store, sources, np.moveaxis(apart, 2, -1), numbered.shape)


def unblocked(store: Store, term: Term, block: int) -> Term | None:
    """The elements of a tensor in blocks of channels, with channels in the second axis."""
    shape = term.shape or ()
    if shape[1] % block:
        return None
    apart = _numbers(term).reshape(shape[0], shape[1] // block, *shape[2:], block)
    return _moved(store, [term], np.moveaxis(apart, -1, 2), shape)


def unblocked_filter(store: Store, term: Term, block: int, *, inputs_in_blocks: bool) -> Term | None:
    """A filter by output and input channels, whose output channels stand in blocks, and input channels too or not."""
    shape = term.shape or ()
    if len(shape) != 4 or shape[0] % block or (inputs_in_blocks and shape[1] % block):
        return None
    outputs, inputs, height, width = shape
    numbered = _numbers(term)
    if inputs_in_blocks:
        apart = numbered.reshape(outputs // block, inputs // block, height, width, block, block)
        return _moved(store, [term], apart.transpose(0, 5, 1, 4, 2, 3), shape)
    return _moved(store, [term], np.moveaxis(numbered.reshape(outputs // block, inputs, height, width, block), -1, 1),
                  shape)  # fmt: skip


def _reordered(store: Store, operator: LayoutOperator, node: Node, operand: Term, block: int) -> CallInOrder | None:
    """ReorderInput and ReorderOutput."""
    attributes = {attribute.name: attribute.value for attribute in node.attributes}
    known = {"channels_last"} if operator.name == "ReorderInput" else {"channels_last", "channels"}
    if attributes.keys() - known or attributes.get("channels_last", 0) not in (0, 1):
        return None
    is_last = bool(attributes.get("channels_last"))
    if operator.name == "ReorderInput":
        kind = ELEMENTS.get(str(operand.facts.type))
        if _is_unfit(operand) or kind is None:
            return None
        plain = channels_first(store, operand) if is_last else operand
        return _call(operator, node, [blocked(store, plain, block, constant_of(store, np.zeros(1, kind)))])
    plain_or_none, channels = unblocked(store, operand, block), attributes.get("channels")
    if plain_or_none is None or type(channels) is not int:
        return None
    if not 0 <= (operand.shape or ())[1] - channels < block:
        return None
    first = _first_channels(store, plain_or_none, channels)
    return _call(operator, node, [channels_last(store, first) if is_last else first])


def _on_blocks(
    store: Store, operator: LayoutOperator, node: Node, operands: Sequence[Term | None], block: int
) -> CallInOrder | None:
    """A convolution or a pooling of the channels that mean something."""
    if operator.name != "Conv":
        plain = unblocked(store, operands[0], block) if operands[0] is not None else None
        if plain is None:
            return None
        values: list[Term | None] = [_first_channels(store, plain, _meaningful(plain))]
        if operator.name == "Upsample":
            scales = next((each.value for each in node.attributes if each.name == "scales"), None)
            if not isinstance(scales, tuple):
                return None
            values += [None, constant_of(store, np.array(scales, np.float32))]
            node = replace(node, attributes=tuple([each for each in node.attributes if each.name != "scales"]))
        return _call(operator, node, values)
    return _convolution(store, operator, node, operands, block)


def _convolution(
    store: Store, operator: LayoutOperator, node: Node, operands: Sequence[Term | None], block: int
) -> CallInOrder | None:
    first, weight, bias, added = (*operands, None, None)[:4]
    group = next((attribute.value for attribute in node.attributes if attribute.name == "group"), 1)
    if first is None or weight is None or weight.array is None or len(weight.shape or ()) != 4:
        return None
    outputs, inputs = (weight.shape or ())[:2]
    reads_plain = group == 1 and inputs < block
    by_channel = inputs == 1 and group == outputs
    kernels = unblocked_filter(store, weight, block, inputs_in_blocks=not (reads_plain or by_channel))
    values = first if reads_plain else unblocked(store, first, block)
    if kernels is None or kernels.array is None or values is None:
        return None
    is_exact = True
    if group == 1:
        read = _meaningful(values)
        used = _used(kernels.array, 1)
        if max(read, used) < inputs:
            values, is_exact = _first_channels(store, values, max(read, used)), False
            kernels = _part(store, kernels, outputs, max(read, used))
        offsets = None if bias is None else bias.array
        if bias is not None and offsets is None:
            return None
        written = max(
            0 if kernels.array is None else _used(kernels.array, 0), 0 if offsets is None else _used(offsets, 0)
        )
        written = written if written > outputs - block else outputs
        kernels = _part(store, kernels, written, (kernels.shape or ())[1])
        bias = bias if offsets is None else constant_of(store, offsets[:written])
    else:
        written = outputs
    if added is not None:
        plain = unblocked(store, added, block)
        added = None if plain is None else _first_channels(store, plain, written)
        if added is None:
            return None
    return _call(operator, node, [values, kernels, bias, added], is_exact=is_exact)


def _part(store: Store, kernels: Term, outputs: int, inputs: int) -> Term:
    """The first channels of a filter."""
    numbered = _numbers(kernels)[:outputs, :inputs]
    return _moved(store, [kernels], numbered)


def _used(array: Array, axis: int) -> int:
    """How many channels there are up to the last one with a weight other than zero."""
    used = np.flatnonzero(np.any(array != 0, axis=tuple([each for each in range(array.ndim) if each != axis])))
    return int(used[-1]) + 1 if used.size else 0


def _first_channels(store: Store, term: Term, channels: int) -> Term:
    return _moved(store, [term], _numbers(term)[:, :channels])


def _meaningful(term: Term) -> int:
    """How many channels there are up to the last one that is not filled up."""
    shape = term.shape or ()
    if term.operator != "moved" or term.places is None:
        return shape[1]
    starts = np.cumsum([0, *(size(source) for source in term.inputs if source is not None)])
    owners = np.searchsorted(starts, term.places.reshape(shape), side="right") - 1
    fills = np.array([source is not None and _is_filling(source, MAX_DEPTH) for source in term.inputs])
    meant = np.flatnonzero(~fills[owners].all(axis=tuple([axis for axis in range(len(shape)) if axis != 1])))
    return int(meant[-1]) + 1 if meant.size else shape[1]


def _is_filling(term: Term, depth: int) -> bool:
    """Whether a value is computed from constants and from what fills blocks up alone."""
    if term.is_constant or term.operator == "unknown":
        return True
    operands = [operand for operand in term.inputs if operand is not None]
    return depth > 0 and bool(operands) and all(_is_filling(operand, depth - 1) for operand in operands)


# ------------------------------------------------------------------ numbers of elements


def _numbers(term: Term) -> Array:
    """The number of each element of a term, in its shape."""
    numbers: Array = np.arange(size(term), dtype=np.int64).reshape(term.shape or ())
    return numbers


def _moved(store: Store, sources: Sequence[Term], places: Array, shape: Sequence[int] | None = None) -> Term:
    """The elements at these places, in the shape of the places or in another one."""
    extents: Any = places.shape if shape is None else shape
    return moved(store, sources, np.ascontiguousarray(places).reshape(-1), tuple(extents))
