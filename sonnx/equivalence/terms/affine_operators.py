"""The affine forms of operators: sums, factors, BatchNormalization, Conv, products with matrices, movements."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from operator import mul

import numpy as np

from sonnx.equivalence.terms import constants, movements
from sonnx.equivalence.terms.affine import (
    BUILDERS,
    Affine,
    AffinePart,
    Forms,
    affine_form_of,
    atom,
    broadcasts_along_axis,
)
from sonnx.equivalence.terms.constants import Real
from sonnx.equivalence.terms.narrowings import below_narrowed
from sonnx.equivalence.terms.store import Store, Term
from sonnx.numerics.formats import Array

MAX_SPREAD = 1 << 22
"""Elements of a constant that is written out for another shape."""

MAX_ADDENDS, MAX_JOINED = 1 << 10, 1 << 8
"""Operands of a Sum, and values that a movement joins, whose forms are read."""


def has_form(operator: str) -> bool:
    """Whether the affine form reads the operands of an operator."""
    return operator in BUILDERS


def _finite(term: Term | None) -> Term | None:
    """A finite floating-point constant; None for another term."""
    if term is None or term.array is None or not term.is_float:
        return None
    return term if bool(np.isfinite(term.array.astype(np.float64)).all()) else None


def _finite_array(term: Term | None) -> Array | None:
    """The value of a finite floating-point constant."""
    constant = _finite(term)
    return None if constant is None else constant.array


def _operand(forms: Forms, term: Term | None, shape: tuple[int, ...] | None, rank: int | None) -> Affine | None:
    """The form of an operand, broadcast to the shape of a result; None where it does not broadcast to that."""
    if term is None or not term.is_float:
        return None
    if term.shape is not None and shape is not None and not _stretches(term.shape, shape):
        return None
    if term.is_constant:
        value = _finite(term)
        return None if value is None else Affine((), forms.real(value).least(), shape, rank)
    if term.shape is not None and shape is not None and term.shape != shape:
        places = movements.broadcast_places(term, shape)
        if places is None:
            return None
        return replace(atom(movements.moved(forms.store, [term], places, shape)), shape=shape, rank=rank)
    if term.shape is None or shape is None:
        return forms.of(term) if rank is not None and term.rank == rank else None
    return forms.of(term)


def _stretches(shape: tuple[int, ...], result: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts to that of a result; shapes of nodes that are not valid ONNX need not."""
    behind = result[len(result) - len(shape) :]
    pairs = zip(shape, behind, strict=True) if len(shape) <= len(result) else None
    return pairs is not None and all(extent in (1, wide) for extent, wide in pairs)


def _add(forms: Forms, term: Term, signs: tuple[int, ...]) -> Affine | None:
    affines = [_operand(forms, operand, term.shape, term.rank) for operand in term.inputs]
    if any(form is None for form in affines) or (term.shape is None and not _unstretched(term)):
        return None
    parts: list[AffinePart] = []
    biases: list[Real | None] = []
    minus = constants.number(forms.store, -1.0)
    for affine, sign in zip(affines, signs, strict=True):
        assert affine is not None  # noqa: S101  none is
        scaled = affine if sign > 0 else _scaled(affine, minus)
        if scaled is None:
            return None
        parts += scaled.parts
        biases.append(scaled.bias)
    return Affine(_merged(forms.store, parts), constants.total(biases), term.shape, term.rank)


def _unstretched(term: Term) -> bool:
    """Whether the operands that vary have one rank, and no constant has an axis that one of them may lack."""
    varying = [term_input for term_input in term.inputs if term_input is not None and not term_input.is_constant]
    if len({part.rank for part in varying}) != 1 or varying[0].rank is None:
        return False
    for operand in term.inputs:
        for value in varying:
            if operand is None or operand.array is None or not isinstance(value.facts.shape, tuple):
                continue
            pairs = zip(reversed(operand.array.shape), reversed(value.facts.shape), strict=False)
            if operand.array.ndim > len(value.facts.shape) or any(extent not in (1, own) for extent, own in pairs):
                return False
    return True


