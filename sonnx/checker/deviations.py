"""Deviations: failures that a project justifies by records with findings, reason, risk, approver and last day.

Only failures of restrictions of the profile can be justified; not invalid ONNX, an error condition, a result other than
a failure, or a rule of the project itself.  A record that does not match its findings exactly is itself a failure
(docs/deviations.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date

from msgspec.structs import replace

from sonnx.base.escaping import plural
from sonnx.checker.conditions import DeviationDay, StatedDeviations
from sonnx.checker.deviation_records import Applied, DeviationRecord, Deviations, _rule
from sonnx.checker.report import Count, Coverage, Finding, Report, applicable_and_evaluated, overall
from sonnx.checker.verdicts import Verdict, Where
from sonnx.profile.definitions import Rule
from sonnx.profile.index import rules_by_slug

CURRENT = _rule(
    "current",
    "The model of a deviation, by its hash, is one of this run.",
    "A changed model is another model: what was accepted for one is not accepted for the other.",
    "Review the record for the new model and write its SHA-256, or delete the record.",
)
UNEXPIRED = _rule(
    "unexpired",
    "A deviation has not expired.",
    "The approval of a deviation is limited in time.",
    "Have the deviation approved again, or correct the model.",
)
PERMITTED = _rule(
    "permitted",
    "A deviation is from a restriction of the profile.",
    "Validity of the model, error conditions and demands of the project itself cannot be waived by a record.",
    "Correct the model.",
)
USED = _rule(
    "used",
    "A deviation justifies a failure that exists.",
    "A record that justifies nothing may hide a later failure.",
    "Delete the record.",
)
EXACT = _rule(
    "exact",
    "A deviation names each failure that it justifies, and nothing else.",
    "A record that is broader than what was accepted would also accept the next failure.",
    "Name each finding once, by its place, and with `states` where the place has several of the rule.",
)
RULES = (CURRENT, UNEXPIRED, PERMITTED, USED, EXACT)
"""The rules about each record."""
FORBIDDEN = {"validity": "a condition of ONNX itself", "error-condition": "an error condition of the profile"}
"""Classes of rules that do not allow deviations."""


def apply(reports: Sequence[Report], file: Deviations, on: date) -> tuple[Report, ...]:
    """The reports of one run with the failures that a file justifies; each report must have the hash of its model.

    A record whose model is not in the run fails in every report.
    """
    in_run = {report.sha256 for report in reports}
    return tuple(
        _applied(report, file, on, [record for record in file.records if record.model not in in_run - {report.sha256}])
        for report in reports
    )


def _applied(report: Report, file: Deviations, on: date, records: Sequence[DeviationRecord]) -> Report:
    justified: dict[int, str] = {}
    results: list[tuple[Rule, DeviationRecord, str]] = []
    for record in records:
        matches = _matches(record, report)
        of_record = list(_evaluate(record, report, on, matches, justified))
        results += [(rule, record, actual) for rule, actual in of_record]
        if not any(actual for _, actual in of_record):
            justified |= {index: record.id for match_ in matches for index in match_}
    places = {record.id: f"deviation[{index}]" for index, record in enumerate(file.records)}
    failures = tuple(_finding(rule, record, actual, places) for rule, record, actual in results if actual)
    findings = tuple(
        replace(finding, verdict=Verdict.DEVIATED, deviation=justified[index]) if index in justified else finding
        for index, finding in enumerate(report.findings)
    )
    counts = _counts(report.counts, Counter(report.findings[index].rule for index in justified), results)
    return replace(
        report,
        findings=(*findings, *failures),
        counts=counts,
        coverage=_coverage(report.coverage, counts),
        verdict=overall({count.verdict for count in counts}),
        rules=dict(sorted({**report.rules, **{rule.slug: rule for rule, _, _ in results}}.items())),
        notes=(*report.notes, *_notes(findings)),
        conditions=replace(report.conditions, deviations=_stated(file, on, records)),
        deviations=Applied(file.file, file.sha256, on, tuple(records)),
    )


def _stated(file: Deviations, on: date, records: Iterable[DeviationRecord]) -> StatedDeviations:
    """The file as a condition of the verdict."""
    days = tuple(DeviationDay(record.id, record.rule, str(record.expires)) for record in records)
    return StatedDeviations(file.file, file.sha256, str(on), days)


def _matches(record: DeviationRecord, report: Report) -> list[list[int]]:
    """For each finding that a record names, the indices of the failures it matches."""
    failures = [
        (index, finding)
        for index, finding in enumerate(report.findings)
        if finding.rule == record.rule and finding.verdict is Verdict.FAIL
    ]
    return [
        [
            index
            for index, finding in failures
            if finding.where.place == covered.place and covered.states in ("", finding.actual)
        ]
        for covered in record.findings
    ]


def _evaluate(
    record: DeviationRecord, report: Report, on: date, matches: Sequence[Sequence[int]], taken: Mapping[int, str]
) -> Iterator[tuple[Rule, str]]:
    """Each rule about a record with what is wrong, "" where it holds; the rules after CURRENT need a current record."""
    yield UNEXPIRED, "" if on <= record.expires else f"it expired on {record.expires}; the day is {on}"
    if record.model != report.sha256:
        yield CURRENT, f"it is about the model {record.model}, which is not in this run"
        return
    yield CURRENT, ""
    yield PERMITTED, _forbidden(record, report, matches)
    unused = "" if any(matches) else f"no failure of {record.rule} was found {_instead(record, report)}"
    yield USED, unused
    if not unused:
        yield EXACT, "; ".join(_inexact(record, report, matches, taken))


def _forbidden(record: DeviationRecord, report: Report, matches: Iterable[Sequence[int]]) -> str:
    rule = report.rules.get(record.rule) or rules_by_slug()[record.rule]
    if rule.kind != "restriction":
        return f"{record.rule} is {FORBIDDEN[rule.kind]}"
    broken = [index for match_ in matches for index in match_ if report.findings[index].breaks_onnx]
    return f"the model is not valid ONNX at {report.findings[broken[0]].where.place}" if broken else ""


def _instead(record: DeviationRecord, report: Report) -> str:
    """Where no failure was found, as the end of a sentence, with the verdict found there."""
    places = [finding.place for finding in record.findings]
    there = {
        finding.verdict for finding in report.findings if finding.rule == record.rule and finding.where.place in places
    } - {Verdict.FAIL}
    at = f"at {', '.join(places[:3])}{' and others' if len(places) > 3 else ''}"
    if (
        record.rule in {finding.rule for finding in report.findings if finding.where.place in places} - there
        and not there
    ):
        return f"{at} that states what the record says"
    return f"{at}{f' (the verdict is {sorted(there)[0]}, which no record can justify)' if there else ''}"


def _inexact(
    record: DeviationRecord, report: Report, matches: Sequence[Sequence[int]], taken: Mapping[int, str]
) -> Iterator[str]:
    seen: set[int] = set()
    for covered, match_ in zip(record.findings, matches, strict=True):
        stated = {report.findings[index].actual for index in match_}
        justified_by = next((taken[index] for index in match_ if index in taken), "")
        if not match_:
            yield f"the report has no such failure at {covered.place}"
        elif len(stated) > 1:
            yield f"{covered.place} has {len(stated)} different failures of {record.rule}: name each with `states`"
        elif justified_by:
            yield f"the failure at {covered.place} is already justified by {justified_by!r}"
        elif seen.intersection(match_):
            yield f"the failure at {covered.place} is named twice"
        seen.update(match_)


def _finding(rule: Rule, record: DeviationRecord, actual: str, places: Mapping[str, str]) -> Finding:
    where = Where(places[record.id], "deviation", record.id)
    return Finding(rule.slug, Verdict.FAIL, where, actual, rule.statement)


def _counts(
    counts: Sequence[Count], justified: Mapping[str, int], results: Iterable[tuple[Rule, DeviationRecord, str]]
) -> tuple[Count, ...]:
    """The counts with the justified failures moved from fail to deviated, and with the results for the records."""
    moved: Counter[tuple[str, Verdict, str]] = Counter()
    for count in counts:
        gone = justified.get(count.rule, 0) if count.verdict is Verdict.FAIL else 0
        moved[count.rule, count.verdict, count.reason] += count.number - gone
        moved[count.rule, Verdict.DEVIATED, ""] += gone
    moved.update((rule.slug, Verdict.FAIL if actual else Verdict.PASS, "") for rule, _, actual in results)
    return tuple(Count(*key, number) for key, number in sorted(moved.items()) if number)


def _coverage(whole: Coverage, counts: tuple[Count, ...]) -> Coverage:
    applicable, evaluated = applicable_and_evaluated(counts)
    return replace(whole, known=whole.known + len(RULES), applicable=applicable, evaluated=evaluated)


def _notes(findings: Iterable[Finding]) -> Iterator[str]:
    """The note on nodes outside the profile that were accepted."""
    outside = sum(finding.rule == "operator-in-profile" and finding.verdict is Verdict.DEVIATED for finding in findings)
    if outside:
        yield f"rules of the profile do not apply to {plural(outside, 'node')} outside it, accepted by deviations"
