"""The qualification kit: requirements, what verifies them with the results here, tool errors, known problems."""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.base.files import write_folder
from sonnx.checker.profile_validation import selfcheck
from sonnx.evidence.configuration import Configuration, configuration
from sonnx.evidence.mutation import Mutation, Survivor, mutation
from sonnx.evidence.verification import CommandLine, ProcedureResult, Requirement, perform, requirements, run_cases

FORMAT = 1
HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Kit:
    """All that was stated and found; `covered` names the outcomes that verify each requirement."""

    requirements: tuple[Requirement, ...]
    cases: tuple[ProcedureResult, ...]
    procedures: tuple[ProcedureResult, ...]
    covered: Mapping[str, tuple[str, ...]]
    strangers: tuple[str, ...]
    """What cases or procedures claim to verify and is no requirement."""
    mutation: Mutation
    selfcheck: tuple[str, ...]
    sound: bool
    errors: tuple[Mapping[str, Any], ...]
    problems: tuple[Mapping[str, Any], ...]
    configuration: Configuration

    @property
    def uncovered(self) -> tuple[str, ...]:
        """Requirements that nothing verifies."""
        return tuple(each.id for each in self.requirements if not self.covered[each.id])

    @property
    def failed(self) -> tuple[ProcedureResult, ...]:
        """What did not come out as expected."""
        return tuple(each for each in (*self.cases, *self.procedures) if not each.passed)

    @property
    def changed(self) -> tuple[str, ...]:
        """Installed files that are not the delivered ones."""
        return tuple(f"{each.name}: {name}" for each in self.configuration.distributions for name in each.changed)

    @property
    def passed(self) -> bool:
        """Whether everything is as it must be."""
        wrong = self.failed or self.uncovered or self.strangers or self.changed
        return self.sound and not (wrong or self.mutation.unexplained or self.mutation.gone)


def make(run: CommandLine, parser: argparse.ArgumentParser) -> Kit:
    """Run everything here, with `run` as the command line that `parser` describes; it takes seconds and no network."""
    wanted, cases, procedures = requirements(parser), tuple(run_cases()), tuple(perform(run))
    covered: dict[str, list[str]] = {each.id: [] for each in wanted}
    strangers: dict[str, None] = {}
    for outcome in (*cases, *procedures):
        for name in outcome.verifies:
            if name in covered:
                covered[name].append(outcome.id)
            else:
                strangers[name] = None
    lines, sound = selfcheck()
    return Kit(
        wanted, cases, procedures, {name: tuple(found) for name, found in covered.items()}, tuple(strangers),
        mutation(), tuple(lines), sound,
        _listed("tool_errors.toml", "error"), _listed("known_problems.toml", "problem"), configuration(),
    )  # fmt: skip


