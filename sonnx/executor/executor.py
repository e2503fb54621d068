"""The reference executor: the values a model has, by the definitions of its operators.

Nodes run in the order of the file.  The shape and type of every value are computed before the first node runs, from
the shape expressions of the operators, and compared after each node.  A value is dropped after its last use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from msgspec.structs import replace

from sonnx.base.errors import NotExecutable, Stop, UsageError
from sonnx.base.escaping import quote
from sonnx.checker.checker import StatedFacts, check_facts, stated_facts
from sonnx.checker.report import NotConforming, Report
from sonnx.checker.report_builder import Subject
from sonnx.checker.rules import ActiveRules
from sonnx.checker.verdicts import Verdict
from sonnx.executor.array_sizes import require_arrays
from sonnx.executor.control_flow import run_body
from sonnx.executor.memory_estimate import require_memory
from sonnx.executor.model_inputs import fitting_inputs
from sonnx.executor.node_errors import NodeErrors, place_of
from sonnx.executor.plan import Plan, Step, build_plan
from sonnx.executor.preparation import RunDomain
from sonnx.executor.prepared_call import PreparedNode
from sonnx.graph.environment import NOTHING_STATED
from sonnx.model.ir import Graph, Model, Node, subgraphs
from sonnx.numerics.application import ExactPathCounts, Kernel
from sonnx.numerics.array_facts import facts_of_array
from sonnx.numerics.constant_data import decode, with_external_data
from sonnx.numerics.formats import NAMES, Array, TensorSpec
from sonnx.profile import catalogue

Watch = Callable[[int, int, Node], None]
"""Called before each step with the number of steps done, the number of all steps, and the next node."""

NUMPY_BUFFER_ELEMENTS = 1024
"""Elements that numpy converts at a time; a repeated operand is copied for shorter rows only, so few are faster."""

MAX_PLANS = 16
"""Plans that a runner keeps, for inputs of different shapes."""

RUNNABLE_VERDICTS = (Verdict.PASS, Verdict.ASSUMED)
"""Verdicts of models that are run.  What the check assumes about values is decided for the given values."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The values, the report on the model (None if unchecked), and how many elements took the exact path."""

    values: dict[str, Array]
    report: Report | None
    exact_path_counts: ExactPathCounts
    outside_profile: tuple[str, ...]
    """Operators of the model that the edition does not specify; they ran by their ONNX text."""


def element_type(values: Array) -> str:
    """The ONNX name of the element type of an array."""
    return NAMES[values.dtype]


RUN_ERRORS = (Stop, UsageError, MemoryError)
"""What a run of any model raises that gives no values, and an analysis of its ranges; another error is a defect of this
tool: errors inside the definition of a node become a `Stop` (see `NodeErrors`)."""


class ModelRunner:
    """A model that is run any number of times, one run after another.

    What does not depend on the inputs is done once: the check, the constants, and the plan for inputs of equal facts.
    Its arguments and errors are those of `sonnx.prepare`.
    """

    def __init__(
        self,
        model: Model,
        path: str | os.PathLike[str] | None = None,
        edition: str | None = None,
        *,
        unchecked: bool = False,
        all_values: bool = False,
        domain: RunDomain | None = None,
    ) -> None:
        """`domain` has what earlier runs have prepared of calls; its rules and limits are those of this run."""
        self.model, self.all_values = model, all_values
        self.folder = Path(path).parent if path else None
        active = active_rules(edition) if domain is None else domain.rules
        self.checked: StatedFacts | None = None
        self.report: Report | None = None
        if not unchecked:
            name = PurePath(path).name if path else "model"
            self.checked, self.report = check_conforming(model, active, name, self.folder)
        require_arrays(model)
        self.domain = domain or RunDomain(active, conforming=not unchecked, limits=model.limits)
        known = active.edition.operators
        self.outside = tuple(dict.fromkeys(node.operator for node in model.graph.nodes if node.operator not in known))
        self._constants: dict[str, Array] = {}
        self._plans: dict[object, Plan] = {}

    def run(self, inputs: Mapping[str, Array], watch: Watch | None = None) -> RunResult:
        """The values for these inputs; no array shares memory with an input or with another one."""
        arrays = fitting_inputs(self.model, inputs)
        values = execute(self._plan(arrays), watch, arrays)
        return RunResult(values, self.report, self.domain.taken_counts(), self.outside)

    def elements(self, inputs: Mapping[str, Array]) -> int:
        """The elements of the inputs, the constants, and the outputs of nodes whose shapes are known."""
        plan = self._plan(fitting_inputs(self.model, inputs))
        known = [values for values in [*plan.values, *inputs.values()] if values is not None]
        specs = [spec for step in plan.steps if step.prepared for spec in step.prepared.output_specs or ()]
        return sum(values.size for values in known) + sum(prod(shape) for shape, _ in specs)

    def shapes(self, inputs: Mapping[str, Array]) -> list[tuple[int, ...]] | None:
        """The shapes of the outputs of all nodes, None where one depends on values that a node computes."""
        plan = self._plan(fitting_inputs(self.model, inputs))
        specs = [None if step.prepared is None else step.prepared.output_specs for step in plan.steps]
        return None if None in specs else [shape for spec in specs for shape, _ in spec or ()]

    def _plan(self, inputs: Mapping[str, Array]) -> Plan:
        """The plan for inputs with these facts; stated numbers are compared with the sign of a zero."""
        facts = [(name, facts_of_array(values)) for name, values in inputs.items()]
        key = tuple(
            [(name, tensor_facts.type, tensor_facts.shape, repr(tensor_facts.values)) for name, tensor_facts in facts]
        )
        if key not in self._plans:
            for tensor in self.model.graph.initializers:
                if tensor.name not in inputs and tensor.name not in self._constants:
                    self._constants[tensor.name] = decode(tensor, self.folder)
            initial = {**inputs, **{name: constant for name, constant in self._constants.items() if name not in inputs}}
            plan = build_plan(
                self.model, self.domain, initial, varying=inputs, checked=self.checked, keep=self.all_values
            )
            require_memory(plan)
            if len(self._plans) == MAX_PLANS:
                self._plans.clear()
                self.domain.constants.clear()
            for values in plan.values:
                if values is not None:
                    self.domain.constants.add(values)
            self._plans[key] = plan
        return self._plans[key]


