"""The preparation of a node: what computes it, and the types and shapes of its outputs.

The rules of the operator are evaluated again with what is known at run time, so that a condition that the check had to
assume is decided here.  A node whose preparation depends on values that do not exist yet is prepared when they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from sonnx.base.errors import ErrorCondition, NotExecutable
from sonnx.base.escaping import quote
from sonnx.checker.facts_domain import group_results as group_answers
from sonnx.checker.rules import ActiveRules, RuleResult, evaluate_rule, verdict_of
from sonnx.checker.verdicts import Verdict
from sonnx.graph.environment import LARGEST, NOTHING_STATED, RUN_TIME, environment, evaluate
from sonnx.language.domain import Expression
from sonnx.language.evaluator import Cause, Evaluator, TensorFacts, first_unknown
from sonnx.model.ir import Attribute, Node
from sonnx.numerics.application import Application, Definition, ExactPathCounts, Kernel
from sonnx.numerics.formats import ELEMENTS, MAX_AXES, NAMES, Array, TensorSpec, has_array
from sonnx.operators import Operator, operator_of
from sonnx.operators.stated_signature import StatedSignature
from sonnx.profile import catalogue, definitions
from sonnx.profile.definitions import Output, Rule, at, expand
from sonnx.profile.signature import Signature, demanded, resolve, signature

Condition: TypeAlias = tuple[Rule, Expression, bool]
"""A rule, the condition to evaluate, and whether values rest on it."""

MAX_LISTED_FLOATS = 2 * MAX_AXES
"""Floating-point elements of a list that rules get: a scale, or a start and an end, for each axis."""


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


def facts_of(values: Array) -> TensorFacts:
    """What rules get of an array: type, shape, and the elements of a short list of numbers.

    So rules about few floating-point numbers (a scale, a bound) are decided by them; the operator decides those about
    whole tensors (`Operator.error_conditions`).
    """
    longest = LARGEST if values.dtype.kind in "iu" else 0 if values.dtype == np.bool_ else MAX_LISTED_FLOATS
    listed = values.size <= longest and values.ndim <= 1
    return TensorFacts(NAMES[values.dtype], values.shape, tuple(values.reshape(-1).tolist()) if listed else RUN_TIME)


@dataclass(frozen=True, slots=True)
class NodePreparer:
    """Prepares the nodes of one run.

    In a conforming model every rule of an operator must hold.  In another model the conditions of ONNX must hold, and
    the rules its values rest on: the error conditions, and those that the shape expressions rely on.

    Attributes:
        active_rules: the rules of the edition.
        operator_set: the version of the standard operator set, None where the model imports none.
        conforming: whether the model conforms to the edition.
        definitions_only: compute by the definitions, without kernels and fast paths.
        exact_path_counts: counts of all nodes.
    """

    active_rules: ActiveRules
    operator_set: int | None
    conforming: bool
    definitions_only: bool = False
    exact_path_counts: ExactPathCounts = field(default_factory=ExactPathCounts)
    _conditions: dict[tuple[str, int, str], list[Condition]] = field(default_factory=dict, init=False)

    def prepare(self, node: Node, inputs: Sequence[TensorFacts | None]) -> PreparedNode | None:
        """The node ready to run, None where that depends on values that are not known yet.

        Raises:
            ErrorCondition: a rule its values rest on does not hold.
            NotExecutable: the executor cannot run the node.
        """
        operator = operator_of(node)
        described = catalogue.operator(node.operator)
        attributes = {attribute.name: attribute for attribute in node.attributes}
        if any(attribute.reference for attribute in node.attributes) or len(attributes) < len(node.attributes):
            raise NotExecutable("an attribute is given by a caller, or twice")
        if self.operator_set is None:
            raise NotExecutable("the model imports no version of the standard operator set")
        if described is None:
            signature = stated_signature(operator)
            require_stated_count(node, signature)
            application = self._application(node, self.operator_set, "onnx", {}, attributes)
            if not all(each is None or is_known(each) for each in inputs):
                return None
            known = [each and (each.shape, ELEMENTS[str(each.type)]) for each in inputs]
            return self._prepared(application, operator, signature.output_specs(application, known))
        made = self._signature(described)
        require_count(node, made)
        names = environment(made, node.attributes, inputs, [NOTHING_STATED] * len(node.outputs))
        if not self.conforming and operator.explicit_attributes is not None:
            unknown = first_unknown(
                (names[made.inputs[0].name].shape, *[names[parameter.name] for parameter in made.parameters])
            )
            if unknown is not None and unknown.cause is Cause.RUN_TIME:
                return None
            explicit = operator.explicit_attributes(names) if unknown is None else ()
            if explicit:
                attributes |= {attribute.name: attribute for attribute in explicit}
                names = environment(made, tuple(attributes.values()), inputs, [NOTHING_STATED] * len(node.outputs))
        if self._awaits_values(made, names, operator.error_conditions):
            return None
        require_types(made, described, names)
        for parameter in made.parameters:
            unknown = first_unknown(names[parameter.name])
            if unknown is not None and _has_value(made, parameter.name, names):
                raise NotExecutable(unknown.reason)
        application = self._application(node, made.version, made.text, names, attributes)
        outputs = made.outputs[: len(node.outputs)]
        if any(output.constant for output in outputs):  # the node holds the value itself, type and shape included
            return self._prepared(application, operator, None)
        specs = [spec for output in outputs for spec in specs_of(made, output, names, described, operator)]
        return self._prepared(application, operator, tuple(specs))

    def _application(
        self, node: Node, version: int, text: str, names: Mapping[str, Any], attributes: Mapping[str, Attribute]
    ) -> Application:
        return Application(node.operator, version, text, names, attributes, self.exact_path_counts, len(node.outputs))

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

    def _signature(self, described: definitions.Operator) -> Signature:
        """The operator by the text of the edition; outside the edition, by its ONNX text."""
        version = described.version_at(self.operator_set or 0)
        if version is None:
            raise NotExecutable(f"{described.name} does not exist in operator set {self.operator_set}")
        edition = self.active_rules.edition.name
        found = signature(described.name, version, edition)
        return found or resolve(described, version, "onnx", self.active_rules.editions, edition)

    def _awaits_values(self, made: Signature, names: Mapping[str, Any], by_operator: Sequence[str]) -> bool:
        """Whether rules or shapes read values that are not known yet; a rule that does not hold stops the run.

        The operator decides the rules in `by_operator`, element by element.
        """
        wait = False
        for result in self._results(made, names, by_operator):
            if result.verdict is Verdict.FAIL:
                sentence = f"{result.actual}, against {result.rule.slug}: {result.requires}"
                raise ErrorCondition(result.rule.slug, sentence)
            if result.verdict is Verdict.UNDECIDED and _values_rest_on(result.rule, made):
                raise NotExecutable(f"{result.rule.slug} cannot be decided: {result.actual}")
            wait = wait or result.verdict is Verdict.ASSUMED
        unknown = first_unknown(tuple([evaluate(shape, Evaluator(), names) for shape in made.shapes.values()]))
        return wait or (unknown is not None and unknown.cause is Cause.RUN_TIME)

    def _results(self, made: Signature, names: Mapping[str, Any], by_operator: Sequence[str]) -> Iterator[RuleResult]:
        without = {**names, **{f"given({output.name})": False for output in made.outputs}}
        yield from group_answers(made, without, self.active_rules, onnx_only=not self.conforming)
        for rule, demand, needed in self._conditions_of(made):
            if rule.slug in by_operator:
                continue
            verdict = verdict_of(rule, demand, names)
            if verdict is Verdict.FAIL or (verdict is Verdict.UNDECIDED and needed):
                yield evaluate_rule(rule, demand, names)
            elif verdict is Verdict.ASSUMED and (self.conforming or needed):  # else the definition decides it
                yield RuleResult(rule, verdict)

    def _conditions_of(self, made: Signature) -> list[Condition]:
        key = (made.operator, made.version, made.text)
        if key not in self._conditions:
            found = self._conditions[key] = []
            for rule in made.rules:
                demand, needed = demanded(rule, made.text, self.active_rules.editions), _values_rest_on(rule, made)
                if not (self.conforming or needed or rule.kind == "validity"):
                    demand = rule.onnx
                if demand is not None:
                    found.append((rule, demand, needed))
        return self._conditions[key]


def _values_rest_on(rule: Rule, made: Signature) -> bool:
    """Whether a rule is an error condition, or the shape of an output relies on it."""
    return rule.kind == "error-condition" or any(rule.name in output.relies for output in made.outputs)


def _has_value(made: Signature, name: str, names: Mapping[str, Any]) -> bool:
    """Whether a parameter is written, or its absence means a value."""
    return bool(names[f"written({name})"]) or made.absent[name] is not None


# What a node must have, and what its outputs are: by the data file of its operator


def require_count(node: Node, made: Signature) -> None:
    """No more inputs, outputs and attributes than the version has."""
    variadic = bool(made.inputs) and made.inputs[-1].variadic
    unknown = {attribute.name for attribute in node.attributes} - {each.name for each in made.attributes}
    if len(node.inputs) > len(made.inputs) and not variadic:
        raise NotExecutable(f"{made.operator}-{made.version} has {len(made.inputs)} inputs, not {len(node.inputs)}")
    for index, name in enumerate(node.inputs):
        formal = made.inputs[min(index, len(made.inputs) - 1)]
        if not name and not formal.optional:
            raise NotExecutable(f"the input {formal.name} is left out")
    repeated = bool(made.outputs) and made.outputs[-1].variadic
    if not node.outputs or (len(node.outputs) > len(made.outputs) and not repeated):
        raise NotExecutable(f"{made.operator}-{made.version} has {len(made.outputs)} outputs, not {len(node.outputs)}")
    if unknown:
        raise NotExecutable(f"{made.operator}-{made.version} has no attribute {', '.join(map(quote, sorted(unknown)))}")


def require_types(made: Signature, described: definitions.Operator, names: Mapping[str, Any]) -> None:
    """Every type variable has an element type that ONNX gives it.

    Raises:
        NotExecutable: one does not.
    """
    for variable, members in made.groups.items():
        element = _element(members, names, "")
        admitted = expand(at(described.types[variable], made.version) or (), catalogue.editions().families)
        if element and element not in admitted:
            raise NotExecutable(f"{made.operator}-{made.version} is not defined for elements of type {element}")


def specs_of(
    made: Signature, output: Output, names: Mapping[str, Any], described: definitions.Operator, operator: Operator
) -> list[TensorSpec]:
    """The shape and type of an output; of a variadic output, of each."""
    shape = evaluate(made.shapes[output.name], Evaluator(), names)
    unknown = first_unknown(shape)
    if unknown is not None:
        raise NotExecutable(f"the shape of {output.name} is not defined: {unknown.reason}")
    element = output.type
    chosen = at(output.element, made.version)
    if chosen is not None:
        element = str(evaluate(chosen, Evaluator(), names))
    elif element in made.groups:
        only = at(described.types[element], made.version) or ()
        element = _element(made.groups[element], names, output.name) or (only[0] if len(only) == 1 else "")
        element = element or (operator.result_type(names) if operator.result_type is not None else "unknown")
    if element not in ELEMENTS:
        raise NotExecutable(f"{output.name} has the element type {element}, which the executor does not know")
    shapes = shape if output.variadic else [shape]
    return [(each, ELEMENTS[element]) for each in shapes]


def _element(members: Sequence[str], names: Mapping[str, Any], output: str) -> str:
    """The element type the inputs of a type variable have, "" where it has no input."""
    for name in members:
        value = names.get(f"{name}_input", names[name])
        tensors = (value,) if isinstance(value, TensorFacts) else value
        for tensor in tensors if name != output else ():
            if isinstance(tensor.type, str):
                return tensor.type
    return ""


# The same of an operator without a data file: by its stated signature


def stated_signature(operator: Operator) -> StatedSignature:
    """The signature of an operator without a data file.

    Raises:
        NotExecutable: it has none.
    """
    if operator.signature is None:
        raise NotExecutable(f"the operator {operator.name} has neither a data file nor a signature")
    return operator.signature


def require_stated_count(node: Node, signature: StatedSignature) -> None:
    """Inputs, outputs and attributes as the signature has them.

    Raises:
        NotExecutable: the node has others.
    """
    for what, names, (least, greatest) in (
        ("input", node.inputs, signature.inputs),
        ("output", node.outputs, signature.outputs),
    ):
        if not least <= len(names) <= greatest or not all(names[:least]):
            number = f"{least}" if least == greatest else f"{least} to {greatest}"
            raise NotExecutable(f"{node.operator} has {number} {what}s, none of the first {least} left out")
    known = signature.attributes
    for attribute in node.attributes:
        if attribute.name not in known:
            raise NotExecutable(f"{node.operator} has no attribute {quote(attribute.name)}")
        if attribute.kind != known[attribute.name]:
            kinds = f"{attribute.kind}, not {known[attribute.name]}"
            raise NotExecutable(f"the attribute {quote(attribute.name)} is of kind {kinds}")


def is_known(tensor: TensorFacts) -> bool:
    """Whether type and shape are known."""
    return first_unknown((tensor.type, tensor.shape)) is None and tensor.type in ELEMENTS
