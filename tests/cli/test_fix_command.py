"""`sonnx fix`: what is written and printed, bad input, and that no other command loads the rewriter."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy
import onnx
import onnx.parser
import pytest
from msgspec.structs import replace
from onnx import helper

from sonnx import fix
from sonnx.cli.main import run
from sonnx.proofs import registry
from sonnx.rewriter import passes, validation
from sonnx.rewriter.passes import every_rewrite
from sonnx.rewriter.rewrite import Replacement
from tests.support.editions import NEWEST

ROOT = Path(__file__).parent.parent.parent
TEXT = """<ir_version: 8, opset_import: ["" : 13]> g (float[N, 3] a, float[3] b) => (float[N, 3] y) {
  m = Max(a, b)
  d = Max(m)
  y = Softmax(m)
}"""
RESHAPED = """<ir_version: 8, opset_import: ["" : 13]> g (float[N, 3] a) => (float[2, 3] y) <int64[2] s = {2, 3}>
{ y = Reshape(a, s) }"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(TEXT).SerializeToString())
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# ------------------------------------------------------------------ what is written


def test_the_output_conforms_and_the_original_stays(model, capsys):
    before = model.read_bytes()
    assert run(["fix", "model.onnx", "--output", "out.onnx", "--bind", "N=2"]) == 0
    assert model.read_bytes() == before
    assert run(["check", "out.onnx"]) == 0
    printed = capsys.readouterr().out
    for line in (
        f"model.onnx: 5 rewrites, findings 9 before and 0 after: it conforms (edition {NEWEST}",
        "    - N\n    + 2",
        "    + axis=1",
        "findings after:  none",
        "validated: 18 elements of 1 output are the same in every bit, for 3 sets of generated inputs",
    ):
        assert line in printed
    assert sorted(path.name for path in model.parent.iterdir()) == ["model.onnx", "out.onnx"]


def test_a_symbol_without_a_number_remains_with_the_option_that_binds_it(model, capsys):
    assert run(["fix", "model.onnx", "--output", "out.onnx"]) == 1
    printed = capsys.readouterr().out
    assert "--bind N=…" in printed
    assert "not validated: no values can be generated for 'a'" in printed


def test_dry_run_writes_nothing(model, capsys):
    assert run(["fix", "model.onnx", "--dry-run", "--bind", "N=2"]) == 0
    assert "nothing is written (--dry-run)" in capsys.readouterr().out
    assert [path.name for path in model.parent.iterdir()] == ["model.onnx"]


def test_the_record_ties_the_output_to_the_original(model, capsys):
    options = ["--bind", "N=2", "--report", "record.json", "--format", "json"]
    assert run(["fix", "model.onnx", "--output", "out.onnx", *options]) == 0
    record = json.loads(Path("record.json").read_text("utf-8"))
    assert json.loads(capsys.readouterr().out) == record
    assert record["original"]["sha256"] == sha256(model)
    assert record["rewritten"]["sha256"] == sha256(Path("out.onnx"))
    assert {each["kind"] for each in record["rewrites"]} <= every_rewrite().keys() | {"bound-symbol"}
    assert all(each["before"] != each["after"] for each in record["rewrites"])
    assert record["validation"]["done"]
    assert record["left"] == []


def test_an_operator_that_is_kept_stays(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = "g (float[2, 3] a) => (float[3, 2] y) { y = Transpose <perm = [1, 0]> (a) }"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 13]> {graph}')
    Path("m.onnx").write_bytes(made.SerializeToString())
    assert run(["fix", "m.onnx", "--dry-run"]) == 0
    assert "nodes: 1 before, 5 after" in capsys.readouterr().out
    assert run(["fix", "m.onnx", "--dry-run", "--keep", "Transpose"]) == 1
    assert "0 rewrites" in capsys.readouterr().out
    assert run(["fix", "m.onnx", "--dry-run", "--keep", "transpose"]) == 2
    assert "did you mean 'Transpose'?" in capsys.readouterr().err


