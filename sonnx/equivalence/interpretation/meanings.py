"""The meanings of operators by other nodes: what the modules that state them share.

A meaning is a function of a node with the terms of its inputs.  It gives the nodes that stand for the node; or it gives
the outputs their terms itself; or None, where it does not hold for the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sonnx.equivalence.interpretation.choices import Choices
from sonnx.equivalence.interpretation.domain import TermDomain
from sonnx.equivalence.normal_forms.layouts import CallInOrder
from sonnx.equivalence.terms import movements
from sonnx.equivalence.terms.store import Term
from sonnx.graph.interpreter import Place, Visit
from sonnx.model.ir import NOT_STATED, Attribute, Model, Node
from sonnx.model.scopes import Scope, canonical_domain
from sonnx.numerics.formats import ELEMENTS, Array

STATED = "{} means what sonnx states for it (fused.toml)"
"""The assumption of a meaning over the reals that no theorem proves."""
STEPS_SINCE, STEPS_AT = 9, 13
"""The operator set that has every operator of the steps with broadcasting, and the one that stands for older ones."""


class PassedOn(NamedTuple):
    """A node that passes on what other nodes computed in the place of one node.

    Attributes:
        node: the node.
        ideal: what the value is over the reals only; "" where it is the same bit for bit.
        elementwise: what it is over the reals is an operator on elements.
        shape: of the value, None for that of the operand.
        order: the call in channels-first order whose output it is; None where elements keep their places.
    """

    node: Node
    ideal: str = ""
    elementwise: bool = False
    shape: tuple[int, ...] | None = None
    order: CallInOrder | None = None


class GraphInTerms:
    """A graph while it becomes terms: what the meanings of its nodes share.

    Args:
        model: whose main graph it is.
        domain: in which it is interpreted.
        choices: recognizes functions that are written out.
        imports: the operator sets of the model by domain.

    Attributes:
        results: the nodes that pass on a value that is not the same bit for bit, or whose elements stand elsewhere.
    """

    def __init__(self, model: Model, domain: TermDomain, choices: Choices, imports: Mapping[str, int | None]) -> None:
        self.domain, self.store, self.choices = domain, domain.store, choices
        self.operator_set = imports.get("") or 0
        self.results: list[PassedOn] = []
        self._newer = Scope("graph", model.graph, {**imports, "": STEPS_AT})
        self._constants = 0

    def new_name(self, label: str) -> str:
        """A name that no other value has."""
        self._constants += 1
        return f"{label}@fused{self._constants}"

    def computes(self, nodes: Sequence[Node], values: dict[str, Term | None]) -> bool:
        """Add the values of nodes in a newer operator set, as the model's own may lack an operator; whether all are
        known.
        """
        for node in nodes:
            operands = [values.get(name) for name in node.inputs]
            if any(operand is None for operand, name in zip(operands, node.inputs, strict=True) if name):
                return False
            call = self.choices.calls.of(self._newer, node)
            [values[node.outputs[0]]] = self.domain.call(call, operands, [self.domain.declared(NOT_STATED)]).outputs
        return True


class NodeInTerms:
    """A node with the terms of its inputs, while a graph becomes terms."""

    def __init__(self, visit: Visit[Term, str], place: Place[Term, str], graph: GraphInTerms) -> None:
        self.node, self.call, self.graph, self.store = visit.node, visit.call, graph, graph.store
        self.operator = (canonical_domain(visit.node.domain), visit.node.operator)
        self.terms, self.is_defined = place.values(visit.inputs), False
        self._place = place

    @property
    def name(self) -> str:
        """The operator with its domain, as assumptions name it."""
        return ".".join(filter(None, self.operator))

    @property
    def first(self) -> Term | None:
        """The term of the first input; None where there is none, or it is not known."""
        return self.terms[0] if self.terms else None

    @property
    def output(self) -> str:
        """The name of the first output; "" where there is none."""
        return next(iter(self.node.outputs), "")

    @cached_property
    def attributes(self) -> Mapping[str, Attribute]:
        """The attributes that are written, by name."""
        return {attribute.name: attribute for attribute in self.node.attributes}

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """The values of the attributes that are written, by name."""
        return {attribute.name: attribute.value for attribute in self.node.attributes}

    def label(self, role: str) -> str:
        """The name of an intermediate value."""
        return f"{self.output} ({role})"

    def define(self, name: str, term: Term) -> str:
        """Give a name its term; where it is an output of the node, the node needs no other nodes."""
        self._place.define(name, term)
        self.is_defined = self.is_defined or name in self.node.outputs
        return name

    def constant(self, label: str, array: Array) -> str:
        """The name of a new constant."""
        return self.define(self.graph.new_name(label), movements.constant_of(self.store, array))

    def number(self, value: float) -> str | None:
        """The name of a new constant: one number of the type of the first input; None where that type is not known."""
        kind = None if self.first is None else ELEMENTS.get(str(self.first.facts.type))
        return None if kind is None else self.constant(str(value), np.array(value).astype(kind))

    def passed_on(
        self,
        value: str,
        ideal: str = "",
        *,
        output: str | None = None,
        elementwise: bool = False,
        shape: tuple[int, ...] | None = None,
        order: CallInOrder | None = None,
    ) -> Node:
        """A node that gives an output, the first one unless another is named, a value of the nodes before it."""
        name = self.output if output is None else output
        last = Node(self.node.name, "Identity", "", "", (value,), (name,), ())
        if ideal or shape is not None or order is not None:
            self.graph.results.append(PassedOn(last, ideal, elementwise, shape, order))
        return last


Meaning: TypeAlias = Callable[[NodeInTerms], Sequence[Node] | None]

_MEANINGS: dict[tuple[str, str], list[Meaning]] = {}


def meaning_of(*operators: str, domain: str = "") -> Callable[[Meaning], Meaning]:
    """Register a meaning of operators of a domain."""

    def register(meaning: Meaning) -> Meaning:
        for operator in operators:
            _MEANINGS.setdefault((domain, operator), []).append(meaning)
        return meaning

    return register


def meanings(domain: str, operator: str) -> Sequence[Meaning]:
    """The meanings of an operator, in the order in which they are tried."""
    return _MEANINGS.get((domain, operator), ())
