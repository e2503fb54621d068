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
from sonnx.report.json_parts import CountedFindings, JsonDocument, Number, Part, dumps, tool

if TYPE_CHECKING:
    from sonnx.rewriter.rewrite import AppliedRewrite
    from sonnx.rewriter.rewriting import FixResult, RemainingFindings
    from sonnx.rewriter.validation import Validation

FORMAT: Literal[1] = 1
"""The version of the format that is written and read."""


class ModelPart(Part, frozen=True):
    """The original or the rewritten model."""

    model: str | None
    """The base name of the file; null where none was written."""
    sha256: Sha256
    """The SHA-256 of the file."""
    verdict: Verdict
    """The verdict of a check."""
    findings: tuple[CountedFindings, ...]
    """The findings that do not follow from another one, counted."""


class RewritePlace(Part, frozen=True):
    """The place of a rewrite."""

    place: str
    """The path of the place: of a node in the original, of what is declared or removed afterwards in the new model."""
    kind: str
    """What stands there, such as node or value."""
    name: str
    """Its name, empty where it has none."""
    operator: str | None
    """The operator of a node."""


class RewritePart(Part, frozen=True):
    """One place that a rewrite changed."""

    kind: str
    """The kind of rewrite; docs/fix.md lists them."""
    rules: tuple[str, ...]
    """The slugs it serves."""
    where: RewritePlace
    """Its place."""
    before: str
    """What the original has."""
    after: str
    """What the new model has."""
    theorem: str | None
    """The theorem by which the values stay; null where they stay by construction."""
    changes: str | None
    """What happens to values, or to the interface of the model; null for nothing."""


class ReasonPart(Part, frozen=True):
    """The findings of one reason."""

    reason: str
    """Why it is so."""
    places: tuple[str, ...]
    """Where."""


class FindingsPart(Part, frozen=True):
    """What a rule still reports."""

    rule: str
    """The slug of the rule."""
    verdict: Verdict
    """What it states."""
    number: Annotated[int, Limit(ge=1)]
    """How many findings."""
    remedy: str
    """What a person can do."""
    reasons: tuple[ReasonPart, ...]
    """The findings by reason."""


class ValidationPart(Part, frozen=True):
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


class RecordFile(JsonDocument, frozen=True):
    """The record of a rewritten model: sonnx fix --report, --format json."""

    exit: Literal[0, 1, 3]
    """The exit code of a check of the rewritten model."""
    edition: str
    """The edition the model was brought to."""
    original: ModelPart
    """The model before."""
    rewritten: ModelPart
    """The model after."""
    rewrites: tuple[RewritePart, ...]
    """Every rewrite, in the order in which they were made."""
    left: tuple[FindingsPart, ...]
    """What still fails or is open, by rule."""
    validation: ValidationPart
    """What was compared between both models."""


# ------------------------------------------------------------------ writing


def render(result: FixResult, output: str | None = None) -> str:
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


def _summary(name: str | None, digest: str, report: Report) -> ModelPart:
    found = Counter((each.rule, each.verdict) for each in report.roots)
    findings = tuple(CountedFindings(*each, number) for each, number in found.items())
    return ModelPart(name, digest, report.verdict, findings)


def _applied(each: AppliedRewrite) -> RewritePart:
    where = RewritePlace(each.where.place, each.where.kind, each.where.name, each.where.operator or None)
    return RewritePart(
        each.name, tuple(each.rules), where, each.before, each.after, each.theorem or None, each.changes or None
    )


def _remaining(each: RemainingFindings) -> FindingsPart:
    reasons = (
        ReasonPart(reason, tuple(one.where.place for one in findings)) for reason, findings in each.reasons.items()
    )
    return FindingsPart(each.rule.slug, each.verdict, len(each.findings), each.rule.remedy, tuple(reasons))


def _validation(validation: Validation) -> ValidationPart:
    return ValidationPart(
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


class Record(Struct, frozen=True):
    """A record that was read: the base name and the SHA-256 of its file, and what stands in it."""

    file: str
    sha256: str
    content: RecordFile


def read(path: str | os.PathLike[str]) -> Record:
    """The record in a file.

    Raises:
        UsageError: the file cannot be read, or is not such a record.
    """
    return read_project_file(path, RecordFile, lambda content, file, digest: Record(file, digest, content), JSON)
