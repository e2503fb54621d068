"""`run` and `prepare`: a model in, its exact values out."""

from __future__ import annotations

from msgspec.structs import replace

from sonnx.base.options import keyword_arguments
from sonnx.checker.conditions import MODEL, Conditions, settings_of
from sonnx.checker.report import NotConforming
from sonnx.checker.request import open_model
from sonnx.executor.distance import first_difference
from sonnx.executor.executor import ModelRunner
from sonnx.executor.input_files import inputs_from_files, outputs_from_files
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.options import ExecutionOptions, PreparationOptions
from sonnx.executor.probes import probe
from sonnx.model.sources import Source, name_of, path_or_bytes
from sonnx.model.symbols import bind_symbols
from sonnx.report.check import CheckReport
from sonnx.report.run import ExpectedOutput, PreparedModel, RunReport


@keyword_arguments(PreparationOptions)
def prepare(source: Source, options: PreparationOptions) -> PreparedModel:
    """A model that is checked once and run many times, by `run(inputs)`, with the values and errors of `sonnx.run`.

    Inputs of other shapes than before are planned when they are first given.

    Raises:
        UsageError: an unknown edition.
    """
    return _prepared(source, options)


def _prepared(source: Source, options: PreparationOptions) -> PreparedModel:
    file = path_or_bytes(source)
    opened, digest = open_model(file, True, options.limits)
    model = bind_symbols(opened, options.bind, options.input_shapes)
    conditions = Conditions.of(options).with_digest(MODEL, digest)
    path = None if isinstance(file, bytes) else file
    try:
        runner = ModelRunner(model, path, options.edition, unchecked=options.unchecked, all_values=options.all_values)
    except NotConforming as stop:
        raise NotConforming(
            str(stop), CheckReport.of(replace(stop.report, conditions=replace(conditions, settings=())))
        ) from None
    return PreparedModel(name_of(file, options.name), runner, conditions)


@keyword_arguments(ExecutionOptions)
def run(source: Source, options: ExecutionOptions) -> RunReport:
    """Compute the exact outputs of a model; the result maps the names of the outputs to arrays.

    Raises:
        UsageError: an unknown edition.
        BadInput: an input is missing, unknown, or of another type or shape.
        ErrorCondition: a rule that the values depend on does not hold; it names the rule.
        NotExecutable: the executor does not support a part of the model.
    """
    prepared = _prepared(source, PreparationOptions.of(options))
    model, progress = prepared.runner.model, options.progress
    inputs = {**inputs_from_files(model, options.input_files, options.test_data), **(options.inputs or {})}
    if options.seed is not None:
        missing = [value for value in required_inputs(model) if value.name not in inputs]
        inputs = {**probe(missing, options.seed, 0), **inputs}
    expected = outputs_from_files(model, options.test_data) if options.test_data is not None else {}
    watch = None if progress is None else lambda done, of, node: progress(f"node {done + 1} of {of}: {node.operator}")
    result = prepared.run(inputs, watch)
    compared = (
        ExpectedOutput(output, values.size, first_difference(result[output], values, bits=options.bits))
        for output, values in expected.items()
    )
    conditions = replace(result.conditions, settings=settings_of(options))
    return replace(result, compared=tuple(compared), conditions=conditions)
