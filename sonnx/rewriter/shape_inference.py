"""What the process that infers types and shapes does; it loads the onnx package and little of this one."""

from __future__ import annotations

from importlib import import_module

import msgspec
from msgspec import Struct


class InferredType(Struct, frozen=True):
    """The element type of a value, by its number in ONNX, and its shape, -1 for a dimension that is not known."""

    element: int
    shape: tuple[int, ...]


class InferenceService:
    """See `sonnx.supervise.child.Answering`."""

    def greeting(self) -> bytes:
        """Nothing: the process is ready."""
        return b""

    def answer(self, request: bytes | bytearray) -> bytes:
        """The types of the values of a model that have a shape, by name, from the bytes of the model."""
        onnx = import_module("onnx")
        model = onnx.ModelProto.FromString(bytes(request))
        graph = import_module("onnx.shape_inference").infer_shapes(model, data_prop=True).graph
        inferred = {}
        for value in (*graph.value_info, *graph.output):
            tensor = value.type.tensor_type
            if value.type.HasField("tensor_type") and tensor.HasField("shape"):
                sizes = tuple(size.dim_value if size.HasField("dim_value") else -1 for size in tensor.shape.dim)
                inferred[value.name] = InferredType(tensor.elem_type, sizes)
        return msgspec.json.encode(inferred)


def service() -> InferenceService:
    """What answers a request for the types of a model."""
    return InferenceService()
