"""`fix`: a model in, the rewritten model with a record of everything that was done out."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from sonnx.base.errors import UsageError
from sonnx.base.files import fixed_path, sha256
from sonnx.base.options import keyword_arguments
from sonnx.checker.conditions import MODEL, Conditions
from sonnx.checker.report import Report
from sonnx.checker.rules import ActiveRules
from sonnx.checker.verdicts import Verdict
from sonnx.equivalence.decision import ReportOn
from sonnx.equivalence.sides import side_of
from sonnx.model.ir import Model
from sonnx.model.onnx_checker import refusal
from sonnx.model.scopes import is_same
from sonnx.model.sources import Source, name_of
from sonnx.profile.rewrites import APPROXIMATE
from sonnx.report.fix_record import AppliedRewrite, Validation
from sonnx.rewriter import passes
from sonnx.rewriter.certified_differences import HYPOTHESES, certified_differences
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.cost import cost_of
from sonnx.rewriter.fix_report import FixResult
from sonnx.rewriter.gate import require_sound
from sonnx.rewriter.model_writing import ModelWriting
from sonnx.rewriter.opened_model import opened_model
from sonnx.rewriter.options import FixOptions
from sonnx.rewriter.rounds import rewritten_until_stable
from sonnx.rewriter.slow_nodes import rewritten_within
from sonnx.rewriter.validation import compared_as_terms, validate
from sonnx.rewriter.walk import WalkResult, walk


@keyword_arguments(FixOptions)
def fix(source: Source, options: FixOptions) -> FixResult:
    """Rewrite a model into the profile without changing a value; check and validate the result.

    Every finding is listed, because those before and after are compared.

    Raises:
        Unreadable: the source is not a readable ONNX model.
        BadInput: the model is not valid ONNX, which shows in what is rewritten only.
        UsageError: an unknown edition, rule or symbol, a binding that cannot hold, or a model that sonnx cannot write.
        Broken: the rewritten model is not valid ONNX though the original is, or has another interface; a defect.
        Differs: the rewritten model gives another value; a defect of sonnx.
    """
    if options.box and not (options.within_bound or options.approximate):
        raise UsageError("--box requires --within-bound; without it no value changes")
    opened = opened_model(source, options)
    before, bound, context, written, checks = opened.before, opened.bound, opened.context, opened.written, opened.checks
    rules = context.active_rules
    context, result, kept = rewritten_within(context, options.keep_slow)
    data, values = written.file_of(result.model, result.sources)
    final = written.as_checked(data, values, opened.limits)
    unchanged = not result.applied and is_same(opened.original, final)
    after = before if unchanged else checks.report(final, ActiveRules(rules.edition, rules.strict))

    def attempt(names: frozenset[str]) -> tuple[Model, Report, tuple[AppliedRewrite, ...]]:
        partly = rewritten_until_stable(replace(context, only=names))
        model = written.as_checked(*written.file_of(partly.model), opened.limits)
        return model, checks.report(model, ActiveRules(rules.edition, rules.strict)), partly.applied

    require_sound((bound, before), (final, after), result.applied, attempt, lambda: refusal(opened.file))
    rewritten = final if values is None else written.again(result.model)

    def report_on(model: Model) -> Report:
        known = {id(opened.original): before, id(final): after} if not rules.strict else {}
        return known.get(id(model)) or checks.report(model, ActiveRules(rules.edition))

    validation = _validated(result, rewritten, written, context, (before, after), options.samples, report_on)
    applied: tuple[AppliedRewrite, ...] = (*opened.bindings, *result.applied)
    if options.box:
        changed = [rewrite.value for rewrite in applied if rewrite.value]
        known = certified_differences(bound, rewritten, changed, options.box, rules.edition.name)
        applied = tuple([
            replace(rewrite, bounded=True, difference=known.get(rewrite.value)) if rewrite.value else rewrite
            for rewrite in applied
        ])  # fmt: skip
        outputs = {value.name: known.get(value.name) for value in bound.graph.outputs}
        validation = replace(validation, box=tuple(options.box), hypotheses=HYPOTHESES, bounds=outputs)
    file, called = opened.file, name_of(opened.file, options.name)
    digest = sha256(file if isinstance(file, bytes) else Path(file))
    box = {"hypotheses": HYPOTHESES} if options.box else {}
    conditions = Conditions.of(options, digests={MODEL: digest}, **box)
    costs = cost_of(bound, walk(context, ()).facts), cost_of(result.model, result.facts)
    parent = None if isinstance(file, bytes) else Path(file).parent
    sides = (
        side_of(bound, called, digest, parent),
        side_of(rewritten, fixed_path(Path(called)).name, sha256(data), parent),
    )
    files = opened.value_files
    return FixResult(
        before, after, applied, result.unknown_shapes, validation, conditions, data, costs, values, files, sides, kept
    )


def _validated(
    result: WalkResult,
    rewritten: Model,
    written: ModelWriting,
    context: RewriteContext,
    reports: tuple[Report, Report],
    samples: int,
    report_on: ReportOn,
) -> Validation:
    """The comparison of the original with the model before the rewrites that change values.

    `reports` are the checks before and after.
    """
    known = passes.every_rewrite()
    changing_values = tuple(sorted({rewrite.name for rewrite in result.applied if known[rewrite.name].option}))
    comparable = rewritten_until_stable(replace(context, options=frozenset())) if changing_values else result
    model = written.again(comparable.model) if changing_values else rewritten

    def partly_rewritten(names: frozenset[str]) -> Model:
        return rewritten_until_stable(replace(context, only=names)).model if names else context.model

    validation = validate(
        partly_rewritten,
        comparable.applied,
        model,
        context.run_domain,
        samples,
        *map(_rules_of_validity, reports),
    )
    validation = replace(validation, changing_values=changing_values)
    approximated = tuple(name for name in changing_values if known[name].option == APPROXIMATE)
    if approximated:
        exactly = rewritten_until_stable(replace(context, options=context.options - {APPROXIMATE}))
        validation, rewritten = replace(validation, approximated=approximated), written.again(exactly.model)
    if not samples:
        return validation
    invalid = set(_rules_of_validity(reports[0]))
    serving = frozenset([
        each.name for each in result.applied if invalid.intersection(each.rules) and not known[each.name].option
    ])  # fmt: skip
    original = partly_rewritten(serving)
    validation = compared_as_terms(validation, original, rewritten, context.run_domain, report_on)
    return replace(validation, terms_after=tuple(sorted(serving)))


def _rules_of_validity(report: Report) -> tuple[str, ...]:
    """The rules by which a model is not valid ONNX, so that no text gives it values."""
    return tuple(
        sorted({finding.rule for finding in report.findings if finding.verdict is Verdict.FAIL and finding.breaks_onnx})
    )
