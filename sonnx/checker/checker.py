"""The check: every rule in force, for every subject of a model.

The interpreter gives the facts of all values and the results of the rules about all calls; here the rules about files,
graphs, values and tensors are added, and everything gets its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from sonnx.base.escaping import escape, quote
from sonnx.checker.checked_calls import CheckedCall, RecordingDomain
from sonnx.checker.facts_domain import FactsDomain, KnownCalls
from sonnx.checker.report import Report
from sonnx.checker.report_builder import ReportBuilder, Subject, notes
from sonnx.checker.rules import ActiveRules, KnownResults, SubjectResults, subject_results
from sonnx.checker.verdicts import Verdict, Violation, Where
from sonnx.graph.call import Calls
from sonnx.graph.environment import NOTHING_STATED, is_sparse
from sonnx.graph.interpreter import Interpretation, ScopeResult, interpret
from sonnx.graph.views import Views
from sonnx.language.evaluator import TensorFacts
from sonnx.language.steps import steps_of_model
from sonnx.model.ir import NOT_STATED, Attribute, Function, Model, Tensor, Type
from sonnx.model.scopes import Scope, nested_scopes

StatedFacts = Interpretation[TensorFacts, SubjectResults]
"""A model in the domain of stated facts: a fact for each value, the results of all rules about each call."""

SPARSE = Type("sparse tensor", None, None, True)


def evaluate_model(
    model: Model,
    rules: ActiveRules,
    about: Subject,
    known_calls: KnownCalls | None = None,
    calls: list[CheckedCall] | None = None,
) -> Report:
    """The report on a model under active rules.

    Args:
        model: the model, with numbers in place of the symbolic dimensions that are bound.
        rules: the active rules; they keep what they find for later evaluations.
        about: what the report says of the model besides its results.
        known_calls: see `FactsDomain`.
        calls: takes the different calls, in the order in which the check comes to them; then `known_calls` is not used.
    """
    with steps_of_model(model.limits["steps"]):
        return check_facts(stated_facts(model, rules, known_calls, calls), rules, about)


def stated_facts(
    model: Model, rules: ActiveRules, known_calls: KnownCalls | None = None, calls: list[CheckedCall] | None = None
) -> StatedFacts:
    """What a model states: the facts of its values, and the results of the rules about its calls."""
    domain = (
        FactsDomain(rules, model.limits["findings"], known_calls) if calls is None else RecordingDomain(rules, calls)
    )
    return interpret(model, domain, Calls(model, rules.edition, strict=rules.strict))


def check_facts(facts: StatedFacts, rules: ActiveRules, about: Subject) -> Report:
    """The report on a model whose facts are known."""
    return _Check(facts, rules).run(about)


class _Check:
    """One pass over an interpretation; what it reads is frozen, what it writes is the report."""

    def __init__(self, facts: StatedFacts, rules: ActiveRules) -> None:
        self.facts, self.model, self.rules = facts, facts.model, rules
        self.builder = ReportBuilder(rules, self.model.limits["findings"])
        self.domain = FactsDomain(rules)
        self.known = KnownResults()
        self.of_values: dict[TensorFacts, SubjectResults] = {}
        self.of_numbers: dict[int, SubjectResults] = {}
        self.of_tensors: dict[tuple[str | None, tuple[int, ...]], SubjectResults] = {}
        self.without_tensors: set[int] = set()  # identities of attributes
        self.faultless: dict[int, int] = {}  # the number of tensors of attributes without a defect, by identity

    def run(self, about: Subject) -> Report:
        self._decide("model", Where("", "model"), self.model, self.rules.editions)
        for index, function in enumerate(self.model.functions):
            self._function(function, f"function[{index}]")
        for visited in self.facts.scopes:
            self._scope(visited)
        for place, graph in self.model.training:
            for scope in nested_scopes(Scope(escape(place), graph, {})):
                self._values(scope, {})
        signatures = self.facts.calls.signatures()
        domains = {node.domain for visited in self.facts.scopes for node in visited.scope.graph.nodes}
        for text in notes(self.model, domains, signatures, self.rules.edition):
            self.builder.add_note(text)
        return self.builder.report(about, sum(len(visited.visits) for visited in self.facts.scopes), signatures)

    def _decide(self, kind: str, where: Where, *subject: Any) -> bool:
        """Decide the rules of graph.toml about a subject: one pass of each rule, or one failure for each defect.

        Returns:
            whether there is no defect.
        """
        builder, faultless = self.builder, True
        for rule, decide in self.rules.decided_about(kind):
            violation: Violation | None = None
            for violation in decide(*subject):
                if builder.lists_failure(rule, violation.verdict):
                    place = "/".join(filter(None, (where.place, violation.place))) or "model"
                    what = "node" if violation.operator else "value" if violation.name else where.kind
                    name = violation.name or ("" if violation.operator else where.name)
                    here = Where(place, what, name, violation.operator)
                    builder.list_failure(rule, violation.actual, here, violation.verdict, violation.cause)
            if violation is None:
                builder.add_pass(rule)
            else:
                faultless = False
        return faultless

    def _function(self, function: Function, place: str) -> None:
        where = Where(place, "function", function.name)
        self._decide("function", where, function)
        for attribute in function.defaults:
            self._attribute(attribute, place)

    def _scope(self, visited: ScopeResult[TensorFacts, SubjectResults]) -> None:
        scope = visited.scope
        where = Where(scope.place, "graph", scope.graph.name)
        self._decide("graph", where, scope)
        self._values(scope, visited.declared)
        self._default_inputs(scope)
        quiet = Counter([visit.result for visit in visited.visits if not visit.result.reported])
        self.builder.uses.update(quiet)
        for visit in visited.visits if quiet.total() < len(visited.visits) else ():
            if visit.result.reported:
                node, call = visit.node, visit.call
                output = next(filter(None, node.outputs), "")
                at = scope.node_place(visit.position)
                place = Where(at, "node", node.name, node.operator, call.operator_set, output)
                self.builder.add(visit.result, place, node, call.signature)

    # Values: by their declarations

    def _values(self, scope: Scope, declared: Mapping[str, int]) -> None:
        """Check each value of a scope once, by what its declarations state together; a graph input or output that is
        listed again must be complete there too.  Entries of value_info add nothing to a constant.
        """
        graph, seen, value_of, without_tensors = scope.graph, {""}, self._keep, self.without_tensors
        interface, constants = set[tuple[str, Type]](), {tensor.name for tensor in graph.initializers}
        for kind, listed in (("input", graph.inputs), ("output", graph.outputs), ("value_info", graph.value_info)):
            for index, value in enumerate(listed):
                if kind == "value_info":
                    if value.name in seen or value.name in constants:
                        continue
                    number = declared.get(value.name)
                elif not value.name or (value.name, value.type) in interface:
                    continue
                else:
                    interface.add((value.name, value.type))
                    number = None
                seen.add(value.name)
                results = self._of_type(value.type) if number is None else self._of_number(number)
                value_of(scope, results, kind, index, value.name, sparse=value.type.holds_sparse)
        for index, tensor in enumerate(graph.initializers):
            value_of(scope, self._of_tensor(tensor.element, tensor.dims), "initializer", index, tensor.name)
            self._tensor(tensor, f"{scope.place}/initializer[{index}]")
            seen.add(tensor.name)
        for index, sparse in enumerate(graph.sparse_initializers):
            type_ = Type("sparse tensor", sparse.element, sparse.dims, True)
            value_of(scope, self._of_type(type_), "sparse_initializer", index, sparse.name, sparse=True)
            seen.add(sparse.name)
        for index, node in enumerate(graph.nodes):
            for name in node.outputs:
                if name not in seen:
                    seen.add(name)
                    value_of(scope, self._undeclared, "node", index, name)
            for attribute in node.attributes:
                if attribute.identity not in without_tensors:
                    self._attribute(attribute, scope.node_place(index))
        if scope.function is not None:
            self._function_values(scope, len(seen) - 1)

    def _of_number(self, number: int) -> SubjectResults:
        """The results of the rules about values, for the value of a number."""
        results = self.of_numbers.get(number)
        if results is None:
            results = self.of_numbers[number] = self._evaluated(self.facts.values[number] or NOTHING_STATED)
        return results

    def _of_tensor(self, element: str | None, dims: tuple[int, ...]) -> SubjectResults:
        results = self.of_tensors.get((element, dims))
        if results is None:
            results = self.of_tensors[element, dims] = self._of_type(Type("tensor", element, dims))
        return results

    def _of_type(self, type_: Type) -> SubjectResults:
        return self._of_facts(self.domain.declared(type_))

    def _of_facts(self, facts: TensorFacts) -> SubjectResults:
        results = self.of_values.get(facts)
        if results is None:
            results = self.of_values[facts] = self._evaluated(facts)
        return results

    def _evaluated(self, facts: TensorFacts) -> SubjectResults:
        views = Views({"value": facts, "element_types": self.rules.edition.element_types})
        views["element_types", ()] = ()  # they are those of the edition
        about_values, listing = self.rules.conditions_about("value"), self.builder.listing
        return self.known.of([condition.result(views, listing) for condition in about_values])

    @cached_property
    def _undeclared(self) -> SubjectResults:
        return self._of_type(NOT_STATED)

    @cached_property
    def of_sparse(self) -> SubjectResults:
        """The result for an attribute that holds a sparse tensor: it is not a value, so no other rule is about it."""
        results = self._of_type(SPARSE)
        return subject_results([result for result in results.reported if result.rule.slug == "no-sparse-tensor"])

    def _keep(
        self, scope: Scope, results: SubjectResults, kind: str, index: int, name: str, *, sparse: bool = False
    ) -> None:
        """Keep the results for one value; those of a function are checked together, sparse ones apart."""
        if scope.function is not None and not sparse:
            return
        if results.reported:
            self.builder.add(results, Where(f"{scope.place}/{kind}[{index}]", "value", name))
        else:
            self.builder.uses[results] += 1

    def _function_values(self, scope: Scope, number: int) -> None:
        text = f"{number} values of the function have the types and shapes of each call"
        where = Where(scope.place, "function", scope.graph.name)
        for result in self._of_type(NOT_STATED).reported:
            if result.verdict is Verdict.FAIL:
                self.builder.add_failure(result.rule, text, where)
            else:
                self.builder.add(subject_results([result]), where)

    def _attribute(self, attribute: Attribute, place: str) -> None:
        number_of_tensors = self.faultless.get(attribute.identity)
        if number_of_tensors is not None:
            for rule, _ in self.rules.decided_about("tensor"):
                self.builder.add_pass(rule, number_of_tensors)
            return
        tensors, sparse = [value for value in attribute.items if isinstance(value, Tensor)], is_sparse(attribute)
        if not tensors and not sparse:
            self.without_tensors.add(attribute.identity)
            return
        here = Where(f"{place}/{escape(attribute.name)}", "value", attribute.name)
        if sparse:
            self.builder.add(self.of_sparse, here)
        faultless = [self._tensor(tensor, here.place) for tensor in tensors]
        if all(faultless) and not sparse:
            self.faultless[attribute.identity] = len(tensors)

    def _tensor(self, tensor: Tensor, place: str) -> bool:
        """Decide the rules about a tensor, and return whether it has neither a defect nor external data."""
        faultless = self._decide("tensor", Where(place, "tensor", tensor.name), tensor)
        if tensor.external is not None:
            asked = "the sizes of their files are" if tensor.external.file is not None else "their files are not"
            self.builder.add_note(f"external data are not read: their descriptions are checked, {asked}")
            if any(key == "checksum" for key, _ in tensor.external.entries):
                self.builder.add_note("checksums of external data are not checked; sonnx run compares them")
        return faultless and tensor.external is None

    def _default_inputs(self, scope: Scope) -> None:
        """From IR version 4 on an initializer of a graph input is a default value; before, a constant."""
        both = [tensor.name for tensor in scope.graph.initializers if tensor.name in scope.graph_inputs]
        if both and (self.model.ir_version or 0) < 4:
            self.builder.add_note("graph inputs with an initializer are constants, because the IR version is below 4")
            return
        for name in both:
            views = Views({"parameter": {"written": False, "value_when_absent": True}})
            for condition in self.rules.conditions_about("parameter"):
                result = condition.result(views)
                if result.verdict is Verdict.FAIL:
                    text = f"the graph input {quote(name)} has an initializer as its default"
                    self.builder.add_failure(result.rule, text, Where(f"{scope.place}/initializer", "value", name))
