"""The check that is extracted from its specification in Coq, as a native program, and where it says something else.

`make verified` builds the program; docs/specification.md describes it.  It gives the verdict on a file under an
edition, without any other option.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.errors import USAGE, Unfinished, UsageError
from sonnx.base.escaping import quote
from sonnx.checker.report import Report
from sonnx.checker.verdicts import Verdict
from sonnx.profile import catalogue
from sonnx.profile.profile_data import of_profile

PROGRAM = "sonnx-verified"
BUILT = Path(__file__).parents[2] / "build" / "verified" / PROGRAM
"""The program where `make verified` leaves it."""
SECONDS = 600
"""The time for one model; the program bounds its steps."""
_ENDS = (0, 1, USAGE, 3)
_VERDICTS = {"pass": 0, "fail": 1, "unreadable": USAGE}


class ComparedFinding(NamedTuple):
    """A result that is neither pass nor not-applicable, as both checks name it."""

    verdict: str
    rule: str
    place: str
    """As `graph/node[4]`; "" for rules about files and graphs."""


class ExtractedAnswer(Struct, frozen=True):
    """What one of the two checks says of a file: an exit code, and what does not hold."""

    code: int
    findings: frozenset[ComparedFinding] = frozenset()
    text: str = ""
    """The lines of the program."""


def built_program() -> Path | None:
    """The program of this checkout, or the first one on PATH; None if there is none."""
    if BUILT.is_file():
        return BUILT
    on_path = shutil.which(PROGRAM)
    return None if on_path is None else Path(on_path)


def required_program() -> Path:
    """The program.

    Raises:
        UsageError: it is not built.
    """
    program = built_program()
    if program is None:
        raise UsageError(f"{PROGRAM} is not built: run make verified in the source tree, or put the program on PATH")
    return program


def program_digest(program: Path) -> str:
    """The SHA-256 of the program."""
    return hashlib.sha256(program.read_bytes()).hexdigest()


def extracted_answer(program: Path, model: Path, edition: str) -> ExtractedAnswer:
    """What the program says of a file.

    Raises:
        UsageError: the program cannot be run, or fails.
        Unfinished: it takes too long.
    """
    command = [str(program), "--edition", edition, "--", str(model)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)  # noqa: S603  (no shell)
    except subprocess.TimeoutExpired:
        raise Unfinished(f"{PROGRAM} gave no verdict on {quote(str(model))} in {SECONDS} seconds") from None
    except OSError as error:
        raise UsageError(f"{quote(str(program))} cannot be run: {error.strerror}") from None
    if done.returncode not in _ENDS or (done.returncode == USAGE and not done.stdout):
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix(f"{PROGRAM}: ")
        raise UsageError(f"{PROGRAM} failed with exit code {done.returncode}: {said[:500] or 'no message'}")
    return replace(answer_in(done.stdout.decode("ascii", "replace")), code=done.returncode)


def answer_in(output: str) -> ExtractedAnswer:
    """What the program says of the one model in its output; undecided where it says nothing."""
    [(code, findings)] = answers_in(output)[:1] or [(3, frozenset())]
    return ExtractedAnswer(code, findings, output)


def answers_in(output: str) -> list[tuple[int, frozenset[ComparedFinding]]]:
    """The exit code and the findings of each model in the output of the program.

    Raises:
        UsageError: it is the output of something else.
    """
    answers: list[tuple[int, set[ComparedFinding]]] = []
    for line in output.splitlines():
        words = line.split()
        if len(words) != 3 or (line.startswith("  ") and not answers):
            raise UsageError(f"{PROGRAM} prints a line that is neither a verdict nor a finding: {quote(line[:100])}")
        if not line.startswith("  "):
            answers.append((_VERDICTS.get(words[0], 3), set()))
        elif is_compared(*words[1:]):
            answers[-1][1].add(compared_finding(*words))
    return [(code, frozenset(findings)) for code, findings in answers]


def answer_of_report(report: Report) -> ExtractedAnswer:
    """What a report says, in the same form."""
    findings = frozenset(
        compared_finding(each.verdict, each.rule, each.where.place)
        for each in report.findings
        if is_compared(each.rule, each.where.place)
    )
    return ExtractedAnswer(report.exit_code(), findings)


def compared_finding(verdict: str, rule: str, place: str) -> ComparedFinding:
    """A finding as it is compared: rules about files and graphs have no place, and a cycle is an early use."""
    rule = "names-defined-before-use" if rule == "acyclic" else rule
    default = rule == "no-default-values" and place.startswith("graph/initializer")
    about = _subjects().get(rule)
    return ComparedFinding(str(verdict), rule, "" if about in ("model", "graph", "function") or default else place)


def is_compared(rule: str, place: str) -> bool:
    """Whether a finding is about the file, a function or the main graph, the only one that the program walks."""
    about = _subjects().get(rule)
    if about in ("model", "function"):
        return True
    if about == "graph" and rule != "sparse-tensor-data" and re.match(r"graph/node\[\d+\]/", place):
        return False
    return not place.startswith(("function[", "training_info[")) and not re.match(r"graph/node\[\d+\]/[^/]+/", place)


@of_profile
def _subjects() -> dict[str, str]:
    """What each rule without an expression is about."""
    return {rule.slug: rule.subject for rule in catalogue.graph_rules()}


def program_differences(native: ExtractedAnswer, report: Report) -> Iterator[str]:
    """Where the program says something else than a report: for each place half a sentence.

    A failure that the check finds by a search, because no value at run time satisfies the rule, the program assumes.
    Of a model with functions the exit codes alone are compared, and of rules with more findings than a report lists,
    those that it lists.
    """
    checked = answer_of_report(report)
    searched = with_search(native, checked)
    said = searched.findings
    if searched.code != checked.code:
        yield f"{PROGRAM} ends with {native.code}, the check with {checked.code}"
    if any(each.rule == "no-model-local-function" for each in checked.findings):
        return
    listed = {(each.rule, each.verdict) for each in report.findings}
    numbers = {key: sum((each.rule, each.verdict) == key for each in report.findings) for key in listed}
    whole = all(numbers.get((each.rule, each.verdict), 0) == each.number for each in report.counts
                if each.verdict not in (Verdict.PASS, Verdict.NOT_APPLICABLE))  # fmt: skip
    for each in sorted(said - checked.findings) if whole else ():
        yield f"{PROGRAM} says {each.verdict} of {each.rule} at {each.place or 'the file'}, the check does not"
    for each in sorted(checked.findings - said):
        yield f"the check says {each.verdict} of {each.rule} at {each.place or 'the file'}, {PROGRAM} does not"


def with_search(native: ExtractedAnswer, checked: ExtractedAnswer) -> ExtractedAnswer:
    """What the program says, where the check finds by a search that what the program assumes holds for no value."""
    found = {each for each in checked.findings if each.verdict == Verdict.FAIL}
    failing = {each: each._replace(verdict=str(Verdict.FAIL)) for each in native.findings}
    said = frozenset(
        failing[each] if each.verdict == Verdict.ASSUMED and failing[each] in found else each
        for each in native.findings
    )
    fails = any(each.verdict == Verdict.FAIL for each in said)
    return replace(native, code=1 if native.code == 3 and fails else native.code, findings=said)
