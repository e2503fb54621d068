"""What `sonnx check --format json` prints; report.schema.json beside this file is made from it."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from msgspec import convert, field

from sonnx.checker.report import Finding, Report, reason_without_verdict
from sonnx.checker.verdicts import Verdict
from sonnx.profile.text_types import Limit, Number, Sha256, Slug, Text
from sonnx.report.check_run import CheckRun
from sonnx.report.json_parts import EditionPart, JsonDocument, Part, Place, TagPart, dumps, part, tag_parts, tool
from sonnx.report.phrases import rewrites_of

FORMAT: Literal[1] = 1
"""The version of the format."""


class NotCheckedPart(Part, frozen=True):
    """A file without a report."""

    model: Text
    """The file as it was named on the command line."""
    reason: Text
    """Why it has no report, as one sentence."""
    exit: Literal[2, 3, 4]
    """2: not a readable model; 3: the check was stopped; 4: the tool failed on it."""


class TailoringPart(Part, frozen=True):
    """A tailoring file."""

    file: Text
    """The base name of the file."""
    sha256: Sha256
    """The hash of the file."""
    name: Text
    """What the file calls itself."""


class DeviationPart(Part, frozen=True):
    """A record of a deviation."""

    id: Text
    """The name of the record."""
    rule: Slug
    """The rule that is deviated from."""
    model: Sha256
    """The hash of the model the record is about."""
    reason: Text
    """Why the failure is accepted."""
    risk: Text
    """What can happen because of it."""
    approver: Text
    """Who accepted it."""
    expires: datetime.date
    """The last day on which the record is valid."""


class DeviationsPart(Part, frozen=True):
    """A deviations file."""

    file: Text
    """The base name of the file."""
    sha256: Sha256
    """The hash of the file."""
    date: datetime.date
    """The day on which records must not have expired."""
    records: tuple[DeviationPart, ...]
    """The records that apply to this model: those of its hash, and those of no model of the run."""


class CoveragePart(Part, frozen=True):
    """How much was checked."""

    known: Number
    """Rules in force in the edition for the operators that occur."""
    applicable: Number
    """Rules that gave at least one result other than not-applicable."""
    evaluated: Number
    """Of the applicable rules those that were decided for every subject."""
    nodes: Number
    """Nodes in the main graph, in nested graphs and in functions."""
    nodes_in_profile: Number
    """Of these the nodes that do not fail operator-in-profile."""
    nodes_not_checked: Number
    """Of these the nodes of operators whose rules are not written yet."""


class PlacePart(Place, frozen=True):
    """The subject of a finding."""

    operator_set: int | None
    """The imported version of the node's operator set, null where there is none."""


class FindingPart(Part, frozen=True):
    """A result that is neither pass nor not-applicable."""

    rule: Slug
    """The slug of the rule."""
    tags: tuple[TagPart, ...]
    """The labels the text in force gives the rule."""
    verdict: Verdict
    """The result of the rule for this subject."""
    breaks_onnx: bool
    """Whether the model is not valid ONNX here; false means outside the profile only."""
    where: PlacePart
    """The subject."""
    message: Text
    """What the model states, with the formal names of the operator."""
    requires: str | None
    """What is demanded: the rule text, or the statement of a rule that has no expression."""
    because_of: Slug | None
    """The slug of the failure without which this rule could be decided, null where the finding stands alone."""
    operands: dict[str, str]
    """Which value of the model each formal name of the message stands for."""
    deviation: str | None
    """The record that justifies the failure, null where the verdict is not deviated."""
    rewrites: tuple[str, ...]
    """The rewrites that sonnx fix has for the failure; whether one applies depends on the model."""


class CountPart(Part, frozen=True):
    """How many results of one verdict a rule gave."""

    rule: Slug
    """The slug of the rule."""
    verdict: Verdict
    """The result that is counted."""
    reason: str | None
    """Why the rule is not applicable, null for any other result."""
    number: Annotated[int, Limit(ge=1)]
    """How many subjects got this result for this reason."""


class RulePart(Part, frozen=True):
    """A rule."""

    kind: Literal["validity", "restriction", "error-condition", "project"] = field(name="class")
    """Who demands the rule, and of what."""
    statement: Text
    """What is demanded, as one sentence."""
    because: Text
    """Why the rule exists."""
    remedy: Text
    """What to do about a failure."""
    source: Text
    """The places in the texts that state the rule."""
    errata: tuple[Text, ...]
    """The errata that concern the rule, for `sonnx explain`."""


