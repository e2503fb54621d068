"""QuantizeLinear and DequantizeLinear over the reals: the distance of a number from its quantized value.

n is the integer nearest to x / s: 2 |x - n s| <= |s|.  The scale is an arbitrary real other than 0, and x an arbitrary
real; the rounding of the quotient to binary32 is not part of these theorems.  The integers are those of any type, from
its lowest to its highest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.prover.symbolic_execution import Term, execute
from sonnx.prover.terms import keeps_order
from sonnx.prover.theorem import Counterexample, Mutant, Obligation, ReplayFailed, Theorem, mutated

CONCERNS = ("DequantizeLinear", "QuantizeLinear")

Obligations = Iterator[Obligation]
Function = Callable[..., Any]


def saturated(number: int, zero_point: int, lowest: int, highest: int) -> int:
    """min(max(n + zero point, lowest), highest) (QuantizeLinear of 2026-08, function); 0 and 255 for uint8."""
    if number + zero_point < lowest:
        return lowest
    if number + zero_point > highest:
        return highest
    return number + zero_point


def offset(quantized: int, zero_point: int) -> int:
    """The integer DequantizeLinear multiplies by the scale: y - zero point."""
    return quantized - zero_point


X, S = z3.Reals("x s")
N, Z = z3.Ints("n zero_point")
LOWEST, HIGHEST = z3.Ints("lowest highest")
"""Of any type of integers."""
ZERO_POINT = z3.And(Z >= LOWEST, Z <= HIGHEST)


def _real(term: Term) -> Term:
    return z3.ToReal(term)


def _size(term: Term) -> Term:
    return z3.If(term >= 0, term, -term)


def rounds(steps: int = 2) -> z3.BoolRef:
    """The number n is a nearest integer of x / s."""
    distance = X - _real(N) * S
    return z3.And(S != 0, steps * distance <= _size(S), -steps * distance <= _size(S))


def back(function: Function, number: Term) -> Term:
    """The multiple of the scale after QuantizeLinear and DequantizeLinear of n."""
    return execute(offset, execute(function, number, Z, LOWEST, HIGHEST).value, Z).value


def within_half_a_step(function: Function = saturated, steps: int = 2) -> Obligations:
    inside = (N + Z >= LOWEST, N + Z <= HIGHEST)
    returned = back(function, N)
    yield from execute(function, N, Z, LOWEST, HIGHEST).obligations()
    yield Obligation("not saturated: the same integer", (ZERO_POINT, *inside), returned == N)
    distance = X - _real(N) * S
    near = z3.And(2 * distance <= _size(S), -2 * distance <= _size(S))
    yield Obligation("within half a step", (rounds(steps),), near)


def nearest(function: Function = saturated) -> Obligations:
    """No other integer of the type is nearer, saturated or not.

    Distances are counted in steps, t = x / s: |x - k s| = |t - k| |s|.
    """
    returned = back(function, N)
    inside, above, below = (
        returned == N,
        z3.And(returned == HIGHEST - Z, returned < N),
        z3.And(returned == LOWEST - Z, returned > N),
    )
    yield Obligation("the nearest integer, or the end before it", (ZERO_POINT,), z3.Or(inside, above, below))
    t, n, m, k, scale, a, b = z3.Reals("t n m k scale a b")
    near = z3.And(2 * (t - n) <= 1, 2 * (n - t) <= 1)
    whole = z3.Or(k == m, k <= m - 1, k >= m + 1)
    chosen = z3.Or(m == n, z3.And(n >= m + 1, k <= m), z3.And(n <= m - 1, k >= m))
    yield Obligation("nearest in steps", (near, whole, chosen), _size(t - m) <= _size(t - k))
    yield Obligation("so in numbers", (a <= b, scale >= 0, keeps_order(b, a, scale)), a * scale <= b * scale)


def returns(function: Function = saturated) -> Obligations:
    """Quantizing a dequantized integer returns it: its quotient is exact."""
    y = z3.Int("y")
    known = (y >= LOWEST, y <= HIGHEST, ZERO_POINT, execute(offset, y, Z).value == N)
    yield Obligation("the same integer", known, execute(function, N, Z, LOWEST, HIGHEST).value == y)


def always_within_half_a_step() -> Obligations:
    returned = back(saturated, N)
    distance = X - _real(returned) * S
    near = z3.And(2 * distance <= _size(S), -2 * distance <= _size(S))
    of_uint8 = (LOWEST == 0, HIGHEST == 255)
    yield Obligation("within half a step", (ZERO_POINT, *of_uint8, S == 1, _real(N) - X == 0), near)


def show_saturated(found: Counterexample) -> str:
    """An integer that does not fit."""
    number, zero_point = found["n"], found["zero_point"]
    returned = offset(saturated(number, zero_point, 0, 255), zero_point)
    if 2 * abs(number - returned) <= 1:
        raise ReplayFailed(f"{number} comes back as {returned}")
    return f"x = {number}, scale 1, zero point {zero_point}: comes back as {returned}"


def difference_fits() -> Obligations:
    y, z = z3.Ints("y z")
    number = (y >= -(2**31), y < 2**31, z >= -(2**31), z < 2**31)
    difference = execute(offset, y, z).value
    yield Obligation("int32", number, z3.And(difference >= -(2**31), difference < 2**31))


def show_difference(found: Counterexample) -> str:
    """A difference that int32 does not have."""
    difference = offset(found["y"], found["z"])
    if -(2**31) <= difference < 2**31:
        raise ReplayFailed(f"{difference} is an int32")
    return f"{found['y']} - ({found['z']}) is {difference}, no int32"


NOT_BELOW = mutated(saturated, "return lowest", "return lowest + 1")
TOO_EARLY = mutated(saturated, "< lowest", "< lowest + 2")
ABOUT = (saturated, offset, rounds)
STATED: list[tuple[str, str, str, Any, dict[str, Any]]] = [
    ("half-a-step", "A number quantized without saturation and dequantized is within half a step of itself.",
     "lowest ≤ n + z ≤ highest ⇒ |x - s (y - z)| ≤ |s| / 2", within_half_a_step,
     {"any number within a step": partial(within_half_a_step, steps=1)}),
    ("nearest", "Saturated or not, no other integer of the type is nearer to it.",
     "∀k ∈ [lowest, highest]. |x - s (y - z)| ≤ |x - s (k - z)|", nearest,
     {"the second integer for what is below": partial(nearest, NOT_BELOW)}),
    ("returns", "Quantizing a dequantized integer gives the integer back.", "Q(s (y - z)) = y", returns,
     {"saturated below the third integer": partial(returns, TOO_EARLY)}),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """Quantization, over the reals."""
    for name, statement, formula, claim, changes in STATED:
        changed = tuple(Mutant(title, change) for title, change in changes.items())
        yield Theorem(f"quantization.{name}", statement, formula, claim, ABOUT, mutants=changed,
                      reals=name != "returns", concerns=CONCERNS)  # fmt: skip
    yield Theorem(
        "quantization.always-half-a-step", "Every number comes back within half a step.", "|x - s (y - z)| ≤ |s| / 2",
        always_within_half_a_step, ABOUT, "refuted", replay=show_saturated,
        because="A number outside the range of the 256 integers of uint8 saturates.", concerns=CONCERNS,
    )  # fmt: skip
    yield Theorem(
        "quantization.difference-fits",
        "The difference of two int32 is an int32.",
        "y - z ∈ [-2^31, 2^31 - 1]",
        difference_fits,
        (offset,),
        "refuted",
        replay=show_difference,
        erratum="dequantize-zero-point-of-int32",
        because="So the difference wraps around, as the error section of the page says.",
        concerns=CONCERNS,
    )
