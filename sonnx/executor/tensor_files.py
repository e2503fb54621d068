"""Arrays in files: .npy and .npz of numpy, and .pb with one TensorProto, as the onnx package writes its test data.

numpy does not have bfloat16 and the types of at most eight bits, and writes their elements as plain bytes; they are
read back where the model declares the type.  No bit changes.  Strings are numpy's strings of one length.
"""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from io import BytesIO
from math import prod
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np

from sonnx.base.decoding import decoding
from sonnx.base.errors import BadInput, NotExecutable, Unreadable
from sonnx.base.escaping import quote
from sonnx.base.files import make_folder, sha256, staged, write_with
from sonnx.base.printable import is_printable
from sonnx.model.limits import DEFAULT_LIMITS, Exceeded, Limits, enforce
from sonnx.model.reader import map_file, read_tensor
from sonnx.model.writer import Unwritable, write_tensor
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import ELEMENTS, NAMES, TEXT, WIDER, Array
from sonnx.numerics.packing import packed

PLAIN = {"bfloat16": np.dtype("V2"), **{NAMES[kind]: np.dtype("V1") for kind in WIDER}}
"""What numpy writes for element types that it does not have."""

FIXED_TIME = (1980, 1, 1, 0, 0, 0)
"""The time in every archive, so that equal values are equal files."""


def as_declared(values: Array, element: str | None) -> Array:
    """Plain bytes as the declared element type, where numpy does not have it."""
    plain = PLAIN.get(element or "")
    return values.view(ELEMENTS[element or ""]) if plain is not None and values.dtype == plain else values


