"""What `sonnx run` prints: a summary of plain values, as text or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sonnx.base.escaping import escape
from sonnx.executor.distance import Difference


@dataclass(slots=True)
class Summary:
    """One run.

    `edition` is None for an unchecked run.  `approximated` counts by operator the elements that were rounded from an
    approximation, and those of them that took the exact path.
    `outside` are the operators the edition does not specify.
    `outputs` are (name, type, shape, few elements as text).
    """

    model: str
    edition: str | None
    assumed: bool
    approximated: Mapping[str, tuple[int, int]]
    outside: tuple[str, ...] = ()
    written: list[str] = field(default_factory=list)
    compared: list[tuple[str, int, Difference | None]] = field(default_factory=list)
    outputs: list[tuple[str, str, list[int], str]] = field(default_factory=list)

    @property
    def counts(self) -> tuple[int, int]:
        """All elements that were approximated, and those of the exact path."""
        return sum(n for n, _ in self.approximated.values()), sum(exact for _, exact in self.approximated.values())


def as_text(summary: Summary) -> str:
    """Lines for a terminal."""
    return "\n".join(_lines(summary)) + "\n"


def _lines(summary: Summary) -> Iterator[str]:
    name = escape(summary.model)
    if summary.edition is None:
        yield f"{name}: UNCHECKED: these are values of a model that nothing says is inside the profile"
    else:
        assumed = ", what it assumes holds for these inputs" if summary.assumed else ""
        yield f"{name}: conforms to edition {summary.edition}{assumed}"
    if summary.outside:
        yield f"{name}: outside the profile, run by their ONNX text: {', '.join(summary.outside)}"
    elements, exact = summary.counts
    if elements:
        share = f"{exact} of {elements} approximated elements took the exact path"
        by = ", ".join(f"{operator} {n}" for operator, (_, n) in summary.approximated.items() if n)
        yield f"{name}: every value is certain; {share}{f' ({by})' if by else ''}"
    for file in summary.written:
        yield f"wrote {escape(file)}"
    for output, size, difference in summary.compared:
        if difference is None:
            yield f"{escape(output)}: the same {size} values"
        else:
            share = f"{difference.number} of {difference.of} elements differ"
            pair = f"{difference.found}, expected {difference.wanted}"
            yield f"{escape(output)}: differs {difference.place}: {pair}; {share}"
    for output, kind, shape, elements_text in summary.outputs:
        yield f"{escape(output)}: {kind} {shape}"
        if elements_text:
            yield f"  {elements_text}"


def as_json(summary: Summary) -> str:
    """One object; its fields are those of the text."""
    elements, exact = summary.counts
    data: dict[str, Any] = {
        "model": summary.model,
        "checked": summary.edition is not None,
        "edition": summary.edition,
        "assumed": summary.assumed,
        "outside_the_profile": list(summary.outside),
        "approximated": {
            "elements": elements,
            "exact_path": exact,
            "operators": [
                {"operator": operator, "elements": n, "exact_path": few}
                for operator, (n, few) in summary.approximated.items()
            ],
        },
        "written": summary.written,
        "compared": [
            {"output": output, "elements": size, "different": 0}
            if difference is None
            else {
                "output": output,
                "elements": size,
                "different": difference.number,
                "first": {"place": difference.place, "found": difference.found, "expected": difference.wanted},
            }
            for output, size, difference in summary.compared
        ],
        "outputs": [{"name": name, "type": kind, "shape": shape} for name, kind, shape, _ in summary.outputs],
    }
    return json.dumps(data, indent=2, ensure_ascii=True) + "\n"
