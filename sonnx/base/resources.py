"""The files of the installation: its data folders, its own code, its version and hash.

`sonnx/restrictions` and `sonnx/proofs` are real folders in a wheel and links to the folders of the same names in a checkout,
so every path below is the same in both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from sonnx.base.files import sha256

PACKAGE = Path(__file__).parent.parent
DATA = ("restrictions", "proofs")


def folder(name: str) -> Path:
    """A data folder of the package.

    Raises:
        FileNotFoundError: the installation lacks it.
    """
    found = PACKAGE / name
    if not found.is_dir():
        raise FileNotFoundError(f"the installation lacks its folder {name}; install sonnx again")
    return found


def tool_version() -> str:
    """The version of the installed package, "0" in a tree that is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # slow, and most runs do not ask

    try:
        return version("sonnx")
    except PackageNotFoundError:
        return "0"


def own_files() -> Iterator[tuple[str, Path]]:
    """Each file of the tool with its name: the same names in a wheel and in a checkout."""
    for name, base in (("sonnx", PACKAGE), *((each, folder(each)) for each in DATA)):
        for path in sorted(base.rglob("*")):
            parts = path.relative_to(base).parts
            if path.is_file() and "__pycache__" not in parts and not (base == PACKAGE and parts[0] in DATA):
                yield "/".join((name, *parts)), path


def own_hash() -> str:
    """One hash of all of them."""
    made = hashlib.sha256()
    for name, path in own_files():
        made.update(f"{sha256(path)}  {name}\n".encode())
    return made.hexdigest()
