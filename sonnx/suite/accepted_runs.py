"""Runs whose deviations a file of known deviations accepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date

from msgspec import structs

from sonnx.base.escaping import plural
from sonnx.report.document import Standing
from sonnx.suite.known_deviations import WITHOUT_BOUND, KnownDeviations, RuntimeDeviation, RuntimeFinding
from sonnx.suite.result import AppliedRecord, AppliedRecords, Deviation, SuiteRun


def with_known(run: SuiteRun, known: KnownDeviations, on: date) -> SuiteRun:
    """A run whose deviations are accepted where a record of the file is exactly about them on that day."""
    open_findings = {finding.place: finding for finding in run.open_findings()}
    accepted: dict[tuple[str, str, str], str] = {}
    applied = []
    for record in known.records:
        wrong = tuple(_wrong(record, run, on, open_findings, accepted))
        if not wrong:
            accepted |= {finding.place: record.id for finding in record.findings}
        applied.append(AppliedRecord(
            record.id, tuple(finding.title for finding in record.findings), record.reason,
            record.risk, record.approver, str(record.expires), wrong,
        ))  # fmt: skip
    deviations = tuple(
        structs.replace(each, accepted=accepted[_place(each)])
        if _place(each) in accepted and each.standing in (Standing.BAD, Standing.OPEN)
        else each
        for each in run.deviations
    )
    unbounded = tuple(operator for operator, _, kind in accepted if kind == WITHOUT_BOUND)
    return structs.replace(
        run,
        deviations=deviations,
        known=AppliedRecords(known.file, known.sha256, str(on), tuple(applied), unbounded),
    )


def _place(deviation: Deviation) -> tuple[str, str, str]:
    return deviation.operator, deviation.element, deviation.kind


def _wrong(
    record: RuntimeDeviation,
    run: SuiteRun,
    on: date,
    open_findings: Mapping[tuple[str, str, str], RuntimeFinding],
    accepted: Mapping[tuple[str, str, str], str],
) -> Iterator[str]:
    """Each rule about records that a record breaks, with what is wrong."""
    if on > record.expires:
        yield f"unexpired: it expired on {record.expires}; the day is {on}"
    if record.suite != run.suite_sha256:
        yield f"current: it is about the suite {record.suite}"
    elif record.implementation != run.implementation:
        yield f"current: it is about {record.implementation}"
    else:
        for finding in record.findings:
            name, there = finding.title, open_findings.get(finding.place)
            if there is None:
                yield f"used: the run has no deviation {name}"
            elif finding.place in accepted:
                yield f"exact: {name} is already accepted by {accepted[finding.place]}"
            elif there.number != finding.number:
                yield f"exact: {name} occurs {plural(there.number, 'time')}, not {finding.number}"
            elif there.data_sets != finding.data_sets:
                yield f"exact: {name} occurs in other data sets"
        numbers = Counter(finding.place for finding in record.findings)
        twice = next((finding for finding in record.findings if numbers[finding.place] > 1), None)
        if twice is not None:
            yield f"exact: {twice.title} is named twice"
