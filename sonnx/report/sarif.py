"""The report as SARIF 2.1.0, for code scanning: every rule declared, every finding with its file and its place in it.

docs/reports.md says which field holds what.  ASCII only, so that no encoding of the output changes it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote as percent

from sonnx import catalogue
from sonnx.profile import Edition, Rule
from sonnx.quoting import escape
from sonnx.report import json as json_report
from sonnx.report.rules import rules_of, tags_until
from sonnx.report.text import place
from sonnx.verdict import Finding, Report, Verdict

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
KINDS = {
    Verdict.FAIL: "fail",
    Verdict.UNDECIDED: "open",
    Verdict.NOT_CHECKED: "open",
    Verdict.ASSUMED: "review",
    Verdict.DEVIATED: "fail",
}
LOGICAL = {"node": "element", "value": "variable", "tensor": "variable", "function": "function", "model": "module"}
"""The kind of a logical location for the kind of a place; a graph is an object."""


def render(
    reports: Sequence[Report],
    unreadable: Mapping[str, str],
    code: int,
    accept_assumptions: bool = False,
) -> str:
    """All reports of one run as one SARIF log with one run, ending in a line feed."""
    known = catalogue.editions()
    edition = known.editions[reports[0].edition if reports else known.default]
    rules = _rules(edition, reports)
    index = {slug: number for number, slug in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "sonnx",
                "version": json_report.tool_version(),
                "rules": [_rule(rule, edition) for rule in rules.values()],
            }
        },
        "invocations": [_invocation(unreadable, code)],
        "artifacts": list(_artifacts(reports, unreadable)),
        "results": [result for report in reports for result in _results(report, index)],
        "properties": {"reports": [_whole(report, accept_assumptions) for report in reports]},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=True) + "\n"


def uri(name: str) -> str:
    """The file as a URI reference: relative to where the command was given, or absolute if it was given so."""
    path = PurePath(name)
    return path.as_uri() if path.is_absolute() else percent(path.as_posix().encode("utf-8", "surrogateescape"))


# ------------------------------------------------------------------ rules


def _rules(edition: Edition, reports: Iterable[Report]) -> dict[str, Rule]:
    """Every rule of the edition, fired or not, so that an alert that no longer comes is closed; and what was judged."""
    found = {rule.slug: rule for rule in rules_of(edition)}
    for report in reports:
        found |= {slug: rule for slug, rule in report.rules.items() if slug not in found}
    return dict(sorted(found.items()))


def _rule(rule: Rule, edition: Edition) -> dict[str, Any]:
    return {
        "id": rule.slug,
        "shortDescription": _message(rule.statement),
        "fullDescription": _message(f"{rule.statement} {rule.because}"),
        "help": _message(f"Because: {rule.because}\nRemedy: {rule.remedy}\nSource: {rule.source}"),
        "defaultConfiguration": {"level": "error"},
        "properties": {
            "class": rule.kind,
            "tags": [rule.kind, *dict.fromkeys(f"{tag.label}@{tag.text}" for tag in _tags(rule, edition))],
        },
    }


def _tags(rule: Rule, edition: Edition) -> Iterable[Any]:
    operator = rule.slug.partition(".")[0] if "." in rule.slug else ""
    planned = operator and operator not in edition.operators
    return rule.tags if planned else tags_until(rule, edition)


def _message(text: str) -> dict[str, str]:
    """A message as the standard wants it: braces doubled, and no link that is not meant as one (3.11.5, 3.11.6)."""
    return {"text": text.replace("{", "{{").replace("}", "}}").replace("](", "\\](")}


# ------------------------------------------------------------------ the run


def _invocation(unreadable: Mapping[str, str], code: int) -> dict[str, Any]:
    notifications = [
        {
            "level": "error",
            "message": _message(escape(reason)),
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(name)}}}],
        }
        for name, reason in unreadable.items()
    ]
    return {"executionSuccessful": not unreadable, "exitCode": code, "toolExecutionNotifications": notifications}


def _artifacts(reports: Sequence[Report], unreadable: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The files, each once."""
    known = {report.name: report.sha256 for report in reports}
    for name, digest in known.items():
        hashed = {"hashes": {"sha-256": digest}} if digest else {}
        yield {"location": {"uri": uri(name)}, "roles": ["analysisTarget"], **hashed}
    for name in unreadable:
        yield {"location": {"uri": uri(name)}, "roles": ["analysisTarget"]}


def _whole(report: Report, accept_assumptions: bool) -> dict[str, Any]:
    """What the JSON report says of the model as a whole."""
    said = json_report.whole(report, accept_assumptions)
    said["model"] = escape(report.name)
    return {key: value for key, value in said.items() if key not in ("findings", "counts", "rules")}


# ------------------------------------------------------------------ results


def _results(report: Report, index: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for finding in report.findings:
        print_of = _fingerprint(finding)
        seen[print_of] += 1
        yield _result(report, finding, index[finding.rule], f"{print_of}:{seen[print_of]}")


def _result(report: Report, finding: Finding, index: int, fingerprint: str) -> dict[str, Any]:
    where = finding.where
    logical = {
        "fullyQualifiedName": where.place,
        "kind": LOGICAL.get(where.kind, "object"),
        "name": escape(where.name) or where.place,
    }
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "kind": KINDS[finding.verdict],
        "level": "error" if KINDS[finding.verdict] == "fail" else "none",
        "message": _message(_sentence(finding)),
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": uri(report.name)}, "region": {"startLine": 1}},
                "logicalLocations": [logical],
            }
        ],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
        **_suppressed(report, finding),
        "properties": _properties(finding),
    }


def _suppressed(report: Report, finding: Finding) -> dict[str, Any]:
    """The record that justifies a deviation: readers that know suppressions count the result as closed."""
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


def _fingerprint(finding: Finding) -> str:
    """The same for the same finding in the next version of the model: by name, by place where there is none."""
    where = finding.where
    verdict = Verdict.FAIL if finding.verdict is Verdict.DEVIATED else finding.verdict
    parts = (finding.rule, verdict, where.kind, escape(where.name) or where.place)
    return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:32]
