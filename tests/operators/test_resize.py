"""Resize against its text on exact fractions, to the bit, and against the onnx package's evaluator, to a tolerance.

The oracle writes the formulas of the text down once more, as a matrix of weights for each axis; no code of the package.
"""

import itertools
import math
import random
from fractions import Fraction

import numpy
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import sonnx
from tests.support.cases import crossed, each_case, examples, spread
from tests.support.definitions import run_by_definitions
from tests.support.exact import FORMATS, array, decoded, hard, product, summed
from tests.support.oracle import bits, same

H = Fraction(1, 2)

MODES = ("nearest", "linear", "cubic")
COORDINATES = {
    11: ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"),
    13: ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"),
    18: ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"),
    19: ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"),
}


# ------------------------------------------------------------------ the oracle


def x_original(how, x, length, resized, count, scale, start, end):
    """The place of x_resized, by the formulas of Resize-11 to Resize-19."""
    if how == "half_pixel":
        return (x + H) / scale - H
    if how == "half_pixel_symmetric":
        adjustment = Fraction(count) / resized
        offset = Fraction(length) / 2 * (1 - adjustment)
        return offset + (x + H) / scale - H
    if how == "pytorch_half_pixel":
        return (x + H) / scale - H if resized > 1 else Fraction(0)
    if how == "align_corners":
        return Fraction(0) if x == 0 else x * Fraction(length - 1) / (resized - 1)
    if how == "asymmetric":
        return x / scale
    if how == "tf_half_pixel_for_nn":
        return (x + H) / scale
    assert how == "tf_crop_and_resize"
    if resized > 1:
        return start * (length - 1) + x * (end - start) * (length - 1) / (resized - 1)
    return H * (start + end) * (length - 1)


def nearest(how, x):
    """The whole number next to x."""
    below = x.numerator // x.denominator
    rest = x - below
    if rest == 0 or how == "floor":
        return below
    if how == "ceil" or rest > H:
        return below + 1
    return below + (rest == H and how == "round_prefer_ceil")


def tent(d):
    return max(Fraction(0), 1 - abs(d))


def keys(a, d):
    """Equation (4) of Keys, with a for -1/2."""
    d = abs(d)
    if d < 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else Fraction(0)


def rows(at, length, scale, given):
    """For a place the pairs of an element and its weight, none of them 0."""
    if given["mode"] == "nearest":
        pairs = [(nearest(given["nearest_mode"], at), Fraction(1))]
    else:
        wide = max(Fraction(1), 1 / scale) if given.get("antialias") else Fraction(1)
        curve = tent if given["mode"] == "linear" else lambda d: keys(Fraction(given["cubic_coeff_a"]), d)
        middle = at.numerator // at.denominator
        far = math.ceil(2 * wide) + 2
        pairs = [(i, curve((i - at) / wide)) for i in range(middle - far, middle + far + 1)]
    if given.get("exclude_outside"):
        pairs = [(i, w) for i, w in pairs if i in range(length)]
    whole = sum(w for _, w in pairs) / Fraction(bool(pairs))
    return [(sorted((0, i, length - 1))[1], w / whole) for i, w in pairs if w]


def oracle(X, axes, given):
    """Y; `axes` has for each axis (count, resized, scale, start, end)."""
    how, elements = given["coordinate_transformation_mode"], dict(zip(numpy.ndindex(X.shape), decoded(X), strict=True))
    outside = given.get("extrapolation_value", 0.0)
    outside = Fraction(outside) if outside and math.isfinite(outside) else outside
    places = []
    for length, (count, resized, scale, start, end) in zip(X.shape, axes, strict=True):
        found = [x_original(how, x, length, resized, count, scale, start, end) for x in range(count)]
        cut = how == "tf_crop_and_resize"
        places.append([None if cut and not 0 <= at <= length - 1 else rows(at, length, scale, given) for at in found])
    if given["mode"] == "nearest" and not any(None in each for each in places):  # every bit, of a NaN too
        return X[numpy.ix_(*[[only[0][0] for only in each] for each in places])]
    values = []
    for around in itertools.product(*places):
        if None in around:
            values.append(outside)
            continue
        addends = []
        for each in itertools.product(*around):
            weight = math.prod([w for _, w in each], start=Fraction(1))
            addends.append(product(weight, elements[tuple(i for i, _ in each)]))
        values.append(summed(addends))
    return array(X.dtype, values, [len(each) for each in places])


