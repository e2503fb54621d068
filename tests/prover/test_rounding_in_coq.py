"""The lemmas about rounded sums in Coq have the constants and formulas of the code."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction
from math import log2
from pathlib import Path

import numpy as np
import pytest

from sonnx.numerics.enclosures.arithmetic import FORMATS, SumOrder, rounding_error, sum_error
from tests.support import assumptions

FILE = assumptions.FOLDER / "rounding.v"
TEXT = FILE.read_text("utf-8")
FLOCQ = [Path(folder) / "user-contrib" / "Flocq" for folder in ("/usr/lib/ocaml/coq", "/usr/lib/coq")]
NUMBERS = dict(re.findall(r"Definition (\w+) := \(?(-?\d+)\)?%Z\.", TEXT))


def formula(name: str) -> Callable[..., float]:
    """A definition of real numbers in the Coq file as a function of Python: `let`, `if`, sums and products only."""
    [(names, body)] = re.findall(rf"^Definition {name} \(([\w ]+)(?: : R)?\) :=([^.]*)\.$", TEXT, re.MULTILINE)
    made = " ".join(body.split())
    made = re.sub(r"gamma u (\([^)]*\))", r"gamma(u, \1)", made)
    made = re.sub(r"Rmax (\([^)]*\)) 0", r"max(\1, 0)", made)
    made = re.sub(r"\(if Rlt_dec 1 n then (.*?) else 0\)", r"((\1) if 1 < n else 0)", made)
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
def test_the_condition_on_underflow_holds_for_six_roundings_of_a_term(name: str) -> None:
    """Hypothesis of error_of_sum, in exact arithmetic."""
    assert TEXT.count("(r + 1) * least * (1 + u) <= u ->") == 3
    made = FORMATS[name]
    u, roundings = Fraction(made.unit), 6
    for least in (made.tiny, made.normal):
        assert (roundings + 1) * Fraction(least) * (1 + u) <= u


def test_beyond_six_roundings_the_condition_fails_for_one_format_only() -> None:
    """What docs/trust.md says of float16 with underflow to 0."""
    beyond = {
        (name, kind)
        for name, made in FORMATS.items()
        for kind in ("tiny", "normal")
        if 8 * Fraction(getattr(made, kind)) * (1 + Fraction(made.unit)) > Fraction(made.unit)
    }
    assert beyond == {("float16", "normal")}


def test_the_code_computes_the_bound_of_one_rounding() -> None:
    """Theorem error_of_rounding."""
    assert "Rabs (rounded x - x) <= u * Rabs x + least" in TEXT
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
    shutil.copy(FILE, tmp_path)
    theorems = [name for name, axioms in assumptions.allowed().items() if axioms]
    asking = "\n".join(f"Print Assumptions {name}." for name in theorems)
    (tmp_path / "asking.v").write_text(f"From Sonnx Require Import rounding.\n{asking}\n", "utf-8")
    for name in ("rounding", "asking"):
        done = subprocess.run(["coqc", "-Q", ".", "Sonnx", f"{name}.v"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    answers = assumptions.printed(done.stdout)
    for name, axioms in zip(theorems, answers, strict=True):
        assert axioms <= assumptions.allowed()[name], name
