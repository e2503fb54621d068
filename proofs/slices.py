"""The number of elements Slice takes along an axis, and the statements of the texts of Slice and Shape about it.

The theorems are about the functions that run, `sliced`, `steps_over`, `clamped` and `from_first`, for any extent,
start, end and step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import z3

from sonnx.language import builtins
from sonnx.prover.symbolic_execution import Term, execute
from sonnx.prover.terms import keeps_order, undivided
from sonnx.prover.theorem import Counterexample, Mutant, Obligation, ReplayFailed, Theorem, mutated

Obligations = Iterator[Obligation]
EXTENT, START, END, STEP = z3.Ints("extent start end step")
FORWARD, BACKWARD = (EXTENT >= 0, STEP >= 1), (EXTENT >= 0, STEP <= -1)


OVER = z3.Function("over", z3.IntSort(), z3.IntSort(), z3.IntSort())
"""Replaces `steps_over` in questions that need only the theorem slice.steps about it."""


def counted(sliced: Callable[..., Any], *known: z3.BoolRef) -> Term:
    """The code of `sliced`, with an uninterpreted function in place of `steps_over`."""
    names = {**sliced.__globals__, "steps_over": lambda d, step: step.wrapped(OVER(step.operand(d), step.term))}
    return execute(FunctionType(sliced.__code__, names), EXTENT, START, END, STEP, assuming=known).value


def place(index: Term, first: Term, last: Term) -> Term:
    """An index clamped to an axis, as in the built-in functions."""
    return execute(builtins.clamped, execute(builtins.from_first, index, EXTENT).value, first, last).value


def counts(over: Term, distance: Term, step: Term, j: Term) -> list[z3.BoolRef]:
    """The theorem slice.steps at one place."""
    bound = z3.And(over >= 0, over <= z3.If(distance > 0, distance, 0))
    return [z3.Implies(j >= 0, (j < over) == (j * step < distance)), bound]


def steps_count(steps_over: Callable[..., Any]) -> Obligations:
    """The function `steps_over` counts the multiples of the step that lie before the distance."""
    distance, step, j = z3.Ints("distance step j")
    over = execute(steps_over, distance, step)
    yield from over.obligations()
    quotient = (distance - 1) / step
    lemma = (keeps_order(j, quotient + 1, step), keeps_order(quotient, j, step), keeps_order(j, z3.IntVal(0), step),
             keeps_order(step, z3.IntVal(1), quotient))  # fmt: skip
    yield Obligation("defined", (), over.defined == (step >= 1))
    meant = counts(over.value, distance, step, j)
    yield Obligation("counts", (step >= 1, *lemma), meant[0])
    yield Obligation("bounded", (step >= 1, *lemma), meant[1])


def _directions() -> Iterator[tuple[str, tuple[z3.BoolRef, ...], Term, Term, Term, Term]]:
    """Forwards and backwards: the hypotheses, start and end in the axis, the distance between them, and its step."""
    start, end = place(START, z3.IntVal(0), EXTENT), place(END, z3.IntVal(0), EXTENT)
    yield "forward", FORWARD, start, end, end - start, STEP
    start, end = place(START, z3.IntVal(0), EXTENT - 1), place(END, z3.IntVal(-1), EXTENT - 1)
    yield "backward", BACKWARD, start, end, start - end, -STEP


def visits(sliced: Callable[..., Any]) -> Obligations:
    """Element j is start + j * step; those before the end, in the axis, are taken, and no other."""
    j = z3.Int("j")
    for name, known, start, end, distance, step in _directions():
        lemma = (*counts(OVER(distance, step), distance, step, j), keeps_order(j, z3.IntVal(0), step))
        at = start + j * STEP
        before = at < end if name == "forward" else at > end
        taken = j < counted(sliced, *known)
        yield Obligation(f"{name}: taken before the end", (*known, j >= 0, *lemma), taken == before)
        inside = z3.And(at >= 0, at < EXTENT)
        yield Obligation(f"{name}: taken in the axis", (*known, j >= 0, *lemma, before), inside)


def bounded(sliced: Callable[..., Any]) -> Obligations:
    """0 ≤ count ≤ extent."""
    for name, known, _, _, distance, step in _directions():
        lemma = counts(OVER(distance, step), distance, step, z3.Int("j"))
        count = counted(sliced, *known)
        yield Obligation(name, (*known, *lemma), z3.And(count >= 0, count <= EXTENT))


def starts_in_axis(extent: int, start: int) -> bool:
    """S C2: -d ≤ start ≤ d - 1."""
    return -extent <= start < extent


def ends_in_axis(extent: int, end: int, step: int) -> bool:
    """E C2: -d ≤ end ≤ d for a positive step, else -d - 1 ≤ end ≤ d - 1."""
    if step > 0:
        return -extent <= end <= extent
    return -extent - 1 <= end < extent


def ends_in_direction(start: int, end: int, step: int) -> bool:
    """R6, R7: start ≤ end for a positive step, else start ≥ end, both counted from the first element."""
    if step > 0:
        return start <= end
    return start >= end


def _ranges() -> tuple[z3.BoolRef, z3.BoolRef]:
    return execute(starts_in_axis, EXTENT, START).value, execute(ends_in_axis, EXTENT, END, STEP).value


def nothing_to_clamp(slack: int = 0) -> Obligations:
    """Where S C2 and E C2 hold, start and end are in the axis already."""
    starts, ends = _ranges()
    start = z3.If(START < 0, START + EXTENT, START)
    yield Obligation("start", (EXTENT >= 0, starts), place(START, z3.IntVal(0), EXTENT - 1 - slack) == start)
    end = z3.If(END < 0, END + EXTENT, END)
    yield Obligation("end, forward", (*FORWARD, ends), place(END, z3.IntVal(0), EXTENT) == end)
    back = z3.If(END < -EXTENT, -1, end)
    yield Obligation("end, backward", (*BACKWARD, ends), place(END, z3.IntVal(-1), EXTENT - 1) == back)


def empty_axis_has_no_start(extent: int = 0) -> Obligations:
    starts, _ = _ranges()
    yield Obligation("none", (extent == EXTENT,), z3.Not(starts))


def restrictions_give_an_element() -> Obligations:
    """R6, R7 with the ranges, as printed, against Y C2."""
    starts, ends = _ranges()
    direction = execute(ends_in_direction, place(START, z3.IntVal(0), EXTENT), place(END, z3.IntVal(-1), EXTENT), STEP)
    known = (EXTENT >= 1, STEP == 1, starts, ends, direction.value)
    yield Obligation(
        "an element, step 1",
        known,
        execute(builtins.sliced, EXTENT, START, END, STEP, assuming=(STEP >= 1,)).value >= 1,
    )


def show_empty(found: Counterexample) -> str:
    """The function that runs gives no element."""
    numbers = found["extent"], found["start"], found["end"], found["step"]
    if builtins.sliced(*numbers) > 0:
        raise ReplayFailed(f"{builtins.sliced(*numbers)} elements")
    extent, start, end, step = numbers
    return f"extent {extent}, start {start}, end {end}, step {step}: R6 holds, and no element is left"


def drafted(distance: int, step: int) -> int:
    """The formal page: the quotient with a remainder that is never negative, and 1 more where there is one."""
    quotient = distance // step if step > 0 else -(distance // -step)
    return quotient if distance % abs(step) == 0 else quotient + 1


def draft_counts() -> Obligations:
    distance, step = z3.Int("distance"), -2
    meant = execute(builtins.steps_over, -distance, z3.IntVal(-step)).value
    yield Obligation("step -2", (distance <= -1,), execute(drafted, distance, step).value == meant)


def show_draft(found: Counterexample) -> str:
    """Both counts."""
    distance, step = found["distance"], -2
    visited, meant = len(range(0, distance, step)), builtins.steps_over(-distance, -step)
    if drafted(distance, step) == meant or visited != meant:
        raise ReplayFailed(f"the draft gives {meant}")
    return f"end - start {distance}, step {step}: the draft gives {drafted(distance, step)}, visited are {visited}"


def printed_shape_length(rank: int, start: int, end: int) -> int:
    """The number of extents Shape gives as printed: start raised to 0 only, end lowered to the rank only."""
    first = start + rank if start < 0 else start
    last = end + rank if end < 0 else end
    return min(last, rank) - max(first, 0)


def shape_length() -> Obligations:
    rank, start, end = z3.Ints("rank start end")
    yield Obligation("not negative", (rank >= 0,), execute(printed_shape_length, rank, start, end).value >= 0)


def show_shape_length(found: Counterexample) -> str:
    """The printed number of extents."""
    rank, start, end = found["rank"], found["start"], found["end"]
    if printed_shape_length(rank, start, end) >= 0:
        raise ReplayFailed("the number is not negative")
    return f"rank {rank}, start {start}, end {end}: {printed_shape_length(rank, start, end)} elements as printed"


MORE_STEPS = mutated(builtins.steps_over, "// step + 1", "// step + 2")
ROUNDED_DOWN = mutated(builtins.steps_over, "(distance - 1) // step + 1", "distance // step")
ONE_MORE = mutated(builtins.sliced, "0, extent) -", "0, extent) + 1 -")
NOT_CLAMPED = mutated(builtins.sliced, "clamped(from_first(end, extent), 0, extent)", "from_first(end, extent)")
ABOUT = (builtins.sliced, builtins.steps_over, builtins.clamped, builtins.from_first)
STATED: list[tuple[str, str, str, Any, Any, dict[str, Any], str]] = [
    ("steps", "The word steps_over counts the multiples of the step before a distance.",
     "j < steps_over(distance, step) ⇔ j · step < distance", steps_count, builtins.steps_over,
     {"one more": MORE_STEPS, "rounded down": ROUNDED_DOWN}, ""),
    ("visited", "Slice counts the indices start, start + step, … before the end; each of them lies in the axis.",
     "0 ≤ j < sliced ⇔ start' + j · step before end';  0 ≤ start' + j · step < extent", visits, builtins.sliced,
     {"one more": ONE_MORE, "end not clamped": NOT_CLAMPED}, ""),
    ("bounded", "Slice takes at least no element and at most those of the axis, whatever start, end and step.",
     "0 ≤ sliced ≤ extent", bounded, builtins.sliced, {"end not clamped": NOT_CLAMPED}, ""),
    ("nothing-to-clamp", "Where the ranges of the page hold, no index is left to clamp.",
     "S C2 ∧ E C2 ⇒ clamped(i) = i", nothing_to_clamp, 0, {"one index less": 1},
     "slice-called-clamped"),
    ("empty-axis", "No start is in the range of the page where the axis is empty.", "¬∃start. -0 ≤ start ≤ -1",
     empty_axis_has_no_start, 0, {"an axis of one element": 1},
     "slice-empty-axis"),
]  # fmt: skip
REFUTED: list[tuple[str, str, str, Any, Any, str, str]] = [
    ("printed-restrictions", "The restrictions as printed leave an element on every axis.",
     "start' ≤ end' ∧ S C2 ∧ E C2 ⇒ sliced ≥ 1", restrictions_give_an_element, show_empty, "slice-empty-result",
     "R6 allows a start that is the end."),
    ("drafted-count", "The formal page of Slice counts the indices visited, also backwards.",
     "quotient + (0 or 1) = ⌈(end' - start') / step⌉", draft_counts, show_draft, "slice-formal-division",
     "Its quotient by a negative step is rounded up already."),
    ("printed-shape-length", "The clamping that the page of Shape prints gives no negative number of extents.",
     "min(end', r) - max(start', 0) ≥ 0", shape_length, show_shape_length, "shape-clamps-one-sided",
     "end is not raised to 0."),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """Slices along one axis."""
    for name, statement, formula, claim, meant, changes, erratum in STATED:
        changed = tuple(Mutant(title, undivided(claim, change)) for title, change in changes.items())
        yield Theorem(
            f"slice.{name}", statement, formula, undivided(claim, meant), ABOUT, mutants=changed, erratum=erratum
        )
    pages = (starts_in_axis, ends_in_axis, ends_in_direction, drafted, printed_shape_length)
    for name, statement, formula, refuted, replay, erratum, because in REFUTED:
        yield Theorem(f"slice.{name}", statement, formula, undivided(refuted), pages, "refuted", replay=replay,
                      erratum=erratum, because=because)  # fmt: skip
