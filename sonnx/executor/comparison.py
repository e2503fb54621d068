"""Comparison of a runtime with the exact values of a model: output by output, and node by node.

The values of nodes are compared in three ways.  *On equal inputs* the runtime runs a node alone on its exact inputs, so
that errors do not add up and a difference is the node's own.  *On class inputs* it runs a node alone on the inputs of
value classes (`class_runs.py`), whether or not the model reaches them.  *Accumulated* the runtime runs the whole model,
and every value on the way is compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol

from msgspec import structs

from sonnx.base.budget import OutOfTime, require_time
from sonnx.base.errors import ErrorCondition, Stop
from sonnx.base.escaping import plural
from sonnx.checker.verdicts import Where
from sonnx.executor.class_runs import ClassRuns, deviations_of, within_budget
from sonnx.executor.distance import (
    BOOL,
    INTEGER,
    STRING,
    ZERO,
    Distance,
    Incomparable,
    distance,
    first_difference,
)
from sonnx.executor.executor import ModelRunner, required_inputs
from sonnx.executor.node_errors import place_of
from sonnx.executor.runtimes import Failure, Fault, Loaded, Runtime
from sonnx.model.ir import Graph, Model, Node, Type, Value, subgraphs
from sonnx.model.scopes import captured
from sonnx.model.writer import Unwritable, write
from sonnx.numerics.constant_data import decode
from sonnx.numerics.draws import is_ordinary
from sonnx.numerics.formats import NAMES, Array, TensorSpec
from sonnx.numerics.value_classes import ClassCase, cases

OUTPUT, EQUAL, ACCUMULATED = "output", "on equal inputs", "accumulated"
CLASS_OUTPUT, CLASS_NODE = "output on class inputs", "on class inputs"
NOT_REPEATED = "two calls on the same inputs give different values"
Progress = Callable[[str], None]
PROGRESS_STEP = 16
"""Class runs between two lines of progress."""


@dataclass(frozen=True, slots=True)
class Row:
    """One compared value: its name, the way, and its distance; `failures` are the runs without it, with the reason."""

    way: str
    value: str
    operator: str = ""
    place: str = ""
    type: str = ""
    distance: Distance | None = None
    ordinary: Distance | None = None
    """The distance in the runs with ordinary inputs."""
    failures: tuple[str, ...] = ()
    where: Where | None = None
    """The place of the value, or of its node."""
    exceeded: str = ""
    """How it is outside the tolerance, "" where it is within or there is none."""
    faults: tuple[str, ...] = ()
    """What the runtime did instead of giving a value: its process ended or hung, it gave rubbish, another type or shape,
    or two values for the same inputs; each with the first run."""
    classes: ClassRuns | None = None
    """What was done on class inputs, None in the other ways."""
    same_as: str = ""
    """The place of an equal node whose runs these are, "" for runs of its own."""

    @property
    def differs(self) -> bool:
        """Whether a bit differs, all NaNs being one value."""
        return self.distance is not None and self.distance.identical < self.distance.elements


class BoundViolation(NamedTuple):
    """A bound that does not hold, as a sentence, and the value it does not hold for; None for the whole comparison."""

    sentence: str
    row: Row | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All rows of one model, in the order of its outputs and of its nodes."""

    model: str
    runtime: str
    edition: str
    unchecked: bool
    inputs: str
    runs: int
    rows: tuple[Row, ...]
    skipped: tuple[str, ...] = ()
    """Runs without exact values, each with the reason."""
    sha256: str = ""
    """The hash of the bytes of the model, "" if it was not requested."""
    ordinary_runs: int = 0
    """The runs with ordinary inputs that were compared."""
    hypotheses: str = ""
    """The hypotheses of the bounds that every value was compared with, "" for none."""
    stopped: bool = False
    """Whether the time was over before the last run."""
    without_bounds: tuple[str, ...] = ()
    """Runs with values that have no bound, each with the reason."""
    unusual: tuple[str, ...] = ()
    """Values within their bound that random rounding rarely makes, as sentences: an estimate."""
    without_classes: tuple[str, ...] = ()
    """What did not run on class inputs, each with the reason."""

    @property
    def first_diverging(self) -> Row | None:
        """The first node that differs on equal inputs."""
        return next((row for row in self.rows if row.way == EQUAL and row.differs), None)

    def violations(self, limits: ComparisonLimits) -> Iterator[BoundViolation]:
        """The bounds that do not hold."""
        for row in self.rows:
            yield from (BoundViolation(sentence, row) for sentence in _violations(row, limits))


