"""`fix --cut`: the parts conform or are listed as outside, and one after the other they compute what the whole does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator

import sonnx
from sonnx.cli.main import run
from sonnx.report.cut_record import STEPS
from sonnx.rewriter.cutting import cut
from tests.support.paths import ROOT

FRAMEWORKS = ROOT / "tests" / "models" / "frameworks"
SCHEMA = json.loads((ROOT / "sonnx" / "report" / "cut.schema.json").read_text("utf-8"))
NESTED = """<ir_version: 10, opset_import: ["" : 18]> g (float[2] x, bool c) => (float[2] y, float[2] z, float[2] w)
<float[2] w = {1, 2}> {
  a = Add(x, w)
  b = If (c) <
    then_branch = yes () => (float[2] t) { t = Add(a, w) },
    else_branch = no () => (float[2] t) { t = Mul(a, w) }>
  k = Constant <value = float[2] {3, 4}> ()
  d = Add(b, k)
  e = Hardmax(d)
  f = Mul(a, k)
  z = Add(f, w)
  y = Add(e, k)
}"""


def parts_of(folder: Path) -> tuple[dict[str, Any], list[onnx.ModelProto]]:
    record = json.loads((folder / STEPS).read_text("utf-8"))
    jsonschema.validate(record, SCHEMA)
    return record, [onnx.load(folder / step["file"]) for step in record["steps"]]


def values_of(folder: Path, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of the model by the steps of the record, as its reader runs them."""
    record, models = parts_of(folder)
    known = dict(inputs)
    for step, model in zip(record["steps"], models, strict=True):
        names = [value["name"] for value in step["outputs"]]
        taken = {value["name"]: known[value["name"]] for value in step["inputs"]}
        known |= dict(zip(names, ReferenceEvaluator(model).run(names, taken), strict=True))
    return {value["name"]: known[value["name"]] for value in record["outputs"]}


def require_same(whole: onnx.ModelProto, folder: Path) -> None:
    """The steps and the whole model give the same bits, with the evaluator of the onnx package."""
    generator = np.random.default_rng(0)
    inputs = {
        value.name: generator.standard_normal([size.dim_value for size in value.type.tensor_type.shape.dim])
        .astype(onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
        for value in whole.graph.input
    }  # fmt: skip
    names = [value.name for value in whole.graph.output]
    wanted = dict(zip(names, ReferenceEvaluator(whole).run(names, inputs), strict=True))
    for name, values in values_of(folder, inputs).items():
        assert values.tobytes() == wanted[name].tobytes()


@pytest.mark.parametrize(
    ("name", "shapes", "outside"),
    [
        ("torch_vit", {}, {"Erf", "LayerNormalization"}),
        ("torch_decoder", {}, {"Gelu", "ConvTranspose"}),
        ("torch_controller", {}, {"GRU"}),
        ("keras_cnn", {"keras_tensor": (1, 16, 16, 1)}, {"ReduceMean"}),
    ],
)
def test_the_parts_compute_what_the_whole_computes(
    name: str, shapes: dict[str, tuple[int, ...]], outside: set[str], tmp_path: Path
) -> None:
    source = FRAMEWORKS / f"{name}.onnx"
    options = [f"--input-shape={key}={','.join(map(str, shape))}" for key, shape in shapes.items()]
    assert run(["fix", str(source), *options, "--samples", "0", "--cut", str(tmp_path / "parts")]) == 1
    whole = sonnx.fix(source, input_shapes=shapes, samples=0)
    record, models = parts_of(tmp_path / "parts")
    for step in record["steps"]:
        assert (sonnx.check(tmp_path / "parts" / step["file"]).exit_code() == 0) == step["conforms"]
    left = {each["operator"] for step in record["steps"] for each in step["outside"] if each["reasons"]}
    assert left == outside
    inside = {node.output[0] for step, model in zip(record["steps"], models, strict=True) if step["conforms"]
              for node in model.graph.node if node.op_type != "Constant"}  # fmt: skip
    failing = {finding.where.place for finding in whole.after.findings if finding.where.kind == "node"}
    rewritten = onnx.load_from_string(whole.model_bytes())
    passing = {node.output[0] for index, node in enumerate(rewritten.graph.node)
               if f"graph/node[{index}]" not in failing and node.op_type != "Constant"}  # fmt: skip
    assert inside == passing
    require_same(rewritten, tmp_path / "parts")


def test_graphs_inside_nodes_and_outputs_without_nodes(tmp_path: Path) -> None:
    """The If reads values that its branches capture, a constant is in each part that reads it, and an output is one."""
    model = onnx.parser.parse_model(NESTED)
    result = sonnx.fix(model.SerializeToString(), samples=0)
    parts = cut(result, strict=False)
    for name, content in parts.files.items():
        (tmp_path / name).write_bytes(content)
    record, _ = parts_of(tmp_path)
    assert [step["conforms"] for step in record["steps"]] == [True, False, True, False, True]
    whole = onnx.load_from_string(result.model_bytes())
    for condition in (False, True):
        inputs = {"x": np.array([1, -2], np.float32), "c": np.array(condition)}
        names = [value.name for value in whole.graph.output]
        wanted = ReferenceEvaluator(whole).run(names, inputs)
        found = values_of(tmp_path, inputs)
        assert all(found[name].tobytes() == values.tobytes() for name, values in zip(names, wanted, strict=True))


def test_a_model_that_conforms_is_one_part(tmp_path: Path) -> None:
    assert run(["fix", str(ROOT / "examples" / "conforming.onnx"), "--cut", str(tmp_path / "parts")]) == 0
    record, _ = parts_of(tmp_path / "parts")
    assert [step["file"] for step in record["steps"]] == ["0-conforming.onnx"]


def test_a_folder_with_files_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert run(["fix", str(ROOT / "examples" / "conforming.onnx"), "--cut", str(tmp_path)]) == 2
    assert "part of an older model" in capsys.readouterr().err
