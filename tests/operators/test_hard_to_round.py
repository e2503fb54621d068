"""Functions at arguments whose value lies next to the middle of two numbers, against MPFR with 400 digits.

Of many arguments those are chosen whose value in float64 is nearest to a middle: a rounding that is a little wrong
shows there first.  No code of the package but the kernel; the rounding is that of `exact.py`.
"""

from fractions import Fraction

import gmpy2
import numpy

from tests.support.cases import each_case, examples
from tests.support.exact import rounded
from tests.support.nodes import by_kernel, probes
from tests.support.oracle import KINDS, bits

DRAWN, CHOSEN = 200_000, 120

WIDE = gmpy2.context(precision=400, emax=1 << 30, emin=-(1 << 30))

FUNCTIONS = {
    "Exp": (numpy.exp, WIDE.exp),
    "Log": (lambda x: numpy.log(numpy.abs(x)), WIDE.log),
    "Sin": (numpy.sin, WIDE.sin),
    "Tanh": (numpy.tanh, WIDE.tanh),
    "Acos": (numpy.arccos, WIDE.acos),
    "Sqrt": (lambda x: numpy.sqrt(numpy.abs(x)), WIDE.sqrt),
    "Sigmoid": (lambda x: 1 / (1 + numpy.exp(-x)), lambda x: WIDE.div(1, WIDE.add(1, WIDE.exp(-x)))),
    "Softplus": (lambda x: numpy.logaddexp(0, x), lambda x: WIDE.log1p(WIDE.exp(x))),
    "Reciprocal": (lambda x: 1 / x, lambda x: WIDE.div(1, x)),
    "Erf": (lambda x: numpy.tanh(1.128 * x), WIDE.erf),
}
"""A value in float64, near enough to find arguments by, and the function itself; that of Erf finds usual ones."""


def arguments(operator, name):
    """Arguments with a value, those first whose value is nearest to a middle of two numbers of the type."""
    kind, draw = KINDS[name], numpy.random.default_rng(17)
    with numpy.errstate(all="ignore"):
        x = (draw.standard_normal(DRAWN) * draw.choice([0.02, 1.0, 6.0], DRAWN)).astype(kind)
        if operator == "Acos":
            x = x[numpy.abs(x) <= 1]
        if operator in ("Log", "Sqrt"):
            x = numpy.abs(x)
        x = x[x != 0]
        y = FUNCTIONS[operator][0](x.astype("f8"))
        below = y.astype(kind).astype("f8")
        spacing = numpy.abs(numpy.nextafter(y.astype(kind), kind.type(numpy.inf)).astype("f8") - below)
        from_middle = numpy.abs(numpy.abs(y - below) / spacing - 0.5)
    return x[numpy.argsort(from_middle, kind="stable")[:CHOSEN]]


def expected(operator, name, x):
    """The value of one argument, exactly enough, rounded once."""
    value = FUNCTIONS[operator][1](gmpy2.mpfr(float(x)))
    return rounded(name, Fraction(int(gmpy2.mpq(value).numerator), int(gmpy2.mpq(value).denominator)) or 0.0)


@each_case("name", ["float16", "float32"])
@each_case("operator", FUNCTIONS)
def test_next_to_a_middle(operator, name):
    x = arguments(operator, name)
    found = bits(by_kernel(operator, [x]))
    wanted = [expected(operator, name, each) for each in x]
    assert found.tolist() == wanted


@each_case("name", ["float16", "float32", "float64"])
@each_case("operator", FUNCTIONS)
def test_random_arguments(operator, name):
    x = probes(name, examples(30, 120), seed=23)
    x = x[numpy.isfinite(x) & (x != 0) & (numpy.abs(x) < 600) & (numpy.abs(x) > 1e-30)]
    if operator == "Acos":
        x = x[numpy.abs(x) < 1]
    if operator in ("Log", "Sqrt"):
        x = numpy.abs(x)
        x = x[x != 1]
    assert bits(by_kernel(operator, [x])).tolist() == [expected(operator, name, each) for each in x]
