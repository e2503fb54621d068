"""The definitions against functions that are not MPFR (`decimal_oracle.py`), and the tables of special values."""

import math
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy

from tests.support import decimal_oracle as exact
from tests.support.cases import crossed, each_case, examples
from tests.support.nodes import VERSION, by_definition, by_kernel, probes
from tests.support.oracle import FLOATS, KINDS, bits, from_bits, number, same, special_patterns

SPECIAL = tomllib.loads((Path(__file__).parent.parent / "data" / "special_values.toml").read_text("utf-8"))["values"]


def value(name, pattern):
    """The exact fraction of a finite element, else None."""
    found = number(name, int(pattern))
    return Fraction(found) if math.isfinite(found) else None


@each_case("name", FLOATS)
@each_case("line", SPECIAL, ids=" ".join)
def test_special_values(line, name):
    operator, *operands, result = line
    kind = KINDS[name]
    inputs = [numpy.array([float(each)]).astype(kind) for each in operands]
    for found in (by_definition(operator, inputs), by_kernel(operator, inputs)):
        assert same(found, numpy.array([float(result)]).astype(found.dtype))


def edges(name, operator):
    """Arguments where the function nearly overflows or underflows, or is nearly a number: around powers of two."""
    exponent_bits, significand_bits = FLOATS[name]
    top = 2.0 ** (exponent_bits - 1)
    turns = {
        "Exp": [top * 0.6931471805599453, -(top + significand_bits) * 0.6931471805599453],
        "Sigmoid": [-top * 0.6931471805599453, (significand_bits + 2) * 0.6931471805599453],
        "Softplus": [-(top + significand_bits) * 0.6931471805599453],
        "Tanh": [(significand_bits + 2) * 0.34657359], "Sin": [3.141592653589793 * k for k in range(1, 40)],
        "Log": [1.0], "Erf": [significand_bits**0.5 * 0.83], "Acos": [1.0, -1.0, 0.0],
    }.get(operator, [])  # fmt: skip
    with numpy.errstate(all="ignore"):
        centre = numpy.array(turns).astype(KINDS[name])
    steps = numpy.arange(-3, 4)
    unsigned = f"u{centre.itemsize}"
    return (centre.view(unsigned)[:, None] + steps.astype(unsigned)).reshape(-1).view(centre.dtype)


UNARY = {
    "Exp": exact.exp, "Log": exact.log, "Sqrt": exact.sqrt, "Sigmoid": exact.sigmoid, "Tanh": exact.tanh,
    "Softplus": exact.softplus, "Sin": exact.sin, "Acos": exact.acos, "Erf": exact.erf,
    "Reciprocal": lambda x: 1 / x,
    "HardSwish": lambda x: x * max(Fraction(0), min(Fraction(1), x / 6 + Fraction(1, 2))),
}  # fmt: skip
INSIDE = {
    "Exp": lambda x: abs(x) < 1200, "Log": lambda x: x > 0, "Sqrt": lambda x: x > 0, "Sin": lambda x: abs(x) < 2**60,
    "Acos": lambda x: abs(x) <= 1, "Erf": lambda x: abs(x) < 6, "Sigmoid": lambda x: abs(x) < 1200,
    "Tanh": lambda x: abs(x) < 400, "Softplus": lambda x: abs(x) < 1200,
}  # fmt: skip


@each_case(("operator", "name"), crossed(UNARY, FLOATS, every=2))
def test_real_functions_are_rounded_once(operator, name):
    x = numpy.concatenate([probes(name, examples(20, 60)), edges(name, operator)])
    admitted = INSIDE.get(operator, lambda x: True)
    places = [i for i, p in enumerate(bits(x).tolist()) if (v := value(name, p)) and admitted(v)]
    x = x[places]
    assert len(x) > 20
    found = bits(by_definition(operator, [x])).tolist()
    for pattern, given in zip(found, bits(x).tolist(), strict=True):
        real = UNARY[operator](value(name, given))
        if real:
            assert exact.fits(name, pattern, real), (hex(given), hex(pattern))


