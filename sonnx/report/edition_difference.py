"""The difference of two editions as text."""

from __future__ import annotations

from collections.abc import Iterator

from sonnx.base.escaping import escape, plural
from sonnx.checker.edition_difference import EditionDifference, ModelDifference
from sonnx.report.check_text import MORE_PLACES
from sonnx.report.phrases import grouped, place


def text(found: EditionDifference) -> str:
    """The models first, because the reader acts on them; then operators and rules."""
    lines = [line for model in found.models for line in _model(model, found)]
    lines += [f"{escape(file.model)}: unreadable" for file in found.unreadable]
    lines += [*_profiles(found)]
    return "\n".join(lines) + "\n"


def _profiles(found: EditionDifference) -> Iterator[str]:
    yield f"edition {found.before} -> {found.after}"
    names = ("operators_gone", "operators_new", "rules_gone", "rules_new")
    for name in names:
        listed = getattr(found, name)
        yield f"{name.replace('_', ' ')} ({len(listed)}): {', '.join(listed) or 'none'}"
    yield f"changed ({len(found.changed)}){'' if found.changed else ': nothing'}"
    for change in found.changed:
        yield f"  {change.name}: {change.what}"
        yield f"    - {change.before}"
        yield f"    + {change.after}"


def _model(model: ModelDifference, found: EditionDifference) -> Iterator[str]:
    before, after = model.verdict_before, model.verdict_after
    verdict = f"{before} -> {after}" if model.changes else f"{after} in both"
    yield f"{escape(model.name)}: {verdict} ({found.before} -> {found.after})"
    for sign, findings in (("-", model.gone), ("+", model.new)):
        for group in grouped([one for one in findings if not one.cause]):
            yield f"  {sign} {group[0].verdict} {group[0].rule}, {plural(len(group), 'place')}"
            yield from (f"      {place(one.where)}: {one.actual}" for one in group[:MORE_PLACES])
            if len(group) > MORE_PLACES:
                yield f"      and {len(group) - MORE_PLACES} more"
        folded = sum(bool(one.cause) for one in findings)
        if folded:
            yield f"  {sign} {folded} answers that are undecided only because of failures"
    yield ""
