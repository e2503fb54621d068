"""What `prove MODEL` prints says what was proved: texts of random terms, evaluated by Python, against the terms."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping

import pytest
import z3
from onnx import TensorProto, helper

from sonnx import check
from sonnx.prover.model_walk import prove_model
from sonnx.prover.options import ProofOptions
from sonnx.prover.smt_values import folding
from sonnx.prover.symbols import Symbols, value_at
from sonnx.prover.weakest_condition import conjunction_as_text, is_equivalent, weakest_condition
from sonnx.prover.written_conditions import MAX_CONSTANT, written_comparison
from tests.support.cases import each_case, examples, spread

NAMES = ("N", "M", "K")
VARIABLES = {name: z3.Int(name) for name in NAMES}
COMPARISONS = ("__eq__", "__le__", "__ge__", "__lt__", "__gt__")
SMALL = [dict(zip(NAMES, values, strict=True)) for values in itertools.product((-7, 0, 1, 2, 5, 12), repeat=3)]


def random_term(chance: random.Random, depth: int) -> z3.ArithRef:
    """A sum, difference, product, negation, quotient or remainder by a positive constant, of symbols and numbers."""
    if depth == 0 or chance.random() < 0.15:
        return chance.choice((*VARIABLES.values(), *VARIABLES.values(), z3.IntVal(chance.randint(-4, 9))))
    left, right = random_term(chance, depth - 1), random_term(chance, depth - 1)
    number = z3.IntVal(chance.choice((1, 2, 3, 4, 7)))
    made = (left + right, left - right, -left, left * right, left * number, left / number, left % number)
    return chance.choice((*made, *made[-2:]))


def value(term: z3.ExprRef, numbers: Mapping[str, int]) -> bool:
    """The value of a condition for numbers, by z3."""
    replaced = [(VARIABLES[name], z3.IntVal(number)) for name, number in numbers.items()]
    return z3.is_true(z3.simplify(z3.substitute(term, *replaced)))


def test_the_text_of_a_comparison_has_the_value_of_its_term() -> None:
    chance, written = random.Random(1), 0
    for _ in range(number := examples(200, 400)):
        depth = chance.randint(1, 4)
        sides = random_term(chance, depth), random_term(chance, depth)
        term = getattr(sides[0], chance.choice(COMPARISONS))(sides[1])
        text = written_comparison(term, {name: name for name in NAMES})
        if text:
            written += 1
            for numbers in chance.sample(SMALL, 6):
                assert eval(text, {}, numbers) is value(term, numbers), (text, term, numbers)
    assert written > 0.4 * number


@each_case(
    ("term", "text"),
    [
        ("M == N * ((2 * K - 1) / 3)", "M == N * ((2 * K - 1) // 3)"),
        ("N * M * ((K + 1) % 4) <= 5", "N * M * ((K + 1) % 4) <= 5"),
        ("M == (-(N / 2)) / 3", "M == (-(N // 2)) // 3"),
        ("(3 * (N / 2)) % 5 == 1", "(3 * (N // 2)) % 5 == 1"),
        ("((2 * N + 1) / 3) * ((3 * M + 1) / 2) == K", "((2 * N + 1) // 3) * ((3 * M + 1) // 2) == K"),
        ("2 * M * N == 4 * N * M - 6", "N * M == 3"),
        ("N - M - 3 >= 4 * K", "N >= M + 4 * K + 3"),
        ("5 <= N", "N >= 5"),
        ("-N < -M", "M < N"),
        ("3 * N < 9 + 6 * M", "N < 2 * M + 3"),
        ("N == N", ""),
        (f"N <= {2 * MAX_CONSTANT + 1} * M", ""),
        ("N / M == 2", ""),
        ("N / -2 == 1", ""),
        ("N % -2 == 1", ""),
        ("N / 0 == 1", ""),
        ("(N + 1) * M == 2", ""),
    ],
)
def test_texts(term: str, text: str) -> None:
    assert written_comparison(eval(term, {}, VARIABLES), {name: name for name in NAMES}) == text


def random_condition(chance: random.Random, terms: Mapping[str, z3.ArithRef], depth: int) -> z3.BoolRef:
    if depth == 0:
        one, other = chance.choice(list(terms.values())), chance.choice(list(terms.values()))
        number = z3.IntVal(chance.choice((1, 2, 3, 4, 6)))
        side = chance.choice((number, other, one * number - other, (other + number) / 2, one % number))
        return getattr(one, chance.choice(COMPARISONS))(side)
    parts = [random_condition(chance, terms, depth - 1) for _ in range(2)]
    return chance.choice((z3.And(parts), z3.Or(parts), z3.Not(parts[0])))


@pytest.mark.parametrize("assume", [(), ("N >= 3",), ("M >= 0, M <= 9", "N % 2 == 0")], ids=str)
def test_a_stated_condition_holds_exactly_where_the_term_does(assume: tuple[str, ...]) -> None:
    chance, stated = random.Random(str(assume)), 0
    symbols = Symbols(NAMES[:2], assume)
    terms = {name: symbols.numbers[name].term for name in NAMES[:2]}
    points = symbols._points
    with folding():
        for _ in range(number := examples(13, 25)):
            condition = z3.simplify(random_condition(chance, terms, chance.randint(0, 2)))
            text = "" if z3.is_true(condition) or z3.is_false(condition) else weakest_condition(condition, symbols)
            stated += bool(text)
            for point in points if text else ():
                numbers = {name: z3.IntNumRef(point.values[i], z3.main_ctx()).as_long() for i, name in
                           enumerate(NAMES[:2])}  # fmt: skip
                assert eval(text, {}, numbers) is value_at(condition, point), (text, condition, numbers)
    assert stated > number / 3


@each_case(
    ("assume", "condition", "text"),
    [
        ("N >= 3", lambda n, m: z3.And(n >= 3, n != 3), "N >= 4"),
        ("", lambda n, m: n != 1, "N >= 2"),
        ("N <= 8", lambda n, m: n != 8, "N <= 7"),
        ("N >= 3", lambda n, m: z3.Or(n <= 0, n <= 1, n <= 2, m == 4), "M == 4"),
        ("N >= 3", lambda n, m: z3.And(n >= 1, m == 4), "M == 4"),
        ("N == 2 * M", lambda n, m: z3.And(n == 2 * m, n % 4 == 0), "N % 4 == 0"),
    ],
)
def test_what_the_assumptions_decide_is_not_stated(assume: str, condition: object, text: str) -> None:
    symbols = Symbols(("N", "M"), (assume,) if assume else ())
    with folding():
        assert weakest_condition(condition(*(each.term for each in symbols.numbers.values())), symbols) == text  # type: ignore[operator]


def test_a_conjunction_states_nothing_twice() -> None:
    symbols = Symbols(("N", "M", "K"), ("N >= 2",))
    parts = ("K == N + M", "K >= M", "K == N + M", "N + M == K", "M % 3 == 0 or K == 5")
    assert conjunction_as_text(parts, symbols) == "K == N + M and (K == 5 or M % 3 == 0)"


def test_a_text_that_says_something_else_is_not_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text that is printed is parsed, and what it says is compared with the condition."""
    symbols = Symbols(("N", "M"), ())
    n, m = (number.term for number in symbols.numbers.values())
    assert is_equivalent("M == 2 * (N // 3)", m == 2 * (n / 3), symbols)
    assert not is_equivalent("M == 2 * N // 3", m == 2 * (n / 3), symbols)
    assert not is_equivalent("N == 3", n >= 3, symbols) and not is_equivalent("N >= 3", n == 3, symbols)
    monkeypatch.setattr("sonnx.prover.weakest_condition._stated", lambda *_: "M == 2 * N // 3")
    assert weakest_condition(m == 2 * (n / 3), symbols) == ""


