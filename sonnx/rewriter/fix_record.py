"""The record that `sonnx fix --report` writes, as JSON: which file came of which, what was done, and why.

`RecordFile` describes the file, and `sonnx/report/rewrites.schema.json` is made from it (`python -m tools.schemas`).
`render` writes it; `read` reads it for the evidence pack.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Struct

from sonnx.base.files import sha256
from sonnx.checker.report import Report
from sonnx.checker.verdicts import Verdict
from sonnx.profile.text_types import Limit, Sha256
from sonnx.profile.toml_files import JSON
from sonnx.profile.toml_files import read_file as read_project_file
from sonnx.report.json_parts import CountedFindings, Number, Part, Tool, dumps, tool

if TYPE_CHECKING:
    from sonnx.rewriter.rewrite import AppliedRewrite
    from sonnx.rewriter.rewriting import RemainingFindings, Rewriting
    from sonnx.rewriter.validation import Validation

FORMAT: Literal[1] = 1
"""The version of the format that is written and read."""


class WrittenSummary(Part, frozen=True):
    """The original or the rewritten model."""

    model: str | None
    """The base name of the file; null where none was written."""
    sha256: Sha256
    """The SHA-256 of the file."""
    verdict: Verdict
    """The verdict of a check."""
    findings: tuple[CountedFindings, ...]
    """The findings that do not follow from another one, counted."""


class WrittenPlace(Part, frozen=True):
    """The place of a rewrite."""

    place: str
    """The path of the place: of a node in the original, of what is declared or removed afterwards in the new model."""
    kind: str
    """What stands there, such as node or value."""
    name: str
    """Its name, empty where it has none."""
    operator: str | None
    """The operator of a node."""


class WrittenRewrite(Part, frozen=True):
    """One place that a rewrite changed."""

    kind: str
    """The kind of rewrite; docs/fix.md lists them."""
    rules: tuple[str, ...]
    """The slugs it serves."""
    where: WrittenPlace
    """Its place."""
    before: str
    """What the original has."""
    after: str
    """What the new model has."""
    theorem: str | None
    """The theorem by which the values stay; null where they stay by construction."""
    changes: str | None
    """What happens to values, or to the interface of the model; null for nothing."""


class WrittenReason(Part, frozen=True):
    """The findings of one reason."""

    reason: str
    """Why it is so."""
    places: tuple[str, ...]
    """Where."""


class WrittenFindings(Part, frozen=True):
    """What a rule still reports."""

    rule: str
    """The slug of the rule."""
    verdict: Verdict
    """What it states."""
    number: Annotated[int, Limit(ge=1)]
    """How many findings."""
    remedy: str
    """What a person can do."""
    reasons: tuple[WrittenReason, ...]
    """The findings by reason."""


class WrittenValidation(Part, frozen=True):
    """What was compared between both models."""

    summary: str
    """What was compared, as a sentence."""
    done: bool
    """Whether the values of the original were compared in full, for all inputs that were requested."""
    requested: Number
    """Sets of inputs that were requested."""
    inputs: Number
    """Sets of inputs that were run through both models."""
    outputs: Number
    """Values that were compared for each set."""
    elements: Number
    """Elements that were compared."""
    bits: bool
    """Whether the bits of NaNs are the same too."""
    without_value: Number
    """Sets for which neither model has a value, by the same rule."""
    since: tuple[str, ...]
    """Kinds of rewrites that had to be made before the original could be run: they are not compared."""
    left_out: tuple[str, ...]
    """Operators that the executor does not know."""
    because: str | None
    """Why the original itself cannot be run."""
    beyond: tuple[str, ...]
    """Rewrites that change values, made after what was compared."""
    open: str | None
    """Why nothing, or not all that was requested, was compared."""


class RecordFile(Part, frozen=True):
    """The record of a rewritten model: sonnx fix --report, --format json."""

    format: Literal[1]
    """The version of this format; a change that breaks a reader gets a new number."""
    tool: Tool
    """What rewrote the model."""
    exit: Literal[0, 1, 3]
    """The exit code of a check of the rewritten model."""
    edition: str
    """The edition the model was brought to."""
    original: WrittenSummary
    """The model before."""
    rewritten: WrittenSummary
    """The model after."""
    rewrites: tuple[WrittenRewrite, ...]
    """Every rewrite, in the order in which they were made."""
    left: tuple[WrittenFindings, ...]
    """What still fails or is open, by rule."""
    validation: WrittenValidation
    """What was compared between both models."""


# ------------------------------------------------------------------ writing


def render(result: Rewriting, output: str | None = None) -> str:
    """One document ending in a line feed; `output` is the file that was written, None for none."""
    new = sha256(result.model_bytes())
    document = RecordFile(
        FORMAT,
        tool(),
        result.after.exit_code(),  # type: ignore[arg-type]
        result.after.edition,
        _summary(PurePath(result.before.name).name, result.source_sha256, result.before),
        _summary(output and PurePath(output).name, new, result.after),
        tuple(map(_applied, result.rewrites)),
        tuple(map(_remaining, result.remaining)),
        _validation(result.validation),
    )
    return dumps(document)


def _summary(name: str | None, digest: str, report: Report) -> WrittenSummary:
    found = Counter((each.rule, each.verdict) for each in report.roots)
    findings = tuple(CountedFindings(*each, number) for each, number in found.items())
    return WrittenSummary(name, digest, report.verdict, findings)


def _applied(each: AppliedRewrite) -> WrittenRewrite:
    where = WrittenPlace(each.where.place, each.where.kind, each.where.name, each.where.operator or None)
    return WrittenRewrite(
        each.name, tuple(each.rules), where, each.before, each.after, each.theorem or None, each.changes or None
    )


def _remaining(each: RemainingFindings) -> WrittenFindings:
    reasons = (
        WrittenReason(reason, tuple(one.where.place for one in findings)) for reason, findings in each.reasons.items()
    )
    return WrittenFindings(each.rule.slug, each.verdict, len(each.findings), each.rule.remedy, tuple(reasons))


def _validation(validation: Validation) -> WrittenValidation:
    return WrittenValidation(
        summary=validation.sentence,
        done=validation.complete,
        requested=validation.requested,
        inputs=validation.inputs,
        outputs=validation.outputs,
        elements=validation.elements,
        bits=validation.bitwise,
        without_value=validation.without_value,
        since=tuple(validation.after),
        left_out=tuple(validation.not_executable),
        because=validation.because or None,
        beyond=tuple(validation.changing_values),
        open=validation.missing or None,
    )


# ------------------------------------------------------------------ reading


class ModelSummary(Struct, frozen=True):
    """The original or the rewritten model: base name ("" where no file was written), SHA-256, verdict, and findings."""

    model: str
    sha256: str
    verdict: Verdict
    findings: int


class RecordedRewrite(Struct, frozen=True):
    """One place that a rewrite changed; `kind` is the name of the rewrite, `theorem` and `changes` may be empty."""

    kind: str
    rules: tuple[str, ...]
    place: str
    name: str
    operator: str
    before: str
    after: str
    theorem: str
    changes: str


class RecordedFindings(Struct, frozen=True):
    """What a rule still reports, its remedy, and each reason with its places."""

    rule: str
    verdict: Verdict
    remedy: str
    reasons: tuple[tuple[str, tuple[str, ...]], ...]


class Record(Struct, frozen=True):
    """A record; `summary` states what was compared between both models, `done` whether that was all."""

    file: str
    sha256: str
    tool: str
    edition: str
    original: ModelSummary
    rewritten: ModelSummary
    rewrites: tuple[RecordedRewrite, ...]
    left: tuple[RecordedFindings, ...]
    done: bool
    summary: str


def read(path: str | os.PathLike[str]) -> Record:
    """The record in a file.

    Raises:
        UsageError: the file cannot be read, or is not such a record.
    """
    return read_project_file(path, RecordFile, _record, JSON)


def _record(written: RecordFile, file: str, digest: str) -> Record:
    return Record(
        file,
        digest,
        written.tool.version,
        written.edition,
        _read_summary(written.original),
        _read_summary(written.rewritten),
        tuple(map(_read_rewrite, written.rewrites)),
        tuple(map(_read_findings, written.left)),
        written.validation.done,
        written.validation.summary,
    )


def _read_summary(written: WrittenSummary) -> ModelSummary:
    number = sum(each.number for each in written.findings)
    return ModelSummary(written.model or "", written.sha256, written.verdict, number)


def _read_findings(written: WrittenFindings) -> RecordedFindings:
    reasons = tuple((each.reason, each.places) for each in written.reasons)
    return RecordedFindings(written.rule, written.verdict, written.remedy, reasons)


def _read_rewrite(written: WrittenRewrite) -> RecordedRewrite:
    where = written.where
    return RecordedRewrite(
        written.kind, written.rules, where.place, where.name, where.operator or "", written.before, written.after,
        written.theorem or "", written.changes or "",
    )  # fmt: skip
