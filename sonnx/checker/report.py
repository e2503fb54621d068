"""Verdicts, findings, and the reports of checks: of one model and of a run over several.

A run over several models has a report for each model that was checked, and a sentence for each of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from sonnx.base.errors import TOOL_FAILED, USAGE, Stop, worst_exit_code
from sonnx.checker.verdicts import Verdict, Where
from sonnx.profile.definitions import Rule, Tag

if TYPE_CHECKING:
    from sonnx.checker.deviation_records import Applied
    from sonnx.checker.graph_outline import Outline
    from sonnx.checker.tailoring import Tailoring


class Finding(Struct, frozen=True):
    """One result that is not a pass.

    `actual` is what the model states; `requires` is what the rule demands; `breaks_onnx` says that the model is not
    valid ONNX there; `cause` is the slug of the failure without which this rule could be decided; `operands` are the
    values of the model for the formal names in `actual`.
    """

    rule: str
    verdict: Verdict
    where: Where
    actual: str
    requires: str
    breaks_onnx: bool = False
    tags: tuple[Tag, ...] = ()
    cause: str = ""
    operands: tuple[tuple[str, str], ...] = ()
    deviation: str = ""
    """The id of the record that justifies the failure, where the verdict is deviated."""


class Count(Struct, frozen=True):
    """The number of subjects for which a rule has the same verdict, and the same reason where it is not applicable."""

    rule: str
    verdict: Verdict
    reason: str
    number: int


class Coverage(Struct, frozen=True):
    """How much was checked.

    `known` rules are in the edition for the operators of the model, `applicable` ones have a subject, `evaluated` ones
    are decided for every subject.
    """

    known: int
    applicable: int
    evaluated: int
    nodes: int
    nodes_in_profile: int
    nodes_not_checked: int


class Report(Struct, frozen=True):
    """The verdict on one model, with the findings, counts and options behind it."""

    name: str
    edition: str
    edition_title: str
    consolidated: bool
    verdict: Verdict
    findings: tuple[Finding, ...]
    counts: tuple[Count, ...]
    coverage: Coverage
    notes: tuple[str, ...]
    rules: Mapping[str, Rule]
    """Every rule that a finding or count names, by slug."""
    partial: str = ""
    """The selection of rules, "" where all were checked."""
    bound: tuple[tuple[str, int], ...] = ()
    """Numbers of symbols for which the verdict holds."""
    input_shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Shapes of inputs for which the verdict holds."""
    open_inputs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The graph inputs with a dimension that is not a number, each dimension as text, `?` where none is stated."""
    sha256: str = ""
    """The SHA-256 of the bytes that were checked, "" where it was not requested."""
    outline: Outline | None = None
    """The outline of the graph, where it is to be drawn."""
    strict_versions: bool = False
    """Whether only the operator version that a text specifies passes."""
    tailoring: Tailoring | None = None
    """The rules of the project beyond the edition."""
    deviations: Applied | None = None
    """The deviations that were applied, with the date of the check."""

    @property
    def roots(self) -> tuple[Finding, ...]:
        """The findings that are not folded into another one."""
        return tuple(finding for finding in self.findings if not finding.cause)

    def number(self, verdict: Verdict) -> int:
        """The number of results with a verdict."""
        return sum(count.number for count in self.counts if count.verdict is verdict)

    def exit_code(self, accept_assumptions: bool = False) -> int:
        """0 conforming, 1 a rule fails, 3 not decided (docs/versioning.md)."""
        if self.verdict is Verdict.FAIL:
            return 1
        open_assumption = self.verdict is Verdict.ASSUMED and not accept_assumptions
        return 3 if self.partial or open_assumption or self.verdict in _OPEN else 0


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
        made = super().__new__(cls, sentence)
        made.why = why
        return made

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

    def exit_code(self, accept_assumptions: bool) -> int:
        """The worst exit code of all models."""
        codes = {report.exit_code(accept_assumptions) for report in self.reports}
        return worst_exit_code(codes | {int(sentence.why) for sentence in self.without_report.values()})


class NotConforming(Stop):
    """The model does not conform to the edition, so its values are undefined; `report` has the findings."""

    def __init__(self, sentence: str, report: Report) -> None:
        super().__init__(sentence)
        self.report = report
