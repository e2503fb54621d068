"""Phrases and groups that several formats share: verdicts, places, headlines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import attrgetter

from sonnx.base.escaping import MAX_MESSAGE, escape, plural, quote
from sonnx.checker.report import Finding, Report
from sonnx.checker.verdicts import Verdict, Where
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition, Rule, Tag
from sonnx.profile.index import is_default_version
from sonnx.profile.rewrites import OUTSIDE
from sonnx.report.fix_forecast import Forecast

MAX_NAMED_OPERATORS = 12
"""Operators outside the profile that a summary names."""
MAX_NAMED_ERRATA = 3
"""Errata that a finding names in a report for people; JSON and `sonnx explain` have all."""
VERDICT_PHRASES = {
    Verdict.PASS: "conforms",
    Verdict.FAIL: "does not conform",
    Verdict.UNDECIDED: "is not decided",
    Verdict.NOT_CHECKED: "is not completely checked",
    Verdict.ASSUMED: "conforms under assumptions",
    Verdict.DEVIATED: "conforms with deviations",
}
VERDICT_ORDER = (Verdict.FAIL, Verdict.UNDECIDED, Verdict.NOT_CHECKED, Verdict.ASSUMED, Verdict.DEVIATED)


def headline(report: Report) -> str:
    """The model and its verdict, in one line."""
    return f"{escape(report.name)}: {verdict_phrase(report)}"


def verdict_phrase(report: Report) -> str:
    """The verdict in words, with the edition and the options it holds for."""
    if report.partial and not report.number(Verdict.PASS) + len(report.findings):
        return report.conditions.limited("the selected rules do not apply to the model")
    if report.partial and report.verdict is Verdict.PASS:
        return report.conditions.limited("the selected rules hold")
    return report.conditions.limited(VERDICT_PHRASES[report.verdict])


def without_assumptions(report: Report) -> str:
    """What a page says where it lists no assumption on values at run time: what the verdict depends on all the same."""
    conditions = report.conditions
    if conditions.selection:
        return f"None of the selected rules ({conditions.selection}) assumes anything of values at run time."
    if report.number(Verdict.UNDECIDED) or report.number(Verdict.NOT_CHECKED):
        return "None is stated, but what is not decided may depend on values at run time."
    if conditions.box:
        return f"None but the box: the verdict holds for inputs with {conditions.box_in_words()} only."
    return "None: the verdict does not depend on values at run time."


_breaks_onnx = attrgetter("breaks_onnx")


def grouped(findings: Iterable[Finding]) -> list[list[Finding]]:
    """The findings by rule and verdict: failures first, and of these what is not valid ONNX."""
    groups: dict[tuple[str, Verdict], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule, finding.verdict), []).append(finding)
    return sorted(
        groups.values(),
        key=lambda group: (VERDICT_ORDER.index(group[0].verdict), not any(map(_breaks_onnx, group))),
    )


def meaning(finding: Finding, rule: Rule) -> str:
    """What kind of failure a finding is."""
    if finding.breaks_onnx:
        return "not valid ONNX"
    return "against the project's own rules" if rule.kind == "project" else "outside the profile"


def justifications(findings: Iterable[Finding], report: Report) -> Iterator[tuple[str, str]]:
    """The deviation records that justify findings, as terms with their texts."""
    used = {finding.deviation for finding in findings}
    for record in report.deviations.records if report.deviations else ():
        if record.id in used:
            yield "by", f"{record.id}, approved by {record.approver}, until {record.expires}"
            yield "reason", record.reason
            yield "risk", record.risk


def place(where: Where) -> str:
    """A place in words: `node 'conv1' (Conv, opset 13), graph/node[4]`."""
    name = f" {quote(where.name)}" if where.name else ""
    if where.kind == "node":
        version = f", opset {where.version}" if where.version is not None else ""
        return f"node{name} ({escape(where.operator)}{version}), {where.place}"
    return where.place if where.kind == "model" else f"{where.kind}{name}, {where.place}"


def project_files(report: Report) -> Iterator[tuple[str, str]]:
    """The files of the project that the verdict depends on, each with its hash."""
    for label, file in (("tailoring", report.tailoring), ("deviations", report.deviations)):
        if file is not None:
            yield label, f"{escape(file.file)}, SHA-256 {file.sha256}"


def verdict_counts(report: Report) -> str:
    """The number of results with each verdict."""
    numbers = ((report.number(verdict), verdict) for verdict in Verdict)
    return ", ".join(f"{number} {verdict}" for number, verdict in numbers if number)


SIZE = "SIZE"
"""What stands in a command for a size that the reader has to write."""


def fix_command(report: Report, forecast: Forecast | None = None) -> tuple[str, str]:
    """The command that corrects what it can, and what to do about its sizes.

    Open sizes are those of the dry run; without one each is a word that the reader replaces.
    """
    import shlex  # a model that conforms needs no command

    command = ["sonnx", "fix", report.name]
    command += [] if report.edition == catalogue.editions().default else ["--edition", report.edition]
    command += ["--strict-versions"] if report.strict_versions else []
    for symbol, number in report.bound.items():
        command += ["--bind", f"{symbol}={number}"]
    for input_name, sizes in report.input_shapes.items():
        command += ["--input-shape", f"{input_name}={','.join(map(str, sizes))}"]
    dry_run = None if forecast is None else forecast.forecast
    shapes = {} if dry_run is None else dry_run.shapes
    open_shapes = {
        name: [*map(str, shapes[name])] if name in shapes else [size if _is_number(size) else SIZE for size in shape]
        for name, shape in report.open_inputs
    }
    written, left = _fitting([f"{name}={','.join(shape)}" for name, shape in open_shapes.items()])
    for text in written:
        command += ["--input-shape", text]
    more = f" and {plural(left, 'more input')}" if left else ""
    if any(SIZE in shape for shape in open_shapes.values()):
        return escape(shlex.join(command)), f"write your numbers for {SIZE}{more}"
    chosen = _fitting(dry_run.chosen)[0] if dry_run else ()
    names = ", ".join(chosen) + ("" if dry_run is None or len(chosen) == len(dry_run.chosen) else " and more")
    pronoun = "it" if len(chosen) == 1 else "them"
    note = escape(f"choose {names}: the model leaves {pronoun} open") if chosen else ""
    return escape(shlex.join(command)), note + more


def _fitting(texts: Sequence[str]) -> tuple[Sequence[str], int]:
    """The first texts, as many as a message has room for, and how many more there are."""
    number = bisect_right(list(accumulate(map(len, texts))), MAX_MESSAGE)
    return texts[:number], len(texts) - number


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def explain_command(finding: Finding, rule: Rule, edition: str) -> str:
    """The command that explains the very condition that a finding is about: its version and its edition."""
    command = f"sonnx explain {finding.rule}"
    version = finding.where.version
    if version is not None and not is_default_version(finding.rule, version):
        command += f" --model-version {version}"
    if rule.onnx is not None and finding.requires == rule.onnx.text != (rule.require and rule.require.text):
        return f"{command} --edition {edition}"  # the edition has less than the rule
    return command + explain_in(edition)


def explain_in(edition: str) -> str:
    """The option that chooses an edition, "" for the default one."""
    return "" if edition == catalogue.editions().default else f" --edition {edition}"


def errata_named(names: Sequence[str]) -> str:
    """The first errata of a rule, where there is one alone with what is wrong or open in the text."""
    if len(names) == 1:
        return f"{names[0]}: {' '.join(catalogue.errata()[names[0]].defect.split())}"
    more = f" and {len(names) - MAX_NAMED_ERRATA} more" if len(names) > MAX_NAMED_ERRATA else ""
    return ", ".join(names[:MAX_NAMED_ERRATA]) + more


def rule_page(docs: str, rule: str) -> str:
    """The address of a rule on a site with the documents; "" without a site."""
    return f"{docs.rstrip('/')}/{rule_page_name(rule)}.html#{rule_anchor(rule)}" if docs else ""


GENERAL_RULES = "rules/general"
"""The page of the rules that do not belong to an operator."""


def rule_page_name(rule: str) -> str:
    """The page that has a rule, without its ending: that of its operator, or the page of general rules."""
    operator, dot, _ = rule.partition(".")
    return f"operators/{operator.lower()}" if dot else GENERAL_RULES


def rule_anchor(rule: str) -> str:
    """The place of a rule in its page."""
    return re.sub(r"[^a-z0-9]+", "-", rule.lower()).strip("-")


def operators_outside(failures: Iterable[Finding]) -> str:
    """The operators of nodes that have none of the profile, the most frequent first."""
    counts = Counter(finding.where.operator for finding in failures if finding.rule == OUTSIDE)
    listed = [f"{escape(name)} {number}" for name, number in counts.most_common(MAX_NAMED_OPERATORS)]
    more = len(counts) - len(listed)
    return ", ".join([*listed, f"and {more} more"] if more else listed)


def tags_until(rule: Rule, edition: Edition) -> tuple[Tag, ...]:
    """The tags of the text an edition takes for the rule and of those before it."""
    texts = list(catalogue.editions().texts)
    operator = rule.slug.partition(".")[0] if "." in rule.slug else ""
    last = texts.index(edition.text_of(operator) or edition.general)
    return tuple(tag for tag in rule.tags if texts.index(tag.text) <= last)
