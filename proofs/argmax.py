"""ArgMax: the scan finds the first or last index of a largest element, for any number of elements.

`place(j)` is the place of element j in the order (its key), an arbitrary function; the step is the one that runs,
`numerics/order.replaces`.  Claims about all indices are about one arbitrary index `e`, so that no quantifier is needed:
base and step are separate obligations, and the step uses the claim for the same `e`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import z3

from sonnx.numerics import order
from sonnx.proofs.float_order import Definitions, greater, in_both_forms, same
from sonnx.proofs.maximum import largest
from sonnx.prover.float_patterns import SymbolicFormat
from sonnx.prover.symbolic_execution import Term, execute
from sonnx.prover.theorem import Claim, Counterexample, Mutant, Obligation, ReplayFailed, Theorem, mutated

CONCERNS = ("ArgMax", "ReduceMax")

PLACE = z3.Function("place", z3.IntSort(), z3.IntSort())
LAST = z3.Int("last")
FLAG = z3.Or(LAST == 0, LAST == 1)
Step = Callable[[int, int, int], bool]


def selected(i: Term, e: Term, n: Term) -> z3.BoolRef:
    """Index i is selected of n elements: e is not above it, and not equal on the side that is not selected."""
    inside = z3.And(e >= 0, e < n)
    side = z3.If(LAST == 1, e > i, e < i)
    equal = z3.Implies(side, PLACE(e) < PLACE(i))
    return z3.And(i >= 0, i < n, z3.Implies(inside, z3.And(PLACE(e) <= PLACE(i), equal)))


def scans(step: Step = order.replaces) -> Iterator[Obligation]:
    """Existence: the index that the scan has after n elements is selected among them."""
    i, e, n = z3.Ints("i e n")
    execution = execute(step, PLACE(i), PLACE(n), LAST)
    yield from execution.obligations(FLAG)
    yield Obligation("base", (FLAG,), selected(z3.IntVal(0), e, z3.IntVal(1)))
    hypotheses = (FLAG, n >= 1, selected(i, e, n), selected(i, i, n))
    yield Obligation("step", hypotheses, selected(z3.If(execution.value, n, i), e, n + 1))


def is_unique(choose: Callable[..., z3.BoolRef] = selected) -> Iterator[Obligation]:
    """Two selected indices are one."""
    i, j, n = z3.Ints("i j n")
    yield Obligation("unique", (FLAG, choose(i, j, n), choose(j, i, n)), i == j)


def halves_merge(step: Step = order.replaces) -> Iterator[Obligation]:
    """The index of the whole from those of two neighbouring parts; j counts from the start of the second."""
    i, j, e, n, m = z3.Ints("i j e n m")
    execution = execute(step, PLACE(i), PLACE(j), LAST)
    inside = z3.And(e >= n, e < m)
    side = z3.If(LAST == 1, e > j, e < j)
    claim = z3.And(PLACE(e) <= PLACE(j), z3.Implies(side, PLACE(e) < PLACE(j)))
    second = z3.And(j >= n, j < m, z3.Implies(inside, claim))
    hypotheses = (FLAG, n >= 1, selected(i, e, n), second)
    yield Obligation("merge", hypotheses, selected(z3.If(execution.value, j, i), e, m))


def differs_by_ties(step: Step = order.replaces) -> Iterator[Obligation]:
    """Without ties the first and the last index are one; with them the first is before the last."""
    i, j, n = z3.Ints("i j n")
    first, last = (selected_as(flag, one, other, n) for flag, one, other in ((0, i, j), (1, j, i)))
    yield Obligation("first before last", (first, last), z3.And(i <= j, PLACE(i) == PLACE(j)))
    execution = execute(step, PLACE(i), PLACE(j), LAST)
    tie = (FLAG, PLACE(i) == PLACE(j))
    yield Obligation("a tie is replaced only for the last", tie, execution.value == (LAST == 1))


def selected_as(flag: int, i: Term, e: Term, n: Term) -> z3.BoolRef:
    """`selected` for one value of select_last_index."""
    return z3.substitute(selected(i, e, n), (LAST, z3.IntVal(flag)))


def element_is_maximum(
    f: SymbolicFormat, d: Definitions, *, place: Callable[..., Any] = order.key
) -> Iterator[Obligation]:
    """The scan and the fold of Max have the same value after every element."""
    best, top, x = f.patterns("best top x")
    last = z3.BitVec("last", f.width + 2) if f.width else LAST
    before, here = f.value(place, best), f.value(place, x)
    taken = execute(d.replaces, before, here, last).value
    known = (*f.hypotheses, z3.Or(last == 0, last == 1), same(best, top, f))
    yield Obligation("step", known, same(z3.If(taken, x, best), largest(f, d, top, x), f))
    exact = (*f.hypotheses, last == 0, best == top)
    yield Obligation("step of the first, bit for bit", exact, z3.If(taken, x, best) == largest(f, d, top, x))


def element_bounds(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    """If no key is above that of an element, no value is above it: it is a maximum of the slice."""
    best, x = f.patterns("best x")
    not_above = f.value(d.key, x) <= f.value(d.key, best)
    yield Obligation("bound", f.hypotheses, not_above == z3.Not(greater(x, best, f)))


def usual_element(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    """With equal zeros, for two elements: the element at the first index is the maximum by Max."""
    x, y = f.patterns("x y")
    taken = execute(d.replaces, f.value(d.equal_zeros_key, x), f.value(d.equal_zeros_key, y), 0).value
    yield Obligation("element", f.hypotheses, same(z3.If(taken, y, x), largest(f, d, x, y), f))


def usual_element_but_zeros(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    """With equal zeros the element is the maximum, or both are zeros; for any number of elements."""
    best, top, x = f.patterns("best top x")
    taken = execute(d.replaces, f.value(d.equal_zeros_key, best), f.value(d.equal_zeros_key, x), 0).value
    kept, most = z3.If(taken, x, best), largest(f, d, top, x)
    alike = f.value(d.equal_zeros_key, best) == f.value(d.equal_zeros_key, top)
    goal = f.value(d.equal_zeros_key, kept) == f.value(d.equal_zeros_key, most)
    yield Obligation("step", (*f.hypotheses, alike), goal)


def show_zeros(found: Counterexample) -> str:
    """The element at ArgMax and the maximum of the slice, by the functions that run."""
    sign, infinity = found.get("sign", 1 << 15), found.get("infinity", 31 << 10)
    x, y = found["x"], found["y"]
    places = [order.equal_zeros_key(side, sign, infinity) for side in (x, y)]
    index = int(order.replaces(places[0], places[1], 0))
    most = order.maximum(x, y, sign, infinity)
    if (x, y)[index] == most:
        raise ReplayFailed(f"the element at {index} is the maximum {most}")
    return f"X = [{x}, {y}] (patterns): ArgMax gives {index}, the element there is {(x, y)[index]}, the maximum {most}"


ALWAYS = mutated(order.replaces, "last == 1 and ", "")
NEVER_LAST = mutated(order.replaces, " or (last == 1 and candidate == best)", "")
LEAST = mutated(order.replaces, "candidate > best", "candidate < best")
NOT_STRICT = mutated(selected, "PLACE(e) < PLACE(i)", "PLACE(e) <= PLACE(i)")
LOWER = Definitions(replaces=LEAST)
TIES = Definitions(replaces=ALWAYS)
SIGN_LOST = Definitions(key=mutated(order.key, "return -1 - magnitude", "return -1"))
SOURCES = (order.replaces,)


def _steps(claim: Callable[..., Any], mutants: Mapping[str, object]) -> tuple[Mutant, ...]:
    return tuple(Mutant(name, partial(claim, changed)) for name, changed in mutants.items())


STATED: list[tuple[str, str, str, Claim, dict[str, Step]]] = [
    ("scan", "The scan ends at a largest element, the first or the last of its equals, for any number of elements.",
     "∀e. S(e) ≤ S(i) ∧ (e < i ⇒ S(e) < S(i))", scans,
     {"a tie always replaces": ALWAYS, "a tie never replaces": NEVER_LAST, "the smaller replaces": LEAST}),
    ("unique", "There is one such index.", "selected(i) ∧ selected(j) ⇒ i = j", is_unique,
     {"ties on both sides": NOT_STRICT}),
    ("merge", "The indices of two neighbouring parts give that of the whole by the same step: any tree will do.",
     "argmax(A + B) = j if replaces(S(i), S(j)) else i", halves_merge,
     {"a tie always replaces": ALWAYS, "a tie never replaces": NEVER_LAST}),
    ("first-and-last", "The first index is not after the last, and they differ only by a tie.",
     "first ≤ last ∧ S(first) = S(last)", differs_by_ties, {"a tie always replaces": ALWAYS}),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """ArgMax, and its relation to the maximum in both orders of zeros."""
    for name, statement, formula, claim, mutants in STATED:
        yield Theorem(f"argmax.{name}", statement, formula, claim, sources=(*SOURCES, selected),
                      mutants=_steps(claim, mutants), concerns=CONCERNS)  # fmt: skip
    both = (order.replaces, order.key, order.equal_zeros_key, order.maximum)
    yield from in_both_forms(
        "argmax.element-is-maximum",
        "In the order of Max the element at ArgMax is the maximum of the slice; the first index, bit for bit.",
        "X[ArgMax(X)] = ReduceMax(X)", element_is_maximum,
        {"the smaller replaces": LOWER, "a tie always replaces": TIES}, sources=both, concerns=CONCERNS,
    )  # fmt: skip
    yield from in_both_forms(
        "argmax.bound", "The scan compares keys; no key above means no value above.", "key(x) ≤ key(y) ⇔ ¬(x > y)",
        element_bounds, {"negative numbers equal": SIGN_LOST}, sources=both, concerns=CONCERNS,
    )  # fmt: skip
    yield from in_both_forms(
        "argmax.usual-element",
        "With equal zeros the element at ArgMax is the maximum of the slice.",
        "X[ArgMax(X)] = ReduceMax(X), +0 = -0",
        usual_element,
        {},
        sources=both,
        expected="refuted",
        replay=show_zeros,
        because="ArgMax takes the first of two equal zeros, Max the positive one.",
        erratum="argmax-order-of-zeros",
        concerns=CONCERNS,
    )
    yield from in_both_forms(
        "argmax.usual-element-but-zeros", "With equal zeros the element at ArgMax is the maximum, or both are zeros.",
        "X[ArgMax(X)] = ReduceMax(X) ∨ both are ±0", usual_element_but_zeros, {"the smaller replaces": LOWER},
        sources=both, concerns=CONCERNS,
    )  # fmt: skip
