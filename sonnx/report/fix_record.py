"""The record of `sonnx fix`: which file came of which, what was done, and why; the evidence pack reads it.

`FixRecord` describes the file that `--report` writes, and rewrites.schema.json beside this file is made from it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from msgspec import Struct, field

from sonnx.base.escaping import escape, plural
from sonnx.base.outward import upper_bound_text
from sonnx.base.reported import ABSENT_IF_EMPTY, ADDED, HIDDEN, OptionalText, Result, as_written, reported, reported_as
from sonnx.checker.conditions import Conditions
from sonnx.checker.report import Finding, Report
from sonnx.checker.verdicts import Verdict, Where
from sonnx.equivalence.result import Answer
from sonnx.profile.definitions import Rule
from sonnx.profile.text_types import Limit, Number, Sha256, Slug
from sonnx.profile.toml_files import JSON, read_project_file


class CountedFindings(Struct, frozen=True):
    """Findings of one rule with one verdict."""

    rule: Slug
    """The slug of the rule."""
    verdict: Verdict
    """What it states."""
    number: Annotated[int, Limit(ge=1)]
    """How many findings."""


class CheckedModel(Struct, frozen=True):
    """The original or the rewritten model."""

    model: OptionalText
    """The base name of the file; null where none was written."""
    sha256: Sha256
    """The SHA-256 of the file."""
    verdict: Verdict
    """The verdict of a check."""
    findings: tuple[CountedFindings, ...]
    """The findings that do not follow from another one, counted."""

    @classmethod
    def of(cls, name: str, digest: str, report: Report) -> CheckedModel:
        """A file with the result of its check."""
        numbers = Counter((finding.rule, finding.verdict) for finding in report.roots)
        return cls(name, digest, report.verdict, tuple(CountedFindings(*key, n) for key, n in numbers.items()))


class AppliedRewrite(Struct, frozen=True):
    """One place that a rewrite changed."""

    name: str = field(name="kind")
    """The kind of rewrite; docs/fix.md lists them."""
    title: Annotated[str, HIDDEN]
    """What a rewrite of this kind does."""
    rules: tuple[str, ...]
    """The slugs it serves."""
    where: Where
    """Its place: of a node in the original, of what is declared or removed afterwards in the new model."""
    before: str
    """What the original has."""
    after: str
    """What the new model has."""
    theorem: OptionalText = ""
    """The theorem by which the values stay; null where they stay by construction."""
    changes: OptionalText = ""
    """What happens to values, or to the interface of the model; null for nothing."""
    value: Annotated[str, HIDDEN] = ""
    """The value that is computed in another way, "" where none or several are."""
    difference: Annotated[float | None, ADDED] = None
    """At least the difference of the value it computes in any implementations of both models on the box of inputs; null
    where no bound is known, or the value stays."""
    bounded: Annotated[bool, HIDDEN] = False
    """Whether a box of inputs was given and the rewrite rounds in another way."""


class FindingsOfReason(Struct, frozen=True):
    """The findings of one reason."""

    reason: str
    """Why it is so."""
    places: tuple[str, ...]
    """Where."""


class RemainingFindings(Struct, frozen=True):
    """What a rule still reports with one verdict."""

    rule: Annotated[Rule, HIDDEN]
    """The rule."""
    verdict: Verdict
    """What it states."""
    findings: Annotated[tuple[Finding, ...], HIDDEN]
    """All of them."""
    by_reason: Annotated[Mapping[str, tuple[Finding, ...]], HIDDEN]
    """The findings by what a person must know to act on them: why a shape is not known, or what is wrong."""

    @property
    @reported_as("rule")
    def slug(self) -> Slug:
        """The slug of the rule."""
        return self.rule.slug

    @property
    @reported
    def number(self) -> Annotated[int, Limit(ge=1)]:
        """How many findings."""
        return len(self.findings)

    @property
    @reported
    def remedy(self) -> str:
        """What a person can do."""
        return self.rule.remedy

    @property
    @reported
    def reasons(self) -> tuple[FindingsOfReason, ...]:
        """The findings by reason."""
        return tuple(
            FindingsOfReason(reason, tuple(finding.where.place for finding in findings))
            for reason, findings in self.by_reason.items()
        )


class OutputDifference(Struct, frozen=True):
    """How far an output of the rewritten model can be from that of the original."""

    output: str
    """Its name."""
    difference: float | None
    """At least the difference in any implementations of both models on the box; null where no bound is known."""


FOLDED = "folded-batch-normalization"
"""The rewrite that rounds constants, so that the ideal value is another one."""


class Grade(StrEnum):
    """How the values of a rewritten model are related to those of the original."""

    SAME_BITS = "same bits"
    SAME_IDEAL_VALUE = "same ideal value"
    APPROXIMATED = "approximated"


class Validation(Struct, frozen=True):
    """What was compared between both models."""

    requested: Number
    """Sets of inputs that were requested."""
    inputs: Number = 0
    """Sets of inputs that were run through both models."""
    outputs: Number = 0
    """Values that were compared for each set."""
    elements: Number = 0
    """Elements that were compared."""
    bitwise: bool = field(default=True, name="bits")
    """Whether the bits of NaNs are the same too."""
    without_value: Number = 0
    """Sets for which neither model has a value, by the same rule."""
    after: tuple[str, ...] = field(default=(), name="since")
    """Kinds of rewrites that had to be made before the original could be run: they are not compared."""
    because: OptionalText = ""
    """Why the original itself cannot be run."""
    left_out: tuple[str, ...] = ()
    """Operators that the executor does not know."""
    changing_values: tuple[str, ...] = field(default=(), name="beyond")
    """Rewrites that change values, made after what was compared."""
    missing: OptionalText = field(default="", name="open")
    """Why nothing, or not all that was requested, was compared."""
    for_all_inputs: Annotated[Answer | None, ADDED] = None
    """What the comparison of both models as terms shows for every input; null where it was not made."""
    stopped: Annotated[str, HIDDEN] = ""
    """Where that comparison stopped; or the shapes that it holds for, after a space."""
    box: Annotated[tuple[str, ...], ADDED] = ()
    """The ranges of inputs for the differences."""
    hypotheses: Annotated[OptionalText, ADDED] = ""
    """What is assumed of the implementations in the differences; null without a box."""
    bounds: Annotated[Mapping[str, float | None], HIDDEN] = {}
    """At least the difference of each output on the box; None where no bound is known."""
    approximated: Annotated[tuple[str, ...], ADDED] = ()
    """Of the rewrites that change values those whose ideal value differs by a certified bound, made after what was
    compared as terms.
    """
    terms_after: Annotated[tuple[str, ...], ADDED] = field(default=(), name="terms_since")
    """Kinds of rewrites without which the original is not valid ONNX: that comparison does not include them."""

    @property
    @reported_as("done")
    def complete(self) -> bool:
        """Whether the values of the original were compared in full, for all inputs that were requested."""
        return self.inputs > 0 and not self.missing and not (self.after or self.left_out or self.changing_values)

    @property
    @reported
    def grade(self) -> Annotated[Grade | None, ADDED]:
        """How the values of the rewritten model are related to those of the original; null in an older record."""
        if self.approximated or FOLDED in self.changing_values:
            return Grade.APPROXIMATED
        return Grade.SAME_IDEAL_VALUE if self.changing_values else Grade.SAME_BITS

    @property
    def qualified_grade(self) -> str:
        """The grade as a headline: where less is shown for all inputs than the rewrites claim, with what is shown."""
        shown = self.for_all_inputs
        if self.grade is not Grade.SAME_BITS or shown is None or shown.at_any_size is Answer.IDENTICAL:
            return (
                f"{self.grade}, compared after {', '.join(self.terms_after)}" if self.terms_after else str(self.grade)
            )
        what = "not decided" if shown.at_any_size is Answer.UNDECIDED else f"shown is {shown.at_any_size}"
        return f"{self.grade} by the construction of each rewrite; for all inputs {what}"

    @property
    @reported_as("summary")
    def sentence(self) -> str:
        """What was compared, as a sentence."""
        return "; ".join(filter(None, (self._runs, self._terms, self._bounds)))

    @property
    def _terms(self) -> str:
        if self.for_all_inputs is None:
            return ""
        if self.for_all_inputs is Answer.UNDECIDED:
            return f"not shown for all inputs: {self.stopped}"
        if self.for_all_inputs.at_any_size is not self.for_all_inputs:
            return f"shown for all inputs of some sizes only: {self.for_all_inputs}{self.stopped}"
        before = f", before {', '.join(self.approximated)}" if self.approximated else ""
        if self.terms_after:
            before += f", after {', '.join(self.terms_after)}: the original is not valid ONNX"
        return f"shown for all inputs: {self.for_all_inputs}{self.stopped}{before}"

    @property
    def _bounds(self) -> str:
        if not self.box:
            return "no difference is bounded: no box of inputs was given" if self.changing_values else ""
        listed = [
            f"{escape(name)} by at most {upper_bound_text(most)}"
            for name, most in self.bounds.items()
            if most is not None
        ]
        without = [escape(name) for name, most in self.bounds.items() if most is None]
        parts = [f"implementations of both models differ in {', '.join(listed)}"] if listed else []
        parts += [f"no bound of the difference in {', '.join(without)} is known"] if without else []
        box = ", ".join(map(escape, self.box))
        return f"for inputs in {box}, under the hypotheses {self.hypotheses}: {', '.join(parts) or 'nothing changes'}"

    @property
    def _runs(self) -> str:
        if not self.requested:
            return "not validated: no sample inputs were requested"
        if not self.inputs:
            return f"not validated: {self.missing}"
        parts = [
            f"validated: {self.elements} elements of "
            f"{plural(self.outputs, 'value' if self.left_out else 'output')} are the same "
            f"{'in every bit' if self.bitwise else 'except for the bits of NaNs'}, "
            f"for {plural(self.inputs, 'set')} of generated inputs with special values"
        ]
        if self.without_value:
            parts.append(f"{self.without_value} more have no value in the original")
        if self.after:
            parts.append(f"compared after {', '.join(self.after)}: the original cannot be run ({self.because})")
        if self.left_out:
            unknown = ", ".join(map(escape, self.left_out))
            parts.append(f"sonnx cannot run {unknown}: inputs of these nodes were compared, for arbitrary outputs")
        if self.changing_values:
            parts.append(f"compared before the rewrites that round in another way: {', '.join(self.changing_values)}")
        return "; ".join([*parts, self.missing] if self.missing else parts)

    @property
    @reported
    def unmatched(self) -> Annotated[str, ABSENT_IF_EMPTY, ADDED]:
        """Where that comparison stopped, or the shapes that it holds for; null where it holds for all inputs."""
        return self.stopped.strip()

    @property
    @reported
    def differences(self) -> Annotated[tuple[OutputDifference, ...], ADDED]:
        """The differences of the outputs, where a box was given."""
        return tuple(OutputDifference(name, most) for name, most in self.bounds.items())


class KeptNode(Struct, frozen=True):
    """A node that stays as it is, because what takes its place would cost much more."""

    where: str
    """The place in the original."""
    name: str
    """The name of the node, "" where it has none."""
    operator: str
    """Its operator."""
    ratio: float
    """The estimated cost of what takes its place by that of the node."""


class FixRecord(Result, frozen=True, kw_only=True):
    """The record of a rewritten model: sonnx fix --report, --format json."""

    exit: Literal[0, 1, 3]
    """The exit code of a check of the rewritten model."""
    edition: str
    """The edition the model was brought to."""
    conditions: Annotated[Conditions | None, ADDED] = None
    """What the result holds for; null in a record of an older version."""
    original: CheckedModel
    """The model before."""
    rewritten: CheckedModel
    """The model after."""
    rewrites: tuple[AppliedRewrite, ...]
    """Every rewrite, in the order in which they were made."""
    left: tuple[RemainingFindings, ...]
    """What still fails or is open, by rule."""
    validation: Validation
    """What was compared between both models."""
    kept: Annotated[tuple[KeptNode, ...], ADDED] = ()
    """Nodes that --keep-slow leaves as they are."""


class ReadRecord(Struct, frozen=True):
    """A record of rewrites that was read."""

    file: str
    """The base name of the file."""
    sha256: str
    """Its SHA-256."""
    content: Any
    """The keys of `FixRecord`, with values as JSON has them."""


def read(path: str | os.PathLike[str]) -> ReadRecord:
    """The record in a file.

    Raises:
        UsageError: the file cannot be read, or is not such a record.
    """
    return read_project_file(
        path, as_written(FixRecord), lambda content, file, digest: ReadRecord(file, digest, content), JSON
    )
