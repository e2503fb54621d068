"""The qualification kit: requirements, the cases and procedures that verify them, tool errors, known problems."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from sonnx.base.errors import UsageError
from sonnx.base.files import write_folder
from sonnx.checker.profile_validation import selfcheck
from sonnx.evidence.bill_of_materials import bill_of_materials
from sonnx.evidence.configuration import Configuration, configuration
from sonnx.evidence.data_files import entries
from sonnx.evidence.mutation import MutationRecord, mutation_record
from sonnx.evidence.mutation_page import cell, mutation_lines
from sonnx.evidence.objectives import objectives_page, standards
from sonnx.evidence.verification import (
    CommandLine,
    ProcedureResult,
    Requirement,
    perform,
    requirements,
    run_cases,
    run_command_cases,
)

FORMAT = 2


@dataclass(frozen=True, slots=True)
class Kit:
    """The requirements and all results; `covered` names the results that verify each requirement."""

    requirements: tuple[Requirement, ...]
    cases: tuple[ProcedureResult, ...]
    procedures: tuple[ProcedureResult, ...]
    covered: Mapping[str, tuple[str, ...]]
    unknown: tuple[str, ...]
    """Names that cases or procedures claim to verify and that are not requirements."""
    mutation: MutationRecord
    selfcheck: tuple[str, ...]
    sound: bool
    errors: tuple[Mapping[str, Any], ...]
    problems: tuple[Mapping[str, Any], ...]
    configuration: Configuration

    def summary(self) -> Iterator[str]:
        """The lines that `sonnx qualify` prints."""
        yield f"{len(self.requirements) - len(self.uncovered)} of {len(self.requirements)} requirements are verified"
        for name, results in (("cases", self.cases), ("procedures", self.procedures)):
            yield f"{sum(result.passed for result in results)} of {len(results)} {name} have the expected result"
        mutation = self.mutation
        yield (
            f"mutation test: cases detect {mutation.detected} of {mutation.mutants} changed rules; "
            f"mutation.md gives the reason for each of the other {mutation.undetected}"
        )
        yield from (f"failed: {failure.id}: {failure.actual}" for failure in self.failed)
        yield from (f"not verified: {name}" for name in self.uncovered)
        yield from (f"not a requirement: {name}" for name in self.unknown)
        yield from (f"differs from the delivered file: {name}" for name in self.changed)
        yield from (line for line in self.selfcheck if line.startswith("problem"))
        if not self.configuration.packaged:
            yield "note: the tool runs from a checkout, so the list of delivered files is missing"
        yield _conclusion(self)

    @property
    def uncovered(self) -> tuple[str, ...]:
        """Requirements that no case and no procedure verifies."""
        return tuple(requirement.id for requirement in self.requirements if not self.covered[requirement.id])

    @property
    def failed(self) -> tuple[ProcedureResult, ...]:
        """Cases and procedures with an unexpected result."""
        return tuple(case for case in (*self.cases, *self.procedures) if not case.passed)

    @property
    def changed(self) -> tuple[str, ...]:
        """Installed files that differ from the delivered ones."""
        return tuple(
            f"{distribution.name}: {name}"
            for distribution in self.configuration.distributions
            for name in distribution.changed
        )

    @property
    def passed(self) -> bool:
        """Whether every result is as expected and every requirement is verified."""
        return self.sound and not (self.failed or self.uncovered or self.unknown or self.changed)


def make(run: CommandLine, parser: argparse.ArgumentParser) -> Kit:
    """Run all cases and procedures, with `run` as the command line that `parser` describes; seconds, no network."""
    wanted, procedures = requirements(parser), tuple(perform(run))
    cases = (*run_cases(), *run_command_cases(run))
    covered: dict[str, list[str]] = {requirement.id: [] for requirement in wanted}
    unknown: dict[str, None] = {}
    for result in (*cases, *procedures):
        for name in result.verifies:
            if name in covered:
                covered[name].append(result.id)
            else:
                unknown[name] = None
    lines, sound = selfcheck()
    return Kit(
        wanted, cases, procedures, {name: tuple(texts) for name, texts in covered.items()}, tuple(unknown),
        mutation_record(), tuple(lines), sound,
        tuple(entries("tool_errors.toml", "error")), tuple(entries("known_problems.toml", "problem")), configuration(),
    )  # fmt: skip


def _conclusion(kit: Kit) -> str:
    if kit.passed:
        return f"all {len(kit.requirements)} requirements are verified in this environment"
    return "NOT verified in this environment: see the lines above"


# ------------------------------------------------------------------ files


def require_new(folder: Path) -> None:
    """Refuse a folder that exists: a kit is written to a new one.

    Raises:
        UsageError: the folder exists, or its parent does not.
    """
    if folder.exists():
        raise UsageError(f"{folder} exists; name a new folder for the kit")
    if not folder.absolute().parent.is_dir():
        raise UsageError(f"the folder {folder.absolute().parent} does not exist")


def write(folder: Path, kit: Kit) -> None:
    """Write all files of the kit or none.

    Raises:
        UsageError: the folder exists.
        OSError: it cannot be written.
    """
    require_new(folder)
    write_folder(folder, {name: text.encode("utf-8") for name, text in _files(kit)})


def _files(kit: Kit) -> Iterator[tuple[str, str]]:
    yield "README.md", FIRST_PAGE.format(summary="\n".join(f"* {line}" for line in kit.summary()))
    rows = (
        (requirement.id, requirement.text, requirement.source, str(len(kit.covered[requirement.id])))
        for requirement in kit.requirements
    )
    yield "requirements.md", _page("Operational requirements", ("id", "requirement", "source", "verified by"), rows)
    results = (
        (procedure.id, ", ".join(procedure.verifies), _result(procedure)) for procedure in (*kit.procedures, *kit.cases)
    )
    yield (
        "verification.md",
        _page("Procedures, cases and their results", ("procedure or case", "verifies", "result"), results),
    )
    yield "mutation.md", "".join(f"{line}\n" for line in mutation_lines(kit.mutation))
    errors = ((error["id"], error["text"], error["effect"], " ".join(error["measures"])) for error in kit.errors)
    yield "tool-errors.md", _page("Errors the tool could make", ("id", "error", "effect", "measures"), errors)
    problems = (
        (problem["id"], ", ".join(problem["affects"]), problem["text"], problem["safe"], problem["avoid"])
        for problem in kit.problems
    )
    yield "known-problems.md", _page("Known problems", PROBLEM_HEADS, problems)
    yield "configuration.md", _page("Configuration index", PART_HEADS, _parts(kit))
    yield "sbom.cdx.json", json.dumps(bill_of_materials(kit.configuration), indent=1) + "\n"
    yield "objectives.md", objectives_page()
    about = {
        "format": FORMAT,
        "passed": kit.passed,
        **asdict(kit),
        "objectives": to_builtins(standards()),
    }
    yield "kit.json", json.dumps(about, indent=1) + "\n"


PROBLEM_HEADS = ("id", "affects", "problem", "effect on verdicts", "workaround")
PART_HEADS = ("part", "version", "needed for", "licence", "SHA-256", "files as delivered")
FIRST_PAGE = """\
# Qualification kit of sonnx

