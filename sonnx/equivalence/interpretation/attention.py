"""Operators of transformers by simpler operators of ONNX, over the reals.

Of ONNX Attention (`onnx_attention.py`); of onnxruntime Attention without masks and without a past, MultiHeadAttention
without masks of keys, GroupQueryAttention without rotation, RotaryEmbedding, and MatMulNBits with constant weights, as
docs/ContribOperators.md describes them.
`equivalent` compares models by these nodes, and `fix` writes them; `tests/equivalence/test_attention.py` runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from sonnx.equivalence.interpretation.attention_nodes import AttentionNodes, CallOperand, Constant, scale_of
from sonnx.equivalence.interpretation.onnx_attention import attention_of_onnx, attention_with_past, grouped_attention
from sonnx.equivalence.terms.narrowings import narrowed_constant
from sonnx.equivalence.terms.store import Store
from sonnx.model.ir import Node
from sonnx.model.scopes import canonical_domain
from sonnx.numerics.formats import ELEMENTS, Array

MICROSOFT = "com.microsoft"


@dataclass
class WrittenAttention:
    """The nodes for one call in order, and the values of its outputs by their places.

    The first output is that of the operator over the reals, the others bit for bit.
    """

    nodes: list[Node] = field(default_factory=list)
    results: dict[int, str] = field(default_factory=dict)


def has_attention(domain: str, operator: str) -> bool:
    """Whether an operator is one of them."""
    return (domain, operator) in _WRITERS


def written_attention(
    store: Store | None,
    node: Node,
    operands: Sequence[CallOperand | None],
    constant: Constant,
    name: Callable[[str], str],
) -> WrittenAttention | None:
    """The nodes for one call; None where the meaning is not stated for it.

    Args:
        store: of the comparison, where narrowings are left out.
        node: the call.
        operands: what is known of its inputs.
        constant: gives constants their names.
        name: the name of an intermediate value, from what it is.
    """
    if not operands or any(attribute.reference for attribute in node.attributes):
        return None
    first = operands[0]
    if first is None or first.shape is None or ELEMENTS.get(str(first.facts.type)) is None or 0 in first.shape:
        return None
    values = {attribute.name: attribute.value for attribute in node.attributes}
    if type(values.get("scale", 0.0)) not in (int, float) or not node.outputs or not node.outputs[0]:
        return None
    nodes = AttentionNodes(name, [*node.inputs], [*operands], values, ELEMENTS[str(first.facts.type)], constant)
    if not _WRITERS[canonical_domain(node.domain), node.operator](store, nodes):
        return None
    return WrittenAttention(nodes.nodes, {0: nodes.nodes[-1].outputs[0], **nodes.further})


def _attention(store: Store | None, nodes: AttentionNodes) -> bool:
    """Attention: query, key and value by one matrix."""
    first, weights, attention_bias = nodes.term(0), nodes.term(1), nodes.name(5)
    count, sizes = nodes.values.get("num_heads"), nodes.values.get("qkv_hidden_sizes")
    if not nodes.has_only(6, "num_heads", "scale", "qkv_hidden_sizes", "mask_filter_value", unidirectional=0,
                          do_rotary=0, past_present_share_buffer=0, rotary_embedding_dim=0):  # fmt: skip
        return False
    if first is None or weights is None or weights.shape is None or nodes.name(3) or nodes.name(4):
        return False
    if len(weights.shape) != 2:
        return False
    shape, columns = first.shape or (), weights.shape[-1]
    if sizes is None and columns % 3 == 0:
        sizes = (columns // 3,) * 3
    if len(shape) != 3 or type(count) is not int or count < 1 or not isinstance(sizes, tuple) or len(sizes) != 3:
        return False
    if sum(sizes) != columns or sizes[0] != sizes[1] or any(size % count for size in sizes):
        return False
    together = nodes.add("MatMul", nodes.name(0), nodes.name(1))
    if nodes.name(2):
        bias = nodes.term(2)
        if bias is None or bias.shape != (columns,):
            return False
        together = nodes.add("Add", together, nodes.name(2))
    ends = np.cumsum([0, *sizes]).tolist()
    parts = [
        nodes.heads(nodes.part(together, ends[index], ends[index + 1]), *shape[:2], count, sizes[index] // count)
        for index in range(3)
    ]
    scale = scale_of(nodes.values, sizes[0] // count)
    nodes.attended(parts[0], parts[1], parts[2], scale, attention_bias, (shape[0], shape[1], sizes[2]))
    return True


def _multi_head_attention(store: Store | None, nodes: AttentionNodes) -> bool:
    """MultiHeadAttention: query, key and value apart, with an optional constant bias of all three."""
    if nodes.name(6):
        return attention_with_past(store, nodes)
    terms, count, bias = [nodes.term(index) for index in range(3)], nodes.values.get("num_heads"), nodes.term(3)
    if not nodes.has_only(6, "num_heads", "scale", "mask_filter_value", unidirectional=0):
        return False
    shapes = [term.shape for term in terms if term is not None and term.shape is not None and len(term.shape) == 3]
    if len(shapes) != 3 or type(count) is not int or count < 1 or nodes.name(4):
        return False
    if shapes[0][0] != shapes[1][0] or shapes[1][:2] != shapes[2][:2] or shapes[0][2] != shapes[1][2]:
        return False
    if any(shape[2] % count for shape in shapes) or (nodes.name(3) and (bias is None or bias.array is None)):
        return False
    ends = np.cumsum([0, *(shape[2] for shape in shapes)]).tolist()
    if bias is not None and bias.array is not None and bias.array.shape != (ends[-1],):
        return False
    parts = []
    for index, shape in enumerate(shapes):
        name = nodes.name(index)
        if bias is not None and bias.array is not None:
            own = nodes.constant(f"bias {index}", bias.array[ends[index] : ends[index + 1]])
            name = nodes.add("Add", name, own)
        parts.append(nodes.heads(name, *shape[:2], count, shape[2] // count))
    scale = scale_of(nodes.values, shapes[0][2] // count)
    result = shapes[0][0], shapes[0][1], shapes[2][2]
    nodes.attended(parts[0], parts[1], parts[2], scale, nodes.name(5), result)
    return True


def _rotary_embedding(store: Store | None, nodes: AttentionNodes) -> bool:
    """RotaryEmbedding: pairs of elements turned by the angle of their position."""
    first, positions, cosines, sines = (nodes.term(index) for index in range(4))
    if not nodes.has_only(4, "num_heads", "rotary_embedding_dim", interleaved=0, is_packed_batching=0, scale=1.0):
        return False
    if first is None or positions is None or cosines is None or cosines.shape is None or positions.shape is None:
        return False
    shape, half = first.shape or (), cosines.shape[-1]
    stated, count = nodes.values.get("rotary_embedding_dim", 0), nodes.values.get("num_heads", 0)
    turned = 2 * half
    if stated not in (0, turned) or len(cosines.shape) != 2 or len(shape) not in (3, 4):
        return False
    if sines is None or sines.shape != cosines.shape or type(count) is not int or count < 0:
        return False
    batch, length = (shape[0], shape[1]) if len(shape) == 3 else (shape[0], shape[2])
    if positions.shape != (batch, length):
        return False
    name = nodes.name(0)
    heads = shape[1] if len(shape) == 4 else count or shape[2] // max(turned, 1)
    width = shape[3] if len(shape) == 4 else shape[2] // max(heads, 1)
    if width < turned or count not in (0, heads) or (len(shape) == 3 and shape[2] != heads * width):
        return False
    if (stated and not count) or (not stated and width != turned):
        return False  # the runtime takes the width of a head from the angles where the attribute is not written
    if len(shape) == 3:
        name = nodes.heads(name, batch, length, shape[2] // width, width)
    cosine, sine = (
        nodes.reshaped(nodes.add("Gather", nodes.name(index), nodes.name(1), axis=0), batch, 1, length, half)
        for index in (2, 3)
    )
    low, high = nodes.part(name, 0, half), nodes.part(name, half, turned)
    parts = [
        nodes.add("Sub", nodes.add("Mul", low, cosine), nodes.add("Mul", high, sine)),
        nodes.add("Add", nodes.add("Mul", high, cosine), nodes.add("Mul", low, sine)),
    ]
    if width > turned:
        parts.append(nodes.part(name, turned, width))
    joined = nodes.add("Concat", *parts, axis=-1)
    if len(shape) == 3:
        nodes.reshaped(nodes.add("Transpose", joined, perm=(0, 2, 1, 3)), *shape)
    return True


def _of_n_bits(store: Store | None, nodes: AttentionNodes) -> bool:
    """MatMulNBits: the product with the numbers that packed integers stand for."""
    packed, scales, zeros = nodes.term(1), nodes.term(2), nodes.term(3)
    rows, columns, block = (nodes.values.get(name) for name in ("K", "N", "block_size"))
    bits = nodes.values.get("bits", 4)
    if not nodes.has_only(6, "K", "N", "bits", "block_size", "accuracy_level", weight_prepacked=0):
        return False
    if nodes.values.get("accuracy_level", 0) not in (0, 1):
        return False  # the runtime may compute in fewer digits
    if type(rows) is not int or type(columns) is not int or type(block) is not int or min(rows, columns, block) < 1:
        return False
    if nodes.name(4) or packed is None or packed.array is None or scales is None or scales.array is None:
        return False
    if bits not in (4, 8) or rows % block or (zeros is not None and zeros.array is None):
        return False
    kind, blocks = ELEMENTS["uint4" if bits == 4 else "uint8"], rows // block
    if (
        packed.array.dtype != np.uint8
        or packed.array.size * 8 != rows * columns * bits
        or scales.array.size != columns * blocks
    ):
        return False
    codes = _unpacked(packed.array.reshape(columns, -1), bits)[:, :rows].T
    if zeros is None or zeros.array is None:
        shift = np.full((blocks, columns), 1 << (bits - 1), np.uint8)
    elif zeros.array.dtype == np.uint8 and zeros.array.size == columns * -(-blocks * bits // 8):
        shift = _unpacked(zeros.array.reshape(columns, -1), bits)[:, :blocks].T
    else:
        return False
    scale = scales.array.reshape(columns, blocks).T
    narrowed = None
    if store is not None and store.narrowings is not None:
        narrowed = narrowed_constant(store, codes.astype(kind), scale, shift.astype(kind), 0, block)
        if narrowed is None:
            return False
    whole = codes.astype(np.float64) - np.repeat(shift.astype(np.float64), block, axis=0)
    numbers = (whole * np.repeat(scale.astype(np.float64), block, axis=0)).astype(nodes.kind)
    product = nodes.add("MatMul", nodes.name(0), nodes.constant("weights", numbers, narrowed))
    if nodes.name(5):
        nodes.add("Add", product, nodes.name(5))
    return True


def _unpacked(rows: Array, bits: int) -> Array:
    """Integers of each row of bytes, the lower bits first."""
    if bits == 8:
        return rows
    return np.stack([rows & 15, rows >> 4], axis=-1).reshape(rows.shape[0], prod(rows.shape[1:]) * 2)


_WRITERS: Mapping[tuple[str, str], Callable[[Store | None, AttentionNodes], bool]] = {
    ("", "Attention"): attention_of_onnx,
    (MICROSOFT, "Attention"): _attention,
    (MICROSOFT, "GroupQueryAttention"): grouped_attention,
    (MICROSOFT, "MultiHeadAttention"): _multi_head_attention,
    (MICROSOFT, "RotaryEmbedding"): _rotary_embedding,
    (MICROSOFT, "MatMulNBits"): _of_n_bits,
}
