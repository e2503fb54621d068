"""The bounds of a model as data: for each tensor its ranges and errors, the conditions, the decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sonnx.bounds.box import Box
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.enclosures.values import Condition
from sonnx.numerics.formats import Array


@dataclass(frozen=True, eq=False)
class Tensor:
    """The bounds of one tensor: arrays of float64 of its shape.

    The ideal value of each element lies in [low, high].  What an implementation within the hypotheses computes is
    within `error` of it; `introduced` is what the roundings of the tensor's own node add.  `unbounded` says why nothing
    is known, "" where something is.
    """

    name: str
    node: str
    element: str
    low: Array = field(repr=False)
    high: Array = field(repr=False)
    introduced: Array = field(repr=False)
    error: Array = field(repr=False)
    is_output: bool = False
    unbounded: str = ""

    @property
    def propagated(self) -> Array:
        """What is left of the error without the part introduced by the node, at least 0."""
        return np.asarray(np.maximum(self.error - self.introduced, 0.0))

    @property
    def largest_error(self) -> float:
        """The error of the worst element."""
        return float(self.error.max(initial=0.0)) if not self.unbounded else np.inf


@dataclass(frozen=True)
class Decision:
    """A difference of two output elements, or the largest one: `same` if every implementation decides as the ideal."""

    what: str
    low: float
    high: float
    error: float
    same: bool


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds of a model on a box, under hypotheses."""

    model: str
    edition: str
    checked: bool
    hypotheses: Hypotheses
    tensors: tuple[Tensor, ...]
    conditions: tuple[Condition, ...]
    decisions: tuple[Decision, ...]
    box: Box
    shares: tuple[tuple[str, float], ...]
    """The share of each node in the error of the worst output element, largest first."""
    split: Mapping[str, Any] | None = None
    """What a bisection of the box showed, None where there was none."""
    max_error: float | None = None
    """What the error of the first output must not exceed."""
    coarse: tuple[str, ...] = ()
    """The values that keep their forward errors, because the adjoint pass would follow too many numbers."""
    sha256: str = ""
    """The hash of the model file, "" where it was not read from bytes."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The hashes of the other files that were read, by the names they were read under: of the box, and of constants."""

    @property
    def holds(self) -> bool:
        """Whether every tensor has bounds and every decision is the same in every implementation."""
        split = self.split is None or bool(self.split["finished"])
        return not any(each.unbounded for each in self.tensors) and all(each.same for each in self.decisions) and split

    def exit_code(self, *, every_node: bool = False) -> int:
        """0 if every listed tensor has bounds and everything asked is shown, else 3."""
        if self.max_error is not None and any(each.largest_error > self.max_error for each in self.outputs[:1]):
            return 3
        return 0 if replace(self, tensors=tuple(self.listed(every_node))).holds else 3

    def __getitem__(self, name: str) -> Tensor:
        """The tensor of a name."""
        return next(each for each in self.tensors if each.name == name)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors of the graph outputs."""
        return tuple(each for each in self.tensors if each.is_output)

    def listed(self, every_node: bool) -> Iterator[Tensor]:
        """The outputs, or every tensor."""
        return iter(self.tensors if every_node else self.outputs)

    def arrays(self) -> dict[str, Array]:
        """All bounds by name, for an .npz file: NAME.low, NAME.high, NAME.introduced, NAME.error."""
        return {
            f"{each.name}.{part}": np.ascontiguousarray(getattr(each, part))
            for each in self.tensors if not each.unbounded
            for part in ("low", "high", "introduced", "error")
        }  # fmt: skip

    def write_arrays(self, path: Path) -> None:
        """Write all bounds to an .npz file."""
        with path.open("wb") as file:
            np.savez(file, allow_pickle=False, **self.arrays())