@affine_form_of("Add", 2)
@affine_form_of("Sum", 1, MAX_ADDENDS)
def _sum(forms: Forms, term: Term) -> Affine | None:
    return _add(forms, term, (1,) * len(term.inputs))


@affine_form_of("Sub", 2)
def _sub(forms: Forms, term: Term) -> Affine | None:
    return _add(forms, term, (1, -1))


@affine_form_of("Neg", 1)
def _neg(forms: Forms, term: Term) -> Affine | None:
    return _add(forms, term, (-1,))


@affine_form_of("Cast", 1)
def _cast(forms: Forms, term: Term) -> Affine | None:
    """A conversion of numbers to their own type; what it does to NaN is nothing over the reals."""
    [operand] = term.inputs
    return forms.of(operand) if operand is not None and operand.facts.type == term.facts.type else None


def _merged(store: Store, parts: list[AffinePart]) -> tuple[AffinePart, ...]:
    """The parts, those of one atom and kind added up."""
    merged: dict[Hashable, AffinePart] = {}
    unit = constants.number(store, 1.0)
    for part in parts:
        key = part.kind, part.key, part.atom.number
        same = merged.get(key)
        weight = part.weight if same is None else constants.total([same.weight or unit, part.weight or unit])
        merged[key] = replace(part, weight=weight)
    return tuple(merged.values())


@affine_form_of("Mul", 2)
def _mul(forms: Forms, term: Term) -> Affine | None:
    if term.shape is None and not _unstretched(term):
        return None
    first, second = term.inputs
    if first is not None and second is not None and not first.is_constant and not second.is_constant:
        return _bilinear(forms, term, first, second)
    varying, constant = (second, first) if first is not None and first.is_constant else (first, second)
    factor = _finite(constant)
    return None if factor is None else _times(forms, term, varying, forms.real(factor).least())


@affine_form_of("Div", 2)
def _div(forms: Forms, term: Term) -> Affine | None:
    dividend, constant = term.inputs
    if constant is not None and not constant.is_constant and dividend is not None:
        return _quotient(forms, term, None if dividend.is_constant else dividend, constant, _finite(dividend))
    divisor = _finite(constant)
    if (
        divisor is None
        or divisor.array is None
        or not divisor.array.astype(np.float64).all()
        or (term.shape is None and not _unstretched(term))
    ):
        return None
    return _times(forms, term, dividend, constants.inverse(forms.real(divisor).least()))


def _times(forms: Forms, term: Term, operand: Term | None, factor: Real) -> Affine | None:
    """The form of a term that is an operand with a factor; None where the operand is a constant."""
    if operand is None or operand.is_constant:
        return None
    form = _operand(forms, operand, term.shape, term.rank)
    return form and (_scaled(form, factor) or _scaled(_whole(form, operand, term), factor))


def _whole(form: Affine, operand: Term, term: Term) -> Affine:
    """The operand as an atom, where its parts do not take a factor."""
    return replace(atom(operand), shape=form.shape, rank=form.rank) if operand.shape == term.shape else form


def _scaled(form: Affine, factor: Real) -> Affine | None:
    """The form with a factor for each element of the result; None where a part does not take it."""
    parts = []
    for part in form.parts:
        if part.kind == "diagonal":
            weight = factor if part.weight is None else part.weight * factor
            parts.append(replace(part, weight=weight))
            continue
        assert part.weight is not None  # noqa: S101  other kinds have one
        fitting = _for_rows(factor, part, form)
        if fitting is None:
            return None
        parts.append(replace(part, weight=part.weight * fitting))
    bias = None if form.bias is None else form.bias * factor
    return Affine(tuple(parts), bias, form.shape, form.rank)


