"""A file of deviations to be filled in, with all failures that can be justified (docs/deviations.md).

Reason, risk and approver are empty and the date is past; a file with an empty reason is refused: printing it justifies
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from sonnx.base.escaping import escape
from sonnx.checker.deviation_records import FIRST_DAY
from sonnx.checker.report import Finding, Report
from sonnx.checker.verdicts import Verdict
from sonnx.profile.toml_files import basic_string
from sonnx.report.check_run import CheckRun
from sonnx.report.phrases import headline

HEAD = """\
# Deviations to be filled in: reason, risk, approver, and the last day in `expires`. Delete what you do not justify.
# docs/deviations.md says what each key means.
"""


def render(run: CheckRun) -> str:
    """A record for each restriction that fails in each model, ending in a line feed."""
    numbers = count(1)
    blocks = [f"# {escape(name)}: unreadable" for name in run.unreadable]
    for report in run.reports:
        blocks += [
            f"# {headline(report)}",
            *_unlisted(report),
            *(_record(findings, report, next(numbers)) for findings in _permitted(report)),
        ]
    return HEAD + "\n".join(f"\n{block}" for block in blocks) + "\n"


def _unlisted(report: Report) -> Iterator[str]:
    """A comment for each restriction that fails at more places than the report lists."""
    for (rule, verdict), number in report.unlisted.items():
        if verdict is Verdict.FAIL and report.rules[rule].kind == "restriction":
            whole = number + sum((finding.rule, finding.verdict) == (rule, verdict) for finding in report.findings)
            yield f"# {number} of {whole} failures of {rule} are missing here: --limit findings={whole} lists all"


def _permitted(report: Report) -> Iterator[list[Finding]]:
    by_rule: dict[str, list[Finding]] = {}
    for finding in report.findings:
        permitted = report.rules[finding.rule].kind == "restriction" and not finding.breaks_onnx
        if finding.verdict is Verdict.FAIL and permitted:
            by_rule.setdefault(finding.rule, []).append(finding)
    yield from by_rule.values()


def _record(findings: Sequence[Finding], report: Report, number: int) -> str:
    pairs = dict.fromkeys((finding.where.place, finding.actual) for finding in findings)
    lines = [
        "[[deviation]]",
        f'id       = "D{number}"',
        f'rule     = "{findings[0].rule}"',
        f'model    = "{report.sha256}"',
        'reason   = ""',
        'risk     = ""',
        'approver = ""',
        f"expires  = {FIRST_DAY}",
        "findings = [",
        *(f"  {{ place = {basic_string(place)}, states = {basic_string(actual)} }}," for place, actual in pairs),
        "]",
    ]
    return "\n".join(lines)
