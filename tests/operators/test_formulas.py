"""The formula that an operator file prints, read and evaluated, gives what the definition of the operator gives.

Read here: formulas over one element of each input, sums of products over indices, and what they say of special values.
Formulas in other words were compared with the definitions line by line: `REVIEWED`.
"""

from __future__ import annotations

import ast
import itertools
import re
from fractions import Fraction

import gmpy2
import numpy as np

from sonnx.profile import catalogue
from tests.support.cases import each_case, spread
from tests.support.nodes import by_definition

FORMULAS = {each.name: each.formula for each in catalogue.operators()}
EXACT = gmpy2.context(precision=300)
FUNCTIONS = {
    "exp": gmpy2.exp, "ln": gmpy2.log, "sqrt": gmpy2.sqrt, "acos": gmpy2.acos, "sin": gmpy2.sin, "abs": abs,
    "min": min, "max": max, "floor": gmpy2.floor, "round": lambda x: gmpy2.rint(x), "float": lambda x: x,
}  # fmt: skip


def first_clause(operator: str) -> str:
    """The right side of the formula, without what follows the first semicolon."""
    return FORMULAS[operator].partition(";")[0].partition(" = ")[2].partition(" where ")[0]


def as_python(clause: str) -> str:
    """A formula over elements as a Python expression: `X[i]` is `X`."""
    text = re.sub(r"(\w+)\[i\]", r"\1", clause)
    text = re.sub(r" rounded to nearest.*|, the (?:quotient|difference) .*", "", text)
    text = re.sub(r"\|(\w+)\|", r"abs(\1)", text)
    text = re.sub(r"\be \^ (\w+)", r"exp(\1)", text).replace("^", "**")
    text = re.sub(r"\bln (\w+)", r"ln(\1)", text)
    text = re.sub(r"the square root of (\w+)", r"sqrt(\1)", text)
    text = re.sub(r"\b(\d) (?!if|else)(\w)", r"\1 * \2", text)  # 2 X is a product
    text = re.sub(r", (\w+) if ", r" else \1 if ", text).replace(", else", " else")
    return re.sub(r"\((\w+) = (\w+)\)", r"(\1 == \2)", text)


REVIEWED = {
    "ArgMax", "BatchNormalization", "Cast", "Concat", "Constant", "ConstantOfShape", "ConvTranspose", "Erf", "Expand",
    "Flatten", "GRU", "Gather", "GlobalAveragePool", "Identity", "LSTM", "Max", "Min", "Mod", "Pad", "Range",
    "ReduceMax", "ReduceMean", "ReduceSum", "Reshape", "Resize", "ScatterND", "Shape", "Slice", "Softmax", "Split",
    "Squeeze", "Transpose", "Unsqueeze",
}  # fmt: skip
"""Compared with the definition line by line; tests of the definitions have oracles of their own."""
WITH_OWN_TEST = {"Clip", "Where", "Not", "QuantizeLinear", "DequantizeLinear", "MatMul", "Gemm", "Conv", "ConvInteger",
                 "MaxPool"}  # fmt: skip


NUMBERS = (0.25, -1.5, 3.0, -0.75, 2.625, -7.5, 0.125, -0.5, 1.0, -1.0, 0.0, 7.5)
"""Elements and attributes; a formula is evaluated on those for which it has a value."""


def value(expression: str, names: dict[str, object]) -> object:
    """The exact value, as float where it is a number: rounded once."""
    with EXACT:
        made = {k: gmpy2.mpfr(v) if isinstance(v, float) else v for k, v in names.items()}
        found = eval(expression, {"__builtins__": {}}, {**FUNCTIONS, **made})
    return found if isinstance(found, bool) else np.float32(float(gmpy2.mpfr(found, 24)))


def inputs_of(operator: str) -> list[str]:
    """The names of the inputs, each once: versions describe some of them in several ways."""
    return [*dict.fromkeys(each.name for each in catalogue.operator(operator).inputs)]