def _for_rows(factor: Real, part: AffinePart, form: Affine) -> Real | None:
    """A factor of the result as one of the weight: by output channel of a Conv, by column of a matrix."""
    assert part.weight is not None  # noqa: S101  see above
    if prod(factor.shape) == 1:
        return factor
    rank = len(part.weight.shape)
    if part.kind == "conv" and form.rank == rank and not part.reshaped:
        if factor.shape != (part.weight.shape[0], *[1] * (rank - 2)):
            return None
        return factor.mapped(lambda array: array.reshape(-1, *[1] * (rank - 1)))
    columns = part.weight.shape[1:]
    if part.kind == "product" and factor.shape == columns and (not part.reshaped or form.shape is not None):
        return factor if form.shape is None or form.shape[-1:] == columns else None
    return None


@affine_form_of("BatchNormalization", 5)
def _normalization(forms: Forms, term: Term) -> Affine | None:
    application = term.application
    first, *statistics = term.inputs
    values = [_finite(operand) for operand in statistics]
    if application is None or first is None or first.is_constant or len(values) != 4 or term.rank is None:
        return None
    if application.outputs != 1 or application.parameter("training_mode") or application.parameter("is_test") == 0:
        return None
    if any(value is None for value in values) or application.parameter("spatial") not in (None, 1):
        return None
    rank = term.rank
    scale, bias, mean, variance = (
        forms.real(value).mapped(lambda array: array.reshape(-1, *[1] * (rank - 2))).least()
        for value in values
        if value is not None
    )
    stated = application.names.get("epsilon")
    if not isinstance(stated, float | int):
        return None
    epsilon = constants.number(forms.store, float(stated))
    spread = variance + epsilon
    if not bool((spread.enclosure.low > 0).all()):
        return None
    factor = scale * constants.inverse(constants.root(spread))
    form = forms.of(first)
    scaled = _scaled(form, factor) or _scaled(atom(first), factor)
    if scaled is None:
        return None
    minus = constants.number(forms.store, -1.0) * mean * factor
    return replace(scaled, bias=constants.total([scaled.bias, bias, minus]), shape=term.shape, rank=rank)


@affine_form_of("Conv", 2, 3)
def _conv(forms: Forms, term: Term) -> Affine | None:
    first, weight, *rest = term.inputs
    kernels = _finite_array(weight)
    offset = rest[0] if rest else None
    if (
        first is None
        or first.is_constant
        or weight is None
        or kernels is None
        or (offset is not None and _finite(offset) is None)
    ):
        return None
    if kernels.ndim < 3 or not isinstance(term.key, tuple):
        return None
    bias = (
        None
        if offset is None or offset.array is None
        else forms.real(offset).mapped(lambda array: array.reshape(-1, *[1] * (kernels.ndim - 2))).least()
    )
    if _is_by_channel(term, first, kernels):
        scale = forms.real(weight).mapped(lambda array: array.reshape(-1, *[1] * (kernels.ndim - 2))).least()
        scaled = _scaled(forms.of(first), scale) or _scaled(atom(first), scale)
        return scaled and replace(
            scaled, bias=constants.total([scaled.bias, bias]), shape=term.shape, rank=kernels.ndim
        )
    key = ("conv", term.key, kernels.shape)
    source, factor = _through_scale(forms, first, kernels, _group(term))
    real = forms.real(weight) if factor is None else forms.real(weight) * factor
    return Affine((AffinePart("conv", key, source, real),), bias, term.shape, kernels.ndim)


def _is_by_channel(term: Term, first: Term, kernels: Array) -> bool:
    """Whether a Conv is a factor for each channel and a bias: groups of one channel, single elements, all of them."""
    channels = kernels.shape[0]
    if term.application is None or first.shape is None or first.shape != term.shape or first.shape[1] != channels:
        return False
    if kernels.size != channels or _group(term) != channels:
        return False
    pads, strides = (term.application.parameter(name) for name in ("pads", "strides"))
    return not any(pads or ()) and all(stride == 1 for stride in strides or ())


def _group(term: Term) -> int:
    group = None if term.application is None else term.application.parameter("group")
    return group if isinstance(group, int) else 0


