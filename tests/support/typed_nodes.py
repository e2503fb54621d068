"""Nodes made of the samples: of every combination of element types that the catalogue admits, and of any extents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy
from onnx import TensorProto, helper

import sonnx
from sonnx.model.writer import element_number, write_tensor
from sonnx.numerics import small_floats
from sonnx.numerics.elementwise import integer_array
from sonnx.numerics.formats import ELEMENTS, NAMES, TEXT, Array, is_integer, is_small_float
from sonnx.numerics.packing import packed
from sonnx.profile import catalogue
from sonnx.profile.definitions import Input, OperatorDefinition, at, expand
from tests.support.cases import DEEP, examples
from tests.support.definitions import run_by_definitions
from tests.support.samples import EXTENTS, SAMPLES, Sample

CHOSEN_BY = {"Cast": "to", "QuantizeLinear": "output_dtype", "DequantizeLinear": "output_dtype"}
"""The attribute that names the element type of an output where no input has it."""


@dataclass(frozen=True)
class Node:
    """A node with its inputs: `types` are the element types by type variable."""

    sample: Sample
    version: int
    types: Mapping[str, str]
    inputs: tuple[Array | None, ...]
    attributes: Mapping[str, Any]

    @property
    def label(self) -> str:
        """What the node is, in one line."""
        types = ", ".join(f"{variable}={name}" for variable, name in self.types.items())
        shapes = " ".join(str(list(each.shape)) if each is not None else "-" for each in self.inputs)
        return f"{self.sample.operator}-{self.version} {types}: {shapes}"


def model_of(nodes: Sequence[Node]) -> tuple[bytes, dict[str, Array]]:
    """Nodes of one version as a model, with its inputs; output k of node n is `n.k`."""
    made, declared, results, arrays = [], [], [], {}
    for place, node in enumerate(nodes):
        names = [f"{place}i{k}" if each is not None else "" for k, each in enumerate(node.inputs)]
        outputs = [f"{place}.{k}" for k in range(node.sample.outputs)]
        made.append(helper.make_node(node.sample.operator, names, outputs, node.label))
        for name, value in node.attributes.items():
            made[-1].attribute.append(helper.make_attribute(name, value))
        results += [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs]
        for name, each in zip(names, node.inputs, strict=True):
            if each is not None:
                arrays[name] = each
                declared.append(helper.make_tensor_value_info(name, element_number(NAMES[each.dtype]), each.shape))
    graph = helper.make_graph(made, "g", declared, results)
    [version] = {node.version for node in nodes}
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)
    return model.SerializeToString(), arrays


def values_of(nodes: Sequence[Node], *, definitions: bool = False) -> list[tuple[Array, ...]]:
    """The outputs of each node."""
    source, arrays = model_of(nodes)
    run = run_by_definitions if definitions else partial(sonnx.run, unchecked=True)
    found = run(source, arrays)
    return [tuple(found[f"{place}.{k}"] for k in range(node.sample.outputs)) for place, node in enumerate(nodes)]


def samples_of(operator: OperatorDefinition, version: int) -> list[Sample]:
    """The samples of an operator in a version; without one in the table, a node whose inputs have one shape."""
    listed = [sample for sample in SAMPLES if sample.operator == operator.name]
    if not listed:
        return [Sample(operator.name, ["A B"] * len(formals_of(operator, version)))]
    samples = [sample for sample in listed if sample.since <= version < sample.before]
    assert samples, f"{operator.name}-{version} has no sample"
    return samples


MAX_COMBINATIONS = examples(8, 64)
"""Combinations of element types up to which an older version gets all of them; else each type of a variable once."""


def typed_nodes(sample: Sample, operator: OperatorDefinition, version: int, *, every: bool = False) -> Iterator[Node]:
    """A node of a version for each combination of element types; of an older one see `MAX_COMBINATIONS`."""
    families, used = catalogue.editions().families, types_used(sample, operator, version)
    admitted = {
        variable: expand(at(listed, version) or (), families)
        for variable, listed in operator.types.items()
        if variable in used or chooses(operator, variable, version, used)
    }
    combinations = [*product(*admitted.values())]
    if len(combinations) > MAX_COMBINATIONS and not every and version != operator.versions[-1]:
        most = max(map(len, admitted.values()))
        combinations = [tuple(listed[n % len(listed)] for listed in admitted.values()) for n in range(most)]
    for combination in combinations:
        yield node_of(sample, version, dict(zip(admitted, combination, strict=True)), used, EXTENTS)


def types_used(sample: Sample, operator: OperatorDefinition, version: int) -> list[str]:
    """The type variable or the element type of each input."""
    formals = formals_of(operator, version)
    return [formals[min(place, len(formals) - 1)].type for place in range(len(sample.inputs))]


def formals_of(operator: OperatorDefinition, version: int) -> list[Input]:
    """The inputs that a version describes."""
    return [each for each in operator.inputs if each.since <= version < (each.before or version + 1)]


def chooses(operator: OperatorDefinition, variable: str, version: int, used: Sequence[str]) -> bool:
    """Whether an attribute chooses the type of a variable that only outputs have."""
    outputs = [each for each in operator.outputs if each.since <= version < (each.before or version + 1)]
    values = any(isinstance(value, str) and value == "tensor" for value in _attributes(operator, version))
    return (
        variable not in used
        and any(each.type == variable for each in outputs)
        and (operator.name in CHOSEN_BY or values)
    )


def _attributes(operator: OperatorDefinition, version: int) -> list[Any]:
    return [value for each in samples_of(operator, version) for value in each.attributes.values()]


def node_of(
    sample: Sample, version: int, types: Mapping[str, str], used: Sequence[str], extents: Mapping[str, int]
) -> Node:
    """A node of these types and extents."""
    inputs: list[Array | None] = []
    start = 0
    for index, (shape, variable) in enumerate(zip(sample.inputs, used, strict=True)):
        name = types.get(variable, variable)
        made: Array | None
        if index in sample.fixed:
            made = constant(eval(sample.fixed[index], {}, dict(extents)), name)
        else:
            made = None if shape is None else filled(name, extents_of(shape, extents), sample, start)
            start += 0 if made is None else made.size
        inputs.append(made)
    attributes = {name: attribute(value, types, extents) for name, value in sample.attributes.items()}
    chosen = CHOSEN_BY.get(sample.operator)
    free = [name for variable, name in types.items() if variable not in used]
    if chosen and free:
        number = element_number(free[0])
        attributes[chosen] = TensorProto.DataType.Name(number) if sample.operator == "Cast" and version < 6 else number
    return Node(sample, version, types, tuple(inputs), attributes)


def extents_of(shape: str, extents: Mapping[str, int]) -> tuple[int, ...]:
    """The numbers of a shape."""
    return tuple(eval(each, {}, dict(extents)) for each in shape.split())


def attribute(value: Any, types: Mapping[str, str], extents: Mapping[str, int]) -> Any:
    """The value of an attribute."""
    if value == "tensor":
        [name] = [name for variable, name in types.items() if variable in ("T", "T2")]
        made = distinct(name, 1, 0)
        dims, data = ((1,), [made[0].encode()]) if made.dtype == TEXT else ((1,), packed(made))
        return TensorProto.FromString(write_tensor("v", name, dims, data))
    return eval(value[1:-1], {}, dict(extents)) if isinstance(value, str) and value.startswith("{") else value


def constant(value: Any, name: str) -> Array:
    """Given numbers in a type."""
    kind = ELEMENTS[name]
    if is_small_float(kind):
        made = numpy.asarray(value, numpy.float64)
        return small_floats.rounded(made.ravel().tolist(), kind, made.shape)
    return numpy.array([str(value)], kind).reshape(()) if kind == TEXT else numpy.array(value).astype(kind)


def filled(name: str, shape: tuple[int, ...], sample: Sample, start: int) -> Array:
    """An input: distinct elements where they are moved, else numbers that every operator of the sample takes."""
    size = int(numpy.prod(shape, dtype=object))
    if sample.moves:
        return distinct(name, size, start).reshape(shape)
    kind = ELEMENTS[name]
    numbers = [sample.elements[i % len(sample.elements)] for i in range(size)]
    if kind == TEXT:
        return numpy.array([str(each) for each in numbers], kind).reshape(shape)
    if is_small_float(kind):
        return small_floats.rounded(numbers, kind, shape)
    return numpy.array(numbers, numpy.float64).astype(kind).reshape(shape)


def distinct(name: str, size: int, start: int) -> Array:
    """Elements that differ as long as the type has enough of them."""
    kind = ELEMENTS[name]
    places = range(start + 1, start + 1 + size)
    if kind == TEXT:
        made = numpy.empty(size, TEXT)
        made[:] = [f"s{place}" for place in places]
        return made
    if kind.kind == "c":
        return numpy.array([complex(place, -place) for place in places], kind)
    if is_small_float(kind):
        count = len(small_floats.numbers(name))
        return numpy.array([place % count for place in places], numpy.uint8).view(kind)
    if is_integer(kind) or kind == numpy.bool_:
        return integer_array([place % 2 if kind == numpy.bool_ else place for place in places], kind, (size,))
    return numpy.array(list(places)).astype(kind)


def empty_nodes(sample: Sample, operator: OperatorDefinition, version: int) -> Iterator[Node]:
    """A node for each set of extents that are 0, and each type of the first variable that has a path of its own.

    In a deep run all pairs of both; else sets of several extents for one of the types only.
    """
    letters = sorted({letter for shape in sample.inputs if shape for letter in shape if letter in EXTENTS})
    by_type = {next(iter(node.types.values()), ""): node for node in typed_nodes(sample, operator, version)}
    chosen = [by_type[name] for name in PATHS if name in by_type] or [*by_type.values()][:1]
    for node, number in product(chosen, range(1, 2 ** len(letters))):
        if not DEEP and node is not chosen[0] and number.bit_count() > 1 and number + 1 < 2 ** len(letters):
            continue
        gone = {letter: 0 for place, letter in enumerate(letters) if number >> place & 1}
        yield node_of(sample, version, node.types, types_used(sample, operator, version), {**EXTENTS, **gone})


PATHS = ("float16", "float", "double", "int32", "uint8", "bool", "string")
"""Element types that kernels tell apart."""
