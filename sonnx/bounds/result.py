"""The bounds of a model as data: for each tensor its ranges and errors, the conditions, the decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sonnx.base.escaping import escape
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.enclosures.values import DECISION, Condition
from sonnx.numerics.formats import Array

MAX_ELEMENTS = 64
"""Elements of a tensor that a JSON report lists one by one."""


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
    box: Mapping[str, tuple[Array, Array]]
    shares: tuple[tuple[str, float], ...]
    """The share of each node in the error of the worst output element, largest first."""
    split: Mapping[str, Any] | None = None
    """What a bisection of the box showed, None where there was none."""
    max_error: float | None = None
    """What the error of the first output must not exceed."""
    coarse: tuple[str, ...] = ()
    """The values that keep their forward errors, because the adjoint pass would follow too many numbers."""

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

    def to_json(self, *, every_node: bool = True) -> str:
        """The bounds as JSON; the schema is bounds.schema.json."""
        data = {
            "model": self.model,
            "edition": self.edition if self.checked else None,
            "hypotheses": self.hypotheses.as_json(),
            "box": {name: _box_json(*ends) for name, ends in self.box.items()},
            "tensors": [_tensor_json(each) for each in self.listed(every_node)],
            "conditions": [
                {"node": each.node, "condition": each.name, "holds": each.holds, "detail": each.detail}
                for each in self.conditions
            ],
            "decisions": [_decision_json(each) for each in self.decisions],
            "shares": [{"node": node, "share": share} for node, share in self.shares],
            "coarse": list(self.coarse),
            "split": self.split,
            "holds": self.holds,
        }  # fmt: skip
        return json.dumps(data, indent=2, allow_nan=False) + "\n"

    def to_text(self, *, every_node: bool = False) -> str:
        """The bounds as a table."""
        return "\n".join(_lines(self, every_node)) + "\n"


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _box_json(low: Array, high: Array) -> dict[str, Any]:
    empty = not low.size
    return {
        "shape": list(low.shape),
        "low": None if empty else float(low.min()),
        "high": None if empty else float(high.max()),
        "point": bool((low == high).all()),
    }


def _decision_json(made: Decision) -> dict[str, Any]:
    ends = {"low": _number(made.low), "high": _number(made.high), "error": _number(made.error)}
    return {"what": made.what, **ends, "same": made.same}


def _tensor_json(tensor: Tensor) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": tensor.name,
        "node": tensor.node,
        "element": tensor.element,
        "shape": list(tensor.low.shape),
        "output": tensor.is_output,
        "unbounded": tensor.unbounded,
    }
    if tensor.unbounded or not tensor.low.size:
        return made
    made |= {
        "low": float(tensor.low.min()),
        "high": float(tensor.high.max()),
        "introduced": float(tensor.introduced.max()),
        "propagated": float(tensor.propagated.max()),
        "error": tensor.largest_error,
    }
    if tensor.low.size <= MAX_ELEMENTS:
        made["elements"] = [
            {"low": float(low), "high": float(high), "introduced": float(own), "error": float(error)}
            for low, high, own, error in zip(
                *(each.reshape(-1) for each in (tensor.low, tensor.high, tensor.introduced, tensor.error)), strict=True
            )
        ]
    return made


def _lines(bounds: Bounds, every_node: bool) -> Iterator[str]:
    yield f"{escape(bounds.model)}: bounds under the hypotheses {escape(bounds.hypotheses.name)}"
    yield f"  {escape(bounds.hypotheses.statement)}"
    for each in bounds.hypotheses.excludes:
        yield f"  excluded: {escape(each)}"
    yield ""
    rows: list[tuple[str, ...]] = [("value", "elements", "low", "high", "introduced", "error")]
    for tensor in bounds.listed(every_node):
        size = str(tensor.low.size)
        if tensor.unbounded:
            rows.append((escape(tensor.name), "", "not bounded", "", "", ""))
        elif tensor.low.size:
            numbers = tensor.low.min(), tensor.high.max(), tensor.introduced.max(), tensor.error.max()
            rows.append((escape(tensor.name), size, *(f"{each:.6g}" for each in numbers)))
        else:
            rows.append((escape(tensor.name), "0", "", "", "", ""))
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    for row in rows:
        yield (
            "  "
            + row[0].ljust(widths[0])
            + "".join(f"  {cell.rjust(width)}" for cell, width in zip(row[1:], widths[1:], strict=True))
        ).rstrip()
    for tensor in bounds.tensors:
        if tensor.unbounded:
            yield ""
            yield f"not bounded: {tensor.unbounded}"
            break
    if bounds.decisions:
        yield ""
    for decision in bounds.decisions:
        verdict = "the same in every implementation within the hypotheses" if decision.same else "not shown"
        span = f"in [{decision.low:.6g}, {decision.high:.6g}], error at most {decision.error:.3g}"
        yield f"  {decision.what}: {span}: {verdict}"
    if bounds.shares:
        yield ""
        yield "share of the nodes in the error of the worst output element:"
        for node, share in bounds.shares[:5]:
            yield f"  {share:6.1%}  {node}"
    if bounds.coarse:
        yield ""
        listed = ", ".join(map(escape, bounds.coarse[:3])) + (", …" if len(bounds.coarse) > 3 else "")
        yield f"coarse: {len(bounds.coarse)} values have forward errors only, the network is too large: {listed}"
    if bounds.split is not None:
        yield ""
        yield f"bisection: {bounds.split['text']}"
    open_ones = [each for each in bounds.conditions if not each.holds]
    yield ""
    yield f"conditions: {len(bounds.conditions)}, of which {len(bounds.conditions) - len(open_ones)} hold"
    for condition in open_ones:
        yield f"  not shown: {condition.name} at {condition.node}: {condition.detail}"
    for condition in bounds.conditions:
        if condition.name == DECISION:
            yield f"  counted: {condition.name} at {condition.node}: {condition.detail}"
