"""The code of the fast kernels of Max, Min, MaxPool and ArgMax, run on terms, gives the defined values.

`sonnx/prover/symbolic_numpy.py` runs the functions of `sonnx/numerics/maximum.py` and `sonnx/operators/argmax.py`
themselves, on one element of a block of which nothing else is known.  What they use of numpy is an assumption:
bit-vectors for integers, and `numpy_maximum` of `proofs/kernels.py` for floating-point numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import z3

from sonnx.numerics import maximum, order
from sonnx.numerics.formats import Format, format_of
from sonnx.operators import argmax
from sonnx.proofs.float_order import Definitions
from sonnx.proofs.kernels import numpy_maximum, wide
from sonnx.proofs.maximum import largest
from sonnx.prover.float_patterns import SymbolicFormat, bit_format
from sonnx.prover.symbolic_numpy import BlockPath, Cell, Kernel, block_paths
from sonnx.prover.theorem import Mutant, Obligation, Sort, Theorem, mutated

Obligations = Iterator[Obligation]
Changed = dict[str, Callable[..., Any]]
"""Functions of the kernel's module by name, in place of those that run."""
KINDS = {
    "float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16), "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
}  # fmt: skip
HALVES, WHOLES = ("float16", "bfloat16"), ("float32", "float64")
"""The formats that are computed on integers, and those on which numpy's maximum is mended."""


def made_of(kind: np.dtype[Any]) -> Format:
    """What a kernel knows of a format."""
    number_format = format_of(kind)
    assert number_format is not None  # noqa: S101  every kind here has one
    return number_format


def run_combine(function: str) -> Kernel:
    """A kernel of the maximum: made for the format, then run on a block."""

    def kernel(names: dict[str, Any], operands: Sequence[Cell], out: Cell) -> Cell:
        names[function](made_of(out.kind))(operands, out)
        return out

    return kernel


def maximum_paths(
    f: SymbolicFormat, function: str, operands: Sequence[z3.BitVecRef], changed: Changed
) -> Iterator[BlockPath]:
    """What a kernel leaves for the maximum of patterns."""
    asked = iter(range(len(operands)))

    def float_maximum(x: z3.BitVecRef, y: z3.BitVecRef) -> z3.BitVecRef:
        return numpy_maximum(f, x, y, z3.Bool(f"either{next(asked)}"))

    for path in block_paths(maximum, run_combine(function), KINDS[f.name], operands, float_maximum, **changed):
        asked = iter(range(len(operands)))
        yield path


def is_the_maximum(function: str, formats: Sequence[str], changed: Changed | None = None) -> Obligations:
    """Of two and of three operands, for each answer about the block: the defined maximum, bit for bit."""
    for name, count in product(formats, (2, 3)):
        f = bit_format(name)
        operands = [z3.BitVec(f"x{number}", f.width) for number in range(count)]
        wanted = largest(f, Definitions(), *map(wide, operands))
        for number, path in enumerate(maximum_paths(f, function, operands, changed or {}), 1):
            title = f"{name}: {count} operands, answers {number}"
            yield Obligation(title, path.hypotheses, wide(path.value) == wanted)


def run_keys(zeros_are_equal: bool) -> Kernel:
    """The kernel of ArgMax: the integers that it compares."""

    def kernel(names: dict[str, Any], operands: Sequence[Cell], out: Cell) -> Cell:
        number_format = made_of(out.kind)
        keys: Cell = names["_keys"](operands[0].view(number_format.signed), zeros_are_equal, number_format)
        return keys

    return kernel


def keys_are_ordered(changed: Changed | None = None) -> Obligations:
    """Keys of two patterns, for all answers about the blocks of both, are ordered as their places in the order."""
    for name, zeros_are_equal in product(HALVES, (False, True)):
        f = bit_format(name)
        x, y = (z3.BitVec(each, f.width) for each in "xy")
        place = order.equal_zeros_key if zeros_are_equal else order.key
        a, b = (f.value(place, wide(side)) for side in (x, y))
        paths = [
            [*block_paths(argmax, run_keys(zeros_are_equal), KINDS[name], [side], **(changed or {}))] for side in (x, y)
        ]
        zeros = "equal zeros" if zeros_are_equal else "zeros apart"
        for number, (one, other) in enumerate(product(*paths), 1):
            ordered = z3.And((one.value > other.value) == (a > b), (one.value == other.value) == (a == b))
            yield Obligation(f"{name}, {zeros}: answers {number}", (*one.hypotheses, *other.hypotheses), ordered)


LEAST_KEPT = mutated(maximum._by_integers, "np.bitwise_and(M, negative, out=M)", "np.bitwise_or(M, negative, out=M)")
LAST_NAN = mutated(maximum._first_nan, "reversed(X)", "X")
ZEROS_LEFT = mutated(maximum._with_zeros, "== least", "== least and False")
SIGN_CLEARED = mutated(
    maximum._correct_zeros,
    "np.bitwise_or(signs, number_format.sign - 1",
    "np.bitwise_and(signs, number_format.sign - 1",
)
ALL_TURNED = mutated(
    argmax._keys, "np.bitwise_and(signs, number_format.sign - 1", "np.bitwise_or(signs, number_format.sign - 1"
)
BY_INTEGERS = partial(is_the_maximum, "_by_integers", HALVES)
WITH_ZEROS = partial(is_the_maximum, "_with_zeros", WHOLES)
ABOUT_HALVES = (maximum._by_integers, maximum._extremes, maximum._negative_nan, maximum._first_nan)
ABOUT_WHOLES = (maximum._with_zeros, maximum._correct_zeros)
STATED: list[tuple[str, str, str, Callable[..., Obligations], dict[str, Changed], Sort, tuple[Any, ...], str]] = [
    ("code-by-integers", "The kernel of the maximum on integers gives the maximum of two or three patterns, bit for "
     "bit, whatever else its block holds.", "combine(X) = max(X)", BY_INTEGERS,
     {"the least everywhere": {"_by_integers": LEAST_KEPT}, "the last NaN": {"_first_nan": LAST_NAN}}, "bits",
     (*ABOUT_HALVES, order.maximum), ", ".join(HALVES)),
    ("code-with-zeros", "The kernel that mends numpy's maximum gives the maximum of two or three patterns, bit for "
     "bit, whatever else its block holds.", "combine(X) = max(X)", WITH_ZEROS,
     {"zeros left": {"_with_zeros": ZEROS_LEFT}, "the sign cleared": {"_correct_zeros": SIGN_CLEARED}}, "float",
     (*ABOUT_WHOLES, order.maximum), ", ".join(WHOLES)),
    ("code-of-keys", "The integers that the kernel of ArgMax compares have the order of the values, NaN included, "
     "whatever else their block holds.", "keys(x) > keys(y) ⇔ key(x) > key(y)", keys_are_ordered,
     {"all bits turned": {"_keys": ALL_TURNED}}, "bits", (argmax._keys, order.key, order.equal_zeros_key),
     ", ".join(HALVES)),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """The code of the kernels against the definitions."""
    for name, statement, formula, claim, changes, sort, sources, formats in STATED:
        mutants = tuple(Mutant(title, partial(claim, changed=changed)) for title, changed in changes.items())
        yield Theorem(
            f"kernel.{name}", statement, formula, claim, sources, bounds=formats, sort=sort, mutants=mutants,
            because="A formula beside the code may differ from it; here the code runs.",
            concerns=("ArgMax",) if sources[0] is argmax._keys else ("Max", "Min", "MaxPool"),
        )  # fmt: skip
