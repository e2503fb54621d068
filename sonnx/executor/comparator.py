"""Comparison of a runtime with the exact values of a model: output by output, node by node, and on class inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from sonnx.base.budget import OutOfTime, require_time
from sonnx.base.errors import ErrorCondition, LackOfMemory, Stop
from sonnx.base.escaping import plural
from sonnx.checker.conditions import Conditions
from sonnx.checker.verdicts import Where
from sonnx.executor.class_runs import MAX_RUNS as MAX_RUNS_COMPARED
from sonnx.executor.class_runs import ClassRuns, Computation, affordable_cases, deviations_of
from sonnx.executor.comparison import ACCUMULATED, CLASS_NODE, CLASS_OUTPUT, EQUAL, OUTPUT, WAYS, Comparison, Row, Way
from sonnx.executor.distance import Distance, Incomparable, distance, first_difference
from sonnx.executor.executor import ModelRunner
from sonnx.executor.loaded_models import LoadedModels, RuntimeAnswer, Source, node_digest
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.node_errors import place_of
from sonnx.executor.options import ComparisonOptions
from sonnx.executor.reach import MAX_RUNS, NodeEnds, Reach, ReachSearch, StatedRanges
from sonnx.executor.result_boundaries import SearchedCall, boundary_cases
from sonnx.executor.runtimes import Failure, Fault, Loaded, Runtime
from sonnx.model.ir import Model, Node, subgraphs
from sonnx.model.scopes import canonical_domain, captured, imports_of
from sonnx.model.writer import Unwritable
from sonnx.numerics.draws import is_ordinary
from sonnx.numerics.formats import NAMES, Array, TensorSpec
from sonnx.numerics.value_classes import ClassCase, cases
from sonnx.operators import operator_facts
from sonnx.profile.definitions import DeviationKind

Progress = Callable[[str], None]
PROGRESS_STEP = 16
"""Class runs between two lines of progress."""
FIRST_CASES = 8
"""Class cases before those at the boundaries of the result."""
NOT_REPEATED = "two calls on the same inputs give different values"


class Tolerance(Protocol):
    """What a runtime may compute."""

    def start(self, inputs: Mapping[str, Array], exact: Mapping[str, Array]) -> None:
        """Prepare for one run: its inputs and its exact values."""

    def exceeded(self, way: str, name: str, computed: Array) -> str | None:
        """How a computed value is outside the tolerance, None where it is not."""


def compare_source(
    source: Source,
    runtime: Runtime,
    runs: Sequence[Mapping[str, Array]],
    options: ComparisonOptions,
    inputs: str = "given",
    tolerance: Tolerance | None = None,
    ranges: Callable[[], StatedRanges] | None = None,
    box: Mapping[str, NodeEnds] | None = None,
) -> Comparison:
    """How far a runtime is from the exact values of a model.

    Args:
        source: the model.
        runtime: what to compare.
        runs: the inputs of each run.
        options: of the comparison.
        inputs: where the inputs come from, for the report.
        tolerance: what the runtime may compute.
        ranges: the ranges of the values of the model; with them and `--every-node` the classes of nodes are searched.
        box: the inputs of the model for which they hold; None for all finite ones.

    Raises:
        Stop: the model does not conform, or the executor cannot run a part of it.
    """
    comparator = _Comparator(source, runtime, options, tolerance)
    skipped: list[str] = []
    ordinary_runs, stopped = 0, False
    runner = ModelRunner(
        source.model, source.place, options.edition, unchecked=options.unchecked, all_values=options.every_node
    )
    progress = options.progress
    values: Mapping[str, Array] = {}
    for number, inputs_of_run in enumerate(runs):
        progress(f"run {number + 1} of {len(runs)}: exact values")
        compared = dict(comparator.rows)
        try:
            require_time()
            exact = runner.run(inputs_of_run)
            if tolerance is not None:
                progress(f"run {number + 1} of {len(runs)}: bounds")
                tolerance.start(inputs_of_run, exact.values)
            comparator.ordinary = all(is_ordinary(array) for array in inputs_of_run.values())
            values = values or {**inputs_of_run, **exact.values}
            if comparator.reach is None and ranges is not None and options.every_node and comparator.class_runs != 0:
                varying = _varying(source.model)
                comparator.reach = ReachSearch(source.model.graph.nodes, varying, _specs(varying, values), ranges, box)
            comparator.add_run(f"run {number + 1}", inputs_of_run, exact.values, progress)
        except ErrorCondition as stop:
            skipped.append(f"run {number + 1}: {stop}")
        except OutOfTime:
            if not number:
                raise
            comparator.rows, stopped = compared, True
            skipped += [f"run {left + 1}: the time was over (--timeout)" for left in range(number, len(runs))]
            break
        else:
            ordinary_runs += comparator.ordinary
    compared_runs = len(runs) - len(skipped)
    reach = None
    if comparator.class_runs != 0 and not stopped:
        try:
            if options.generates_inputs:
                comparator.add_class_outputs(runner, values, progress)
            if options.every_node and values:
                comparator.add_class_nodes(values, progress)
            reach = comparator.searched(runner, values, progress)
        except OutOfTime:
            stopped = True
            skipped.append("class inputs: the time was over (--timeout)")
    return Comparison(
        source.name, runtime.title, Conditions.of(options), inputs, compared_runs, tuple(comparator.ordered_rows()),
        tuple(skipped), ordinary_runs=ordinary_runs, stopped=stopped, without_classes=tuple(comparator.without_classes),
        reach=reach,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Subject:
    """The model, or a node alone, as it runs on class inputs.

    Attributes:
        title: what it is, for the report.
        operator: of a single node, else "".
        rows: of its outputs, without figures.
        specs: the inputs that are drawn.
        fixed: the values of the others.
        runner: gives the exact values.
        answer: what the runtime gives for inputs.
        nodes: the nodes that run.
        is_whole: whether it is the whole model.
    """

    title: str
    operator: str
    rows: Sequence[Row]
    specs: Mapping[str, TensorSpec]
    fixed: Mapping[str, Array]
    runner: ModelRunner
    answer: Callable[[Mapping[str, Array]], RuntimeAnswer]
    nodes: Sequence[Node]
    is_whole: bool = False

    def call(self, values: Mapping[str, Array], shapes: Sequence[tuple[int, ...]], elements: int) -> SearchedCall:
        """The call whose boundaries are searched; `values` are those of an ordinary run."""
        first = self.rows[0].value

        def results(inputs: Mapping[str, Array]) -> Array | None:
            exact = _exact(self.runner, {**inputs, **self.fixed}, shapes)
            return None if exact is None else exact[first]

        return SearchedCall(self.specs, results, elements, values[first].shape, self._is_elementwise())

    def _is_elementwise(self) -> bool:
        """Whether the result is one function of the elements at an index: constants have one element."""
        model = self.runner.model
        sizes = [prod(tensor.dims) for tensor in model.graph.initializers if tensor.name not in self.specs]
        sizes += [array.size for array in self.fixed.values()]
        if len(self.nodes) != 1 or any(size != 1 for size in sizes):
            return False
        node = self.nodes[0]
        facts = operator_facts(node.operator, node.domain)
        operator_set = imports_of(model.imports).get(canonical_domain(node.domain))
        return facts.elementwise_at(operator_set or 0) or (facts.elementwise_with_scalars and len(self.specs) == 1)


class _Comparator:
    """One comparison."""

    def __init__(
        self,
        source: Source,
        runtime: Runtime,
        options: ComparisonOptions,
        tolerance: Tolerance | None,
    ) -> None:
        self.tolerance, self.seed, self.edition = tolerance, options.seed, options.edition
        self.class_runs = 0 if options.outputs is not None else options.class_runs
        self.source, self.runtime, self.every_node = source, runtime, options.every_node
        self.models = LoadedModels(source, runtime)
        self.rows: dict[tuple[str, str], Row] = {}
        self.without_classes: list[str] = []
        self.reach: ReachSearch | None = None
        self.ordinary = True
        """Whether the inputs of the present run are ordinary."""

    def ordered_rows(self) -> Iterator[Row]:
        """The rows, those of one way together."""
        for way in WAYS:
            yield from (row for row in self.rows.values() if row.way == way)

    def add_run(self, run: str, inputs: Mapping[str, Array], exact: Mapping[str, Array], progress: Progress) -> None:
        """Compare one run."""
        graph = self.source.model.graph
        self._look(run, inputs, exact)
        progress(f"{run}: {self.runtime.title}")
        answer = self.models.whole(inputs)
        for index, value in enumerate(graph.outputs):
            where = Where(f"graph/output[{index}]", "value", value.name)
            self._compare(Row(OUTPUT, value.name, where=where), run, answer, exact[value.name])
        if not self.every_node:
            return
        values = {**self.models.constants(inputs), **inputs, **exact}
        for index, node in enumerate(graph.nodes):
            progress(f"{run}: node {index + 1} of {len(graph.nodes)}")
            answer = self.models.node(index, values)
            for name in filter(None, node.outputs):
                self._compare(_row(EQUAL, name, index, node), run, answer, values[name])
        progress(f"{run}: every value of the whole model")
        answer = self.models.every_value(inputs, exact)
        for index, node in enumerate(graph.nodes):
            for name in filter(None, node.outputs):
                self._compare(_row(ACCUMULATED, name, index, node), run, answer, exact[name])

    def _compare(
        self, row: Row, run: str, answer: RuntimeAnswer, exact: Array, further: Collection[DeviationKind] = ()
    ) -> Distance | None:
        """Add one value of one run; its distance, None where there is none."""
        row = self.rows.get((row.way, row.value), replace(row, type=NAMES[exact.dtype]))
        new = None
        try:
            new = _distance(row.value, answer, exact, further)
        except Incomparable as reason:
            row = replace(row, failures=_with_reason(row.failures, run, str(reason), row.classes is None))
            if not isinstance(answer.failure, Failure) or isinstance(answer.failure, Fault):
                row = replace(row, faults=_with_reason(row.faults, run, str(reason)))
        if new is not None:
            row = replace(row, distance=new if row.distance is None else row.distance + new)
            if self.ordinary and row.classes is None:
                row = replace(row, ordinary=new if row.ordinary is None else row.ordinary + new)
            if self.tolerance is not None and row.classes is None and not row.exceeded:
                exceeded = self.tolerance.exceeded(row.way, row.value, answer.values[row.value])
                row = replace(row, exceeded=f"{exceeded} ({run})" if exceeded else "")
            if row.value not in answer.again or first_difference(answer.again[row.value], answer.values[row.value]):
                row = replace(row, faults=_with_reason(row.faults, run, NOT_REPEATED))
        self.rows[row.way, row.value] = row
        return new

    # Class inputs

    def add_class_outputs(self, runner: ModelRunner, values: Mapping[str, Array], progress: Progress) -> None:
        """Run the whole model on class inputs."""
        graph = self.source.model.graph
        specs = _specs([value.name for value in required_inputs(self.source.model)], values)
        if not specs:
            return
        rows = [
            Row(CLASS_OUTPUT, value.name, where=Where(f"graph/output[{index}]", "value", value.name))
            for index, value in enumerate(graph.outputs)
        ]
        operator = graph.nodes[0].operator if len(graph.nodes) == 1 else ""
        subject = _Subject(
            "the whole model", operator, rows, specs, {}, runner, self.models.whole, graph.nodes, is_whole=True
        )
        self._add_classes(subject, values, progress)

    def add_class_nodes(self, values: Mapping[str, Array], progress: Progress) -> None:
        """Run each node alone on class inputs; equal nodes once."""
        values = {**self.models.constants(values), **values}
        varying, known, constant = _varying(self.source.model), dict[bytes, int](), 0
        for index, node in enumerate(self.source.model.graph.nodes):
            if not varying.intersection(node.inputs):
                constant += 1
                continue
            try:
                subject, content = self._class_node(index, node, values, varying)
            except Unwritable as reason:
                self.without_classes.append(f"{place_of(node, index)}: {reason}")
                continue
            if content in known:
                self._add_same(subject.rows, known[content])
                continue
            known[content] = index
            self._add_classes(subject, values, progress)
        if constant:
            self.without_classes.append(f"{plural(constant, 'node has', 'nodes have')} constant inputs only")

    def _class_node(
        self, index: int, node: Node, values: Mapping[str, Array], varying: Collection[str]
    ) -> tuple[_Subject, bytes]:
        """A node alone, and what identifies it.

        Raises:
            Unwritable: the runtime cannot get it alone.
        """
        if next(subgraphs(node), None) is not None:
            raise Unwritable("it holds graphs")
        specs = _specs([name for name in node.inputs if name in varying], values)
        alone = self.models.constants_model(index, values, varying)
        fixed = {value.name: values[value.name] for value in required_inputs(alone) if value.name not in specs}
        subject = _Subject(
            place_of(node, index),
            node.operator,
            [_row(CLASS_NODE, name, index, node) for name in filter(None, node.outputs)],
            specs,
            fixed,
            ModelRunner(alone, self.source.place, self.edition, unchecked=True),
            lambda inputs: self.models.node_with_constants(index, alone, inputs),
            (node,),
        )
        return subject, node_digest(node, alone, specs.values(), fixed.values())

    def _add_classes(self, subject: _Subject, values: Mapping[str, Array], progress: Progress) -> None:
        """Run the cases of a subject, as many as the budget allows; `values` are those of an ordinary run."""
        usual = {**{name: values[name] for name in subject.specs}, **subject.fixed}
        every, shapes = cases(subject.specs), subject.runner.shapes(usual)
        if not every or shapes is None:
            why = "the shapes of its outputs depend on values" if every else "its inputs have no elements"
            self.without_classes.append(f"{subject.title}: {why}")
            return
        computation, elements = Computation.of(subject.nodes), subject.runner.elements(usual)
        chosen = affordable_cases(every, elements, self.class_runs)
        if len(chosen) > FIRST_CASES:
            progress(f"{subject.title}: boundaries of its result")
            boundaries = boundary_cases(subject.call(values, shapes, elements), self.seed)
            every = [*every[:FIRST_CASES], *boundaries, *every[FIRST_CASES:]]
            chosen = every[: self.class_runs or len(chosen) + len(boundaries)]
        for row in subject.rows:
            class_runs = ClassRuns(left_out=len(every) - len(chosen))
            self.rows[row.way, row.value] = replace(row, type=NAMES[values[row.value].dtype], classes=class_runs)
        for number, case in enumerate(chosen):
            if number % PROGRESS_STEP == 0:
                progress(f"{subject.title}: class inputs {number + 1} of {len(chosen)}")
            require_time()
            drawn = case.drawn(subject.specs, self.seed)
            inputs = {**drawn, **subject.fixed}
            exact = _exact(subject.runner, inputs, shapes)
            if exact is not None and subject.is_whole:
                self._look(_class_run(case), inputs, exact)
            answer = None if exact is None else subject.answer(inputs)
            for row in subject.rows:
                key = (row.way, row.value)
                if exact is None or answer is None:
                    self.rows[key] = _without_value(self.rows[key])
                    continue
                new = self._compare(
                    self.rows[key], _class_run(case), answer, exact[row.value], computation.further_kinds
                )
                if new is not None:
                    self.rows[key] = _with_case(self.rows[key], case, drawn, new, subject.operator, computation)

    # Classes that nodes meet when the whole model runs

    def _look(self, run: str, inputs: Mapping[str, Array], exact: Mapping[str, Array]) -> None:
        """Note the classes that a run of the whole model shows."""
        if self.reach is not None:
            self.reach.add(run, inputs, {**inputs, **exact})

    def searched(self, runner: ModelRunner, values: Mapping[str, Array], progress: Progress) -> Reach | None:
        """Run the executor alone on further inputs that may show an open class; what is known in the end."""
        if self.reach is None:
            return None
        progress("the ranges of the model")
        self.reach.exclude()
        specs = _specs([value.name for value in required_inputs(self.source.model)], values)
        usual = {name: values[name] for name in specs}
        shapes, every = runner.shapes(usual), cases(specs)
        most = len(affordable_cases(every, runner.elements(usual), None)) * MAX_RUNS // MAX_RUNS_COMPARED
        for number, (name, inputs) in enumerate(self.reach.inputs(every, specs, self.seed)):
            if number == most or self.reach.is_complete or shapes is None:
                break
            if number % PROGRESS_STEP == 0:
                progress(f"classes of nodes: input {number + 1} of {most}")
            require_time()
            exact = _exact(runner, inputs, shapes)
            if exact is not None:
                self._look(name, inputs, exact)
        return self.reach.result()

    def _add_same(self, rows: Sequence[Row], index: int) -> None:
        """The rows of a node that is equal to an earlier one."""
        earlier = self.source.model.graph.nodes[index]
        for row, name in zip(rows, filter(None, earlier.outputs), strict=True):
            if (CLASS_NODE, name) in self.rows:
                earlier_row = self.rows[CLASS_NODE, name]
                self.rows[row.way, row.value] = replace(
                    earlier_row, value=row.value, place=row.place, where=row.where, same_as=place_of(earlier, index)
                )


def _specs(names: Iterable[str], values: Mapping[str, Array]) -> dict[str, TensorSpec]:
    return {name: (values[name].shape, values[name].dtype) for name in dict.fromkeys(names) if name in values}


def _class_run(case: ClassCase) -> str:
    return f"class {case.name!r} of {case.detail}"


def _without_value(row: Row) -> Row:
    classes = row.classes or ClassRuns()
    return replace(row, classes=replace(classes, without_value=classes.without_value + 1))


def _with_case(
    row: Row,
    case: ClassCase,
    inputs: Mapping[str, Array],
    far: Distance,
    operator: str,
    computation: Computation,
) -> Row:
    """A row with the deviations of one more case."""
    deviations = deviations_of(case, inputs, far.specials, operator, computation)
    return replace(row, classes=(row.classes or ClassRuns()).with_deviations([*deviations]))


def _exact(
    runner: ModelRunner, inputs: Mapping[str, Array], shapes: Sequence[tuple[int, ...]]
) -> Mapping[str, Array] | None:
    """The exact values of class inputs; None where they have no value, or values of other shapes.

    A lack of memory counts where it comes again: the report does not depend on what another process takes for a moment.
    """
    for _ in range(2):
        try:
            return runner.run(inputs).values if runner.shapes(inputs) == shapes else None
        except (MemoryError, LackOfMemory):
            continue
        except Stop:
            return None
    return None


def _distance(name: str, answer: RuntimeAnswer, exact: Array, further: Collection[DeviationKind]) -> Distance:
    if answer.failure is not None:
        raise Incomparable(str(answer.failure))
    if name not in answer.values:
        raise Incomparable("the runtime gives no such value")
    return distance(answer.values[name], exact, further)


def _with_reason(known: tuple[str, ...], run: str, reason: str, every: bool = False) -> tuple[str, ...]:
    """With one more reason and its run; a reason that is known only if every run is listed."""
    if not every and any(name.endswith(f": {reason}") for name in known):
        return known
    return (*known, f"{run}: {reason}")


def _varying(model: Model) -> set[str]:
    """The values that depend on an input which a caller gives."""
    varying = {value.name for value in required_inputs(model)}
    for node in model.graph.nodes:
        if varying.intersection(node.inputs) or varying.intersection(captured(node)):
            varying.update(filter(None, node.outputs))
    return varying


def _row(way: Way, name: str, index: int, node: Node) -> Row:
    where = Where(f"graph/node[{index}]", "node", node.name, node.operator)
    return Row(way, name, node.operator, place_of(node, index), where=where)


def recorded_runtime(outputs: Mapping[str, Array], title: str) -> Runtime:
    """A runtime whose outputs are known: those of one run, from files."""

    class Recorded:
        """Returns the recorded outputs for any inputs."""

        def __init__(self) -> None:
            self.title = title

        def load(self, model: bytes | Path, folder: Path | None) -> Loaded:
            """See `Runtime.load`."""
            return lambda inputs: dict(outputs)

    return Recorded()
