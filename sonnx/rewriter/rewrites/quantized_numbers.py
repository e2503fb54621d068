"""DequantizeLinear of what QuantizeLinear gives, in floating-point numbers: no integers of 8 bits are left.

QuantizeLinear rounds X / scale to a whole number, adds the zero point and limits the sum; DequantizeLinear subtracts
its zero point and multiplies.  In a floating-point type of p bits, adding and then subtracting 1.5 2^(p - 1) rounds to
whole numbers, to nearest even, what is at most 2^(p - 2) in magnitude (theorem rewrite.rounded-by-sums); what is larger
stays beyond every limit.  All sums after that are exact, and no zero among them is negative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from sonnx.numerics.formats import ELEMENTS, limits_of
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Site

BOUNDS_AS_INPUTS_OF_CLIP = 11
"""The operator set from which Clip takes its bounds as inputs (ONNX Clip-11)."""
BYTES = ("int8", "uint8")
"""The element types whose numbers are written as floating-point numbers."""
ROUNDING = 1.5 * 2.0**23
"""1.5 2^(p - 1) of float."""


class _Scaling(NamedTuple):
    """The scale and the zero point of a whole tensor, constants."""

    scale: float
    zero_point: int


@rewrite("quantized-numbers", Trigger.RULE_FAILS)
def quantized_numbers(site: Site) -> Replacement | None:
    """Div, two sums that round, Clip, and Mul, with the zero points between them where they are not 0."""
    element, quantized, output = site.element_type(0) or "", site.producer(0), _scaling(site)
    if quantized is None or quantized.node.operator != OperatorName.QUANTIZE_LINEAR or element not in BYTES:
        return None
    given = _scaling(quantized) if quantized.in_standard_domain else None
    if output is None or given is None or not site.in_standard_domain or site.operator_set < BOUNDS_AS_INPUTS_OF_CLIP:
        return None
    if quantized.element_type(0) != "float" or _number(quantized, "precision") not in (0, 1):
        return None
    sequence, (least, greatest) = NodeSequence(site.node.outputs[0], site.operator_set), limits_of(ELEMENTS[element])
    rounding, scale, low, high, factor = (
        sequence.constant(role, "float", number)
        for role, number in (("rounding", ROUNDING), ("scale", given.scale), ("least", least), ("greatest", greatest),
                             ("factor", output.scale))
    )  # fmt: skip
    quotient = sequence.add(OperatorName.DIV, (quantized.node.inputs[0], scale), sequence.name("quotient"))
    raised = sequence.add(OperatorName.ADD, (quotient, rounding), sequence.name("raised"))
    whole = sequence.add(OperatorName.SUB, (raised, rounding), sequence.name("whole"))
    shifted = _shifted(sequence, OperatorName.ADD, whole, given.zero_point)
    limited = sequence.add(OperatorName.CLIP, (shifted, low, high), sequence.name("limited"))
    difference = _shifted(sequence, OperatorName.SUB, limited, output.zero_point)
    sequence.add(OperatorName.MUL, (difference, factor), site.node.outputs[0])
    found = sequence.replacement(descriptions.call(site.node), f"{len(sequence.nodes)} nodes in floating point")
    return replace(found, changes="an input of QuantizeLinear that is not finite has a value")


def _shifted(sequence: NodeSequence, operator: OperatorName, value: str, zero_point: int) -> str:
    """The value with a zero point added or subtracted; the value itself where it is 0."""
    if not zero_point:
        return value
    constant = sequence.constant(f"{operator.value.lower()}ed", "float", zero_point)
    return sequence.add(operator, (value, constant), sequence.name("shifted"))


def _scaling(site: Site) -> _Scaling | None:
    """The scale and the zero point; None where they are not constants of one element, or attributes change them."""
    scale, zero = site.constant(1), site.constant(2)
    names = [*site.node.inputs, "", ""][1:3]
    if scale is None or scale.element != "float" or (names[1] and zero is None):
        return None
    quantizes = site.node.operator == OperatorName.QUANTIZE_LINEAR
    if _number(site, "block_size") or _number(site, "output_dtype") not in (
        0,
        *(BYTE_NUMBERS if quantizes else FLOAT_NUMBER),
    ):
        return None
    arrays = [None if tensor is None else constant_tensors.decoded(tensor) for tensor in (scale, zero)]
    if arrays[0] is None or any(array is not None and array.size != 1 for array in arrays):
        return None
    number = float(arrays[0].reshape(()))
    zero_point = 0 if arrays[1] is None else int(arrays[1].reshape(()))
    return _Scaling(number, zero_point) if 0 < abs(number) < float("inf") else None


FLOAT_NUMBER = (constant_tensors.ELEMENT_NUMBERS["float"],)
BYTE_NUMBERS = tuple(constant_tensors.ELEMENT_NUMBERS[name] for name in BYTES)
"""The numbers of these element types in ONNX, as the attribute output_dtype has them."""


def _number(site: Site, name: str) -> Any:
    """An attribute, 0 where it is absent."""
    written = site.attributes.get(name)
    return 0 if written is None or written.reference else written.value


MOST_MOVEMENTS = 16
"""Movements between QuantizeLinear and DequantizeLinear that are looked through."""


@rewrite("moved-quantized", Trigger.RULE_FAILS)
def moved_quantized(site: Site) -> Replacement | None:
    """DequantizeLinear before a movement of what QuantizeLinear gives, or before MaxPool, instead of after it.

    Every element is converted alike, and with a positive scale the larger integer is the larger number.
    """
    moving, scaling = site.producer(0), _scaling(site)
    if moving is None or scaling is None or not _comes_from_quantized(moving, scaling, MOST_MOVEMENTS):
        return None
    output, count = site.node.outputs[0], _data_inputs(moving)
    names = [f"{output}.x{index}" for index in range(count)]
    apart = [
        replace(site.node, name="", inputs=(source, *site.node.inputs[1:]), outputs=(name,))
        for source, name in zip(moving.node.inputs, names, strict=False)
    ]
    moved = replace(moving.node, inputs=(*names, *moving.node.inputs[count:]), outputs=(output,))
    after = ", ".join(map(descriptions.call, (*apart, moved)))
    return Replacement((*apart, moved), descriptions.call(site.node), after)


def _data_inputs(site: Site) -> int:
    """The number of inputs, from the first one on, whose elements a movement moves."""
    return len(site.node.inputs) if site.node.operator == OperatorName.CONCAT else 1


def _comes_from_quantized(site: Site, scaling: _Scaling, most: int) -> bool:
    """Whether a node moves elements, or takes the largest ones, of what QuantizeLinear gives."""
    if not most or not site.in_standard_domain or any(site.node.outputs[1:]) or site.node.operator in site.context.kept:
        return False
    pools = site.node.operator == OperatorName.MAX_POOL and scaling.scale > 0
    is_concat = site.node.operator == OperatorName.CONCAT
    if not pools and not is_concat and not (site.operator_facts.moves and site.only_first_input_varies):
        return False
    sources = [site.producer(index) for index in range(_data_inputs(site))]
    return all(
        source is not None
        and (source.node.operator == OperatorName.QUANTIZE_LINEAR or _comes_from_quantized(source, scaling, most - 1))
        for source in sources
    )
