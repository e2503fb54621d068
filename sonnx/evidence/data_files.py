"""The data files of this folder: lists of cases, objectives and problems in TOML."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def entries(file: str, key: str) -> list[dict[str, Any]]:
    """The tables `[[key]]` of a file, in order."""
    listed: list[dict[str, Any]] = tomllib.loads((FOLDER / file).read_text("utf-8"))[key]
    return listed
