"""The files of the installation: its data folders, its own code, its version and hash.

`sonnx/restrictions` and `sonnx/proofs` are folders in a wheel, and links to the folders of these names in a checkout.
So every path below is the same in both.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
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
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and most runs do not need it

    try:
        return version("sonnx")
    except PackageNotFoundError:
        return "0"


def published_rules() -> str:
    """The address of the site with the pages of the rules, as the metadata of the package has it; "" without one."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        stated = metadata("sonnx").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    addresses = dict(str(each).split(", ", 1) for each in stated)
    return addresses.get("Rules", "")


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
