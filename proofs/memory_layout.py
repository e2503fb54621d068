"""Row-major offsets, for any rank: offset and size grow axis by axis,

    offset' = offset * d + i,    size' = size * d,    starting from 0 and 1,

so each claim is a base and one step.  Products are related by the lemma `keeps_order` (theorem values.products) at the
places that occur, so that every solver decides each question at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.prover.symbolic_execution import Term
from sonnx.prover.terms import keeps_order
from sonnx.prover.theorem import Counterexample, Mutant, Obligation, ReplayFailed, Theorem, mutated

LARGEST = 2**63 - 1
"""The largest 64-bit integer."""
Next = Callable[[Any, Any, Any], Any]


def next_offset(offset: Term, d: Term, i: Term) -> Term:
    """The offset with one more axis, of extent d, at index i."""
    return offset * d + i


def next_size(size: Term, d: Term) -> Term:
    """The number of elements with one more axis."""
    return size * d


def is_bounded(step: Next = next_offset) -> Iterator[Obligation]:
    offset, size, d, i = z3.Ints("offset size d i")
    yield Obligation("base", (), z3.And(z3.IntVal(0) >= 0, z3.IntVal(0) < z3.IntVal(1)))
    inside = (offset >= 0, offset < size, i >= 0, i < d)
    lemma = (keeps_order(size, offset + 1, d), keeps_order(offset, z3.IntVal(0), d))
    after = step(offset, d, i)
    yield Obligation("step", (*inside, *lemma), z3.And(after >= 0, after < next_size(size, d)))
    yield Obligation("size step", (size >= 1, d >= 1, keeps_order(size, z3.IntVal(1), d)), next_size(size, d) >= 1)


def is_injective(step: Next = next_offset) -> Iterator[Obligation]:
    """Different indices have different offsets, ordered as the indices from the first axis on."""
    a, b, d, i, j = z3.Ints("a b d i j")
    inside = (a >= 0, b >= 0, i >= 0, i < d, j >= 0, j < d)
    lemma = (keeps_order(a, b + 1, d), keeps_order(b, a + 1, d))
    one, other = step(a, d, i), step(b, d, j)
    yield Obligation("step: injective", (*inside, *lemma, one == other), z3.And(a == b, i == j))
    before = z3.Or(a < b, z3.And(a == b, i < j))
    yield Obligation("step: ordered", (*inside, *lemma), (one < other) == before)


def is_onto(step: Next = next_offset) -> Iterator[Obligation]:
    """Each offset below the size has an index: quotient and remainder, which Euclid's division gives."""
    offset, size, d, quotient, remainder = z3.Ints("offset size d quotient remainder")
    without_divisions = (d >= 1, remainder >= 0, remainder < d, offset == quotient * d + remainder)
    inside = (offset >= 0, offset < next_size(size, d))
    lemma = (keeps_order(z3.IntVal(-1), quotient, d), keeps_order(quotient, size, d))
    yield Obligation(
        "step: quotient in range", (*without_divisions, *inside, *lemma), z3.And(quotient >= 0, quotient < size)
    )
    yield Obligation("step: same offset", without_divisions, step(quotient, d, remainder) == offset)


def never_overflows(least: int = 1) -> Iterator[Obligation]:
    """If the size is within a bound and no extent is 0, so is each intermediate product and sum."""
    offset, size, d, i, rest, after, bound = z3.Ints("offset size d i rest after bound")
    known = (after >= least, rest >= least, rest * after <= bound)
    yield Obligation("partial sizes", (*known, keeps_order(rest, z3.IntVal(1), after)), after <= bound)
    inside = (offset >= 0, offset < size, i >= 0, i < d, next_size(size, d) <= bound)
    lemma = (keeps_order(size, offset + 1, d), keeps_order(offset, z3.IntVal(0), d))
    goal = z3.And(offset * d <= bound, next_offset(offset, d, i) <= bound)
    yield Obligation("offsets", (*inside, *lemma), goal)


