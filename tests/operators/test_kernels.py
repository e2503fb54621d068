"""The fast kernels and the plain definitions give the oracle's bits: every 16-bit pattern, every layout, every type."""

import itertools

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonnx.numerics import maximum as max_kernel
from sonnx.numerics import numpy_trials, order
from sonnx.numerics.blocks import usual_size
from sonnx.numerics.formats import format_of
from sonnx.operators import argmax, reducemax
from sonnx.operators import max as max_operator
from tests.support import oracle
from tests.support.cases import crossed, each_case, examples, spread
from tests.support.oracle import (
    FLOATS,
    KINDS,
    arg_max,
    bits,
    from_bits,
    maximum,
    rank,
    reduce_max,
    same,
    special_patterns,
)

SIXTEEN = ("float16", "bfloat16")
WIDE = ("float32", "float64")


@pytest.fixture(autouse=True)
def quiet():
    """The executor turns numpy's warnings off around all nodes; so do these tests."""
    with numpy.errstate(all="ignore"):
        yield


@pytest.fixture(params=["trusted", "integers"])
def path(request, monkeypatch):
    """Both ways of a kernel: numpy as it was tried, and as if it had failed the trial."""
    monkeypatch.setattr(max_kernel, "_known", {})
    reducemax._reduction.cache_clear()
    if request.param == "integers":
        monkeypatch.setattr(max_kernel, "maximum_keeps_the_first_nan", lambda kind: False)
        monkeypatch.setattr(reducemax, "maximum_keeps_the_first_nan", lambda kind: False)
        monkeypatch.setattr(argmax, "argmax_finds_the_first_nan", lambda kind: False)
    yield request.param
    reducemax._reduction.cache_clear()


def fast_max(X, block=usual_size):
    out = numpy.empty(numpy.broadcast_shapes(*[x.shape for x in X]), X[0].dtype)
    return max_kernel.fast_maximum(X, out, block)


def fast_reduce(x, axes, block=usual_size):
    out = numpy.empty([d for i, d in enumerate(x.shape) if i not in axes], x.dtype)
    reducemax.reduce_into(x, axes, numpy.expand_dims(out, axes), block)
    return out


def fast_arg(x, axis, last, equal_zeros, block=usual_size):
    out = numpy.empty([d for i, d in enumerate(x.shape) if i != axis], numpy.int64)
    argmax.arg_into(x, axis, last, equal_zeros, numpy.expand_dims(out, axis), block)
    return out


# ------------------------------------------------------------------ all 65,536 patterns


@each_case("name", SIXTEEN)
def test_every_pattern_against_specials_both_ways(name):
    specials = spread(special_patterns(name), 3)
    ranks = [rank(name, pattern) for pattern in range(65536)]
    everything = from_bits(name, list(range(65536)), [65536])
    for special in specials:
        one = from_bits(name, [special], [1])
        first = [a if ranks[a] >= ranks[special] else special for a in range(65536)]
        second = [a if ranks[a] > ranks[special] else special for a in range(65536)]
        for repeated in (one, numpy.repeat(one, 65536)):
            assert bits(fast_max([everything, repeated])).tolist() == first
            assert bits(fast_max([repeated, everything])).tolist() == second


@each_case("name", SIXTEEN)
def test_every_pattern_in_a_reduction_with_specials(name):
    ranks = [rank(name, pattern) for pattern in range(65536)]
    equal = [rank(name, pattern, True) for pattern in range(65536)]
    for special in spread(special_patterns(name), 3):
        pairs = numpy.stack([numpy.arange(65536), numpy.full(65536, special)], 1).astype("u2")
        first = [a if ranks[a] >= ranks[special] else special for a in range(65536)]
        assert bits(fast_reduce(pairs.view(KINDS[name]), (1,))).tolist() == first
        for last, places in itertools.product((False, True), (ranks, equal)):
            here = places[special]
            wanted = [int(here >= each if last else here > each) for each in places]
            assert fast_arg(pairs.view(KINDS[name]), 1, last, places is equal).tolist() == wanted


@each_case("name", FLOATS)
def test_the_order_is_the_oracles(name):
    """order.py, which the proofs read, against exact fractions: all pairs of specials, and 16-bit patterns in a row."""
    made = format_of(KINDS[name])
    specials = special_patterns(name)
    for a, b in itertools.product(specials, specials):
        assert order.maximum(a, b, made.sign, made.infinity) == (b if rank(name, b) > rank(name, a) else a)
    if name in SIXTEEN:
        ordered = sorted(range(65536), key=lambda p: rank(name, p))
        keys = [order.key(p, made.sign, made.infinity) for p in ordered]
        assert all(
            (x < y) == (rank(name, a) < rank(name, b))
            for (a, x), (b, y) in itertools.pairwise(zip(ordered, keys, strict=True))
        )