def test_what_is_not_validated_is_said(model, capsys):
    node = helper.make_node("Custom", ["m", "b"], ["n"], domain="example")
    made = onnx.ModelProto.FromString(model.read_bytes())
    made.opset_import.add(domain="example", version=1)
    made.graph.node.insert(1, node)
    made.graph.node[3].input[0] = "n"
    model.write_bytes(made.SerializeToString())
    assert run(["fix", "model.onnx", "--output", "out.onnx", "--bind", "N=2"]) == 1
    printed = capsys.readouterr().out
    assert "not validated: " in printed
    assert "neither sonnx nor the onnx package computes the output shape of Custom" in printed
    made.graph.value_info.append(helper.make_tensor_value_info("n", 1, ["N", 3]))
    model.write_bytes(made.SerializeToString())
    run(["fix", "model.onnx", "--dry-run", "--bind", "N=2", "--report", "record.json", "--format", "json"])
    record = json.loads(capsys.readouterr().out)["validation"]
    assert (record["done"], record["left_out"], record["inputs"]) == (False, ["Custom"], 3)
    assert record["elements"] == 3 * (6 + 6 + 3)  # y, and what goes into the node: m and b


def test_no_samples_no_claim(model, capsys):
    run(["fix", "model.onnx", "--dry-run", "--bind", "N=2", "--samples", "0"])
    assert "not validated: no sample inputs were requested" in capsys.readouterr().out


def test_all_rewrites_are_printed_when_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    nodes = [helper.make_node("Max", [f"v{i}"], [f"v{i + 1}"]) for i in range(20)]
    values = [helper.make_tensor_value_info(name, 1, [2]) for name in ("v0", "v20")]
    made = helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:]), ir_version=8,
                             opset_imports=[helper.make_opsetid("", 13)])  # fmt: skip
    Path("m.onnx").write_bytes(made.SerializeToString())
    run(["fix", "m.onnx", "--dry-run"])
    short = capsys.readouterr().out
    run(["fix", "m.onnx", "--dry-run", "--all"])
    long = capsys.readouterr().out
    assert "and 11 more (--all prints them)" in short
    assert "'v19'" in long
    assert "'v19'" not in short
    assert "more (--all" not in long


# ------------------------------------------------------------------ bad input


