"""A rewritten model: its checks, what was changed, what remains, and what was validated."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from sonnx.checker.report import Finding
from sonnx.checker.verdicts import Verdict
from sonnx.profile.definitions import Rule
from sonnx.report.check import CheckReport
from sonnx.report.formats import render_document
from sonnx.report.notebooks import ShownInNotebooks
from sonnx.report.phrases import grouped
from sonnx.rewriter import fix_record, fix_report
from sonnx.rewriter.rewrite import AppliedRewrite
from sonnx.rewriter.validation import Validation


class RemainingFindings(Struct, frozen=True):
    """What one rule still reports with one verdict.

    `reasons` groups the findings by what a person must know to act on them: why a shape is not known, or what is wrong.
    """

    rule: Rule
    verdict: Verdict
    findings: tuple[Finding, ...]
    reasons: Mapping[str, tuple[Finding, ...]]


class FixResult(Struct, ShownInNotebooks, frozen=True):
    """The result of `fix`: a rewritten model, as text and as a record.

    `before` is the check of the original, `after` that of the new model; `rewrites` are all places that were changed,
    in the order of the changes; `unknown_shapes` says for each value without a complete shape why that is so;
    `validation` is what was compared between both models.
    """

    before: CheckReport
    after: CheckReport
    rewrites: tuple[AppliedRewrite, ...]
    unknown_shapes: Mapping[str, str]
    validation: Validation
    source_sha256: str
    _model: bytes

    def model_bytes(self) -> bytes:
        """The new model as a file."""
        return self._model

    def to_text(self, *, every_place: bool = False) -> str:
        """A text for people, ending in a line feed, with the first places of each rewrite, or every place."""
        return fix_report.render(self, None if every_place else fix_report.SHOWN_EDITS)

    def to_json(self, output: str | None = None) -> str:
        """The record as JSON (sonnx/report/rewrites.schema.json); `output` is the file written, None for none."""
        return fix_record.render(self, output)

    def to_format(self, name: str) -> str:
        """The result in a format of `sonnx fix --format`: text, json, html, sarif, junit, github or markdown.

        Raises:
            UsageError: an unknown format.
        """
        if name == "text":
            return self.to_text()
        return self.to_json() if name == "json" else render_document(name, fix_report.document_of(self))

    @property
    def remaining(self) -> tuple[RemainingFindings, ...]:
        """The findings of the new model that do not follow from another one, by rule and verdict."""
        return tuple(map(self._remaining, grouped(self.after.roots)))

    def _remaining(self, findings: list[Finding]) -> RemainingFindings:
        reasons: dict[str, tuple[Finding, ...]] = {}
        for each in findings:
            unknown = self.unknown_shapes.get(each.where.name) if each.where.kind == "value" else None
            reason = unknown or each.actual
            reasons[reason] = (*reasons.get(reason, ()), each)
        first = findings[0]
        return RemainingFindings(self.after.rules[first.rule], first.verdict, tuple(findings), reasons)
