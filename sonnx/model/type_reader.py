"""The reader of values and their types.

Messages are read through their attributes only; only `reader.py` and `writer.py` import protobuf.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

from msgspec import Struct, field

from sonnx.model.ir import NOT_STATED, Dimension, Type, ValueInfo
from sonnx.model.limits import DEFAULT_LIMITS, Limits, enforce
from sonnx.model.wire_format import Message

_TYPE_KIND = {
    "tensor_type": "tensor",
    "sparse_tensor_type": "sparse tensor",
    "sequence_type": "sequence",
    "optional_type": "optional",
    "map_type": "map",
    "opaque_type": "opaque",
}

_INNER_TYPE = {"sequence_type": "elem_type", "optional_type": "elem_type", "map_type": "value_type"}


_DENOTATION = attrgetter("denotation")
_NAME_TAG = 1 << 3 | 2
"""The tag of ValueInfoProto.name, which comes first: protobuf writes fields in the order of their numbers."""


def decoded_text(text: str | bytes) -> str:
    """A string of a message; protobuf returns bytes where it is not UTF-8, and these become lone surrogates."""
    return text if isinstance(text, str) else text.decode("utf-8", "surrogateescape")


def is_text(parts: Iterable[str]) -> bool:
    """Whether all parts are strings, not the bytes protobuf returns otherwise; one pass in C instead of many tests."""
    try:
        "".join(parts)
    except TypeError:
        return False
    return True


def element_name(elements: Mapping[int, str | None], number: int) -> str | None:
    """The name of an element type, None for undefined."""
    return elements.get(number, f"type {number}")


def dimension(message: Message) -> Dimension:
    """A number, a symbol, or None; also for the empty symbol."""
    which = message.WhichOneof("value")
    if which == "dim_value":
        return int(message.dim_value)
    return decoded_text(message.dim_param) or None if which else None


class Types(Struct, frozen=True):
    """Reads the types of one file, equal ones once; `elements` are the names of element types by number."""

    elements: Mapping[int, str | None]
    limits: Limits = field(default_factory=lambda: DEFAULT_LIMITS)
    known: dict[bytes, Type] = field(default_factory=lambda: {b"": NOT_STATED})
    same: dict[Type, Type] = {}
    rests: dict[bytes, Type] = {}

    def values(self, messages: Sequence[Message]) -> tuple[ValueInfo, ...]:
        """Values with their types, in the order of the file."""
        return tuple(map(self.value, messages[:]))

    def value(self, message: Message) -> ValueInfo:
        """One value; its type is looked up by the bytes after the name, which determine it."""
        name, written = message.name, message.SerializeToString()
        size = len(name)
        if not (
            name.isascii() and 0 < size < 128 and written[0] == _NAME_TAG
        ):  # else its length takes more than a byte
            return ValueInfo(decoded_text(name), self.type(message.type))
        rest = written[2 + size :]
        value_type = self.rests.get(rest)
        if value_type is None:
            value_type = self._type(message.type)
            value_type = self.rests[rest] = self.same.setdefault(value_type, value_type)
        return ValueInfo(name, value_type)

    def type(self, message: Message) -> Type:
        """The type; equal types are usually one object, so that comparing them is fast."""
        key = message.SerializeToString()
        value_type = self.known.get(key)
        if value_type is None:
            value_type = self._type(message)
            value_type = self.known[key] = self.same.setdefault(value_type, value_type)
        return value_type

    def _type(self, message: Message) -> Type:
        which = message.WhichOneof("value")
        if which is None:
            return NOT_STATED
        kind, inner = _TYPE_KIND.get(which, which), getattr(message, which)
        if which in ("tensor_type", "sparse_tensor_type"):
            element, sparse = element_name(self.elements, inner.elem_type), which == "sparse_tensor_type"
            if not inner.HasField("shape"):
                return Type(kind, element, None, sparse)
            listed = inner.shape.dim[:]
            enforce(self.limits, "dimensions", len(listed))
            shape = tuple([entry.dim_value or dimension(entry) for entry in listed])  # 0 may be an absent number
            denotations = list(map(_DENOTATION, listed))
            return Type(kind, element, shape, sparse, tuple(map(decoded_text, denotations)) if any(denotations) else ())
        if which not in _INNER_TYPE:
            return Type(kind)
        within = self.type(getattr(inner, _INNER_TYPE[which]))
        key = element_name(self.elements, inner.key_type) if kind == "map" else None
        return Type(kind, holds_sparse=within.holds_sparse, inner=within, key=key)