def _through_scale(forms: Forms, first: Term, kernels: Array, group: int) -> tuple[Term, Real | None]:
    """The atom below factors by input channel, and the factors as one of the weight."""
    form = forms.of(first)
    if form.bias is not None or len(form.parts) != 1 or form.parts[0].kind != "diagonal":
        return first, None
    [part] = form.parts
    if part.weight is None or part.atom.shape != first.shape or first.shape is None:
        return first, None
    if prod(part.weight.shape) == 1:
        return part.atom, part.weight
    if group == 1 and part.weight.shape == (kernels.shape[1], *[1] * (kernels.ndim - 2)):
        return part.atom, part.weight.mapped(lambda array: array.reshape(1, -1, *[1] * (kernels.ndim - 2)))
    return first, None


@affine_form_of("Gemm", 2, 3)
def _gemm(forms: Forms, term: Term) -> Affine | None:
    if term.application is None:
        return None
    application = term.application
    first, second, *rest = term.inputs
    matrix, added = _finite_array(second), rest[0] if rest else None
    if (
        first is None
        or first.is_constant
        or second is None
        or matrix is None
        or application.parameter("transA")
        or matrix.ndim != 2
    ):
        return None
    alpha, beta = (float(application.parameter(name)) for name in ("alpha", "beta"))
    if not np.isfinite([alpha, beta]).all() or application.parameter("broadcast") == 0:
        return None
    weight = forms.real(second)
    if application.parameter("transB"):
        weight = weight.mapped(lambda array: np.ascontiguousarray(array.T))
    if alpha != 1:
        weight = weight * constants.number(forms.store, alpha)
    parts, bias = [_product(forms, first, weight)], None
    if added is not None and beta != 0:
        stretched = _operand(forms, added, term.shape, 2)
        if stretched is not None and beta != 1:
            stretched = _scaled(stretched, constants.number(forms.store, beta))
        if stretched is None:
            return None
        parts, bias = [*parts, *stretched.parts], stretched.bias
    return Affine(_merged(forms.store, parts), bias, term.shape, 2)


@affine_form_of("MatMul", 2)
def _matmul(forms: Forms, term: Term) -> Affine | None:
    first, second = term.inputs
    if first is not None and second is not None and not first.is_constant and not second.is_constant:
        return _bilinear(forms, term, first, second)
    matrix = _finite_array(second)
    if first is None or first.is_constant or second is None or matrix is None or matrix.ndim != 2:
        return None
    if first.rank is None or first.rank < 2:
        return None
    return Affine((_product(forms, first, forms.real(second)),), None, term.shape, term.rank)


@affine_form_of("Reciprocal", 1)
def _reciprocal(forms: Forms, term: Term) -> Affine | None:
    [divisor] = term.inputs
    return None if divisor is None else _quotient(forms, term, None, divisor, None)


def _quotient(forms: Forms, term: Term, dividend: Term | None, divisor: Term, constant: Term | None) -> Affine | None:
    """A quotient by a value that varies: of another one, or of 1 with a constant factor; single numbers that scale
    either one scale the quotient.
    """
    if not divisor.is_float or not isinstance(term.facts.shape, tuple):
        return None
    if dividend is None and divisor.facts.shape != term.facts.shape:
        return None
    below = _without_factor(forms, divisor)
    above = None if dividend is None else _without_factor(forms, dividend)
    if below is None or (dividend is not None and above is None):
        return None
    weights = [] if above is None or above[1] is None else [above[1]]
    if below[1] is not None:
        if not _is_never_zero(below[1]):
            return None
        weights.append(constants.inverse(below[1]))
    if constant is not None:
        weights.append(forms.real(constant).least())
    elif dividend is None and term.operator != "Reciprocal":
        return None  # the quotient of a constant that is not finite
    inner = forms.store.quotient(None if above is None else above[0], below[0], term.facts)
    return _scaled_atom(inner, weights, term)


def _scaled_atom(inner: Term, factors: Sequence[Real], term: Term) -> Affine:
    """An atom that single numbers scale, in the shape of a term."""
    weight = reduce(mul, factors) if factors else None
    return Affine((AffinePart("diagonal", None, inner, weight),), None, term.shape, term.rank)


