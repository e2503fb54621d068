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
from msgspec.structs import replace

from sonnx.base.escaping import escape, escape_once, plural
from sonnx.base.files import sha256
from sonnx.base.resources import tool_version
from sonnx.checker.report import Report, reason_without_verdict
from sonnx.checker.verdicts import Verdict
from sonnx.report.check_document import STANDINGS, document_of
from sonnx.report.check_run import CheckRun
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing
from sonnx.report.graph_drawing import Drawing, anchors, drawing
from sonnx.report.phrases import (
    fix_command,
    place,
    verdict_counts,
    without_assumptions,
)
from sonnx.report.stacked_tables import stacked

TEMPLATES = Path(__file__).with_name("templates")
STANDING_COLOURS = {
    Standing.BAD: "fail",
    Standing.OPEN: "open",
    Standing.ASSUMED: "open",
    Standing.NOTE: "open",
    Standing.SKIPPED: "soft",
}
NOT_GOOD = {Standing.BAD: "do not hold", Standing.OPEN: "are open"}
"""What a number at the top of a page counts, where it is not 0."""
MAX_OPEN_CASES = 40
"""Tables of documents with more cases are folded on a screen."""
MAX_OPEN_PLACES = 12
"""A part of the page with more places is folded on a screen."""
MAX_PLACES_IN_FULL = 200
"""Where findings are at more places, the list by node has only those to which the graph leads; all stand by rule."""
MAX_SOURCES = 3
"""Sources that are listed of one subject; the rules have all."""
MAX_FILE_NAME = 60
"""Characters of a model's name in the name of its page."""


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=lambda value: value if isinstance(value, Markup) else escape_once(str(value)),
    )  # fmt: skip
    environment.filters |= {
        "name": escape,
        "plural": plural,
        "slug": slug,
        "standing": standing_colour,
        "colour": colour,
    }
    environment.globals["without_assumptions"] = without_assumptions
    return environment


def page(template: str, **context: Any) -> str:
    """A page from a template of the folder, ASCII only, ending in a line feed."""
    constants = {"version": tool_version(), "max_open": MAX_OPEN_PLACES, "max_cases": MAX_OPEN_CASES}
    text = stacked(_templates().get_template(template).render(constants | context))
    return text.rstrip().encode("ascii", "xmlcharrefreplace").decode("ascii") + "\n"


def code(text: str) -> Markup:
    """Text of a file, or an expression of a rule; `text` is printable."""
    return Markup(f"<code>{Markup.escape(text)}</code>")  # noqa: S704  escaped; `Markup.format` takes ten times as long


def link(file: str) -> Markup:
    """A link to a file beside the page."""
    return Markup('<a href="{}">{}</a>').format(file, file)


def slug(text: str) -> str:
    """A verdict as part of the name of a CSS class."""
    return text.replace(" ", "-")


def colour(verdict: Verdict) -> str:
    """The CSS class for a verdict: fail, open or pass."""
    return standing_colour(STANDINGS.get(verdict, Standing.GOOD))


def standing_colour(standing: Standing) -> str:
    """The CSS class for a standing."""
    return STANDING_COLOURS.get(standing, "pass")


@dataclass(frozen=True, slots=True)
class FindingFilter:
    """The verdicts and criteria that a reader can choose, each with the number of its results."""

    verdicts: tuple[tuple[str, int], ...]
    criteria: tuple[tuple[str, int], ...]
    number_of: Mapping[str, int]
    """The place of each of the criteria."""

    @classmethod
    def of(cls, results: Iterable[tuple[str, str]]) -> FindingFilter:
        """The filter of results, each a criterion and a verdict."""
        listed = list(results)
        verdicts, criteria = Counter(verdict for _, verdict in listed), Counter(name for name, _ in listed)
        common = tuple(criteria.most_common())
        return cls(tuple(verdicts.items()), common, {name: number for number, (name, _) in enumerate(common)})

    def marks(self, criteria: Iterable[str], verdicts: Iterable[str]) -> str:
        """The styles by which the filter finds a part of the page; one verdict only can hide it."""
        different = dict.fromkeys(verdicts)
        hidden_by = [f"is-{slug(verdict)}" for verdict in different] if len(different) == 1 else []
        numbers = [self.number_of[name] for name in dict.fromkeys(criteria) if name in self.number_of]
        return " ".join([*(f"r{number}" for number in numbers), *hidden_by])


