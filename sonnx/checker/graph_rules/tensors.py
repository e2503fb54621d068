"""Rules about one constant tensor.

Each public function decides the rule of its name in restrictions/graph.toml and yields the violations.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from math import prod
from struct import iter_unpack

from sonnx.base.escaping import escape, plural, quote
from sonnx.checker.verdicts import Verdict, Violation
from sonnx.language.explainer import value_text
from sonnx.model.external_data import leaves_folder
from sonnx.model.ir import DATA_FIELD, WIDTH, External, SparseTensor, Tensor, byte_size
from sonnx.model.scopes import Scope


def tensor_data(tensor: Tensor) -> Iterator[Violation]:
    if min(tensor.dims, default=0) < 0:
        yield Violation(f"the dimensions are {value_text(tensor.dims)}")
        return
    if tensor.element is None or tensor.element.startswith("type "):
        yield Violation(f"the element type is {tensor.element or 'not stated'}")
        return
    if tensor.segment:
        yield Violation("the tensor is stored in segments")
    if tensor.external is not None:
        if tensor.element == "string":
            yield Violation("strings are stored outside the file, where only numbers can be")
        return
    if len(tensor.stored) > 1:
        yield Violation(f"values are in {' and '.join(tensor.stored)}")
    wrong = [name for name in tensor.stored if name not in ("raw_data", DATA_FIELD[tensor.element])]
    if wrong:
        yield Violation(f"values of type {tensor.element} are in {' and '.join(wrong)}")
    elif tensor.misfit is not None:
        yield Violation(f"entry {tensor.misfit[0]} is {tensor.misfit[1]}, which {tensor.element} cannot hold")
    elif len(tensor.stored) <= 1:
        need = _needed_size(tensor)
        if need:
            yield Violation(f"the dimensions {value_text(tensor.dims)} of type {tensor.element} need {need}")
        if tensor.element == "bool" or tensor.strings:
            yield from _unlawful(tensor)


def sparse_tensor_data(scope: Scope) -> Iterator[Violation]:
    for place, name, tensor in _sparse_tensors(scope):
        for defect in _sparse_defects(tensor):
            yield Violation(defect, place, name)


def _sparse_tensors(scope: Scope) -> Iterator[tuple[str, str, SparseTensor]]:
    for index, tensor in enumerate(scope.graph.sparse_initializers):
        yield f"sparse_initializer[{index}]", tensor.name, tensor
    for index, node in enumerate(scope.graph.nodes):
        for attribute in node.attributes:
            for item in attribute.items if attribute.kind.startswith("sparse_tensor") else ():
                if isinstance(item, SparseTensor):
                    yield f"node[{index}]/{escape(attribute.name)}", attribute.name, item


def _sparse_defects(sparse: SparseTensor) -> Iterator[str]:
    """What is wrong with a sparse tensor: its dimensions, its values, its indices, or how these go together."""
    values, indices, dims = sparse.values, sparse.indices, sparse.dims
    if not dims or min(dims) <= 0:
        yield f"the dimensions are {value_text(dims)}"
        return
    if values is None or values.element is None:
        yield "the values are not stored"
        return
    defects = [f"the {what}: {violation.actual}" for what, part in (("values", values), ("indices", indices)) if part
               for violation in tensor_data(part) if part is values or part.element is not None]  # fmt: skip
    yield from defects
    if defects:
        return
    if len(values.dims) != 1:
        yield f"the values have rank {len(values.dims)}, not 1"
    elif indices is None or indices.element is None:
        if values.dims[0]:
            yield f"{plural(values.dims[0], 'value')} have no indices"
    elif indices.element != "int64":
        yield f"the indices are {indices.element}, not int64"
    elif indices.dims not in ((values.dims[0],), (values.dims[0], len(dims))):
        fitting = [value_text((values.dims[0],)), value_text((values.dims[0], len(dims)))]
        yield f"the indices have the shape {value_text(indices.dims)}, not {' or '.join(fitting)}"
    elif indices.data is not None:
        yield from _index_defects(indices, dims)


def _index_defects(indices: Tensor, dims: tuple[int, ...]) -> Iterator[str]:
    """The first index that lies outside the tensor or does not come after the one before it."""
    assert indices.data is not None  # noqa: S101  the caller asks
    extents = dims if len(indices.dims) == 2 else (prod(dims),)
    numbers = [number for (number,) in iter_unpack("<q", indices.data)]
    before: tuple[int, ...] = ()
    for place in range(0, len(numbers), len(extents)):
        index = tuple(numbers[place : place + len(extents)])
        shown = value_text(index) if len(indices.dims) == 2 else str(index[0])
        if not all(0 <= number < extent for number, extent in zip(index, extents, strict=True)):
            yield f"the index {shown} is outside the dimensions {value_text(dims)}"
            return
        if index <= before:
            yield f"the index {shown} does not come after the index before it"
            return
        before = index


def _unlawful(tensor: Tensor) -> Iterator[Violation]:
    """The first element that the format forbids: a byte of raw_data that is not a bool, or text that is not UTF-8."""
    if tensor.element == "bool" and tensor.data is not None:
        match_ = re.search(_NOT_BOOL, tensor.data)
        if match_:
            yield Violation(f"byte {match_.start()} is {match_[0][0]}, which is neither 0 nor 1")
    for index, text in enumerate(tensor.strings):
        reason = defect_of_text(text)
        if reason:
            yield Violation(f"string {index} {reason}")
            return


_NOT_BOOL = rb"[^\0\1]"


def defect_of_text(text: bytes) -> str:
    """What is wrong with an element of string_data, as the end of a sentence; "" if nothing is."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"is not UTF-8 at its byte {error.start}"
    if text.startswith(BOM_UTF8):
        return "begins with a byte order mark"
    return "ends with a null character" if text.endswith(b"\0") else ""


