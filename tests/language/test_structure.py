"""What an expression reads, asks and demands, answered from its syntax tree and not from its text."""

from sonnx.language.parser import parse
from sonnx.language.structure import (
    Equality,
    Read,
    StructureQuestion,
    arguments_of,
    computes,
    demands_of_each,
    equalities,
    fields,
    functions,
    questions,
    reads,
    strings,
    view,
    without_listed_strings,
)
from tests.support.cases import each_case


@each_case(
    ("text", "found"),
    [
        ("X.rank == 0", {("X", "rank")}),
        ("X.shape[0] == W.shape[1]", {("X", "shape"), ("W", "shape")}),
        ("len(X.shape) + X.rank", {("X", "shape"), ("X", "rank")}),
        ("all(s > 0 for s in strides)", set()),
        ("all(x.type == 'float' for x in X)", {("X", "type")}),
        ("X[0].shape == X[1].shape", {("X", "shape")}),
        ("all(x.rank == y.rank for x in X for y in Y)", {("X", "rank"), ("Y", "rank")}),
        ("all(d == 1 for x in X[1:] for d in x.shape)", {("X", "shape")}),
        ("X.rank if given(B) else B.rank", {("X", "rank"), ("B", "rank")}),
        ("broadcastable([x.shape for x in X])", {("X", "shape")}),
        ("normal(axis, X.rank) < X.rank", {("X", "rank")}),
        ("X.values[0] in [1, 2]", {("X", "values")}),
        ("all(n > 0 for x in [S, L] for n in x.values)", {("S", "values"), ("L", "values")}),
        ("all(x.rank == 1 for x in X) and all(x.type == 'bool' for x in Y)", {("X", "rank"), ("Y", "type")}),
        ("[x.rank for x in X if x.type == 'bool'] == [] or x.rank == 0", {("X", "rank"), ("X", "type"), ("x", "rank")}),
    ],
)
def test_reads(text, found):
    assert reads(parse(text)) == {Read(*each) for each in found}


@each_case(
    ("text", "found"),
    [
        ("X.rank == 0", {"X": ("rank",)}),
        ("len(X.shape) == X.rank", {"X": ("rank",)}),
        ("len(X) == 2", {"X": ("len",)}),
        ("len(X) == 2 and X[axis].type == 'bool'", {"X": ("len", "type"), "axis": ()}),
        ("all(x.type == 'bool' for x in X[first:])", {"X": ("type",), "first": ()}),
        ("all(n > 0 for x in [S, L] for n in x.values)", {"S": ("values",), "L": ("values",)}),
        ("all(s > k for s in strides)", {"strides": (), "k": ()}),
        ("written(axis) and constant(W)", {"written(axis)": (), "constant(W)": ()}),
        ("(X if given(B) else B).rank == 1", {"X": (), "B": (), "given(B)": ()}),
        ("[x for x in X] == [] or X.rank == 0", {"X": ()}),
    ],
)
def test_what_is_seen_of_a_name_is_its_fields_or_all(text, found):
    assert view((parse(text),)) == found


def test_fields_are_those_of_any_value():
    expression = parse("all(n > 0 for x in [S, L] for n in x.values) and X.rank == 0")
    assert fields(expression) == {"values", "rank"}


@each_case(
    ("text", "found"),
    [
        ("constant(W)", {("constant", "W")}),
        ("given(B) and written(axis)", {("given", "B"), ("written", "axis")}),
        ("not given(B) or B.rank == 1", {("given", "B")}),
        ("all(constant(W) for x in X)", {("constant", "W")}),
        ("W.rank == 2", set()),
    ],
)
def test_questions(text, found):
    assert questions(parse(text)) == {StructureQuestion(*each) for each in found}


