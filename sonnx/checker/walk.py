"""The check: every rule in force, for every subject of a model.

One walk over the scopes of a model.  The facts of a value are its declaration where that states a number, else what the
operator's own shape expression computes.  Equal declarations and equal calls on equal facts are judged once.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sonnx.checker.tailoring import Tailoring
from sonnx.base.escaping import escape, quote
from sonnx.checker.call import Inputs, judge_facts, judge_form
from sonnx.checker.environment import NOTHING_STATED, constant_facts, declared_facts, is_sparse
from sonnx.checker.graph_rules import Call, Defect
from sonnx.checker.report import Report, Verdict, Where
from sonnx.checker.report_builder import ReportBuilder, notes
from sonnx.checker.rules import ActiveRules, RuleResults, evaluate_rule, outcome
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import NOT_STATED, Attribute, Function, Model, Node, Tensor, Type
from sonnx.model.scopes import Scope, function_key, nested, scopes, standard
from sonnx.profile import catalogue
from sonnx.profile.signature import Signature, signature


class Declared(NamedTuple):
    """A declared type, its facts and what the rules about values say of it."""

    type: Type
    row: int
    outcome: RuleResults


class Judged(NamedTuple):
    """What is said of a call, and the facts of its outputs after it."""

    outcome: RuleResults
    rows: Rows
    signature: Signature | None


class Memory(NamedTuple):
    """What was judged in the scopes that import the same operator sets: calls on facts, and their forms."""

    calls: dict[Any, Judged]
    forms: dict[Any, Form]


SPARSE = Type("sparse tensor", None, None, True)


def judge_model(
    model: Model, name: str, edition: str, *, strict_versions: bool = False, tailoring: Tailoring | None = None
) -> Report:
    """The report on a model under an edition; `name` is what the report calls the file."""
    strict = strict_versions or (tailoring is not None and tailoring.strict_versions)
    return _Check(model, ActiveRules(catalogue.editions().editions[edition], strict, tailoring)).run(name)


class _Check:
    """One walk; what it reads is frozen, what it writes is the tally and its memory of equal subjects."""

    def __init__(self, model: Model, in_force: ActiveRules) -> None:
        self.model, self.in_force = model, in_force
        self.tally = ReportBuilder(in_force)
        self.functions = {function_key(function) for function in model.functions}
        self.signatures: dict[tuple[str, int], Signature] = {}
        self.nodes = 0
        self.table = FactTable()
        self.of_type: dict[Type, Declared] = {}
        self.by_identity: dict[int, Declared] = {}
        self.of_scopes: dict[Any, Memory] = {}
        self.rows_in: dict[int, dict[str, int]] = {}

    def run(self, name: str) -> Report:
        for rule in self.in_force.deciding("model"):
            self._decide(rule, Where("", "model"), self.model, self.in_force.editions)
        for index, function in enumerate(self.model.functions):
            self._function(function, f"function[{index}]")
        used: set[str] = set()
        for scope in scopes(self.model):
            self._scope(scope)
            used.update([node.domain for node in scope.graph.nodes])
        for place, graph in self.model.training:
            for scope in nested(Scope(escape(place), graph, {})):
                self._values(scope)
        for text in notes(self.model, used, self.signatures.values(), self.in_force.edition):
            self.tally.note(text)
        return self.tally.report(name, self.nodes, self.signatures.values())

    def _decide(self, rule: Any, where: Where, *subject: Any) -> None:
        """Ask a rule of graph.toml: one pass for the subject, or one failure for each defect."""
        found: Defect | None = None
        for found in self.in_force.decide(rule)(*subject):
            place = "/".join(filter(None, (where.place, found.place))) or "model"
            kind = "node" if found.operator else "value" if found.name else where.kind
            name = found.name or ("" if found.operator else where.name)
            self.tally.fail(rule, found.actual, Where(place, kind, name, found.operator))
        if found is None:
            self.tally.succeed(rule)

    def _function(self, function: Function, place: str) -> None:
        where = Where(place, "function", function.name)
        for rule in self.in_force.deciding("function"):
            self._decide(rule, where, function)
        for attribute in function.defaults:
            self._attribute(attribute, place)

    def _scope(self, scope: Scope) -> None:
        where = Where(scope.place, "graph", scope.graph.name)
        for rule in self.in_force.deciding("graph"):
            self._decide(rule, where, scope)
        facts = self.rows_in[id(scope)] = self._values(scope)
        self._default_inputs(scope)
        self._nodes(scope, facts)

    # Values: by their declarations

    def _values(self, scope: Scope) -> dict[str, int]:
        """Judge each value of a scope once; the facts known before the first node, as rows of the table."""
        graph, facts = scope.graph, {"": OMITTED}
        for kind, listed in (("input", graph.inputs), ("output", graph.outputs)):
            for index, value in enumerate(listed):
                row = facts.get(value.name)
                if row is None:
                    facts[value.name] = self._value(scope, value.type, kind, index, value.name)
                elif value.name and self._declared(value.type).row != row:  # listed again: each entry must be complete
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
        """An initializer that is also a graph input may be replaced by the caller from IR version 4 on."""
        facts = constant_facts(tensor)
        replaceable = tensor.name in scope.graph_inputs and (self.model.ir_version or 0) >= 4
        return facts._replace(values=NOTHING_STATED.values) if replaceable else facts

    def _declared(self, type_: Type) -> Declared:
        """What is said of a type; types are interned by the gate, so identity finds nearly all of them."""
        found = self.by_identity.get(id(type_))
        if found is None:
            found = self.of_type.get(type_)
            if found is None:
                facts = NOTHING_STATED if type_ == NOT_STATED else declared_facts(type_)
                found = self.of_type[type_] = Declared(type_, self.table.row(facts), self._said_of(facts))
            self.by_identity[id(found.type)] = found
        return found

    def _said_of(self, facts: TensorFacts) -> RuleResults:
        names = {"value": facts, "element_types": self.in_force.edition.element_types}
        return outcome([evaluate_rule(rule, demand, names) for rule, demand in self.in_force.about("value")])

    @cached_property
    def of_sparse(self) -> RuleResults:
        """What is said of an attribute that holds a sparse tensor: it is no value, so no other rule speaks of it."""
        judged = self._declared(SPARSE).outcome
        return outcome([answer for answer in judged.loud if answer.rule.slug == "no-sparse-tensor"])

    def _value(self, scope: Scope, type_: Type, kind: str, index: int, name: str) -> int:
        """Judge one value, and return its facts; values of a function are judged together, sparse ones apart."""
        found = self._declared(type_)
        if scope.function is None or type_.holds_sparse:
            if found.outcome.loud:
                self.tally.use(found.outcome, Where(f"{scope.place}/{kind}[{index}]", "value", name))
            else:
                self.tally.uses[found.outcome] += 1
        return found.row

    def _function_values(self, scope: Scope, number: int) -> None:
        text = f"{number} values of the function have the types and shapes of each call"
        where = Where(scope.place, "function", scope.graph.name)
        for answer in self._declared(NOT_STATED).outcome.loud:
            if answer.verdict is Verdict.FAIL:
                self.tally.fail(answer.rule, text, where)
            else:
                self.tally.use(outcome([answer]), where)

    def _attribute(self, attribute: Attribute, place: str) -> None:
        here = Where(f"{place}/{escape(attribute.name)}", "value", attribute.name)
        if is_sparse(attribute):
            self.tally.use(self.of_sparse, here)
        for value in attribute.value if isinstance(attribute.value, tuple) else (attribute.value,):
            if isinstance(value, Tensor):
                self._tensor(value, here.place)

    def _tensor(self, tensor: Tensor, place: str) -> None:
        for rule in self.in_force.deciding("tensor"):
            self._decide(rule, Where(place, "tensor", tensor.name), tensor)
        if tensor.external is not None:
            self.tally.note("values that stand outside the file are not read; their descriptions are judged")

    def _default_inputs(self, scope: Scope) -> None:
        """From IR version 4 on an initializer of a graph input is a default value; before, a constant."""
        both = [tensor.name for tensor in scope.graph.initializers if tensor.name in scope.graph_inputs]
        if both and (self.model.ir_version or 0) < 4:
            self.tally.note("graph inputs with an initializer are constants, because the IR version is below 4")
            return
        for name in both:
            for rule, demand in self.in_force.about("parameter"):
                judged = evaluate_rule(rule, demand, {"parameter": {"written": False, "value_when_absent": True}})
                if judged.verdict is Verdict.FAIL:
                    text = f"the graph input {quote(name)} has an initializer as its default"
                    self.tally.fail(rule, text, Where(f"{scope.place}/initializer", "value", name))

    # Nodes: by their calls

    def _nodes(self, scope: Scope, facts: dict[str, int]) -> None:
        """Judge each node; equal calls on equal facts are found by the rows of their facts."""
        memory = self.of_scopes.setdefault((tuple(scope.imports.items()), scope.function is None), Memory({}, {}))
        known = memory.calls
        uses = self.tally.uses
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
                found = known[key] = self._judge(memory, scope, node, inputs, outputs)
            if found.outcome.loud:
                operator_set = scope.imports.get(standard(node.domain))
                where = Where(scope.node_place(index), "node", node.name, node.operator, operator_set)
                self.tally.use(found.outcome, where, node, found.signature)
            else:
                uses[found.outcome] += 1
            if found.rows != outputs:
                facts.update(zip(node.outputs, found.rows, strict=True))
                facts[""] = OMITTED
        self.nodes += len(scope.graph.nodes)

    def _look_up(self, scope: Scope, facts: dict[str, int], name: str) -> int:
        """The facts of a name from the graphs around, by its declaration there."""
        found = facts.get(name)
        outer = scope.outer
        while found is None and outer is not None:
            found = self.rows_in[id(outer)].get(name)
            outer = outer.outer
        return self._declared(NOT_STATED).row if found is None else found

    def _judge(self, memory: Memory, scope: Scope, node: Node, inputs: Rows, outputs: Rows) -> Judged:
        pattern = tuple([row != OMITTED for row in inputs]), tuple([row != OMITTED for row in outputs])
        key = (node.operator, node.domain, node.overload, pattern, tuple(map(id, node.attributes)))
        form = memory.forms.get(key)
        if form is None:
            form = memory.forms[key] = Form(self._call(scope, node, standard(node.domain)), self.in_force)
        given, named = (self.table.facts(rows) for rows in (inputs, outputs))
        judged, computed = form.judge(given, named)
        return Judged(judged, tuple(map(self.table.row, computed)), form.call.signature)

    def _call(self, scope: Scope, node: Node, domain: str) -> Call:
        calls_function = (domain, node.operator, node.overload) in self.functions
        edition = self.in_force.edition
        status = "" if domain or calls_function else edition.status(node.operator)
        described = catalogue.operator(node.operator) if status else None
        operator_set = scope.imports.get(domain)
        version = described.version_at(operator_set) if described and operator_set is not None else None
        made = signature(node.operator, version, edition.name) if version is not None else None
        if made is not None:
            self.signatures[made.operator, made.version] = made
        return Call(
            operator=node.operator,
            domain=domain,
            overload=node.overload,
            operator_set=operator_set,
            version=version,
            attributes=node.attributes,
            inputs=tuple(map(bool, node.inputs)),
            outputs=tuple(map(bool, node.outputs)),
            known=described,
            signature=made,
            status=status,
            imported=domain in scope.imports or calls_function,
            in_function=scope.function is not None,
            calls_function=calls_function,
            strict=self.in_force.strict,
        )


# ------------------------------------------------------------------
# Facts by number, so that equal calls are found by comparing numbers.


Rows = tuple[int, ...]
"""Facts by their numbers."""

OMITTED = 0
"""The row of an input or output that is left out."""


class FactTable:
    """The different facts of one check, each with a row number: numbers are compared faster than facts."""

    def __init__(self) -> None:
        self.rows: dict[TensorFacts, int] = {}
        self.known: list[TensorFacts | None] = [None]

    def row(self, facts: TensorFacts) -> int:
        """The number of these facts."""
        found = self.rows.get(facts)
        if found is None:
            found = self.rows[facts] = len(self.known)
            self.known.append(facts)
        return found

    def facts(self, rows: Rows) -> list[TensorFacts | None]:
        """The facts of numbers, None for what is left out."""
        return [self.known[row] for row in rows]


# ------------------------------------------------------------------
# The form of a call: all that does not depend on the types and shapes of its tensors.


class Form:
    """Calls that differ in the facts of their tensors only: what is said of all of them."""

    def __init__(self, call: Call, in_force: ActiveRules) -> None:
        self.call, self.in_force = call, in_force
        self.answers = judge_form(call, in_force)

    def judge(self, inputs: Inputs, outputs: Inputs) -> tuple[RuleResults, list[TensorFacts]]:
        """What is said of one of the calls, and the facts of its outputs after it."""
        more, computed = judge_facts(self.call, inputs, outputs, self.in_force)
        return outcome([*self.answers, *more]), computed
