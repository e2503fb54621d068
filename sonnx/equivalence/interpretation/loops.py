"""Loops whose number of iterations is known: the nodes of the body, once for each iteration.

ONNX Loop runs its body while the condition holds, at most as often as its first input says.  A loop is written out
where that input is a constant, the condition holds at the start, and the body never ends it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec.structs import replace

from sonnx.equivalence.interpretation.domain import TermDomain
from sonnx.equivalence.terms import movements
from sonnx.equivalence.terms.store import Term
from sonnx.graph.interpreter import Place, Visit
from sonnx.model.ir import Attribute, Graph, Node, Tensor
from sonnx.model.scopes import canonical_domain
from sonnx.model.value_names import TakenNames, renamed, unused
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import Array

MAX_NODES = 4_000
"""Nodes of all loops of a model that are written out."""

AXES_ARE_INPUT = 13
"""The operator set from which on Unsqueeze has its axes as an input."""


class Loops:
    """Puts the iterations of a loop in its place.

    Args:
        domain: the domain of the model.
        taken: the names of the model; names of new values are added.
    """

    def __init__(self, domain: TermDomain, taken: TakenNames) -> None:
        self.domain, self.store, self.taken, self.nodes = domain, domain.store, taken, 0

    def written_out(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """The nodes of all iterations; None where their number is not known, or they are too many."""
        node = visit.node
        body = next((attribute.value for attribute in node.attributes if attribute.name == "body"), None)
        if node.operator == "Scan" and not canonical_domain(node.domain) and isinstance(body, Graph):
            return self._scanned(body, visit, place)
        if node.operator != "Loop" or canonical_domain(node.domain) or not isinstance(body, Graph):
            return None
        times, carried = self._iterations(body, visit, place), node.inputs[2:]
        if times is None or not all(carried):
            return None
        nodes = times * (len(body.nodes) + len(body.outputs))
        if self.nodes + nodes > MAX_NODES:
            return None
        count = len(carried)
        if len(body.inputs) != count + 2 or len(body.outputs) <= count or len(node.outputs) > len(body.outputs) - 1:
            return None
        if body.sparse_initializers or {value.name for value in body.inputs} & {*_own(body)}:
            return None
        stacked: list[list[str]] = [[] for _ in body.outputs[count + 1 :]]
        if stacked and not times:
            return None
        self.nodes += nodes
        unrolled: list[Node] = []
        state = list(carried)
        for number in range(times):
            written, texts = self._iteration(body, number, state, place)
            unrolled += written
            state = texts[1 : count + 1]
            for every, name in zip(stacked, texts[count + 1 :], strict=True):
                every.append(name)
        results = dict(zip(node.outputs, [*state, *[""] * len(stacked)], strict=False))
        unrolled += [Node("", "Identity", "", "", (own,), (name,), ()) for name, own in results.items() if name and own]
        for name, every in zip(node.outputs[count:], stacked, strict=False):
            unrolled += self._stack(every, name, visit, place) if name else []
        return unrolled

    def _scanned(self, body: Graph, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """The nodes of a Scan over first axes, forwards; None for another one."""
        node, terms = visit.node, place.values(visit.inputs)
        values: dict[str, Any] = {attribute.name: attribute.value for attribute in node.attributes}
        scanned = values.get("num_scan_inputs")
        others = ("scan_input_axes", "scan_output_axes", "scan_input_directions", "scan_output_directions")
        if type(scanned) is not int or scanned < 1 or any(any(values.get(name) or ()) for name in others):
            return None
        count = len(node.inputs) - scanned
        if count < 0 or len(body.inputs) != len(node.inputs) or not all(node.inputs) or body.sparse_initializers:
            return None
        sources = [term for term in terms[count:] if term is not None and term.shape]
        if len(sources) < scanned or len({source.shape[0] for source in sources if source.shape}) != 1:
            return None
        times = (sources[0].shape or (0,))[0]
        if not times or self.nodes + times * len(body.nodes) > MAX_NODES:
            return None
        self.nodes += times * len(body.nodes)
        stacked: list[list[str]] = [[] for _ in body.outputs[count:]]
        unrolled, state = list[Node](), list(node.inputs[:count])
        for number in range(times):
            parts = []
            for source in sources:
                shape = (source.shape or ())[1:]
                places = np.arange(number * prod(shape), (number + 1) * prod(shape), dtype=np.int32)
                parts.append(unused(f"{node.outputs[0]}@part{number}", self.taken))
                place.define(parts[-1], movements.moved(self.store, [source], places, shape))
            given = dict(zip((operand.name for operand in body.inputs), [*state, *parts], strict=True))
            written, texts = self._nodes(body, number, given, place)
            unrolled += written
            state = texts[:count]
            for every, name in zip(stacked, texts[count:], strict=True):
                every.append(name)
        results = dict(zip(node.outputs, state, strict=False))
        unrolled += [Node("", "Identity", "", "", (own,), (name,), ()) for name, own in results.items() if name]
        for name, every in zip(node.outputs[count:], stacked, strict=False):
            unrolled += self._stack(every, name, visit, place) if name else []
        return unrolled

    def _nodes(
        self, body: Graph, number: int, given: Mapping[str, str], place: Place[Term, str]
    ) -> tuple[list[Node], list[str]]:
        """The nodes of one iteration for these inputs, and the names of the outputs of the body."""
        names = {name: unused(f"{name}@scan{number}", self.taken) for name in dict.fromkeys(_own(body))}
        for tensor in body.initializers:
            new = names[tensor.name]
            place.define(new, self.domain.constant(replace(tensor, name=new), False))
        names |= given
        nodes = [renamed(node, names, outputs=True) for node in body.nodes]
        return nodes, [names.get(value.name, value.name) for value in body.outputs]

    def _iterations(self, body: Graph, visit: Visit[Term, str], place: Place[Term, str]) -> int | None:
        most, holds = (*place.values(visit.inputs), None, None)[:2]
        if holds is not None and _truth(holds.array) is False:
            return 0
        if most is None or most.array is None or most.array.size != 1 or most.array.dtype != np.int64:
            return None
        if visit.inputs[1:2] not in ((), (0,)) and _truth(None if holds is None else holds.array) is not True:
            return None
        times = max(0, int(most.array.reshape(-1)[0]))
        return times if times == 0 or self._goes_on(body, place) else None

    def _goes_on(self, body: Graph, place: Place[Term, str]) -> bool:
        """Whether the condition that the body gives is the one it gets, or the constant True."""
        if len(body.inputs) < 2 or not body.outputs:
            return False
        makers = {name: node for node in body.nodes for name in node.outputs if name}
        constants = {initializer.name: initializer for initializer in body.initializers}
        inputs, name = {operand.name for operand in body.inputs}, body.outputs[0].name
        for _ in body.nodes:
            node = makers.get(name)
            if node is None or node.operator != "Identity" or canonical_domain(node.domain) or not node.inputs:
                break
            name = node.inputs[0]
        if name == body.inputs[1].name:
            return True
        node = makers.get(name)
        if node is not None:
            value = next((attribute.value for attribute in node.attributes if attribute.name == "value"), None)
            is_constant = node.operator == "Constant" and not canonical_domain(node.domain)
            return is_constant and isinstance(value, Tensor) and _truth(decode(value, self.domain.folder)) is True
        if name in constants:
            return _truth(decode(constants[name], self.domain.folder)) is True
        outside = None if name in inputs else place.value(name)
        return outside is not None and _truth(outside.array) is True

    def _iteration(
        self, body: Graph, number: int, state: Sequence[str], place: Place[Term, str]
    ) -> tuple[list[Node], list[str]]:
        """The nodes of one iteration, and the names of the outputs of the body."""
        names = {name: unused(f"{name}@loop{number}", self.taken) for name in dict.fromkeys(_own(body))}
        for tensor in body.initializers:
            new = names[tensor.name]
            place.define(new, self.domain.constant(replace(tensor, name=new), False))
        counter, condition, *carried = (operand.name for operand in body.inputs)
        constants: dict[str, Array] = {counter: np.array(number, np.int64), condition: np.array(True)}
        for name, value in constants.items():
            names[name] = unused(f"{name}@loop{number}", self.taken)
            place.define(names[name], movements.constant_of(self.store, value))
        names |= dict(zip(carried, state, strict=True))
        nodes = [renamed(node, names, outputs=True) for node in body.nodes]
        return nodes, [names.get(value.name, value.name) for value in body.outputs]

    def _stack(self, every: Sequence[str], name: str, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node]:
        """The values of all iterations along a new first axis."""
        axes: tuple[str, ...] = ()
        attributes: tuple[Attribute, ...] = (Attribute("axes", "ints", (0,), fields=("ints",)),)
        if (visit.call.operator_set or 0) >= AXES_ARE_INPUT:
            first = unused(f"{name}@axes", self.taken)
            place.define(first, movements.constant_of(self.store, np.array([0], np.int64)))
            axes, attributes = (first,), ()
        parts = [unused(f"{name}@loop{number}", self.taken) for number in range(len(every))]
        nodes = [
            Node("", "Unsqueeze", "", "", (own, *axes), (part,), attributes)
            for own, part in zip(every, parts, strict=True)
        ]
        along = Attribute("axis", "int", 0, fields=("i",))
        return [*nodes, Node("", "Concat", "", "", tuple(parts), (name,), (along,))]


def _own(body: Graph) -> list[str]:
    """The names that a graph defines beside its inputs."""
    return [initializer.name for initializer in body.initializers] + [
        name for node in body.nodes for name in node.outputs if name
    ]


def _truth(array: Array | None) -> bool | None:
    """The value of one element of type bool."""
    if array is None or array.size != 1 or array.dtype != np.bool_:
        return None
    return bool(array.reshape(-1)[0])
