"""The maximum of the order: of two operands, and of a fold, a tree, or any order of many.

The theorems are about the function that runs, `numerics/order.maximum`.  Of several NaNs it returns the first, so a
claim holds bit for bit, or up to the class of NaN, as stated.  Claims about any number of operands are inductions with
separate obligations for base and step.
"""

from __future__ import annotations

from collections.abc import Iterator

import z3

from sonnx.numerics import order
from sonnx.proofs.float_order import Change, Definitions, FormatClaim, greater, in_both_forms, nan, same
from sonnx.prover.float_patterns import SymbolicFormat
from sonnx.prover.symbolic_execution import Term
from sonnx.prover.theorem import Counterexample, Obligation, ReplayFailed, Theorem, by_form, mutated

CONCERNS = ("Max", "ReduceMax")


def largest(f: SymbolicFormat, d: Definitions, *patterns: Term) -> Term:
    """The maximum from left to right."""
    result = patterns[0]
    for pattern in patterns[1:]:
        result = f.value(d.maximum, result, pattern)
    return result


def selects(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y = f.patterns("x y")
    top = largest(f, d, x, y)
    yield from f.obligations(d.maximum)
    yield Obligation("one of them", f.hypotheses, z3.Or(top == x, top == y))


def bounds(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y = f.patterns("x y")
    top = largest(f, d, x, y)
    yield Obligation("upper bound", f.hypotheses, z3.Not(z3.Or(greater(x, top, f), greater(y, top, f))))


def is_unique(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y, z = f.patterns("x y z")
    bound = z3.Not(z3.Or(greater(x, z, f), greater(y, z, f)))
    hypotheses = (*f.hypotheses, bound, z3.Or(z == x, z == y))
    yield Obligation("unique", hypotheses, same(z, largest(f, d, x, y), f))


def is_associative(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y, z = f.patterns("x y z")
    left, right = largest(f, d, largest(f, d, x, y), z), largest(f, d, x, largest(f, d, y, z))
    yield Obligation("associative", f.hypotheses, left == right)


def is_commutative(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y = f.patterns("x y")
    yield Obligation("commutative", f.hypotheses, same(largest(f, d, x, y), largest(f, d, y, x), f))


def is_commutative_on_bits(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y = f.patterns("x y")
    yield Obligation("commutative", f.hypotheses, largest(f, d, x, y) == largest(f, d, y, x))


def show_two_nans(found: Counterexample) -> str:
    """The maximum keeps the first NaN."""
    sign, infinity = found.get("sign", 1 << 15), found.get("infinity", 31 << 10)
    x, y = found["x"], found["y"]
    one, other = order.maximum(x, y, sign, infinity), order.maximum(y, x, sign, infinity)
    if one == other:
        raise ReplayFailed(f"both orders of {x} and {y} give {one}")
    return f"maximum({x}, {y}) is {one} and maximum({y}, {x}) is {other}, two patterns of NaN"


def is_idempotent(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    (x,) = f.patterns("x")
    yield Obligation("idempotent", f.hypotheses, largest(f, d, x, x) == x)


def forgets_repetitions(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y, before, after = f.patterns("x y before after")
    top = largest(f, d, x, y)
    yield Obligation("the first again", f.hypotheses, largest(f, d, top, x) == top)
    yield Obligation("the second again", f.hypotheses, largest(f, d, top, y) == top)
    whole = largest(f, d, before, x, after)
    yield Obligation("one of many again", f.hypotheses, largest(f, d, whole, x) == whole)
    yield Obligation("the first before", f.hypotheses, largest(f, d, x, top) == top)


def has_identity(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, lowest = f.patterns("x lowest")
    hypotheses = (*f.hypotheses, lowest == f.sign + f.infinity)
    yield Obligation("left", hypotheses, largest(f, d, lowest, x) == x)
    yield Obligation("right", hypotheses, largest(f, d, x, lowest) == x)


def absorbs(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    x, y = f.patterns("x y")
    either = z3.Or(nan(x, f), nan(y, f))
    yield Obligation("absorbing", f.hypotheses, nan(largest(f, d, x, y), f) == either)
    first = z3.If(nan(x, f), x, y)
    yield Obligation("the first NaN, bit for bit", (*f.hypotheses, either), largest(f, d, x, y) == first)


def folds(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    """For any number of operands; `member` is any earlier operand, `best` the value of the fold then."""
    member, best, x = f.patterns("member best x")
    yield Obligation("base: of one operand it is the bound", f.hypotheses, z3.Not(greater(best, best, f)))
    before = (*f.hypotheses, z3.Not(greater(member, best, f)))
    after = largest(f, d, best, x)
    yield Obligation("step: earlier operands", before, z3.Not(greater(member, after, f)))
    yield Obligation("step: this operand", f.hypotheses, z3.Not(greater(x, after, f)))
    yield Obligation("step: it is an operand", f.hypotheses, z3.Or(after == best, after == x))


def ignores_order(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    """Two results that are operands and bounds of all operands, so of each other, are equal."""
    one, other = f.patterns("one other")
    mutual = z3.And(z3.Not(d.greater(one, other, f)), z3.Not(d.greater(other, one, f)))
    yield Obligation("unique for any number", (*f.hypotheses, mutual), same(one, other, f))


def merges(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    """The maximum of two maxima bounds all operands of both: several axes at once are one axis after another."""
    member, left, right = f.patterns("member left right")
    either = z3.Or(z3.Not(greater(member, left, f)), z3.Not(greater(member, right, f)))
    top = largest(f, d, left, right)
    yield Obligation("bounds both halves", (*f.hypotheses, either), z3.Not(greater(member, top, f)))
    yield Obligation("is of one half", f.hypotheses, z3.Or(top == left, top == right))


def extends(f: SymbolicFormat, d: Definitions) -> Iterator[Obligation]:
    """Bit for bit: a fold of a list is the maximum of the folds x and y of its parts, by induction on the second."""
    x, y, z = f.patterns("x y z")
    yield by_form(Obligation("base", f.hypotheses, largest(f, d, x, y) == largest(f, d, x, largest(f, d, y))))
    whole = largest(f, d, largest(f, d, x, y), z)
    yield Obligation("step", f.hypotheses, whole == largest(f, d, x, largest(f, d, y, z)))


SECOND_NAN = Definitions(maximum=mutated(order.maximum, ") > key(", ") >= key("))
ONE_MORE = Definitions(maximum=mutated(order.maximum, "return x", "return x + 1"))
SMALLER = Definitions(maximum=mutated(order.maximum, ") > key(", ") < key("))
ZEROS_EQUAL = Definitions(maximum=mutated(order.maximum, "key(y", "key(y", key=order.equal_zeros_key))
SHALLOW = Definitions(greater=mutated(greater, "x > y)", "x > x)"))
CLEARED = Definitions(maximum=mutated(order.maximum, "return y", "return y + 1"))
ALWAYS_FIRST = Definitions(maximum=mutated(order.maximum, "return y", "return x"))
NAN_LOST = Definitions(maximum=mutated(order.maximum, "if key(", "if key(y, sign, infinity) <= infinity and key("))
CLAIMS = (order.maximum, order.key, greater)

STATED: list[tuple[str, str, str, FormatClaim, dict[str, Change]]] = [
    ("one-of-operands", "The maximum of two is one of them.", "max(x, y) ∈ {x, y}", selects, {"one more": CLEARED}),
    ("upper-bound", "Neither operand is greater than the maximum.", "¬(x > max(x, y)) ∧ ¬(y > max(x, y))", bounds,
     {"smaller": SMALLER, "both zeros equal": ZEROS_EQUAL}),
    ("unique", "What bounds both operands and is one of them is the maximum, up to the NaN class.",
     "z ∈ {x, y} ∧ z ≥ x ∧ z ≥ y ⇒ z = max(x, y)", is_unique, {"smaller": SMALLER, "both zeros equal": ZEROS_EQUAL}),
    ("associative", "The maximum is associative, bit for bit: every tree that keeps the order gives the same bits.",
     "max(max(x, y), z) = max(x, max(y, z))", is_associative, {"NaN lost unless first": NAN_LOST}),
    ("commutative", "The maximum is commutative, up to the NaN class.", "max(x, y) = max(y, x)", is_commutative,
     {"the first": ALWAYS_FIRST, "both zeros equal": ZEROS_EQUAL}),
    ("idempotent", "The maximum of a value and itself is the value, bit for bit.", "max(x, x) = x", is_idempotent,
     {"one more": ONE_MORE}),
    ("repeated", "The maximum with an operand that it was taken of before is the same, bit for bit.",
     "max(max(b, x, a), x) = max(b, x, a),  max(x, max(x, y)) = max(x, y)", forgets_repetitions,
     {"one more": ONE_MORE}),
    ("identity", "-Inf is the identity, bit for bit.", "max(-Inf, x) = x = max(x, -Inf)", has_identity,
     {"smaller": SMALLER}),
    ("absorbing", "NaN absorbs, and of two NaNs the first is the result, bit for bit.",
     "NaN(max(x, y)) ⇔ NaN(x) ∨ NaN(y)", absorbs, {"the last NaN": SECOND_NAN, "smaller": SMALLER}),
    ("fold", "A fold over any number of operands gives one of them that none exceeds.",
     "∀N. reduce(max, X) ∈ X ∧ ∀x ∈ X. ¬(x > reduce(max, X))", folds, {"smaller": SMALLER, "the first": ALWAYS_FIRST}),
    ("order-of-operands", "One value is the maximum, up to the NaN class, so no order, bracketing or tree changes it.",
     "reduce(max, X) = tree(max, permuted X)", ignores_order, {"positive numbers not ordered": SHALLOW}),
    ("tree", "The maximum of the maxima of two parts is that of the whole; so several axes are one after another.",
     "max(max(A), max(B)) = max(A ∪ B)", merges, {"smaller": SMALLER, "the first": ALWAYS_FIRST}),
    ("concatenation", "A fold over a list is the maximum of the folds over its parts, bit for bit.",
     "reduce(max, A + B) = max(reduce(max, A), reduce(max, B))", extends, {"NaN lost unless first": NAN_LOST}),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """The maximum of floating-point values; claims about any number of operands are proved for every format at once."""
    for name, statement, formula, claim, mutants in STATED:
        both = list(in_both_forms(f"max.{name}", statement, formula, claim, mutants, sources=CLAIMS, concerns=CONCERNS))
        yield from both[:1] if claim in (is_unique, folds, ignores_order, merges, extends) else both
    yield from in_both_forms(
        "max.commutative-exactly", "The maximum is commutative, bit for bit.", "max(x, y) = max(y, x) on bits",
        is_commutative_on_bits, {}, sources=CLAIMS, expected="refuted", replay=show_two_nans,
        because="Of two NaNs the first is kept, with its bits; the texts do not say which.",
        erratum="special-values-incomplete", concerns=CONCERNS,
    )  # fmt: skip
