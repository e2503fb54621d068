"""The index of an element of a broadcast tensor in its input: f(i, B, C) = i where B = C, else 0 (B = 1).

B is the extent of the input on an axis, C the common one; SONNX Max, first edition, line 49, counted from 0.  The
kernels use a stride of 0 where B = 1; numpy does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.language import builtins
from sonnx.prover.symbolic_execution import Term, execute
from sonnx.prover.theorem import Counterexample, Mutant, Obligation, ReplayFailed, Theorem, mutated

Map = Callable[[int, int, int], int]


def f(i: int, b: int, c: int) -> int:
    """The index in an input of extent b, of index i of the common extent c."""
    if b == c:
        return i
    return 0


def from_one(i: int, b: int, c: int) -> int:
    """The same counted from 1, as the first edition does."""
    if b == c:
        return i
    return 1


def mapped(function: Map, i: Term, b: Term, c: Term) -> Term:
    """The map on terms."""
    return execute(function, i, b, c).value


def stretches(b: Term, c: Term) -> z3.BoolRef:
    """An input extent under the formula of the texts: 1 or the common one."""
    return z3.And(b >= 0, c >= 0, z3.Or(b == c, b == 1))


def in_range(function: Map = f) -> Iterator[Obligation]:
    i, b, c = z3.Ints("i B C")
    inside = (stretches(b, c), i >= 0, i < c)
    yield from execute(function, i, b, c).obligations()
    at = mapped(function, i, b, c)
    yield Obligation("in range", inside, z3.And(at >= 0, at < b))


def composes(function: Map = f) -> Iterator[Obligation]:
    """Two steps equal one; so the map is idempotent."""
    i, a, b, c = z3.Ints("i A B C")
    inside = (stretches(a, b), stretches(b, c), i >= 0, i < c)
    through = mapped(function, mapped(function, i, b, c), a, b)
    yield Obligation("composes", inside, through == mapped(function, i, a, c))
    twice = mapped(function, mapped(function, i, b, c), b, c)
    yield Obligation("idempotent", (*inside[1:],), twice == mapped(function, i, b, c))


def is_onto(function: Map = f) -> Iterator[Obligation]:
    """Each element of an input is used, where the common extent is at least 1; once where nothing is stretched."""
    i, j, e, b, c = z3.Ints("i j e B C")
    witness = z3.If(b == c, e, 0)
    used = z3.And(witness >= 0, witness < c, mapped(function, witness, b, c) == e)
    yield Obligation("onto", (stretches(b, c), c >= 1, e >= 0, e < b), used)
    twice = (stretches(b, c), b == c, mapped(function, i, b, c) == mapped(function, j, b, c))
    yield Obligation("once", twice, i == j)


def is_onto_with_zero() -> Iterator[Obligation]:
    """Where an extent of 1 is broadcast to 0, as NumPy and ONNX do, the element of the input is not used."""
    e, b, c = z3.Ints("e B C")
    yield Obligation("some index", (stretches(b, c), e >= 0, e < b), c >= 1)


def show_unused(found: Counterexample) -> str:
    """NumPy and ONNX broadcast the extent to 0."""
    if builtins.join(found["B"], found["C"]) != 0:
        raise ReplayFailed("the common extent is not 0")
    return f"extent {found['B']} is brought to {found['C']}: element {found['e']} of the input is used by no index"


def equals_numpy(function: Map = f) -> Iterator[Obligation]:
    """numpy: a stride of 0 where the extent is 1; so f(i) s = i s' for the offset."""
    i, b, c, stride = z3.Ints("i B C stride")
    inside = (stretches(b, c), i >= 0, i < c)
    at = mapped(function, i, b, c)
    yield Obligation("index", inside, at == z3.If(b == 1, 0, i))
    yield Obligation("remainder", (*inside, b >= 1), at == z3.If(b == 1, 0, z3.If(i < b, i, -1)))
    numpy = z3.If(b == 1, 0, stride)
    yield Obligation("offset, not stretched", (*inside, b != 1), at * stride == i * numpy)
    yield Obligation("offset, stretched", (*inside, b == 1), z3.And(at * stride == 0, i * numpy == 0))


def shifts(function: Map = f) -> Iterator[Obligation]:
    """Counted from 1, the map gives the same element."""
    a, b, c = z3.Ints("a B C")
    inside = (stretches(b, c), a >= 1, a <= c)
    yield Obligation("from 1", inside, mapped(from_one, a, b, c) - 1 == mapped(function, a - 1, b, c))


def closed_range() -> Iterator[Obligation]:
    """The definitions close the range of an index at the extent: 0 ≤ i_k ≤ dT_k."""
    i, d = z3.Ints("i d")
    yield Obligation("has an element", (d >= 1, i >= 0, i <= d), i < d)


def show_closed(found: Counterexample) -> str:
    """An index of the printed range without an element."""
    i, d = found["i"], found["d"]
    if i in range(d):
        raise ReplayFailed(f"{i} is an index of {d} elements")
    return f"an axis of extent {d} has no element {i}, which lies in [0, {d}]"


IDENTITY = mutated(f, "return 0", "return i")
LAST = mutated(f, "return 0", "return b")
SWAPPED = mutated(f, "b == c", "b != c")
STATED: list[tuple[str, str, str, Any, dict[str, Map]]] = [
    ("index-in-range", "The index in the input exists.", "0 ≤ i < C ⇒ 0 ≤ f(i, B, C) < B", in_range,
     {"never 0": IDENTITY, "past the last": LAST}),
    ("index-composes", "Broadcasting in two steps names the elements broadcasting in one names.",
     "f(f(i, B, C), A, B) = f(i, A, C)", composes, {"sides exchanged": SWAPPED}),
    ("index-onto", "Every element of an input is used where the common extent is at least 1.",
     "C ≥ 1 ⇒ ∀e < B. ∃i < C. f(i, B, C) = e", is_onto, {"sides exchanged": SWAPPED, "past the last": LAST}),
    ("index-equals-numpy", "The index is that of numpy, which steps by 0 along an extent of 1.",
     "f(i, B, C) = 0 if B = 1 else i", equals_numpy, {"never 0": IDENTITY}),
    ("index-from-zero", "The map counted from 1, as the first edition counts, names the same element.",
     "f1(a, B, C) - 1 = f(a - 1, B, C)", shifts, {"never 0": IDENTITY, "past the last": LAST}),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """The map of indices."""
    text = "SONNX Max, first edition, line 49"
    for name, statement, formula, claim, changes in STATED:
        changed = tuple(Mutant(title, partial(claim, change)) for title, change in changes.items())
        yield Theorem(f"broadcast.{name}", statement, formula, claim, (text, f), mutants=changed)
    yield Theorem(
        "broadcast.index-onto-with-zero", "Every element of an input is used, also where 1 is brought to 0.",
        "∀e < B. ∃i < C. f(i, B, C) = e", is_onto_with_zero, (text, f), "refuted", replay=show_unused,
        erratum="zero-against-one", because="A common extent of 0 has no index.",
    )  # fmt: skip
    yield Theorem(
        "layout.index-range-closed", "Each index of the range that is printed has an element.",
        "0 ≤ i_k ≤ dT_k ⇒ i_k < dT_k", closed_range, ("definitions.md, tensor index",), "refuted", replay=show_closed,
        erratum="index-range-closed", because="The range is closed at the extent: one index too many.",
    )  # fmt: skip
