"""Pad before Conv and pooling: padding of the operator itself.

By its definition padding enters the products of Conv as +0, and the mean of AveragePool that counts padding as +0; the
maximum of MaxPool leaves padding out, which is the maximum with the least value of the type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sonnx.equivalence.terms.keys import frozen, with_parameter, with_written
from sonnx.equivalence.terms.movements import moved, size
from sonnx.equivalence.terms.store import Store, Term
from sonnx.equivalence.terms.term_calls import TermCall, normal_form_of
from sonnx.model.ir import Attribute
from sonnx.numerics.application import Application
from sonnx.numerics.formats import Array, lowest, patterns


@normal_form_of("Conv", "MaxPool")
def without_pad(store: Store, call: TermCall) -> TermCall | None:
    """Conv and MaxPool on what their input was padded from, with larger pads."""
    application, first = call.application, call.operands[0] if call.operands else None
    if application is None or first is None or call.shape is None:
        return None
    pads = application.names.get("pads")
    is_pool = call.operator == "MaxPool"
    if not isinstance(pads, tuple) or (is_pool and (len(call.outputs) != 1 or not _is_plain(application))):
        return None
    unpadded = _unpadded(store, first, None if is_pool else 0)
    if unpadded is None:
        return None
    source, amounts = unpadded
    total = tuple([own + added for own, added in zip(pads, amounts, strict=True)])
    if is_pool and not _touches(source, application, total, call.shape):
        return None
    if is_pool:
        store.rest_on("pooled-padding")
    else:
        store.rest_on("padding")
    return replace(
        call,
        operands=(source, *call.operands[1:]),
        key=with_parameter(call.key, "pads", total),
        application=replace(application, names={**application.names, "pads": total}),
    )


@normal_form_of("AveragePool")
def averaged_without_pad(store: Store, call: TermCall) -> TermCall | None:
    """AveragePool that counts padding, on what its input was padded from; without padding every form is one."""
    application, first = call.application, call.operands[0] if call.operands else None
    kernel = None if application is None else application.parameter("kernel_shape")
    is_written = isinstance(call.key, tuple) and call.key[:1] == ("written",)
    if application is None or first is None or not kernel or not is_written or not _is_plain(application):
        return None
    operands, key, pads = call.operands, call.key, tuple(application.numbers("pads", 2 * len(kernel)))
    counts = application.parameter("count_include_pad") != 0 or not any(pads)
    unpadded = _unpadded(store, first, 0) if counts else None
    if unpadded is not None and len(unpadded[1]) == len(pads):
        store.rest_on("averaged-padding")
        source, amounts = unpadded
        operands, pads = (source, *operands[1:]), tuple([own + added for own, added in zip(pads, amounts, strict=True)])
    attributes = dict(application.attributes)
    for name, kind, value in (("count_include_pad", "int", int(counts and any(pads))), ("pads", "ints", pads)):
        key = with_written(key, name, frozen(value))
        attributes[name] = Attribute(name, kind, value)
    if key == call.key and operands == call.operands:
        return None
    return replace(call, operands=operands, key=key, application=replace(application, attributes=attributes))


def _is_plain(application: Application) -> bool:
    """Whether pads alone decide the padding of a pooling: auto_pad and ceil_mode have no effect."""
    return bool(application.parameter("ceil_mode") == 0 and application.parameter("auto_pad") == "NOTSET")


def _touches(source: Term, application: Application, pads: Sequence[int], result: Sequence[int]) -> bool:
    """Whether every window is over an element of the source."""
    names, shape = application.names, source.shape or ()
    for axis, extent in enumerate(shape[2:]):
        starts = np.arange(result[2 + axis]) * names["strides"][axis] - pads[axis]
        under = np.add.outer(starts, np.arange(names["kernel_shape"][axis]) * names["spacing"][axis])
        if not ((under >= 0) & (under < extent)).any(axis=1).all():
            return False
    return True


def _unpadded(store: Store, padded: Term, pattern: int | None) -> tuple[Term, tuple[int, ...]] | None:
    """The term that was padded along its spatial axes, and how many elements were added before and behind each axis;
    None for any other movement.

    Args:
        store: of the terms.
        padded: the term.
        pattern: the bits of the added elements; None for the least element of the type.
    """
    shape, places, filler = padded.shape, padded.places, padded.inputs[-1] if padded.inputs else None
    if padded.operator != "moved" or places is None or shape is None or len(shape) < 3 or filler is None:
        return None
    sources = [operand for operand in padded.inputs if operand is not None]
    if len(sources) < 2 or filler.array is None or filler.array.size != 1 or not _is_filler(filler.array, pattern):
        return None
    array = places.reshape(shape)
    inside = array < sum(map(size, sources[:-1]))
    corners = []
    for axis in range(len(shape)):
        used = np.flatnonzero(inside.any(axis=tuple([other for other in range(len(shape)) if other != axis])))
        if not used.size:
            return None
        corners.append((int(used[0]), int(used[-1]) + 1))
    box = tuple([slice(first, last) for first, last in corners])
    extents = tuple([last - first for first, last in corners])
    if extents[:2] != shape[:2] or not inside[box].all():
        return None
    source = moved(store, sources[:-1], np.ascontiguousarray(array[box]).reshape(-1), extents)
    return source, (
        *[first for first, _ in corners[2:]],
        *[whole - last for (_, last), whole in zip(corners[2:], shape[2:], strict=True)],
    )


def _is_filler(array: Array, pattern: int | None) -> bool:
    if array.dtype.kind not in "fViu":
        return False
    bits = patterns(array.reshape(-1))[0]
    return int(bits) == (lowest(array.dtype) if pattern is None else pattern)
