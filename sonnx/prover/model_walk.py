"""Proofs about whole models: the rules of every node, for all values of the symbolic dimensions.

One walk, as the checker's: the facts of a value are its declaration, else what the operator computes.  Equal calls on
equal facts are asked once; constants and equal symbols fold; the solver gets what is left, each question alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sonnx.base.escaping import plural
from sonnx.checker.checker import judge_model
from sonnx.checker.report import Report, Verdict, Where
from sonnx.graph.environment import NOTHING_STATED, constant_facts, declared_facts
from sonnx.language.evaluator import TensorFacts as Facts
from sonnx.model.ir import Model, Node
from sonnx.model.scopes import Scope, scopes, standard
from sonnx.model.symbols import bind
from sonnx.profile import catalogue
from sonnx.profile.signature import Signature, demanded, signature
from sonnx.prover.call import WAITING, Answered, CallProof
from sonnx.prover.model_proof import ModelProof, Open, ProofCounts, Refuted
from sonnx.prover.symbols import Symbols, symbols_of, weakest

CONFIRMED = 8
"""Different bindings of the symbols for which the whole model is judged again; calls refuted beyond them are named with
the values only."""


def prove(model: Model, name: str, edition: str, assume: tuple[str, ...]) -> ModelProof:
    """The proof of a model under an edition and assumptions."""
    symbols = Symbols(symbols_of(model), assume)
    walk = _Walk(model, edition, symbols)
    walk.run()
    return _Results(walk, name).proof()


@dataclass(slots=True)
class _Asked:
    """One different call: what was answered, where it stands first, and how often."""

    made: Signature | None
    answers: tuple[Answered, ...]
    rows: tuple[int, ...]
    where: Where
    nodes: int = 0


@dataclass
class _Walk:
    """The walk, with the facts it met by row, and the calls it asked."""

    model: Model
    edition: str
    symbols: Symbols
    rows: dict[Facts, int] = field(default_factory=dict)
    known: list[Facts | None] = field(default_factory=lambda: [None])
    asked: dict[Any, _Asked] = field(default_factory=dict)
    types: dict[int, int] = field(default_factory=dict)
    functions: int = 0

    def row(self, facts: Facts) -> int:
        """A number for facts; 0 is a value left out."""
        found = self.rows.get(facts)
        if found is None:
            found = self.rows[facts] = len(self.known)
            self.known.append(facts)
        return found

    def run(self) -> None:
        """Every node of every graph; the values of functions have shapes in each call only."""
        for scope in scopes(self.model):
            if scope.function is None:
                self._scope(scope)
            else:
                self.functions += len(scope.graph.nodes)

    def _declared(self, type_: Any) -> int:
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
            found = self.asked.get(key)
            if found is None:
                found = self.asked[key] = self._ask(scope, index, node, inputs, outputs)
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

    def _ask(self, scope: Scope, index: int, node: Node, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> _Asked:
        operator_set = scope.imports.get(standard(node.domain))
        where = Where(scope.node_place(index), "node", node.name, node.operator, operator_set)
        made = self._signature(node, operator_set)
        if made is None:
            return _Asked(None, (), outputs, where)
        call = CallProof(made, self.symbols, self.edition)
        given, named = ([self.known[row] for row in rows] for rows in (inputs, outputs))
        answers, computed = call.ask(node.attributes, given, named)
        after = [0 if each is None else self.row(each) for each in computed]
        return _Asked(made, answers, tuple(after), where)

    def _signature(self, node: Node, operator_set: int | None) -> Signature | None:
        calls_function = any(
            each.name == node.operator and standard(each.domain) == "" for each in self.model.functions
        )
        if standard(node.domain) or calls_function or operator_set is None:
            return None
        status = catalogue.editions().editions[self.edition].status(node.operator)
        described = catalogue.operator(node.operator) if status in ("specified", "draft") else None
        version = described.version_at(operator_set) if described else None
        return None if version is None else signature(node.operator, version, self.edition)


class _Results:
    """What the walk found, with the counterexamples judged by the checker."""

    def __init__(self, walk: _Walk, name: str) -> None:
        self.walk, self.name = walk, name
        self.reports: dict[tuple[tuple[str, int], ...], Report] = {}
        self.refuted: list[Refuted] = []
        self.open: list[Open] = []
        self.waiting: Counter[str] = Counter()

    def proof(self) -> ModelProof:
        """The proof as data."""
        walk, asked = self.walk, list(self.walk.asked.values())
        judged = [each for each in asked if each.made is not None]
        for each in judged:
            for answered in each.answers:
                self._collect(each, answered)
        outside = {each.where.operator: 0 for each in asked if each.made is None}
        for each in asked:
            if each.made is None:
                outside[each.where.operator] += each.nodes
        constraint = self._constraint()
        return ModelProof(
            name=self.name,
            edition=walk.edition,
            symbols=walk.symbols.names,
            assumptions=walk.symbols.said,
            nodes=sum(each.nodes for each in asked) + walk.functions,
            nodes_judged=sum(each.nodes for each in judged),
            conditions=sum(each.nodes * len(each.answers) for each in judged),
            proved=sum(each.nodes * sum(a.verdict == "proved" for a in each.answers) for each in judged),
            distinct=len(judged),
            queries=walk.symbols.queries,
            refuted=tuple(self.refuted),
            open=tuple(self.open),
            constraint=constraint,
            notes=tuple(_notes(outside, walk.functions, self.waiting.total())),
            rules=tuple(self._tallies(judged)),
        )

    def _tallies(self, judged: list[_Asked]) -> Iterator[ProofCounts]:
        """What holds by rule, and what waits: for a shape, or for a rule of the same node that it relies on."""
        proved: Counter[str] = Counter()
        waiting = Counter(self.waiting)
        for each in judged:
            verdicts = {answered.rule.slug: answered.verdict for answered in each.answers}
            for slug in _in_force(each.made):
                proved[slug] += each.nodes * (verdicts.get(slug) == "proved")
                waiting[slug] += each.nodes * (slug not in verdicts)
        yield from (ProofCounts(slug, proved[slug], waiting[slug]) for slug in sorted(proved))

    def _collect(self, asked: _Asked, answered: Answered) -> None:
        where = asked.where
        if answered.reason == WAITING.reason and self.refuted:
            self.waiting[answered.rule.slug] += asked.nodes
        elif answered.verdict == "open":
            self.open.append(Open(answered.rule.slug, where, asked.nodes, answered.reason))
        if answered.verdict != "refuted":
            return
        numbers = tuple(answered.numbers.items())
        actual = self._confirmed(answered, where, numbers)
        if actual is None:
            reason = "the check does not confirm the counterexample the solver found: a defect of this tool"
            self.open.append(Open(answered.rule.slug, where, asked.nodes, reason))
            return
        always = self.walk.symbols.always(answered.fails)
        said = "" if always else weakest(answered.holds, self.walk.symbols)
        text = answered.text
        self.refuted.append(Refuted(answered.rule.slug, where, asked.nodes, text, numbers, actual, said, always))

    def _confirmed(self, answered: Answered, where: Where, numbers: tuple[tuple[str, int], ...]) -> str | None:
        """What the checker says of the rule when the symbols have these values; None where it does not fail."""
        report = self.reports.get(numbers)
        if report is None:
            if len(self.reports) >= CONFIRMED:
                return "not judged again: the model was judged for the first counterexamples only"
            bound = bind(self.walk.model, dict(numbers)) if numbers else self.walk.model
            report = self.reports[numbers] = judge_model(bound, self.name, self.walk.edition)
        for finding in report.findings:
            if (finding.rule, finding.where.place) == (answered.rule.slug, where.place):
                return finding.actual if finding.verdict is Verdict.FAIL else None
        return None

    def _constraint(self) -> str:
        """Everything refuted, together; "" where a part could not be stated."""
        said = dict.fromkeys(each.constraint for each in self.refuted)
        if not said or "" in said:
            return "" if not any(each.always for each in self.refuted) else "no values of the symbols help"
        parts = [f"({each})" if " or " in each and len(said) > 1 else each for each in said]
        return " and ".join(parts)


def _in_force(made: Signature | None) -> Iterator[str]:
    known = catalogue.editions()
    yield from (rule.slug for rule in made.rules if demanded(rule, made.text, known)) if made else ()


def _notes(outside: dict[str, int], functions: int, waiting: int) -> Iterator[str]:
    if waiting:
        yield f"{plural(waiting, 'condition waits', 'conditions wait')} for the shape of a node refuted above"
    for operator, nodes in sorted(outside.items()):
        many = plural(nodes, f"node of {operator} was", f"nodes of {operator} were")
        yield f"{many} not asked: the edition has no rules of this operator here"
    if functions:
        many = plural(functions, "node of model-local functions was", "nodes of model-local functions were")
        yield f"{many} not asked: their values have shapes in each call only"
