"""A model that is opened to be rewritten: read, checked, at the sizes that the options give."""

from __future__ import annotations

from collections.abc import Collection
from os import PathLike
from pathlib import Path

from msgspec import Struct

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import VALUES, fixed_path
from sonnx.base.suggestions import did_you_mean
from sonnx.checker.checker import evaluate_model
from sonnx.checker.facts_domain import KnownCalls
from sonnx.checker.report import Report
from sonnx.checker.report_builder import Subject
from sonnx.checker.rules import ActiveRules
from sonnx.executor.preparation import RunDomain
from sonnx.language.steps import steps_of_model
from sonnx.model.from_protobuf import SharedAttributes
from sonnx.model.ir import Model
from sonnx.model.limits import BY_NAME, Limits
from sonnx.model.reader import message_of, read
from sonnx.model.scopes import stored_tensors
from sonnx.model.sources import Source, name_of, path_or_bytes
from sonnx.profile import catalogue
from sonnx.profile.index import slugs_named
from sonnx.report.check import CheckReport
from sonnx.report.fix_record import AppliedRewrite
from sonnx.rewriter import passes
from sonnx.rewriter.bound_sizes import with_sizes
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.fixed_inputs import with_fixed_inputs
from sonnx.rewriter.model_writing import ModelWriting, require_kept_by_writing, with_values
from sonnx.rewriter.options import FixOptions


class Checks:
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


class OpenedModel(Struct, frozen=True):
    """A model that can be rewritten, with all that the options say."""

    file: str | PathLike[str] | bytes
    original: Model
    bound: Model
    """The original with numbers for its symbols and shapes for its inputs, which `bindings` record."""
    bindings: tuple[AppliedRewrite, ...]
    before: CheckReport
    context: RewriteContext
    checks: Checks
    written: ModelWriting
    limits: Limits
    value_files: tuple[Path, ...]


def opened_model(source: Source, options: FixOptions, *, dry: bool = False) -> OpenedModel:
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
    rules, checks = ActiveRules(catalogue.edition_named(options.edition), strict), Checks(called)
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
        enabled_options(options),
        is_dry=dry,
        kept=_kept(original, options.keep),
        known_calls=checks.known,
    )
    return OpenedModel(file, original, bound, (*bindings, *fixed), before, context, checks, written, limits, files)


def enabled_options(options: FixOptions) -> frozenset[str]:
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
