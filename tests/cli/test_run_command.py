"""`sonnx run`: files in, files out, comparison, sentences, exit codes."""

import json
import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import ml_dtypes
import numpy
import pytest
from jsonschema import Draft202012Validator
from onnx import TensorProto, helper, numpy_helper

from sonnx.base.progress import Progress
from sonnx.cli.main import run
from sonnx.executor import tensor_files
from sonnx.executor.distance import first_difference
from sonnx.executor.tensor_files import read_file
from tests.support.editions import NEWEST

ROOT = Path(__file__).parent.parent.parent

HALF, FLOAT = TensorProto.BFLOAT16, TensorProto.FLOAT
A = numpy.array([[1, numpy.nan, 0], [0, -1, 5]]).astype(ml_dtypes.bfloat16)
B = numpy.array([0, -0.0, -0.0]).astype(ml_dtypes.bfloat16)
Y = numpy.array([[1, numpy.nan, 0], [0, -0.0, 5]]).astype(ml_dtypes.bfloat16)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a model of Max, one of Identity, and inputs in every format."""
    monkeypatch.chdir(tmp_path)
    save("max.onnx", "Max", {"a": (HALF, [2, 3]), "b": (HALF, [3])}, (HALF, [2, 3]))
    save("identity.onnx", "Identity", {"a": (FLOAT, [2])}, (FLOAT, [2]))
    numpy.save("a.npy", A)
    numpy.savez("b.npz", b=B.view("V2"))
    numpy.savez("both.npz", a=A.view("V2"), b=B.view("V2"))
    numpy.save("float.npy", numpy.zeros(2, "f4"))
    numpy.save("objects.npy", numpy.array([{}], object), allow_pickle=True)
    Path("text.npy").write_text("hello")
    Path("short.npy").write_bytes(Path("a.npy").read_bytes()[:-3])
    Path("broken.npz").write_bytes(b"PK\3\4 no archive")
    Path("broken.pb").write_bytes(b"\xff\xff\xff")
    Path("empty.pb").write_bytes(numpy_helper.from_array(numpy.zeros(2, "f4")).SerializeToString()[:0] + b"\x10\x00")
    data = tmp_path / "test_data_set_0"
    data.mkdir()
    for name, values in (("input_0", A), ("input_1", B), ("output_0", Y)):
        (data / f"{name}.pb").write_bytes(numpy_helper.from_array(values).SerializeToString())
    return tmp_path


def save(path, operator, inputs, output):
    node = helper.make_node(operator, list(inputs), ["y"])
    declared = [helper.make_tensor_value_info(name, *each) for name, each in inputs.items()]
    graph = helper.make_graph([node], "g", declared, [helper.make_tensor_value_info("y", *output)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    Path(path).write_bytes(model.SerializeToString())


def command(text):
    return run(["run", *text.split()])


@pytest.mark.parametrize(
    "inputs",
    [
        "--input a=a.npy --input b=b.npz",
        "--input both.npz",
        "--input a=a.npy --input b.npz",
        "--input a=test_data_set_0/input_0.pb --input b=test_data_set_0/input_1.pb",
    ],
)
@pytest.mark.parametrize("form", ["npz", "pb"])
def test_files_in_and_out(inputs, form, capsys):
    assert command(f"max.onnx {inputs} --output out/values --format {form}") == 0
    [written] = Path("out/values").iterdir()
    [(name, values)] = read_file(written).items()
    assert (name, written.name) == ("y", {"npz": "outputs.npz", "pb": "output_0.pb"}[form])
    assert first_difference(values.view(ml_dtypes.bfloat16), Y) is None
    assert capsys.readouterr().out == f"max.onnx: conforms (edition {NEWEST})\nwrote out/values/{written.name}\n"
    assert [entry.name for entry in Path("out").iterdir()] == ["values"]


def test_equal_values_are_equal_files():
    for name in ("one", "two"):
        command(f"max.onnx --input both.npz --output {name}")
    assert Path("one/outputs.npz").read_bytes() == Path("two/outputs.npz").read_bytes()
    assert zipfile.ZipFile("one/outputs.npz").testzip() is None


def test_values_are_printed(capsys):
    assert command("max.onnx --input both.npz") == 0
    assert capsys.readouterr().out.splitlines()[1] == "y: bfloat16 [2, 3]"


def test_unchecked_says_so(capsys):
    assert command("identity.onnx --input a=float.npy") == 1
    said = capsys.readouterr()
    assert "operator-in-profile" in said.out
    assert "--unchecked" in said.err
    assert command("identity.onnx --input a=float.npy --unchecked") == 0
    assert capsys.readouterr().out.startswith("identity.onnx: UNCHECKED")


# ------------------------------------------------------------------ comparison


def test_nothing_runs_where_steps_do_not_suffice_to_decide_a_rule(capsys):
    """A wrong element type is not known then; the kernels rely on it."""
    save("log.onnx", "Log", {"a": (TensorProto.INT64, [2])}, (TensorProto.INT64, [2]))
    arguments = ["run", "log.onnx", "--random", "--unchecked", "--limit", "steps=0"]
    assert run(arguments) == 3
    assert "Log.X-type cannot be decided: the model takes more than 0 steps" in capsys.readouterr().err


def test_expected_values_agree(capsys):
    assert command("max.onnx --test-data test_data_set_0") == 0
    assert capsys.readouterr().out.endswith("y: the same 6 values\n")


@pytest.mark.parametrize(
    ("bits", "code", "sentence"),
    [
        ({(1, 1): 0x0000}, 1, "y: differs at [1, 1]: -0.0 (0x8000), expected 0.0 (0x0000); 1 of 6"),
        ({(0, 1): 0xFFC1}, 0, "y: the same 6 values"),
        ({(1, 0): 1, (1, 2): 2}, 1, "y: differs at [1, 0]: 0.0 (0x0000), expected 9.183549615799121e-41 (0x0001)"),
    ],
)
def test_expected_values_differ(bits, code, sentence, capsys):
    wanted = Y.copy()
    for index, pattern in bits.items():
        wanted.view("u2")[index] = pattern
    expect(wanted)
    assert command("max.onnx --test-data test_data_set_0") == code
    assert sentence in capsys.readouterr().out


def test_bits_of_nan_are_compared_on_request(capsys):
    wanted = Y.copy()
    wanted.view("u2")[0, 1] = 0xFFC1
    expect(wanted)
    assert command("max.onnx --test-data test_data_set_0 --bits") == 1
    assert "y: differs at [0, 1]: nan (0x7fc0), expected nan (0xffc1)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [(Y.T, "in its shape: [2, 3], expected [3, 2]"), (Y.astype("f4"), "in its type: bfloat16, expected float")],
)
def test_expected_type_and_shape(wanted, sentence, capsys):
    expect(wanted)
    assert command("max.onnx --test-data test_data_set_0") == 1
    assert sentence in capsys.readouterr().out


def expect(values):
    Path("test_data_set_0/output_0.pb").write_bytes(numpy_helper.from_array(values).SerializeToString())


def test_differences_of_rank_0_and_of_integers():
    one, two = numpy.array(1, "f4"), numpy.array(2, "f4")
    assert first_difference(one, two).place == "at []"
    assert first_difference(numpy.array([1, 2], "i8"), numpy.array([1, 3], "i8")).wanted == "3"
    assert first_difference(numpy.zeros(0), numpy.zeros(0)) is None


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ("max.onnx", 2, "missing inputs: 'a', 'b'; the model takes 'a' bfloat16 [2, 3], 'b' bfloat16 [3]"),
        ("max.onnx --input both.npz --input b=b.npz", 2, "the input 'b' is given twice"),
        ("max.onnx --input a=a.npy --input b=float.npy", 2, "'b' is of type float; the model declares bfloat16"),
        ("max.onnx --input a=none.npy", 2, "the file 'none.npy' does not exist"),
        ("max.onnx --input a=.", 2, "'.' is not a .npy, .npz or .pb file"),
        ("max.onnx --input a.npy", 2, "--input takes NAME=FILE or FILE.npz, not 'a.npy'"),
        ("max.onnx --input c=both.npz", 2, "'both.npz' has no array 'c'; it has 'a', 'b'"),
        ("max.onnx --input a=text.npy", 2, "'text.npy' is not a .npy file"),
        ("max.onnx --input a=short.npy", 2, "'short.npy' is not a .npy file"),
        ("max.onnx --input a=objects.npy", 2, "'objects.npy' is not a .npy file that sonnx reads: Object arrays"),
        ("max.onnx --input a=broken.npz", 2, "'broken.npz' is not a .npz file"),
        ("max.onnx --input a=broken.pb", 2, "'broken.pb' does not hold a tensor"),
        ("max.onnx --input a=empty.pb", 2, "'empty.pb' does not hold a tensor"),
        ("max.onnx --test-data nowhere", 2, "the folder 'nowhere' does not exist"),
        ("max.onnx --test-data . --input both.npz", 2, "the folder '.' has no output_*.pb"),
        ("max.onnx --edition 2099", 2, "unknown edition '2099'"),
        ("none.onnx --input both.npz", 2, "none.onnx"),
        ("a.npy --input both.npz", 2, "'a.npy' is a NumPy array, not an ONNX model"),
    ],
)
def test_bad_input(arguments, code, sentence, capsys):
    before = sorted(Path().rglob("*"))
    assert command(f"{arguments} --output out") == code
    said = capsys.readouterr()
    assert said.err.startswith("sonnx: ")
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert sorted(Path().rglob("*")) == before


def test_an_error_condition_names_its_rule(capsys):
    save("argmax.onnx", "ArgMax", {"a": (FLOAT, [0])}, (TensorProto.INT64, [1]))
    numpy.save("nothing.npy", numpy.zeros(0, "f4"))
    assert command("argmax.onnx --input a=nothing.npy --unchecked --output out") == 1
    assert "ArgMax.axis-not-empty" in capsys.readouterr().err
    assert not Path("out").exists()


def test_a_folder_that_cannot_be_written_leaves_nothing(capsys):
    Path("out").write_text("a file")
    assert command("max.onnx --input both.npz --output out") == 2
    assert capsys.readouterr().err == "sonnx: out: Not a directory\n"
    assert Path("out").read_text() == "a file"
    assert not [entry for entry in Path().iterdir() if entry.name.startswith(".")]


def test_names_that_an_archive_cannot_hold(capsys):
    node = helper.make_node("Max", ["a"], ["../y"])
    values = [helper.make_tensor_value_info(name, FLOAT, [2]) for name in ("a", "../y")]
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    Path("up.onnx").write_bytes(model.SerializeToString())
    assert command("up.onnx --input a=float.npy --output out") == 2
    assert "the value '../y' cannot be an entry of an .npz file; write --format pb" in capsys.readouterr().err
    assert command("up.onnx --input a=float.npy --output out --format pb") == 0
    assert read_file(Path("out/output_0.pb")).keys() == {"../y"}


def test_test_data_by_name_and_by_number(capsys):
    for path in Path("test_data_set_0").glob("input_*.pb"):
        path.unlink()
    for name, values in (("b", B), ("a", A)):
        path = Path("test_data_set_0", {"b": "input_0.pb", "a": "input_1.pb"}[name])
        path.write_bytes(numpy_helper.from_array(values, name).SerializeToString())
    assert command("max.onnx --test-data test_data_set_0") == 0
    Path("test_data_set_0/input_7.pb").write_bytes(numpy_helper.from_array(B).SerializeToString())
    assert command("max.onnx --test-data test_data_set_0") == 2
    assert "'test_data_set_0/input_7.pb' does not belong to any of the 2 inputs of the model" in capsys.readouterr().err


def test_elements_of_the_exact_path_are_reported(capsys):
    save("pow.onnx", "Pow", {"a": (FLOAT, [2]), "b": (FLOAT, [2])}, (FLOAT, [2]))
    numpy.save("a.npy", numpy.array([1 + 2.0**-12, 2], "f4"))  # its square lies in the middle of two numbers
    numpy.save("b.npy", numpy.array([2, 0.5], "f4"))
    assert command("pow.onnx --input a=a.npy --input b=b.npy") == 0
    said = capsys.readouterr().out
    assert "all values are exact to the last bit (1 of 2 took the slow exact path: Pow 1)" in said
    assert command("pow.onnx --input a=a.npy --input b=b.npy --report json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["approximated"]["operators"] == [{"operator": "Pow", "elements": 2, "exact_path": 1}]
    assert data["outputs"] == [{"name": "y", "type": "float", "shape": [2]}]
    assert data["checked"]


def test_a_comparison_as_json(folder, capsys):
    schema = json.loads((ROOT / "sonnx" / "report" / "run.schema.json").read_text("utf-8"))
    same = {"output": "y", "elements": 6, "different": 0, "first": None}
    wrong = next(Path("test_data_set_0").glob("output_*.pb"))
    for different in (0, 6):
        assert command("max.onnx --test-data test_data_set_0 --report json") == (1 if different else 0)
        document = json.loads(capsys.readouterr().out)
        Draft202012Validator(schema).validate(document)
        [compared] = document["compared"]
        assert compared == same if not different else (compared["different"], bool(compared["first"])) == (6, True)
        wrong.write_bytes(numpy_helper.from_array(numpy.full_like(A + B, 99)).SerializeToString())


# ------------------------------------------------------------------ threads and progress

THREADED = """
    import re, sys
    from pathlib import Path
    from sonnx.cli.main import run
    sys.exit(run(["run", "max.onnx", "--input", "a=a.npy", "--input", "b.npz",
                  "--output", sys.argv[1], "--jobs", sys.argv[1]])
             or print(re.search("Threads:.*", Path("/proc/self/status").read_text())[0], file=sys.stderr))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="it counts threads where Linux does")
