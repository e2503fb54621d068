"""Forms of Conv and Gemm.

Pad by +0 before Conv is padding of Conv, because by its definition padding enters the products as +0.  The constants of
Gemm are stored as they are used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence

import numpy as np

from sonnx.equivalence.elementwise import collapsed
from sonnx.equivalence.keys import with_parameter
from sonnx.equivalence.movements import constant_of, size
from sonnx.equivalence.terms import Store, Term
from sonnx.numerics.application import Application
from sonnx.numerics.formats import patterns

MAX_TRANSPOSED = 1 << 22
"""Elements of the largest matrix that is stored as it is used."""


def without_pad(
    operator: str, inputs: Sequence[Term | None], key: Hashable, application: Application
) -> tuple[list[Term | None], Hashable, Application]:
    """The inputs, the key and the application of a Conv on what its input was padded from; others as they are."""
    first = inputs[0] if inputs else None
    if operator != "Conv" or first is None or first.operator != "moved" or len(first.inputs) != 2:
        return list(inputs), key, application
    source, zero = first.inputs
    pads = application.names.get("pads")
    if source is None or zero is None or zero.array is None or source.shape is None or not isinstance(pads, tuple):
        return list(inputs), key, application
    amounts = _amounts(first, source, zero)
    if amounts is None:
        return list(inputs), key, application
    total = tuple([old + new for old, new in zip(pads, amounts, strict=True)])
    names = {**application.names, "pads": total}
    return [source, *inputs[1:]], with_parameter(key, "pads", total), dataclasses.replace(application, names=names)


def of_constants(
    store: Store, operator: str, inputs: Sequence[Term | None], key: Hashable, application: Application
) -> tuple[list[Term | None], Hashable, Application]:
    """The same of a Gemm whose constants have one form: the matrix as it is used, and an addend without axes that it is
    repeated along (theorem rewrite.broadcast-constant).
    """
    made = list(inputs)
    if operator != "Gemm" or len(made) < 2:
        return made, key, application
    matrix, added = made[1], made[2] if len(made) > 2 else None
    if added is not None and added.array is not None and added.array.size:
        made[2] = constant_of(store, collapsed(added.array))
    used = None if matrix is None or not application.names.get("transB", 0) else matrix.array
    if used is not None and used.ndim == 2 and used.size <= MAX_TRANSPOSED:
        made[1], key = constant_of(store, used.T), with_parameter(key, "transB", 0)
        application = dataclasses.replace(application, names={**application.names, "transB": 0})
    return made, key, application


def _amounts(padded: Term, source: Term, zero: Term) -> tuple[int, ...] | None:
    """How many zeros were put before and behind each spatial axis; None where the movement is another one."""
    shape, inner, places = padded.shape, source.shape, padded.places
    if shape is None or inner is None or places is None or zero.array is None or len(shape) != len(inner):
        return None
    if zero.array.size != 1 or int(patterns(zero.array.reshape(-1))[0]) != 0 or shape[:2] != inner[:2]:
        return None
    made = places.reshape(shape)
    inside = np.argwhere(made < size(source))
    if not len(inside):
        return None
    begin = inside.min(axis=0)
    end = np.array(shape) - begin - np.array(inner)
    if (end < 0).any():
        return None
    numbered = np.arange(size(source), dtype=np.int64).reshape(inner)
    wanted = np.pad(numbered, list(zip(begin, end, strict=True)), constant_values=size(source))
    if not np.array_equal(wanted, made):
        return None
    return (*map(int, begin[2:]), *map(int, end[2:]))
