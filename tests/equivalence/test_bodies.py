"""Graphs inside nodes: they are equal under any names, and a choice between equal graphs is none."""

from __future__ import annotations

import onnx.parser
import pytest

import sonnx
from sonnx.equivalence.result import Answer


def model(nodes: str, inputs: str = "float[2] x, bool c, int64 n") -> bytes:
    text = f'<ir_version: 9, opset_import: ["" : 18]> g ({inputs}) => (float[2] y) {{ {nodes} }}'
    return onnx.parser.parse_model(text).SerializeToString()


def answer(first: bytes, second: bytes) -> Answer:
    return sonnx.equivalent(first, second, runs=0).result.answer


def branches(first: str, second: str, before: str = "") -> bytes:
    return model(
        f"{before} y = If (c) <then_branch = t () => (float[2] r) {{ {first} }}, "
        f"else_branch = e () => (float[2] s) {{ {second} }}>"
    )


def test_equal_branches_are_the_branch() -> None:
    equal = branches("u = Relu(x) r = Neg(u)", "w = Relu(x) s = Neg(w)")
    assert answer(equal, model("a = Relu(x) y = Neg(a)")) == Answer.IDENTICAL
    assert answer(equal, model("a = Relu(x) y = Abs(a)")) != Answer.IDENTICAL


@pytest.mark.parametrize(
    "second", ["w = Relu(x) s = Abs(w)", "w = Abs(x) s = Neg(w)", "w = Relu(q) s = Neg(w)", "w = Relu(x) s = Neg(x)"]
)
def test_other_branches_are_a_choice(second: str) -> None:
    choice = branches("u = Relu(x) r = Neg(u)", second, before="q = Sin(x)")
    assert answer(choice, model("a = Relu(x) y = Neg(a)")) != Answer.IDENTICAL
    assert answer(choice, choice.replace(b"w", b"v")) == Answer.IDENTICAL


def test_random_branches_are_no_function() -> None:
    drawn = branches("r = RandomNormalLike(x)", "s = RandomNormalLike(x)")
    assert answer(drawn, model("y = RandomNormalLike(x)")) != Answer.IDENTICAL
    assert (
        answer(drawn, branches("q = RandomNormalLike(x) r = Identity(q)", "s = RandomNormalLike(x)"))
        != Answer.IDENTICAL
    )


LOOP = (
    "{before} y = Loop (n, c, x) <body = b (int64 {i}, bool {k}, float[2] {s}) => (bool {l}, float[2] {t}) "
    "{{ {l} = Identity({k}) {u} = {operator}({s}, {a}) {t} = Sub({p}, {q}) }}>"
)
NAMES = dict(zip("ikslutopq", "ikslutous", strict=True)) | {
    "before": "a = Relu(x)", "a": "a", "operator": "Add", "p": "u", "q": "s",
}  # fmt: skip
OTHER_NAMES = dict(zip("ikslutopq", "jmzwvrovz", strict=True)) | {
    "before": "b = Relu(x)", "a": "b", "operator": "Add", "p": "v", "q": "z",
}  # fmt: skip
DIFFERENT = {
    "another operator": {"operator": "Mul"},
    "the operands of a difference": {"p": "z", "q": "v"},
    "another value from outside": {"before": "b = Neg(x)"},
    "a value from outside in the place of an inner one": {"q": "b"},
}


def test_names_inside_a_loop_do_not_count() -> None:
    pair = model(LOOP.format(**NAMES)), model(LOOP.format(**OTHER_NAMES))
    assert answer(*pair) == Answer.IDENTICAL


@pytest.mark.parametrize("what", DIFFERENT)
def test_what_a_loop_computes_counts(what: str) -> None:
    pair = model(LOOP.format(**NAMES)), model(LOOP.format(**(OTHER_NAMES | DIFFERENT[what])))
    assert answer(*pair) != Answer.IDENTICAL


def test_exchanged_states_count() -> None:
    def loop(first: str, second: str) -> bytes:
        return model(
            f"y, z = Loop (n, c, x, x) <body = b (int64 i, bool k, float[2] {first}, float[2] {second}) => "
            "(bool l, float[2] v, float[2] w) { l = Identity(k) v = Sub(s, t) w = Neg(t) }>"
        )

    assert answer(loop("s", "t"), loop("t", "s")) != Answer.IDENTICAL
