"""The report as one HTML page for people: no network, no script, light and dark, and it prints.

What comes first is what is read in ten seconds: the verdict, how much was judged, what was not.  ASCII only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sonnx.base.escaping import escape, plural
from sonnx.base.resources import tool_version
from sonnx.checker.report import Count, Finding, Report, Verdict, why
from sonnx.profile.definitions import show_tags
from sonnx.report.graph_drawing import anchors, drawing
from sonnx.report.markup import Markup, badge, code, colour, document, element, folding, join, plain, table, terms
from sonnx.report.text import answers, given, grouped, justified, meaning, place, said


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
    return document(_title(reports, unreadable), body)


LIMITS = "A report on this file under this edition; it is evidence for an assessment, not a certificate."


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
        (Markup(plain(escape(name))), element("span", why(reason).word, class_="badge fail"), "", "")
        for name, reason in unreadable.items()
    ]
    return table(("model", "verdict", "#rules evaluated", "#failures"), rows)


def _unreadable(name: str, reason: str) -> Markup:
    answer = element("p", f"{why(reason).word}: nothing was checked", class_="answer")
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
        few = len(nodes) <= OPENED
        said_again = (
            f"The same findings at their {len(nodes)} places, with the folded ones" if len(nodes) > 1 else "One place"
        )
        yield folding(said_again, join(nodes), class_="" if few else "again", start=few)
    yield _part("Assumptions", list(_assumptions(report)), "None: the verdict depends on no value of a run.")
    yield from _deviations(report)
    notes = [element("ul", *(element("li", note) for note in report.notes))] if report.notes else []
    yield _part("Notes", notes, "None.")
    yield element("h3", "Rules")
    yield folding(f"The answers of {len({count.rule for count in report.counts})} rules", _rules(report))
    yield element("h3", "Identity")
    yield _identity(report)


def _part(title: str, parts: Sequence[Markup], none: str) -> Markup:
    return join((element("h3", title), *(parts or [element("p", none, class_="soft")])))


def _banner(report: Report) -> Markup:
    kind = "open" if report.partial and report.verdict is Verdict.PASS else colour(report.verdict)
    answer = element("p", plain(said(report)), class_="answer")
    return element(
        "div", element("h2", report.name), answer, element("p", answers(report), class_="soft"), class_=f"banner {kind}"
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
    """What the verdict does not speak of."""
    items = []
    if report.partial:
        items.append(join(("Only some rules were judged: ", code(report.partial)), ""))
    operators = Counter(each.where.operator for each in report.findings if each.verdict is Verdict.NOT_CHECKED)
    if operators:
        names = join(
            (
                element("span", code(name or "(none)"), f" \u00d7 {number}", class_="whole")
                for name, number in sorted(operators.items())
            ),
            ", ",
        )
        items.append(join(("Nodes of operators whose rules are not written yet: ", names), ""))
    roots = Counter(each.rule for each in report.roots if each.verdict is Verdict.UNDECIDED)
    items += [join(("Undecided: ", code(rule), f" at {plural(number, 'place')}"), "") for rule, number in roots.items()]
    folded = Counter(each.cause for each in report.findings if each.cause)
    items += [
        join((f"{plural(number, 'answer')} undecided only because of ", code(cause)), "")
        for cause, number in sorted(folded.items())
    ]
    assumed = report.number(Verdict.ASSUMED)
    items += [plain(f"{plural(assumed, 'answer')} open for values of a run: see Assumptions")] if assumed else []
    if items:
        yield element("ul", *(element("li", item) for item in items))


def _assumptions(report: Report) -> Iterator[Markup]:
    found = [each for each in report.findings if each.verdict is Verdict.ASSUMED]
    if found:
        rows = (
            (plain(place(each.where)), join((code(plain(each.requires)), operands(each)), ""), plain(each.actual))
            for each in found
        )
        yield element("p", "These conditions must hold in every run; they become monitors or limits of use.")
        listed = table(("place", "condition", "why it is open"), rows)
        summary = f"{plural(len(found), 'condition')} on values of a run"
        yield listed if len(found) <= OPENED else folding(summary, listed)


def _deviations(report: Report) -> Iterator[Markup]:
    """The records that were asked about the model, used or not; nothing where no file was given."""
    if report.deviations is None:
        return
    used = Counter(each.deviation for each in report.findings if each.deviation)
    rows = [
        (plain(each.id), code(each.rule), str(used[each.id]), plain(each.reason), plain(each.risk),
         plain(each.approver), str(each.expires))
        for each in report.deviations.records
    ]  # fmt: skip
    heads = ("record", "rule", "#justifies", "reason", "risk", "approver", "until")
    told = element("p", f"Judged on {report.deviations.date}. A failure that is justified is still a failure.")
    yield join((element("h3", "Deviations"), told, table(heads, rows)))


def _rules(report: Report) -> Markup:
    by_slug: dict[str, list[Count]] = {}
    for count in report.counts:
        by_slug.setdefault(count.rule, []).append(count)
    rows = (
        (code(slug), report.rules[slug].statement, join((_count(count) for count in counts), ", "))
        for slug, counts in by_slug.items()
    )
    return table(("rule", "statement", "answers"), rows)


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
            *((label, code(plain(text))) for label, text in given(report)),
            ("bound", code(bound) if bound else "no symbolic dimension was bound"),
            ("tool", f"sonnx {tool_version()}"),
        )
    )


# ------------------------------------------------------------------
# Small pieces of HTML: text becomes entities here and nowhere else, so that no name in a model is markup.


# ------------------------------------------------------------------
# The findings of the HTML page: by rule, in a rule by what is said, and once more by node.


OPENED = 12
"""A part with at most so many places is shown opened."""


def by_rule(report: Report) -> Iterator[Markup]:
    """One part for each rule and verdict, the failures first."""
    for findings in grouped(report.roots):
        yield _rule(findings, report)


def _rule(findings: Sequence[Finding], report: Report) -> Markup:
    first, rule = findings[0], report.rules[findings[0].rule]
    statement = element("div", rule.statement, class_="soft")
    summary = join((badge(first.verdict), element("b", first.rule), plural(len(findings), "place"), statement), " ")
    told = terms(_told(findings, report))
    return folding(summary, told, *_messages(findings), class_="rule", start=len(findings) <= OPENED)


def _told(findings: Sequence[Finding], report: Report) -> Iterator[tuple[str, str]]:
    first, rule = findings[0], report.rules[findings[0].rule]
    if first.verdict is Verdict.FAIL:
        breaks = sum(each.breaks_onnx for each in findings)
        some = f" at {plural(breaks, 'place')}, outside the profile at the others" if breaks < len(findings) else ""
        yield "meaning", f"not valid ONNX{some}" if breaks else meaning(first, rule)
    yield from ((label, plain(text)) for label, text in justified(findings, report))
    if first.requires != rule.statement and first.verdict is not Verdict.NOT_CHECKED:
        yield "assumes" if first.verdict is Verdict.ASSUMED else "requires", code(plain(first.requires))
    if first.verdict is Verdict.FAIL:
        yield "because", rule.because
        yield "remedy", rule.remedy
    yield "source", join((rule.source, show_tags(first.tags)), " ")
    yield "more", "" if rule.kind == "project" else code(f"sonnx explain {first.rule}")


def _messages(findings: Iterable[Finding]) -> Iterator[Markup]:
    """Equal messages together: many nodes often have one and the same defect."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.actual, []).append(finding)
    several = {text: found for text, found in groups.items() if len(found) > 1}
    single = [found[0] for found in groups.values() if len(found) == 1]
    if single:
        rows = ((_place(each), join((code(plain(each.actual)), operands(each)), "")) for each in single)
        yield table(("place", "what the model states"), rows, class_="said")
    for text, found in several.items():
        summary = join((code(plain(text)), element("span", f" at {plural(len(found), 'place')}", class_="soft")), "")
        items = (element("li", _place(each), operands(each)) for each in found)
        inside = element("ul", *items, class_="many" if len(found) > OPENED else "")
        yield folding(summary, inside, start=len(found) <= OPENED)


