"""The rule language: laws of its three values, words against their sources, broadcasting against NumPy, totality."""

from __future__ import annotations

import ast
import itertools
import math
import random
import time
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sonnx.checker.rules import evaluate_rule
from sonnx.checker.verdicts import Verdict
from sonnx.language.builtins import Undefined, broadcast, broadcastable, onnx_broadcastable
from sonnx.language.domain import RuleError
from sonnx.language.evaluator import FUEL, Evaluator, TensorFacts, Unknown, UnknownCause, first_unknown
from sonnx.language.parser import built_ins, parse, parsed_later
from sonnx.language.steps import OutOfFuel
from sonnx.language.type_checker import ListType, built_in_types
from sonnx.profile.catalogue import editions, general_rules, operators
from sonnx.profile.definitions import Rule
from sonnx.profile.signature import resolve, signature
from tests.support.cases import each_case, examples
from tests.support.editions import NEWEST

PROFILE = settings(max_examples=examples(25, 200))
MANY = settings(max_examples=examples(70, 400))
UNKNOWN = Unknown(UnknownCause.NOT_STATED, "nothing is stated")
TRUTHS = (True, False, UNKNOWN)


def value(text, /, **names):
    return parse(text).evaluate(Evaluator(), names)


def truth(found):
    """True, False or None."""
    return None if isinstance(found, Unknown) else found


# ------------------------------------------------------------------ Kleene's three values


def kleene_and(p, q):
    return False if False in (p, q) else None if None in (p, q) else True


def kleene_not(p):
    return None if p is None else not p


@each_case("p", TRUTHS, ids=str)
@each_case("q", TRUTHS, ids=str)
def test_connectives_are_kleenes(p, q):
    a, b = truth(p), truth(q)
    assert truth(value("p and q", p=p, q=q)) == kleene_and(a, b)
    assert truth(value("p or q", p=p, q=q)) == kleene_not(kleene_and(kleene_not(a), kleene_not(b)))
    assert truth(value("not p", p=p)) == kleene_not(a)


@each_case("p", TRUTHS, ids=str)
@each_case("q", TRUTHS, ids=str)
@each_case("r", TRUTHS, ids=str)
@each_case(
    ("left", "right"),
    [
        ("p and q", "q and p"),
        ("p or q", "q or p"),
        ("p and (q and r)", "(p and q) and r"),
        ("p or (q or r)", "(p or q) or r"),
        ("p and (q or r)", "(p and q) or (p and r)"),
        ("p or (q and r)", "(p or q) and (p or r)"),
        ("not (p and q)", "not p or not q"),
        ("not (p or q)", "not p and not q"),
        ("not not p", "p"),
        ("p and p", "p"),
        ("p or (p and q)", "p"),
        ("all([p, q, r])", "p and q and r"),
        ("any([p, q, r])", "p or q or r"),
        ("all(x for x in [p, q, r])", "p and q and r"),
        ("any(x for x in [p, q, r])", "p or q or r"),
        ("all(x for x in [p, q] if r)", "(not r or p) and (not r or q)"),
        ("any(x for x in [p, q] if r)", "(r and p) or (r and q)"),
    ],
)
def test_laws(p, q, r, left, right):
    names = {"p": p, "q": q, "r": r}
    assert truth(value(left, **names)) == truth(value(right, **names))


def test_the_stronger_cause_is_reported():
    run_time, undefined = Unknown(UnknownCause.RUN_TIME, "later"), Unknown(UnknownCause.UNDEFINED, "never")
    for p, q in itertools.permutations([run_time, UNKNOWN, undefined], 2):
        for text in ("p and q", "p or q", "p + q", "p == q", "p < q"):
            found = value(text, p=p, q=q)
            assert found.cause is max(p.cause, q.cause), text


# ------------------------------------------------------------------ decided on part of the facts, decided on all


