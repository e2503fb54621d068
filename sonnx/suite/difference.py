"""What differs between two runs of one suite, such as those of two versions of a runtime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from sonnx.base.errors import Unfinished, UsageError
from sonnx.base.escaping import escape, plural, quote
from sonnx.base.files import sha256, whole_bytes
from sonnx.base.reported import Result, reported
from sonnx.checker.conditions import Conditions
from sonnx.profile.text_types import Sha256
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing, printable
from sonnx.report.rendered import Rendered
from sonnx.suite.result import Counts, Deviation, SuiteRun, message_and_details, read_run, sentence

NEW, GONE, MORE, FEWER = "new", "gone", "more often", "less often"


class Change(Struct, frozen=True):
    """A kind of deviation of an operator and element type that one of the runs has more often."""

    change: Literal["new", "gone", "more often", "less often"]
    """How its number changed."""
    before: int
    """How many deviations the older run has."""
    after: int
    """How many the newer run has."""
    example: Deviation
    """The smallest one, of the newer run if it has one."""


class RunDifference(Result, Rendered, frozen=True, kw_only=True):
    """What differs between two runs of one suite."""

    older: str
    """The implementation of the older run."""
    edition: str
    """The edition whose texts the cases of both runs test."""
    hypotheses: str
    """The hypotheses of their bounds."""
    digests: dict[str, Sha256]
    """The SHA-256 of each report, and of the suites."""
    settings: tuple[str, ...]
    """The options of the runs that can change a result; those of one run only name it."""
    newer: str
    """The implementation of the newer run."""
    changes: tuple[Change, ...]
    """The kinds of deviation that one of them has more often."""
    not_run: tuple[str, ...]
    """Operators that only one of the runs has; they are not compared."""

    @property
    @reported
    def conditions(self) -> Conditions:
        """What the difference holds for."""
        return Conditions(
            edition=self.edition, hypotheses=self.hypotheses, settings=self.settings, digests=self.digests
        )

    @property
    @reported
    def exit_code(self) -> int:
        """0; 1 with a new deviation that no erratum explains; 3 where an operator is in one run only."""
        if any(change.change == NEW and change.example.standing is Standing.BAD for change in self.changes):
            return 1
        return Unfinished.exit_code if self.not_run else 0

    def document(self) -> Document:
        """The difference as a document."""
        counted = [sum(change.change == name for change in self.changes) for name in (NEW, GONE, MORE, FEWER)]
        listed = ", ".join(f"{n} {name}" for n, name in zip(counted, (NEW, GONE, MORE, FEWER), strict=True) if n)
        cases = [_case(change) for change in self.changes]
        cases += [CaseResult("run", name, "in one run only", Standing.OPEN, "not compared") for name in self.not_run]
        same = CaseResult("change", "deviations", "as before", Standing.GOOD, "both runs have the same deviations")
        document = Document(
            command="suite difference", title=f"{escape(self.newer)} after {escape(self.older)}",
            subject=escape(self.newer),
            headline=self.conditions.limited(f"kinds of deviation: {listed or 'as before'}"), code=self.exit_code,
            criteria={
                "change": Criterion("The newer run has no deviation that the older one does not have.", "suite"),
                "run": Criterion("Both runs have the operator.", "suite"),
            },
            sections=(Section("deviations", "", tuple(cases or [same])),),
            facts=(("older", self.older), ("newer", self.newer), *self.conditions.facts()),
        )  # fmt: skip
        return printable(document)


def _case(change: Change) -> CaseResult:
    name = f"{change.example.operator} {change.example.element} {change.example.kind}"
    standing = change.example.standing if change.change == NEW else Standing.NOTE
    verdict = f"{change.change}: {plural(change.after, 'time')}, before {change.before}"
    return CaseResult(
        "change", name, verdict, standing, sentence(change.example), message_and_details(change.example)[1]
    )


def run_difference(older: Path, newer: Path) -> RunDifference:
    """What differs between two runs, from their JSON reports.

    Raises:
        UsageError: a file is not such a report, or the runs are not about the same data sets.
    """
    (before, before_hash), (after, after_hash) = _read(older), _read(newer)
    both = [name for name in before.operators if name in after.operators]
    different = [name for name in both if _sets(before.operators[name]) != _sets(after.operators[name])]
    if different or _about(before) != _about(after):
        what = next((name for name, text in _about(before).items() if text != _about(after)[name]), "")
        what = f"numbers of data sets of {different[0]}" if different else what
        raise UsageError(f"{quote(str(older))} and {quote(str(newer))} are runs of different suites: other {what}")
    digests = {"older report": before_hash, "newer report": after_hash, "suite": after.suite_sha256}
    if before.suite_sha256 != after.suite_sha256:
        digests["suite of the older run"] = before.suite_sha256
    both_set = [setting for setting in after.settings if setting in before.settings]
    older_only = [f"older run: {setting}" for setting in before.settings if setting not in both_set]
    newer_only = [f"newer run: {setting}" for setting in after.settings if setting not in both_set]
    return RunDifference(
        older=before.implementation, newer=after.implementation, edition=after.edition, hypotheses=after.hypotheses,
        digests={role: digest for role, digest in digests.items() if digest},
        settings=(*both_set, *older_only, *newer_only), changes=tuple(_changes(before, after, both)),
        not_run=tuple(sorted(before.operators.keys() ^ after.operators.keys())),
    )  # fmt: skip


def _changes(before: SuiteRun, after: SuiteRun, operators: list[str]) -> Iterator[Change]:
    old, new = (
        {_key(deviation): deviation for deviation in run.deviations if deviation.operator in operators}
        for run in (before, after)
    )
    for key in [*new, *(key for key in old if key not in new)]:
        times_before, times_after = (known[key].number if key in known else 0 for known in (old, new))
        if times_before != times_after:
            change = (
                (GONE if not times_after else FEWER) if times_before > times_after else MORE if times_before else NEW
            )
            yield Change(change, times_before, times_after, new.get(key) or old[key])  # type: ignore[arg-type]


def _key(deviation: Deviation) -> tuple[str, ...]:
    """The key by which deviations of two runs are compared; for a call that ONNX forbids it has the rule."""
    broken = deviation.broken or ""
    return deviation.operator, deviation.element, deviation.kind, deviation.explained or "", broken


def _sets(counts: Counts) -> int:
    return counts.within + counts.outside + counts.refused + counts.faults


def _about(run: SuiteRun) -> dict[str, str]:
    """What has to be the same in both runs."""
    return {"editions": run.edition, "hypotheses": run.hypotheses, "must-pass lists": run.must_pass_sha256 or ""}


def _read(path: Path) -> tuple[SuiteRun, str]:
    """A run and the SHA-256 of its report."""
    try:
        content = whole_bytes(path)
    except OSError as reason:
        raise UsageError(f"{quote(str(path))} cannot be read: {reason.strerror}") from None
    return read_run(str(path), content), sha256(content)
