"""The first page of an evidence pack: what was checked, by what, why it is believed, and its limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sonnx.base.escaping import escape, plural
from sonnx.checker.report import Report
from sonnx.evidence import pack_parts
from sonnx.evidence.pack_parts import totals
from sonnx.prover.results import KINDS
from sonnx.report.html_elements import Markup, code, colour, element, folding, join, plain, table, terms, whole_page
from sonnx.report.phrases import verdict_counts, verdict_phrase

Audit = Mapping[str, Any]


def page(about: Audit, report: Report) -> str:
    """The whole page, ending in a line feed."""
    return whole_page(f"sonnx: evidence on {report.name}", list(_parts(about, report)))


def _parts(about: Audit, report: Report) -> Iterator[Markup]:
    yield element("h1", f"sonnx {about['tool']['version']}: evidence pack")
    yield element(
        "div",
        element("h2", report.name),
        element("p", plain(verdict_phrase(report)), class_="answer"),
        element("p", verdict_counts(report), class_="soft"),
        class_=f"banner {colour(report.verdict)}",
    )
    yield element(
        "p",
        "Every result with its place: ",
        element("a", "report.html", href="report.html"),
        ", and for programs report.json and report.sarif. All data of this page: audit.json. SHA-256 of every file: "
        "manifest.json. Folders, host and times, which differ between runs: run.json. To rebuild the pack and "
        "compare: sonnx audit --verify with this folder.",
    )
    yield element("h3", "Limits of the claim")
    yield element("ul", *(element("li", each) for each in about["limits"]))
    yield element("h3", "What was checked, and by what")
    yield _identity(about)
    if about["rewrites"] is not None:
        yield element("h3", "How the model was rewritten")
        yield from pack_parts.section(about["rewrites"])
    yield element("h3", "Assumptions to be monitored at run time")
    yield _assumptions(about["assumptions"])
    yield element("h3", "Theorems")
    yield from _theorems(about)
    yield element("h3", "Known problems of the texts that touch what the model uses")
    yield _problems(about["known_problems"])
    yield element("h3", "Traceability")
    yield from _matrix(about)


def _identity(about: Audit) -> Markup:
    model, tool, edition = about["model"], about["tool"], about["edition"]
    rows: list[tuple[str, str, Markup]] = [
        ("model", code(model["file"]), code(model["sha256"])),
        ("model, canonical form", "docs/canonical-form.md", code(model["canonical_sha256"])),
    ]
    rows += [
        ("external data", code(each["file"]), code(each["sha256"]) if each["sha256"] else plain(each["not_read"]))
        for each in model["external_data"]
    ]
    rows += [("tool", f"sonnx {tool['version']}, {tool['files']} files", code(tool["sha256"]))]
    rows += [
        ("package", f"{each['name']} {each['version'] or 'is not installed'}", code(each["sha256"] or ""))
        for each in about["packages"]
    ]
    rows += [("edition", f"{edition['name']}, {name}", code(digest)) for name, digest in edition["files"].items()]
    command = terms((("command", code(" ".join(map(escape, about["command"])))), ("exit code", str(about["exit"]))))
    return join((command, table(("what", "which", "SHA-256"), rows)))


def _assumptions(found: Sequence[Mapping[str, Any]]) -> Markup:
    if not found:
        return element("p", "None: the verdict does not depend on values at run time.", class_="soft")
    rows = [
        (code(plain(each["place"])), each["rule"], code(plain(each["condition"])), plain(each["why"])) for each in found
    ]
    return table(("place", "rule", "condition", "why it is open"), rows)


def _theorems(about: Audit) -> Iterator[Markup]:
    found = about["theorems"]
    surprises = [each for each in found if each["outcome"] == "unexpected"]
    about_the_model = plural(len(found), "result is", "results are")
    yield element("p", f"{about_the_model} about the operators of the model and the built-in functions of its rules.")
    counted = [(kind, str(number), KINDS.get(kind, "no solver has answered these queries"))
               for kind, number in totals(found).items()]  # fmt: skip
    if counted:
        yield table(("kind", "results", "meaning"), counted)
    if surprises:
        yield element("p", f"{len(surprises)} have an unexpected result.", class_="fail")
    gaps = about["without"]["operators_without_theorems"]
    if gaps:
        yield element("p", "Operators that no text specifies have no theorems: ", join(map(code, gaps), ", "), ".")
    rows = [
        (
            code(each["id"]),
            each["kind"],
            element("span", each["status"], "" if each["confirmed"] or "not" in each["status"] else ", by one solver"),
            join((each["statement"], f"({each['bounds']})" if each["bounds"] else ""), " "),
            plural(len(each["obligations"]), "query", "queries"),
        )
        for each in found
    ]
    if rows:
        listed = table(("theorem", "kind", "status", "statement", "in theorems/"), rows)
        yield folding(f"All {len(found)} results", listed)


def _problems(found: Sequence[Mapping[str, Any]]) -> Markup:
    if not found:
        return element("p", "None is known.", class_="soft")
    rows = [(code(each["id"]), ", ".join(each["documents"]), each["defect"], each["here"]) for each in found]
    return folding(plural(len(found), "erratum", "errata"),
                   table(("erratum", "texts", "defect", "what the tool does"), rows))  # fmt: skip


def _matrix(about: Audit) -> Iterator[Markup]:
    gaps = about["without"]
    gaps_of = (
        ("rules_without_conforming_case", "rules without a conforming case"),
        ("rules_without_violating_case", "rules without a violating case"),
        ("rules_without_theorem", "rules without a theorem of their own"),
        ("operators_without_rules", "operators without rules"),
    )
    yield element(
        "ul", *(element("li", f"{len(gaps[key])} {what}: {', '.join(gaps[key]) or 'none'}") for key, what in gaps_of)
    )
    rows = [
        (
            code(each["rule"]),
            each["class"],
            join((each["source"], *each["tags"]), " "),
            "its condition" if each["decided_by"] else "a function",
            f"{len(each['conforming_cases'])} and {len(each['violating_cases'])}",
            str(len(each["theorems"])),
            ", ".join(f"{number} {verdict}" for verdict, number in each["answers"].items()) or "no subject",
        )
        for each in about["rules"]
    ]
    heads = ("rule", "class", "source", "decided by", "conforming and violating cases", "#theorems", "results here")
    yield folding(f"{len(rows)} rules", table(heads, rows))
