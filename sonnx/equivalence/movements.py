"""Movements of elements as one map: each element of the output is one element of one source.

Reshape, Transpose, Slice, Concat, Split, Expand, Gather by constants and Pad by constants compose to one array of flat
indices.  Two movements with equal maps of equal sources are one function, so no law about pairs of operators is needed.
The map of an operator is what its definition makes of the numbers 0, 1, 2, … in the place of the elements.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from sonnx.equivalence.terms import Store, Term
from sonnx.executor.prepared_call import PreparedNode
from sonnx.language.evaluator import TensorFacts
from sonnx.language.known_numbers import KnownNumbers
from sonnx.numerics.array_facts import facts_of
from sonnx.numerics.formats import ELEMENTS, TEXT, Array, patterns

MAX_ELEMENTS = 1 << 25
"""Elements of the largest map; a larger value keeps its operator."""

MOVING: Mapping[str, bool] = {
    "Concat": True, "Dropout": False, "Expand": False, "Flatten": False, "Gather": False, "Identity": False,
    "Pad": False, "Reshape": False, "Slice": False, "Split": False, "Squeeze": False, "Transpose": False,
    "Unsqueeze": False,
}  # fmt: skip
"""The operators that move elements; whether every input is moved, or the first one only."""

KEEPING = frozenset({"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
"""Those of them that keep the order of the elements."""


def size(term: Term) -> int:
    """The number of elements of a term of known shape."""
    return prod(term.shape or ())


def known_extents(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape as a fact."""
    return KnownNumbers(shape)  # type: ignore[return-value]  # whole numbers


def shaped(element: Any, shape: Sequence[int]) -> TensorFacts:
    """The facts of a value of this type and shape that is computed at run time."""
    return TensorFacts(element, known_extents(shape))


def moved_by(store: Store, operator: str, prepared: PreparedNode, inputs: Sequence[Term | None]) -> list[Term] | None:
    """The outputs of an operator that moves elements, None where it keeps its operator: a shape or an index varies,
    or the map is too large.
    """
    sources = [operand for operand in (inputs if MOVING[operator] else inputs[:1]) if operand is not None]
    others = [None if operand is None else operand.array for operand in inputs[1:]]
    specs = prepared.output_specs
    if not sources or specs is None or any(source.shape is None for source in sources):
        return None
    if not MOVING[operator] and any(operand is not None and operand.array is None for operand in inputs[1:]):
        return None
    total = sum(map(size, sources))
    if max([total, *(prod(shape) for shape, _ in specs)]) > MAX_ELEMENTS:
        return None
    if operator in KEEPING:
        return [moved(store, sources, None, specs[0][0])]
    if operator == "Pad":
        term = _padded(store, prepared, sources[0], others)
        return None if term is None else [term]
    numbered = _numbered(sources, np.int32)
    given = numbered if MOVING[operator] else [numbered[0], *others]
    arrays = prepared.definition(prepared.application, given)
    if operator == "Dropout":
        return [moved(store, sources, None, specs[0][0]), *(constant_of(store, array) for array in arrays[1:])]
    return [
        moved(store, sources, np.ascontiguousarray(array).reshape(-1), shape)
        for array, (shape, _) in zip(arrays, specs, strict=True)
    ]


def _numbered(sources: Sequence[Term], kind: Any, first: int = 0) -> list[Array]:
    """The number of each element of the sources, in their shapes."""
    made = []
    for source in sources:
        made.append(np.arange(first, first + size(source), dtype=kind).reshape(source.shape or ()))
        first += size(source)
    return made


def broadcast_places(term: Term, shape: tuple[int, ...]) -> Array | None:
    """For each element of a term that is broadcast to a shape, in row-major order, the place of the one it is.

    None where it does not broadcast to it, or one of both has too many elements.
    """
    if term.shape is None or max(size(term), prod(shape)) > MAX_ELEMENTS:
        return None
    try:
        return np.broadcast_to(_numbered([term], np.int32)[0], shape).reshape(-1)
    except ValueError:
        return None


def _padded(store: Store, prepared: PreparedNode, source: Term, others: Sequence[Array | None]) -> Term | None:
    """Pad: what is added is an element of the constant, the number 0 in the map of the definition."""
    application, kind = prepared.application, ELEMENTS[str(source.facts.type)]
    if kind == TEXT:
        return None
    if "value" in application.names:
        value = np.array(application.names["value"]).astype(kind)
        application = dataclasses.replace(application, names={**application.names, "value": 0})
        given = list(others)
    else:
        value = others[1] if len(others) > 1 and others[1] is not None else np.zeros((), kind)
        given = [*others[:1], np.zeros((), np.int32), *others[2:]]
    assert value is not None  # noqa: S101  for the type checker
    [numbered] = _numbered([source], np.int32, first=1)
    [array] = prepared.definition(application, [numbered, *given])
    constant = store.constant(value.reshape(1), facts_of(value.reshape(1)))
    [(shape, _)] = prepared.output_specs or ()
    return moved(store, [constant, source], np.ascontiguousarray(array).reshape(-1), shape)


