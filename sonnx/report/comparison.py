"""A comparison with a runtime as text or JSON (comparison.schema.json); HTML is in comparison_html.py."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from sonnx.comparison.comparing import Comparison, Row
from sonnx.comparison.distance import Distance
from sonnx.quoting import escape
from sonnx.report.json import tool_version

FORMAT = 1
FORMATS = ("text", "json", "html")
"""What is rendered here; the other formats render a result, see comparison_result.py."""
HEADS = ("value", "elements", "identical", "ulp, largest", "mean", "absolute, largest", "special values")


def render(form: str, found: Comparison, broken: Sequence[str]) -> str:
    """The whole document in a format, ending in a line feed."""
    if form == "html":
        from sonnx.report.comparison_html import page

        return page(found, broken)
    return as_json(found, broken) if form == "json" else "".join(f"{line}\n" for line in _lines(found, broken))


# ------------------------------------------------------------------ text


def _lines(found: Comparison, broken: Sequence[str]) -> Iterator[str]:
    yield f"{escape(found.model)}: {found.runtime} against the exact values"
    yield f"{found.runs} {'run' if found.runs == 1 else 'runs'}, inputs {found.inputs}"
    yield standing(found)
    yield from (f"skipped: {escape(reason)}" for reason in found.skipped)
    for way, rows in groupby(found.rows, key=lambda row: row.way):
        yield ""
        yield from _table(way, list(rows))
    first = found.first_diverging
    if first is not None:
        yield ""
        yield f"first node that differs on equal inputs: {first.place}"
        if first.distance is not None and first.distance.found:
            yield f"  at {list(first.distance.at)}: {first.distance.found}, exact {first.distance.exact}"
    yield ""
    yield from (f"broken: {escape(sentence)}" for sentence in broken)
    if not broken:
        yield summary(found)


def standing(found: Comparison) -> str:
    """What the profile says of the model."""
    if found.unchecked:
        return "UNCHECKED: nothing says that the model is inside the profile"
    return f"the model conforms to edition {found.edition}"


def summary(found: Comparison) -> str:
    """How many values are the same, in one sentence."""
    same = sum(row.distance is not None and not row.differs for row in found.rows)
    missing = sum(row.distance is None for row in found.rows)
    rest = f"; {missing} could not be compared" if missing else ""
    return f"{same} of {len(found.rows)} values are identical bit for bit{rest}"


def _table(way: str, rows: Sequence[Row]) -> Iterator[str]:
    cells = [HEADS, *((label(row), *cells_of(row.distance)) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADS))]
    yield {"output": "outputs, whole model", "on equal inputs": "nodes on equal inputs"}.get(way, "values, accumulated")
    for line, row in zip(cells, [None, *rows], strict=True):
        aligned = [line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:-1], widths[1:-1], strict=True))]
        yield f"  {'  '.join(aligned)}  {line[-1]}".rstrip()
        if row is not None:
            yield from (f"      not compared in {escape(failure)}" for failure in row.failures[:1])
            yield from (f"      and {len(row.failures) - 1} more" for _ in row.failures[1:2])


def label(row: Row) -> str:
    """The value with its operator."""
    name = escape(row.value)
    return f"{name} ({escape(row.operator)})" if row.operator else f"{name}: {row.type}"


def cells_of(distance: Distance | None) -> tuple[str, ...]:
    """The figures of a row as text."""
    if distance is None:
        return ("", "", "", "", "", "")
    share = distance.identical / distance.elements if distance.elements else 1.0
    whole = distance.identical == distance.elements
    steps = ("", "") if distance.ulp is None else (str(distance.ulp), f"{distance.ulp_mean:.3g}")
    specials = ", ".join(f"{special.kind} {special.number}" for special in distance.specials)
    shown = "100 %" if whole else f"{min(share * 100, 99.999):.3f} %"
    return (str(distance.elements), shown, *steps, f"{distance.absolute:.3g}", specials)


# ------------------------------------------------------------------ JSON


def as_json(found: Comparison, broken: Sequence[str]) -> str:
    """The comparison as one JSON document."""
    document = {
        "format": FORMAT,
        "tool": {"name": "sonnx", "version": tool_version()},
        "model": found.model,
        "sha256": found.sha256 or None,
        "runtime": found.runtime,
        "edition": found.edition or None,
        "unchecked": found.unchecked,
        "inputs": found.inputs,
        "runs": found.runs,
        "skipped": list(found.skipped),
        "rows": [_row(row) for row in found.rows],
        "first_diverging": found.first_diverging.place if found.first_diverging else None,
        "broken": list(broken),
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _row(row: Row) -> dict[str, Any]:
    return {
        "way": row.way,
        "value": row.value,
        "operator": row.operator or None,
        "place": row.place or None,
        "type": row.type,
        "distance": None if row.distance is None else _distance(row.distance),
        "failures": list(row.failures),
    }


def _distance(each: Distance) -> dict[str, Any]:
    return {
        "elements": each.elements,
        "identical": each.identical,
        "measured": each.measured,
        "ulp": None if each.ulp is None else {"largest": each.ulp, "mean": each.ulp_mean},
        "absolute": {"largest": _number(each.absolute), "mean": _number(each.absolute_mean)},
        "at": list(each.at) if each.exact else None,
        "exact": each.exact or None,
        "found": each.found or None,
        "specials": [
            {"kind": s.kind, "number": s.number, "at": list(s.at), "exact": s.exact, "found": s.found}
            for s in each.specials
        ],
    }


def _number(value: float) -> float | str:
    """JSON has no infinity."""
    return value if value - value == 0 else "infinity"
