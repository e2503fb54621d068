"""A model with several outputs as one whose output has the elements of all, which properties number in this order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from sonnx.base.errors import BadInput
from sonnx.model.ir import Attribute, Model, Node, Tensor, Type, ValueInfo
from sonnx.model.value_names import taken_names, unused
from sonnx.properties.property import elements_of


def with_one_output(model: Model) -> Model:
    """The model, or where it has several outputs, one with a Concat of their elements: nothing of it is rounded.

    Raises:
        BadInput: the outputs have different element types, or a shape that is not stated in numbers.
    """
    outputs = model.graph.outputs
    return model if len(outputs) == 1 else with_outputs(model, outputs)


def with_outputs(model: Model, outputs: Sequence[ValueInfo]) -> Model:
    """The model with one output, the elements of some of its values one after another.

    Raises:
        BadInput: there are none, they have different element types, or a shape that is not stated in numbers.
    """
    types = {value.type.element for value in outputs}
    if len(types) != 1:
        listed = ", ".join(sorted(map(str, types))) or "no output"
        raise BadInput(f"a property is about outputs of one element type; these are {listed}")
    taken = taken_names(model.graph)
    shape, joined = (unused(f"sonnx.{what}", taken) for what in ("flat shape", "outputs"))
    flat = [unused(f"sonnx.flat {value.name}", taken) for value in outputs]
    nodes = [
        *model.graph.nodes,
        *(Node("", "Reshape", "", "", (value.name, shape), (name,), ())
          for value, name in zip(outputs, flat, strict=True)),
        Node("", "Concat", "", "", (*flat,), (joined,), (Attribute("axis", "int", 0, fields=("i",)),)),
    ]  # fmt: skip
    rest = Tensor(shape, "int64", (1,), ("raw_data",), memoryview(np.array([-1], "<i8").tobytes()))
    output = ValueInfo(joined, Type("tensor", types.pop(), (sum(map(elements_of, outputs)),)))
    graph = replace(
        model.graph, nodes=tuple(nodes), outputs=(output,), initializers=(*model.graph.initializers, rest)
    )  # fmt: skip
    return replace(model, graph=graph)
