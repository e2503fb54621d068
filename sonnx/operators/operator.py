"""What the tool knows of an operator: one typed object for each, with its definition where the executor has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from sonnx.model.ir import Attribute
from sonnx.numerics.application import Application, Definition, Kernel, KernelFactory
from sonnx.numerics.broadcasting import NUMPY_SINCE, aligned
from sonnx.numerics.enclosures.values import TransferFunction
from sonnx.numerics.formats import Array
from sonnx.operators.stated_signature import StatedSignature
from sonnx.profile.definitions import at

ExplicitAttributes: TypeAlias = Callable[[Mapping[str, Any]], tuple[Attribute, ...]]
"""From the names of the data file, all known, the attributes to take in place of those that are written."""


Monotone: TypeAlias = Literal["increasing", "decreasing"]

CONSUMED_INPUTS: Mapping[str, str] = MappingProxyType(
    {"consumed_inputs": "operator set 1: whose memory an output may take; only that set has it"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedOperator:
    """What the tool knows of an operator of the standard domain, also where it cannot run it.

    Each fact holds for every version, attribute and input with which the tool takes a node, unless it says otherwise;
    False, None and empty mean that it is not stated.  `tests/operators/test_facts.py` runs the operators to see it.

    Attributes:
        name: the name in ONNX.
        elementwise: each output element is one function of the input elements at its index, after broadcasting.
        elementwise_with_scalars: the same where every input but the first has one element.
        axis_broadcasting: before operator set 7 the second input is broadcast along an axis, not as numpy does.
        commutative: swapping two inputs changes no bit.
        commutative_numbers: swapping two inputs changes nothing but which of several NaNs is the output.
        associative: over the reals, inputs of several such nodes may be regrouped; of integers and truths exactly.
        continuous: an output of floats is a continuous function of the inputs of floats, where it is finite.
        moved_inputs: each output element is an element of the first input or of any one, as "first" and "every" say, or
            a constant, at an index that depends on no element of these inputs; None where the operator computes.
        keeps_order: the elements of the first input in their order, in the same shape or another one.
        converts: each output element is the first input's at its index in another type.
        states_elements: each output element is one that an attribute states.
        reads_shapes_only: the elements of its input do not matter.
        selects: each element of its outputs is an element of an input of that type, unless an input has no elements.
        twice: what it is of its own output: "same" where that comes back, "undone" where its input does, but for NaN.
        monotone: of the first input, elements in order give elements in that order or in the opposite one.
        ends: between them is each element of its outputs that is not NaN, whatever its inputs are.
        lipschitz: over the reals, outputs of a function of one element differ by at most this many times as much as its
            inputs do.
        may_overflow_inside: a value that its text computes on the way may leave the range of the type where no input
            and no output does.
        random: the output is not a function of the inputs.
        signed_padding: its text prints a formula for the padding of SAME_UPPER and SAME_LOWER that can be negative
            (erratum pooling-negative-padding).
        axis_parameter: the attribute or input that names an axis of the first input, or a set of its axes; a negative
            number counts from the last one.
        independent_outputs: what an output is does not depend on which outputs a node has.
        valueless_attributes: the attributes that change no value, each with the reason.
        versions: the versions of ONNX, where no data file lists them.
        changes: those of them that mean something else than the one before them for a node that both allow.
        absent: what the absence of an attribute means, where no data file says it; by version where versions differ.
        output_element: the element type of the first output where no data file says it; "first" for that of the first
            input.
        keeps_shape: the first output has the shape of the first input.
    """

    name: str
    elementwise: bool = False
    elementwise_with_scalars: bool = False
    axis_broadcasting: bool = False
    commutative: bool = False
    commutative_numbers: bool = False
    associative: bool = False
    continuous: bool = False
    moved_inputs: Literal["first", "every"] | None = None
    keeps_order: bool = False
    converts: bool = False
    states_elements: bool = False
    signed_padding: bool = False
    reads_shapes_only: bool = False
    selects: bool = False
    twice: Literal["same", "undone"] | None = None
    monotone: Monotone | None = None
    ends: tuple[float, float] | None = None
    lipschitz: float | None = None
    may_overflow_inside: bool = False
    random: bool = False
    axis_parameter: str = ""
    independent_outputs: bool = False
    valueless_attributes: Mapping[str, str] = field(default_factory=lambda: CONSUMED_INPUTS)
    versions: tuple[int, ...] = ()
    changes: tuple[int, ...] = ()
    absent: Mapping[str, Any] = field(default_factory=dict)
    output_element: str = ""
    keeps_shape: bool = False

    @property
    def moves(self) -> bool:
        """Whether it moves elements of its inputs and computes none."""
        return self.moved_inputs is not None

    @property
    def exact(self) -> bool:
        """Whether it moves or converts elements: what it makes of constants is the same in every implementation."""
        return self.moves or self.converts or self.states_elements or self.reads_shapes_only

    def elementwise_at(self, operator_set: int) -> bool:
        """Whether it is elementwise in an operator set, whose broadcasting may be another one."""
        return self.elementwise and not (self.axis_broadcasting and operator_set < NUMPY_SINCE)

    def since_version(self, operator_set: int) -> int | None:
        """The first version with the meaning that the operator has in an operator set; None before the first one."""
        return max((version for version in self.changes or self.versions if version <= operator_set), default=None)

    def absent_value(self, attribute: str, operator_set: int) -> Any:
        """What the absence of an attribute means in an operator set; None where no value is stated."""
        value = self.absent.get(attribute)
        return at(value, operator_set) if isinstance(value, Mapping) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator(StatedOperator):
    """An operator that the executor runs: its definition, and faster ways to the same values.

    Attributes:
        define: the outputs, as the text defines them.
        kernel: makes the kernel of a node with one output of known shape and type: the same values, faster.
        fast_path: the same outputs as `define`, faster, for any number of outputs.
        signature: of an operator that has no data file in restrictions/operators; else None.
        error_conditions: the slugs of the rules that `define`, `kernel` and `fast_path` decide element by element.
        shown_by: for each of them the condition of `bound` that shows it, where it is recorded and holds.
        rounding_points: where a value is rounded before the output, as the data file names it.
        explicit_attributes: brings a node outside the profile into a form that the data file describes.
        result_type: the element type of the output where no input has it.
        passes_input_on: the output is the first input, which needs no step of a run.
        bound: the transfer function of ranges and errors.
        precomputed: where its inputs are known before the first node runs, so is the output, which takes no memory.
        other_readings: by erratum the definitions that follow another reading of the texts, where it says that an
            implementation may (`instead` in the errata).
    """

    define: Definition
    kernel: KernelFactory | None = None
    fast_path: Definition | None = None
    signature: StatedSignature | None = None
    error_conditions: tuple[str, ...] = ()
    shown_by: Mapping[str, str] = field(default_factory=dict)
    rounding_points: tuple[str, ...] = ()
    explicit_attributes: ExplicitAttributes | None = None
    result_type: Callable[[Mapping[str, Any]], str] | None = None
    passes_input_on: bool = False
    precomputed: bool = False
    bound: TransferFunction | None = None
    other_readings: Mapping[str, Sequence[Definition]] = field(default_factory=dict)

    def implementation(
        self, application: Application, *, single: bool, definitions_only: bool
    ) -> tuple[Definition, Kernel | None]:
        """The definition, or fast path, that computes all outputs of a node, and its kernel if there is one.

        Args:
            application: the operator as the node applies it.
            single: whether the node has one output, of known shape and type.
            definitions_only: leave kernels and fast paths out.
        """
        definition, kernel = self.define, None
        if not definitions_only:
            definition = self.fast_path or self.define
            kernel = self.kernel(application) if single and self.kernel is not None else None
        if self.axis_broadcasting and application.version < NUMPY_SINCE:
            return _aligned(definition), kernel and _aligned_kernel(application, kernel)
        return definition, kernel


def copying_kernel(define: Definition) -> KernelFactory:
    """Kernels of an operator whose definition is a view of its input: the elements, copied."""

    def factory(application: Application) -> Kernel:
        def kernel(inputs: Sequence[Any], out: Array) -> Array:
            np.copyto(out, define(application, inputs)[0])
            return out

        return kernel

    return factory


def _aligned(definition: Definition) -> Definition:
    """A definition on inputs that are reshaped so that NumPy broadcasts them as the version does."""
    return lambda application, inputs: definition(application, aligned(application, inputs))


def _aligned_kernel(application: Application, kernel: Kernel) -> Kernel:
    return lambda inputs, out: kernel(aligned(application, inputs), out)
