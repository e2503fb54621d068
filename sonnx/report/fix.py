"""What was rewritten, as text: each rewrite under the title of its kind, what is left over, and what was validated."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

from sonnx.base.escaping import escape
from sonnx.base.files import sha256
from sonnx.base.resources import tool_version
from sonnx.checker.report import Finding, Report, Verdict
from sonnx.report.phrases import VERDICT_PHRASES, grouped, place
from sonnx.rewriter.fix import FixResult
from sonnx.rewriter.fix_record import FORMAT
from sonnx.rewriter.rewrite import Rewrite, every_kind, title

SHOWN = 8
"""Rewrites of one kind that are printed; --format json and --report have all."""

TITLES = {"bound-symbol": "Bind symbolic dimensions"}


def render(fixed: FixResult, output: str, number: int = SHOWN) -> str:
    """The whole text, ending in a line feed; `output` says what became of the new file."""
    blocks = [f"{escape(fixed.before.name)}: {headline(fixed)}"]
    blocks += ["\n".join(_kind(*each, number)) for each in _kinds(fixed.rewrites)]
    blocks += ["\n".join(_left(fixed))] if fixed.after.roots else []
    blocks.append("\n".join((*_summary(fixed), output)))
    return "\n\n".join(blocks) + "\n"


def headline(fixed: FixResult) -> str:
    """Findings before and after, and the verdict on the new file."""
    before, after = len(fixed.before.roots), len(fixed.after.roots)
    many = "1 rewrite" if len(fixed.rewrites) == 1 else f"{len(fixed.rewrites)} rewrites"
    said = VERDICT_PHRASES[fixed.after.verdict]
    return f"{many}, findings {before} before and {after} after: it {said} (edition {fixed.after.edition})"


def _kinds(rewrites: Iterable[Rewrite]) -> list[tuple[str, list[Rewrite]]]:
    found: dict[str, list[Rewrite]] = {}
    for each in rewrites:
        found.setdefault(each.kind, []).append(each)
    return list(found.items())


def _kind(kind: str, rewrites: Sequence[Rewrite], number: int) -> Iterator[str]:
    modules = every_kind()
    called = TITLES.get(kind) or title(modules[kind])
    rules = sorted({rule for each in rewrites for rule in each.rules})
    yield f"{called} ({len(rewrites)})" + (f", for {', '.join(rules)}" if rules else "")
    theorems = sorted({each.theorem for each in rewrites if each.theorem})
    if theorems:
        yield f"  the values stay by {', '.join(theorems)}: sonnx prove --select {theorems[0]}"
    yield from (f"  note: {escape(changes)}" for changes in sorted({each.changes for each in rewrites} - {""})[:number])
    for each in rewrites[:number]:
        yield f"  {place(each.where)}"
        yield f"    - {each.before}"
        yield f"    + {each.after}"
    if len(rewrites) > number:
        yield f"  and {len(rewrites) - number} more (--all prints them)"


def _left(fixed: FixResult) -> Iterator[str]:
    yield "Left over:"
    for findings in grouped(fixed.after.roots):
        first, rule = findings[0], fixed.after.rules[findings[0].rule]
        yield f"  {first.verdict} {first.rule} ({_places(findings)}): {rule.remedy}"
        for reason, which in reasons(findings, fixed).items():
            yield f"    {place(which[0].where)}{_more(which)}: {reason}"


def reasons(findings: Iterable[Finding], fixed: FixResult) -> dict[str, list[Finding]]:
    """The findings by what a person must know to act on them: where a shape is missing, why it is."""
    found: dict[str, list[Finding]] = {}
    for each in findings:
        reason = fixed.left.get(each.where.name) if each.where.kind == "value" else None
        found.setdefault(reason or each.actual, []).append(each)
    return found


def _places(findings: Sequence[Finding]) -> str:
    return "1 place" if len(findings) == 1 else f"{len(findings)} places"


def _more(findings: Sequence[Finding]) -> str:
    return f" and {len(findings) - 1} more" if len(findings) > 1 else ""


def _summary(fixed: FixResult) -> Iterator[str]:
    yield f"findings before: {counted(fixed.before)}"
    yield f"findings after:  {counted(fixed.after)}"
    if fixed.rewrites:
        yield fixed.validation.sentence


def counted(report: Report) -> str:
    """The findings by rule, the most frequent first."""
    found = Counter(
        each.rule if each.verdict is Verdict.FAIL else f"{each.rule} {each.verdict}" for each in report.roots
    )
    return ", ".join(f"{number} {rule}" for rule, number in found.most_common()) or "none"


# ------------------------------------------------------------------
# The record of a rewriting as JSON: what was done, why it changes no value, and which file came of which.
#
# sonnx/report/rewrites.schema.json describes the keys.


def render_json(fixed: FixResult, source: str, code: int, output: str | None) -> str:
    """One document ending in a line feed; `source` is the SHA-256 of the original, `output` the file written."""
    document = {
        "format": FORMAT,
        "tool": {"name": "sonnx", "version": tool_version()},
        "exit": code,
        "edition": fixed.after.edition,
        "original": {"model": PurePath(fixed.before.name).name, "sha256": source, **_report(fixed.before)},
        "rewritten": {"model": output and PurePath(output).name, "sha256": sha256(fixed.data), **_report(fixed.after)},
        "rewrites": [_rewrite(each) for each in fixed.rewrites],
        "left": [_left_json(findings, fixed) for findings in grouped(fixed.after.roots)],
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


def _left_json(findings: Any, fixed: FixResult) -> dict[str, Any]:
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