@dataclass(frozen=True, slots=True)
class Group:
    """The results of one criterion with one verdict."""

    name: str
    verdict: str
    kind: str
    places: int
    statement: str
    details: Sequence[tuple[str, str]]
    rows: Sequence[tuple[str, str]]
    """Places with a message of their own."""
    repeated: Sequence[tuple[str, Sequence[str]]] = ()
    """Messages of several places, with the places."""


# ------------------------------------------------------------------ checks


def render(run: CheckRun) -> str:
    """All reports of one run as one page, ending in a line feed."""
    document, reports = document_of(run), run.reports
    several = len(reports) + len(run.unreadable) > 1
    return page(
        "check.html",
        title=f"sonnx: {document.subject}" if len(document.subject) <= 80 else f"sonnx: {document.headline}",
        contents=_contents(document.overview, [f"#model-{n}" for n in range(len(reports))]) if several else (),
        unreadable=_unreadable(run.unreadable),
        models=[
            _model(report, document.criteria, section, f"model-{number}")
            for number, (report, section) in enumerate(zip(reports, document.sections, strict=True))
        ],
        code=run.code, totals=(), by_rule=(),
    )  # fmt: skip


def render_folder(run: CheckRun) -> dict[str, str]:
    """The reports of one run as an index and a page for each model, by file name."""
    names = _page_names([report.name for report in run.reports])
    document = document_of(run)
    listed = _contents(document.overview, names)
    reasons = _unreadable(run.unreadable)
    index = page(
        "check.html", title=f"sonnx: {document.headline}", contents=listed, unreadable=reasons, models=(),
        code=run.code, totals=list(_totals(run)), by_rule=list(_by_rule(run.reports)),
    )  # fmt: skip
    pages = {
        name: render(
            replace(
                run,
                reports=[report],
                unreadable={},
                forecast=None,
                code=report.exit_code(run.accept_assumptions, run.new_only),
            )
        )
        for name, report in zip(names, run.reports, strict=True)
    }
    return {"index.html": index, **pages}


def _totals(run: CheckRun) -> Iterator[tuple[str, str]]:
    """How many models have each verdict, and have none."""
    verdicts = Counter(report.verdict for report in run.reports)
    yield f"{len(run.reports) + len(run.unreadable)}", "models"
    for verdict in Verdict:
        if verdicts[verdict]:
            yield f"{verdicts[verdict]}", str(verdict)
    if run.unreadable:
        yield f"{len(run.unreadable)}", "without a report"


def _by_rule(reports: Sequence[Report]) -> Iterator[tuple[str | Markup, ...]]:
    """Each rule with findings: its result, the places and the models, those of most models first."""
    places, models = Counter[tuple[str, Verdict]](), Counter[tuple[str, Verdict]]()
    for report in reports:
        own = Counter((finding.rule, finding.verdict) for finding in report.roots)
        own.update(report.unlisted)
        places.update(own)
        models.update(own.keys())
    for (rule, verdict), number in sorted(models.items(), key=lambda item: (-item[1], item[0])):
        yield code(rule), badge(str(verdict), colour(verdict)), f"{places[rule, verdict]}", f"{number}"


def _page_names(models: Sequence[str]) -> list[str]:
    """The files of the pages, by the names of the models, so that a model keeps its page when others come or go."""
    stems = [_file_name(model) for model in models]
    alike = Counter(stem.lower() for stem in stems)
    return [
        f"{stem}.html" if alike[stem.lower()] == 1 and stem.lower() != "index"
        else f"{stem}-{sha256(model.encode('utf-8', 'surrogateescape'))[:8]}.html"
        for stem, model in zip(stems, models, strict=True)
    ]  # fmt: skip