def _listed(file: str, key: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(tomllib.loads((HERE / file).read_text("utf-8"))[key])


def summary(kit: Kit) -> Iterator[str]:
    """What is printed."""
    yield f"requirements {len(kit.requirements)}, of which verified {len(kit.requirements) - len(kit.uncovered)}"
    for name, outcomes in (("cases", kit.cases), ("procedures", kit.procedures)):
        yield f"{name} {len(outcomes)}, of which as expected {sum(each.passed for each in outcomes)}"
    yield f"small changes of the rules {kit.mutation.mutants}, of which noticed by a case {kit.mutation.killed}"
    yield from (f"failed: {each.id}: {each.actual}" for each in kit.failed)
    yield from (f"not verified: {name}" for name in kit.uncovered)
    yield from (f"no requirement: {name}" for name in kit.strangers)
    yield from (f"noticed by no case, and no reason: {_shown(each)}" for each in kit.mutation.unexplained)
    yield from (f"a reason for what is noticed: {_shown(each)}" for each in kit.mutation.gone)
    yield from (f"not as delivered: {name}" for name in kit.changed)
    yield from (line for line in kit.selfcheck if line.startswith("problem"))
    if not kit.configuration.packaged:
        yield "note: the tool runs from a checkout, so nothing says which files were delivered"
    yield "the tool does here what it is specified to do" if kit.passed else "the tool does not do here what it must"


# ------------------------------------------------------------------ files


def require_new(folder: Path) -> None:
    """A kit is written to a folder of its own.

    Raises:
        Misuse: the folder is there already, or the one it would stand in is not.
    """
    if folder.exists():
        raise UsageError(f"{folder} is there already; a kit is written to a new folder")
    if not folder.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {folder.absolute().parent} to write {folder.name} to")


def write(folder: Path, kit: Kit) -> None:
    """Write the kit beside, then rename.

    Raises:
        Misuse: the folder is there already.
        OSError: it cannot be written.
    """
    require_new(folder)
    write_folder(folder, {name: text.encode("utf-8") for name, text in _files(kit)})


def _files(kit: Kit) -> Iterator[tuple[str, str]]:
    yield "README.md", FIRST_PAGE.format(summary="\n".join(f"* {line}" for line in summary(kit)))
    rows = ((each.id, each.text, each.source, str(len(kit.covered[each.id]))) for each in kit.requirements)
    yield "requirements.md", _page("Operational requirements", ("id", "requirement", "source", "verified by"), rows)
    outcomes = ((each.id, ", ".join(each.verifies), _said(each)) for each in (*kit.procedures, *kit.cases))
    yield (
        "verification.md",
        _page("Procedures, cases and their results here", ("what is run", "verifies", "result"), outcomes),
    )
    yield "mutation.md", "".join(f"{line}\n" for line in _mutation(kit.mutation))
    found = ((each["id"], each["text"], each["effect"], " ".join(each["measures"])) for each in kit.errors)
    yield "tool-errors.md", _page("Errors the tool could make", ("id", "error", "effect", "measures"), found)
    known = (
        (each["id"], ", ".join(each["affects"]), each["text"], each["safe"], each["avoid"]) for each in kit.problems
    )
    yield "known-problems.md", _page("Known problems", PROBLEM_HEADS, known)
    yield "configuration.md", _page("Configuration index", PART_HEADS, _parts(kit))
    yield "kit.json", json.dumps({"format": FORMAT, "passed": kit.passed, **asdict(kit)}, indent=1) + "\n"


PROBLEM_HEADS = ("id", "affects", "problem", "effect on verdicts", "workaround")
PART_HEADS = ("part", "version", "SHA-256", "files as delivered")
FIRST_PAGE = """\
# Qualification kit of sonnx

{summary}

| file | holds | usually called |
|---|---|---|
| requirements.md | what the tool must do, and by how many cases each is verified | tool operational requirements |
| verification.md | what was run here, and what came out | verification cases, procedures and results |
| mutation.md | small changes of the rules that cases notice, and why others are not | strength of the cases |
| tool-errors.md | what could go wrong, and the measures | tool error analysis |
| known-problems.md | problems of this version | problem reports |
| configuration.md | what is installed here | configuration and environment index |
| kit.json | all of it for programs | |

These are data that tool qualification usually asks for (DO-330 TQL-5, ISO 26262-8 clause 11, EN 50128 class T2).
The kit claims conformance to none of them: that is for the project and its authority.
"""


def _mutation(found: Mutation) -> Iterator[str]:
    yield "# Strength of the cases"
    yield ""
    yield "Each condition of each rule is changed in one small way: a comparison turned round, a bound moved by one, a"
    yield "conjunct left out, all for any. A case notices the change where it gets another answer of that rule."
    yield ""
    yield "| changes | noticed by a case | not noticed, for a reason | without a reason | reasons for what is noticed |"
    yield "|---|---|---|---|---|"
    reasoned = found.alive - len(found.unexplained)
    numbers = (found.mutants, found.killed, reasoned, len(found.unexplained), len(found.gone))
    yield f"| {' | '.join(map(str, numbers))} |"
    listed = [*found.reasons]
    listed += [("no-reason", "No reason is on record.", found.unexplained)] if found.unexplained else []
    for id_, reason, survivors in listed:
        yield from ("", f"## {id_}: {len(survivors)}", "", reason, "")
        yield from ("| rule | condition | changed to |", "|---|---|---|")
        yield from (f"| {' | '.join(map(_cell, (each.rule, each.text, each.mutant)))} |" for each in survivors)


def _shown(survivor: Survivor) -> str:
    return f"{survivor.rule}: {survivor.mutant} for {survivor.text}"


def _said(outcome: ProcedureResult) -> str:
    return "as expected" if outcome.passed else f"NOT AS EXPECTED: {outcome.actual}"


def _parts(kit: Kit) -> Iterator[Sequence[str]]:
    found = kit.configuration
    yield "rules, proofs, cases and code", "", found.source, "delivered" if found.packaged else "a checkout"
    for each in found.distributions:
        state = "; ".join(each.changed) or f"{each.files} files as delivered"
        yield each.name, each.version, each.record, state
    yield found.python, "", "", found.machine


def _page(title: str, heads: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [f"# {title}", "", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """A text in a table of Markdown; a rule's text may hold a bar."""
    return " ".join(text.replace("|", "\\|").split())
