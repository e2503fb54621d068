"""The plan of a run: the nodes as steps, values in numbered places, buffers that several values use one after another.

The steps stand in the order of the file.  Everything that does not depend on data is decided here, before the first
step runs: what computes a node, the shape and type of its outputs, when a value is used for the last time, and which
buffer holds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from sonnx.base.errors import ErrorCondition, NotExecutable
from sonnx.base.escaping import quote
from sonnx.executor.preparation import NodePreparer, PreparedNode, facts_of
from sonnx.graph.environment import RUN_TIME
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Attribute, Model, Node, Tensor, subgraphs
from sonnx.model.scopes import function_key, standard
from sonnx.numerics.application import Kernel, NoValue
from sonnx.numerics.formats import NAMES, Array, TensorSpec

OMITTED = -1
"""The place of an omitted optional input: the last one, which holds None."""

UNKNOWN_UNTIL_RUN = TensorFacts(RUN_TIME, RUN_TIME, RUN_TIME)

MAX_COMPARED_BYTES = 64
"""Bytes of a tensor in an attribute up to which nodes with equal tensors are prepared once."""


@dataclass(slots=True)
class Step:
    """One node.

    `prepared` is None where the preparation depends on values; `kernel` has the shape and type of its output with it;
    `buffer` is None where the node allocates its own array.
    """

    index: int
    node: Node
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    prepared: PreparedNode | None
    kernel: tuple[Kernel, TensorSpec] | None = None
    size: int = 0
    """Bytes of the output of the kernel."""
    buffer: int | None = None
    dead_values: tuple[int, ...] = ()
    dead_buffers: tuple[int, ...] = ()
    buffer_size: int = 0
    """Bytes of the buffer where this step is the first to use it, else 0."""


@dataclass(slots=True)
class Plan:
    """A model with its inputs, ready to run."""

    preparer: NodePreparer
    values: list[Array | None]
    steps: list[Step]
    outputs: dict[str, int]
    buffers: int = 0


def place_of(node: Node, index: int) -> str:
    """A node as messages name it."""
    return f"node {quote(node.name)} ({quote(node.operator)[1:-1]}, graph/node[{index}])"


UNDEFINED_INPUT_ERRORS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError)
"""What a definition may raise for inputs that no text defines."""


class NodeErrors:
    """A context that puts the node in front of the message of what stops a run inside it.

    In a model outside the profile a definition may get inputs that no text defines: the run stops with a message.  In a
    conforming model that is a defect of this tool, and not caught.  Values that do not fit into memory stop both.
    """

    def __init__(self, node: Node, index: int, *, conforming: bool) -> None:
        self.node, self.index, self.conforming = node, index, conforming

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        place = place_of(self.node, self.index)
        if isinstance(error, NoValue):
            raise ErrorCondition(error.rule, f"{place}: {error} ({error.rule})") from None
        if isinstance(error, ErrorCondition):
            raise ErrorCondition(error.rule, f"{place}: {error}") from None
        if isinstance(error, NotExecutable):
            raise NotExecutable(f"{place}: {error}") from None
        if isinstance(error, MemoryError):
            raise NotExecutable(f"{place}: its values do not fit into memory") from None
        if isinstance(error, UNDEFINED_INPUT_ERRORS) and not self.conforming:
            raise NotExecutable(f"{place}: its operator has no meaning for inputs of these types and shapes") from error


def build_plan(model: Model, preparer: NodePreparer, initial: Mapping[str, Array], *, keep: bool = False) -> Plan:
    """The plan of a model for arrays of its inputs and constants.

    Args:
        model: the model; its main graph is run.
        preparer: prepares the nodes.
        initial: the values of all graph inputs and initializers.
        keep: keep every value to the end, and give all of them as outputs.

    Raises:
        Stop: the executor cannot run a node, or a rule its values rest on does not hold.
    """
    made = _PlanBuilder(model, preparer)
    for name, values in initial.items():
        made.define(name, facts_of(values), values)
    for index, node in enumerate(model.graph.nodes):
        with NodeErrors(node, index, conforming=preparer.conforming):
            made.add(index, node)
    names = [value.name for value in model.graph.outputs]
    if keep:
        names = list(dict.fromkeys([*names, *(name for node in model.graph.nodes for name in node.outputs if name)]))
    outputs = {name: made.place(name, "a graph output") for name in names}
    _lifetimes(made.steps, set(outputs.values()))
    buffers = 0 if keep else _assign(made.steps)
    return Plan(preparer, [*made.values, None], made.steps, outputs, buffers)


@dataclass(slots=True)
class _PlanBuilder:
    model: Model
    preparer: NodePreparer
    places: dict[str, int] = field(default_factory=dict)
    facts: list[TensorFacts] = field(default_factory=list)
    values: list[Array | None] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    known: dict[object, PreparedNode | None] = field(default_factory=dict)

    def define(self, name: str, facts: TensorFacts, values: Array | None = None) -> int:
        """A new place for a value."""
        if name in self.places:
            raise NotExecutable(f"the name {quote(name)} is defined twice")
        self.facts.append(facts)
        self.values.append(values)
        if name:
            self.places[name] = len(self.values) - 1
        return len(self.values) - 1

    def place(self, name: str, role: str) -> int:
        """Where a value stands."""
        found = self.places.get(name)
        if found is None:
            raise NotExecutable(f"{role} is {quote(name)}, which nothing before it defines")
        return found

    def add(self, index: int, node: Node) -> None:
        """The step of a node; an identity node and a node without inputs need no step."""
        self._refuse(node)
        inputs = tuple([self.place(name, "an input") if name else OMITTED for name in node.inputs])
        facts = tuple([self.facts[i] if i != OMITTED else None for i in inputs])
        prepared = self._prepared(node, facts)
        if prepared is not None and prepared.passes_input_on and len(inputs) == len(node.outputs) == 1:
            if node.outputs[0] in self.places:
                raise NotExecutable(f"the name {quote(node.outputs[0])} is defined twice")
            self.places[node.outputs[0]] = inputs[0]
        elif prepared is not None and (not inputs or (prepared.precomputed and self._all_known(inputs))):
            known = [self.values[place] for place in inputs]
            for name, values in zip(node.outputs, prepared.definition(prepared.application, known), strict=True):
                self.define(name, facts_of(values), values)
        else:
            self.steps.append(self._step(index, node, inputs, prepared))

    def _all_known(self, places: Sequence[int]) -> bool:
        return all(place != OMITTED and self.values[place] is not None for place in places)

    def _refuse(self, node: Node) -> None:
        key = (standard(node.domain), node.operator, node.overload)
        if any(function_key(function) == key for function in self.model.functions):
            raise NotExecutable("the executor does not run model-local functions")
        if node.attributes and next(subgraphs(node), None) is not None:
            raise NotExecutable("the executor does not run graphs inside nodes")

    def _prepared(self, node: Node, facts: tuple[TensorFacts | None, ...]) -> PreparedNode | None:
        key = (node.operator, node.domain, tuple(map(_comparable, node.attributes)), facts, len(node.outputs))
        if key not in self.known:
            self.known[key] = self.preparer.prepare(node, facts)
        return self.known[key]

    def _step(self, index: int, node: Node, inputs: tuple[int, ...], prepared: PreparedNode | None) -> Step:
        specs = prepared.output_specs if prepared else None
        known = [_facts_of_spec(each) for each in specs] if specs else [UNKNOWN_UNTIL_RUN] * len(node.outputs)
        outputs = tuple([self.define(name, each) for name, each in zip(node.outputs, known, strict=True)])
        step = Step(index, node, inputs, outputs, prepared)
        if prepared is not None and prepared.kernel is not None and specs is not None:
            shape, kind = specs[0]
            step.kernel, step.size = (prepared.kernel, (shape, kind)), prod(shape) * kind.itemsize
        return step


def _comparable(attribute: Attribute) -> object:
    """An object that is equal for equal attributes; floats are compared by their text, for the sign of a zero.

    The bytes of longer tensors are not compared: each of these is equal to itself only.
    """
    if attribute.kind in ("int", "ints", "string"):
        return attribute
    if attribute.kind == "float":
        return replace(attribute, value=repr(attribute.value))
    value = attribute.value
    if isinstance(value, Tensor) and value.data is not None and len(value.data) <= MAX_COMPARED_BYTES:
        return attribute, bytes(value.data)
    return id(attribute)


def _facts_of_spec(spec: TensorSpec) -> TensorFacts:
    shape, kind = spec
    return TensorFacts(NAMES[kind], shape, RUN_TIME)


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
        if step.kernel is not None and step.size:
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
