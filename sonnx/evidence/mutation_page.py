"""The page of the qualification kit about the strength of the cases, from the recorded mutation test."""

from __future__ import annotations

from collections.abc import Iterator

from sonnx.evidence.mutation import MutationRecord


def mutation_lines(record: MutationRecord) -> Iterator[str]:
    """The lines of mutation.md, in Markdown."""
    yield "# Strength of the cases"
    yield ""
    yield "The mutation test changes each condition of each rule in one small way: it reverses a comparison, moves a"
    yield "bound by one, omits a conjunct, replaces all by any. A case detects the change if the result of that rule"
    yield "changes. `python -m tools.rule_mutants` repeats the test in a checkout."
    yield ""
    yield "| changed rules | detected by a case | not detected, for a reason |"
    yield "|---|---|---|"
    yield f"| {record.mutants} | {record.detected} | {record.undetected} |"
    for group in record.groups:
        yield from ("", f"## {group.id}: {group.number}", "", group.reason, "")
        if group.rules:
            yield from ("| rule | changes |", "|---|---|")
            yield from (f"| {rule} | {number} |" for rule, number in group.rules.items())
        else:
            yield from ("| rule | condition changed to |", "|---|---|")
            yield from (f"| {survivor.rule} | {cell(survivor.mutant)} |" for survivor in group.survivors)


def cell(text: str) -> str:
    """A cell of a Markdown table; a rule's condition may contain a bar."""
    return " ".join(text.replace("|", "\\|").split())
