"""The first page of an evidence pack: what was checked, by what, why it is believed, and its limits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any
from urllib.parse import quote

from sonnx.base.escaping import escape
from sonnx.checker.report import Report
from sonnx.evidence.audit_document import AuditDocument, KnownProblem
from sonnx.evidence.objectives import standards
from sonnx.evidence.pack_parts import totals
from sonnx.prover.results import KINDS
from sonnx.report.html import code, link
from sonnx.report.html import page as whole_page
from sonnx.report.phrases import verdict_counts, verdict_phrase

GAPS = (
    ("rules_without_conforming_case", "rules without a conforming case"),
    ("rules_without_violating_case", "rules without a violating case"),
    ("rules_without_theorem", "rules without a theorem of their own"),
    ("operators_without_rules", "operators without rules"),
)

FIRST_FILES = (
    ("report.html", "every result with its place"),
    ("statement.html", "a page to print and sign"),
    ("objectives.html", "what the pack gives towards objectives of standards, and what remains"),
    ("argument.svg", "the argument as a drawing"),
    ("audit.json", "all data of this page"),
    ("report.json", "the report, for programs"),
    ("report.sarif", "the report, for code scanning"),
    ("argument.json", "the argument, for programs"),
    ("objectives.json", "the objectives, for programs"),
    ("requirements.reqif", "requirements, for DOORS and similar tools"),
    ("model.cdx.json", "bill of materials of the model"),
    ("manifest.json", "the SHA-256 of every file"),
    ("run.json", "folders, host and times, which differ between runs"),
)
"""The files that a reader opens first, each with what it holds."""


def page(about: AuditDocument, report: Report, files: Sequence[str]) -> str:
    """The whole page, ending in a line feed; it links the other files of the pack."""
    return whole_page(
        "evidence.html",
        title=f"sonnx: evidence on {report.name}",
        about=about,
        report=report,
        phrase=verdict_phrase(report),
        counts=verdict_counts(report),
        kinds=list(_kinds(about.rewrites.content.rewrites)) if about.rewrites is not None else [],
        totals=[
            (kind, str(number), KINDS.get(kind, "no solver has answered these queries"))
            for kind, number in totals(about.theorems).items()
        ],
        unexpected=sum(theorem.outcome == "unexpected" for theorem in about.theorems),
        gaps=GAPS,
        folders=list(_folders(files)),
        problems=list(_problems(about)),
        first_files=[(link(name), text) for name, text in FIRST_FILES if name in files],
    )


def _problems(about: AuditDocument) -> Iterator[tuple[str, list[KnownProblem]]]:
    """The known problems: first those of the operators of the model, then those of rules about every model."""
    general = {name for row in about.rules if "." not in row.rule for name in row.errata}
    parts = (
        ("about the operators that the model uses", [each for each in about.known_problems if each.id not in general]),
        ("about rules for every model", [each for each in about.known_problems if each.id in general]),
    )
    yield from (part for part in parts if part[1])


def _folders(files: Sequence[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The files of each folder of the pack, as names with their addresses."""
    folders: dict[str, list[tuple[str, str]]] = {}
    for file in files:
        folder, _, name = file.rpartition("/")
        folders.setdefault(folder, []).append((escape(name), quote(file.encode("utf-8", "surrogateescape"))))
    yield from folders.items()


def statement(about: AuditDocument, report: Report) -> str:
    """The page to print and sign: what is claimed, under which assumptions, and what is not."""
    return whole_page(
        "statement.html",
        title=f"sonnx: statement on {report.name}",
        about=about,
        report=report,
        phrase=verdict_phrase(report),
    )


def objectives(absent: Collection[str]) -> str:
    """The tables of objectives of standards, for a pack that has not the files named `absent`."""
    return whole_page("objectives.html", title="sonnx: objectives of standards", standards=standards(), absent=absent)


def _kinds(rewrites: Sequence[Any]) -> Iterator[tuple[str, ...]]:
    """A row for each kind of rewrite: how many, the rules it serves, why values stay equal, and what changes."""
    kinds: dict[str, list[Any]] = {}
    for rewrite in rewrites:
        kinds.setdefault(rewrite.kind, []).append(rewrite)
    for kind, alike in kinds.items():
        rules = sorted({rule for each in alike for rule in each.rules})
        proved = sorted({each.theorem for each in alike} - {None})
        changes = sorted({each.changes for each in alike} - {None})
        yield (
            code(escape(kind)), str(len(alike)), escape(", ".join(rules)), escape(", ".join(proved)) or "construction",
            escape("; ".join(changes)),
        )  # fmt: skip
