"""The program of the process that infers types and shapes; it loads the onnx package and little of this one."""

from __future__ import annotations

import sys
from importlib import import_module

import msgspec
from msgspec import Struct

from sonnx.base.budget import memory_limit
from sonnx.base.child_process import hold_lease

MEGABYTES = 8192


class InferredType(Struct, frozen=True):
    """The element type of a value, by its number in ONNX, and its shape, -1 for a dimension that is not known."""

    element: int
    shape: tuple[int, ...]


def main() -> None:
    """A model as input, the types of its values as output; argument: a lease."""
    hold_lease(sys.argv[1:])
    with memory_limit(MEGABYTES):
        onnx = import_module("onnx")
        model = onnx.ModelProto.FromString(sys.stdin.buffer.read())
        graph = import_module("onnx.shape_inference").infer_shapes(model, data_prop=True).graph
    inferred = {}
    for value in (*graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        if value.type.HasField("tensor_type") and tensor.HasField("shape"):
            sizes = tuple(size.dim_value if size.HasField("dim_value") else -1 for size in tensor.shape.dim)
            inferred[value.name] = InferredType(tensor.elem_type, sizes)
    sys.stdout.buffer.write(msgspec.json.encode(inferred))
