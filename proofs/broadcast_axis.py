"""Broadcasting on one axis: the join of two extents, and the statements of the texts about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.language import builtins
from sonnx.prover.symbolic_execution import Execution, Term, execute
from sonnx.prover.terms import conjunction
from sonnx.prover.theorem import Claim, Counterexample, Mutant, Obligation, Replay, ReplayFailed, Theorem, mutated

Join = Callable[..., Any]


def joined(join: Join, a: Term, b: Term) -> Execution:
    """The join of two extents, by the code that runs."""
    return execute(join, a, b)


def extents(names: str, least: int = 0) -> tuple[list[Term], z3.BoolRef]:
    """Variables for extents with a lower bound."""
    variables = z3.Ints(names)
    return variables, conjunction(each >= least for each in variables)


def is_commutative(join: Join = builtins.join) -> Iterator[Obligation]:
    (a, b), sizes = extents("a b")
    one, other = joined(join, a, b), joined(join, b, a)
    yield from one.obligations(sizes)
    yield Obligation("error", (sizes,), one.defined == other.defined)
    yield Obligation("value", (sizes, one.defined), one.value == other.value)


def is_associative(join: Join = builtins.join) -> Iterator[Obligation]:
    (a, b, c), sizes = extents("a b c")
    ab, bc = joined(join, a, b), joined(join, b, c)
    left, right = joined(join, ab.value, c), joined(join, a, bc.value)
    left_defined, right_defined = z3.And(ab.defined, left.defined), z3.And(bc.defined, right.defined)
    yield Obligation("error", (sizes,), left_defined == right_defined)
    yield Obligation("value", (sizes, left_defined), left.value == right.value)


def is_idempotent(join: Join = builtins.join) -> Iterator[Obligation]:
    (a,), sizes = extents("a")
    twice, one = joined(join, a, a), joined(join, a, z3.IntVal(1))
    yield Obligation("idempotent", (sizes,), z3.And(twice.defined, twice.value == a))
    yield Obligation("1 is the identity", (sizes,), z3.And(one.defined, one.value == a))


def is_flat(join: Join = builtins.join) -> Iterator[Obligation]:
    """The lattice: 1 at the bottom, all other extents side by side, the error on top; 0 is one of the others."""
    (a, b), sizes = extents("a b")
    execution = joined(join, a, b)
    yield Obligation("flat", (sizes,), execution.defined == z3.Or(a == 1, b == 1, a == b))
    yield Obligation("one of them", (sizes, execution.defined), z3.Or(execution.value == a, execution.value == b))


def is_maximum(join: Join = builtins.join, least: int = 1) -> Iterator[Obligation]:
    (a, b), sizes = extents("a b", least)
    execution = joined(join, a, b)
    yield Obligation("maximum", (sizes, execution.defined), execution.value == z3.If(a > b, a, b))


def show_maximum(found: Counterexample) -> str:
    """The join of a 0 and a 1."""
    a, b = found["a"], found["b"]
    value = builtins.join(a, b)
    if value == max(a, b):
        raise ReplayFailed(f"join({a}, {b}) is the maximum")
    return f"extents {a} and {b}: NumPy and ONNX give {value}, the larger one is {max(a, b)}"


def agrees(least: int = 1, join: Join = builtins.join) -> Iterator[Obligation]:
    """On one axis of two inputs: each is the larger extent or 1 (RI), and NumPy joins them."""
    (a, b), sizes = extents("a b", least)
    most = z3.If(a > b, a, b)
    condition = z3.And(z3.Or(a == most, a == 1), z3.Or(b == most, b == 1))
    yield Obligation("same condition", (sizes,), condition == joined(join, a, b).defined)


def show_agrees(found: Counterexample) -> str:
    """The two definitions of broadcastable, by the functions that run."""
    shapes = [[found["a"]], [found["b"]]]
    profile, onnx = builtins.broadcastable(shapes), builtins.onnx_broadcastable(shapes)
    if profile == onnx:
        raise ReplayFailed(f"both readings say {profile} of {shapes}")
    return f"shapes {shapes[0]} and {shapes[1]}: broadcastable is {profile} by the formula and {onnx} by NumPy and ONNX"


def left_aligned(least: int = 1) -> Iterator[Obligation]:
    """The first edition names axes from the first; NumPy aligns the last. One input of rank 1, one of rank 2."""
    (a, b, c), sizes = extents("a b c", least)
    from_first, from_last = joined(builtins.join, a, b).defined, joined(builtins.join, a, c).defined
    yield Obligation("same condition", (sizes,), from_first == from_last)


def show_left_aligned(found: Counterexample) -> str:
    """The function that runs aligns the last axis."""
    a, b, c = found["a"], found["b"], found["c"]
    passes, from_first = builtins.broadcastable([[a], [b, c]]), a in (1, b) or b == 1
    if passes == from_first:
        raise ReplayFailed(f"shapes [{a}] and [{b}, {c}] are judged alike")
    return f"shapes [{a}] and [{b}, {c}]: {from_first} read from the first axis, {passes} by NumPy"


def printed_condition_fixes_shape() -> Iterator[Obligation]:
    """R2 and C1 as printed: the output is broadcastable with the inputs. One axis, two inputs."""
    (a, b, y), sizes = extents("a b y", 1)
    ab = joined(builtins.join, a, b)
    with_output = joined(builtins.join, ab.value, y)
    yield Obligation("output shape", (sizes, ab.defined, with_output.defined), y == ab.value)


def show_output_shape(found: Counterexample) -> str:
    """The printed condition holds for an output of another shape."""
    a, b, y = found["a"], found["b"], found["y"]
    if not builtins.broadcastable([[y], [a], [b]]) or builtins.broadcast([[a], [b]]) == [y]:
        raise ReplayFailed("the printed condition fails, or the output has the broadcast shape")
    shape = builtins.broadcast([[a], [b]])
    return f"inputs [{a}] and [{b}] with the output [{y}] satisfy R2 and C1 as printed; they broadcast to {shape}"


def printed_condition_covers_inputs() -> Iterator[Obligation]:
    """C1 as printed speaks of Y and X1 to XN, so X0 is exempt; E1 speaks of X0 to XL."""
    (a, b, y), sizes = extents("x0 x1 y", 1)
    yield Obligation("E1", (sizes, joined(builtins.join, b, y).defined), joined(builtins.join, a, b).defined)


def show_exempt_input(found: Counterexample) -> str:
    """E1 fires where C1 as printed holds."""
    a, b, y = found["x0"], found["x1"], found["y"]
    if not builtins.broadcastable([[y], [b]]) or builtins.broadcastable([[a], [b]]):
        raise ReplayFailed("C1 fails or E1 does not fire")
    return f"X0 = [{a}], X1 = [{b}], Y = [{y}]: C1 as printed holds, E1 fires"


FIRST = mutated(builtins.join, "if a == 1:", "if a >= 1:")
NO_ONE = mutated(builtins.join, " or b == 1", "")
LARGER = mutated(builtins.join, "a == b or b == 1", "a >= b")
STATED: list[tuple[str, str, str, Claim, dict[str, Join]]] = [
    ("join-commutative", "The join of two extents is commutative, its error too.", "a ⊔ b = b ⊔ a", is_commutative,
     {"1 only on one side": NO_ONE}),
    ("join-associative", "The join is associative, its error absorbing.", "(a ⊔ b) ⊔ c = a ⊔ (b ⊔ c)", is_associative,
     {"any extent gives way": FIRST, "1 only on one side": NO_ONE}),
    ("join-idempotent", "The join of an extent with itself, and with 1, is the extent.", "a ⊔ a = a = a ⊔ 1",
     is_idempotent, {"1 only on one side": NO_ONE}),
    ("join-flat", "Two extents join where one is 1 or both are equal; 0 is as any other.",
     "a ⊔ b defined ⇔ a = 1 ∨ b = 1 ∨ a = b", is_flat, {"the larger": LARGER, "any extent gives way": FIRST}),
    ("extent-is-maximum", "For extents of at least 1 the join is the larger extent.", "a, b ≥ 1 ⇒ a ⊔ b = max(a, b)",
     is_maximum, {"any extent gives way": FIRST}),
]  # fmt: skip
REFUTED: list[tuple[str, str, str, Claim, Replay, str, str]] = [
    ("extent-is-maximum-with-zero", "The join is the larger extent, also where one is 0.", "a ⊔ b = max(a, b)",
     partial(is_maximum, least=0), show_maximum, "zero-against-one", "Joined with 1, 0 stays 0."),
    ("zero-against-one", "The formula of the texts and the rules of NumPy accept the same extents.",
     "a, b ∈ {max(a, b), 1} ⇔ a ⊔ b defined", partial(agrees, 0), show_agrees, "zero-against-one",
     "NumPy and ONNX join 0 and 1, the formula of the texts does not; the profile takes the stricter."),
    ("axis-rules-aligned-left", "Axes named from the first one give the rules of NumPy.",
     "a ⊔ b defined ⇔ a ⊔ c defined", left_aligned, show_left_aligned, "axes-not-aligned",
     "NumPy aligns the last axes."),
    ("printed-condition-leaves-shape-open", "R2 and C1 as printed fix the shape of the output.",
     "Y, X0, X1 broadcastable ⇒ dY = dX0 ⊔ dX1", printed_condition_fixes_shape, show_output_shape,
     "output-shape-not-fixed", "An output of extent 1 is broadcastable with everything."),
    ("printed-condition-leaves-input-out", "C1 as printed implies that E1 does not fire.",
     "Y, X1 broadcastable ⇒ X0, X1 broadcastable", printed_condition_covers_inputs, show_exempt_input, "e1-and-c1",
     "C1 does not speak of X0."),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """One axis."""
    for name, statement, formula, claim, mutants in STATED:
        changed = tuple(Mutant(title, partial(claim, join)) for title, join in mutants.items())
        yield Theorem(f"broadcast.{name}", statement, formula, claim, (builtins.join,), mutants=changed)
    yield Theorem(
        "broadcast.axis-rule", "For extents of at least 1 the formula of the texts and NumPy accept the same extents.",
        "a, b ≥ 1 ⇒ (a, b ∈ {max(a, b), 1} ⇔ a ⊔ b defined)", agrees, (builtins.join,),
        mutants=(Mutant("1 only on one side", partial(agrees, join=NO_ONE)), Mutant("with 0", partial(agrees, 0))),
    )  # fmt: skip
    for name, statement, formula, refuted, replay, erratum, because in REFUTED:
        yield Theorem(f"broadcast.{name}", statement, formula, refuted, (builtins.join,), "refuted", replay=replay,
                      erratum=erratum, because=because)  # fmt: skip
