"""The files of the installation: its data folders, its own code, its version and hash.

`sonnx/restrictions` and `sonnx/proofs` are folders in a wheel, and links to the folders of these names in a checkout.
So every path below is the same in both.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from sonnx.base.files import sha256

PACKAGE = Path(__file__).parent.parent
DATA_FOLDERS = ("restrictions", "proofs")
Parts = tuple[str, ...]


def folder(name: str) -> Path:
    """A data folder of the package.

    Raises:
        FileNotFoundError: the folder is missing.
    """
    path = PACKAGE / name
    if not path.is_dir():
        raise FileNotFoundError(f"the folder {name} of the installation is missing; install sonnx again")
    return path


def tool_version() -> str:
    """The version of the installed package, "0" where it is not installed."""
    return next((text for name, text in _metadata() if name == "Version"), "0")


def published_rules() -> str:
    """The address of the site with the pages of the rules, as the metadata of the package has it; "" without one."""
    addresses = [text.split(", ", 1) for name, text in _metadata() if name == "Project-URL"]
    return next((address for label, address in addresses if label == "Rules"), "")


@cache
def _metadata() -> tuple[tuple[str, str], ...]:
    """The fields of the metadata of the installed package, none where it is not installed.

    importlib.metadata finds the same file, and loads fifty modules.
    """
    for entry in sys.path:
        for folder in Path(entry).glob(f"{PACKAGE.name}-*.dist-info"):
            with suppress(OSError, UnicodeDecodeError):
                head = (folder / "METADATA").read_text("utf-8").partition("\n\n")[0]
                fields = (line.partition(": ") for line in head.splitlines())
                return tuple((name, text) for name, colon, text in fields if colon)
    return ()


def own_files() -> Iterator[tuple[str, Path]]:
    """Each file of the tool with its name, which is the same in a wheel and in a checkout."""
    for name, base in (("sonnx", PACKAGE), *((data_folder, folder(data_folder)) for data_folder in DATA_FOLDERS)):
        left_out = {"__pycache__", *(DATA_FOLDERS if base == PACKAGE else ())}
        for parts in sorted(_files_below(base, (), left_out)):
            yield "/".join((name, *parts)), base.joinpath(*parts)


def _files_below(folder: Path, parts: Parts, left_out: Collection[str] = ("__pycache__",)) -> Iterator[Parts]:
    """The names on the way to each file of a folder, but for those to leave out; in folders below it for caches."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name not in left_out and entry.is_file():
                yield *parts, entry.name
            elif entry.name not in left_out and entry.is_dir(follow_symlinks=False):
                yield from _files_below(folder / entry.name, (*parts, entry.name))


@cache
def own_hash() -> str:
    """One SHA-256 of all files of the tool and their names, as they are when a process first asks."""
    import hashlib  # loads OpenSSL

    digest = hashlib.sha256()
    for name, path in own_files():
        digest.update(f"{sha256(path)}  {name}\n".encode())
    return digest.hexdigest()
