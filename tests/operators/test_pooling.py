"""Pooling, reductions, integer convolution, batch and response normalization against exact fractions, to the bit."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy
import pytest

from sonnx.base.errors import NotExecutable, Stop
from sonnx.numerics.application import Application, NoValue
from sonnx.operators import (
    averagepool,
    batchnormalization,
    convinteger,
    find_operator,
    globalmaxpool,
    lrn,
    maxpool,
)
from tests.support.applications import agreed, application, fast_outputs, written
from tests.support.cases import each_case, examples
from tests.support.exact import FORMATS, array, decoded, hard, product, summed
from tests.support.models import run_node
from tests.support.oracle import KINDS, best, bits, from_bits, name_of, same

each_format = each_case("name", FORMATS)


# ------------------------------------------------------------------ windows

WINDOWS = {
    "square": ((1, 2, 5, 4), {"kernel_shape": [2, 2]}),
    "strided": ((2, 1, 7, 6), {"kernel_shape": [3, 2], "strides": [2, 3]}),
    "padded": ((1, 2, 4, 5), {"kernel_shape": [3, 3], "pads": [1, 2, 2, 1], "strides": [2, 1]}),
    "dilated": ((1, 1, 7, 8), {"kernel_shape": [2, 3], "dilations": [3, 2], "pads": [1, 1, 0, 2]}),
    "one axis": ((1, 2, 9), {"kernel_shape": [4], "strides": [3]}),
    "three axes": ((1, 1, 3, 4, 3), {"kernel_shape": [2, 2, 2]}),
}


def under(shape, attributes, ceil=False):
    """For each place the indices under the window, by the formula of ONNX."""
    axes = len(shape) - 2
    size, strides = attributes["kernel_shape"], attributes.get("strides", [1] * axes)
    gaps, pads = attributes.get("dilations", [1] * axes), attributes.get("pads", [0] * 2 * axes)
    spans = [gaps[d] * (size[d] - 1) + 1 for d in range(axes)]
    round_ = math.ceil if ceil else math.floor
    counts = [round_((shape[d + 2] + pads[d] + pads[axes + d] - spans[d]) / strides[d]) + 1 for d in range(axes)]
    if ceil:
        counts = [c - ((c - 1) * strides[d] >= shape[d + 2] + pads[d]) for d, c in enumerate(counts)]
    for place in itertools.product(*map(range, counts)):
        yield [
            [p * strides[d] + k[d] * gaps[d] - pads[d] for d, p in enumerate(place)]
            for k in itertools.product(*map(range, size))
        ]


@each_case("name", [*FORMATS, "int8", "uint8"])
@each_case("which", WINDOWS)
@each_case("seed", range(6))
def test_max_pool(name, which, seed):
    shape, attributes = WINDOWS[which]
    axes = len(shape) - 2
    absent = {"strides": [1] * axes, "dilations": [1] * axes, "pads": [0] * 2 * axes}
    names = absent | attributes | {"storage_order": 0}
    X = hard(name, shape, seed)
    names["spacing"] = names["dilations"]
    found = agreed(maxpool.OPERATOR, application("MaxPool", names), [X])
    wanted, patterns = [], bits(X)
    for b, c in numpy.ndindex(shape[:2]):
        for indices in under(shape, attributes):
            inside = [at for at in indices if all(0 <= i < e for i, e in zip(at, shape[2:], strict=True))]
            wanted.append(best(name_of(X), [patterns[(b, c, *at)].item() for at in inside]))
    assert same(found, from_bits(name_of(X), wanted, found.shape))


def test_indices_of_max_pool():
    X = numpy.array([[[[1, 5, 5], [5, numpy.nan, 2], [numpy.nan, 0, 1]]]], "f4")
    names = {"kernel_shape": [2, 2], "strides": [1, 1], "pads": [0] * 4, "spacing": [1, 1], "dilations": [1, 1]}
    for order, wanted in ((0, [4, 4, 4, 4]), (1, [4, 4, 4, 4])):
        made = Application("MaxPool", 12, "onnx", names | {"storage_order": order}, outputs=2)
        assert maxpool.define(made, [X])[1].ravel().tolist() == wanted
    X[0, 0, 1, 1] = 0
    for order, wanted in ((0, [1, 1, 6, 5]), (1, [3, 3, 2, 7])):
        made = Application("MaxPool", 12, "onnx", names | {"storage_order": order}, outputs=2)
        assert maxpool.define(made, [X])[1].ravel().tolist() == wanted


@each_case("name", [*FORMATS, "int8", "uint8"])
@each_case("which", WINDOWS)
@each_case("order", [0, 1])
@each_case("seed", range(examples(4, 8)))
def test_indices_by_definition_and_by_kernel(name, which, order, seed):
    """Of elements that are hard to order, and of few different ones, the least of the type among them."""
    shape, attributes = WINDOWS[which]
    axes = len(shape) - 2
    names = {
        "strides": [1] * axes,
        "dilations": [1] * axes,
        "pads": [0] * 2 * axes,
        "storage_order": order,
    } | attributes
    names["spacing"] = names["dilations"]
    X = hard(name, shape, seed)
    if seed % 2:
        with numpy.errstate(all="ignore"):
            least = -numpy.inf if name in FORMATS else numpy.iinfo(X.dtype).min
            few = numpy.array([least, least, 0, 1]).astype(X.dtype)
        X = numpy.random.default_rng(seed).choice(few, shape)
    made = Application("MaxPool", 12, "onnx", names, outputs=2, block_elements=40)
    wanted = maxpool.OPERATOR.define(made, [X])
    assert len(wanted) == 2
    assert all(same(*pair) for pair in zip(fast_outputs(maxpool.OPERATOR, made, [X]), wanted, strict=True))


def test_what_has_no_value_has_none_by_kernel():
    names = {"kernel_shape": [1, 1], "strides": [1, 1], "pads": [1, 0, 0, 0], "spacing": [1, 1], "dilations": [1, 1]}
    X = numpy.ones((1, 1, 2, 2), "f4")
    for compute in (maxpool.OPERATOR.define, maxpool.OPERATOR.fast_path):
        with pytest.raises(NoValue, match="on padding only"):
            compute(Application("MaxPool", 12, "onnx", names | {"storage_order": 0}, outputs=2), [X])
    made = Application("MaxPool", 12, "onnx", names | {"pads": [0] * 4, "storage_order": 2})
    for call in (maxpool.define, lambda made, inputs: maxpool.kernel(made)(inputs, numpy.empty_like(X))):
        with pytest.raises(NoValue, match="storage_order is 2"):
            call(made, [X])


@each_format
@each_case("which", WINDOWS)
@each_case("seed", range(examples(4, 8)))
def test_average_pool(name, which, seed):
    shape, attributes = WINDOWS[which]
    ceil, include = seed % 2, seed // 2 % 2
    X = hard(name, shape, seed)
    made = written("AveragePool", **attributes, ceil_mode=ceil, count_include_pad=include)
    found = agreed(averagepool.OPERATOR, made, [X])
    axes, means = len(shape) - 2, []
    elements = dict(zip(numpy.ndindex(shape), decoded(X), strict=True))
    pads = attributes.get("pads", [0] * 2 * axes)
    for b, c in numpy.ndindex(shape[:2]):
        for indices in under(shape, attributes, ceil):
            limits = [(-pads[d], shape[d + 2] + pads[axes + d]) if include else (0, shape[d + 2]) for d in range(axes)]
            counting = [at for at in indices if all(a <= i < e for i, (a, e) in zip(at, limits, strict=True))]
            whole = summed([elements.get((b, c, *at), 0.0) for at in counting])
            means.append(whole if isinstance(whole, float) else Fraction(whole, len(counting)))
    assert same(found, array(X.dtype, means, found.shape))


def test_a_window_over_padding_only_has_no_mean():
    made = written("AveragePool", kernel_shape=[1], pads=[1, 1])
    for module in (averagepool.define, lambda m, x: averagepool.kernel(m)(x, numpy.empty((1, 1, 4), "f4"))):
        with pytest.raises(NotExecutable, match="padding only"):
            module(made, [numpy.ones((1, 1, 2), "f4")])


# ------------------------------------------------------------------ reductions


def reduction(operator, gone, keepdims=1, version=18):
    names = {"gone": gone, "keepdims": keepdims, "written(axes)": True}
    return Application(operator, version, "onnx", names)


@each_format
@each_case("seed", range(24))
def test_sums_and_means(name, seed):
    shape = [(3, 4, 2), (5, 7), (2, 1, 9), (64, 3)][seed % 4]
    X, rank = hard(name, shape, seed), len(shape)
    gone = [[0], [1], [0, 1], [rank - 1], [rank - 1, 0]][seed % 5]
    keep = seed // 2 % 2
    kept = [axis for axis in range(rank) if axis not in gone]
    slices = numpy.transpose(X, (*kept, *sorted(gone))).reshape(math.prod(shape[i] for i in kept), -1)
    sums = [summed(decoded(row)) for row in slices]
    means = [each if isinstance(each, float) else Fraction(each, slices.shape[1]) for each in sums]
    for operator, wanted in ((find_operator("ReduceSum"), sums), (find_operator("ReduceMean"), means)):
        found = agreed(operator, reduction(operator.name, gone, keep), [X])
        out = [1 if i in gone else e for i, e in enumerate(shape) if keep or i not in gone]
        assert same(found, array(X.dtype, wanted, out))


@each_format
def test_reductions_of_nothing(name):
    X = numpy.zeros((0, 2), KINDS[FORMATS[name]])
    assert bits(agreed(find_operator("ReduceSum"), reduction("ReduceSum", [0]), [X])).tolist() == [[0, 0]]
    assert agreed(find_operator("ReduceMean"), reduction("ReduceMean", [1]), [X]).shape == (0, 1)
    for compute in (find_operator("ReduceMean").define, find_operator("ReduceMean").fast_path):
        with pytest.raises(NotExecutable, match="mean of no element"):
            compute(reduction("ReduceMean", [0]), [X])
    assert same(agreed(find_operator("ReduceSum"), reduction("ReduceSum", []), [X + 1]), X + 1)


@each_case("kind", ["i4", "u4", "i8", "u8"])
def test_sums_of_integers_wrap_around(kind):
    X = hard(numpy.dtype(kind).name, (40, 3), 1)
    found = agreed(find_operator("ReduceSum"), reduction("ReduceSum", [0], 0), [X])
    assert same(found, array(X.dtype, [sum(decoded(column)) for column in X.T], (3,)))
    with pytest.raises(NotExecutable, match="mean"):
        find_operator("ReduceMean").define(reduction("ReduceMean", [0, 1]), [X])


@each_case("operator", ["ReduceMax", "ReduceMean", "ReduceSum"])
@each_case(
    ("version", "attributes", "axes", "said"),
    [
        (11, {"axes": [2]}, None, "{}.axes-range"),
        (11, {"axes": [0, -2]}, None, "{}.axes-distinct"),
        (11, {"axes": []}, None, "{}.axes-not-empty"),
        (18, {"axes": [0]}, None, "known-attribute"),
        (11, {}, [0], "input-count"),
        (18, {"noop_with_empty_axes": 2}, None, "{}.noop-flag"),
    ],
)
def test_bad_axes(operator, version, attributes, axes, said):
    inputs = [numpy.ones((2, 2), "f4"), *([] if axes is None else [numpy.array(axes)])]
    _, run = run_node(operator, inputs, None, operator_set=version, **attributes)
    with pytest.raises(Stop, match=said.format(operator)):
        run()


@each_case(("operator", "version"), [("ReduceMax", 18), ("ReduceMean", 18), ("ReduceSum", 13)])
def test_no_axes(operator, version):
    """Without axes everything is reduced, or nothing where the flag says so; an empty list is none."""
    X, all_of_it = numpy.array([[1, 2], [4, 9]], "f4"), {"ReduceMax": 9, "ReduceMean": 4, "ReduceSum": 16}[operator]
    assert run_node(operator, [X], None, operator_set=11)[1]().tolist() == [[all_of_it]]
    for more in ([], [numpy.zeros(0, "i8")]):
        assert run_node(operator, [X, *more], None, operator_set=version)[1]().tolist() == [[all_of_it]]
        kept = run_node(operator, [X, *more], None, operator_set=version, noop_with_empty_axes=1)[1]()
        assert same(kept, X)


@each_case("version", [11, 18])
def test_the_mean_of_nothing(version):
    with pytest.raises(Stop, match=r"ReduceMean\.reduction-not-empty"):
        run_node("ReduceMean", [numpy.ones((0, 2), "f4")], None, operator_set=version)[1]()


@each_format
@each_case("seed", range(8))
def test_global_pools(name, seed):
    X = hard(name, (2, 3, 3, 5), seed)
    rows = [decoded(X[at]) for at in numpy.ndindex(2, 3)]
    sums = [summed(row) for row in rows]
    means = [each if isinstance(each, float) else Fraction(each, 15) for each in sums]
    found = agreed(find_operator("GlobalAveragePool"), written("GlobalAveragePool"), [X])
    assert same(found, array(X.dtype, means, (2, 3, 1, 1)))
    largest = [best(name_of(X), bits(X)[at].ravel().tolist()) for at in numpy.ndindex(2, 3)]
    found = agreed(globalmaxpool.OPERATOR, written("GlobalMaxPool"), [X])
    assert same(found, from_bits(name_of(X), largest, (2, 3, 1, 1)))


# ------------------------------------------------------------------ ConvInteger


@each_case("seed", range(12))
def test_convolution_of_integers(seed):
    draw = numpy.random.default_rng(seed)
    kinds = ["int8", "uint8"][seed % 2], ["int8", "uint8"][seed // 2 % 2]
    X, W = hard(kinds[0], (2, 2, 5, 4), seed), hard(kinds[1], (4, 1, 2, 3), seed + 1)
    off = [None, hard(kinds[0], (), 3)][seed // 4 % 2], [None, hard(kinds[1], (4,), 4), hard(kinds[1], (), 5)][seed % 3]
    pads = [0] * 4 if off[0] is not None else draw.integers(0, 3, 4).tolist()
    names = {"group": 2, "strides": [2, 1], "dilations": [1, 1], "pads": pads}
    found = agreed(convinteger.OPERATOR, application("ConvInteger", names), [X, W, *off])
    x = numpy.pad(X.astype(object) - int(off[0] or 0), [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    w = W.astype(object) - (0 if off[1] is None else numpy.broadcast_to(off[1], 4).astype(object)[:, None, None, None])
    wanted = [
        sum(x[b, c // 2, 2 * m + j, n + z] * w[c, 0, j, z] for j in range(2) for z in range(3))
        for b, c, m, n in numpy.ndindex(found.shape)
    ]
    assert same(found, array(numpy.dtype("int32"), wanted, found.shape))


def test_a_sum_beyond_32_bits_wraps_around():
    X, W = numpy.full((1, 40000, 1, 1), 255, "u1"), numpy.full((1, 40000, 1, 1), 255, "u1")
    names = {"group": 1, "strides": [1, 1], "dilations": [1, 1], "pads": [0] * 4}
    found = agreed(convinteger.OPERATOR, application("ConvInteger", names), [X, W])
    assert found.item() == 255 * 255 * 40000 - 2**32


# ------------------------------------------------------------------ normalization


def digits_of_root(value, digits):
    """The square root of a fraction, cut to decimal digits, by Newton's steps on fractions."""
    x = Fraction(math.isqrt(int(value)) + 1)
    for _ in range(400):
        x, before = (x + value / x) / 2, x
        x = Fraction(round(x * 10**digits), 10**digits)
        if abs(x - before) <= Fraction(1, 10**digits):
            break
    return x


