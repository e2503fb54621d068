"""The reference executor: the values a model has, by the definitions of its operators.

Nodes run in the order of the file.  The shape and type of every value are computed before the first node runs, from
the shape expressions of the operators, and compared after each node.  A value is dropped after its last use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from msgspec.structs import replace

from sonnx.base.errors import BadInput, NotExecutable
from sonnx.base.escaping import quote
from sonnx.checker.checker import StatedFacts, check_facts, stated_facts
from sonnx.checker.report import NotConforming, Report
from sonnx.checker.report_builder import Subject
from sonnx.checker.rules import ActiveRules
from sonnx.checker.verdicts import Verdict
from sonnx.executor.array_sizes import require_arrays
from sonnx.executor.control_flow import run_body
from sonnx.executor.memory_estimate import require_memory
from sonnx.executor.node_errors import NodeErrors, place_of
from sonnx.executor.plan import Plan, Step, build_plan
from sonnx.executor.preparation import RunDomain
from sonnx.executor.prepared_call import PreparedNode
from sonnx.graph.environment import NOTHING_STATED
from sonnx.model.ir import Graph, Model, Node, Type, ValueInfo, subgraphs
from sonnx.numerics.application import ExactPathCounts, Kernel
from sonnx.numerics.array_facts import facts_of
from sonnx.numerics.constant_data import decode, with_external_data
from sonnx.numerics.formats import ELEMENTS, NAMES, TEXT, Array, TensorSpec
from sonnx.operators import is_executable
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
        given = fitting_inputs(self.model, inputs)
        values = execute(self._plan(given), watch, given)
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

    def _plan(self, given: Mapping[str, Array]) -> Plan:
        """The plan for inputs with these facts; stated numbers are compared with the sign of a zero."""
        facts = [(name, facts_of(values)) for name, values in given.items()]
        key = tuple(
            [(name, tensor_facts.type, tensor_facts.shape, repr(tensor_facts.values)) for name, tensor_facts in facts]
        )
        if key not in self._plans:
            for tensor in self.model.graph.initializers:
                if tensor.name not in given and tensor.name not in self._constants:
                    self._constants[tensor.name] = decode(tensor, self.folder)
            initial = {**given, **{name: constant for name, constant in self._constants.items() if name not in given}}
            plan = build_plan(
                self.model, self.domain, initial, varying=given, checked=self.checked, keep=self.all_values
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


def run_model(
    model: Model,
    inputs: Mapping[str, Array],
    path: str | os.PathLike[str] | None = None,
    edition: str | None = None,
    *,
    unchecked: bool = False,
    all_values: bool = False,
    watch: Watch | None = None,
) -> RunResult:
    """One run of a model; see `ModelRunner`."""
    return ModelRunner(model, path, edition, unchecked=unchecked, all_values=all_values).run(inputs, watch)


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
    report = check_facts(checked, active, Subject(name))
    if report.verdict is Verdict.UNDECIDED:
        checked = stated_facts(with_external_data(model, folder), active)
        report = check_facts(checked, active, Subject(name))
    if report.verdict in RUNNABLE_VERDICTS:
        return checked, report
    first, others = report.roots[0], len(report.roots) - 1
    more = f" and {others} more" if others else ""
    text = f"{report.verdict.value} {first.rule} at {first.where.place} ({first.actual}){more}"
    raise NotConforming(f"{quote(report.name)} does not conform to edition {report.edition}: {text}", report)


def can_run(node: Node) -> bool:
    """Whether the executor knows the operator of a node that is not a call of a function."""
    return is_executable(node)


def required_inputs(model: Model) -> tuple[ValueInfo, ...]:
    """The graph inputs that a caller must give: those without an initializer."""
    constant = {tensor.name for tensor in model.graph.initializers}
    return tuple(value for value in model.graph.inputs if value.name not in constant)


def fitting_inputs(model: Model, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs, in the order of the model.

    From IR version 4 on an input may replace an initializer; before it an initializer is a constant.

    Raises:
        BadInput: the inputs are not those of the model.
        NotExecutable: the executor does not know a type.
    """
    if model.graph.sparse_initializers:
        raise NotExecutable("the executor does not know sparse tensors")
    wanted = {value.name: value.type for value in required_inputs(model)}
    replaceable = {value.name: value.type for value in model.graph.inputs} if (model.ir_version or 0) >= 4 else wanted
    missing, extra = wanted.keys() - inputs.keys(), inputs.keys() - replaceable.keys()
    if missing or extra:
        problems = [f"missing inputs: {_listed(missing)}"] if missing else []
        problems += [f"unknown inputs: {_listed(extra)}"] if extra else []
        takes = ", ".join(f"{quote(name)} {declared}" for name, declared in wanted.items())
        raise BadInput(f"{'; '.join(problems)}; the model takes {takes or 'no input'}")
    symbols: dict[str, tuple[int, str]] = {}
    return {name: _fitting(name, inputs[name], replaceable[name], symbols) for name in replaceable if name in inputs}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(quote, sorted(names)))


