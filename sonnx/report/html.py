"""HTML: one page for people, without network access or scripts, for screens, dark screens and paper; ASCII only.

The page begins with what is read in ten seconds: the verdict, how much was checked, and what was not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sonnx.base.escaping import escape, plural
from sonnx.base.resources import tool_version
from sonnx.checker.report import Count, Finding, Report, reason_without_verdict
from sonnx.checker.verdicts import Verdict
from sonnx.profile.definitions import show_tags
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing, worst_standing
from sonnx.report.graph_drawing import anchors, drawing
from sonnx.report.html_elements import (
    Markup,
    badge,
    code,
    colour,
    element,
    folding,
    join,
    plain,
    table,
    terms,
    whole_page,
)
from sonnx.report.phrases import grouped, justifications, meaning, place, project_files, verdict_counts, verdict_phrase

LIMITS = "A report on this file under this edition; it is evidence for an assessment, not a certificate."
DOCUMENT_LIMITS = "It is evidence for an assessment, not a certificate."
STANDING_COLOURS = {Standing.BAD: "fail", Standing.OPEN: "open", Standing.NOTE: "open", Standing.SKIPPED: "soft"}
MAX_OPEN_CASES = 40
"""Tables of documents with more cases are folded on a screen."""
MAX_OPEN_PLACES = 12
"""A part of the page with more places is folded on a screen."""


def render(
    reports: Sequence[Report],
    unreadable: Mapping[str, str],
    code: int,
    accept_assumptions: bool = False,
) -> str:
    """All reports of one run as one page, ending in a line feed."""
    sections = [_model(report, f"model-{number}") for number, report in enumerate(reports)]
    several = len(reports) + len(unreadable) > 1
    body = [
        element("h1", f"sonnx {tool_version()}: check against SONNX, the safety-related profile of ONNX"),
        _contents(reports, unreadable) if several else Markup(""),
        *(_unreadable(name, reason) for name, reason in unreadable.items()),
        *sections,
        element("p", f"Exit code of the run: {code}. {LIMITS}", class_="soft"),
    ]
    return whole_page(_title(reports, unreadable), body)


def _title(reports: Sequence[Report], unreadable: Mapping[str, str]) -> str:
    names = ", ".join([*(report.name for report in reports), *unreadable])
    return f"sonnx: {names}" if len(names) <= 80 else f"sonnx: {len(reports) + len(unreadable)} files"


def _contents(reports: Sequence[Report], unreadable: Mapping[str, str]) -> Markup:
    rows = [
        (
            element("a", report.name, href=f"#model-{number}"),
            badge(report.verdict),
            f"{report.coverage.evaluated} of {report.coverage.applicable}",
            str(report.number(Verdict.FAIL)),
        )
        for number, report in enumerate(reports)
    ]
    rows += [
        (Markup(plain(escape(name))), element("span", reason_without_verdict(reason).word, class_="badge fail"), "", "")
        for name, reason in unreadable.items()
    ]
    return table(("model", "verdict", "#rules evaluated", "#failures"), rows)


def _unreadable(name: str, reason: str) -> Markup:
    answer = element("p", f"{reason_without_verdict(reason).word}: nothing was checked", class_="answer")
    return element("section", element("div", element("h2", name), answer, element("p", reason), class_="banner fail"))


def _model(report: Report, anchor: str) -> Markup:
    return element("section", join(_parts(report, anchor)), class_="model", id=anchor)


def _parts(report: Report, anchor: str) -> Iterator[Markup]:
    yield _banner(report)
    yield _tiles(report)
    yield _part("Not checked, not decided", list(_gaps(report)), "Every applicable rule was evaluated everywhere.")
    yield _part("Findings by rule", list(by_rule(report)), "No rule fails and none is open.")
    yield from drawing(report, anchor)
    nodes = list(by_node(report, anchors(report, anchor) if report.outline else {}))
    if nodes:
        yield element("h3", "Findings by node")
        few = len(nodes) <= MAX_OPEN_PLACES
        repeated = (
            f"The same findings at their {len(nodes)} places, with the folded ones" if len(nodes) > 1 else "One place"
        )
        yield folding(repeated, join(nodes), class_="" if few else "again", start=few)
    yield _part("Assumptions", list(_assumptions(report)), "None: the verdict does not depend on values at run time.")
    yield from _deviations(report)
    notes = [element("ul", *(element("li", note) for note in report.notes))] if report.notes else []
    yield _part("Notes", notes, "None.")
    yield element("h3", "Rules")
    yield folding(f"The results of {len({count.rule for count in report.counts})} rules", _rules(report))
    yield element("h3", "Identity")
    yield _identity(report)


def _part(title: str, parts: Sequence[Markup], none: str) -> Markup:
    return join((element("h3", title), *(parts or [element("p", none, class_="soft")])))


def _banner(report: Report) -> Markup:
    kind = "open" if report.partial and report.verdict is Verdict.PASS else colour(report.verdict)
    answer = element("p", plain(verdict_phrase(report)), class_="answer")
    return element(
        "div",
        element("h2", report.name),
        answer,
        element("p", verdict_counts(report), class_="soft"),
        class_=f"banner {kind}",
    )


def _tiles(report: Report) -> Markup:
    coverage = report.coverage
    failing = len({finding.rule for finding in report.roots if finding.verdict is Verdict.FAIL})
    outside = coverage.nodes - coverage.nodes_in_profile
    at = plural(report.number(Verdict.FAIL), "place")
    tiles = (
        (
            f"{failing}",
            f"{'rule fails' if failing == 1 else 'rules fail'}, at {at}",
        ),
        (
            f"{coverage.evaluated} of {coverage.applicable}",
            f"applicable rules evaluated everywhere; {coverage.known} known",
        ),
        (f"{outside} of {coverage.nodes}", "nodes outside the profile"),
        (f"{coverage.nodes_not_checked} of {coverage.nodes}", "nodes not checked: no rules of the operator yet"),
    )
    return element(
        "div",
        *(element("div", element("b", big), element("span", small), class_="tile") for big, small in tiles),
        class_="tiles",
    )


def _gaps(report: Report) -> Iterator[Markup]:
    """What was not checked or not decided."""
    items = []
    if report.partial:
        items.append(join(("Only some rules were checked: ", code(report.partial)), ""))
    unchecked = [each for each in report.findings if each.verdict is Verdict.NOT_CHECKED]
    operators = Counter(each.where.operator for each in unchecked if each.where.kind == "node")
    if operators:
        names = join(
            (
                element("span", code(name or "(none)"), f" \u00d7 {number}", class_="whole")
                for name, number in sorted(operators.items())
            ),
            ", ",
        )
        items.append(join(("Nodes of operators whose rules are not written yet: ", names), ""))
    others = Counter(each.rule for each in unchecked if each.where.kind != "node")
    items += [
        join(("Not checked: ", code(rule), f" at {plural(number, 'place')}"), "") for rule, number in others.items()
    ]
    roots = Counter(each.rule for each in report.roots if each.verdict is Verdict.UNDECIDED)
    items += [join(("Undecided: ", code(rule), f" at {plural(number, 'place')}"), "") for rule, number in roots.items()]
    folded = Counter(each.cause for each in report.findings if each.cause)
    items += [
        join((f"{plural(number, 'result')} undecided only because of ", code(cause)), "")
        for cause, number in sorted(folded.items())
    ]
    assumed = report.number(Verdict.ASSUMED)
    items += [plain(f"{plural(assumed, 'result')} open until run time: see Assumptions")] if assumed else []
    if items:
        yield element("ul", *(element("li", item) for item in items))


def _assumptions(report: Report) -> Iterator[Markup]:
    found = [each for each in report.findings if each.verdict is Verdict.ASSUMED]
    if found:
        rows = (
            (plain(place(each.where)), join((code(plain(each.requires)), operands(each)), ""), plain(each.actual))
            for each in found
        )
        yield element("p", "These conditions must hold in every run: monitor them, or make them limits of use.")
        listed = table(("place", "condition", "why it is open"), rows)
        summary = f"{plural(len(found), 'condition')} on values at run time"
        yield listed if len(found) <= MAX_OPEN_PLACES else folding(summary, listed)


def _deviations(report: Report) -> Iterator[Markup]:
    """All deviation records about the model, used or not; nothing without a file of deviations."""
    if report.deviations is None:
        return
    used = Counter(each.deviation for each in report.findings if each.deviation)
    rows = [
        (plain(each.id), code(each.rule), str(used[each.id]), plain(each.reason), plain(each.risk),
         plain(each.approver), str(each.expires))
        for each in report.deviations.records
    ]  # fmt: skip
    heads = ("record", "rule", "#justifies", "reason", "risk", "approver", "until")
    note = element("p", f"Checked on {report.deviations.date}. A justified failure is still a failure.")
    yield join((element("h3", "Deviations"), note, table(heads, rows)))


def _rules(report: Report) -> Markup:
    by_slug: dict[str, list[Count]] = {}
    for count in report.counts:
        by_slug.setdefault(count.rule, []).append(count)
    rows = (
        (code(slug), report.rules[slug].statement, join((_count(count) for count in counts), ", "))
        for slug, counts in by_slug.items()
    )
    return table(("rule", "statement", "results"), rows)


def _count(count: Count) -> Markup:
    reason = f" ({count.reason})" if count.reason else ""
    return element("span", f"{count.number} {count.verdict}{reason}", class_=colour(count.verdict))


def _identity(report: Report) -> Markup:
    bound = ", ".join(f"{symbol}={number}" for symbol, number in report.bound)
    return terms(
        (
            ("file", code(report.name)),
            ("SHA-256", code(report.sha256) if report.sha256 else "not computed"),
            ("edition", f"{report.edition}: {report.edition_title}"),
            ("consolidated", "by this tool from the published texts" if report.consolidated else "no, as published"),
            ("selection", report.partial or "all rules of the edition"),
            *((label, code(plain(text))) for label, text in project_files(report)),
            ("bound", code(bound) if bound else "no symbolic dimension was bound"),
            ("tool", f"sonnx {tool_version()}"),
        )
    )


# ------------------------------------------------------------------ findings


def by_rule(report: Report) -> Iterator[Markup]:
    """One part for each rule and verdict, the failures first."""
    for findings in grouped(report.roots):
        yield _rule(findings, report)


def _rule(findings: Sequence[Finding], report: Report) -> Markup:
    first, rule = findings[0], report.rules[findings[0].rule]
    statement = element("div", rule.statement, class_="soft")
    summary = join((badge(first.verdict), element("b", first.rule), plural(len(findings), "place"), statement), " ")
    details = terms(_rule_details(findings, report))
    return folding(summary, details, *_messages(findings), class_="rule", start=len(findings) <= MAX_OPEN_PLACES)


def _rule_details(findings: Sequence[Finding], report: Report) -> Iterator[tuple[str, str]]:
    first, rule = findings[0], report.rules[findings[0].rule]
    if first.verdict is Verdict.FAIL:
        breaks = sum(each.breaks_onnx for each in findings)
        some = f" at {plural(breaks, 'place')}, outside the profile at the others" if breaks < len(findings) else ""
        yield "meaning", f"not valid ONNX{some}" if breaks else meaning(first, rule)
    yield from ((label, plain(text)) for label, text in justifications(findings, report))
    if first.requires != rule.statement and first.verdict is not Verdict.NOT_CHECKED:
        yield "assumes" if first.verdict is Verdict.ASSUMED else "requires", code(plain(first.requires))
    if first.verdict is Verdict.FAIL:
        yield "because", rule.because
        yield "remedy", rule.remedy
    yield "source", join((rule.source, show_tags(first.tags)), " ")
    yield "more", "" if rule.kind == "project" else code(f"sonnx explain {first.rule}")


def _messages(findings: Iterable[Finding]) -> Iterator[Markup]:
    """Equal messages together: many nodes often have the same defect."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.actual, []).append(finding)
    several = {text: found for text, found in groups.items() if len(found) > 1}
    single = [found[0] for found in groups.values() if len(found) == 1]
    if single:
        rows = ((_place(each), join((code(plain(each.actual)), operands(each)), "")) for each in single)
        yield table(("place", "what the model states"), rows, class_="prose")
    for text, found in several.items():
        summary = join((code(plain(text)), element("span", f" at {plural(len(found), 'place')}", class_="soft")), "")
        items = (element("li", _place(each), operands(each)) for each in found)
        inside = element("ul", *items, class_="many" if len(found) > MAX_OPEN_PLACES else "")
        yield folding(summary, inside, start=len(found) <= MAX_OPEN_PLACES)


