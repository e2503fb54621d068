"""The identity of what an evidence pack is about, by hashes: model, tool, packages, profile."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

from msgspec import Struct

from sonnx.base.errors import Unreadable, UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import sha256
from sonnx.base.resources import own_files, own_hash, tool_version
from sonnx.evidence.canonical_form import canonical
from sonnx.evidence.configuration import DRAWING, NAME, needed
from sonnx.model.external_data import OutsideFolder, resolve_location
from sonnx.model.ir import External, Model
from sonnx.model.reader import map_file
from sonnx.model.scopes import canonical_domain, scopes, stored_tensors
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition
from sonnx.profile.profile_data import in_use


class ExternalFile(Struct, frozen=True):
    """A file of external data."""

    file: str
    """Its location, as the model states it."""
    sha256: str | None
    """The SHA-256 of the whole file; null where it was not read."""
    bytes: int | None
    """Its size."""
    not_read: str | None
    """Why it was not read."""


class ModelIdentity(Struct, frozen=True):
    """The model file."""

    file: str
    """The base name of the file."""
    sha256: str
    """Its SHA-256."""
    bytes: int
    """Its size."""
    canonical_sha256: str
    """The SHA-256 of the canonical form (docs/audit.md)."""
    external_data: tuple[ExternalFile, ...]
    """The files of external data."""
    ir_version: int | None
    """The version of the format; null where the file states none."""
    operator_sets: tuple[tuple[str, int | None], ...]
    """The operator sets, each with its version; null where the file states none."""
    producer: str
    """What the file says of its producer."""
    metadata: tuple[tuple[str, str], ...]
    """The metadata of the file."""


class ToolIdentity(Struct, frozen=True):
    """The tool."""

    name: str
    """The name of the program."""
    version: str
    """Its version."""
    sha256: str
    """The hash of all its files, independent of how it is installed."""
    files: int
    """How many files these are."""


class PackageIdentity(Struct, frozen=True):
    """An installed package that the tool needs."""

    name: str
    """Its name."""
    version: str
    """Its version."""
    sha256: str
    """The hash of the hashes of its files, as its record lists them."""


class OperatorText(Struct, frozen=True):
    """The text that an edition takes for an operator."""

    status: str
    """What the edition says of the operator: specified, draft, planned, or nothing."""
    text: str | None
    """The text; null without one."""


class EditionIdentity(Struct, frozen=True):
    """The edition of the profile."""

    name: str
    """Its name."""
    title: str
    """Its title."""
    consolidated: bool
    """Whether this tool consolidated it from several texts."""
    files: Mapping[str, str]
    """The SHA-256 of each of its files that was read."""
    operators: Mapping[str, OperatorText]
    """The operators of the model."""


def about_model(model: Model, name: str, digest: str, size: int, folder: Path | None) -> ModelIdentity:
    """The model file, its files of external data in `folder`, and the hash of its canonical form."""
    form = canonical(
        model, lambda tensor: external_bytes(folder, tensor.external) if folder and tensor.external else None
    )
    return ModelIdentity(
        file=name,
        sha256=digest,
        bytes=size,
        canonical_sha256=hashlib.sha256(form).hexdigest(),
        external_data=tuple(external_files(model, folder)),
        ir_version=model.ir_version,
        operator_sets=tuple((imported.domain, imported.version) for imported in model.imports),
        producer=model.producer,
        metadata=tuple(model.metadata),
    )


def external_bytes(folder: Path, external: External) -> memoryview | None:
    """The bytes of external data, None where they cannot be read or offset and length exceed the file."""
    entries = dict(external.entries)
    if any(key in entries and getattr(external, key) is None for key in ("offset", "length")):
        return None
    try:
        data = map_file(resolve_location(folder, external.location), quote(external.location))
    except (OutsideFolder, Unreadable):
        return None
    start = external.offset or 0
    end = len(data) if external.length is None else start + external.length
    return data[start:end] if 0 <= start <= end <= len(data) else None


def external_files(model: Model, folder: Path | None) -> Iterator[ExternalFile]:
    """Each file of external data, once; with the reason if it cannot be read."""
    locations = {tensor.external.location for tensor in stored_tensors(model) if tensor.external}
    for location in sorted(locations):
        if folder is None:
            yield ExternalFile(location, None, None, "the model was given as bytes")
            continue
        try:
            path = resolve_location(folder, location)
            yield ExternalFile(location, sha256(path), path.stat().st_size, None)
        except (OutsideFolder, OSError) as reason:
            why = str(reason) if isinstance(reason, OutsideFolder) else reason.strerror
            yield ExternalFile(location, None, None, why)


def operators_used(model: Model) -> tuple[tuple[str, int], ...]:
    """The operators of the standard domain in all graphs and functions, each with its version; 0 if it is unknown."""
    used = {
        (node.operator, _version(node.operator, scope.imports.get("")))
        for scope in scopes(model)
        for node in scope.graph.nodes
        if not canonical_domain(node.domain)
    }
    return tuple(sorted(used))


def _version(operator: str, operator_set: int | None) -> int:
    described = catalogue.operator(operator)
    return (described.version_at(operator_set) or 0) if described and operator_set is not None else 0


def about_tool() -> ToolIdentity:
    """The version and the hash of all files of the tool, independent of how it is installed."""
    return ToolIdentity("sonnx", tool_version(), own_hash(), len([*own_files()]))


def about_packages() -> tuple[PackageIdentity, ...]:
    """The installed packages that the tool needs, direct and indirect, by version and by the hash of their files.

    Raises:
        UsageError: the tool is not installed, so that nothing says what it needs.
    """
    names = needed([DRAWING])
    if not names:
        raise UsageError("sonnx is not installed here, so an evidence pack cannot list its packages; install it by pip")
    return tuple(_package(name) for name in sorted(names) if name != NAME)


@cache
def _package(name: str) -> PackageIdentity:
    installed = distribution(name)
    listed = sorted(
        f"{file.hash.value}  {file.as_posix()}\n"
        for file in installed.files or ()
        if file.hash and file.parts[0] != ".." and not file.parts[0].endswith(".dist-info")
    )
    return PackageIdentity(name, installed.version, hashlib.sha256("".join(listed).encode()).hexdigest())


def about_edition(edition: Edition, used: Sequence[str]) -> EditionIdentity:
    """The edition with the hash of each of its files that was read, and the text taken for each operator used."""
    base = in_use().folder
    names = ["editions.toml", "general.toml", "graph.toml", "errata.toml"]
    names += [f"operators/{name.lower()}.toml" for name in used if catalogue.operator(name)]
    return EditionIdentity(
        edition.name,
        edition.title,
        edition.consolidated,
        {name: sha256(base / name) for name in sorted(names)},
        {name: OperatorText(edition.status(name), edition.text_of(name)) for name in used},
    )
