"""The nodes that stand for a node of a fused operator, by the steps that `fused.toml` states for it.

What the operator means is assumed, and said, unless an axiom states it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sonnx.equivalence import movements
from sonnx.equivalence.fused import STEP, Fused
from sonnx.equivalence.terms import Store, Term
from sonnx.graph.interpreter import Place, Visit
from sonnx.model.ir import Attribute, Node
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.operators import operator_facts

ACTIVATIONS = frozenset({"Relu", "Sigmoid", "Tanh"})
"""Operators without parameters that fused operators may name."""

AXES_ARE_INPUT = 18
"""The operator set from which on ReduceMean has its axes as an input."""

MEANING = "{} means what sonnx states for it (fused.toml)"


class _FusedCall(NamedTuple):
    """A node of a fused operator while its steps are written out.

    Attributes:
        output: the name of its output.
        names: the names of values by those of inputs and steps; "" for an input that is left out.
        attributes: by name.
        first: the first input.
        place: where the node stands.
    """

    output: str
    names: dict[str, str]
    attributes: dict[str, Attribute]
    first: Term | None
    place: Place[Term, str]


class FusedSteps:
    """Writes out nodes of fused operators; their constants become terms.

    Args:
        store: of the terms.
    """

    def __init__(self, store: Store) -> None:
        self.store, self.constants = store, 0

    def matrices(self, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """FusedMatMul: alpha times the product of both inputs, each transposed as the attributes say."""
        node, terms = visit.node, place.values(visit.inputs)
        attributes = {attribute.name: attribute for attribute in node.attributes}
        if len(terms) != 2 or attributes.keys() - {"alpha", "transA", "transB", "transBatchA", "transBatchB"}:
            return None
        nodes, factors, output = [], [], node.outputs[0]
        for letter, term, name in zip("AB", terms, node.inputs, strict=True):
            if term is None or term.rank is None or term.rank < 2:
                return None
            axes = [*range(term.rank)]
            if _is_set(attributes, f"transBatch{letter}"):
                axes = [*axes[1:-1], axes[0], axes[-1]]
            if _is_set(attributes, f"trans{letter}"):
                axes = [*axes[:-2], axes[-1], axes[-2]]
            factors.append(f"{output} ({letter})")
            perm = Attribute("perm", "ints", tuple(axes), fields=("ints",))
            nodes.append(Node("", "Transpose", "", "", (name,), (factors[-1],), (perm,)))
        nodes.append(Node("", "MatMul", "", "", tuple(factors), (f"{output} (product)",), ()))
        alpha = self._number("$alpha|1.0", attributes, terms[0], place)
        if alpha is None:
            return None
        self.store.assume(MEANING.format("com.microsoft.FusedMatMul"))
        return [*nodes, Node(node.name, "Mul", "", "", (f"{output} (product)", alpha), (output,), ())]

    def nodes(self, fused: Fused, visit: Visit[Term, str], place: Place[Term, str]) -> list[Node] | None:
        """The nodes of the steps of a fused operator, and one that passes their result on."""
        node, attributes = visit.node, {attribute.name: attribute for attribute in visit.node.attributes}
        stated = operator_facts(node.operator, node.domain).valueless_attributes
        further = [
            name for name, attribute in attributes.items()
            if name not in fused.attributes and name not in stated and attribute.value not in ((), "")
        ]  # fmt: skip
        if len(node.inputs) > len(fused.inputs) or not node.outputs or any(node.outputs[1:]) or further:
            return None
        inputs = {**dict.fromkeys(fused.inputs, ""), **dict(zip(fused.inputs, node.inputs, strict=False))}
        if not all(inputs[name] or name in fused.optional for name in fused.inputs):
            return None
        if any(name in attributes and attributes[name].value != value for name, value in fused.only.items()):
            return None
        first = place.values(visit.inputs)[0] if visit.inputs else None
        steps = _FusedCall(node.outputs[0], {**inputs}, attributes, first, place)
        if fused.has_axes and not self._axes(steps, visit.call.operator_set or 0):
            return None
        nodes: list[Node] = []
        for step in fused.steps:
            step_nodes = self._step(step, steps)
            if step_nodes is None:
                return None
            nodes += step_nodes
        if fused.axiom:
            self.store.rest_on(fused.axiom)
        else:
            self.store.assume(MEANING.format(fused.name))
        result = steps.names[STEP.fullmatch(fused.steps[-1])[1]]  # type: ignore[index]  # a test reads every step
        last = Node(node.name, "Identity", "", "", (result,), (node.outputs[0],), ())
        return [*nodes, last]

    def _axes(self, steps: _FusedCall, operator_set: int) -> bool:
        """Give the axes from the attribute `axis` on as an attribute, or from operator set 18 on as an input."""
        first, written = steps.first, steps.attributes.get("axis")
        axis = -1 if written is None else written.value
        if first is None or not first.rank or type(axis) is not int or not -first.rank <= axis < first.rank:
            return False
        axes = tuple(range(axis % first.rank, first.rank))
        if operator_set < AXES_ARE_INPUT:
            steps.attributes["axes"] = Attribute("axes", "ints", axes, fields=("ints",))
            steps.names["axes"] = ""
        else:
            steps.names["axes"] = self._constant("axes", np.array(axes, np.int64), steps.place)
        return True

    def _step(self, text: str, steps: _FusedCall) -> list[Node] | None:
        """The node of one step; none where an input is left out, so that the first one is passed on."""
        match_ = STEP.fullmatch(text)
        if match_ is None:
            raise ValueError(f"the step {text!r} has another form")
        target, operator, words, parameters = match_.groups()
        inputs, is_complete = [], True
        for word in (part.strip() for part in words.split(",")):
            if re.fullmatch(r"[A-Za-z_]\w*\??", word):
                name = steps.names.get(word.removesuffix("?"), "")
                is_complete = is_complete and (bool(name) or word.endswith("?"))
            else:
                constant = self._number(word, steps.attributes, steps.first, steps.place)
                if constant is None:
                    return None
                name = constant
            inputs.append(name)
        if operator.startswith("@"):
            chosen = steps.attributes.get(operator[1:])
            operator = str(chosen.value) if chosen is not None and chosen.value else ""
            if operator and operator not in ACTIVATIONS:
                return None
        if not operator or not is_complete:
            steps.names[target] = inputs[0]
            return []
        while inputs and not inputs[-1]:
            inputs.pop()
        steps.names[target] = f"{steps.output} ({target})"
        attributes = _step_attributes(parameters or "", steps.attributes)
        return [Node("", operator, "", "", tuple(inputs), (steps.names[target],), attributes)]

    def _number(
        self, word: str, attributes: Mapping[str, Attribute], first: Term | None, place: Place[Term, str]
    ) -> str | None:
        """The name of a constant of the type of the first input: a number, or the number of an attribute."""
        kind = ELEMENTS.get(str(first.facts.type)) if first is not None else None
        if kind is None:
            return None
        if word.startswith("$"):
            name, _, absent = word[1:].partition("|")
            value: Any = attributes[name].value if name in attributes else float(absent)
        else:
            value = float(word)
        return self._constant(word, np.array(value).astype(kind), place)

    def _constant(self, label: str, array: Array, place: Place[Term, str]) -> str:
        """The name of a new constant."""
        self.constants += 1
        name = f"{label}@fused{self.constants}"
        place.define(name, movements.constant_of(self.store, array))
        return name


def _step_attributes(parameters: str, attributes: Mapping[str, Attribute]) -> tuple[Attribute, ...]:
    """The attributes of a step: those of the fused node, or what their absence means."""
    written = []
    for word in filter(None, (part.strip() for part in parameters.split(","))):
        name, differs, value = word.partition("|")
        if name in attributes:
            written.append(attributes[name])
        elif differs and value.isdecimal():
            written.append(Attribute(name, "int", int(value), fields=("i",)))
        elif differs:
            written.append(Attribute(name, "float", float(np.float32(value)), fields=("f",)))
    return tuple(written)


def _is_set(attributes: Mapping[str, Attribute], name: str) -> bool:
    return name in attributes and bool(attributes[name].value)
