"""What an evidence pack is about, by its hashes: the model, the tool, the packages it rests on, the profile."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from sonnx.base.files import sha256
from sonnx.base.resources import folder, own_files, own_hash, tool_version
from sonnx.evidence.canonical_form import canonical
from sonnx.model.external_data import Elsewhere, inside, values
from sonnx.model.ir import Model
from sonnx.model.scopes import scopes, standard, stored
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition

PACKAGES = ("onnx", "protobuf", "numpy", "ml_dtypes", "z3-solver", "fast-sugiyama")
"""What the tool rests on; a check loads the first two, and the last one only draws."""


def about_model(model: Model, name: str, digest: str, size: int, beside: Path) -> dict[str, Any]:
    """The file, the files beside it, and the canonical form of what they state."""
    form = canonical(model, lambda tensor: values(beside, tensor.external) if tensor.external else None)
    return {
        "file": name,
        "sha256": digest,
        "bytes": size,
        "canonical_sha256": hashlib.sha256(form).hexdigest(),
        "external_data": list(_external(model, beside)),
        "ir_version": model.ir_version,
        "operator_sets": [[each.domain, each.version] for each in model.imports],
        "producer": model.producer,
        "metadata": [list(pair) for pair in model.metadata],
    }


def _external(model: Model, beside: Path) -> Iterator[dict[str, Any]]:
    """Each file that holds values, once; what cannot be read is listed with the reason."""
    found = {each.external.location for each in stored(model) if each.external}
    for location in sorted(found):
        try:
            path = inside(beside, location)
            yield {"file": location, "sha256": sha256(path), "bytes": path.stat().st_size, "not_read": None}
        except (Elsewhere, OSError) as reason:
            said = str(reason) if isinstance(reason, Elsewhere) else reason.strerror
            yield {"file": location, "sha256": None, "bytes": None, "not_read": said}


def operators_used(model: Model) -> tuple[tuple[str, int], ...]:
    """The operators of the standard domain that nodes name, with those of nested graphs and functions.

    Each with the version that is in force, 0 where none is known.
    """
    found = {
        (node.operator, _version(node.operator, scope.imports.get("")))
        for scope in scopes(model)
        for node in scope.graph.nodes
        if not standard(node.domain)
    }
    return tuple(sorted(found))


def _version(operator: str, operator_set: int | None) -> int:
    described = catalogue.operator(operator)
    return (described.version_at(operator_set) or 0) if described and operator_set is not None else 0


def about_tool() -> dict[str, Any]:
    """The version and the hash of all files of the tool, whichever way it is installed."""
    return {"name": "sonnx", "version": tool_version(), "sha256": own_hash(), "files": len([*own_files()])}


def about_packages() -> list[dict[str, Any]]:
    """The installed packages by version and by the hash of their own files as installed."""
    return [_package(name) for name in PACKAGES]


def _package(name: str) -> dict[str, Any]:
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return {"name": name, "version": None, "sha256": None}
    listed = sorted(
        f"{each.hash.value}  {each.as_posix()}\n"
        for each in found.files or ()
        if each.hash and each.parts[0] != ".." and not each.parts[0].endswith(".dist-info")
    )
    return {"name": name, "version": found.version, "sha256": hashlib.sha256("".join(listed).encode()).hexdigest()}


def about_edition(edition: Edition, used: Sequence[str]) -> dict[str, Any]:
    """The edition with the hash of each of its files that was read, and the text taken for each operator used."""
    base = folder("restrictions")
    names = ["editions.toml", "general.toml", "graph.toml", "errata.toml"]
    names += [f"operators/{name.lower()}.toml" for name in used if catalogue.operator(name)]
    return {
        "name": edition.name,
        "title": edition.title,
        "consolidated": edition.consolidated,
        "files": {name: sha256(base / name) for name in sorted(names)},
        "operators": {name: {"status": edition.status(name), "text": edition.text_of(name)} for name in used},
    }
