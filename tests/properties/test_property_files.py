"""Properties in VNN-LIB and TOML: what they mean, and what is refused with which sentence."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from sonnx.base.errors import BadInput
from sonnx.model.reader import read
from sonnx.properties.property import Atom, rows_of
from sonnx.properties.requirements import largest, property_of_toml
from sonnx.properties.vnnlib import property_of_vnnlib
from tests.support.cases import each_case

TEXT = (
    '<ir_version: 9, opset_import: ["" : 13]> g (float[2] x, float[1] z) => (float[2] y) { s = Add(x, z) y = Relu(s) }'
)
MODEL = read(onnx.parser.parse_model(TEXT).SerializeToString())
DECLARED = "".join(f"(declare-const {name} Real)\n" for name in ("X_0", "X_1", "X_2", "Y_0", "Y_1"))
BOX = "".join(f"(assert (<= X_{index} 1.0))\n(assert (>= X_{index} -0.1))\n" for index in range(3))
NO_NUMBERS = (
    "+1", "1.", ".5", "007", "1e", "0x10", "1_000", "1/2", "Y_00", "\u0663", "\uff11", "1.\u0665", "Y_\u0661",
)  # fmt: skip


def atoms(text: str) -> list[list[tuple[Atom, ...]]]:
    return [list(task.unsafe) for task in property_of_vnnlib(DECLARED + text, MODEL, "p.vnnlib").tasks]


def atom(bound: object, **coefficients: int) -> Atom:
    return Atom(tuple((int(name[1:]), Fraction(factor)) for name, factor in coefficients.items()), Fraction(str(bound)))


@each_case(
    ("text", "unsafe"),
    [
        ("(assert (<= Y_0 Y_1))", [(atom(0, y0=1, y1=-1),)]),
        ("(assert (>= Y_0 1.5))", [(atom(-1.5, y0=-1),)]),
        ("(assert (<= 2 Y_1)) (assert (<= Y_0 3))", [(atom(-2, y1=-1), atom(3, y0=1))]),
        ("(assert (or (<= Y_0 1) (>= Y_1 0.5)))", [(atom(1, y0=1),), (atom(-0.5, y1=-1),)]),
        (
            "(assert (or (and (<= Y_0 1) (<= Y_1 1)) (<= Y_1 -1e1)))",
            [(atom(1, y0=1), atom(1, y1=1)), (atom(-10, y1=1),)],
        ),
        ("(assert (<= (+ (* 2 Y_0) (- Y_1) 1) (- Y_0 3)))", [(atom(-4, y0=1, y1=-1),)]),
        ("; a remark (with a parenthesis\n(assert (<= (* Y_0 3) 1))", [(atom(1, y0=3),)]),
        ("(assert ; in a formula\n (<= Y_0 ; )\n 1)) ; the last line has no end", [(atom(1, y0=1),)]),
        ("(assert (<= Y_0 1));", [(atom(1, y0=1),)]),
        ("(assert (<= Y_0 1)) ; old line ends\r(assert (<= Y_1 2))", [(atom(1, y0=1), atom(2, y1=1))]),
        ("(assert (or (<= Y_0 1) (and (>= X_0 2) (<= Y_1 1))))", [(atom(1, y0=1),)]),
        ("(assert (or (<= Y_0 1) (and (<= 1 0) (<= Y_1 1))))", [(atom(1, y0=1),)]),
        ("(assert (and (<= Y_1 Y_1) (<= Y_0 1) (<= 0 0.5)))", [(atom(1, y0=1),)]),
        ("(assert (<= Y_0 Y_0))", [(atom(0),)]),
        ("(assert (<= Y_0 (- Y_0 1e-300)))", []),
        ("(assert (<= Y_0 1e-05))", [(atom("0.00001", y0=1),)]),
    ],
)
def test_formulas_in_disjunctive_form(text: str, unsafe: list[tuple[Atom, ...]]) -> None:
    assert atoms(BOX + text) == [unsafe]


def test_boxes_of_a_disjunction_are_tasks_of_their_own() -> None:
    text = "(assert (>= X_0 -1)) (assert (<= X_1 0.5)) (assert (>= X_1 0.25)) (assert (<= X_2 0)) (assert (>= X_2 0))"
    text += "(assert (or (and (<= X_0 0) (<= Y_0 1)) (and (<= X_0 1) (<= Y_1 2)) (and (<= X_0 0) (<= Y_1 3))))"
    first, second = property_of_vnnlib(DECLARED + text, MODEL, "p.vnnlib").tasks
    assert [each.box["x"].high.tolist() for each in (first, second)] == [[0, 0.5], [1, 0.5]]
    assert first.box["x"].low.tolist() == [-1, 0.25]
    assert first.box["z"].low.tolist() == first.box["z"].high.tolist() == [0]
    assert (first.unsafe, second.unsafe) == (((atom(1, y0=1),), (atom(3, y1=1),)), ((atom(2, y1=1),),))


def test_ends_are_numbers_of_the_element_type_inside_the_interval() -> None:
    [task] = property_of_vnnlib(DECLARED + BOX + "(assert (<= Y_0 0))", MODEL, "p.vnnlib").tasks
    low = float(task.box["x"].low[0])
    assert low == float(np.float32(low))
    assert Fraction(low) >= Fraction(-1, 10) > Fraction(float(np.nextafter(np.float32(low), np.float32(-1))))


@each_case(
    ("text", "sentence"),
    [
        ("(assert (<= Y_0 1)", "line 12: a parenthesis is not closed"),
        ("(assert (<= Y_0 1)))", "line 12: a parenthesis closes that was not opened"),
        ("assert", "line 12: 'assert' stands outside parentheses"),
        ("\n(assert (< Y_0 1))", "p.vnnlib, line 13: VNN-LIB 1.0 compares with <= and >=, not with <"),
        ("(assert (<= Y_0 Y_7))", "line 12: Y_7 is not declared"),
        ("(assert (<= (* Y_0 Y_1) 1))", "(* Y_0 Y_1) is not linear"),
        ("(assert (<= Y_0 1 2))", "<= compares two terms"),
        ("(assert (<= Y_0 one))", "'one' is not a number, and not X_I or Y_J"),
        ("(assert (<= Y_0 nan))", "'nan' is not a number"),
        *((f"(assert (<= Y_0 {word}))", f"'{word}' is not a number, and not X_I or Y_J") for word in NO_NUMBERS),
        ("(assert (<= Y_0\u00a01))", "<= compares two terms"),
        ("(assert (<= Y_0 1e400))", "line 12: '1e400' is beyond the numbers of type double"),
        (f"(assert (<= Y_0 1{'0' * 400}))", "is beyond the numbers of type double"),
        ("(assert (<= Y_0 1e99999999999))", "has more than 1000 digits, or more than 3 in its exponent"),
        (f"(assert (<= Y_0 0.{'3' * 5000}))", "has more than 1000 digits, or more than 3 in its exponent"),
        ("(assert Y_0)", "Y_0 is not a formula"),
        ("(assert (or))", "(or) is not a formula"),
        ("(assert (not (<= Y_0 1)))", "(not (<= Y_0 1)) is not a formula of and, or, <= and >="),
        ("(check-sat)", "a command is (declare-const NAME Real) or (assert FORMULA)"),
        ("(declare-const X_0 Int)", "a declaration names X_I or Y_J, of type Real"),
        ("(declare-const X_9 Real)", "the model has 3 input elements; the property declares X_9"),
        ("(assert (<= (- X_0 X_1) 0))", "inputs are compared with constants only; X_0, X_1 stand in one comparison"),
        ("(assert (<= X_0 Y_0))", "inputs are compared with constants only; X_0, Y_0 stand in one comparison"),
        ("", "a case of the property asserts nothing about the outputs"),
        ("(assert (<= X_1 -0.5))", "the box is empty: X_1 is at least -0.1 and at most -0.5"),
        ("(" * 300, "parentheses nest more than 200 deep"),
        (
            "(assert (and " + " ".join("(or (<= Y_0 1) (<= Y_1 1))" for _ in range(40)) + "))",
            "a formula has more than 100000 cases",
        ),
    ],
)
def test_what_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        atoms(BOX + text)
    assert sentence in str(error.value)


def test_an_input_that_is_fixed_to_a_decimal_is_rounded_on_request_only() -> None:
    fixed = "(assert (<= X_0 0.1))(assert (>= X_0 0.1))" + BOX + "(assert (<= Y_0 0))"
    with pytest.raises(BadInput, match=r"X_0 is 0\.1, which is not a number of type float; --round-inputs takes"):
        property_of_vnnlib(DECLARED + fixed, MODEL, "p")
    stated = property_of_vnnlib(DECLARED + fixed, MODEL, "p", round_inputs=True)
    assert stated.rounded_inputs == 1
    assert stated.tasks[0].box["x"].low[0] == stated.tasks[0].box["x"].high[0] == float(np.float32(0.1))
    beyond = fixed.replace("0.1", "1e39").replace("X_0 1.0", "X_0 1e39")
    with pytest.raises(BadInput, match="X_0 is 1e\\+39, beyond the numbers of type float"):
        property_of_vnnlib(DECLARED + beyond, MODEL, "p", round_inputs=True)


def test_cases_with_an_empty_box_are_counted() -> None:
    text = "(assert (or (and (>= X_0 2) (<= Y_0 0)) (and (<= X_0 0.5) (<= Y_1 0)) (and (>= X_0 3) (<= Y_0 0))))"
    stated = property_of_vnnlib(DECLARED + BOX + text, MODEL, "p")
    assert (stated.empty_boxes, len(stated.tasks)) == (2, 1)


@each_case(
    ("coefficients", "are_exact"),
    [
        (("0.1", "-0.3"), True),
        (("0.5", "-3"), True),
        (("1e-320", "1e300"), False),
        (("0.1234567890123456789", "1e-7"), False),
    ],
)
def test_coefficients_are_scaled_or_their_rounding_is_counted(coefficients: tuple[str, str], are_exact: bool) -> None:
    exact = [Fraction(each) for each in coefficients]
    found = rows_of([Atom(tuple(enumerate(exact)), Fraction(7))], 2)
    scale = found.bounds[0] / 7
    assert scale > 0
    assert bool(found.off.any()) is not are_exact
    assert found.off.max() <= np.abs(found.rows).max() * 2.0**-53
    for near, off, stated in zip(found.rows[0], found.off[0], exact, strict=True):
        assert abs(Fraction(float(near)) - scale * stated) <= Fraction(float(off))


def test_a_symbolic_batch_is_bound_to_one_row() -> None:
    model = read(onnx.parser.parse_model(TEXT.replace("float[2] x", "float[N, 2, K] x")).SerializeToString())
    with pytest.raises(BadInput, match=r"a property needs a shape in numbers: add --bind N=1 --bind K=NUMBER$"):
        property_of_vnnlib(DECLARED + BOX, model, "p")


def test_missing_bounds_and_declarations_are_named() -> None:
    for text, sentence in (
        (DECLARED + BOX.replace("(assert (>= X_2 -0.1))", ""), "p: X_2 has no lower bound"),
        (
            DECLARED.replace("(declare-const Y_1 Real)", "") + BOX,
            "the model has 2 output elements; the property does",
        ),
    ):
        with pytest.raises(BadInput) as error:
            property_of_vnnlib(text, MODEL, "p")
        assert sentence in str(error.value)


# ------------------------------------------------------------------ TOML


def test_a_single_element_is_not_the_largest() -> None:
    with pytest.raises(BadInput, match="the output has one element: there is no other"):
        largest(0, 1)


PLACE = 'input = ["x=[-1,1]", "z=[0,0.5]"]\n'


def of_toml(tmp_path: Path, text: str) -> list[tuple[Atom, ...]]:
    (tmp_path / "p.toml").write_text(text)
    [task] = property_of_toml(tmp_path / "p.toml", MODEL, lambda name: np.load(tmp_path / name)).tasks
    assert task.box["z"].high.tolist() == [0.5]
    return list(task.unsafe)


@each_case(
    ("text", "unsafe"),
    [
        ("[[require]]\nlargest = 1", [(atom(0, y1=1, y0=-1),)]),
        ("[[require]]\noutput = 0\nbelow = 1.5", [(atom(-1.5, y0=-1),)]),
        ("[[require]]\noutput = 1\nabove = -2", [(atom(-2, y1=1),)]),
        ("[[require]]\ndifference = [1, 0]\nabove = 0\nbelow = 1", [(atom(-1, y1=-1, y0=1),), (atom(0, y1=1, y0=-1),)]),
        ("[[require]]\nlargest = 0\n[[require]]\noutput = 0\nbelow = 9", [(atom(0, y0=1, y1=-1),), (atom(-9, y0=-1),)]),
    ],
)
def test_requirements_in_words(text: str, unsafe: list[tuple[Atom, ...]], tmp_path: Path) -> None:
    assert of_toml(tmp_path, PLACE + text) == unsafe


@each_case(
    ("text", "sentence"),
    [
        (PLACE, "p.toml has the keys input, a list of texts NAME=BOX, and require"),
        ('input = "x"\n[[require]]\nlargest = 0', "input is a list of texts"),
        (PLACE + "[[require]]\nlargest = 2", "requirement 1: the output has the elements 0 to 1, not 2"),
        (PLACE + "[[require]]\noutput = 0", "requirement 1 has largest, or output or difference with below or above"),
        (PLACE + "[[require]]\noutput = 0\nbelow = nan", "requirement 1: below is a finite number, not nan"),
        (PLACE + "[[require]]\ndifference = [1, 1]\nbelow = 1", "difference is a list of two different elements"),
        (PLACE + "[[require]]\nlargest = 0\nbelow = 1", "requirement 1 has largest, or output or difference"),
        (PLACE + "require = 1", "require is a list of tables"),
        ('input = ["q=[0,1]"]\n[[require]]\nlargest = 0', "the model has no input 'q'"),
        ("[[require]]\nlargest = 0", "lacks the input 'x'"),
    ],
)
def test_requirements_that_are_refused(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        of_toml(tmp_path, text)
    assert sentence in str(error.value)