# ------------------------------------------------------------------ models of one node


def model(version, X, Y_shape, roi=None, scales=None, sizes=None, **attributes):
    """The model, and its inputs."""
    given = {"X": X}
    if version > 10:
        given["roi"] = roi if roi is not None else numpy.zeros(0, "f4") if version == 11 else None
    given |= {"scales": scales if scales is not None or version != 11 else numpy.zeros(0, "f4"), "sizes": sizes}
    made = {name: value for name, value in given.items() if value is not None}
    names = [name if value is not None else "" for name, value in given.items()]
    while not names[-1]:
        names.pop()
    node = helper.make_node("Resize", names, ["Y"], "n", **attributes)
    type_of = helper.np_dtype_to_tensor_dtype
    inputs = [helper.make_tensor_value_info(name, type_of(each.dtype), each.shape) for name, each in made.items()]
    output = helper.make_tensor_value_info("Y", type_of(X.dtype), Y_shape)
    graph = helper.make_graph([node], "g", inputs, [output])
    imports = [helper.make_opsetid("", version)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString(), made


def both(source, given):
    """The value of the definition and of the kernel, which must be the same."""
    value = run_by_definitions(source, given)["Y"]
    assert same(sonnx.run(source, given, unchecked=True)["Y"], value)
    return value


def extent(length, scale):
    """floor(length * scale); None where a product that is rounded to float may be another whole number."""
    exact, rounded_up = length * Fraction(scale), length * Fraction(scale) * (1 + Fraction(1, 2**24))
    return math.floor(exact) if math.floor(exact) == math.floor(rounded_up) else None


def agree(found, wanted):
    """Equal bits; of a NaN that is computed only that it is one."""
    nan = numpy.isnan(wanted.astype("f8"))
    assert found.shape == wanted.shape
    assert numpy.array_equal(numpy.isnan(found.astype("f8")), nan)
    assert numpy.array_equal(bits(found)[~nan], bits(wanted)[~nan])


# ------------------------------------------------------------------ against the text

SCALES = [float(numpy.float32(each)) for each in (0.25, 1 / 3, 0.5, 0.6, 0.7, 0.8, 1, 1, 1.5, 2, 2, 2.3, 2.94, 3, 4)]


def drawn(seed, least=11):
    """A setting: version, shape of X, what the oracle needs of each axis, inputs and attributes."""
    draw = random.Random(seed)
    version = draw.choice([each for each in COORDINATES if each >= least])
    shape = [draw.randint(1, 6) for _ in range(draw.randint(1, 2 if seed % 3 == 2 else 3))]  # cubic takes long
    given = {"mode": MODES[seed % 3], "coordinate_transformation_mode": draw.choice(COORDINATES[version])}
    given |= {"nearest_mode": draw.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])}
    given |= {"cubic_coeff_a": draw.choice([-0.75, -0.5, float(numpy.float32(-0.6))])}
    given |= {"exclude_outside": draw.randint(0, 1)}
    axes = list(range(len(shape)))
    if version >= 18:
        given["antialias"] = draw.randint(0, 1)
        if draw.randint(0, 1):
            axes = draw.sample(axes, draw.randint(1, len(axes)))
            given["axes"] = [axis - draw.choice([0, len(shape)]) for axis in axes]
    stated = [(n, Fraction(n), Fraction(1), 0, 1) for n in shape]
    if draw.randint(0, 1):
        sizes = [draw.randint(1, 9) for _ in axes]
        ratios = [Fraction(size, shape[axis]) for size, axis in zip(sizes, axes, strict=True)]
        policy = draw.choice(["stretch", "not_larger", "not_smaller"]) if version >= 18 else "stretch"
        if version >= 18:
            given["keep_aspect_ratio_policy"] = policy
        for axis, ratio in zip(axes, ratios, strict=True):
            one = ratio if policy == "stretch" else min(ratios) if policy == "not_larger" else max(ratios)
            resized = one * shape[axis]
            stated[axis] = (math.floor(resized + H), resized, one, 0, 1)
        return version, shape, stated, {"sizes": numpy.array(sizes, "i8")}, given
    scales = [draw.choice(SCALES) for _ in axes]
    for axis, scale in zip(axes, scales, strict=True):
        stated[axis] = (extent(shape[axis], scale), shape[axis] * Fraction(scale), Fraction(scale), 0, 1)
    return version, shape, stated, {"scales": numpy.array(scales, "f4")}, given


