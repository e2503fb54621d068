"""Axes of a reduction: the normalised axis, and the shape with and without the reduced axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.language import builtins
from sonnx.proofs.memory_layout import next_offset, next_size
from sonnx.prover.symbolic_execution import Term, execute
from sonnx.prover.theorem import Mutant, Obligation, Theorem, mutated

CONCERNS = ("ArgMax", "ReduceMax")

Normal = Callable[[int, int], int]
EXTENT = z3.Function("dX", z3.IntSort(), z3.IntSort())


def is_normal(normal: Normal = builtins.normal) -> Iterator[Obligation]:
    a, b, r = z3.Ints("a b r")
    one, other = execute(normal, a, r), execute(normal, b, r)
    yield from one.obligations()
    yield Obligation("defined on [-r, r - 1]", (r >= 0,), one.defined == z3.And(-r <= a, a < r))
    yield Obligation("in [0, r - 1]", (r >= 0, one.defined), z3.And(one.value >= 0, one.value < r))
    again = execute(normal, one.value, r)
    yield Obligation("idempotent", (r >= 0, one.defined), z3.And(again.defined, again.value == one.value))
    alias = z3.Or(a == b, a == b + r, b == a + r)
    yield Obligation("aliases", (r >= 0, one.defined, other.defined), (one.value == other.value) == alias)


def place(i: int, axis: int) -> int:
    """The axis of the result without the reduced axis that is axis i of X."""
    if i > axis:
        return i - 1
    return i


def source(j: int, axis: int) -> int:
    """The axis of X that is axis j of the result without the reduced axis."""
    if j >= axis:
        return j + 1
    return j


def kept_axes(to: Callable[[int, int], int] = place) -> Iterator[Obligation]:
    """A bijection of the axes that are kept onto those of the result, in order."""
    i, j, axis, r = z3.Ints("i j axis r")
    inside = (axis >= 0, axis < r, i >= 0, i < r, i != axis)
    at, back = execute(to, i, axis).value, execute(source, j, axis).value
    yield Obligation("in range", inside, z3.And(at >= 0, at < r - 1))
    yield Obligation("back", inside, execute(source, at, axis).value == i)
    target = (axis >= 0, axis < r, j >= 0, j < r - 1)
    yield Obligation("onto", target, z3.And(back >= 0, back < r, back != axis, execute(to, back, axis).value == j))
    other = (*inside, j >= 0, j < r, j != axis)
    yield Obligation("in order", other, (i < j) == (at < execute(to, j, axis).value))


def kept(i: Term, axis: Term) -> Term:
    """The extent of axis i of the result with keepdims = 1."""
    return z3.If(i == axis, 1, EXTENT(i))


def is_shape_without_axis(to: Callable[[int, int], int] = source) -> Iterator[Obligation]:
    """Keepdims = 0 is the shape of keepdims = 1 without the reduced axis."""
    j, axis, r = z3.Ints("j axis r")
    inside = (axis >= 0, axis < r, j >= 0, j < r - 1)
    at = execute(to, j, axis).value
    yield Obligation("extents", inside, z3.And(kept(at, axis) == EXTENT(at), at != axis))


def is_same_buffer(extent: int = 1) -> Iterator[Obligation]:
    """The reduced axis, of extent 1 and index 0, changes neither offset nor size; the others are the same steps."""
    offset, size = z3.Ints("offset size")
    one, zero = z3.IntVal(extent), z3.IntVal(0)
    yield Obligation("offset", (), next_offset(offset, one, zero) == offset)
    yield Obligation("size", (), next_size(size, one) == size)


def one_after_another(back: int = 1) -> Iterator[Obligation]:
    """Reducing axis b, then a < b, removes the axes that reducing both at once removes, in either order."""
    i, a, b, r = z3.Ints("i a b r")
    inside = (a >= 0, a < b, b < r, i >= 0, i < r, i != a, i != b)
    last_first = execute(place, execute(place, i, b).value, a).value
    first_first = execute(place, execute(place, i, a).value, b - back).value
    yield Obligation("same axis", inside, last_first == first_first)
    yield Obligation("both removed", inside, last_first == i - z3.If(i > a, 1, 0) - z3.If(i > b, 1, 0))


STATED: list[tuple[str, str, str, Any, dict[str, Any], tuple[Any, ...]]] = [
    ("axis-normalised", "A normalised axis lies in [0, r - 1] and stays; two axes are one where they differ by r.",
     "normal(a, r) ∈ [0, r - 1],  normal(a) = normal(b) ⇔ a = b ∨ |a - b| = r", is_normal,
     {"rank itself allowed": mutated(builtins.normal, "0 <= axis < rank", "0 <= axis <= rank"),
      "not shifted": mutated(builtins.normal, "return axis + rank", "return axis"),
      "one axis less": mutated(builtins.normal, "-rank <= axis", "-rank < axis")}, (builtins.normal,)),
    ("kept-axes", "The axes that are kept are those of the result, in their order.", "i ↦ i - (1 if i > axis else 0)",
     kept_axes, {"the axis itself moves": mutated(place, "return i - 1", "return i")}, (place, source)),
    ("keepdims-same-shape", "The shape without the reduced axis is the shape with it, less its extent of 1.",
     "keepdims = 0: dY = keepdims = 1: dY without axis", is_shape_without_axis,
     {"not moved": mutated(source, "return j + 1", "return j")}, (kept, source)),
    ("keepdims-same-elements", "keepdims 0 and 1 describe one buffer: the same elements in the same places.",
     "offset(…, 0, …) with extent 1 = offset without it", is_same_buffer, {"extent 2": 2}, (next_offset, next_size)),
    ("one-after-another", "Reducing several axes removes the axes that reducing one after another removes.",
     "i ↦ i - #{a ∈ axes : a < i}", one_after_another, {"not counted anew": 0}, (place,)),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """Axes and shapes of ArgMax and ReduceMax."""
    for name, statement, formula, claim, changes, about in STATED:
        changed = tuple(Mutant(title, partial(claim, change)) for title, change in changes.items())
        yield Theorem(f"reduction.{name}", statement, formula, claim, about, mutants=changed, concerns=CONCERNS)
