"""The configuration index: what is installed, its licences, whether it equals the delivery, and the platform."""

from __future__ import annotations

import base64
import csv
import hashlib
import platform
import re
import sys
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from sonnx.base.resources import own_hash

NAME = "sonnx"
DRAWING = "draw"
"""The extra that a report with a drawing uses."""
USED_EXTRAS = ("solvers", "runtime", "cluster", DRAWING)
"""The extras that commands use; the others are for development."""


@dataclass(frozen=True, slots=True)
class Installed:
    """One distribution: its version, the SHA-256 of its list of files, and the files that differ from the delivery."""

    name: str
    version: str
    record: str
    files: int
    changed: tuple[str, ...] = ()
    license: str = ""
    """The licence as its metadata state it: an SPDX expression or a name, "" if they state none."""
    needed_for: str = ""
    """The extra of the tool that needs it first, "" where the tool itself does."""
    requires: tuple[str, ...] = ()
    """The listed distributions it needs."""


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
    extra_of = needed(USED_EXTRAS)
    listed = tuple(_installed(name, extra, extra_of) for name, extra in extra_of.items())
    packaged = NAME in extra_of and any(str(path) == f"{NAME}/__init__.py" for path in distribution(NAME).files or ())
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return Configuration(packaged, listed, own_hash(), python, f"{sys.platform} {platform.machine()}")


def needed(extras: Collection[str]) -> dict[str, str]:
    """The installed distributions that the tool and its extras need, direct and indirect, the tool first.

    Each name has the extra that needs it first, "" for what the tool needs without extras.
    """
    extra_of: dict[str, str] = {}
    for extra in ("", *extras):
        waiting = deque([NAME])
        while waiting:
            name = waiting.popleft()
            installed = _find(name)
            if installed is not None and (name == NAME or name not in extra_of):
                extra_of.setdefault(name, extra)
                waiting.extend(_requires(installed, extra if name == NAME else ""))
    return extra_of


def _find(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _requires(required_by: Distribution, extra: str = "") -> Iterator[str]:
    """The names that a distribution requires, without extras or for one."""
    for requirement in required_by.requires or ():
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        condition = re.search(r"""extra == ['"]([^'"]+)""", requirement)
        if name and (condition[1] if condition else "") == extra:
            yield re.sub(r"[-_.]+", "-", name[0]).lower()


def _installed(name: str, needed_for: str, listed: Mapping[str, str]) -> Installed:
    delivered = distribution(name)
    changed = tuple(sorted(_changed(delivered)))
    files = sorted(f"{path} {value}" for path, _, value in _record(delivered))
    record = hashlib.sha256("\n".join(files).encode()).hexdigest()
    requires = tuple(sorted({require for require in _requires(delivered) if require in listed}))
    return Installed(name, delivered.version, record, len(files), changed, license_of(name), needed_for, requires)


def license_of(name: str) -> str:
    """The licence in the metadata of an installed distribution, "" if they state none."""
    metadata = distribution(name).metadata
    classifiers = (each.split(" :: ") for each in metadata.get_all("Classifier") or ())
    named = [parts[-1] for parts in classifiers if parts[0] == "License" and len(parts) > 2]
    first = (metadata["License"] or "").strip().partition("\n")[0] if "License" in metadata else ""
    return metadata["License-Expression"] if "License-Expression" in metadata else first or " OR ".join(named)


def _changed(delivered: Distribution) -> Iterator[str]:
    """Files that are missing or whose hash differs from the distribution's RECORD."""
    for path, kind, value in _record(delivered):
        if not value or path.endswith(".pyc"):
            continue
        place = Path(str(delivered.locate_file(path)))
        if not place.is_file():
            yield f"{path}: missing"
            continue
        digest = hashlib.new(kind, place.read_bytes()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != value:
            yield f"{path}: changed"


def _record(delivered: Distribution) -> Iterator[tuple[str, str, str]]:
    """Each file with the algorithm and value of its hash; `Distribution.files` would omit missing files."""
    for path, digest, *_ in csv.reader((delivered.read_text("RECORD") or "").splitlines()):
        kind, _, value = digest.partition("=")
        yield path, kind, value
