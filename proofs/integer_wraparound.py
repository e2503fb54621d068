"""Integers of n bits: sums, differences, products and opposites wrap around; quotients are truncated.

For every width at once the definition is a function of integers, `wrapped`, with `size` = 2^n and `least` the least
number of the type; on the bits of the eight types it is the machine's operation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.proofs.integers import WIDTHS
from sonnx.prover.symbolic_execution import Term, execute
from sonnx.prover.terms import keeps_order, undivided
from sonnx.prover.theorem import Counterexample, Mutant, Obligation, ReplayFailed, Theorem, mutated

CONCERNS = ("Abs", "Add", "ConvInteger", "Div", "MatMul", "Mul", "Neg", "Sub")

Obligations = Iterator[Obligation]
Function = Callable[..., Any]


def wrapped(value: int, least: int, size: int) -> int:
    """The number of [least, least + size - 1] congruent to a value modulo `size` (Add, Sub, Mul, Neg of 2026-10)."""
    return (value - least) % size + least


def quotient(a: int, b: int) -> int:
    """A / b with the fractional part discarded (Div of 2026-08 and 2026-10)."""
    if a >= 0 and b > 0:
        return a // b
    if a >= 0:
        return -(a // -b)
    if b > 0:
        return -(-a // b)
    return -a // -b


A, B, C, LEAST, SIZE, K = z3.Ints("a b c least size k")
TYPE = (SIZE >= 2, LEAST <= 0, LEAST + SIZE >= 1)


def of(function: Function, value: Term) -> Term:
    """The value wrapped into the type."""
    return execute(function, value, LEAST, SIZE, assuming=(SIZE >= 2,)).value


def in_type(*numbers: Term) -> tuple[z3.BoolRef, ...]:
    """The numbers are in the range of the type."""
    return tuple(z3.And(number >= LEAST, number < LEAST + SIZE) for number in numbers)


def unique(x: Term, y: Term, k: Term) -> z3.BoolRef:
    """The theorem wrap.unique at one place: numbers of the type that differ by k · size are one."""
    return z3.Implies(z3.And(*in_type(x, y), x - y == k * SIZE), x == y)


def is_unique(slack: int = 0) -> Obligations:
    x, y = z3.Ints("x y")
    range_of = (x >= LEAST, y >= LEAST, x < LEAST + SIZE + slack, y < LEAST + SIZE + slack)
    lemma = (keeps_order(K, z3.IntVal(1), SIZE), keeps_order(z3.IntVal(-1), K, SIZE))
    yield Obligation("unique", (*TYPE, *range_of, *lemma, x - y == K * SIZE), x == y)


def is_of_type(function: Function = wrapped) -> Obligations:
    times = (A - LEAST) / SIZE
    yield Obligation("in the type", TYPE, in_type(of(function, A))[0])
    yield Obligation("congruent", TYPE, A - of(function, A) == times * SIZE)
    yield Obligation("a number of the type stays", (*TYPE, *in_type(A), unique(A, of(function, A), times)),
                     of(function, A) == A)  # fmt: skip


def _inner(function: Function, name: str, outer: Callable[[Term], Term]) -> Obligations:
    """Wrapping an operand first changes nothing: outer(wrapped(a)) and outer(a) differ by a multiple of the size."""
    one, other = of(function, outer(of(function, A))), of(function, outer(A))
    first = (A - LEAST) / SIZE
    left, right = (outer(of(function, A)) - LEAST) / SIZE, (outer(A) - LEAST) / SIZE
    factor = {"sum": 1, "difference": -1, "product": B}[name]
    multiple = right - left - factor * first
    yield Obligation(name, (*TYPE, unique(one, other, multiple)), one == other)


def operands_may_wrap(function: Function = wrapped) -> Obligations:
    yield from _inner(function, "sum", lambda x: x + B)
    yield from _inner(function, "difference", lambda x: B - x)
    yield from _inner(function, "product", lambda x: x * B)


def truncates(function: Function = quotient) -> Obligations:
    """A = q b + r with |r| < |b|, and r has the sign of a."""
    q = execute(function, A, B, assuming=(B != 0,)).value
    rest = A - q * B
    size = z3.If(B > 0, B, -B)
    yield Obligation("rest below the divisor", (B != 0,), z3.And(rest < size, -rest < size))
    side = z3.And(z3.Implies(A >= 0, rest >= 0), z3.Implies(A <= 0, rest <= 0))
    yield Obligation("rest on the side of a", (B != 0,), side)


def representable(but_least: bool = True) -> Obligations:
    """The quotient of two numbers of a signed type is one, except the least number by -1."""
    half = z3.Int("half")
    q = execute(quotient, A, B, assuming=(B != 0,)).value
    signed = (half >= 1, -half <= A, half > A, -half <= B, half > B, B != 0)
    but = (z3.Or(-half != A, B != -1),) if but_least else ()
    ways = [(A, B), (A, -B), (-A, B), (-A, -B)]
    lemma = [keeps_order(d, z3.IntVal(2), a / d) for a, d in ways] + [
        keeps_order(a / d, z3.IntVal(0), d) for a, d in ways
    ]
    yield Obligation("representable", (*signed, *but, *lemma), z3.And(q >= -half, q < half))


def show_least(found: Counterexample) -> str:
    """The quotient that is not of the type."""
    half, a, b = found["half"], found["a"], found["b"]
    if -half <= quotient(a, b) < half:
        raise ReplayFailed(f"{a} / {b} is {quotient(a, b)}")
    return f"{a} / {b} is {quotient(a, b)}, and the numbers of the type are those of [{-half}, {half - 1}]"


def error_below_half() -> Obligations:
    q = execute(quotient, A, B, assuming=(B != 0,)).value
    yield Obligation("below one half, b positive", (B >= 1, A >= 0), 2 * (A - q * B) < B)


def show_error(found: Counterexample) -> str:
    """The distance of a quotient."""
    a, b = found["a"], found["b"]
    if 2 * (a - quotient(a, b) * b) < b:
        raise ReplayFailed(f"{a} / {b} is {quotient(a, b)}")
    return f"{a} / {b} is {quotient(a, b)}, off by {a - quotient(a, b) * b}/{b}"


# Bits

Wide = Callable[[Any, Any], Any]
KINDS: dict[str, Wide] = {"int": z3.SignExt, "uint": z3.ZeroExt}


def _each(names: str) -> Iterator[tuple[str, int, Wide, list[Any]]]:
    for kind, wide in KINDS.items():
        for width in WIDTHS:
            yield f"{kind}{width}", width, wide, list(z3.BitVecs(names, width))


def truncated_exact(low: int = 0) -> Obligations:
    """The machine's operation is the exact result in enough bits without its high bits."""
    for name, width, wide, (x, y) in _each("x y"):
        parts = []
        for operation, spare in ((operator.add, 1), (operator.sub, 1), (operator.mul, width)):
            exact = operation(wide(spare, x), wide(spare, y))
            cut = z3.Extract(width - 1, 0, exact >> low if low else exact)
            parts.append(cut == operation(x, y))
        negative = z3.Extract(width - 1, 0, -wide(1, x)) == -x
        yield Obligation(name, (), z3.And(*parts, negative))


