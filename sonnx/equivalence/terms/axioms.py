"""What a comparison uses beside the definitions of operators: theorems and assumptions (axioms.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from msgspec import Struct


class Axiom(Struct, frozen=True):
    """What a comparison uses beside the definitions of operators: a theorem, or an assumption where `theorem` is ""."""

    name: str
    level: str
    statement: str
    example: str
    theorem: str = ""


@cache
def axioms() -> Mapping[str, Axiom]:
    """The axioms, by name."""
    return {
        entry["name"]: Axiom(**entry)
        for entry in tomllib.loads(files(__package__).joinpath("axioms.toml").read_text("utf-8"))["axiom"]
    }
