"""The public functions: a model in, a typed result out; no printing, no state.

Results have `to_text()` and `to_json()`.  Numpy, solvers and the onnx package are loaded by the functions that need
them; `check` needs none of them.  What several functions take:

    source: the model: a path, the bytes of a file, a binary file object, an `onnx.ModelProto`, an `onnx_ir.Model`, or a
        `torch.onnx.ONNXProgram`.
    edition: a name of restrictions/editions.toml; the default edition if None.
    bind: numbers for symbolic dimensions; the result holds for these numbers.
    input_shapes: shapes of graph inputs, also where the model states no dimension or a symbol.
    strict_versions: accept only the operator version that a text specifies.
    unchecked: take a model that does not conform to the edition, too.
    hashed: read the whole file once, use these bytes and state their SHA-256.
    limits: size limits of a model, see `sonnx.model.limits`.
    name: what the result calls the model; by default the base name of the file.

Where the source is not a readable ONNX model they raise `Unreadable`, for an edition, rule or symbol that does not
exist `UsageError`, and where values are asked of a model that does not conform `NotConforming`, with its report.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from sonnx.base.errors import UsageError
from sonnx.checker.report import NotConforming
from sonnx.checker.request import CheckRequest, check_model, open_model
from sonnx.model.limits import DEFAULT_LIMITS, Limits
from sonnx.model.sources import Source, encoded
from sonnx.report.check import CheckReport

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sonnx.base.budget import RuntimeLimits
    from sonnx.checker.tailoring import Tailoring
    from sonnx.equivalence.decision import Side
    from sonnx.evidence.pack import EvidencePack
    from sonnx.evidence.qualification_kit import Kit
    from sonnx.evidence.verification import CommandLine
    from sonnx.executor.comparator import Source as ComparisonSource
    from sonnx.executor.comparison import Optimization
    from sonnx.executor.runtimes import Runtime
    from sonnx.numerics.enclosures.hypotheses import Hypotheses
    from sonnx.numerics.formats import Array
    from sonnx.properties.options import VerifyOptions
    from sonnx.properties.result import PropertyResult
    from sonnx.report.bounds import BoundsReport
    from sonnx.report.comparison import ComparisonReport
    from sonnx.report.equivalence import EquivalenceReport
    from sonnx.report.explain import Explanation
    from sonnx.report.model_changes import ModelChangesReport
    from sonnx.report.model_proof import ProofReport
    from sonnx.report.run import PreparedModel, RunReport
    from sonnx.rewriter.rewriting import FixResult
    from sonnx.suite.options import MakeOptions, RunOptions
    from sonnx.suite.report import SuiteReport
    from sonnx.suite.result import SuiteRun


InputShapes: TypeAlias = Mapping[str, Sequence[int]]
"""A shape by the name of a graph input."""
Progress: TypeAlias = Callable[[str], None]
"""Called with a short text while a long computation goes on."""

NEEDS_DATE = "deviations hold until a date: give the date of the check"
WHOLE_MODEL = "a model with deviations is checked as a whole: leave out the selection of rules"
DEFAULT_HYPOTHESES = "ieee-any"
"""Any implementation that conforms to IEEE 754."""
DEFAULT_SAMPLES = 3
"""Sets of inputs on which a model and its rewritten form are run: one of each type of `sample_inputs.py`."""


def check(
    source: Source,
    edition: str | None = None,
    *,
    bind: Mapping[str, int] | None = None,
    input_shapes: InputShapes | None = None,
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    strict_versions: bool = False,
    tailoring: str | os.PathLike[str] | None = None,
    deviations: str | os.PathLike[str] | None = None,
    date: date | None = None,
    hashed: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    name: str | None = None,
) -> CheckReport:
    """Check a model against an edition of the profile.

    Arguments beside those that `sonnx.api` explains:
        source: of bytes and messages, the files of external data are not looked for.
        select: check only rules with these slugs or tags; the report is then partial.
        ignore: leave out rules with these slugs or tags; the report is then partial.
        tailoring: a file that makes the edition stricter for one project (docs/tailoring.md).
        deviations: a file of justified failures of this model (docs/deviations.md).
        date: the day on which deviations must not have expired; required with deviations.
        hashed: read the whole file once, check these bytes and state their SHA-256; implied by deviations.

    Raises:
        UsageError: an unknown edition, rule, tag or symbol, a malformed file of the project, or arguments that exclude
            one another.
    """
    if deviations is not None and date is None:
        raise UsageError(NEEDS_DATE)
    if deviations is not None and (select or ignore):
        raise UsageError(WHOLE_MODEL)
    request = CheckRequest(
        edition, dict(bind or {}), dict(input_shapes or {}), tuple(select), tuple(ignore), strict_versions,
        read_tailoring(tailoring), limits,
    )  # fmt: skip
    found = encoded(source)
    model, digest = open_model(found, hashed or deviations is not None, limits)
    report = check_model(model, digest, request, _name(found, name))
    if deviations is not None and date is not None:
        from sonnx.checker import deviation_records  # most checks have none
        from sonnx.checker.deviations import apply

        [report] = apply((report,), deviation_records.read(deviations), date)
    return CheckReport.of(report)


def read_tailoring(path: str | os.PathLike[str] | None) -> Tailoring | None:
    """A tailoring file.

    Raises:
        UsageError: the file is malformed.
    """
    if path is None:
        return None
    from sonnx.checker import tailoring  # most checks have none

    return tailoring.read(path)


def _name(source: str | os.PathLike[str] | bytes, name: str | None) -> str:
    return name or ("model" if isinstance(source, bytes) else PurePath(source).name)


def prove(
    source: Source,
    edition: str | None = None,
    assume: Collection[str] = (),
    *,
    input_shapes: InputShapes | None = None,
    limits: Limits = DEFAULT_LIMITS,
    name: str | None = None,
    hashed: bool = False,
    solver: str = "z3",
    questions: bool = False,
) -> ProofReport:
    """Prove or refute that the rules about the nodes of a model hold for all values of its symbolic dimensions.

    Arguments beside those that `sonnx.api` explains:
        assume: conditions on the symbols in the rule language; one text may have several, separated by commas:
            "N>=1, N<=64". A symbol without a lower bound is at least 1.
        solver: "z3", or "all": a second solver is asked every question that decides a rule.
        questions: keep these questions in the report.

    Calls in several threads wait for each other. A thread that uses z3 itself must not do so beside them.

    Raises:
        UsageError: an unknown edition, a solver that is not installed, or an assumption that does not parse, names no
            symbol of the model, or cannot hold.
    """
    from sonnx.prover.model_walk import prove_model
    from sonnx.report.model_proof import ProofReport

    proof = prove_model(
        encoded(source),
        edition,
        assume,
        input_shapes=input_shapes,
        limits=limits,
        name=name,
        hashed=hashed,
        solver=solver,
        questions=questions,
    )
    return ProofReport.of(proof)


def prepare(
    source: Source,
    edition: str | None = None,
    *,
    unchecked: bool = False,
    all_values: bool = False,
    bind: Mapping[str, int] | None = None,
    input_shapes: InputShapes | None = None,
    limits: Limits = DEFAULT_LIMITS,
    name: str | None = None,
) -> PreparedModel:
    """A model that is checked once and run many times, by `run(inputs)`, with the values and errors of `sonnx.run`.

    The arguments are those of `sonnx.run`. Inputs of other shapes than before are planned when they are first given.

    Raises:
        UsageError: an unknown edition.
    """
    from sonnx.executor.executor import ModelRunner
    from sonnx.model.reader import read
    from sonnx.model.symbols import bind_symbols
    from sonnx.report.run import PreparedModel

    found = encoded(source)
    model = bind_symbols(read(found, limits=limits), bind or {}, input_shapes or {})
    path = None if isinstance(found, bytes) else found
    try:
        runner = ModelRunner(model, path, edition, unchecked=unchecked, all_values=all_values)
    except NotConforming as stop:
        raise NotConforming(str(stop), CheckReport.of(stop.report)) from None
    return PreparedModel(_name(found, name), runner)


def run(
    source: Source,
    inputs: Mapping[str, Array] | None = None,
    edition: str | None = None,
    *,
    input_files: Collection[str] = (),
    test_data: str | os.PathLike[str] | None = None,
    bits: bool = False,
    unchecked: bool = False,
    all_values: bool = False,
    seed: int | None = None,
    bind: Mapping[str, int] | None = None,
    input_shapes: InputShapes | None = None,
    limits: Limits = DEFAULT_LIMITS,
    name: str | None = None,
    progress: Progress | None = None,
) -> RunReport:
    """Compute the exact outputs of a model; the result maps the names of the outputs to arrays.

    Arguments beside those that `sonnx.api` explains:
        inputs: an array of exactly the declared type and shape for every graph input that is not a constant; ml_dtypes
            defines bfloat16 and the types of at most eight bits, strings are `str` in an array of objects or an array
            of numpy's strings.
        input_files: inputs from files: `NAME=FILE` (.npy, .npz, .pb), or `FILE.npz` for every input it names.
        test_data: a folder with input_*.pb and output_*.pb; the outputs are compared with these files.
        bits: compare every bit of NaNs; otherwise all NaNs are equal.
        unchecked: run a model that does not conform to the edition. The rules its values depend on must still hold.
        all_values: return the outputs of every node, not only those of the graph.
        seed: generate the inputs that are not given, numbers of [-1, 1) for floating-point types; equal seeds give
            equal inputs.
        progress: called before each node.

    Raises:
        UsageError: an unknown edition.
        BadInput: an input is missing, unknown, or of another type or shape.
        ErrorCondition: a rule that the values depend on does not hold; it names the rule.
        NotExecutable: the executor does not support a part of the model.
    """
    import dataclasses  # loads inspect, which a check does without

    from sonnx.executor.distance import first_difference
    from sonnx.executor.executor import required_inputs
    from sonnx.executor.input_files import inputs_from_files, outputs_from_files
    from sonnx.executor.probes import probe
    from sonnx.report.run import ComparedOutput

    prepared = prepare(
        source, edition, unchecked=unchecked, all_values=all_values, bind=bind, input_shapes=input_shapes,
        limits=limits, name=name,
    )  # fmt: skip
    model = prepared.runner.model
    given = {**inputs_from_files(model, input_files, test_data), **(inputs or {})}
    if seed is not None:
        given = {**probe([each for each in required_inputs(model) if each.name not in given], seed, 0), **given}
    expected = outputs_from_files(model, test_data) if test_data is not None else {}
    watch = None if progress is None else lambda done, of, node: progress(f"node {done + 1} of {of}: {node.operator}")
    result = prepared.run(given, watch)
    compared = (
        ComparedOutput(output, values.size, first_difference(result[output], values, bits=bits))
        for output, values in expected.items()
    )
    return dataclasses.replace(result, compared=tuple(compared))


def compare(
    source: Source,
    runtime: str | Runtime = "onnxruntime",
    edition: str | None = None,
    *,
    inputs: Sequence[Mapping[str, Array]] | None = None,
    input_files: Collection[str] = (),
    test_data: str | os.PathLike[str] | None = None,
    outputs: str | os.PathLike[str] | None = None,
    runs: int | None = None,
    seed: int = 0,
    bind: Mapping[str, int] | None = None,
    input_shapes: InputShapes | None = None,
    unchecked: bool = False,
    every_node: bool = False,
    class_runs: int | None = None,
    max_ulp: int | None = None,
    max_integer_distance: int = 0,
    no_special_mismatch: bool = False,
    bound: str | None = None,
    optimizations: bool = False,
    runtime_limits: RuntimeLimits | None = None,
    limits: Limits = DEFAULT_LIMITS,
    name: str | None = None,
    hashed: bool = False,
    progress: Progress = lambda _: None,
) -> ComparisonReport:
    """Measure how far a runtime is from the exact values of a model.

    Arguments beside those that `sonnx.api` explains:
        runtime: a name of `sonnx.executor.runtimes.RUNTIMES` or MODULE:CLASS, which runs in a process of its own; or
            anything that is a `Runtime`, which runs in this one.
        inputs: the inputs of each run; generated if neither these nor files are given.
        input_files: the inputs of one run from files, as in `run`.
        test_data: a folder with input_*.pb for one run.
        outputs: a folder with output_*.pb that another runtime computed for the inputs, instead of running one.
        runs: how many runs with ordinary inputs are generated (2 by default).
        seed: the seed of generated inputs; equal seeds give equal inputs.
        every_node: also compare the values of every node, on equal inputs, on class inputs, and accumulated.
        class_runs: the most class runs of each node and, without given inputs, of the whole model; by default what
            `sonnx.executor.class_runs` allows.
        max_ulp: a value further away than this many ulp breaks a bound.
        max_integer_distance: an integer further away breaks a bound.
        no_special_mismatch: a difference in the sign of a zero breaks a bound too, and one that an erratum or a
            possible overflow explains.
        runtime_limits: of a runtime that runs in a process of its own.
        bound: the hypotheses under which every value must lie within its bound, a predefined name or a file.
        optimizations: compare the graphs that the optimizer of the runtime makes with the model, for all inputs.
        progress: called before each step.

    Raises:
        UsageError: an unknown edition, symbol or runtime, one that is not installed, or arguments that exclude one
            another.
        Stop: the executor does not support a part of the model, or an input cannot be used.
    """
    import contextlib
    import dataclasses  # as in `run`

    from sonnx.executor.comparator import compare_source, recorded_runtime, source_of
    from sonnx.executor.comparison import BoundViolation, ComparisonLimits
    from sonnx.executor.input_files import outputs_from_files
    from sonnx.executor.isolation import IsolatedRuntime
    from sonnx.executor.probes import comparison_inputs
    from sonnx.model.symbols import bind_symbols
    from sonnx.report.comparison import ComparisonReport, other_function

    found = encoded(source)
    model, digest = open_model(found, hashed, limits)
    path = None if isinstance(found, bytes) else found
    sized = bind_symbols(model, bind or {}, input_shapes or {})
    made = source_of(sized, path, changed=bool(bind or input_shapes))
    generated = inputs is None and not input_files and test_data is None
    if inputs is None:
        inputs, described = comparison_inputs(made.model, input_files, test_data, outputs is not None, runs, seed)
    else:
        described = "given"
    if outputs is not None and every_node:
        raise UsageError("--every-node runs single nodes; it does not go with --outputs")
    if outputs is not None and optimizations:
        raise UsageError("--optimizations asks a runtime for its graphs; it does not go with --outputs")
    file = _name(found, name)
    tolerance = None
    if bound is not None:
        from sonnx.bounds.tolerance import BoundTolerance
        from sonnx.numerics.enclosures.hypotheses import hypotheses_named

        tolerance = BoundTolerance(made.model, hypotheses_named(bound), made.folder, edition, every_node=every_node)
    with contextlib.ExitStack() as stack:
        used: Runtime
        if outputs is not None:
            title = f"outputs in {Path(outputs).name or outputs}"
            used = recorded_runtime(outputs_from_files(made.model, outputs), title)
        elif isinstance(runtime, str):
            used = stack.enter_context(contextlib.closing(IsolatedRuntime(runtime, runtime_limits)))
        else:
            used = runtime
        try:
            compared = compare_source(
                made, used, inputs, edition=edition, unchecked=unchecked, every_node=every_node, inputs=described,
                progress=progress, tolerance=tolerance, class_runs=class_runs if outputs is None else 0,
                class_outputs=generated, seed=seed,
            )  # fmt: skip
        except NotConforming as stop:
            report = replace(stop.report, name=file, sha256=digest)
            raise NotConforming(str(stop), CheckReport.of(report)) from None
        if optimizations:
            progress("comparing the optimized graphs")
            graphs = _optimizations(made, used, edition, limits)
            compared = dataclasses.replace(compared, optimizations=graphs)
    compared = dataclasses.replace(compared, sha256=digest, hypotheses=bound or "")
    if tolerance is not None:
        notes = tuple(tolerance.without_bounds), tuple(tolerance.unusual)
        compared = dataclasses.replace(compared, without_bounds=notes[0], unusual=notes[1])
    broken = [*compared.violations(ComparisonLimits(max_ulp, max_integer_distance, no_special_mismatch))]
    if not compared.runs or not any(row.distance is not None for row in compared.rows):
        reasons = [*compared.skipped, *(failure for row in compared.rows for failure in row.failures)]
        reason = reasons[0] if reasons else "the model has no values"
        broken.insert(0, BoundViolation(f"nothing was compared: {reason}"))
    if compared.runs and compared.runs == len(compared.without_bounds):
        broken.insert(0, BoundViolation(f"no run has bounds for all values: {compared.without_bounds[0]}"))
    broken += [BoundViolation(other_function(each)) for each in compared.optimizations if each.answer == "different"]
    return ComparisonReport.of(compared, broken_bounds=tuple(broken), file=file)


def _optimizations(
    source: ComparisonSource, runtime: Runtime, edition: str | None, limits: Limits
) -> tuple[Optimization, ...]:
    """The graphs that the optimizer of a runtime makes, against the model."""
    from sonnx.equivalence.optimizations import optimizations
    from sonnx.executor.runtimes import optimizer_of
    from sonnx.model.writer import write

    model = source.path or write(source.model)

    def optimized(level: str) -> bytes:
        return optimizer_of(runtime)(model, source.folder, level)

    return optimizations(source.model, source.folder, optimized, edition, limits)


def bound(
    source: Source,
    box: Mapping[str, Array | tuple[Array, Array]] | Collection[str],
    hypotheses: str | Hypotheses = DEFAULT_HYPOTHESES,
    edition: str | None = None,
    *,
    unchecked: bool = False,
    differences: Sequence[tuple[int, int]] = (),
    argmax: bool = False,
    max_error: float | None = None,
    bind: Mapping[str, int] | None = None,
    input_shapes: InputShapes | None = None,
    split: float | None = None,
    progress: Progress | None = None,
    jobs: int = 1,
    cluster: str | None = None,
    resume: Path | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> BoundsReport:
    """Bound the ideal values of a model on a box of inputs, and the errors of implementations.

    Arguments beside those that `sonnx.api` explains:
        box: for each input an array (a point) or a pair of arrays (the lower and upper ends of intervals); or texts
            `NAME=[LOW,HIGH]` or `NAME=FILE.npy`.
        hypotheses: about implementations: a predefined name, a TOML file, or an object.
        differences: pairs (i, j) of elements of the first output whose order must be the same everywhere.
        argmax: the largest element of the first output must be the same everywhere.
        max_error: what the error of the first output must not exceed.
        split: seconds for which the box is halved until every part shows what is asked.
        progress: called with a short text while the box is halved.
        jobs: processes that halve the box.
        cluster: the address of a Dask scheduler whose workers halve the box.
        resume: a file that keeps the parts of the box; where it exists, the parts it has are taken.

    Raises:
        UsageError: an unknown edition, hypotheses that contradict each other, or arguments that do not fit the model.
        BadInput: the box does not fit the inputs of the model.
        NotBounded: a node has no transfer function.
    """
    from sonnx.bounds.bound import bound as bound_source
    from sonnx.bounds.split import processes
    from sonnx.report.bounds import BoundsReport

    if cluster is not None and (jobs != 1 or split is None):
        raise UsageError("a cluster halves the box: --cluster goes with --split, and without --jobs")
    pool = processes(jobs) if jobs > 1 else None
    if cluster is not None:
        from sonnx.workers.cluster import cluster_executor

        pool = cluster_executor(cluster, ("numpy",))
    try:
        found = bound_source(
            encoded(source), box, hypotheses, edition, unchecked=unchecked, differences=differences, argmax=argmax,
            max_error=max_error, bind=bind, input_shapes=input_shapes, split=split, progress=progress,
            pool=pool, kept=resume, limits=limits,
        )  # fmt: skip
    except NotConforming as stop:
        raise NotConforming(str(stop), CheckReport.of(stop.report)) from None
    return BoundsReport.of(found)


def fix(
    source: Source,
    edition: str | None = None,
    *,
    bind: Mapping[str, int] | None = None,
    input_shapes: InputShapes | None = None,
    select: Collection[str] = (),
    keep: Collection[str] = (),
    fold_batch_normalization: bool = False,
    strict_versions: bool = False,
    samples: int = DEFAULT_SAMPLES,
    limits: Limits = DEFAULT_LIMITS,
    name: str | None = None,
) -> FixResult:
    """Rewrite a model into the profile without changing a value; check and validate the result.

    Arguments beside those that `sonnx.api` explains:
        select: make only rewrites for rules with these slugs or tags, or of these operators.
        keep: operators whose nodes stay as they are.
        fold_batch_normalization: also fold BatchNormalization into the convolution before it, which changes how values
            are rounded.
        samples: how many sets of inputs both models are run on.

    Raises:
        UsageError: an unknown edition, rule or symbol, a binding that cannot hold, or a model that cannot be written.
    """
    from sonnx.rewriter.fix import fix as rewrite

    return rewrite(
        encoded(source), edition, bind=bind, input_shapes=input_shapes, select=select, keep=keep,
        fold_batch_normalization=fold_batch_normalization,
        strict_versions=strict_versions, samples=samples, limits=limits, name=name,
    )  # fmt: skip


def equivalent(
    first: Source,
    second: Source,
    edition: str | None = None,
    *,
    renamed: Mapping[str, str] | Collection[str] = (),
    box: Collection[str] = (),
    hypotheses: str = DEFAULT_HYPOTHESES,
    identical: bool = False,
    runs: int = 8,
    seed: int = 0,
    bind: Mapping[str, int] | None = None,
    input_shapes: InputShapes | None = None,
    limits: Limits = DEFAULT_LIMITS,
    names: tuple[str, str] | None = None,
) -> EquivalenceReport:
    """Whether two models are the same function, for every input.

    Arguments beside those that `sonnx.api` explains:
        first, second: the models.
        renamed: for inputs and outputs of the first model their names in the second one, or texts `OLD=NEW`.
        box: texts `NAME=[LOW,HIGH]`, the ranges of inputs on which the difference of two implementations is bounded.
        hypotheses: about implementations, a predefined name or a file.
        identical: only models with equal bits have exit code 0.
        runs: generated sets of inputs on which both models run, where the comparison does not decide.
        seed: of these inputs.
        names: what the result calls the models.

    Raises:
        UsageError: an unknown edition or symbol.
        BadInput: the models have other inputs or outputs, or inputs of other types.
    """
    from sonnx.equivalence.decision import compare_models, renamed_of, witness_inputs
    from sonnx.equivalence.result import EquivalenceOptions
    from sonnx.report.equivalence import EquivalenceReport

    sides = _sides(first, second, names, limits)
    options = EquivalenceOptions(
        edition, dict(bind or {}), {name: tuple(shape) for name, shape in (input_shapes or {}).items()},
        dict(renamed) if isinstance(renamed, Mapping) else renamed_of(renamed), tuple(box), hypotheses, runs, seed,
    )  # fmt: skip
    found = compare_models(*sides, options)
    return EquivalenceReport(found, identical, witness_inputs(sides[0], options, found))


def diff(
    first: Source,
    second: Source,
    edition: str | None = None,
    *,
    renamed: Mapping[str, str] | Collection[str] = (),
    runs: int = 8,
    bind: Mapping[str, int] | None = None,
    input_shapes: InputShapes | None = None,
    drawn: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    names: tuple[str, str] | None = None,
) -> ModelChangesReport:
    """What changed between two models: nodes, constants, findings of the check, and which evidence stands.

    Arguments beside those that `sonnx.api` explains:
        first, second: the models.
        renamed: for inputs and outputs of the first model their names in the second one, or texts `OLD=NEW`.
        runs: generated sets of inputs on which both models run, where the comparison does not decide.
        drawn: the page of the result draws both graphs.
        names: what the result calls the models.

    Raises:
        UsageError: an unknown edition or symbol.
        BadInput: a constant has no values.
    """
    from sonnx.checker.graph_outline import is_drawable, outline
    from sonnx.equivalence.decision import renamed_of
    from sonnx.equivalence.difference import changes_of
    from sonnx.equivalence.result import EquivalenceOptions
    from sonnx.report.model_changes import ModelChangesReport, Outlines

    sides = _sides(first, second, names, limits)
    options = EquivalenceOptions(
        edition=edition, bind=dict(bind or {}),
        input_shapes={name: tuple(shape) for name, shape in (input_shapes or {}).items()},
        renamed=dict(renamed) if isinstance(renamed, Mapping) else renamed_of(renamed), runs=runs,
    )  # fmt: skip
    graphs = [outline(each.model) if drawn else None for each in sides]
    fitting = [graph if graph is not None and is_drawable(graph) else None for graph in graphs]
    return ModelChangesReport(changes_of(*sides, options), Outlines(*fitting))


def _sides(first: Source, second: Source, names: tuple[str, str] | None, limits: Limits) -> tuple[Side, Side]:
    """Two models as the sides of a comparison."""
    from sonnx.equivalence.decision import side_of

    sides = []
    for index, source in enumerate(map(encoded, (first, second))):
        model, digest = open_model(source, hashed=True, limits=limits)
        folder = None if isinstance(source, bytes) else Path(source).parent
        sides.append(side_of(model, _name(source, names and names[index]), digest, folder))
    return sides[0], sides[1]


def verify_property(
    source: Source,
    stated: str | os.PathLike[str] | None = None,
    options: VerifyOptions | None = None,
    *,
    bind: Mapping[str, int] | None = None,
    input_shapes: InputShapes | None = None,
    limits: Limits = DEFAULT_LIMITS,
    name: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> PropertyResult:
    """Whether a property of a model holds for all inputs of its boxes, in every implementation within hypotheses.

    Arguments beside those that `sonnx.api` explains:
        stated: the file of the property, in VNN-LIB (.vnnlib) or in TOML; None with `options.robust`.
        options: `sonnx.properties.options.VerifyOptions`: hypotheses, time, robustness around a point.
        progress: told how far it is.

    Raises:
        BadInput: the property is malformed, or about other inputs or outputs.
        NotConforming: the model does not conform; it carries the report.
        NotBounded: a node has no transfer function.
    """
    from sonnx.model.reader import file_bytes, read
    from sonnx.model.symbols import bind_symbols
    from sonnx.properties.options import VerifyOptions
    from sonnx.properties.verification import verify_model

    found = encoded(source)
    folder = None if isinstance(found, bytes) else Path(found).parent
    data = found if isinstance(found, bytes) else file_bytes(found, repr(os.fspath(found)))
    model = read(data, "model" if isinstance(found, bytes) else repr(os.fspath(found)), limits, folder)
    sized = bind_symbols(model, dict(bind or {}), dict(input_shapes or {}))
    return verify_model(
        sized, data, _name(found, name), folder, None if stated is None else Path(stated),
        options or VerifyOptions(), progress,
    )  # fmt: skip


def make_suite(folder: str | os.PathLike[str], options: MakeOptions | None = None) -> SuiteReport:
    """Make a suite of test cases for implementations in a folder that does not exist or is empty (docs/suite.md).

    Args:
        folder: where the archives of the operators and suite.json are written.
        options: `sonnx.suite.options.MakeOptions`: operators, edition, hypotheses; all of the newest edition if None.

    Raises:
        UsageError: an unknown operator, edition or hypotheses.
        OSError: the folder cannot be written; nothing is left in it.
    """
    from sonnx.suite.cases import make_suite as made
    from sonnx.suite.options import MakeOptions
    from sonnx.suite.report import SuiteReport

    return SuiteReport.of(made(Path(folder), options or MakeOptions()))


def run_suite(folder: str | os.PathLike[str], options: RunOptions | None = None) -> SuiteRun:
    """Run the cases of a suite on a runtime or a program, and judge the outputs.

    Args:
        folder: the suite.
        options: `sonnx.suite.options.RunOptions`: the runtime or program, and its limits; onnxruntime if None.

    Raises:
        BadInput: the folder is not a suite.
        UsageError: an unknown runtime, a program that cannot be started, or an unknown operator.
    """
    from sonnx.suite.options import RunOptions
    from sonnx.suite.runs import run_suite as ran

    return ran(Path(folder), options or RunOptions())


def judge_suite(folder: str | os.PathLike[str], outputs: str | os.PathLike[str]) -> SuiteRun:
    """Judge outputs that were made elsewhere, by the runner that stands in the folder of the suite.

    Args:
        folder: the suite.
        outputs: a folder with CASE/test_data_set_N/output_K.pb.

    Raises:
        BadInput: one of the folders is not there, or the first is not a suite.
    """
    from sonnx.suite.runs import judge_outputs

    return judge_outputs(Path(folder), Path(outputs))


def audit(
    source: Source,
    edition: str | None = None,
    *,
    bind: Mapping[str, int] | None = None,
    input_shapes: InputShapes | None = None,
    strict_versions: bool = False,
    accept_assumptions: bool = False,
    tailoring: str | os.PathLike[str] | None = None,
    deviations: str | os.PathLike[str] | None = None,
    date: date | None = None,
    rewrites: str | os.PathLike[str] | None = None,
    proofs: str | os.PathLike[str] | None = None,
    box: Collection[str] = (),
    since: str | os.PathLike[str] | None = None,
    derived_from: str | os.PathLike[str] | None = None,
    properties: Collection[str | os.PathLike[str]] = (),
    suites: Collection[str | os.PathLike[str]] = (),
    limits: Limits = DEFAULT_LIMITS,
    name: str | None = None,
) -> EvidencePack:
    """Check a model and collect the evidence: reports, traceability, theorems, identities (docs/audit.md).

    Equal arguments and files give equal files; `EvidencePack.write` writes them to a folder.

    Arguments beside those that `sonnx.api` explains:
        accept_assumptions: assumptions on run-time values do not count as open.
        tailoring: a file that makes the edition stricter.
        deviations: a file of justified failures.
        date: the day on which deviations must not have expired; required with deviations.
        rewrites: the record that `fix` wrote of the model.
        proofs: a folder of certificates that `sonnx prove --proofs` wrote.
        box: the ranges of the inputs, as texts of `sonnx bound --input`: assumptions that it shows pass.
        since: an earlier pack: the new one says what changed and which evidence stands.
        derived_from: the model file that the model was made from: the pack says whether both are the same function.
        properties: .vnnlib files with their certificates (`sonnx verify --certificate`) beside them, as .json files.
        suites: JSON reports of `sonnx suite run` about the implementation that will run the model.

    Raises:
        UsageError: options that cannot be met, or files of the project that are malformed or change while they are
            read.
    """
    from sonnx.evidence.pack import PackRequest, pack

    if deviations is not None and date is None:
        raise UsageError(NEEDS_DATE)
    found = encoded(source)
    request = CheckRequest(
        edition, dict(bind or {}), dict(input_shapes or {}), strict_versions=strict_versions,
        tailoring=read_tailoring(tailoring), limits=limits,
    )  # fmt: skip
    return pack(
        PackRequest(
            found if isinstance(found, bytes) else Path(found), _name(found, name), request, accept_assumptions,
            None if tailoring is None else Path(tailoring), None if deviations is None else Path(deviations), date,
            None if rewrites is None else Path(rewrites),
            None if proofs is None else Path(proofs), box=tuple(box), hypotheses=DEFAULT_HYPOTHESES,
            since=None if since is None else Path(since),
            original=None if derived_from is None else Path(derived_from), properties=tuple(map(Path, properties)),
            suites=tuple(map(Path, suites)),
        )
    )  # fmt: skip


def verify(
    pack: str | os.PathLike[str],
    model: str | os.PathLike[str] | None = None,
    signers: str | os.PathLike[str] | None = None,
    derived_from: str | os.PathLike[str] | None = None,
) -> tuple[str, ...]:
    """Regenerate an evidence pack and compare: a sentence for each difference, none if it is reproducible.

    Args:
        pack: the folder of the pack.
        model: the model file; the one that the pack names if None.
        signers: a file of allowed signers in the format of OpenSSH: one of them must have signed the manifest.
        derived_from: the model file that the model was made from; the one that the pack names if None.

    Raises:
        UsageError: the folder is not an evidence pack, the model is not known, or signatures cannot be verified here.
    """
    from sonnx.evidence.pack import MANIFEST, differences
    from sonnx.evidence.signature import signature_fault

    found = tuple(
        dict.fromkeys(
            differences(Path(pack), *(None if each is None else Path(each) for each in (model, derived_from)))
        )
    )
    fault = "" if signers is None else signature_fault(Path(pack), MANIFEST, Path(signers))
    return (*found, fault) if fault else found


def qualify(folder: Path, run: CommandLine, parser: ArgumentParser) -> Kit:
    """Verify the tool in this environment by its command line, and write the qualification kit to a new folder.

    Raises:
        UsageError: the folder exists.
    """
    from sonnx.evidence.qualification_kit import make, require_new, write

    require_new(folder)
    kit = make(run, parser)
    write(folder, kit)
    return kit


def hypotheses_names() -> Collection[str]:
    """The names of the predefined hypotheses about implementations."""
    from sonnx.numerics.enclosures import PREDEFINED
    from sonnx.profile import toml_files

    return list(toml_files.read_value(PREDEFINED)[0])


def explain(name: str) -> Explanation:
    """Explain a rule, a tag, an operator, an erratum or a theorem.

    Args:
        name: a slug (Max.broadcastable), a tag (E1, R1@2025-10), an operator, an erratum or a theorem (max.fold).

    Raises:
        UsageError: nothing has this name.
    """
    from sonnx.report.explain import explanation

    return explanation(name)
