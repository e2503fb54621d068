"""HTML: pages for people, without network access or scripts, for screens, dark screens and paper; ASCII only.

The templates are in `templates/`; jinja2 escapes every value, so no name in a model can act as markup.  A page begins
with what is read in ten seconds: the verdict, how much was checked, and what was not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sonnx.base.escaping import escape, escape_once, plural
from sonnx.base.resources import tool_version
from sonnx.checker.report import Finding, Report, reason_without_verdict
from sonnx.checker.verdicts import Verdict
from sonnx.profile.definitions import show_tags
from sonnx.report.document import CaseResult, Criterion, Document, Standing
from sonnx.report.graph_drawing import anchors, drawing
from sonnx.report.phrases import (
    fix_command,
    grouped,
    justifications,
    meaning,
    place,
    project_files,
    rewrites_of,
    rule_page,
    verdict_counts,
    verdict_phrase,
)

TEMPLATES = Path(__file__).with_name("templates")
STANDING_COLOURS = {
    Standing.BAD: "fail",
    Standing.OPEN: "open",
    Standing.ASSUMED: "open",
    Standing.NOTE: "open",
    Standing.SKIPPED: "soft",
}
MAX_OPEN_CASES = 40
"""Tables of documents with more cases are folded on a screen."""
MAX_OPEN_PLACES = 12
"""A part of the page with more places is folded on a screen."""
MAX_FILE_NAME = 60
"""Characters of a model's name in the name of its page."""


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=lambda value: value if isinstance(value, Markup) else escape_once(str(value)),
    )  # fmt: skip
    made.filters |= {"name": escape, "plural": plural, "slug": slug, "standing": standing_colour, "colour": colour}
    return made


def page(template: str, **context: Any) -> str:
    """A page from a template of the folder, ASCII only, ending in a line feed."""
    known = {"version": tool_version(), "max_open": MAX_OPEN_PLACES, "max_cases": MAX_OPEN_CASES}
    text = _templates().get_template(template).render(known | context)
    return text.rstrip().encode("ascii", "xmlcharrefreplace").decode("ascii") + "\n"


def code(text: str) -> Markup:
    """Text of a file, or an expression of a rule; `text` is printable."""
    return Markup("<code>{}</code>").format(text)


def slug(text: str) -> str:
    """A verdict as a part of the name of a style."""
    return text.replace(" ", "-")


def colour(verdict: Verdict) -> str:
    """The style of a verdict: fail, open or pass."""
    if verdict is Verdict.FAIL:
        return "fail"
    return "pass" if verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE, Verdict.DEVIATED) else "open"


def standing_colour(standing: Standing) -> str:
    """The style of a standing."""
    return STANDING_COLOURS.get(standing, "pass")


@dataclass(frozen=True, slots=True)
class Filter:
    """The verdicts and criteria that a reader can choose, each with the number of its results."""

    verdicts: tuple[tuple[str, int], ...]
    criteria: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, results: Iterable[tuple[str, str]]) -> Filter:
        """The filter of results, each a criterion and a verdict."""
        listed = list(results)
        verdicts, criteria = Counter(verdict for _, verdict in listed), Counter(name for name, _ in listed)
        return cls(tuple(verdicts.items()), tuple(criteria.most_common()))

    def marks(self, criteria: Iterable[str], verdicts: Iterable[str]) -> str:
        """The styles by which the filter finds a part of the page; one verdict only can hide it."""
        known = {name: number for number, (name, _) in enumerate(self.criteria)}
        found = dict.fromkeys(verdicts)
        hidden_by = [f"is-{slug(verdict)}" for verdict in found] if len(found) == 1 else []
        return " ".join([*(f"r{known[name]}" for name in dict.fromkeys(criteria) if name in known), *hidden_by])


@dataclass(frozen=True, slots=True)
class Group:
    """The results of one criterion with one verdict."""

    name: str
    verdict: str
    kind: str
    places: int
    statement: str
    details: Sequence[tuple[str, str]]
    column: str
    rows: Sequence[tuple[str, str]]
    """Places with a message of their own."""
    repeated: Sequence[tuple[str, Sequence[str]]] = ()
    """Messages of several places, with the places."""


