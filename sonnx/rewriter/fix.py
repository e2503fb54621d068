"""`fix`: a model in, the rewritten model with a record of everything that was done out."""

from __future__ import annotations

from collections.abc import Collection
from os import PathLike
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import VALUES, fixed_path, sha256
from sonnx.base.options import keyword_arguments
from sonnx.base.suggestions import did_you_mean
from sonnx.checker.checker import evaluate_model
from sonnx.checker.conditions import MODEL, Conditions
from sonnx.checker.facts_domain import KnownCalls
from sonnx.checker.report import Report
from sonnx.checker.report_builder import Subject
from sonnx.checker.rules import ActiveRules
from sonnx.checker.verdicts import Verdict
from sonnx.equivalence.sides import side_of
from sonnx.executor.preparation import RunDomain
from sonnx.language.steps import steps_of_model
from sonnx.model.from_protobuf import SharedAttributes
from sonnx.model.ir import Model
from sonnx.model.limits import BY_NAME, Limits
from sonnx.model.reader import message_of, read
from sonnx.model.scopes import is_same, stored_tensors
from sonnx.model.sources import Source, name_of, path_or_bytes
from sonnx.profile import catalogue
from sonnx.profile.index import slugs_named
from sonnx.profile.rewrites import APPROXIMATE
from sonnx.report.check import CheckReport
from sonnx.report.fix_record import AppliedRewrite, Validation
from sonnx.rewriter import passes
from sonnx.rewriter.bound_sizes import with_sizes
from sonnx.rewriter.certified_differences import HYPOTHESES, certified_differences
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.cost import cost_of
from sonnx.rewriter.fix_report import FixResult
from sonnx.rewriter.fixed_inputs import with_fixed_inputs
from sonnx.rewriter.gate import require_sound
from sonnx.rewriter.model_writing import ModelWriting, require_kept_by_writing, with_values
from sonnx.rewriter.options import FixOptions
from sonnx.rewriter.rounds import rewritten_until_stable
from sonnx.rewriter.validation import compared_as_terms, validate
from sonnx.rewriter.walk import WalkResult, walk


@keyword_arguments(FixOptions)
def fix(source: Source, options: FixOptions) -> FixResult:
    """Rewrite a model into the profile without changing a value; check and validate the result.

    Every finding is listed, because those before and after are compared.

    Raises:
        Unreadable: the source is not a readable ONNX model.
        UsageError: an unknown edition, rule or symbol, a binding that cannot hold, or a model that sonnx cannot write.
        Broken: the rewritten model is not valid ONNX though the original is, or has another interface; a defect.
        Differs: the rewritten model gives another value; a defect of sonnx.
    """
    if options.box and not (options.within_bound or options.approximate):
        raise UsageError("--box requires --within-bound; without it no value changes")
    opened = _opened(source, options)
    before, bound, context, written, checks = opened.before, opened.bound, opened.context, opened.written, opened.checks
    rules = context.active_rules
    result = rewritten_until_stable(context)
    data, values = written.file_of(result.model, result.sources)
    final = written.as_checked(data, values, opened.limits)
    unchanged = not result.applied and is_same(opened.original, final)
    after = before if unchanged else checks.report(final, ActiveRules(rules.edition, rules.strict))

    def attempt(names: frozenset[str]) -> tuple[Model, Report, tuple[AppliedRewrite, ...]]:
        partly = rewritten_until_stable(replace(context, only=names))
        model = written.as_checked(*written.file_of(partly.model), opened.limits)
        return model, checks.report(model, ActiveRules(rules.edition, rules.strict)), partly.applied

    require_sound((bound, before), (final, after), result.applied, attempt)
    rewritten = final if values is None else written.again(result.model)
    validation = _validated(result, rewritten, written, context, (before, after), options.samples)
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
        before, after, applied, result.unknown_shapes, validation, conditions, data, costs, values, files, sides
    )


def what_is_left(source: Source, options: FixOptions) -> tuple[CheckReport, CheckReport, CheckReport]:
    """The check of a model, and those of what `fix` makes of it without and with --within-bound; nothing is written.

    The rewrites are the same as those of `fix`, and so are the findings; what `fix` does after them, writing, reading
    back, and the comparison of values, is left out.

    Raises:
        Unreadable, UsageError: see `fix`.
    """
    opened = _opened(source, options, dry=True)
    rules = opened.context.active_rules

    def left(enabled: frozenset[str]) -> CheckReport:
        model = rewritten_until_stable(replace(opened.context, options=enabled)).model
        return opened.checks.report(model, ActiveRules(rules.edition, rules.strict))

    exact = left(opened.context.options)
    bounded = left(_enabled(replace(options, within_bound=True))) if exact.findings else exact
    return opened.before, exact, bounded


