"""Kernels of elementwise operators give the bits of the definitions: every 16-bit pattern, special and random elements.

`test_definitions.py` compares the definitions with an oracle that is not MPFR.
"""

import itertools

import numpy
import pytest
from onnx import TensorProto

from sonnx.base.errors import Stop
from sonnx.numerics import elementwise_kernels
from sonnx.numerics.application import NoValue
from tests.support.cases import crossed, each_case, examples, spread
from tests.support.nodes import by_definition, by_kernel, probes
from tests.support.oracle import FLOATS, INTEGERS, KINDS, from_bits, same, special_patterns

UNARY = {
    "Exp": {}, "Log": {}, "Sqrt": {}, "Sin": {}, "Tanh": {}, "Sigmoid": {}, "Acos": {}, "Abs": {}, "Neg": {},
    "Relu": {}, "LeakyRelu": {"alpha": 0.01}, "Erf": {}, "Softplus": {}, "Reciprocal": {}, "HardSigmoid": {},
    "HardSwish": {}, "Floor": {}, "Ceil": {}, "Sign": {},
}  # fmt: skip
BINARY = ("Add", "Sub", "Mul", "Div", "Pow", "Less", "Greater", "Equal", "Min")
SIXTEEN = ("float16", "bfloat16")


def inside(operator, x):
    """The elements for which the operator has a value."""
    if operator == "Acos":
        with numpy.errstate(all="ignore"):
            return x[~(numpy.abs(x) > 1)]
    return x


@pytest.mark.parametrize("name", SIXTEEN)
@pytest.mark.parametrize("operator", UNARY)
def test_every_pattern_of_16_bits(operator, name, monkeypatch):
    """In a deep run; else a thirty-second."""
    everything = inside(operator, from_bits(name, spread(range(1 << 16), 1 << 11), [-1]))
    wanted = by_definition(operator, [everything], **UNARY[operator])
    assert same(by_kernel(operator, [everything], **UNARY[operator]), wanted)
    monkeypatch.setattr(elementwise_kernels, "MIN_TABULATED", 1 << 30)  # the way small tensors take
    assert same(by_kernel(operator, [everything], **UNARY[operator]), wanted)


@each_case(("operator", "name"), crossed(UNARY, ["float32", "float64"], every=2))
def test_special_and_random_elements(operator, name):
    x = inside(operator, probes(name, 1500))
    assert same(by_kernel(operator, [x], **UNARY[operator]), by_definition(operator, [x], **UNARY[operator]))


@each_case("name", ["float32", "float64"])
@each_case("alpha", [1.0, 1e-45, 0.999999940395, 0.0, -0.0, -1.5, 1.5, 3e38])
def test_leaky_relu_with_any_factor(name, alpha):
    x = probes(name, 400)
    assert same(by_kernel("LeakyRelu", [x], alpha=alpha), by_definition("LeakyRelu", [x], alpha=alpha))


@each_case("name", [*FLOATS, *INTEGERS, "bool"])
def test_where_takes_patterns_as_they_are(name):
    draw = numpy.random.default_rng(4)
    width = KINDS[name].itemsize
    x, y = (draw.integers(0, 2 if name == "bool" else 256, (5, 7, 9 * width), "u1").view(KINDS[name]) for _ in range(2))
    truth = draw.random((5, 7, 9)) < 0.5
    for inputs in (
        [truth, x, y],
        [truth[0], x, y[:1, :1]],
        [truth[:, :1], x[0, 0, :1], y],
        [truth[..., ::-1], x.T.copy().T, y[::-1]],
        [truth[:0], x[:0], y[:0]],
        [truth[0, 0, 0], x[0, 0, 0], y[0, 0, 0]],
    ):
        given = [numpy.asarray(each) for each in inputs]
        assert same(by_kernel("Where", given), by_definition("Where", given))


@each_case(("operator", "name"), crossed(BINARY, FLOATS, every=2))
def test_pairs_of_special_and_random_elements(operator, name):
    few = from_bits(name, special_patterns(name), [-1])
    x, y = (numpy.ascontiguousarray(each).reshape(-1) for each in numpy.meshgrid(few, few))
    some = probes(name, 700)
    draw = numpy.random.default_rng(1)
    x, y = numpy.concatenate([x, some]), numpy.concatenate([y, draw.permutation(some)])
    with numpy.errstate(all="ignore"):
        positive = numpy.abs(some)
    if operator == "Pow":
        x, y = numpy.concatenate([x, positive]), numpy.concatenate([y, draw.permutation(probes(name, 700, 9))])
    assert same(by_kernel(operator, [x, y]), by_definition(operator, [x, y]))
    column, row = few[:, None], few[None, ::-1]
    assert same(by_kernel(operator, [column, row]), by_definition(operator, [column, row]))