@dataclass(frozen=True, slots=True)
class ComparisonLimits:
    """How far values may be from the exact ones.

    A difference in being NaN or infinite, another bool or string, and a fault of the runtime are never allowed.
    """

    max_ulp: int | None = None
    """Steps that floating-point values may be away, and whether values must be compared in every run; None for any."""
    max_integer_distance: int = 0
    """What integers may be away."""
    zero_signs: bool = False
    """Whether the sign of a zero counts, and differences that an erratum or a possible overflow explains."""


class Tolerance(Protocol):
    """What a runtime may compute."""

    def start(self, given: Mapping[str, Array], exact: Mapping[str, Array]) -> None:
        """Prepare for one run: its inputs and its exact values."""

    def exceeded(self, way: str, name: str, computed: Array) -> str | None:
        """How a computed value is outside the tolerance, None where it is not."""


def _violations(row: Row, limits: ComparisonLimits) -> Iterator[str]:
    named = f"{row.value} ({row.way})"
    yield from (f"{named}: {fault}" for fault in row.faults)
    if row.failures and not row.faults and (limits.max_ulp is not None or limits.zero_signs):
        yield f"{named} was not compared in every run: {row.failures[0]}"
    if row.exceeded:
        yield f"{named} {row.exceeded}"
    if row.distance is None:
        return
    if row.classes is not None:
        for each in row.classes.deviations:
            if (limits.zero_signs or not each.explained) and _counts(each.kind, row.distance, limits):
                inputs = "; ".join(each.inputs)
                yield (
                    f"{named} differs in {each.kind} at {list(each.at)}, class {each.name!r}: "
                    f"{each.found}, exact {each.exact}, for {inputs}"
                )
        return
    if limits.max_ulp is not None and (row.distance.ulp or 0) > limits.max_ulp:
        yield f"{named} is up to {row.distance.ulp} ulp away, more than {limits.max_ulp}"
    for special in row.distance.specials:
        if _counts(special.kind, row.distance, limits):
            yield f"{named} differs in {special.kind} at {list(special.at)}: {special.found}, exact {special.exact}"


def _counts(kind: str, far: Distance, limits: ComparisonLimits) -> bool:
    """Whether a difference of a kind breaks the limits."""
    if kind == INTEGER:
        return far.absolute > limits.max_integer_distance
    return kind != ZERO or limits.zero_signs


@dataclass(frozen=True, slots=True)
class Source:
    """A model, and where its file is."""

    name: str
    model: Model
    path: Path | None
    """None for bytes and for a model that was changed since it was read."""
    folder: Path | None