def active_rules(edition: str | None) -> ActiveRules:
    """The rules of an edition, of the default one if none is named.

    Raises:
        UsageError: an unknown edition.
    """
    return ActiveRules(catalogue.edition_named(edition))


def check_conforming(
    model: Model, active: ActiveRules, name: str, folder: Path | None = None
) -> tuple[StatedFacts, Report]:
    """The facts and the report of the check of a model that conforms.

    Where the check of the file leaves something undecided, the external data that a run reads anyway may decide it.

    Raises:
        NotConforming: the verdict is not one of RUNNABLE_VERDICTS.
        NotExecutable: the file of a constant cannot be read.
    """
    checked = stated_facts(model, active)
    report = check_facts(checked, active, Subject(name, active.conditions))
    if report.verdict is Verdict.UNDECIDED:
        checked = stated_facts(with_external_data(model, folder), active)
        report = check_facts(checked, active, Subject(name, active.conditions))
    if report.verdict in RUNNABLE_VERDICTS:
        return checked, report
    first, further = report.roots[0], len(report.roots) - 1
    more = f" and {further} more" if further else ""
    text = f"{report.verdict.value} {first.rule} at {first.where.place} ({first.actual}){more}"
    raise NotConforming(f"{quote(report.name)} does not conform to edition {report.edition}: {text}", report)


def execute(plan: Plan, watch: Watch | None = None, inputs: Mapping[str, Array] | None = None) -> dict[str, Array]:
    """The outputs of a plan, with the values of its varying inputs."""
    values, buffers = plan.values.copy(), [None] * plan.buffers
    for name, place in plan.varying.items():
        values[place] = (inputs or {})[name]
    foreign = {place for place, value in enumerate(values) if value is not None}
    with np.errstate(all="ignore"):
        np.setbufsize(NUMPY_BUFFER_ELEMENTS)  # restored with the rest of errstate
        for done, step in enumerate(plan.steps):
            if watch is not None:
                watch(done, len(plan.steps), step.node)
            if step.kernel is None:
                _run_definition(step, plan, values)
            else:
                _run_kernel(step, step.kernel, plan, values, buffers)
            for place in step.dead_values:
                values[place] = None
            for buffer in step.dead_buffers:
                buffers[buffer] = None
    return _outputs(plan, values, foreign)


def _run_kernel(
    step: Step, of_step: tuple[Kernel, TensorSpec], plan: Plan, values: list[Any], buffers: list[Any]
) -> None:
    """Run one kernel and write its output to its buffer."""
    kernel, (shape, kind) = of_step
    try:
        if step.buffer is None:
            out = np.empty(shape, kind)
        else:
            if step.buffer_size:
                buffers[step.buffer] = np.empty(step.buffer_size, np.uint8)
            out = buffers[step.buffer][: step.size].view(kind).reshape(shape)
        result = kernel([values[place] for place in step.inputs], out)
    except Exception:
        with NodeErrors(step.node, step.index, conforming=plan.domain.conforming):
            raise
    if result.shape != shape or result.dtype != kind:
        raise _wrong_output(plan, step, result, (shape, kind))
    values[step.outputs[0]] = result


def _run_definition(step: Step, plan: Plan, values: list[Any]) -> None:
    """Run a node by its definition: it has no kernel, or its preparation depends on values."""
    inputs = [values[place] for place in step.inputs]
    if step.call.calls_function or (step.node.attributes and next(subgraphs(step.node), None) is not None):
        _run_bodies(step, plan, values, inputs)
        return
    with NodeErrors(step.node, step.index, conforming=plan.domain.conforming):
        prepared = step.prepared or _prepared_for(step, plan.domain, inputs)
        results: tuple[Array, ...]
        if prepared.kernel is not None and prepared.output_specs is not None:
            results = (prepared.kernel(inputs, np.empty(*prepared.output_specs[0])),)
        else:
            results = tuple([_own(array, inputs) for array in prepared.definition(prepared.application, inputs)])
    if any(step.call.outputs[len(results) :]):
        raise NotExecutable(f"{place_of(step.node, step.index)}: its operator gives {len(results)} outputs")
    for place, result, spec in zip(step.outputs, results, prepared.output_specs or [None] * len(results), strict=False):
        if spec is not None and (result.shape, result.dtype) != spec:
            raise _wrong_output(plan, step, result, spec)
        values[place] = result


