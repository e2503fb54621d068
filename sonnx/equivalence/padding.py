"""Pad by +0 before Conv is padding of Conv: by its definition padding enters the products as +0."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence

import numpy as np

from sonnx.equivalence.movements import size
from sonnx.equivalence.terms import Term
from sonnx.numerics.application import Application
from sonnx.numerics.formats import patterns


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
    if amounts is None or not isinstance(key, tuple):
        return list(inputs), key, application
    total = tuple([old + new for old, new in zip(pads, amounts, strict=True)])
    listed = tuple([("pads", total) if each[0] == "pads" else each for each in key[2]])
    names = {**application.names, "pads": total}
    return [source, *inputs[1:]], (key[0], key[1], listed, *key[3:]), dataclasses.replace(application, names=names)


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
