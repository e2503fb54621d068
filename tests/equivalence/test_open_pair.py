"""What a comparison says of models that it does not decide, and the parts of them that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator

import sonnx
from sonnx.cli.main import run as main
from sonnx.equivalence.result import Answer, OpenPart


def model(body: str, more: str = "") -> bytes:
    text = f'<ir_version: 8, opset_import: ["" : 18]> g (float[2, 3] x{more}) => (float[2, 3] y) {{ {body} }}'
    return onnx.parser.parse_model(text).SerializeToString()


PAIRS: dict[str, tuple[str, str, set[tuple[str, str]], Sequence[str], str]] = {
    "one node each": (
        "a = Relu(x) b = Tanh(a) y = Neg(b)", "c = Relu(x) d = Sin(c) y = Neg(d)", {("a", "c")}, ("b = Tanh(a)",),
        "Tanh(a) is Sin(c) for every a = c",
    ),
    "a node and two": (
        "a = Relu(x) b = Tanh(a) y = Neg(b)", "c = Relu(x) e = Sin(c) d = Cos(e) y = Neg(d)", {("a", "c")},
        ("b = Tanh(a)",), "Tanh(a) is Cos(Sin(c)) for every a = c",
    ),
    "two inputs": (
        "a = Exp(x) b = Tanh(x) d = Pow(a, b) y = Neg(d)", "a = Exp(x) b = Tanh(x) d = Pow(b, a) y = Neg(d)",
        {("a", "a"), ("b", "b")}, ("d = Pow(a, b)",), "Pow(a, b) is Pow(b, a) for every a, b",
    ),
    "two names of one value": (
        "a = Exp(x) a2 = Identity(a) d = Pow(a, a2) y = Neg(d)", "a = Exp(x) d = Sin(a) y = Neg(d)", {("a", "a")},
        ("d = Pow(a, a)",), "Pow(a, a) is Sin(a) for every a",
    ),
}  # fmt: skip


def part_of(first: str, second: str) -> OpenPart:
    result = sonnx.equivalent(model(first), model(second), runs=0).result
    assert result.answer is Answer.UNDECIDED and result.open is not None
    return result.open


@pytest.mark.parametrize("name", PAIRS)
def test_the_open_part_is_named(name: str) -> None:
    first, second, inputs, nodes, axiom = PAIRS[name]
    part = part_of(first, second)
    assert (set(part.inputs.items()), part.first_nodes, part.axiom) == (inputs, nodes, axiom)


def test_numbers_that_differ_need_a_bound_and_no_axiom() -> None:
    numbers = [f"w = Constant <value_float = {value}> () p = Mul(x, w) y = Tanh(p)" for value in (1.0, 1.001)]
    part = part_of(*numbers)
    assert part.axiom.startswith("none: their numbers differ")


@pytest.mark.parametrize("name", PAIRS)
def test_the_open_parts_are_written_as_models(name: str, tmp_path: Path) -> None:
    """In the place where they stand both parts give what the whole models give there."""
    files = [tmp_path / "a.onnx", tmp_path / "b.onnx"]
    for file, body in zip(files, PAIRS[name], strict=False):
        file.write_bytes(model(str(body)))
    folder = tmp_path / "open"
    assert main(["equivalent", *map(str, files), "--random", "0", "--extract", str(folder)]) == 3
    part = part_of(*PAIRS[name][:2])
    assert sorted(path.name for path in folder.iterdir()) == ["first.onnx", "second.onnx"]
    x = np.random.default_rng(1).uniform(0.1, 1, (2, 3)).astype(np.float32)
    for file, extracted, output, inputs in (
        (files[0], "first.onnx", part.first, part.inputs), (files[1], "second.onnx", part.second,
         part.inputs.values()),
    ):  # fmt: skip
        whole, piece = onnx.load(str(file)), onnx.load(str(folder / extracted))
        onnx.checker.check_model(piece)
        names = [*inputs, output]
        whole.graph.output.extend([onnx.ValueInfoProto(name=name) for name in names])
        del whole.graph.output[0]
        values = dict(zip(names, ReferenceEvaluator(whole).run(names, {"x": x}), strict=True))
        [result] = ReferenceEvaluator(piece).run([output], {name: values[name] for name in inputs})
        assert np.array_equal(result, values[output])


def test_nothing_is_written_of_models_that_are_equal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, folder = tmp_path / "a.onnx", tmp_path / "open"
    file.write_bytes(model("y = Relu(x)"))
    assert main(["equivalent", str(file), str(file), "--extract", str(folder)]) == 0
    assert not folder.exists() and "is not written: no part of the models is left open" in capsys.readouterr().err


def test_an_older_folder_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "a.onnx"
    file.write_bytes(model("y = Relu(x)"))
    assert main(["equivalent", str(file), str(file), "--extract", str(tmp_path)]) == 2