@each_case("name", INTEGERS)
@each_case("operator", ["Add", "Sub", "Mul", "Div", "Less", "Greater", "Equal", "Min", "Mod"])
def test_integers(operator, name):
    limits, draw = numpy.iinfo(name), numpy.random.default_rng(2)
    x = numpy.array([0, 1, 2, 3, limits.max, limits.min, limits.max - 1, limits.min + 1, 100], name)
    x = numpy.concatenate([x, draw.integers(limits.min, limits.max, examples(30, 60), name, endpoint=True)])
    a, b = (numpy.ascontiguousarray(each).reshape(-1) for each in numpy.meshgrid(x, x))
    if operator in ("Div", "Mod"):
        a, b = a[b != 0], b[b != 0]
        if limits.min and operator == "Div":
            wrong = (a == limits.min) & (b == numpy.array(-1).astype(name))
            a, b = a[~wrong], b[~wrong]
    found = by_definition(operator, [a, b])
    if operator != "Mod":
        assert same(by_kernel(operator, [a, b]), found)
    bits = 8 * numpy.dtype(name).itemsize
    of = {
        "Add": int.__add__, "Sub": int.__sub__, "Mul": int.__mul__, "Less": int.__lt__, "Greater": int.__gt__,
        "Equal": int.__eq__, "Min": min, "Mod": int.__mod__,
        "Div": lambda p, q: (abs(p) // abs(q)) * (1 if p * q >= 0 else -1),
    }  # fmt: skip
    wrapped = [of[operator](p, q) for p, q in zip(a.tolist(), b.tolist(), strict=True)]
    if found.dtype != numpy.bool_:
        wrapped = [(each - limits.min) % 2**bits + limits.min for each in wrapped]
    assert found.tolist() == wrapped


BOUNDS = ["0", "-0.0", "1", "-2.5", "6", "inf", "-inf", "nan"]


@each_case("name", [*FLOATS, "int8", "uint64"])
def test_clip_with_every_pair_of_bounds(name):
    kind = KINDS[name]
    x = probes(name, examples(50, 100)) if name in FLOATS else numpy.arange(-9, 9).astype(kind)
    for low, high in itertools.product([*BOUNDS, None], repeat=2):
        if name not in FLOATS and any(each in ("-0.0", "-2.5", "inf", "-inf", "nan") for each in (low, high)):
            continue
        bounds = [numpy.array(float(each)).astype(kind) for each in (low, high) if each is not None]
        if low is None and high is not None:
            continue  # an input left out in the middle is a model's matter
        inputs = [x, *bounds]
        wanted = [clipped(e, *[b[()] for b in bounds]) for e in x]
        assert same(by_kernel("Clip", inputs), numpy.array(wanted, kind))
        assert same(by_definition("Clip", inputs), numpy.array(wanted, kind))


def clipped(x, low=None, high=None):
    """The text, element by element, on elements as they are."""
    if low is not None and high is not None and low > high:
        return high
    if low is not None and x < low:
        return low
    return high if high is not None and x > high else x


@each_case("name", FLOATS)
@each_case("count", [1, 3, 5])
def test_sum_of_many(name, count):
    some = probes(name, 300)
    draw = numpy.random.default_rng(3)
    inputs = [draw.permutation(some) for _ in range(count)]
    inputs[-1][:50] = -inputs[0][:50]
    zeros = from_bits(name, special_patterns(name), [-1])
    inputs = [numpy.concatenate([each, numpy.roll(zeros, shift)]) for shift, each in enumerate(inputs)]
    assert same(by_kernel("Sum", inputs), by_definition("Sum", inputs))


@each_case("name", FLOATS)
@each_case(("version", "axis"), [(13, -1), (13, 0), (13, 1), (11, 1), (1, 1)])
def test_softmax(name, version, axis):
    if name == "bfloat16" and version < 13:
        pytest.skip("the version has no bfloat16")
    draw = numpy.random.default_rng(4)
    x = (draw.standard_normal((7, 5, 6)) * 2.0 ** draw.integers(-3, 7, (7, 5, 6))).astype(KINDS[name])
    x[0, 0, 0], x[1, 2, 3], x[2, :, 2], x[3, 1, :], x[4] = numpy.nan, numpy.inf, -numpy.inf, -numpy.inf, 0.0
    assert same(
        by_kernel("Softmax", [x], version=version, axis=axis), by_definition("Softmax", [x], version=version, axis=axis)
    )


CASTS = ["bool", *INTEGERS, *FLOATS]


@each_case("target", CASTS)
@each_case("source", CASTS)
def test_cast(source, target):
    number = {"float32": "FLOAT", "float64": "DOUBLE"}.get(target, target.upper())
    kind = KINDS[source]
    if source in FLOATS:
        x = probes(source, 200)
    else:
        top = 1 if source == "bool" else numpy.iinfo(kind).max
        x = numpy.array([0, 1, top, top // 2, top // 3], kind)
        if source != "bool":
            draw = numpy.random.default_rng(8)
            low = numpy.iinfo(kind).min
            x = numpy.concatenate([x, draw.integers(low, top, 300, kind, endpoint=True), [x.dtype.type(low)]])
    if source in FLOATS and target in INTEGERS:
        with pytest.raises(Stop, match="has no value in"):
            by_kernel("Cast", [x], to=getattr(TensorProto, number))
        limits = numpy.iinfo(target)
        with numpy.errstate(all="ignore"):
            wide = x.astype("f8")
            x = x[(numpy.trunc(wide) >= float(limits.min)) & (numpy.trunc(wide) < float(limits.max) + 1)]
    options = {"to": getattr(TensorProto, number)}
    assert same(by_kernel("Cast", [x], **options), by_definition("Cast", [x], **options))


@each_case(
    ("name", "scale"), crossed(["uint8", "int8", "int16", "uint16"], ["float32", "float16", "bfloat16"], every=2)
)
def test_quantize_and_dequantize(name, scale):
    kind, limits = KINDS[scale], numpy.iinfo(name)
    x = probes(scale, examples(100, 400))
    with numpy.errstate(all="ignore"):
        x = x[numpy.isfinite(x)]
    ties = (numpy.arange(-400, 400) / 2).astype(numpy.float64).astype(kind)
    x = numpy.concatenate([x, ties])
    for factor in spread((1.0, 0.1, -3.0, 2.0**-7), 3):
        s = numpy.array(factor).astype(kind)
        for zero in (0, limits.max // 3):
            inputs = [x, s, numpy.array(zero, name)]
            assert same(by_kernel("QuantizeLinear", inputs), by_definition("QuantizeLinear", inputs))
            y = numpy.arange(limits.min, limits.max, max(1, (limits.max - limits.min) // 500)).astype(name)
            inputs = [y, s, numpy.array(zero, name)]
            assert same(by_kernel("DequantizeLinear", inputs), by_definition("DequantizeLinear", inputs))


REFUSED = {
    "Abs.absolute-value-representable": ("Abs", [numpy.array([[1, -128]], "i1")], "X[0, 1] is -128"),
    "Acos.argument-within-one": ("Acos", [numpy.array([0, 0.5, 1.5], "f4")], "X[2] is 1.5"),
    "Div.integer-divisor-not-zero": ("Div", [numpy.ones(3, "i4"), numpy.array([1, 0, 2], "i4")], "B[1] is 0"),
    "Div.quotient-representable": ("Div", [numpy.array([-128] * 2, "i1"), numpy.array([1, -1], "i1")], "A[1] is -128"),
    "Pow.exponent-not-negative": ("Pow", [numpy.ones(3, "i4"), numpy.array([1, -2, 2], "i4")], "B[1] is -2"),
    "Pow.power-representable": ("Pow", [numpy.array([2, 3], "i4"), numpy.array([30, 40], "i4")], "A[1] is 3"),
    "QuantizeLinear.input-finite": (
        "QuantizeLinear", [numpy.array([1, 2, numpy.inf], "f4"), numpy.array(1, "f4"), numpy.array(0, "u1")],
        "X[2] is inf",
    ),
    "QuantizeLinear.scale-not-zero": (
        "QuantizeLinear", [numpy.array([1.0] * 3, "f4"), numpy.array(0, "f4"), numpy.array(0, "u1")],
        "y_scale[0] is 0.0",
    ),
}  # fmt: skip


@each_case("definition", [False, True])
@each_case("rule", REFUSED)
def test_no_value_names_the_rule_the_index_and_the_element(rule, definition):
    operator, inputs, sentence = REFUSED[rule]
    with pytest.raises(NoValue) as stop:
        (by_definition if definition else by_kernel)(operator, inputs)
    assert stop.value.rule == rule
    assert sentence in str(stop.value)