def names_of(operator: str) -> set[str] | None:
    """The names in a formula over elements of one or two inputs, None where it has another form."""
    inputs = {*inputs_of(operator)}
    parameters = {each.name for each in catalogue.operator(operator).parameters if each.kind == "float"}
    if len(inputs) > 2 or not re.match(r"\w+\[i\] = ", FORMULAS[operator]):
        return None
    try:
        tree = ast.parse(as_python(first_clause(operator)), mode="eval")
    except SyntaxError:
        return None
    names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)} - FUNCTIONS.keys()
    return names if inputs <= names <= inputs | parameters else None


ELEMENTWISE = {
    name: names for name in FORMULAS if name not in REVIEWED | WITH_OWN_TEST and (names := names_of(name)) is not None
}
UNARY = [name for name in ELEMENTWISE if len(inputs_of(name)) == 1]


@each_case("operator", ELEMENTWISE)
def test_formula_of_elements(operator):
    inputs = inputs_of(operator)
    expression, attributes = as_python(first_clause(operator)), sorted(ELEMENTWISE[operator] - {*inputs})
    compared = 0
    for numbers in spread(itertools.product(NUMBERS, repeat=len(inputs)), 20):
        given = dict(zip(inputs, numbers, strict=True)) | dict.fromkeys(attributes, 0.25)
        try:
            wanted = value(expression, given)
        except ZeroDivisionError:
            continue
        if not np.isfinite(wanted):  # no real number: a clause on special values says it
            continue
        arrays = [np.array(each, np.float32) for each in numbers]
        assert by_definition(operator, arrays, **dict.fromkeys(attributes, 0.25)).item() == wanted, given
        compared += 1
    assert compared >= 4


def test_formula_of_clip():
    cases = [(1.0, -2.0, 2.0), (-3.0, -2.0, 2.0), (3.0, -2.0, 2.0), (-2.0, -2.0, 2.0)]
    for x, low, high in cases:
        wanted = value(as_python(first_clause("Clip")), {"X": x, "L": low, "M": high})
        given = [np.array(each, np.float32) for each in (x, low, high)]
        assert by_definition("Clip", given).item() == wanted


def test_formula_of_where():
    expression = as_python(first_clause("Where"))
    for condition in (True, False):
        wanted = value(expression, {"condition": condition, "X": 2.0, "Y": 3.0})
        given = [np.array(condition), np.array(2.0, np.float32), np.array(3.0, np.float32)]
        assert by_definition("Where", given).item() == wanted


def test_formula_of_not():
    expression = as_python(first_clause("Not"))
    assert [by_definition("Not", [np.array(x)]).item() for x in (True, False)] == [
        value(expression, {"X": x}) for x in (True, False)
    ]


def test_formulas_of_quantization():
    for x, scale, zero in [(7, 0.5, 3), (200, 0.25, 255), (0, 2.0, 128)]:
        wanted = value(as_python(first_clause("DequantizeLinear")), {"X": x, "x_scale": scale, "x_zero_point": zero})
        given = [np.array(x, np.uint8), np.array(scale, np.float32), np.array(zero, np.uint8)]
        assert by_definition("DequantizeLinear", given).item() == wanted
    for x, scale, zero in [(1.25, 0.5, 3), (-1000.0, 0.5, 3), (1000.0, 0.5, 3), (0.75, 0.5, 128), (1.0, 0.4, 0)]:
        stated = {"X": float(np.float32(x)), "y_scale": float(np.float32(scale)), "y_zero_point": zero}
        wanted = value(as_python(first_clause("QuantizeLinear")), stated)
        given = [np.array(x, np.float32), np.array(scale, np.float32), np.array(zero, np.uint8)]
        assert by_definition("QuantizeLinear", given).item() == wanted


# ------------------------------------------------------------------ special values

ELEMENT = {"NaN": np.nan, "+Inf": np.inf, "-Inf": -np.inf, "+inf": np.inf, "-inf": -np.inf, "+0": 0.0, "-0": -0.0,
           "0": 0.0, "1": 1.0, "-1": -1.0, "an infinity": np.inf, "a zero": -0.0, "below zero": -1.0}  # fmt: skip
