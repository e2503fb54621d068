"""The visit: every node in the order of execution, rewritten until nothing applies, with what is known before it.

What a rewrite makes is visited in its turn, so that the nodes after it see a folded constant, an inlined branch or a
derived padding.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType
from typing import Any

from sonnx.base.escaping import escape, quote
from sonnx.checker.report import Where
from sonnx.graph.environment import NOTHING_STATED, constant_facts, declared_facts
from sonnx.language.evaluator import TensorFacts, Unknown, first_unknown
from sonnx.model.ir import NOT_STATED, Graph, Model, Node, Tensor, Type
from sonnx.model.scopes import Scope, captured
from sonnx.rewriter import naming
from sonnx.rewriter.rewrite import Change, Rewrite, modules, name_of, serves
from sonnx.rewriter.site import Site, World, look

ROUNDS = 100
"""Rewrites of one node at most: each serves a rule that then no longer fails, so that more are a defect."""


@dataclass(frozen=True)
class Walked:
    """A model after the visit, with what is known of its values and why the rest is not known."""

    model: Model
    rewrites: tuple[Rewrite, ...]
    facts: Mapping[str, TensorFacts]
    unknown: Mapping[str, str]


def walk(model: Model, world: World) -> Walked:
    """Visit all nodes of the main graph, which must be in order."""
    visit = _Visit(model, world)
    visit.all()
    return Walked(visit.result(), tuple(visit.rewrites), visit.facts, visit.unknown)


@dataclass
class _Visit:
    model: Model
    world: World
    facts: dict[str, TensorFacts] = field(default_factory=dict)
    constants: dict[str, Tensor] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    added: list[Tensor] = field(default_factory=list)
    same: dict[str, str] = field(default_factory=dict)
    rewrites: list[Rewrite] = field(default_factory=list)

    @property
    def graph(self) -> Graph:
        return self.model.graph

    @cached_property
    def taken(self) -> set[str]:
        return naming.own_names(self.graph)

    @cached_property
    def declared(self) -> Mapping[str, Type]:
        return Scope("graph", self.graph, {}).declared

    @cached_property
    def graph_outputs(self) -> frozenset[str]:
        return frozenset(value.name for value in self.graph.outputs)

    @cached_property
    def used(self) -> frozenset[str]:
        """The values something uses, in the model as it came."""
        nodes = self.graph.nodes
        found = {name for node in nodes for name in (*node.inputs, *captured(node))}
        return frozenset(found | self.graph_outputs)

    @cached_property
    def rewriters(self) -> tuple[ModuleType, ...]:
        return tuple(filter(self.world.makes, modules("each_node")))

    @cached_property
    def produced(self) -> set[str]:
        """The outputs of nodes that may get another name: those that are no graph output."""
        return {name for node in self.graph.nodes for name in node.outputs} - self.graph_outputs

    def all(self) -> None:
        for value in self.graph.inputs:
            self.facts[value.name] = known = declared_facts(value.type)
            unknown = first_unknown(known.shape)
            if unknown is not None:
                self.unknown[value.name] = _asked(value.name, unknown)
        for tensor in self.graph.initializers:
            self._constant(tensor)
        waiting = deque(enumerate(self.graph.nodes))
        while waiting:
            index, node = waiting.popleft()
            waiting.extendleft((index, each) for each in reversed(self._visit(index, node)))

    def _constant(self, tensor: Tensor) -> None:
        self.facts[tensor.name], self.constants[tensor.name] = constant_facts(tensor), tensor

    def _visit(self, index: int, node: Node) -> tuple[Node, ...]:
        """Rewrite a node until nothing applies; what several nodes take its place is to be visited next."""
        for _ in range(ROUNDS):
            node = naming.renamed(node, self.same, outputs=True)
            site = self._look(node)
            made = next(self._changes(site), None)
            if made is None:
                self._keep(site)
                return ()
            module, change = self._unique(*made, node)
            self._record(module, change, site, index)
            for tensor in change.constants:
                self._constant(tensor)
                self.added.append(tensor)
                self.produced.discard(tensor.name)
            self._join(change.same)
            if len(change.nodes) != 1:
                return change.nodes
            node = change.nodes[0]
        raise AssertionError(f"the rewrites of {node.operator} do not come to an end")

    def _look(self, node: Node) -> Site:
        inputs = [self.facts.get(name, NOTHING_STATED) if name else None for name in node.inputs]
        declared = [declared_facts(self.declared.get(name, NOT_STATED)) for name in node.outputs]
        return look(self.world, node, inputs, declared, self.constants, self.used, self.facts.keys())

    def _changes(self, site: Site) -> Iterator[tuple[ModuleType, Change]]:
        for module in self.rewriters:
            if site.invalid and not any(serves(module, slug) for slug in site.invalid):
                continue
            change = module.rewrite(site)
            if change is not None and self._possible(change):
                yield module, change

    def _possible(self, change: Change) -> bool:
        """An output of the graph keeps its name: what takes its place must be free to get that name."""
        free = self.produced | {name for node in change.nodes for name in node.outputs}
        kept = [new for old, new in change.same if old in self.graph_outputs]
        constants = [tensor.name for tensor in change.constants]
        return free.issuperset(kept) and len(set(kept)) == len(kept) and self.graph_outputs.isdisjoint(constants)

    def _join(self, same: Iterable[tuple[str, str]]) -> None:
        for old, new in same:
            if old in self.graph_outputs:  # the other way round: what is kept gets the name of the output
                self._rename(new, old)
            else:
                self.same[old] = new

    def _rename(self, old: str, new: str) -> None:
        names = {old: new}
        self.nodes = [naming.renamed(node, names, outputs=True) for node in self.nodes]
        self.same = {name: names.get(other, other) for name, other in self.same.items()} | names
        for known in (self.facts, self.constants, self.unknown):
            _move(known, old, new)
        self.produced.discard(old)

    def _unique(self, pair_module: ModuleType, change: Change, node: Node) -> tuple[ModuleType, Change]:
        """The change with names of its own for what it adds."""
        made = [tensor.name for tensor in change.constants]
        made += [name for each in change.nodes for name in each.outputs]
        new = [name for name in dict.fromkeys(made) if name and name not in node.outputs]
        names = {name: naming.fresh(name, self.taken) for name in new}
        self.produced.update(names.values())
        constants = tuple(replace(each, name=names.get(each.name, each.name)) for each in change.constants)
        nodes = tuple(naming.renamed(each, names, outputs=True) for each in change.nodes)
        same = tuple((old, names.get(name, name)) for old, name in change.same)
        return pair_module, replace(change, constants=constants, nodes=nodes, same=same)

    def _record(self, module: ModuleType, change: Change, site: Site, index: int) -> None:
        rules = change.rules or site.fails(module.RULES) or tuple(filter(self.world.wants, module.RULES))
        node = self.graph.nodes[index]
        where = Where(f"graph/node[{index}]", "node", node.name, node.operator, self.world.operator_set)
        theorem = getattr(module, "THEOREM", "")
        self.rewrites.append(
            Rewrite(name_of(module), rules, where, change.before, change.after, theorem, change.changes)
        )

    def _keep(self, site: Site) -> None:
        node = site.node
        self.nodes.append(node)
        for name, facts in zip(node.outputs, site.outputs, strict=True):
            if name:
                self.facts[name] = facts
                if first_unknown(facts.shape) is not None:
                    self.unknown[name] = self._why(site, facts)
        for attribute in node.attributes:
            if isinstance(attribute.value, Tensor) and _gives(site):
                self.constants[node.outputs[0]] = replace(attribute.value, name=node.outputs[0])

    def _why(self, site: Site, facts: TensorFacts) -> str:
        """Why the shape of an output is not known, as a sentence a person can act on."""
        node = site.node
        operator = escape(node.operator)
        if site.signature is None:
            return f"no shape of {operator} is known to the catalogue; declare that of its outputs in value_info"
        broken = sorted(slug for slug in site.failing if slug.rpartition(".")[2] in _relied(site))
        if broken:
            return f"{operator} breaks {', '.join(broken)}, on which its shape rests"
        for name in node.inputs:
            if name in self.unknown:
                return self.unknown[name]
            unknown = first_unknown(self.facts.get(name, NOTHING_STATED).shape)
            if name and unknown is not None:
                return _asked(name, unknown)
        unknown = first_unknown(facts.shape)
        return f"the shape of {operator} depends on values: {unknown.reason}" if unknown else ""

    def result(self) -> Model:
        names = self.same
        outputs = self.graph.outputs
        initializers = (*self.graph.initializers, *self.added)
        info = tuple(value for value in self.graph.value_info if value.name not in names)
        graph = replace(
            self.graph,
            nodes=tuple(naming.renamed(node, names) for node in self.nodes),
            initializers=initializers,
            value_info=info,
            outputs=outputs,
        )
        return replace(self.model, graph=graph)


def _asked(name: str, unknown: Unknown) -> str:
    """What to do about a dimension of a value that nothing computes."""
    if unknown.symbol:
        return f"of {quote(name)} {unknown.reason}; give it a number by --bind {escape(unknown.symbol)}=…"
    return f"of {quote(name)} {unknown.reason}; declare it in the model"


def _relied(site: Site) -> set[str]:
    """The rules the shapes of a node rest on."""
    return {name for output in site.signature.outputs for name in output.relies} if site.signature else set()


def _move(known: dict[str, Any], old: str, new: str) -> None:
    if old in known:
        known[new] = known.pop(old)


def _gives(site: Site) -> bool:
    """Whether the node gives a tensor it holds."""
    made = site.signature
    return made is not None and bool(made.outputs) and bool(made.outputs[0].constant) and len(site.node.outputs) == 1