def _place(finding: Finding) -> Markup:
    return plain(place(finding.where))


def operands(finding: Finding) -> Markup:
    """The value of the model for each parameter name in a rule."""
    if not finding.operands:
        return Markup("")
    pairs = (join((code(letter), " is ", code(name)), "") for letter, name in finding.operands)
    return element("div", join(pairs, ", "), class_="soft")


def by_node(report: Report, anchors: Mapping[str, str]) -> Iterator[Markup]:
    """One part for each place in the file with all its findings, folded ones included; some with an anchor."""
    found_at: dict[str, list[Finding]] = {}
    for finding in report.findings:
        found_at.setdefault(finding.where.place, []).append(finding)
    for at, found in found_at.items():
        node = next((each for each in found if each.where.kind == "node"), found[0])
        rules = ", ".join(dict.fromkeys(each.rule for each in found))
        summary = join((_place(node), element("span", f": {rules}", class_="soft")), "")
        rows = ((badge(each.verdict), each.rule, _stated(each)) for each in found)
        listed = table(("result", "rule", "what the model states"), rows)
        yield folding(summary, listed, id_=anchors.get(at, ""))


def _stated(finding: Finding) -> Markup:
    cause = element("span", f" (only because of {finding.cause})", class_="soft") if finding.cause else ""
    return join((code(plain(finding.actual)), operands(finding), cause), "")


