"""JSON of results from their fields and reported properties."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Annotated

import pytest
from msgspec import Struct, field

from sonnx.base.reported import HIDDEN, OptionalText, Result, json_data, json_keys, json_text, reported
from sonnx.base.resources import tool_version


class Ends(Struct, frozen=True):
    """The ends of an interval."""

    low: float
    high: float


class Measured(Result, frozen=True):
    """A result with everything that JSON can show."""

    name: str
    kind: str = field(name="class")
    note: OptionalText = ""
    inside: Annotated[object, HIDDEN] = None
    ends: tuple[Ends, ...] = ()
    files: tuple[PurePosixPath, ...] = ()

    @property
    @reported
    def width(self) -> float | None:
        """The largest difference of two ends."""
        return max((each.high - each.low for each in self.ends), default=None)

    @property
    @reported
    def place(self) -> OptionalText:
        """Where it was measured."""
        return ""

    @property
    def hidden_too(self) -> int:
        """Not a key."""
        return 1


def test_the_keys_are_those_of_the_bases_then_the_fields_then_the_reported_properties() -> None:
    names = ["format", "tool", "name", "class", "note", "ends", "files", "width", "place"]
    assert [key.name for key in json_keys(Measured)] == names


def test_json_has_each_key_with_its_value() -> None:
    measured = Measured("a", "b", "", object(), (Ends(1.0, 3.5), Ends(0.0, 1.0)), (PurePosixPath("x/y"),))
    assert json_data(measured) == {
        "format": 1, "tool": {"name": "sonnx", "version": tool_version()}, "name": "a", "class": "b", "note": None,
        "ends": [{"low": 1.0, "high": 3.5}, {"low": 0.0, "high": 1.0}], "files": ["x/y"], "width": 2.5, "place": None,
    }  # fmt: skip
    assert json.loads(json_text(measured)) == json_data(measured)
    assert json_data(Measured("a", "b", "noted"))["note"] == "noted"


class Name(str):
    """A text of a class that encoders may not know."""

    __slots__ = ()


ODD = [
    {},
    [],
    [[], {}],
    "\u2028\x00\x7f",
    {"half of a pair \ud800": "é"},
    -0.0,
    1e300,
    1e-5,
    10**400,
    {'a"': [[[True, None]]]},
    {each: each for each in map(chr, [*range(0x300), *range(0xD700, 0xE100), *range(0xFF00, 0x10100)])},
    ["".join(map(chr, [*range(0xD800), *range(0xE000, 0x11000), *range(0x11000, 0x110000, 97)]))],
    {2: [2**64, -(2**63), True]},
    [Name("é")],
    [1.5, "é\x7f"],
]


@pytest.mark.parametrize("value", ODD)
def test_the_text_is_that_of_the_standard_library(value: object) -> None:
    assert json_text(value) == json.dumps(value, indent=1) + "\n"


class Pair(Struct, frozen=True):
    """A structure that makes a new part each time it is asked."""

    left: Ends
    right: Ends

    @property
    @reported
    def names(self) -> tuple[str, ...]:
        """Both as text."""
        return (str(self.left.low), str(self.right.low))


def test_a_part_that_occurs_several_times_is_shown_each_time() -> None:
    same = Ends(1.0, 2.0)
    pairs = [Pair(same, Ends(float(low), 9.0)) for low in range(100)]
    expected = [
        {"left": {"low": 1.0, "high": 2.0}, "right": {"low": low, "high": 9.0}, "names": ["1.0", f"{low}.0"]}
        for low in range(100)
    ]
    assert json_data(pairs) == expected
    assert json.loads(json_text(pairs)) == expected


@pytest.mark.parametrize("value", [object(), b"bytes", {1, 2}])
def test_what_has_no_json_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="has no JSON"):
        json_data([value])


def test_a_number_that_json_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        json_text({"a": float("nan")})
