"""The domain of a run: values are facts, and a call gives what computes it, with the types and shapes of its outputs.

Of a conforming model the rules are those of the check, with its results where all values are stated; what the check
assumed is evaluated on the facts of the actual values.  In another model the conditions of ONNX must hold, and the
rules its values rest on: the error conditions, and those that the shape expressions rely on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sonnx.base.errors import ErrorCondition, NotExecutable, Stop, Unfinished
from sonnx.base.escaping import quote
from sonnx.checker.facts_domain import Facts, FactsDomain, group_results
from sonnx.checker.rules import NONE, ActiveRules, RuleResult, evaluate_rule
from sonnx.checker.verdicts import Verdict
from sonnx.executor.array_sizes import require_array
from sonnx.graph.call import Call
from sonnx.graph.environment import (
    MAX_RULE_ELEMENTS,
    NOTHING_STATED,
    constant_facts,
    environment,
    explicit_attributes,
)
from sonnx.graph.interpreter import Transferred
from sonnx.graph.transfer import complete_types, output_facts
from sonnx.graph.views import Views
from sonnx.language.domain import Expression, given_key, written_key
from sonnx.language.evaluator import (
    MAX_PARAMETER_ELEMENTS,
    RUN_TIME,
    TensorFacts,
    Unknown,
    UnknownCause,
    evaluate,
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
    Kernel,
    NoValue,
)
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import (
    ELEMENTS,
    MAX_AXES,
    NAMES,
    Array,
    TensorSpec,
    format_of,
    has_array,
    is_computed_with,
    is_integer,
    is_small_float,
)
from sonnx.operators import Operator, operator_of
from sonnx.operators.stated_signature import StatedSignature
from sonnx.profile.definitions import Rule
from sonnx.profile.signature import Signature, active_condition

UNKNOWN_UNTIL_RUN = TensorFacts(RUN_TIME, RUN_TIME, RUN_TIME)

MAX_LISTED_FLOATS = 2 * MAX_AXES
"""Floating-point elements of a list that rules get: a scale, or a start and an end, for each axis."""

MAX_NESTED_RUNS = 32
"""Graphs inside nodes, and functions, that run one inside the other."""

MAX_KNOWN_CALLS = 1 << 14
"""Prepared calls that are remembered; a loop makes new ones in every iteration."""

MAX_COMPARED_BYTES = 64
"""Bytes of a tensor in an attribute up to which calls with equal tensors are prepared once."""


@dataclass(frozen=True, slots=True)
class PreparedNode:
    """A node ready to run.

    `definition` gives all outputs.  `output_specs` are their shapes and types, None where the node itself holds the
    value.  `kernel` computes a single output faster, None where the operator has no kernel.  `passes_input_on` and
    `precomputed` are those of the operator.
    """

    application: Application
    definition: Definition
    output_specs: tuple[TensorSpec, ...] | None
    kernel: Kernel | None
    passes_input_on: bool
    precomputed: bool

    def results(self, inputs: Sequence[Array | None]) -> Sequence[Array]:
        """The outputs; they may be inputs, or share their memory."""
        if self.kernel is not None and self.output_specs is not None:
            return (self.kernel(inputs, np.empty(*self.output_specs[0])),)
        return self.definition(self.application, inputs)


Preparation: TypeAlias = PreparedNode | Exception | None
"""What a call gives: a node ready to run, why it cannot run, or None where that depends on values not yet known."""


class ActualValues:
    """The elements of an array, read when a rule needs them."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def read(self) -> tuple[Any, ...] | Unknown:
        """The elements in row-major order; unknown where they are too many, or not numbers."""
        if not listable(self.array.dtype):
            return Unknown(UnknownCause.NOT_STATED, "the value is not a list of numbers")
        if self.array.size > MAX_RULE_ELEMENTS:
            return Unknown(UnknownCause.NOT_STATED, "the value is too large to read")
        return tuple(self.array.reshape(-1).tolist())


def listable(kind: np.dtype[Any]) -> bool:
    """Whether rules read the elements of a type: numbers that have an order."""
    return is_integer(kind) or is_small_float(kind) or format_of(kind) is not None