def is_ring(plus: Wide = operator.add) -> Obligations:
    """Sums and products associate, commute and distribute; x - y = x + (-y)."""
    for name, _, _, (x, y, z) in _each("x y z"):
        sums = [plus(plus(x, y), z) == plus(x, plus(y, z)), plus(x, y) == plus(y, x), x - y == plus(x, -y)]
        products = [(x * y) * z == x * (y * z), x * y == y * x, x * plus(y, z) == plus(x * y, x * z)]
        yield Obligation(name, (), z3.And(*sums, *products))


def least_opposes_itself(place: int = 1) -> Obligations:
    """The least number of a signed type is its own opposite and its own absolute value; no other number but 0 is."""
    for name, width, _, (x,) in _each("x"):
        if name.startswith("int"):
            least = 1 << width - place
            yield Obligation(name, (), (-x == x) == z3.Or(x == 0, x == least))


def absolute_not_negative() -> Obligations:
    x = z3.BitVec("x", 8)
    yield Obligation("int8", (), z3.If(x < 0, -x, x) >= 0)


def show_absolute(found: Counterexample) -> str:
    """The least int8."""
    value = found["x"] - 256 if found["x"] >= 128 else found["x"]
    if wrapped(abs(value), -128, 256) >= 0:
        raise ReplayFailed(f"the absolute value of {value} is an int8")
    return f"the absolute value of int8 {value} is {abs(value)}, which wraps around to {wrapped(abs(value), -128, 256)}"


