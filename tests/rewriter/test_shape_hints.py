"""Types and shapes that the onnx package infers: where they are used, and that a contradiction drops them."""

from __future__ import annotations

import onnx.parser
import pytest

from sonnx import fix
from sonnx.graph.environment import NOTHING_STATED
from sonnx.language.evaluator import TensorFacts
from sonnx.model.reader import read
from sonnx.rewriter import rounds, shape_hints
from sonnx.rewriter.rewrites.declarations import HINTED
from sonnx.rewriter.shape_hints import contradicted, hint_of, hints_of
from sonnx.rewriter.shape_inference import InferredType
from tests.support.cases import each_case

HEAD = '<ir_version: 8, opset_import: ["" : 13]> g '
COSINE = HEAD + "(float[2, 3] a) => (float[2, 3] y) { b = Max(a) c = Cos(b) d = Max(c) y = Max(d) }"
ONE_HOT = (
    HEAD
    + """(int64[4] a) => (float[4, 3] y) <int64 depth = {3}, float[2] values = {0, 1}, float[2000] large> {
  h = OneHot <axis = -1> (a, depth, values)
  y = Max(h)
}"""
)


def source(text: str) -> bytes:
    return bytes(onnx.parser.parse_model(text).SerializeToString())


def declared(data: bytes) -> dict[str, list[int]]:
    graph = onnx.ModelProto.FromString(data).graph
    return {each.name: [one.dim_value for one in each.type.tensor_type.shape.dim] for each in graph.value_info}


@each_case(
    ("text", "wanted"),
    [(COSINE, {"b": [2, 3], "c": [2, 3], "d": [2, 3]}), (ONE_HOT, {"h": [4, 3]})],
    ids=["one that keeps the shape", "one whose shape depends on a constant"],
)
def test_the_outputs_of_unknown_operators_are_declared_and_marked(text, wanted):
    result = fix(source(text), samples=1)
    assert declared(result.model_bytes()) == wanted
    marked = {each.where.name for each in result.rewrites if each.changes == HINTED}
    assert marked == {"c", "h"} & wanted.keys()
    assert not result.unknown_shapes


@each_case("wrong", [TensorFacts("float", (3, 2)), TensorFacts("double", (2, 3))], ids=["shape", "type"])
def test_no_hint_is_used_where_one_contradicts_what_is_computed(wrong, monkeypatch):
    monkeypatch.setattr(rounds, "hints_of", lambda model: {"c": TensorFacts("float", (2, 3)), "b": wrong})
    result = fix(source(COSINE), samples=1)
    assert declared(result.model_bytes()) == {"b": [2, 3]}
    assert "Cos" in result.unknown_shapes["c"]


def test_a_contradiction_is_about_what_both_know():
    hint = TensorFacts("float", (2, 3))
    assert not contradicted({"a": hint}, {"a": NOTHING_STATED, "b": TensorFacts("float", (1,))})
    assert not contradicted({"a": hint}, {"a": hint})
    assert contradicted({"a": hint}, {"a": TensorFacts("float", (2, 4))})


@each_case("inferred", [InferredType(1, (2, -1)), InferredType(99, (2,)), InferredType(0, ())])
def test_an_incomplete_hint_says_nothing(inferred):
    assert hint_of(inferred) is None


@each_case(
    "text",
    [
        "(float[2] a) => (float[2] y) { y = Max(a) }",
        "(float[2] a) => (float[2] y) <float[2] b> { b = Cos(a) y = Max(b) }",
    ],
    ids=["known operators", "declared outputs"],
)
def test_a_model_of_which_all_is_known_starts_no_process(text, monkeypatch):
    monkeypatch.setattr(shape_hints, "_inferred", lambda data: pytest.fail("a process"))
    assert hints_of(read(source(HEAD + text))) == {}


@each_case("declared", ["", "<float[N] b>"])
def test_what_is_not_declared_completely_is_inferred(declared, monkeypatch):
    monkeypatch.setattr(shape_hints, "_inferred", lambda data: {"b": NOTHING_STATED})
    text = f"(float[2] a) => (float[2] y) {declared} {{ b = Cos(a) y = Cos(b) }}"
    assert hints_of(read(source(HEAD + text)))


def test_a_process_that_fails_gives_no_hints():
    assert shape_hints._inferred(b"not a model") == {}
