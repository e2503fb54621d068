"""The result of `fix` as a document: what remains, and every rewrite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sonnx.base.escaping import escape, escape_once
from sonnx.profile import catalogue
from sonnx.report.check_document import STANDINGS
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing, rule_criterion
from sonnx.report.phrases import operators_outside
from sonnx.rewriter.fix_text import counted, headline

if TYPE_CHECKING:
    from sonnx.rewriter.rewriting import Rewriting


def document_of(result: Rewriting) -> Document:
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


def _facts(result: Rewriting) -> Iterator[tuple[str, str]]:
    yield "SHA-256", result.source_sha256
    yield "findings before", counted(result.before)
    yield "findings after", counted(result.after)
    outside = operators_outside(result.after.findings)
    if outside:
        yield "operators left that are outside the profile", outside
    yield "validation", escape_once(result.validation.sentence)


def _remaining(result: Rewriting) -> Iterator[CaseResult]:
    for each in result.remaining:
        standing, slug = STANDINGS[each.verdict], each.rule.slug
        for reason, findings in each.reasons.items():
            for finding in findings:
                yield CaseResult(slug, slug, str(each.verdict), standing, escape_once(reason), (), finding.where)


def _rewrites(result: Rewriting) -> Iterator[CaseResult]:
    for each in result.rewrites:
        details = (("for", ", ".join(each.rules)), ("changes", escape_once(each.changes)))
        yield CaseResult(
            each.name, each.name, "rewritten", Standing.GOOD, escape_once(f"{each.before} becomes {each.after}"),
            tuple((term, text) for term, text in details if text), each.where,
        )  # fmt: skip