OFF_BY_ONE = mutated(wrapped, "% size + least", "% size + least + 1")
NOT_SHIFTED = mutated(wrapped, "(value - least) % size", "value % size")
FLOORED = mutated(quotient, "return -(-a // b)", "return a // b")
WIDE_TYPES = "int8 to int64, uint8 to uint64"
STATED: list[tuple[str, str, str, Any, dict[str, Any], tuple[Any, ...]]] = [
    ("unique", "A type holds one number of each class modulo its size.", "x, y of the type, x ≡ y mod 2^n ⇒ x = y",
     is_unique, {"one number more": 1}, ("Add, Sub, Mul, Neg of 2026-10, integer sections",)),
    ("value", "The wrapped number is of the type and congruent to the exact one; a number of the type stays as it is.",
     "wrapped(a) ∈ [least, least + 2^n - 1],  wrapped(a) ≡ a mod 2^n", is_of_type,
     {"off by one": OFF_BY_ONE, "not shifted": NOT_SHIFTED}, (wrapped,)),
    ("operands", "Operands may wrap before or after: so sums and products associate and distribute as integers do.",
     "wrapped(wrapped(a) + b) = wrapped(a + b),  and - and · alike", operands_may_wrap, {"off by one": OFF_BY_ONE},
     (wrapped,)),
    ("quotient", "The quotient is truncated: the rest is smaller than the divisor, and on the side of the dividend.",
     "a = q b + r,  |r| < |b|,  r a ≥ 0", truncates, {"rounded down": FLOORED}, (quotient,)),
    ("quotient-representable", "A quotient of two numbers of a signed type is one, but for the least number by -1.",
     "b ≠ 0 ∧ ¬(a = least ∧ b = -1) ⇒ a / b of the type", representable, {"the least by -1 too": False}, (quotient,)),
]  # fmt: skip
BITS: list[tuple[str, str, str, Any, dict[str, Any], str]] = [
    ("machine", "What the machine computes is the exact sum, difference, product or opposite without its high bits.",
     "x + y = low n bits of the exact sum", truncated_exact, {"another bit first": 1}, WIDE_TYPES),
    ("ring", "Sums and products of the machine associate, commute and distribute.", "(x + y) + z = x + (y + z), …",
     is_ring, {"bits joined": operator.or_}, WIDE_TYPES),
    ("least", "The least number of a signed type is its own opposite, and no other number but 0 is.",
     "-x = x ⇔ x = 0 ∨ x = least", least_opposes_itself, {"half the least": 2}, "int8 to int64"),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """Integers that wrap around."""
    for name, statement, formula, claim, changes, about in STATED:
        changed = tuple(Mutant(title, undivided(claim, change)) for title, change in changes.items())
        yield Theorem(f"wrap.{name}", statement, formula, undivided(claim), about, mutants=changed, concerns=CONCERNS)
    for name, statement, formula, claim, changes, bounds in BITS:
        changed = tuple(Mutant(title, partial(claim, change)) for title, change in changes.items())
        yield Theorem(
            f"wrap.{name}",
            statement,
            formula,
            claim,
            (claim,),
            bounds=bounds,
            sort="bits",
            mutants=changed,
            concerns=CONCERNS,
        )
    yield Theorem(
        "wrap.least-by-minus-one",
        "Every quotient by a divisor other than 0 is of the type.",
        "b ≠ 0 ⇒ a / b of the type",
        undivided(representable, False),
        (quotient,),
        "refuted",
        replay=show_least,
        erratum="div-least-integer-by-minus-one",
        because="The opposite of the least number is one too large.",
        concerns=CONCERNS,
    )
    yield Theorem(
        "wrap.quotient-error", "The integer quotient is off by less than one half, as the page on accuracy says.",
        "|a / b - q| < 1/2", undivided(error_below_half), (quotient,), "refuted", replay=show_error,
        erratum="div-accuracy-of-integers", because="A truncated quotient is off by less than 1.", concerns=CONCERNS,
    )  # fmt: skip
    yield Theorem(
        "wrap.absolute-not-negative",
        "The absolute value of an integer is not negative.",
        "|x| ≥ 0",
        absolute_not_negative,
        (absolute_not_negative,),
        "refuted",
        sort="bits",
        replay=show_absolute,
        erratum="abs-least-integer",
        because="The least number of a signed type has no absolute value in it.",
        concerns=CONCERNS,
    )
