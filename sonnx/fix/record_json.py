"""The record of a rewriting as JSON: what was done, why it changes no value, and which file came of which.

sonnx/report/rewrites.schema.json describes the keys.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import PurePath
from typing import Any

from sonnx.files import sha256
from sonnx.fix.fixing import Fixed
from sonnx.fix.record import Rewrite
from sonnx.fix.text import reasons
from sonnx.report.json import tool_version
from sonnx.report.text import grouped
from sonnx.rewrites import FORMAT
from sonnx.verdict import Report


def render(fixed: Fixed, source: str, code: int, output: str | None) -> str:
    """One document ending in a line feed; `source` is the SHA-256 of the original, `output` the file written."""
    document = {
        "format": FORMAT,
        "tool": {"name": "sonnx", "version": tool_version()},
        "exit": code,
        "edition": fixed.after.edition,
        "original": {"model": PurePath(fixed.before.name).name, "sha256": source, **_report(fixed.before)},
        "rewritten": {"model": output and PurePath(output).name, "sha256": sha256(fixed.data), **_report(fixed.after)},
        "rewrites": [_rewrite(each) for each in fixed.rewrites],
        "left": [_left(findings, fixed) for findings in grouped(fixed.after.roots)],
        "validation": {
            "said": fixed.validation.sentence,
            "done": fixed.validation.done,
            "asked": fixed.validation.asked,
            "inputs": fixed.validation.inputs,
            "outputs": fixed.validation.outputs,
            "elements": fixed.validation.elements,
            "bits": fixed.validation.bits,
            "without_value": fixed.validation.without_value,
            "since": list(fixed.validation.since),
            "left_out": list(fixed.validation.left_out),
            "because": fixed.validation.because or None,
            "beyond": list(fixed.validation.beyond),
            "open": fixed.validation.open or None,
        },
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _report(report: Report) -> dict[str, Any]:
    found = Counter((each.rule, each.verdict) for each in report.roots)
    return {
        "verdict": report.verdict,
        "findings": [{"rule": rule, "verdict": verdict, "number": number} for (rule, verdict), number in found.items()],
    }


def _rewrite(made: Rewrite) -> dict[str, Any]:
    where = made.where
    return {
        "kind": made.kind,
        "rules": list(made.rules),
        "where": {"place": where.place, "kind": where.kind, "name": where.name, "operator": where.operator or None},
        "before": made.before,
        "after": made.after,
        "theorem": made.theorem or None,
        "changes": made.changes or None,
    }


def _left(findings: Any, fixed: Fixed) -> dict[str, Any]:
    rule = fixed.after.rules[findings[0].rule]
    return {
        "rule": rule.slug,
        "verdict": findings[0].verdict,
        "number": len(findings),
        "remedy": rule.remedy,
        "reasons": [
            {"reason": reason, "places": [each.where.place for each in which]}
            for reason, which in reasons(findings, fixed).items()
        ],
    }
