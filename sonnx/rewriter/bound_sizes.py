"""Numbers for the symbols of a model and shapes for its inputs, recorded as rewrites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.checker.checker import evaluate_model
from sonnx.checker.report import Report
from sonnx.checker.report_builder import Subject
from sonnx.checker.rules import ActiveRules
from sonnx.checker.verdicts import Where
from sonnx.model.ir import Model
from sonnx.model.symbols import bind_symbols
from sonnx.profile import catalogue
from sonnx.report.fix_record import AppliedRewrite
from sonnx.report.phrases import place
from sonnx.rewriter.sizes import breaking, broken, smallest_sizes


def with_sizes(
    model: Model, report: Report, numbers: Mapping[str, int], shapes: Mapping[str, Sequence[int]], strict: bool
) -> tuple[Model, tuple[AppliedRewrite, ...]]:
    """The model with numbers for its symbols and shapes for its inputs.

    Raises:
        UsageError: a negative number, a symbol that the model lacks, or numbers for which the model is not valid ONNX.
    """
    if not numbers and not shapes:
        return model, ()
    bound = bind_symbols(model, numbers, shapes)
    failed, again = broken(report), evaluated_alike(bound, report, strict)
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


def evaluated_alike(model: Model, report: Report, strict: bool) -> Report:
    """The report on another model with the name and under the edition of a report."""
    rules = ActiveRules(catalogue.edition_named(report.edition), strict)
    return evaluate_model(model, rules, Subject.of(model, report.name, rules.conditions))