def _run_bodies(step: Step, plan: Plan, values: list[Any], inputs: Sequence[Array | None]) -> None:
    """Run a node whose graphs, or whose function, are run on the values around it."""
    count, function, domain = len(step.node.inputs), step.call.function, plan.domain
    model = plan.model if function is None else replace(plan.model, imports=function.imports)
    around = dict(zip(step.captured, inputs[count:], strict=True)) if function is None else {}

    bodies: dict[int, _Body] = {}

    def run(graph: Graph, inputs_of_graph: Mapping[str, Array]) -> list[Array]:
        domain.count_steps(len(graph.nodes))
        if id(graph) not in bodies:
            bodies[id(graph)] = _Body(replace(model, graph=graph), domain, around)
        values = bodies[id(graph)].run(inputs_of_graph)
        return [values[output.name] for output in graph.outputs]

    with NodeErrors(step.node, step.index, conforming=False), domain.nested():
        results = run_body(step.node, step.call, inputs[:count], run)
        if len(results) < len(step.outputs):
            raise NotExecutable(f"its graph gives {len(results)} outputs")
    for place, result in zip(step.outputs, results, strict=False):
        values[place] = result


class _Body:
    """A graph inside a node, which may run many times.

    Its first plan knows the values of its inputs, and so which branches are taken.  Later ones know types and shapes,
    and hold for all further values of these; where the executor cannot run one, each run has a plan of its own.
    """

    def __init__(self, model: Model, domain: RunDomain, around: Mapping[str, Array | None]) -> None:
        hidden = {name for node in model.graph.nodes for name in node.outputs}
        seen = {name: array for name, array in around.items() if array is not None and name not in hidden}
        self.model, self.domain = model, domain
        self.seen, self.constants = seen, {tensor.name: decode(tensor, None) for tensor in model.graph.initializers}
        self.runs = 0
        self._plans: dict[object, Plan | None] = {}

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The values of its outputs, by name."""
        self.runs += 1
        plan = self._plan(inputs) if self.runs > 1 else None
        if plan is not None:
            try:
                return execute(plan, None, inputs)
            except NotExecutable:
                self._plans = dict.fromkeys(self._plans)
        return execute(build_plan(self.model, self.domain, {**self.seen, **inputs, **self.constants}))

    def _plan(self, inputs: Mapping[str, Array]) -> Plan | None:
        """The plan for values of these types and shapes, None where there is none."""
        key = tuple([(name, values.dtype, values.shape) for name, values in inputs.items()])
        if key not in self._plans:
            if len(self._plans) == MAX_PLANS:
                self._plans.clear()
            try:
                initial = {**self.seen, **inputs, **self.constants}
                varying = inputs.keys() - self.constants.keys()
                self._plans[key] = build_plan(self.model, self.domain, initial, varying=varying, any_values=True)
            except NotExecutable:
                self._plans[key] = None
        return self._plans[key]


def _prepared_for(step: Step, domain: RunDomain, inputs: Sequence[Array | None]) -> PreparedNode:
    """A node whose preparation depends on values, ready for these; its rules hold for them."""
    facts = [None if operand is None else facts_of_array(operand, all_values=domain.conforming) for operand in inputs]
    preparation = domain.call(step.call, facts, step.declared or [NOTHING_STATED] * len(step.outputs)).result
    if isinstance(preparation, Exception):
        raise preparation
    if preparation is None:
        raise NotExecutable("its shape depends on values that are not a short list of whole numbers")
    return preparation


def _wrong_output(plan: Plan, step: Step, result: Array, spec: TensorSpec) -> Exception:
    """An output of another shape or type than its rules give: in a conforming model a defect of this tool."""
    shape, kind = spec
    text = f"{place_of(step.node, step.index)} made {result.dtype}{result.shape}, not {kind}{shape}"
    return AssertionError(text) if plan.domain.conforming else NotExecutable(text)


def _own(values: Array, inputs: Sequence[Array | None]) -> Array:
    """An array that is neither an input nor a view, because the memory of a dead input is used again."""
    fresh = values.base is None and values.flags.c_contiguous and not any(values is operand for operand in inputs)
    return values if fresh else np.array(values, order="C")


def _outputs(plan: Plan, values: list[Any], foreign: set[int]) -> dict[str, Array]:
    """The outputs by name; one that is an input, a constant or another output as well is copied."""
    taken, result = set(foreign), dict[str, Array]()
    for name, place in plan.outputs.items():
        array = values[place]
        result[name] = array.copy() if place in taken else array
        taken.add(place)
    return result
