"""The data of calls with large extents: ordinary elements, and a special one in each line of the axis that grew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from math import prod

import numpy as np
from msgspec import structs

from sonnx.model.ir import Model, Node, Tensor, Type, ValueInfo
from sonnx.numerics.formats import ELEMENTS, TEXT, Array, TensorSpec
from sonnx.numerics.packing import packed
from sonnx.numerics.special_values import NAN, special_values
from sonnx.numerics.value_classes import ClassCase
from sonnx.suite.sizes import MANY, SizedCall

PERIOD = 1009
"""Elements after which those of a large tensor repeat, so that its files stay small; a prime number, so that no vector,
block or line begins at equal elements."""
MARKED = (NAN, "greatest", "true")
"""The special value of a line: the first of these that the type has, or else its first special value."""
SLICED = ".sliced"
"""What follows the name of an input that a Slice gives, for the name of the input of the Slice."""
ATTRIBUTE_SIZES = (9, 17, 33, 257)
"""Extents of tensors in attributes."""
SPECIAL_SIZES = (9, 17, 33, 129)
"""Extents that occur with a special value where outputs are rounded: their ends take long."""


def sized_classes(sized: SizedCall, specs: Mapping[str, TensorSpec], *, exact: bool) -> Iterator[ClassCase]:
    """The value classes of a call with a large extent, for graph inputs of these shapes and types.

    Args:
        sized: the call.
        specs: of its graph inputs.
        exact: all outputs are exact.
    """
    repeated = {name: _periodic for name, (shape, _) in specs.items() if prod(shape) >= MANY // 10}
    yield ClassCase("ordinary", "", repeated)
    name = f"x{sized.input}"
    if name in specs and (exact or sized.extent in SPECIAL_SIZES):
        kind = specs[name][1]
        known = special_values(kind)
        special = next((each for each in MARKED if each in known), known.names[0])
        fill = partial(_from_the_end, value=known[special], axis=sized.axis)
        title = f"{special} in each line of axis {sized.axis}, from the end"
        yield ClassCase(title, name, {**repeated, name: fill}, packed=True)


def behind_slice(model: Model, sized: SizedCall) -> Model | None:
    """The model with a Slice in front of the input whose axis grew, which takes every second element of the last axis:
    an implementation that slices without a copy gives the node elements that are not adjacent; None where the input is
    no graph input with an axis.
    """
    name = f"x{sized.input}"
    graph = model.graph
    value = next((operand for operand in graph.inputs if operand.name == name), None)
    shape = () if value is None else value.type.shape or ()
    if value is None or not shape or value.type.element is None:
        return None
    *others, last = (int(str(extent)) for extent in shape)
    first = ValueInfo(f"{name}{SLICED}", Type("tensor", value.type.element, (*others, 2 * last)))
    axes = range(len(shape))
    numbers = {
        "starts": [0] * len(shape),
        "ends": [*others, 2 * last],
        "axes": [*axes],
        "steps": [1] * len(others) + [2],
    }
    constants = tuple(
        Tensor(
            f"{name}.{parameter}",
            "int64",
            (len(shape),),
            ("raw_data",),
            memoryview(np.array(listed, np.int64).tobytes()),
        )
        for parameter, listed in numbers.items()
    )
    slice_node = Node("slice", "Slice", "", "", (first.name, *(constant.name for constant in constants)), (name,), ())
    inputs = tuple(first if operand.name == name else operand for operand in graph.inputs)
    changed = structs.replace(
        graph, inputs=inputs, initializers=(*graph.initializers, *constants), value_info=(value,),
        nodes=(slice_node, *graph.nodes),
    )  # fmt: skip
    return structs.replace(model, graph=changed)


def with_long_attributes(model: Model) -> Iterator[Model]:
    """The model of a node without inputs whose tensor in an attribute has a long last axis, as the output has; none
    where the elements are strings, or there is no such attribute.
    """
    [node], [output, *_] = model.graph.nodes, model.graph.outputs
    places = [place for place, attribute in enumerate(node.attributes) if isinstance(attribute.value, Tensor)]
    tensor = node.attributes[places[0]].value if len(places) == 1 and not any(node.inputs) else None
    if (
        not isinstance(tensor, Tensor)
        or not prod(tensor.dims)
        or not tensor.dims
        or not tensor.element
        or tensor.dims != output.type.shape
    ):
        return
    kind = ELEMENTS[tensor.element]
    for extent in () if kind == TEXT else ATTRIBUTE_SIZES:
        shape = (*tensor.dims[:-1], extent)
        drawn = ClassCase("ordinary", "", {}).drawn({tensor.name: (shape, kind)}, 0)[tensor.name]
        longer = Tensor(tensor.name, tensor.element, shape, ("raw_data",), memoryview(packed(drawn)))
        attributes = tuple(
            structs.replace(attribute, value=longer) if place in places else attribute
            for place, attribute in enumerate(node.attributes)
        )
        declared = structs.replace(output, type=structs.replace(output.type, shape=shape))
        yield structs.replace(
            model,
            graph=structs.replace(
                model.graph, nodes=(structs.replace(node, attributes=attributes),), outputs=(declared,)
            ),
        )


def _periodic(ordinary: Array) -> Array:
    """The first elements again and again."""
    return np.resize(ordinary.reshape(-1)[:PERIOD], ordinary.shape)


def _from_the_end(ordinary: Array, value: object, axis: int) -> Array:
    """A value in each line along an axis: in the first line at the last place, in each further line one place before,
    so that it is in each place that is left over after the lanes of a vector.
    """
    values = _periodic(ordinary) if ordinary.size >= MANY // 10 else ordinary.copy()
    lines = np.moveaxis(values, axis, -1)
    number = np.arange(prod(lines.shape[:-1])).reshape(lines.shape[:-1])
    place = (lines.shape[-1] - 1 - number % lines.shape[-1])[..., None]
    np.put_along_axis(lines, place, np.full(place.shape, value, values.dtype), -1)
    return values
