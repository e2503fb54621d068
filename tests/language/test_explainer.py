"""What a message prints evaluates to what was judged, and the parts of an `or` read as alternatives."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sonnx.language.evaluator import Evaluator, TensorFacts, Unknown, UnknownCause
from sonnx.language.explainer import Explained, Explainer, explanation_of
from sonnx.language.parser import parse
from tests.support.cases import each_case, examples

PROFILE = settings(max_examples=examples(150, 400))
X = TensorFacts("float", (2, 3, 5), Unknown(UnknownCause.RUN_TIME, "the value is known at run time only"))
NAMES: dict[str, Any] = {"a": 7, "b": -3, "c": 2, "xs": (4, -1, 6), "X": X}

NUMBERS = st.recursive(
    st.sampled_from(["a", "b", "c", "1", "X.rank", "X.shape[1]", "xs[2]", "len(xs)", "sum(xs)", "max([a, c])"]),
    lambda inner: st.one_of(
        inner.map(lambda text: f"-({text})"),
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda each: f"({each[0]}) {each[1]} ({each[2]})"),
        st.tuples(inner, st.sampled_from(["//", "%"]), st.sampled_from(["c", "3", "(c + 1)", "-b"])).map(
            lambda each: f"({each[0]}) {each[1]} {each[2]}"
        ),
        st.tuples(inner, inner).map(lambda each: f"[{each[0]}, {each[1]}][0]"),
        inner.map(lambda text: f"([{text}] + xs)[0]"),
        inner.map(lambda text: f"(xs + [{text}])[1:][2]"),
    ),
    max_leaves=8,
)


def said(text: str) -> Explained:
    """What the explainer makes of an expression."""
    found: Explained = parse(text).evaluate(Explainer(), {name: Explained(v, name) for name, v in NAMES.items()})
    return found


@PROFILE
@given(NUMBERS)
def test_what_is_printed_evaluates_to_what_was_judged(text: str) -> None:
    value = parse(text).evaluate(Evaluator(), NAMES)
    found = said(text)
    assert found.value == value
    assert parse(found.text).evaluate(Evaluator(), NAMES) == value


@PROFILE
@given(NUMBERS, st.sampled_from(["==", "<", ">=", "!="]), NUMBERS)
def test_a_printed_comparison_holds_as_judged(left: str, sign: str, right: str) -> None:
    text = f"({left}) {sign} ({right})"
    assert parse(said(text).text).evaluate(Evaluator(), NAMES) is parse(text).evaluate(Evaluator(), NAMES)


def test_a_negated_quotient_keeps_its_brackets() -> None:
    """The number of elements of Range: printed without them it was another number."""
    assert said("-((a - c) // b)").text == "-((a - c) // b)"


@each_case(
    ("text", "why"),
    [
        ("c == 1 or c == a", "c = 2, needs == 1 or == a = 7"),
        ("c == 1 or a == c", "c = 2, needs == 1, or else a = 7, needs == c = 2"),
        ("not c == 2 or a == c", "a = 7, needs == c = 2"),
        ("c == 1 and a == c", "c = 2, needs == 1"),
        ("all(n[i] > 5 or d[i] > 6 for n in [xs] for d in [X.shape] for i in range(3))",
         "xs[0] = 4, needs > 5, or else X.shape[0] = 2, needs > 6"),
    ],
)  # fmt: skip
def test_alternatives_are_not_demanded_together(text: str, why: str) -> None:
    assert explanation_of(parse(text), NAMES) == why