@each_case("name", FORMATS)
@each_case("seed", spread(range(60), 9))
def test_as_the_text_says(name, seed):
    version, shape, axes, inputs, given = drawn(seed, least=13 if name == "bfloat16" else 11)
    X = hard(name, shape, seed + 7)
    counts = [count for count, *_ in axes]
    source, inputs = model(version, X, None if None in counts else counts, **inputs, **given)
    if None in counts:
        with pytest.raises(sonnx.NotExecutable, match="depends on how the product is rounded"):
            both(source, inputs)
        return
    try:
        wanted = oracle(X, axes, given) if 0 not in counts else numpy.zeros(counts, X.dtype)
    except ZeroDivisionError:  # every location of an element is outside, and excluded
        with pytest.raises(sonnx.NotExecutable, match="add up to 0"):
            both(source, inputs)
        return
    agree(both(source, inputs), wanted)


@each_case("name", FORMATS)
@each_case("mode", MODES)
@each_case("seed", range(examples(4, 8)))
def test_a_region(name, mode, seed):
    """Cut out, also beyond the ends and turned round, where extrapolation_value stands."""
    draw = random.Random(seed)
    shape = [draw.randint(1, 5), draw.randint(2, 5)]
    starts, ends = (
        [float(numpy.float32(draw.choice(each))) for _ in shape] for each in ([0, 0.25, -0.3], [1, 0.6, 1.4])
    )
    if seed % 4 == 3:
        starts, ends = ends, starts
    value = draw.choice([0.0, -0.0, 0.1, math.inf, math.nan])
    given = {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": value}
    given |= {"nearest_mode": "floor", "cubic_coeff_a": -0.75}
    roi, spans = (
        numpy.array(starts + ends, "f4"),
        [Fraction(e) - Fraction(s) for s, e in zip(starts, ends, strict=True)],
    )
    if seed % 4 == 2:
        scales = [float(numpy.float32(1.3)), float(numpy.float32(2.2))]
        inputs = {"scales": numpy.array(scales, "f4")}
        resized = [n * Fraction(s) * span for n, s, span in zip(shape, scales, spans, strict=True)]
        counts, rates = [math.floor(each) for each in resized], [Fraction(scale) for scale in scales]
    else:
        counts = [draw.randint(1, 6), draw.randint(1, 6)]
        inputs = {"sizes": numpy.array(counts, "i8")}
        resized, rates = counts, [Fraction(count, n) for count, n in zip(counts, shape, strict=True)]
    X = hard(name, shape, seed)
    source, inputs = model(19, X, None, roi=roi, **inputs, **given)
    sides = [map(Fraction, each) for each in (starts, ends)]
    given["extrapolation_value"] = float(numpy.float32(value))
    wanted = oracle(X, list(zip(counts, resized, rates, *sides, strict=True)), given)
    agree(both(source, inputs), wanted)


def test_elements_that_are_moved_keep_every_bit():
    X = numpy.array([0x7FA00001, 0xFFC00005, 0x80000000, 1], "u4").view("f4")  # NaNs with payloads, one signalling
    for mode in ("nearest", "linear"):
        source, given = model(19, X, [4], sizes=numpy.array([4]), mode=mode)
        assert both(source, given).tobytes() == X.tobytes()


# ------------------------------------------------------------------ against the evaluator of the onnx package

STATED = {
    "halves": {"scales": numpy.array([0.5, 2.5], "f4")},
    "thirds": {"scales": numpy.array([0.6, 1 / 3], "f4")},
    "whole": {"scales": numpy.array([2, 3], "f4")},
    "sizes": {"sizes": numpy.array([7, 3])},
    "not larger": {"sizes": numpy.array([7, 4]), "keep_aspect_ratio_policy": "not_larger"},
    "not smaller": {"sizes": numpy.array([7, 3]), "keep_aspect_ratio_policy": "not_smaller"},
}


def evaluated(source, given):
    return ReferenceEvaluator(onnx.load_from_string(source)).run(None, given)[0]


@each_case(("how", "mode", "stated"), crossed(COORDINATES[19], ["linear", "cubic"], STATED, every=3))
def test_as_the_package_evaluates_averages(how, mode, stated):
    """In double, to a tolerance: the evaluator rounds coordinates, to float where scales are given."""
    X = numpy.random.default_rng(1).standard_normal((5, 6))
    for antialias, exclude in spread(itertools.product((0, 1), repeat=2), 2):
        more = {"mode": mode, "coordinate_transformation_mode": how, "antialias": antialias}
        source, given = model(19, X, None, **STATED[stated], exclude_outside=exclude, cubic_coeff_a=-0.75, **more)
        numpy.testing.assert_allclose(both(source, given), evaluated(source, given), rtol=0, atol=1e-5)


@each_case("how", COORDINATES[19])
@each_case("pick", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@each_case("stated", ["halves", "whole"])
def test_as_the_package_evaluates_picks(how, pick, stated):
    """Bit for bit where float64 holds the coordinates, or rounds them to no other pick."""
    X = numpy.arange(30.0).reshape(5, 6)
    more = {"nearest_mode": pick, "coordinate_transformation_mode": how}
    source, given = model(19, X, None, **STATED[stated], **more)
    assert same(both(source, given), evaluated(source, given))


# ------------------------------------------------------------------ version 10


@each_case(
    ("mode", "X", "scales", "wanted"),
    [
        ("nearest", [[1, 2], [3, 4]], [2, 3], [[1, 1, 1, 2, 2, 2]] * 2 + [[3, 3, 3, 4, 4, 4]] * 2),
        ("nearest", [[1, 2, 3, 4], [5, 6, 7, 8]], [0.6, 0.6], [[1, 3]]),
        ("linear", [[1, 2], [3, 4]], [2, 2], [[1, 1.5, 2, 2], [2, 2.5, 3, 3], [3, 3.5, 4, 4], [3, 3.5, 4, 4]]),
        ("linear", [[1, 2, 3, 4], [5, 6, 7, 8]], [0.6, 0.6], [[1, 2.66666651]]),
    ],
)
def test_version_10_as_its_node_tests(mode, X, scales, wanted):
    """The four node tests that onnx 1.5 shipped for it (resize.py of that release)."""
    source, given = model(10, numpy.array(X, "f4"), None, scales=numpy.array(scales, "f4"), mode=mode)
    numpy.testing.assert_allclose(both(source, given), numpy.array(wanted, "f4"), rtol=1e-7)


# ------------------------------------------------------------------ cases read by hand


def test_the_scale_is_the_float_that_is_given():
    """The float next to 1/3 is above it, so that the places lie below 3 and 6."""
    X = numpy.arange(9, dtype="f4")
    more = {"coordinate_transformation_mode": "asymmetric", "scales": numpy.array([1 / 3], "f4")}
    for pick, wanted in (("floor", [0, 2, 5]), ("ceil", [0, 3, 6])):
        source, given = model(19, X, [3], nearest_mode=pick, **more)
        assert both(source, given).tolist() == wanted


@each_case("kind", ["bool", "int8", "uint16", "int64", "uint64"])
def test_integers_are_picked_and_not_averaged(kind):
    X = hard(kind, (3, 4), 1) if kind != "bool" else numpy.array([[True, False, False, True]] * 3)
    source, given = model(19, X, None, scales=numpy.array([1, 2], "f4"))
    assert same(both(source, given), numpy.repeat(X, 2, axis=1))
    source, given = model(19, X, None, scales=numpy.array([1, 2], "f4"), mode="linear")
    with pytest.raises(sonnx.NotExecutable, match="no text says how an average"):
        both(source, given)


def cropped(kind, roi, value=0.0, **more):
    how = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": value}
    return model(19, numpy.array([5, 6], kind), None, roi=roi, sizes=numpy.array([3]), **how, **more)


@each_case("name", FORMATS)
def test_a_region_all_of_which_is_outside_on_one_axis(name):
    how = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": -2.0}
    roi = numpy.array([0, 1.5, 1, 3], "f4")
    source, given = model(19, hard(name, (3, 4), 0), None, roi=roi, sizes=numpy.array([5, 2]), **how)
    assert both(source, given).astype("f8").tolist() == [[-2.0] * 2] * 5


def test_extrapolation_of_integers():
    source, given = cropped("i1", numpy.array([0, 2], "f4"), -7.0)
    assert both(source, given).tolist() == [5, 6, -7]


RUNS_NOT = {
    "extrapolation of a fraction": (cropped("i1", numpy.array([0, 2], "f4"), 0.5), "no element of type int8"),
    "extrapolation beyond the type": (cropped("u1", numpy.array([0, 2], "f4"), -1.0), "no element of type uint8"),
    "a region that is not a number": (cropped("f4", numpy.array([0, math.nan], "f4")), "not finite"),
    "no region": (cropped("f4", None), "does not name a start and an end"),
    "another number than a flag": (model(19, numpy.ones(2, "f4"), None, sizes=numpy.array([3]), antialias=2),
                                   "antialias is 2"),
    "an axis without elements": (model(19, numpy.ones((0, 2), "f4"), None, sizes=numpy.array([3, 2])),
                                 "axis 0 of X has no element to sample"),
    "a coefficient that is not finite": (model(19, numpy.ones(2, "f4"), None, sizes=numpy.array([3]), mode="cubic",
                                               cubic_coeff_a=math.inf), "cubic_coeff_a is inf"),
    "a scale that is not a number": (model(19, numpy.ones(2, "f4"), None, scales=numpy.array([math.nan], "f4")),
                                  r"Resize\.scales-positive"),
    "a scale that is infinite": (model(19, numpy.ones(2, "f4"), None, scales=numpy.array([math.inf], "f4")),
                                 "not defined on real numbers"),
    "a size that is negative": (model(19, numpy.ones(2, "f4"), None, sizes=numpy.array([-3])), "has a negative extent"),
    "a mode that is none": (model(19, numpy.ones(2, "f4"), None, sizes=numpy.array([3]), mode="cubic2"),
                            r"Resize\.mode-known"),
}  # fmt: skip


@each_case(("made", "said"), RUNS_NOT.values(), ids=RUNS_NOT)
def test_what_has_no_value_is_refused_with_a_sentence(made, said):
    with pytest.raises(sonnx.Stop, match=said) as caught:
        both(*made)
    assert "\n" not in str(caught.value)


@each_case("shape", [(0, 3), (3, 0)])
def test_nothing_is_resized_to_nothing(shape):
    source, given = model(19, numpy.ones(shape, "f4"), None, scales=numpy.array([2, 2], "f4"), mode="linear")
    assert both(source, given).shape == tuple(2 * n for n in shape)


@each_case("scales", [[2.0, 2.0], [0.4, 1.7]])
@each_case("mode", ["linear", "cubic"])
def test_the_kernel_on_larger_inputs(mode, scales):
    """Halfway cases by the thousand, and weights that float64 does not hold."""
    X = numpy.random.default_rng(2).integers(-9, 9, (2, 2, 9, 11)).astype("f4") * numpy.float32(2**-13 + 1)
    X[0, 0, 3, 4], X[0, 1, 3, 4], X[1] = numpy.inf, numpy.nan, X[1] * (X[1] > 0)
    given = numpy.array([1, 1, *scales], "f4")
    for antialias in (0, 1):
        both(*model(19, X, None, scales=given, mode=mode, antialias=antialias))
