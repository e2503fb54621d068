"""The constants of a model as numpy arrays: initializers and tensors of attributes, inside the file or beside it.

Nothing is converted: an array is a read-only view of the file, but where its elements are strings or packed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from hashlib import file_digest, sha1
from math import prod
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from sonnx.base.errors import NotExecutable, Unreadable
from sonnx.base.escaping import number_text, quote
from sonnx.base.files import open_regular
from sonnx.model.external_data import OutsideFolder, resolve_location
from sonnx.model.ir import Attribute, External, Model, Tensor
from sonnx.model.reader import map_file
from sonnx.numerics.formats import ELEMENTS, TEXT, Array, has_array
from sonnx.numerics.packing import packed_size, unpacked


def decode(tensor: Tensor, folder: Path | None) -> Array:
    """The values of a constant, of its declared type and shape.

    Args:
        tensor: the constant.
        folder: where the values outside the file stand, by default beside the file the model was read from.

    Raises:
        NotExecutable: the values are missing, of the wrong number or of a type the executor does not know, or stand
            in a file outside the folder, or in one whose stated checksum is another.
    """
    called = f"the constant {quote(tensor.name)}"
    kind = ELEMENTS.get(tensor.element or "")
    if kind is None:
        raise NotExecutable(f"{called} has the element type {tensor.element}, which the executor does not know")
    if min(tensor.dims, default=0) < 0 or tensor.segment or tensor.misfit is not None:
        wrong = f"a negative dimension, a segment, or an entry that is not of type {tensor.element}"
        raise NotExecutable(f"{called} has {wrong}")
    if not has_array(tensor.dims, kind):
        raise NotExecutable(f"{called} has more dimensions, or larger ones, than an array can have")
    if kind == TEXT:
        return _strings(tensor, called)
    wanted = packed_size(tensor.dims, kind) or 0
    data = tensor.data if tensor.external is None else outside(tensor.external, wanted, folder, called)
    if data is None and wanted:
        raise NotExecutable(f"{called} has no values where its element type has them")
    if data is not None and len(data) != wanted:
        raise NotExecutable(f"{called} has {len(data)} bytes of values; its type and shape take {number_text(wanted)}")
    if kind == np.bool_ and bool((np.frombuffer(data or b"", np.uint8) > 1).any()):
        raise NotExecutable(f"{called} is of type bool and has a byte that is neither 0 nor 1")
    return unpacked(data or b"", tensor.dims, kind)


def with_external_data(model: Model, folder: Path | None) -> Model:
    """The model with the bytes of its constants in other files, mapped and not copied, so that rules read them.

    These are the initializers of the main graph and the tensors in attributes of its nodes.

    Raises:
        NotExecutable: see `decode`.
    """
    graph = model.graph
    nodes = [
        replace(node, attributes=tuple([_with_bytes_of(attribute, folder) for attribute in node.attributes]))
        for node in graph.nodes
    ]
    initializers = [_with_bytes(tensor, folder) for tensor in graph.initializers]
    return replace(model, graph=replace(graph, initializers=tuple(initializers), nodes=tuple(nodes)))


def _with_bytes_of(attribute: Attribute, folder: Path | None) -> Attribute:
    tensor = attribute.value
    if not isinstance(tensor, Tensor) or tensor.external is None:
        return attribute
    return replace(attribute, value=_with_bytes(tensor, folder))


def _with_bytes(tensor: Tensor, folder: Path | None) -> Tensor:
    kind = ELEMENTS.get(tensor.element or "")
    if tensor.external is None or kind is None or kind == TEXT or min(tensor.dims, default=0) < 0:
        return tensor
    data = outside(tensor.external, packed_size(tensor.dims, kind) or 0, folder, f"the constant {quote(tensor.name)}")
    return replace(tensor, external=None, content=data, stored=("raw_data",))


def _require_checksum(path: Path, stated: str, location: str, called: str) -> None:
    """Compare the SHA-1 of a whole file with the stated checksum (onnx.proto, TensorProto.external_data).

    Raises:
        NotExecutable: they differ.
    """
    if stated and _sha1(path, path.stat().st_mtime_ns) != stated.lower():
        raise NotExecutable(f"the file {quote(location)} of {called} has not the checksum {quote(stated)}")


@lru_cache(maxsize=64)
def _sha1(path: Path, changed: int) -> str:
    """The SHA-1 of a file that was last changed at a time; many constants may stand in one file."""
    with os.fdopen(open_regular(path), "rb") as file:
        return file_digest(file, lambda: sha1(usedforsecurity=False)).hexdigest()


def text_array(strings: Sequence[str], shape: Sequence[int]) -> Array:
    """Strings in row-major order as an array."""
    array = np.empty(len(strings), TEXT)
    array[:] = strings
    return array.reshape(shape)


def _strings(tensor: Tensor, called: str) -> Array:
    """The strings of a constant.

    Raises:
        NotExecutable: there are more or fewer than its shape says, or one is not UTF-8.
    """
    wanted = prod(tensor.dims)
    if len(tensor.strings) != wanted or tensor.external is not None or "raw_data" in tensor.stored:
        raise NotExecutable(f"{called} has {len(tensor.strings)} strings; its shape takes {number_text(wanted)}")
    try:
        return text_array([string.decode("utf-8") for string in tensor.strings], tensor.dims)
    except UnicodeDecodeError:
        raise NotExecutable(f"{called} has a string that is not UTF-8") from None


def outside(external: External, wanted: int, folder: Path | None, called: str) -> memoryview:
    """The bytes of a constant that stand in another file, which must lie in the folder of the model.

    Raises:
        NotExecutable: the file lies elsewhere, cannot be read, or is too short.
    """
    folder = folder or external.folder
    if folder is None:
        raise NotExecutable(f"{called} stands in another file, and the folder of the model is not known")
    try:
        path = resolve_location(folder, external.location)
    except OutsideFolder as reason:
        raise NotExecutable(f"the file {quote(external.location)} of {called} {reason}") from None
    try:
        data = map_file(path, quote(external.location)) if wanted else memoryview(b"")
    except Unreadable as error:
        raise NotExecutable(f"the file of {called}: {error}") from None
    entries = dict(external.entries)
    offset, length = external.offset or 0, external.length
    if offset < 0 or ("offset" in entries and external.offset is None) or ("length" in entries and length is None):
        raise NotExecutable(f"{called} states an offset or a length that is not a number")
    _require_checksum(path, entries.get("checksum", ""), external.location, called)
    length = len(data) - offset if length is None else length
    if length != wanted or offset + length > len(data):
        text = f"{called} takes {number_text(wanted)} bytes; the file states {length} from byte {offset} of {len(data)}"
        raise NotExecutable(text)
    return data[offset : offset + length]
