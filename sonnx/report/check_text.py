"""The report of a check as text: a summary, the findings by rule, each result once with its places, what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sonnx.base.escaping import escape, escape_once, plural, quote
from sonnx.checker.report import ACCEPTED_LIKE, UNCHANGED, Finding, NoVerdict, Report, reason_without_verdict
from sonnx.checker.report_builder import edition_notes
from sonnx.checker.verdicts import Verdict, Where
from sonnx.profile import catalogue
from sonnx.profile.definitions import show_tags
from sonnx.profile.rewrites import OUTSIDE
from sonnx.report.check_run import CheckRun
from sonnx.report.fix_forecast import FixForecast, Forecast
from sonnx.report.phrases import (
    errata_named,
    explain_command,
    fix_command,
    grouped,
    justifications,
    meaning,
    operators_outside,
    place,
    project_files,
    rule_page,
    verdict_counts,
    verdict_phrase,
)
from sonnx.report.terminal import PLAIN, Style

MORE_PLACES = 3
"""Further places shown for one rule; the JSON report has all."""
TABLE_FROM = 3
"""Rules with findings from which a table stands before the findings."""
MAX_GONE = 10
"""Findings of the baseline that are gone, each in a line."""
LABEL_WIDTH = 14


def render(run: CheckRun) -> str:
    """The report of one model; or for several one line for each and a line of totals, without colours."""
    return render_in(Style(docs=run.docs), run)


def render_in(style: Style, run: CheckRun) -> str:
    """As `render`, with the colours and the width of a style."""
    if len(run.reports) + len(run.unreadable) == 1:
        return render_full(run, style, complete=False)
    return "".join(f"{brief(report, style)}\n" for report in run.reports) + total_line(run)


def render_full(run: CheckRun, style: Style = PLAIN, *, complete: bool = True) -> str:
    """The report of each model, and a line of totals if there are several files; see `one_report`."""
    text = "\n".join(
        one_report(report, style, run.forecast, complete=complete, new_only=run.new_only) for report in run.reports
    )
    return f"{text}\n{total_line(run)}" if len(run.reports) + len(run.unreadable) > 1 else text


def statistics(reports: Sequence[Report], style: Style = PLAIN) -> str:
    """The rules with findings over all models, with the number of places and whether `sonnx fix` has a rewrite."""
    findings = [finding for report in reports for finding in report.roots]
    unlisted = Counter[tuple[str, Verdict]]()
    for report in reports:
        unlisted.update(report.unlisted)
    return "".join(f"{line}\n" for line in _table(grouped(findings), style, unlisted)) or "no findings\n"


def brief(report: Report, style: Style = PLAIN) -> str:
    """The verdict on one model, with the number of its findings, in one line."""
    counts = Counter(finding.verdict for finding in report.roots)
    for (_, verdict), number in report.unlisted.items():
        counts[verdict] += number
    listed = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    listed += f"; {report.baseline.new} new" if report.baseline is not None else ""
    return _headline(report, style) + (f": {listed}" if listed else "")


def one_report(
    report: Report,
    style: Style = PLAIN,
    forecast: Forecast | None = None,
    *,
    complete: bool = True,
    new_only: bool = False,
) -> str:
    """The report of one model, with what `sonnx fix` leaves of it, ending in a line feed.

    If it is `complete`, with the notes on every model.  With `new_only` the findings are those that the baseline does
    not have.
    """
    groups = grouped([each for each in report.roots if not new_only or each.state != UNCHANGED])
    failures = [finding for group in groups if group[0].verdict is Verdict.FAIL for finding in group]
    dry_run = None if forecast is None else forecast.forecast
    corrected = _correctable(failures, report.number_unlisted(Verdict.FAIL), dry_run) if failures else ""
    blocks = ["\n".join([_headline(report, style), *_overview(groups, failures, corrected, report, style, dry_run)])]
    unlisted = report.unlisted
    for findings in groups:
        lines = _group(findings, report, unlisted.get((findings[0].rule, findings[0].verdict), 0), style)
        blocks.append("\n".join(lines))
    blocks.append("\n".join(_summary(report, failures, corrected, style, forecast, complete=complete)))
    return "\n\n".join(blocks) + "\n"


def _headline(report: Report, style: Style) -> str:
    return f"{style.bold(escape(report.name))}: {style.verdict(report.verdict, verdict_phrase(report))}"


# ------------------------------------------------------------------ before the findings


def _overview(
    groups: Sequence[Sequence[Finding]],
    failures: Sequence[Finding],
    corrected: str,
    report: Report,
    style: Style,
    dry_run: FixForecast | None,
) -> Iterator[str]:
    since = report.baseline
    if since is not None:
        yield style.bold(f"  {since.new} new, {since.unchanged} unchanged, {len(since.gone)} gone since {since.file}")
    if failures:
        yield f"  {corrected}"
    outside = operators_outside(failures)
    if outside:
        yield style.wrapped(f"  operators outside the profile: {outside}", 4)
    if len(groups) >= TABLE_FROM:
        yield ""
        yield from (f"  {line}" for line in _table(groups, style, report.unlisted, dry_run))


def _correctable(failures: Sequence[Finding], unlisted: int, dry_run: FixForecast | None) -> str:
    """How many failures of how many rules, and how many findings `sonnx fix` leaves, by its dry run."""
    rules = len({finding.rule for finding in failures})
    number = plural(len(failures) + unlisted, "failure")
    return f"{number} of {plural(rules, 'rule')}" + (f"; {dry_run.sentence}" if dry_run else "")


def _table(
    groups: Iterable[Sequence[Finding]],
    style: Style,
    unlisted: Mapping[tuple[str, Verdict], int],
    dry_run: FixForecast | None = None,
) -> Iterator[str]:
    """A row for each rule and verdict: the places, and how many findings of the rule `sonnx fix` leaves."""
    rows = [("rule", "result", "places", *(["after fix"] if dry_run else []))]
    verdicts: list[Verdict | None] = [None]
    for group in groups:
        rule, places = group[0].rule, len(group) + unlisted.get((group[0].rule, group[0].verdict), 0)
        rows.append((rule, str(group[0].verdict), str(places), *([str(dry_run.left.get(rule, 0))] if dry_run else [])))
        verdicts.append(group[0].verdict)
    if len(rows) == 1:
        return
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row, verdict in zip(rows, verdicts, strict=True):
        rule, result = row[0].ljust(widths[0]), row[1].ljust(widths[1])
        cells = "  ".join(cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True))
        yield f"{rule}  {result if verdict is None else style.verdict(verdict, result)}  {cells}"


# ------------------------------------------------------------------ the findings


def _group(findings: Sequence[Finding], report: Report, unlisted: int, style: Style) -> Iterator[str]:
    """What is to be said of a rule, once, then the places of its findings; so many more are not listed."""
    first, rule = findings[0], report.rules[findings[0].rule]
    what = meaning(first, rule) if first.verdict is Verdict.FAIL else ""
    parts = (style.verdict(first.verdict), style.bold(first.rule), what, show_tags(first.tags))
    yield style.wrapped("  ".join(filter(None, parts)), LABEL_WIDTH)
    if first.verdict is Verdict.FAIL:
        yield _line("requires", first.requires, style)
        yield _line("because", rule.because, style)
        if first.errata:
            yield _line("errata", errata_named(first.errata), style)
        yield _line("remedy", rule.remedy, style)
        rewrites = first.rewrite_descriptions
        if rewrites:
            yield _line("sonnx fix", "; ".join(rewrite.title for rewrite in rewrites), style)
    elif first.verdict is Verdict.DEVIATED:
        yield from (_line(label, text, style) for label, text in justifications(findings, report))
    elif first.verdict is not Verdict.NOT_CHECKED:
        yield _line("assumes" if first.verdict is Verdict.ASSUMED else "requires", first.requires, style)
        if first.witness:
            yield _line("holds for", first.witness, style)
    if rule.kind != "project":
        operator = f", sonnx explain {escape(first.where.operator)}" if first.rule == OUTSIDE else ""
        yield _line("more", f"{explain_command(first, rule, report.edition)}{operator}", style)
        if style.docs:
            yield _line("", rule_page(style.docs, first.rule), style)
    yield from _places(sorted(findings, key=lambda finding: finding.state), unlisted, style)


def _line(label: str, text: str, style: Style) -> str:
    return style.wrapped(f"    {style.dim(label.ljust(9))} {text}", LABEL_WIDTH)


def _places(findings: Sequence[Finding], unlisted: int, style: Style) -> Iterator[str]:
    """The places of a rule with what the model states there, those of equal results together."""
    alike: dict[tuple[str, tuple[tuple[str, str], ...], str], list[Where]] = {}
    for finding in findings:
        alike.setdefault((finding.actual, finding.operands, finding.state), []).append(finding.where)
    shown = 0
    for (actual, operands, state), places in list(alike.items())[:MORE_PLACES]:
        label = state or ("" if shown else "at")
        listed = places[:MORE_PLACES]
        shown += len(listed)
        for number, where in enumerate(listed):
            said = f": {actual}" if number == len(listed) - 1 and actual else ""
            yield style.wrapped(f"    {style.dim(label.ljust(9))} {style.bold(place(where))}{said}", LABEL_WIDTH)
            label = ""
        if operands:
            yield _line("where", ", ".join(f"{letter} is {quote(name)}" for letter, name in operands), style)
    number = len(findings) + unlisted
    if shown < number:
        options = f"--limit findings={number} --format concise" if unlisted else "--format concise"
        yield _line("", f"and {plural(number - shown, 'more place')} ({options} lists all)", style)


# ------------------------------------------------------------------ after the findings


def _summary(
    report: Report,
    failures: Sequence[Finding],
    corrected: str,
    style: Style,
    forecast: Forecast | None,
    *,
    complete: bool,
) -> Iterator[str]:
    coverage = report.coverage
    if failures:
        yield style.bold(corrected)
        command, sizes = fix_command(report, forecast)
        yield f"  {style.bold(command)}" + (f"   ({sizes})" if sizes else "")
        yield "  with --dry-run it writes nothing and says what it corrects and what is left"
        if forecast is not None and forecast.reason:
            yield f"  no dry run: {escape(forecast.reason)}"
    yield style.wrapped(
        f"{coverage.evaluated} of {coverage.applicable} applicable rules were evaluated everywhere; "
        f"results: {verdict_counts(report)}", 2,
    )  # fmt: skip
    outside = coverage.nodes - coverage.nodes_in_profile
    if outside:
        named = operators_outside(failures)
        yield style.wrapped(
            f"{outside} of {plural(coverage.nodes, 'node')} {_agrees(outside, 'uses an operator', 'use operators')} "
            "outside the profile"
            + (f": {named}" if named else ""), 2,
        )  # fmt: skip
    if coverage.nodes_not_checked:
        yield f"{plural(coverage.nodes_not_checked, 'node')} of operators whose rules are not written yet: not checked"
    folded = len(report.findings) - len(report.roots)
    if folded:
        causes = sorted({finding.cause for finding in report.findings if finding.cause})
        yield style.wrapped(f"{plural(folded, 'more result waits', 'more results wait')} for {', '.join(causes)} and "
            f"{_agrees(folded, 'is', 'are')} not listed", 2)  # fmt: skip
    for gone in report.baseline.gone[:MAX_GONE] if report.baseline is not None else ():
        yield style.wrapped(f"gone: {gone.verdict} {gone.rule}, {place(gone.where)}: {escape_once(gone.message)}", 6)
    if report.baseline is not None and len(report.baseline.gone) > MAX_GONE:
        yield f"gone: {len(report.baseline.gone) - MAX_GONE} more"
    for label, text in project_files(report):
        yield f"{label}: {text}"
    usual = () if complete else [note for note in report.notes if note in _on_every_model(report)]
    for note in _folded([note for note in report.notes if note not in usual]):
        yield style.dim(style.wrapped(f"note: {note}", 6))
    if usual:
        yield style.dim(f"{plural(len(usual), 'note')} on every model under this edition: --full")


def _agrees(number: int, one: str, many: str) -> str:
    return one if number == 1 else many


def _on_every_model(report: Report) -> Sequence[str]:
    return tuple(edition_notes(catalogue.edition_named(report.edition)))


def _folded(notes: Sequence[str]) -> Iterator[str]:
    """The notes, those on several operators of equivalent versions as one."""
    accepted = [note.partition(f" {ACCEPTED_LIKE} ")[0] for note in notes if ACCEPTED_LIKE in note]
    if len(accepted) > 1:
        first = accepted[0].partition(" ")[0]
        yield (
            f"{', '.join(accepted)} are accepted like the versions that the profile specifies; sonnx explain {first} "
            "says why, and so for the others"
        )
    yield from (note for note in notes if len(accepted) <= 1 or ACCEPTED_LIKE not in note)


def total_line(run: CheckRun) -> str:
    """The last line for several models."""
    words = [str(report.verdict) for report in run.reports]
    words += [reason_without_verdict(sentence).word for sentence in run.unreadable.values()]
    order = (*Verdict, *(reason.word for reason in NoVerdict))
    numbers = [f"{words.count(word)} {word}" for word in order if word in words]
    return f"{plural(len(words), 'file')}: {', '.join(numbers)}\n"
