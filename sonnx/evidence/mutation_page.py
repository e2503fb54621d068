"""The page of the qualification kit about the strength of the cases, from the recorded mutation tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonnx.evidence.mutation import CommandMutants, ModuleMutants, MutationRecord


def mutation_lines(rules: MutationRecord, commands: CommandMutants) -> Iterator[str]:
    """The lines of mutation.md, in Markdown."""
    yield from _rules(rules)
    yield ""
    yield from _commands(commands)


def _rules(record: MutationRecord) -> Iterator[str]:
    yield "# Strength of the cases"
    yield ""
    yield "The mutation test changes each condition of each rule in one small way: it reverses a comparison, moves a"
    yield "bound by one, omits a conjunct, replaces all by any. A case detects the change if the result of that rule"
    yield "changes."
    yield ""
    yield "| changed rules | detected by a case | not detected, for a reason |"
    yield "|---|---|---|"
    yield f"| {record.mutants} | {record.detected} | {len(record.survivors)} |"
    for group in record.groups:
        yield from ("", f"## {group.id}: {len(group.survivors)}", "", group.reason, "")
        yield from ("| rule | condition | changed to |", "|---|---|---|")
        yield from (
            f"| {' | '.join(map(cell, (survivor.rule, survivor.text, survivor.mutant)))} |"
            for survivor in group.survivors
        )


COMMANDS = """
# Strength of the cases of commands

The modules of `fix` that rewrite, those of `equivalent`, and the judge of `suite` are changed in the same small ways.
Of each module up to {sample} changes are tried, drawn with the seed {seed}. A change that no case detects has no reason
here: it may give the same results, or concern a model that no case has. `python -m tools.command_mutants` repeats the
test in a checkout; "changed since" counts the modules that are not the recorded ones.

| command | modules | changed since | changes | tried | detected by a case |
|---|---|---|---|---|---|"""


def _commands(record: CommandMutants) -> Iterator[str]:
    """Figures for each command, and what no case detects for each module."""
    yield from COMMANDS.strip().format(sample=record.sample, seed=record.seed).splitlines()
    for command in dict.fromkeys(each.command for each in record.module):
        own = [each for each in record.module if each.command == command]
        yield f"| {command} | {' | '.join(map(str, _figures(own)))} |"
    for module in record.module:
        if module.survivors:
            yield from ("", f"## {module.name}: {module.detected} of {module.tried}", "")
            yield from ("| function | not detected | changed to |", "|---|---|---|")
            yield from (f"| {' | '.join(map(cell, survivor))} |" for survivor in module.survivors)


def _figures(modules: Sequence[ModuleMutants]) -> tuple[int, ...]:
    """The numbers of modules, of those that have changed, and of mutants: all, tried, detected."""
    changed = sum(not module.current for module in modules)
    columns = zip(*((module.mutants, module.tried, module.detected) for module in modules), strict=True)
    return len(modules), changed, *map(sum, columns)


def cell(text: str) -> str:
    """A cell of a Markdown table; a rule's condition may contain a bar."""
    return " ".join(text.replace("|", "\\|").split())