class ReportPart(Part, frozen=True):
    """The report on one model."""

    model: Text
    """The base name of the file, or what the caller calls the model."""
    sha256: Sha256 | None
    """The hash of the very bytes that were checked, null where a program did not ask for it."""
    edition: EditionPart
    """The edition the model was checked against."""
    verdict: Verdict
    """The worst of all results; with `partial` it covers the selected rules only."""
    exit: Literal[0, 1, 3]
    """The exit code of a run on this model alone."""
    partial: str | None
    """Which rules were selected or ignored, null where all were checked."""
    bound: dict[str, Number]
    """The numbers given to symbolic dimensions; the verdict holds for these only."""
    input_shapes: dict[str, tuple[Number, ...]]
    """The shapes given to graph inputs; the verdict holds for these only."""
    open_inputs: dict[str, tuple[str, ...]]
    """The graph inputs with a dimension that is not a number: each dimension as text, ? where none is stated."""
    strict_versions: bool
    """Whether only the operator version that a text specifies was admitted."""
    tailoring: TailoringPart | None
    """The file that makes the edition stricter, null where there is none."""
    deviations: DeviationsPart | None
    """The file of justified failures, null where there is none."""
    coverage: CoveragePart
    """How much was checked."""
    findings: tuple[FindingPart, ...]
    """Every result that is neither pass nor not-applicable, in the order in which it was found."""
    counts: tuple[CountPart, ...]
    """How many results of each verdict each rule gave; they add up to all results."""
    notes: tuple[Text, ...]
    """Sentences that are not findings: what was passed over, and which version stands for which."""
    rules: dict[Slug, RulePart]
    """Every rule that a finding or count names, by slug."""


class CheckDocument(JsonDocument, frozen=True):
    """The reports of a run: sonnx check --format json."""

    exit: Literal[0, 1, 2, 3, 4]
    """The exit code of the whole run: of several files the first of 4, 2, 1, 3, 0."""
    reports: tuple[ReportPart, ...]
    """One report for each model that could be read, in the order of the command line."""
    unreadable: tuple[NotCheckedPart, ...]
    """The files without a report: not a readable ONNX model, or not checked to the end; in the order of the command
    line."""


def render(run: CheckRun) -> str:
    """All reports of one run, in the order given, as one document ending in a line feed."""
    whole = tuple(report_part(each, run.accept_assumptions) for each in run.reports)
    without = tuple(
        NotCheckedPart(name, str(reason), int(reason_without_verdict(reason)))  # type: ignore[arg-type]
        for name, reason in run.unreadable.items()
    )
    return dumps(CheckDocument(FORMAT, tool(), run.code, whole, without))  # type: ignore[arg-type]


def report_part(report: Report, accept_assumptions: bool) -> ReportPart:
    """The report of one model."""
    return part(
        ReportPart,
        report,
        model=report.name,
        edition=EditionPart(report.edition, report.edition_title, report.consolidated),
        exit=report.exit_code(accept_assumptions),
        bound=dict(report.bound),
        input_shapes=dict(report.input_shapes),
        open_inputs=dict(report.open_inputs),
        tailoring=None if report.tailoring is None else convert(report.tailoring, TailoringPart, from_attributes=True),
        deviations=None
        if report.deviations is None
        else convert(report.deviations, DeviationsPart, from_attributes=True),
        coverage=part(CoveragePart, report.coverage),
        findings=tuple(map(_finding, report.findings)),
        counts=tuple(part(CountPart, each) for each in report.counts),
        rules={slug: part(RulePart, rule) for slug, rule in report.rules.items()},
    )


def _finding(finding: Finding) -> FindingPart:
    where = finding.where
    return FindingPart(
        finding.rule,
        tag_parts(finding.tags),
        finding.verdict,
        finding.breaks_onnx,
        part(PlacePart, where, operator_set=where.version),
        finding.actual,
        finding.requires or None,
        finding.cause or None,
        dict(finding.operands),
        finding.deviation or None,
        tuple([each.name for each in rewrites_of(finding)]),
    )
