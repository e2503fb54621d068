"""No value depends on the size of blocks: every kernel, with blocks of a few elements, against the definitions.

`Application.block_elements` limits how many elements a kernel works on at a time.
"""

import itertools
from dataclasses import replace
from functools import partial

import numpy
import pytest

from sonnx.base.errors import NotExecutable, Stop
from sonnx.numerics.application import Application
from sonnx.numerics.blocks import block_pieces, merged
from sonnx.numerics.formats import ELEMENTS, format_of
from sonnx.operators import argmax, globalmaxpool, maxpool, reducemax, softmax
from sonnx.operators import max as max_operator
from sonnx.operators import min as min_operator
from sonnx.profile import catalogue
from tests.support import oracle
from tests.support.applications import kernel_output
from tests.support.cases import DEEP, each_case, spread
from tests.support.definitions import run_by_definitions, run_in_blocks
from tests.support.oracle import FLOATS, from_bits, same, special_patterns
from tests.support.typed_nodes import model_of, samples_of, typed_nodes

SIZES = (1, 2, 3, 5, 32) if DEEP else (1, 3, 32)


# ------------------------------------------------------------------ maxima, against the oracle


def pools(name):
    """Elements that make ties, NaN of both signs and zeros of both signs usual."""
    if name not in FLOATS:
        return [[0, 1], [0, 1, 2, numpy.iinfo(name).max] if name != "bool" else [0, 1]]
    specials = special_patterns(name)
    zeros = [pattern for pattern in specials if oracle.rank(name, pattern, True) == (0, 0, 0)]
    nans = [pattern for pattern in specials if oracle.rank(name, pattern) == (2,)]
    numbers = [pattern for pattern in specials if pattern not in nans]
    return [zeros, [*zeros, numbers[-1]], numbers, [*zeros, *nans[:1]], [*nans, *numbers[:4]]]


def tensors(shapes, names):
    """For each type, pool and shape a tensor."""
    draw = numpy.random.default_rng(11)
    for name in names:
        for pool, shape in itertools.product(pools(name), shapes):
            size = int(numpy.prod(shape, dtype=int))
            yield from_bits(name, [pool[k] for k in draw.integers(0, len(pool), size)], list(shape))


SHAPES = [(), (1,), (7,), (40,), (2, 3), (4, 1), (1, 6), (2, 3, 4), (3, 2, 9), (0,), (2, 0), (0, 3)]
TYPES = (*FLOATS, "int8", "bool")
WAYS = [(name, True) for name in TYPES] + [(name, False) for name in ("float32", "float64")]
"""Each type, and the types that trust numpy as if it had failed the trial."""


@each_case(("name", "trusted"), WAYS)
def test_arg_max_along_every_axis(name, trusted):
    """Ties take the first or last index, also where they lie in different blocks."""
    with pytest.MonkeyPatch.context() as patch:
        if not trusted:
            patch.setattr(argmax, "argmax_finds_the_first_nan", lambda kind: False)
        ways = list(itertools.product((0, 1), ("onnx", "2026-08")))
        lines = [(X, axis) for X in tensors(SHAPES, [name]) for axis in range(X.ndim) if X.shape[axis] > 0]
        for place, (X, axis) in enumerate(lines):
            for last, text in ways if DEEP else [ways[place % len(ways)]]:
                wanted = oracle.arg_max(X, axis, bool(last), text != "onnx")
                for keep, size in enumerate(SIZES):
                    keep %= 2
                    names = {"axis": axis - keep * X.ndim, "keepdims": keep, "select_last_index": last}
                    made = Application("ArgMax", 13, text, names, block_elements=size)
                    like = numpy.expand_dims(wanted, axis) if keep else wanted
                    assert same(kernel_output(argmax.OPERATOR, made, [X], like), like)
                assert argmax.OPERATOR.define(made, [X])[0].tolist() == like.tolist()


@each_case(("name", "trusted"), WAYS)
def test_reduce_max_along_all_sets_of_axes(name, trusted):
    reducemax._reduction.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        if not trusted:
            patch.setattr(reducemax, "maximum_keeps_the_first_nan", lambda kind: False)
        for X in tensors(SHAPES, [name]):
            for gone in [each for count in range(X.ndim + 1) for each in itertools.combinations(range(X.ndim), count)]:
                for keep, size in [*enumerate(SIZES)][0 if DEEP else 1 :]:
                    names = {"gone": gone, "keepdims": keep % 2, "written(axes)": True}
                    made = Application("ReduceMax", 18, "onnx", names, block_elements=size)
                    [wanted] = reducemax.OPERATOR.define(made, [X])
                    assert same(kernel_output(reducemax.OPERATOR, made, [X], wanted), wanted)
                if 0 not in X.shape:
                    assert same(wanted.reshape(-1), oracle.reduce_max(X, gone).reshape(-1))
    reducemax._reduction.cache_clear()


BROADCASTS = [
    [(7,), (7,)],
    [(40,), ()],
    [(2, 3), (3,)],
    [(2, 3, 4), (3, 1), (4,)],
    [(4, 1), (1, 6)],
    [(1, 9), (5, 1)],
    [(), ()],
    [(5,)],
    [(0, 3), (3,)],
    [(2, 17), (2, 1)],
]