{summary}

| file | content | usually called |
|---|---|---|
| requirements.md | what the tool must do, and by how many cases it is verified | tool operational requirements |
| verification.md | procedures and cases, and their results here | verification cases, procedures and results |
| mutation.md | the changed rules that the cases detect, and the reason for each of the others | strength of the cases |
| tool-errors.md | what the tool could get wrong, and the measures | tool error analysis |
| known-problems.md | problems of this version | problem reports |
| configuration.md | what is installed, and its licences | configuration and environment index |
| sbom.cdx.json | the same, for programs | software bill of materials (CycloneDX 1.6) |
| objectives.md | objectives of standards, what the tool gives, what remains for the applicant | compliance matrices |
| kit.json | everything, for programs | |

objectives.md says which objectives of which standards these data serve. The kit does not claim conformance to any
of them: the project and its authority decide.
"""


def _result(result: ProcedureResult) -> str:
    return "as expected" if result.passed else f"NOT AS EXPECTED: {result.actual}"


def _parts(kit: Kit) -> Iterator[Sequence[str]]:
    installed = kit.configuration
    yield (
        "rules, proofs, cases and code",
        "",
        "",
        "",
        installed.source,
        "delivered" if installed.packaged else "a checkout",
    )
    for distribution in installed.distributions:
        state = "; ".join(distribution.changed) or f"{distribution.files} files as delivered"
        needed_for = f"the extra {distribution.needed_for}" if distribution.needed_for else "the tool"
        yield (
            distribution.name,
            distribution.version,
            needed_for,
            distribution.license or "not stated",
            distribution.record,
            state,
        )
    yield installed.python, "", "", "", "", installed.machine


def _page(title: str, heads: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [f"# {title}", "", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(cell(name) for name in row)} |" for row in rows]
    return "\n".join(lines) + "\n"
