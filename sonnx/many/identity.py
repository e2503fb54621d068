"""What answers depend on besides what is asked: the program with its rules, and the packages it rests on."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import sonnx
from sonnx.data import folder

Identity = Mapping[str, str]
"""Versions by names; that of sonnx is the hash of its files."""


@cache
def identity(packages: tuple[str, ...]) -> Identity:
    """The program that runs here."""
    python = ".".join(map(str, sys.version_info[:2]))
    return {"sonnx": _hash(), "Python": python, **{name: _version(name) for name in packages}}


def unlike(theirs: Identity, ours: Identity) -> str:
    """What differs, where something does: two versions of one package."""
    name = next(name for name in ours if theirs.get(name) != ours[name])
    if name == "sonnx":
        return "another version of sonnx, or other rules"
    return f"{name} {theirs.get(name) or '(not installed)'}, not {ours[name] or 'none'} as here"


@cache
def _hash() -> str:
    made = hashlib.sha256()
    for name, path in files():
        made.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return made.hexdigest()


def files() -> Iterator[tuple[str, Path]]:
    """The files of the program, its rules and its theorems, with names that do not depend on the place."""
    code = [(path, Path(base)) for base in sonnx.__path__[:1] for path in Path(base).rglob("*.py")]
    data = [
        (path, folder(name).parent)
        for name, kind in (("restrictions", "*.toml"), ("proofs", "*.py"))
        for path in folder(name).rglob(kind)
    ]
    found = {path.relative_to(base).as_posix(): path for path, base in [*code, *data]}
    yield from sorted(found.items())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
