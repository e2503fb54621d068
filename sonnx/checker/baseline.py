"""Which findings of a check an earlier report has: new ones, unchanged ones, and those that are gone.

A finding is the same where its rule, the kind of its subject and the graph are the same, and the subject has the same
name; one without a name is known by its operator and its first output, and by what the model states.  Numbers of nodes
do not count, so that a node that is inserted changes no other finding.  Findings that are alike are counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape, quote
from sonnx.base.files import sha256
from sonnx.base.reported import json_data
from sonnx.checker.report import NEW, UNCHANGED, Baseline, GoneFinding, Report
from sonnx.checker.verdicts import Verdict, Where

RANKS = {Verdict.DEVIATED: 0, Verdict.ASSUMED: 1, Verdict.NOT_CHECKED: 2, Verdict.UNDECIDED: 2, Verdict.FAIL: 3}
"""How bad a verdict is: a finding that has become worse is new."""


class PastFinding(Struct, frozen=True):
    """A finding of an earlier report, as JSON has it."""

    rule: str
    verdict: Verdict
    where: Mapping[str, Any]
    message: str
    operands: Mapping[str, str] = {}


class PastReport(Struct, frozen=True):
    """An earlier report on a model."""

    name: str = field(name="model")
    findings: tuple[PastFinding, ...]


class PastReports(Struct, frozen=True):
    """The reports of an earlier check."""

    reports: tuple[PastReport, ...]


def compared(reports: Sequence[Report], path: Path) -> list[Report]:
    """The reports with the states of their findings since those of a file that `sonnx check --format json` wrote.

    A report belongs to that on the model of the same name; where both checks are about one model, to that.

    Raises:
        UsageError: the file is not a report of a check.
        OSError: it cannot be read.
    """
    data = path.read_bytes()
    try:
        past = msgspec.json.decode(data, type=PastReports).reports
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise UsageError(
            f"{quote(str(path))} is not a JSON report: sonnx check MODEL --format json --output FILE writes one"
        ) from None
    by_name = {report.name: report for report in past}
    alone = past[0] if len(past) == len(reports) == 1 else None
    return [
        _compared(report, alone or by_name.get(json_data(report)["model"]), escape(str(path)), sha256(data))
        for report in reports
    ]


def _compared(report: Report, before: PastReport | None, file: str, digest: str) -> Report:
    left = list(before.findings if before is not None else ())
    found = [PastFinding(**_parts(json_data(finding))) for finding in report.findings]
    states = [""] * len(found)
    for key in (_exact, _named):
        waiting: dict[Any, list[PastFinding]] = {}
        for old in left:
            waiting.setdefault(key(old), []).append(old)
        for number, each in enumerate(found):
            known = waiting.get(key(each), []) if not states[number] and key(each) is not None else []
            same = next((past for past in known if RANKS[past.verdict] >= RANKS[each.verdict]), None)
            if same is not None:
                states[number] = UNCHANGED
                known.remove(same)
        left = [past for alike in waiting.values() for past in alike]
    judged = {count.rule for count in report.counts}
    gone = tuple(_gone(old) for old in left if not report.partial or old.rule in judged)
    marked = tuple(replace(finding, state=state or NEW) for finding, state in zip(report.findings, states, strict=True))
    new = states.count("") + sum(report.unlisted.values())
    return replace(report, findings=marked, baseline=Baseline(file, digest, new, states.count(UNCHANGED), gone))


def _parts(finding: Mapping[str, Any]) -> dict[str, Any]:
    parts = {name: finding[name] for name in PastFinding.__struct_fields__}
    return parts | {"verdict": Verdict(parts["verdict"])}


def _exact(finding: PastFinding) -> Any:
    where = finding.where
    subject = (where.get("kind"), where.get("name"), where.get("operator"), where.get("output"), _graph(where))
    return finding.rule, subject, finding.message, tuple(sorted(finding.operands.items()))


def _named(finding: PastFinding) -> Any:
    """The key of a subject that has a name; None where it has none."""
    where = finding.where
    return (finding.rule, where.get("kind"), where["name"], _graph(where)) if where.get("name") else None


def _graph(where: Mapping[str, Any]) -> str:
    """The graph of a place, without the numbers of nodes."""
    return re.sub(r"\[\d+\]", "", str(where.get("place", "")).rpartition("/")[0])


def _gone(finding: PastFinding) -> GoneFinding:
    where = finding.where
    kind = where.get("kind")
    place = Where(
        str(where.get("place") or ""), kind or "model", str(where.get("name") or ""), where.get("operator") or ""
    )
    return GoneFinding(finding.rule, finding.verdict, place, finding.message)
