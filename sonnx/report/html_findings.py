"""The findings of the HTML page: by rule, in a rule by what is said, and once more by node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sonnx.identifier import show_tags
from sonnx.quoting import plural
from sonnx.report.html_parts import Markup, badge, code, element, folding, join, plain, table, terms
from sonnx.report.text import grouped, justified, meaning, place
from sonnx.verdict import Finding, Report, Verdict

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
    several = {said: found for said, found in groups.items() if len(found) > 1}
    single = [found[0] for found in groups.values() if len(found) == 1]
    if single:
        rows = ((_place(each), join((code(plain(each.actual)), operands(each)), "")) for each in single)
        yield table(("place", "what the model states"), rows, class_="said")
    for said, found in several.items():
        summary = join((code(plain(said)), element("span", f" at {plural(len(found), 'place')}", class_="soft")), "")
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
