"""Operators that move elements, against loops over indices; in programs whose buffers are used again."""

from itertools import product

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import sonnx
from sonnx.numerics.formats import ELEMENTS
from tests.support.cases import each_case, examples
from tests.support.models import FLOAT, INT64, graph
from tests.support.nodes import by_definition, by_kernel, prepared


def indices(shape):
    return product(*map(range, shape))


def built(shape, kind, element):
    """An array from a function of its indices."""
    made = numpy.empty(shape, kind)
    for index in indices(shape):
        made[index] = element(index)
    return made


def both(operator, inputs, **options):
    """The definition's value, which must be the kernel's where there is one."""
    found = by_definition(operator, inputs, **options)
    if prepared(operator, inputs, **options).kernel is not None:
        assert numpy.array_equal(by_kernel(operator, inputs, **options), found, equal_nan=True)
    return found


shapes = st.lists(st.integers(0, 3), min_size=1, max_size=4)


def filled(shape):
    return numpy.arange(int(numpy.prod(shape)), dtype="f4").reshape(shape)


@settings(max_examples=examples(30, 60), deadline=None)
@given(shapes, st.data())
def test_transpose(shape, data):
    x, perm = filled(shape), data.draw(st.permutations(range(len(shape))))
    wanted = [shape[axis] for axis in perm]
    found = both("Transpose", [x], perm=perm)
    assert numpy.array_equal(found, built(wanted, "f4", lambda j: x[tuple(j[perm.index(a)] for a in range(x.ndim))]))


