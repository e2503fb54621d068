"""Every command on models that strain it: a few of the campaign of `commands.py`, and those that it found."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import sonnx
from sonnx.cli.main import run
from tests.fuzz import commands, damaged_calls
from tests.support import families
from tests.support.cases import each_case, examples, spread
from tests.support.invariants import one_sentence


def relu(kind: int, shape: list[int]) -> onnx.ModelProto:
    return one("Relu", [(kind, shape)], (kind, shape))


def one(operator: str, inputs: list[tuple[int, list[int]]], output: tuple[int, list[int]] | None, **attributes: object):
    """A model of one node with the inputs a, b, …, or of a node without an output."""
    names = [chr(ord("a") + index) for index in range(len(inputs))]
    outputs = [] if output is None else ["y"]
    node = helper.make_node(operator, names, outputs, **attributes)
    given = [helper.make_tensor_value_info(name, *each) for name, each in zip(names, inputs, strict=True)]
    made = [] if output is None else [helper.make_tensor_value_info("y", *output)]
    graph = helper.make_graph([node], "g", given, made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


F, parsed = TensorProto.FLOAT, onnx.parser.parse_model
FOUND = {
    "a rank that numpy does not broadcast": one("Add", [(F, [1] * 63), (F, [1] * 63)], (F, [1] * 63)),
    "a rank that no array has": one("Transpose", [(F, [1] * 65)], (F, [1] * 65)),
    "a product of extents that is no int64": one("Transpose", [(F, [2**20] * 60)], (F, [2**20] * 60),
                                                 perm=list(range(59, -1, -1))),
    "a long permutation": one("Transpose", [(F, [3] * 30)], (F, [3] * 30), perm=list(range(29, -1, -1))),
    "a node without an output": one("PRelu", [(F, [1, 2]), (F, [2])], None),
    "a comparison of a rank that numpy does not broadcast": one("Greater", [(TensorProto.INT8, [1] * 63)] * 2,
                                                                (TensorProto.BOOL, [1] * 63)),
    "a constant without an output": one("Constant", [], None),
    "operands that do not broadcast": parsed("""<ir_version: 8, opset_import: ["" : 1]>
g (float[2, 3] x) => (float[1, 1] y) <float[1, 1] w = {1}> { y = Add (w, x) }"""),
    "a convolution without a kernel": one("Conv", [(F, [1, 2, 5, 5])], (F, [1, 2, 5, 5])),
    "a product of one matrix": one("MatMul", [(F, [2, 2])], (F, [2, 2])),
    "a Transpose without an output": one("Transpose", [(F, [2, 2])], None, perm=[1, 0]),
    "a fused operator without an output": one("Gelu", [(F, [2])], None),
    "a reduction without an output": one("GlobalAveragePool", [(F, [1, 2, 3, 3])], None),
    "a cast whose declared shape is not that of its input": parsed("""<ir_version: 10, opset_import: ["" : 18]>
g (bool[0, 1] x, bool[1, 4] w) => (bool[1, 4] y) { y = CastLike (x, w) }"""),
    "a comparison of two types": parsed("""<ir_version: 8, opset_import: ["" : 14]>
g (uint16[2] x, float[2] w) => (bool[2] y) { y = Greater (x, w) }"""),
    "groups of more elements than a number counts": parsed("""<ir_version: 10, opset_import: ["" : 21]>
g (float[1, 1, 4611686018427387904, 2147483648] x, float[1] s, float[1] b)
=> (float[1, 1, 4611686018427387904, 2147483648] y) { y = GroupNormalization <num_groups = 1> (x, s, b) }"""),
    "a slope of texts": parsed("""<ir_version: 8, opset_import: ["" : 16]>
g (float[1] s) => (string[2] y) <string[2] x = {"a", "b"}> { y = PRelu (x, s) }"""),
    "a sum of integers": parsed("""<ir_version: 8, opset_import: ["" : 14]>
g () => (uint64[2, 1] y) <uint64[2, 1] x = {0, 7}> { y = Sum (x) }"""),
    "an addend that is larger than the product": one("Gemm", [(TensorProto.INT16, [2, 1])] * 3,
                                                     (TensorProto.INT16, [2, 1]), transA=2**31 - 1),
    "an empty tensor of large extents": relu(F, [2**62, 4, 0]),
    "more elements than an array has": relu(F, [2**62]),
    "an Equal of more elements than a file has": one("Equal", [(TensorProto.INT64, [2**60])] * 2,
                                                     (TensorProto.BOOL, [2**60])),
    "a Floor of more elements than a file has": one("Floor", [(F, [2**60])], (F, [2**60])),
    "a Sign of more elements than a file has": one("Sign", [(F, [2**60])], (F, [2**60])),
    "a sum with a flag that is neither 0 nor 1": parsed("""<ir_version: 8, opset_import: ["" : 13]>
g () => (float[2, 3] y) <float[2, 3] x = {1, 2, 3, 4, 5, 6}> { y = ReduceSum <noop_with_empty_axes = 2> (x) }"""),
    "an output that is declared twice": parsed("""<ir_version: 8, opset_import: ["" : 13]>
