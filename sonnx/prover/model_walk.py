"""Proofs about whole models: the rules of every node, for all values of the symbolic dimensions.

The walk is that of the checker: the facts of a value are its declaration, else what the operator computes.  Equal calls
on equal facts are proved once.  Constants and equal symbols fold; the solver gets the remaining questions one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from sonnx.base.escaping import plural
from sonnx.checker.environment import NOTHING_STATED, constant_facts, declared_facts
from sonnx.checker.report import Report, Verdict, Where
from sonnx.checker.walk import judge_model
from sonnx.language.evaluator import TensorFacts as Facts
from sonnx.model.ir import Model, Node, Type
from sonnx.model.scopes import Scope, scopes, standard
from sonnx.model.symbols import bind
from sonnx.profile import catalogue
from sonnx.profile import signature as signatures
from sonnx.profile.signature import Signature, demanded
from sonnx.prover.call_proof import NOT_COMPUTED, CallProof, RuleProof
from sonnx.prover.model_proof import ModelProof, Open, ProofCounts, Refuted
from sonnx.prover.symbols import Symbols, symbols_of
from sonnx.prover.weakest_condition import weakest_condition

MAX_CONFIRMING_CHECKS = 8
"""Different counterexamples for which the whole model is checked; later ones are reported with their values only."""


def prove(model: Model, name: str, edition: str, assume: tuple[str, ...]) -> ModelProof:
    """The proof of a model under an edition and assumptions."""
    symbols = Symbols(symbols_of(model), assume)
    walk = _Walk(model, edition, symbols)
    walk.run()
    return _Results(walk, name).proof()


_CallKey = tuple[str, str, str, tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[tuple[str, int | None], ...]]
"""What decides the proof of a call: operator, domain, overload, the facts of its inputs and outputs by number, its
attributes by id (equal attributes of a model are one object), and the operator sets in scope."""


@dataclass(slots=True)
class _ProvedCall:
    """One different call: the proofs of its rules, its first place, and how many nodes make it."""

    signature: Signature | None
    proofs: tuple[RuleProof, ...]
    rows: tuple[int, ...]
    where: Where
    nodes: int = 0


@dataclass
class _Walk:
    """The walk, with the different facts by number, and the different calls."""

    model: Model
    edition: str
    symbols: Symbols
    rows: dict[Facts, int] = field(default_factory=dict)
    known: list[Facts | None] = field(default_factory=lambda: [None])
    calls: dict[_CallKey, _ProvedCall] = field(default_factory=dict)
    types: dict[int, int] = field(default_factory=dict)
    """The number of the declared facts of a type, by the id of the type: the model keeps its types alive."""
    functions: int = 0

    def row(self, facts: Facts) -> int:
        """The number of facts; 0 stands for a value left out."""
        found = self.rows.get(facts)
        if found is None:
            found = self.rows[facts] = len(self.known)
            self.known.append(facts)
        return found

    def run(self) -> None:
        """Every node of every graph, except those of functions: their values have shapes in each call only."""
        for scope in scopes(self.model):
            if scope.function is None:
                self._scope(scope)
            else:
                self.functions += len(scope.graph.nodes)

    def _declared(self, type_: Type) -> int:
        found = self.types.get(id(type_))
        if found is None:
            found = self.types[id(type_)] = self.row(declared_facts(type_))
        return found

    def _values(self, scope: Scope) -> dict[str, int]:
        facts: dict[str, int] = {"": 0}
        graph = scope.graph
        for listed in (graph.inputs, graph.outputs, graph.value_info):
            for value in listed:
                if value.name not in facts:
                    facts[value.name] = self._declared(value.type)
        for tensor in graph.initializers:
            stated = constant_facts(tensor)
            if tensor.name in scope.graph_inputs and (self.model.ir_version or 0) >= 4:
                stated = stated._replace(values=NOTHING_STATED.values)
            facts[tensor.name] = self.row(stated)
        return facts

    def _scope(self, scope: Scope) -> None:
        facts, nothing = self._values(scope), self.row(NOTHING_STATED)
        imports = tuple(scope.imports.items())
        for index, node in enumerate(scope.graph.nodes):
            inputs = tuple([self._look_up(scope, facts, name) for name in node.inputs])
            outputs = tuple([facts.get(name, nothing) for name in node.outputs])
            attributes = tuple(map(id, node.attributes)) if node.attributes else ()
            key = (node.operator, node.domain, node.overload, inputs, outputs, attributes, imports)
            found = self.calls.get(key)
            if found is None:
                found = self.calls[key] = self._prove(scope, index, node, inputs, outputs)
            found.nodes += 1
            if found.rows != outputs:
                facts.update(zip(node.outputs, found.rows, strict=True))
                facts[""] = 0

    def _look_up(self, scope: Scope, facts: dict[str, int], name: str) -> int:
        found = facts.get(name)
        if found is not None:
            return found
        outer = scope.outer
        while outer is not None:
            if name in outer.declared:
                return self._declared(outer.declared[name])
            outer = outer.outer
        return self.row(NOTHING_STATED)

    def _prove(
        self, scope: Scope, index: int, node: Node, inputs: tuple[int, ...], outputs: tuple[int, ...]
    ) -> _ProvedCall:
        operator_set = scope.imports.get(standard(node.domain))
        where = Where(scope.node_place(index), "node", node.name, node.operator, operator_set)
        signature = self._signature(node, operator_set)
        if signature is None:
            return _ProvedCall(None, (), outputs, where)
        call = CallProof(signature, self.symbols, self.edition)
        given, named = ([self.known[row] for row in rows] for rows in (inputs, outputs))
        proofs, computed = call.prove(node.attributes, given, named)
        after = [0 if each is None else self.row(each) for each in computed]
        return _ProvedCall(signature, proofs, tuple(after), where)

    def _signature(self, node: Node, operator_set: int | None) -> Signature | None:
        calls_function = any(
            each.name == node.operator and standard(each.domain) == "" for each in self.model.functions
        )
        if standard(node.domain) or calls_function or operator_set is None:
            return None
        status = catalogue.editions().editions[self.edition].status(node.operator)
        described = catalogue.operator(node.operator) if status in ("specified", "draft") else None
        version = described.version_at(operator_set) if described else None
        return None if version is None else signatures.signature(node.operator, version, self.edition)


class _Results:
    """The results of the walk, with each counterexample confirmed by the checker."""

    def __init__(self, walk: _Walk, name: str) -> None:
        self.walk, self.name = walk, name
        self.reports: dict[tuple[tuple[str, int], ...], Report] = {}
        self.refuted: list[Refuted] = []
        self.open: list[Open] = []
        self.waiting: Counter[str] = Counter()

    def proof(self) -> ModelProof:
        """The proof as data."""
        walk, calls = self.walk, list(self.walk.calls.values())
        judged = [each for each in calls if each.signature is not None]
        for each in judged:
            for rule_proof in each.proofs:
                self._collect(each, rule_proof)
        outside = {each.where.operator: 0 for each in calls if each.signature is None}
        for each in calls:
            if each.signature is None:
                outside[each.where.operator] += each.nodes
        constraint = self._constraint()
        return ModelProof(
            name=self.name,
            edition=walk.edition,
            symbols=walk.symbols.names,
            assumptions=walk.symbols.assumptions,
            nodes=sum(each.nodes for each in calls) + walk.functions,
            nodes_judged=sum(each.nodes for each in judged),
            conditions=sum(each.nodes * len(each.proofs) for each in judged),
            proved=sum(each.nodes * sum(a.verdict == "proved" for a in each.proofs) for each in judged),
            distinct=len(judged),
            queries=walk.symbols.queries,
            refuted=tuple(self.refuted),
            open=tuple(self.open),
            constraint=constraint,
            notes=tuple(_notes(outside, walk.functions, self.waiting.total())),
            rules=tuple(self._counts(judged)),
        )

    def _counts(self, judged: list[_ProvedCall]) -> Iterator[ProofCounts]:
        """By rule: at how many nodes it is proved, and at how many it waits for a shape or for another rule."""
        proved: Counter[str] = Counter()
        waiting = Counter(self.waiting)
        for each in judged:
            verdicts = {proof.rule.slug: proof.verdict for proof in each.proofs}
            for slug in _in_force(each.signature):
                proved[slug] += each.nodes * (verdicts.get(slug) == "proved")
                waiting[slug] += each.nodes * (slug not in verdicts)
        yield from (ProofCounts(slug, proved[slug], waiting[slug]) for slug in sorted(proved))

    def _collect(self, call: _ProvedCall, proof: RuleProof) -> None:
        where = call.where
        if proof.reason == NOT_COMPUTED.reason and self.refuted:
            self.waiting[proof.rule.slug] += call.nodes
        elif proof.verdict == "open":
            self.open.append(Open(proof.rule.slug, where, call.nodes, proof.reason))
        if proof.verdict != "refuted":
            return
        numbers = tuple(proof.counterexample.items())
        actual = self._confirmed(proof, where, numbers)
        if actual is None:
            reason = "a check does not confirm the counterexample of the solver: this is a defect of sonnx"
            self.open.append(Open(proof.rule.slug, where, call.nodes, reason))
            return
        always = self.walk.symbols.always(proof.fails)
        constraint = "" if always else weakest_condition(proof.holds, self.walk.symbols)
        slug, nodes, demand = proof.rule.slug, call.nodes, proof.demand
        self.refuted.append(Refuted(slug, where, nodes, demand, numbers, actual, constraint, always))

    def _confirmed(self, proof: RuleProof, where: Where, numbers: tuple[tuple[str, int], ...]) -> str | None:
        """The facts with which the rule fails in a check with these values of the symbols; None if it does not fail."""
        report = self.reports.get(numbers)
        if report is None:
            if len(self.reports) >= MAX_CONFIRMING_CHECKS:
                return "not confirmed by a check: only the first counterexamples are"
            bound = bind(self.walk.model, dict(numbers)) if numbers else self.walk.model
            report = self.reports[numbers] = judge_model(bound, self.name, self.walk.edition)
        for finding in report.findings:
            if (finding.rule, finding.where.place) == (proof.rule.slug, where.place):
                return finding.actual if finding.verdict is Verdict.FAIL else None
        return None

    def _constraint(self) -> str:
        """The conjunction of all constraints, "" if one has no short text."""
        constraints = dict.fromkeys(each.constraint for each in self.refuted)
        if not constraints or "" in constraints:
            return (
                "" if not any(each.always for each in self.refuted) else "no choice of sizes satisfies all conditions"
            )
        parts = [f"({each})" if " or " in each and len(constraints) > 1 else each for each in constraints]
        return " and ".join(parts)


def _in_force(signature: Signature | None) -> Iterator[str]:
    known = catalogue.editions()
    if signature is not None:
        yield from (rule.slug for rule in signature.rules if demanded(rule, signature.text, known))


def _notes(outside: dict[str, int], functions: int, waiting: int) -> Iterator[str]:
    if waiting:
        yield f"{plural(waiting, 'condition waits', 'conditions wait')} for the shape of a node that is refuted above"
    for operator, nodes in sorted(outside.items()):
        skipped = plural(nodes, f"{operator} node was", f"{operator} nodes were")
        yield f"{skipped} skipped: the edition has no rules for {operator} here"
    if functions:
        skipped = plural(functions, "node of model-local functions was", "nodes of model-local functions were")
        yield f"{skipped} skipped: their values have shapes in each call only"