def _is_never_zero(real: Real) -> bool:
    """Whether all numbers are positive, or all are negative."""
    signs = real, constants.number(real.store, -1.0) * real
    return any(bool((sign.enclosure.low > 0).all()) for sign in signs)


def _inverse(forms: Forms, term: Term) -> tuple[Term, Real | None] | None:
    """What a term is the inverse of, up to a single number; None for other terms."""
    form = forms.of(term)
    part = form.parts[0] if len(form.parts) == 1 and form.bias is None else None
    if part is None or part.kind != "diagonal" or (part.weight is not None and prod(part.weight.shape) != 1):
        return None
    found, places = part.atom, None
    if found.operator == "moved" and len(found.inputs) == 1 and found.inputs[0] is not None:
        found, places = found.inputs[0], found.places
    if found.operator != "quotient" or found.domain or found.inputs[0] is not None or found.inputs[1] is None:
        return None
    divisor = found.inputs[1]
    if found is not part.atom:
        if divisor.shape is None or part.atom.shape is None:
            return None
        divisor = movements.moved(forms.store, [divisor], places, part.atom.shape)
    return divisor, part.weight


def _without_factor(forms: Forms, term: Term) -> tuple[Term, Real | None] | None:
    """A term without a single number that scales it; None where its form has another shape."""
    written = _written_factor(forms, term)
    if written is not None:
        return written
    form = forms.of(term)
    part = form.parts[0] if len(form.parts) == 1 and form.bias is None else None
    if part is None or part.kind != "diagonal" or part.weight is None or prod(part.weight.shape) != 1:
        return term, None
    return None if part.atom.facts.shape != term.facts.shape else (part.atom, part.weight)


def _bilinear(forms: Forms, term: Term, first: Term, second: Term) -> Affine | None:
    """The product of two terms that vary, by Mul or MatMul: single numbers that scale either one scale the product.
    A Mul by an inverse is a quotient.
    """
    for factor, other in ((first, second), (second, first)) if term.operator == "Mul" else ():
        inverse, plain = _inverse(forms, factor), _without_factor(forms, other)
        if inverse is None or plain is None or not isinstance(term.facts.shape, tuple):
            continue
        inner = forms.store.quotient(plain[0], inverse[0], term.facts)
        return _scaled_atom(inner, [weight for weight in (plain[1], inverse[1]) if weight is not None], term)
    sides = [_without_factor(forms, side) for side in (first, second)]
    factors = [side[1] for side in sides if side is not None and side[1] is not None]
    if None in sides or not factors:
        return None
    inner = forms.store.applied(
        term.operator, term.key, [side[0] for side in sides if side is not None], 0, term.facts,
        application=term.application, origin=term.origin,
    )  # fmt: skip
    return _scaled_atom(inner, factors, term)


def _written_factor(forms: Forms, term: Term) -> tuple[Term, Real] | None:
    """The operands of a Mul of a term and a single number, or of what moves its result; the term may have a bias."""
    if term.operator == "moved" and term.shape is not None and len(term.inputs) == 1 and term.inputs[0] is not None:
        written = _written_factor(forms, term.inputs[0]) if term.inputs[0].operator == "Mul" else None
        if written is None or written[0].shape is None:
            return None
        return movements.moved(forms.store, [written[0]], term.places, term.shape), written[1]
    if term.operator != "Mul" or term.domain or len(term.inputs) != 2 or broadcasts_along_axis(term):
        return None
    for varying, constant in (term.inputs, reversed(term.inputs)):
        number = _finite(constant)
        if (
            varying is not None
            and number is not None
            and movements.size(number) == 1
            and varying.facts.shape == term.facts.shape
        ):
            return (varying, forms.real(number).least()) if isinstance(term.facts.shape, tuple) else None
    return None


def _product(forms: Forms, first: Term, weight: Real) -> AffinePart:
    """The product of the rows of a term with a matrix; where the shape is known, of a term of rank 2."""
    shape = first.shape
    if shape is not None and len(shape) > 2:
        first = movements.moved(forms.store, [first], None, (prod(shape[:-1]), shape[-1]))
    return AffinePart("product", weight.shape, first, weight)