def _needed_size(tensor: Tensor) -> str:
    """What the dimensions and the type need that is not stored, "" where both agree."""
    if tensor.element == "string":
        needed, stored = byte_size("int8", tensor.dims), len(tensor.strings)
        return "" if stored == needed else f"another number of strings than the {stored} stored"
    needed, stored = byte_size(tensor.element or "", tensor.dims), tensor.data_size
    return "" if stored == needed else f"{_bytes(needed)}, {stored} are stored"


def _bytes(number: int | None) -> str:
    return "more bytes than a file can hold" if number is None else plural(number, "byte")


def external_data(tensor: Tensor) -> Iterator[Violation]:
    if tensor.external is None:
        return
    described = list(_description(tensor, tensor.external))
    yield from described or _file(tensor, tensor.external)


def _description(tensor: Tensor, external: External) -> Iterator[Violation]:
    """What is wrong with location, offset and length as they are written."""
    for key, number in Counter(key for key, _ in external.entries).items():
        if number > 1:
            yield Violation(f"{quote(key)} is written {number} times")
    if leaves_folder(external.location):
        yield Violation(f"the location is {quote(external.location)}")
    for key in ("offset", "length"):
        if key in dict(external.entries) and (getattr(external, key) is None or getattr(external, key) < 0):
            yield Violation(f"{key} is {quote(dict(external.entries)[key])}, not a number of bytes")
    inside = [name for name in tensor.stored if name != "external_data"]
    if inside:
        yield Violation(f"the tensor is stored outside the file and also in {' and '.join(inside)}")
    if external.length is not None and _has_size(tensor):
        wanted = byte_size(tensor.element or "", tensor.dims)
        if external.length != wanted:
            yield Violation(
                f"length is {external.length}, the dimensions {value_text(tensor.dims)} need {_bytes(wanted)}"
            )


def _has_size(tensor: Tensor) -> bool:
    return tensor.element in WIDTH and min(tensor.dims, default=0) >= 0


def _file(tensor: Tensor, external: External) -> Iterator[Violation]:
    """What is wrong with the file; without a length the values take the rest of it."""
    file, offset, length = f"the file {quote(external.location)}", external.offset or 0, external.length
    if external.file is None:
        yield Violation(
            "the model was read from bytes, without its folder; check it by its path", verdict=Verdict.NOT_CHECKED
        )
    elif isinstance(external.file, str):
        yield Violation(f"{file} {external.file}")
    elif length is not None and offset + length > external.file:
        yield Violation(f"{file} has {plural(external.file, 'byte')}, offset and length need {offset + length}")
    elif length is None and _has_size(tensor):
        wanted, rest = byte_size(tensor.element or "", tensor.dims), max(external.file - offset, 0)
        if rest != wanted:
            after = f" from byte {offset} on" if offset else ""
            need = f"the dimensions {value_text(tensor.dims)} need {_bytes(wanted)}"
            yield Violation(f"{file} has {plural(rest, 'byte')}{after}, {need}")