def facts_of(array: Array, *, all_values: bool = False) -> TensorFacts:
    """The facts of an array: type, shape, and the elements of a short one, or of any array if `all_values`.

    So rules about few floating-point numbers (a scale, a bound) are decided by them; the operator decides those about
    whole tensors (`Operator.error_conditions`).
    """
    kind = array.dtype
    most = MAX_PARAMETER_ELEMENTS if is_integer(kind) else 1 if kind == np.bool_ else MAX_LISTED_FLOATS
    if kind != np.bool_ and not listable(kind):
        values: Any = ActualValues(array) if all_values else RUN_TIME
    elif array.size <= most and (all_values or array.ndim <= 1):
        values = tuple(array.reshape(-1).tolist())
    else:
        values = ActualValues(array) if all_values else RUN_TIME
    return TensorFacts(NAMES[array.dtype], array.shape, values)


class NodeValidity:
    """What ONNX demands of a node itself, by the rules of the check: attributes, inputs and outputs."""

    def __init__(self, rules: ActiveRules) -> None:
        self.rules = rules
        self._valid = set[object]()

    def require(self, call: Call) -> None:
        """Nothing, for a valid node.

        Raises:
            NotExecutable: a rule does not hold.
        """
        attributes = tuple(
            [(attribute.name, attribute.kind, attribute.reference, attribute.fields) for attribute in call.attributes]
        )
        key = call.operator, call.operator_set, call.inputs, call.outputs, attributes
        if key not in self._valid:
            for rule, decide in self.rules.decided_about("node"):
                for violation in decide(call) if rule.kind == "validity" else ():
                    raise NotExecutable(f"{violation.actual} ({rule.slug})")
            self._valid.add(key)


