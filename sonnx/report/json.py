"""The report as JSON: format 1, described by report.schema.json beside this file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from sonnx.base.resources import tool_version
from sonnx.checker.report import Finding, Report, reason_without_verdict
from sonnx.profile.definitions import Rule, Tag
from sonnx.report.phrases import rewrites_of

FORMAT = 1


def render(
    reports: Sequence[Report],
    unreadable: Mapping[str, str],
    code: int,
    accept_assumptions: bool = False,
) -> str:
    """All reports of one run, in the order given, as one document ending in a line feed."""
    document = {
        "format": FORMAT,
        "tool": {"name": "sonnx", "version": tool_version()},
        "exit": code,
        "reports": [whole(report, accept_assumptions) for report in reports],
        "unreadable": [
            {"model": name, "reason": reason, "exit": int(reason_without_verdict(reason))}
            for name, reason in unreadable.items()
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def whole(report: Report, accept_assumptions: bool) -> dict[str, Any]:
    """The report of one model."""
    coverage = report.coverage
    return {
        "model": report.name,
        "sha256": report.sha256 or None,
        "edition": {"name": report.edition, "title": report.edition_title, "consolidated": report.consolidated},
        "verdict": report.verdict,
        "exit": report.exit_code(accept_assumptions),
        "partial": report.partial or None,
        "bound": dict(report.bound),
        "input_shapes": {name: list(shape) for name, shape in report.input_shapes},
        "open_inputs": {name: list(shape) for name, shape in report.open_inputs},
        "strict_versions": report.strict_versions,
        "tailoring": _tailoring(report),
        "deviations": _deviations(report),
        "coverage": asdict(coverage),
        "findings": [_finding(each) for each in report.findings],
        "counts": [
            {"rule": count.rule, "verdict": count.verdict, "reason": count.reason or None, "number": count.number}
            for count in report.counts
        ],
        "notes": list(report.notes),
        "rules": {slug: _rule(rule) for slug, rule in report.rules.items()},
    }


def _finding(finding: Finding) -> dict[str, Any]:
    where = finding.where
    return {
        "rule": finding.rule,
        "tags": [_tag(tag) for tag in finding.tags],
        "verdict": finding.verdict,
        "breaks_onnx": finding.breaks_onnx,
        "where": {
            "place": where.place,
            "kind": where.kind,
            "name": where.name,
            "operator": where.operator or None,
            "operator_set": where.version,
        },
        "message": finding.actual,
        "requires": finding.requires or None,
        "because_of": finding.cause or None,
        "operands": dict(finding.operands),
        "deviation": finding.deviation or None,
        "rewrites": [each.name for each in rewrites_of(finding)],
    }


def _tailoring(report: Report) -> dict[str, Any] | None:
    own = report.tailoring
    return None if own is None else {"file": own.file, "sha256": own.sha256, "name": own.name}


def _deviations(report: Report) -> dict[str, Any] | None:
    """The file, the date, and every record about the model."""
    applied = report.deviations
    return (
        None
        if applied is None
        else {
            "file": applied.file,
            "sha256": applied.sha256,
            "date": str(applied.date),
            "records": [
                {
                    "id": record.id,
                    "rule": record.rule,
                    "model": record.model,
                    "reason": record.reason,
                    "risk": record.risk,
                    "approver": record.approver,
                    "expires": str(record.expires),
                }
                for record in applied.records
            ],
        }
    )


def _tag(tag: Tag) -> dict[str, str]:
    return {"text": tag.text, "label": tag.label, "origin": tag.origin}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "class": rule.kind,
        "statement": rule.statement,
        "because": rule.because,
        "remedy": rule.remedy,
        "source": rule.source,
        "errata": list(rule.errata),
    }