@settings(max_examples=examples(30, 60), deadline=None)
@given(shapes, st.data())
def test_concat_and_split(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    extents = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    pieces = []
    for extent in extents:
        own = list(shape)
        own[axis] = extent
        pieces.append(filled(own) + 100 * len(pieces))
    found = both("Concat", pieces, axis=axis)
    source = [(n, i) for n, extent in enumerate(extents) for i in range(extent)]

    def element(index):
        n, i = source[index[axis]]
        own = list(index)
        own[axis] = i
        return pieces[n][tuple(own)]

    assert numpy.array_equal(found, built(found.shape, "f4", element))
    ready = prepared("Split", [found, numpy.array(extents)], outputs=len(extents), axis=axis)
    back = ready.definition(ready.application, [found, numpy.array(extents)])
    assert all(numpy.array_equal(one, other) for one, other in zip(pieces, back, strict=True))


@settings(max_examples=examples(40, 100), deadline=None)
@given(shapes, st.data())
def test_slice(shape, data):
    x, rank = filled(shape), len(shape)
    axes = data.draw(st.lists(st.integers(0, rank - 1), unique=True, min_size=1))
    places = st.integers(-5, 5) | st.sampled_from([2**62, -(2**62)])
    starts, ends = (data.draw(st.lists(places, min_size=len(axes), max_size=len(axes))) for _ in range(2))
    nonzero = st.sampled_from([-3, -2, -1, 1, 2, 3])
    steps = data.draw(st.lists(nonzero, min_size=len(axes), max_size=len(axes)))
    kept = {axis: list(range(extent)) for axis, extent in enumerate(shape)}
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        kept[axis] = walked(shape[axis], start, end, step)
    found = both("Slice", [x, *map(numpy.array, (starts, ends, axes, steps))])
    wanted = [len(kept[axis]) for axis in range(rank)]
    assert numpy.array_equal(found, built(wanted, "f4", lambda j: x[tuple(kept[a][i] for a, i in enumerate(j))]))


def walked(extent, start, end, step):
    """ONNX's text: both counted from the first and brought into the axis, by the sign of the step; then walked."""
    start, end = (each + extent if each < 0 else each for each in (start, end))
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    start, end = min(max(start, max(low, 0)), high), min(max(end, low), high)
    found = []
    while (start < end if step > 0 else start > end) and extent:
        found.append(start)
        start += step
    return found


PADDED = {
    "constant": "9 9 0 1 2 3 9", "edge": "0 0 0 1 2 3 3", "reflect": "2 1 0 1 2 3 2", "wrap": "2 3 0 1 2 3 0",
}  # fmt: skip


@each_case("mode", PADDED)
def test_pad_along_one_axis_and_both(mode):
    row = numpy.arange(4, dtype="f4")
    pads, value = numpy.array([2, 1]), numpy.array(9, "f4")
    line = numpy.array(PADDED[mode].split(), "f4")
    assert numpy.array_equal(both("Pad", [row, pads, value], mode=mode), line)
    square = row[:, None] * 10 + row
    found = both("Pad", [square, numpy.array([2, 2, 1, 1]), value], mode=mode)
    if mode == "constant":
        wanted = numpy.full((7, 7), 9, "f4")
        wanted[2:6, 2:6] = square
    else:
        wanted = line[:, None] * 10 + line
    assert numpy.array_equal(found, wanted)
    cut = both("Pad", [row, numpy.array([-1, -1]), value], mode=mode)
    assert cut.tolist() == [1, 2]


def test_pad_keeps_the_bits_of_its_constant():
    nan = numpy.array(0xFFC12345, "u4").view("f4")
    found = both("Pad", [numpy.zeros(1, "f4"), numpy.array([1, 0]), nan], mode="constant")
    assert found.view("u4").tolist() == [0xFFC12345, 0]


@settings(max_examples=examples(20, 40), deadline=None)
@given(shapes, st.data())
def test_shapes_of_the_same_elements(shape, data):
    x = filled(shape)
    axis = data.draw(st.integers(0, len(shape)))
    flat = both("Flatten", [x], axis=axis)
    assert flat.shape == (numpy.prod(shape[:axis], dtype=int), numpy.prod(shape[axis:], dtype=int))
    assert flat.ravel().tolist() == x.ravel().tolist()
    wide = both("Unsqueeze", [x, numpy.array([0, -1])])
    assert (wide.shape, wide.ravel().tolist()) == ((1, *shape, 1), x.ravel().tolist())
    assert both("Squeeze", [wide, numpy.array([-1, 0])]).shape == tuple(shape)
    assert both("Shape", [x]).tolist() == shape
    again = both("Reshape", [x, numpy.array([*reversed(shape)])], allowzero=1)
    assert (again.shape, again.ravel().tolist()) == (tuple(reversed(shape)), x.ravel().tolist())


def test_gather_and_scatter():
    data = filled([3, 4])
    found = both("Gather", [data, numpy.array([[0, -1], [2, 1]])], axis=1)
    assert numpy.array_equal(found, built((3, 2, 2), "f4", lambda i: data[i[0], [[0, 3], [2, 1]][i[1]][i[2]]]))
    places, updates = numpy.array([[0], [-1]]), -filled([2, 4]) - 1
    found = both("ScatterND", [data, places, updates])
    assert numpy.array_equal(found, numpy.stack([updates[0], data[1], updates[1]]))
    twice = numpy.array([[1, 1], [1, 1], [0, 0]])
    for reduction, wanted in (("add", 5 + 3), ("mul", 5 * 2), ("max", 5), ("min", 1)):
        found = both("ScatterND", [data, twice, numpy.array([1, 2, 7], "f4")], reduction=reduction)
        assert found[1, 1] == wanted
    with pytest.raises(sonnx.Stop, match="named 2 times"):
        by_definition("ScatterND", [data, twice, numpy.array([1, 2, 7], "f4")])
    with pytest.raises(sonnx.Stop, match=r"Gather\.indices-in-axis"):
        by_definition("Gather", [data, numpy.array([4])], axis=1)


def test_views_outlive_the_buffers_they_look_into():
    """Reshape and Split give views of a buffer that later nodes use again."""
    nodes = [
        helper.make_node("Add", ["a", "a"], ["p"]),
        helper.make_node("Transpose", ["p"], ["q"], perm=[1, 0]),
        helper.make_node("Split", ["q", "halves"], ["r", "s"], axis=0),
        helper.make_node("Add", ["a", "b"], ["t"]),
        helper.make_node("Sub", ["t", "b"], ["u"]),
        helper.make_node("Concat", ["r", "s"], ["y"], axis=0),
    ]
    inputs = {"a": (FLOAT, [2, 4]), "b": (FLOAT, [2, 4]), "halves": (INT64, [2])}
    model = graph(nodes, inputs, {"y": (FLOAT, [4, 2]), "u": (FLOAT, [2, 4])}, operator_set=13)
    a = filled([2, 4])
    given = {"a": a, "b": numpy.ones((2, 4), "f4"), "halves": numpy.array([1, 3])}
    found = sonnx.run(model.SerializeToString(), given, unchecked=True)
    assert numpy.array_equal(found["y"], 2 * a.T)
    assert numpy.array_equal(found["u"], a)


def test_constant_of_shape_and_expand():
    value = helper.make_tensor("v", TensorProto.INT32, [1], [7])
    found = both("ConstantOfShape", [numpy.array([2, 0, 3])], value=value)
    assert (found.shape, found.dtype) == ((2, 0, 3), numpy.int32)
    assert both("ConstantOfShape", [numpy.array([2])]).tolist() == [0, 0]
    assert both("Expand", [numpy.array([[1], [2]], "i8"), numpy.array([3, 1, 2])]).tolist() == [[[1, 1], [2, 2]]] * 3


MISFITS = [
    ("Equal", [numpy.zeros(3, "f4"), numpy.zeros(2, "f4")], {}, "Equal.broadcastable"),
    ("Equal", [numpy.zeros(3, "f4"), numpy.zeros(3, "i4")], {}, "no-implicit-conversion"),
    ("Add", [numpy.zeros(3, "f4"), numpy.zeros(2, "f4")], {}, "Add.broadcastable"),
    ("Mul", [numpy.zeros(3, "f4"), numpy.zeros(2, "f4")], {}, "broadcast"),
    ("Exp", [numpy.zeros(3, "i4")], {}, "Exp.X-type"),
    ("Erf", [numpy.zeros(3, "i4")], {}, "Erf.input-type"),
    ("Sum", [numpy.zeros(3, "i4")] * 3, {}, "Sum is not defined for int32"),
    ("And", [numpy.zeros(3, "f4")] * 2, {}, "And is defined for bool only"),
    ("Not", [numpy.zeros(3, "u1")], {}, "Not.X-type"),
    ("Min", [numpy.zeros(3, bool)] * 2, {}, "Min.X-type"),
    ("Mod", [numpy.ones(3, "i4"), numpy.zeros(3, "i4")], {}, "an element of B is 0"),
    ("Mod", [numpy.ones(3, "f4"), numpy.ones(3, "f4")], {}, "Mod.fmod-of-floats"),
    ("Expand", [numpy.zeros(3, "f4"), numpy.zeros((), "i8")], {}, "Expand.shape-rank"),
    ("Expand", [numpy.zeros(3, "f4"), numpy.array([-1])], {}, "Expand.extents-not-negative"),
    ("ConstantOfShape", [numpy.array([1.5])], {}, "ConstantOfShape.shape-type"),
    ("ConstantOfShape", [numpy.array([-1])], {}, "ConstantOfShape.extents-not-negative"),
    ("Split", [numpy.zeros(3, "f4"), numpy.array([1, 1])], {}, "Split.parts-fill-axis"),
    ("Squeeze", [numpy.zeros((1, 3), "f4"), numpy.array([1])], {}, "Squeeze.axes-of-one"),
    ("Squeeze", [numpy.zeros((1, 3), "f4"), numpy.array([5])], {}, "Squeeze.axes-range"),
    ("Transpose", [numpy.zeros((1, 3), "f4")], {"perm": [0, 0]}, "Transpose.perm-complete"),
    ("Transpose", [numpy.zeros((1, 3), "f4")], {"axis": 0}, "known-attribute"),
    ("Transpose", [numpy.zeros((1, 3), "f4")] * 2, {}, "input-count"),
    ("Gather", [numpy.zeros(3, "f4"), numpy.zeros(3, "f4")], {}, "Gather.indices-type"),
    ("Gather", [numpy.zeros(3, "f4"), numpy.zeros(3, "i8")], {"axis": 1}, "Gather.axis-range"),
    (
        "ScatterND",
        [numpy.zeros((2, 2), "f4"), numpy.zeros((1, 3), "i8"), numpy.zeros(1, "f4")],
        {},
        "index-depth",
    ),
    (
        "ScatterND",
        [numpy.zeros(2, "f4"), numpy.array([[5]]), numpy.zeros(1, "f4")],
        {},
        r"shape \[2\] has no index \[5\]",
    ),
    ("Cast", [numpy.zeros(3, "f4")], {"to": 23}, "Cast.output-type-allowed"),
    ("Cast", [numpy.zeros(3, "f4")], {}, "required-attribute"),
    ("Pow", [numpy.ones(2, "i4"), numpy.array([0.5, 1], "f4")], {}, "not a whole number"),
    ("Reshape", [numpy.zeros(3, "f4"), numpy.array([2, 2])], {}, "Reshape"),
    ("Softmax", [numpy.zeros((), "f4")], {"axis": 0}, "Softmax.axis-range"),
    ("QuantizeLinear", [numpy.zeros((2, 3), "f4"), numpy.ones(2, "f4"), numpy.zeros(2, "u1")], {}, "scale-length"),
    ("QuantizeLinear", [numpy.zeros(3, "f4"), numpy.ones(3, "f4"), numpy.zeros(3, "u1")], {"axis": 4}, "axis 4"),
    ("DequantizeLinear", [numpy.zeros(3, "u1"), numpy.ones(2, "f4")], {"axis": 0}, "scale-length"),
    ("Where", [numpy.zeros(3, bool), numpy.zeros(3, "f4"), numpy.zeros(2, "f4")], {}, "Where"),
    ("Clip", [numpy.zeros(3, "f4"), numpy.zeros(2, "f4")], {}, "Clip"),
    ("Range", [numpy.zeros(1, "i8"), numpy.ones(1, "i8"), numpy.zeros(1, "i8")], {}, "Range"),
    ("Flatten", [numpy.zeros(3, "f4")], {"axis": 5}, "Flatten"),
    ("Unsqueeze", [numpy.zeros(3, "f4"), numpy.array([7])], {}, "Unsqueeze"),
    ("Slice", [numpy.zeros(3, "f4"), *[numpy.array([0])] * 4], {}, "Slice"),
    ("Pad", [numpy.zeros(3, "f4"), numpy.array([1])], {}, "Pad"),
    ("Pad", [numpy.zeros(3, "f4"), numpy.array([5, 5])], {"mode": "reflect"}, "Pad"),
    ("Concat", [numpy.zeros((2, 2), "f4"), numpy.zeros((3, 3), "f4")], {"axis": 0}, "Concat"),
]


@each_case(("operator", "inputs", "attributes", "sentence"), MISFITS, ids=lambda each: str(each)[:30])
def test_what_does_not_fit_is_refused_with_a_sentence(operator, inputs, attributes, sentence):
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(operator, names, ["y", "z"] if operator == "Split" else ["y"], **attributes)
    types = {"f4": FLOAT, "i4": TensorProto.INT32, "i8": INT64, "f8": TensorProto.DOUBLE, "u1": TensorProto.UINT8}
    declared = {n: (types.get(x.dtype.str[1:], TensorProto.BOOL), x.shape) for n, x in zip(names, inputs, strict=True)}
    source = graph([node], declared, {"y": (FLOAT, None)}, operator_set=22).SerializeToString()
    with pytest.raises(sonnx.Stop, match=sentence):
        sonnx.run(source, dict(zip(names, inputs, strict=True)), unchecked=True)


@each_case("element", ["string", "complex64", "int4", "float8e5m2"])
@each_case("operator", ["Greater", "GlobalMaxPool", "Sign", "Dropout"])
def test_operators_without_a_data_file_compute_with_numbers_only(operator, element):
    inputs = [numpy.zeros((1, 1, 2), ELEMENTS[element])] * (2 if operator == "Greater" else 1)
    if element == "string":
        inputs = [each.astype(str) for each in inputs]
    number = getattr(TensorProto, element.upper())
    names = [f"x{n}" for n in range(len(inputs))]
    node = helper.make_node(operator, names, ["y"])
    model = graph([node], dict.fromkeys(names, (number, (1, 1, 2))), {"y": (number, None)}, operator_set=22)
    with pytest.raises(sonnx.NotExecutable, match=f"{operator} is not defined here for elements of type {element}"):
        sonnx.run(model.SerializeToString(), dict(zip(names, inputs, strict=True)), unchecked=True)
