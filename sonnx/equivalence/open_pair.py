"""The part of two models that is left open: a pair of values that does not match, down to values that do.

Of each model it is the nodes between the value and the values of both models that are one term, or that match; those
are its inputs.  Written as two models, the parts can be compared, run and reported alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.escaping import plural
from sonnx.equivalence.result import OpenPart
from sonnx.equivalence.sides import Side
from sonnx.equivalence.terms.store import Term
from sonnx.equivalence.unmatched import ranked
from sonnx.equivalence.walk import Mismatch, Walk
from sonnx.language.evaluator import Unknown
from sonnx.model.ir import Graph, Model, Node, Type, ValueInfo
from sonnx.model.scopes import canonical_domain, free_names
from sonnx.numerics.constant_data import with_external_data

MAX_SHOWN = 6
"""Nodes of a part that is written as a formula; of a larger one the number is stated."""

Values = Mapping[str, Term]


class OpenPair(Struct, frozen=True):
    """What is open: the mismatch, the nodes of both models between it and values that match, and these values.

    Attributes:
        mismatch: the pair of terms.
        outputs: their names in both models.
        inputs: the name in the second model of each value of the first one that matches, in the order of use.
        types: of these inputs, by their names in the first model.
        nodes: of both models, in the order of the files.
    """

    mismatch: Mismatch
    outputs: tuple[str, str]
    inputs: Mapping[str, str]
    types: Mapping[str, Type]
    nodes: tuple[tuple[Node, ...], tuple[Node, ...]]

    def stated(self, runs: int) -> OpenPart:
        """The part as a result states it, after so many generated inputs showed no difference."""
        first, second = (formula(nodes, output) for nodes, output in zip(self.nodes, self.outputs, strict=True))
        free = ", ".join(name if name == partner else f"{name} = {partner}" for name, partner in self.inputs.items())
        holds = f" for every {free}" if free else ""
        if self.mismatch.is_numeric:
            axiom = "none: their numbers differ by more than roundings explain, so only a bound on the difference helps"
        else:
            axiom = f"{first} is {second}{holds}"
        tried = ["one operator with equal attributes on operands that match"]
        if self.mismatch.first.is_float and self.mismatch.second.is_float:
            tried.append("equal sums of products of values that match")
        if runs:
            tried.append(plural(runs, "generated set of inputs", "generated sets of inputs"))
        ours, theirs = (tuple([_shown(node) for node in part]) for part in self.nodes)
        return OpenPart(*self.outputs, ours, theirs, dict(self.inputs), tuple(tried), axiom)

    def models(self, first: Side, second: Side) -> tuple[Model, Model]:
        """Both parts as models; their inputs and outputs keep the names of the files.

        Raises:
            NotExecutable: a constant in another file cannot be read.
        """
        types = dict(self.types), {self.inputs[name]: type_ for name, type_ in self.types.items()}
        ends = self.mismatch.first, self.mismatch.second
        made = [
            _model(side, nodes, inputs, ValueInfo(output, _type_of(term) or Type()))
            for side, nodes, inputs, output, term in zip(
                (first, second), self.nodes, types, self.outputs, ends, strict=True
            )
        ]
        return made[0], made[1]


def open_pair(walk: Walk, sides: tuple[Side, Side], values: tuple[Values, Values]) -> OpenPair | None:
    """The pair with the most equal ancestors that has names in both files and can stand alone; None where there is
    none.
    """
    models = [_Named.of(side.model, terms) for side, terms in zip(sides, values, strict=True)]
    partners = dict(walk.matched_pairs()), {second: first for first, second in walk.matched_pairs()}
    for mismatch in ranked([*walk.mismatches, *walk.failed]):
        outputs = models[0].names.get(mismatch.first.number), models[1].names.get(mismatch.second.number)
        if outputs[0] is None or outputs[1] is None:
            continue
        parts = [
            model.part(output, partner, matches)
            for model, output, partner, matches in zip(models, outputs, reversed(models), partners, strict=True)
            if output is not None
        ]
        pair = _joined(mismatch, (outputs[0], outputs[1]), parts, models)
        if pair is not None:
            return pair
    return None


class _Part(Struct, frozen=True):
    """The nodes of one model, and the terms at which it ends, each with the one of the other model that matches."""

    nodes: tuple[Node, ...]
    ends: Mapping[int, int]


class _Named(Struct, frozen=True):
    """A model with the terms of its values."""

    graph: Graph
    values: Values
    names: Mapping[int, str]
    makers: Mapping[str, Node]

    @classmethod
    def of(cls, model: Model, values: Values) -> _Named:
        """The names are those that the file has."""
        graph = model.graph
        makers = {name: node for node in graph.nodes for name in node.outputs if name}
        names: dict[int, str] = {}
        for name in (*(value.name for value in graph.inputs), *makers):
            if name in values:
                names.setdefault(values[name].number, name)
        return cls(graph, values, names, makers)

    def part(self, output: str, other: _Named, matches: Mapping[int, int]) -> _Part | None:
        """The part that gives an output; None where a value in it is not known, or inside a graph has another name."""
        needed, ends, seen, waiting = dict[int, Node](), dict[int, int](), {output}, [output]
        constants = {tensor.name for tensor in self.graph.initializers}
        constants |= {tensor.name for tensor in self.graph.sparse_initializers}
        while waiting:
            name = waiting.pop()
            term = self.values.get(name)
            partner = None if term is None or term.is_constant else _partner(term.number, other, matches)
            if name != output and term is not None and partner is not None:
                ends[term.number] = partner
                continue
            node = self.makers.get(name)
            if node is None:
                if name not in constants:
                    return None
                continue
            needed[id(node)] = node
            inside = free_names(node)
            if any(self._canonical(each) != each for each in inside):
                return None
            fresh = [each for each in (*node.inputs, *sorted(inside)) if each and each not in seen]
            seen.update(fresh)
            waiting += fresh
        nodes = [node for node in self.graph.nodes if id(node) in needed]
        outputs = {name for node in nodes for name in node.outputs}
        return _Part(tuple([self._with_one_name(node, ends, outputs) for node in nodes]), ends)

    def _canonical(self, name: str) -> str:
        """The first name of the value of a name."""
        term = self.values.get(name)
        return name if term is None else self.names.get(term.number, name)

    def _with_one_name(self, node: Node, ends: Mapping[int, int], outputs: set[str]) -> Node:
        """The node with one name for each value at which the part ends."""
        inputs = [
            self.names[self.values[name].number]
            if name in self.values and self.values[name].number in ends and name not in outputs
            else name
            for name in node.inputs
        ]
        return replace(node, inputs=tuple(inputs))


def _partner(number: int, other: _Named, matches: Mapping[int, int]) -> int | None:
    """The term of the other model that is this one, or that matches it, and has a name there."""
    return next((each for each in (number, matches.get(number)) if each is not None and each in other.names), None)


def _joined(
    mismatch: Mismatch, outputs: tuple[str, str], parts: Sequence[_Part | None], models: Sequence[_Named]
) -> OpenPair | None:
    """Both parts with the inputs of either; None where their inputs do not pair, or have no type."""
    first, second = parts
    if first is None or second is None:
        return None
    pairs = {**first.ends, **{partner: number for number, partner in second.ends.items()}}
    inputs, types = dict[str, str](), dict[str, Type]()
    for number, partner in sorted(pairs.items()):
        names = models[0].names.get(number), models[1].names.get(partner)
        if names[0] is None or names[1] is None:
            return None
        type_ = _type_of(models[0].values[names[0]])
        if type_ is None:
            return None
        inputs[names[0]], types[names[0]] = names[1], type_
    if len(set(inputs.values())) < len(inputs):
        return None
    return OpenPair(mismatch, outputs, inputs, types, (first.nodes, second.nodes))


def _type_of(term: Term) -> Type | None:
    """The type of a term as a declaration; None where its element type is not known."""
    if not isinstance(term.facts.type, str):
        return None
    shape = term.facts.shape
    extents = tuple([_extent(extent) for extent in shape]) if isinstance(shape, tuple) else None
    return Type("tensor", term.facts.type, extents)


def _extent(extent: Any) -> int | str | None:
    return (extent.symbol or None) if isinstance(extent, Unknown) else int(extent)


def _model(side: Side, nodes: Sequence[Node], inputs: Mapping[str, Type], output: ValueInfo) -> Model:
    """Some nodes of a model as a model."""
    whole = with_external_data(side.model, side.folder)
    operands = {node.outputs: node.inputs for node in nodes}
    kept = [replace(node, inputs=operands[node.outputs]) for node in whole.graph.nodes if node.outputs in operands]
    read = {name for node in kept for name in (*node.inputs, *free_names(node))} - inputs.keys()
    graph = replace(
        whole.graph,
        inputs=tuple([ValueInfo(name, type_) for name, type_ in inputs.items()]),
        outputs=(output,),
        value_info=(),
        initializers=tuple([tensor for tensor in whole.graph.initializers if tensor.name in read]),
        sparse_initializers=tuple([each for each in whole.graph.sparse_initializers if each.name in read]),
        nodes=tuple(kept),
        annotations=(),
        repeated_keys=(),
    )
    return replace(
        whole, graph=graph, training=(), training_count=0, training_bindings=(), unknown=(), without_shape=frozenset()
    )


# ------------------------------------------------------------------ as text


def formula(nodes: Sequence[Node], output: str) -> str:
    """The output of a few nodes as a formula of their inputs; of many, how many there are."""
    if len(nodes) > MAX_SHOWN:
        return f"{output} of {plural(len(nodes), 'node', 'nodes')}"
    return _written(output, {name: node for node in nodes for name in node.outputs if name})


def _written(name: str, makers: Mapping[str, Node]) -> str:
    node = makers.get(name)
    if node is None:
        return name
    operands = ", ".join(_written(each, makers) for each in node.inputs)
    place = node.outputs.index(name)
    return f"{_operator(node)}({operands})" + (f"[{place}]" if place else "")


def _shown(node: Node) -> str:
    """A node with the names of the file."""
    given = ", ".join(filter(None, node.outputs))
    return f"{given} = {_operator(node)}({', '.join(node.inputs)})"


def _operator(node: Node) -> str:
    domain = canonical_domain(node.domain)
    return f"{domain}.{node.operator}" if domain else node.operator
