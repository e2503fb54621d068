"""A report as JSON data and back, for another process or a file.

Most of a report are findings, and many of them are similar, so what several findings share is stored once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from operator import attrgetter
from typing import Any

from msgspec.structs import astuple

from sonnx.checker.conditions import Conditions, StatedTailoring
from sonnx.checker.graph_outline import Box, Outline
from sonnx.checker.report import Count, Coverage, Finding, Report
from sonnx.checker.verdicts import Verdict, Where
from sonnx.language.domain import Expression
from sonnx.language.parser import parse
from sonnx.profile.definitions import Rule, Tag

Data = Any
"""A JSON value."""

_CLASSES: Mapping[str, Any] = {
    kind.__name__: kind
    for kind in (Box, Conditions, Count, Coverage, Outline, Report, Rule, StatedTailoring, Tag, Verdict)
}
"""The classes of a report, except findings and their places."""

_OWN = ("where", "actual", "operands")
"""The fields of a finding that are not shared."""

_SHARED = tuple(name for name in Finding.__struct_fields__ if name not in _OWN)
_PLACE = Where.__struct_fields__
_shared, _place = attrgetter(*_SHARED), attrgetter(*_PLACE)


def report_as_data(report: Report) -> Data:
    """The report as JSON data."""
    heads: dict[tuple[Any, ...], int] = {}
    rows = [
        (heads.setdefault(_shared(finding), len(heads)), *_place(finding.where), finding.actual, finding.operands)
        for finding in report.findings
    ]
    rest = {name: _as_data(getattr(report, name)) for name in Report.__struct_fields__ if name != "findings"}
    return {"report": rest, "shared": [_as_data(head) for head in heads], "findings": rows}


def report_from_data(data: Data) -> Report:
    """The report that `report_as_data` was given.

    Raises:
        ValueError: the data are not those of a report.
    """
    try:
        heads = [_from_data(head) for head in data["shared"]]
        rest = {name: _from_data(value) for name, value in data["report"].items()}
        return Report(**rest, findings=tuple([_finding(heads[head], own) for head, *own in data["findings"]]))
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"these are not the data of a report: {error}") from error


def _finding(head: tuple[Any, ...], own: list[Any]) -> Finding:
    *place, actual, operands = own
    named = dict(zip(_SHARED, head, strict=True))
    named |= {"where": Where(*place), "actual": actual, "operands": tuple(map(tuple, operands))}
    return Finding(**named)


def _as_data(value: Any) -> Data:
    """A value as JSON: numbers, strings and lists as such, all else as an object whose one key is the class."""
    kind = type(value)
    if value is None or kind in (str, int, bool):
        return value
    if kind is tuple:
        return [_as_data(item) for item in value]
    if isinstance(value, Mapping):
        return {"Mapping": [[key, _as_data(item)] for key, item in value.items()]}
    if kind is Expression:
        return {"Expression": value.text}
    if kind is Verdict:
        return {"Verdict": str(value)}
    if kind.__name__ not in _CLASSES:
        raise TypeError(f"a report cannot be stored with a {kind.__name__}")
    return {kind.__name__: [_as_data(item) for item in astuple(value)]}


def _from_data(data: Data) -> Any:
    if isinstance(data, list):
        return tuple(map(_from_data, data))
    if not isinstance(data, dict):
        return data
    [(kind, inner)] = data.items()
    if kind == "Mapping":
        return {key: _from_data(item) for key, item in inner}
    if kind == "Expression":
        return _expression(inner)
    return Verdict(inner) if kind == "Verdict" else _CLASSES[kind](*map(_from_data, inner))


@cache
def _expression(text: str) -> Expression:
    return parse(text)
