"""Forms of Conv, Gemm and MatMul.

The constants of Gemm are stored as they are used.  MatMul is a product of two matrices or of two stacks of as many
matrices.  Every element stays the same sum of the same products, in convolutions of groups and in products that are
concatenated, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from sonnx.equivalence.terms.keys import with_parameter
from sonnx.equivalence.terms.movements import (
    MAX_ELEMENTS,
    collapsed_constant,
    constant_like,
    constant_of,
    moved,
    shaped,
    size,
)
from sonnx.equivalence.terms.store import Store, Term
from sonnx.equivalence.terms.term_calls import TermCall, normal_form_of

MAX_TRANSPOSED = 1 << 22
"""Elements of the largest matrix that is stored as it is used."""


@normal_form_of("Gemm", "MatMul")
def with_sorted_rows(store: Store, call: TermCall) -> TermCall | None:
    """A product with rows of moved elements: the rows of the constant follow the order of the elements."""
    if call.application is None or len(call.operands) < 2 or call.application.parameter("transA"):
        return None
    left, right, *others = call.operands
    transposed = bool(call.application.parameter("transB"))
    operands = (*_rows_in_order(store, left, right, transposed=transposed), *others)
    return None if operands == call.operands else replace(call, operands=operands)


@normal_form_of("Gemm")
def with_constants_as_used(store: Store, call: TermCall) -> TermCall | None:
    """Gemm with its matrix as it is used, and an addend without axes that it is repeated along (theorem
    rewrite.broadcast-constant).
    """
    application, operands = call.application, list(call.operands)
    if application is None or len(operands) < 2:
        return None
    key, (matrix, added) = call.key, (*operands[1:], None)[:2]
    if added is not None and added.array is not None and added.array.size:
        operands[2] = collapsed_constant(store, added)
        if operands[2] is not added:
            store.rest_on("constant-axes")
    stored_matrix = None if matrix is None or not application.parameter("transB") else matrix.array
    is_stored = stored_matrix is not None and stored_matrix.ndim == 2 and stored_matrix.size <= MAX_TRANSPOSED
    if matrix is not None and is_stored:
        store.rest_on("stored-matrix")
        operands[1], key = constant_like(store, matrix, np.transpose), with_parameter(key, "transB", 0)
        application = replace(application, names={**application.names, "transB": 0})
    if tuple(operands) == call.operands:
        return None
    return replace(call, operands=tuple(operands), key=key, application=application)


def _rows_in_order(store: Store, left: Term | None, right: Term | None, *, transposed: bool) -> list[Term | None]:
    """The operands of a product; where the left one permutes the elements of each row alike, it keeps their order, and
    the rows of the constant are permuted.
    """
    if left is None or right is None or right.array is None or right.array.ndim != 2 or left.rank != 2:
        return [left, right]
    places, (rows, inner) = left.places, left.shape or (0, 0)
    if left.operator != "moved" or places is None or len(left.inputs) != 1 or right.array.size > MAX_TRANSPOSED:
        return [left, right]
    [source], matrix = left.inputs, right.array.T if transposed else right.array
    if source is None or size(source) != rows * inner or not rows * inner or matrix.shape[0] != inner:
        return [left, right]
    order = places[:inner].astype(np.int64)
    alike = (places.reshape(rows, inner) == order + inner * np.arange(rows)[:, None]).all()
    if not alike or not np.array_equal(np.sort(order), np.arange(inner)):
        return [left, right]
    store.rest_on("permuted-rows")
    rows_of = np.argsort(order)
    sorted_rows = constant_like(store, right, lambda array: array[:, rows_of] if transposed else array[rows_of])
    return [_reshaped(store, source, (rows, inner)), sorted_rows]


# ------------------------------------------------------------------ matrices and stacks of matrices


@normal_form_of("MatMul")
def product(store: Store, call: TermCall) -> list[Term] | None:
    """MatMul as a product of two matrices, or of two stacks of one length; None where it is one, or too large."""
    if len(call.operands) != 2 or call.shape is None:
        return None
    first, second = call.operands
    if first is None or second is None or not first.shape or not second.shape or 0 in (*first.shape, *second.shape):
        return None
    rows, inner = (1, *first.shape)[-2:]
    columns = second.shape[-1] if len(second.shape) > 1 else 1
    if len(second.shape) <= 2:
        operands = _reshaped(store, first, (prod(first.shape[:-1]), inner)), _reshaped(store, second, (inner, columns))
        result: tuple[int, ...] = (prod(first.shape[:-1]), columns)
    else:
        batch = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
        count, most = prod(batch), max(rows, inner) * max(inner, columns)
        if count * most > MAX_ELEMENTS:
            return None
        stack = () if count == 1 else (count,)
        left = _stretched(store, first, (*batch, rows, inner), (*stack, rows, inner))
        operands, result = (left, _stretched(store, second, (*batch, inner, columns), (*stack, inner, columns))), (
            *stack, rows, columns,
        )  # fmt: skip
    if (operands[0].shape, operands[1].shape) == (first.shape, second.shape):
        return None
    store.rest_on("parts-of-products")
    [term] = replace(call, operands=operands, outputs=(shaped(first.facts.type, result),)).terms(store)
    return [moved(store, [term], None, call.shape)]


def _reshaped(store: Store, term: Term, shape: tuple[int, ...]) -> Term:
    return moved(store, [term], None, shape)


def _stretched(store: Store, term: Term, broadcast: tuple[int, ...], shape: tuple[int, ...]) -> Term:
    """A term broadcast to a shape, then reshaped."""
    if size(term) == prod(shape):
        return moved(store, [term], None, shape)
    numbered = np.arange(size(term), dtype=np.int32).reshape(term.shape or ())
    return moved(store, [term], np.broadcast_to(numbered, broadcast).reshape(-1), shape)


def joined(store: Store, parts: Sequence[Term | None], axis: object, shape: Sequence[int]) -> Term | None:
    """The one operator of which parts are concatenated along an axis: a product of stacks of matrices, or a convolution
    in groups; None where there is none.
    """
    terms = [part for part in parts if part is not None]
    if type(axis) is not int or len(terms) < 2 or len(terms) < len(parts):
        return None
    along, sources = axis % len(shape), [_source(term) for term in terms]
    kinds = {(source.operator, source.domain, source.key, source.shape, len(source.inputs)) for source in sources}
    if len(kinds) > 1 or sources[0].domain or sources[0].application is None:
        return None
    term = None
    if sources[0].operator == "MatMul" and prod((terms[0].shape or ())[:along]) == 1:
        term = _stack_of_products(store, sources, shape)
    elif sources[0].operator == "Conv" and along == 1 and sources == terms:
        term = _groups(store, sources, shape)
    if term is not None:
        store.rest_on("parts-of-products")
    return term


def _source(term: Term) -> Term:
    """The term that a reshape has as its operand; the term itself if it is not a reshape."""
    source = term.inputs[0] if term.operator == "moved" and term.places is None else None
    return term if source is None else source


def _stack_of_products(store: Store, sources: Sequence[Term], shape: Sequence[int]) -> Term | None:
    operands = []
    for place in (0, 1):
        listed = [source.inputs[place] for source in sources]
        parts = [part for part in listed if part is not None and not part.is_constant and part.rank == 2]
        if len(parts) < len(listed) or len({part.shape for part in parts}) > 1 or not parts[0].shape:
            return None
        stack = (len(parts), *parts[0].shape)
        operands.append(moved(store, parts, np.arange(prod(stack)), stack))
    first = sources[0]
    result = (len(sources), *(first.shape or ()))
    term = store.applied(
        "MatMul", first.key, operands, 0, shaped(first.facts.type, result), application=first.application
    )
    return moved(store, [term], None, shape)


def _groups(store: Store, sources: Sequence[Term], shape: Sequence[int]) -> Term | None:
    """Convolutions of values of one shape as a convolution in groups of their channels together."""
    first = sources[0]
    application, parts = first.application, [source.inputs[0] for source in sources]
    if application is None or application.names.get("group") != 1:
        return None
    known = [part for part in parts if part is not None and part.shape is not None and len(part.shape) > 2]
    if len(known) < len(parts) or len({part.shape for part in known}) > 1 or sum(map(size, known)) > MAX_ELEMENTS:
        return None
    extents = known[0].shape or ()
    numbered = [np.arange(size(part), dtype=np.int32).reshape(extents) + index * size(part)
                for index, part in enumerate(known)]  # fmt: skip
    places = np.concatenate(numbered, axis=1)
    whole = moved(store, known, places.reshape(-1), places.shape)
    constants = []
    for place in range(1, len(first.inputs)):
        arrays = [None if term.inputs[place] is None else term.inputs[place].array for term in sources]  # type: ignore[union-attr]  # asked before
        listed = [array for array in arrays if array is not None]
        if len(listed) < len(arrays):
            return None
        constants.append(constant_of(store, np.concatenate(listed)))
    names = {**application.names, "group": len(sources)}
    return store.applied(
        "Conv", with_parameter(first.key, "group", len(sources)), [whole, *constants], 0,
        shaped(first.facts.type, shape), application=replace(application, names=names),
    )  # fmt: skip
