"""A kernel run on one element as a term computes what it computes of arrays, whatever the rest of the block holds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import z3

from sonnx.numerics import maximum
from sonnx.operators import argmax
from sonnx.proofs import kernel_code, kernels
from sonnx.prover.float_patterns import bit_format
from sonnx.prover.symbolic_execution import Unsupported
from sonnx.prover.symbolic_numpy import Cell, block_paths
from tests.support.cases import each_case

CASES = [("_by_integers", name, count) for name in kernel_code.HALVES for count in (2, 3)]


def ground(term: z3.ExprRef, names: Sequence[str], values: Sequence[int], width: int) -> Any:
    """A term with numbers for its variables."""
    known = [
        (z3.BitVec(name, width), z3.BitVecVal(int(value), width)) for name, value in zip(names, values, strict=True)
    ]
    return z3.simplify(z3.substitute(term, *known))


@each_case(("function", "name", "count"), CASES)
def test_a_block_gives_for_each_element_what_a_path_gives(function: str, name: str, count: int) -> None:
    """Random blocks of few patterns: of the paths whose hypotheses hold, all give the element that the kernel gives."""
    chance, kind = random.Random(f"{name}{count}"), kernel_code.KINDS[name]
    made, f, names = kernel_code.made_of(kind), bit_format(name), [f"x{number}" for number in range(count)]
    pool = [
        0,
        made.sign,
        made.infinity,
        made.sign + made.infinity,
        made.infinity + 1,
        made.sign + made.infinity + 2,
        1,
        99,
    ]
    paths = list(kernel_code.maximum_paths(f, function, [z3.BitVec(each, f.width) for each in names], {}))
    for _ in range(4):
        bits = [np.array([chance.choice(pool) for _ in range(3)], made.unsigned) for _ in names]
        out = np.empty(3, kind)
        getattr(maximum, function)(made)([each.view(kind) for each in bits], out)
        for place in range(3):
            values = [int(each[place]) for each in bits]
            met = [
                path
                for path in paths
                if all(z3.is_true(ground(each, names, values, f.width)) for each in path.hypotheses)
            ]
            given = {ground(path.value, names, values, f.width).as_long() for path in met}
            assert given == {int(out.view(made.unsigned)[place])}, (values, place)


def test_an_answer_about_the_block_says_nothing_of_this_element() -> None:
    """Both answers to each question are followed; only "none" is a hypothesis."""
    x = z3.BitVec("x", 16)
    paths = list(block_paths(argmax, kernel_code.run_keys(False), kernel_code.KINDS["float16"], [x]))
    assert sorted(len(path.hypotheses) for path in paths) == [0, 1, 2]
    [unknown] = [path for path in paths if not path.hypotheses]
    assert z3.is_true(z3.simplify(z3.substitute(unknown.value, (x, z3.BitVecVal(0x7C01, 16))) == 0x7FFF))


def test_what_has_no_counterpart_is_refused() -> None:
    x, kind = z3.BitVec("x", 16), kernel_code.KINDS["float16"]

    def refused(does: Any) -> None:
        def kernel(names: dict[str, Any], operands: Sequence[Cell], out: Cell) -> Cell:
            does(names["np"], operands[0], operands[0].view(np.dtype("i2")))
            return out

        with pytest.raises(Unsupported):
            list(block_paths(argmax, kernel, kind, [x]))

    refused(lambda numpy, real, integer: numpy.sort(real))
    refused(lambda numpy, real, integer: numpy.maximum(real, real, out=real))
    refused(lambda numpy, real, integer: numpy.subtract(real, real, out=real))
    refused(lambda numpy, real, integer: real > 3)
    refused(lambda numpy, real, integer: real.view(np.dtype("i4")))
    refused(lambda numpy, real, integer: numpy.right_shift(real.view(np.dtype("u2")), 3, out=integer))
    refused(lambda numpy, real, integer: numpy.maximum.reduce(real, axis=None))
    refused(lambda numpy, real, integer: numpy.bitwise_and.reduce(integer, axis=None))
    refused(lambda numpy, real, integer: bool(numpy.minimum.reduce(integer, axis=None) > 3))
    refused(lambda numpy, real, integer: bool(numpy.maximum.reduce(integer, axis=None) < 3))
    refused(lambda numpy, real, integer: bool(numpy.minimum.reduce(integer, axis=None) == 3))


def test_the_least_of_two_integers() -> None:
    """Signed and unsigned, as numpy has them."""
    x, y = (z3.BitVec(name, 16) for name in "xy")

    def kernel(kind: str) -> Any:
        def run(names: dict[str, Any], operands: Sequence[Cell], out: Cell) -> Cell:
            one, other = (each.view(np.dtype(kind)) for each in operands)
            names["np"].minimum(one, other, out=out)
            return out

        return run

    for kind in ("i2", "u2"):
        [path] = block_paths(argmax, kernel(kind), kernel_code.KINDS["float16"], [x, y])
        for values in ((1, 0xFFFF), (0x8000, 0x7FFF), (5, 5), (0xFFFF, 0)):
            wanted = np.minimum(*np.array(values, np.uint16).view(kind)[:, None]).view(np.uint16)
            assert ground(path.value, "xy", values, 16).as_long() == int(wanted[0]), (kind, values)


@each_case("change", ["none", "another shift"])
def test_the_copied_formulas_are_those_of_the_code(change: str) -> None:
    """`kernels.of_extremes` and `kernels.ordered` against the code on every pattern; a change of either shows."""
    x, y = (z3.BitVec(name, 16) for name in "xy")
    signed = x > y
    greatest, least = z3.If(signed, x, y), z3.If(signed, y, x)
    f = bit_format("float16")
    formula = kernels.of_extremes(greatest, least, 15 if change != "another shift" else 14)
    [first, *_] = kernel_code.maximum_paths(f, "_by_integers", [x, y], {})
    solver = z3.Solver()
    solver.add(*first.hypotheses, first.value != formula)
    assert (solver.check() == z3.sat) is (change == "another shift")
