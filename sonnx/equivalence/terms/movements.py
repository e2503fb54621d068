"""Movements of elements as one map: each element of the output is one element of one source.

Reshape, Transpose, Slice, Concat, Split, Expand, Gather by constants and Pad by constants compose to one array of flat
indices.  Two movements with equal maps of equal sources are one function, so no law about pairs of operators is needed.
The map of an operator is what its definition makes of the numbers 0, 1, 2, … in the place of the elements.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from sonnx.equivalence.terms.narrowed_numbers import Narrowed
from sonnx.equivalence.terms.store import Store, Term
from sonnx.executor.prepared_call import PreparedNode
from sonnx.language.evaluator import TensorFacts
from sonnx.language.known_numbers import KnownNumbers
from sonnx.numerics.array_facts import facts_of_array
from sonnx.numerics.formats import ELEMENTS, TEXT, Array, patterns
from sonnx.operators import operator_facts

MAX_ELEMENTS = 1 << 25
"""Elements of the largest map; a larger value keeps its operator."""


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
    stated = operator_facts(operator)
    moves_every = stated.moved_inputs == "every"
    sources = [operand for operand in (inputs if moves_every else inputs[:1]) if operand is not None]
    parameters = [None if operand is None else operand.array for operand in inputs[1:]]
    specs = prepared.output_specs
    if not stated.moves or not sources or specs is None or any(source.shape is None for source in sources):
        return None
    if not moves_every and any(operand is not None and operand.array is None for operand in inputs[1:]):
        return None
    if max([sum(map(size, sources)), *(prod(shape) for shape, _ in specs)]) > MAX_ELEMENTS:
        return None
    if stated.keeps_order and len(specs) == 1:
        return [moved(store, sources, None, specs[0][0])]
    if operator == "Pad":
        padded = _padded(store, prepared, sources[0], parameters)
        return None if padded is None else [padded]
    numbered = _numbered(sources, np.int32)
    arrays = prepared.definition(prepared.application, numbered if moves_every else [numbered[0], *parameters])
    if operator == "Dropout":  # its second output, the mask, has no element of the input
        return [moved(store, sources, None, specs[0][0]), *(constant_of(store, array) for array in arrays[1:])]
    return [
        moved(store, sources, np.ascontiguousarray(array).reshape(-1), shape)
        for array, (shape, _) in zip(arrays, specs, strict=True)
    ]


def _numbered(sources: Sequence[Term], kind: Any, first: int = 0) -> list[Array]:
    """The number of each element of the sources, in their shapes."""
    arrays = []
    for source in sources:
        arrays.append(np.arange(first, first + size(source), dtype=kind).reshape(source.shape or ()))
        first += size(source)
    return arrays


def broadcast_places(term: Term, shape: tuple[int, ...]) -> Array | None:
    """For each element of a term that is broadcast to a shape, in row-major order, the place of the one it is.

    None where it does not broadcast to it, or one of both has too many elements.
    """
    if term.shape is None or max(size(term), prod(shape)) > MAX_ELEMENTS:
        return None
    return _places_of_broadcast(tuple(term.shape), tuple(shape))


@lru_cache(maxsize=64)
def _places_of_broadcast(old: tuple[int, ...], new: tuple[int, ...]) -> Array | None:
    """The places of `broadcast_places`; one array for all values of these shapes, which nothing writes to."""
    try:
        places = np.broadcast_to(np.arange(prod(old), dtype=np.int32).reshape(old), new).reshape(-1)
    except ValueError:
        return None
    places.flags.writeable = False
    return places


def _padded(store: Store, prepared: PreparedNode, source: Term, parameters: Sequence[Array | None]) -> Term | None:
    """Pad: what is added is an element of the constant, the number 0 in the map of the definition."""
    application, kind = prepared.application, ELEMENTS[str(source.facts.type)]
    if kind == TEXT:
        return None
    if "value" in application.names:
        filler = np.array(application.names["value"]).astype(kind)
        application = dataclasses.replace(application, names={**application.names, "value": 0})
        arrays = list(parameters)
    else:
        written = parameters[1] if len(parameters) > 1 else None
        filler = np.zeros((), kind) if written is None else written
        arrays = [*parameters[:1], np.zeros((), np.int32), *parameters[2:]]
    [numbered] = _numbered([source], np.int32, first=1)
    [places] = prepared.definition(application, [numbered, *arrays])
    [(shape, _)] = prepared.output_specs or ()
    return moved(
        store, [constant_of(store, filler.reshape(1)), source], np.ascontiguousarray(places).reshape(-1), shape
    )


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
        [source] = sources
        if source.array is not None:
            return constant_like(store, source, lambda array: array.reshape(shape))
        if source.shape == shape:
            return source
        if source.operator == "moved":
            below = source.inputs[0]
            if source.places is None and below is not None and below.shape == shape:
                return below
            return store.moved(sources_of(source), source.places, shaped(element, shape))
        return store.moved([source], None, shaped(element, shape))
    kind = ELEMENTS.get(str(element))
    if places.size == 0 and kind is not None:
        return constant_of(store, np.empty(shape, kind))
    if all(term.array is not None for term in sources):
        if len(sources) == 1:
            chosen = places
            return constant_like(store, sources[0], lambda array: array.reshape(-1)[chosen].reshape(shape))
        flat = np.concatenate([term.array.reshape(-1) for term in sources if term.array is not None])
        return constant_of(store, flat[places].reshape(shape))
    atoms, places = _flattened(sources, places)
    atoms, places = _normal(store, atoms, places)
    if len(atoms) == 1 and _in_order(places, size(atoms[0])):
        return atoms[0] if atoms[0].shape == shape else store.moved(atoms, None, shaped(element, shape))
    return store.moved(atoms, places, shaped(element, shape))


def constant_of(store: Store, array: Array, narrowed: Narrowed | None = None) -> Term:
    """The term of a constant array, which may have been narrowed."""
    return store.constant(array, facts_of_array(array), narrowed)


def constant_like(store: Store, constant: Term, change: Callable[[Array], Array]) -> Term:
    """The constant whose elements are those of another one, moved; how they were narrowed stays known."""
    assert constant.array is not None  # noqa: S101  it is a constant
    narrowed = store.narrowing_of(constant)
    return constant_of(store, change(constant.array), narrowed and narrowed.moved(change, constant.array.shape))


def collapsed_constant(store: Store, constant: Term) -> Term:
    """The constant without the axes along which it is constant; unchanged where its elements were narrowed in different
    ways.
    """
    assert constant.array is not None  # noqa: S101  it is a constant
    smaller = collapsed(constant.array)
    if smaller.shape == constant.array.shape:
        return constant
    narrowed = store.narrowing_of(constant)
    if narrowed is None or narrowed.own_radii is None:
        return constant_of(store, smaller, narrowed)
    same = collapsed(narrowed.own_radii).shape == smaller.shape
    return constant_like(store, constant, collapsed) if same else constant


def sources_of(movement: Term) -> list[Term]:
    """The terms whose elements a movement moves."""
    return [source for source in movement.inputs if source is not None]


def are_equal(places: Array | None, others: Array | None) -> bool:
    """Whether two movements of as many elements have equal places; None for elements in order."""
    if places is None or others is None:
        return places is others
    return places is others or np.array_equal(places, others)


def is_permutation(places: Array, count: int) -> bool:
    """Whether places are those of so many elements, each once."""
    return places.size == count and bool((np.bincount(places, minlength=count) == 1).all())


def in_order_of_use(movement: Term) -> tuple[list[Term], Array | None]:
    """The sources of a movement in the order of their first use, and the places in them in this order."""
    sources = sources_of(movement)
    if movement.places is None or len(sources) == 1:
        return sources, movement.places
    starts = np.cumsum([0, *map(size, sources)])
    owner = np.searchsorted(starts, movement.places, side="right") - 1
    used, first = np.unique(owner, return_index=True)
    order = used[np.argsort(first)]
    bases = np.zeros(len(sources), np.int64)
    bases[order] = np.cumsum([0, *(size(sources[index]) for index in order)])[:-1]
    return [sources[index] for index in order], movement.places - starts[owner] + bases[owner]


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


def _in_order(places: Array, count: int) -> bool:
    return places.size == count and bool((places == np.arange(count, dtype=places.dtype)).all())


def _flattened(sources: Sequence[Term], places: Array) -> tuple[list[Term], Array]:
    """The map on what the sources are moved from."""
    if not any(source.operator == "moved" for source in sources):
        return list(sources), places
    atoms: list[Term] = []
    maps, end, starts = [], 0, dict[tuple[int, ...], int]()
    moved_from = [sources_of(source) if source.operator == "moved" else [source] for source in sources]
    kind = _kind(term for below in moved_from for term in below)
    for source, below in zip(sources, moved_from, strict=True):
        count, key = sum(map(size, below)), tuple([term.number for term in below])
        if key not in starts:
            starts[key] = end
            atoms += below
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
