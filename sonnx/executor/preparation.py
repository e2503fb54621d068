"""The domain of a run: values are facts, and a call gives what computes it, with the types and shapes of its outputs.

Of a conforming model the rules are those of the check, with its results where all values are stated; what the check
assumed is evaluated on the facts of the actual values.  In another model the conditions of ONNX must hold, and the
rules its values rest on: the error conditions, and those that the shape expressions rely on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from sonnx.base.errors import ErrorCondition, NotExecutable, Stop, Unfinished
from sonnx.checker.facts_domain import Facts, FactsDomain, group_results
from sonnx.checker.rules import NONE, ActiveRules, RuleResult, evaluate_rule
from sonnx.checker.verdicts import Verdict
from sonnx.executor.array_sizes import require_array
from sonnx.executor.node_validity import NodeValidity, require_stated_count
from sonnx.executor.prepared_call import PreparedCall, PreparedNode
from sonnx.graph.call import Call
from sonnx.graph.environment import NOTHING_STATED, constant_facts
from sonnx.graph.interpreter import Transferred
from sonnx.graph.views import Views
from sonnx.language.domain import Expression, given_key
from sonnx.language.evaluator import (
    RUN_TIME,
    TensorFacts,
    Unknown,
    UnknownCause,
    first_unknown,
)
from sonnx.language.steps import are_left, is_shortage
from sonnx.model.ir import Attribute, Graph, SparseTensor, Tensor, Type
from sonnx.model.limits import DEFAULT_LIMITS, Limits
from sonnx.numerics.application import (
    UNDEFINED_INPUT_ERRORS,
    Application,
    Constants,
    Definition,
    ExactPathCounts,
    NoValue,
)
from sonnx.numerics.array_facts import facts_of_array
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import (
    ELEMENTS,
    NAMES,
    TensorSpec,
    is_computed_with,
)
from sonnx.operators import Operator, operator_of
from sonnx.profile.definitions import Rule
from sonnx.profile.signature import Signature, active_condition

UNKNOWN_UNTIL_RUN = TensorFacts(RUN_TIME, RUN_TIME, RUN_TIME)

MAX_NESTED_RUNS = 32
"""Graphs inside nodes, and functions, that run one inside the other."""

MAX_KNOWN_CALLS = 1 << 14
"""Prepared calls that are remembered; a loop makes new ones in every iteration."""

MAX_COMPARED_BYTES = 64
"""Bytes of a tensor in an attribute up to which calls with equal tensors are prepared once."""


Preparation: TypeAlias = PreparedNode | Exception | None
"""What a call gives: a node ready to run, why it cannot run, or None where that depends on values not yet known."""


class RunDomain:
    """The domain of one run.

    Attributes:
        rules: the rules of the edition.
        conforming: whether the model conforms to the edition.
        definitions_only: compute by the definitions, without kernels and fast paths.
        limits: those of the model; an output of more elements is not computed.
        readings: by operator the definition that is run in place of its own.
        exact_path_counts: counts of all nodes.
        constants: the arrays that no run changes.
    """

    def __init__(
        self,
        rules: ActiveRules,
        *,
        conforming: bool,
        definitions_only: bool = False,
        limits: Limits = DEFAULT_LIMITS,
        readings: Mapping[str, Definition] | None = None,
    ) -> None:
        self.rules, self.conforming, self.definitions_only = rules, conforming, definitions_only
        self.limits, self.readings = limits, readings or {}
        self.exact_path_counts, self.constants = ExactPathCounts(), Constants()
        self.facts, self._depth, self._steps = FactsDomain(rules), 0, 0
        self._known: dict[object, Transferred[TensorFacts, Preparation]] = {}
        self._validity = NodeValidity(rules)
        self._demands: dict[tuple[str, int, str], list[tuple[Rule, Expression, bool]]] = {}

    def taken_counts(self) -> ExactPathCounts:
        """The counts since the last call."""
        counts = ExactPathCounts(dict(self.exact_path_counts.by_operator))
        self.exact_path_counts.by_operator.clear()
        return counts

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Inside a graph of a node, or a function.

        Raises:
            NotExecutable: too deep.
        """
        if self._depth == MAX_NESTED_RUNS:
            raise NotExecutable(f"graphs and functions nest more than {MAX_NESTED_RUNS} deep")
        if not self._depth:
            self._steps = 0
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def count_steps(self, nodes: int) -> None:
        """Count the nodes of a graph that runs inside a node, which a loop may repeat 2^62 times.

        Raises:
            Unfinished: one node of the main graph has taken more steps than the limit.
        """
        self._steps += 1 + nodes
        if self._steps > self.limits["steps"]:
            most = self.limits["steps"]
            raise Unfinished(
                f"the graphs inside one node take more than {most} steps: it may not end; --limit steps=N allows more"
            )

    # The values of a model that is not checked: its inputs and constants are arrays, what it declares is not used

    def declared(self, type_: Type) -> TensorFacts:
        """Nothing: shapes and types are computed."""
        return NOTHING_STATED

    def constant(self, tensor: Tensor, replaceable: bool) -> TensorFacts:
        """The facts of a constant; a default value that the caller replaces is not asked for."""
        facts = constant_facts(tensor)
        return facts_of_array(decode(tensor, None)) if tensor.element == "bool" and tensor.dims in ((), (1,)) else facts

    def sparse(self, tensor: SparseTensor) -> TensorFacts:
        """Nothing: the executor does not know sparse tensors."""
        return NOTHING_STATED

    def call(self, call: Call, inputs: Facts, outputs: Facts) -> Transferred[TensorFacts, Preparation]:
        """What a call needs to run, and the facts of its outputs."""
        unknown = [UNKNOWN_UNTIL_RUN] * len(outputs)
        if call.calls_function or any(_is_graph(attribute) for attribute in call.attributes):
            return Transferred(unknown, None)
        try:
            if self.conforming:
                after, results = self.facts.call(call, inputs, outputs)
                return Transferred(after, self.checked(call, inputs, after, results.reported))
            return self._of_known(call, inputs, unknown)
        except (Stop, NoValue, MemoryError, *UNDEFINED_INPUT_ERRORS) as error:
            return Transferred(unknown, error)

    def _of_known(self, call: Call, inputs: Facts, unknown: Facts) -> Transferred[TensorFacts, Preparation]:
        """The result of a call of a model that is not checked; equal calls on equal facts are prepared once."""
        attributes = tuple([_comparable(attribute) for attribute in call.attributes])
        key = call.operator, call.domain, call.operator_set, attributes, tuple(inputs), call.outputs
        known = self._known.get(key)
        if known is None:
            try:
                computed, prepared = self._unchecked(call, inputs)
                for facts in computed or ():
                    if not isinstance(facts.shape, Unknown):
                        require_array("an output", facts.shape, self.limits)
                known = Transferred(computed or unknown, prepared)
            except (Stop, NoValue, *UNDEFINED_INPUT_ERRORS) as error:
                known = Transferred(unknown, error.with_traceback(None))
            if len(self._known) == MAX_KNOWN_CALLS:
                self._known.clear()
            if are_left():
                self._known[key] = known
        return known

    def checked(self, call: Call, inputs: Facts, after: Facts, reported: Iterable[RuleResult]) -> PreparedNode | None:
        """A call of a conforming model ready to run, by the results of its rules and the facts after it.

        Raises:
            ErrorCondition: a rule does not hold.
            NotExecutable: a rule cannot be decided on the values, or the executor does not know a type.
        """
        operator = operator_of(call.operator, call.domain)
        prepared = PreparedCall.of(call, inputs, after)
        if self._awaits_values(prepared.signature, reported, operator):
            return None
        return self._ready(prepared, after)

    def _unchecked(self, call: Call, inputs: Facts) -> tuple[Sequence[TensorFacts] | None, PreparedNode | None]:
        """The facts of the outputs and the node ready to run; None where that depends on values not yet known."""
        operator = operator_of(call.operator, call.domain)
        self._validity.require(call)
        if call.definition is None:
            return self._by_stated_signature(PreparedCall.of(call, inputs), operator)
        prepared = PreparedCall.of(call, inputs).explicit()
        signature = prepared.signature
        if prepared.awaits_values or self._awaits_values(
            signature, self._unchecked_results(signature, prepared.names, operator), operator
        ):
            return None, None
        shapes = prepared.shapes()
        unknown = first_unknown(tuple(shapes.values()))
        if unknown is not None and unknown.cause is UnknownCause.RUN_TIME:
            return None, None
        after = prepared.output_facts(shapes)
        for index, output in enumerate(signature.outputs[: len(after)]):
            undefined = first_unknown(shapes.get(output.name))
            if undefined is not None and not output.constant:
                raise NotExecutable(f"the shape of {output.name} is not defined: {undefined.reason}")
            if isinstance(after[index].type, Unknown) and operator.result_type is not None:
                after[index] = after[index]._replace(type=operator.result_type(prepared.names))
        node = self._ready(prepared, after)
        if node is not None and not call.inputs:
            return [facts_of_array(array) for array in node.definition(node.application, ())], node
        if node is not None and node.precomputed and signature.values:
            [shape] = [np.array(prepared.names[parameter.name], np.int64) for parameter in signature.values]
            return [facts_of_array(array) for array in node.definition(node.application, [shape])], node
        return after, node

    def _awaits_values(self, signature: Signature, results: Iterable[RuleResult], operator: Operator) -> bool:
        """Whether a rule reads values not yet known; the operator decides its error conditions element by element.

        Raises:
            ErrorCondition: a rule does not hold.
            NotExecutable: a rule the values rest on cannot be decided.
            Unfinished: the model takes more steps than allowed, so that it is not known whether a rule holds.
        """
        waits = False
        for result in results:
            if result.rule.slug in operator.error_conditions:
                continue
            if result.verdict is Verdict.FAIL:
                sentence = f"{result.actual}, against {result.rule.slug}: {result.requires}"
                raise ErrorCondition(result.rule.slug, sentence)
            if result.verdict is Verdict.UNDECIDED and is_shortage(result.actual):
                raise Unfinished(f"{result.rule.slug} cannot be decided: {result.actual}")
            if result.verdict is Verdict.UNDECIDED and (self.conforming or _values_rest_on(result.rule, signature)):
                raise NotExecutable(f"{result.rule.slug} cannot be decided: {result.actual}")
            waits = waits or result.verdict is Verdict.ASSUMED
        return waits

    def _ready(self, prepared: PreparedCall, after: Facts) -> PreparedNode | None:
        """The call ready to run, None where a parameter of a conforming model is known at run time only."""
        unknown = prepared.unknown_parameter()
        if unknown is not None:
            if unknown.cause is UnknownCause.RUN_TIME and self.conforming:
                return None
            raise NotExecutable(unknown.reason)
        return self._node(prepared, prepared.output_specs(after))

    def _by_stated_signature(
        self, prepared: PreparedCall, operator: Operator
    ) -> tuple[list[TensorFacts] | None, PreparedNode | None]:
        """The facts of the outputs and the node ready to run, of an operator without a data file."""
        if operator.signature is None:
            raise NotExecutable(f"the operator {operator.name} has neither a data file nor a signature")
        require_stated_count(prepared.call, operator.signature)
        if not all(operand is None or is_known(operand) for operand in prepared.inputs):
            return None, None
        operand_specs = [operand and (operand.shape, ELEMENTS[str(operand.type)]) for operand in prepared.inputs]
        for spec in operand_specs:
            if spec is not None and not is_computed_with(spec[1]):
                raise NotExecutable(f"{operator.name} is not defined here for elements of type {NAMES[spec[1]]}")
        specs = operator.signature.output_specs(prepared.application(), operand_specs)
        node = self._node(prepared, specs)
        return [TensorFacts(NAMES[kind], shape, RUN_TIME) for shape, kind in specs], node

    def _node(self, prepared: PreparedCall, specs: tuple[TensorSpec, ...] | None) -> PreparedNode:
        node = prepared.node(specs, self.application(prepared), definitions_only=self.definitions_only)
        reading = None if prepared.operator is None else self.readings.get(prepared.operator.name)
        # Another reading may give outputs of other shapes.
        return node if reading is None else replace(node, definition=reading, kernel=None, output_specs=None)

    def application(self, prepared: PreparedCall) -> Application:
        """What the definition of a call is given, with the counts and the constants of this run."""
        return prepared.application(self.exact_path_counts, self.constants)

    def _unchecked_results(
        self, signature: Signature, names: Mapping[str, Any], operator: Operator
    ) -> Iterator[RuleResult]:
        """The results that stop a run of a model that is not checked, or for which it waits."""
        without = {**names, **{given_key(output.name): False for output in signature.outputs}}
        yield from group_results(signature, without, self.rules, onnx_only=True)
        views = Views(names)
        for rule, demand, needed in self._demanded(signature):
            if rule.slug in operator.error_conditions:
                continue
            verdict = self.rules.condition(rule, demand).result(views, NONE).verdict
            if verdict in (Verdict.FAIL, Verdict.UNDECIDED):
                yield evaluate_rule(rule, demand, names)
            elif verdict is Verdict.ASSUMED and needed:  # else the definition decides it
                yield RuleResult(rule, verdict)

    def _demanded(self, signature: Signature) -> list[tuple[Rule, Expression, bool]]:
        """The conditions of a model that is not checked, and whether values rest on each."""
        key = (signature.operator, signature.version, signature.text)
        if key not in self._demands:
            conditions = self._demands[key] = []
            for rule in signature.rules:
                needed = _values_rest_on(rule, signature)
                own = active_condition(rule, signature.text, self.rules.editions)
                demand = own if needed or rule.kind == "validity" else rule.onnx
                if demand is not None:
                    conditions.append((rule, demand, needed))
        return self._demands[key]


def _comparable(attribute: Attribute) -> object:
    """An object that is equal for attributes that mean the same: the bytes of short tensors are compared."""
    value = attribute.value
    if isinstance(value, Tensor) and value.data is not None and len(value.data) <= MAX_COMPARED_BYTES:
        return attribute, bytes(value.data)
    return attribute.identity


def _is_graph(attribute: Attribute) -> bool:
    values = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
    return any(isinstance(value, Graph) for value in values)


def _values_rest_on(rule: Rule, signature: Signature) -> bool:
    """Whether a rule is an error condition, or the shape of an output relies on it."""
    return rule.kind == "error-condition" or any(rule.name in output.relies for output in signature.outputs)


def is_known(tensor: TensorFacts) -> bool:
    """Whether type and shape are known."""
    return first_unknown((tensor.type, tensor.shape)) is None and tensor.type in ELEMENTS
