"""The configuration index: what is installed, whether it is what was delivered, and what it runs on."""

from __future__ import annotations

import base64
import csv
import hashlib
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from sonnx.base.resources import own_hash

NAME = "sonnx"


@dataclass(frozen=True, slots=True)
class Installed:
    """One distribution: its version, the SHA-256 over its list of files, and files that are not as delivered."""

    name: str
    version: str
    record: str
    files: int
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the tool is made of; `packaged` is false in a checkout, where nothing says what was delivered."""

    packaged: bool
    distributions: tuple[Installed, ...]
    source: str
    """SHA-256 over the names and contents of the tool's own files, wherever they stand."""
    python: str
    machine: str


def configuration() -> Configuration:
    """The configuration of the running tool."""
    found = tuple(_installed(name) for name in dict.fromkeys([NAME, *_needed()]) if _there(name))
    packaged = _there(NAME) and any(path.parts[0] == NAME for path in distribution(NAME).files or ())
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return Configuration(packaged, found, own_hash(), python, f"{sys.platform} {platform.machine()}")


def _there(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _needed() -> Iterator[str]:
    """What the tool requires, and what that requires, extras left out; names as they are written."""
    waiting, seen = [NAME], {NAME}
    while waiting:
        name = waiting.pop(0)
        if not _there(name):
            continue
        for text in distribution(name).requires or ():
            required = re.match(r"[A-Za-z0-9._-]+", text)
            if required and "extra ==" not in text and required[0].lower() not in seen:
                seen.add(required[0].lower())
                waiting.append(required[0])
                yield required[0]


def _installed(name: str) -> Installed:
    found = distribution(name)
    changed = tuple(sorted(_changed(found)))
    listed = sorted(f"{path} {value}" for path, _, value in _record(found))
    record = hashlib.sha256("\n".join(listed).encode()).hexdigest()
    return Installed(name, found.version, record, len(listed), changed)


def _changed(found: Distribution) -> Iterator[str]:
    """Files whose content is not that of the distribution's RECORD, or that are gone."""
    for path, kind, value in _record(found):
        if not value or path.endswith(".pyc"):
            continue
        place = Path(str(found.locate_file(path)))
        if not place.is_file():
            yield f"{path}: gone"
            continue
        digest = hashlib.new(kind, place.read_bytes()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != value:
            yield f"{path}: changed"


def _record(found: Distribution) -> Iterator[tuple[str, str, str]]:
    """Each file with the kind and the value of its hash, from the text: `files` leaves out what is gone."""
    for path, digest, *_ in csv.reader((found.read_text("RECORD") or "").splitlines()):
        kind, _, value = digest.partition("=")
        yield path, kind, value
