"""The files of the installation: its data folders, its own code, its version and hash.

`sonnx/restrictions` and `sonnx/proofs` are folders in a wheel, and links to the folders of these names in a checkout.
So every path below is the same in both.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sonnx.base.files import sha256

PACKAGE = Path(__file__).parent.parent
DATA_FOLDERS = ("restrictions", "proofs")


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


def own_files() -> Iterator[tuple[str, Path]]:
    """Each file of the tool with its name, which is the same in a wheel and in a checkout."""
    for name, base in (("sonnx", PACKAGE), *((data_folder, folder(data_folder)) for data_folder in DATA_FOLDERS)):
        for path in sorted(base.rglob("*")):
            parts = path.relative_to(base).parts
            if path.is_file() and "__pycache__" not in parts and not (base == PACKAGE and parts[0] in DATA_FOLDERS):
                yield "/".join((name, *parts)), path


def own_hash() -> str:
    """One SHA-256 of all files of the tool and their names."""
    import hashlib  # loads OpenSSL

    digest = hashlib.sha256()
    for name, path in own_files():
        digest.update(f"{sha256(path)}  {name}\n".encode())
    return digest.hexdigest()
