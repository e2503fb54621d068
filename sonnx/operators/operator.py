"""What the executor knows of an operator: one typed object for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from sonnx.model.ir import Attribute
from sonnx.numerics.application import Application, Definition, Kernel, KernelFactory
from sonnx.numerics.broadcasting import NUMPY_SINCE, aligned
from sonnx.numerics.enclosures.values import TransferFunction
from sonnx.numerics.formats import Array
from sonnx.operators.stated_signature import StatedSignature

ExplicitAttributes: TypeAlias = Callable[[Mapping[str, Any]], tuple[Attribute, ...]]
"""From the names of the data file, all known, the attributes to take in place of those that are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """An operator: its definition, and faster ways to the same values.

    Attributes:
        name: the name in ONNX.
        define: the outputs, as the text defines them.
        kernel: makes the kernel of a node with one output of known shape and type.
        fast_path: the same outputs as `define`, faster, for any number of outputs.
        signature: of an operator that has no data file in restrictions/operators; else None.
        error_conditions: the slugs of the rules that `define`, `kernel` and `fast_path` decide element by element.
        shown_by: for each of them the condition of `bound` that shows it, where it is recorded and holds.
        rounding_points: where a value is rounded before the output, as the data file names it.
        axis_broadcasting: before operator set 7 the second input is broadcast along an axis.
        explicit_attributes: brings a node outside the profile into a form that the data file describes.
        result_type: the element type of the output where no input has it.
        passes_input_on: the output is the first input, which needs no step of a run.
        exact: it moves or converts elements: what it makes of constants is the same in every implementation.
        reads_shapes_only: the elements of its input do not matter.
        selects: each element of its outputs is an element of an input of that type, unless an input has no elements.
        ends: between them is each element of its outputs that is not NaN, whatever its inputs are.
        bound: the transfer function of ranges and errors; None where the operator has none.
        precomputed: where its inputs are known before the first node runs, so is the output, which takes no memory.
    """

    name: str
    define: Definition
    kernel: KernelFactory | None = None
    fast_path: Definition | None = None
    signature: StatedSignature | None = None
    error_conditions: tuple[str, ...] = ()
    shown_by: Mapping[str, str] = field(default_factory=dict)
    rounding_points: tuple[str, ...] = ()
    axis_broadcasting: bool = False
    explicit_attributes: ExplicitAttributes | None = None
    result_type: Callable[[Mapping[str, Any]], str] | None = None
    passes_input_on: bool = False
    precomputed: bool = False
    exact: bool = False
    reads_shapes_only: bool = False
    selects: bool = False
    ends: tuple[float, float] | None = None
    bound: TransferFunction | None = None

    def implementation(
        self, application: Application, *, single: bool, definitions_only: bool
    ) -> tuple[Definition, Kernel | None]:
        """What computes all outputs of a node, and its kernel if there is one.

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
    """The same on inputs that NumPy broadcasts as the version does."""
    return lambda application, inputs: definition(application, aligned(application, inputs))


def _aligned_kernel(application: Application, kernel: Kernel) -> Kernel:
    return lambda inputs, out: kernel(aligned(application, inputs), out)
