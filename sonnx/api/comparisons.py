"""`compare`: a model in, how far a runtime is from its exact values out."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from sonnx.base.budget import RuntimeLimits
from sonnx.base.options import keyword_arguments
from sonnx.bounds.reach import box_of_options, ranges_of
from sonnx.bounds.tolerance import BoundTolerance
from sonnx.checker.conditions import MODEL, Conditions
from sonnx.checker.report import NotConforming
from sonnx.checker.request import open_model
from sonnx.equivalence.optimizations import optimizations
from sonnx.executor.comparator import compare_source, recorded_runtime
from sonnx.executor.comparison import BoundViolation, ComparisonLimits, Optimization
from sonnx.executor.input_files import outputs_from_files
from sonnx.executor.isolation import IsolatedRuntime
from sonnx.executor.loaded_models import Source as ComparisonSource
from sonnx.executor.loaded_models import source_of
from sonnx.executor.options import ComparisonOptions
from sonnx.executor.probes import comparison_inputs
from sonnx.executor.runtimes import Runtime, optimizer_of
from sonnx.executor.tensor_files import array_digest
from sonnx.model.ir import Model
from sonnx.model.sources import Source, name_of, path_or_bytes
from sonnx.model.symbols import bind_symbols
from sonnx.model.writer import write
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.formats import Array
from sonnx.report.check import CheckReport
from sonnx.report.comparison import ComparisonReport, other_function


@keyword_arguments(ComparisonOptions)
def compare(source: Source, options: ComparisonOptions) -> ComparisonReport:
    """Measure how far a runtime is from the exact values of a model.

    Raises:
        UsageError: an unknown edition, symbol or runtime, one that is not installed, or arguments that exclude one
            another.
        Stop: the executor does not support a part of the model, or an input cannot be used.
    """
    file = path_or_bytes(source)
    model, digest = open_model(file, options.hashed, options.limits)
    path = None if isinstance(file, bytes) else file
    sized = bind_symbols(model, options.bind, options.input_shapes)
    opened = source_of(sized, path, changed=bool(options.bind or options.input_shapes))
    inputs, described = options.inputs, "given"
    if inputs is None:
        inputs, described = comparison_inputs(
            sized, options.input_files, options.test_data, options.outputs is not None, options.runs, options.seed
        )
    name = name_of(file, options.name)
    tolerance = None
    if options.bound is not None:
        assumed = hypotheses_named(options.bound)
        tolerance = BoundTolerance(sized, assumed, opened.folder, options.edition, every_node=options.every_node)
    box = box_of_options(sized, options.box)
    ranges = partial(ranges_of, sized, options.box, box, opened.folder, options.edition)
    with _runtime(options, sized) as runtime:
        try:
            compared = compare_source(opened, runtime, inputs, options, described, tolerance, ranges, box)
        except NotConforming as stop:
            report = replace(
                stop.report,
                name=name,
                conditions=replace(Conditions.of(options), settings=()).with_digest(MODEL, digest),
            )
            raise NotConforming(str(stop), CheckReport.of(report)) from None
        if options.optimizations:
            options.progress("comparing the optimized graphs")
            graphs = _optimizations(opened, runtime, options)
            compared = dataclasses.replace(compared, optimizations=graphs)
    conditions = replace(
        Conditions.of(options), hypotheses=options.bound, digests=_digests(digest, inputs),
        budgets=("--timeout",) if compared.stopped else (),
    )  # fmt: skip
    compared = dataclasses.replace(compared, conditions=conditions)
    if tolerance is not None:
        compared = dataclasses.replace(
            compared, without_bounds=tuple(tolerance.without_bounds), unusual=tuple(tolerance.unusual),
            not_measured=tolerance.analyser.hypotheses.not_measured(compared.runtime),
        )  # fmt: skip
    limits = options.max_ulp, options.max_integer_distance, options.no_special_mismatch, options.allow_flush
    broken = [*compared.violations(ComparisonLimits(*limits))]
    if not compared.runs or not any(row.distance is not None for row in compared.rows):
        reasons = [*compared.skipped, *(failure for row in compared.rows for failure in row.failures)]
        reason = reasons[0] if reasons else "the model has no values"
        broken.insert(0, BoundViolation(f"nothing was compared: {reason}"))
    if compared.runs and compared.runs == len(compared.without_bounds):
        broken.insert(0, BoundViolation(f"no run has bounds for all values: {compared.without_bounds[0]}"))
    broken += [
        BoundViolation(other_function(optimization))
        for optimization in compared.optimizations
        if optimization.answer == "different"
    ]
    return ComparisonReport.of(compared, broken_bounds=tuple(broken), file=name, max_ulp=options.max_ulp)


def _digests(model: str, inputs: Sequence[Mapping[str, Array]]) -> dict[str, str]:
    """The SHA-256 of the model file, and of the inputs of each run."""
    digests = {MODEL: model} if model else {}
    for run, arrays in enumerate(inputs):
        digests |= {f"input {name} of run {run}": array_digest(values) for name, values in sorted(arrays.items())}
    return digests


@contextlib.contextmanager
def _runtime(options: ComparisonOptions, model: Model) -> Iterator[Runtime]:
    """The runtime that is compared, in a process of its own where it has a name."""
    if options.outputs is not None:
        title = f"outputs in {Path(options.outputs).name or options.outputs}"
        yield recorded_runtime(outputs_from_files(model, options.outputs), title)
    elif isinstance(options.runtime, str):
        limits = RuntimeLimits(options.runtime_timeout, options.runtime_memory)
        with contextlib.closing(IsolatedRuntime(options.runtime, limits)) as runtime:
            yield runtime
    else:
        yield options.runtime


def _optimizations(source: ComparisonSource, runtime: Runtime, options: ComparisonOptions) -> tuple[Optimization, ...]:
    """The graphs that the optimizer of a runtime makes, against the model."""
    model = source.path or write(source.model)

    def optimized(level: str) -> bytes:
        return optimizer_of(runtime)(model, source.folder, level)

    return optimizations(source.model, source.folder, optimized, options.edition, options.limits)