def moved(store: Store, sources: Sequence[Term], places: Array | None, shape: Sequence[int]) -> Term:
    """The term of moved elements in its normal form: what no source moves any more, each source that is used once, in
    the order of their numbers, all constant elements in one sorted constant; a source itself where nothing moves.

    Args:
        store: of the terms.
        sources: of known shapes and one type.
        places: the place of each element of the result in the elements of the sources one after the other; None where
            there is one source, in order.
        shape: of the result.
    """
    shape = tuple(shape)
    element = sources[0].facts.type
    if places is not None and len(sources) == 1 and _in_order(places, size(sources[0])):
        places = None
    if places is None:
        [only] = sources
        if only.array is not None:
            return constant_of(store, only.array.reshape(shape))
        if only.shape == shape:
            return only
        if only.operator == "moved":
            source = only.inputs[0]
            if only.places is None and source is not None and source.shape == shape:
                return source
            return store.moved(
                [operand for operand in only.inputs if operand is not None], only.places, shaped(element, shape)
            )
        return store.moved([only], None, shaped(element, shape))
    if all(term.array is not None for term in sources) or places.size == 0:
        kind = ELEMENTS[str(element)]
        if places.size == 0:
            return constant_of(store, np.empty(shape, kind))
        flat = np.concatenate([term.array.reshape(-1) for term in sources if term.array is not None])
        return constant_of(store, flat[places].reshape(shape))
    atoms, places = _flattened(sources, places)
    atoms, places = _normal(store, atoms, places)
    if len(atoms) == 1 and _in_order(places, size(atoms[0])):
        return atoms[0] if atoms[0].shape == shape else store.moved(atoms, None, shaped(element, shape))
    return store.moved(atoms, places, shaped(element, shape))


def constant_of(store: Store, array: Array) -> Term:
    """The term of a constant array."""
    return store.constant(array, facts_of(array))


def _in_order(places: Array, extent: int) -> bool:
    return places.size == extent and bool((places == np.arange(extent, dtype=places.dtype)).all())


def _flattened(sources: Sequence[Term], places: Array) -> tuple[list[Term], Array]:
    """The map on what the sources are moved from."""
    if not any(term.operator == "moved" for term in sources):
        return list(sources), places
    atoms: list[Term] = []
    maps, end, starts = [], 0, dict[tuple[int, ...], int]()
    moved_from = [
        [one for one in source.inputs if one is not None] if source.operator == "moved" else [source]
        for source in sources
    ]
    kind = _kind(term for inner in moved_from for term in inner)
    for source, inner in zip(sources, moved_from, strict=True):
        count, key = sum(map(size, inner)), tuple([one.number for one in inner])
        if key not in starts:
            starts[key] = end
            atoms += inner
            end += count
        own = np.arange(count, dtype=kind) if source.places is None else source.places.astype(kind, copy=False)
        maps.append(own + kind(starts[key]))
    return atoms, np.concatenate(maps)[places]


def _kind(terms: Iterable[Term]) -> Any:
    """The type of places in the elements of terms one after the other."""
    return np.int32 if sum(map(size, terms)) <= np.iinfo(np.int32).max else np.int64


def _normal(store: Store, atoms: Sequence[Term], places: Array) -> tuple[list[Term], Array]:
    """Constants gathered in one sorted array of different patterns, sources in the order of their numbers, each once,
    unused ones left out.
    """
    if len(atoms) == 1 and atoms[0].array is None and places.size:
        return [*atoms], places.astype(_kind(atoms), copy=False)
    starts = np.cumsum([0, *map(size, atoms)])
    owner = np.searchsorted(starts, places, side="right") - 1
    used = np.bincount(owner, minlength=len(atoms)) > 0
    # empty sources share a start with the next one, to which searchsorted gives their places
    order = sorted({term.number: term for term, is_used in zip(atoms, used, strict=True) if is_used and
                    term.array is None}.values(), key=lambda term: term.number)  # fmt: skip
    bases = {term.number: base for term, base in zip(order, np.cumsum([0, *map(size, order)]), strict=False)}
    rest = sum(map(size, order))
    part = np.empty(places.size, np.int64)
    constants: list[tuple[Array, Array]] = []
    for index, atom in enumerate(atoms):
        if not used[index]:
            continue
        here = owner == index
        local = places[here] - starts[index]
        if atom.array is None:
            part[here] = local + bases[atom.number]
        else:
            constants.append((here, atom.array.reshape(-1)[local]))
    if constants:
        values = np.concatenate([array for _, array in constants])
        kinds, inverse = np.unique(patterns(values), return_inverse=True)
        start = 0
        for here, array in constants:
            part[here] = rest + inverse[start : start + array.size]
            start += array.size
        order.append(constant_of(store, kinds.view(values.dtype)))
    return order, part.astype(_kind(order))