def refused(capsys, *arguments: str) -> str:
    files = {path: path.stat().st_mtime_ns for path in Path().iterdir()}
    assert run(["fix", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("sonnx: ")
    assert said.err.count("\n") == 1
    assert {path: path.stat().st_mtime_ns for path in Path().iterdir()} == files
    return said.err


def test_an_output_that_exists(model, capsys):
    Path("out.onnx").write_text("kept")
    assert "--force overwrites it" in refused(capsys, "model.onnx", "--output", "out.onnx")
    assert run(["fix", "model.onnx", "--output", "out.onnx", "--bind", "N=2", "--force"]) == 0
    assert Path("out.onnx").read_bytes() != b"kept"


@pytest.mark.parametrize("target", ["model.onnx", "../{}/model.onnx", "link.onnx"])
def test_the_original_is_no_output_even_by_force(model, capsys, target):
    Path("link.onnx").symlink_to("model.onnx")
    assert "is the original" in refused(
        capsys, "model.onnx", "--output", target.format(model.parent.name), "--force", "--bind", "N=2"
    )


def test_a_report_that_exists_stops_before_anything_is_written(model, capsys):
    Path("record.json").write_text("kept")
    assert "record.json" in refused(capsys, "model.onnx", "--output", "out.onnx", "--report", "record.json")
    assert "one file" in refused(capsys, "model.onnx", "--output", "new", "--report", "./new")


def test_targets_that_cannot_be(model, capsys):
    assert "is a folder" in refused(capsys, "model.onnx", "--output", ".")
    assert "does not exist" in refused(capsys, "model.onnx", "--output", "missing/out.onnx")


def test_no_model(model, capsys):
    Path("text.onnx").write_text("hello")
    assert "text.onnx" in refused(capsys, "text.onnx", "--output", "out.onnx")
    assert "absent.onnx" in refused(capsys, "absent.onnx", "--output", "out.onnx")


def test_bindings_that_cannot_hold(model, capsys):
    Path("reshaped.onnx").write_bytes(onnx.parser.parse_model(RESHAPED).SerializeToString())
    said = refused(capsys, "reshaped.onnx", "--output", "out.onnx", "--bind", "N=5")
    assert "N=5 cannot hold: Reshape.same-size fails at node (Reshape, opset 13), graph/node[0]" in said
    assert "the smallest that fits is 'a' of shape [2, 3]" in said
    assert "the symbol M" in refused(capsys, "model.onnx", "--output", "out.onnx", "--bind", "M=5")
    assert "SYMBOL=NUMBER" in refused(capsys, "model.onnx", "--output", "out.onnx", "--bind", "N=-1")


def test_names_that_mean_nothing(model, capsys):
    assert "nonsense" in refused(capsys, "model.onnx", "--output", "out.onnx", "--select", "nonsense")
    assert "1999-01" in refused(capsys, "model.onnx", "--output", "out.onnx", "--edition", "1999-01")


def test_values_outside_the_file(model, capsys):
    made = onnx.ModelProto.FromString(model.read_bytes())
    tensor = made.graph.initializer.add(name="w", data_type=1, dims=[3], data_location=1)
    tensor.external_data.add(key="location", value="weights.bin")
    model.write_bytes(made.SerializeToString())
    said = refused(capsys, "model.onnx", "--output", "out.onnx")
    assert "the file 'weights.bin' of the constant 'w' does not exist" in said
    sparse = made.graph.sparse_initializer.add(dims=[9])
    sparse.values.CopyFrom(tensor)
    sparse.values.name = "s"
    del made.graph.initializer[:]
    model.write_bytes(made.SerializeToString())
    assert "the values of 's' are in another file" in refused(capsys, "model.onnx", "--output", "out.onnx")


def broken(made: onnx.ModelProto, kind: str) -> None:
    match kind:
        case "an attribute that holds two values":
            made.graph.node[2].attribute.add(name="axis", type=2, i=1, s=b"x")
        case "a tensor that does not fit its type":
            made.graph.initializer.add(name="w", data_type=2, dims=[1], int32_data=[300])
        case "training information":
            made.training_info.add()
        case "a sparse initializer":
            made.graph.sparse_initializer.add(dims=[2]).values.name = "s"
        case "a name that is not text":
            made.graph.node[0].name = "zzzz"
        case "content the format does not define":
            made.doc_string = "zzzz"


BROKEN = [
    "an attribute that holds two values", "a tensor that does not fit its type", "training information",
    "a sparse initializer", "a name that is not text", "content the format does not define",
]  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_what_would_not_survive_writing_is_refused(model, capsys, kind):
    """Writing must not remove a finding silently."""
    made = onnx.ModelProto.FromString(model.read_bytes())
    broken(made, kind)
    data = made.SerializeToString()
    if kind == "a name that is not text":
        data = data.replace(b"zzzz", b"z\xff\xfez")
    if kind == "content the format does not define":
        data += b"\xf8\x3f\x01"
    model.write_bytes(data)
    assert "written" in refused(capsys, "model.onnx", "--output", "out.onnx", "--bind", "N=2")


def test_a_difference_is_a_defect_and_nothing_is_written(model, monkeypatch):
    """A rewrite that changes a value is found by the comparison, and stops everything."""

    def wrong(site):
        axis = replace(site.node.attributes[0], value=0)
        return Replacement((replace(site.node, attributes=(axis,)),), "axis=-1", "axis=0")

    rewrites = [replace(each, apply=wrong) if each.name == "negative-axis" else each for each in passes.NODE_REWRITES]
    monkeypatch.setattr(passes, "NODE_REWRITES", tuple(rewrites))
    with pytest.raises(validation.Differs, match="the output y differs"):
        run(["fix", "model.onnx", "--output", "out.onnx", "--bind", "N=2"])
    assert [path.name for path in model.parent.iterdir()] == ["model.onnx"]


# ------------------------------------------------------------------ apart


def imported(path: Path) -> set[str]:
    """The modules a module imports, anywhere in it; none where its text does not have the name of the package."""
    found: set[str] = set()
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)) if "rewriter" in text else ():
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update({node.module} | {f"{node.module}.{alias.name}" for alias in node.names})
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)  # import_module takes names too
    return found