def _file_name(name: str) -> str:
    stem = Path(name).stem[:MAX_FILE_NAME]
    return "".join(character if character.isascii() and character.isalnum() else "-" for character in stem) or "model"


def _contents(overview: Sequence[Sequence[str]], links: Sequence[str]) -> list[tuple[str, ...]]:
    """The rows of an overview, the verdict as a badge, the first of them with links."""
    rows = []
    for number, (name, verdict, _, *cells) in enumerate(overview[1:]):
        link = Markup('<a href="{}">{}</a>').format(links[number], name) if number < len(links) else name
        word = verdict.partition(" ")[0]
        rows.append((link, badge(verdict, colour(Verdict(word)) if word in set(Verdict) else "fail"), *cells))
    return rows


def badge(word: str, kind: str) -> Markup:
    """A coloured word."""
    return Markup('<span class="badge {}">{}</span>').format(kind, word)


def _unreadable(sentences: Mapping[str, str]) -> list[tuple[str, str, str]]:
    return [(name, reason_without_verdict(reason).word, escape(reason)) for name, reason in sentences.items()]


def _model(report: Report, criteria: Mapping[str, Criterion], section: Section, anchor: str) -> dict[str, Any]:
    """The values that the template shows of one report."""
    failing = [finding for finding in report.roots if finding.verdict is Verdict.FAIL]
    unlisted = report.number_unlisted(Verdict.FAIL)
    finding_filter = FindingFilter.of((case.criterion, case.verdict) for cases in section.findings for case in cases)
    drawn = drawing(report, anchor, finding_filter)
    places = list(_places(section, anchors(report, anchor) if report.outline else {}, finding_filter))
    if len(places) > MAX_PLACES_IN_FULL:
        linked = {box.link for piece in drawn.pieces for box in piece.boxes} if drawn is not None else set()
        places = [place for place in places if place["anchor"] in linked - {""}]
    records = report.deviations.records if report.deviations else ()
    used = Counter(finding.deviation for finding in report.findings)
    return {
        "report": report,
        "anchor": anchor,
        "kind": "open" if report.partial and report.verdict is Verdict.PASS else colour(report.verdict),
        "phrase": section.headline,
        "counts": verdict_counts(report),
        "tiles": list(_tiles(report, len(failing) + unlisted, len({finding.rule for finding in failing}))),
        "failures": len(failing) + unlisted,
        "command": fix_command(report)[0] if failing else "",
        "gone": [f"{case.verdict} {case.criterion}, {case.at}: {case.message}" for case in section.gone],
        "clean": _clean(report),
        "checked": list(_checked(report)),
        "gaps": list(_gaps(report)),
        "filter": finding_filter,
        "groups": [_case_group(criteria[cases[0].criterion], cases) for cases in section.findings],
        "drawing": drawn,
        "places": places,
        "all_places": len({case.where.place for case in section.cases if case.where is not None}),
        "assumptions": [
            (_case_place(case), code(case.properties["requires"]), case.message)
            for case in section.cases
            if case.standing is Standing.ASSUMED
        ],
        "deviations": [
            (record.id, code(record.rule), used[record.id], record.reason, record.risk, record.approver, record.expires)
            for record in records
        ],
        "rules": list(_rules(report)),
        "identity": [("file", section.name), *section.facts, ("tool", f"sonnx {tool_version()}")],
    }