def compare_source(
    source: Source,
    runtime: Runtime,
    runs: Sequence[Mapping[str, Array]],
    *,
    edition: str | None = None,
    unchecked: bool = False,
    every_node: bool = False,
    inputs: str = "given",
    progress: Progress = lambda _: None,
    tolerance: Tolerance | None = None,
    class_runs: int | None = None,
    class_outputs: bool = False,
    seed: int = 0,
) -> Comparison:
    """How far a runtime is from the exact values of a model.

    Args:
        source: the model.
        runtime: what to compare.
        runs: the inputs of each run.
        edition: the edition the model must conform to.
        unchecked: compare a model that does not conform.
        every_node: compare the values of every node too, on class inputs also.
        inputs: where the inputs come from, for the report.
        progress: called with what is done next.
        tolerance: what the runtime may compute.
        class_runs: the most class runs of each node and of the whole model; None for what the budget allows.
        class_outputs: run the whole model on class inputs.
        seed: of class inputs.

    Raises:
        Stop: the model does not conform, or the executor cannot run a part of it.
    """
    made = _Comparator(source, runtime, every_node, tolerance, seed, class_runs, edition)
    skipped: list[str] = []
    ordinary_runs, stopped = 0, False
    runner = ModelRunner(source.model, _place(source), edition, unchecked=unchecked, all_values=every_node)
    chosen = edition or ""
    values: Mapping[str, Array] = {}
    for number, given in enumerate(runs):
        progress(f"run {number + 1} of {len(runs)}: exact values")
        compared = dict(made.rows)
        try:
            require_time()
            exact = runner.run(given)
            chosen = exact.report.edition if exact.report else chosen
            if tolerance is not None:
                progress(f"run {number + 1} of {len(runs)}: bounds")
                tolerance.start(given, exact.values)
            made.ordinary = all(is_ordinary(array) for array in given.values())
            made.add_run(f"run {number + 1}", given, exact.values, progress)
            values = values or {**given, **exact.values}
        except ErrorCondition as stop:
            skipped.append(f"run {number + 1}: {stop}")
        except OutOfTime:
            if not number:
                raise
            made.rows, stopped = compared, True
            skipped += [f"run {left + 1}: the time was over (--timeout)" for left in range(number, len(runs))]
            break
        else:
            ordinary_runs += made.ordinary
    compared_runs = len(runs) - len(skipped)
    if class_runs != 0 and not stopped:
        try:
            if class_outputs:
                made.add_class_outputs(runner, values, progress)
            if every_node and values:
                made.add_class_nodes(values, progress)
        except OutOfTime:
            stopped = True
            skipped.append("class inputs: the time was over (--timeout)")
    return Comparison(
        source.name, runtime.title, chosen, unchecked, inputs, compared_runs, tuple(made.ordered_rows()),
        tuple(skipped), ordinary_runs=ordinary_runs, stopped=stopped, without_classes=tuple(made.without_classes),
    )  # fmt: skip


