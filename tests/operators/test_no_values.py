"""Where a text gives no value: the definition, the kernel and the fast path name the same rule and the same place."""

from dataclasses import replace

import numpy
import pytest

from sonnx.numerics.application import Application, NoValue
from sonnx.operators.registry import all_operators
from sonnx.profile.index import rules_by_slug
from tests.support.applications import applied
from tests.support.cases import each_case
from tests.support.oracle import same

PICTURE = {"kernel_shape": [2], "strides": [1], "dilations": [1], "spacing": [1]}
X = numpy.arange(12.0, dtype="f4").reshape(3, 4)
EMPTY = numpy.zeros((2, 0), "f4")
ONE, TWO = numpy.array(1, "f4"), numpy.array(2, "f4")
C2 = numpy.ones(2, "f4")


def arg(**names):
    return Application("ArgMax", 13, "onnx", {"axis": 0, "keepdims": 0, "select_last_index": 0} | names)


def reduced(version, gone, written=True, keepdims=0):
    names = {"gone": gone, "keepdims": keepdims, "written(axes)": written}
    return Application("ReduceMax", version, "onnx", names)


def pool(pads, order=0):
    return Application("MaxPool", 12, "onnx", PICTURE | {"pads": pads, "storage_order": order})


def softmax(axis):
    return Application("Softmax", 13, "onnx", {"axis": axis})


def normal(**names):
    return Application("BatchNormalization", 15, "onnx", {"epsilon": 0.5, "training_mode": 0} | names)


def clip(version):
    return Application("Clip", version, "onnx")


PLANE = numpy.ones((1, 2, 3), "f4")
REFUSED = [
    ("ArgMax.select-last-index-flag", arg(select_last_index=2), [X], (4,), "select_last_index is 2"),
    ("ArgMax.select-last-index-flag", arg(select_last_index=-1), [X], (4,), "select_last_index is -1"),
    ("ArgMax.axis-range", arg(axis=2), [X], (4,), "a tensor of rank 2 has no axis 2"),
    ("ArgMax.axis-range", arg(axis=-3), [X], (4,), "a tensor of rank 2 has no axis -3"),
    ("ArgMax.axis-not-empty", arg(axis=1), [EMPTY], (2,), "the axis 1 of a tensor of shape (2, 0) has no element"),
    ("ReduceMax.reduction-not-empty", reduced(13, (1,)), [EMPTY], (2,), "(2, 0) has no element along the axes [1]"),
    ("ReduceMax.axes-not-empty", reduced(13, ()), [X], (3, 4), "the list of axes is empty"),
    ("MaxPool.row-major", pool([0, 0], 2), [PLANE], (1, 2, 2), "storage_order is 2"),
    ("MaxPool.every-window-touches", pool([2, 0]), [PLANE], None, "the window at [0] lies on padding only"),
    ("MaxPool.every-window-touches", pool([0, 2]), [PLANE], None, "the window at [3] lies on padding only"),
    ("Softmax.axis-range", softmax(2), [X], (3, 4), "a tensor of rank 2 has no axis 2"),
    ("Softmax.axis-range", softmax(-3), [X], (3, 4), "a tensor of rank 2 has no axis -3"),
    ("BatchNormalization.inference-mode", normal(training_mode=1), [PLANE, C2, C2, C2, C2], (1, 2, 3), "training"),
    ("BatchNormalization.inference-mode", normal(is_test=0), [PLANE, C2, C2, C2, C2], (1, 2, 3), "training"),
    ("BatchNormalization.variance-not-negative", normal(), [PLANE, C2, C2, C2, numpy.array([1, -0.25], "f4")],
     (1, 2, 3), "input_var[1] is -0.25"),
    ("BatchNormalization.variance-not-negative", normal(), [PLANE, C2, C2, C2, numpy.array([numpy.nan, 1], "f4")],
     (1, 2, 3), "input_var[0] is nan"),
    ("Clip.lower-bound-scalar", clip(13), [X, C2, None], (3, 4), "the lower bound has the shape [2]"),
    ("Clip.upper-bound-scalar", clip(13), [X, None, C2], (3, 4), "the upper bound has the shape [2]"),
    ("Clip.bounds-in-order", clip(12), [X, TWO, ONE], (3, 4), "the bounds 2.0 and 1.0 are crossed"),
    ("Range.delta-not-zero", Application("Range", 11, "onnx"), [ONE, TWO, 0 * ONE], (1,), "the step is 0"),
    ("Range.numbers-finite", Application("Range", 11, "onnx"), [ONE, numpy.array(numpy.inf, "f4"), ONE], (1,),
     "start, limit and step are 1.0, inf, 1.0"),
]  # fmt: skip