EXTENT = st.integers(0, 3)
SHAPES = st.lists(st.lists(EXTENT, max_size=3).map(tuple), min_size=1, max_size=3)
MAX_RULES = [rule for version in (6, 13) for rule in signature("Max", version, NEWEST).rules]
MAX_TEXTS = sorted({rule.require.text for rule in MAX_RULES} | {"onnx_broadcastable(x.shape for x in X)"})
TYPES = ["float", "int32", "bool"]
OTHER_TEXTS = [
    "distinct([n, m, 1])", "n in [1, m]", "n // m > 0", "[n, m, k][n] == m", "sum([n, m]) == product([n, m])",
    "max([n, m, k]) >= min([n, m])", "len([i for i in range(n) if i != m]) == n", "all(i != m for i in range(n))",
    "[n, m][0:k] == [n]", "(n if m > 1 else k) == 2", "normal(n, m) == k", "-n <= m < k", "any(i == n for i in [m, k])",
    "[normal(i, m) for i in [n, k]] == [0, 1]", "reduce(join, [n, m, k], 1) == m", "not (n == 1) or m % n == 0",
]  # fmt: skip


def hidden(shape, mask):
    """A shape with some extents, or all of it, not known."""
    if mask is None:
        return UNKNOWN
    return tuple(UNKNOWN if hide else extent for extent, hide in zip(shape, mask, strict=False))


@st.composite
def two_views(draw):
    """The facts of a node of Max in full, and the same with some of them hidden."""
    shapes, kinds = draw(SHAPES), st.sampled_from(TYPES)
    full, part = [], []
    for shape in [*shapes, draw(st.lists(EXTENT, max_size=3).map(tuple))]:
        element = draw(kinds)
        mask = draw(st.none() | st.lists(st.booleans(), min_size=3, max_size=3))
        full.append(TensorFacts(element, shape))
        part.append(TensorFacts(draw(st.sampled_from([element, UNKNOWN])), hidden(shape, mask)))
    return [{"X": tuple(each[:-1]), "Y": each[-1], "given(Y)": True} for each in (full, part)]


@MANY
@given(views=two_views())
def test_a_verdict_on_part_of_the_facts_stands(views):
    """Where the whole is undefined, a rule this one relies on fails, and this one is not asked."""
    for text in MAX_TEXTS:
        full, part = (truth(value(text, **view)) for view in views)
        assert part is None or full is None or part == full, text


@MANY
@given(numbers=st.tuples(*[st.integers(-3, 4)] * 3), mask=st.tuples(*[st.booleans()] * 3))
def test_a_verdict_on_part_of_the_numbers_stands(numbers, mask):
    full = dict(zip("nmk", numbers, strict=True))
    part = {name: UNKNOWN if hide else full[name] for name, hide in zip("nmk", mask, strict=True)}
    for text in OTHER_TEXTS:
        names = parse(text).names
        found, whole = (truth(value(text, **{name: view[name] for name in names})) for view in (part, full))
        assert found is None or whole is None or found == whole, text


# ------------------------------------------------------------------ words


def arguments_of(kind):
    if isinstance(kind, ListType):
        return st.lists(arguments_of(kind.of), max_size=4).map(tuple)
    return st.integers(-3, 4)


def as_lists(found):
    return tuple(as_lists(item) for item in found) if isinstance(found, list | tuple) else found


def called(word, arguments):
    try:
        return as_lists(word.function(*arguments))
    except (Undefined, ValueError, IndexError):
        return None


@each_case("name", built_ins())
@PROFILE
@given(data=st.data())
def test_a_built_in_function_called_and_interpreted_are_equal(name, data):
    word = built_ins()[name]
    arguments = [data.draw(arguments_of(kind)) for kind in built_in_types(word)[0]]
    if name == "aligned" and arguments[1] < 0:
        return  # an axis is counted up from 0: the language has no negative indices
    if name == "along" and arguments[1] < 0:
        return
    read = word.interpret(Evaluator(), arguments)
    direct = called(word, arguments)
    if isinstance(read, Unknown) or first_unknown(read) is not None:
        assert direct is None
    else:
        assert read == direct


