"""What results depend on, as names with a SHA-256 or a version each: equal only if every result would be the same."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sonnx.base.files import sha256
from sonnx.base.resources import own_hash

Identity = Mapping[str, str]
"""By name; a name is what stands behind "another" in a sentence: "model", "set of options"."""
TOOL = "version of sonnx"


def tool_identity(packages: Iterable[str]) -> dict[str, str]:
    """The program on the disk of this machine, from which child processes load it: its files, Python, packages."""
    python = ".".join(map(str, sys.version_info[:2]))
    versions = {f"version of {name}": _version(name) for name in packages}
    return {TOOL: own_hash(), "version of Python": python, **versions}


def value_hash(value: Any) -> str:
    """The SHA-256 of a JSON value."""
    return sha256(json.dumps(value, sort_keys=True).encode("ascii"))


def differing(theirs: Identity, ours: Identity) -> str | None:
    """The first name in which two identities differ, None if they are equal."""
    return next((name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)), None)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
