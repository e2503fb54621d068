"""`fix`: a model in, the rewritten model with a record of everything that was done out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.errors import NotExecutable, UsageError
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
from sonnx.checker.verdicts import Verdict, Where
from sonnx.equivalence.sides import side_of
from sonnx.executor.preparation import RunDomain
from sonnx.language.steps import steps_of_model
from sonnx.model.from_protobuf import SharedAttributes
from sonnx.model.ir import Model
from sonnx.model.limits import BY_NAME, Limits
from sonnx.model.reader import message_of, read
from sonnx.model.scopes import is_same, stored_tensors
from sonnx.model.sources import Source, name_of, path_or_bytes
from sonnx.model.symbols import bind_symbols
from sonnx.model.values_file import ValuesFile, with_file_size, with_values_inside, with_values_outside
from sonnx.model.wire_format import Message
from sonnx.model.writer import Unwritable, write
from sonnx.numerics.constant_data import with_external_data
from sonnx.profile import catalogue
from sonnx.profile.index import slugs_named
from sonnx.profile.rewrites import APPROXIMATE
from sonnx.report.check import CheckReport
from sonnx.report.fix_record import AppliedRewrite, Validation
from sonnx.report.phrases import place
from sonnx.rewriter import passes
from sonnx.rewriter.certified_differences import HYPOTHESES, certified_differences
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.cost import cost_of
from sonnx.rewriter.fix_report import FixResult
from sonnx.rewriter.gate import require_sound
from sonnx.rewriter.options import FixOptions
from sonnx.rewriter.rewrite import ModelRewriting, Rewrite
from sonnx.rewriter.rewrites.moved_transpositions import may_move
from sonnx.rewriter.shape_hints import contradicted, hints_of
from sonnx.rewriter.sizes import breaking, broken, smallest_sizes
from sonnx.rewriter.validation import compared_as_terms, validate
from sonnx.rewriter.walk import NO_SOURCES, WalkResult, places_of, walk


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
    file = path_or_bytes(source)
    chosen = catalogue.edition_named(options.edition).name
    called, strict_versions = name_of(file, options.name), options.strict_versions
    limits = {**options.limits, "findings": BY_NAME["findings"].largest}
    attributes: SharedAttributes = {}
    original = read(file, limits=limits, attributes=attributes)
    rules, checks = ActiveRules(catalogue.edition_named(chosen), strict_versions), _Checks(called)
    before = checks.report(original, rules)
    name = options.values_file or f"{fixed_path(Path(called)).name}{VALUES}"
    folder = Path(file).parent if not isinstance(file, bytes) else Path()
    sources = tuple({folder / tensor.external.location for tensor in stored_tensors(original) if tensor.external})
    written = _Written(name if sources else None, attributes, message_of(file, limits))
    if sources:
        original = _with_values(original, Path(file).parent if not isinstance(file, bytes) else None)
    _require_writable(original, before, strict_versions, written)
    bound, bindings = _bound(original, before, options.bind, options.input_shapes, strict_versions)
    context = RewriteContext(
        rules,
        bound,
        RunDomain(rules, conforming=False, limits=original.limits),
        slugs_named(options.select) if options.select else None,
        _enabled(options),
        kept=_kept(original, options.keep),
        known_calls=checks.known,
    )
    result = _rewritten(context)
    data, values = written.file_of(result.model, result.sources)
    final = written.as_checked(data, values, limits)
    unchanged = not result.applied and is_same(original, final)
    after = before if unchanged else checks.report(final, ActiveRules(rules.edition, strict_versions))

    def attempt(names: frozenset[str]) -> tuple[Model, Report, tuple[AppliedRewrite, ...]]:
        partly = _rewritten(replace(context, only=names))
        model = written.as_checked(*written.file_of(partly.model), limits)
        return model, checks.report(model, ActiveRules(rules.edition, strict_versions)), partly.applied

    require_sound((bound, before), (final, after), result.applied, attempt)
    rewritten = final if values is None else written.again(result.model)
    validation = _validated(result, rewritten, written, context, (before, after), options.samples)
    applied: tuple[AppliedRewrite, ...] = (*bindings, *result.applied)
    if options.box:
        changed = [rewrite.value for rewrite in applied if rewrite.value]
        known = certified_differences(bound, rewritten, changed, options.box, chosen)
        applied = tuple([
            replace(rewrite, bounded=True, difference=known.get(rewrite.value)) if rewrite.value else rewrite
            for rewrite in applied
        ])  # fmt: skip
        outputs = {value.name: known.get(value.name) for value in bound.graph.outputs}
        validation = replace(validation, box=tuple(options.box), hypotheses=HYPOTHESES, bounds=outputs)
    digest = sha256(file if isinstance(file, bytes) else Path(file))
    box = {"hypotheses": HYPOTHESES} if options.box else {}
    conditions = Conditions.of(options, digests={MODEL: digest}, **box)
    costs = cost_of(bound, walk(context, ()).facts), cost_of(result.model, result.facts)
    parent = None if isinstance(file, bytes) else Path(file).parent
    sides = (
        side_of(bound, called, digest, parent),
        side_of(rewritten, fixed_path(Path(called)).name, sha256(data), parent),
    )
    return FixResult(
        before, after, applied, result.unknown_shapes, validation, conditions, data, costs, values, sources, sides
    )


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


MOST_ROUNDS = 100
"""Each round brings the model nearer to the profile, so that more of them are a defect."""


def _rewritten(context: RewriteContext) -> WalkResult:
    """The model after rounds of all enabled rewrites, until one changes nothing."""
    applied: list[AppliedRewrite] = []
    for _ in range(MOST_ROUNDS):
        found = _rewritten_once(context)
        if not found.applied:
            return replace(found, applied=tuple(applied))
        applied += found.applied
        context = replace(context, model=found.model, sources=found.sources, facts={}, hints={})
    raise AssertionError("the rewrites of the model do not terminate")


def _rewritten_once(context: RewriteContext) -> WalkResult:
    """The model after one round: preparations, the rewrites of each node, completions."""
    if not context.sources:
        context = replace(context, sources=places_of(context.model))
    context, before = _changed(context, passes.PREPARATIONS)
    rewrites = [node_rewrite for node_rewrite in passes.NODE_REWRITES if node_rewrite.enabled(context)]
    context = replace(context, hints=hints_of(context.model))
    moving = may_move(context) and any(move.enabled(context) for move in passes.MOVES)
    first = [rewrite for rewrite in rewrites if not moving or rewrite not in passes.LAST_OF_NODES]
    walked = walk(context, first)
    if contradicted(context.hints, walked.facts):
        context = replace(context, hints={})
        walked = walk(context, first)
    if moving:
        context = replace(context, model=walked.model, facts=walked.facts, sources=walked.sources)
        context, moved = _changed(context, passes.MOVES)
        again = walk(context, rewrites)
        walked = replace(again, applied=(*walked.applied, *moved, *again.applied))
    context, after = _changed(replace(context, model=walked.model, facts=walked.facts), passes.COMPLETIONS)
    return replace(walked, model=context.model, applied=(*before, *walked.applied, *after))


def _changed(
    context: RewriteContext, rewrites: Iterable[Rewrite[ModelRewriting]]
) -> tuple[RewriteContext, list[AppliedRewrite]]:
    """The context with the model after rewrites of it as a whole, and the places they changed."""
    applied: list[AppliedRewrite] = []
    for rewrite in rewrites:
        change = rewrite.apply(context) if rewrite.enabled(context) and rewrite.triggered(context) else None
        if change is not None:
            context = replace(context, model=change.model)
            applied += rewrite.applied(change.edits)
    return context, applied


def _validated(
    result: WalkResult,
    rewritten: Model,
    written: _Written,
    context: RewriteContext,
    reports: tuple[Report, Report],
    samples: int,
) -> Validation:
    """The comparison of the original with the model before the rewrites that change values.

    `reports` are the checks before and after.
    """
    known = passes.every_rewrite()
    changing_values = tuple(sorted({rewrite.name for rewrite in result.applied if known[rewrite.name].option}))
    comparable = _rewritten(replace(context, options=frozenset())) if changing_values else result
    model = written.again(comparable.model) if changing_values else rewritten

    def partly_rewritten(names: frozenset[str]) -> Model:
        return _rewritten(replace(context, only=names)).model if names else context.model

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
        exactly = _rewritten(replace(context, options=context.options - {APPROXIMATE}))
        validation, rewritten = replace(validation, approximated=approximated), written.again(exactly.model)
    if not samples:
        return validation
    return compared_as_terms(validation, context.model, rewritten, context.run_domain)


def _rules_of_validity(report: Report) -> tuple[str, ...]:
    """The rules by which a model is not valid ONNX, so that no text gives it values."""
    return tuple(
        sorted({finding.rule for finding in report.findings if finding.verdict is Verdict.FAIL and finding.breaks_onnx})
    )


# ------------------------------------------------------------------ what is refused


def _with_values(model: Model, folder: Path | None) -> Model:
    """The model with the values that are in other files, which are mapped.

    Raises:
        UsageError: they cannot be read, or are values of a graph inside a node or of a function.
    """
    try:
        model = with_external_data(model, folder)
    except NotExecutable as reason:
        raise UsageError(f"the model has values in other files that cannot be read: {reason}") from None
    for tensor in stored_tensors(model):
        if tensor.external is not None:
            raise UsageError(
                f"the values of {quote(tensor.name)} are in another file ({quote(tensor.external.location)}), and "
                "they are not constants of the main graph; store them in the model first"
            )
    return model


class _Written(Struct, frozen=True):
    """How models are written: as one file, or with their large constants in another one of this name beside it."""

    values_file: str | None
    attributes: SharedAttributes
    """Those of all models that are read, so that calls which stay the same are known."""
    original: Message
    """What the original says of itself, which is kept."""

    def file_of(self, model: Model, sources: Mapping[str, int] = NO_SOURCES) -> tuple[bytes, ValuesFile | None]:
        """The bytes of a model, and the other file."""
        if self.values_file is None:
            return self._bytes_of(model, sources), None
        outside, values = with_values_outside(model, self.values_file)
        return self._bytes_of(outside, sources), values

    def again(self, model: Model) -> Model:
        """The model as it is read from what is written, with its values."""
        data, values = self.file_of(model)
        example = read(data, limits=model.limits, attributes=self.attributes)
        return example if values is None else with_values_inside(example, values)

    def as_checked(self, data: bytes, values: ValuesFile | None, limits: Limits) -> Model:
        """The model as a check of what is written reads it."""
        model = read(data, limits=limits, attributes=self.attributes)
        return model if values is None else with_file_size(model, values)

    def _bytes_of(self, model: Model, sources: Mapping[str, int]) -> bytes:
        try:
            return write(model, self.original, sources)
        except Unwritable as reason:
            raise UsageError(f"the model cannot be written back unchanged: {reason}") from None
        except UnicodeError:
            raise UsageError("a name in the model is not UTF-8 and cannot be written back; rename it first") from None
        except ValueError as reason:  # protobuf: more than two gigabytes
            raise UsageError(f"the model cannot be written as one file: {reason}") from None


def _require_writable(model: Model, report: Report, strict: bool, written: _Written) -> None:
    """Writing alone must change no finding: what the writer drops must not look fixed.

    Raises:
        UsageError: the first rule whose finding would change.
    """
    if is_same(model, written.again(model)):
        return
    data, values = written.file_of(model)
    checked = written.as_checked(data, values, model.limits)
    again = _evaluated_alike(checked, report, strict)
    missing = set(report.findings) - set(again.findings)
    lost = next((finding for finding in report.findings if finding in missing), None)
    if lost is not None:
        raise UsageError(
            f"the model cannot be written back unchanged: {lost.rule} fails at {lost.where.place} ({lost.actual}); "
            "correct this by hand first"
        )


def _evaluated_alike(model: Model, report: Report, strict: bool) -> Report:
    """The report on another model with the name and under the edition of a report."""
    rules = ActiveRules(catalogue.edition_named(report.edition), strict)
    return evaluate_model(model, rules, Subject.of(model, report.name, rules.conditions))


# ------------------------------------------------------------------ binding of symbols


def _bound(
    model: Model, report: Report, numbers: Mapping[str, int], shapes: Mapping[str, Sequence[int]], strict: bool
) -> tuple[Model, tuple[AppliedRewrite, ...]]:
    """The model with numbers for its symbols and shapes for its inputs.

    Raises:
        UsageError: a negative number, a symbol that the model lacks, or numbers for which the model is not valid ONNX.
    """
    if not numbers and not shapes:
        return model, ()
    bound = bind_symbols(model, numbers, shapes)
    failed, again = broken(report), _evaluated_alike(bound, report, strict)
    finding = next((each for each in breaking(again) if (each.rule, each.where.place) not in failed), None)
    if finding is not None:
        sizes = {**numbers, **{name: list(shape) for name, shape in shapes.items()}}
        binding = ", ".join(f"{name}={size}" for name, size in sorted(sizes.items()))
        fitting = smallest_sizes(model, ActiveRules(catalogue.edition_named(report.edition), strict))
        smallest = ", ".join(f"{quote(name)} of shape {list(shape)}" for name, shape in (fitting or {}).items())
        raise UsageError(
            f"{binding} cannot hold: {finding.rule} fails at {place(finding.where)}: {finding.actual}"
            + (f"; the smallest that fits is {smallest}" if smallest else "")
        )
    return bound, (*_bindings(numbers), *_input_shapes(model, bound, shapes))


def _bindings(numbers: Mapping[str, int]) -> Iterator[AppliedRewrite]:
    for symbol, number in sorted(numbers.items()):
        yield AppliedRewrite(
            "bound-symbol",
            "Bind symbolic dimensions",
            ("explicit-shape",),
            Where("model", "model"),
            symbol,
            str(number),
            changes=f"the model is for {symbol} = {number} only",
        )


def _input_shapes(model: Model, bound: Model, shapes: Mapping[str, Sequence[int]]) -> Iterator[AppliedRewrite]:
    for index, (before, after) in enumerate(zip(model.graph.inputs, bound.graph.inputs, strict=True)):
        if before.name in shapes and before != after:
            yield AppliedRewrite(
                "input-shape",
                "Set the shapes of graph inputs",
                ("explicit-shape",),
                Where(f"graph/input[{index}]", "value", before.name),
                str(before.type),
                str(after.type),
                changes=f"the model is for inputs {before.name} of shape {list(shapes[before.name])} only",
            )
