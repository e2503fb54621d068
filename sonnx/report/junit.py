"""The report as JUnit XML, for test reports of CI: a suite for each model, a case for each rule.

An answer that is open is an error, not a skip: CI shows skipped cases as green.  ASCII only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape as entities

from sonnx.quoting import escape
from sonnx.report.text import given, headline, place
from sonnx.results import why
from sonnx.verdict import Count, Finding, Report, Verdict, overall

OUTCOMES = {
    Verdict.FAIL: "failure",
    Verdict.UNDECIDED: "error",
    Verdict.NOT_CHECKED: "error",
    Verdict.ASSUMED: "error",
    Verdict.NOT_APPLICABLE: "skipped",
}
"""The element of a case for the worst answer of its rule; none for a rule that holds or is deviated from."""
Case = tuple[str, str, str]
"""The name, the element or "", and the whole XML of a case."""


def render(
    reports: Sequence[Report],
    unreadable: Mapping[str, str],
    code: int,
    accept_assumptions: bool = False,
) -> str:
    """All reports of one run as one document, ending in a line feed."""
    suites = [(report.name, _properties(report), list(_cases(report, accept_assumptions))) for report in reports]
    suites += [(name, "", [_unreadable(name, reason)]) for name, reason in unreadable.items()]
    return document("sonnx check", suites)


def document(title: str, suites: Iterable[tuple[str, str, list[Case]]]) -> str:
    """Suites with their properties and cases as one document, ending in a line feed."""
    suites = list(suites)
    every = [case for _, _, cases in suites for case in cases]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="{title}" {_numbers(every)}>']
    for name, properties, cases in suites:
        lines += [f'<testsuite name="{_safe(name)}" {_numbers(cases)}>', *filter(None, [properties])]
        lines += [*(text for _, _, text in cases), "</testsuite>"]
    return "\n".join([*lines, "</testsuites>"]).encode("ascii", "xmlcharrefreplace").decode("ascii") + "\n"


def _safe(text: str) -> str:
    return entities(escape(text))


def _numbers(cases: Iterable[Case]) -> str:
    made = [element for _, element, _ in cases]
    return (
        f'tests="{len(made)}" failures="{made.count("failure")}" errors="{made.count("error")}" '
        f'skipped="{made.count("skipped")}"'
    )


def _properties(report: Report) -> str:
    said = {
        "edition": report.edition,
        "verdict": report.verdict,
        "headline": headline(report),
        "partial": report.partial,
    }
    said |= dict(given(report))
    said |= {f"bound {symbol}": str(number) for symbol, number in report.bound}
    lines = (f'<property name="{_safe(name)}" value="{_safe(value)}"/>' for name, value in said.items() if value)
    return "\n".join(["<properties>", *lines, "</properties>"])


def _cases(report: Report, accept_assumptions: bool) -> Iterator[Case]:
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
        yield case_of(report.name, slug, element, verdict, message, map(_line, found.get(slug, ())))


def _worst(answers: Iterable[Count]) -> Verdict:
    """The worst answer of a rule; not-applicable only where it has no other."""
    verdicts = {answer.verdict for answer in answers}
    return Verdict.NOT_APPLICABLE if verdicts == {Verdict.NOT_APPLICABLE} else overall(verdicts)


def _reason(answer: Count) -> str:
    return f" ({answer.reason})" if answer.reason else ""


def _line(finding: Finding) -> str:
    requires = f"; required: {finding.requires}" if finding.requires else ""
    by = f" by {finding.deviation}" if finding.deviation else ""
    return f"{finding.verdict}{by}: {place(finding.where)}: {finding.actual}{requires}"


def case_of(model: str, name: str, element: str, kind: str, message: str, lines: Iterable[str]) -> Case:
    """A case of a suite; `element` is failure, error, skipped or "" where it passes."""
    start = f'<testcase classname="{_safe(model)}" name="{_safe(name)}"'
    body = "\n".join(map(entities, lines))
    if element:
        inner = f'<{element} message="{_safe(message)}" type="{kind}">{body}</{element}>'
    else:
        inner = f"<system-out>{body}</system-out>" if body else ""
    return name, element, f"{start}>{inner}</testcase>" if inner else f"{start}/>"


def _unreadable(model: str, reason: str) -> Case:
    return case_of(model, "readable", "error", why(reason).word, escape(reason), ())
