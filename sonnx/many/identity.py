"""What answers depend on besides what is asked: the program with its rules, and the packages it rests on."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from sonnx.own_files import own_hash

Identity = Mapping[str, str]
"""Versions by names; that of sonnx is the hash of all its files."""


def identity(packages: tuple[str, ...]) -> Identity:
    """The program as it stands on the disk of this machine, from where child processes take it."""
    python = ".".join(map(str, sys.version_info[:2]))
    return {"sonnx": own_hash(), "Python": python, **{name: _version(name) for name in packages}}


def unlike(theirs: Identity, ours: Identity) -> str:
    """What differs, where something does: two versions of one package."""
    name = next(name for name in ours if theirs.get(name) != ours[name])
    if name == "sonnx":
        return "another version of sonnx, or other rules"
    return f"{name} {theirs.get(name) or '(not installed)'}, not {ours[name] or 'none'} as here"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