def test_only_the_public_function_imports_it():
    """When it is called."""
    files = [path for folder in ("sonnx", "proofs") for path in (ROOT / folder).rglob("*.py")]
    outside = [path for path in files if not path.is_relative_to(ROOT / "sonnx" / "rewriter")]
    users = {
        path.relative_to(ROOT / "sonnx").as_posix() if path.is_relative_to(ROOT / "sonnx") else str(path): {
            name for name in imported(path) if name.startswith("sonnx.rewriter")
        }
        for path in outside
    }
    users = {path: names for path, names in users.items() if names}
    in_a_child = {"cli/forecasts.py"}  # names the module that a process of its own loads
    public = {"cli/check_and_fix.py", "cli/commands/fix.py"} | in_a_child
    assert users.keys() == public
    for path in public:
        tree = ast.parse((ROOT / "sonnx" / path).read_text("utf-8"))
        top = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
        assert {name for name in top if name and name.startswith("sonnx.rewriter.")} <= {"sonnx.rewriter.options"}


def test_no_other_command_loads_it(model):
    """One process for all of them, which shows what each one loads."""
    commands = ["check model.onnx", "rules", "explain Max", "theorems --list"]
    code = (
        "import sys; from sonnx.cli.main import run\n"
        "for command in sys.argv[1:]:\n"
        "  run(command.split())\n"
        "  found = [name for name in sys.modules if name.startswith('sonnx.rewriter.')]\n"
        "  assert not found, (command, found)"
    )
    done = subprocess.run([sys.executable, "-c", code, *commands], env={"PYTHONPATH": str(ROOT)}, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_theorems_that_are_named_exist():
    known = {theorem.id for theorem in registry.theorems()}
    named = {rewrite.description.theorem for rewrite in every_rewrite().values()} - {""}
    assert named
    assert named <= known


# ------------------------------------------------------------------ weights


def test_weights_are_copied_bit_by_bit():
    """Signalling NaNs, negative zeros, bfloat16 and types the executor does not know."""
    patterns = numpy.array([0x7F800001, 0xFFC00000, 0x80000000, 1], "<u4").tobytes()
    text = '<ir_version: 10, opset_import: ["" : 13]> g (float[4] a) => (float[4] y) { y = Max(a, w) }'
    made = onnx.parser.parse_model(text)
    made.graph.initializer.add(name="w", data_type=1, dims=[4], raw_data=patterns)
    found = onnx.ModelProto.FromString(fix(made.SerializeToString()).model_bytes())
    assert found.graph.initializer[0].raw_data == patterns


def test_standard_input_needs_a_name_for_the_output(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped = SimpleNamespace(buffer=io.BytesIO(model.read_bytes()))
    monkeypatch.setattr(sys, "stdin", piped)
    assert run(["fix", "-"]) == 2
    assert "needs --output" in capsys.readouterr().err
    assert run(["fix", "-", "-o", "fixed.onnx", "--bind", "N=2"]) == 0
    assert capsys.readouterr().out.startswith("standard input: ")
    assert Path("fixed.onnx").exists()