_ONE = "|".join(re.escape(each) for each in sorted(ELEMENT, key=len, reverse=True))
_GIVES = re.compile(rf"({_ONE}) gives ({_ONE}|itself)(?=,|;|$)")
_FOR = re.compile(rf"({_ONE}|itself) for ({_ONE})((?: and (?:{_ONE}))*)(?=,|;|$)")


def special_values(operator: str) -> dict[str, str]:
    """What the clauses after the first say of special values: result by element."""
    said = FORMULAS[operator].partition(";")[2].strip()
    found = dict(_GIVES.findall(said))
    for result, given, more in _FOR.findall(said):
        found |= dict.fromkeys([given, *re.findall(_ONE, more)], result)
    return found


SPECIAL = [(name, given, result) for name in UNARY for given, result in special_values(name).items()]


@each_case(("operator", "given", "result"), SPECIAL, ids=[" ".join(each) for each in SPECIAL])
def test_special_values_are_those_of_the_formula(operator, given, result):
    x = np.array([ELEMENT[given]], np.float32)
    wanted = x if result == "itself" else np.array([ELEMENT[result]], np.float32)
    got = by_definition(operator, [x])
    assert np.array_equal(got, wanted, equal_nan=True)
    assert np.isnan(wanted[0]) or np.signbit(got[0]) == np.signbit(wanted[0])


def test_clauses_on_special_values_are_read():
    """Every such clause of these operators is read, none is passed over."""
    left = {}
    for name in UNARY:
        said = FORMULAS[name].partition(";")[2].strip()
        rest = re.sub(r"[,; ]|and", "", _FOR.sub("", _GIVES.sub("", said)))
        if rest:
            left[name] = said
    assert left == {"Neg": "of an n-bit integer, the value of its type congruent to -X[i] modulo 2^n"}


# ------------------------------------------------------------------ sums over indices


def evaluate(text: str, arrays: dict[str, np.ndarray], shape: tuple[int, ...], numbers: dict[str, int]) -> list:
    """Every element of Y by a formula `Y[..] = sum over .. of TERM + REST, outside X 0`, on exact numbers."""
    text = text.partition(";")[0].partition(", outside X")[0]
    left, _, right = text.partition(" = ")
    own = re.findall(r"\w+", left)[1:]
    fold, over, body = re.fullmatch(r"(sum|max) over ([\w, ]+?)(?: in \[.*?\])? of (.*)", right).groups()
    term, _, rest = body.partition(" + B[c]") if " + B[c]" in body else body.partition(" + C[")
    rest = body[len(term) :].removeprefix(" + ")
    term, rest = (_indexed(each, arrays) for each in (term.partition(", elements")[0], rest))
    ranges = [_extent(name, body, arrays) for name in over.split(", ")]
    found = []
    for index in np.ndindex(shape):
        names = dict(zip(own, index, strict=True)) | numbers | {"at": _element(arrays, fold)}
        each = [
            eval(term, {}, names | dict(zip(over.split(", "), inner, strict=True)))
            for inner in itertools.product(*map(range, ranges))
        ]
        folded = sum(each) if fold == "sum" else max(one for one in each if one is not None)
        found.append(folded + (eval(rest, {}, names) if rest else 0))
    return found


def _indexed(text: str, arrays: dict[str, np.ndarray]) -> str:
    text = re.sub(r"\b([a-z]) ([sd][01])\b", r"\1 * \2", text)  # m s0 is a product
    return re.sub(rf"\b({'|'.join(arrays)})\[([^\]]*)\]", r"at('\1', \2)", text)


def _element(arrays, fold):
    def at(name, *index):
        inside = all(0 <= i < extent for i, extent in zip(index, arrays[name].shape, strict=True))
        if not inside:
            assert name == "X", "only X has an outside"
            return 0 if fold == "sum" else None
        return Fraction(arrays[name][tuple(index)].item())

    return at


