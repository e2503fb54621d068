"""The difference of two editions, as text and as data for JSON (difference.schema.json)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sonnx.base.escaping import escape, plural
from sonnx.base.resources import tool_version
from sonnx.checker.edition_difference import EditionDifference, ModelDifference
from sonnx.checker.report import Finding
from sonnx.report.phrases import grouped, place
from sonnx.report.text import MORE_PLACES

FORMAT = 1


def text(found: EditionDifference, models: Sequence[ModelDifference], unreadable: Mapping[str, str]) -> str:
    """The models first, because the reader acts on them; then operators and rules."""
    lines = [line for each in models for line in _model(each, found)]
    lines += [f"{escape(name)}: unreadable" for name in unreadable]
    lines += [*_profiles(found)]
    return "\n".join(lines) + "\n"


def _profiles(found: EditionDifference) -> Iterator[str]:
    yield f"edition {found.before} -> {found.after}"
    names = ("operators_gone", "operators_new", "rules_gone", "rules_new")
    for name in names:
        listed = getattr(found, name)
        yield f"{name.replace('_', ' ')} ({len(listed)}): {', '.join(listed) or 'none'}"
    yield f"changed ({len(found.changed)}){'' if found.changed else ': nothing'}"
    for each in found.changed:
        yield f"  {each.name}: {each.what}"
        yield f"    - {each.before}"
        yield f"    + {each.after}"


def _model(each: ModelDifference, found: EditionDifference) -> Iterator[str]:
    verdict = f"{each.before.verdict} -> {each.after.verdict}" if each.changes else f"{each.after.verdict} in both"
    yield f"{escape(each.name)}: {verdict} ({found.before} -> {found.after})"
    for sign, findings in (("-", each.gone), ("+", each.new)):
        for group in grouped([one for one in findings if not one.cause]):
            yield f"  {sign} {group[0].verdict} {group[0].rule}, {plural(len(group), 'place')}"
            yield from (f"      {place(one.where)}: {one.actual}" for one in group[:MORE_PLACES])
            if len(group) > MORE_PLACES:
                yield f"      and {len(group) - MORE_PLACES} more"
        folded = sum(bool(one.cause) for one in findings)
        if folded:
            yield f"  {sign} {folded} answers that are undecided only because of failures"
    yield ""


def as_json(found: EditionDifference, models: Sequence[ModelDifference], unreadable: Mapping[str, str]) -> str:
    """One JSON document, with the keys of the JSON report where it has them."""
    document = {
        "format": FORMAT,
        "tool": {"name": "sonnx", "version": tool_version()},
        "before": found.before,
        "after": found.after,
        "operators_gone": list(found.operators_gone),
        "operators_new": list(found.operators_new),
        "rules_gone": list(found.rules_gone),
        "rules_new": list(found.rules_new),
        "changed": [
            {"name": each.name, "what": each.what, "before": each.before, "after": each.after} for each in found.changed
        ],
        "models": [
            {
                "model": each.name,
                "before": each.before.verdict,
                "after": each.after.verdict,
                "gone": list(map(_finding, each.gone)),
                "new": list(map(_finding, each.new)),
            }
            for each in models
        ],
        "unreadable": [{"model": name, "reason": reason} for name, reason in unreadable.items()],
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "verdict": finding.verdict,
        "place": finding.where.place,
        "message": finding.actual,
        "because_of": finding.cause or None,
    }
