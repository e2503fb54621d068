"""Verdicts, findings and the report of a check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonnx.checker.deviations import Applied
    from sonnx.checker.graph_outline import Outline
    from sonnx.checker.tailoring import Tailoring
from collections.abc import Iterator
from dataclasses import field
from enum import IntEnum

from sonnx.base.errors import TOOL_FAILED, USAGE, Stop, worst
from sonnx.profile.definitions import Rule, Tag


class Verdict(StrEnum):
    """The answer of one rule for one subject, and of a whole check."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    UNDECIDED = "undecided"
    ASSUMED = "assumed"
    NOT_APPLICABLE = "not-applicable"
    NOT_CHECKED = "not-checked"
    DEVIATED = "deviated"


@dataclass(frozen=True, slots=True)
class Where:
    """The place of a finding: a path in the file, and what stands there.

    `kind` is node, value, graph, function, tensor or model; `operator` and `version` are set for nodes.
    """

    place: str
    kind: str
    name: str = ""
    operator: str = ""
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer that is not a pass.

    `actual` is what the model states; `requires` is what is demanded; `breaks_onnx` says that the model is no valid
    ONNX there; `cause` is the slug of the failure without which this rule could be decided; `operands` say which
    value of the model each letter of `actual` is.
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
    """The record that justifies the failure, where the verdict is deviated."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many subjects got one answer from one rule, with the reason where the answer needs one."""

    rule: str
    verdict: Verdict
    reason: str
    number: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much was judged.

    `known` rules are in the edition for the operators that occur, `applicable` ones had a subject, `evaluated` ones
    were decided for each of them.
    """

    known: int
    applicable: int
    evaluated: int
    nodes: int
    nodes_in_profile: int
    nodes_not_checked: int


@dataclass(frozen=True, slots=True)
class Report:
    """The verdict on one model, with everything it rests on."""

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
    """Every rule a finding or count names, by slug."""
    partial: str = ""
    """What selected the rules, "" where all were judged."""
    bound: tuple[tuple[str, int], ...] = ()
    sha256: str = ""
    """The hash of the very bytes that were judged, "" where nobody asked for it."""
    outline: Outline | None = None
    """The graph in outline, where it is to be drawn."""
    strict_versions: bool = False
    """Only the operator version that a text specifies was admitted."""
    tailoring: Tailoring | None = None
    """What the project demands beyond the edition."""
    deviations: Applied | None = None
    """The deviations that were applied, and the day they were judged on."""

    @property
    def roots(self) -> tuple[Finding, ...]:
        """The findings that are not folded into another one."""
        return tuple(finding for finding in self.findings if not finding.cause)

    def number(self, verdict: Verdict) -> int:
        """How many answers are of a verdict."""
        return sum(count.number for count in self.counts if count.verdict is verdict)

    def exit_code(self, accept_assumptions: bool = False) -> int:
        """0 conforming, 1 a rule fails, 3 not decided (docs/versioning.md)."""
        if self.verdict is Verdict.FAIL:
            return 1
        open_assumption = self.verdict is Verdict.ASSUMED and not accept_assumptions
        return 3 if self.partial or open_assumption or self.verdict in _OPEN else 0


_OPEN = (Verdict.UNDECIDED, Verdict.NOT_CHECKED)
_WORST = (Verdict.FAIL, Verdict.UNDECIDED, Verdict.NOT_CHECKED, Verdict.ASSUMED, Verdict.DEVIATED)


def judged(counts: Iterable[Count]) -> tuple[int, int]:
    """How many rules had a subject, and how many of these were decided for each of theirs."""
    listed = list(counts)
    applicable = {count.rule for count in listed if count.verdict is not Verdict.NOT_APPLICABLE}
    undecided = {count.rule for count in listed if count.verdict in _OPEN}
    return len(applicable), len(applicable - undecided)


def overall(verdicts: set[Verdict]) -> Verdict:
    """The verdict on the whole: the worst of all answers."""
    return next((verdict for verdict in _WORST if verdict in verdicts), Verdict.PASS)


# ------------------------------------------------------------------
# What a run over several models gives: reports, and sentences on files that have none.


FEW = 3
"""Files that are named where many have the same sentence."""


class Why(IntEnum):
    """What happened instead of a check; the number is the exit code it stands for."""

    UNREADABLE = USAGE
    STOPPED = 3
    FAILED = TOOL_FAILED

    @property
    def word(self) -> str:
        """How a report calls it."""
        return self.name.lower()


class Unjudged(str):
    """The sentence that stands in a report where a file has no verdict."""

    __slots__ = ("why",)

    def __new__(cls, sentence: str, why: Why = Why.UNREADABLE) -> Unjudged:
        """The sentence, and what happened."""
        made = super().__new__(cls, sentence)
        made.why = why
        return made

    why: Why


def why(sentence: str) -> Why:
    """What happened to a file; a plain sentence says why it is no readable model."""
    return sentence.why if isinstance(sentence, Unjudged) else Why.UNREADABLE


@dataclass
class BatchResult:
    """What a run gives, in the order of the models: reports, and sentences."""

    reports: list[Report] = field(default_factory=list)
    unjudged: dict[str, Unjudged] = field(default_factory=dict)
    interrupted: bool = False

    def sentences(self) -> Iterator[str]:
        """What to say of the files without a verdict; once where a run that ended left many."""
        ended: dict[str, list[str]] = {}
        for name, sentence in self.unjudged.items():
            reason = sentence.removeprefix(f"{name!r} was not judged: ")
            if sentence.why is Why.STOPPED and reason != sentence:
                ended.setdefault(reason, []).append(name)
            else:
                yield sentence
        for reason, names in ended.items():
            more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
            verb = "was" if len(names) == 1 else "were"
            yield f"{', '.join(map(repr, names[:FEW]))}{more} {verb} not judged: {reason}"

    def exit_code(self, accept_assumptions: bool) -> int:
        """Of all exit codes the one that matters most."""
        codes = {report.exit_code(accept_assumptions) for report in self.reports}
        return worst(codes | {int(sentence.why) for sentence in self.unjudged.values()})


class NotConforming(Stop):
    """The model does not conform to the edition, so its values are not defined; `report` says where."""

    def __init__(self, sentence: str, report: Report) -> None:
        super().__init__(sentence)
        self.report = report
