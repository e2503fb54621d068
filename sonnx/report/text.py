"""A document as text for a terminal or a file: the result, what it depends on, and each different result once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from sonnx.base.escaping import escape_once, plural
from sonnx.report.document import PASSING, CaseResult, Document, Section, Standing

MAX_RESULTS = 100
"""More different results of a section are counted."""


def render_document(document: Document) -> str:
    """The headline and what it depends on, tables of figures, and each different result that does not pass, once."""
    facts = list(_terms((*document.facts, *document.advice), 2))
    lines = [f"{document.subject}: {document.headline}", *([] if document.results_first else facts)]
    lines += ["", *_columns(document.table)] if document.table else []
    explained: set[str] = set()
    for section in document.sections:
        if section.heads:
            rows = [(escape_once(case.name), case.verdict, *case.cells) for case in section.cases]
            lines += [
                "",
                section.name,
                *(f"  {line}" for line in _columns([("case", "result", *section.heads), *rows])),
            ]
        elif len(document.sections) > 1 and not document.table:
            lines += ["", f"{section.name}: {section.numbers}"]
        alike: dict[tuple[str, str], list[CaseResult]] = {}
        for case in filter(partial(_is_listed, section), section.cases):
            alike.setdefault((case.verdict, case.message), []).append(case)
        for (verdict, message), cases in list(alike.items())[:MAX_RESULTS]:
            lines += ["", f"{verdict}: {message}", *_cases(document, cases, explained)]
        if len(alike) > MAX_RESULTS:
            lines += ["", f"and {len(alike) - MAX_RESULTS} more results (--format json lists them)"]
    lines += ["", *facts] if document.results_first else []
    lines += ["", *(f"note: {note}" for note in document.notes)] if document.notes else []
    return "\n".join(lines) + "\n"


def _is_listed(section: Section, case: CaseResult) -> bool:
    """Whether a case is more than a row of the table of its section, or a number."""
    in_table = section.heads and (case.standing is Standing.NOTE or case.message in case.cells)
    return case.shown or not (case.folded or in_table or case.standing in PASSING)


def _cases(document: Document, cases: Sequence[CaseResult], explained: set[str]) -> Iterator[str]:
    """Equal results: a line for each criterion with its first place, and what is known of the first one."""
    by_criterion: dict[str, list[CaseResult]] = {}
    for case in cases:
        by_criterion.setdefault(case.criterion, []).append(case)
    width = max(map(len, by_criterion))
    for name, same in by_criterion.items():
        first, declared = same[0], document.criteria[name]
        more = f" and {plural(len(same) - 1, 'more place')}" if len(same) > 1 else ""
        yield f"  {name:<{width}}  {'' if first.at == name else first.at}{more}".rstrip()
        if len(by_criterion) == 1 or first.standing is not Standing.OPEN:
            yield from _terms(first.details, 8)
        if first.standing is not Standing.OPEN and name not in explained:
            explained.add(name)
            labels = ("labels", ", ".join(declared.tags))
            yield from _terms((("because", declared.because), ("remedy", declared.remedy), labels), 8)


def _terms(pairs: Iterable[tuple[str, str]], indent: int) -> Iterator[str]:
    """Terms with their texts, where they have one."""
    return (f"{' ' * indent}{term:<11} {text}" for term, text in pairs if text)


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table; the columns whose heads begin with # have numbers."""
    heads = rows[0]
    lines = [[cell.removeprefix("#") for cell in heads], *rows[1:]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    for line in lines:
        cells = (
            f"{cell:{'>' if head[0] == '#' else '<'}{width}}"
            for cell, head, width in zip(line, heads, widths, strict=True)
        )
        yield "  ".join(cells).rstrip()
