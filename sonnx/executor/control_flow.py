"""Control flow and model-local functions, in models that are not checked.

A branch whose condition is known before the run, and the body of a function, take the place of their node.  The graphs
of other nodes run as programs of their own, once their values exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec.structs import replace

from sonnx.base.errors import NotExecutable
from sonnx.executor.node_errors import NodeErrors
from sonnx.executor.preparation import Preparation
from sonnx.graph.call import Call
from sonnx.graph.environment import constant_facts
from sonnx.graph.interpreter import Place, Visit
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import NOT_STATED, Attribute, Function, Graph, Model, Node, Tensor, ValueInfo
from sonnx.model.scopes import imports_of
from sonnx.model.value_names import renamed, taken_names, unused, with_subgraphs
from sonnx.numerics.formats import ELEMENTS, Array

MAX_INLINED_NODES = 20_000
"""Nodes that take the place of calls and branches; functions that call themselves have no end."""

RunGraph: TypeAlias = Callable[[Graph, Mapping[str, Array]], list[Array]]
"""Runs a graph inside a node: its outputs for the values of its inputs; it sees the values around the node."""

BRANCHES = {True: "then_branch", False: "else_branch"}


class Inlining:
    """Replaces nodes by the branch that is taken or the body of the function, while the nodes are visited.

    `constants` are the initializers of the branches, by new names.
    """

    def __init__(self, model: Model) -> None:
        self.imports, self.taken, self.nodes = imports_of(model.imports), taken_names(model.graph), 0
        self.constants: list[Tensor] = []

    def before(self, node: Node) -> Node:
        """The node itself."""
        return node

    def after(
        self, visit: Visit[TensorFacts, Preparation], place: Place[TensorFacts, Preparation]
    ) -> Sequence[Node] | None:
        """The nodes of the branch that is taken, or of the function that is called."""
        node, function = visit.node, visit.call.function
        if function is not None and imports_of(function.imports).items() <= self.imports.items():
            body, connected = body_of(function, node), dict(zip(function.inputs, node.inputs, strict=False))
            names = {**dict.fromkeys(function.inputs, ""), **connected}
        elif _is(visit.call, "If") and (condition := place.values(visit.inputs)[:1]) and condition[0] is not None:
            values = condition[0].values
            if not isinstance(values, tuple) or len(values) != 1:
                return None
            body, names = _graph(node.attributes, BRANCHES[bool(values[0])]), {}
        else:
            return None
        self.nodes += 1 + len(body.nodes)
        if self.nodes > MAX_INLINED_NODES:
            with NodeErrors(node, visit.position, conforming=False):
                raise NotExecutable(f"functions and branches have more than {MAX_INLINED_NODES} nodes, or no end")
        defined = [initializer.name for initializer in body.initializers] + [
            name for body_node in body.nodes for name in body_node.outputs if name
        ]
        names |= {name: unused(f"{name}@{self.nodes}", self.taken) for name in dict.fromkeys(defined)}
        for tensor in body.initializers:
            self.constants.append(replace(tensor, name=names[tensor.name]))
            place.define(names[tensor.name], constant_facts(tensor))
        results = zip(body.outputs, node.outputs, strict=False)
        return [
            *(renamed(body_node, names, outputs=True) for body_node in body.nodes),
            *(
                Node(node.name, "Identity", "", "", (names.get(value.name, value.name),), (name,), ())
                for value, name in results
                if name
            ),
        ]


def body_of(function: Function, node: Node) -> Graph:
    """The body of a function with the attributes of a call."""
    attributes = {default.name: default for default in (*function.defaults, *node.attributes)}
    inputs, outputs = (
        tuple(ValueInfo(name, NOT_STATED) for name in names) for names in (function.inputs, function.outputs)
    )
    nodes = tuple(_with_attributes(function_node, attributes) for function_node in function.nodes)
    return Graph(function.name, inputs, outputs, (), (), (), nodes)


def _with_attributes(node: Node, arguments: Mapping[str, Attribute]) -> Node:
    """A node of a function; an attribute that the caller leaves out is left out."""
    bound = []
    for attribute in node.attributes:
        if not attribute.reference:
            bound.append(attribute)
        elif attribute.reference in arguments:
            bound.append(replace(arguments[attribute.reference], name=attribute.name))
    inner_node = replace(node, attributes=tuple(bound)) if node.attributes else node
    return with_subgraphs(
        inner_node,
        lambda graph, _: replace(
            graph, nodes=tuple(_with_attributes(graph_node, arguments) for graph_node in graph.nodes)
        ),
    )


def run_body(node: Node, call: Call, inputs: Sequence[Array | None], run: RunGraph) -> list[Array]:
    """The outputs of a node whose graphs run when its values exist."""
    if call.function is not None:
        formals = zip(call.function.inputs, inputs, strict=False)
        return run(body_of(call.function, node), {name: array for name, array in formals if array is not None})
    if _is(call, "If"):
        return run(_graph(node.attributes, BRANCHES[_truth(inputs[0], "the condition")]), {})
    if _is(call, "Loop"):
        return _loop(_graph(node.attributes, "body"), inputs, run)
    raise NotExecutable("the executor does not run graphs inside nodes, but for If and Loop")


def _loop(body: Graph, inputs: Sequence[Array | None], run: RunGraph) -> list[Array]:
    """ONNX Loop: the body runs while its condition holds, at most as often as the first input says.

    The outputs are the carried values after the last iteration, and for each further output of the body the values of
    all iterations, stacked.
    """
    most, goes_on, *carried = inputs
    names, count = [value.name for value in body.inputs], len(inputs) - 2
    if len(names) != len(inputs) or len(body.outputs) <= count or any(part is None for part in carried):
        raise NotExecutable("the body does not have the inputs and outputs of the loop")
    limit = None if most is None else int(most.reshape(-1)[0])
    continues = True if goes_on is None else _truth(goes_on, "the condition")
    stacked: list[list[Array]] = [[] for _ in body.outputs[count + 1 :]]
    done = 0
    while continues and (limit is None or done < limit):
        state: list[Any] = [np.array(done, np.int64), np.array(continues), *carried]
        condition, *arrays = run(body, dict(zip(names, state, strict=True)))
        continues, carried, done = _truth(condition, "the condition"), [*arrays[:count]], done + 1
        for iterations, array in zip(stacked, arrays[count:], strict=True):
            if iterations and (array.shape, array.dtype) != (iterations[0].shape, iterations[0].dtype):
                raise NotExecutable("an output of the body has another shape in each iteration")
            iterations.append(array)
    results = [
        np.stack(iterations) if iterations else _none(v)
        for iterations, v in zip(stacked, body.outputs[count + 1 :], strict=True)
    ]
    return [*[np.array(part) for part in carried if part is not None], *results]


def _none(value: ValueInfo) -> Array:
    """The values where no iteration runs: the declared shape, 0 where an extent is not stated."""
    kind, shape = ELEMENTS.get(value.type.element or ""), value.type.shape
    if kind is None or shape is None:
        raise NotExecutable("the loop ends before its first iteration, and its body does not declare what it gives")
    return np.empty((0, *[extent if isinstance(extent, int) else 0 for extent in shape]), kind)


def _truth(values: Array | None, what: str) -> bool:
    if values is None or values.size != 1 or values.dtype != np.bool_:
        raise NotExecutable(f"{what} is not one element of type bool")
    return bool(values.reshape(-1)[0])


def _is(call: Call, operator: str) -> bool:
    return not call.domain and call.function is None and call.operator == operator


def _graph(attributes: Sequence[Attribute], name: str) -> Graph:
    graph: Any = next((attribute.value for attribute in attributes if attribute.name == name), None)
    if not isinstance(graph, Graph):
        raise NotExecutable(f"the graph {name} does not exist")
    return graph
