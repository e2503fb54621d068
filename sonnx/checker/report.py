"""Verdicts, findings, and the reports of checks: of one model and of a run over several.

A run over several models has a report for each model that was checked, and a sentence for each of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct, field

from sonnx.base.errors import TOOL_FAILED, USAGE, Stop, worst_exit_code
from sonnx.base.reported import ABSENT_IF_EMPTY, ADDED, HIDDEN, OptionalText, reported, reported_as
from sonnx.checker.conditions import MODEL, Conditions
from sonnx.checker.verdicts import Verdict, Where
from sonnx.profile import catalogue
from sonnx.profile.definitions import Rule, StatedEdition, Tag
from sonnx.profile.rewrites import RewriteDescription, names_of_rewrites_for, rewrites_for
from sonnx.profile.text_types import ErratumId, Limit, Number, Sha256, Slug, Text

if TYPE_CHECKING:  # most checks load none of them
    from sonnx.checker.deviation_records import Applied
    from sonnx.checker.graph_outline import Outline
    from sonnx.checker.tailoring import Tailoring


NEW, UNCHANGED = "new", "unchanged"
"""The states of a finding since a baseline."""


class Finding(Struct, frozen=True):
    """A result that is neither pass nor not-applicable."""

    rule: Slug
    """The slug of the rule."""
    verdict: Verdict
    """The result of the rule for this subject."""
    where: Where
    """The subject."""
    actual: Text = field(name="message")
    """What the model states, with the formal names of the operator."""
    requires: OptionalText
    """What is demanded: the rule text, or the statement of a rule that has no expression."""
    breaks_onnx: bool = False
    """Whether the model is not valid ONNX here; false means outside the profile only."""
    tags: tuple[Tag, ...] = ()
    """The labels the text in force gives the rule."""
    cause: Annotated[Slug, ABSENT_IF_EMPTY] = field(default="", name="because_of")
    """The slug of the failure without which this rule could be decided, null where the finding stands alone."""
    operands: Annotated[tuple[tuple[str, str], ...], HIDDEN] = ()
    """The formal names of the message, each with the value of the model that it stands for."""
    witness: OptionalText = ""
    """Of an assumption about a shape, a value known at run time that satisfies it; null where none was looked for."""
    deviation: OptionalText = ""
    """The record that justifies the failure, null where the verdict is not deviated."""
    errata: Annotated[tuple[ErratumId, ...], ADDED] = ()
    """The errata of the texts up to the one in force that bear on the rule."""
    state: Annotated[str, ABSENT_IF_EMPTY, ADDED] = ""
    """new, or unchanged since the baseline; null where there is no baseline."""

    @property
    @reported_as("operands")
    def values_by_name(self) -> dict[str, str]:
        """Which value of the model each formal name of the message stands for."""
        return dict(self.operands)

    @property
    @reported
    def rewrites(self) -> tuple[str, ...]:
        """The rewrites that sonnx fix has for the failure; whether one applies depends on the model."""
        if self.verdict is not Verdict.FAIL:
            return ()
        return names_of_rewrites_for(self.rule, self.where.operator, self.where.kind)

    @property
    def rewrite_descriptions(self) -> tuple[RewriteDescription, ...]:
        """The rewrites that `sonnx fix` has for a failure, described."""
        if self.verdict is not Verdict.FAIL:
            return ()
        return rewrites_for(self.rule, self.where.operator, self.where.kind)


class Count(Struct, frozen=True):
    """How many results of one verdict a rule gave."""

    rule: Slug
    """The slug of the rule."""
    verdict: Verdict
    """The result that is counted."""
    reason: OptionalText
    """Why the rule is not applicable, null for any other result."""
    number: Annotated[int, Limit(ge=1)]
    """How many subjects got this result for this reason."""


class Coverage(Struct, frozen=True):
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


class GoneFinding(Struct, frozen=True):
    """A finding of the baseline that the report no longer has."""

    rule: Slug
    """The slug of the rule."""
    verdict: Verdict
    """The result of the rule in the baseline."""
    where: Where
    """The subject, as the baseline names it."""
    message: Text
    """What the model stated."""


class Baseline(Struct, frozen=True):
    """An earlier report, and what became of its findings."""

    file: Text
    """The file of the earlier report."""
    sha256: Sha256
    """The hash of its bytes."""
    new: Number
    """Findings that it does not have, those included that are counted only."""
    unchanged: Number
    """Findings that it has."""
    gone: tuple[GoneFinding, ...]
    """Findings that it has and the report does not; with a selection of rules only those of rules with results."""


class Report(Struct, frozen=True):
    """The report on one model."""

    name: Text = field(name="model")
    """The base name of the file, or what the caller calls the model."""
    conditions: Conditions
    """What the verdict holds for."""
    verdict: Verdict
    """The worst of all results; with a selection of rules it covers these only."""
    findings: tuple[Finding, ...]
    """Every result that is neither pass nor not-applicable, in the order in which it was found."""
    counts: tuple[Count, ...]
    """How many results of each verdict each rule gave; they add up to all results."""
    coverage: Coverage
    """How much was checked."""
    notes: tuple[Text, ...]
    """Sentences that are not findings: what was passed over, and which version stands for which."""
    rules: Mapping[Slug, Rule]
    """Every rule that a finding or count names, by slug."""
    open_inputs: Annotated[tuple[tuple[str, tuple[str, ...]], ...], HIDDEN] = ()
    outline: Annotated[Outline | None, HIDDEN] = None
    """The outline of the graph, where it is to be drawn."""
    tailoring: Tailoring | None = None
    """The file that makes the edition stricter, null where there is none."""
    deviations: Applied | None = None
    """The file of justified failures, null where there is none."""
    baseline: Annotated[Baseline | None, ADDED] = None
    """The earlier report with which this one is compared, null where there is none."""

    late_types = {
        "Applied": "sonnx.checker.deviation_records",
        "Outline": "sonnx.checker.graph_outline",
        "Tailoring": "sonnx.checker.tailoring",
    }

    @property
    @reported_as("edition")
    def stated_edition(self) -> StatedEdition:
        """The edition the model was checked against."""
        edition = catalogue.editions().editions[self.edition]
        return StatedEdition(edition.name, edition.title, edition.consolidated)

    @property
    def edition(self) -> str:
        """The name of the edition."""
        return self.conditions.edition or ""

    @property
    @reported
    def bound(self) -> dict[str, Number]:
        """The numbers given to symbolic dimensions; the verdict holds for these only."""
        return self.conditions.sizes

    @property
    @reported
    def input_shapes(self) -> dict[str, tuple[Number, ...]]:
        """The shapes given to graph inputs; the verdict holds for these only."""
        return self.conditions.input_shapes

    @property
    @reported
    def partial(self) -> OptionalText:
        """Which rules were selected or ignored, null where all were checked."""
        return self.conditions.selection or ""

    @property
    @reported
    def sha256(self) -> Annotated[Sha256, ABSENT_IF_EMPTY]:
        """The hash of the very bytes that were checked, null where a program did not ask for it."""
        return self.conditions.digests.get(MODEL, "")

    @property
    @reported
    def strict_versions(self) -> bool:
        """Whether only the operator version that a text specifies was admitted."""
        return self.conditions.strict_versions

    @property
    @reported_as("open_inputs")
    def dimensions_of_open_inputs(self) -> dict[str, tuple[str, ...]]:
        """The graph inputs with a dimension that is not a number: each dimension as text, ? where none is stated."""
        return dict(self.open_inputs)

    @property
    def roots(self) -> tuple[Finding, ...]:
        """The findings that are not folded into another one."""
        return tuple([finding for finding in self.findings if not finding.cause])

    @property
    def unlisted(self) -> Mapping[tuple[str, Verdict], int]:
        """By rule and verdict, the results that are counted and not among the findings: --limit findings lists more."""
        counted = Counter[tuple[str, Verdict]]()
        for count in self.counts:
            if count.verdict not in (Verdict.PASS, Verdict.NOT_APPLICABLE):
                counted[count.rule, count.verdict] += count.number
        counted.subtract((finding.rule, finding.verdict) for finding in self.findings)
        return {key: number for key, number in counted.items() if number > 0}

    def number_unlisted(self, verdict: Verdict) -> int:
        """The results of a verdict that are counted and not among the findings."""
        return sum(number for (_, own), number in self.unlisted.items() if own is verdict)

    def number(self, verdict: Verdict) -> int:
        """The number of results with a verdict."""
        return sum(count.number for count in self.counts if count.verdict is verdict)

    def exit_code(self, accept_assumptions: bool = False, new_only: bool = False) -> int:
        """0 conforming, 1 a rule fails, 3 not decided (docs/versioning.md); with `new_only` of the new findings."""
        verdict = self.verdict
        if new_only and self.baseline is not None:
            unlisted = {own for _, own in self.unlisted}
            verdict = overall({finding.verdict for finding in self.findings if finding.state == NEW} | unlisted)
        if verdict is Verdict.FAIL:
            return 1
        open_assumption = verdict is Verdict.ASSUMED and not accept_assumptions
        return 3 if self.partial or open_assumption or verdict in _OPEN else 0


_OPEN = (Verdict.UNDECIDED, Verdict.NOT_CHECKED)
_WORST = (Verdict.FAIL, Verdict.UNDECIDED, Verdict.NOT_CHECKED, Verdict.ASSUMED, Verdict.DEVIATED)


def applicable_and_evaluated(counts: Iterable[Count]) -> tuple[int, int]:
    """The number of rules with a subject, and the number of those decided for every subject (see `Coverage`)."""
    listed = list(counts)
    applicable = {count.rule for count in listed if count.verdict is not Verdict.NOT_APPLICABLE}
    undecided = {count.rule for count in listed if count.verdict in _OPEN}
    return len(applicable), len(applicable - undecided)


def overall(verdicts: set[Verdict]) -> Verdict:
    """The verdict on the whole: the worst of all results."""
    return next((verdict for verdict in _WORST if verdict in verdicts), Verdict.PASS)


ACCEPTED_LIKE = "is accepted like the specified version"
"""What a note says of an operator of an equivalent version, between both versions."""
STANDARD_INPUT = "standard input"
"""The name of the model that `-` stands for on a command line."""
MAX_NAMED_FILES = 3
"""Files that a sentence about several files names."""


class NoVerdict(IntEnum):
    """Why a file has no verdict; the number is its exit code."""

    UNREADABLE = USAGE
    STOPPED = 3
    FAILED = TOOL_FAILED

    @property
    def word(self) -> str:
        """The word for it in reports."""
        return self.name.lower()


class NoVerdictSentence(str):
    """The sentence about a file that has no verdict."""

    __slots__ = ("why",)

    def __new__(cls, sentence: str, why: NoVerdict = NoVerdict.UNREADABLE) -> NoVerdictSentence:
        """The sentence, with the reason."""
        no_verdict_sentence = super().__new__(cls, sentence)
        no_verdict_sentence.why = why
        return no_verdict_sentence

    why: NoVerdict


def reason_without_verdict(sentence: str) -> NoVerdict:
    """Why a file has no verdict; a plain string says why it is not a readable model."""
    return sentence.why if isinstance(sentence, NoVerdictSentence) else NoVerdict.UNREADABLE


class BatchResult(Struct):
    """The result of a run, in the order of the models: reports, and sentences about models without a verdict."""

    reports: list[Report] = []
    without_report: dict[str, NoVerdictSentence] = {}
    interrupted: bool = False

    def sentences(self) -> Iterator[str]:
        """The sentences about files without a verdict; one for all files that the end of a run left."""
        ended: dict[str, list[str]] = {}
        for name, sentence in self.without_report.items():
            reason = sentence.removeprefix(f"{name!r} was not checked: ")
            if sentence.why is NoVerdict.STOPPED and reason != sentence:
                ended.setdefault(reason, []).append(name)
            else:
                yield sentence
        for reason, names in ended.items():
            more = f" and {len(names) - MAX_NAMED_FILES} more" if len(names) > MAX_NAMED_FILES else ""
            verb = "was" if len(names) == 1 else "were"
            yield f"{', '.join(map(repr, names[:MAX_NAMED_FILES]))}{more} {verb} not checked: {reason}"

    def exit_code(self, accept_assumptions: bool, new_only: bool = False) -> int:
        """The worst exit code of all models."""
        codes = {report.exit_code(accept_assumptions, new_only) for report in self.reports}
        return worst_exit_code(codes | {int(sentence.why) for sentence in self.without_report.values()})


class NotConforming(Stop):
    """The model does not conform to the edition, so its values are undefined; `report` has the findings."""

    def __init__(self, sentence: str, report: Report) -> None:
        super().__init__(sentence)
        self.report = report
