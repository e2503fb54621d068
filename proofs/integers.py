"""The integer types: numpy's comparison of signed and unsigned patterns is the order of the integers they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import z3

from sonnx.prover.symbolic_execution import Term
from sonnx.prover.theorem import Mutant, Obligation, Theorem

CONCERNS = ("Max", "ReduceMax")

WIDTHS = (8, 16, 32, 64)


def signed(x: Term, y: Term) -> z3.BoolRef:
    """X > y for int8 to int64."""
    return x > y


def unsigned(x: Term, y: Term) -> z3.BoolRef:
    """X > y for uint8 to uint64."""
    return z3.UGT(x, y)


def value(x: Term, is_signed: bool) -> Term:
    """The integer a pattern stands for, in one more bit, which holds signed and unsigned ones."""
    return z3.SignExt(1, x) if is_signed else z3.ZeroExt(1, x)


def largest(x: Term, y: Term, above: Callable[..., z3.BoolRef]) -> Term:
    """What np.maximum gives for integers."""
    return z3.If(above(y, x), y, x)


Kinds = tuple[tuple[str, Callable[..., z3.BoolRef], bool], ...]
KINDS: Kinds = (("int", signed, True), ("uint", unsigned, False))
EXCHANGED: Kinds = (("int", unsigned, True), ("uint", signed, False))


def _each(kinds: Kinds, names: str) -> Iterator[tuple[str, Callable[..., z3.BoolRef], bool, list[Term]]]:
    for kind, above, is_signed in kinds:
        for width in WIDTHS:
            yield f"{kind}{width}", above, is_signed, z3.BitVecs(names, width)


def compares(kinds: Kinds = KINDS) -> Iterator[Obligation]:
    for kind, above, is_signed, (x, y) in _each(kinds, "x y"):
        yield Obligation(kind, (), above(x, y) == (value(x, is_signed) > value(y, is_signed)))


def is_maximum(kinds: Kinds = KINDS) -> Iterator[Obligation]:
    for kind, above, is_signed, (x, y) in _each(kinds, "x y"):
        top = largest(x, y, above)
        bound = [value(top, is_signed) >= value(side, is_signed) for side in (x, y)]
        yield Obligation(kind, (), z3.And(*bound, z3.Or(top == x, top == y)))


def is_semilattice(kinds: Kinds = KINDS) -> Iterator[Obligation]:
    for kind, above, is_signed, (x, y, z) in _each(kinds, "x y z"):
        left, right = largest(largest(x, y, above), z, above), largest(x, largest(y, z, above), above)
        least = z3.BitVecVal(1 << x.size() - 1 if is_signed else 0, x.size())
        yield Obligation(f"{kind}: associative", (), left == right)
        yield Obligation(f"{kind}: commutative", (), largest(x, y, above) == largest(y, x, above))
        yield Obligation(f"{kind}: idempotent", (), largest(x, x, above) == x)
        yield Obligation(f"{kind}: identity is the least", (), largest(least, x, above) == x)


def folds(of_two: Callable[[Term, Term], Term] = lambda x, y: z3.If(y > x, y, x)) -> Iterator[Obligation]:
    """Any number of integers: `member` is any one read before."""
    member, best, x, other = z3.Ints("member best x other")
    after = of_two(best, x)
    yield Obligation("step: bounds", (member <= best,), z3.And(member <= after, x <= after))
    yield Obligation("step: one of them", (), z3.Or(after == best, after == x))
    yield Obligation("unique", (best <= other, other <= best), best == other)


def count_from_last_index(limit: int = 2147483647) -> Iterator[Obligation]:
    """The seeds write X0 to XL with L below 2147483647, ONNX counts N inputs."""
    last = z3.Int("L")
    yield Obligation("count", (), z3.And(last >= 0, last < 2**31 - 1) == z3.And(last + 1 >= 1, last + 1 <= limit))


def count_bound_by_file_size(each: int = 2) -> Iterator[Obligation]:
    """A node that a file of less than 2 GiB holds: each input takes a tag and a length, so two bytes at least."""
    count, size = z3.Ints("N size")
    known = (count >= 0, size >= each * count, size < 2**31)
    yield Obligation("count", known, count < 2147483647)


def theorems() -> Iterator[Theorem]:
    """Integers."""
    about = "int8 to int64, uint8 to uint64"
    exchanged = (Mutant("signs exchanged", partial(compares, EXCHANGED)),)
    yield Theorem("integers.order", "Comparing patterns compares the integers they stand for.",
                  "x > y ⇔ value(x) > value(y)", compares, (signed, unsigned, value), bounds=about, sort="bits",
                  mutants=exchanged, concerns=CONCERNS)  # fmt: skip
    yield Theorem("integers.maximum", "The maximum of two is one of them and neither exceeds it.",
                  "max(x, y) ≥ x, y ∧ max(x, y) ∈ {x, y}", is_maximum, (largest,), bounds=about, sort="bits",
                  mutants=(Mutant("signs exchanged", partial(is_maximum, EXCHANGED)),), concerns=CONCERNS)  # fmt: skip
    least = tuple((kind, above, not is_signed) for kind, above, is_signed in KINDS)
    yield Theorem("integers.semilattice", "The maximum is associative, commutative, idempotent; the least is identity.",
                  "max(max(x, y), z) = max(x, max(y, z)), …", is_semilattice, (largest,), bounds=about, sort="bits",
                  mutants=(Mutant("another least", partial(is_semilattice, least)),), concerns=CONCERNS)  # fmt: skip
    yield Theorem(
        "integers.fold",
        "A fold of any number of integers is the mathematical maximum, in any order.",
        "reduce(max, X) = max X",
        folds,
        mutants=(
            Mutant("the smaller", partial(folds, lambda x, y: z3.If(y > x, x, y))),
            Mutant("one more", partial(folds, lambda x, y: z3.If(y > x, y, x) + 1)),
        ),
        concerns=CONCERNS,
    )
    yield Theorem(
        "integers.count-from-last-index",
        "L from 0 below 2147483647 means 1 to 2147483647 inputs.",
        "0 ≤ L < 2^31 - 1 ⇔ 1 ≤ L + 1 ≤ 2147483647",
        count_from_last_index,
        ("SONNX Max, second edition, line 20", "ONNX Max-13, line 36"),
        mutants=(Mutant("one less", partial(count_from_last_index, 2147483646)),),
        concerns=CONCERNS,
    )
    yield Theorem(
        "integers.count-bound-by-file-size",
        "No file that protobuf reads breaks the bound on inputs.",
        "2 N ≤ size < 2^31 ⇒ N < 2147483647",
        count_bound_by_file_size,
        ("ONNX Max-13, line 36", "protobuf: a message is smaller than 2 GiB"),
        erratum="input-count-out-of-reach",
        mutants=(Mutant("inputs without bytes", partial(count_bound_by_file_size, 0)),),
        concerns=CONCERNS,
    )
