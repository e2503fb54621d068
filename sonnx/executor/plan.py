"""A model as a list of steps: values in numbered places, buffers that several values use one after another.

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
from sonnx.executor.preparation import Applier, Expected, Prepared, facts_of
from sonnx.graph.environment import RUN_TIME
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Attribute, Model, Node, Tensor, subgraphs
from sonnx.model.scopes import function_key, standard
from sonnx.numerics.application import NoValue
from sonnx.numerics.formats import NAMES, Array
from sonnx.operators.registry import Kernel

NONE = -1
"""The place of an omitted optional input; the last one, so that it needs no test."""

LATER = TensorFacts(RUN_TIME, RUN_TIME, RUN_TIME)

SHORT = 64
"""Bytes of a tensor in an attribute up to which nodes that hold equal ones are made ready once."""


@dataclass(slots=True)
class Step:
    """One node.

    `prepared` is None where the values decide it; `fast` is the kernel with what it makes, None where there is none;
    `buffer` is None where the node makes its own array.
    """

    index: int
    node: Node
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    prepared: Prepared | None
    fast: tuple[Kernel, Expected] | None = None
    size: int = 0
    buffer: int | None = None
    dead_values: tuple[int, ...] = ()
    dead_buffers: tuple[int, ...] = ()
    buffer_size: int = 0
    """Bytes of the buffer where this step is the first to use it, else 0."""


@dataclass(slots=True)
class Program:
    """A model with its inputs, ready to run."""

    applier: Applier
    values: list[Array | None]
    steps: list[Step]
    outputs: dict[str, int]
    buffers: int = 0


def place_of(node: Node, index: int) -> str:
    """A node as messages name it."""
    return f"node {quote(node.name)} ({quote(node.operator)[1:-1]}, graph/node[{index}])"


MEANINGLESS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError)
"""What a definition may raise where it is given what no text speaks of."""


class at:  # noqa: N801  read as "with at(node, index, conforming):"
    """Puts the node in front of the sentence of whatever stops inside.

    Outside the profile a definition may be given what it has no meaning for, and the run stops with a sentence; inside
    it that is a defect of ours, and not caught.  What does not fit into memory stops in both.
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
        if isinstance(error, MEANINGLESS) and not self.conforming:
            raise NotExecutable(f"{place}: its operator has no meaning for inputs of these types and shapes") from error


def program(model: Model, applier: Applier, given: Mapping[str, Array], *, keep: bool = False) -> Program:
    """The steps of a model for arrays of its inputs and constants.

    Args:
        model: the model; its main graph is run.
        applier: the rules and what they stand for.
        given: the values of all graph inputs and initializers.
        keep: keep every value to the end, and give all of them as outputs.

    Raises:
        Stop: a node has no meaning for the executor, or a rule its values rest on does not hold.
    """
    made = _Builder(model, applier)
    for name, values in given.items():
        made.define(name, facts_of(values), values)
    for index, node in enumerate(model.graph.nodes):
        with at(node, index, conforming=applier.conforming):
            made.add(index, node)
    names = [value.name for value in model.graph.outputs]
    if keep:
        names = list(dict.fromkeys([*names, *(name for node in model.graph.nodes for name in node.outputs if name)]))
    outputs = {name: made.place(name, "a graph output") for name in names}
    _lifetimes(made.steps, set(outputs.values()))
    buffers = 0 if keep else _assign(made.steps)
    return Program(applier, [*made.values, None], made.steps, outputs, buffers)


@dataclass(slots=True)
class _Builder:
    model: Model
    applier: Applier
    places: dict[str, int] = field(default_factory=dict)
    facts: list[TensorFacts] = field(default_factory=list)
    values: list[Array | None] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    known: dict[object, Prepared | None] = field(default_factory=dict)

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
        """The step of a node; a node that gives its input further, and one without inputs, need none."""
        self._refuse(node)
        inputs = tuple([self.place(name, "an input") if name else NONE for name in node.inputs])
        facts = tuple([self.facts[i] if i != NONE else None for i in inputs])
        prepared = self._prepared(node, facts)
        if prepared is not None and prepared.same_value and len(inputs) == len(node.outputs) == 1:
            if node.outputs[0] in self.places:
                raise NotExecutable(f"the name {quote(node.outputs[0])} is defined twice")
            self.places[node.outputs[0]] = inputs[0]
        elif prepared is not None and (not inputs or (prepared.early and self._all_known(inputs))):
            known = [self.values[place] for place in inputs]
            for name, values in zip(node.outputs, prepared.definition(prepared.application, known), strict=True):
                self.define(name, facts_of(values), values)
        else:
            self.steps.append(self._step(index, node, inputs, prepared))

    def _all_known(self, places: Sequence[int]) -> bool:
        return all(place != NONE and self.values[place] is not None for place in places)

    def _refuse(self, node: Node) -> None:
        key = (standard(node.domain), node.operator, node.overload)
        if any(function_key(function) == key for function in self.model.functions):
            raise NotExecutable("the executor does not run model-local functions")
        if node.attributes and next(subgraphs(node), None) is not None:
            raise NotExecutable("the executor does not run graphs inside nodes")

    def _prepared(self, node: Node, facts: tuple[TensorFacts | None, ...]) -> Prepared | None:
        key = (node.operator, node.domain, tuple(map(_likeness, node.attributes)), facts, len(node.outputs))
        if key not in self.known:
            self.known[key] = self.applier.prepare(node, facts)
        return self.known[key]

    def _step(self, index: int, node: Node, inputs: tuple[int, ...], prepared: Prepared | None) -> Step:
        expected = prepared.expected if prepared else None
        known = [_expected_facts(each) for each in expected] if expected else [LATER] * len(node.outputs)
        outputs = tuple([self.define(name, each) for name, each in zip(node.outputs, known, strict=True)])
        step = Step(index, node, inputs, outputs, prepared)
        if prepared is not None and prepared.kernel is not None and expected is not None:
            shape, kind = expected[0]
            step.fast, step.size = (prepared.kernel, (shape, kind)), prod(shape) * kind.itemsize
        return step


def _likeness(attribute: Attribute) -> object:
    """Equal for attributes that say the same; a float is told apart by its text, for the sign of a zero.

    Longer tensors are each their own: their bytes are not looked at.
    """
    if attribute.kind in ("int", "ints", "string"):
        return attribute
    if attribute.kind == "float":
        return replace(attribute, value=repr(attribute.value))
    value = attribute.value
    if isinstance(value, Tensor) and value.data is not None and len(value.data) <= SHORT:
        return attribute, bytes(value.data)
    return id(attribute)


def _expected_facts(expected: Expected) -> TensorFacts:
    shape, kind = expected
    return TensorFacts(NAMES[kind], shape, RUN_TIME)


# ------------------------------------------------------------------ lifetimes


def _lifetimes(steps: Sequence[Step], outputs: set[int]) -> None:
    """Each value but the outputs dies after the last step that uses it; one that nothing uses, where it is made."""
    seen = set(outputs)
    for step in reversed(steps):
        here = dict.fromkeys(place for place in (*step.inputs, *step.outputs) if place != NONE)
        step.dead_values = tuple([place for place in here if place not in seen])
        seen.update(here)


def _assign(steps: Sequence[Step]) -> int:
    """A buffer for each step with a kernel: the smallest free one that is large enough, and not twice too large."""
    held: dict[int, int] = {}
    sizes: list[int] = []
    free: list[int] = []
    last: dict[int, Step] = {}
    for step in steps:
        if step.fast is not None and step.size:
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
