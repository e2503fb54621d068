"""The messages between a comparison and the process of a runtime, as MessagePack.

Nothing is unpickled: what a process sends is decoded into these types only, and an array is checked before it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from msgspec import Struct, ValidationError, msgpack

from sonnx.numerics.formats import ELEMENTS, NAMES, TEXT, Array, has_array


class Load(Struct, frozen=True, tag=True):
    """Load a model: its bytes, or its path where it may be too large to be sent."""

    number: int
    data: bytes | None
    path: str | None
    folder: str | None


class TensorMessage(Struct, frozen=True):
    """An array: the name of its element type in ONNX, or in numpy where ONNX has no such type."""

    type: str
    shape: tuple[int, ...]
    data: bytes = b""
    strings: tuple[bytes, ...] = ()


class Execute(Struct, frozen=True, tag=True):
    """Run a loaded model."""

    number: int
    inputs: dict[str, TensorMessage]


class Optimize(Struct, frozen=True, tag=True):
    """Give the graph that the runtime makes of a model at a level of its optimizer; the model as in `Load`."""

    level: str
    data: bytes | None
    path: str | None
    folder: str | None


class Identify(Struct, frozen=True, tag=True):
    """Name what the outputs depend on."""


class Started(Struct, frozen=True, tag=True):
    """The runtime can be used; its title."""

    title: str


class NotInstalled(Struct, frozen=True, tag=True):
    """The runtime cannot be imported: the error, "" where its package is not installed."""

    reason: str = ""


class Done(Struct, frozen=True, tag=True):
    """A model is loaded."""


class RefusedMessage(Struct, frozen=True, tag=True):
    """The runtime cannot load or run a model; its own first line."""

    reason: str


class Outputs(Struct, frozen=True, tag=True):
    """The outputs of a run."""

    values: dict[str, TensorMessage]


class Identified(Struct, frozen=True, tag=True):
    """What the outputs depend on, as names with a version or a hash each."""

    identity: dict[str, str]


class Optimized(Struct, frozen=True, tag=True):
    """The optimized graph, as a model file."""

    data: bytes


Request = Load | Execute | Optimize | Identify
Reply = Started | NotInstalled | Done | RefusedMessage | Outputs | Optimized | Identified

ENCODER = msgpack.Encoder()
REQUESTS: msgpack.Decoder[Request] = msgpack.Decoder(Request)
REPLIES: msgpack.Decoder[Reply] = msgpack.Decoder(Reply)


def messages_of(arrays: Mapping[str, Array]) -> dict[str, TensorMessage]:
    """Arrays as messages."""
    return {name: _message(np.asarray(array)) for name, array in arrays.items()}


def _message(array: Array) -> TensorMessage:
    if array.dtype.kind in "OUST":
        strings = (str(element).encode("utf-8", "surrogatepass") for element in array.reshape(-1).tolist())
        return TensorMessage("string", array.shape, strings=tuple(strings))
    return TensorMessage(NAMES.get(array.dtype, str(array.dtype)), array.shape, array.tobytes())


def arrays_of(messages: Mapping[str, TensorMessage]) -> dict[str, Array]:
    """The arrays of messages, each with memory of its own.

    Raises:
        ValidationError: a message is not an array of its type and shape.
    """
    return {name: _array(message) for name, message in messages.items()}


def _array(message: TensorMessage) -> Array:
    kind = ELEMENTS.get(message.type)
    if kind is None:
        raise ValidationError(f"the element type {message.type[:40]}")
    if min(message.shape, default=0) < 0 or not has_array(message.shape, kind):
        raise ValidationError("an impossible shape")
    count = prod(message.shape)
    if kind == TEXT:
        if len(message.strings) != count:
            raise ValidationError("another number of strings than its shape has")
        array = np.empty(count, TEXT)
        array[:] = [string.decode("utf-8", "surrogatepass") for string in message.strings]
        return array.reshape(message.shape)
    if len(message.data) != count * kind.itemsize:
        raise ValidationError("another number of bytes than its shape has")
    if kind == np.bool_ and max(message.data, default=0) > 1:
        raise ValidationError("a bool that is neither 0 nor 1")
    return np.frombuffer(bytearray(message.data), kind).reshape(message.shape)