@pytest.mark.parametrize("name", FLOATS)
def test_triples_of_specials(name, path):
    triples = numpy.array(spread(itertools.product(special_patterns(name), repeat=3), 350), "u8")
    X = [from_bits(name, triples[:, m].tolist(), [len(triples)]) for m in range(3)]
    wanted = [oracle.best(name, row) for row in triples.tolist()]
    assert bits(fast_max(X)).tolist() == wanted
    stacked = numpy.stack(X, 1)
    assert bits(fast_reduce(stacked, (1,))).tolist() == wanted
    assert bits(fast_reduce(numpy.ascontiguousarray(stacked.T), (0,))).tolist() == wanted
    for last, equal_zeros in itertools.product((False, True), (False, True)):
        for x, axis in ((stacked, 1), (numpy.ascontiguousarray(stacked.T), 0)):
            assert same(fast_arg(x, axis, last, equal_zeros), arg_max(x, axis, last, equal_zeros))


# ------------------------------------------------------------------ layouts


@st.composite
def elements(draw, name, size):
    if name not in FLOATS:
        low, high = (0, 1) if name == "bool" else (numpy.iinfo(name).min, numpy.iinfo(name).max)
        some = st.sampled_from([low, high, 0, 1]) | st.integers(low, high)
        return draw(st.lists(some, min_size=size, max_size=size))
    specials = special_patterns(name)
    numbers = [p for p in specials if rank(name, p) != (2,)]
    zeros = [p for p in specials if rank(name, p, True) == (0, 0, 0)]
    pool = draw(st.sampled_from([specials, numbers, zeros, [*zeros, *numbers[-6:]]]))  # all kinds both rare and usual
    some = st.sampled_from(pool)
    if pool is specials:
        some |= st.integers(0, 2 ** (8 * KINDS[name].itemsize) - 1)
    return draw(st.lists(some, min_size=size, max_size=size))


def laid_out(draw, array):
    """The same array with other strides: reversed, transposed in memory, every second element, unaligned."""
    way = draw(st.sampled_from(["plain", "reversed", "transposed", "stepped", "unaligned"]))
    if way == "reversed":
        return numpy.flip(numpy.flip(array).copy())
    if way == "transposed":
        return array.T.copy().T
    if way == "stepped" and array.ndim:
        wide = numpy.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if way == "unaligned":
        memory = numpy.zeros(array.nbytes + 1, numpy.uint8)
        copy = memory[1:].view(array.dtype).reshape(array.shape)
        copy[...] = array
        return copy
    return array


@st.composite
def operands(draw, most=4):
    """Arrays of one type that broadcast together, in any layout."""
    name = draw(st.sampled_from(sorted(KINDS)))
    shape = draw(st.lists(st.integers(1, 5) | st.just(0), max_size=3))
    X = []
    for _ in range(draw(st.integers(1, most))):
        own = [d if d == 0 else draw(st.sampled_from([d, d, 1])) for d in shape]
        own = own[draw(st.integers(0, len(own))) if draw(st.booleans()) and 0 not in own else 0 :]
        size = int(numpy.prod(own))
        x = laid_out(draw, from_bits(name, draw(elements(name, size)), own))
        X.append(numpy.broadcast_to(x, shape) if draw(st.integers(0, 4)) == 0 else x)
    return X


block_sizes = st.sampled_from([None, 1, 2, 3, 8, 16])


def small(size):
    """Blocks of a few elements, so that few elements make many blocks; None for the usual ones."""
    return usual_size if size is None else lambda usual: min(usual, size)


@settings(max_examples=examples(50, 400), deadline=None)
@given(operands(), block_sizes, st.booleans())
def test_max_in_any_layout(X, block, trusted):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(max_kernel, "_known", {})
        if not trusted:
            patch.setattr(max_kernel, "maximum_keeps_the_first_nan", lambda kind: False)
        wanted = maximum(X)
        assert same(fast_max(X, small(block)), wanted)
        assert same(max_operator.maximum(numpy.broadcast_arrays(*X)), wanted)


@settings(max_examples=examples(40, 300), deadline=None)
@given(operands(most=1), st.data())
def test_reduce_max_in_any_layout(X, data):
    [x] = X
    axes = tuple(d for d in range(x.ndim) if data.draw(st.booleans()))
    if 0 not in [x.shape[d] for d in axes]:
        wanted = reduce_max(x, axes)
        assert same(fast_reduce(x, axes, small(data.draw(block_sizes))), wanted)
        assert same(reducemax.reduce_max(x, axes), wanted)