@each_case(("rule", "made", "inputs", "shape", "sentence"), REFUSED)
def test_the_rule_and_the_sentence(rule, made, inputs, shape, sentence):
    described = all_operators()[made.operator]
    out = numpy.empty(shape or (), numpy.int64 if made.operator == "ArgMax" else inputs[0].dtype)
    ways = [lambda: described.define(made, inputs)]
    if described.kernel is not None and shape is not None:
        ways.append(lambda: described.kernel(made)(inputs, out))
    if described.fast_path is not None:
        ways.append(lambda: described.fast_path(replace(made, outputs=2), inputs))
    assert rule in rules_by_slug()
    for way in ways:
        with numpy.errstate(all="ignore"), pytest.raises(NoValue) as stop:
            way()
        assert stop.value.rule == rule
        assert sentence in str(stop.value)


HAVE_A_VALUE = [
    (arg(axis=1), [X], [3, 3, 3]),
    (arg(axis=-1), [X], [3, 3, 3]),
    (arg(axis=-2), [X], [2, 2, 2, 2]),
    (arg(axis=0), [numpy.zeros((2, 0), "f4")], []),
    (arg(axis=0), [numpy.zeros(3, "f4")], 0),
    (arg(axis=0, select_last_index=1), [numpy.zeros(3, "f4")], 2),
    (applied("ArgMax", 11, [numpy.zeros(3, "f4")], axis=0, keepdims=1), [numpy.zeros(3, "f4")], [0]),
    (reduced(13, (1,)), [numpy.zeros((0, 0), "f4")], []),
    (reduced(18, (1,)), [EMPTY], [-numpy.inf, -numpy.inf]),
    (reduced(18, (1,), keepdims=1), [EMPTY.astype("i1")], [[-128], [-128]]),
    (reduced(18, ()), [X[:1, :2]], [[0, 1]]),
    (reduced(13, (0,)), [EMPTY], []),
    (pool([1, 0]), [PLANE[:, :1]], [[[1, 1, 1]]]),
    (softmax(1), [numpy.zeros((1, 2), "f4")], [[0.5, 0.5]]),
    (softmax(-2), [numpy.zeros((1, 2), "f4")], [[1, 1]]),
    (normal(is_test=1), [PLANE[:, :, :1], C2, C2, C2, C2 / 2], [[[1], [1]]]),
    (normal(), [PLANE[:, :, :1], C2, C2, C2, 0 * C2], [[[1], [1]]]),
    (clip(13), [X[:1, :2], TWO, ONE], [[1, 1]]),
    (clip(12), [X[:1], ONE, TWO], [[1, 1, 2, 2]]),
    (clip(12), [X[:1], ONE, ONE], [[1, 1, 1, 1]]),
]  # fmt: skip


@each_case(("made", "inputs", "wanted"), HAVE_A_VALUE)
def test_what_is_just_allowed_has_a_value(made, inputs, wanted):
    described = all_operators()[made.operator]
    with numpy.errstate(all="ignore"):
        [found] = described.define(made, inputs)
        assert found.tolist() == wanted
        if described.kernel is not None:
            assert same(described.kernel(made)(inputs, numpy.full_like(found, 7)), found)
        if described.fast_path is not None:
            assert same(described.fast_path(made, inputs)[0], found)
