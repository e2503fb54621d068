"""Comparison of a runtime with the exact values of a model: output by output, and node by node.

The values of nodes are compared in two ways.  *On equal inputs* the runtime runs a node alone on its exact inputs, so
that errors do not add up and a difference is the node's own.  *Accumulated* the runtime runs the whole model, and every
value on the way is compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from msgspec import structs

from sonnx.base.budget import OutOfTime, require_time
from sonnx.base.errors import ErrorCondition
from sonnx.checker.verdicts import Where
from sonnx.executor.distance import Distance, Incomparable, distance
from sonnx.executor.executor import ModelRunner
from sonnx.executor.node_errors import place_of
from sonnx.executor.runtimes import Failure, Loaded, Runtime
from sonnx.model.ir import Graph, Model, Node, Type, Value
from sonnx.model.writer import Unwritable, write
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import NAMES, Array

OUTPUT, EQUAL, ACCUMULATED = "output", "on equal inputs", "accumulated"
Progress = Callable[[str], None]


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

    @property
    def first_diverging(self) -> Row | None:
        """The first node that differs on equal inputs."""
        return next((row for row in self.rows if row.way == EQUAL and row.differs), None)

    def violations(self, max_ulp: int | None, no_special: bool) -> Iterator[BoundViolation]:
        """The bounds that do not hold; a value that was not compared violates each bound."""
        for row in self.rows:
            yield from (BoundViolation(sentence, row) for sentence in _violations(row, max_ulp, no_special))


class Tolerance(Protocol):
    """What a runtime may compute."""

    def start(self, given: Mapping[str, Array], exact: Mapping[str, Array]) -> None:
        """Prepare for one run: its inputs and its exact values."""

    def exceeded(self, way: str, name: str, computed: Array) -> str | None:
        """How a computed value is outside the tolerance, None where it is not."""


def _violations(row: Row, max_ulp: int | None, no_special: bool) -> Iterator[str]:
    if row.failures and (max_ulp is not None or no_special):
        yield f"{row.value} ({row.way}) was not compared in every run: {row.failures[0]}"
    if row.exceeded:
        yield f"{row.value} ({row.way}) {row.exceeded}"
    if row.distance is None:
        return
    if max_ulp is not None and (row.distance.ulp or 0) > max_ulp:
        yield f"{row.value} ({row.way}) is up to {row.distance.ulp} ulp away, more than {max_ulp}"
    if max_ulp is not None and row.distance.ulp is None and row.distance.absolute > max_ulp:
        yield f"{row.value} ({row.way}) is up to {row.distance.absolute:g} away, more than {max_ulp}"
    for special in row.distance.specials if no_special else ():
        yield f"{row.value} ({row.way}) differs in {special.kind} at {list(special.at)}"


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
    ordinary: Collection[int] | None = None,
) -> Comparison:
    """How far a runtime is from the exact values of a model.

    Args:
        source: the model.
        runtime: what to compare.
        runs: the inputs of each run.
        edition: the edition the model must conform to.
        unchecked: compare a model that does not conform.
        every_node: compare the values of every node too.
        inputs: where the inputs come from, for the report.
        progress: called with what is done next.
        tolerance: what the runtime may compute.
        ordinary: the numbers of the runs whose inputs are ordinary numbers; None for all.

    Raises:
        Stop: the model does not conform, or the executor cannot run a part of it.
    """
    made = _Comparator(source, runtime, every_node, tolerance)
    skipped: list[str] = []
    ordinary_runs, stopped = 0, False
    runner = ModelRunner(source.model, _place(source), edition, unchecked=unchecked, all_values=every_node)
    chosen = edition or ""
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
            made.ordinary = ordinary is None or number in ordinary
            made.add_run(f"run {number + 1}", given, exact.values, progress)
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
    return Comparison(
        source.name, runtime.title, chosen, unchecked, inputs, len(runs) - len(skipped),
        tuple(made.rows.values()), tuple(skipped), ordinary_runs=ordinary_runs, stopped=stopped,
    )  # fmt: skip


def _place(source: Source) -> Path | None:
    """The path of the model, changed or not: its external data are beside it."""
    return source.folder / source.name if source.folder else None


class _Comparator:
    """One comparison; loaded models are kept, because every run uses them."""

    def __init__(self, source: Source, runtime: Runtime, every_node: bool, tolerance: Tolerance | None) -> None:
        self.tolerance = tolerance
        self.source, self.runtime, self.every_node = source, runtime, every_node
        self.rows: dict[tuple[str, str], Row] = {}
        self.loaded: dict[object, Loaded | Failure] = {}
        self.ordinary = True
        """Whether the inputs of the present run are ordinary numbers."""

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

    def _run(self, key: object, load: Callable[[], Loaded], inputs: Mapping[str, Array]) -> dict[str, Array] | Failure:
        """The values of the runtime, or why it has none."""
        if key not in self.loaded:
            try:
                self.loaded[key] = load()
            except Failure as failure:
                self.loaded[key] = failure
            except Unwritable as reason:
                self.loaded[key] = Failure(str(reason))
        ready = self.loaded[key]
        if isinstance(ready, Failure):
            return ready
        try:
            return ready(inputs)
        except Failure as failure:
            return failure

    def _compare(self, row: Row, run: str, found: dict[str, Array] | Failure, exact: Array) -> None:
        row = self.rows.get((row.way, row.value), replace(row, type=NAMES[exact.dtype]))
        try:
            if isinstance(found, Failure):
                raise Incomparable(str(found))
            if row.value not in found:
                raise Incomparable("the runtime gives no such value")
            new = distance(found[row.value], exact)
            row = replace(row, distance=new if row.distance is None else row.distance + new)
            if self.ordinary:
                row = replace(row, ordinary=new if row.ordinary is None else row.ordinary + new)
            if self.tolerance is not None and not row.exceeded:
                exceeded = self.tolerance.exceeded(row.way, row.value, found[row.value])
                row = replace(row, exceeded=f"{exceeded} ({run})" if exceeded else "")
        except Incomparable as reason:
            row = replace(row, failures=(*row.failures, f"{run}: {reason}"))
        self.rows[row.way, row.value] = row

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

    def _constants(self, given: Mapping[str, Array]) -> dict[str, Array]:
        tensors = self.source.model.graph.initializers
        return {tensor.name: decode(tensor, self.source.folder) for tensor in tensors if tensor.name not in given}


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
