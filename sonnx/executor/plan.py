"""The plan of a run: the nodes as steps, values in numbered places, buffers that several values use one after another.

The steps stand in the order of the file.  Everything that does not depend on data is decided here, before the first
step runs: what computes a node, the shape and type of its outputs, when a value is used for the last time, and which
buffer holds it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from sonnx.base.errors import NotExecutable
from sonnx.base.escaping import quote
from sonnx.checker.checker import StatedFacts
from sonnx.checker.facts_domain import Facts
from sonnx.executor.control_flow import Inlining
from sonnx.executor.node_errors import NodeErrors
from sonnx.executor.preparation import Preparation, RunDomain
from sonnx.executor.prepared_call import PreparedNode
from sonnx.graph.call import Call, Calls
from sonnx.graph.interpreter import Visit, interpret
from sonnx.language.evaluator import RUN_TIME, TensorFacts
from sonnx.model.ir import Model, Node, Tensor, subgraphs
from sonnx.model.scopes import captured
from sonnx.numerics.application import Kernel
from sonnx.numerics.array_facts import facts_of_array
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import TEXT, Array, TensorSpec

OMITTED = -1
"""The place of an omitted optional input: the last one, which holds None."""

MIN_BUFFER_BYTES = 1 << 12
"""Bytes of a value below which memory of its own costs less than a buffer."""


@dataclass(slots=True)
class Step:
    """One node, its call, and the facts its outputs are declared to have.

    `prepared` is None where the preparation depends on values; `kernel` has the shape and type of its output with it;
    `buffer` is None where the node allocates its own array.
    """

    index: int
    node: Node
    call: Call
    declared: Facts
    captured: tuple[str, ...]
    """The values that graphs inside the node use; their places stand behind those of its inputs."""
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    prepared: PreparedNode | None
    kernel: tuple[Kernel, TensorSpec] | None = None
    size: int = 0
    """Bytes of the output of the kernel; 0 for strings, which have no buffer."""
    buffer: int | None = None
    dead_values: tuple[int, ...] = ()
    dead_buffers: tuple[int, ...] = ()
    buffer_size: int = 0
    """Bytes of the buffer where this step is the first to use it, else 0."""


@dataclass(slots=True)
class Plan:
    """A model with its constants, ready to run."""

    model: Model
    domain: RunDomain
    values: list[Array | None]
    steps: list[Step]
    outputs: dict[str, int]
    varying: dict[str, int]
    """The places of the inputs that each execution gives."""
    buffers: int = 0


def build_plan(
    model: Model,
    domain: RunDomain,
    initial: Mapping[str, Array],
    *,
    varying: Collection[str] = (),
    any_values: bool = False,
    checked: StatedFacts | None = None,
    keep: bool = False,
) -> Plan:
    """The plan of a model for arrays of its inputs and constants.

    Args:
        model: the model; its main graph is run.
        domain: the domain of the run.
        initial: the values of all graph inputs and initializers.
        varying: the inputs of which the plan takes the facts only; each execution gives their values.
        any_values: whether of the facts of these only type and shape are taken; for a model that is not checked.
        checked: what the check found of a conforming model, None of another one.
        keep: keep every value to the end, and give all of them as outputs.

    Raises:
        Stop: the executor cannot run a node, or a rule its values rest on does not hold.
    """
    plan_builder = _PlanBuilder(domain)
    for name, values in initial.items():
        plan_builder.define(name, None if name in varying else values)
    if checked is not None:
        visits, constants = [*prepared(checked, domain)], list[Tensor]()
    else:
        visits, constants = interpreted(model, domain, initial, varying if any_values else ())
    for tensor in constants:
        plan_builder.define(tensor.name, decode(tensor, None))
    for visit in visits:
        with NodeErrors(visit.node, visit.position, conforming=domain.conforming):
            plan_builder.add(visit, [] if checked is None else checked.values.all(visit.outputs))
    names = [value.name for value in model.graph.outputs]
    if keep:
        names = list(dict.fromkeys([*names, *(name for node in model.graph.nodes for name in node.outputs if name)]))
    outputs = {name: plan_builder.place(name, "a graph output") for name in names}
    _lifetimes(plan_builder.steps, set(outputs.values()))
    buffers = 0 if keep else _assign(plan_builder.steps)
    places = {name: plan_builder.places[name] for name in varying if name}
    return Plan(model, domain, [*plan_builder.values, None], plan_builder.steps, outputs, places, buffers)


PreparedVisit: TypeAlias = Visit[TensorFacts, Preparation]


def interpreted(
    model: Model, domain: RunDomain, initial: Mapping[str, Array], any_values: Collection[str] = ()
) -> tuple[list[PreparedVisit], list[Tensor]]:
    """The nodes of a model that is not checked, prepared for its inputs; and the constants of inlined graphs.

    `any_values` are inputs that may have other values of the same type and shape.
    """
    graph = model.graph
    constants = {tensor.name for tensor in graph.initializers if tensor.external is None}
    constants.difference_update(value.name for value in graph.inputs)
    facts = {name: facts_of_array(values) for name, values in initial.items() if name and name not in constants}
    facts.update({name: facts[name]._replace(values=RUN_TIME) for name in any_values if name in facts})
    calls = Calls(model, domain.rules.edition, beyond_edition=True)
    if not model.functions and all(next(subgraphs(node), None) is None for node in graph.nodes if node.attributes):
        return interpret(model, domain, calls, given=facts, main_only=True).scopes[0].visits, []
    inlining = Inlining(model)
    interpretation = interpret(model, domain, calls, given=facts, transformer=inlining, main_only=True)
    return interpretation.scopes[0].visits, inlining.constants


def prepared(checked: StatedFacts, domain: RunDomain) -> Iterator[PreparedVisit]:
    """The nodes of a conforming model, prepared by the results and the facts of the check."""
    known: dict[object, PreparedNode | None] = {}
    for visit in checked.scopes[0].visits:
        key = visit.call, visit.inputs, visit.outputs
        if key not in known:
            inputs, after = checked.values.all(visit.inputs), checked.values.all(visit.outputs)
            with NodeErrors(visit.node, visit.position, conforming=True):
                known[key] = domain.checked(visit.call, inputs, after, visit.result.reported)
        yield Visit(visit.position, visit.node, visit.call, visit.inputs, visit.outputs, known[key])


@dataclass(slots=True)
class _PlanBuilder:
    domain: RunDomain
    places: dict[str, int] = field(default_factory=dict)
    values: list[Array | None] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def define(self, name: str, values: Array | None = None) -> int:
        """A new place for a value."""
        if name in self.places:
            raise NotExecutable(f"the name {quote(name)} is defined twice")
        self.values.append(values)
        if name:
            self.places[name] = len(self.values) - 1
        return len(self.values) - 1

    def place(self, name: str, role: str) -> int:
        """Where a value stands."""
        number = self.places.get(name)
        if number is None:
            raise NotExecutable(f"{role} is {quote(name)}, which nothing before it defines")
        return number

    def add(self, visit: PreparedVisit, declared: Facts) -> None:
        """The step of a node; an identity node and a node without inputs need no step."""
        node, preparation = visit.node, visit.result
        inputs = tuple([self.place(name, "an input") if name else OMITTED for name in node.inputs])
        around = tuple(sorted(name for name in captured(node) if name in self.places)) if node.attributes else ()
        if isinstance(preparation, Exception):
            raise preparation
        if preparation is not None and preparation.passes_input_on and len(inputs) == len(node.outputs) == 1:
            if node.outputs[0] in self.places:
                raise NotExecutable(f"the name {quote(node.outputs[0])} is defined twice")
            self.places[node.outputs[0]] = inputs[0]
        elif preparation is not None and (not node.inputs or (preparation.precomputed and self._all_known(inputs))):
            known = [self.values[place] for place in inputs]
            for name, values in zip(node.outputs, preparation.definition(preparation.application, known), strict=True):
                self.define(name, values)
        else:
            outputs = tuple([self.define(name) for name in node.outputs])
            inputs += tuple([self.places[name] for name in around])
            step = Step(visit.position, node, visit.call, declared, around, inputs, outputs, preparation)
            if preparation is not None and preparation.kernel is not None and preparation.output_specs is not None:
                shape, kind = preparation.output_specs[0]
                step.kernel = (preparation.kernel, (shape, kind))
                step.size = prod(shape) * kind.itemsize if kind != TEXT else 0
            self.steps.append(step)

    def _all_known(self, places: Sequence[int]) -> bool:
        return all(place != OMITTED and self.values[place] is not None for place in places)


def _lifetimes(steps: Sequence[Step], outputs: set[int]) -> None:
    """Each value but the outputs dies after the last step that uses it; an unused value dies in its own step."""
    seen = set(outputs)
    for step in reversed(steps):
        here = dict.fromkeys(place for place in (*step.inputs, *step.outputs) if place != OMITTED)
        step.dead_values = tuple([place for place in here if place not in seen])
        seen.update(here)


def _assign(steps: Sequence[Step]) -> int:
    """A buffer for each step with a kernel: the smallest free one that is large enough, and not twice too large."""
    held: dict[int, int] = {}
    sizes: list[int] = []
    free: list[int] = []
    last: dict[int, Step] = {}
    for step in steps:
        if step.kernel is not None and step.size >= MIN_BUFFER_BYTES:
            fitting = [(sizes[b], b) for b in free if step.size <= sizes[b] <= 2 * step.size]
            if fitting:
                step.buffer = min(fitting)[1]
                free.remove(step.buffer)
            else:
                step.buffer, step.buffer_size = len(sizes), step.size
                sizes.append(step.size)
            held[step.outputs[0]] = step.buffer
            last[step.buffer] = step
        for place in step.dead_values:
            if place in held:
                buffer = held.pop(place)
                last[buffer] = step
                free.append(buffer)
    for buffer in set(last) - set(held.values()):
        last[buffer].dead_buffers += (buffer,)
    return len(sizes)