def _place(source: Source) -> Path | None:
    """The path of the model, changed or not: its external data are beside it."""
    return source.folder / source.name if source.folder else None


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the runtime gave in two calls, or why it gave nothing."""

    values: Mapping[str, Array]
    again: Mapping[str, Array]
    failure: Failure | None = None


class _Comparator:
    """One comparison; loaded models are kept, because every run uses them."""

    def __init__(
        self,
        source: Source,
        runtime: Runtime,
        every_node: bool,
        tolerance: Tolerance | None,
        seed: int,
        class_runs: int | None,
        edition: str | None,
    ) -> None:
        self.tolerance, self.seed, self.class_runs, self.edition = tolerance, seed, class_runs, edition
        self.source, self.runtime, self.every_node = source, runtime, every_node
        self.rows: dict[tuple[str, str], Row] = {}
        self.loaded: dict[object, Loaded | Failure] = {}
        self.without_classes: list[str] = []
        self.ordinary = True
        """Whether the inputs of the present run are ordinary."""

    def ordered_rows(self) -> Iterator[Row]:
        """The rows, those of one way together."""
        for way in (OUTPUT, CLASS_OUTPUT, EQUAL, CLASS_NODE, ACCUMULATED):
            yield from (row for row in self.rows.values() if row.way == way)

    def add_run(self, run: str, given: Mapping[str, Array], exact: Mapping[str, Array], progress: Progress) -> None:
        """Compare one run."""
        graph = self.source.model.graph
        progress(f"{run}: {self.runtime.title}")
        found = self._run("model", self._whole, given)
        for index, value in enumerate(graph.outputs):
            where = Where(f"graph/output[{index}]", "value", value.name)
            self._compare(Row(OUTPUT, value.name, where=where), run, found, exact[value.name])
        if not self.every_node:
            return
        values = {**self._constants(given), **given, **exact}
        for index, node in enumerate(graph.nodes):
            progress(f"{run}: node {index + 1} of {len(graph.nodes)}")
            self._node(run, index, node, values)
        progress(f"{run}: every value of the whole model")
        found = self._run("all", lambda: self._all(exact), given)
        for index, node in enumerate(graph.nodes):
            for name in filter(None, node.outputs):
                self._compare(_row(ACCUMULATED, name, index, node), run, found, exact[name])

    def _node(self, run: str, index: int, node: Node, values: Mapping[str, Array]) -> None:
        inputs = {name: values[name] for name in dict.fromkeys(node.inputs) if name}
        shapes = tuple(array.shape for array in inputs.values())
        found = self._run((index, shapes), lambda: self._alone(index, node, values), inputs)
        for name in filter(None, node.outputs):
            self._compare(_row(EQUAL, name, index, node), run, found, values[name])

    def _run(self, key: object, load: Callable[[], Loaded], inputs: Mapping[str, Array]) -> _Answer:
        """The values of the runtime in two calls, or why it has none."""
        if key not in self.loaded:
            try:
                self.loaded[key] = load()
            except Failure as failure:
                self.loaded[key] = failure
            except Unwritable as reason:
                self.loaded[key] = Failure(str(reason))
        ready = self.loaded[key]
        if isinstance(ready, Failure):
            return _Answer({}, {}, ready)
        try:
            return _Answer(ready(inputs), ready(inputs))
        except Failure as failure:
            return _Answer({}, {}, failure)

    def _compare(self, row: Row, run: str, found: _Answer, exact: Array) -> Distance | None:
        """Add one value of one run; its distance, None where there is none."""
        row = self.rows.get((row.way, row.value), replace(row, type=NAMES[exact.dtype]))
        new = None
        try:
            new = _distance(row.value, found, exact)
        except Incomparable as reason:
            row = replace(row, failures=_with_reason(row.failures, run, str(reason), row.classes is None))
            if not isinstance(found.failure, Failure) or isinstance(found.failure, Fault):
                row = replace(row, faults=_with_reason(row.faults, run, str(reason)))
        if new is not None:
            row = replace(row, distance=new if row.distance is None else row.distance + new)
            if self.ordinary and row.classes is None:
                row = replace(row, ordinary=new if row.ordinary is None else row.ordinary + new)
            if self.tolerance is not None and row.classes is None and not row.exceeded:
                exceeded = self.tolerance.exceeded(row.way, row.value, found.values[row.value])
                row = replace(row, exceeded=f"{exceeded} ({run})" if exceeded else "")
            if row.value not in found.again or first_difference(found.again[row.value], found.values[row.value]):
                row = replace(row, faults=_with_reason(row.faults, run, NOT_REPEATED))
        self.rows[row.way, row.value] = row
        return new

    # Class inputs

    def add_class_outputs(self, runner: ModelRunner, values: Mapping[str, Array], progress: Progress) -> None:
        """Run the whole model on class inputs."""
        model = self.source.model
        wanted = [value for value in required_inputs(model) if value.name in values]
        specs = {value.name: (values[value.name].shape, values[value.name].dtype) for value in wanted}
        if not specs:
            return
        rows = [
            Row(CLASS_OUTPUT, value.name, where=Where(f"graph/output[{index}]", "value", value.name))
            for index, value in enumerate(model.graph.outputs)
        ]
        usual = {name: values[name] for name in specs}
        shapes = runner.shapes(usual)
        operator = model.graph.nodes[0].operator if len(model.graph.nodes) == 1 else ""
        self._add_classes(
            rows, specs, runner.elements(usual), operator, lambda inputs: _exact(runner, inputs, shapes), lambda inputs: self._run("model", self._whole, inputs), progress, "the whole model",
        )  # fmt: skip

    def add_class_nodes(self, values: Mapping[str, Array], progress: Progress) -> None:
        """Run each node alone on class inputs; equal nodes once."""
        model, known = self.source.model, dict[bytes, int]()
        values = {**self._constants(values), **values}
        varying = _varying(model)
        constant = 0
        for index, node in enumerate(model.graph.nodes):
            place = place_of(node, index)
            if not varying.intersection(node.inputs):
                constant += 1
                continue
            if next(subgraphs(node), None) is not None:
                self.without_classes.append(f"{place}: it holds graphs")
                continue
            specs = {
                name: (values[name].shape, values[name].dtype)
                for name in dict.fromkeys(node.inputs)
                if name in varying
            }
            alone = self._with_constants(index, node, values, varying)
            rows = [_row(CLASS_NODE, name, index, node) for name in filter(None, node.outputs)]
            try:
                content = _content(node, alone, [*specs.values()])
                if content in known:
                    self._add_same(rows, known[content])
                    continue
                known[content] = index
                data = write(alone)
            except Unwritable as reason:
                self.without_classes.append(f"{place}: {reason}")
                continue
            runner = ModelRunner(alone, _place(self.source), self.edition, unchecked=True)
            fixed = {value.name: values[value.name] for value in required_inputs(alone) if value.name not in specs}
            usual = {name: values[name] for name in [*specs, *fixed]}
            shapes = runner.shapes(usual)
            if shapes is None:
                self.without_classes.append(f"{place}: the shapes of its outputs depend on values")
                continue
            elements = runner.elements(usual)
            self._add_classes(
                rows, specs, elements, node.operator,
                lambda inputs, runner=runner, fixed=fixed, shapes=shapes: _exact(runner, {**inputs, **fixed}, shapes),
                lambda inputs, data=data, index=index, fixed=fixed: self._run(
                    ("classes", index), lambda: self.runtime.load(data, self.source.folder), {**inputs, **fixed}
                ),
                progress, place,
            )  # fmt: skip
        if constant:
            self.without_classes.append(f"{plural(constant, 'node has', 'nodes have')} constant inputs only")

    def _add_classes(
        self,
        rows: Sequence[Row],
        specs: Mapping[str, TensorSpec],
        elements: int,
        operator: str,
        exact_of: Callable[[Mapping[str, Array]], Mapping[str, Array]],
        found_of: Callable[[Mapping[str, Array]], _Answer],
        progress: Progress,
        what: str,
    ) -> None:
        """Run the cases of some inputs, as many as the budget allows."""
        every = cases(specs)
        chosen = within_budget(every, elements, self.class_runs)
        if not every:
            self.without_classes.append(f"{what}: its inputs have no elements")
            return
        for row in rows:
            left = len(every) - len(chosen)
            self.rows[row.way, row.value] = replace(row, classes=ClassRuns(left_out=left))
        for number, case in enumerate(chosen):
            if number % PROGRESS_STEP == 0:
                progress(f"{what}: class inputs {number + 1} of {len(chosen)}")
            require_time()
            inputs = case.drawn(specs, self.seed)
            exact = exact_of(inputs)
            found = found_of(inputs) if exact else None
            for row in rows:
                self._compare_case(row, case, operator, inputs, found, exact)

    def _compare_case(
        self,
        row: Row,
        case: ClassCase,
        operator: str,
        inputs: Mapping[str, Array],
        found: _Answer | None,
        exact: Mapping[str, Array],
    ) -> None:
        key = (row.way, row.value)
        if found is None:
            before = self.rows[key]
            classes = before.classes or ClassRuns()
            self.rows[key] = replace(before, classes=replace(classes, without_value=classes.without_value + 1))
            return
        if not self.rows[key].type:
            self.rows[key] = replace(self.rows[key], type=NAMES[exact[row.value].dtype])
        new = self._compare(self.rows[key], f"class {case.name!r} of {case.detail}", found, exact[row.value])
        if new is not None:
            after = self.rows[key]
            said = deviations_of(case, inputs, exact[row.value], new.specials, operator)
            self.rows[key] = replace(after, classes=(after.classes or ClassRuns()).with_deviations([*said]))

    def _add_same(self, rows: Sequence[Row], index: int) -> None:
        """The rows of a node that is equal to an earlier one."""
        earlier = self.source.model.graph.nodes[index]
        for row, name in zip(rows, filter(None, earlier.outputs), strict=True):
            if (CLASS_NODE, name) in self.rows:
                made = self.rows[CLASS_NODE, name]
                self.rows[row.way, row.value] = replace(
                    made, value=row.value, place=row.place, where=row.where, same_as=place_of(earlier, index)
                )

    # The models that the runtime loads

    def _whole(self) -> Loaded:
        made = self.source.path or write(self.source.model)
        return self.runtime.load(made, self.source.folder)

    def _all(self, exact: Mapping[str, Array]) -> Loaded:
        graph = self.source.model.graph
        declared = {value.name for value in graph.outputs}
        named = dict.fromkeys(name for node in graph.nodes for name in node.outputs if name and name not in declared)
        outputs = (*graph.outputs, *(_value(name, exact[name]) for name in named))
        made = structs.replace(self.source.model, graph=structs.replace(graph, outputs=outputs))
        return self.runtime.load(write(made), self.source.folder)

    def _alone(self, index: int, node: Node, values: Mapping[str, Array]) -> Loaded:
        inputs = tuple(_value(name, values[name]) for name in dict.fromkeys(node.inputs) if name)
        outputs = tuple(_value(name, values[name]) for name in node.outputs if name)
        graph = Graph(f"node {index}", inputs, outputs, (), (), (), (node,))
        return self.runtime.load(write(structs.replace(self.source.model, graph=graph)), self.source.folder)

    def _with_constants(self, index: int, node: Node, values: Mapping[str, Array], varying: Collection[str]) -> Model:
        """A node alone; its constants are initializers, as in the model."""
        model = self.source.model
        taken = [*dict.fromkeys(filter(None, node.inputs))]
        constants = tuple(each for each in model.graph.initializers if each.name in taken and each.name not in varying)
        named = {each.name for each in constants} if (model.ir_version or 0) >= 4 else set()
        inputs = tuple(_value(name, values[name]) for name in taken if name not in named)
        outputs = tuple(_value(name, values[name]) for name in node.outputs if name)
        graph = Graph(f"node {index}", inputs, outputs, (), constants, (), (node,))
        return structs.replace(model, graph=graph)

    def _constants(self, given: Mapping[str, Array]) -> dict[str, Array]:
        tensors = self.source.model.graph.initializers
        return {tensor.name: decode(tensor, self.source.folder) for tensor in tensors if tensor.name not in given}


def _exact(
    runner: ModelRunner, inputs: Mapping[str, Array], shapes: Sequence[tuple[int, ...]] | None
) -> Mapping[str, Array]:
    """The exact values of class inputs; none where they have no value, or values of other shapes."""
    try:
        return runner.run(inputs).values if runner.shapes(inputs) == shapes else {}
    except (Stop, MemoryError):
        return {}


def _distance(name: str, found: _Answer, exact: Array) -> Distance:
    if found.failure is not None:
        raise Incomparable(str(found.failure))
    if name not in found.values:
        raise Incomparable("the runtime gives no such value")
    return distance(found.values[name], exact)


def _with_reason(known: tuple[str, ...], run: str, reason: str, every: bool = False) -> tuple[str, ...]:
    """With one more reason and its run; a reason that is known only if every run is listed."""
    if not every and any(each.endswith(f": {reason}") for each in known):
        return known
    return (*known, f"{run}: {reason}")


def _varying(model: Model) -> set[str]:
    """The values that depend on an input which a caller gives."""
    found = {value.name for value in required_inputs(model)}
    for node in model.graph.nodes:
        if found.intersection(node.inputs) or found.intersection(captured(node)):
            found.update(filter(None, node.outputs))
    return found


def _content(node: Node, alone: Model, specs: Sequence[TensorSpec]) -> bytes:
    """The same for nodes that compute the same of their inputs: the node with other names, its constants and types."""
    names = {name: f"{number}" if name else "" for number, name in enumerate(dict.fromkeys([*node.inputs, *node.outputs]))}
    renamed = structs.replace(
        node, name="", inputs=tuple(names[each] for each in node.inputs), outputs=tuple(names[each] for each in node.outputs)
    )

    def called(value: Value) -> Value:
        return structs.replace(value, name=names[value.name])

    graph = structs.replace(
        alone.graph,
        name="",
        inputs=tuple(map(called, alone.graph.inputs)),
        outputs=tuple(map(called, alone.graph.outputs)),
        initializers=tuple(structs.replace(each, name=names[each.name]) for each in alone.graph.initializers),
        nodes=(renamed,),
    )
    return sha256(write(structs.replace(alone, graph=graph)) + repr(specs).encode()).digest()


def _row(way: str, name: str, index: int, node: Node) -> Row:
    where = Where(f"graph/node[{index}]", "node", node.name, node.operator)
    return Row(way, name, node.operator, place_of(node, index), where=where)


def _value(name: str, array: Array) -> Value:
    return Value(name, Type("tensor", NAMES[array.dtype], array.shape))


def source_of(model: Model, path: str | os.PathLike[str] | None, *, changed: bool) -> Source:
    """The source of a model that was read from a path, and may have been changed since."""
    if path is None:
        return Source("model", model, None, None)
    return Source(Path(path).name, model, None if changed else Path(path), Path(path).parent)


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
