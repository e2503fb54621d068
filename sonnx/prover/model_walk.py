"""Proofs about whole models: the rules of every node, for all values of the symbolic dimensions.

The interpreter walks the model with facts whose dimensions may be symbols.  Equal calls on equal facts are proved once.
Constants and equal symbols fold; the solver gets the remaining questions one by one.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from sonnx.base.budget import OutOfTime, is_over
from sonnx.base.errors import Unfinished
from sonnx.base.escaping import plural
from sonnx.checker.checker import evaluate_model
from sonnx.checker.conditions import MODEL, Conditions
from sonnx.checker.report import Report
from sonnx.checker.report_builder import Subject
from sonnx.checker.request import open_model
from sonnx.checker.rules import ActiveRules
from sonnx.checker.verdicts import Verdict, Where
from sonnx.graph.call import Calls
from sonnx.graph.interpreter import Interpretation, interpret
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Model
from sonnx.model.sources import name_of
from sonnx.model.symbols import bind_symbols
from sonnx.profile import catalogue
from sonnx.prover import solvers
from sonnx.prover.call_proof import NO_TIME, NOT_COMPUTED, CallProofs, RuleProof, SymbolicDomain
from sonnx.prover.driver import require
from sonnx.prover.model_proof import ModelProof, ModelQuestion, Open, ProofCounts, Refuted, Unprovable
from sonnx.prover.options import ProofOptions
from sonnx.prover.own_context import own_context
from sonnx.prover.smt_values import folding
from sonnx.prover.solvers import CONFIRMING_SOLVER
from sonnx.prover.symbols import Symbols, ordered_symbols
from sonnx.prover.weakest_condition import conjunction_as_text, weakest_condition

MAX_CONFIRMING_CHECKS = 8
"""Different counterexamples for which the whole model is checked; later ones are reported with their values only."""


MAX_ROUNDS = 4
"""How often a condition is extended by what the rules need that are not proved under it."""


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """The model to prove, with what its proof states of it.

    `solver` decides, and "all" has a second one confirm each answer; `questions` keeps the questions in the proof.
    """

    model: Model
    name: str
    edition: str
    solver: str = "z3"
    questions: bool = False
    conditions: Conditions | None = None
    """What the proof holds for; None for the edition alone."""

    def quick(self) -> ProofRequest:
        """The same without a second solver and without questions."""
        return ProofRequest(self.model, self.name, self.edition)


@own_context()
@folding()
def prove(request: ProofRequest, assume: tuple[str, ...]) -> ModelProof:
    """The proof of a model under assumptions, with a condition that is checked to be sufficient."""
    proof = _proof(request, assume)
    if not proof.refuted or any(refuted.always for refuted in proof.refuted) or not proof.constraint:
        return proof
    conditions, later = [proof.constraint], Counter[str]()
    for _ in range(MAX_ROUNDS):
        try:
            again = _proof(request.quick(), (*proof.assumptions, *conditions))
        except (Unprovable, Unfinished, OutOfTime):  # no condition states a symbol's name, or none can hold
            break
        if not again.refuted and not again.open:
            return _stated(proof, conditions, later, sufficient=True)
        later.update(refuted.rule for refuted in again.refuted)
        if not again.constraint or any(refuted.always for refuted in again.refuted):
            break
        conditions.append(again.constraint)
    return _stated(proof, conditions, later, sufficient=False)


def _stated(proof: ModelProof, conditions: list[str], later: Counter[str], *, sufficient: bool) -> ModelProof:
    """The proof with the conjunction of the conditions, and a note on the rules that needed the later ones."""
    text = conditions[0]
    if later:
        text = conjunction_as_text(conditions, Symbols(proof.symbols, proof.assumptions))
    notes = proof.notes
    if later:
        notes = (f"the condition is also about {', '.join(sorted(later))}: refuted under the first part", *notes)
    return replace(proof, constraint=text, sufficient=sufficient, notes=notes)


def _proof(request: ProofRequest, assume: tuple[str, ...]) -> ModelProof:
    model, rules = request.model, ActiveRules(catalogue.editions().editions[request.edition])
    symbols = Symbols(ordered_symbols(model), assume)
    interpretation = interpret(model, SymbolicDomain(rules, symbols), Calls(model, rules.edition))
    return _Results(request, interpretation, symbols, rules).proof()


@dataclass(slots=True)
class _ProvedCall:
    """One different call: the proofs of its rules, its first place, and how many nodes make it."""

    result: CallProofs
    where: Where
    nodes: int = 0


def _calls(interpretation: Interpretation[TensorFacts, CallProofs]) -> list[_ProvedCall]:
    """The different calls outside functions; equal calls on equal facts share one result."""
    calls: dict[CallProofs, _ProvedCall] = {}
    for scope, visit in interpretation.visits():
        if scope.function is None:
            place, node = scope.node_place(visit.position), visit.node
            where = Where(place, "node", node.name, node.operator, visit.call.operator_set)
            calls.setdefault(visit.result, _ProvedCall(visit.result, where)).nodes += 1
    return list(calls.values())


class _Results:
    """The results of the walk, with each counterexample confirmed by the checker."""

    def __init__(
        self,
        request: ProofRequest,
        interpretation: Interpretation[TensorFacts, CallProofs],
        symbols: Symbols,
        rules: ActiveRules,
    ) -> None:
        self.request, self.interpretation, self.symbols, self.rules = request, interpretation, symbols, rules
        self.solvers = ("z3", CONFIRMING_SOLVER["int"]) if request.solver == "all" else (request.solver,)
        self.kept = request.questions or len(self.solvers) > 1
        self.questions: list[ModelQuestion] = []
        self.reports: dict[tuple[tuple[str, int], ...], Report] = {}
        self.refuted: list[Refuted] = []
        self.constraints: dict[str, None] = {}
        self.open: list[Open] = []
        self.waiting: Counter[str] = Counter()

    def proof(self) -> ModelProof:
        """The result of the walk as data."""
        calls = _calls(self.interpretation)
        in_functions = sum(
            len(scope.visits) for scope in self.interpretation.scopes if scope.scope.function is not None
        )
        judged = [row for row in calls if row.result.signature is not None]
        for proved_call in judged:
            for rule_proof in proved_call.result.proofs:
                self._collect(proved_call, rule_proof)
        outside: Counter[str] = Counter()
        for call in calls:
            if call.result.signature is None:
                outside[call.where.operator] += call.nodes
        constraint = self._constraint()
        behind = sum(row.nodes * len(row.result.waiting) for row in judged)
        return ModelProof(
            name=self.request.name,
            conditions=self.request.conditions or self.rules.conditions,
            symbols=self.symbols.names,
            assumptions=self.symbols.assumptions,
            nodes=sum(row.nodes for row in calls) + in_functions,
            nodes_judged=sum(row.nodes for row in judged),
            asked=sum(row.nodes * len(row.result.proofs) for row in judged),
            proved=sum(row.nodes * sum(a.verdict == "proved" for a in row.result.proofs) for row in judged),
            distinct=len(judged),
            queries=self.symbols.queries,
            refuted=tuple(self.refuted),
            open=tuple(self.open),
            constraint=constraint,
            notes=tuple(_notes(outside, in_functions, self.waiting.total(), behind, self.rules)),
            rules=tuple(self._counts(judged)),
            solvers=self.solvers,
            questions=tuple(self.questions),
        )

    def _counts(self, judged: list[_ProvedCall]) -> Iterator[ProofCounts]:
        """By rule: at how many nodes it is proved, and at how many it waits for a shape or for another rule."""
        proved: Counter[str] = Counter()
        waiting = Counter(self.waiting)
        for proved_call in judged:
            for proof in proved_call.result.proofs:
                proved[proof.rule.slug] += proved_call.nodes * (proof.verdict == "proved")
            for rule in proved_call.result.waiting:
                proved[rule.slug] += 0
                waiting[rule.slug] += proved_call.nodes
        yield from (ProofCounts(slug, proved[slug], waiting[slug]) for slug in sorted(proved))

    def _collect(self, call: _ProvedCall, proof: RuleProof) -> None:
        where = call.where
        if self.kept and not isinstance(proof.question, bool):
            self._ask(call, proof)
        if proof.reason == NOT_COMPUTED.reason and self.refuted:
            self.waiting[proof.rule.slug] += call.nodes
        elif proof.verdict == "open":
            self.open.append(Open(proof.rule.slug, where, call.nodes, proof.reason))
        if proof.verdict != "refuted":
            return
        numbers = tuple(proof.counterexample.items())
        if is_over() and numbers not in self.reports:  # a check of the whole model may take long
            self.open.append(Open(proof.rule.slug, where, call.nodes, NO_TIME))
            return
        actual = self._confirmed(proof, where, numbers)
        if actual is None:
            reason = "a check does not confirm the counterexample of the solver: this is a defect of sonnx"
            self.open.append(Open(proof.rule.slug, where, call.nodes, reason))
            return
        always = self.symbols.always(proof.fails)
        constraint = "" if always else weakest_condition(proof.holds, self.symbols)
        self.constraints[constraint] = None
        constraint = self.symbols.printed(constraint)
        self.refuted.append(
            Refuted(
                proof.rule.slug, where, call.nodes, proof.demand, proof.counterexample, actual, constraint, always,
                proof.matters,
            )
        )  # fmt: skip

    def _ask(self, call: _ProvedCall, proof: RuleProof) -> None:
        """Keep the question that decided a rule, with the answers of the other solvers; a contradiction opens it."""
        text = self.symbols.script(proof.question)
        expected: Literal["unsat", "sat"] = "unsat" if proof.verdict == "proved" else "sat"
        answers = tuple(solvers.ask(solver, text) for solver in self.solvers[1:])
        self.questions.append(ModelQuestion(proof.rule.slug, call.where, call.nodes, text, expected, answers))
        for answer in answers:
            if answer.result in ("sat", "unsat") and answer.result != expected:
                reason = f"z3 answers {expected} and {answer.solver} answers {answer.result}"
                self.open.append(Open(proof.rule.slug, call.where, call.nodes, reason))

    def _confirmed(self, proof: RuleProof, where: Where, numbers: tuple[tuple[str, int], ...]) -> str | None:
        """The facts with which the rule fails in a check with these values of the symbols; None if it does not fail."""
        report = self.reports.get(numbers)
        if report is None:
            if len(self.reports) >= MAX_CONFIRMING_CHECKS:
                return "not confirmed by a check: only the first counterexamples are"
            bound = bind_symbols(self.request.model, dict(numbers)) if numbers else self.request.model
            rules = ActiveRules(self.rules.edition)
            subject = Subject.of(bound, self.request.name, rules.conditions)
            report = self.reports[numbers] = evaluate_model(bound, rules, subject)
        for finding in report.findings:
            if (finding.rule, finding.where.place) == (proof.rule.slug, where.place):
                return finding.actual if finding.verdict is Verdict.FAIL else None
        return None

    def _constraint(self) -> str:
        """The conjunction of all constraints, "" if one has no short text."""
        if any(refuted.always for refuted in self.refuted):
            return "no choice of sizes satisfies all conditions"
        if not self.constraints or "" in self.constraints:
            return ""
        return self.symbols.printed(conjunction_as_text(self.constraints, self.symbols))


def _notes(outside: Mapping[str, int], functions: int, waiting: int, behind: int, rules: ActiveRules) -> Iterator[str]:
    if waiting:
        yield f"{plural(waiting, 'condition waits', 'conditions wait')} for the shape of a node that is refuted above"
    if behind:
        many = plural(behind, "condition waits", "conditions wait")
        yield f"{many} for a rule of the same node that is not proved"
    for operator, nodes in sorted(outside.items()):
        skipped = plural(nodes, f"{operator} node was", f"{operator} nodes were")
        yield f"{skipped} skipped: the edition has no rules for {operator} here"
    if functions:
        skipped = plural(functions, "node of model-local functions was", "nodes of model-local functions were")
        yield f"{skipped} skipped: their values have shapes in each call only"
    number = plural(len(rules.slugs), "general rule", "general rules")
    yield f"{number}, such as explicit-shape and explicit-type, are not part of a proof; sonnx check evaluates them"


DEFAULT_OPTIONS = ProofOptions()


def prove_model(source: str | os.PathLike[str] | bytes, options: ProofOptions = DEFAULT_OPTIONS) -> ModelProof:
    """Prove or refute that the rules about the nodes of a model hold for all values of its symbolic dimensions.

    Raises:
        Unreadable: the source is not a readable ONNX model.
        UsageError: an unknown edition, or a solver that is not installed.
        Unprovable: an assumption does not parse, names no symbol of the model, or cannot hold.
        Unfinished: the solver does not decide whether the assumptions can hold.
    """
    chosen = catalogue.edition_named(options.edition).name
    model, digest = open_model(source, options.hashed, options.limits)
    sized = bind_symbols(model, {}, options.input_shapes)
    require(["z3", CONFIRMING_SOLVER["int"]] if options.solver == "all" else [options.solver])
    conditions = Conditions.of(options).with_digest(MODEL, digest)
    request = ProofRequest(sized, name_of(source, options.name), chosen, options.solver, options.questions, conditions)
    return prove(request, tuple(options.assume))
