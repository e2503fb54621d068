"""Sums of products: the definitions and the kernels against exact fractions, to the bit."""

from dataclasses import replace

import numpy
import pytest

from sonnx.numerics import single_products
from sonnx.operators.conv import OPERATOR as CONV
from sonnx.operators.gemm import OPERATOR as GEMM
from sonnx.operators.matmul import OPERATOR as MATMUL
from tests.support.applications import agreed, application, kernel_output
from tests.support.cases import each_case, spread
from tests.support.exact import FORMATS, array, decoded, hard, matrix_product, product, summed
from tests.support.oracle import KINDS, same

TYPES = [*FORMATS, "int32", "uint32", "int64", "uint64"]
each_type = each_case("name", TYPES)
each_format = each_case("name", FORMATS)


@each_type
@each_case("seed", spread(range(40), 10))
def test_matrix_product(name, seed):
    draw = numpy.random.default_rng(seed)
    m, k, n = (int(draw.integers(1, high)) for high in (7, 9, 7))
    A, B = hard(name, (m, k), seed), hard(name, (k, n), seed // 3 + 1000)
    assert same(agreed(MATMUL, application("MatMul"), [A, B]), matrix_product(A, B))


@each_format
@each_case("seed", spread(range(12), 4))
def test_many_open_elements_of_a_larger_product(name, seed):
    """Massive cancellation: each column of A comes twice, the second time against the negative of a row of B."""
    A, B = hard(name, (12, 20), seed), hard(name, (20, 16), seed + 50)
    last = hard(name, (12, 1), seed + 100), hard(name, (1, 16), seed + 150)
    A, B = numpy.hstack([A, last[0], A]), numpy.vstack([B, last[1], -B])
    wanted = matrix_product(A, B)
    assert same(kernel_output(MATMUL, application("MatMul"), [A, B], wanted), wanted)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float"])
@pytest.mark.parametrize("few", [1, 99])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("elements", [1, 16, 64])
def test_blocks_of_any_size(name, few, seed, elements, monkeypatch):
    """The ways of few rows and of many, in pieces of few columns; with a row that is added, and specials."""
    monkeypatch.setattr(single_products, "FEW_ROWS", few)
    A, B, row = hard(name, (5, 6), seed), hard(name, (6, 7), seed + 50), hard(name, (7,), seed + 100)
    if seed:
        A, B, row = (numpy.where(numpy.isfinite(each), each, each.dtype.type(1)) for each in (A, B, row))
    out = numpy.empty((5, 7), A.dtype)
    with numpy.errstate(all="ignore"):
        single_products.product_into(A, B, out, row, lambda usual: elements)
    assert same(out, matrix_product(numpy.hstack([A, numpy.ones((5, 1), A.dtype)]), numpy.vstack([B, row])))


@each_format
def test_a_stack_of_which_some_products_are_nan_everywhere(name):
    A, B = hard(name, (4, 3, 5), 1), hard(name, (4, 5, 6), 2)
    A, B = (numpy.where(numpy.isnan(each), each.dtype.type(1), each) for each in (A, B))
    A[1, :, 2] = B[2, 3] = numpy.nan
    A[3, 0, 0] = B[3, 0, 1] = numpy.nan
    found = agreed(MATMUL, application("MatMul"), [A, B])
    assert same(found, numpy.stack([matrix_product(*pair) for pair in zip(A, B, strict=True)]))
    assert numpy.isnan(found[1:3].astype("f8")).all() and not numpy.isnan(found[3].astype("f8")).all()


@each_type
def test_stacks_and_vectors(name):
    for left, right in (
        ((2, 1, 2, 3), (3, 3, 4)),
        ((3,), (2, 3, 2)),
        ((2, 2, 3), (3,)),
        ((3,), (3,)),
        ((2, 2, 3), (3, 5)),
    ):
        A, B = hard(name, left, 5), hard(name, right, 6)
        value = agreed(MATMUL, application("MatMul"), [A, B])
        with numpy.errstate(all="ignore"):
            assert value.shape == numpy.matmul(A.astype("f8"), B.astype("f8")).shape
        A2, B2 = A.reshape(-1, 3), B if B.ndim < 3 else B[0]
        wanted = matrix_product(A2[:1], B2.reshape(3, -1))
        assert same(numpy.atleast_1d(value).reshape(-1)[: wanted.shape[1]], wanted[0])


@each_type
def test_empty_products(name):
    for left, right in (((0, 3), (3, 2)), ((2, 0), (0, 2)), ((2, 3), (3, 0)), ((0, 2, 3), (3, 1)), ((0,), (0,))):
        A, B = (numpy.ones(shape, KINDS[FORMATS.get(name, name)]) for shape in (left, right))
        assert not agreed(MATMUL, application("MatMul"), [A, B]).any()


def test_one_element_of_each_kind():
    """Halfway sums, a sum that underflows, one that overflows with its last addend, by their bits."""
    one, ulp, half = 1.0, 2.0**-23, 2.0**-24
    rows = [
        [one, half, 0.0, 0x3F800000],  # halfway: to the even neighbour
        [one + ulp, half, 0.0, 0x3F800002],
        [one, half, 2.0**-120, 0x3F800001],  # halfway but for the last addend
        [one, half, -(2.0**-120), 0x3F800000],
        [2.0**-149, 0.0, 0.0, 1],
        [2.0**127, 2.0**127, 0.0, 0x7F800000],
        [2.0**127, 2.0**127 - 2.0**103, 0.0, 0x7F800000],  # halfway to the next power of two
        [2.0**127, 2.0**127 - 2.0**103, -(2.0**-120), 0x7F7FFFFF],
        [-0.0, -0.0, -0.0, 0x80000000],
        [-0.0, 0.0, -0.0, 0],
        [one, -one, -0.0, 0],
        [2.0**-149, -(2.0**-149), 0.0, 0],
    ]
    A = numpy.array([row[:3] for row in rows], "f4")
    B = numpy.ones((3, 1), "f4")
    value = agreed(MATMUL, application("MatMul"), [A, B])
    assert value.view("u4").ravel().tolist() == [row[3] for row in rows]
    tiny = numpy.array([[2.0**-100]], "f4")
    assert agreed(MATMUL, application("MatMul"), [tiny, -tiny]).view("u4").tolist() == [[0x80000000]]


@each_case("name", ["float16", "bfloat16", "float"])
def test_sums_of_doubles_whose_cut_off_parts_cancel(name):
    """Sums that are halfway, or not by one part in 2^60, and cut off parts that add up to 0; in every order."""
    kind = KINDS[FORMATS[name]]
    half = float(numpy.spacing(numpy.ones(1, kind)).astype("f8")[0]) / 2
    rows = []
    for tip in (0.0, 2.0**-60, -(2.0**-60), 2.0**-70, 1e-30):
        rows += [[1.0, half, tip, -tip, 2.0**-56, -(2.0**-56)], [1.0, half, tip, tip, 2.0**-56, -(2.0**-56)]]
        rows += [[2.0**40, 1.0, -(2.0**40), half, tip, 0.0], [3.0, -3.0, tip, -tip, 2.0**-56, -(2.0**-56)]]
    rows = numpy.array([draw[order] for draw in map(numpy.array, rows) for order in (slice(None), [3, 1, 5, 0, 2, 4])])
    wanted = array(kind, [summed(decoded(row)) for row in rows], (len(rows),))
    assert same(single_products.exact_row_sums(rows, kind), wanted)


def test_a_least_number_of_double_tips_a_halfway_sum():
    """3 * (1 / 3) is halfway between two doubles; what is added is below every normal number."""
    A, third = numpy.array([[3.0, 1 / 3]]), 5e-324
    for added in (third, -third, 0.0):
        B = numpy.array([[added], [3.0]])
        assert same(agreed(MATMUL, application("MatMul"), [A, B]), matrix_product(A, B))
        assert same(agreed(MATMUL, application("MatMul"), [B.T, A.T]), matrix_product(B.T, A.T))


# ------------------------------------------------------------------ Gemm


@each_type
@each_case("seed", range(16))
def test_gemm(name, seed):
    draw = numpy.random.default_rng(seed)
    m, k, n = (int(draw.integers(1, 6)) for _ in range(3))
    flips = seed % 2, seed // 2 % 2
    A, B = hard(name, (m, k), seed), hard(name, (k, n), seed + 20)
    shape = [None, (m, n), (n,), (1, n), (m, 1), (), (1,)][seed % 7]
    C = None if shape is None else hard(name, shape, seed + 40)
    whole = name not in FORMATS
    alpha, beta = [(1.0, 1.0), (1.0, 1.0), (2.0, -3.0) if whole else (0.1, -2.5), (1.0, 0.0)][seed // 4]
    names = {
        "alpha": float(numpy.float32(alpha)),
        "beta": float(numpy.float32(beta)),
        "transA": flips[0],
        "transB": flips[1],
    }
    inputs = [A.T.copy() if flips[0] else A, B.T.copy() if flips[1] else B, *([] if C is None else [C])]
    found = agreed(GEMM, application("Gemm", names), inputs)
    factors = [numpy.float32(each) for each in (alpha, beta)]
    scale = [decoded(each.reshape(1))[0] if name in FORMATS else int(each) for each in factors]
    added = None if C is None else decoded(numpy.broadcast_to(C, (m, n)))
    addends = []
    for i in range(m):
        for j in range(n):
            pairs = zip(decoded(A[i]), decoded(B[:, j]), strict=True)
            own = [product(scale[0], x, y) for x, y in pairs]
            addends.append(summed(own if added is None else [*own, product(scale[1], added[n * i + j])]))
    assert same(found, array(A.dtype, addends, (m, n)))


def test_integers_are_not_scaled_by_fractions():
    from sonnx.base.errors import NotExecutable

    names = {"alpha": 0.5, "beta": 1.0, "transA": 0, "transB": 0}
    with pytest.raises(NotExecutable, match=r"alpha = 0\.5"):
        GEMM.define(application("Gemm", names), [numpy.ones((1, 1), "i4")] * 2)


# ------------------------------------------------------------------ Conv


def convolution(X, W, B, names):
    """By the formula, over a dictionary of the elements of X; padding is 0."""
    group, axes = names["group"], X.ndim - 2
    elements = dict(zip(numpy.ndindex(X.shape), decoded(X), strict=True))
    weights = dict(zip(numpy.ndindex(W.shape), decoded(W), strict=True))
    bias = None if B is None else decoded(B)
    places = [
        (X.shape[d + 2] + names["pads"][d] + names["pads"][axes + d] - names["dilations"][d] * (W.shape[d + 2] - 1) - 1)
        // names["strides"][d]
        + 1
        for d in range(axes)
    ]
    per_group, sums = W.shape[0] // group, []
    for b, c, *place in numpy.ndindex(X.shape[0], W.shape[0], *places):
        addends = [] if bias is None else [bias[c]]
        for i, *k in numpy.ndindex(W.shape[1:]):
            at = [
                p * names["strides"][d] + k[d] * names["dilations"][d] - names["pads"][d] for d, p in enumerate(place)
            ]
            x = elements.get((b, c // per_group * W.shape[1] + i, *at), 0.0)
            addends.append(product(x, weights[(c, i, *k)]))
        sums.append(summed(addends))
    return array(X.dtype, sums, (X.shape[0], W.shape[0], *places))


CONVOLUTIONS = {
    "plain": ((2, 3, 5, 4), (4, 3, 3, 2), {}),
    "one by one": ((1, 4, 3, 5), (2, 4, 1, 1), {}),
    "padded": ((1, 2, 3, 4), (2, 2, 3, 3), {"pads": [1, 0, 2, 1]}),
    "strided": ((1, 2, 7, 6), (3, 2, 3, 2), {"strides": [2, 3], "pads": [1, 1, 0, 1]}),
    "dilated": ((1, 1, 6, 7), (2, 1, 2, 3), {"dilations": [3, 2]}),
    "groups": ((2, 4, 4, 4), (6, 2, 2, 2), {"group": 2, "pads": [0, 1, 1, 0]}),
    "depthwise": ((1, 3, 4, 4), (3, 1, 2, 3), {"group": 3}),
    "one axis": ((1, 2, 7), (2, 2, 3), {"pads": [1, 1]}),
    "three axes": ((1, 1, 3, 3, 3), (2, 1, 2, 2, 2), {}),
}


@each_format
@each_case("which", CONVOLUTIONS)
@each_case("seed", spread(range(4), 2))
def test_convolution(name, which, seed):
    shape, kernel, given = CONVOLUTIONS[which]
    axes = len(shape) - 2
    names = {"group": 1, "strides": [1] * axes, "dilations": [1] * axes, "pads": [0] * 2 * axes} | given
    X, W = hard(name, shape, seed), hard(name, kernel, seed * 7 + 3)
    B = hard(name, kernel[:1], seed + 9) if seed % 2 else None
    found = agreed(CONV, application("Conv", names), [X, W, B])
    assert same(found, convolution(X, W, B, names))


@each_format
@each_case("seed", range(8))
def test_gaps_of_a_dilated_kernel_are_zeros(name, seed):
    """By the SONNX text: an infinity under a gap gives NaN, and a sum of -0 alone is one of the zeros of a gap too."""
    shape, kernel, given = CONVOLUTIONS["dilated"]
    names = {"group": 1, "strides": [1, 1], "pads": [0, 1, 1, 0]}
    X, W = hard(name, shape, seed), hard(name, kernel, seed + 5)
    X[0, 0, 1, 1] = numpy.inf
    if seed >= 4:
        X, W = numpy.copysign(X.dtype.type(0), X), numpy.copysign(W.dtype.type(1), W)
    filled = numpy.zeros((2, 1, 4, 5), W.dtype)
    filled[:, :, ::3, ::2] = W
    wanted = convolution(X, filled, None, {**names, "dilations": [1, 1]})
    made = replace(application("Conv", {**names, **given}), text="2026-08")
    assert same(agreed(CONV, made, [X, W]), wanted)
    if seed < 4:
        assert not same(agreed(CONV, application("Conv", {**names, **given}), [X, W]), wanted)