# ------------------------------------------------------------------ checks


def render(
    reports: Sequence[Report],
    unreadable: Mapping[str, str],
    code: int,
    accept_assumptions: bool = False,
    docs: str = "",
) -> str:
    """All reports of one run as one page, ending in a line feed."""
    names = ", ".join([*(report.name for report in reports), *unreadable])
    several = len(reports) + len(unreadable) > 1
    return page(
        "check.html",
        title=f"sonnx: {names}" if len(names) <= 80 else f"sonnx: {len(reports) + len(unreadable)} files",
        contents=contents(reports, unreadable, [f"#model-{n}" for n in range(len(reports))]) if several else (),
        unreadable=_unreadable(unreadable),
        models=[_model(report, f"model-{number}", docs) for number, report in enumerate(reports)],
        code=code,
    )


def render_folder(
    reports: Sequence[Report], unreadable: Mapping[str, str], code: int, docs: str = ""
) -> dict[str, str]:
    """The reports of one run as an index and a page for each model, by file name."""
    names = [f"{number:03}-{_file_name(report.name)}.html" for number, report in enumerate(reports, 1)]
    title = f"sonnx: {len(reports) + len(unreadable)} files"
    listed = contents(reports, unreadable, names)
    index = page("check.html", title=title, contents=listed, unreadable=_unreadable(unreadable), models=(), code=code)
    pages = {
        name: render([report], {}, report.exit_code(), docs=docs) for name, report in zip(names, reports, strict=True)
    }
    return {"index.html": index, **pages}


def _file_name(name: str) -> str:
    stem = Path(name).stem[:MAX_FILE_NAME]
    return "".join(character if character.isascii() and character.isalnum() else "-" for character in stem) or "model"


def contents(reports: Sequence[Report], unreadable: Mapping[str, str], links: Sequence[str]) -> list[tuple[str, ...]]:
    """A row for each model: its name with a link, verdict, rules evaluated and failures."""
    rows: list[tuple[str, ...]] = [
        (
            Markup('<a href="{}">{}</a>').format(link, escape(report.name)),
            badge(str(report.verdict), colour(report.verdict)),
            f"{report.coverage.evaluated} of {report.coverage.applicable}",
            str(report.number(Verdict.FAIL)),
        )
        for report, link in zip(reports, links, strict=True)
    ]
    return rows + [(escape(name), badge(word, "fail"), "", "") for name, word, _ in _unreadable(unreadable)]


def badge(word: str, kind: str) -> Markup:
    """A coloured word."""
    return Markup('<span class="badge {}">{}</span>').format(kind, word)


def _unreadable(sentences: Mapping[str, str]) -> list[tuple[str, str, str]]:
    return [(name, reason_without_verdict(reason).word, escape(reason)) for name, reason in sentences.items()]


def _model(report: Report, anchor: str, docs: str) -> dict[str, Any]:
    """What the template shows of one report."""
    failing = [finding for finding in report.roots if finding.verdict is Verdict.FAIL]
    mendable = sum(bool(rewrites_of(finding)) for finding in failing)
    found = Filter.of((finding.rule, str(finding.verdict)) for finding in report.roots)
    records = report.deviations.records if report.deviations else ()
    used = Counter(finding.deviation for finding in report.findings)
    return {
        "report": report,
        "anchor": anchor,
        "kind": "open" if report.partial and report.verdict is Verdict.PASS else colour(report.verdict),
        "phrase": verdict_phrase(report),
        "counts": verdict_counts(report),
        "tiles": list(_tiles(report, failing)),
        "failures": len(failing),
        "mendable": mendable,
        "command": fix_command(report)[0] if mendable else "",
        "gaps": list(_gaps(report)),
        "filter": found,
        "groups": [_group(findings, report, docs) for findings in grouped(report.roots)],
        "drawing": drawing(report, anchor, found),
        "places": list(_places(report, anchors(report, anchor) if report.outline else {}, found)),
        "assumptions": [
            (place(each.where), code(each.requires) + _operands(each), each.actual)
            for each in report.findings
            if each.verdict is Verdict.ASSUMED
        ],
        "deviations": [
            (each.id, code(each.rule), used[each.id], each.reason, each.risk, each.approver, each.expires)
            for each in records
        ],
        "rules": list(_rules(report)),
        "identity": list(_identity(report)),
    }


