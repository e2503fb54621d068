"""The result of a run of a suite, and its document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap
from typing import Annotated

from msgspec import Struct, convert, structs

from sonnx.base.decoding import decoding
from sonnx.base.errors import BadInput, Unfinished
from sonnx.base.escaping import escape, plural, quote, shortened
from sonnx.base.files import json_value, sha256
from sonnx.base.reported import HIDDEN, Result, reported
from sonnx.checker.conditions import Conditions, DeviationDay, StatedDeviations
from sonnx.profile import catalogue
from sonnx.profile.text_types import Sha256
from sonnx.report.document import CaseResult, Criterion, Document, Matrix, MatrixCell, Section, Standing, printable
from sonnx.report.rendered import Rendered
from sonnx.suite.badge import badge_text
from sonnx.suite.judge import ACCEPTED, FAULT, KINDS, MISSING, REFUSED, SHAPE, TIMES, TYPE, JudgedDifference
from sonnx.suite.known_deviations import WITHOUT_BOUND, RuntimeFinding, template

MAX_SHOWN = 200
"""Characters of an input that are shown."""
DEMANDS = {
    TYPE: "Outputs have the element types of the definition.",
    SHAPE: "Outputs have the shapes of the definition.",
    MISSING: "There is every output.",
    REFUSED: "No conforming call is refused.",
    FAULT: "The implementation does not end early, hang or give malformed outputs.",
    TIMES: "Two runs give equal outputs.",
    ACCEPTED: "A call that ONNX forbids has no outputs.",
}
"""What each kind of deviation breaks, but those of elements."""
ELEMENTS_DEMAND = "Elements of outputs are as expected"


class Counts(Struct, frozen=True):
    """The data sets of an operator by what came of them."""

    within: int = 0
    """Every output is as expected, as far as there are bounds."""
    outside: int = 0
    """An output is not."""
    refused: int = 0
    """The implementation refuses the model or the inputs."""
    faults: int = 0
    """Its process ended, hung, or gave malformed outputs."""
    nondeterministic: int = 0
    """It gave different outputs for equal inputs; these sets are counted above too."""
    without_bound: int = 0
    """An element of an output has no bound; these sets are counted above too."""

    def plus(self, more: Mapping[str, int]) -> Counts:
        """The counts with those of further data sets."""
        return structs.replace(self, **{name: getattr(self, name) + int(number) for name, number in more.items()})


class Deviation(Struct, frozen=True):
    """Deviations of one kind in one operator and element type: how many, and the smallest of them."""

    operator: str
    """The operator."""
    kind: str
    """What differs."""
    element: str
    """The element type of the first input."""
    number: int
    """How many deviations."""
    case: str
    """The case of the smallest one."""
    data_set: int
    """The number of its data set."""
    call: str
    """The node in one line."""
    value_class: str
    """The value class of its inputs."""
    broken: str | None
    """The rule that the call breaks; null for a conforming call."""
    difference: JudgedDifference
    """What was expected, and what came."""
    inputs: dict[str, str]
    """Its inputs."""
    errata: tuple[str, ...]
    """The errata that runtimes deviate from in this kind."""
    explained: str | None
    """The erratum that decides about this value class; null where all readings agree."""
    data_sets: str
    """A digest of the data sets that deviate: of that of those before the last one, and of the last one."""
    required: bool = False
    """A must-pass list names the cases, so that a refusal deviates."""
    accepted: str | None = None
    """The record of a known deviation that accepts it; null where none does."""
    size: Annotated[int, HIDDEN] = 0

    def with_another(self, deviation: Deviation) -> Deviation:
        """The deviations with one more; the smaller example is kept."""
        kept = deviation if deviation.size < self.size else self
        both = sha256(f"{self.data_sets} {deviation.data_sets}".encode("ascii"))
        return structs.replace(kept, number=self.number + 1, data_sets=both)

    @property
    def standing(self) -> Standing:
        """What it means for the run."""
        if self.accepted:
            return Standing.JUSTIFIED
        if self.kind == REFUSED and not self.required:
            return Standing.OPEN
        return Standing.NOTE if self.kind == ACCEPTED or self.explained else Standing.BAD


class OperatorRun(Struct, frozen=True):
    """What an implementation gave for the cases of one operator."""

    counts: Counts
    deviations: tuple[Deviation, ...]
    problems: tuple[str, ...]


class AppliedRecord(Struct, frozen=True):
    """A record of known deviations."""

    id: str
    """The name of the record."""
    findings: tuple[str, ...]
    """What it is about: operator, element type and kind of each finding."""
    reason: str
    """Why it is accepted."""
    risk: str
    """What can happen because of it."""
    approver: str
    """Who accepted it."""
    expires: str
    """The last day on which it is valid."""
    wrong: tuple[str, ...]
    """The rules about records that it breaks, with what is wrong; then it accepts nothing."""


class AppliedRecords(Struct, frozen=True):
    """The file of known deviations."""

    file: str
    """The base name of the file."""
    sha256: Sha256
    """The hash of the file."""
    date: str
    """The day on which records must not have expired."""
    records: tuple[AppliedRecord, ...]
    """The records."""
    without_bound: tuple[str, ...]
    """The operators whose data sets without bound are accepted."""


class SuiteRun(Result, Rendered, frozen=True, kw_only=True):
    """What an implementation gave for the cases of a suite."""

    suite: str
    """The folder of the suite."""
    implementation: str
    """The name and version of the implementation."""
    edition: str
    """The edition whose texts the cases test."""
    suite_sha256: str
    """The SHA-256 of suite.json, which has the hashes of the archives; empty where it could not be read."""
    settings: tuple[str, ...] = ()
    """The options of the run that can change its result."""
    hypotheses: str
    """The hypotheses of the bounds."""
    operators: dict[str, Counts]
    """The counts of each operator."""
    deviations: tuple[Deviation, ...]
    """The deviations, by operator."""
    problems: tuple[str, ...]
    """Cases of the suite that are incomplete or changed, or operators that are not made; they were not run."""
    must_pass_sha256: Sha256 | None = None
    """The SHA-256 of the must-pass list, whose cases alone were run; null where all were."""
    known: AppliedRecords | None = None
    """The file of known deviations; null without one."""

    @property
    @reported
    def conditions(self) -> Conditions:
        """What the result holds for."""
        digests = {"suite": self.suite_sha256, "must-pass list": self.must_pass_sha256 or ""}
        return Conditions(
            edition=self.edition, hypotheses=self.hypotheses, settings=self.settings, deviations=self._stated_records(),
            digests={role: digest for role, digest in digests.items() if digest},
        )  # fmt: skip

    def _stated_records(self) -> StatedDeviations | None:
        """The file of known deviations as a condition."""
        if self.known is None:
            return None
        days = tuple(
            DeviationDay(record.id, ", ".join(record.findings), record.expires) for record in self.known.records
        )
        return StatedDeviations(self.known.file, self.known.sha256, self.known.date, days)

    @property
    @reported
    def exit_code(self) -> int:
        """0; 1 with a deviation that no erratum explains and no record accepts, or with a record that is not exactly
        about deviations of the run; 3 where something was not run or has no bound.

        Of the cases of a must-pass list nothing more is demanded than their bounds allow.
        """
        standings = {deviation.standing for deviation in self.deviations}
        records = self.known.records if self.known is not None else ()
        if Standing.BAD in standings or any(record.wrong for record in records):
            return 1
        is_open = Standing.OPEN in standings or any(starmap(self._is_open, self.operators.items()))
        return Unfinished.exit_code if is_open or self.problems else 0

    def _is_open(self, operator: str, counts: Counts) -> bool:
        """Whether data sets of an operator have no bound, or none was run, and neither a list nor a record says so."""
        accepted = self.known.without_bound if self.known is not None else ()
        unbounded = counts.without_bound and not self.must_pass_sha256 and operator not in accepted
        failed = any(each.operator == operator and each.kind in (REFUSED, FAULT) for each in self.deviations)
        return bool(unbounded) or not (counts.within + counts.outside or failed)

    def to_format(self, name: str) -> str:
        """See `Rendered.to_format`; `deviations` is a file of records to be filled in, `badge` the JSON of a badge."""
        match name:
            case "deviations":
                return template(self.open_findings(), self.suite_sha256, self.implementation)
            case "badge":
                bad = sum(deviation.standing is Standing.BAD for deviation in self.deviations)
                accepted = sum(bool(deviation.accepted) for deviation in self.deviations)
                return badge_text(
                    self.edition, len(self.operators), bad, accepted, self.exit_code,
                    must_pass=self.must_pass_sha256 is not None,
                )  # fmt: skip
            case _:
                return super().to_format(name)

    def open_findings(self) -> Iterator[RuntimeFinding]:
        """What a record of known deviations can accept: what deviates or is open, and what has no bound."""
        for each in self.deviations:
            if each.standing in (Standing.BAD, Standing.OPEN):
                yield RuntimeFinding(each.operator, each.kind, each.number, each.element, each.data_sets)
        for name, counts in self.operators.items():
            if counts.without_bound:
                yield RuntimeFinding(name, WITHOUT_BOUND, counts.without_bound)

    def document(self) -> Document:
        """The run as a document: a section for each operator."""
        kinds = {deviation.kind for deviation in self.deviations}
        sections = [_section(name, counts, self) for name, counts in self.operators.items()]
        if self.problems:
            cases = tuple(
                CaseResult(
                    "suite",
                    escape(problem.partition(" ")[0].rstrip(":")),
                    "not as made",
                    Standing.OPEN,
                    escape(problem),
                )
                for problem in self.problems
            )
            sections.append(Section("suite", self.suite, cases))
        if self.known is not None:
            sections.append(Section("known deviations", self.known.file, tuple(map(_record, self.known.records))))
        bad = sum(deviation.standing is Standing.BAD for deviation in self.deviations)
        accepted = sum(bool(deviation.accepted) for deviation in self.deviations)
        known = f", {accepted} known" if accepted else ""
        cases_run = "data sets of the must-pass list" if self.must_pass_sha256 else "data sets"
        total = [
            sum(getattr(operator, name) for operator in self.operators.values()) for name in Counts.__struct_fields__
        ]
        listed = ", ".join(
            f"{number} {name.replace('_', ' ')}"
            for name, number in zip(Counts.__struct_fields__, total, strict=True)
            if number
        )
        document = Document(
            command="suite run", title=f"Suite {escape(self.suite)}", subject=escape(self.implementation),
            headline=self.conditions.limited(
                f"{plural(bad, 'kind')} of deviation{known}; {cases_run}: {listed or 'none'}"
            ),
            code=self.exit_code,
            criteria={
                **{kind: Criterion(DEMANDS.get(kind, f"{ELEMENTS_DEMAND} ({kind})."), "suite") for kind in kinds},
                "conforms": Criterion("The outputs of conforming calls are as expected.", "suite"),
                "suite": Criterion("The suite is complete and unchanged.", "suite"),
                "record": Criterion(
                    "A record of known deviations has not expired, is about this suite and implementation, and names "
                    "exactly what deviates.", "suite",
                ),
            },
            sections=tuple(sections), facts=tuple(self.conditions.facts()), matrix=_matrix(self),
            tiles=tuple(
                (str(number), f"data sets {name.replace('_', ' ')}")
                for name, number in zip(Counts.__struct_fields__, total, strict=True)
                if number
            ),
        )  # fmt: skip
        return printable(document)


def _record(record: AppliedRecord) -> CaseResult:
    """A record of known deviations, and what is wrong with it."""
    details = (("accepts", ", ".join(record.findings)), ("reason", record.reason), ("risk", record.risk),
               ("approver", record.approver), ("expires", record.expires))  # fmt: skip
    escaped = tuple((name, escape(text)) for name, text in details)
    if record.wrong:
        return CaseResult(
            "record", escape(record.id), "not exact", Standing.BAD, escape("; ".join(record.wrong)), escaped
        )
    return CaseResult("record", escape(record.id), "deviated", Standing.JUSTIFIED, escape(record.reason), escaped)


def _section(operator: str, counts: Counts, run: SuiteRun) -> Section:
    deviations = [deviation for deviation in run.deviations if deviation.operator == operator]
    expected = CaseResult("conforms", operator, "as expected", Standing.GOOD, f"{counts.within} data sets as expected")
    nothing = CaseResult("conforms", operator, "not run", Standing.OPEN, "no data set was run")
    cases = tuple(_case(deviation) for deviation in deviations) or (expected if counts.within else nothing,)
    said = [f"{getattr(counts, name)} {name.replace('_', ' ')}" for name in Counts.__struct_fields__]
    return Section(operator, run.suite, cases, note=", ".join(said))


def _matrix(run: SuiteRun) -> Matrix | None:
    """Operators by kinds of deviation: each cell has the number of data sets, and an example for each element type."""
    kinds = [kind for kind in KINDS if any(deviation.kind == kind for deviation in run.deviations)]
    if not kinds:
        return None
    rows = []
    for operator in run.operators:
        by_kind = {kind: [e for e in run.deviations if (e.operator, e.kind) == (operator, kind)] for kind in kinds}
        if any(by_kind.values()):
            rows.append((operator, tuple(map(_cell, by_kind.values()))))
    clean = len(run.operators) - len(rows)
    legend = "The number of data sets; unfold it for the smallest example of each element type."
    more = f" {plural(clean, 'operator has', 'operators have')} no deviation." if clean else ""
    return Matrix("Operators by kinds of deviation", legend + more, tuple(kinds), tuple(rows))


def _cell(deviations: Sequence[Deviation]) -> MatrixCell:
    if not deviations:
        return MatrixCell("")
    worst = sorted(deviations, key=lambda deviation: [*Standing].index(deviation.standing))
    number = sum(deviation.number for deviation in deviations)
    noted = " (note)" if worst[0].standing is Standing.NOTE else ""
    return MatrixCell(f"{number}{noted}", tuple(_case(deviation) for deviation in worst))


def _case(deviation: Deviation) -> CaseResult:
    message, details = message_and_details(deviation)
    return CaseResult(
        deviation.kind,
        f"{deviation.operator} {deviation.element}",
        deviation.kind,
        deviation.standing,
        message,
        details,
    )


def message_and_details(deviation: Deviation) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A deviation in a sentence, and its example."""
    details = [("call", escape(deviation.call)), ("case", f"{deviation.case}, data set {deviation.data_set}")]
    details += [
        (
            "inputs",
            escape(", ".join(f"{name} = {shortened(text, MAX_SHOWN)}" for name, text in deviation.inputs.items())),
        )
    ]
    details += [("value class", deviation.value_class)] if deviation.value_class else []
    if deviation.explained:
        known = catalogue.errata().get(deviation.explained)  # a report of another version may name another one
        details += [("erratum", f"{deviation.explained}: {known.defect}" if known else escape(deviation.explained))]
    details += [("known deviation", escape(deviation.accepted))] if deviation.accepted else []
    details += [("may be due to", ", ".join(deviation.errata))] if deviation.errata and not deviation.explained else []
    return f"{plural(deviation.number, 'time')}: {sentence(deviation)}", tuple(details)


