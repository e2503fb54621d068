"""JUnit XML, for test reports of CI: a suite for each model, a case for each rule; ASCII only.

An undecided rule is an error, not a skip, because CI shows skipped cases as green.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape as entities

from sonnx.base.escaping import escape
from sonnx.checker.report import reason_without_verdict
from sonnx.report.document import PASSING, CaseResult, Document, Section, Standing, worst_standing

STANDINGS = {
    Standing.BAD: "failure",
    Standing.OPEN: "error",
    Standing.ASSUMED: "error",
    Standing.SKIPPED: "skipped",
    Standing.NOT_APPLICABLE: "skipped",
}
"""The element of a case; none if it holds or is justified. A note passes, with its text in the output."""
XmlCase = tuple[str, str]
"""The element of a case, "" where it passes, and its XML."""


def render_document(document: Document) -> str:
    """A document: a suite for each section, in it a case for each name, and a suite for each file without a result."""
    shared = {"headline": document.headline, **dict(document.facts), "notes": "; ".join(document.notes)}
    suites: list[tuple[str, str, list[XmlCase]]] = []
    for section in document.sections:
        own = {"headline": section.headline, **dict(section.facts), "notes": "; ".join(section.notes)}
        properties = {**(own if section.headline else shared), "note": section.note}
        suites.append((section.name, _properties(properties), list(_cases(section, document.accepted))))
    for name, reason in document.unreadable.items():
        word = reason_without_verdict(reason).word
        suites.append((escape(name), "", [_case(escape(name), "readable", "error", word, escape(reason), ())]))
    every = [case for _, _, cases in suites for case in cases]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="sonnx {document.command}" {_numbers(every)}>',
    ]
    for name, properties_, cases in suites:
        lines += [f'<testsuite name="{entities(name)}" {_numbers(cases)}>', *filter(None, [properties_])]
        lines += [*(text for _, text in cases), "</testsuite>"]
    return "\n".join([*lines, "</testsuites>"]).encode("ascii", "xmlcharrefreplace").decode("ascii") + "\n"


def _cases(section: Section, accepted: bool) -> Iterator[XmlCase]:
    """One case for each name, with the worst standing of its cases."""
    groups: dict[str, list[CaseResult]] = {}
    for case in section.cases:
        groups.setdefault(case.name, []).append(case)
    for name, cases in groups.items():
        standing = worst_standing(cases)
        element = "" if accepted and standing is Standing.ASSUMED else STANDINGS.get(standing, "")
        first = next(case for case in cases if case.standing is standing)
        several = f" (and {len(cases) - 1} more)" if len(cases) > 1 else ""
        lines = [f"{case.verdict}: {case.sentence}" for case in cases if case.standing not in PASSING]
        yield _case(section.name, name, element, first.verdict, f"{first.message}{several}", lines)


def _numbers(cases: Iterable[XmlCase]) -> str:
    elements = [element for element, _ in cases]
    return (
        f'tests="{len(elements)}" failures="{elements.count("failure")}" errors="{elements.count("error")}" '
        f'skipped="{elements.count("skipped")}"'
    )


def _properties(properties: Mapping[str, str]) -> str:
    lines = (
        f'<property name="{entities(name)}" value="{entities(value)}"/>' for name, value in properties.items() if value
    )
    return "\n".join(["<properties>", *lines, "</properties>"])


def _case(model: str, name: str, element: str, kind: str, message: str, lines: Iterable[str]) -> XmlCase:
    """A case of a suite; `element` is failure, error, skipped or "" where it passes."""
    start = f'<testcase classname="{entities(model)}" name="{entities(name)}"'
    body = "\n".join(map(entities, lines))
    if element:
        inner = f'<{element} message="{entities(message)}" type="{kind}">{body}</{element}>'
    else:
        inner = f"<system-out>{body}</system-out>" if body else ""
    return element, f"{start}>{inner}</testcase>" if inner else f"{start}/>"
