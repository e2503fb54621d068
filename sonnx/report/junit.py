"""JUnit XML, for test reports of CI: a suite for each model, a case for each rule; ASCII only.

An undecided rule is an error, not a skip, because CI shows skipped cases as green.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape as entities

from sonnx.base.escaping import escape
from sonnx.checker.report import Count, Finding, Report, overall, reason_without_verdict
from sonnx.checker.verdicts import Verdict
from sonnx.report.document import CaseResult, Document, Section, Standing, worst_standing
from sonnx.report.phrases import headline, place, project_files

OUTCOMES = {
    Verdict.FAIL: "failure",
    Verdict.UNDECIDED: "error",
    Verdict.NOT_CHECKED: "error",
    Verdict.ASSUMED: "error",
    Verdict.NOT_APPLICABLE: "skipped",
}
"""The element of a case for the worst verdict of its rule; none if the rule holds or a deviation justifies it."""
STANDINGS = {Standing.BAD: "failure", Standing.OPEN: "error", Standing.SKIPPED: "skipped"}
"""The element of a case of a document; a note passes, with its text in the output."""
XmlCase = tuple[str, str, str]
"""The name, the element or "", and the XML of a case."""


def render(
    reports: Sequence[Report],
    unreadable: Mapping[str, str],
    code: int,
    accept_assumptions: bool = False,
) -> str:
    """All reports of one run as one document, ending in a line feed."""
    suites = [
        (escape(report.name), _properties(_report_properties(report)), list(_cases(report, accept_assumptions)))
        for report in reports
    ]
    suites += [(escape(name), "", [_unreadable(escape(name), reason)]) for name, reason in unreadable.items()]
    return _document("sonnx check", suites)


def render_document(found: Document) -> str:
    """A result: a suite for each section, in it a case for each name."""
    properties = {"headline": found.headline, **dict(found.facts), "notes": "; ".join(found.notes)}
    return _document(
        f"sonnx {found.command}",
        [
            (section.name, _properties({**properties, "note": section.note}), list(_of_part(section)))
            for section in found.sections
        ],
    )


def _of_part(section: Section) -> Iterator[XmlCase]:
    """One case for each name, with the worst standing of its cases."""
    groups: dict[str, list[CaseResult]] = {}
    for case in section.cases:
        groups.setdefault(case.name, []).append(case)
    for name, cases in groups.items():
        standing = worst_standing(cases)
        first = next(case for case in cases if case.standing is standing)
        several = f" (and {len(cases) - 1} more)" if len(cases) > 1 else ""
        lines = [f"{case.verdict}: {case.sentence}" for case in cases if case.standing is not Standing.GOOD]
        yield _case(section.name, name, STANDINGS.get(standing, ""), first.verdict, f"{first.message}{several}", lines)


def _document(title: str, suites: Iterable[tuple[str, str, list[XmlCase]]]) -> str:
    """Suites with their properties and cases as one document, ending in a line feed."""
    suites = list(suites)
    every = [case for _, _, cases in suites for case in cases]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="{title}" {_numbers(every)}>']
    for name, properties, cases in suites:
        lines += [f'<testsuite name="{entities(name)}" {_numbers(cases)}>', *filter(None, [properties])]
        lines += [*(text for _, _, text in cases), "</testsuite>"]
    return "\n".join([*lines, "</testsuites>"]).encode("ascii", "xmlcharrefreplace").decode("ascii") + "\n"


def _numbers(cases: Iterable[XmlCase]) -> str:
    made = [element for _, element, _ in cases]
    return (
        f'tests="{len(made)}" failures="{made.count("failure")}" errors="{made.count("error")}" '
        f'skipped="{made.count("skipped")}"'
    )


def _report_properties(report: Report) -> dict[str, str]:
    properties: dict[str, str] = {
        "edition": report.edition,
        "verdict": report.verdict,
        "headline": headline(report),
        "partial": report.partial,
    }
    properties |= dict(project_files(report))
    properties |= {f"bound {symbol}": str(number) for symbol, number in report.bound}
    return {escape(name): escape(value) for name, value in properties.items()}


def _properties(properties: Mapping[str, str]) -> str:
    lines = (
        f'<property name="{entities(name)}" value="{entities(value)}"/>' for name, value in properties.items() if value
    )
    return "\n".join(["<properties>", *lines, "</properties>"])


def _cases(report: Report, accept_assumptions: bool) -> Iterator[XmlCase]:
    counts: dict[str, list[Count]] = {}
    for count in report.counts:
        counts.setdefault(count.rule, []).append(count)
    found: dict[str, list[Finding]] = {}
    for finding in report.findings:
        found.setdefault(finding.rule, []).append(finding)
    for slug, answers in counts.items():
        verdict = _worst(answers)
        accepted = verdict is Verdict.ASSUMED and accept_assumptions
        element = "" if accepted else OUTCOMES.get(verdict, "")
        message = ", ".join(f"{answer.number} {answer.verdict}{_reason(answer)}" for answer in answers)
        yield _case(escape(report.name), slug, element, verdict, escape(message), map(_line, found.get(slug, ())))


def _worst(answers: Iterable[Count]) -> Verdict:
    """The worst verdict of a rule; not-applicable only if every other is."""
    verdicts = {answer.verdict for answer in answers}
    return Verdict.NOT_APPLICABLE if verdicts == {Verdict.NOT_APPLICABLE} else overall(verdicts)


def _reason(answer: Count) -> str:
    return f" ({answer.reason})" if answer.reason else ""


def _line(finding: Finding) -> str:
    requires = f"; required: {finding.requires}" if finding.requires else ""
    by = f" by {finding.deviation}" if finding.deviation else ""
    return f"{finding.verdict}{by}: {place(finding.where)}: {finding.actual}{requires}"


def _case(model: str, name: str, element: str, kind: str, message: str, lines: Iterable[str]) -> XmlCase:
    """A case of a suite; `element` is failure, error, skipped or "" where it passes."""
    start = f'<testcase classname="{entities(model)}" name="{entities(name)}"'
    body = "\n".join(map(entities, lines))
    if element:
        inner = f'<{element} message="{entities(message)}" type="{kind}">{body}</{element}>'
    else:
        inner = f"<system-out>{body}</system-out>" if body else ""
    return name, element, f"{start}>{inner}</testcase>" if inner else f"{start}/>"


def _unreadable(model: str, reason: str) -> XmlCase:
    return _case(model, "readable", "error", reason_without_verdict(reason).word, escape(reason), ())
