"""The configuration index: what is installed, whether it equals the delivery, and the platform."""

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
    """One distribution: its version, the SHA-256 of its list of files, and the files that differ from the delivery."""

    name: str
    version: str
    record: str
    files: int
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Configuration:
    """The parts of the tool; `packaged` is false in a checkout, which has no list of delivered files."""

    packaged: bool
    distributions: tuple[Installed, ...]
    source: str
    """SHA-256 of the names and contents of the tool's own files."""
    python: str
    machine: str


def configuration() -> Configuration:
    """The configuration of the running tool."""
    found = tuple(_installed(name) for name in dict.fromkeys([NAME, *_needed()]) if _is_installed(name))
    packaged = _is_installed(NAME) and any(path.parts[0] == NAME for path in distribution(NAME).files or ())
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return Configuration(packaged, found, own_hash(), python, f"{sys.platform} {platform.machine()}")


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _needed() -> Iterator[str]:
    """The names of the required distributions, direct and indirect, without extras."""
    waiting, seen = [NAME], {NAME}
    while waiting:
        name = waiting.pop(0)
        if not _is_installed(name):
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
    """Files that are missing or whose hash differs from the distribution's RECORD."""
    for path, kind, value in _record(found):
        if not value or path.endswith(".pyc"):
            continue
        place = Path(str(found.locate_file(path)))
        if not place.is_file():
            yield f"{path}: missing"
            continue
        digest = hashlib.new(kind, place.read_bytes()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != value:
            yield f"{path}: changed"


def _record(found: Distribution) -> Iterator[tuple[str, str, str]]:
    """Each file with the algorithm and value of its hash; `Distribution.files` would omit missing files."""
    for path, digest, *_ in csv.reader((found.read_text("RECORD") or "").splitlines()):
        kind, _, value = digest.partition("=")
        yield path, kind, value