class _Opened(Struct, frozen=True):
    """A model that can be rewritten, with all that the options say."""

    file: str | PathLike[str] | bytes
    original: Model
    bound: Model
    """The original with numbers for its symbols and shapes for its inputs, which `bindings` record."""
    bindings: tuple[AppliedRewrite, ...]
    before: CheckReport
    context: RewriteContext
    checks: _Checks
    written: ModelWriting
    limits: Limits
    value_files: tuple[Path, ...]


def _opened(source: Source, options: FixOptions, *, dry: bool = False) -> _Opened:
    """The model with what `fix` needs to rewrite it; of a dry run no large constant is written anywhere.

    Raises:
        Unreadable, UsageError: see `fix`.
    """
    file = path_or_bytes(source)
    folder = None if isinstance(file, bytes) else Path(file).parent
    called, strict = name_of(file, options.name), options.strict_versions
    limits = {**options.limits, "findings": BY_NAME["findings"].largest}
    attributes: SharedAttributes = {}
    original = read(file, limits=limits, attributes=attributes)
    rules, checks = ActiveRules(catalogue.edition_named(options.edition), strict), _Checks(called)
    before = checks.report(original, rules)
    name = options.values_file or f"{fixed_path(Path(called)).name}{VALUES}"
    outside = [tensor.external.location for tensor in stored_tensors(original) if tensor.external]
    files = tuple({(folder or Path()) / location for location in outside})
    written = ModelWriting(name if files or dry else None, attributes, message_of(file, limits))
    if files:
        original = with_values(original, folder)
    require_kept_by_writing(original, before, strict, written)
    bound, bindings = with_sizes(original, before, options.bind, options.input_shapes, strict)
    bound, fixed = with_fixed_inputs(bound, options.input)
    context = RewriteContext(
        rules,
        bound,
        RunDomain(rules, conforming=False, limits=original.limits),
        slugs_named(options.select) if options.select else None,
        _enabled(options),
        is_dry=dry,
        kept=_kept(original, options.keep),
        known_calls=checks.known,
    )
    return _Opened(file, original, bound, (*bindings, *fixed), before, context, checks, written, limits, files)


class _Checks:
    """The checks of one command, which evaluate equal calls on equal facts once; each says what a check alone says."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.known = KnownCalls()
        self._steps = 0

    def report(self, model: Model, rules: ActiveRules) -> CheckReport:
        """The report on a model.

        A check alone spends the steps itself that others have spent on equal calls: where all together are more than
        allowed, it is done alone.
        """
        allowed, before = model.limits["steps"], self._steps
        with steps_of_model(allowed) as steps:
            report = self._checked(model, rules, self.known if before <= allowed else None)
        self._steps += steps.taken
        if before and before <= allowed < self._steps:
            report = self._checked(model, ActiveRules(rules.edition, rules.strict), None)
        return CheckReport.of(report)

    def _checked(self, model: Model, rules: ActiveRules, known: KnownCalls | None) -> Report:
        subject = Subject.of(model, self.name, rules.conditions)
        return evaluate_model(model, rules, subject, known)


def _enabled(options: FixOptions) -> frozenset[str]:
    """The options of rewrites that are asked for."""
    named = {rewrite.option for rewrite in passes.every_rewrite().values()} - {""}
    implied = {"within_bound"} if options.approximate else set()
    return frozenset([name for name in named if getattr(options, name)]) | implied


def _kept(model: Model, operators: Collection[str]) -> frozenset[str]:
    """The operators whose nodes stay.

    Raises:
        UsageError: the model has no node of one of them.
    """
    present = sorted({node.operator for node in model.graph.nodes})
    for name in operators:
        if name not in present:
            hint = did_you_mean(name, present)
            raise UsageError(f"--keep names {quote(name)}, and the model has no node of this operator{hint}")
    return frozenset(operators)


def _validated(
    result: WalkResult,
    rewritten: Model,
    written: ModelWriting,
    context: RewriteContext,
    reports: tuple[Report, Report],
    samples: int,
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
    return compared_as_terms(validation, context.model, rewritten, context.run_domain)


def _rules_of_validity(report: Report) -> tuple[str, ...]:
    """The rules by which a model is not valid ONNX, so that no text gives it values."""
    return tuple(
        sorted({finding.rule for finding in report.findings if finding.verdict is Verdict.FAIL and finding.breaks_onnx})
    )