def test_jobs_are_threads_and_no_value_depends_on_them():
    found = {}
    for number in "12":
        order = [sys.executable, "-c", textwrap.dedent(THREADED), number]
        made = subprocess.run(order, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
        assert made.returncode == 0, made.stderr
        found[number] = made.stderr
    assert found["1"].split() == ["Threads:", "1"]
    assert Path("1/outputs.npz").read_bytes() == Path("2/outputs.npz").read_bytes()


@pytest.mark.parametrize("number", ["0", "-1", "two", "1025"])
def test_jobs_that_are_no_number_of_threads(number, capsys):
    with pytest.raises(SystemExit, match="2"):
        run(["run", "max.onnx", "--jobs", number])
    assert "a number of threads from 1 to 1024" in capsys.readouterr().err


def test_jobs_come_too_late_where_numpy_is_loaded(capsys):
    assert run(["run", "max.onnx", "--jobs", "2"]) == 2
    assert "numpy has its threads already" in capsys.readouterr().err


def test_each_node_is_a_step_of_the_progress(monkeypatch, capsys):
    steps = []
    monkeypatch.setattr(Progress, "__call__", lambda self, step: steps.append((self.task, step)))
    assert run(["run", "max.onnx", "--input", "a=a.npy", "--input", "b.npz"]) == 0
    assert steps == [("running max.onnx", "node 1 of 1: Max")]


def test_an_interrupt_leaves_nothing(monkeypatch):
    monkeypatch.setattr(tensor_files.np.lib.format, "write_array", interrupted)
    before = {*Path().iterdir()}
    with pytest.raises(KeyboardInterrupt):
        run(["run", "max.onnx", "--input", "a=a.npy", "--input", "b.npz", "--output", "out"])
    assert {*Path().iterdir()} == before


def interrupted(*_, **__):
    raise KeyboardInterrupt
