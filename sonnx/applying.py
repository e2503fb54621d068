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

from sonnx import catalogue
from sonnx.calls import group_answers
from sonnx.domain import Expression
from sonnx.expecting import (
    Expected,
    expected_of,
    is_known,
    require_count,
    require_stated_count,
    require_types,
    stated_outputs,
)
from sonnx.facts import Cause, Facts, first_unknown
from sonnx.facts import Tensor as TensorFacts
from sonnx.implementations import Definition, Kernel, implementation, module_of
from sonnx.inforce import InForce
from sonnx.judging import Answer, judge, verdict_of
from sonnx.model import Attribute, Node
from sonnx.node_facts import LARGEST, NOTHING_STATED, RUN_TIME, environment, evaluate
from sonnx.profile import Operator, Rule
from sonnx.semantics.application import Application, Tally
from sonnx.semantics.formats import MOST_AXES, NAMES, Array, has_array
from sonnx.signature import Signature, demanded, resolve, signature
from sonnx.stops import ErrorCondition, NotExecutable
from sonnx.verdict import Verdict

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

    in_force: InForce
    operator_set: int | None
    conforming: bool
    plain: bool = False
    tally: Tally = field(default_factory=Tally)
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
        unknown = first_unknown(tuple([evaluate(shape, Facts(), names) for shape in made.shapes.values()]))
        return wait or (unknown is not None and unknown.cause is Cause.RUN_TIME)

    def _answers(self, made: Signature, names: Mapping[str, Any], raised: Sequence[str]) -> Iterator[Answer]:
        without = {**names, **_without_outputs(made)}
        yield from group_answers(made, without, self.in_force, onnx_only=not self.conforming)
        for rule, demand, carries in self._asked(made):
            if rule.slug in raised:
                continue
            verdict = verdict_of(rule, demand, names)
            if verdict is Verdict.FAIL or (verdict is Verdict.UNDECIDED and carries):
                yield judge(rule, demand, names)
            elif verdict is Verdict.ASSUMED and (self.conforming or carries):  # else the definition decides it
                yield Answer(rule, verdict)

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
