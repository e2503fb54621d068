"""ConvTranspose: the definition against exact fractions, and the kernel against the definition, to the bit."""

import itertools
from dataclasses import replace

import numpy

from sonnx.operators import convtranspose
from sonnx.operators.convtranspose import OPERATOR
from tests.support.applications import applied, kernel_output
from tests.support.cases import crossed, each_case, spread
from tests.support.exact import FORMATS, array, decoded, hard, product, summed
from tests.support.oracle import KINDS, same

each_format = each_case("name", FORMATS)

SHAPES = {
    "plain": ((2, 3, 3, 4), (3, 2, 3, 2), {}),
    "strided": ((1, 2, 3, 3), (2, 3, 2, 2), {"strides": [2, 3]}),  # places that nothing reaches
    "padded": ((1, 2, 4, 3), (2, 2, 3, 3), {"strides": [2, 1], "pads": [1, 0, 2, 1], "output_padding": [1, 0]}),
    "padded beyond the kernel": ((1, 1, 3, 3), (1, 1, 2, 2), {"pads": [2, 1, 0, 1], "strides": [2, 2]}),
    "dilated": ((1, 1, 3, 3), (1, 2, 2, 3), {"dilations": [3, 2]}),
    "groups": ((2, 4, 2, 3), (4, 3, 2, 2), {"group": 2, "strides": [2, 2]}),
    "depthwise": ((1, 3, 3, 3), (3, 1, 3, 3), {"group": 3, "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "shape given": ((1, 1, 3, 3), (1, 1, 3, 3), {"strides": [2, 2], "output_shape": [8, 6]}),
    "one axis": ((1, 2, 5), (2, 2, 3), {"strides": [2], "auto_pad": "SAME_LOWER"}),
    "three axes": ((1, 1, 2, 2, 2), (1, 2, 2, 1, 2), {"strides": [1, 2, 2]}),
}


def by_gathering(X, W, B, made, shape):
    """For each element of Y, all elements of X and W with o = m s + k d - p, where the definition scatters them."""
    axes, group = X.ndim - 2, made.parameter("group")
    strides, gaps = (made.parameter(key) for key in ("strides", "dilations"))
    _, begins = convtranspose.places(made, X.shape, W.shape)
    x, w = (dict(zip(numpy.ndindex(each.shape), decoded(each), strict=True)) for each in (X, W))
    bias, inner, outer, sums = None if B is None else decoded(B), X.shape[1] // group, W.shape[1], []
    for b, c, *o in numpy.ndindex(shape):
        g = c // outer
        addends = [] if bias is None else [bias[c]]
        for k in itertools.product(*map(range, W.shape[2:])):
            m = [(o[d] + begins[d] - k[d] * gaps[d]) / strides[d] for d in range(axes)]
            for i in range(g * inner, g * inner + inner):
                if (b, i, *m) in x:
                    addends.append(product(x[(b, i, *m)], w[(i, c - g * outer, *k)]))
        sums.append(summed(addends))
    return array(X.dtype, sums, shape)


@each_format
@each_case(("which", "seed"), crossed(SHAPES, spread(range(4), 2), every=2))
def test_by_definition_by_kernel_and_by_gathering(name, which, seed):
    shape, weights, given = SHAPES[which]
    X, W = hard(name, shape, seed), hard(name, weights, seed + 30)
    made = applied("ConvTranspose", 11, [X, W], **given)
    if seed % 2:
        W = numpy.where(numpy.isfinite(W), W, W.dtype.type(1))
    channels = weights[1] * given.get("group", 1)
    B = hard(name, (channels,), seed + 60) if seed < 2 else None
    inputs = [X, W, *([] if B is None else [B])]
    [wanted] = OPERATOR.define(made, inputs)
    assert same(wanted, by_gathering(X, W, B, made, wanted.shape))
    assert same(kernel_output(OPERATOR, made, inputs, wanted), wanted)
    for elements in (1, 5):
        small = replace(made, block_elements=elements)
        assert same(kernel_output(OPERATOR, small, inputs, wanted), wanted)


@each_format
def test_zeros_of_both_signs(name):
    kind = KINDS[FORMATS[name]]
    for seed in range(20):
        draw = numpy.random.default_rng(seed)
        X, W, B = (draw.choice([0.0, -0.0], shape).astype(kind) for shape in ((1, 2, 3), (2, 2, 2), (2,)))
        X = numpy.where(draw.random(X.shape) < 0.2, kind.type(1), X)
        for inputs in ([X, W], [X, W, B]):
            made = applied("ConvTranspose", 11, inputs, strides=[2], dilations=[3])
            [wanted] = OPERATOR.define(made, inputs)
            assert same(kernel_output(OPERATOR, made, inputs, wanted), wanted)


@each_format
def test_nothing_to_add_up(name):
    kind = KINDS[FORMATS[name]]
    for shape, weights in (((1, 0, 3), (0, 2, 2)), ((0, 1, 3), (1, 2, 2)), ((1, 1, 3), (1, 0, 2))):
        inputs = [numpy.ones(each, kind) for each in (shape, weights)]
        made = applied("ConvTranspose", 11, inputs)
        [wanted] = OPERATOR.define(made, inputs)
        assert same(kernel_output(OPERATOR, made, inputs, wanted), wanted)


def test_few_ordinary_elements_take_the_exact_path():
    draw = numpy.random.default_rng(0)
    X, W = (draw.standard_normal(shape).astype("f4") for shape in ((1, 32, 14, 14), (32, 16, 2, 2)))
    made = applied("ConvTranspose", 11, [X, W], strides=[2, 2])
    OPERATOR.kernel(made)([X, W], numpy.empty((1, 16, 28, 28), "f4"))
    elements, exact = made.exact_path_counts.by_operator["ConvTranspose"]
    assert elements == 16 * 28 * 28
    assert exact < elements / 1000


@each_case(
    ("version", "how", "begin"),
    [(11, "SAME_UPPER", 0), (11, "SAME_LOWER", 1), (11, "NOTSET", 1), (11, "VALID", 1),
     (22, "SAME_UPPER", 0), (22, "NOTSET", 1), (1, "SAME_UPPER", 0), (1, "SAME_LOWER", 1), (1, "NOTSET", 0)],
)  # fmt: skip
def test_an_odd_padding_for_output_shape(version, how, begin):
    """Of 7 places 6 are wanted: from version 11 on the first is cut, but for SAME_UPPER."""
    X, W = numpy.arange(1, 4, dtype="f4").reshape(1, 1, 3), numpy.array([[[1, 10, 100]]], "f4")
    made = applied("ConvTranspose", version, [X, W], strides=[2], output_shape=[6], auto_pad=how)
    whole = numpy.array([1, 10, 102, 20, 203, 30, 300], "f4")
    [Y] = OPERATOR.define(made, [X, W, None])
    assert same(Y[0, 0], whole[begin : begin + 6])
    assert same(kernel_output(OPERATOR, made, [X, W], Y), Y)
