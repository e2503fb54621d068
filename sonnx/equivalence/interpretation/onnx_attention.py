"""Attention of grouped heads by simpler operators of ONNX, over the reals: Attention-23 and -24 without softcap, and of
onnxruntime GroupQueryAttention, and MultiHeadAttention with a past.

Versions of ONNX differ about whether softcap comes before the mask or behind it, so that no meaning with it is stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from sonnx.equivalence.interpretation.attention_nodes import AttentionNodes, scale_of
from sonnx.model.writer import element_number
from sonnx.numerics.formats import ELEMENTS, NAMES, Array


@dataclass(frozen=True)
class _Heads:
    """The sizes of ONNX Attention: heads of query and of key and value, lengths, and widths of a head."""

    batch: int
    heads: tuple[int, int]
    lengths: tuple[int, int]
    widths: tuple[int, int]
    is_joined: bool
    """Whether the inputs are [batch, length, heads * width]."""

    @classmethod
    def of(cls, shapes: Sequence[tuple[int, ...]], stated: tuple[Any, Any]) -> _Heads | None:
        """Of inputs with so many heads as attributes state; None where the inputs do not fit together."""
        query, key, value = shapes
        ranks = {len(shape) for shape in shapes}
        if ranks == {3}:
            counts = tuple([count for count in stated if type(count) is int and count > 0])
            if len(counts) != 2 or query[2] % counts[0] or key[2] % counts[1] or value[2] % counts[1]:
                return None
            sizes = [
                (shape[0], count, shape[1], shape[2] // count)
                for shape, count in zip(shapes, (counts[0], counts[1], counts[1]), strict=True)
            ]
        elif ranks == {4} and stated == (None, None):
            sizes = [(shape[0], shape[1], shape[2], shape[3]) for shape in shapes]
        else:
            return None
        (batch, count, length, width), (_, shared, keys, _), _ = sizes
        fits = sizes[1] == (batch, shared, keys, width) and sizes[2][:3] == (batch, shared, keys)
        if not fits or not shared or count % shared or 0 in (batch, count, length, keys, width, sizes[2][3]):
            return None
        return cls(batch, (count, shared), (length, keys), (width, sizes[2][3]), ranks == {3})


def attention_of_onnx(store: object, nodes: AttentionNodes) -> bool:
    """Attention-23 and -24: with a mask of truth values or numbers, causal, with fewer heads of key and value, and with
    a past.  A row that no key may take part in is 0.
    """
    precision = element_number(NAMES[np.dtype(nodes.kind)])
    if not nodes.has_only(6, "q_num_heads", "kv_num_heads", "scale", "is_causal", softmax_precision=precision,
                          qk_matmul_output_mode=0, softcap=0.0):  # fmt: skip
        return False
    causal = nodes.values.get("is_causal", 0)
    counts = nodes.values.get("q_num_heads"), nodes.values.get("kv_num_heads")
    return causal in (0, 1) and _grouped(nodes, counts, _Places(past=4, mask=3), is_causal=bool(causal))


def grouped_attention(store: object, nodes: AttentionNodes) -> bool:
    """GroupQueryAttention of float values without rotation, where the lengths are constants and the past has the length
    that they say.
    """
    if not nodes.has_only(7, "num_heads", "kv_num_heads", "scale", do_rotary=0, rotary_interleaved=0, softcap=0.0,
                          local_window_size=-1, smooth_softmax=0, qk_output=0, causal=1):  # fmt: skip
        return False
    query, key, counted, total = nodes.term(0), nodes.term(1), nodes.term(5), nodes.term(6)
    if query is None or key is None or key.shape is None or len(key.shape) != 3 or query.shape is None:
        return False
    if counted is None or counted.array is None or total is None or total.array is None or total.array.size != 1:
        return False
    whole = int(total.array.reshape(-1)[0])
    if counted.array.shape != query.shape[:1] or bool((counted.array != whole - 1).any()):
        return False
    past = nodes.term(3)
    before = past.shape[2] if past is not None and past.shape is not None and len(past.shape) == 4 else 0
    batch, length = query.shape[:2]
    if key.shape[1] != length or before + length != whole or (before and batch > 1 and length > 1):
        return False
    counts = nodes.values.get("num_heads"), nodes.values.get("kv_num_heads")
    return _grouped(nodes, counts, _Places(past=3, mask=None, is_kept=True), is_causal=True)


def attention_with_past(store: object, nodes: AttentionNodes) -> bool:
    """MultiHeadAttention with a past, without a bias of the projections and without a mask of the keys."""
    if not nodes.has_only(8, "num_heads", "scale", "mask_filter_value", unidirectional=0):
        return False
    count = nodes.values.get("num_heads")
    if nodes.name(3) or nodes.name(4):
        return False
    return _grouped(nodes, (count, count), _Places(past=6, mask=5, is_kept=True), is_causal=False)


@dataclass(frozen=True)
class _Places:
    """The places of inputs: of the past of the key, with that of the value behind it, and of what masks the scores.

    Attributes:
        is_kept: the present key and value are outputs without a past, too.
    """

    past: int
    mask: int | None
    is_kept: bool = False


def _grouped(nodes: AttentionNodes, counts: tuple[Any, Any], places: _Places, *, is_causal: bool) -> bool:
    """Attention of the inputs 0 to 2, whose heads are so many of the query, and of key and value."""
    terms = [nodes.term(index) for index in range(3)]
    shapes = [term.shape for term in terms if term is not None and term.shape is not None]
    sizes = _Heads.of(shapes, counts) if len(shapes) == 3 else None
    pasts = [nodes.term(places.past), nodes.term(places.past + 1)]
    if sizes is None or len({bool(nodes.name(places.past + index)) for index in (0, 1)}) != 1:
        return False
    (length, keys), past = sizes.lengths, 0
    if nodes.name(places.past):
        known = [term.shape for term in pasts if term is not None and term.shape is not None]
        if len(known) != 2 or len(known[0]) != 4:
            return False
        past = known[0][2]
        if known != [(sizes.batch, sizes.heads[1], past, width) for width in sizes.widths] or not past:
            return False
    query, key, value = (
        nodes.heads(nodes.name(index), sizes.batch, own, count, width) if sizes.is_joined else nodes.name(index)
        for index, (own, count, width) in enumerate((
            (length, sizes.heads[0], sizes.widths[0]), (keys, sizes.heads[1], sizes.widths[0]),
            (keys, sizes.heads[1], sizes.widths[1])))
    )  # fmt: skip
    if past:
        key, value = (
            nodes.add("Concat", nodes.name(places.past + index), own, axis=2) for index, own in enumerate((key, value))
        )
    if past or places.is_kept:
        nodes.further = {1: key, 2: value}
    total = past + keys
    key, value = (
        _repeated(nodes, name, sizes, total, width) for name, width in zip((key, value), sizes.widths, strict=True)
    )
    allowed = np.tri(length, total, past, bool) if is_causal else None
    bias = _bias(nodes, places.mask, allowed, (sizes.batch, sizes.heads[0], length, total))
    if bias is None:
        return False
    result = nodes.weighted(query, key, value, scale_of(nodes.values, sizes.widths[0]), bias.added)
    if bias.taken:
        shape = sizes.batch, sizes.heads[0], length, sizes.widths[1]
        empty = nodes.add("Less", bias.taken, nodes.numbers(np.full(shape, 0.5)))
        result = nodes.add("Where", empty, nodes.number(0.0), result)
    if sizes.is_joined:
        nodes.joined(result, (sizes.batch, length, sizes.heads[0] * sizes.widths[1]))
    return True


def _repeated(nodes: AttentionNodes, name: str, sizes: _Heads, length: int, width: int) -> str:
    """Each head of key or value for as many heads of the query as share it."""
    count, shared = sizes.heads
    if count == shared:
        return name
    apart = nodes.reshaped(name, sizes.batch, shared, 1, length, width)
    together = nodes.add("Concat", *[apart] * (count // shared), axis=2)
    return nodes.reshaped(together, sizes.batch, count, length, width)


@dataclass(frozen=True)
class _Bias:
    """What is added to the scores, "" for nothing; `taken` is 0 in rows that no key may take part in, "" where each row
    has one.
    """

    added: str = ""
    taken: str = ""


def _bias(nodes: AttentionNodes, place: int | None, allowed: Array | None, scores: tuple[int, ...]) -> _Bias | None:
    """The sum of the mask and of -inf where `allowed` is not; None where the mask does not fit."""
    mask, name = (None, "") if place is None else (nodes.term(place), nodes.name(place))
    causal = "" if allowed is None else nodes.numbers(np.where(allowed, 0.0, -inf))
    if not name:
        return _Bias(causal)
    if mask is None or mask.shape is None or len(mask.shape) > 4 or (mask.shape and mask.shape[-1] != scores[-1]):
        return None
    padded = (1,) * (4 - len(mask.shape)) + mask.shape
    if any(extent not in (1, other) for extent, other in zip(padded, scores, strict=True)):
        return None
    if ELEMENTS.get(str(mask.facts.type)) == nodes.kind:
        return _Bias(nodes.add("Add", name, causal) if causal else name)
    if mask.facts.type != "bool":
        return None
    one, zero, half = nodes.number(1.0), nodes.number(0.0), nodes.number(0.5)
    taking = nodes.add("Where", name, one, zero)
    if allowed is not None:
        taking = nodes.add("Mul", taking, nodes.numbers(allowed))
    listed = nodes.constant("last axis", np.array([-1], np.int64))
    taken = nodes.add("ReduceMax", taking, listed, keepdims=1)
    left_out = nodes.add("Less", taking, half)
    return _Bias(nodes.add("Where", left_out, nodes.number(-inf), zero), taken)
