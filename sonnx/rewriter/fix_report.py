"""What `sonnx fix` prints: each rewrite with the places it changed, what remains, and what was validated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from sonnx.base.escaping import escape, escape_once, plural
from sonnx.base.outward import at_most
from sonnx.checker.report import Report
from sonnx.checker.verdicts import Verdict
from sonnx.profile import catalogue
from sonnx.report.check_document import STANDINGS
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing, rule_criterion
from sonnx.report.phrases import VERDICT_PHRASES, operators_outside, place
from sonnx.rewriter.rewrite import AppliedRewrite

if TYPE_CHECKING:
    from sonnx.rewriter.rewriting import FixResult, RemainingFindings

SHOWN_EDITS = 8
"""Places of one rewrite that are printed by default; the JSON record has all."""


def render(result: FixResult, shown: int | None = SHOWN_EDITS) -> str:
    """The whole text, ending in a line feed, with a number of places of each rewrite, None for all."""
    blocks = [f"{escape(result.before.name)}: {headline(result)}"]
    blocks += ["\n".join(_rewrite(applied, shown)) for applied in _by_name(result.rewrites)]
    remaining = result.remaining
    blocks += ["\n".join(["Remaining findings:", *_lines(remaining)])] if remaining else []
    blocks.append("\n".join(_summary(result)))
    return "\n\n".join(blocks) + "\n"


def headline(result: FixResult) -> str:
    """Findings before and after, and the verdict on the new model."""
    before, after = len(result.before.roots), len(result.after.roots)
    verdict = VERDICT_PHRASES[result.after.verdict]
    rewrites = plural(len(result.rewrites), "rewrite")
    return f"{rewrites}, findings {before} before and {after} after: it {verdict} (edition {result.after.edition})"


def _by_name(rewrites: Iterable[AppliedRewrite]) -> Iterable[list[AppliedRewrite]]:
    found: dict[str, list[AppliedRewrite]] = {}
    for each in rewrites:
        found.setdefault(each.name, []).append(each)
    return found.values()


def _rewrite(applied: Sequence[AppliedRewrite], shown: int | None) -> Iterator[str]:
    rules = sorted({rule for each in applied for rule in each.rules})
    yield f"{applied[0].title} ({len(applied)})" + (f", for {', '.join(rules)}" if rules else "")
    if applied[0].theorem:
        yield f"  values unchanged by theorem {applied[0].theorem}: sonnx prove --select {applied[0].theorem}"
    notes = sorted({each.changes for each in applied} - {""})
    yield from (f"  note: {escape(changes)}" for changes in notes[:shown])
    for each in applied[:shown]:
        yield f"  {place(each.where)}"
        yield f"    - {each.before}"
        yield f"    + {each.after}"
        if each.bounded:
            yield f"    {escape(each.value)}: {_difference(each)}"
    if shown is not None and len(applied) > shown:
        yield f"  and {len(applied) - shown} more (--all prints them)"


def _difference(each: AppliedRewrite) -> str:
    """How far the value is from that of the original, within the hypotheses and on the box of the summary."""
    if each.difference is None:
        return "no bound of the difference is known"
    return f"implementations of both models differ by at most {at_most(each.difference)} on the box"


def _lines(remaining: Iterable[RemainingFindings]) -> Iterator[str]:
    for each in remaining:
        yield f"  {each.verdict} {each.rule.slug} ({plural(len(each.findings), 'place')}): {each.rule.remedy}"
        for reason, findings in each.reasons.items():
            more = f" and {len(findings) - 1} more" if len(findings) > 1 else ""
            yield f"    {place(findings[0].where)}{more}: {reason}"


def _summary(result: FixResult) -> Iterator[str]:
    yield f"findings before: {counted(result.before)}"
    yield f"findings after:  {counted(result.after)}"
    outside = operators_outside(result.after.findings)
    if outside:
        yield f"operators left that are outside the profile: {outside}"
    if result.rewrites:
        yield f"nodes: {_nodes(result)}"
        yield result.validation.sentence


def _nodes(result: FixResult) -> str:
    """The price of the rewrites in nodes; --keep leaves those of an operator."""
    before, after = result.before.coverage.nodes, result.after.coverage.nodes
    return f"{before} before, {after} after"


def counted(report: Report) -> str:
    """The findings by rule, the most frequent first."""
    found = Counter(
        each.rule if each.verdict is Verdict.FAIL else f"{each.rule} {each.verdict}" for each in report.roots
    )
    return ", ".join(f"{number} {rule}" for rule, number in found.most_common()) or "none"


# ------------------------------------------------------------------ as a document, for the other formats


def document_of(result: FixResult) -> Document:
    """A case for each remaining finding, and one for each rewrite, whose criterion is the kind of rewrite."""
    name, edition = result.before.name, catalogue.editions().editions[result.after.edition]
    rules = {each.rule.slug: rule_criterion(each.rule, edition) for each in result.remaining}
    made = {
        each.name: Criterion(each.title, "rewrite", source=f"theorem {each.theorem}" if each.theorem else "")
        for each in result.rewrites
    }
    sections = (
        Section(f"{escape(name)}: remaining findings", name, tuple(_remaining(result))),
        Section(f"{escape(name)}: rewrites", name, tuple(_rewrites(result))),
    )
    return Document(
        command="fix",
        title="a model rewritten into the profile",
        subject=escape(name),
        headline=headline(result),
        code=result.after.exit_code(),
        criteria={**rules, **made},
        sections=tuple(section for section in sections if section.cases),
        facts=tuple(_facts(result)),
        hashes={name: result.source_sha256},
    )


def _facts(result: FixResult) -> Iterator[tuple[str, str]]:
    yield "SHA-256", result.source_sha256
    yield "findings before", counted(result.before)
    yield "findings after", counted(result.after)
    yield "nodes", _nodes(result)
    outside = operators_outside(result.after.findings)
    if outside:
        yield "operators left that are outside the profile", outside
    yield "validation", escape_once(result.validation.sentence)


def _remaining(result: FixResult) -> Iterator[CaseResult]:
    for each in result.remaining:
        standing, slug = STANDINGS[each.verdict], each.rule.slug
        for reason, findings in each.reasons.items():
            for finding in findings:
                yield CaseResult(slug, slug, str(each.verdict), standing, escape_once(reason), (), finding.where)


def _rewrites(result: FixResult) -> Iterator[CaseResult]:
    for each in result.rewrites:
        apart = _difference(each) if each.bounded else ""
        details = (
            ("for", ", ".join(each.rules)), ("changes", escape_once(each.changes)), ("difference", apart),
        )  # fmt: skip
        yield CaseResult(
            each.name, each.name, "rewritten", Standing.GOOD, escape_once(f"{each.before} → {each.after}"),
            tuple((term, text) for term, text in details if text), each.where,
        )  # fmt: skip
