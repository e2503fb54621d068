"""Value classes: the special values of every type, the positions, and that every case holds what its name says."""

import numpy

from sonnx.numerics.draws import is_ordinary
from sonnx.numerics.formats import ELEMENTS, patterns
from sonnx.numerics.special_values import HUGE, boundary_values, special_values
from sonnx.numerics.value_classes import MAX_POSITIONS, axis_positions, cases, positions
from tests.support.cases import each_case, spread

FLOAT = ELEMENTS["float"]
SHAPES = [(), (1,), (2,), (5,), (3, 4), (2, 1, 3)]


def bits(values):
    if values.dtype.kind in "Oc":
        return values.tolist() if values.dtype == object else values.tobytes()
    return patterns(numpy.ascontiguousarray(values)).reshape(-1).tolist()


def drawn(shape, name, kind=FLOAT, seed=0):
    """The tensors of a class, by where it puts its values."""
    return {
        case.detail: case.drawn({"x": (shape, kind)}, seed)["x"]
        for case in cases({"x": (shape, kind)})
        if case.name == name
    }


def test_the_special_values_of_float_are_those_of_the_format():
    found = special_values(FLOAT)
    assert dict(zip(found.names, bits(found.values), strict=True)) == {
        "nan": 0x7FC00000, "+inf": 0x7F800000, "-inf": 0xFF800000, "+0": 0, "-0": 0x80000000,
        "+largest": 0x7F7FFFFF, "-largest": 0xFF7FFFFF, "+least subnormal": 1, "-least subnormal": 0x80000001,
        "+largest subnormal": 0x7FFFFF, "-largest subnormal": 0x807FFFFF, "+least normal": 0x800000,
        "-least normal": 0x80800000, "+1": 0x3F800000, "-1": 0xBF800000, "+below 1": 0x3F7FFFFF,
        "-below 1": 0xBF7FFFFF, "+above 1": 0x3F800001, "-above 1": 0xBF800001,
    }  # fmt: skip


def test_the_special_values_of_integers_are_their_ends():
    for name, least, greatest in (("int8", -128, 127), ("uint64", 0, 2**64 - 1), ("int4", -8, 7), ("uint2", 0, 3)):
        found = special_values(ELEMENTS[name])
        assert (int(found["least"]), int(found["greatest"])) == (least, greatest)


@each_case("name", list(ELEMENTS))
def test_every_type_has_special_values_with_names_of_their_own(name):
    found = special_values(ELEMENTS[name])
    assert found.values.dtype == ELEMENTS[name]
    assert len(set(found.names)) == len(found.names) == found.values.size > 1


def test_boundaries_hold_where_conversions_round_and_saturate():
    floats = boundary_values(FLOAT).tolist()
    assert {0.5, 1.5, 2.5, -0.5, 127.0, 128.0, 255.0, 65504.0, 65520.0, 2.0**31, 2.0**63, 2.0**-25} <= set(floats)
    assert numpy.nextafter(FLOAT.type(0.5), FLOAT.type(0)) in floats
    assert not set(floats) & set(
        special_values(FLOAT).values[[special_values(FLOAT).names.index(each) for each in HUGE]].tolist()
    )
    assert {127, 128, 255, 256, 2**24 + 1, 2**53 + 1} <= set(boundary_values(ELEMENTS["int64"]).tolist())


def test_positions_of_short_axes_are_all_and_of_long_ones_a_few():
    assert [axis_positions(n) for n in range(9)] == [[*range(n)] for n in range(9)]
    for extent in (9, 17, 19, 40, 4096, 4097):
        found = axis_positions(extent)
        assert len(found) == MAX_POSITIONS
        assert {0, 1, extent // 2, extent - 2, extent - 1} <= set(found)
    assert positions((3,)) == {(0,): "first", (1,): "between", (2,): "last"}
    assert positions(()) == {(): "alone"}
    assert positions((0, 3)) == {}


def test_a_single_value_stands_alone_among_ordinary_ones():
    for shape in SHAPES:
        for name in ("nan first", "nan between", "nan last", "nan alone"):
            for values in drawn(shape, name).values():
                assert numpy.isnan(values).sum() == 1
                assert is_ordinary(values[~numpy.isnan(values)])
    assert [numpy.isnan(values).argmax() for values in drawn((5,), "nan between").values()] == [1, 2, 3]


def test_zeros_stand_in_both_orders_with_all_others_smaller():
    for one, other in (("+0", "-0"), ("-0", "+0")):
        for values in drawn((5,), f"{one} before {other} among smaller").values():
            signs = numpy.signbit(values[values == 0]).tolist()
            assert signs == [one == "-0", other == "-0"]
            assert values.max() == 0


def test_ties_are_of_the_greatest_and_the_least():
    for values in drawn((7,), "greatest twice").values():
        assert (values == values.max()).sum() == 2
    for values in drawn((3, 4), "least twice").values():
        assert (values == values.min()).sum() == 2


def test_a_nan_goes_along_every_axis():
    for shape, axis in (((19,), 0), ((6, 40), 1), ((40, 6), 0)):
        found = drawn(shape, f"nan in each line of axis {axis}").values()
        assert all((numpy.isnan(values).sum(axis) == 1).all() for values in found)
        seen = {index[axis] for values in found for index in numpy.argwhere(numpy.isnan(values))}
        assert seen == set(range(shape[axis]))


def test_two_inputs_meet_in_both_orders():
    specs = {"a": ((3,), FLOAT), "b": ((3,), FLOAT)}
    found = [case.drawn(specs, 0) for case in cases(specs) if case.name == "all -0 and all +0"]
    assert [numpy.signbit(each["a"]).all() for each in found] == [True, False]
    assert [numpy.signbit(each["b"]).any() for each in found] == [False, True]


@each_case("name", list(ELEMENTS))
def test_cases_have_the_type_and_shape_and_repeat(name):
    kind = ELEMENTS[name]
    for shape in ((), (3,), (2, 3)):
        specs = {"x": (shape, kind), "y": (shape, kind)}
        listed = cases(specs)
        assert len({(case.name, case.detail) for case in listed}) == len(listed)
        for case in spread(listed, 9):
            one, two = case.drawn(specs, 7), case.drawn(specs, 7)
            assert {(each.dtype, each.shape) for each in one.values()} == {(kind, shape)}
            assert all(bits(one[each]) == bits(two[each]) for each in specs)


def test_huge_numbers_are_marked():
    specs = {"x": ((4,), FLOAT)}
    for case in cases(specs):
        values = case.drawn(specs, 0)["x"]
        finite = values[numpy.isfinite(values)]
        assert case.huge or not finite.size or numpy.abs(finite).max() < 4


def test_an_empty_tensor_has_no_case():
    assert cases({"x": ((0, 3), FLOAT)}) == []
    assert cases({}) == []