# ------------------------------------------------------------------ documents of `prove` and `compare`


def render_document(found: Document) -> str:
    """The whole page, ending in a line feed."""
    return whole_page(f"sonnx: {found.subject}", list(_document_parts(found)))


def _document_parts(found: Document) -> Iterator[Markup]:
    yield element("h1", f"sonnx {tool_version()}: {found.title}")
    yield element(
        "div",
        element("h2", plain(found.subject)),
        element("p", plain(found.headline), class_="answer"),
        element("p", found.numbers, class_="soft"),
        class_=f"banner {_standing_colour(found.standing)}",
    )
    yield _document_tiles(found)
    yield element("h3", "What does not hold or is open")
    groups = [_case_group(found.criteria[cases[0].criterion], cases) for _, cases in found.findings]
    yield from groups or [element("p", "Nothing: all cases pass.", class_="soft")]
    yield element("h3", "All cases")
    yield from (_document_section(section, start=len(found.cases) <= MAX_OPEN_CASES) for section in found.sections)
    if found.notes:
        yield element("h3", "Notes")
        yield element("ul", *(element("li", plain(note)) for note in found.notes))
    if found.facts:
        yield element("h3", "Identity")
        yield terms([(term, code(plain(text))) for term, text in found.facts])
    yield element("p", f"Exit code of the run: {found.code}. {DOCUMENT_LIMITS}", class_="soft")


