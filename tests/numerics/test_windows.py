"""Places of windows, auto_pad and ceil_mode, against the formulas of the ONNX text written out."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from sonnx.base.errors import NotExecutable
from sonnx.model.ir import Attribute
from sonnx.numerics.windows import Windows, explicit_padding, stated_windows, windows
from tests.support.applications import written
from tests.support.cases import each_case

AXES = [
    (extent, size, stride, dilation, begin, end)
    for extent, size, stride, dilation in product((1, 2, 5, 8), (1, 2, 3), (1, 2, 3), (1, 2))
    for begin, end in ((0, 0), (1, 0), (0, 2), (1, 1))
]
"""Extent, kernel, stride, dilation, and padding at the beginning and the end."""


def span(size: int, dilation: int) -> int:
    return (size - 1) * dilation + 1


def names(kernel: Any, extents: Any, **more: Any) -> dict[str, Any]:
    axes = len(kernel)
    usual = {"auto_pad": "NOTSET", "strides": [1] * axes, "pads": [0] * 2 * axes, "kernel_shape": kernel}
    return {"X": SimpleNamespace(shape=(1, 1, *extents)), **usual, **more}


def written_as(attributes: Any) -> dict[str, Any]:
    assert all(isinstance(each, Attribute) for each in attributes)
    kinds = {each.name: each.kind for each in attributes}
    assert kinds.items() <= {"auto_pad": "string", "ceil_mode": "int", "pads": "ints"}.items()
    return {each.name: each.value for each in attributes}


# ------------------------------------------------------------------ places


@each_case(("extent", "size", "stride", "dilation", "begin", "end"), AXES)
def test_elements_under_each_place(extent: int, size: int, stride: int, dilation: int, begin: int, end: int) -> None:
    found = windows([extent], [size], [stride], [dilation], [begin, end])
    if extent + begin + end < span(size, dilation):
        return  # no window fits
    starts = [m for m in range(-begin, extent + end, stride) if m + span(size, dilation) <= extent + end]
    assert found.places == (len(starts),)
    for place, start in enumerate(starts):
        covered = [(start + j * dilation,) for j in range(size)]
        assert list(found.where([place])) == covered
        assert list(found.under([place])) == [index if 0 <= index[0] < extent else None for index in covered]


def test_axes_are_apart() -> None:
    found = windows([4, 5], [2, 3], [1, 2], [1, 1], [0, 1, 0, 0])
    assert found == Windows((4, 5), (2, 3), (1, 2), (1, 1), (0, 1), (0, 0))
    assert found.places == (3, 2)
    assert list(found.where([1, 0])) == [(1, -1), (1, 0), (1, 1), (2, -1), (2, 0), (2, 1)]
    with pytest.raises(FrozenInstanceError):
        found.extents = ()  # type: ignore[misc]


# ------------------------------------------------------------------ explicit padding


@each_case("how", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_padding_of_auto_pad(how: str) -> None:
    for extent, size, stride, dilation, begin, end in AXES:
        given = names([size], [extent], strides=[stride], dilations=[dilation], pads=[begin, end], auto_pad=how)
        found = written_as(explicit_padding(given))
        if how == "VALID":
            assert found == {"auto_pad": "NOTSET", "pads": (0, 0)}
            continue
        places = -(-extent // stride)
        total = max(0, (places - 1) * stride + span(size, dilation) - extent)
        wanted = total // 2 if how == "SAME_UPPER" else total - total // 2
        assert found == {"auto_pad": "NOTSET", "pads": (wanted, total - wanted)}


def test_padding_of_ceil_mode() -> None:
    """As many places as rounded up, but for an incomplete window that begins in the padding at the end."""
    more = 0
    for extent, size, stride, dilation, begin, end in AXES:
        room = extent + begin + end - span(size, dilation)
        given = names([size], [extent], strides=[stride], dilations=[dilation], pads=[begin, end], ceil_mode=1)
        found = written_as(explicit_padding(given))
        assert {key: found[key] for key in ("auto_pad", "ceil_mode")} == {"auto_pad": "NOTSET", "ceil_mode": 0}
        if room < 0:
            assert found["pads"] == (begin, end)
            continue
        places = -(-room // stride) + 1
        places -= bool(room % stride) and (places - 1) * stride >= extent + begin
        made = windows([extent], [size], [stride], [dilation], found["pads"])
        assert (made.places, made.begins) == ((places,), (begin,))
        more += made.ends[0] > end
        needed = (places - 1) * stride + span(size, dilation) - extent - begin
        assert made.ends == (max(end, needed),)
    assert more > 10


def test_nodes_that_stay_as_they_are() -> None:
    same = {"auto_pad": "SAME_UPPER"}
    assert explicit_padding(names([2], [5])) == ()
    assert explicit_padding(names([2], [5], ceil_mode=0)) == ()
    for wrong in (
        names([2], [5], **same, ceil_mode=2),
        names([2], [5, 5], **same),
        names([2], [5], **same, strides=[1, 1]),
        names([2], [5], **same, dilations=[1, 1]),
        names([2], [5], **same, pads=[0]),
        names([2], [5], **same, strides=[0]),
        names([2], [5], **same, dilations=[0]),
    ):
        assert explicit_padding(wrong) == ()
    with pytest.raises(NotExecutable, match="auto_pad is 'SAME'"):
        explicit_padding(names([2], [5], auto_pad="SAME"))


def test_valid_and_ceil_mode_contradict_each_other() -> None:
    with pytest.raises(NotExecutable, match="auto_pad is VALID and ceil_mode 1"):
        explicit_padding(names([2], [5], auto_pad="VALID", ceil_mode=1, strides=[2]))
    found = written_as(explicit_padding(names([2], [4], auto_pad="VALID", ceil_mode=1, strides=[2])))
    assert found == {"auto_pad": "NOTSET", "ceil_mode": 0, "pads": (0, 0)}


# ------------------------------------------------------------------ operators without a data file


def stated(shape: tuple[int, ...], kernel: list[int], **attributes: Any) -> Windows:
    return stated_windows(written("AveragePool", **attributes), shape, kernel)


def test_stated_windows() -> None:
    assert stated((1, 1, 5, 6), [2, 3]) == Windows((5, 6), (2, 3), (1, 1), (1, 1), (0, 0), (0, 0))
    found = stated((1, 1, 5, 6), [2, 3], strides=[2, 1], dilations=[1, 2], pads=[0, 1, 2, 0])
    assert found == Windows((5, 6), (2, 3), (2, 1), (1, 2), (0, 1), (2, 0))
    assert stated((1, 1, 5), [2], auto_pad="SAME_LOWER").begins == (1,)
    assert stated((1, 1, 5), [2], auto_pad="SAME_UPPER").ends == (1,)
    assert stated((1, 1, 5), [2], strides=[2], ceil_mode=1).ends == (1,)
    assert stated((1, 1, 5), [2], strides=[2], ceil_mode=0).ends == (0,)
    assert stated((1, 1, 1), [2], pads=[1, 0]).places == stated((1, 1, 1), [2], pads=[0, 1]).places == (1,)


@each_case(
    ("shape", "kernel", "attributes", "sentence"),
    [
        ((1, 1), [], {}, "does not fit 0 spatial axes"),
        ((1, 1, 5), [2, 2], {}, "does not fit 1 spatial axes"),
        ((1, 1, 5), [2], {"strides": [1, 1]}, "does not fit 1 spatial axes"),
        ((1, 1, 5), [2], {"dilations": [1, 1]}, "does not fit 1 spatial axes"),
        ((1, 1, 5), [2], {"pads": [0, 0, 0]}, "does not fit 1 spatial axes"),
        ((1, 1, 5), [2], {"pads": [0, 0, 0, 0]}, "does not fit 1 spatial axes"),
        ((1, 1, 5), [0], {}, "a number below 1"),
        ((1, 1, 5), [2], {"strides": [0]}, "a number below 1"),
        ((1, 1, 5), [2], {"dilations": [0]}, "a number below 1"),
        ((1, 1, 5), [2], {"pads": [0, -1]}, "one below 0"),
        ((1, 1, 1), [2], {}, "the window is larger than the padded input"),
        ((1, 1, 2), [2], {"dilations": [2]}, "the window is larger than the padded input"),
        ((1, 1, 5), [2], {"auto_pad": "SAME"}, "auto_pad is 'SAME'"),
    ],
)
def test_windows_that_do_not_fit(shape: Any, kernel: Any, attributes: Any, sentence: str) -> None:
    with pytest.raises(NotExecutable, match=sentence):
        stated(shape, kernel, **attributes)
