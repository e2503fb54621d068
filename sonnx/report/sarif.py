"""SARIF 2.1.0, for code scanning: every rule declared, every finding with its file and its place in it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote as percent

from sonnx.base.escaping import escape
from sonnx.base.resources import tool_version
from sonnx.checker.report import Finding, Report
from sonnx.checker.verdicts import Verdict, Where
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition, Rule
from sonnx.report import json as json_report
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing, rule_criterion
from sonnx.report.phrases import place
from sonnx.report.rules import rules_of

KINDS = {
    Verdict.FAIL: "fail",
    Verdict.UNDECIDED: "open",
    Verdict.NOT_CHECKED: "open",
    Verdict.ASSUMED: "review",
    Verdict.DEVIATED: "fail",
}
STANDINGS = {
    Standing.BAD: ("fail", "error"),
    Standing.OPEN: ("open", "none"),
    Standing.NOTE: ("fail", "note"),
    Standing.SKIPPED: ("notApplicable", "none"),
}
"""Kind and level of a case; passing cases have no result."""


def render(
    reports: Sequence[Report],
    unreadable: Mapping[str, str],
    code: int,
    accept_assumptions: bool = False,
    docs: str = "",
) -> str:
    """All reports of one run as one SARIF log with one run, ending in a line feed."""
    known = catalogue.editions()
    edition = known.editions[reports[0].edition if reports else known.default]
    rules = _rules(edition, reports)
    index = {slug: number for number, slug in enumerate(rules)}
    hashes = {report.name: report.sha256 for report in reports}
    return log(
        {slug: rule_criterion(rule, edition, docs) for slug, rule in rules.items()},
        _invocation(unreadable, code),
        [*(artifact(name, digest) for name, digest in hashes.items()), *map(artifact, unreadable)],
        [result for report in reports for result in _results(report, index)],
        {"reports": [_whole(report, accept_assumptions) for report in reports]},
    )


def render_document(found: Document) -> str:
    """A document as one SARIF log with one run: passing cases are declared and counted, all others have a result."""
    index = {name: number for number, name in enumerate(found.criteria)}
    seen: Counter[str] = Counter()
    files = dict.fromkeys(section.file for section in found.sections)
    return log(
        found.criteria,
        _invocation({}, found.code),
        [artifact(file, found.hashes.get(file, "")) for file in files],
        [
            _case(section, case, index[case.criterion], seen)
            for section in found.sections
            for case in section.cases
            if case.standing in STANDINGS
        ],
        {
            "command": found.command,
            "about": found.subject,
            "headline": found.headline,
            "answers": dict(Counter(case.verdict for case in found.cases)),
            "facts": dict(found.facts),
            "notes": list(found.notes),
        },
    )


def _case(section: Section, case: CaseResult, index: int, seen: Counter[str]) -> dict[str, Any]:
    kind, level = STANDINGS[case.standing]
    where = case.where or Where(case.name, "model")
    details = [f"{term}: {text}" for term, text in case.details]
    print_of = fingerprint(case.criterion, case.verdict, where)
    seen[print_of] += 1
    return {
        "ruleId": case.criterion,
        "ruleIndex": index,
        "kind": kind,
        "level": level,
        "message": message(case.sentence),
        "locations": [location(section.file, where)],
        "partialFingerprints": {"primaryLocationLineHash": f"{print_of}:{seen[print_of]}"},
        "properties": {"verdict": case.verdict, "message": case.message, "details": details},
    }


# ------------------------------------------------------------------ rules


def _rules(edition: Edition, reports: Iterable[Report]) -> dict[str, Rule]:
    """Every rule of the edition, so that an alert is closed when it no longer occurs, and every other rule checked."""
    found = {rule.slug: rule for rule in rules_of(edition)}
    for report in reports:
        found |= {slug: rule for slug, rule in report.rules.items() if slug not in found}
    return dict(sorted(found.items()))


# ------------------------------------------------------------------ the run


def _invocation(unreadable: Mapping[str, str], code: int) -> dict[str, Any]:
    notifications = [
        {
            "level": "error",
            "message": message(escape(reason)),
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(name)}}}],
        }
        for name, reason in unreadable.items()
    ]
    return {"executionSuccessful": not unreadable, "exitCode": code, "toolExecutionNotifications": notifications}


def _whole(report: Report, accept_assumptions: bool) -> dict[str, Any]:
    """The parts of the JSON report about the whole model."""
    data = json_report.whole(report, accept_assumptions)
    data["model"] = escape(report.name)
    return {key: value for key, value in data.items() if key not in ("findings", "counts", "rules")}


# ------------------------------------------------------------------ results


def _results(report: Report, index: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for finding in report.findings:
        verdict = Verdict.FAIL if finding.verdict is Verdict.DEVIATED else finding.verdict
        print_of = fingerprint(finding.rule, verdict, finding.where)
        seen[print_of] += 1
        yield _result(report, finding, index[finding.rule], f"{print_of}:{seen[print_of]}")


def _result(report: Report, finding: Finding, index: int, print_of: str) -> dict[str, Any]:
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "kind": KINDS[finding.verdict],
        "level": "error" if KINDS[finding.verdict] == "fail" else "none",
        "message": message(_sentence(finding)),
        "locations": [location(report.name, finding.where)],
        "partialFingerprints": {"primaryLocationLineHash": print_of},
        **_suppressed(report, finding),
        "properties": _properties(finding),
    }


def _suppressed(report: Report, finding: Finding) -> dict[str, Any]:
    """The record that justifies a deviation; readers that support suppressions count the result as closed."""
    records = report.deviations.records if report.deviations else ()
    texts = [
        f"{each.id}: {each.reason} Risk: {each.risk} Approved by {each.approver} until {each.expires}."
        for each in records
        if each.id == finding.deviation
    ]
    if not texts:
        return {}
    return {"suppressions": [{"kind": "external", "status": "accepted", "justification": text} for text in texts]}


def _properties(finding: Finding) -> dict[str, Any]:
    """The parts of the message, by the names they have in the JSON report."""
    return {
        "verdict": finding.verdict,
        "breaks_onnx": finding.breaks_onnx,
        "message": finding.actual,
        "requires": finding.requires or None,
        "because_of": finding.cause or None,
        "operands": {letter: escape(name) for letter, name in finding.operands},
    }


def _sentence(finding: Finding) -> str:
    requires = f"; required: {finding.requires}" if finding.requires else ""
    cause = f"; only because of {finding.cause}" if finding.cause else ""
    return f"{place(finding.where)}: {finding.actual}{requires}{cause}"


# ------------------------------------------------------------------ the log
# docs/reports.md explains the fields. ASCII only, so that it does not depend on the encoding of the output.


SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LOGICAL = {"node": "element", "value": "variable", "tensor": "variable", "function": "function", "model": "module"}
"""The kind of a logical location for each kind of place; a graph is an object."""


def log(
    declared: Mapping[str, Criterion],
    invocation: Mapping[str, Any],
    artifacts: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    properties: Mapping[str, Any],
) -> str:
    """One log with one run, ending in a line feed."""
    driver = {
        "name": "sonnx",
        "version": tool_version(),
        "rules": [_descriptor(name, each) for name, each in declared.items()],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "artifacts": artifacts,
        "results": results,
        "properties": properties,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=True) + "\n"


def _descriptor(name: str, declared: Criterion) -> dict[str, Any]:
    details = (("Because", declared.because), ("Remedy", declared.remedy), ("Source", declared.source))
    return {
        "id": name,
        "shortDescription": message(declared.statement),
        "fullDescription": message(f"{declared.statement} {declared.because}".rstrip()),
        **({"helpUri": declared.address} if declared.address else {}),
        "help": message("\n".join(f"{term}: {text}" for term, text in details if text) or declared.statement),
        "defaultConfiguration": {"level": "error"},
        "properties": {"class": declared.kind, "tags": [declared.kind, *declared.tags]},
    }


def message(text: str) -> dict[str, str]:
    """A message as the standard requires: braces doubled, and brackets that are not links escaped (3.11.5, 3.11.6)."""
    return {"text": text.replace("{", "{{").replace("}", "}}").replace("](", "\\](")}


def uri(name: str) -> str:
    """The file as a URI reference: relative to the working folder, or absolute if it was named so."""
    path = PurePath(name)
    return path.as_uri() if path.is_absolute() else percent(path.as_posix().encode("utf-8", "surrogateescape"))


def artifact(name: str, digest: str = "") -> dict[str, Any]:
    """A file that was checked, with its SHA-256 if it is known."""
    hashed = {"hashes": {"sha-256": digest}} if digest else {}
    return {"location": {"uri": uri(name)}, "roles": ["analysisTarget"], **hashed}


def location(file: str, where: Where) -> dict[str, Any]:
    """A place in a file: line 1, because some readers require a line, and the place in the model."""
    logical = {
        "fullyQualifiedName": where.place,
        "kind": LOGICAL.get(where.kind, "object"),
        "name": escape(where.name) or where.place,
    }
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri(file)}, "region": {"startLine": 1}},
        "logicalLocations": [logical],
    }


def fingerprint(rule: str, verdict: str, where: Where) -> str:
    """Equal for the same finding in the next version of the model: by the name, or the place if it has no name."""
    parts = (rule, verdict, where.kind, escape(where.name) or where.place)
    return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:32]