g (float[2, 3] x) => (int64[1, 3] y, bfloat16[7] z, float[2, 3] z) { y = ArgMax (x) z = Relu (x) }"""),
}  # fmt: skip


def codes(data: bytes, changed: bytes, folder: Path, number: int = 1) -> dict[str, tuple[int, str]]:
    """The exit code of each command, and what is wrong with how it ended."""
    path = folder / "m.onnx"
    path.write_bytes(data)
    (folder / "changed.onnx").write_bytes(changed)
    each = commands.commands(str(path), number)
    return {name: commands.code([name, *arguments]) for name, arguments in each if name not in commands.EVERY}


@pytest.mark.parametrize("title", spread(FOUND, 12))
def test_models_that_once_failed(title: str, tmp_path: Path) -> None:
    data = FOUND[title].SerializeToString()
    for name, (code, reason) in codes(data, damaged_calls.changed(data, 1), tmp_path).items():
        assert code in (0, 1, 2, 3) and not reason, f"{name}: {reason}"


@each_case("name", ["chain_of_functions", "calls_of_the_next_function", "calls_of_functions_without_nodes"])
def test_functions_that_call_functions(name: str) -> None:
    """What a call becomes is counted with the calls that it replaces: a function without nodes ends each of them."""
    with contextlib.suppress(sonnx.Unfinished):
        assert sonnx.fix(families.MAKERS[name](150), samples=1).rewrites


ONCE_ENDED_WITH_4 = (48, 54, 138, 144, 146, 1052, 4907, 5298, 5787)
"""Models of the campaign."""


@pytest.mark.parametrize("number", (*range(examples(4, 200)), *ONCE_ENDED_WITH_4))
def test_a_few_models_of_the_campaign(number: int, tmp_path: Path) -> None:
    data = damaged_calls.model(number)
    assert data == damaged_calls.model(number)
    for name, (code, reason) in codes(data, damaged_calls.changed(data, number), tmp_path, number).items():
        assert code in (0, 1, 2, 3) and not reason, f"{name}: {reason}"


def test_the_campaign_covers_every_operator_and_extent() -> None:
    made = [onnx.ModelProto.FromString(damaged_calls.model(number)) for number in range(2000)]
    used = {node.op_type for each in made for node in each.graph.node}
    assert damaged_calls.schemas().keys() <= used
    shapes = [value.type.tensor_type.shape.dim for each in made for value in each.graph.input]
    assert {dim.dim_value for shape in shapes for dim in shape} >= set(damaged_calls.EXTENTS)
    assert {len(shape) for shape in shapes} >= set(damaged_calls.RANKS)
    assert {value.type.tensor_type.elem_type for each in made for value in each.graph.input} >= set(damaged_calls.TYPES)


def test_a_failure_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(arguments: list[str]) -> int:
        raise KeyError(arguments[0])

    monkeypatch.setattr("sonnx.cli.main.run", broken)
    assert commands.code(["check"]) == (4, "KeyError at : 'check'")


NOT_JSON = (b"", b"\xe6", b'{"format": "\xe6"}', b"[" * 100_000, b'{"format": 1}', b"9" * 5000)


@each_case("content", NOT_JSON)
@pytest.mark.parametrize("line", ["suite report DIR", "suite difference DIR/suite.json DIR/suite.json"])
def test_a_description_that_is_not_json(
    line: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the fuzzing of files beside a model found: bytes that are not UTF-8."""
    (tmp_path / "suite.json").write_bytes(content)
    assert run(line.replace("DIR", str(tmp_path)).split()) == 2
    assert one_sentence(capsys.readouterr().err.strip())


LEAKY = """<ir_version: 10, opset_import: ["" : 16]>
g (float16[2] x) => (float16[2] y) { y = LeakyRelu <alpha = ALPHA> (x) }"""


def test_a_difference_that_is_infinite_has_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Found by the fuzzing of command lines, as the two tests below."""
    for name, alpha in (("a", "0.1"), ("b", "inf")):
        (tmp_path / name).write_bytes(parsed(LEAKY.replace("ALPHA", alpha)).SerializeToString())
    assert run(["equivalent", str(tmp_path / "a"), str(tmp_path / "b"), "--format", "json"]) == 1
    witness = json.loads(capsys.readouterr().out)["result"]["witness"]
    assert witness["second"] is None and witness["first"] < 0


OUTPUTS = {"constant": ("<float[1] w = {2}>", 0), "undefined": ("", 3)}


@each_case("kind", OUTPUTS)
def test_an_output_that_no_node_makes(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A constant has its bounds; an undefined output has none, which is said."""
    constants, code = OUTPUTS[kind]
    text = '<ir_version: 8, opset_import: ["" : 14]> g (float[1] x) => (float[1] w) CONSTANTS { u = Relu (x) }'
    (tmp_path / "m").write_bytes(parsed(text.replace("CONSTANTS", constants)).SerializeToString())
    (tmp_path / "p.toml").write_text('input = ["x=[-1,1]"]\n[[require]]\noutput = 0\nabove = 1\n')
    assert run(["bound", str(tmp_path / "m"), "--unchecked", "--box", "x=[-1,1]", "--format", "json"]) == code
    said = capsys.readouterr()
    assert code or [each["name"] for each in json.loads(said.out)["tensors"]] == ["w"]
    assert run(["verify", str(tmp_path / "m"), str(tmp_path / "p.toml"), "--unchecked"]) == code
