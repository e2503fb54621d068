"""The lemmas about rounded sums in Coq have the constants, formulas and factors of the code."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from itertools import product, zip_longest
from math import inf, log2, prod
from pathlib import Path

import numpy as np
import pytest

from sonnx.numerics.enclosures.arithmetic import (
    FORMATS,
    Factors,
    SumOrder,
    enlargement,
    flushed_operands,
    rounding_error,
    sum_error,
)
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from tests.support import assumptions

FILES = [assumptions.FOLDER / f"{name}.v" for name in ("rounding", "operands", "factors", "collected_sums")]
TEXT = "\n".join(file.read_text("utf-8") for file in FILES)
FLOCQ = [Path(folder) / "user-contrib" / "Flocq" for folder in ("/usr/lib/ocaml/coq", "/usr/lib/coq")]
NUMBERS = dict(re.findall(r"Definition (\w+) := \(?(-?\d+)\)?%Z\.", TEXT))


def formula(name: str) -> Callable[..., float]:
    """A definition of real numbers in the Coq file as a function of Python: `let`, `if`, sums and products only."""
    [(names, body)] = re.findall(rf"^Definition {name} \(([\w ]+)(?: : R)?\) :=([^.]*)\.$", TEXT, re.MULTILINE)
    made = " ".join(body.split())
    made = re.sub(r"gamma u (\([^)]*\))", r"gamma(u, \1)", made)
    made = re.sub(r"Rmax (\([^)]*\)) 0", r"max(\1, 0)", made)
    made = re.sub(r"\(if Rlt_dec 1 n then (.*?) else 0\)", r"((\1) if 1 < n else 0)", made)
    made = re.sub(r"if Rle_dec (\(.*\)) u then 1 else (.*)", r"1 if \1 <= u else \2", made)
    steps = made.split(" in ")
    lets = [re.fullmatch(r"let (\w+) := (.*)", step) for step in steps[:-1]]
    known = {"gamma": lambda u, n: n * u / (1 - n * u), "max": max}

    def value(*arguments: float) -> float:
        scope = dict(zip(names.split(), arguments, strict=True))
        for step in lets:
            assert step is not None, body
            scope[step[1]] = eval(step[2], known, scope)
        return float(eval(steps[-1], known, scope))

    return value


@pytest.mark.parametrize("name", FORMATS)
def test_the_formats_have_the_constants_of_the_code(name: str) -> None:
    made, precision, exponent = FORMATS[name], int(NUMBERS[f"{name}_precision"]), int(NUMBERS[f"{name}_exponent"])
    assert made.unit == 2.0**-precision
    assert log2(made.tiny) == exponent
    assert log2(made.normal) == exponent + precision - 1


def test_the_constants_of_formats_stand_for_these_numbers() -> None:
    assert "Definition unit (precision : Z) := bpow radix2 (- precision)." in TEXT
    assert "Definition tiny (exponent : Z) := bpow radix2 exponent." in TEXT
    assert "Definition normal (precision exponent : Z) := bpow radix2 (exponent + precision - 1)." in TEXT
    assert "Definition gamma (n : R) := n * u / (1 - n * u)." in TEXT


@pytest.mark.parametrize("name", FORMATS)
def test_the_code_computes_the_bound_of_the_theorem(name: str) -> None:
    """At least the formula in exact arithmetic, and nearly the same."""
    made, drawn = FORMATS[name], random.Random(name)
    any_order, of_depth = formula("sum_error"), formula("sum_error_of_depth")
    for _ in range(200):
        terms, scalings = drawn.choice([1, 2, 3, drawn.randint(1, 2000)]), drawn.randint(0, 5)
        if (terms + scalings) * made.unit >= 1:
            continue
        size, share = 10.0 ** drawn.uniform(-8, 4), drawn.random()
        lost = made.tiny * drawn.choice([1.0, 7.0])
        for order in (SumOrder("any"), SumOrder("pairwise")):
            absolute, result, depth = np.array([size]), np.array([size * share]), order.depth(terms)
            [code] = sum_error(made, order, terms, scalings, absolute, result, lost, depth)
            stated = any_order(made.unit, terms, scalings, size, size * share, lost)
            if order.kind != "any":
                stated = min(stated, of_depth(made.unit, terms, scalings, depth, size, lost))
            assert stated * (1 - 2.0**-48) <= code <= stated * (1 + 2.0**-44) + 2.0**-1060


@pytest.mark.parametrize("name", FORMATS)
def test_the_code_computes_how_underflow_enlarges(name: str) -> None:
    """`enlargement`, and that the least normal number is at most the unit, which the theorems ask for."""
    made, stated = FORMATS[name], formula("enlargement")
    assert made.normal <= made.unit
    for least in (made.tiny, made.normal):
        for scalings in (0, 1, 6, 6.75, 7, 7.25, 40, 1000):
            assert enlargement(made.unit, least, 6) == 1
            value = stated(made.unit, least, scalings)
            assert value <= enlargement(made.unit, least, scalings) <= value * (1 + 2.0**-48)


def test_beyond_six_roundings_underflow_to_zero_enlarges_in_one_format_only() -> None:
    enlarged = {
        (name, kind)
        for name, made in FORMATS.items()
        for kind in ("tiny", "normal")
        if enlargement(made.unit, getattr(made, kind), 7) > 1
    }
    assert enlarged == {("float16", "normal")}
    assert enlargement(2.0**-11, 2.0**-14, 2.0**14) == inf


def test_the_code_adds_what_the_theorem_does_for_operands_that_become_zero() -> None:
    stated = formula("flushed_operands")
    for terms, factors, lost in ((1, 1, 2.0**-14), (40, 3, 2.0**-120), (4096, 7.25, 2.0**-100)):
        assert flushed_operands(terms, factors, lost) == stated(terms, factors, lost)


def test_sums_under_each_hypotheses_have_the_bounds_of_the_theorems() -> None:
    """error_of_collected_sum and error_of_flushed_collected_sum, with the factors of a term."""
    any_order, enlarged, operands = formula("sum_error"), formula("enlargement"), formula("flushed_operands")
    for name, (made, terms, scalings) in product(
        ("ieee-any", "onnxruntime-cpu"), product(FORMATS.values(), (1, 2, 40), (0, 2, 9))
    ):
        hypotheses, factors = hypotheses_named(name), Factors.of(3.0, 700.0).scaled(40.0, everywhere=True)
        least = made.normal if hypotheses.flush else made.tiny
        lost = (factors.after_operand if hypotheses.flush else factors.after_rounding) * least
        stated = any_order(made.unit, terms, scalings, 5.0, 2.0, lost * enlarged(made.unit, least, scalings))
        if hypotheses.flush:
            stated += operands(terms, max(3, scalings + 1), lost)
        [code] = hypotheses.sum(made.name, terms, scalings, np.array([5.0]), np.array([2.0]), factors)
        assert stated * (1 - 2.0**-48) <= code <= stated * (1 + 2.0**-44) + 2.0**-1060


COMBINED = {
    "of_operands": "Definition of_operands (numbers : list R) := falling (map (Rmax 1) numbers).",
    "times": "Definition times (one two : list R) := falling (one ++ two).",
    "scaled": "Definition scaled (sizes : list R) (size : R) (steps : nat) := "
    "falling (sizes ++ Rmax 1 size :: repeat 1 (steps - 1)).",
    "either": "Definition either (one two : list R) := larger one two.",
    "all_but": "Definition all_but (out : nat) (sizes : list R) := products (firstn (length sizes - out) sizes).",
    "after_rounding": "Definition after_rounding := all_but 2.",
    "after_operand": "Definition after_operand := all_but 1.",
}
"""How the Coq file combines sizes; `falling` and `larger` are proved to be what their names say (`falling_falls`,
`falling_permuted`, `larger_first`)."""


def test_the_code_combines_factors_as_the_definitions_of_the_theorems() -> None:
    for text in COMBINED.values():
        assert text in TEXT

    def falling(sizes: list[float]) -> list[float]:
        return sorted(sizes, reverse=True)

    def all_but(out: int, sizes: Sequence[float]) -> float:
        return prod(sizes[: max(len(sizes) - out, 0)])

    drawn = random.Random(1)
    for _ in range(300):
        numbers = [[drawn.choice([0.25, 1.0, 2.0, 3.0, 700.0]) for _ in range(drawn.randint(0, 4))] for _ in range(2)]
        one, two = (Factors.of(*part) for part in numbers)
        sizes = [falling([max(1, number) for number in part]) for part in numbers]
        assert [list(one.sizes), list(two.sizes)] == sizes
        assert list(one.times(two).sizes) == falling(sizes[0] + sizes[1])
        size, steps = drawn.choice([0.5, 2.0, 40.0]), drawn.choice([1, 2])
        scaled = one.scaled(size, everywhere=drawn.random() < 0.5, steps=steps)
        assert list(scaled.sizes) == falling([*sizes[0], max(1, size), *[1.0] * (steps - 1)])
        assert list(one.or_(two).sizes) == [max(pair) for pair in zip_longest(*sizes, fillvalue=1.0)]
        for factors in (one, scaled, one.times(two)):
            for out, code in ((2, factors.after_rounding), (1, factors.after_operand)):
                assert all_but(out, factors.sizes) <= code <= all_but(out, factors.sizes) * (1 + 2.0**-39)


def test_the_code_computes_the_bound_of_one_rounding() -> None:
    """Theorem error_of_rounding."""
    assert "rounded x v -> Rabs (v - x) <= u * Rabs x + least." in TEXT
    for made in FORMATS.values():
        [code] = rounding_error(made, np.array([3.0]), made.tiny)
        stated = made.unit * 3 + made.tiny
        assert stated <= code <= stated * (1 + 2.0**-49)


def test_every_theorem_that_may_assume_something_is_asked_about() -> None:
    assert sorted(assumptions.asked()) == sorted(assumptions.allowed())


def test_an_axiom_that_is_not_allowed_is_reported() -> None:
    names = assumptions.asked()
    closed = [assumptions.CLOSED] * len(names)
    assert assumptions.faults("\n".join(closed)) == []
    closed[0] = "Axioms:\nown_axiom\n  : forall P : Prop,\n    P"
    assert assumptions.faults("\n".join(closed)) == [f"{names[0]} assumes own_axiom"]
    assert assumptions.faults("") == [f"{len(names)} theorems are asked about, 0 are answered"]


@pytest.mark.campaign
@pytest.mark.skipif(not shutil.which("coqc"), reason="coqc is not installed; `make formal` needs the package coq")
@pytest.mark.skipif(not any(map(Path.exists, FLOCQ)), reason="Flocq is not installed, the package libcoq-flocq")
def test_the_theorems_about_rounding_compile_and_assume_what_they_may(tmp_path: Path) -> None:
    """`make formal` does the same for all theorems."""
    for file in FILES:
        shutil.copy(file, tmp_path)
    theorems = [name for name, axioms in assumptions.allowed().items() if axioms]
    asking = "\n".join(f"Print Assumptions {name}." for name in theorems)
    names = [file.stem for file in FILES]
    (tmp_path / "asking.v").write_text(f"From Sonnx Require Import {' '.join(names)}.\n{asking}\n", "utf-8")
    for name in (*names, "asking"):
        done = subprocess.run(["coqc", "-Q", ".", "Sonnx", f"{name}.v"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    answers = assumptions.printed(done.stdout)
    for name, axioms in zip(theorems, answers, strict=True):
        assert axioms <= assumptions.allowed()[name], name
