"""Workflow commands, which GitHub shows beside the change of the model.

GitHub shows only ten commands of a kind for a step, so a rule with all its places is one command.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from sonnx.base.escaping import escape, plural
from sonnx.checker.report import STANDARD_INPUT, reason_without_verdict
from sonnx.report.document import Document, Standing

MAX_PLACES = 20
"""More places of one rule are only counted."""


def render_document(document: Document) -> str:
    """A document: files without a result, headlines, then a command for each criterion and verdict that fails."""
    lines = [
        _command("error", name, f"sonnx: {reason_without_verdict(reason).word}", [escape(reason)])
        for name, reason in document.unreadable.items()
    ]
    for section in document.sections if document.overview else ():
        head = [
            f"{section.name}: {section.headline}",
            *_terms(section.facts),
            *(f"note: {note}" for note in section.notes),
        ]
        lines.append(_command("notice", section.file, "sonnx: verdict", head))
    if not document.overview:
        files = list(dict.fromkeys(section.file for section in document.sections))
        head = [document.headline, document.numbers, *_terms(document.facts), *document.notes]
        title = f"sonnx {document.command}: {document.standing}"
        lines.append(_command("notice", files[0] if len(files) == 1 else "", title, head))
    for section, cases in document.findings:
        first, declared = cases[0], document.criteria[cases[0].criterion]
        level = "error" if first.standing is Standing.BAD else "notice"
        places = [
            f"{declared.statement} ({plural(len(cases), 'place')})",
            *(case.sentence for case in cases[:MAX_PLACES]),
        ]
        places += [f"and {len(cases) - MAX_PLACES} more"] if len(cases) > MAX_PLACES else []
        places += [f"Remedy: {declared.remedy}"] if declared.remedy and not first.justification else []
        lines.append(_command(level, section.file, f"{first.criterion}: {first.verdict}", places))
    return "\n".join(lines) + "\n"


def _terms(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{term}: {text}" for term, text in pairs]


def _command(level: str, file: str, title: str, lines: Sequence[str]) -> str:
    """One command; its text is escaped, so that it cannot end the command or a property."""
    path = f"file={_property(PurePath(file).as_posix())},line=1," if file not in ("", STANDARD_INPUT) else ""
    return f"::{level} {path}title={_property(title)}::{_data(chr(10).join(lines))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(escape(text)).replace(":", "%3A").replace(",", "%2C")
