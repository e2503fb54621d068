"""Models outside the profile, run unchecked: every run ends in values or a message, and derived padding is ONNX's.

A fast sample runs in every test; all models with every kind of input are a campaign.
"""

import math
import random

import numpy
import onnx
import pytest

import sonnx
from sonnx.evidence.verification import model_bytes
from sonnx.executor.executor import ModelRunner
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.probes import KINDS, probe
from sonnx.model.reader import read
from sonnx.profile.cases import all_cases
from tests.support.cases import each_case
from tests.support.models import run_node
from tests.support.node_tests import node_tests

LARGEST = 20_000
"""Elements of the inputs of a model in the fast sample."""


def node_models():
    """Every generated single-node model of the onnx package."""
    return [case.model.SerializeToString() for case in node_tests()]


def ends(source, number, largest=math.inf):
    """Whether a model was run with the inputs of one kind; anything but a documented stop is raised."""
    try:
        model = read(source)
        inputs = probe(required_inputs(model), 0, number)
        if sum(values.size for values in inputs.values()) > largest:
            return False
        ModelRunner(model, unchecked=True).run(inputs)
    except (sonnx.Stop, sonnx.Unreadable) as stop:
        assert str(stop)
        assert "\n" not in str(stop)
        return False
    return True


def test_a_sample_of_all_models_ends_in_values_or_a_sentence():
    models = node_models()[::19] + [model_bytes(case) for case in all_cases()[::9]]
    assert sum(ends(source, number, LARGEST) for number, source in enumerate(models)) > len(models) / 4


@pytest.mark.campaign
@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
def test_all_models_end_in_values_or_a_sentence(number):
    models = [*node_models(), *map(model_bytes, all_cases())]
    assert sum(ends(source, number) for source in models) > len(models) / 4


# ------------------------------------------------------------------ invalid ONNX, or too large


def ones(*shape):
    return numpy.ones(shape, "f4")


REFUSED = {
    "kernel_shape that is not W's": (("Conv", [ones(1, 1, 3, 3), ones(1, 1, 2, 2)]), {"kernel_shape": [3, 3]}),
    "channels that do not fit": (("Conv", [ones(1, 2, 3, 3), ones(1, 1, 3, 3)]), {}),
    "weights that are not of four gates": (("LSTM", [ones(2, 1, 2), ones(1, 7, 2), ones(1, 8, 2)]), {"hidden_size": 2}),
    "an element of an empty axis": (("Pad", [ones(0, 2), numpy.array([1, 0, 1, 0])]), {"mode": "edge"}),
    "training": (("BatchNormalization", [ones(2, 3, 2), *[ones(3)] * 4]), {"outputs": 3, "operator_set": 9}),
    "no auto_pad": (("MaxPool", [ones(1, 1, 4)]), {"kernel_shape": [2], "auto_pad": "SAME"}),
    "two meanings": (("MaxPool", [ones(1, 1, 5)]),
                     {"kernel_shape": [2], "strides": [2], "auto_pad": "VALID", "ceil_mode": 1}),
    "an array too large": (("ConstantOfShape", [numpy.array([2**31, 2**31])]), {}),
    "a number too large": (("ConstantOfShape", [numpy.array([2**62])]), {}),
}  # fmt: skip


@each_case(("node", "attributes"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_value_is_refused_with_a_sentence(node, attributes):
    _, run = run_node(*node, None, **attributes)
    with pytest.raises(sonnx.Stop, match=r"^node 'n' \("):
        run()


# ------------------------------------------------------------------ derived padding


def places(how, ceil, extent, span, stride, begin, end):
    """The number of places, by the formulas of ONNX's MaxPool."""
    if how in ("SAME_UPPER", "SAME_LOWER"):
        return math.ceil(extent / stride)
    if how == "VALID":
        return math.ceil((extent - span + 1) / stride)
    count = (extent + begin + end - span) / stride + 1
    if ceil and (math.ceil(count) - 1) * stride >= extent + begin:
        return math.ceil(count) - 1
    return math.ceil(count) if ceil else math.floor(count)


def first_place(how, extent, span, stride, begin):
    """Where the first window begins: SAME pads by half of what is missing, the odd element behind or before."""
    if how == "VALID":
        return 0
    if how == "NOTSET":
        return -begin
    missing = max(0, (math.ceil(extent / stride) - 1) * stride + span - extent)
    return -(missing // 2) if how == "SAME_UPPER" else -math.ceil(missing / 2)


def drawn(seed):
    draw = random.Random(seed)
    while True:
        how = draw.choice(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
        extent, kernel, stride, gap = draw.randint(1, 9), draw.randint(1, 4), draw.randint(1, 4), draw.randint(1, 2)
        span = (kernel - 1) * gap + 1
        pads = [draw.randint(0, kernel // 2), draw.randint(0, kernel // 2)] if how == "NOTSET" else None
        if extent + sum(pads or [0]) >= span:
            return how, extent, kernel, stride, gap, span, pads


@each_case("seed", range(60))
def test_derived_padding_of_maxpool_and_conv(seed):
    how, extent, kernel, stride, gap, span, pads = drawn(seed)
    ceil = seed % 2 if how != "VALID" else 0
    x = numpy.random.default_rng(seed).permutation(extent).astype("f4")
    begin, end = pads or (0, 0)
    attributes = {"strides": [1, stride], "dilations": [1, gap], "auto_pad": how, "kernel_shape": [1, kernel]}
    attributes |= {"pads": [0, begin, 0, end]} if pads else {}
    for operator in ("MaxPool", "Conv"):
        rounded = ceil if operator == "MaxPool" else 0
        first = first_place(how, extent, span, stride, begin)
        windows = [
            [i for i in range(first + m * stride, first + m * stride + span, gap) if 0 <= i < extent]
            for m in range(places(how, rounded, extent, span, stride, begin, end))
        ]
        weights = numpy.arange(1, kernel + 1, dtype="f4")
        if operator == "MaxPool":
            more, inputs = {"ceil_mode": rounded}, []
            wanted = [max((x[i] for i in window), default=None) for window in windows]
        else:
            more, inputs = {}, [weights.reshape(1, 1, 1, -1)]
            starts = [first + m * stride for m in range(len(windows))]
            wanted = [
                sum(x[s + j * gap] * weights[j] for j in range(kernel) if 0 <= s + j * gap < extent) for s in starts
            ]
        source, run = run_node(
            operator, [x.reshape(1, 1, 1, -1), *inputs], [1, 1, 1, len(wanted)], **attributes, **more
        )
        if None in wanted:
            with pytest.raises(sonnx.ErrorCondition, match=r"MaxPool\.every-window-touches"):
                run()
            continue
        assert run().reshape(-1).tolist() == wanted
        if how != "NOTSET":
            slugs = {each.rule for each in sonnx.check(source).roots}
            assert f"{operator}.explicit-padding" in slugs
        onnx.checker.check_model(source)