def _tiles(report: Report, failing: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    coverage, rules = report.coverage, len({finding.rule for finding in failing})
    yield f"{rules}", f"{'rule fails' if rules == 1 else 'rules fail'}, at {plural(len(failing), 'place')}"
    known = f"applicable rules evaluated everywhere; {coverage.known} known"
    yield f"{coverage.evaluated} of {coverage.applicable}", known
    yield f"{coverage.nodes - coverage.nodes_in_profile} of {coverage.nodes}", "nodes outside the profile"
    yield f"{coverage.nodes_not_checked} of {coverage.nodes}", "nodes not checked: no rules of the operator yet"


def _gaps(report: Report) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """What was not checked or not decided: sentences, each with names and their numbers."""
    if report.partial:
        yield "Only some rules were checked", [(report.partial, 0)]
    unchecked = [each for each in report.findings if each.verdict is Verdict.NOT_CHECKED]
    operators = Counter(each.where.operator for each in unchecked if each.where.kind == "node")
    if operators:
        listed = [(escape(name) or "(none)", number) for name, number in sorted(operators.items())]
        yield "Nodes of operators whose rules are not written yet", listed
    for sentence, counted in (
        ("Not checked", Counter(each.rule for each in unchecked if each.where.kind != "node")),
        ("Undecided", Counter(each.rule for each in report.roots if each.verdict is Verdict.UNDECIDED)),
        ("Undecided only because of", Counter(each.cause for each in report.findings if each.cause)),
    ):
        if counted:
            yield sentence, sorted(counted.items())
    assumed = report.number(Verdict.ASSUMED)
    if assumed:
        yield f"{plural(assumed, 'result')} open until run time: see Assumptions", []


def _group(findings: Sequence[Finding], report: Report, docs: str) -> Group:
    first, rule = findings[0], report.rules[findings[0].rule]
    alike: dict[str, list[Finding]] = {}
    for finding in findings:
        alike.setdefault(finding.actual, []).append(finding)
    single = [found[0] for found in alike.values() if len(found) == 1]
    return Group(
        first.rule, str(first.verdict), colour(first.verdict), len(findings), rule.statement,
        list(_rule_details(findings, report, docs)), "what the model states",
        [(place(each.where), code(each.actual) + _operands(each)) for each in single],
        [
            (message, [Markup("{}{}").format(place(each.where), _operands(each)) for each in found])
            for message, found in alike.items()
            if len(found) > 1
        ],
    )  # fmt: skip


def _rule_details(findings: Sequence[Finding], report: Report, docs: str) -> Iterator[tuple[str, str]]:
    first, rule = findings[0], report.rules[findings[0].rule]
    fails = first.verdict is Verdict.FAIL
    if fails:
        breaks = sum(each.breaks_onnx for each in findings)
        some = f" at {plural(breaks, 'place')}, outside the profile at the others" if breaks < len(findings) else ""
        yield "meaning", f"not valid ONNX{some}" if breaks else meaning(first, rule)
    yield from justifications(findings, report)
    if first.requires != rule.statement and first.verdict is not Verdict.NOT_CHECKED:
        yield "assumes" if first.verdict is Verdict.ASSUMED else "requires", code(first.requires)
    if fails:
        yield "because", rule.because
        yield "remedy", rule.remedy
        yield "sonnx fix", "; ".join(dict.fromkeys(each.title for found in findings for each in rewrites_of(found)))
    yield "source", f"{rule.source} {show_tags(first.tags)}"
    if rule.kind != "project":
        address = rule_page(docs, first.rule)
        link = Markup(' <a href="{}">{}</a>').format(address, address) if address else ""
        yield "more", code(f"sonnx explain {first.rule}") + link


def _operands(finding: Finding) -> Markup:
    """The value of the model for each parameter name in a rule."""
    if not finding.operands:
        return Markup("")
    pairs = Markup(", ").join(code(letter) + " is " + code(escape(name)) for letter, name in finding.operands)
    return Markup('<div class="soft">{}</div>').format(pairs)


def _places(report: Report, links: Mapping[str, str], known: Filter) -> Iterator[dict[str, Any]]:
    """Each place in the file with all its findings, folded ones included; some have an anchor."""
    found_at: dict[str, list[Finding]] = {}
    for finding in report.findings:
        found_at.setdefault(finding.where.place, []).append(finding)
    for at, found in found_at.items():
        node = next((each for each in found if each.where.kind == "node"), found[0])
        rules = ", ".join(dict.fromkeys(each.rule for each in found))
        yield {
            "heading": Markup('{}<span class="soft">: {}</span>').format(place(node.where), rules),
            "marks": known.marks((each.rule for each in found), (str(each.verdict) for each in found)),
            "anchor": links.get(at, ""),
            "rows": [
                (known.marks([each.rule], [str(each.verdict)]), each.verdict, colour(each.verdict), each.rule,
                 code(each.actual) + _operands(each), each.cause)
                for each in found
            ],
        }  # fmt: skip


def _rules(report: Report) -> Iterator[tuple[str, ...]]:
    counted: dict[str, list[Markup]] = {}
    for count in report.counts:
        text = f"{count.number} {count.verdict}" + (f" ({count.reason})" if count.reason else "")
        shown = Markup('<span class="{}">{}</span>').format(colour(count.verdict), text)
        counted.setdefault(count.rule, []).append(shown)
    for name, counts in counted.items():
        yield code(name), report.rules[name].statement, Markup(", ").join(counts)


def _identity(report: Report) -> Iterator[tuple[str, str]]:
    bound = ", ".join(f"{symbol}={number}" for symbol, number in report.bound)
    yield "file", code(escape(report.name))
    yield "SHA-256", code(report.sha256) if report.sha256 else "not computed"
    yield "edition", f"{report.edition}: {report.edition_title}"
    yield "consolidated", "by this tool from the published texts" if report.consolidated else "no, as published"
    yield "selection", report.partial or "all rules of the edition"
    yield from ((label, code(text)) for label, text in project_files(report))
    yield "bound", code(escape(bound)) if bound else "no symbolic dimension was bound"
    yield "tool", f"sonnx {tool_version()}"


# ------------------------------------------------------------------ documents of the other commands


def render_document(found: Document) -> str:
    """The whole page, ending in a line feed."""
    listed = [(case.criterion, case.verdict) for _, cases in found.findings for case in cases]
    numbers = Counter(case.standing for case in found.cases)
    return page(
        "document.html",
        title=f"sonnx: {found.subject}",
        document=found,
        filter=Filter.of(listed),
        tiles=[
            (numbers[Standing.GOOD], f"of {plural(len(found.cases), 'case')} pass"),
            (numbers[Standing.BAD], "do not hold"),
            (numbers[Standing.OPEN], "are open"),
        ],
        groups=[_case_group(found.criteria[cases[0].criterion], cases) for _, cases in found.findings],
    )


def _case_group(declared: Criterion, cases: Sequence[CaseResult]) -> Group:
    """Cases with the same criterion and verdict."""
    first = cases[0]
    alike: dict[str, list[CaseResult]] = {}
    for case in cases:
        alike.setdefault(case.message if not case.details else case.sentence, []).append(case)
    single = [found[0] for found in alike.values() if len(found) == 1]
    remedy = (("because", declared.because), ("remedy", declared.remedy)) if first.standing is Standing.BAD else ()
    return Group(
        first.criterion, first.verdict, standing_colour(first.standing), len(cases), declared.statement,
        [*remedy, ("source", declared.source)], "what was found",
        [(_case_place(case), _case_text(case)) for case in single],
        [(text, list(map(_case_place, found))) for text, found in alike.items() if len(found) > 1],
    )  # fmt: skip


def _case_place(case: CaseResult) -> str:
    return place(case.where) if case.where else code(case.name)


def _case_text(case: CaseResult) -> Markup:
    details = Markup("").join(Markup("<dt>{}</dt><dd>{}</dd>").format(term, code(text)) for term, text in case.details)
    return code(case.message) + (Markup("<dl>{}</dl>").format(details) if case.details else "")
