"""Functions that a model writes out as choices by Less, Where and Clip: Sign, Floor, Equal, Cast, HardSigmoid.

What is recognized becomes the operator itself.  The formulas are written here independently of the rewrites that write
such nodes, so that a mistake in either is seen; `tests/equivalence/test_choices.py` runs both sides on all elements of
small types.  They give equal values, but the NaN of such a Floor is the operand and not the quiet NaN: all NaNs are one
value here, as in every comparison of values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from sonnx.equivalence.interpretation.averages import never_rounds_to_zero
from sonnx.equivalence.interpretation.domain import TermDomain
from sonnx.equivalence.terms.movements import broadcast_places, constant_of, moved
from sonnx.equivalence.terms.store import Term
from sonnx.graph.call import Call, Calls
from sonnx.model.ir import NOT_STATED, Attribute, Node
from sonnx.model.scopes import Scope, canonical_domain
from sonnx.model.writer import element_number
from sonnx.numerics.formats import ELEMENTS, NAMES

PRECISION = {"float16": 11, "float": 24, "double": 53}
"""The bits of a significand, by element type."""

Operands = tuple[Term, ...]


class Choices:
    """Recognizes the last node of a function that is written out.

    Args:
        domain: the domain of the model.
        calls: of the model.
        scope: the main graph, whose operator set the operators have.
    """

    def __init__(self, domain: TermDomain, calls: Calls, scope: Scope) -> None:
        self.domain, self.store, self.calls, self.scope = domain, domain.store, calls, scope

    def recognized(self, call: Call, operands: Sequence[Term | None]) -> Term | None:
        """The output of the operator whose written-out form ends with a node; None where no such form does."""
        recognize = _RECOGNIZERS.get(call.operator)
        terms = [operand for operand in operands if operand is not None]
        if recognize is None or canonical_domain(call.domain) or len(terms) < len(operands):
            return None
        if call.operator_set != self.scope.imports.get("") or any(term.shape is None for term in terms):
            return None
        return recognize(self, tuple(terms))

    # ------------------------------------------------------------------ terms of further nodes

    def node(self, operator: str, *operands: Term, **attributes: float) -> Term:
        """The term of a node on terms; a written-out Cast becomes the Cast."""
        if operator == "Where" and (cast := self._cast(operands)) is not None:
            return cast
        names = tuple([f"operand {index}" for index in range(len(operands))])
        written = tuple([
            Attribute(name, "int", value, fields=("i",)) if isinstance(value, int)
            else Attribute(name, "float", value, fields=("f",))
            for name, value in attributes.items()
        ])  # fmt: skip
        call = self.calls.of(self.scope, Node("", operator, "", "", names, ("result",), written))
        [term] = self.domain.call(call, operands, [self.domain.declared(NOT_STATED)]).outputs
        assert term is not None  # noqa: S101  the node has the output
        return term

    def number(self, element: str, value: float) -> Term:
        """A scalar constant."""
        return constant_of(self.store, np.array(value).astype(ELEMENTS[element]))

    def operand_of(self, term: Term, operator: str, place: int) -> Term | None:
        """Operand `place` of the operator that computes a term, moved as the term is; None for another operator."""
        if term.operator == operator and not term.domain and place < len(term.inputs):
            operand = term.inputs[place]
            return operand if operand is not None and (operand.is_constant or operand.shape == term.shape) else None
        if term.operator != "moved" or term.shape is None:
            return None
        operands = [None if source is None else self.operand_of(source, operator, place) for source in term.inputs]
        sources = [operand for operand in operands if operand is not None]
        shapes = [source.shape for source in term.inputs if source is not None]
        if len(sources) < len(operands) or [source.shape for source in sources] != shapes:
            return sources[0] if len(operands) == len(sources) == 1 and sources[0].shape == () else None
        return moved(self.store, sources, term.places, term.shape)

    # ------------------------------------------------------------------ the functions

    def by_where(self, operands: Operands) -> Term | None:
        """Sign, Floor or Cast, from the operands of their last Where."""
        return self._cast(operands) or self._floor(operands) or self._sign(operands)

    def by_clip(self, operands: Operands) -> Term | None:
        """HardSigmoid: a line between 0 and 1, where it is a Conv with one weight and a bias.

        The line is rounded once, and rounding keeps the order, 0 and 1 (theorem rewrite.clip-after-rounding); no sum
        that is not 0 rounds to 0.
        """
        line = operands[0]
        if len(operands) != 3 or line.operator != "Conv" or line.domain or line.application is None:
            return None
        x, weight, bias = (*line.inputs, None, None)[:3]
        if x is None or weight is None or bias is None or weight.array is None or bias.array is None:
            return None
        names, element = line.application.names, _element(x)
        if weight.array.shape != (1, 1, 1, 1) or bias.array.shape != (1,) or x.shape != line.shape:
            return None
        if any(names.get("pads") or ()) or any(stride != 1 for stride in names.get("strides") or (1,)):
            return None
        if element not in PRECISION or not _is(operands[1], self.number(element, 0)):
            return None
        alpha, beta = float(weight.array.reshape(())), float(bias.array[0])
        if not _is(operands[2], self.number(element, 1)) or not never_rounds_to_zero(weight.array.dtype, beta):
            return None
        if not alpha or not isfinite(alpha):
            return None
        self.store.rest_on("choices")
        return self.node("HardSigmoid", x, alpha=alpha, beta=beta)

    def by_mul(self, operands: Operands) -> Term | None:
        """DequantizeLinear of QuantizeLinear: a quotient, two sums that round it, its zero point, the limits of a type
        of 8 bits, the zero point of the integers, and the factor.

        The two sums round to whole numbers, to nearest even, what is below 2^(p - 2), and leave the rest beyond the
        limits (theorem rewrite.rounded-by-sums); all later sums are of small whole numbers.
        """
        difference, factor = operands
        limited, zero_of_integers = self._shifted("Sub", difference)
        shifted, least, greatest = (self.operand_of(limited, "Clip", place) for place in range(3))
        if shifted is None or least is None or greatest is None:
            return None
        whole, zero_of_quotient = self._shifted("Add", shifted)
        raised, rounding = self._shifted("Sub", whole)
        quotient, again = self._shifted("Add", raised)
        x, scale = (self.operand_of(quotient, "Div", place) for place in (0, 1))
        if x is None or scale is None or _element(x) != "float":
            return None
        if not all(_is(each, self.number("float", ROUNDING)) for each in (rounding, again)):
            return None
        kind = next((kind for kind, limits in LIMITS.items() if self._are(limits, least, greatest)), None)
        numbers = [_number_of(each) for each in (scale, factor, zero_of_quotient, zero_of_integers)]
        if kind is None or any(number is None or not isfinite(number) for number in numbers) or not numbers[0]:
            return None
        scale_number, factor_number, *zeros = [number for number in numbers if number is not None]
        if not factor_number or any(zero not in range(LIMITS[kind][0], LIMITS[kind][1] + 1) for zero in zeros):
            return None
        self.store.rest_on("rounded-by-sums")
        zero, zero_after = (self.number(kind, each) for each in zeros)
        quantized = self.node("QuantizeLinear", x, self.number("float", scale_number), zero)
        return self.node("DequantizeLinear", quantized, self.number("float", factor_number), zero_after)

    def _shifted(self, operator: str, term: Term) -> tuple[Term, Term]:
        """What a constant is added to or subtracted from, and the constant; the term and 0 where it is another one."""
        value, constant = (self.operand_of(term, operator, place) for place in (0, 1))
        if operator == "Add" and value is not None and value.is_constant:  # the operands of Add are in any order
            value, constant = constant, value
        if value is None or constant is None or not constant.is_constant or value.is_constant:
            return term, self.number("float", 0)
        return value, constant

    def _are(self, limits: tuple[int, int], least: Term, greatest: Term) -> bool:
        """Whether two constants are the limits of a type of integers."""
        bounds = zip((least, greatest), limits, strict=True)
        return all(_is(operand, self.number("float", limit)) for operand, limit in bounds)

    def by_less(self, operands: Operands) -> Term | None:
        """Equal, from the operands of its last Less."""
        return self._equal(operands)

    def _cast(self, operands: Operands) -> Term | None:
        """Cast of a condition X: 1 where it is true, 0 where it is false."""
        condition, one, zero = operands
        if condition.is_constant or one.array is None or zero.array is None or condition.shape is None:
            return None
        element = NAMES.get(one.array.dtype, "")
        if element not in NUMBERS or not _is(one, self.number(element, 1)) or not _is(zero, self.number(element, 0)):
            return None
        try:
            shape = np.broadcast_shapes(condition.shape, one.array.shape, zero.array.shape)
        except ValueError:
            return None
        self.store.rest_on("choices")
        numbers = self.node("Cast", condition, to=element_number(element))
        places = broadcast_places(numbers, shape)
        return None if places is None else moved(self.store, [numbers], places, shape)

    def _sign(self, operands: Operands) -> Term | None:
        """Sign: -1 where X < 0, 1 where 0 < X, else |X|, which is +0 for both zeros; 0 for integers."""
        x = self.operand_of(operands[0], "Less", 0)
        element = _element(x)
        if x is None or element not in SIGNED or not _is(operands[1], self.number(element, -1)):
            return None
        zero = self.number(element, 0)
        rest = self.node("Abs", x) if element in PRECISION else zero
        upper = self.node("Where", self.node("Less", zero, x), self.number(element, 1), rest)
        below = self.node("Less", x, zero)
        return self._if_equal("Sign", (x,), (below, self.number(element, -1), upper), operands)

    def _floor(self, operands: Operands) -> Term | None:
        """Floor: |X| + C - C is |X| rounded to an integer, where all numbers from C on are integers.  It gets the sign
        of X, and is reduced by 1 where X is below it.  X itself is taken where it is 0, NaN or at least C in magnitude.
        """
        x = operands[2]
        element = _element(x)
        size = self.operand_of(operands[0], "Less", 1)
        if element not in PRECISION or size is None or self.operand_of(size, "Abs", 0) is not x:
            return None
        large, zero, one = (self.number(element, value) for value in (2.0 ** (PRECISION[element] - 1), 0, 1))
        nearest = self.node("Sub", self.node("Add", size, large), large)
        whole = self.node("Where", self.node("Less", x, zero), self.node("Neg", nearest), nearest)
        lower = self.node("Where", self.node("Less", x, whole), self.node("Sub", whole, one), whole)
        chosen = self.node("Where", self.node("Less", size, large), lower, x)
        return self._if_equal("Floor", (x,), (self.node("Less", zero, size), chosen, x), operands)

    def _equal(self, operands: Operands) -> Term | None:
        """Equal: 0 where one is below the other, or is NaN, which is neither below 1 nor above 0; else 1."""
        no, chosen = operands
        less = self.operand_of(chosen, "Where", 0)
        first, second = (None if less is None else self.operand_of(less, "Less", place) for place in (0, 1))
        if first is None or second is None or not _is(no, self.number("int32", 0)):
            return None
        element = _element(first)
        if element not in NUMBERS:
            return None
        no, yes = self.number("int32", 0), self.number("int32", 1)
        value = yes
        for operand in (second, first) if element in PRECISION else ():
            above = self.node("Less", self.number(element, 0), operand)
            below = self.node("Less", operand, self.number(element, 1))
            value = self.node("Where", below, value, self.node("Where", above, value, no))
        rest = self.node("Where", self.node("Less", second, first), no, value)
        expected = self.node("Where", self.node("Less", first, second), no, rest)
        return self._if_equal("Equal", (first, second), (no, expected), operands)

    def _if_equal(self, operator: str, arguments: Operands, expected: Operands, operands: Operands) -> Term | None:
        """The operator on its arguments, if the operands of the last node are the expected ones."""
        for expected_operand, operand in zip(expected, operands, strict=True):
            if expected_operand is not operand and not _is(operand, expected_operand):
                return None
        self.store.rest_on("choices")
        return self.node(operator, *arguments)


_RECOGNIZERS: Mapping[str, Callable[[Choices, Operands], Term | None]] = {
    "Clip": Choices.by_clip,
    "Less": Choices.by_less,
    "Mul": Choices.by_mul,
    "Where": Choices.by_where,
}

LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}
"""The least and the greatest number of each type of integers of 8 bits."""
ROUNDING = 12582912.0
"""1.5 2^23, from which on, up to 2^24, float has the whole numbers only."""
SIGNED = (*PRECISION, "int8", "int16", "int32", "int64")
NUMBERS = (*SIGNED, "uint8", "uint16", "uint32", "uint64")


def _is(operand: Term, number: Term) -> bool:
    """Whether every element of a constant is a number, of its type and bit for bit."""
    array, scalar = operand.array, number.array
    if array is None or scalar is None or scalar.shape != () or array.dtype != scalar.dtype or not array.size:
        return False
    return array.tobytes() == scalar.tobytes() * array.size


def _number_of(operand: Term) -> float | None:
    """The number that every element of a constant is, None where they differ."""
    array = operand.array
    if array is None or not array.size or array.tobytes() != array.reshape(-1)[:1].tobytes() * array.size:
        return None
    return float(array.reshape(-1)[0])


def _element(term: Term | None) -> Any:
    """The element type of a term; "" where it is not known."""
    return "" if term is None or not isinstance(term.facts.type, str) else term.facts.type