def _tiles(report: Report, failures: int, rules: int) -> Iterator[tuple[str, str]]:
    coverage, since = report.coverage, report.baseline
    if since is not None:
        yield f"{since.new} new", f"{since.unchanged} unchanged, {len(since.gone)} gone since {since.file}"
    yield f"{rules}", f"{'rule fails' if rules == 1 else 'rules fail'}, at {plural(failures, 'place')}"
    evaluated = f"applicable rules evaluated everywhere; {coverage.known} known"
    yield f"{coverage.evaluated} of {coverage.applicable}", evaluated
    yield f"{coverage.nodes - coverage.nodes_in_profile} of {coverage.nodes}", "nodes outside the profile"
    yield f"{coverage.nodes_not_checked} of {coverage.nodes}", "nodes not checked: no rules of the operator yet"


def _clean(report: Report) -> str:
    """One sentence for a report without findings; "" for any other, whose sections say what was found."""
    if report.findings or report.partial or report.verdict is not Verdict.PASS:
        return ""
    return f"Every applicable rule was evaluated everywhere, and all hold. Assumptions: {without_assumptions(report)}"


def _checked(report: Report) -> Iterator[tuple[str, ...]]:
    """What was checked: operators, then the rest, with the rules of each, their results and sources."""
    groups: dict[str, list[str]] = {}
    for slug in dict.fromkeys(count.rule for count in report.counts):
        operator, dot, _ = slug.rpartition(".")
        groups.setdefault(
            operator if dot and operator[:1].isupper() else f"every {report.rules[slug].subject}", []
        ).append(slug)
    for subject, slugs in groups.items():
        results = Counter[str]()
        for count in report.counts:
            results.update({str(count.verdict): count.number} if count.rule in slugs else {})
        named = (part for slug in slugs for part in report.rules[slug].source.split("; "))
        sources = dict.fromkeys(part for part in named if part)
        shown = list(sources)[:MAX_SOURCES]
        more = [f"and {len(sources) - MAX_SOURCES} more"] if len(sources) > MAX_SOURCES else []
        yield (
            subject, f"{len(slugs)}", ", ".join(f"{number} {verdict}" for verdict, number in results.items()),
            "; ".join([*shown, *more]),
        )  # fmt: skip


def _gaps(report: Report) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """What was not checked or not decided: sentences, each with names and their numbers."""
    if report.partial:
        yield "Only some rules were checked", [(report.partial, 0)]
    unchecked = [finding for finding in report.findings if finding.verdict is Verdict.NOT_CHECKED]
    operators = Counter(finding.where.operator for finding in unchecked if finding.where.kind == "node")
    if operators:
        listed = [(escape(name) or "(none)", number) for name, number in sorted(operators.items())]
        yield "Nodes of operators whose rules are not written yet", listed
    for sentence, counted in (
        ("Not checked", Counter(finding.rule for finding in unchecked if finding.where.kind != "node")),
        ("Undecided", Counter(root.rule for root in report.roots if root.verdict is Verdict.UNDECIDED)),
        ("Undecided only because of", Counter(finding.cause for finding in report.findings if finding.cause)),
    ):
        if counted:
            yield sentence, sorted(counted.items())
    assumed = report.number(Verdict.ASSUMED)
    if assumed:
        yield f"{plural(assumed, 'result')} open until run time: see Assumptions", []


def _places(section: Section, links: Mapping[str, str], filter_: FindingFilter) -> Iterator[dict[str, Any]]:
    """Each place in the file with all its findings, folded ones included; some have an anchor."""
    results_at: dict[str, list[CaseResult]] = {}
    for case in section.cases:
        if case.where is not None:
            results_at.setdefault(case.where.place, []).append(case)
    rows: dict[Any, tuple[str, Markup]] = {}
    for at, results in results_at.items():
        node = next((result for result in results if result.where and result.where.kind == "node"), results[0])
        rules = ", ".join(dict.fromkeys(result.criterion for result in results))
        shown = []
        for each in results:
            key = (each.criterion, each.verdict, each.message, each.details)
            if key not in rows:
                marks = filter_.marks([each.criterion], [each.verdict])
                rows[key] = (marks, _case_text(each.message, _own(each.details)))
            shown.append((rows[key][0], each, rows[key][1]))
        heading = f'{_case_place(node)}<span class="soft">: {Markup.escape(rules)}</span>'
        yield {
            "heading": Markup(heading),  # noqa: S704  escaped above
            "marks": filter_.marks((result.criterion for result in results), (result.verdict for result in results)),
            "anchor": links.get(at, ""),
            "rows": shown,
        }


