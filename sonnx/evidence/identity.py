"""The identity of what an evidence pack is about, by hashes: model, tool, packages, profile."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import sha256
from sonnx.base.resources import folder as data_folder
from sonnx.base.resources import own_files, own_hash, tool_version
from sonnx.evidence.canonical_form import canonical
from sonnx.evidence.configuration import DRAWING, NAME, needed
from sonnx.model.external_data import OutsideFolder, resolve_location
from sonnx.model.ir import External, Model
from sonnx.model.reader import Unreadable, map_file
from sonnx.model.scopes import canonical_domain, scopes, stored_tensors
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition


def about_model(model: Model, name: str, digest: str, size: int, folder: Path | None) -> dict[str, Any]:
    """The model file, its files of external data in `folder`, and the hash of its canonical form."""
    form = canonical(
        model, lambda tensor: external_bytes(folder, tensor.external) if folder and tensor.external else None
    )
    return {
        "file": name,
        "sha256": digest,
        "bytes": size,
        "canonical_sha256": hashlib.sha256(form).hexdigest(),
        "external_data": list(external_files(model, folder)),
        "ir_version": model.ir_version,
        "operator_sets": [[each.domain, each.version] for each in model.imports],
        "producer": model.producer,
        "metadata": [list(pair) for pair in model.metadata],
    }


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


def external_files(model: Model, folder: Path | None) -> Iterator[dict[str, Any]]:
    """Each file of external data, once; with the reason if it cannot be read."""
    found = {each.external.location for each in stored_tensors(model) if each.external}
    for location in sorted(found):
        if folder is None:
            yield {"file": location, "sha256": None, "bytes": None, "not_read": "the model was given as bytes"}
            continue
        try:
            path = resolve_location(folder, location)
            yield {"file": location, "sha256": sha256(path), "bytes": path.stat().st_size, "not_read": None}
        except (OutsideFolder, OSError) as reason:
            why = str(reason) if isinstance(reason, OutsideFolder) else reason.strerror
            yield {"file": location, "sha256": None, "bytes": None, "not_read": why}


def operators_used(model: Model) -> tuple[tuple[str, int], ...]:
    """The operators of the standard domain in all graphs and functions, each with its version; 0 if it is unknown."""
    found = {
        (node.operator, _version(node.operator, scope.imports.get("")))
        for scope in scopes(model)
        for node in scope.graph.nodes
        if not canonical_domain(node.domain)
    }
    return tuple(sorted(found))


def _version(operator: str, operator_set: int | None) -> int:
    described = catalogue.operator(operator)
    return (described.version_at(operator_set) or 0) if described and operator_set is not None else 0


def about_tool() -> dict[str, Any]:
    """The version and the hash of all files of the tool, independent of how it is installed."""
    return {"name": "sonnx", "version": tool_version(), "sha256": own_hash(), "files": len([*own_files()])}


def about_packages() -> list[dict[str, Any]]:
    """The installed packages that the tool needs, direct and indirect, by version and by the hash of their files.

    Raises:
        UsageError: the tool is not installed, so that nothing says what it needs.
    """
    names = needed([DRAWING])
    if not names:
        raise UsageError("sonnx is not installed here, so an evidence pack cannot list its packages; install it by pip")
    return [_package(name) for name in sorted(names) if name != NAME]


def _package(name: str) -> dict[str, Any]:
    found = distribution(name)
    listed = sorted(
        f"{each.hash.value}  {each.as_posix()}\n"
        for each in found.files or ()
        if each.hash and each.parts[0] != ".." and not each.parts[0].endswith(".dist-info")
    )
    return {"name": name, "version": found.version, "sha256": hashlib.sha256("".join(listed).encode()).hexdigest()}


def about_edition(edition: Edition, used: Sequence[str]) -> dict[str, Any]:
    """The edition with the hash of each of its files that was read, and the text taken for each operator used."""
    base = data_folder("restrictions")
    names = ["editions.toml", "general.toml", "graph.toml", "errata.toml"]
    names += [f"operators/{name.lower()}.toml" for name in used if catalogue.operator(name)]
    return {
        "name": edition.name,
        "title": edition.title,
        "consolidated": edition.consolidated,
        "files": {name: sha256(base / name) for name in sorted(names)},
        "operators": {name: {"status": edition.status(name), "text": edition.text_of(name)} for name in used},
    }