@each_case("name", TYPES)
def test_max_and_min_of_all_broadcasts(name):
    for shapes in BROADCASTS:
        operands = [list(tensors([shape], [name])) for shape in shapes]
        for place, X in enumerate(itertools.zip_longest(*[[*each[k:], *each[:k]] for k, each in enumerate(operands)])):
            for size in SIZES if DEEP else [SIZES[place % len(SIZES)]]:
                made = Application("Max", 13, "onnx", block_elements=size)
                wanted = oracle.maximum(X)
                assert same(kernel_output(max_operator.OPERATOR, made, X, wanted), wanted)
                if name != "bool":
                    [least] = min_operator.OPERATOR.define(made, X)
                    assert same(kernel_output(min_operator.OPERATOR, made, X, least), least)


@each_case("name", [*FLOATS, "int8"])
def test_pools_of_planes(name):
    spaces = {"kernel_shape": [2], "strides": [1], "dilations": [1], "spacing": [1], "pads": [1, 0], "storage_order": 0}
    for X in tensors([(2, 2, 5), (1, 1, 1), (3, 1, 4)], [name]):
        for size in SIZES:
            made = Application("MaxPool", 12, "onnx", spaces, block_elements=size, outputs=2)
            wanted = maxpool.OPERATOR.define(made, [X])
            assert same(kernel_output(maxpool.OPERATOR, replace(made, outputs=1), [X], wanted[0]), wanted[0])
            assert all(same(*pair) for pair in zip(maxpool.OPERATOR.fast_path(made, [X]), wanted, strict=True))
            whole = Application("GlobalMaxPool", 1, "onnx", block_elements=size)
            [wanted] = globalmaxpool.OPERATOR.define(whole, [X])
            assert same(kernel_output(globalmaxpool.OPERATOR, whole, [X], wanted), wanted)


def test_an_operand_that_stands_still_on_an_axis():
    """Views of stride 0 give the elements that numpy's broadcasting gives, in blocks of every size."""
    row, column = numpy.arange(3.0), numpy.arange(4.0)[:, None]
    views = [numpy.broadcast_to(row, (4, 3)), numpy.broadcast_to(column, (4, 3)), numpy.broadcast_to(row, (2, 4, 3))]
    views += [numpy.broadcast_to(column[:, None], (4, 2, 3)).transpose(1, 0, 2), numpy.broadcast_to(7.0, (2, 4, 3))]
    whole = numpy.arange(24.0).reshape(2, 4, 3)
    for view, size in itertools.product(views, range(1, 25)):
        shape, operands = merged([view, whole], whole.shape)
        out = numpy.zeros(shape)
        for (one, other), target in block_pieces(operands, out, size):
            target[...] = 100 * one + other
        assert same(out.reshape(whole.shape), 100 * view + whole)


def test_a_share_between_two_numbers_is_decided_where_it_stands():
    """The second share of this slice is so near the middle of two floats that float64 does not decide it."""
    X = numpy.array([[float.fromhex("-0x1.161dd2p+1"), 0.0]], "f4")
    Y = numpy.empty_like(X)
    assert softmax._approximated(X, Y, numpy.array([True]), softmax.DOUBLE).tolist() == [[False, True]]
    made = Application("Softmax", 13, "onnx", {"axis": 1})
    for slices in (X, numpy.tile(X, (3, 1)), numpy.concatenate([X, X[:, ::-1], X * 0])):
        wanted = numpy.concatenate([softmax.OPERATOR.define(made, [row[None]])[0] for row in slices])
        assert same(kernel_output(softmax.OPERATOR, made, [slices], wanted), wanted)


# ------------------------------------------------------------------ every operator, against its definition


def with_specials(node, seed):
    """The node with special values among the elements of its inputs; parameters stay."""
    draw = numpy.random.default_rng(seed)
    inputs = []
    for index, own in enumerate(node.inputs):
        if own is None or index in node.sample.fixed or format_of(own.dtype) is None or own.ndim == 0:
            inputs.append(own)
            continue
        pool = numpy.array(
            [0.0, -0.0, 1, -1, 0.1, 3, 1e-3, 1e4, 1e-7, *[numpy.nan, numpy.inf, -numpy.inf] * (seed % 2)]
        )
        with numpy.errstate(all="ignore"):
            other = draw.choice(numpy.array(pool), own.shape).astype(own.dtype)
        inputs.append(numpy.where(draw.random(own.shape) < 0.7, other, own))
    return replace(node, inputs=tuple(inputs))


def values_or_error(run, node):
    source, arrays = model_of([node])
    try:
        found = run(source, arrays)
    except (NotExecutable, Stop) as error:
        return str(error)
    return [found[f"0.{k}"] for k in range(node.sample.outputs)]


NAMES = [each.name for each in catalogue.operators()]
COMPUTED = {ELEMENTS[name] for name in ("float16", "float", "double")}


@each_case("name", NAMES)
def test_every_operator_in_blocks(name):
    """The same values, or the same error, by the definition and by the kernel in blocks."""
    operator = catalogue.operator(name)
    version = max(operator.versions)
    for sample in samples_of(operator, version):
        nodes = [*typed_nodes(sample, operator, version)]
        floats = [node for node in nodes if any(x is not None and x.dtype in COMPUTED for x in node.inputs)]
        for place, node in enumerate(spread(floats or nodes, 2)):
            for seed in range(2) if DEEP else [place]:
                changed = with_specials(node, seed)
                wanted = values_or_error(run_by_definitions, changed)
                found = values_or_error(partial(run_in_blocks, elements=SIZES[(place + seed) % len(SIZES)]), changed)
                if isinstance(wanted, str) or isinstance(found, str):
                    assert found == wanted, changed.label
                else:
                    assert all(same(*pair) for pair in zip(found, wanted, strict=True)), changed.label
