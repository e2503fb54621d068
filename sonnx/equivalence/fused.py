"""Operators that stand for several nodes, with their meaning by operators of ONNX (fused.toml)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from msgspec import Struct

STEP = re.compile(r"(\w+) = (\w+|@\w+)\(([^;)]*)(?:;([^)]*))?\)")
"""A step of a fused operator."""

WRITTEN_OUT = frozenset({("com.microsoft", "FusedMatMul"), ("", "CastLike")})
"""The operators that `expansion.py` writes out by the ranks and types of their inputs."""


class Fused(Struct, frozen=True):
    """A fused operator: its inputs, its steps in order, and where its text stands.

    A step is `name = Operator(inputs; attributes)`: an input is an input of the operator, an earlier name or a number;
    `@activation` is the operator without parameters that the attribute names; an attribute is one of the fused node,
    with `|value` where its absence means another value than that of the step's operator.  An input with `?` may be left
    out of the step's operator; a step without another input passes its first one on.  `axes` are those of the first
    input from the attribute `axis` on.

    Attributes:
        domain: of the operator.
        operator: its name.
        inputs: the names of its inputs.
        steps: what computes the output, in order.
        source: where its text stands.
        ideal: the meaning holds over the reals: how the operator rounds is not stated.
        only: the numbers of attributes for which the meaning is stated.
        optional: the inputs that may be left out.
        axiom: what the meaning rests on; where it is "", the meaning is assumed as it is written.
    """

    domain: str
    operator: str
    inputs: tuple[str, ...]
    steps: tuple[str, ...]
    source: str
    ideal: bool = False
    only: Mapping[str, Any] = {}
    optional: tuple[str, ...] = ()
    axiom: str = ""

    @property
    def name(self) -> str:
        """The operator with its domain, as messages name it."""
        return f"{self.domain}.{self.operator}" if self.domain else self.operator

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes that the steps use."""
        axis = {"axis"} if self.has_axes else set()
        return frozenset(re.findall(r"[A-Za-z_]\w*", " ".join(self.steps))) | self.only.keys() | axis

    @property
    def has_axes(self) -> bool:
        """Whether a step uses `axes`."""
        return any("axes" in step for step in self.steps)


@cache
def fused_operators() -> Mapping[tuple[str, str], Fused]:
    """The fused operators, by domain and name."""
    fuseds = [
        Fused(
            entry["domain"],
            entry["name"],
            tuple(entry["inputs"]),
            tuple(entry["steps"]),
            entry["source"],
            entry.get("ideal", False),
            entry.get("only", {}),
            tuple(entry.get("optional", ())),
            entry.get("axiom", ""),
        )
        for entry in tomllib.loads(files(__package__).joinpath("fused.toml").read_text("utf-8"))["operator"]
    ]
    return {(fused.domain, fused.operator): fused for fused in fuseds}


def has_meaning(domain: str, operator: str) -> bool:
    """Whether the meaning of an operator is stated: by a fused operator of the file, or in `expansion.py`."""
    return (domain, operator) in fused_operators() or (domain, operator) in WRITTEN_OUT