@each_case("name", FLOATS)
def test_powers_are_rounded_once(name):
    some = probes(name, 60)
    with numpy.errstate(all="ignore"):
        a = numpy.abs(some)
    b = numpy.random.default_rng(2).permutation(some)
    pairs = list(zip(bits(a).tolist(), bits(b).tolist(), strict=True))
    places = []
    for i, (p, q) in enumerate(pairs):
        x, y = value(name, p), value(name, q)
        if x and y and x != 1 and abs(y * exact.log(x)) < 1000 and abs(y * exact.log(x)) > Fraction(1, 10**30):
            places.append(i)
    assert len(places) > 30
    found = bits(by_definition("Pow", [a[places], b[places]])).tolist()
    for i, pattern in zip(places, found, strict=True):
        assert exact.fits(name, pattern, exact.power(*[value(name, each) for each in pairs[i]])), pairs[i]


OPERATIONS = {
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Div": lambda a, b: a / b,
}  # fmt: skip


@each_case("name", FLOATS)
@each_case("operator", OPERATIONS)
def test_operations_are_rounded_once(operator, name):
    """Exact fractions; ties go to the even number."""
    some = numpy.concatenate([probes(name, examples(60, 150)), from_bits(name, special_patterns(name), [-1])])
    other = numpy.random.default_rng(2).permutation(some)
    found = bits(by_definition(operator, [some, other])).tolist()
    for p, q, pattern in zip(bits(some).tolist(), bits(other).tolist(), found, strict=True):
        a, b = value(name, p), value(name, q)
        if a is None or b is None or (operator == "Div" and not b):
            continue
        real = OPERATIONS[operator](a, b)
        if real:
            assert exact.fits(name, pattern, real)
            tie = exact.fits(name, pattern ^ 1, real)
            assert not tie or pattern % 2 == 0


@each_case("name", FLOATS)
def test_softmax_is_rounded_once(name):
    draw = numpy.random.default_rng(3)
    for scale in (0.0, 1e-3, 1.0, 30.0):
        row = (draw.standard_normal(9) * scale).astype(KINDS[name])
        found = bits(by_definition("Softmax", [row[None]], axis=1, version=VERSION)).ravel().tolist()
        shares = exact.softmax([value(name, each) for each in bits(row).tolist()])
        assert all(exact.fits(name, pattern, real) for pattern, real in zip(found, shares, strict=True))


@each_case("name", FLOATS)
def test_sum_is_rounded_once(name):
    """Cancellation leaves what would be lost by adding one after another."""
    kind = KINDS[name]
    rows = [["1", "3e-5", "-1"], ["60000", "60000", "-60000"], ["1", "2e-5", "3e-6"], ["0", "-0", "0"]]
    columns = [numpy.array([float(row[i]) for row in rows]).astype(kind) for i in range(3)]
    found = bits(by_kernel("Sum", columns)).tolist()
    for i, pattern in enumerate(found):
        real = sum(value(name, bits(column)[i]) for column in columns)
        assert exact.fits(name, pattern, real) if real else pattern == 0


@each_case("kind", ["int16", "int32", "int64", "float32", "float64"])
def test_range(kind):
    for start, limit, step in ((0, 10, 3), (10, -10, -7), (5, 5, 1), (5, 4, 1), (-7, 7, 1)):
        inputs = [numpy.array(each, kind) for each in (start, limit, step)]
        for found in (by_definition("Range", inputs), by_kernel("Range", inputs)):
            assert found.tolist() == list(range(start, limit, step))


def test_range_counts_exactly_and_rounds_once():
    inputs = [numpy.array(each, "f4") for each in (0, 100, 0.1)]
    found = by_definition("Range", inputs)
    assert same(by_kernel("Range", inputs), found)
    step = Fraction(float(numpy.float32(0.1)))
    assert len(found) == 1000
    assert all(exact.fits("float32", int(p), i * step) for i, p in enumerate(bits(found)) if i)
    inputs = [numpy.array(each, "f4") for each in (0.5, -8388608, -1)]
    found = by_kernel("Range", inputs)
    assert len(found) == 8388609  # 8388608 where the difference is rounded to float
    assert exact.fits("float32", int(bits(found)[-1]), Fraction(1, 2) - 8388608)
