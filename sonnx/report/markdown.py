"""Markdown, for a job summary or a review.

Text from a model is always in a code span, so that it cannot act as markup, link or mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from sonnx.base.escaping import escape
from sonnx.base.resources import tool_version
from sonnx.checker.report import reason_without_verdict
from sonnx.report.document import CaseResult, Document, Section, Standing

MAX_PLACES = 100
"""More places of one rule and message are only counted."""


def render_document(document: Document) -> str:
    """A document: headline or a table of its sections, the cases that do not pass, and tables of all cases."""
    lines = [f"# sonnx {tool_version()}: {escaped(document.title)}", ""]
    if document.overview:
        lines += _overview(document.overview)
    else:
        lines += [f"{code_span(document.subject)}: **{document.standing}**", "", code_span(document.headline), ""]
        lines += [f"* Results: {escaped(document.numbers)}", *_terms(document.facts)]
    lines += [f"* Note: {code_span(note)}" for note in document.notes]
    for section in document.sections:
        if section.headline:
            lines += ["", f"## {code_span(section.name)}: {escaped(section.headline)}", "", *_terms(section.facts)]
            lines += [f"* Note: {code_span(escape(note))}" for note in section.notes]
            for cases in section.findings:
                lines += ["", *_cases(document, cases, "###")]
    for section, cases in document.findings:
        if not section.headline:
            lines += ["", *_cases(document, cases, "##")]
    for section in document.sections:
        if not section.headline:
            lines += ["", *_part(section)]
    for name, reason in document.unreadable.items():
        word = reason_without_verdict(reason).word.capitalize()
        lines += ["", f"## {code_span(escape(name))}", "", f"{word}: {code_span(escape(reason))}"]
    return "\n".join(lines) + "\n"


def _overview(table: Sequence[Sequence[str]]) -> Iterator[str]:
    heads, *rows = table
    yield from (f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}")
    for name, verdict, *cells in rows:
        yield f"| {' | '.join([table_cell(name), f'**{verdict}**', *cells])} |"


def _terms(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from (f"* {escaped(term[:1].upper() + term[1:])}: {code_span(text)}" for term, text in pairs)


def _part(section: Section) -> Iterator[str]:
    yield from (f"## {code_span(section.name)}", "", *([escaped(section.note), ""] if section.note else []))
    yield from ("| case | result | message |", "|---|---|---|")
    for case in section.cases:
        text = case.message_with_details if case.standing is Standing.GOOD else case.message
        yield f"| {table_cell(case.name)} | {escaped(case.verdict)} | {escaped(text)} |"


def _cases(document: Document, cases: Sequence[CaseResult], mark: str) -> Iterator[str]:
    first, declared = cases[0], document.criteria[cases[0].criterion]
    yield f"{mark} {escaped(f'{first.verdict}: {first.criterion} ({len(cases)})')}"
    yield ""
    yield escaped(declared.statement)
    yield ""
    if first.standing is Standing.BAD and declared.because:
        yield f"* Because: {escaped(declared.because)}"
    if first.standing is Standing.BAD and declared.remedy:
        yield f"* Remedy: {escaped(declared.remedy)}"
    for case in cases[:MAX_PLACES]:
        yield f"* {code_span(case.at)}: {code_span(case.message)}"
        yield from (f"  * {escaped(term)}: {code_span(text)}" for term, text in case.details)
    if len(cases) > MAX_PLACES:
        yield f"* and {len(cases) - MAX_PLACES} more places, which the JSON report lists"


def code_span(text: str) -> str:
    """A text as it is, between more back-quotes than it has in a row."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or text != text.strip() or not text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def table_cell(name: str) -> str:
    """A name in a table."""
    return code_span(name).replace("|", "\\|")


def escaped(text: str) -> str:
    """A sentence in one line, with the special characters of Markdown escaped, and `::`, a command for GitHub."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&@!]|^:(?=:))", r"\\\1", " ".join(text.splitlines()))
