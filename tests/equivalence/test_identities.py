"""Calls that give one of their operands back, conversions that lose nothing, and operands that are regrouped.

Both sides of every identity run on special values; each has near misses, which must not be called identical.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto

import sonnx
from sonnx.equivalence.result import Answer
from sonnx.executor.executor import ModelRunner
from sonnx.model.reader import read
from sonnx.numerics.formats import ELEMENTS, Array, patterns
from sonnx.operators import find_operator, names_of
from tests.support.cases import each_case, spread

NAMES = {"bool": 9, "int8": 3, "uint8": 2, "int16": 5, "uint16": 4, "int32": 6, "uint32": 12, "int64": 7, "uint64": 13,
         "float16": 10, "bfloat16": 16, "float": 1, "double": 11}  # fmt: skip
"""The numbers of element types in ONNX."""

FLOATS, INTEGERS, BOOLS = ("float", "float16", "double"), ("int8", "int32", "uint8", "int64"), ("bool",)
NUMBERS = (*FLOATS, *INTEGERS)


def special(element: str) -> Array:
    """The limits of a type, what is beside them, zeros, ones, infinities, NaNs quiet and not."""
    kind = ELEMENTS[element]
    if kind.kind == "b":
        return np.array([False, True] * 8)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        integers = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, 2, 3, 5, 100]
        return np.array([*integers, *(limits.min // 2, limits.max // 2, limits.max // 3, 7, 11, 13)], kind)
    bits = np.array([1, 2, 3], f"u{kind.itemsize}").view(kind)
    unsigned = bits.view(f"u{kind.itemsize}")
    nans = np.array([np.inf, -np.inf, np.nan], kind).view(unsigned.dtype) + unsigned.dtype.type(1)
    few = np.array([0.0, -0.0, 1, -1, 0.5, -2.5, 3.7, np.inf, -np.inf, 6e4], np.float64)
    with np.errstate(all="ignore"):
        return np.concatenate([few.astype(kind), nans.view(kind), bits])


def model(body: str, element: str, more: str = "", output: str = "", operator_set: int = 18) -> bytes:
    """A model from x, of 16 elements, and what `more` lists, to y."""
    text = (
        f'<ir_version: 9, opset_import: ["" : {operator_set}]> '
        f"g ({element}[16] x{more}) => ({output or element}[16] y) {{ {body} }}"
    )
    return onnx.parser.parse_model(text).SerializeToString()


def answer(first: bytes, second: bytes) -> Answer:
    return sonnx.equivalent(first, second, runs=0).result.answer


def values(model_bytes: bytes, inputs: Mapping[str, Array]) -> Array:
    return ModelRunner(read(model_bytes), None, None, unchecked=True).run(inputs).values["y"]


def assert_equal_values(first: bytes, second: bytes, inputs: Mapping[str, Array]) -> None:
    ours, theirs = values(first, inputs), values(second, inputs)
    assert ours.dtype == theirs.dtype
    assert np.array_equal(patterns(ours), patterns(theirs))


def constant(name: str, element: str, number: str) -> str:
    if element == "float16":  # the parser reads patterns
        number = str(np.float16(number).view(np.uint16))
    return f"{name} = Constant <value = {element}[1] {{{number}}}> () "


SAME = "y = Identity(x)"
IDENTITIES: Mapping[str, tuple[Sequence[str], str, str]] = {
    "Max of one": (NUMBERS, "y = Max(x)", SAME),
    "Min of one": (NUMBERS, "y = Min(x)", SAME),
    "Max of three equal ones": (NUMBERS, "y = Max(x, x, x)", SAME),
    "Min of two equal ones": (NUMBERS, "y = Min(x, x)", SAME),
    "And": (BOOLS, "y = And(x, x)", SAME),
    "Or": (BOOLS, "y = Or(x, x)", SAME),
    "Not twice": (BOOLS, "a = Not(x) y = Not(a)", SAME),
    "Neg twice": (("int8", "int32"), "a = Neg(x) y = Neg(a)", SAME),
    "Relu twice": ((*FLOATS, "int8", "int32"), "a = Relu(x) y = Relu(a)", "y = Relu(x)"),
    "Abs twice": ((*FLOATS, "uint8"), "a = Abs(x) y = Abs(a)", "y = Abs(x)"),
    "Abs of Neg": (FLOATS, "a = Neg(x) y = Abs(a)", "y = Abs(x)"),
    "Floor twice": (FLOATS, "a = Floor(x) y = Floor(a)", "y = Floor(x)"),
    "Ceil twice": (FLOATS, "a = Ceil(x) y = Ceil(a)", "y = Ceil(x)"),
    "Sign twice": ((*FLOATS, "int32"), "a = Sign(x) y = Sign(a)", "y = Sign(x)"),
    "Where of equals": (NUMBERS, "c = Equal(x, x) y = Where(c, x, x)", SAME),
    "times 1": (INTEGERS, "{1} y = Mul(x, one)", SAME),
    "1 times": (INTEGERS, "{1} y = Mul(one, x)", SAME),
    "by 1": (INTEGERS, "{1} y = Div(x, one)", SAME),
    "plus 0": (INTEGERS, "{0} y = Add(x, zero)", SAME),
    "minus 0": (INTEGERS, "{0} y = Sub(x, zero)", SAME),
    "and true": (BOOLS, "{1} y = And(one, x)", SAME),
    "or false": (BOOLS, "{0} y = Or(zero, x)", SAME),
    "converted to itself": (
        tuple(set(NAMES) - {"float16", "bfloat16", "float", "double"}),
        "y = Cast <to = {to}> (x)",
        SAME,
    ),
}


def _written(text: str, element: str) -> str:
    for word, name, number in (("{1}", "one", "1"), ("{0}", "zero", "0"), ("{-0}", "zero", "-0.0")):
        text = text.replace(word, constant(name, element, number))
    return text.replace("{to}", str(NAMES[element]))


@each_case("case", [(name, element) for name, (elements, *_) in IDENTITIES.items() for element in elements])
def test_identities(case: tuple[str, str]) -> None:
    name, element = case
    _, *bodies = IDENTITIES[name]
    first, second = (model(_written(body, element), element) for body in bodies)
    assert answer(first, second) == Answer.IDENTICAL
    assert_equal_values(first, second, {"x": special(element)})


def test_every_operator_that_is_stated_to_repeat_is_tried() -> None:
    declared = names_of(lambda operator: operator.twice is not None)
    assert {f"{name} twice" for name in declared if find_operator(name) is not None} <= IDENTITIES.keys()


NEAR_MISSES: Mapping[str, tuple[str, str, str]] = {
    "Max and Min": ("float", "a = Max(x) y = Neg(a)", SAME),
    "floats times 1": ("float", "{1} y = Mul(x, one)", SAME),
    "floats plus -0": ("float", "{-0} y = Add(x, zero)", SAME),
    "floats converted to their type": ("float", "y = Cast <to = 1> (x)", SAME),
    "Neg of floats twice": ("float", "a = Neg(x) y = Neg(a)", SAME),
    "plus +0": ("float", "{0} y = Add(x, zero)", SAME),
    "minus -0": ("float", "{-0} y = Sub(x, zero)", SAME),
    "0 minus": ("float", "{0} y = Sub(zero, x)", SAME),
    "1 by": ("float", "{1} y = Div(one, x)", SAME),
    "1 to the power": ("float", "{1} y = Pow(one, x)", SAME),
    "Not once": ("bool", "y = Not(x)", SAME),
    "Not three times": ("bool", "a = Not(x) b = Not(a) y = Not(b)", SAME),
    "and false": ("bool", "{0} y = And(x, zero)", SAME),
    "or true": ("bool", "{1} y = Or(x, one)", SAME),
    "integers times -1": ("int32", constant("m", "int32", "-1") + "y = Mul(x, m)", SAME),
    "Abs of Relu": ("float", "a = Neg(x) b = Relu(a) y = Abs(b)", "y = Abs(x)"),
    "Floor of Ceil": ("float", "a = Ceil(x) y = Floor(a)", "y = Floor(x)"),
    "Clip without bounds": ("float", "y = Clip(x)", "a = Relu(x) y = Sub(a, x)"),
    "Sub of integers": ("int32", "a = Sub(x, x) y = Sub(a, x)", "a = Sub(x, x) y = Sub(x, a)"),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses(name: str) -> None:
    element, *bodies = NEAR_MISSES[name]
    assert answer(*(model(_written(body, element), element) for body in bodies)) != Answer.IDENTICAL


def test_clip_with_bounds_beyond_all_numbers() -> None:
    """A bound that is left out is the largest finite number by the text of some versions: that is no identity then."""
    infinite = "l = Constant <value_float = -inf> () h = Constant <value_float = inf> () y = Clip(x, l, h)"
    for body, element in (
        (infinite, "float"),
        ("y = Clip(x)", "float"),
        ("y = Clip(x)", "int32"),
        ("y = Clip(x)", "double"),
    ):
        pair = model(body, element), model(SAME, element)
        if answer(*pair) == Answer.IDENTICAL:
            assert_equal_values(*pair, {"x": special(element)})


CHAINS = [(a, b, c) for a in NAMES for b in NAMES for c in NAMES if a != b]


def _chain(elements: tuple[str, str, str]) -> tuple[bytes, bytes]:
    first, second, third = elements
    twice = f"a = Cast <to = {NAMES[second]}> (x) y = Cast <to = {NAMES[third]}> (a)"
    return model(twice, first, output=third), model(f"y = Cast <to = {NAMES[third]}> (x)", first, output=third)


@each_case("elements", spread(CHAINS, 70))
def test_chains_of_conversions(elements: tuple[str, str, str]) -> None:
    """Where a chain is called identical to one conversion, all special values of the source are converted alike."""
    pair = _chain(elements)
    if answer(*pair) != Answer.IDENTICAL:
        return
    for number in special(elements[0]):
        inputs = {"x": np.full(16, number)}
        try:
            expected = values(pair[1], inputs)
        except sonnx.Stop:
            with pytest.raises(sonnx.Stop):
                values(pair[0], inputs)
            continue
        assert np.array_equal(patterns(values(pair[0], inputs)), patterns(expected)), (elements, number)


@pytest.mark.parametrize(
    "elements", [("int32", "int64", "int32"), ("bool", "float", "bool"),
                 ("int8", "float16", "int8"), ("int32", "double", "int32"),
                 ("uint8", "int32", "int64"), ("bool", "int64", "float")],
)  # fmt: skip
def test_conversions_that_lose_nothing(elements: tuple[str, str, str]) -> None:
    assert answer(*_chain(elements)) == Answer.IDENTICAL


@pytest.mark.parametrize(
    "elements", [("float", "float16", "float"), ("int64", "int32", "int64"), ("int32", "float", "int32"),
                 ("int8", "uint8", "int8"), ("float", "int32", "float"), ("uint8", "int8", "float"),
                 ("int16", "float16", "float"), ("float16", "bfloat16", "float"), ("float", "bool", "float")],
)  # fmt: skip
def test_conversions_that_lose(elements: tuple[str, str, str]) -> None:
    assert answer(*_chain(elements)) != Answer.IDENTICAL


REGROUPED = {
    "int32": ("Add", "Mul", "Max", "Min"), "uint8": ("Add", "Mul", "Max"), "int8": ("Add", "Max"),
    "bool": ("And", "Or", "Xor"),
}  # fmt: skip


@pytest.mark.parametrize(("element", "operator"), [(e, o) for e, operators in REGROUPED.items() for o in operators])
def test_integers_are_regrouped(element: str, operator: str) -> None:
    more = "".join(f", {element}[16] {name}" for name in "uvw")
    left = f"a = {operator}(x, u) b = {operator}(a, v) y = {operator}(b, w)"
    bodies = [left, f"a = {operator}(w, v) b = {operator}(u, x) y = {operator}(a, b)"]
    pair = [model(body, element, more) for body in bodies]
    assert answer(*pair) == Answer.IDENTICAL
    if operator != "Xor":
        drawn = {name: np.roll(special(element), turn) for turn, name in enumerate("xuvw")}
        assert_equal_values(pair[0], pair[1], drawn)
    for other in (
        f"a = {operator}(x, u) b = {operator}(a, v) y = {operator}(b, v)",
        f"a = {operator}(x, u) y = {operator}(a, v)",
    ):
        assert answer(pair[0], model(other, element, more)) != Answer.IDENTICAL


def test_floats_that_come_back_are_equal_over_the_reals() -> None:
    for body in ("a = Neg(x) y = Neg(a)", "a = Cast <to = 11> (x) y = Cast <to = 1> (a)", "y = Cast <to = 1> (x)"):
        assert answer(model(body, "float"), model(SAME, "float")) == Answer.ROUNDING
    assert (
        answer(model("a = Cast <to = 10> (x) y = Cast <to = 1> (a)", "float"), model(SAME, "float")) == Answer.NARROWED
    )


def test_floats_keep_their_order() -> None:
    more = ", float[16] u, float[16] v"
    pair = [model(body, "float", more) for body in ("a = Add(x, u) y = Add(a, v)", "a = Add(v, u) y = Add(a, x)")]
    assert answer(*pair) == Answer.ROUNDING


def test_symbolic_sizes() -> None:
    def symbolic(body: str) -> bytes:
        text = f'<ir_version: 9, opset_import: ["" : 18]> g (float[N, M] x) => (float[N, M] y) {{ {body} }}'
        return onnx.parser.parse_model(text).SerializeToString()

    for body in ("a = Relu(x) b = Relu(a) c = Neg(b) d = Neg(c) y = Max(x)", "y = Max(x)"):
        found = sonnx.equivalent(symbolic(body), symbolic(SAME)).result
        assert (found.answer, dict(found.binding)) == (Answer.IDENTICAL, {}), body


assert NAMES["float"] == TensorProto.FLOAT


AXES: Mapping[str, tuple[str, str]] = {
    "LogSoftmax": ("y = LogSoftmax <axis = {axis}> (x)", "[2, 3]"),
    "Hardmax": ("y = Hardmax <axis = {axis}> (x)", "[2, 3]"),
    "LpNormalization": ("y = LpNormalization <axis = {axis}> (x)", "[2, 3]"),
    "TopK": ("k = Constant <value_ints = [2]> () y, i = TopK <axis = {axis}> (x, k)", "[N, M]"),
    "GatherElements": (
        "i = Constant <value = int64[1, 1] {{1}}> () y = GatherElements <axis = {axis}> (x, i)",
        "[1, 1]",
    ),
    "ReduceL2": ("y = ReduceL2 <axes = [{axis}]> (x)", "[N, M]"),
    "ReduceProd": ("y = ReduceProd <axes = [{axis}], keepdims = 1> (x)", "[N, M]"),
}
"""Operators without a data file, with an axis of their first input."""


@pytest.mark.parametrize("name", AXES)
def test_an_axis_from_the_last_one(name: str) -> None:
    body, shape = AXES[name]

    def along(axis: int) -> bytes:
        nodes, header = body.format(axis=axis), '<ir_version: 8, opset_import: ["" : 13]>'
        text = f"{header} g (float[2, 3] x) => (float{shape} y) {{ {nodes} }}"
        return onnx.parser.parse_model(text).SerializeToString()

    assert answer(along(-1), along(1)) == Answer.IDENTICAL
    assert answer(along(-2), along(0)) == Answer.IDENTICAL
    assert answer(along(-1), along(0)) != Answer.IDENTICAL


def test_comparisons_of_swapped_operands() -> None:
    more = ", float[16] u"
    pair = [model(body, "float", more, "bool") for body in ("y = GreaterOrEqual(x, u)", "y = LessOrEqual(u, x)")]
    assert answer(*pair) == Answer.IDENTICAL
    assert answer(pair[0], model("y = LessOrEqual(x, u)", "float", more, "bool")) != Answer.IDENTICAL


def _tree(operator: str, names: Sequence[str]) -> bytes:
    nodes = [f"t1 = {operator}({names[0]}, {names[1]})"]
    nodes += [f"t{place} = {operator}(t{place - 1}, {name})" for place, name in enumerate(names) if place > 1]
    more = "".join(f", float[16] v{place}" for place in range(1, 20))
    return model(
        " ".join(
            [*(f"r{place} = Sin(v{place})" for place in range(1, 20)), *nodes, f"y = Identity(t{len(names) - 1})"]
        ),
        "float",
        more,
    )


@pytest.mark.parametrize("operator", ["Add", "Mul", "Max", "Min"])
def test_trees_of_many_floats(operator: str) -> None:
    leaves = ["x", *(f"r{place}" for place in range(1, 20))]
    turned = [*leaves[7:], *reversed(leaves[:7])]
    assert answer(_tree(operator, leaves), _tree(operator, turned)) == Answer.ROUNDING
    assert answer(_tree(operator, leaves), _tree(operator, [*turned[:-1], "v3"])) not in (
        Answer.ROUNDING,
        Answer.IDENTICAL,
    )
    assert answer(_tree(operator, leaves), _tree(operator, turned[:-1])) not in (Answer.ROUNDING, Answer.IDENTICAL)
