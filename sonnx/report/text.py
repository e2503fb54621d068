"""The report as text: every problem at once, the first of a rule in full, the others as places."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from sonnx.base.escaping import escape, quote
from sonnx.checker.report import Finding, Report, Verdict, Where, Why, why
from sonnx.profile.definitions import Rule, show_tags

PLACES = 3
"""Further places shown for one rule; the JSON report has all."""
SAYS = {
    Verdict.PASS: "conforms",
    Verdict.FAIL: "does not conform",
    Verdict.UNDECIDED: "is not decided",
    Verdict.NOT_CHECKED: "is not completely checked",
    Verdict.ASSUMED: "conforms under assumptions",
    Verdict.DEVIATED: "conforms with deviations",
}
ORDER = (Verdict.FAIL, Verdict.UNDECIDED, Verdict.NOT_CHECKED, Verdict.ASSUMED, Verdict.DEVIATED)


def render(
    reports: Sequence[Report],
    unreadable: Mapping[str, str],
    code: int = 0,
    accept_assumptions: bool = False,
) -> str:
    """All reports of one run, and a line of totals where there are several files; unreadable ones are only counted."""
    text = "\n".join(map(one, reports))
    return text + "\n" + total(reports, unreadable.values()) if len(reports) + len(unreadable) > 1 else text


def one(report: Report) -> str:
    """The report of one model, ending in a line feed."""
    groups = grouped(report.roots)
    blocks = ["\n".join(_group(findings, report.rules[findings[0].rule], report)) for findings in groups]
    return "\n\n".join([headline(report), *blocks, "\n".join(_summary(report))]) + "\n"


def headline(report: Report) -> str:
    """The model and what is said of it, as one line."""
    return f"{escape(report.name)}: {said(report)}"


def said(report: Report) -> str:
    """The verdict in words: what was judged, the answer, by which edition, for what."""
    if report.partial and not report.number(Verdict.PASS) + len(report.findings):
        return f"the selected rules have nothing to judge ({report.partial}); edition {report.edition}"
    if report.partial and report.verdict is Verdict.PASS:
        return f"the selected rules hold ({report.partial}); edition {report.edition}"
    bound = ", ".join(f"{escape(symbol)}={number}" for symbol, number in report.bound)
    tailored = f"tailored by {report.tailoring.name!r}" if report.tailoring else ""
    day = f"deviations as of {report.deviations.date}" if report.deviations else ""
    details = [f"edition {report.edition}", tailored, f"for {bound}" if bound else "", day, report.partial]
    return f"{SAYS[report.verdict]} ({', '.join(filter(None, details))})"


def grouped(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Findings of one rule and verdict together: failures first, of these what is not valid ONNX."""
    groups: dict[tuple[str, Verdict], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule, finding.verdict), []).append(finding)
    return sorted(
        groups.values(),
        key=lambda group: (ORDER.index(group[0].verdict), not any(each.breaks_onnx for each in group)),
    )


def _group(findings: Sequence[Finding], rule: Rule, report: Report) -> Iterator[str]:
    first = findings[0]
    tags = show_tags(first.tags)
    yield place(first.where)
    yield "  ".join(filter(None, [f"  {first.verdict}", first.rule, tags, first.actual]))
    if first.operands:
        yield _line("where", ", ".join(f"{letter} is {quote(name)}" for letter, name in first.operands))
    if first.verdict is Verdict.FAIL:
        yield _line("meaning", meaning(first, rule))
        yield _line("requires", first.requires)
        yield _line("because", rule.because)
        yield _line("remedy", rule.remedy)
    elif first.verdict is Verdict.DEVIATED:
        yield from (_line(label, said) for label, said in justified(findings, report))
    elif first.verdict is not Verdict.NOT_CHECKED:
        yield _line("assumes" if first.verdict is Verdict.ASSUMED else "requires", first.requires)
    if rule.kind != "project":
        yield _line("more", f"sonnx explain {first.rule}")
    yield from _others(findings[1:])


def meaning(finding: Finding, rule: Rule) -> str:
    """What a failure is."""
    if finding.breaks_onnx:
        return "not valid ONNX"
    return "against the project's own rules" if rule.kind == "project" else "outside the profile"


def justified(findings: Iterable[Finding], report: Report) -> Iterator[tuple[str, str]]:
    """The records that justify findings, as terms and what they say."""
    used = {finding.deviation for finding in findings}
    for record in report.deviations.records if report.deviations else ():
        if record.id in used:
            yield "by", f"{record.id}, approved by {record.approver}, until {record.expires}"
            yield "reason", record.reason
            yield "risk", record.risk


def _line(label: str, text: str) -> str:
    return f"        {label:<9} {text}"


def _others(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings[:PLACES]:
        yield f"    also {place(finding.where)}: {finding.actual}"
    if len(findings) > PLACES:
        yield f"    and {len(findings) - PLACES} more places (--format json lists them)"


def place(where: Where) -> str:
    """A place in words: `node 'conv1' (Conv, opset 13), graph/node[4]`."""
    name = f" {quote(where.name)}" if where.name else ""
    if where.kind == "node":
        version = f", opset {where.version}" if where.version is not None else ""
        return f"node{name} ({escape(where.operator)}{version}), {where.place}"
    return where.place if where.kind == "model" else f"{where.kind}{name}, {where.place}"


def _summary(report: Report) -> Iterator[str]:
    coverage = report.coverage
    outside = coverage.nodes - coverage.nodes_in_profile
    yield (
        f"rules: {coverage.known} known, {coverage.applicable} applicable, {coverage.evaluated} evaluated everywhere; "
        f"answers: {answers(report)}"
    )
    yield (
        f"nodes: {coverage.nodes}, of which {outside} outside the profile and "
        f"{coverage.nodes_not_checked} of operators whose rules are not written yet"
    )
    folded = len(report.findings) - len(report.roots)
    if folded:
        causes = sorted({finding.cause for finding in report.findings if finding.cause})
        yield f"folded: {folded} answers are undecided only because of {', '.join(causes)}"
    for label, text in given(report):
        yield f"{label}: {text}"
    for note in report.notes:
        yield f"note: {note}"


def given(report: Report) -> Iterator[tuple[str, str]]:
    """The files of the project that the verdict rests on, each with its hash."""
    for label, file in (("tailoring", report.tailoring), ("deviations", report.deviations)):
        if file is not None:
            yield label, f"{escape(file.file)}, SHA-256 {file.sha256}"


def answers(report: Report) -> str:
    """How many answers there are of each verdict."""
    numbers = ((report.number(verdict), verdict) for verdict in Verdict)
    return ", ".join(f"{number} {verdict}" for number, verdict in numbers if number)


def total(reports: Sequence[Report], unjudged: Collection[str]) -> str:
    """The last line for several models."""
    words = [*(str(report.verdict) for report in reports), *(why(sentence).word for sentence in unjudged)]
    order = (*Verdict, *(each.word for each in Why))
    numbers = [f"{words.count(word)} {word}" for word in order if word in words]
    return f"{len(words)} files: {', '.join(numbers)}\n"
