"""The files of the tool: its code, rules, theorems and cases, under the same names in a wheel and in a checkout."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import sonnx
from sonnx.data import folder
from sonnx.files import sha256

DATA = ("restrictions", "proofs", "cases")


def own_files() -> Iterator[tuple[str, Path]]:
    """Each file with its name."""
    package = Path(sonnx.__file__).parent
    for name, base in (("sonnx", package), *((each, folder(each)) for each in DATA)):
        for path in sorted(base.rglob("*")):
            parts = path.relative_to(base).parts
            if path.is_file() and "__pycache__" not in parts and not (base == package and parts[0] in DATA):
                yield "/".join((name, *parts)), path


def own_hash() -> str:
    """One hash of all of them."""
    made = hashlib.sha256()
    for name, path in own_files():
        made.update(f"{sha256(path)}  {name}\n".encode())
    return made.hexdigest()
