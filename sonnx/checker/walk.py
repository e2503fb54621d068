"""The check: every active rule is evaluated for every subject of a model, in one walk over its scopes.

The facts of a value are its declaration; where that states no number, what the shape expression of its operator gives.
Equal declarations, and equal calls on equal facts, are evaluated once: facts have row numbers in a table, and a call is
found by the row numbers of its facts, because numbers are compared faster than facts.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sonnx.base.escaping import escape, quote
from sonnx.checker.call import Inputs, judge_facts, judge_form
from sonnx.checker.environment import NOTHING_STATED, constant_facts, declared_facts, is_sparse
from sonnx.checker.graph_rules import Call, Violation
from sonnx.checker.report import Report, Verdict, Where
from sonnx.checker.report_builder import ReportBuilder, notes
from sonnx.checker.rules import ActiveRules, SubjectResults, evaluate_rule, subject_results
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import NOT_STATED, Attribute, Function, Model, Node, Tensor, Type
from sonnx.model.scopes import Scope, function_key, nested, scopes, standard
from sonnx.profile import catalogue
from sonnx.profile.signature import Signature, signature

if TYPE_CHECKING:
    from sonnx.checker.tailoring import Tailoring


Rows = tuple[int, ...]
"""Row numbers of facts."""

OMITTED = 0
"""The row number of an omitted input or output."""


class FactTable:
    """The different facts of one check, each with a row number."""

    def __init__(self) -> None:
        self.rows: dict[TensorFacts, int] = {}
        self.known: list[TensorFacts | None] = [None]

    def row(self, facts: TensorFacts) -> int:
        """The row number of facts; new ones are added."""
        found = self.rows.get(facts)
        if found is None:
            found = self.rows[facts] = len(self.known)
            self.known.append(facts)
        return found

    def facts(self, rows: Rows) -> list[TensorFacts | None]:
        """The facts with these row numbers, None for an omitted input or output."""
        return [self.known[row] for row in rows]


class CallForm:
    """Calls that differ only in the facts of their tensors, with the results that do not depend on these."""

    def __init__(self, call: Call, active: ActiveRules) -> None:
        self.call, self.active = call, active
        self.results = judge_form(call, active)

    def evaluate(self, inputs: Inputs, outputs: Inputs) -> tuple[SubjectResults, list[TensorFacts]]:
        """All results of one of the calls, and the facts of its outputs."""
        more, computed = judge_facts(self.call, inputs, outputs, self.active)
        return subject_results([*self.results, *more]), computed


class TypeResults(NamedTuple):
    """A declared type, the row number of its facts, and the results of the rules about values."""

    type: Type
    row: int
    results: SubjectResults


class CallResults(NamedTuple):
    """The results of a call, the row numbers of the facts of its outputs, and its signature."""

    results: SubjectResults
    rows: Rows
    signature: Signature | None


class CallCache(NamedTuple):
    """The calls evaluated so far in scopes that import the same operator sets, and their forms."""

    calls: dict[Any, CallResults]
    forms: dict[Any, CallForm]


SPARSE = Type("sparse tensor", None, None, True)


def judge_model(
    model: Model, name: str, edition: str, *, strict_versions: bool = False, tailoring: Tailoring | None = None
) -> Report:
    """The report on a model under an edition; `name` is what the report calls the file."""
    strict = strict_versions or (tailoring is not None and tailoring.strict_versions)
    return _Check(model, ActiveRules(catalogue.editions().editions[edition], strict, tailoring)).run(name)


class _Check:
    """One walk over a model: collects results in a report builder, and caches those of equal subjects."""

    def __init__(self, model: Model, active: ActiveRules) -> None:
        self.model, self.active = model, active
        self.builder = ReportBuilder(active)
        self.functions = {function_key(function) for function in model.functions}
        self.signatures: dict[tuple[str, int], Signature] = {}
        self.nodes = 0
        self.table = FactTable()
        self.of_type: dict[Type, TypeResults] = {}
        self.by_identity: dict[int, TypeResults] = {}
        self.of_scopes: dict[Any, CallCache] = {}
        self.rows_in: dict[int, dict[str, int]] = {}

    def run(self, name: str) -> Report:
        for rule in self.active.deciding("model"):
            self._decide(rule, Where("", "model"), self.model, self.active.editions)
        for index, function in enumerate(self.model.functions):
            self._function(function, f"function[{index}]")
        used: set[str] = set()
        for scope in scopes(self.model):
            self._scope(scope)
            used.update([node.domain for node in scope.graph.nodes])
        for place, graph in self.model.training:
            for scope in nested(Scope(escape(place), graph, {})):
                self._values(scope)
        for text in notes(self.model, used, self.signatures.values(), self.active.edition):
            self.builder.add_note(text)
        return self.builder.report(name, self.nodes, self.signatures.values())

    def _decide(self, rule: Any, where: Where, *subject: Any) -> None:
        """Evaluate a rule that a function decides: one pass for the subject, or a failure for each violation."""
        found: Violation | None = None
        for found in self.active.decide(rule)(*subject):
            place = "/".join(filter(None, (where.place, found.place))) or "model"
            kind = "node" if found.operator else "value" if found.name else where.kind
            name = found.name or ("" if found.operator else where.name)
            self.builder.add_failure(rule, found.actual, Where(place, kind, name, found.operator))
        if found is None:
            self.builder.add_pass(rule)

    def _function(self, function: Function, place: str) -> None:
        where = Where(place, "function", function.name)
        for rule in self.active.deciding("function"):
            self._decide(rule, where, function)
        for attribute in function.defaults:
            self._attribute(attribute, place)

    def _scope(self, scope: Scope) -> None:
        where = Where(scope.place, "graph", scope.graph.name)
        for rule in self.active.deciding("graph"):
            self._decide(rule, where, scope)
        facts = self.rows_in[id(scope)] = self._values(scope)
        self._default_inputs(scope)
        self._nodes(scope, facts)

    # Values, by their declarations

    def _values(self, scope: Scope) -> dict[str, int]:
        """Evaluate the rules about each value of a scope; return the row numbers of the facts before any node."""
        graph, facts = scope.graph, {"": OMITTED}
        for kind, listed in (("input", graph.inputs), ("output", graph.outputs)):
            for index, value in enumerate(listed):
                row = facts.get(value.name)
                if row is None:
                    facts[value.name] = self._value(scope, value.type, kind, index, value.name)
                elif (
                    value.name and self._declared(value.type).row != row
                ):  # listed again with another type: each entry must be complete
                    self._value(scope, value.type, kind, index, value.name)
        for index, value in enumerate(graph.value_info):
            if value.name not in facts:
                facts[value.name] = self._value(scope, value.type, "value_info", index, value.name)
        for index, tensor in enumerate(graph.initializers):
            self._value(scope, Type("tensor", tensor.element, tensor.dims), "initializer", index, tensor.name)
            self._tensor(tensor, f"{scope.place}/initializer[{index}]")
            if tensor.name:
                facts[tensor.name] = self.table.row(self._constant(scope, tensor))
        for index, sparse in enumerate(graph.sparse_initializers):
            type_ = Type("sparse tensor", sparse.element, sparse.dims, True)
            facts.setdefault(sparse.name, self._value(scope, type_, "sparse_initializer", index, sparse.name))
        for index, node in enumerate(graph.nodes):
            for name in node.outputs:
                if name not in facts:
                    facts[name] = self._value(scope, NOT_STATED, "node", index, name)
            if node.attributes:
                for attribute in node.attributes:
                    self._attribute(attribute, scope.node_place(index))
        if scope.function is not None:
            self._function_values(scope, len(facts) - 1)
        return facts

    def _constant(self, scope: Scope, tensor: Tensor) -> TensorFacts:
        """The facts of an initializer; from IR version 4 on, the caller may replace one that is also a graph input."""
        facts = constant_facts(tensor)
        replaceable = tensor.name in scope.graph_inputs and (self.model.ir_version or 0) >= 4
        return facts._replace(values=NOTHING_STATED.values) if replaceable else facts

    def _declared(self, type_: Type) -> TypeResults:
        """The results for a type; the reader interns types, so that most are found by identity.

        The cached `TypeResults` keeps the type alive, so that its identity stays unique.
        """
        found = self.by_identity.get(id(type_))
        if found is None:
            found = self.of_type.get(type_)
            if found is None:
                facts = NOTHING_STATED if type_ == NOT_STATED else declared_facts(type_)
                found = self.of_type[type_] = TypeResults(type_, self.table.row(facts), self._value_results(facts))
            self.by_identity[id(found.type)] = found
        return found

    def _value_results(self, facts: TensorFacts) -> SubjectResults:
        names = {"value": facts, "element_types": self.active.edition.element_types}
        return subject_results([evaluate_rule(rule, demand, names) for rule, demand in self.active.about("value")])

    @cached_property
    def _sparse_results(self) -> SubjectResults:
        """The results for an attribute with a sparse tensor; it is not a value, so other rules do not apply."""
        results = self._declared(SPARSE).results
        return subject_results([result for result in results.reported if result.rule.slug == "no-sparse-tensor"])

    def _value(self, scope: Scope, type_: Type, kind: str, index: int, name: str) -> int:
        """Evaluate the rules about a value, and return the row number of its facts.

        Values of a function are reported together, except sparse ones.
        """
        found = self._declared(type_)
        if scope.function is None or type_.holds_sparse:
            if found.results.reported:
                self.builder.add(found.results, Where(f"{scope.place}/{kind}[{index}]", "value", name))
            else:
                self.builder.uses[found.results] += 1
        return found.row

    def _function_values(self, scope: Scope, number: int) -> None:
        text = f"{number} values of the function have the types and shapes of each call"
        where = Where(scope.place, "function", scope.graph.name)
        for result in self._declared(NOT_STATED).results.reported:
            if result.verdict is Verdict.FAIL:
                self.builder.add_failure(result.rule, text, where)
            else:
                self.builder.add(subject_results([result]), where)

    def _attribute(self, attribute: Attribute, place: str) -> None:
        here = Where(f"{place}/{escape(attribute.name)}", "value", attribute.name)
        if is_sparse(attribute):
            self.builder.add(self._sparse_results, here)
        for value in attribute.value if isinstance(attribute.value, tuple) else (attribute.value,):
            if isinstance(value, Tensor):
                self._tensor(value, here.place)

    def _tensor(self, tensor: Tensor, place: str) -> None:
        for rule in self.active.deciding("tensor"):
            self._decide(rule, Where(place, "tensor", tensor.name), tensor)
        if tensor.external is not None:
            self.builder.add_note("external data are not read; their descriptions are checked")

    def _default_inputs(self, scope: Scope) -> None:
        """An initializer of a graph input is a default value from IR version 4 on; before, it is a constant."""
        both = [tensor.name for tensor in scope.graph.initializers if tensor.name in scope.graph_inputs]
        if both and (self.model.ir_version or 0) < 4:
            self.builder.add_note("graph inputs with an initializer are constants, because the IR version is below 4")
            return
        for name in both:
            for rule, demand in self.active.about("parameter"):
                result = evaluate_rule(rule, demand, {"parameter": {"written": False, "value_when_absent": True}})
                if result.verdict is Verdict.FAIL:
                    text = f"the graph input {quote(name)} has an initializer as its default"
                    self.builder.add_failure(rule, text, Where(f"{scope.place}/initializer", "value", name))

    # Nodes, by their calls

    def _nodes(self, scope: Scope, facts: dict[str, int]) -> None:
        """Evaluate the rules about each node; equal calls on equal facts are found by their row numbers."""
        cache = self.of_scopes.setdefault((tuple(scope.imports.items()), scope.function is None), CallCache({}, {}))
        known = cache.calls
        uses = self.builder.uses
        for index, node in enumerate(scope.graph.nodes):
            try:
                inputs = tuple([facts[name] for name in node.inputs])
            except KeyError:
                inputs = tuple([self._look_up(scope, facts, name) for name in node.inputs])
            outputs = tuple([facts[name] for name in node.outputs])
            attributes = tuple(map(id, node.attributes)) if node.attributes else ()
            key = (node.operator, node.domain, node.overload, inputs, outputs, attributes)
            found = known.get(key)
            if found is None:
                found = known[key] = self._call_results(cache, scope, node, inputs, outputs)
            if found.results.reported:
                operator_set = scope.imports.get(standard(node.domain))
                where = Where(scope.node_place(index), "node", node.name, node.operator, operator_set)
                self.builder.add(found.results, where, node, found.signature)
            else:
                uses[found.results] += 1
            if found.rows != outputs:
                facts.update(zip(node.outputs, found.rows, strict=True))
                facts[""] = OMITTED
        self.nodes += len(scope.graph.nodes)

    def _look_up(self, scope: Scope, facts: dict[str, int], name: str) -> int:
        """The row number of the facts of a name, from this graph or one around it."""
        found = facts.get(name)
        outer = scope.outer
        while found is None and outer is not None:
            found = self.rows_in[id(outer)].get(name)
            outer = outer.outer
        return self._declared(NOT_STATED).row if found is None else found

    def _call_results(self, cache: CallCache, scope: Scope, node: Node, inputs: Rows, outputs: Rows) -> CallResults:
        pattern = tuple([row != OMITTED for row in inputs]), tuple([row != OMITTED for row in outputs])
        key = (node.operator, node.domain, node.overload, pattern, tuple(map(id, node.attributes)))
        form = cache.forms.get(key)
        if form is None:
            form = cache.forms[key] = CallForm(self._call(scope, node, standard(node.domain)), self.active)
        given, named = (self.table.facts(rows) for rows in (inputs, outputs))
        results, computed = form.evaluate(given, named)
        return CallResults(results, tuple(map(self.table.row, computed)), form.call.signature)

    def _call(self, scope: Scope, node: Node, domain: str) -> Call:
        calls_function = (domain, node.operator, node.overload) in self.functions
        edition = self.active.edition
        status = "" if domain or calls_function else edition.status(node.operator)
        definition = catalogue.operator(node.operator) if status else None
        operator_set = scope.imports.get(domain)
        version = definition.version_at(operator_set) if definition and operator_set is not None else None
        found = signature(node.operator, version, edition.name) if version is not None else None
        if found is not None:
            self.signatures[found.operator, found.version] = found
        return Call(
            operator=node.operator,
            domain=domain,
            overload=node.overload,
            operator_set=operator_set,
            version=version,
            attributes=node.attributes,
            inputs=tuple(map(bool, node.inputs)),
            outputs=tuple(map(bool, node.outputs)),
            known=definition,
            signature=found,
            status=status,
            imported=domain in scope.imports or calls_function,
            in_function=scope.function is not None,
            calls_function=calls_function,
            strict=self.active.strict,
        )
