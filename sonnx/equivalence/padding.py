"""Pad before Conv and pooling: padding of the operator itself.

By its definition padding enters the products of Conv as +0, and the mean of AveragePool that counts padding as +0; the
maximum of MaxPool leaves padding out, which is the maximum with the least value of the type.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence

import numpy as np

from sonnx.equivalence.keys import frozen, with_parameter, with_written
from sonnx.equivalence.movements import moved, size
from sonnx.equivalence.terms import Store, Term
from sonnx.model.ir import Attribute
from sonnx.numerics.application import Application
from sonnx.numerics.formats import Array, lowest, patterns

Operands = tuple[list[Term | None], Hashable, Application]


def without_pad(
    store: Store,
    operator: str,
    inputs: Sequence[Term | None],
    key: Hashable,
    application: Application,
    result: Sequence[int],
) -> Operands:
    """The inputs, the key and the application of an operator on what its input was padded from; others as they are.

    Args:
        store: of the terms.
        operator: the operator.
        inputs: its operands.
        key: of the call.
        application: how it is applied.
        result: the shape of its first output.
    """
    unchanged = list(inputs), key, application
    first = inputs[0] if inputs else None
    if operator == "AveragePool":
        return _averaged(store, first, unchanged)
    pads = application.names.get("pads")
    if operator not in ("Conv", "MaxPool") or first is None or not isinstance(pads, tuple):
        return unchanged
    if operator == "MaxPool" and (application.outputs != 1 or not _is_plain(application)):
        return unchanged
    found = _unpadded(store, first, 0 if operator == "Conv" else None)
    if found is None:
        return unchanged
    source, amounts = found
    total = tuple([old + new for old, new in zip(pads, amounts, strict=True)])
    if operator == "MaxPool" and not _touches(source, application, total, result):
        return unchanged
    if operator == "Conv":
        store.rest_on("padding")
    else:
        store.rest_on("pooled-padding")
    names = {**application.names, "pads": total}
    return [source, *inputs[1:]], with_parameter(key, "pads", total), dataclasses.replace(application, names=names)


def _is_plain(application: Application) -> bool:
    """Whether the windows of a pooling are those of its pads."""
    names = application.names
    rounds_up = names.get("ceil_mode", application.attribute("ceil_mode", 0))
    fits = names.get("auto_pad", application.attribute("auto_pad", "NOTSET"))
    return bool(rounds_up == 0 and fits == "NOTSET")


def _averaged(store: Store, first: Term | None, unchanged: Operands) -> Operands:
    """AveragePool that counts padding, of what its input was padded from; without padding every form is one."""
    inputs, key, application = unchanged
    kernel = application.attribute("kernel_shape", None)
    is_written = isinstance(key, tuple) and key[:1] == ("written",)
    if first is None or not kernel or not is_written or not _is_plain(application):
        return unchanged
    pads = tuple(application.attribute("pads", (0,) * 2 * len(kernel)))
    counts = application.attribute("count_include_pad", 0) != 0 or not any(pads)
    found = _unpadded(store, first, 0) if counts else None
    if found is not None and len(found[1]) == len(pads):
        store.rest_on("averaged-padding")
        inputs, pads = [found[0], *inputs[1:]], tuple([a + b for a, b in zip(pads, found[1], strict=True)])
    include = int(counts and any(pads))
    for name, value in (("count_include_pad", include), ("pads", pads)):
        attribute = Attribute(name, "int" if name == "count_include_pad" else "ints", value)
        key = with_written(key, name, frozen(value))
        application = dataclasses.replace(application, attributes={**application.attributes, name: attribute})
    return inputs, key, application


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
    """What a term was padded from along its spatial axes, and how many elements were put before and behind each; None
    where it is another movement.

    Args:
        store: of the terms.
        padded: the term.
        pattern: of the element that was put there; None for the least of the type.
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
    one = patterns(array.reshape(-1))[0]
    return int(one) == (lowest(array.dtype) if pattern is None else pattern)
