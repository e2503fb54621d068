"""Reading a report that `sonnx check --format json` wrote."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from sonnx.base.errors import UsageError
from sonnx.base.reported import as_written, from_written, json_keys
from sonnx.checker.report import Finding
from sonnx.profile.definitions import Rule
from sonnx.profile.index import rules_by_slug
from sonnx.report.check import CheckReport
from sonnx.report.json import CheckDocument, JudgedReport


def load_report(source: str | bytes | PathLike[str]) -> CheckReport:
    """The report on one model from the JSON of a check, with its renderings but without the drawing of the graph.

    Args:
        source: the JSON as a text or bytes, or the path of a file.

    Raises:
        UsageError: it is not the JSON of a check, or has another number of reports than one.
        OSError: the file cannot be read.
    """
    data = Path(source).read_bytes() if isinstance(source, PathLike) else source
    try:
        document = msgspec.json.decode(data, type=as_written(CheckDocument))
    except (msgspec.DecodeError, UnicodeError) as error:
        raise UsageError(f"this is not the JSON of sonnx check --format json: {error}") from None
    if len(document.reports) != 1:
        raise UsageError(f"the document has {len(document.reports)} reports, not one")
    [written] = document.reports
    shared = {
        key.attribute: from_written(key.type, getattr(written, key.name))
        for key in _keys()
        if key.attribute not in ("findings", "rules")
    }
    return CheckReport(
        **shared,
        findings=tuple(map(_finding, written.findings)),
        rules={slug: _rule(slug, rule) for slug, rule in written.rules.items()},
        open_inputs=tuple(written.open_inputs.items()),
    )


def _keys() -> list[Any]:
    return [key for key in json_keys(JudgedReport) if key.attribute in CheckReport.__struct_fields__]


def _finding(written: Any) -> Finding:
    finding: Finding = from_written(Finding, written)
    return replace(finding, operands=tuple(written.operands.items()))


def _rule(slug: str, written: Any) -> Rule:
    """The rule with the texts that the report has: those of another version of an operator differ."""
    known = rules_by_slug().get(slug) or Rule(slug, "node", "project", "", "", "", "")
    keys = [key for key in json_keys(Rule) if key.attribute in Rule.__struct_fields__]
    return replace(known, **{key.attribute: from_written(key.type, getattr(written, key.name)) for key in keys})