@each_case(
    ("text", "name", "found"),
    [
        ("normal(axis, X.rank) == 0", "normal", [["axis", "X.rank"]]),
        ("[normal(a, X.rank) for a in axes]", "normal", [["a", "X.rank"]]),
        ("len(X.shape[1:]) == len(Y.shape)", "len", [["X.shape[1:]"], ["Y.shape"]]),
        ("product(X.shape) == 1", "sum", []),
    ],
)
def test_arguments_of(text, name, found):
    assert sorted([each.text for each in call] for call in arguments_of(parse(text), name)) == sorted(found)


def test_arguments_of_nested_calls():
    calls = arguments_of(parse("max([len(X), len(range(len(Y)))])"), "len")
    assert sorted(argument.text for (argument,) in calls) == ["X", "Y", "range(len(Y))"]


@each_case(
    ("text", "found"),
    [
        ("X.rank == 0", [("X.rank", "0")]),
        ("mode == 'linear' and X.rank == 4", [("mode", "'linear'"), ("X.rank", "4")]),
        ("X.rank == 0 or X.rank == 1", []),
        ("not X.rank == 0", []),
        ("X.rank > 0 and X.shape == Y.shape", [("X.shape", "Y.shape")]),
        ("0 == X.rank == Y.rank", []),
        ("all(x == 1 for x in X.shape)", []),
    ],
)
def test_equalities(text, found):
    """Only conjuncts are demanded: not the parts of `or`, of `not`, of a chain or of a loop."""
    assert equalities(parse(text)) == tuple(Equality(parse(left), parse(right)) for left, right in found)


@each_case(
    ("text", "found"),
    [
        ("X.type in ['float', 'int8']", {"float", "int8"}),
        ("mode == 'constant'", {"constant"}),
        ("all(m in ['a', 'b'] for m in modes)", {"a", "b"}),
        ("X.rank == 1", set()),
    ],
)
def test_strings(text, found):
    assert strings(parse(text)) == found


@each_case(
    ("text", "found"),
    [
        ("len(X.shape) == 1", {"len"}),
        ("all(given(B) for x in X)", {"all", "given"}),
        ("reduce(join, X[0].shape, 1) == 1", {"reduce"}),
        ("X.rank == 1", set()),
    ],
)
def test_functions(text, found):
    assert functions(parse(text)) == found


@each_case(
    ("text", "found"),
    [
        ("X.rank + 1 == 2", True),
        ("X.shape[axis - 1] == 1", True),
        ("0 <= axis", True),
        ("any(d > 0 for d in X.shape)", True),
        ("X.type in ['float', 'double']", False),
        ("X.type == Y.type and not given(B)", False),
        ("axis == -1", False),
        ("axis != 'a < b + c'", False),
    ],
)
def test_computes(text, found):
    assert computes(parse(text)) is found


def test_listed_strings_can_be_left_out():
    one, other = parse("X.type in ['float'] and mode == 'a'"), parse("X.type in ['int8', 'int16'] and mode == 'a'")
    assert without_listed_strings(one) == without_listed_strings(other) == parse("X.type in [] and mode == 'a'")
    assert without_listed_strings(parse("X.type in ['float', T]")) == parse("X.type in ['float', T]")
    assert one.text == "X.type in ['float'] and mode == 'a'", "the expression itself is unchanged"


@each_case(
    ("text", "expected"),
    [
        ("all(x.type in ['float', 'double'] for x in X)", True),
        ("X.type == Y.type and (not given(L) or all(x.type == X.type for x in S))", True),
        ("all(x.type == X.type for x in S) if given(L) else X.type == 'float'", True),
        ("not all(x.type == 'float' for x in X)", False),
        ("any(x.type == 'float' for x in X)", False),
        ("all(x.type == 'float' for x in X) == given(L)", False),
        ("all(x.type == 'a' for x in X) and all(x.type == 'b' for x in Y)", False),
        ("all(x.type in [y.type for y in Y] for x in X)", False),
        ("X.type == 'a' if all(x.type == 'a' for x in X) else Y.type == 'a'", False),
        ("len([x for x in X]) == 1", False),
    ],
)
def test_what_an_expression_says_of_each_item(text, expected):
    assert demands_of_each(parse(text)) is expected
