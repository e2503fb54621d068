"""One node made ready to run: what computes it, and the type and shape its outputs must have.

The rules of the operator are asked again with what is known at run time, so that a condition the check had to assume is
decided here.  A node whose answer depends on values that do not exist yet is made ready when they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from sonnx.base.errors import ErrorCondition, NotExecutable
from sonnx.base.escaping import quote
from sonnx.checker.facts_domain import group_results as group_answers
from sonnx.checker.report import Verdict
from sonnx.checker.rules import ActiveRules, RuleResult, evaluate_rule, verdict_of
from sonnx.graph.environment import LARGEST, NOTHING_STATED, RUN_TIME, environment, evaluate
from sonnx.language.domain import Expression
from sonnx.language.evaluator import Cause, Evaluator, TensorFacts, first_unknown
from sonnx.model.ir import Attribute, Node
from sonnx.numerics.application import Application, ExactPathCounts
from sonnx.numerics.formats import ELEMENTS, MOST_AXES, NAMES, Array, has_array
from sonnx.operators.registry import Definition, Kernel, implementation, module_of
from sonnx.profile import catalogue
from sonnx.profile.definitions import Operator, Output, Rule, at, expand
from sonnx.profile.signature import Signature, demanded, resolve, signature

FEW = 2 * MOST_AXES
"""Floating-point elements of a list that rules are asked about: a scale, or a start and an end, for each axis."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A node ready to run.

    `expected` is the shape and type of each output, None where no data file states them.  `kernel` is the fast way to
    the same values, None where there is none.  `same_value` is true where the output is the first input, `early` where
    it takes no memory of its own and is made before the first node runs, if its inputs are known then.
    """

    application: Application
    definition: Definition
    expected: tuple[Expected, ...] | None
    kernel: Kernel | None
    same_value: bool
    early: bool


def facts_of(values: Array) -> TensorFacts:
    """What is known of an array: type, shape, and the elements where they are few numbers in a list.

    Rules about few floating-point numbers (a scale, a bound) are decided by them; those about whole tensors are
    decided by the semantics module, which lists them in RAISES.
    """
    most = LARGEST if values.dtype.kind in "iu" else 0 if values.dtype == np.bool_ else FEW
    few = values.size <= most and values.ndim <= 1
    return TensorFacts(NAMES[values.dtype], values.shape, tuple(values.reshape(-1).tolist()) if few else RUN_TIME)


@dataclass(frozen=True, slots=True)
class Applier:
    """What all nodes of a run share: the rules in force, the operator set, and whether the model conforms.

    In a conforming model every rule of an operator must hold.  In another what ONNX demands must, and the rules its
    values rest on: the error conditions, and what the shape expressions rely on.  `plain` leaves the kernels out.
    `asked` has for each operator the rules that are asked, by which condition, and whether values rest on each.
    """

    in_force: ActiveRules
    operator_set: int | None
    conforming: bool
    plain: bool = False
    tally: ExactPathCounts = field(default_factory=ExactPathCounts)
    asked: dict[tuple[str, int, str], list[tuple[Rule, Expression, bool]]] = field(default_factory=dict)

    def prepare(self, node: Node, inputs: Sequence[TensorFacts | None]) -> Prepared | None:
        """The node ready to run, None where that depends on values not known yet.

        Raises:
            ErrorCondition: a rule its values rest on does not hold.
            NotExecutable: the executor has no meaning for the node.
        """
        module = module_of(node)
        described = catalogue.operator(node.operator)
        attributes = {attribute.name: attribute for attribute in node.attributes}
        if any(attribute.reference for attribute in node.attributes) or len(attributes) < len(node.attributes):
            raise NotExecutable("an attribute is given by a caller, or twice")
        if self.operator_set is None:
            raise NotExecutable("the model imports no version of the standard operator set")
        if described is None:
            require_stated_count(node, module)
            application = self._application(node, self.operator_set, "onnx", {}, attributes)
            if hasattr(module, "outputs") and not all(each is None or is_known(each) for each in inputs):
                return None
            return self._prepared(application, module, stated_outputs(application, module, inputs))
        made = self._signature(described)
        require_count(node, made)
        names = environment(made, node.attributes, inputs, [NOTHING_STATED] * len(node.outputs))
        if not self.conforming and hasattr(module, "written_out"):
            unknown = first_unknown(
                (names[made.inputs[0].name].shape, *[names[parameter.name] for parameter in made.parameters])
            )
            if unknown is not None and unknown.cause is Cause.RUN_TIME:
                return None
            said = module.written_out(names) if unknown is None else ()
            if said:
                attributes |= {attribute.name: attribute for attribute in said}
                names = environment(made, tuple(attributes.values()), inputs, [NOTHING_STATED] * len(node.outputs))
        if self._wait(made, names, getattr(module, "RAISES", ())):
            return None
        require_types(made, described, names)
        for parameter in made.parameters:
            unknown = first_unknown(names[parameter.name])
            if unknown is not None and _has_meaning(made, parameter.name, names):
                raise NotExecutable(unknown.reason)
        application = self._application(node, made.version, made.text, names, attributes)
        outputs = made.outputs[: len(node.outputs)]
        if any(output.constant for output in outputs):  # the node holds the value itself, type and shape included
            return self._prepared(application, module, None)
        expected = tuple(each for output in outputs for each in expected_of(made, output, names, described, module))
        return self._prepared(application, module, expected)

    def _application(
        self, node: Node, version: int, text: str, names: Mapping[str, Any], attributes: Mapping[str, Attribute]
    ) -> Application:
        return Application(node.operator, version, text, names, attributes, self.tally, len(node.outputs))

    def _prepared(
        self, application: Application, module: ModuleType, expected: tuple[Expected, ...] | None
    ) -> Prepared:
        for shape, kind in expected or ():
            if min(shape, default=0) < 0:
                raise NotExecutable(f"an output of shape {list(shape)} has a negative extent")
            if not has_array(shape, kind):
                raise NotExecutable(f"an output of shape {list(shape)} is too large for an array")
        single = expected is not None and len(expected) == 1
        definition, kernel = implementation(application, module, single, self.plain)
        return Prepared(
            application,
            definition,
            expected,
            kernel,
            getattr(module, "SAME_VALUE", False),
            getattr(module, "EARLY", False),
        )

    def _signature(self, described: Operator) -> Signature:
        """The operator as the edition sees it; outside the edition, as its ONNX text does."""
        version = described.version_at(self.operator_set or 0)
        if version is None:
            raise NotExecutable(f"{described.name} does not exist in operator set {self.operator_set}")
        edition = self.in_force.edition.name
        found = signature(described.name, version, edition)
        return found or resolve(described, version, "onnx", self.in_force.editions, edition)

    def _wait(self, made: Signature, names: Mapping[str, Any], raised: Sequence[str]) -> bool:
        """Whether the rules or shapes ask for values not known yet; a rule that does not hold stops the run.

        The rules in `raised` are decided by the semantics module, element by element.
        """
        wait = False
        for answer in self._answers(made, names, raised):
            if answer.verdict is Verdict.FAIL:
                sentence = f"{answer.actual}, against {answer.rule.slug}: {answer.requires}"
                raise ErrorCondition(answer.rule.slug, sentence)
            if answer.verdict is Verdict.UNDECIDED and _carries(answer.rule, made):
                raise NotExecutable(f"{answer.rule.slug} cannot be decided: {answer.actual}")
            wait = wait or answer.verdict is Verdict.ASSUMED
        unknown = first_unknown(tuple([evaluate(shape, Evaluator(), names) for shape in made.shapes.values()]))
        return wait or (unknown is not None and unknown.cause is Cause.RUN_TIME)

    def _answers(self, made: Signature, names: Mapping[str, Any], raised: Sequence[str]) -> Iterator[RuleResult]:
        without = {**names, **_without_outputs(made)}
        yield from group_answers(made, without, self.in_force, onnx_only=not self.conforming)
        for rule, demand, carries in self._asked(made):
            if rule.slug in raised:
                continue
            verdict = verdict_of(rule, demand, names)
            if verdict is Verdict.FAIL or (verdict is Verdict.UNDECIDED and carries):
                yield evaluate_rule(rule, demand, names)
            elif verdict is Verdict.ASSUMED and (self.conforming or carries):  # else the definition decides it
                yield RuleResult(rule, verdict)

    def _asked(self, made: Signature) -> list[tuple[Rule, Expression, bool]]:
        key = (made.operator, made.version, made.text)
        if key not in self.asked:
            found = self.asked[key] = []
            for rule in made.rules:
                demand, carries = demanded(rule, made.text, self.in_force.editions), _carries(rule, made)
                if not (self.conforming or carries or rule.kind == "validity"):
                    demand = rule.onnx
                if demand is not None:
                    found.append((rule, demand, carries))
        return self.asked[key]


def _carries(rule: Rule, made: Signature) -> bool:
    """Whether values rest on a rule: an error condition, or what the shape of an output relies on."""
    return rule.kind == "error-condition" or any(rule.name in output.relies for output in made.outputs)


def _without_outputs(made: Signature) -> dict[str, Any]:
    return {f"given({output.name})": False for output in made.outputs}


def _has_meaning(made: Signature, name: str, names: Mapping[str, Any]) -> bool:
    """Whether a parameter has a value: it is written, or its absence means one."""
    return bool(names[f"written({name})"]) or made.absent[name] is not None


# ------------------------------------------------------------------
# What a node must have before it runs, and what its outputs must be.
#
# Both stand in the data file of its operator, or for an operator without one in its module.


Expected = tuple[tuple[int, ...], np.dtype[Any]]


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


def require_types(made: Signature, described: Operator, names: Mapping[str, Any]) -> None:
    """Every type variable has an element type that ONNX gives it.

    Raises:
        NotExecutable: one has not.
    """
    for variable, members in made.groups.items():
        element = _element(members, names, "")
        admitted = expand(at(described.types[variable], made.version) or (), catalogue.editions().families)
        if element and element not in admitted:
            raise NotExecutable(f"{made.operator}-{made.version} is not defined for elements of type {element}")


def expected_of(
    made: Signature, output: Output, names: Mapping[str, Any], described: Operator, module: ModuleType
) -> list[Expected]:
    """The shape and type of an output; of one that stands any number of times, of each."""
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
        element = element or (module.result_type(names) if hasattr(module, "result_type") else "unknown")
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


# ------------------------------------------------------------------ operators without a data file


def require_stated_count(node: Node, module: ModuleType) -> None:
    """The inputs, outputs and attributes of an operator without a data file, as its module states them.

    INPUTS and OUTPUTS are a number, or the least and the largest one; inputs beyond the least may be left out.
    """
    for what, names, stated in (
        ("input", node.inputs, module.INPUTS),
        ("output", node.outputs, getattr(module, "OUTPUTS", 1)),
    ):
        least, most = (stated, stated) if isinstance(stated, int) else stated
        if not least <= len(names) <= most or not all(names[:least]):
            number = f"{least}" if least == most else f"{least} to {most}"
            raise NotExecutable(f"{node.operator} has {number} {what}s, none of the first {least} left out")
    known: Mapping[str, str] = getattr(module, "ATTRIBUTES", {})
    for attribute in node.attributes:
        if attribute.name not in known:
            raise NotExecutable(f"{node.operator} has no attribute {quote(attribute.name)}")
        if attribute.kind != known[attribute.name]:
            kinds = f"{attribute.kind}, not {known[attribute.name]}"
            raise NotExecutable(f"the attribute {quote(attribute.name)} is of kind {kinds}")


def is_known(tensor: TensorFacts) -> bool:
    """Whether type and shape are known."""
    return first_unknown((tensor.type, tensor.shape)) is None and tensor.type in ELEMENTS


def stated_outputs(
    application: Application, module: ModuleType, inputs: Sequence[TensorFacts | None]
) -> tuple[Expected, ...] | None:
    """What an operator without a data file makes of inputs of known types and shapes, None where values decide it."""
    if not hasattr(module, "outputs"):
        return None
    known = [each and (each.shape, ELEMENTS[str(each.type)]) for each in inputs]
    made: tuple[Expected, ...] = module.outputs(application, known)
    return made
