"""The record that `sonnx fix --report` writes, as JSON: which file came of which, what was done, and why.

`sonnx/report/rewrites.schema.json` describes the file.  `render` writes it; `read` reads it for the evidence pack, in
classes whose fields have the names of the file.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from sonnx.base.files import sha256
from sonnx.base.resources import tool_version
from sonnx.checker.report import Report
from sonnx.checker.verdicts import Verdict
from sonnx.profile.toml_files import JSON, CatalogueError, Table
from sonnx.profile.toml_files import read_file as read_project_file

if TYPE_CHECKING:
    from sonnx.rewriter.rewrite import AppliedRewrite
    from sonnx.rewriter.rewriting import RemainingFindings, Rewriting
    from sonnx.rewriter.validation import Validation

FORMAT = 1
"""The version of the format that is written and read."""

# ------------------------------------------------------------------ writing


def render(result: Rewriting, output: str | None = None) -> str:
    """One document ending in a line feed; `output` is the file that was written, None for none."""
    new = sha256(result.model_bytes())
    document = {
        "format": FORMAT,
        "tool": {"name": "sonnx", "version": tool_version()},
        "exit": result.after.exit_code(),
        "edition": result.after.edition,
        "original": _summary(PurePath(result.before.name).name, result.source_sha256, result.before),
        "rewritten": _summary(output and PurePath(output).name, new, result.after),
        "rewrites": list(map(_applied, result.rewrites)),
        "left": list(map(_remaining, result.remaining)),
        "validation": _validation(result.validation),
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _summary(name: str | None, digest: str, report: Report) -> dict[str, Any]:
    found = Counter((each.rule, each.verdict) for each in report.roots)
    findings = [{"rule": rule, "verdict": verdict, "number": number} for (rule, verdict), number in found.items()]
    return {"model": name, "sha256": digest, "verdict": report.verdict, "findings": findings}


def _applied(each: AppliedRewrite) -> dict[str, Any]:
    where = each.where
    return {
        "kind": each.name,
        "rules": list(each.rules),
        "where": {"place": where.place, "kind": where.kind, "name": where.name, "operator": where.operator or None},
        "before": each.before,
        "after": each.after,
        "theorem": each.theorem or None,
        "changes": each.changes or None,
    }


def _remaining(each: RemainingFindings) -> dict[str, Any]:
    return {
        "rule": each.rule.slug,
        "verdict": each.verdict,
        "number": len(each.findings),
        "remedy": each.rule.remedy,
        "reasons": [
            {"reason": reason, "places": [finding.where.place for finding in findings]}
            for reason, findings in each.reasons.items()
        ],
    }


def _validation(validation: Validation) -> dict[str, Any]:
    return {
        "summary": validation.sentence,
        "done": validation.complete,
        "requested": validation.requested,
        "inputs": validation.inputs,
        "outputs": validation.outputs,
        "elements": validation.elements,
        "bits": validation.bitwise,
        "without_value": validation.without_value,
        "since": list(validation.after),
        "left_out": list(validation.not_executable),
        "because": validation.because or None,
        "beyond": list(validation.changing_values),
        "open": validation.missing or None,
    }


# ------------------------------------------------------------------ reading


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """The original or the rewritten model: base name ("" where no file was written), SHA-256, verdict, and findings."""

    model: str
    sha256: str
    verdict: Verdict
    findings: int


@dataclass(frozen=True, slots=True)
class RecordedRewrite:
    """One place that a rewrite changed; `kind` is the name of the rewrite, `theorem` and `changes` may be empty."""

    kind: str
    rules: tuple[str, ...]
    place: str
    name: str
    operator: str
    before: str
    after: str
    theorem: str
    changes: str


@dataclass(frozen=True, slots=True)
class RecordedFindings:
    """What a rule still reports, its remedy, and each reason with its places."""

    rule: str
    verdict: Verdict
    remedy: str
    reasons: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A record; `summary` states what was compared between both models, `done` whether that was all."""

    file: str
    sha256: str
    tool: str
    edition: str
    original: ModelSummary
    rewritten: ModelSummary
    rewrites: tuple[RecordedRewrite, ...]
    left: tuple[RecordedFindings, ...]
    done: bool
    summary: str