def never_overflows_with_zero() -> Iterator[Obligation]:
    size, rest = z3.Ints("size rest")
    yield Obligation("partial sizes", (size >= 1, rest >= 0, size * rest <= LARGEST), size <= LARGEST)


def show_overflow(found: Counterexample) -> str:
    """An intermediate product that is not a 64-bit integer, although the size is 0."""
    size, rest = found["size"], found["rest"]
    if size <= LARGEST or size * rest > LARGEST:
        raise ReplayFailed(f"{size} elements, then {rest}")
    return f"{size} elements before an axis of extent {rest}: the size is {size * rest}, the product before too large"


def is_sum_of_strides(factor: int = 1) -> Iterator[Obligation]:
    """The offset is the sum of index times stride: one more axis multiplies each stride by its extent."""
    total, i, stride, d, j = z3.Ints("total i stride d j")
    grown = stride * d * factor
    yield Obligation("step: earlier terms", (), (total + i * stride) * d == total * d + i * grown)
    yield Obligation("step: the new term", (), next_offset(total, d, j) == total * d + j * 1)


def carries(carry: int = 1) -> Iterator[Obligation]:
    """Counting up: the last index that is not at its end grows, and all after it restart at 0."""
    offset, d, i = z3.Ints("offset d i")
    counted = next_offset(offset, d, i) + 1
    yield Obligation("without carry", (i >= 0, i + 1 < d), counted == next_offset(offset, d, i + 1))
    yield Obligation("with carry", (i + 1 == d,), counted == next_offset(offset + carry, d, z3.IntVal(0)))


NO_EXTENT = mutated(next_offset, "offset * d", "offset")
ONE_MORE = mutated(next_offset, "+ i", "+ i + 1")
REVERSED = mutated(next_offset, "+ i", "- i")
STATED: list[tuple[str, str, str, Any, dict[str, Any]]] = [
    ("offset-bounded", "The offset of an index lies in the buffer, and the size is at least 1 where no extent is 0.",
     "0 ≤ offset(i) < size", is_bounded, {"one more": ONE_MORE, "backwards": REVERSED}),
    ("offset-injective", "Different indices have different offsets, ordered as the indices from the first axis on.",
     "offset(i) = offset(j) ⇔ i = j,  offset(i) < offset(j) ⇔ i < j", is_injective,
     {"extent forgotten": NO_EXTENT, "backwards": REVERSED}),
    ("offset-onto", "Every place of the buffer is the offset of an index.", "∀o < size. ∃i. offset(i) = o", is_onto,
     {"one more": ONE_MORE}),
    ("no-overflow", "No product or sum on the way exceeds a bound that the size does not; no extent is 0.",
     "size ≤ 2^63 - 1, or any bound ⇒ every term is", never_overflows, {"with 0": 0}),
    ("strides", "The offset is the sum of each index times its stride.", "offset(i) = Σ i_k · stride_k",
     is_sum_of_strides, {"strides doubled": 2}),
    ("carry", "Counting indices up, with a carry, counts offsets up.", "offset(next(i)) = offset(i) + 1", carries,
     {"no carry": 0}),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """Where an element stands."""
    about = (next_offset, next_size, keeps_order)
    for name, statement, formula, claim, changes in STATED:
        changed = tuple(Mutant(title, partial(claim, change)) for title, change in changes.items())
        yield Theorem(f"layout.{name}", statement, formula, claim, about, mutants=changed)
    yield Theorem(
        "layout.no-overflow-with-zero", "No product on the way exceeds 64 bits where the size does not, also with a 0.",
        "size ≤ 2^63 - 1 ⇒ every partial size ≤ 2^63 - 1", never_overflows_with_zero, about, "refuted",
        replay=show_overflow, erratum="empty-tensors", because="(2^40, 2^40, 0) passes 2^80 on the way to 0.",
    )  # fmt: skip
