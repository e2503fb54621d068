"""The data files of the package: axioms, fused operators, and defaults of operators without a file of the profile."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from msgspec import Struct

STEP = re.compile(r"(\w+) = (\w+|@\w+)\(([^;)]*)(?:;([^)]*))?\)")
"""A step of a fused operator."""


class Fused(Struct, frozen=True):
    """A fused operator: its inputs, its steps in order, and where its text stands.

    A step is `name = Operator(inputs; attributes)`: an input is an input of the operator, an earlier name or a number;
    `@activation` is the operator without parameters that the attribute names; an attribute is one of the fused node,
    with `|value` where its absence means another value than that of the step's operator.  A step whose second input is
    left out passes its first one on; `axes` are those of the first input from the attribute `axis` on.  An `ideal`
    meaning holds over the reals: how the operator rounds is not stated.  `only` has the numbers of attributes for which
    the meaning is stated, `optional` the inputs that may be left out, None for all.
    """

    domain: str
    operator: str
    inputs: tuple[str, ...]
    steps: tuple[str, ...]
    source: str
    ideal: bool = False
    only: Mapping[str, Any] = {}
    optional: tuple[str, ...] | None = None

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


class Stated(Struct, frozen=True):
    """What ONNX states of an operator: defaults of attributes, the operator sets in which its meaning changed, and
    whether its first output has type and shape of its first input.
    """

    defaults: Mapping[str, Any]
    changes: tuple[int, ...]
    keeps_shape: bool

    def meaning(self, operator_set: int | None) -> str:
        """The same for operator sets in which the operator means the same."""
        return f"since {bisect_right(self.changes, operator_set or 0)}"

    def default(self, name: str, spatial: int) -> Any:
        """What the absence of an attribute means."""
        value = self.defaults[name]
        if value in ("ones", "zeros"):
            return (int(value == "ones"),) * (spatial * (2 if name == "pads" else 1))
        return float(np.float32(value)) if isinstance(value, float) else value


class Axiom(Struct, frozen=True):
    """What a comparison uses beside the definitions of operators: a theorem, or an assumption where `theorem` is ""."""

    name: str
    level: str
    statement: str
    theorem: str = ""


@cache
def axioms() -> Mapping[str, Axiom]:
    """The axioms, by name."""
    return {entry["name"]: Axiom(**entry) for entry in _read("axioms.toml")["axiom"]}


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
            tuple(entry["optional"]) if "optional" in entry else None,
        )
        for entry in _read("fused.toml")["operator"]
    ]
    return {(fused.domain, fused.operator): fused for fused in fuseds}


@cache
def stated_operators() -> Mapping[str, Stated]:
    """The operators with stated defaults, by name."""
    return {
        name: Stated(entry["defaults"], tuple(entry["changes"]), entry.get("keeps_shape", False))
        for name, entry in _read("stated.toml").items()
    }


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(name).read_text("utf-8"))
