"""Rewriting as the interpreter visits the nodes: each is rewritten until nothing applies.

What a rewrite makes is visited in its turn, so that the nodes after it see a folded constant, an inlined branch or a
derived padding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from sonnx.base.escaping import escape, quote
from sonnx.checker.facts_domain import FactsDomain
from sonnx.checker.rules import SubjectResults
from sonnx.checker.verdicts import Where
from sonnx.graph.call import Calls
from sonnx.graph.environment import NOTHING_STATED, constant_facts, declared_facts
from sonnx.graph.interpreter import Place, Visit, interpret
from sonnx.language.evaluator import TensorFacts, Unknown, first_unknown
from sonnx.model import value_names
from sonnx.model.ir import Graph, Model, Node, Tensor
from sonnx.model.scopes import canonical_domain, captured
from sonnx.profile.onnx_schemas import schema_at
from sonnx.report.fix_record import AppliedRewrite
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.inlining import inlined_size
from sonnx.rewriter.pieces import Pieces
from sonnx.rewriter.rewrite import NodeRewriting, NoReplacement, Replacement, Rewrite
from sonnx.rewriter.site import Site, pieces_of, site_of

MAX_REWRITES_OF_NODE = 100
"""Each rewrite serves a rule that then no longer fails, so that more of each node that a node becomes are a defect."""


NO_SOURCES: Mapping[str, int] = MappingProxyType({})


def places_of(model: Model) -> dict[str, int]:
    """The index of each node of the main graph by its first output."""
    return {first_output(node): index for index, node in enumerate(model.graph.nodes)}


def first_output(node: Node) -> str:
    """The first output that a node names."""
    return next(filter(None, node.outputs), "")


class WalkResult(Struct, frozen=True):
    """A model after the walk.

    `facts` are what is known of its values; `unknown_shapes` say for each value without a complete shape why, and what
    a person can do; `sources` are those of `RewriteContext` for its nodes.
    """

    model: Model
    applied: tuple[AppliedRewrite, ...]
    facts: Mapping[str, TensorFacts]
    unknown_shapes: Mapping[str, str]
    sources: Mapping[str, int] = NO_SOURCES


def walk(context: RewriteContext, rewrites: Iterable[Rewrite[NodeRewriting]]) -> WalkResult:
    """Rewrite all nodes of the main graph, which must be in order of execution."""
    rules, model = context.active_rules, context.model
    calls = Calls(model, rules.edition, strict=rules.strict, beyond_edition=True)
    state = _Rewriting(context, tuple(rewrites))
    found = interpret(model, FactsDomain(rules, 0, context.known_calls), calls, transformer=state, main_only=True)
    facts = {name: found.value(name) or NOTHING_STATED for name in state.visible}
    return WalkResult(state.rewritten_model(), tuple(state.applied), facts, state.unknown_shapes, state.sources())


def source_of(node: Node, sources: Mapping[str, int]) -> str:
    """The name in `sources` of a node; of one that a rewrite of the model has added, of the value it is named after."""
    name = first_output(node)
    while name and name not in sources:
        name = name.rpartition(".")[0]
    return name


class _Rewriting(Struct, dict=True):
    """What the interpreter asks at each node; what is known and made so far.

    `same` maps each removed value to the one that its users take instead, `visible` are the values defined so far,
    `pieces` those that consist of others.  `kept` has for each value the index of its node in `nodes`, and the site.
    """

    context: RewriteContext
    rewrites: tuple[Rewrite[NodeRewriting], ...]
    visible: dict[str, None] = {}
    constants: dict[str, Tensor] = {}
    pieces: dict[str, Pieces] = {}
    unknown_shapes: dict[str, str] = {}
    nodes: list[Node] = []
    kept: dict[str, tuple[int, Site]] = {}
    made_from: list[int | None] = []
    added: list[Tensor] = []
    same: dict[str, str] = {}
    applied: list[AppliedRewrite] = []
    rewritten: Counter[int] = field(default_factory=Counter[int])
    triggered: dict[tuple[str, bool, frozenset[str], frozenset[str]], tuple[Rewrite[NodeRewriting], ...]] = {}

    def __post_init__(self) -> None:
        for value in self.graph.inputs:
            self.visible[value.name] = None
            unknown = first_unknown(declared_facts(value.type).shape)
            if unknown is not None:
                self.unknown_shapes[value.name] = _undeclared(value.name, unknown)
        for tensor in self.graph.initializers:
            self.visible[tensor.name], self.constants[tensor.name] = None, tensor

    @property
    def graph(self) -> Graph:
        return self.context.model.graph

    @cached_property
    def taken(self) -> value_names.TakenNames:
        """Names that new values must not have."""
        return value_names.taken_names(self.graph)

    @cached_property
    def taken_by_nodes(self) -> value_names.TakenNames:
        """Names that new nodes must not have."""
        return value_names.TakenNames(node.name for node in self.graph.nodes)

    @cached_property
    def graph_outputs(self) -> frozenset[str]:
        return frozenset(value.name for value in self.graph.outputs)

    @cached_property
    def used(self) -> set[str]:
        """The values that something uses, in the model before the walk or in what a rewrite has put there."""
        return {*_read_by(self.graph.nodes), *self.graph_outputs}

    @cached_property
    def present(self) -> frozenset[tuple[str, str]]:
        """The operators that the model has, whether or not its operator set has them."""
        return frozenset((node.domain, node.operator) for node in self.graph.nodes)

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The values of the main graph that a graph inside a node hides: there no other value can take their names."""
        own = {value.name for value in self.graph.inputs} | {tensor.name for tensor in self.graph.initializers}
        own.update(*[node.outputs for node in self.graph.nodes])
        return frozenset(own & value_names.defined_inside(self.graph.nodes))

    @cached_property
    def standing_for(self) -> dict[str, list[str]]:
        """For each value the removed ones whose users take it."""
        return {}

    @cached_property
    def renamable(self) -> set[str]:
        """The outputs of nodes that may get another name: those that are not graph outputs."""
        return {name for node in self.graph.nodes for name in node.outputs} - self.graph_outputs

    # What the interpreter calls

    def before(self, node: Node) -> Node:
        """The node with the values that its inputs and outputs have become."""
        return value_names.renamed(node, self.same, outputs=True)

    def after(
        self, visit: Visit[TensorFacts, SubjectResults], place: Place[TensorFacts, SubjectResults]
    ) -> tuple[Node, ...] | None:
        """The nodes that the first rewrite which applies puts in the place of a node."""
        site, index = self._site(visit, place), visit.position
        found = self._first_replacement(site)
        if found is None:
            self._keep(site, place)
            self.made_from.append(self.context.sources.get(source_of(self.graph.nodes[index], self.context.sources)))
            return None
        rewrite, replacement = found[0], self._with_unique_names(found[1], site.node)
        self.rewritten[index] += 1
        number = max(1 + len(replacement.nodes), inlined_size([self.graph.nodes[index]], self.context.inlined_sizes))
        if self.rewritten[index] > MAX_REWRITES_OF_NODE * number:
            raise AssertionError(f"the rewrites of {site.node.operator} do not terminate")
        self._record(rewrite, replacement, site, index)
        self.used.update(_read_by(replacement.nodes), (name for _, name in replacement.same))
        for tensor in replacement.constants:
            self.visible[tensor.name], self.constants[tensor.name] = None, tensor
            place.define(tensor.name, constant_facts(tensor))
            self.added.append(tensor)
            self.renamable.discard(tensor.name)
        self._join(replacement.same, place)
        return replacement.nodes

    def _site(self, visit: Visit[TensorFacts, SubjectResults], place: Place[TensorFacts, SubjectResults]) -> Site:
        outputs = [tensor_facts or NOTHING_STATED for tensor_facts in place.values(visit.outputs)]
        declared = [place.declared(name) or NOTHING_STATED for name in visit.node.outputs]
        inputs = place.values(visit.inputs)
        return site_of(
            self.context, visit, inputs, outputs, declared, self.constants, self.used, self.pieces, self.visible.keys(),
            self._producer,
        )  # fmt: skip

    def _producer(self, name: str) -> Site | None:
        """The site of the node that stays and gives a value, with the names that its values have now."""
        index, site = self.kept.get(name, (0, None))
        return None if site is None else replace(site, node=self.nodes[index])

    def _first_replacement(self, site: Site) -> tuple[Rewrite[NodeRewriting], Replacement] | None:
        for rewrite in self._triggered(site):
            try:
                replacement = rewrite.apply(site)
            except NoReplacement:
                continue
            if replacement is None or not self._keeps_graph_outputs(replacement) or not self._is_seen(replacement):
                continue
            if all(self._exists(node) for node in replacement.nodes):
                return rewrite, replacement
        return None

    def _exists(self, node: Node) -> bool:
        """Whether the operator set of the model has the operator of a node, where it is of the standard domain."""
        operator_set = self.context.operator_set
        if canonical_domain(node.domain) or operator_set is None or (node.domain, node.operator) in self.present:
            return True
        schema = schema_at("", node.operator, operator_set)
        return schema is not None and not schema.deprecated

    def _triggered(self, site: Site) -> tuple[Rewrite[NodeRewriting], ...]:
        """The rewrites that are tried on a node: they follow from its operator and from the rules that fail there."""
        if first_output(site.node) in self.context.kept_nodes:
            return ()
        key = site.node.operator, site.in_standard_domain, site.failing, site.invalid
        rewrites = self.triggered.get(key)
        if rewrites is None:
            rewrites = self.triggered[key] = tuple([rewrite for rewrite in self.rewrites if rewrite.triggered_at(site)])
        return rewrites

    def _keeps_graph_outputs(self, replacement: Replacement) -> bool:
        """Whether every graph output keeps its name: what takes its place must be free to get that name."""
        own = {name for node in replacement.nodes for name in node.outputs}
        kept = [new for old, new in replacement.same if old in self.graph_outputs]
        if not self.graph_outputs.isdisjoint(kept):
            return False
        constants = {tensor.name for tensor in replacement.constants}  # no name of a node yet, even where one has it
        free = all(name in own or (name in self.renamable and name not in constants) for name in kept)
        return free and len(set(kept)) == len(kept) and self.graph_outputs.isdisjoint(constants)

    def _is_seen(self, replacement: Replacement) -> bool:
        """Whether the users of a removed value see the one that they take instead, also in graphs inside nodes."""
        return self.hidden.isdisjoint([name for pair in replacement.same for name in pair])

    def _join(self, same: Iterable[tuple[str, str]], place: Place[TensorFacts, SubjectResults]) -> None:
        for old, new in same:
            if old in self.graph_outputs:  # the other way round: the kept value gets the name of the graph output
                self._rename(new, old)
                place.rename(new, old)
            else:
                self._take_instead(old, new)

    def _take_instead(self, old: str, new: str) -> None:
        """Users of a value take another one, and so do those of the values that it stands for."""
        new = self.same.get(new, new)
        followers = [*self.standing_for.pop(old, ()), old]
        self.same.update(dict.fromkeys(followers, new))
        self.standing_for.setdefault(new, []).extend(followers)

    def _rename(self, old: str, new: str) -> None:
        names = {old: new}
        self.nodes = [value_names.renamed(node, names, outputs=True) for node in self.nodes]
        self._take_instead(old, new)
        tables: tuple[dict[str, Any], ...] = (self.visible, self.constants, self.unknown_shapes, self.kept)
        for known in tables:
            if old in known:
                known[new] = known.pop(old)
        self.pieces = {
            names.get(name, name): tuple([piece._replace(name=names.get(piece.name, piece.name)) for piece in known])
            for name, known in self.pieces.items()
        }
        self.renamable.discard(old)

    def _with_unique_names(self, replacement: Replacement, node: Node) -> Replacement:
        """The replacement with unused names for the values and the nodes it adds; one node keeps the name."""
        defined = [tensor.name for tensor in replacement.constants]
        defined += [name for replacement_node in replacement.nodes for name in replacement_node.outputs]
        kept = {"", *node.outputs}
        new = [name for name in dict.fromkeys(defined) if name not in kept]
        names = {name: value_names.unused(name, self.taken) for name in new}
        self.renamable.update(names.values())
        constants = tuple(
            replace(constant, name=names.get(constant.name, constant.name)) for constant in replacement.constants
        )
        nodes = tuple(
            value_names.renamed(replacement_node, names, outputs=True) for replacement_node in replacement.nodes
        )
        self.taken_by_nodes.free(node.name)
        nodes = tuple(
            replace(inner_node, name=value_names.unused(inner_node.name, self.taken_by_nodes))
            if inner_node.name
            else inner_node
            for inner_node in nodes
        )
        same = tuple((old, names.get(name, name)) for old, name in replacement.same)
        return replace(replacement, constants=constants, nodes=nodes, same=same)

    def _record(self, rewrite: Rewrite[NodeRewriting], replacement: Replacement, site: Site, index: int) -> None:
        rules = site.failing_of(*rewrite.rules) or tuple(filter(self.context.selects, rewrite.rules))
        node = self.graph.nodes[index]
        where = Where(f"graph/node[{index}]", "node", node.name, node.operator, self.context.operator_set)
        value = node.outputs[0] if rewrite.option else ""
        self.applied.append(
            rewrite.record(rules, where, replacement.before, replacement.after, replacement.changes, value)
        )

    def _keep(self, site: Site, place: Place[TensorFacts, SubjectResults]) -> None:
        node = site.node
        self.kept.update(dict.fromkeys(node.outputs, (len(self.nodes), site)))
        self.nodes.append(node)
        for name, facts in zip(node.outputs, site.outputs, strict=True):
            if name:
                self.visible[name] = None
                place.define(name, facts)
                if first_unknown(facts.shape) is not None:
                    self.unknown_shapes[name] = self._why_unknown(site, facts)
        pieces = pieces_of(site, self.pieces)
        if pieces:
            self.pieces[node.outputs[0]] = pieces
        for attribute in node.attributes:
            if isinstance(attribute.value, Tensor) and _is_constant(site):
                self.constants[node.outputs[0]] = replace(attribute.value, name=node.outputs[0])

    def _why_unknown(self, site: Site, facts: TensorFacts) -> str:
        """Why the shape of an output is not known, as a sentence a person can act on."""
        node = site.node
        operator = escape(node.operator)
        if site.signature is None:
            return (
                f"neither sonnx nor the onnx package computes the output shape of {operator}, which gives "
                f"{quote(first_output(node))}; declare it in value_info"
            )
        relied_on = {name for output in site.signature.outputs for name in output.relies}
        broken = sorted(slug for slug in site.failing if slug.rpartition(".")[2] in relied_on)
        if broken:
            return f"the output shape of {operator} requires {', '.join(broken)}"
        for name, given in zip(node.inputs, site.inputs, strict=True):
            if name in self.unknown_shapes:
                return self.unknown_shapes[name]
            unknown = first_unknown((given or NOTHING_STATED).shape)
            if name and unknown is not None:
                return _undeclared(name, unknown)
        unknown = first_unknown(facts.shape)
        return f"the output shape of {operator} depends on values: {unknown.reason}" if unknown else ""

    def sources(self) -> dict[str, int]:
        """For the first output of each node the index of the node in the original it was made from, where known."""
        pairs = zip(self.nodes, self.made_from, strict=True)
        return {first_output(node): index for node, index in pairs if index is not None}

    def rewritten_model(self) -> Model:
        graph = replace(
            self.graph,
            nodes=tuple(value_names.renamed(node, self.same) for node in self.nodes),
            initializers=(*self.graph.initializers, *self.added),
            value_info=tuple(value for value in self.graph.value_info if value.name not in self.same),
        )
        return replace(self.context.model, graph=graph)


def _read_by(nodes: Iterable[Node]) -> Iterator[str]:
    """The names of the values that nodes read, also those in their graphs."""
    for node in nodes:
        yield from node.inputs
        yield from captured(node)


def _undeclared(name: str, unknown: Unknown) -> str:
    """What to do about a dimension of a value that nothing computes."""
    if unknown.symbol:
        return f"{quote(name)}: {unknown.reason}; set it with --bind {escape(unknown.symbol)}=…"
    return f"{quote(name)}: {unknown.reason}; declare it in the model"


def _is_constant(site: Site) -> bool:
    """Whether the only output of the node is a tensor that it holds."""
    signature = site.signature
    return (
        signature is not None
        and bool(signature.outputs)
        and bool(signature.outputs[0].constant)
        and len(site.node.outputs) == 1
    )