def read_file(path: Path, limits: Limits = DEFAULT_LIMITS) -> dict[str, Array]:
    """The arrays in a file by name; "" is the name of the one in a .npy file, and of a TensorProto without a name.

    Raises:
        BadInput: the file cannot be read, is of another format, or unpacks to more than the limit `arrays`.
    """
    readers: dict[str, Callable[[Path], dict[str, Array]]] = {
        ".npy": _npy, ".npz": partial(_npz, limits), ".pb": _pb,
    }  # fmt: skip
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise BadInput(f"{quote(str(path))} is not a .npy, .npz or .pb file")
    if not path.is_file():
        wrong = "does not exist" if not path.exists() else "is a folder" if path.is_dir() else "is not a regular file"
        raise BadInput(f"the file {quote(str(path))} {wrong}")
    with decoding(path, f"a {path.suffix.lower()} file that sonnx reads"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return reader(path)
        except Exceeded as error:
            raise BadInput(f"{quote(str(path))} {error}") from None
        except (Unreadable, NotExecutable) as error:
            raise BadInput(f"{quote(str(path))} does not hold a tensor: {error}") from None


def _npy(path: Path) -> dict[str, Array]:
    with path.open("rb") as file:
        return {"": _array(file, path.stat().st_size)}


def _array(file: IO[bytes], size: int) -> Array:
    """The array of a .npy file of so many bytes.

    Raises:
        ValueError: it is not one, or declares more elements than it has, for which no memory is taken.
    """
    headers = {(1, 0): np.lib.format.read_array_header_1_0}  # later versions have a longer header of the same form
    shape, _, kind = headers.get(np.lib.format.read_magic(file), np.lib.format.read_array_header_2_0)(file)
    declared, held = prod(shape) * kind.itemsize, size - file.tell()
    if declared > held and not kind.hasobject:
        raise ValueError(f"it declares {declared} bytes of elements and has {held}")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def _npz(limits: Limits, path: Path) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    with zipfile.ZipFile(path) as archive:
        # What is not compressed takes as many bytes as the file; no entry gives more than the directory states.
        compressed = (zip_info for zip_info in archive.infolist() if zip_info.compress_type != zipfile.ZIP_STORED)
        enforce(limits, "arrays", sum(zip_info.file_size for zip_info in compressed))
        for entry in archive.namelist():
            if not can_be_an_entry(entry):
                raise BadInput(f"{quote(str(path))} has an entry that would be unpacked elsewhere: {quote(entry)}")
            if entry.endswith(".npy"):
                if entry.removesuffix(".npy") in arrays:
                    raise BadInput(f"{quote(str(path))} has two entries {quote(entry)}")
                with archive.open(entry) as file:
                    arrays[entry.removesuffix(".npy")] = _array(file, archive.getinfo(entry).file_size)
    return arrays


def _pb(path: Path) -> dict[str, Array]:
    tensor = read_tensor(map_file(path, quote(str(path))))
    if len(tensor.stored) > 1:
        raise Unreadable(f"it has its elements more than once, in {' and '.join(tensor.stored)}")
    return {tensor.name: decode(tensor, None)}


def write_tensors(folder: Path, values: Mapping[str, Array], form: str) -> list[str]:
    """Write values to a folder: `outputs.npz`, or `output_0.pb`, `output_1.pb`, … in order; returns the names.

    The folder gets all files or none.

    Raises:
        BadInput: a value cannot be written in the format.
        OSError: the folder cannot be written.
    """
    make_folder(folder.parent)
    with staged(folder, beside_others=True) as part:
        return _write_npz(part, values) if form == "npz" else _write_pb(part, values)


def _write_npz(folder: Path, values: Mapping[str, Array]) -> list[str]:
    unnamed = next((name for name in values if not can_be_an_entry(name)), None)
    if unnamed is not None:
        raise BadInput(f"the value {quote(unnamed)} cannot be an entry of an .npz file; write --format pb")
    write_npz(folder / "outputs.npz", {name: _as_numpy(name, array) for name, array in values.items()})
    return ["outputs.npz"]


def write_npz(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays of numpy to an .npz file, all of it or nothing.

    Raises:
        BadInput: a name cannot be that of an entry: unpacking the archive would write it elsewhere.
        OSError: the file cannot be written.
    """
    for name in arrays:
        if not can_be_an_entry(name):
            raise BadInput(f"the value {quote(name)} cannot be an entry of an .npz file")

    def write(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():
                with archive.open(zipfile.ZipInfo(f"{name}.npy", FIXED_TIME), "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)

    write_with(path, write)


def array_digest(array: Array) -> str:
    """The SHA-256 of an array as a tensor of ONNX without a name: of its type, its shape and its elements."""
    return sha256(_message("", array))


def npy(name: str, array: Array) -> bytes:
    """A value as the content of a .npy file.

    Raises:
        BadInput: a string ends in a zero.
    """
    bytes_io = BytesIO()
    np.lib.format.write_array(bytes_io, _as_numpy(name, array), allow_pickle=False)
    return bytes_io.getvalue()


def _as_numpy(name: str, array: Array) -> Array:
    """A value of a type that numpy has, or as plain bytes."""
    plain = PLAIN.get(NAMES[array.dtype])
    return _numpy_strings(name, array) if array.dtype == TEXT else array if plain is None else array.view(plain)


def _numpy_strings(name: str, strings: Array) -> Array:
    """Strings as numpy's, which end before the zeros at their end.

    Raises:
        BadInput: one ends in a zero.
    """
    held = strings.astype(np.str_)
    if (held.astype(TEXT) != strings).any():
        what = f"the value {quote(name)} has a string that ends in a zero, which an .npz file does not keep"
        raise BadInput(f"{what}; write --format pb")
    return held


def can_be_an_entry(name: str) -> bool:
    """Whether unpacking the archive would keep the name and stay in its folder."""
    return is_printable(name) and "\\" not in name and ":" not in name and not {"", ".", ".."} & set(name.split("/"))


def _write_pb(folder: Path, values: Mapping[str, Array]) -> list[str]:
    names = []
    for index, (name, array) in enumerate(values.items()):
        names.append(f"output_{index}.pb")
        try:
            (folder / names[-1]).write_bytes(_message(name, array))
        except Unwritable as error:
            raise BadInput(f"the value {quote(name)} cannot be written as a TensorProto: {error}") from None
    return names


def _message(name: str, array: Array) -> bytes:
    if array.dtype.kind == "U":
        array = array.astype(TEXT)
    values = [element.encode() for element in array.ravel()] if array.dtype == TEXT else packed(array)
    return write_tensor(name, NAMES[array.dtype], array.shape, values)