def test_no_answer_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    symbols = Symbols(("N",), ())
    monkeypatch.setattr(symbols, "ask", lambda _: z3.unknown)
    assert not symbols.always(symbols.numbers["N"].term >= 1)


def pooled(tail: list[object], output: list[int | str], *shape: object) -> bytes:
    """A concatenation and two pools, of which the second halves a quotient, then a node."""
    pool = {"pads": [0] * 4, "dilations": [1, 1], "ceil_mode": 0, "auto_pad": "NOTSET", "storage_order": 0}
    nodes = [
        helper.make_node("Concat", ["X", "X"], ["c"], axis=2),
        helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[1, 1], strides=[3, 1], **pool),
        helper.make_node("MaxPool", ["p"], ["q"], kernel_shape=[2, 1], strides=[1, 1], **pool),
        *tail,
    ]
    values = [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["B", 1, "N", 1])]
    made = helper.make_tensor_value_info("Y", TensorProto.FLOAT, output)
    graph = helper.make_graph(nodes, "g", values, [made], shape)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=10)
    return bytes(model.SerializeToString())


FLATTEN = pooled([helper.make_node("Flatten", ["q"], ["Y"], axis=0)], [1, "M"])
RESHAPE = pooled(
    [helper.make_node("Reshape", ["q", "s"], ["Y"])],
    ["M", 4],
    helper.make_tensor("s", TensorProto.INT64, [2], [-1, 4]),
)


@each_case(
    ("data", "condition"),
    [
        (FLATTEN, "M == B * ((2 * N - 1) // 3)"),
        (RESHAPE, "M == (B * ((2 * N - 1) // 3)) // 4 and (B * ((2 * N - 1) // 3)) % 4 == 0"),
    ],
    ids=["Flatten", "Reshape"],
)
def test_a_product_with_a_quotient(data: bytes, condition: str) -> None:
    proof = prove_model(data, ProofOptions(assume=("N >= 3",)))
    assert (proof.constraint, proof.sufficient) == (condition, True)
    for b, n, m in spread(itertools.product((1, 2, 4), (3, 4, 7), (1, 2, 3, 4, 8)), 10):
        findings = check(data, bind={"B": b, "N": n, "M": m}).findings
        fails = any("." in finding.rule and finding.verdict.value == "fail" for finding in findings)
        assert fails is not eval(condition, {}, {"B": b, "N": n, "M": m}), (b, n, m)


def test_a_symbol_whose_name_is_a_text_is_quoted() -> None:
    names = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [s]) for n, s in (("a", "N + 1"), ("b", "N"))]
    graph = helper.make_graph([helper.make_node("Max", ["a", "b"], ["c"])], "g", names, [
        helper.make_tensor_value_info("c", TensorProto.FLOAT, ["N"])
    ])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=10)
    proof = prove_model(model.SerializeToString())
    assert (proof.constraint, proof.sufficient) == ("'N + 1' == N or 'N + 1' == 1 or N == 1", False)
    assert proof.assumptions == ("'N + 1'>=1", "N>=1")
