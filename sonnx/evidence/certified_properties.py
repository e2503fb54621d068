"""Properties of the model in an evidence pack: each with its certificate, which is checked when the pack is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import error as struct_error

from msgspec import Struct

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import sha256, whole_bytes
from sonnx.properties import certificate_checker

FOLDER = "properties"
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


@dataclass(frozen=True)
class CertifiedProperties:
    """What the pack says of the properties, and its files: these, their certificates, the program that checks them."""

    about: tuple[ShownProperty, ...]
    files: dict[str, bytes]


def certified_properties(paths: Sequence[Path], data: bytes) -> CertifiedProperties:
    """Check the certificate of each property, which stands beside it with the ending .json.

    Args:
        paths: .vnnlib files.
        data: the bytes of the model.

    Raises:
        UsageError: a file is missing, two have one name, or a certificate does not show its property of this model.
    """
    twice = [name for name, number in Counter(path.name for path in paths).items() if number > 1]
    if twice:
        raise UsageError(f"two properties have the name {quote(twice[0])}")
    rows = [_checked(path, data) for path in paths]
    files = {f"{FOLDER}/{name}": content for _, contents in rows for name, content in contents}
    if rows:
        files[f"{FOLDER}/{CHECKER.name}"] = CHECKER.read_bytes()
    return CertifiedProperties(tuple(about for about, _ in rows), files)


def _checked(path: Path, data: bytes) -> tuple[ShownProperty, tuple[tuple[str, bytes], ...]]:
    contents = tuple(_contents(path))
    (name, source), (beside, certificate) = contents
    try:
        shown = certificate_checker.check(data, source, certificate)
    except certificate_checker.Refused as reason:
        raise UsageError(f"{quote(beside)} does not show the property {quote(name)}: {reason}") from None
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, struct_error) as reason:
        raise UsageError(f"{quote(beside)} is not a certificate of {quote(name)} ({type(reason).__name__})") from None
    hashes = sha256(source), sha256(certificate)
    return ShownProperty(name, hashes[0], beside, hashes[1], shown.claim, shown.leaves), contents


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
