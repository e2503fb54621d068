"""Witnesses of the order that share nothing with the exporter: a hand-written text, and counting without a solver."""

import importlib
import itertools
from collections import Counter

import numpy as np
import z3

from sonnx.base.resources import folder
from sonnx.numerics import order
from sonnx.proofs import kernels
from tests.support.cases import each_case

TEXT = (folder("proofs") / "witness" / "order.smt2").read_text()
EXPECTED = ["unsat"] * 13 + ["sat", "sat"]
"""The last answer but one is the echo."""
FORMATS = {"float16": (0x8000, 0x7C00), "bfloat16": (0x8000, 0x7F80)}


def test_the_witness_by_z3():
    context = z3.Context()
    said = z3.Z3_eval_smtlib2_string(context.ref(), TEXT).split()
    assert [word.strip('"') for word in said] == EXPECTED


def test_the_witness_by_cvc5():
    cvc5 = importlib.import_module("cvc5")
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("incremental", "true")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, TEXT, "order.smt2")
    said, symbols = [], parser.getSymbolManager()
    while not (command := parser.nextCommand()).isNull():
        said.append(command.invoke(solver, symbols).strip().strip('"'))
    assert [word for word in said if word] == EXPECTED


def places(form: str) -> list[int]:
    return [order.key(pattern, *FORMATS[form]) for pattern in range(1 << 16)]


@each_case(
    ("form", "counts"),
    [("float16", [2046, 1, 31743, 1, 1, 31743, 1]), ("bfloat16", [254, 1, 32639, 1, 1, 32639, 1])],
)
def test_the_classes_counted(form, counts):
    """Line 57, class by class, over all patterns, by numbers and comparisons alone; the third zero has no pattern."""
    sign, infinity = FORMATS[form]
    size = [pattern % sign for pattern in range(1 << 16)]
    class_of = [
        0 if size[p] > infinity else (1 if p < sign else 6) if size[p] == infinity
        else (3 if p < sign else 4) if size[p] == 0 else (2 if p < sign else 5)
        for p in range(1 << 16)
    ]  # fmt: skip
    found = Counter(class_of)
    assert [found[c] for c in range(7)] == counts
    assert sum(counts) == 1 << 16
    by_key = sorted(range(1 << 16), key=lambda p: -places_of[form][p])
    assert [c for c, _ in itertools.groupby(class_of[p] for p in by_key)] == list(range(7))


places_of = {form: places(form) for form in FORMATS}


@each_case("form", FORMATS)
def test_the_key_is_the_order_of_the_numbers(form):
    """Sorted by key, the patterns that are numbers ascend as numpy and ml_dtypes read them."""
    kind = np.float16 if form == "float16" else importlib.import_module("ml_dtypes").bfloat16
    patterns = np.argsort(np.array(places_of[form]), kind="stable").astype(np.uint16)
    patterns = patterns[patterns % FORMATS[form][0] <= FORMATS[form][1]]
    numbers = patterns.view(kind).astype(np.float64)
    assert not np.any(np.isnan(numbers))
    assert np.all(numbers[:-1] <= numbers[1:])
    assert np.sum(numbers[:-1] == numbers[1:]) == 1, "only the zeros share a number"


@each_case("form", FORMATS)
def test_the_formulas_on_all_patterns(form):
    """The formulas of the kernels, as numpy runs them, for each pattern against the special ones."""
    sign, infinity = FORMATS[form]
    place = np.array(places_of[form])
    everything = np.arange(1 << 16, dtype=np.uint16)
    numbers = everything[everything % sign <= infinity]
    for other in (0, 1, infinity - 1, infinity, sign, sign + 1, sign + infinity - 1, sign + infinity):
        wanted = np.where(place[other] > place[numbers], other, numbers).astype(np.uint16)
        bits, same = numbers.view(np.int16), np.full(numbers.shape, other, np.uint16).view(np.int16)
        found = kernels.of_extremes(np.maximum(bits, same), np.minimum(bits, same), 15)
        assert np.array_equal(found.view(np.uint16), wanted)
        keys = [kernels.ordered(each, 15, sign) for each in (bits, same)]
        assert np.array_equal(keys[0] > keys[1], place[numbers] > place[other])
        either = np.where(numbers % sign == 0, same.view(np.uint16), wanted) if other % sign == 0 else wanted
        mended = kernels.with_common_sign(either, numbers & np.uint16(other), sign)
        assert np.array_equal(mended.astype(np.uint16), wanted)
