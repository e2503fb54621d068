"""The definitions of operators in the onnx package: what ONNX states of each version of an operator."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

KINDS = {"seq": "sequence", "optional": "optional", "map": "map", "sparse_tensor": ""}
"""What a type that is not a dense tensor is called in a data file."""
RANKS = range(6)
"""The ranks of the inputs at which the inference is asked."""


class FormalDefinition(Struct, frozen=True):
    """An input or an output; the type is a variable or an element type."""

    name: str
    type: str
    optional: bool
    variadic: bool


class AttributeDefinition(Struct, frozen=True):
    """An attribute; the default is None where there is none."""

    kind: str
    required: bool
    default: int | float | str | tuple[int | float | str, ...] | None


class OperatorVersion(Struct, frozen=True):
    """What ONNX states of one version of an operator.

    `types` are the element types of each type variable, `kinds` the kinds of values besides dense tensors, `steps` the
    operators of the function that defines it, empty where it is not a function.
    """

    version: int
    inputs: tuple[FormalDefinition, ...]
    outputs: tuple[FormalDefinition, ...]
    attributes: dict[str, AttributeDefinition]
    types: dict[str, tuple[str, ...]]
    kinds: tuple[str, ...]
    text: str
    steps: tuple[str, ...]
    deterministic: bool
    same_shape: bool
    """Whether the inference of ONNX gives the only output the shape of the only input, at every rank it was asked."""


def operator_versions(operator: str) -> tuple[OperatorVersion, ...]:
    """The versions of an operator of the standard domain that are not deprecated, ascending."""
    from onnx import defs  # only a draft of a data file needs it

    schemas = [each for each in defs.get_all_schemas_with_history() if (each.domain, each.name) == ("", operator)]
    schemas = [each for each in sorted(schemas, key=lambda schema: schema.since_version) if not each.deprecated]
    return tuple([_version(schema) for schema in schemas])


def _version(schema: Any) -> OperatorVersion:
    types = {each.type_param_str: tuple(each.allowed_type_strs) for each in schema.type_constraints}
    formals = [*schema.inputs, *schema.outputs]
    written = [*[name for names in types.values() for name in names], *[each.type_str for each in formals]]
    kinds = sorted({kind for text in written for kind in [KINDS.get(text.partition("(")[0], "")] if kind})
    return OperatorVersion(
        version=schema.since_version,
        inputs=tuple([_formal(each) for each in schema.inputs]),
        outputs=tuple([_formal(each) for each in schema.outputs]),
        attributes={name: _attribute(each) for name, each in sorted(schema.attributes.items())},
        types={variable: tuple(dict.fromkeys(map(_element, sorted(names)))) for variable, names in types.items()},
        kinds=tuple(kinds),
        text=schema.doc or "",
        steps=tuple(dict.fromkeys(node.op_type for node in schema.function_body.node)) if schema.has_function else (),
        deterministic="Non" not in str(schema.node_determinism),
        same_shape=_has_same_shape(schema),
    )


def _formal(formal: Any) -> FormalDefinition:
    option = str(formal.option).rpartition(".")[2]
    return FormalDefinition(formal.name, _element(formal.type_str), option == "Optional", option == "Variadic")


def _element(written: str) -> str:
    """The element type in `tensor(float)` or `seq(tensor(float))`, and a type variable as it is."""
    return re.split(r"[(,]", written.rstrip(")"))[-1].strip()


def _attribute(attribute: Any) -> AttributeDefinition:
    from onnx import helper

    kind = str(attribute.type).rpartition(".")[2].lower()
    has_default = attribute.default_value.type != 0 and kind in {"int", "ints", "float", "floats", "string", "strings"}
    value = helper.get_attribute_value(attribute.default_value) if has_default else None
    return AttributeDefinition(kind, attribute.required, _plain(value))


def _plain(value: Any) -> int | float | str | tuple[int | float | str, ...] | None:
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if value is None or isinstance(value, int | float | str):
        return value
    return tuple([_plain(item) for item in value])  # type: ignore[misc]


def _has_same_shape(schema: Any) -> bool:
    """Whether the inference gives the output the dimensions of the input, named by symbols."""
    from onnx import TensorProto, checker, helper, shape_inference

    required = any(attribute.required for attribute in schema.attributes.values())
    if required or (schema.min_input, schema.max_input, schema.min_output, schema.max_output) != (1, 1, 1, 1):
        return False
    [formal], [output] = schema.inputs, schema.outputs
    types = [name for each in schema.type_constraints if each.type_param_str == formal.type_str
             for name in each.allowed_type_strs if name.startswith("tensor(")]  # fmt: skip
    if not types:
        return False
    element = TensorProto.DataType.Value(_element(types[0]).upper())
    node = helper.make_node(schema.name, [formal.name], [output.name])
    for rank in RANKS:
        sizes = [f"d{axis}" for axis in range(rank)]
        given = {formal.name: helper.make_tensor_type_proto(element, sizes)}
        try:
            inferred = shape_inference.infer_node_outputs(schema, node, given)
        except (shape_inference.InferenceError, checker.ValidationError, RuntimeError):
            return False
        shape = inferred[output.name].tensor_type.shape if output.name in inferred else None
        if shape is None or [each.dim_param for each in shape.dim] != sizes:
            return False
    return True
