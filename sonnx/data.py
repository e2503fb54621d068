"""Where the package's data stand: inside an installed wheel, or beside the package in a checkout."""

from __future__ import annotations

from pathlib import Path

import sonnx


def folder(name: str) -> Path:
    """The folder of that name.

    Raises:
        FileNotFoundError: where the installation lacks it.
    """
    for base in sonnx.__path__:
        for candidate in (Path(base) / name, Path(base) / "tests" / name):
            if candidate.is_dir():
                return candidate
    raise FileNotFoundError(f"the installation lacks its folder {name}; install sonnx again")