def sentence(deviation: Deviation) -> str:
    """A deviation as a main clause: what was expected, and what the implementation gave."""
    difference = deviation.difference
    expected, actual = escape(shortened(difference.expected)), escape(shortened(difference.actual))
    output, place = f"output {difference.output}", f" at {[*difference.at]}" if difference.at else ""
    sentences = {
        MISSING: f"{output} is missing",
        TYPE: f"{output} has the type {actual}, expected {expected}",
        SHAPE: f"{output} has the shape {actual}, expected {expected}",
        REFUSED: f"the call is refused: {actual}",
        FAULT: f"the run failed: {actual}",
        TIMES: "a second run gave other outputs",
        ACCEPTED: f"there are outputs, but ONNX forbids the call ({deviation.broken})",
    }
    return sentences.get(deviation.kind, f"{output}{place} is {actual}, expected {expected}")


def read_run(name: str, content: bytes) -> SuiteRun:
    """The run that a JSON report describes.

    Raises:
        BadInput: it is not such a report, or not of this version; the exit code and the format follow from the rest.
    """
    with decoding(name, "a JSON report of sonnx suite run"):
        run = convert(json_value(content), SuiteRun)
        same = run.to_json().rstrip("\n").encode() == content.rstrip(b"\n")
    if not same:
        raise BadInput(f"{quote(name)} is not as this version of sonnx suite run --format json writes it")
    return run