def _place(finding: Finding) -> Markup:
    return plain(place(finding.where))


def operands(finding: Finding) -> Markup:
    """Which value of the model each letter of a rule text is."""
    if not finding.operands:
        return Markup("")
    pairs = (join((code(letter), " is ", code(name)), "") for letter, name in finding.operands)
    return element("div", join(pairs, ", "), class_="soft")


def by_node(report: Report, anchors: Mapping[str, str]) -> Iterator[Markup]:
    """One part for each place in the file with everything said there, folded answers included; some with an anchor."""
    found_at: dict[str, list[Finding]] = {}
    for finding in report.findings:
        found_at.setdefault(finding.where.place, []).append(finding)
    for at, found in found_at.items():
        node = next((each for each in found if each.where.kind == "node"), found[0])
        rules = ", ".join(dict.fromkeys(each.rule for each in found))
        summary = join((_place(node), element("span", f": {rules}", class_="soft")), "")
        rows = ((badge(each.verdict), each.rule, _stated(each)) for each in found)
        listed = table(("answer", "rule", "what the model states"), rows)
        yield folding(summary, listed, id_=anchors.get(at, ""))


def _stated(finding: Finding) -> Markup:
    cause = element("span", f" (only because of {finding.cause})", class_="soft") if finding.cause else ""
    return join((code(plain(finding.actual)), operands(finding), cause), "")
