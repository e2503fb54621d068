"""`fix`: a model in, the rewritten model with a record of everything that was done out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from sonnx.base.errors import Unfinished, UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import sha256
from sonnx.base.options import keyword_arguments
from sonnx.base.suggestions import did_you_mean
from sonnx.checker.checker import evaluate_model
from sonnx.checker.report import Report
from sonnx.checker.rules import ActiveRules
from sonnx.checker.verdicts import Verdict, Where
from sonnx.model.ir import Model
from sonnx.model.limits import BY_NAME
from sonnx.model.reader import read
from sonnx.model.scopes import stored_tensors
from sonnx.model.sources import Source, encoded, name_of
from sonnx.model.symbols import bind_symbols
from sonnx.model.writer import LARGEST_WEIGHTS, Unwritable, write
from sonnx.profile import catalogue
from sonnx.profile.index import slugs_named
from sonnx.report.check import CheckReport
from sonnx.report.fix_record import AppliedRewrite, Validation
from sonnx.rewriter import passes
from sonnx.rewriter.certified_differences import HYPOTHESES, certified_differences
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.fix_report import FixResult
from sonnx.rewriter.options import FixOptions
from sonnx.rewriter.rewrite import ModelRewriting, Rewrite
from sonnx.rewriter.shape_hints import contradicted, hints_of
from sonnx.rewriter.validation import compared_as_terms, validate
from sonnx.rewriter.walk import WalkResult, walk


@keyword_arguments(FixOptions)
def fix(source: Source, options: FixOptions) -> FixResult:
    """Rewrite a model into the profile without changing a value; check and validate the result.

    Every finding is listed, because those before and after are compared.

    Raises:
        Unreadable: the source is not a readable ONNX model.
        UsageError: an unknown edition, rule or symbol, a binding that cannot hold, or a model that sonnx cannot write.
        Differs: the rewritten model gives another value; a defect of sonnx.
        Unfinished: the values outside the file are too large for one file.
    """
    if options.box and not options.within_bound:
        raise UsageError("--box requires --within-bound; without it no value changes")
    file = encoded(source)
    chosen = catalogue.edition_named(options.edition).name
    called, strict_versions = name_of(file, options.name), options.strict_versions
    limits = {**options.limits, "findings": BY_NAME["findings"].largest}
    original = read(file, limits=limits)
    _require_no_external_data(original)
    before = CheckReport.of(evaluate_model(original, called, chosen, strict_versions=strict_versions))
    _require_writable(original, before, strict_versions)
    bound, bindings = _bound(original, before, options.bind, options.input_shapes, strict_versions)
    context = RewriteContext(
        ActiveRules(catalogue.edition_named(chosen), strict_versions),
        bound,
        slugs_named(options.select) if options.select else None,
        _enabled(options),
        kept=_kept(original, options.keep),
    )
    result = _rewritten(context)
    data = _file_of(result.model)
    after = CheckReport.of(evaluate_model(read(data, limits=limits), called, chosen, strict_versions=strict_versions))
    validation = _validated(result, context, before, after, options.samples)
    applied: tuple[AppliedRewrite, ...] = (*bindings, *result.applied)
    if options.box:
        written = read(data, limits=limits)
        values = [each.value for each in applied if each.value]
        known = certified_differences(bound, written, values, options.box, chosen)
        applied = tuple([
            replace(each, bounded=True, difference=known.get(each.value)) if each.value else each for each in applied
        ])  # fmt: skip
        outputs = {value.name: known.get(value.name) for value in bound.graph.outputs}
        validation = replace(validation, box=tuple(options.box), hypotheses=HYPOTHESES, bounds=outputs)
    digest = sha256(file if isinstance(file, bytes) else Path(file))
    return FixResult(before, after, applied, result.unknown_shapes, validation, digest, data)


def _enabled(options: FixOptions) -> frozenset[str]:
    """The options of rewrites that are asked for."""
    named = {rewrite.option for rewrite in passes.every_rewrite().values()} - {""}
    return frozenset([name for name in named if getattr(options, name)])


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


def _rewritten(context: RewriteContext) -> WalkResult:
    """The model after all enabled rewrites: preparations, those of each node, completions."""
    context, before = _changed(context, passes.PREPARATIONS)
    rewrites = [each for each in passes.NODE_REWRITES if each.enabled(context)]
    context = replace(context, hints=hints_of(context.model))
    walked = walk(context, rewrites)
    if contradicted(context.hints, walked.facts):
        context = replace(context, hints={})
        walked = walk(context, rewrites)
    context, after = _changed(replace(context, model=walked.model, facts=walked.facts), passes.COMPLETIONS)
    return replace(walked, model=context.model, applied=(*before, *walked.applied, *after))


def _changed(
    context: RewriteContext, rewrites: Iterable[Rewrite[ModelRewriting]]
) -> tuple[RewriteContext, list[AppliedRewrite]]:
    """The context with the model after rewrites of it as a whole, and the places they changed."""
    applied: list[AppliedRewrite] = []
    for each in rewrites:
        change = each.apply(context) if each.enabled(context) and each.triggered(context) else None
        if change is not None:
            context = replace(context, model=change.model)
            applied += each.applied(change.edits)
    return context, applied


def _validated(result: WalkResult, context: RewriteContext, before: Report, after: Report, samples: int) -> Validation:
    """The comparison of the original with the model before the rewrites that change values."""
    known = passes.every_rewrite()
    changing_values = tuple(sorted({each.name for each in result.applied if known[each.name].option}))
    comparable = _rewritten(replace(context, options=frozenset())) if changing_values else result

    def partly_rewritten(names: frozenset[str]) -> Model:
        return _rewritten(replace(context, only=names)).model if names else context.model

    validation = validate(
        partly_rewritten,
        comparable.applied,
        read(_file_of(comparable.model), limits=context.model.limits),
        context.active_rules.edition.name,
        samples,
        _rules_of_validity(before),
        _rules_of_validity(after),
    )
    validation = replace(validation, changing_values=changing_values)
    if not samples:
        return validation
    written = read(_file_of(result.model), limits=context.model.limits)
    return compared_as_terms(validation, context.model, written, context.active_rules.edition.name)


def _rules_of_validity(report: Report) -> tuple[str, ...]:
    """The rules by which a model is not valid ONNX, so that no text gives it values."""
    return tuple(sorted({each.rule for each in report.findings if each.verdict is Verdict.FAIL and each.breaks_onnx}))


# ------------------------------------------------------------------ what is refused


def _require_no_external_data(model: Model) -> None:
    outside = [tensor for tensor in stored_tensors(model) if tensor.external is not None]
    size = sum(tensor.external.length or 0 for tensor in outside if tensor.external is not None)
    if size > LARGEST_WEIGHTS:
        raise Unfinished(
            f"{size} bytes of the values of the model are in other files; fix writes one file, which holds at most "
            f"{LARGEST_WEIGHTS} bytes of values"
        )
    for tensor in outside:
        if tensor.external is not None:
            raise UsageError(
                f"the values of {quote(tensor.name)} are in another file ({quote(tensor.external.location)}); "
                "store them in the model first: fix validates and writes one file"
            )


def _file_of(model: Model) -> bytes:
    try:
        return write(model)
    except Unwritable as reason:
        raise UsageError(f"the model cannot be written back unchanged: {reason}") from None
    except UnicodeError:
        raise UsageError("a name in the model is not UTF-8 and cannot be written back; rename it first") from None
    except ValueError as reason:  # protobuf: more than two gigabytes
        raise UsageError(f"the model cannot be written as one file: {reason}") from None


def _require_writable(model: Model, report: Report, strict: bool) -> None:
    """Writing alone must change no finding: what the writer drops must not look fixed.

    Raises:
        UsageError: the first rule whose finding would change.
    """
    written = read(_file_of(model), limits=model.limits)
    if is_same(model, written):
        return
    again = evaluate_model(written, report.name, report.edition, strict_versions=strict)
    missing = set(report.findings) - set(again.findings)
    lost = next((each for each in report.findings if each in missing), None)
    if lost is not None:
        raise UsageError(
            f"the model cannot be written back unchanged: {lost.rule} fails at {lost.where.place} ({lost.actual}); "
            "correct this by hand first"
        )


def is_same(model: Model, other: Model) -> bool:
    """Whether two models have equal contents, the bytes of their tensors included."""
    if model != other:
        return False
    tensors = zip(stored_tensors(model), stored_tensors(other), strict=True)
    return all(one.data == another.data for one, another in tensors)


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
    again = evaluate_model(bound, report.name, report.edition, strict_versions=strict)
    failed = {(each.rule, each.where) for each in report.findings if each.verdict is Verdict.FAIL}
    for each in again.findings:
        if each.verdict is Verdict.FAIL and each.breaks_onnx and (each.rule, each.where) not in failed:
            sizes = {**numbers, **{name: list(shape) for name, shape in shapes.items()}}
            binding = ", ".join(f"{name}={size}" for name, size in sorted(sizes.items()))
            raise UsageError(f"{binding} cannot hold: {each.rule} fails at {each.where.place}: {each.actual}")
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
