"""Loops whose number of iterations is not known, and choices by a value, by what their graphs compute."""

from __future__ import annotations

import onnx.parser
import pytest

import sonnx
from sonnx.equivalence.result import Answer

IDENTICAL, ROUNDING, UNDECIDED = Answer.IDENTICAL, Answer.ROUNDING, Answer.UNDECIDED

LOOP = (
    """y, z = Loop (n, on, x) <body = b (int64 i, bool c, {state} s) => (bool go, {state} t, {state} u) {{ {body} }}>"""
)
SCAN = (
    "y, z = Scan <num_scan_inputs = 1, body = b (float[3] s, float[3] e) => (float[3] t, float[3] u) {{ {body} }}>"
    " (x, w)"
)


def loop(body: str, before: str = "", state: str = "float[3]") -> bytes:
    inputs = "float[3] x, float[3] v, int64 n, bool on"
    return model(before + LOOP.format(body=body, state=state), inputs, "float[3] y, float[m, 3] z")


def scan(body: str) -> bytes:
    return model(SCAN.format(body=body), "float[3] x, float[t, 3] w", "float[3] y, float[t, 3] z")


def choice(then: str, otherwise: str) -> bytes:
    branches = [f"{name} () => (float[3] p) {{ {body} }}" for name, body in (("a", then), ("b", otherwise))]
    text = f"y = If (on) <then_branch = {branches[0]}, else_branch = {branches[1]}>"
    return model(text, "float[3] x, float[3] v, bool on", "float[3] y")


def model(nodes: str, inputs: str, outputs: str) -> bytes:
    text = f'<ir_version: 8, opset_import: ["" : 18]> g ({inputs}) => ({outputs}) {{ {nodes} }}'
    return onnx.parser.parse_model(text).SerializeToString()


STEP = "go = Identity(c) a = Add(s, v) t = Relu(a) u = Neg(t)"
PAIRS = {
    "another order and another name": (
        loop(STEP), loop("go = Identity(c) k = Add(v, s) t = Relu(k) u = Neg(t)"), IDENTICAL),
    "another operator of the same meaning": (
        loop(STEP),
        loop("go = Identity(c) o = Constant <value_float = 0.0> () a = Add(s, v) t = Clip(a, o) u = Neg(t)"),
        IDENTICAL),
    "no declared shapes inside": (loop(STEP), loop(STEP, state="float[k]"), IDENTICAL),
    "equal over the reals": (
        loop("go = Identity(c) a = Add(s, v) b = Add(a, a) t = Add(b, v) u = Neg(t)"),
        loop("go = Identity(c) a = Add(s, v) d = Add(v, a) t = Add(d, a) u = Neg(t)"), ROUNDING),
    "a value from outside that is computed alike": (
        loop("go = Identity(c) t = Add(s, k) u = Neg(t)", "k = Add(v, x) "),
        loop("go = Identity(c) t = Add(j, s) u = Neg(t)", "j = Add(x, v) "), IDENTICAL),
    "another step": (loop(STEP), loop("go = Identity(c) a = Sub(s, v) t = Relu(a) u = Neg(t)"), UNDECIDED),
    "another end": (loop(STEP), loop("go = Not(c) a = Add(s, v) t = Relu(a) u = Neg(t)"), UNDECIDED),
    "a step by the counter": (
        loop("go = Identity(c) i32 = Cast <to = 1> (i) a = Add(s, i32) t = Relu(a) u = Neg(t)"), loop(STEP), UNDECIDED),
    "scan in another order": (
        scan("t = Add(s, e) u = Mul(t, e)"), scan("t = Add(e, s) u = Mul(e, t)"), IDENTICAL),
    "scan of another slice": (scan("t = Add(s, e) u = Mul(t, e)"), scan("t = Add(s, e) u = Mul(t, s)"), UNDECIDED),
    "branches of the same meaning": (
        choice("p = Add(x, v)", "p = Neg(v)"), choice("p = Add(v, x)", "p = Neg(v)"), IDENTICAL),
    "branches that are equal": (
        choice("p = Add(x, v)", "p = Add(v, x)"),
        model("y = Add(x, v)", "float[3] x, float[3] v, bool on", "float[3] y"), IDENTICAL),
    "another branch": (
        choice("p = Add(x, v)", "p = Neg(v)"), choice("p = Add(x, v)", "p = Neg(x)"), Answer.DIFFERENT),
    "a loop inside a loop": (
        loop("k, l = Loop (i, c, s) <body = e (int64 j, bool d, float[3] q) => (bool h, float[3] r, float[3] o)"
             " { h = Identity(d) r = Add(q, s) o = Neg(r) }> go = Identity(c) t = Add(k, v) u = Neg(t)"),
        loop("k, l = Loop (i, c, s) <body = e (int64 j, bool d, float[3] q) => (bool h, float[3] r, float[3] o)"
             " { h = Identity(d) r = Add(s, q) o = Neg(r) }> go = Identity(c) t = Add(v, k) u = Neg(t)"), IDENTICAL),
    "the state of the loop around in the place of the own one": (
        loop("k, l = Loop (i, c, s) <body = e (int64 j, bool d, float[3] q) => (bool h, float[3] r, float[3] o)"
             " { h = Identity(d) r = Add(q, s) o = Neg(r) }> go = Identity(c) t = Add(k, v) u = Neg(t)"),
        loop("k, l = Loop (i, c, s) <body = e (int64 j, bool d, float[3] q) => (bool h, float[3] r, float[3] o)"
             " { h = Identity(d) r = Add(q, q) o = Neg(r) }> go = Identity(c) t = Add(k, v) u = Neg(t)"), UNDECIDED),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_nodes_with_graphs_are_compared_by_what_their_graphs_compute(name: str) -> None:
    first, second, answer = PAIRS[name]
    found = sonnx.equivalent(first, second).result
    wanted = {answer, Answer.DIFFERENT} if answer is UNDECIDED else {answer}
    assert found.answer in wanted, (found.unmatched, found.bits)