ALL_SHAPES = [shape for rank in range(4) for shape in itertools.product(range(4), repeat=rank)]


def numpy_shape(shapes):
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def fits_largest(shapes):
    """E1, read from the text: pad with ones from the left, then each extent is the largest of its axis, or 1."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return all(extent in (1, max(column)) for column in zip(*padded, strict=True) for extent in column)


def test_broadcastable_on_every_small_pair():
    pairs = list(itertools.product(ALL_SHAPES, repeat=2))
    assert len(pairs) == 7225
    differing = 0
    for pair in pairs:
        by_numpy = numpy_shape(pair)
        assert broadcastable(pair) == fits_largest(pair)
        assert onnx_broadcastable(pair) == (by_numpy is not None)
        if by_numpy is not None:
            assert tuple(broadcast(pair)) == by_numpy
        differing += broadcastable(pair) != onnx_broadcastable(pair)
    assert differing == 1240  # all of them with an extent 0 against 1


@PROFILE
@given(st.lists(st.lists(st.integers(1, 4), max_size=4).map(tuple), min_size=1, max_size=5))
def test_positive_extents_have_one_interpretation(shapes):
    expected = numpy_shape(shapes)
    assert broadcastable(shapes) == onnx_broadcastable(shapes) == (expected is not None)
    if expected is not None:
        assert tuple(broadcast(shapes)) == expected


@PROFILE
@given(st.lists(st.lists(st.integers(0, 3), max_size=4).map(tuple), min_size=1, max_size=5))
@example([(0,), (1,)])
@example([(2,), (1,), (3,)])
def test_the_profile_only_restricts(shapes):
    expected = numpy_shape(shapes)
    assert onnx_broadcastable(shapes) == (expected is not None)
    assert not broadcastable(shapes) or expected is not None
    assert broadcastable(shapes) == fits_largest(shapes)


# ------------------------------------------------------------------ totality


HUGE = 2**63
HOSTILE = [0, 1, -1, HUGE, -HUGE, 10**5000, UNKNOWN]


def everything():
    """Every text of the catalogue that is judged at a node, with its signature."""
    for described in operators():
        for version in described.versions:
            made = signature(described.name, version, NEWEST) or signature(described.name, version, "2025-10")
            for rule in made.rules:
                yield made, rule


def hostile_tensor(random_):
    pick = random_.random()
    if pick < 0.1:
        shape = UNKNOWN
    elif pick < 0.2:
        shape = (2,) * 300
    else:
        shape = tuple(random_.choice([*HOSTILE, 2, 3]) for _ in range(random_.randrange(4)))
    values = random_.choice(
        [UNKNOWN, (), (0,), (HUGE,), (UNKNOWN,) * 3, (math.nan, math.inf), tuple(range(2000)), (0,) * 2000]
    )
    return TensorFacts(random_.choice(["float", "int64", "type 99", UNKNOWN]), shape, values)


def hostile_names(made, random_):
    names = {}
    for formal in (*made.inputs, *made.outputs):
        many = getattr(formal, "variadic", False)
        count = random_.choice([0, 1, 2, 5, 200]) if many else 1
        few = [hostile_tensor(random_) for _ in range(min(count, 5))]
        names[formal.name] = tuple(few[i % 5] for i in range(count)) if many else few[0]
        names[f"given({formal.name})"] = random_.random() < 0.5
        names[f"constant({formal.name})"] = random_.random() < 0.5
    for parameter in made.parameters:
        numbers = random_.choice([(), (0,), (0, 0), (HUGE,), (-1,) * 2000, tuple(range(2000)), UNKNOWN, (UNKNOWN, 0)])
        words = random_.choice([(), ("NOTSET",), ("Tanh",) * 2000, UNKNOWN, ("", UNKNOWN)])
        reals = [math.nan, math.inf, -math.inf, 5e-324, 1.7e308]
        names[parameter.name] = {
            "ints": numbers,
            "string": random_.choice(["", "NOTSET", "x" * 2000, UNKNOWN]),
            "strings": words,
            "float": random_.choice([*reals, UNKNOWN]),
            "tensor": hostile_tensor(random_),
            "sparse_tensor": hostile_tensor(random_),
            "floats": random_.choice([(), tuple(reals), (UNKNOWN, 0.0)]),
        }.get(parameter.kind, random_.choice(HOSTILE))
        names[f"written({parameter.name})"] = random_.random() < 0.5
        names[f"{parameter.name}_input"] = hostile_tensor(random_)
        names[f"constant({parameter.name})"] = random_.random() < 0.5
    for name, expression in made.define.items():
        try:
            names[name] = expression.evaluate(Evaluator(), names)
        except OutOfFuel:
            names[name] = UNKNOWN
    return names


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in range(1, 12))])
def test_no_facts_make_a_rule_raise(seed, monkeypatch):
    """Every rule answers on hostile facts, with half a sentence for each answer that is not a pass.

    The first seed has a hundredth of the fuel, so that evaluations end the same way in less time.
    """
    if not seed:
        monkeypatch.setattr(Evaluator.__init__, "__defaults__", (FUEL // 100,))
    random_ = random.Random(seed)
    for made, rule in everything():
        names = hostile_names(made, random_)
        answer = evaluate_rule(rule, rule.require, names)
        assert answer.verdict in (*Verdict,)
        assert answer.actual or answer.verdict is Verdict.PASS
        assert len(answer.actual) < 20_000


@each_case(
    ("operator", "version", "names"),
    [
        ("Max", 13, {"X": tuple(TensorFacts("float", (2,) * 3) for _ in range(10_000)),
                     "Y": TensorFacts("float", (2, 2, 2))}),
        ("Max", 13, {"X": (TensorFacts("float", (2,) * 100_000),) * 2, "Y": TensorFacts("float", (2,) * 100_000)}),
        ("Max", 13, {"X": (TensorFacts("float", (HUGE,)), TensorFacts("float", (HUGE + 1,))),
                     "Y": TensorFacts("float", (HUGE,))}),
        ("Max", 13, {"X": (TensorFacts("float", (UNKNOWN,) * 100_000),) * 2, "Y": TensorFacts("float", UNKNOWN)}),
        ("ArgMax", 13, {"X": TensorFacts("float", (2,) * 100_000), "Y": TensorFacts("int64", ()), "axis": HUGE,
                        "keepdims": 1, "select_last_index": 0}),
        ("ReduceMax", 13, {"data": TensorFacts("float", (2,) * 100_000), "reduced": TensorFacts("float", ()),
                           "keepdims": 0, "axes": (0,) * 2000, "named": (0,) * 2000, "gone": (0,) * 2000,
                           "written(axes)": True}),
    ],
    ids=["10,000 inputs", "rank 100,000", "extents of 2^63", "100,000 symbols", "axis 2^63", "2,000 equal axes"],
)  # fmt: skip
def test_large_facts_end_within_the_fuel(operator, version, names, monkeypatch):
    """Within 30 seconds, or a twentieth of the fuel within a twentieth."""
    part = examples(20, 1)
    monkeypatch.setattr(Evaluator.__init__, "__defaults__", (FUEL // part,))
    started = time.process_time()
    for rule in signature(operator, version, NEWEST).rules:
        evaluate_rule(rule, rule.require, names)
    assert time.process_time() - started < 30 / part


def test_fuel_bounds_a_hostile_range():
    with pytest.raises(OutOfFuel):
        value("all(i >= 0 for i in range(n))", n=HUGE)
    rule = Rule("x", "node", "validity", "", "", "", "", parse("all(i >= 0 for i in range(n))"))
    assert evaluate_rule(rule, rule.require, {"n": HUGE}).verdict is Verdict.UNDECIDED


@each_case("text", ["n == 1", "[1][n] == 1", "1 // n == 1", "[1][0:n] == []", "n + n in [1]"])
@each_case("n", [10**5000, -(10**5000)], ids=["large", "small"])
def test_a_number_too_long_to_print_is_reported_by_its_length(text, n):
    """Python refuses to print numbers of more than 4,300 digits; a product of extents can be one."""
    rule = Rule("x", "node", "validity", "", "", "", "", parse(text))
    assert 0 < len(evaluate_rule(rule, rule.require, {"n": n}).actual) < 500


@each_case("text", ["n // 0", "n % 0", "n // (0 - 1)", "[n][7]", "[n][0 - 1]", "[n][0:9]", "max([])",
                                  "normal(9, 3)", "join(2, 3)", "broadcast([[2], [3]])"])  # fmt: skip
def test_what_no_text_defines_is_unknown(text):
    found = first_unknown(value(text, n=1) if "n" in parse(text).names else value(text))
    assert found is not None and found.cause is UnknownCause.UNDEFINED


# ------------------------------------------------------------------ texts


def parses_or_says_why(text):
    try:
        parsed_later.__wrapped__(text).parsed_now()
    except RuleError as error:
        assert str(error)


@PROFILE
@given(st.text(max_size=40))
@example("(" * 300)
@example("-" * 5000 + "1")
@example("[" * 100 + "]" * 100)
@example("\x00")
@example("a" * 10_000)
@example("lambda: 1")
@example("__import__('os')")
@example("().__class__")
@example("x := 1")
@example("f'{x}'")
@example("1.5")
@example("True")
@example("None")
@example("x[::2]")
@example("x ** 2")
@example("x @ y")
@example("x is y")
@example("reduce(lambda a, b: a, x, 1)")
@example("all(x for x, y in z)")
@example("len(x, y)")
@example("join(1)")
@example("written(x.y)")
@example("max(*x)")
@example("len(x=1)")
@example("len")
@example("9" * 5000)
def test_any_text_parses_or_is_refused(text):
    parses_or_says_why(text)


@cache
def rule_texts():
    rules = [*(rule for _, rule in everything()), *general_rules()]
    return sorted({each.text for rule in rules for each in (rule.require, rule.onnx, rule.when) if each is not None})


PIECES = ["(", ")", "[", "]", "for", " in ", "if", "x", ".", "and", "not", "0", "==", "lambda", ":", ",", "*", "**"]


@PROFILE
@given(data=st.data())
def test_mutated_rules_parse_or_are_refused(data):
    text = data.draw(st.sampled_from(rule_texts()))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        stop = min(len(text), start + data.draw(st.integers(0, 5)))
        text = text[:start] + data.draw(st.sampled_from(PIECES) | st.just("")) + text[stop:]
    parses_or_says_why(text)


@each_case(
    ("text", "named"),
    [
        ("lambda: 1", "Lambda"), ("x ** 2", "Pow"), ("x / 2", "Div"), ("x is y", "is"), ("1.5j", "1.5j"),
        ("True", "True"),
        ("x[::2]", "step"), ("len(*x)", "starred"), ("f(x)", "built-in function f"), ("x.secret", ".secret"),
        ("len", "function as a value"),
        ("all(x for x, y in z)", "several variables"), ("~x", "Invert"), ("{1: 2}", "Dict"), ("f'{x}'", "JoinedStr"),
        ("x.f()", "call of x.f"), ("(y := 1)", "NamedExpr"), ("all(join for join in x)", "join"),
        ("len(x, y)", "len takes"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_construct(text, named):
    with pytest.raises(RuleError) as refused:
        parse(text)
    assert named in str(refused.value)
    assert text in str(refused.value)


def test_every_text_is_what_it_was_parsed_from():
    for text in rule_texts():
        assert parse(text).text == text
        assert parse(text).names <= {ast.unparse(node) for node in ast.walk(ast.parse(text))}


def test_resolving_is_pure():
    for described in operators():
        made = signature(described.name, described.specified_first[0], NEWEST)
        assert resolve(described, described.specified_first[0], made.text, editions(), NEWEST).rules == made.rules
