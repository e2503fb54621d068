"""The constants of a call: the solver leaves their elements open, and with zeros nothing would depend on the inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import TypeAlias

import numpy as np
from msgspec import structs

from sonnx.checker.request import CheckRequest, check_model, open_model
from sonnx.checker.verdicts import Verdict
from sonnx.model.ir import Model, Tensor, ValueInfo
from sonnx.model.writer import write
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import ELEMENTS, NAMES, TEXT, Array
from sonnx.numerics.packing import packed
from sonnx.numerics.value_classes import ClassCase
from sonnx.profile.signature import Signature
from sonnx.prover.call_variables import inputs_asked_constant, inputs_with_values
from sonnx.prover.witness import CallInstance

SEED = 0
"""Of what is drawn."""
Fill: TypeAlias = Callable[[Array], Array]
"""Ordinary elements in, the elements of a constant out."""
ORDINARY_FILL: Fill = np.asarray
FILLS: tuple[Fill, ...] = (
    ORDINARY_FILL,
    lambda drawn: np.where(drawn == 0, 1, np.abs(drawn)),
    lambda drawn: 1 + np.abs(drawn) % 2,
)
"""What the elements of a constant are of which rules demand something: the first of these that conforms: ordinary ones,
positive ones, positive ones below 3."""


def model_of_call(call: CallInstance, edition: str) -> Model:
    """The model of a conforming call, with ordinary elements in its constants."""
    return _with_constants(with_attribute_elements(call.model()), call.signature, edition)


def constant_inputs(signature: Signature) -> set[str]:
    """The names in the model of a call of the inputs that have to be constants."""
    fixed = inputs_asked_constant(signature) | {value.name for value in signature.values}
    return {f"x{place}" for place, operand in enumerate(signature.inputs) if operand.name in fixed}


def conforms(model: Model, edition: str) -> bool:
    """Whether the checker passes a model; an edition may have no Slice of its types."""
    opened, _ = open_model(write(model), hashed=False)
    return check_model(opened, "", CheckRequest(edition), "model").verdict in (Verdict.PASS, Verdict.ASSUMED)


def with_attribute_elements(model: Model) -> Model:
    """Ordinary elements in place of the zeros of tensors in attributes."""
    [node] = model.graph.nodes

    def filled(value: object) -> object:
        if not isinstance(value, Tensor):
            return value
        drawn = ClassCase("ordinary", "", {}).drawn({value.name: (value.dims, ELEMENTS[value.element or ""])}, SEED)
        return initializer_of(value.name, drawn[value.name])

    attributes = tuple(
        structs.replace(attribute, value=filled(attribute.value)) if isinstance(attribute.value, Tensor) else attribute
        for attribute in node.attributes
    )
    return structs.replace(
        model, graph=structs.replace(model.graph, nodes=(structs.replace(node, attributes=attributes),))
    )


def read_by_rules(signature: Signature) -> set[str]:
    """The names in the model of a call of the inputs whose values rules read."""
    read = inputs_with_values(signature) | _listed(signature)
    return {f"x{place}" for place, operand in enumerate(signature.inputs) if operand.name in read}


def _listed(signature: Signature) -> set[str]:
    """The inputs that list the numbers of a parameter."""
    return {value.name for value in signature.values}


def _with_constants(model: Model, signature: Signature, edition: str) -> Model:
    """Ordinary elements in place of the equal ones of constants: with zeros, nothing would depend on the inputs.

    The first element of a constant whose elements rules read is in the classes of the call, so it stays.
    """
    listed = {f"x{place}" for place, operand in enumerate(signature.inputs) if operand.name in _listed(signature)}
    open_ = [tensor for tensor in model.graph.initializers if tensor.name not in listed]
    read = read_by_rules(signature)
    together = {tensor.name: _filled(tensor, ORDINARY_FILL) for tensor in open_ if tensor.name not in read}
    filled = _replaced(model, together)
    model = filled if together and conforms(filled, edition) else model
    for tensor in open_:
        if tensor.name in read and prod(tensor.dims) > 1:
            tried = (_replaced(model, {tensor.name: _filled(tensor, fill, keep=True)}) for fill in FILLS)
            model = next((each for each in tried if conforms(each, edition)), model)
    return model


def _replaced(model: Model, constants: Mapping[str, Tensor]) -> Model:
    """A model with other constants of some names."""
    initializers = tuple(constants.get(tensor.name, tensor) for tensor in model.graph.initializers)
    return with_inputs_and_constants(model, model.graph.inputs, initializers)


def _filled(tensor: Tensor, fill: Callable[[Array], Array], *, keep: bool = False) -> Tensor:
    """A constant with drawn elements, with `keep` but for the first one."""
    kind = ELEMENTS[tensor.element or ""]
    [drawn] = ClassCase("ordinary", "", {}).drawn({tensor.name: (tensor.dims, kind)}, SEED).values()
    elements = np.asarray(fill(drawn), drawn.dtype).copy()
    if keep:
        elements.reshape(-1)[:1] = decode(tensor, None).reshape(-1)[:1]
    return initializer_of(tensor.name, elements)


def with_inputs_and_constants(model: Model, inputs: tuple[ValueInfo, ...], constants: tuple[Tensor, ...]) -> Model:
    """A model with other graph inputs and constants."""
    return structs.replace(model, graph=structs.replace(model.graph, inputs=inputs, initializers=constants))


def initializer_of(name: str, array: Array) -> Tensor:
    """An array as a constant."""
    element, shape = NAMES[array.dtype], tuple(array.shape)
    if array.dtype == TEXT:
        strings = tuple(item.encode() for item in array.ravel())
        return Tensor(name, element, shape, ("string_data",), strings=strings)
    return Tensor(name, element, shape, ("raw_data",), memoryview(packed(array)))