class RunDomain:
    """The domain of one run.

    Attributes:
        rules: the rules of the edition.
        conforming: whether the model conforms to the edition.
        definitions_only: compute by the definitions, without kernels and fast paths.
        limits: those of the model; an output of more elements is not computed.
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
    ) -> None:
        self.rules, self.conforming, self.definitions_only = rules, conforming, definitions_only
        self.limits = limits
        self.exact_path_counts, self.constants = ExactPathCounts(), Constants()
        self.facts, self._depth = FactsDomain(rules), 0
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
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    # The values of a model that is not checked: its inputs and constants are arrays, what it declares is not used

    def declared(self, type_: Type) -> TensorFacts:
        """Nothing: shapes and types are computed."""
        return NOTHING_STATED

    def constant(self, tensor: Tensor, replaceable: bool) -> TensorFacts:
        """The facts of a constant; a default value that the caller replaces is not asked for."""
        facts = constant_facts(tensor)
        return facts_of(decode(tensor, None)) if tensor.element == "bool" and tensor.dims in ((), (1,)) else facts

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
        """The same of a model that is not checked; equal calls on equal facts are prepared once."""
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
        operator, signature = operator_of(call.operator, call.domain), call.signature
        if signature is None:
            raise NotExecutable(f"{call.operator} does not exist in operator set {call.operator_set}")
        if self._awaits_values(signature, reported, operator):
            return None
        names = environment(signature, call.attributes, inputs, after)
        attributes = {attribute.name: attribute for attribute in call.attributes}
        return self._with_names(call, operator, signature, names, attributes, after)

    def _unchecked(self, call: Call, inputs: Facts) -> tuple[Sequence[TensorFacts] | None, PreparedNode | None]:
        """The facts of the outputs and the node ready to run; None where that depends on values not yet known."""
        operator = operator_of(call.operator, call.domain)
        attributes = {attribute.name: attribute for attribute in call.attributes}
        self._validity.require(call)
        if call.definition is None:
            return self._by_stated_signature(call, operator, inputs, attributes)
        signature = call.signature
        if signature is None:
            raise NotExecutable(f"{call.operator} does not exist in operator set {call.operator_set}")
        stated = [NOTHING_STATED] * len(call.outputs)
        names = environment(signature, call.attributes, inputs, stated)
        explicit = explicit_attributes(operator.explicit_attributes, signature, names)
        if isinstance(explicit, Unknown):
            if explicit.cause is UnknownCause.RUN_TIME:
                return None, None
        elif explicit:
            attributes |= {attribute.name: attribute for attribute in explicit}
            names = environment(signature, tuple(attributes.values()), inputs, stated)
        complete_types(signature, names)
        if self._awaits_values(signature, self._unchecked_results(signature, names, operator), operator):
            return None, None
        shapes = {name: evaluate(shape, names) for name, shape in signature.shapes.items()}
        unknown = first_unknown(tuple(shapes.values()))
        if unknown is not None and unknown.cause is UnknownCause.RUN_TIME:
            return None, None
        after = output_facts(signature, names, stated, (), lambda output: shapes[output.name])
        for index, output in enumerate(signature.outputs[: len(after)]):
            undefined = first_unknown(shapes.get(output.name))
            if undefined is not None and not output.constant:
                raise NotExecutable(f"the shape of {output.name} is not defined: {undefined.reason}")
            if isinstance(after[index].type, Unknown) and operator.result_type is not None:
                after[index] = after[index]._replace(type=operator.result_type(names))
        prepared = self._with_names(call, operator, signature, names, attributes, after)
        if prepared is not None and not call.inputs:
            return [facts_of(array) for array in prepared.definition(prepared.application, ())], prepared
        if prepared is not None and prepared.precomputed and signature.values:
            [shape] = [np.array(names[parameter.name], np.int64) for parameter in signature.values]
            short = [facts_of(array) for array in prepared.definition(prepared.application, [shape])]
            return short, prepared
        return after, prepared

    def _awaits_values(self, made: Signature, results: Iterable[RuleResult], operator: Operator) -> bool:
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
            if result.verdict is Verdict.UNDECIDED and (self.conforming or _values_rest_on(result.rule, made)):
                raise NotExecutable(f"{result.rule.slug} cannot be decided: {result.actual}")
            waits = waits or result.verdict is Verdict.ASSUMED
        return waits

    def _with_names(
        self,
        call: Call,
        operator: Operator,
        made: Signature,
        names: Mapping[str, Any],
        attributes: Mapping[str, Attribute],
        after: Facts,
    ) -> PreparedNode | None:
        """The node ready to run; `names` are those of its rules."""
        for parameter in made.parameters:
            unknown = first_unknown(names[parameter.name])
            if unknown is not None and (names[written_key(parameter.name)] or made.absent[parameter.name] is not None):
                if unknown.cause is UnknownCause.RUN_TIME and self.conforming:
                    return None
                raise NotExecutable(unknown.reason)
        application = self._application(call, made.version, made.text, names, attributes)
        if any(output.constant for output in made.outputs[: len(after)]):
            return self._prepared(application, operator, None)  # the node holds the value, type and shape included
        return self._prepared(application, operator, tuple(_specs(made, after)))

    def _by_stated_signature(
        self, call: Call, operator: Operator, inputs: Facts, attributes: Mapping[str, Attribute]
    ) -> tuple[list[TensorFacts] | None, PreparedNode | None]:
        """The same of an operator without a data file."""
        if operator.signature is None:
            raise NotExecutable(f"the operator {operator.name} has neither a data file nor a signature")
        require_stated_count(call, operator.signature)
        application = self._application(call, call.operator_set or 0, "onnx", {}, attributes)
        if not all(operand is None or is_known(operand) for operand in inputs):
            return None, None
        known = [operand and (operand.shape, ELEMENTS[str(operand.type)]) for operand in inputs]
        for row in known:
            if row is not None and not is_computed_with(row[1]):
                raise NotExecutable(f"{operator.name} is not defined here for elements of type {NAMES[row[1]]}")
        specs = operator.signature.output_specs(application, known)
        prepared = self._prepared(application, operator, specs)
        return [TensorFacts(NAMES[kind], shape, RUN_TIME) for shape, kind in specs], prepared

    def _application(
        self, call: Call, version: int, text: str, names: Mapping[str, Any], attributes: Mapping[str, Attribute]
    ) -> Application:
        counts, count = self.exact_path_counts, len(call.outputs)
        return Application(call.operator, version, text, names, attributes, counts, count, self.constants)

    def _prepared(
        self, application: Application, operator: Operator, specs: tuple[TensorSpec, ...] | None
    ) -> PreparedNode:
        for shape, kind in specs or ():
            if min(shape, default=0) < 0:
                raise NotExecutable(f"an output of shape {list(shape)} has a negative extent")
            if not has_array(shape, kind):
                raise NotExecutable(f"an output of shape {list(shape)} is too large for an array")
        single = specs is not None and len(specs) == 1
        definition, kernel = operator.implementation(application, single=single, definitions_only=self.definitions_only)
        return PreparedNode(application, definition, specs, kernel, operator.passes_input_on, operator.precomputed)

    def _unchecked_results(self, made: Signature, names: Mapping[str, Any], operator: Operator) -> Iterator[RuleResult]:
        """The results that stop a run of a model that is not checked, or for which it waits."""
        without = {**names, **{given_key(output.name): False for output in made.outputs}}
        yield from group_results(made, without, self.rules, onnx_only=True)
        views = Views(names)
        for rule, demand, needed in self._demanded(made):
            if rule.slug in operator.error_conditions:
                continue
            verdict = self.rules.condition(rule, demand).result(views, NONE).verdict
            if verdict in (Verdict.FAIL, Verdict.UNDECIDED):
                yield evaluate_rule(rule, demand, names)
            elif verdict is Verdict.ASSUMED and needed:  # else the definition decides it
                yield RuleResult(rule, verdict)

    def _demanded(self, made: Signature) -> list[tuple[Rule, Expression, bool]]:
        """The conditions of a model that is not checked, and whether values rest on each."""
        key = (made.operator, made.version, made.text)
        if key not in self._demands:
            found = self._demands[key] = []
            for rule in made.rules:
                needed = _values_rest_on(rule, made)
                own = active_condition(rule, made.text, self.rules.editions)
                demand = own if needed or rule.kind == "validity" else rule.onnx
                if demand is not None:
                    found.append((rule, demand, needed))
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


def _values_rest_on(rule: Rule, made: Signature) -> bool:
    """Whether a rule is an error condition, or the shape of an output relies on it."""
    return rule.kind == "error-condition" or any(rule.name in output.relies for output in made.outputs)


def _specs(made: Signature, after: Facts) -> Iterator[TensorSpec]:
    """The shapes and types of the outputs.

    Raises:
        NotExecutable: one is not known, or of a type that the executor does not know.
    """
    for index, facts in enumerate(after):
        name = made.outputs[min(index, len(made.outputs) - 1)].name
        unknown = first_unknown(facts.shape) if facts is not None else None
        if facts is None or unknown is not None:
            raise NotExecutable(f"the shape of {name} is not defined: {unknown.reason if unknown else ''}")
        element = "unknown" if isinstance(facts.type, Unknown) else facts.type
        if element not in ELEMENTS:
            raise NotExecutable(f"{name} has the element type {element}, which the executor does not know")
        yield facts.shape, ELEMENTS[element]  # type: ignore[misc]


def require_stated_count(call: Call, signature: StatedSignature) -> None:
    """Inputs, outputs and attributes as the signature has them.

    Raises:
        NotExecutable: the node has others.
    """
    for what, connected, (least, greatest) in (
        ("input", call.inputs, signature.inputs),
        ("output", call.outputs, signature.outputs),
    ):
        if not least <= len(connected) <= greatest or not all(connected[:least]):
            number = f"{least}" if least == greatest else f"{least} to {greatest}"
            raise NotExecutable(f"{call.operator} has {number} {what}s, none of the first {least} left out")
    known = signature.attributes
    for attribute in call.attributes:
        if attribute.name not in known:
            raise NotExecutable(f"{call.operator} has no attribute {quote(attribute.name)}")
        if attribute.kind != known[attribute.name]:
            kinds = f"{attribute.kind}, not {known[attribute.name]}"
            raise NotExecutable(f"the attribute {quote(attribute.name)} is of kind {kinds}")


def is_known(tensor: TensorFacts) -> bool:
    """Whether type and shape are known."""
    return first_unknown((tensor.type, tensor.shape)) is None and tensor.type in ELEMENTS
