"""Rules about one constant tensor.

Each public function is the rule of its name in restrictions/graph.toml: it yields what is wrong with its subject.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sonnx.base.escaping import plural, quote
from sonnx.checker.graph_rules.defect import Defect
from sonnx.language.explainer import show
from sonnx.model.ir import DATA_FIELD, WIDTH, Tensor, byte_size


def tensor_data(tensor: Tensor) -> Iterator[Defect]:
    if any(extent < 0 for extent in tensor.dims):
        yield Defect(f"the dimensions are {show(tensor.dims)}")
        return
    if tensor.element is None or tensor.element.startswith("type "):
        yield Defect(f"the element type is {tensor.element or 'not stated'}")
        return
    if tensor.segment:
        yield Defect("the tensor is stored in segments")
    if tensor.external is not None:
        return
    if len(tensor.stored) > 1:
        yield Defect(f"values stand in {' and '.join(tensor.stored)}")
    wrong = [name for name in tensor.stored if name not in ("raw_data", DATA_FIELD[tensor.element])]
    if wrong:
        yield Defect(f"values of type {tensor.element} stand in {' and '.join(wrong)}")
    elif tensor.misfit is not None:
        yield Defect(f"entry {tensor.misfit[0]} is {tensor.misfit[1]}, which {tensor.element} cannot hold")
    elif len(tensor.stored) <= 1:
        yield from _stored_size(tensor)


def _stored_size(tensor: Tensor) -> Iterator[Defect]:
    asked = f"the dimensions {show(tensor.dims)} of type {tensor.element} ask for"
    if tensor.element == "string":
        if byte_size("int8", tensor.dims) != len(tensor.strings):
            yield Defect(f"{asked} another number of strings than the {len(tensor.strings)} stored")
        return
    wanted = byte_size(tensor.element or "", tensor.dims)
    stored = 0 if tensor.data is None else len(tensor.data)
    if stored != wanted:
        yield Defect(f"{asked} {_bytes(wanted)}, {stored} are stored")


def _bytes(number: int | None) -> str:
    return "more bytes than a file can hold" if number is None else plural(number, "byte")


def external_data(tensor: Tensor) -> Iterator[Defect]:
    external = tensor.external
    if external is None:
        return
    for key, number in Counter(key for key, _ in external.entries).items():
        if number > 1:
            yield Defect(f"{quote(key)} is written {number} times")
    parts = external.location.replace("\\", "/").split("/")
    if not external.location or ".." in parts or parts[0] == "" or ":" in parts[0]:
        yield Defect(f"the location is {quote(external.location)}")
    for key in ("offset", "length"):
        if key in dict(external.entries) and (getattr(external, key) is None or getattr(external, key) < 0):
            yield Defect(f"{key} is {quote(dict(external.entries)[key])}, no number of bytes")
    inside = [name for name in tensor.stored if name != "external_data"]
    if inside:
        yield Defect(f"the tensor is stored outside the file and also in {' and '.join(inside)}")
    if external.length is not None and tensor.element in WIDTH and min(tensor.dims, default=0) >= 0:
        wanted = byte_size(tensor.element, tensor.dims)
        if external.length != wanted:
            yield Defect(f"length is {external.length}, the dimensions {show(tensor.dims)} ask for {_bytes(wanted)}")
