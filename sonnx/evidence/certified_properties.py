"""Properties of the model in an evidence pack: each with its certificate, which is checked when the pack is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct, convert

from sonnx.base.decoding import decoding
from sonnx.base.errors import BadInput, UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import json_value, sha256, whole_bytes
from sonnx.checker.conditions import Conditions
from sonnx.model.ir import Model
from sonnx.model.symbols import bind_symbols
from sonnx.properties import certificate_checker

FOLDER = "properties"
ONE_ROW = "for one row: each dimension of the input that the model leaves open is 1"
LIMIT = (
    "A property is shown for all inputs of its boxes, in every implementation that its claim describes; the program "
    "beside the certificates checks them without this tool."
)
CHECKER = Path(certificate_checker.__file__)


class ShownProperty(Struct, frozen=True):
    """A property with its certificate."""

    file: str
    """The base name of the property."""
    sha256: str
    """Its SHA-256."""
    certificate: str
    """The base name of the certificate."""
    certificate_sha256: str
    """Its SHA-256."""
    claim: str
    """What the certificate shows."""
    parts: int
    """The parts of the box that it decides."""
    conditions: str
    """What it holds for, in words."""


@dataclass(frozen=True)
class CertifiedProperties:
    """What the pack says of the properties, and its files: these, their certificates, the program that checks them."""

    about: tuple[ShownProperty, ...]
    files: dict[str, bytes]


def certified_properties(
    paths: Sequence[Path], data: bytes, model: Model, pack_conditions: Conditions
) -> CertifiedProperties:
    """Check the certificate of each property, which stands beside it with the ending .json.

    Args:
        paths: .vnnlib files.
        data: the bytes of the model.
        model: the model as it is in its file.
        pack_conditions: what the pack holds for.

    Raises:
        UsageError: a file is missing, two have one name, or a certificate does not show its property of this model, or
            for other sizes than those of the pack.
    """
    twice = [name for name, number in Counter(path.name for path in paths).items() if number > 1]
    if twice:
        raise UsageError(f"two properties have the name {quote(twice[0])}")
    rows = [_checked(path, data, model, pack_conditions) for path in paths]
    files = {f"{FOLDER}/{name}": content for _, contents in rows for name, content in contents}
    if rows:
        files[f"{FOLDER}/{CHECKER.name}"] = CHECKER.read_bytes()
    return CertifiedProperties(tuple(about for about, _ in rows), files)


def _checked(
    path: Path, data: bytes, model: Model, pack_conditions: Conditions
) -> tuple[ShownProperty, tuple[tuple[str, bytes], ...]]:
    contents = tuple(_contents(path))
    (name, source), (beside, certificate) = contents
    with decoding(beside, f"a certificate of {quote(name)}"):
        try:
            shown = certificate_checker.check(data, source, certificate)
        except certificate_checker.Refused as reason:
            raise UsageError(f"{quote(beside)} does not show the property {quote(name)}: {reason}") from None
        stated = json_value(certificate).get("conditions")
        conditions = None if stated is None else convert(stated, Conditions)
        if conditions is not None and stated.get("words") != conditions.words:
            raise BadInput(f"{quote(beside)} states conditions in words that are not its conditions")
    _require_sizes(beside, model, pack_conditions, conditions)
    words = ONE_ROW if conditions is None else conditions.words
    hashes = sha256(source), sha256(certificate)
    return ShownProperty(name, hashes[0], beside, hashes[1], shown.claim, shown.leaves, words), contents


def _require_sizes(certificate: str, model: Model, pack: Conditions, stated: Conditions | None) -> None:
    """Refuse a certificate that is about other sizes than the pack: its checker reads each open dimension as 1.

    Raises:
        UsageError: the pack gives a dimension another number, or the certificate states one.
    """
    sized = {value.name: value.type.shape for value in bind_symbols(model, pack.sizes, pack.input_shapes).graph.inputs}
    for value in model.graph.inputs:
        for place, extent in enumerate(value.type.shape or ()):
            now = (sized[value.name] or ())[place]
            if not isinstance(extent, int) and isinstance(now, int) and now != 1:
                raise UsageError(
                    f"{quote(certificate)} is about one row, in which dimension {place} of {quote(value.name)} is 1; "
                    f"in the pack it is {now}"
                )
    if stated is None:
        return
    pairs: tuple[tuple[Mapping[str, object], Mapping[str, object]], ...] = (
        (stated.sizes, pack.sizes),
        (stated.input_shapes, pack.input_shapes),
    )
    for their, numbers in pairs:
        for name, number in their.items():
            own = numbers.get(name, number)
            if own != number:
                raise UsageError(
                    f"{quote(certificate)} holds for {quote(name)} = {number}; the pack is about {quote(name)} = {own}"
                )


def _contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """The property and its certificate, with their names."""
    if path.suffix != ".vnnlib":
        raise UsageError(f"{quote(str(path))} is not a .vnnlib file")
    for file in (path, path.with_suffix(".json")):
        try:
            yield file.name, whole_bytes(file)
        except OSError as reason:
            hint = "" if file == path else "; sonnx verify --certificate writes it"
            raise UsageError(f"{quote(str(file))} cannot be read: {reason.strerror}{hint}") from None