@each_format
@each_case("seed", range(12))
def test_batch_normalization(name, seed):
    shape = [(2, 3, 2, 2), (3, 3), (4,), (1, 3, 5)][seed % 4]
    channels = shape[1] if len(shape) > 1 else 1
    kind = KINDS[FORMATS[name]]
    X = hard(name, shape, seed)
    scale, B, mean = (hard(name, (channels,), seed + k) for k in (1, 2, 3))
    with numpy.errstate(all="ignore"):
        variance = numpy.abs(hard(name, (channels,), seed + 4).astype("f8"))
        variance = numpy.where(numpy.isnan(variance), 4.0, variance).astype(kind)
    epsilon = [0.0, 1e-5, 2.0**-6][seed % 3]
    epsilon = float(numpy.float32(epsilon))
    names = {"epsilon": epsilon, "training_mode": 0}
    found = agreed(
        batchnormalization.OPERATOR,
        application("BatchNormalization", names),
        [X, scale, B, mean, variance],
    )
    wanted = []
    for index, x in zip(numpy.ndindex(shape), decoded(X), strict=True):
        c = index[1] if len(shape) > 1 else 0
        s, b, m, v = (decoded(each[c : c + 1])[0] for each in (scale, B, mean, variance))
        top = product(s, summed([x, product(-1, m)]))
        spread = summed([v, Fraction(epsilon)])
        if isinstance(top, float) or isinstance(spread, float):
            quotient = divided(top, spread)
        else:
            exact = top * top / spread
            root = math.isqrt(exact.numerator), math.isqrt(exact.denominator)
            rational = root[0] ** 2 == exact.numerator and root[1] ** 2 == exact.denominator
            quotient = Fraction(*root) if rational else digits_of_root(exact, 800)
            quotient = quotient if top > 0 else -quotient
        wanted.append(summed([quotient, b]))
    assert same(found, array(kind, wanted, shape))


