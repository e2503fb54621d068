"""A call of an operator on stated facts, prepared once for every analysis that computes with it.

`run`, `bound`, `equivalent` and `fix` read a call through `PreparedCall`: the names of the rules by their effective
values, the attributes in the form that the data file describes, and the `Application` that definitions, kernels and
transfer functions are given.  `PreparedNode` is a call with what computes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from sonnx.base.errors import NotExecutable
from sonnx.checker.facts_domain import Facts
from sonnx.graph.call import Call
from sonnx.graph.environment import NOTHING_STATED, environment, explicit_attributes
from sonnx.graph.transfer import complete_types, output_facts
from sonnx.language.domain import written_key
from sonnx.language.evaluator import TensorFacts, Unknown, UnknownCause, evaluate, first_unknown
from sonnx.model.ir import Attribute
from sonnx.model.scopes import canonical_domain
from sonnx.numerics.application import Application, Constants, Definition, ExactPathCounts, Kernel
from sonnx.numerics.formats import ELEMENTS, Array, TensorSpec, has_array
from sonnx.operators import Operator, find_operator
from sonnx.profile.definitions import at
from sonnx.profile.signature import Signature

NO_TEXT = "onnx"
"""The text of a call that no text of the profile is about."""


class HasFacts(Protocol):
    """A value of an analysis: whatever else is known of it, it has a type and a shape."""

    @property
    def facts(self) -> TensorFacts:
        """What rules know of the value."""


def operand_facts(operands: Iterable[HasFacts | None]) -> list[TensorFacts | None]:
    """The facts of the operands of a call, None where one is left out."""
    return [None if operand is None else operand.facts for operand in operands]


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


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call on facts of its operands.

    Attributes:
        call: the call.
        operator: what the tool knows of the operator; None where it has no definition.
        inputs: the facts of the operands, None where one is left out.
        names: the names of the operator's rules by their effective values: an absent attribute has the value its
            absence means, an output the type that the operator gives it.  Empty without a data file.
        attributes: those that are written, or after `explicit` those that say the same in the profile's form, by name.
        awaits_values: `explicit` needs a shape or a parameter that only a run knows; the attributes are as written.
    """

    call: Call
    operator: Operator | None
    inputs: Facts
    names: dict[str, Any]
    attributes: Mapping[str, Attribute]
    awaits_values: bool = False

    @classmethod
    def of(cls, call: Call, inputs: Facts, outputs: Facts | None = None) -> PreparedCall:
        """A call as it is written.

        Args:
            call: the call.
            inputs: the facts of its operands.
            outputs: what is stated of its outputs; by default nothing.
        """
        operator = None if canonical_domain(call.domain) else find_operator(call.operator)
        attributes = {attribute.name: attribute for attribute in call.attributes}
        return cls(call, operator, inputs, _names(call, call.attributes, inputs, outputs), attributes)

    def explicit(self) -> PreparedCall:
        """The call with `Operator.explicit_attributes`: auto_pad and ceil_mode as the numbers of pads.

        Raises:
            NotExecutable: an attribute has a value that ONNX does not define.
        """
        if self.operator is None or self.operator.explicit_attributes is None or self.call.signature is None:
            return self
        replacing = explicit_attributes(self.operator.explicit_attributes, self.call.signature, self.names)
        if isinstance(replacing, Unknown):
            return replace(self, awaits_values=replacing.cause is UnknownCause.RUN_TIME)
        if not replacing:
            return self
        attributes = {**self.attributes, **{attribute.name: attribute for attribute in replacing}}
        names = _names(self.call, tuple(attributes.values()), self.inputs, None)
        return replace(self, names=names, attributes=attributes)

    @property
    def signature(self) -> Signature:
        """The operator in the version and edition of the call.

        Raises:
            NotExecutable: the operator set does not have it.
        """
        if self.call.signature is None:
            raise NotExecutable(f"{self.call.operator} does not exist in operator set {self.call.operator_set}")
        return self.call.signature

    def shapes(self) -> dict[str, Any]:
        """The shape of each output by its formal name, as the data file computes it from the operands."""
        return {name: evaluate(shape, self.names) for name, shape in self.signature.shapes.items()}

    def output_facts(self, shapes: Mapping[str, Any] | None = None) -> list[TensorFacts]:
        """What the data file says of the outputs; `shapes` are those of `shapes()`, where the caller has them."""
        stated, computed = [NOTHING_STATED] * len(self.call.outputs), self.shapes() if shapes is None else shapes
        return output_facts(self.signature, self.names, stated, (), lambda output: computed[output.name])

    def unknown_parameter(self) -> Unknown | None:
        """Why the value of a parameter is not known that is written or whose absence means a value; None if all are."""
        signature = self.signature
        for parameter in signature.parameters:
            unknown = first_unknown(self.names[parameter.name])
            has_value = self.names[written_key(parameter.name)] or signature.absent[parameter.name] is not None
            if unknown is not None and has_value:
                return unknown
        return None

    def application(self, counts: ExactPathCounts | None = None, constants: Constants | None = None) -> Application:
        """What a definition, a kernel or a transfer function is given beside its operands.

        Args:
            counts: takes the counts of exact paths; by default they are not kept.
            constants: the arrays that no run changes; by default none is known.
        """
        signature = self.call.signature
        return Application(
            self.call.operator,
            self.call.operator_set or 0 if signature is None else signature.version,
            NO_TEXT if signature is None else signature.text,
            self.names,
            self.attributes,
            ExactPathCounts() if counts is None else counts,
            len(self.call.outputs),
            Constants() if constants is None else constants,
            absent=self._absent(),
        )

    def _absent(self) -> Mapping[str, Any]:
        """What the absence of attributes means that `names` does not have.

        Of an operator without a data file its object states them.  Before the version that adds an attribute, the
        operator does what the absence of the attribute means in that version.
        """
        definition, signature, operator = self.call.definition, self.call.signature, self.operator
        if signature is None or definition is None:
            if operator is None:
                return {}
            return {name: operator.absent_value(name, self.call.operator_set or 0) for name in operator.absent}
        later = [parameter for parameter in definition.parameters if parameter.since > signature.version]
        meanings = [(parameter.name, at(parameter.absent, parameter.since)) for parameter in later]
        return {name: evaluate(meaning, self.names) for name, meaning in meanings if meaning is not None}

    def node(
        self, specs: tuple[TensorSpec, ...] | None, application: Application, *, definitions_only: bool = False
    ) -> PreparedNode:
        """The call ready to run, for outputs of these shapes and types; None where the node itself holds the value.

        Raises:
            NotExecutable: the executor does not know the operator, or an output is too large for an array.
        """
        if self.operator is None:
            raise NotExecutable(f"the executor does not know the operator {self.call.operator}")
        for shape, kind in specs or ():
            if min(shape, default=0) < 0:
                raise NotExecutable(f"an output of shape {list(shape)} has a negative extent")
            if not has_array(shape, kind):
                raise NotExecutable(f"an output of shape {list(shape)} is too large for an array")
        operator, single = self.operator, specs is not None and len(specs) == 1
        definition, kernel = operator.implementation(application, single=single, definitions_only=definitions_only)
        return PreparedNode(application, definition, specs, kernel, operator.passes_input_on, operator.precomputed)

    def output_specs(self, facts: Facts) -> tuple[TensorSpec, ...] | None:
        """The shapes and types of the outputs by their facts; None where the node itself holds the value.

        Raises:
            NotExecutable: one is not known, or of a type that the executor does not know.
        """
        outputs = self.signature.outputs
        if any(output.constant for output in outputs[: len(facts)]):
            return None
        return tuple([_spec(outputs[min(index, len(outputs) - 1)].name, each) for index, each in enumerate(facts)])


def _names(
    call: Call, attributes: Sequence[Attribute], inputs: Facts, outputs: Facts | None
) -> dict[str, Any]:  # fmt: skip
    if call.signature is None:
        return {}
    stated = [NOTHING_STATED] * len(call.outputs) if outputs is None else outputs
    names = environment(call.signature, attributes, inputs, stated)
    complete_types(call.signature, names)
    return names


def _spec(name: str, facts: TensorFacts | None) -> TensorSpec:
    unknown = first_unknown(facts.shape) if facts is not None else None
    if facts is None or unknown is not None:
        raise NotExecutable(f"the shape of {name} is not defined: {unknown.reason if unknown else ''}")
    element = "unknown" if isinstance(facts.type, Unknown) else facts.type
    if element not in ELEMENTS:
        raise NotExecutable(f"{name} has the element type {element}, which the executor does not know")
    return facts.shape, ELEMENTS[element]  # type: ignore[return-value]