@settings(max_examples=examples(40, 300), deadline=None)
@given(operands(most=1).filter(lambda X: X[0].ndim), st.data())
def test_arg_max_in_any_layout(X, data):
    [x] = X
    axis, last, equal_zeros = data.draw(st.integers(0, x.ndim - 1)), data.draw(st.booleans()), data.draw(st.booleans())
    if x.shape[axis]:
        with pytest.MonkeyPatch.context() as patch:
            if data.draw(st.booleans()):
                patch.setattr(argmax, "argmax_finds_the_first_nan", lambda kind: False)
            wanted = arg_max(x, axis, last, equal_zeros)
            assert same(fast_arg(x, axis, last, equal_zeros, small(data.draw(block_sizes))), wanted)
            assert same(argmax.argmax(x, axis, int(last), equal_zeros), wanted)


# ------------------------------------------------------------------ real block sizes


LARGE = [
    [(300_000,), (300_000,)],
    [(300_000,), ()],
    [(1,), (300_001,)],
    [(2, 3, 50_001), (3, 1)],
    [(2, 3, 50_001), (2, 1, 1)],
    [(700, 1), (1, 701)],
    [(700, 701), (701,), (700, 1)],
    [(5, 60_000), (5, 60_000), (5, 60_000), (1, 60_000)],
]


@pytest.mark.parametrize(("name", "shapes"), crossed([*FLOATS, "int8", "uint64"], LARGE, every=2), ids=str)
def test_large_operands(name, shapes, path):
    """Against key arithmetic on whole arrays; the keys are the oracle's ranks in numbers."""
    if path == "integers" and name not in FLOATS:
        pytest.skip("integers have one path")
    draw = numpy.random.default_rng(7)
    for pool in ([*special_patterns(name), *[0] * 9] if name in FLOATS else [0, 1, 2, 100], ["random"]):
        X = []
        for shape in shapes:
            unsigned = f"u{KINDS[name].itemsize}"
            largest = numpy.iinfo(unsigned).max
            some = numpy.asarray(draw.integers(0, largest, shape, unsigned, endpoint=True))
            if pool != ["random"]:
                some = numpy.array(pool, unsigned)[draw.integers(0, len(pool), shape)]
            X.append(some.view(KINDS[name]))
        assert same(fast_max(X), by_keys(name, X))


def by_keys(name, X):
    """Max through wide integer keys: NaN above all, the rest by sign and magnitude."""
    Z = [bits(numpy.broadcast_to(x, numpy.broadcast_shapes(*[y.shape for y in X]))) for x in X]
    result, top = Z[0].copy(), keys(name, Z[0])
    for z in Z[1:]:
        here = keys(name, z)
        numpy.copyto(result, z, where=here > top)
        top = numpy.maximum(top, here)
    return result.view(KINDS[name])


def keys(name, patterns):
    if name not in FLOATS:
        return patterns
    exponent_bits, significand_bits = FLOATS[name]
    sign, infinity = 1 << exponent_bits + significand_bits, (2**exponent_bits - 1) << significand_bits
    magnitude = (patterns & (sign - 1)).astype("i8")
    ordered = numpy.where(patterns >= sign, -1 - magnitude, magnitude)
    return numpy.where(magnitude > infinity, numpy.iinfo("i8").max, ordered)


def test_one_shape_is_not_silently_another():
    with pytest.raises(ValueError, match="not"):
        max_kernel.fast_maximum([numpy.zeros(3)] * 2, numpy.zeros((2, 3)))


@each_case("name", WIDE)
def test_numpy_is_trusted_here(name):
    """Where this fails numpy has changed: the kernels are still exact, and several times slower."""
    assert numpy_trials.maximum_keeps_the_first_nan(KINDS[name])
    assert numpy_trials.argmax_finds_the_first_nan(KINDS[name])


def test_a_numpy_that_takes_the_second_nan_is_not_trusted(monkeypatch):
    real = numpy.maximum
    monkeypatch.setattr(numpy_trials.np, "maximum", lambda x, y: real(y, x))
    assert not numpy_trials.maximum_keeps_the_first_nan.__wrapped__(KINDS["float32"])
    monkeypatch.setattr(numpy_trials.np, "maximum", lambda x, y: real(x * (abs(x) > 1e-30), y * (abs(y) > 1e-30)))
    assert not numpy_trials.maximum_keeps_the_first_nan.__wrapped__(KINDS["float32"])


def test_a_numpy_that_passes_over_nan_is_not_trusted(monkeypatch):
    real = numpy.argmax
    monkeypatch.setattr(numpy_trials.np, "argmax", lambda x: real(numpy.where(numpy.isnan(x), -numpy.inf, x)))
    assert not numpy_trials.argmax_finds_the_first_nan.__wrapped__(KINDS["float64"])