@each_case("seed", range(24))
def test_batch_normalization_of_several_types(seed):
    """The types of the input, of scale and bias, and of mean and variance; the definition has no approximation."""
    types = [*FORMATS]
    X, scale, mean = types[seed % 4], types[seed // 4 % 4], types[seed // 2 % 4]
    variance = numpy.abs(hard("double", (3,), seed + 4))
    with numpy.errstate(all="ignore"):
        variance = numpy.where(numpy.isnan(variance), 4.0, variance).astype(KINDS[FORMATS[mean]])
    inputs = [hard(X, (2, 3, 17), seed), hard(scale, (3,), seed + 1), hard(scale, (3,), seed + 2)]
    names = {"epsilon": [0.0, 2.0**-6][seed % 2], "training_mode": 0}
    agreed(
        batchnormalization.OPERATOR,
        application("BatchNormalization", names),
        [*inputs, hard(mean, (3,), seed + 3), variance],
    )


def divided(x, y):
    """x over the square root of y, one of them no number other than 0; by numpy."""
    x, y = (each if isinstance(each, float) else (1.0 if each > 0 else -1.0) for each in (x, y))
    with numpy.errstate(all="ignore"):
        return float(numpy.float64(x) / numpy.sqrt(numpy.float64(y)))


def test_a_negative_variance_has_no_value():
    ones = numpy.ones(2, "f4")
    made = application("BatchNormalization", {"epsilon": 1.0})
    for value in (-1.0, numpy.nan):
        inputs = [numpy.ones((1, 2), "f4"), ones, ones, ones, numpy.array([1, value], "f4")]
        for act in (batchnormalization.define, lambda m, x: batchnormalization.kernel(m)(x, x[0].copy())):
            with pytest.raises(NoValue, match=r"input_var\[1\]"):
                act(made, inputs)


@each_format
@each_case("seed", range(8))
def test_local_response_normalization(name, seed):
    X = hard(name, (1, 5, 2, 2), seed)
    for size, beta in ((1, 0.75), (3, 0.75), (4, 0.5), (5, 0.75)):
        agreed(lrn.OPERATOR, written("LRN", size=size, beta=beta, alpha=0.25, bias=1.0), [X])


@each_format
@each_case("size", [1, 2, 3, 4, 6, 7, 9, 12])
def test_blocks_of_local_response_normalization(name, size):
    """Windows that are even, as wide as the channels and wider; blocks of two places; nothing to normalize."""
    draw = numpy.random.default_rng(size)
    for shape in ((2, 5, 3), (1, 1, 2), (1, 5), (0, 3, 2), (1, 3, 0), (1, 0, 2)):
        X = draw.standard_normal(shape).astype(KINDS[FORMATS[name]])
        agreed(lrn.OPERATOR, replace(written("LRN", size=size, alpha=0.3, bias=1.5), block_elements=10), [X])


def test_local_response_normalization_by_fourth_powers():
    """With beta = 0.75 the fourth power of a value is x^4 / d^3: the nearest element has no nearer neighbour."""
    X = numpy.random.default_rng(3).standard_normal((1, 6, 3, 3)).astype("f4")
    found = agreed(lrn.OPERATOR, written("LRN", size=5, alpha=0.5, bias=2.0), [X])
    for index in numpy.ndindex(X.shape):
        around = X[0, max(0, index[1] - 2) : index[1] + 3, index[2], index[3]]
        divisor = 2 + Fraction(1, 2) / 5 * sum(Fraction(float(x)) ** 2 for x in around)
        exact = Fraction(float(X[index])) ** 4 / divisor**3
        y = abs(found[index])
        low, high = (
            (Fraction(float(y)) + Fraction(float(numpy.nextafter(y, numpy.float32(end))))) / 2 for end in (0, 9)
        )
        assert low**4 <= exact <= high**4
        assert numpy.signbit(found[index]) == numpy.signbit(X[index])