def _own(details: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """What is said of this place only: the rest stands with the rule."""
    return [(term, text) for term, text in details if term not in ("required", "errata", "meaning")]


def _rules(report: Report) -> Iterator[tuple[str, ...]]:
    counted: dict[str, list[Markup]] = {}
    for count in report.counts:
        text = f"{count.number} {count.verdict}" + (f" ({count.reason})" if count.reason else "")
        shown = Markup('<span class="{}">{}</span>').format(colour(count.verdict), text)
        counted.setdefault(count.rule, []).append(shown)
    for name, counts in counted.items():
        yield code(name), report.rules[name].statement, Markup(", ").join(counts)


# ------------------------------------------------------------------ documents of the other commands


def render_document(shown: Document) -> str:
    """The whole page, ending in a line feed."""
    listed = [(case.criterion, case.verdict) for _, cases in shown.findings for case in cases]
    numbers = Counter(case.standing for case in shown.cases)
    return page(
        "document.html",
        title=f"sonnx: {shown.subject}",
        document=shown,
        filter=FindingFilter.of(listed),
        tiles=shown.tiles
        or [
            (numbers[Standing.GOOD], f"of {plural(len(shown.cases), 'case')} pass"),
            *((numbers[kind], words) for kind, words in NOT_GOOD.items() if numbers[kind]),
        ],
        groups=[_case_group(shown.criteria[cases[0].criterion], cases) for _, cases in shown.findings],
    )


def side_by_side(first: Drawing, second: Drawing) -> str:
    """The markup of two drawings beside each other, or on a narrow screen one below the other."""
    return _templates().get_template("pair.html").render(drawings=(first, second))


def _case_group(declared: Criterion, cases: Sequence[CaseResult]) -> Group:
    """Cases with the same criterion and verdict; what is said of all of them stands once, and so do equal messages."""
    first = cases[0]
    shared = [pair for pair in first.details if all(pair in case.details for case in cases)]
    alike: dict[str, list[CaseResult]] = {}
    for case in cases:
        alike.setdefault(case.message, []).append(case)

    def own(case: CaseResult) -> list[tuple[str, str]]:
        return [pair for pair in case.details if pair not in shared]

    remedy = (("because", declared.because), ("remedy", declared.remedy), ("sonnx fix", declared.rewrites))
    address = declared.address and Markup(' <a href="{}">{}</a>').format(declared.address, declared.address)
    return Group(
        first.criterion, first.verdict, standing_colour(first.standing), len(cases), declared.statement,
        [
            *shared, *(remedy if first.standing is Standing.BAD else ()),
            ("source", declared.source), ("labels", ", ".join(declared.tags)),
            ("more", code(first.command or declared.command) + address if declared.command else ""),
        ],
        [(_case_place(results[0]), _case_text(results[0].message, own(results[0])))
         for results in alike.values() if len(results) == 1],
        [(text, [_case_place(case) + _terms(own(case)) for case in results])
         for text, results in alike.items() if len(results) > 1],
    )  # fmt: skip


def _case_place(case: CaseResult) -> Markup:
    return Markup.escape(place(case.where)) if case.where else code(case.name)


def _case_text(message: str, details: Sequence[tuple[str, str]]) -> Markup:
    return code(message) + _terms(details)


def _terms(pairs: Sequence[tuple[str, str]]) -> Markup:
    """Terms with their texts, nothing for none."""
    listed = "".join([f"<dt>{Markup.escape(term)}</dt><dd>{code(text)}</dd>" for term, text in pairs])
    return Markup(f"<dl>{listed}</dl>") if pairs else Markup("")  # noqa: S704  escaped above
