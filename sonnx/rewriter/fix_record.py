"""Writing the record of `sonnx fix`, whose parts are in `sonnx/report/rewrites_json.py`."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING

from sonnx.base.files import sha256
from sonnx.checker.report import Report
from sonnx.report.json_parts import CountedFindings, Place, dumps, part, tool
from sonnx.report.rewrites_json import (
    FindingsPart,
    ModelPart,
    OutputDifference,
    ReasonPart,
    RecordFile,
    RewritePart,
    ValidationPart,
)

if TYPE_CHECKING:
    from sonnx.rewriter.rewrite import AppliedRewrite
    from sonnx.rewriter.rewriting import FixResult, RemainingFindings
    from sonnx.rewriter.validation import Validation


def render(result: FixResult, output: str | None = None) -> str:
    """One document ending in a line feed; `output` is the file that was written, None for none."""
    new = sha256(result.model_bytes())
    document = RecordFile(
        1,
        tool(),
        result.after.exit_code(),  # type: ignore[arg-type]
        result.after.edition,
        _summary(PurePath(result.before.name).name, result.source_sha256, result.before),
        _summary(output and PurePath(output).name, new, result.after),
        tuple(map(_applied, result.rewrites)),
        tuple(map(_remaining, result.remaining)),
        _validation(result.validation),
    )
    return dumps(document)


def _summary(name: str | None, digest: str, report: Report) -> ModelPart:
    found = Counter((each.rule, each.verdict) for each in report.roots)
    findings = tuple(CountedFindings(*each, number) for each, number in found.items())
    return ModelPart(name, digest, report.verdict, findings)


def _applied(each: AppliedRewrite) -> RewritePart:
    return part(RewritePart, each, kind=each.name, rules=tuple(each.rules), where=part(Place, each.where))


def _remaining(each: RemainingFindings) -> FindingsPart:
    reasons = (
        ReasonPart(reason, tuple(one.where.place for one in findings)) for reason, findings in each.reasons.items()
    )
    return FindingsPart(each.rule.slug, each.verdict, len(each.findings), each.rule.remedy, tuple(reasons))


def _validation(validation: Validation) -> ValidationPart:
    return ValidationPart(
        summary=validation.sentence,
        done=validation.complete,
        requested=validation.requested,
        inputs=validation.inputs,
        outputs=validation.outputs,
        elements=validation.elements,
        bits=validation.bitwise,
        without_value=validation.without_value,
        since=tuple(validation.after),
        left_out=tuple(validation.not_executable),
        because=validation.because or None,
        beyond=tuple(validation.changing_values),
        open=validation.missing or None,
        for_all_inputs=validation.for_all_inputs,
        unmatched=validation.unmatched.strip() or None,
        box=validation.box,
        hypotheses=validation.hypotheses or None,
        differences=tuple(OutputDifference(name, most) for name, most in validation.differences.items()),
    )