def _extent(name: str, body: str, arrays: dict[str, np.ndarray]) -> int:
    """How far an index runs: the extent of the axis on which it stands alone."""
    for array, index in re.findall(r"(\w+)\[([^\]]*)\]", body):
        parts = [each.strip() for each in index.split(",")]
        if name in parts and array != "X":
            return arrays[array].shape[parts.index(name)]
    return {"h": 2, "w": 2}[name]


def draw(seed: int, *shape: int, kind: type = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 9, shape).astype(kind)


def test_formula_of_matrix_products():
    a, b, c = draw(1, 2, 3), draw(2, 3, 4), draw(3, 2, 4)
    for operator, given in (("MatMul", {"A": a, "B": b}), ("Gemm", {"A": a, "B": b, "C": c})):
        assert by_definition(operator, list(given.values())).ravel().tolist() == evaluate(
            FORMULAS[operator], given, (2, 4), {}
        )


WINDOW = {"s0": 2, "s1": 1, "d0": 2, "d1": 1, "p0": 1, "p1": 0}
SHAPES = {"pads": [1, 0, 1, 0], "strides": [2, 1], "dilations": [2, 1]}


def test_formula_of_convolutions():
    x, w, bias = draw(1, 1, 2, 5, 4), draw(2, 3, 2, 2, 3), draw(3, 3)
    got = by_definition("Conv", [x, w, bias], **SHAPES)
    assert got.ravel().tolist() == evaluate(FORMULAS["Conv"], {"X": x, "W": w, "B": bias}, got.shape, WINDOW)
    x, w = x.astype(np.uint8), w.astype(np.int8)
    zeros = [np.array(3, np.uint8), np.array([1, 2, 3], np.int8)]
    got = by_definition("ConvInteger", [x, w, *zeros], version=10, **SHAPES)
    arrays = {"X": x, "W": w, "w_zero_point": zeros[1]}
    assert got.ravel().tolist() == evaluate(FORMULAS["ConvInteger"], arrays, got.shape, WINDOW | {"x_zero_point": 3})


@each_case("operator", ["Conv", "ConvInteger"])
def test_formula_of_depthwise_convolutions(operator):
    text, _, said = FORMULAS[operator].partition(";")
    index, own, replaced = re.fullmatch(
        r"\s*depthwise (\w) = 0, and (X\[.*), \.\.\] in place of (X\[.*), \.\.\]", said
    ).groups()
    kinds = (np.float32, np.float32, np.float32) if operator == "Conv" else (np.uint8, np.int8, None)
    x, w = draw(1, 1, 3, 5, 4, kind=kinds[0]), draw(2, 3, 1, 2, 3, kind=kinds[1])
    assert index == "i" and w.shape[1] == 1
    if operator == "Conv":
        last, arrays, numbers = [draw(3, 3)], {"X": x, "W": w, "B": draw(3, 3)}, WINDOW
    else:
        last = [np.array(3, np.uint8), np.array([1, 2, 3], np.int8)]
        arrays, numbers = {"X": x, "W": w, "w_zero_point": last[1]}, WINDOW | {"x_zero_point": 3}
    got = by_definition(operator, [x, w, *last], version=11 if operator == "Conv" else 10, group=3, **SHAPES)
    assert got.ravel().tolist() == evaluate(text.replace(replaced, own), arrays, got.shape, numbers)


def test_formula_of_max_pool():
    x = draw(4, 1, 2, 5, 4) - 5
    got = by_definition("MaxPool", [x], kernel_shape=[2, 2], **SHAPES)
    numbers = {f"{name}_{axis}": SHAPES[name][axis] for name in SHAPES for axis in (0, 1)}
    assert got.ravel().tolist() == evaluate(FORMULAS["MaxPool"], {"X": x}, got.shape, numbers)


# ------------------------------------------------------------------ the others


def test_every_formula_is_evaluated_or_reviewed():
    """A new operator whose formula has another form is reviewed, and listed above."""
    assert {*REVIEWED, *WITH_OWN_TEST, *ELEMENTWISE} == set(FORMULAS)