@affine_form_of("narrowed", 1)
def _narrowed(forms: Forms, term: Term) -> Affine | None:
    """The form of the value before it passed through integers; where these keep a sign, a Relu may have been left out,
    and the value is an atom.
    """
    below = below_narrowed(term)
    return None if below is None or below[1].low >= 0 or below[1].high <= 0 else forms.of(below[0])


@affine_form_of("ideal", 1)
def _ideal(forms: Forms, term: Term) -> Affine | None:
    """The form of the term that has the same value over the reals."""
    [source] = term.inputs
    return None if source is None else forms.of(source)


@affine_form_of("moved", 1, MAX_JOINED)
def _moved(forms: Forms, term: Term) -> Affine | None:
    """A movement of factors and biases; one that keeps the order is only another shape."""
    sources = movements.sources_of(term)
    if len(sources) < len(term.inputs) or term.shape is None:
        return None
    if len(sources) > 1:
        return _joined(forms, term, sources)
    [source] = sources
    if source.shape is None:
        return None
    below = source.inputs[0] if source.operator == "ideal" else None
    if below is not None and below.operator == "moved":  # part of an output that is joined from several values
        return forms.of(movements.moved(forms.store, [below], term.places, term.shape))
    form, shape = forms.of(source), term.shape
    if form.is_atom(source) or (any(part.kind != "diagonal" for part in form.parts) and term.places is not None):
        return None
    places, old = term.places, source.shape

    def change(array: Array) -> Array:
        flat = np.broadcast_to(array, old).reshape(-1)
        return (flat if places is None else flat[places]).reshape(shape)

    reals = [form.bias, *(part.weight for part in form.parts if part.kind == "diagonal")]
    if any(real is not None and prod(real.shape) > 1 for real in reals) and max(prod(shape), prod(old)) > MAX_SPREAD:
        return None
    parts = []
    for part in form.parts:
        if part.kind != "diagonal":
            parts.append(replace(part, reshaped=True))
            continue
        weight = None if part.weight is None else _spread(part.weight, change)
        parts.append(AffinePart("diagonal", None, movements.moved(forms.store, [part.atom], places, shape), weight))
    bias = None if form.bias is None else _spread(form.bias, change)
    return Affine(tuple(parts), bias, shape, len(shape))


def _joined(forms: Forms, term: Term, sources: Sequence[Term]) -> Affine | None:
    """A movement that joins values which one and the same factor scales, and to which one number is added."""
    if any(source.is_constant or not source.is_float for source in sources) or term.shape is None:
        return None
    affines = [forms.of(source) for source in sources]
    atoms = []
    for source, form in zip(sources, affines, strict=True):
        part = form.parts[0] if len(form.parts) == 1 else None
        if part is None or part.kind != "diagonal" or part.atom.shape != source.shape:
            return None
        atoms.append(part.atom)
    weights, biases = [form.parts[0].weight for form in affines], [form.bias for form in affines]
    if not (_are_one_number(weights) and _are_one_number(biases)) or (weights[0] is None and biases[0] is None):
        return None
    atom_ = movements.moved(forms.store, atoms, term.places, term.shape)
    return Affine((AffinePart("diagonal", None, atom_, weights[0]),), biases[0], term.shape, term.rank)


def _are_one_number(reals: Sequence[Real | None]) -> bool:
    """Whether all are the same single number, or all are left out."""
    first = reals[0]
    if first is None:
        return all(real is None for real in reals)
    return all(real is not None and prod(real.shape) == 1 and real.key == first.key for real in reals)


def _spread(real: Real, change: Callable[[Array], Array]) -> Real:
    """Numbers whose elements are moved; each constant is written out in the old shape by `change`, then collapsed."""
    if real.array is not None:
        return real if real.array.size == 1 else real.moved(change).least()
    return Real(real.kind, tuple([_spread(part, change) for part in real.parts]), real.store)
