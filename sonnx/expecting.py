"""What a node must have before it runs, and what its outputs must be.

Both stand in the data file of its operator, or for an operator without one in its module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from sonnx import catalogue
from sonnx.facts import Facts, first_unknown
from sonnx.facts import Tensor as TensorFacts
from sonnx.model import Node
from sonnx.node_facts import evaluate
from sonnx.profile import Operator, Output, at, expand
from sonnx.quoting import quote
from sonnx.semantics.application import Application
from sonnx.semantics.formats import ELEMENTS
from sonnx.signature import Signature
from sonnx.stops import NotExecutable

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
    shape = evaluate(made.shapes[output.name], Facts(), names)
    unknown = first_unknown(shape)
    if unknown is not None:
        raise NotExecutable(f"the shape of {output.name} is not defined: {unknown.reason}")
    element = output.type
    chosen = at(output.element, made.version)
    if chosen is not None:
        element = str(evaluate(chosen, Facts(), names))
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