def _standing_colour(standing: Standing) -> str:
    return STANDING_COLOURS.get(standing, "pass")


def _document_tiles(found: Document) -> Markup:
    numbers = Counter(case.standing for case in found.cases)
    tiles = [
        (numbers[Standing.GOOD], f"of {plural(len(found.cases), 'case')} pass"),
        (numbers[Standing.BAD], "do not hold"),
        (numbers[Standing.OPEN], "are open"),
    ]
    made = (element("div", element("b", str(big)), element("span", small), class_="tile") for big, small in tiles)
    return element("div", *made, class_="tiles")


def _case_group(declared: Criterion, cases: Sequence[CaseResult]) -> Markup:
    """Cases with the same criterion and verdict."""
    first = cases[0]
    statement = element("div", declared.statement, class_="soft")
    summary = join((_case_badge(first), element("b", first.criterion), plural(len(cases), "place"), statement), " ")
    remedy = (("because", declared.because), ("remedy", declared.remedy)) if first.standing is Standing.BAD else ()
    details = terms((*remedy, ("source", declared.source)))
    rows = ((_case_place(case), join((code(plain(case.message)), _case_details(case)), "")) for case in cases)
    listed = table(("place", "what was found"), rows, class_="prose")
    return folding(summary, details, listed, class_="rule", start=len(cases) <= MAX_OPEN_PLACES)


def _case_badge(case: CaseResult) -> Markup:
    return element("span", case.verdict, class_=f"badge {_standing_colour(case.standing)}")


def _case_place(case: CaseResult) -> Markup:
    return plain(place(case.where)) if case.where else code(plain(case.name))


def _case_details(case: CaseResult) -> Markup:
    return terms([(term, code(plain(text))) for term, text in case.details])


def _document_section(section: Section, start: bool) -> Markup:
    numbers = Counter(case.verdict for case in section.cases)
    counts = ", ".join(f"{number} {verdict}" for verdict, number in numbers.items())
    summary = join(
        (
            element("b", plain(section.name)),
            element("span", counts, class_=_standing_colour(worst_standing(section.cases))),
        ),
        " ",
    )
    rows = ((code(plain(case.name)), _case_badge(case), _case_text(case)) for case in section.cases)
    listed = table(("case", "result", "message"), rows, class_="cases")
    note = element("p", plain(section.note), class_="soft") if section.note else Markup("")
    return folding(summary, note, listed, start=start)


def _case_text(case: CaseResult) -> Markup:
    """The message; of a passing case the details too, because the others are listed above with theirs."""
    if case.standing is not Standing.GOOD or not case.details:
        return plain(case.message)
    more = "; ".join(f"{term}: {text}" for term, text in case.details)
    return join((plain(case.message), element("div", plain(more), class_="soft")), "")
