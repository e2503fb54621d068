"""Operators on elements: a movement of an operand becomes a movement of the result, and constants take one form.

f(moved x) is moved f(x), because f reads each element by itself; so both orders of a model give one term.  A constant
operand loses the axes along which all its elements are equal.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod

import numpy as np

from sonnx.base.errors import Stop
from sonnx.equivalence import movements, quantization
from sonnx.equivalence.terms import Store, Term
from sonnx.language.evaluator import RUN_TIME, TensorFacts
from sonnx.numerics.application import UNDEFINED_INPUT_ERRORS, Application, NoValue
from sonnx.numerics.formats import TEXT, Array, format_of, patterns
from sonnx.operators import find_operator

UNARY = frozenset(
    {"Abs", "Acos", "Ceil", "Clip", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Neg",
     "Not", "Reciprocal", "Relu", "Sigmoid", "Sign", "Sin", "Softplus", "Sqrt", "Tanh", *quantization.OPERATORS}
)  # fmt: skip
"""Operators on one element; further operands of Clip, and those of quantization with one scale, are single numbers."""

COMMUTATIVE = frozenset({"Add", "Mul", "And", "Or", "Equal"})
"""Operators whose operands may change places without changing a bit: a NaN that is computed is one NaN."""

SQUARE = ("square",)
"""The key of a Mul of an operand with itself, which has it once."""

NARY = COMMUTATIVE | {"Sub", "Div", "Max", "Min", "Pow", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Where"}
ALL = UNARY | NARY


def applied(
    store: Store,
    operator: str,
    key: Hashable,
    application: Application,
    inputs: Sequence[Term | None],
    facts: TensorFacts,
) -> Term:
    """The output of an operator on elements, of known shape, in its normal form."""
    shape: tuple[int, ...] = tuple(facts.shape)  # type: ignore[arg-type]  # known
    axis_form = "axis" in application.attributes or "broadcast" in application.attributes
    operands = [operand for operand in inputs if operand is not None]
    if axis_form or len(operands) < len(inputs) or any(operand.shape is None for operand in operands):
        return store.applied(operator, key, inputs, 0, _varying(facts), application=application)
    if operator == "Max":
        repeated = _repeated(operands, shape)
        if repeated is not None:
            store.rest_on("repeated-maximum")
            return repeated
    if _is_square(operator, operands, shape):
        store.rest_on("square")
        operator, key, operands = "Mul", SQUARE, operands[:1]
    if operator == "QuantizeLinear":
        source = quantization.returned(operands, application)
        if source is not None:
            return source
    if operator in UNARY:
        operands = [operands[0], *(_single(store, operand) for operand in operands[1:])]
    if prod(shape) <= movements.MAX_ELEMENTS:
        stretched = _stretched_by_least(store, operator, operands, shape)
        if stretched is not None:
            store.rest_on("least-maximum")
            return stretched
        outside = _moved_outside(store, operator, key, application, operands, facts, shape)
        if outside is not None:
            store.rest_on("pointwise")
            return outside
    operands = [_least(store, operand) if operator in NARY else operand for operand in operands]
    if operator in COMMUTATIVE:
        operands = in_order(store, operands)
    full = any(operand.shape == shape and not operand.is_constant for operand in operands)
    key = key if full else (key, shape)
    return store.applied(operator, key, operands, 0, _varying(facts), application=application)


def in_order(store: Store, operands: Sequence[Term]) -> list[Term]:
    """Operands that may change places, in the order of their numbers."""
    terms = sorted(operands, key=lambda operand: operand.number)
    if terms != list(operands):
        store.rest_on("commutative")
    return terms


def _repeated(operands: Sequence[Term], shape: tuple[int, ...]) -> Term | None:
    """The operand of a Max that has the other one, too: max(max(a, b), b), and max(a, max(a, b)), where the maximum of
    several NaNs is still the first.
    """
    if len(operands) != 2:
        return None
    first, second = operands
    if first.shape == shape and any(maximum is second for maximum in _maxima(first)):
        return first
    return second if second.shape == shape and first in _leading(second) else None


def _maxima(term: Term) -> list[Term]:
    """The terms that a term is the maximum of, from left to right; the term itself where it is not a maximum."""
    maxima, waiting = [], [term]
    while waiting:
        operand = waiting.pop()
        parts = (
            [part for part in operand.inputs if part is not None]
            if operand.operator == "Max" and not operand.domain
            else []
        )
        if parts and operand.shape == term.shape:
            waiting += reversed(parts)
        maxima.append(operand)
    return maxima


def _is_square(operator: str, operands: Sequence[Term], shape: tuple[int, ...]) -> bool:
    """Whether a result is the product of floating-point numbers with themselves; one rounding makes either form."""
    if len(operands) != 2 or operands[0].shape != shape or not operands[0].is_float:
        return False
    first, second = operands
    if operator == "Pow" and second.array is not None and second.array.dtype != TEXT:
        return bool((second.array.astype(np.float64) == 2).all())
    return operator == "Mul" and first is second


def _leading(term: Term) -> list[Term]:
    """The first operand of a Max, the first operand of that one, and so on."""
    terms = [term]
    while (part := terms[-1]).operator == "Max" and not part.domain and part.shape == term.shape and part.inputs[0]:
        terms.append(part.inputs[0])
    return terms


def _single(store: Store, term: Term) -> Term:
    """A constant bound of one element as a scalar."""
    one = term.array is not None and term.array.size == 1
    return movements.moved(store, [term], None, ()) if one else term


def _stretched_by_least(store: Store, operator: str, operands: Sequence[Term], shape: tuple[int, ...]) -> Term | None:
    """Max with the least number of the type, which only broadcasts: no number and no NaN is below it."""
    if operator != "Max" or len(operands) != 2:
        return None
    for term, other in (operands, reversed(operands)):
        if other.array is not None and term.shape is not None and _is_least(other.array):
            places = movements.broadcast_places(term, shape)
            return None if places is None else movements.moved(store, [term], places, shape)
    return None


def _is_least(array: Array) -> bool:
    """Whether every element is the least number of an element type: -Inf, or the least integer."""
    number_format = format_of(array.dtype)
    if number_format is not None:
        return bool((array.astype(np.float64) == -np.inf).all())
    return array.dtype.kind in "iu" and bool((array == np.iinfo(array.dtype).min).all())


def _varying(facts: TensorFacts) -> TensorFacts:
    return facts._replace(values=RUN_TIME)


def _moved_outside(
    store: Store,
    operator: str,
    key: Hashable,
    application: Application,
    operands: Sequence[Term],
    facts: TensorFacts,
    shape: tuple[int, ...],
) -> Term | None:
    """The movement of the result of the operator on what an operand is moved from; None where no operand is moved.

    Of several operands the one is taken whose source has the least number, so that the form is one and the same.
    """
    if operator in UNARY:
        [first, *others] = operands
        if first.operator != "moved" or any(other.shape != () for other in others):
            return None
        sources = [first_input for first_input in first.inputs if first_input is not None]
        terms = [_on_source(store, operator, key, application, [term, *others], facts) for term in sources]
        if any(term is None for term in terms):
            return None
        return movements.moved(store, [term for term in terms if term is not None], first.places, shape)
    varying = [term for term in operands if not term.is_constant and term.shape == shape]
    if not varying:
        return None
    chosen = min(varying, key=_base)
    if not _is_permutation(chosen):
        return None
    source = chosen.inputs[0]
    if source is None or source.shape is None or movements.size(source) != prod(shape):
        return None
    back = None if chosen.places is None else np.argsort(chosen.places, kind="stable").astype(np.int32)
    moved = []
    for operand in operands:
        if operand is chosen:
            moved.append(source)
            continue
        flat = movements.broadcast_places(operand, shape)
        if flat is None:
            return None
        moved.append(movements.moved(store, [operand], flat if back is None else flat[back], source.shape))
    on_source = facts._replace(shape=movements.known_extents(source.shape))
    inner = applied(store, operator, key, application, moved, on_source)
    return movements.moved(store, [inner], chosen.places, shape)


def _base(term: Term) -> tuple[int, int]:
    source = term.inputs[0] if _is_permutation(term) else None
    return (term.number if source is None else source.number), term.number


def _is_permutation(term: Term) -> bool:
    """Whether a term has each element of one source once."""
    if term.operator != "moved" or len(term.inputs) != 1:
        return False
    [source] = term.inputs
    if term.places is None:
        return True
    if source is None or term.places.size != movements.size(source):
        return False
    return bool((np.bincount(term.places, minlength=term.places.size) == 1).all())


def _on_source(
    store: Store,
    operator: str,
    key: Hashable,
    application: Application,
    operands: Sequence[Term],
    facts: TensorFacts,
) -> Term | None:
    """An operator on one element, on what its operand is moved from."""
    source = operands[0]
    tensor_facts = facts._replace(shape=movements.known_extents(source.shape or ()))
    if not source.is_constant:
        return applied(store, operator, key, application, operands, tensor_facts)
    made = find_operator(operator)
    if made is None or any(not operand.is_constant for operand in operands):
        return None
    try:
        [array] = made.define(application, [operand.array for operand in operands])
    except (Stop, NoValue, *UNDEFINED_INPUT_ERRORS):
        return None
    return movements.constant_of(store, np.array(array))


def _least(store: Store, term: Term) -> Term:
    """A constant operand without the axes along which its elements are equal, bit for bit."""
    if term.array is None or term.array.dtype == TEXT or term.array.size == 0:
        return term
    array = collapsed(term.array)
    if array.shape == term.array.shape:
        return term
    store.rest_on("constant-axes")
    return movements.constant_of(store, array)


def collapsed(array: Array) -> Array:
    """An array without leading axes of extent 1, after each axis along which it is constant became one of extent 1."""
    for axis in range(array.ndim):
        if array.shape[axis] > 1:
            bits = patterns(array)
            if bool((bits == bits.take([0], axis)).all()):
                array = array.take([0], axis)
    while array.ndim and array.shape[0] == 1:
        array = array[0]
    return np.ascontiguousarray(array) if array.ndim else array
