"""What is decided on part of the facts stays decided: cases, and a part of the campaign."""

from __future__ import annotations

from typing import Any

import pytest

from sonnx.language.builtins import Undefined
from sonnx.language.evaluator import Evaluator, TensorFacts, Unknown, UnknownCause
from sonnx.language.parser import built_ins, parse
from tests.support.cases import examples
from tests.support.completion import counterexamples, stands

HIDDEN = Unknown(UnknownCause.NOT_STATED, "not stated")
RUN_TIME = Unknown(UnknownCause.RUN_TIME, "known at run time only")


def symbol(name: str) -> Unknown:
    return Unknown(UnknownCause.NOT_STATED, f"the symbol {name}", name)


N, M = symbol("N"), symbol("M")
X = TensorFacts("float", (N, 3))
FACTS = {"N": N, "M": M, "u": HIDDEN, "r": RUN_TIME, "X": X, "nan": float("nan"), "V": (float("nan"),)}
OPEN = "not decided"
CASES: dict[str, Any] = {
    # a symbol equals itself, and nothing that is computed from it
    "N == N": True,
    "N != N": False,
    "X.shape[0] == N": True,
    "N in [N]": True,
    "-N == N": OPEN,
    "-X.shape[0] == X.shape[0]": OPEN,
    "-N in [N]": OPEN,
    "-N == -N": OPEN,
    "N + 0 == N": OPEN,
    "(N if N == M else M) == N": OPEN,
    "max([N]) == N": OPEN,
    "sum([N]) == N": OPEN,
    "product([N, 0]) == 0": True,
    "[N, M][0] == N": True,
    "[N, M][0:1] == [N]": True,
    # two lists differ where an item decides it, and are equal where all items are
    "distinct([[2, N], [2, M]])": OPEN,
    "distinct([[2, N], [3, N]])": True,
    "distinct([[2, N], [2, N]])": False,
    "distinct([N, M])": OPEN,
    "distinct([N, N])": False,
    "distinct([N])": True,
    "distinct([1, N, 1])": False,
    "distinct([u, u])": OPEN,
    "distinct([u])": True,
    "distinct(V)": True,
    # the branches of a choice are one value, not two that are equal
    "(2 if N == M else 2) == 2": True,
    "([2] if N == M else [2]) == [2]": True,
    "(2 if N == M else 3) == 2": OPEN,
    "([N] if N == M else [N]) == [N]": OPEN,
    "(1.0 if N == M else 1.0) == 1": True,
    # a part of the result of a function may be defined where another is not
    "broadcast([[2, 3], [3, 3]])[1] == 3": True,
    "broadcast([[2, 3], [3, 3]])[0] == 3": OPEN,
    "len(broadcast([[2, 3], [3, 3]])) == 2": True,
    "len(broadcast([[N, 3], [3, 3]])) == 2": True,
    "len(along([[2], [3]], -3)) == 2": True,
    "[normal(5, 2), 1][1] == 1": True,
    # no number is equal to NaN, which Python's lists find by identity
    "nan in V": False,
    "nan == nan": False,
    "V == V": False,
    "distinct([V, V])": True,
}


@pytest.mark.parametrize("text", CASES)
def test_what_is_decided(text: str) -> None:
    found = parse(text).evaluate(Evaluator(), FACTS)
    assert (OPEN if isinstance(found, Unknown) else found) == CASES[text]


def test_no_expression_changes_its_decided_value() -> None:
    wrong, decided = counterexamples(range(examples(3_000, 50_000)))
    assert not wrong, wrong[0]
    assert decided > 1_000


@pytest.mark.parametrize(
    ("known", "value", "expected"),
    [
        (1, 1, True), (1, 2, False), (1, 1.0, False), (True, 1, False), (HIDDEN, 7, True), (1, HIDDEN, False),
        ((1, HIDDEN), (1, 5), True), ((1, HIDDEN), (1,), False), ((1, HIDDEN), HIDDEN, False),
        (TensorFacts(HIDDEN, (1,)), TensorFacts("float", (1,)), True),
        (TensorFacts("int8", ()), TensorFacts("float", ()), False),
    ],
)  # fmt: skip
def test_what_the_campaign_demands(known: Any, value: Any, expected: bool) -> None:
    assert stands(known, value) is expected


UNDONE = {
    "negative": lambda self, value: value if isinstance(value, Unknown) else -value,
    "_distinct": lambda self, sequence: len(set(sequence)) == len(sequence),
    "built_in": lambda self, function, arguments: _whole(self, function, arguments),
}


def _whole(self: Evaluator, function: Any, arguments: Any) -> Any:
    found = function.interpret(self, arguments)
    try:
        function.function(*arguments)
    except (Undefined, ValueError, IndexError, TypeError):
        return HIDDEN if all(type(item) in (int, tuple) for item in arguments) and not _open(arguments) else found
    return found


def _open(value: Any) -> bool:
    return isinstance(value, Unknown) or (isinstance(value, tuple) and any(map(_open, value)))


@pytest.mark.parametrize("method", UNDONE)
def test_the_campaign_detects_an_evaluator_that_is_wrong(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Evaluator, method, UNDONE[method])
    if method == "_distinct":
        monkeypatch.setitem(_functions(), "distinct", UNDONE[method])
    assert any(counterexamples(range(start, start + 400))[0] for start in range(0, 20_000, 400))


def _functions() -> Any:
    from sonnx.language import evaluator

    return evaluator._FUNCTIONS


def test_a_function_gives_the_same_called_and_interpreted() -> None:
    """Also where a part of the arguments or of the result is not defined."""
    for text in (
        "broadcast([[2, 3], [3, 3]])",
        "along([[2], [3, 4]], -3)",
        "widest([])",
        "join(2, 3)",
        "sliced(4, 0, 4, 0)",
    ):
        name, call = text.split("(", 1)
        arguments = parse(f"[{call[:-1]}]").evaluate(Evaluator(), {})
        word = built_ins()[name]
        assert _shape(Evaluator().built_in(word, arguments)) == _shape(word.interpret(Evaluator(), arguments)), text


def _shape(value: Any) -> Any:
    if isinstance(value, Unknown):
        return value.cause
    return tuple(map(_shape, value)) if isinstance(value, tuple) else value
