"""Sums, means and transposed convolutions as products: by MatMul, Conv and Div over the reals.

A sum, a product of matrices and a convolution are one exact sum each, rounded once; so a sum is its product, bit for
bit, and a mean of 2^k elements is one with factors 2^-k.  Other means, LRN and ConvTranspose equal theirs over the
reals only: a division and each step of a formula round once more, and products with 0 can change the sign of a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import isfinite, prod
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from sonnx.base.errors import NotExecutable
from sonnx.equivalence.terms.movements import MAX_ELEMENTS, constant_of, moved
from sonnx.equivalence.terms.store import Store, Term
from sonnx.model.ir import Attribute, Node
from sonnx.numerics.application import Application
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.numerics.windows import Windows
from sonnx.operators import averagepool, convtranspose, lrn, resize

MAX_DIVISOR = 1 << 14
"""Its reciprocal is a normal number of every format in `FLOATS`."""

FLOATS = frozenset({"float16", "bfloat16", "float", "double"})
MAX_WEIGHTS = 1 << 20
"""Elements of the largest matrix of weights of Resize."""
PLANE = 2
"""The spatial axes that Conv has in the profile."""

EXACTLY = "a sum, or a mean of 2^k elements, is the product with equal factors, rounded once: {}"
IDEALLY = "{} is over the reals what its formula says (sonnx/equivalence/interpretation/averages.py)"


class Formula(Struct, frozen=True):
    """Nodes that compute an operator, on named terms.

    `ideal` names what the result is where the nodes compute it over the reals only, "" where they do so bit for bit:
    results of one name and one term are equal.
    """

    nodes: tuple[Node, ...]
    terms: dict[str, Term]
    result: str
    ideal: str


class _Builder:
    """Collects the nodes and terms of a formula; names start with that of the output.

    Args:
        store: of the terms.
        application: how the operator is applied that the formula stands for.
        inputs: its inputs.
        first: the first of them.
        output: the name of its output.
    """

    def __init__(
        self, store: Store, application: Application, inputs: Sequence[Term | None], first: Term, output: str
    ) -> None:
        self.store, self.application, self.inputs, self.first, self.output = store, application, inputs, first, output
        self.shape, self.kind = first.shape or (), ELEMENTS[str(first.facts.type)]
        self.nodes: list[Node] = []
        self.terms: dict[str, Term] = {}

    def term(self, term: Term) -> str:
        name = f"{self.output} (operand {len(self.terms)})"
        self.terms[name] = term
        return name

    def number(self, values: Any) -> str:
        return self.term(constant_of(self.store, np.array(values).astype(self.kind)))

    def node(self, operator: str, inputs: Sequence[str], attributes: Iterable[Attribute] = ()) -> str:
        result = f"{self.output} (step {len(self.nodes)})"
        self.nodes.append(Node("", operator, "", "", tuple(inputs), (result,), tuple(attributes)))
        return result

    def holds(self, number: float) -> bool:
        """Whether the element type has a number."""
        with np.errstate(all="ignore"):
            return float(np.array(number).astype(self.kind)) == number

    def reshape(self, source: str, shape: Sequence[int]) -> str:
        return self.node("Reshape", (source, self.term(constant_of(self.store, np.array(shape, np.int64)))))

    def conv(self, source: str, kernels: Array, slid: Windows, *, group: int, bias: str = "") -> str:
        return self.conv_of(source, self.number(kernels), slid, group=group, bias=bias)

    def conv_of(self, source: str, kernels: str, slid: Windows, *, group: int, bias: str = "") -> str:
        written = [*_written(slid), Attribute("group", "int", group, fields=("i",))]
        return self.node("Conv", (source, kernels, *filter(None, [bias])), written)

    def pool(self, source: str, slid: Windows) -> str:
        return self.node("MaxPool", (source,), _written(slid))

    @property
    def bias(self) -> str:
        """The name of the third input, "" where it is left out."""
        bias = self.inputs[2] if len(self.inputs) > 2 else None
        return "" if bias is None else self.term(bias)

    def formula(self, result: str, ideal: str = "") -> Formula:
        return Formula(tuple(self.nodes), self.terms, result, ideal)


def _written(slid: Windows) -> list[Attribute]:
    """Windows as attributes."""
    lists = {"dilations": slid.dilations, "kernel_shape": slid.kernel, "pads": (*slid.begins, *slid.ends),
             "strides": slid.strides}  # fmt: skip
    return [Attribute(name, "ints", values, fields=("ints",)) for name, values in lists.items()]


Build: TypeAlias = Callable[[_Builder], Formula | None]

_FORMULAS: dict[str, Build] = {}


def formula_for(*operators: str) -> Callable[[Build], Build]:
    """Register what builds the formula of operators of the standard domain."""

    def register(build: Build) -> Build:
        _FORMULAS.update(dict.fromkeys(operators, build))
        return build

    return register


def has_formula(operator: str) -> bool:
    """Whether there are nodes that may compute an operator."""
    return operator in _FORMULAS


def formula_of(store: Store, application: Application, inputs: Sequence[Term | None], output: str) -> Formula | None:
    """The nodes that compute a call; None where there are none for it."""
    build, first = _FORMULAS.get(application.operator), inputs[0] if inputs else None
    if build is None or first is None or first.facts.type not in (*FLOATS, *_WHOLE.get(application.operator, ())):
        return None
    if first.is_constant != (application.operator == "Gather"):
        return None
    if not first.shape or 0 in first.shape or prod(first.shape) > MAX_ELEMENTS:
        return None
    try:
        formula = build(_Builder(store, application, inputs, first, output))
    except NotExecutable:
        return None
    if formula is not None:
        store.assume((IDEALLY if formula.ideal else EXACTLY).format(application.operator))
    return formula


@formula_for("GlobalAveragePool", "ReduceMean", "ReduceSum")
def _sum_or_mean(builder: _Builder) -> Formula | None:
    """The elements of neighbouring axes as rows of a matrix, or as the columns under a kernel; of others as rows."""
    application, first, shape = builder.application, builder.first, builder.shape
    gone = _gone(application, builder.inputs, len(shape))
    if gone is None:
        return None
    number = prod(shape[axis] for axis in gone)
    mean = application.operator != "ReduceSum"
    exact = not mean or is_exact_divisor(number)
    factor = 1 / number if mean and exact else 1.0
    if not exact and not builder.holds(number):
        return None
    long = [axis for axis in range(len(shape)) if shape[axis] > 1]
    summed = [axis for axis in long if axis in gone]
    begin, end = (summed[0], summed[-1] + 1) if summed else (0, 0)
    inner = prod(shape[end:])
    if all(axis in gone for axis in long if begin <= axis < end) and inner > 1:
        outer = prod(shape[:begin])
        stack = builder.term(moved(builder.store, [first], None, (1, outer, number, inner)))
        total = builder.conv(stack, np.full((outer, 1, number, 1), factor), _windows((number, 1)), group=outer)
    else:
        kept = [axis for axis in range(len(shape)) if axis not in gone]
        numbered = np.arange(prod(shape), dtype=np.int32).reshape(shape).transpose([*kept, *gone]).reshape(-1)
        rows = moved(builder.store, [first], numbered, (prod(shape) // number, number))
        total = builder.node("MatMul", (builder.term(rows), builder.number(np.full((number, 1), factor))))
    if exact:
        return builder.formula(total)
    return builder.formula(builder.node("Div", (total, builder.number(number))), "a mean of elements")


def _gone(application: Application, inputs: Sequence[Term | None], rank: int) -> list[int] | None:
    """The axes of the elements that are added up, None where they are not known."""
    if application.operator == "GlobalAveragePool":
        return [*range(2, rank)]
    if any(operand is not None and not operand.is_constant for operand in inputs[1:]):
        return None
    gone = application.names.get("gone")
    return sorted(gone) if isinstance(gone, tuple | list | frozenset | set) else None


def is_exact_divisor(number: int) -> bool:
    """Whether a division by a number of elements is a multiplication by a power of two."""
    return number & (number - 1) == 0 and 0 < number <= MAX_DIVISOR


@formula_for("AveragePool")
def _average_pool(builder: _Builder) -> Formula | None:
    """Conv of each channel, and Div by the numbers of elements unless all are one power of two."""
    application, first, shape = builder.application, builder.first, builder.shape
    slid = averagepool.slid_over(application, shape)
    numbers = averagepool.numbers_of_elements(slid, averagepool.counted(application, slid))
    whole = prod(slid.kernel)
    if not numbers.size or not numbers.all() or len(shape) not in (3, PLANE + 2) or min((*slid.begins, *slid.ends)) < 0:
        return None
    exact = bool((numbers == whole).all()) and is_exact_divisor(whole)
    if not exact and not all(builder.holds(int(number)) for number in np.unique(numbers)):
        return None
    line = len(shape) == PLANE + 1
    source = moved(builder.store, [first], None, (*shape[:2], 1, shape[2])) if line else first
    slid = _needed(slid)
    if line:
        numbers, slid = (
            numbers[None],
            Windows(*((number, *own) for number, own in zip((1, 1, 1, 1, 0, 0), _lists(slid), strict=True))),
        )
    kernels = np.full((shape[1], 1, *slid.kernel), 1 / whole if exact else 1.0)
    total = builder.conv(builder.term(source), kernels, slid, group=shape[1])
    if exact:
        return builder.formula(total)
    if (numbers != 1).any():
        total = builder.node("Div", (total, builder.number(numbers[None, None])))
    return builder.formula(total, "AveragePool")


def _lists(slid: Windows) -> tuple[tuple[int, ...], ...]:
    return slid.extents, slid.kernel, slid.strides, slid.dilations, slid.begins, slid.ends


def _needed(slid: Windows) -> Windows:
    """The windows with the padding at the ends that they lie over."""
    ends = [
        max(0, (places - 1) * stride + (size - 1) * dilation + 1 - extent - begin)
        for places, stride, size, dilation, extent, begin in zip(
            slid.places, slid.strides, slid.kernel, slid.dilations, slid.extents, slid.begins, strict=True
        )
    ]
    return replace(slid, ends=tuple(ends))


def _windows(kernel: tuple[int, int], pads: Sequence[int] = (0, 0, 0, 0), dilations: Sequence[int] = (1, 1)) -> Windows:
    """Windows with the stride 1 over two axes."""
    return Windows((), kernel, (1, 1), tuple(dilations), tuple(pads[:PLANE]), tuple(pads[PLANE:]))


@formula_for("LRN")
def _response(builder: _Builder) -> Formula | None:
    """X / (bias + alpha / size S)^beta; S is a convolution of the squares along the channels."""
    application, first, shape = builder.application, builder.first, builder.shape
    alpha, beta, bias, size = lrn.parameters(application, np.empty((0,) * len(shape)))
    if not all(builder.holds(part) for part in (alpha, beta, bias, size)):
        return None
    count, name = shape[1], builder.term(first)
    around = np.zeros((count, count, 1, 1))
    for channel in range(count):
        around[channel, lrn.channels(channel, count, size)] = 1.0
    square = builder.node("Mul", (name, name))
    if len(shape) != PLANE + 2:
        square = builder.reshape(square, (*shape[:2], 1, prod(shape[2:])))
    value = builder.conv(square, around, _windows((1, 1)), group=1)
    if len(shape) != PLANE + 2:
        value = builder.reshape(value, shape)
    for operator, number in (("Mul", alpha), ("Div", size), ("Add", bias), ("Pow", beta)):
        value = builder.node(operator, (value, builder.number(number)))
    return builder.formula(builder.node("Div", (name, value)), "LRN")


@formula_for("ConvTranspose")
def _transposed(builder: _Builder) -> Formula | None:
    """Conv, with the kernels turned round, over X with stride - 1 zeros between its elements."""
    application, first, shape = builder.application, builder.first, builder.shape
    weights = builder.inputs[1].array if len(builder.inputs) > 1 and builder.inputs[1] is not None else None
    if weights is None or len(shape) != PLANE + 2 or application.parameter("group") != 1 or not weights.size:
        return None
    if not np.isfinite(weights.astype(np.float64)).all():
        return None
    extents, cut = convtranspose.places(application, shape, weights.shape)
    strides, dilations = (application.parameter(name) for name in ("strides", "dilations"))
    spread = tuple([(extent - 1) * stride + 1 for extent, stride in zip(shape[2:], strides, strict=True)])
    if prod((*shape[:2], *spread)) > MAX_ELEMENTS:
        return None
    reach = [dilation * (size - 1) for dilation, size in zip(dilations, weights.shape[2:], strict=True)]
    begins = [reach[axis] - cut[axis] for axis in range(PLANE)]
    ends = [extents[axis] + reach[axis] - begins[axis] - spread[axis] for axis in range(PLANE)]
    if min((*begins, *ends, *extents)) < 0:
        return None
    places = np.full((*shape[:2], *spread), prod(shape), np.int32)
    places[:, :, :: strides[0], :: strides[1]] = np.arange(prod(shape), dtype=np.int32).reshape(shape)
    zero = constant_of(builder.store, np.zeros(1, builder.kind))
    source = moved(builder.store, [first, zero], places.reshape(-1), places.shape)
    bias = builder.term(builder.inputs[2]) if len(builder.inputs) > 2 and builder.inputs[2] is not None else ""
    windows = _windows(weights.shape[2:], (*begins, *ends), dilations)
    turned = np.flip(weights, (2, 3)).swapaxes(0, 1)
    total = builder.conv(builder.term(source), turned, windows, group=1, bias=bias)
    return builder.formula(total, f"ConvTranspose of strides {list(strides)}")


@formula_for("Resize")
def _resized(builder: _Builder) -> Formula | None:
    """A movement, where each place takes one element; else the products along each axis with matrices of weights."""
    parameters = [None if operand is None else operand.array for operand in builder.inputs[1:]]
    if any(operand is not None and operand.array is None for operand in builder.inputs[1:]):
        return None
    try:
        sampled = resize.samplings(builder.application, [np.empty(builder.shape, builder.kind), *parameters])
    except KeyError:
        return None
    if any(None in sampling for sampling in sampled):
        return None
    if not resize.moves_only(sampled):
        return _weighted(builder, sampled)
    places = np.arange(prod(builder.shape), dtype=np.int32).reshape(builder.shape)
    places = resize.moved(places, sampled)
    if places.size > MAX_ELEMENTS:
        return None
    return builder.formula(builder.term(moved(builder.store, [builder.first], places.reshape(-1), places.shape)))


@formula_for("Conv", "MaxPool")
def _on_planes(builder: _Builder) -> Formula | None:
    """Over one axis the operator over a plane of one row; over three axes Conv of each depth of the output, and MaxPool
    over planes and then along the depth.
    """
    shape, names = builder.shape, builder.application.names
    axes = len(shape) - 2
    if axes == PLANE and builder.application.operator == "Conv":
        return _with_repeated_channels(builder)
    if axes not in (1, 3) or names.get("ceil_mode") or "pads" not in names:
        return None
    kernel, strides, dilations, pads = (
        tuple(names.get(name) or ()) for name in ("kernel_shape", "strides", "dilations", "pads")
    )
    if (len(kernel), len(strides), len(dilations), len(pads)) != (axes, axes, axes, 2 * axes) or min(pads) < 0:
        return None
    slid = Windows(shape[2:], kernel, strides, dilations, pads[:axes], pads[axes:])
    if min(slid.places) < 1:
        return None
    is_conv = builder.application.operator == "Conv"
    if axes == 1:
        return _on_a_line(builder, slid, is_conv=is_conv)
    return _on_depths(builder, slid) if is_conv else _maxima(builder, slid)


def _with_repeated_channels(builder: _Builder) -> Formula | None:
    """With m kernels for each channel: one for each, of a tensor with each channel m times."""
    weights, (_, channels, *plane), names = builder.inputs[1], builder.shape, builder.application.names
    if weights is None or weights.shape is None or builder.application.parameter("group") != channels:
        return None
    times, rest = divmod(weights.shape[0], channels)
    lists = [tuple(names.get(name) or ()) for name in ("kernel_shape", "strides", "dilations", "pads")]
    if times < 2 or rest or weights.shape[1] != 1 or [len(each) for each in lists] != [PLANE] * 3 + [2 * PLANE]:
        return None
    kernel, strides, dilations, pads = lists
    slid = Windows(tuple(plane), kernel, strides, dilations, pads[:PLANE], pads[PLANE:])
    numbered = np.arange(prod(builder.shape), dtype=np.int32).reshape(builder.shape).repeat(times, 1)
    source = builder.term(moved(builder.store, [builder.first], numbered.reshape(-1), numbered.shape))
    value = builder.conv_of(source, builder.term(weights), slid, group=weights.shape[0], bias=builder.bias)
    return builder.formula(value)


def _on_a_line(builder: _Builder, slid: Windows, *, is_conv: bool) -> Formula | None:
    shape = builder.shape
    plane = Windows((1, *slid.extents), (1, *slid.kernel), (1, *slid.strides), (1, *slid.dilations),
                    (0, *slid.begins), (0, *slid.ends))  # fmt: skip
    source = builder.term(moved(builder.store, [builder.first], None, (*shape[:2], 1, shape[2])))
    if not is_conv:
        value = builder.pool(source, plane)
        return builder.formula(builder.reshape(value, (*shape[:2], *slid.places)))
    weights, bias = builder.inputs[1], builder.bias
    if weights is None or weights.shape is None:
        return None
    wide = builder.term(moved(builder.store, [weights], None, (*weights.shape[:2], 1, weights.shape[2])))
    value = builder.conv_of(source, wide, plane, group=builder.application.parameter("group"), bias=bias)
    return builder.formula(builder.reshape(value, (shape[0], weights.shape[0], *slid.places)))


def _on_depths(builder: _Builder, slid: Windows) -> Formula | None:
    weights, shape = builder.inputs[1], builder.shape
    if weights is None or weights.array is None or builder.application.parameter("group") != 1:
        return None
    numbered = np.arange(prod(shape), dtype=np.int32).reshape(shape)
    plane = Windows(slid.extents[1:], slid.kernel[1:], slid.strides[1:], slid.dilations[1:], slid.begins[1:],
                    slid.ends[1:])  # fmt: skip
    parts = []
    for place in range(slid.places[0]):
        first = place * slid.strides[0] - slid.begins[0]
        depths = [(k, first + k * slid.dilations[0]) for k in range(slid.kernel[0])]
        used = [(k, depth) for k, depth in depths if 0 <= depth < shape[2]]
        if not used:
            return None
        places = np.concatenate([numbered[:, :, depth] for _, depth in used], axis=1)
        source = builder.term(moved(builder.store, [builder.first], places.reshape(-1), places.shape))
        rows = np.concatenate([weights.array[:, :, k] for k, _ in used], axis=1)
        value = builder.conv(source, rows, plane, group=1, bias=builder.bias)
        parts.append(builder.reshape(value, (shape[0], weights.array.shape[0], 1, *plane.places)))
    along = Attribute("axis", "int", 2, fields=("i",))
    return builder.formula(builder.node("Concat", parts, [along]))


def _maxima(builder: _Builder, slid: Windows) -> Formula:
    n, channels, depth, *plane_shape = builder.shape
    plane = Windows(slid.extents[1:], slid.kernel[1:], slid.strides[1:], slid.dilations[1:], slid.begins[1:],
                    slid.ends[1:])  # fmt: skip
    source = moved(builder.store, [builder.first], None, (n, channels * depth, *plane_shape))
    value = builder.pool(builder.term(source), plane)
    column = Windows((depth, prod(plane.places)), (slid.kernel[0], 1), (slid.strides[0], 1), (slid.dilations[0], 1),
                     (slid.begins[0], 0), (slid.ends[0], 0))  # fmt: skip
    value = builder.pool(builder.reshape(value, (n, channels, depth, prod(plane.places))), column)
    return builder.formula(builder.reshape(value, (n, channels, *slid.places)))


def _weighted(builder: _Builder, sampled: Sequence[resize.Sampling]) -> Formula | None:
    value, extents = builder.term(builder.first), list(builder.shape)
    for axis in reversed(range(len(extents))):
        extent, sampling = extents[axis], sampled[axis]
        if len(sampling) * extent > MAX_WEIGHTS:
            return None
        exact = np.full((len(sampling), extent), Fraction(0), object)
        for place, taps in enumerate(sampling):
            for index, weight in taps or ():
                exact[place, index] += weight
        matrix = exact.astype(np.float64)
        if any(Fraction(number) != weight or not builder.holds(number) for number, weight in
               zip(matrix.ravel().tolist(), exact.ravel(), strict=True)):  # fmt: skip
            return None
        if len(sampling) == extent and (matrix == np.eye(extent)).all():
            continue
        before, behind = prod(extents[:axis]), prod(extents[axis + 1 :])
        if behind == 1:
            value = builder.node("MatMul", (builder.reshape(value, (before, extent)), builder.number(matrix.T)))
        else:
            stack = builder.reshape(value, (before, 1, extent, behind))
            value = builder.conv(stack, matrix.reshape(len(sampling), 1, extent, 1), _windows((extent, 1)), group=1)
        extents[axis] = len(sampling)
    return builder.formula(builder.reshape(value, extents), "Resize")


def never_rounds_to_zero(kind: np.dtype[Any], beta: float) -> bool:
    """Whether alpha x + beta is 0 where it rounds to 0, so that no -0 arises, for all alpha and x of a type.

    A product of two significands of p bits has 2 p bits.  Where it cancels beta, the sum is a multiple of a number that
    is at least |beta| 2^-(2p + 1); that must not be below the least number of the type.
    """
    if kind.kind != "f":
        return False
    limits = np.finfo(kind)
    bits = limits.nmant + 1
    return isfinite(beta) and abs(beta) >= float(limits.smallest_subnormal) * 2.0 ** (2 * bits + 1)


@formula_for("Gather")
def _looked_up(builder: _Builder) -> Formula | None:
    """By indices that vary, in a constant table along its first axis: the product with a row of zeros and one 1."""
    table, indices = builder.first.array, builder.inputs[1]
    if table is None or indices is None or indices.array is not None or indices.shape is None or not table.size:
        return None
    if table.dtype.kind == "i":
        return _chosen(builder, table, indices)
    if builder.application.parameter("axis") not in (0, -table.ndim) or table.dtype.kind != "f":
        return None
    whole, rows = ELEMENTS.get(str(indices.facts.type)), table.shape[0]
    count = prod(indices.shape)
    if whole is None or not count or count * rows > MAX_WEIGHTS:
        return None
    if not np.isfinite(table).all() or (np.signbit(table) & (table == 0)).any():
        return None

    def constant(values: Any, kind: Any = whole) -> str:
        return builder.term(constant_of(builder.store, np.array(values).astype(kind)))

    column = builder.term(moved(builder.store, [indices], None, (count, 1)))
    negative = builder.node("Less", (column, constant(0)))
    index = builder.node("Where", (negative, builder.node("Add", (column, constant(rows))), column))
    places = constant(np.broadcast_to(np.arange(rows), (count, rows)))
    every = builder.node("Max", (index, constant(np.full((count, rows), np.iinfo(whole).min))))
    above = builder.node("Where", (builder.node("Less", (places, every)), builder.number(0.0), builder.number(1.0)))
    chosen = builder.node("Where", (builder.node("Less", (every, places)), builder.number(0.0), above))
    product = builder.node("MatMul", (chosen, builder.number(table.reshape(rows, -1))))
    return builder.formula(builder.reshape(product, (*indices.shape, *table.shape[1:])))


_WHOLE = {"Gather": ("int32", "int64"), "Cast": ("int32", "int64")}
"""Element types of whole numbers of the first input for which there is a formula."""
MOST_CHOICES = 64
"""The longest list of whole numbers that is a choice by Where."""


def _chosen(builder: _Builder, table: Array, indices: Term) -> Formula | None:
    """From a list of whole numbers: Where for each of them but the last one, which is the value behind all others."""
    whole = ELEMENTS.get(str(indices.facts.type))
    if table.ndim != 1 or not 1 < table.size <= MOST_CHOICES or whole is None:
        return None

    def number(value: int, kind: Any) -> str:
        return builder.term(constant_of(builder.store, np.array(value).astype(kind)))

    given = builder.term(indices)
    counted = builder.node("Add", (given, number(table.size, whole)))
    place = builder.node("Where", (builder.node("Less", (given, number(0, whole))), counted, given))
    every = constant_of(builder.store, np.full(indices.shape or (), table[-1]))
    value = builder.term(every)
    for behind in range(table.size - 1, 0, -1):
        before = builder.node("Less", (place, number(behind, whole)))
        value = builder.node("Where", (before, number(table[behind - 1], table.dtype), value))
    return builder.formula(value)


@formula_for("Cast")
def _converted_choice(builder: _Builder) -> Formula | None:
    """Of constants that Where chooses, maybe in another shape: the same choice of converted constants."""
    chosen, to = builder.first, builder.application.parameter("to")
    if chosen.operator == "moved" and chosen.places is None and chosen.inputs[0] is not None:
        chosen = chosen.inputs[0]
    if chosen.operator != "Where" or chosen.domain:
        return None
    attribute, casts = Attribute("to", "int", to, fields=("i",)), dict[int, str]()

    def converted(term: Term | None, depth: int) -> str:
        if term is None or depth > MOST_CHOICES:
            return ""
        if term.number not in casts and term.is_constant:
            casts[term.number] = builder.node("Cast", (builder.term(term),), (attribute,))
        elif term.number not in casts and term.operator == "Where" and not term.domain and term.inputs[0] is not None:
            options = [converted(option, depth + 1) for option in term.inputs[1:]]
            casts[term.number] = builder.node("Where", (builder.term(term.inputs[0]), *options)) if all(options) else ""
        return casts.get(term.number, "")

    result = converted(chosen, 0)
    return builder.formula(result) if result else None
