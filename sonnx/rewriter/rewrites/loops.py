"""Loop and Scan with a number of iterations that is known: the nodes of the body, once for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from sonnx.model import value_names
from sonnx.model.ir import Attribute, Graph, Node, Tensor, subgraphs
from sonnx.model.scopes import canonical_domain
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.node_builders import NodeSequence, attribute, with_attributes
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Site

MAX_ITERATIONS, MAX_NODES = 256, 4_000
"""Iterations, and nodes of all of them, up to which a loop is written out."""
AXES_ARE_INPUT = 13
"""The operator set from which Unsqueeze has its axes as an input (ONNX Unsqueeze-13)."""
WITHOUT_LENGTHS = 9
"""The operator set from which Scan has no input of lengths (ONNX Scan-9)."""


@rewrite("unrolled-loop", Trigger.RULE_FAILS, makes_executable=True)
def unrolled_loop(site: Site) -> Replacement | None:
    """A Loop whose first input is constant, whose condition holds at the start, and whose body never ends it."""
    node, body = site.node, _body(site)
    most, holds = _number(site.constant(0)), _number(site.constant(1))
    starts = holds == 1 if len(node.inputs) > 1 and node.inputs[1] else True
    carried = node.inputs[2:]
    if body is None or most is None or not starts or not all(carried) or not 0 <= most <= MAX_ITERATIONS:
        return None
    count = len(carried)
    if len(body.inputs) != count + 2 or len(body.outputs) <= count or not _goes_on(body):
        return None
    unrolled, state = _Unrolled(site, body), list(carried)
    stacked: list[list[str]] = [[] for _ in body.outputs[count + 1 :]]
    if (stacked and not most) or most * len(body.nodes) > MAX_NODES:
        return None
    for number in range(most):
        given = {
            body.inputs[0].name: unrolled.constant(f"iteration{number}", "int64", number),
            body.inputs[1].name: unrolled.constant("holds", "bool", True),
            **dict(zip((each.name for each in body.inputs[2:]), state, strict=True)),
        }
        results = unrolled.iteration(number, given)
        state = results[1 : count + 1]
        for every, name in zip(stacked, results[count + 1 :], strict=True):
            every.append(name)
    return unrolled.replacement(state, stacked, [0] * len(stacked))


@rewrite("unrolled-scan", Trigger.RULE_FAILS, makes_executable=True)
def unrolled_scan(site: Site) -> Replacement | None:
    """A Scan over axes of known extent."""
    node, body = site.node, _body(site)
    values = {name: each.value for name, each in site.attributes.items() if not each.reference}
    scanned = values.get("num_scan_inputs")
    if body is None or type(scanned) is not int or site.operator_set < WITHOUT_LENGTHS or not all(node.inputs):
        return None
    count = len(node.inputs) - scanned
    if count < 0 or scanned < 1 or len(body.inputs) != len(node.inputs) or len(body.outputs) < count:
        return None
    results = len(body.outputs) - count
    axes, into = _list(values, "scan_input_axes", scanned), _list(values, "scan_output_axes", results)
    backwards, reversed_ = (
        _list(values, "scan_input_directions", scanned),
        _list(values, "scan_output_directions", results),
    )
    shapes = [site.shape(count + index) for index in range(scanned)]
    if axes is None or into is None or backwards is None or reversed_ is None or not all(shapes):
        return None
    known = [shape for shape in shapes if shape]
    inside = all(-len(shape) <= axis < len(shape) for shape, axis in zip(known, axes, strict=True))
    if not inside or min(into, default=0) < 0:
        return None
    places = [axis % len(shape) for shape, axis in zip(known, axes, strict=True)]
    lengths = {shape[place] for shape, place in zip(known, places, strict=True)}
    length = max(lengths)
    if len(lengths) != 1 or not 1 <= length <= MAX_ITERATIONS or length * len(body.nodes) > MAX_NODES:
        return None
    unrolled, state = _Unrolled(site, body), list(node.inputs[:count])
    stacked: list[list[str]] = [[] for _ in range(results)]
    for number in range(length):
        parts = [
            unrolled.part(name, shape, place, length - 1 - number if turned else number)
            for name, shape, place, turned in zip(node.inputs[count:], known, places, backwards, strict=True)
        ]
        given = dict(zip((each.name for each in body.inputs), [*state, *parts], strict=True))
        values_after = unrolled.iteration(number, given)
        state = values_after[:count]
        for every, name in zip(stacked, values_after[count:], strict=True):
            every.append(name)
    for every, turned in zip(stacked, reversed_, strict=True):
        if turned:
            every.reverse()
    return unrolled.replacement(state, stacked, into)


class _Unrolled:
    """The nodes of the iterations so far."""

    def __init__(self, site: Site, body: Graph) -> None:
        self.site, self.body = site, body
        self.sequence = NodeSequence(next(filter(None, site.node.outputs)), site.operator_set)
        self.known: dict[str, str] = {}

    def constant(self, role: str, element: str, number: object) -> str:
        """A scalar, once."""
        if role not in self.known:
            self.known[role] = self.sequence.constant(role, element, number)
        return self.known[role]

    def part(self, name: str, shape: Sequence[int], axis: int, index: int) -> str:
        """One index of an axis, without the axis."""
        cut = self.sequence.slice(name, shape, axis, (index, index + 1))
        return self.sequence.reshape(cut, [extent for place, extent in enumerate(shape) if place != axis])

    def iteration(self, number: int, given: Mapping[str, str]) -> list[str]:
        """The names of the outputs of the body, for the values of its inputs."""
        own = [tensor.name for tensor in self.body.initializers]
        own += [name for node in self.body.nodes for name in node.outputs if name]
        names = {name: f"{self.sequence.output}.{name}.{number}" for name in own} | dict(given)
        self.sequence.constants += [replace(tensor, name=names[tensor.name]) for tensor in self.body.initializers]
        self.sequence.nodes += [value_names.renamed(node, names, outputs=True) for node in self.body.nodes]
        return [names.get(value.name, value.name) for value in self.body.outputs]

    def replacement(self, state: Sequence[str], stacked: Sequence[Sequence[str]], axes: Sequence[int]) -> Replacement:
        """All iterations; the carried values after the last one, and the others along a new axis."""
        node, sequence = self.site.node, self.sequence
        for name, value in zip(node.outputs, state, strict=False):
            if name:
                sequence.add(OperatorName.IDENTITY, (value,), name)
        for name, every, axis in zip(node.outputs[len(state) :], stacked, axes, strict=False):
            if name:
                sequence.add(OperatorName.CONCAT, [self._with_axis(value, axis) for value in every], name, axis=axis)
        return sequence.replacement(descriptions.call(node), f"{len(sequence.nodes)} nodes of its iterations")

    def _with_axis(self, value: str, axis: int) -> str:
        output = self.sequence.name("stacked")
        if self.site.operator_set >= AXES_ARE_INPUT:
            role = f"axis{axis}"
            if role not in self.known:
                self.known[role] = self.sequence.constant(role, "int64", (axis,), (1,))
            return self.sequence.add(OperatorName.UNSQUEEZE, (value, self.known[role]), output)
        self.sequence.add(OperatorName.UNSQUEEZE, (value,), output)
        written = {"axes": attribute("axes", "ints", (axis,))}
        self.sequence.nodes[-1] = with_attributes(self.sequence.nodes[-1], written)
        return output


def _body(site: Site) -> Graph | None:
    """The graph of the node; None where it hides names, has sparse constants, or graphs inside."""
    written: Attribute | None = site.attributes.get("body")
    body = written.value if written is not None and not written.reference else None
    if not isinstance(body, Graph) or body.sparse_initializers or not any(site.node.outputs):
        return None
    if any(next(subgraphs(node), None) is not None for node in body.nodes):
        return None
    names = [value.name for value in body.inputs] + [tensor.name for tensor in body.initializers]
    names += [name for node in body.nodes for name in node.outputs if name]
    hides = not set(names).isdisjoint(site.visible)
    return body if len(set(names)) == len(names) and not hides and _in_order(body, site) else None


def _in_order(body: Graph, site: Site) -> bool:
    """Whether every node of the body reads what is defined before it, there or outside."""
    defined = {
        *site.visible,
        *(value.name for value in body.inputs),
        *(tensor.name for tensor in body.initializers),
        "",
    }
    for node in body.nodes:
        if not defined.issuperset(node.inputs):
            return False
        defined.update(node.outputs)
    return defined.issuperset(value.name for value in body.outputs)


def _goes_on(body: Graph) -> bool:
    """Whether the condition that the body gives is the one it gets, or the constant True."""
    makers = {name: node for node in body.nodes for name in node.outputs if name}
    constants = {tensor.name: tensor for tensor in body.initializers}
    name = body.outputs[0].name
    for _ in body.nodes:
        node = makers.get(name)
        if node is None or node.operator != OperatorName.IDENTITY or canonical_domain(node.domain) or not node.inputs:
            break
        name = node.inputs[0]
    if name == body.inputs[1].name:
        return True
    return any(_number(tensor) == 1 for tensor in _values(makers.get(name), constants.get(name)))


def _values(node: Node | None, tensor: Tensor | None) -> Iterator[Tensor]:
    """The constant of that name: an initializer, or that of a node Constant."""
    if tensor is not None:
        yield tensor
    if node is not None and node.operator == OperatorName.CONSTANT and not canonical_domain(node.domain):
        yield from (each.value for each in node.attributes if isinstance(each.value, Tensor))


def _number(tensor: Tensor | None) -> int | None:
    """The only element of a constant of whole numbers or truth values."""
    values = None if tensor is None else constant_tensors.decoded(tensor)
    if values is None or values.size != 1 or values.dtype.kind not in "ib":
        return None
    return int(np.asarray(values).reshape(-1)[0])


def _list(values: Mapping[str, Any], name: str, length: int) -> list[int] | None:
    """A list of numbers, zeros where it is left out; None where it has another length."""
    written = values.get(name) or (0,) * length
    return [*written] if isinstance(written, tuple) and len(written) == length else None
