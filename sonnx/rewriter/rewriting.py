"""A rewritten model: its checks, what was changed, what remains, and what was validated."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from sonnx.checker.report import Finding
from sonnx.checker.verdicts import Verdict
from sonnx.profile.definitions import Rule
from sonnx.report.check import CheckReport
from sonnx.report.phrases import grouped
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


class Rewriting(Struct, frozen=True):
    """A rewritten model.

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