def _fitting(name: str, values: Array, declared: Type, symbols: dict[str, tuple[int, str]]) -> Array:
    """The input, if it has the declared type and shape; a symbol stands for one number in all inputs."""
    kind = ELEMENTS.get(declared.element or "")
    if declared.kind != "tensor" or kind is None:
        what = declared.element or declared.kind
        raise NotExecutable(f"the input {quote(name)} is declared as {what}, which the executor does not know")
    if isinstance(values, np.generic):
        values = np.asarray(values)
    if not isinstance(values, np.ndarray):
        raise BadInput(f"the input {quote(name)} is not a numpy array but of type {type(values).__name__}")
    if kind == TEXT:
        values = _strings(name, values)
    if values.dtype != kind:
        given_type = NAMES.get(values.dtype, str(values.dtype))
        raise BadInput(f"the input {quote(name)} is of type {given_type}; the model declares {declared.element}")
    if kind == np.bool_ and bool((values.view(np.uint8) > 1).any()):
        raise BadInput(f"the input {quote(name)} is of type bool and has a byte that is neither 0 nor 1")
    if not all(_agrees(name, *pair, symbols) for pair in _pairs(values.shape, declared)):
        shape = ", ".join("?" if d is None else str(d) for d in declared.shape or ())
        raise BadInput(f"the input {quote(name)} has the shape {list(values.shape)}; the model declares [{shape}]")
    return values


def _strings(name: str, values: Array) -> Array:
    """Strings of any numpy type as an array of `str`."""
    if values.dtype.kind in "UT":
        return values.astype(TEXT)
    others = (
        [element for element in values.reshape(-1).tolist() if not isinstance(element, str)]
        if values.dtype == TEXT
        else []
    )
    if others:
        what = type(others[0]).__name__
        raise BadInput(f"the input {quote(name)} is declared as strings and has an element of type {what}")
    return values


def _pairs(shape: tuple[int, ...], declared: Type) -> Iterator[tuple[int, Any]]:
    if declared.shape is None:
        return iter(())
    if len(shape) != len(declared.shape):
        return iter([(0, -1)])
    return iter(zip(shape, declared.shape, strict=True))


def _agrees(name: str, number: int, stated: int | str | None, symbols: dict[str, tuple[int, str]]) -> bool:
    if isinstance(stated, str):
        known, where = symbols.setdefault(stated, (number, name))
        if known != number:
            both = f"{known} in the input {quote(where)} and {number} in {quote(name)}"
            raise BadInput(f"the symbol {quote(stated)} is {both}")
        return True
    return stated is None or stated == number


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
    """One kernel into one buffer."""
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
    """A node without a kernel, or one whose preparation depends on values."""
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
    """A node whose graphs are programs of their own, run on the values around it."""
    count, function, domain = len(step.node.inputs), step.call.function, plan.domain
    model = plan.model if function is None else replace(plan.model, imports=function.imports)
    around = dict(zip(step.captured, inputs[count:], strict=True)) if function is None else {}

    bodies: dict[int, _Body] = {}

    def run(graph: Graph, given: Mapping[str, Array]) -> list[Array]:
        if id(graph) not in bodies:
            bodies[id(graph)] = _Body(replace(model, graph=graph), domain, around)
        found = bodies[id(graph)].run(given)
        return [found[value.name] for value in graph.outputs]

    with NodeErrors(step.node, step.index, conforming=False), domain.nested():
        results = run_body(step.node, step.call, inputs[:count], run)
        if len(results) < len(step.outputs):
            raise NotExecutable(f"its graph gives {len(results)} outputs")
    for place, result in zip(step.outputs, results, strict=False):
        values[place] = result


class _Body:
    """A graph inside a node, which may run many times.

    Its first plan knows the values that are given, and so which branches are taken.  Later ones know types and shapes,
    and hold for all further values of these; where the executor cannot run one, each run has a plan of its own.
    """

    def __init__(self, model: Model, domain: RunDomain, around: Mapping[str, Array | None]) -> None:
        hidden = {name for node in model.graph.nodes for name in node.outputs}
        seen = {name: array for name, array in around.items() if array is not None and name not in hidden}
        self.model, self.domain = model, domain
        self.seen, self.constants = seen, {tensor.name: decode(tensor, None) for tensor in model.graph.initializers}
        self.runs = 0
        self._plans: dict[object, Plan | None] = {}

    def run(self, given: Mapping[str, Array]) -> dict[str, Array]:
        """The values of its outputs, by name."""
        self.runs += 1
        plan = self._plan(given) if self.runs > 1 else None
        if plan is not None:
            try:
                return execute(plan, None, given)
            except NotExecutable:
                self._plans = dict.fromkeys(self._plans)
        return execute(build_plan(self.model, self.domain, {**self.seen, **given, **self.constants}))

    def _plan(self, given: Mapping[str, Array]) -> Plan | None:
        """The plan for values of these types and shapes, None where there is none."""
        key = tuple([(name, values.dtype, values.shape) for name, values in given.items()])
        if key not in self._plans:
            if len(self._plans) == MAX_PLANS:
                self._plans.clear()
            try:
                initial = {**self.seen, **given, **self.constants}
                varying = given.keys() - self.constants.keys()
                self._plans[key] = build_plan(self.model, self.domain, initial, varying=varying, any_values=True)
            except NotExecutable:
                self._plans[key] = None
        return self._plans[key]


def _prepared_for(step: Step, domain: RunDomain, inputs: Sequence[Array | None]) -> PreparedNode:
    """A node whose preparation depends on values, ready for these; its rules hold for them."""
    facts = [None if operand is None else facts_of(operand, all_values=domain.conforming) for operand in inputs]
    exception = domain.call(step.call, facts, step.declared or [NOTHING_STATED] * len(step.outputs)).result
    if isinstance(exception, Exception):
        raise exception
    if exception is None:
        raise NotExecutable("its shape depends on values that are not a short list of whole numbers")
    return exception


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
        found = values[place]
        result[name] = found.copy() if place in taken else found
        taken.add(place)
    return result