def read(path: str | os.PathLike[str]) -> Record:
    """The record in a file.

    Raises:
        UsageError: the file cannot be read, or is not such a record.
    """
    return read_project_file(path, _record, JSON)


def _record(table: Table, file: str, digest: str) -> Record:
    found = table.take("format", int)
    if found != FORMAT:
        raise CatalogueError(f"the record has format {found}; this version of sonnx reads format {FORMAT}")
    tool = _inner(table, "tool")
    if tool.take("name", str) != "sonnx":
        raise CatalogueError(f"{tool.place}.name is not sonnx")
    version = tool.take("version", str)
    tool.end()
    table.take("exit", int)
    compared = _inner(table, "validation")
    made = Record(
        file,
        digest,
        version,
        table.take("edition", str),
        _read_summary(_inner(table, "original")),
        _read_summary(_inner(table, "rewritten")),
        tuple(map(_read_rewrite, _listed(table, "rewrites"))),
        tuple(map(_read_findings, _listed(table, "left"))),
        compared.take("done", bool),
        compared.take("summary", str),
    )
    for key in ("requested", "inputs", "outputs", "elements", "without_value"):
        compared.take(key, int)
    compared.take("bits", bool)
    for key in ("since", "left_out", "beyond"):
        _names(compared, key)
    for key in ("because", "open"):
        _text(compared, key)
    compared.end()
    return made


def _read_summary(table: Table) -> ModelSummary:
    number = sum(map(_number, _listed(table, "findings")))
    made = ModelSummary(_text(table, "model"), table.take("sha256", str), _verdict(table), number)
    table.end()
    return made


def _number(table: Table) -> int:
    table.take("rule", str)
    _verdict(table)
    number = table.take("number", int)
    table.end()
    return number


def _read_rewrite(table: Table) -> RecordedRewrite:
    where = _inner(table, "where")
    where.take("kind", str)
    made = RecordedRewrite(
        table.take("kind", str),
        _names(table, "rules"),
        where.take("place", str),
        where.take("name", str),
        _text(where, "operator"),
        table.take("before", str),
        table.take("after", str),
        _text(table, "theorem"),
        _text(table, "changes"),
    )
    where.end()
    table.end()
    return made


def _read_findings(table: Table) -> RecordedFindings:
    table.take("number", int)
    reasons = tuple(map(_reason, _listed(table, "reasons")))
    made = RecordedFindings(table.take("rule", str), _verdict(table), table.take("remedy", str), reasons)
    table.end()
    return made


def _reason(table: Table) -> tuple[str, tuple[str, ...]]:
    made = table.take("reason", str), _names(table, "places")
    table.end()
    return made


# Parts of a table


def _inner(table: Table, key: str) -> Table:
    return Table(table.take(key, dict), f"{table.place}.{key}")


def _listed(table: Table, key: str) -> Iterator[Table]:
    items: list[Any] = table.take(key, list)
    for index, each in enumerate(items):
        yield Table(each, f"{table.place}.{key}[{index}]")


def _names(table: Table, key: str) -> tuple[str, ...]:
    if key not in table.data:
        raise CatalogueError(f"{table.place} lacks {key}")
    return table.names(key)


def _text(table: Table, key: str) -> str:
    """A string that may be null, which then is ""."""
    if key in table.data and table.data[key] is None:
        del table.data[key]
        return ""
    return table.take(key, str)


def _verdict(table: Table) -> Verdict:
    written = table.take("verdict", str)
    if written not in {each.value for each in Verdict}:
        raise CatalogueError(f"{table.place}.verdict is {written!r}, which is not a verdict")
    return Verdict(written)
