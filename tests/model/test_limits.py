"""Every limit, on both sides of it; the table is that of the documentation."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from itertools import islice, product
from pathlib import Path

import numpy as np
import onnx
import pytest
from google.protobuf.message import EncodeError
from onnx import TensorProto, helper

import sonnx
from sonnx.base.errors import Unreadable
from sonnx.checker.verdicts import Verdict
from sonnx.cli.main import run
from sonnx.graph.environment import numbers, whole_numbers
from sonnx.language.evaluator import FUEL, MAX_PARAMETER_ELEMENTS, Evaluator, Unknown
from sonnx.language.steps import OutOfFuel
from sonnx.model import limits, reader, wire_format, writer
from sonnx.model.ir import Tensor
from sonnx.model.limits import BY_NAME, LIMITS
from sonnx.model.reader import read
from sonnx.model.writer import write
from sonnx.profile import toml_files
from tests.support.cases import each_case
from tests.support.invariants import field, nested, one_sentence

ROOT = Path(__file__).parent.parent.parent


def model(**parts: object) -> onnx.ModelProto:
    graph = helper.make_graph(parts.get("nodes", []), "g", parts.get("inputs", []), [], parts.get("tensors", []))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def structure(size: int) -> bytes:
    made = model()
    made.doc_string = "x" * (size - made.ByteSize() - 3)
    made.doc_string += "x" * (size - made.ByteSize())
    return made.SerializeToString()


def depth(levels: int) -> bytes:
    return nested(levels - 1)


def name(length: int) -> bytes:
    return model(inputs=[helper.make_tensor_value_info("x" * length, 1, [2])]).SerializeToString()


def nodes(number: int) -> bytes:
    """Half of them in a graph inside another one."""
    inner = field(5, field(1, b"b") + field(6, b"\x0a\x00" * (number // 2)) + b"\xa0\x01\x05")
    return b"\x08\x0a" + field(7, field(1, inner) + b"\x0a\x00" * (number - number // 2 - 1))


def values(number: int) -> bytes:
    inputs, initializers = number // 2, number - number // 2
    return b"\x08\x0a" + field(7, b"\x5a\x00" * inputs + b"\x2a\x00" * initializers)


def attributes(number: int) -> bytes:
    return b"\x08\x0a" + field(7, field(1, b"\x2a\x00" * number))


def dimensions(number: int) -> bytes:
    return model(inputs=[helper.make_tensor_value_info("x", 1, [1] * number)]).SerializeToString()


def tensor_dimensions(number: int) -> bytes:
    return model(tensors=[TensorProto(name="w", data_type=1, dims=[1] * number)]).SerializeToString()


def entries(number: int) -> bytes:
    metadata, functions = number // 2, number - number // 2
    return b"\x08\x0a" + b"\x72\x00" * metadata + b"\xca\x01\x00" * functions + field(7, field(2, b"g"))


def external(number: int) -> bytes:
    """As many files; two tensors stand in the first."""
    tensors = [TensorProto(name=f"w{i}", data_type=1, data_location=1) for i in range(number + 1)]
    for index, tensor in enumerate(tensors):
        tensor.external_data.add(key="location", value=f"f{index % number}")
    return model(tensors=tensors).SerializeToString()


def graphs(number: int) -> bytes:
    """Half of them in a list."""
    one = field(5, field(1, b"b") + field(6, b"") + b"\xa0\x01\x05")
    many = field(5, field(1, b"b") + field(11, b"") * (number - number // 2) + b"\xa0\x01\x0a")
    return b"\x08\x0a" + field(7, field(1, many) + field(1, one) * (number // 2))


def density(number: int) -> bytes:
    """As many nodes for 1,000 bytes, and more nodes than are exempt."""
    parts = number * (limits.EXEMPT_PARTS // number + 1)
    one = 1000 // number - 2
    made = b"\x08\x0a" + field(7, (b"\x0a" + bytes([one]) + field(6, b"d" * (one - 2))) * parts)
    return made + field(6, b"d" * (parts * 1000 // number - len(made) - 3))


MAKERS: dict[str, Callable[[int], bytes]] = {
    made.__name__: made
    for made in (structure, depth, name, nodes, graphs, values, density, attributes, dimensions, entries, external)
}  # fmt: skip
SMALL = {"structure": 2000, "name": 700, "depth": 5}
OF_FILES = [limit for limit in LIMITS if limit.beyond == "the file is unreadable"]
ALL = pytest.mark.parametrize("limit", OF_FILES, ids=lambda limit: limit.name)


def test_every_limit_is_tested() -> None:
    assert {*MAKERS, "steps", "findings", "elements", "arrays"} == BY_NAME.keys() == limits.DEFAULT_LIMITS.keys()


@ALL
def test_both_sides(limit: limits.SizeLimit, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As many as allowed are read, one more is refused, and the option the sentence names allows it."""
    allowed = SMALL.get(limit.name, 20)
    path = tmp_path / "m.onnx"
    path.write_bytes(MAKERS[limit.name](allowed))
    assert run(["check", str(path), "--limit", f"{limit.name}={allowed}"]) in (0, 1, 3)
    path.write_bytes(MAKERS[limit.name](allowed + 1))
    capsys.readouterr()
    assert run(["check", str(path), "--limit", f"{limit.name}={allowed}"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert one_sentence(said.err.strip())
    assert f"has {allowed + 1} {limit.what}, more than the {allowed} allowed" in said.err
    [option] = re.findall(r"--limit \S+=\d+", said.err)
    assert run(["check", str(path), *option.split()]) in (0, 1, 3)


LARGE = pytest.mark.campaign
"""Models of 256 MB take more than a gigabyte of memory."""


@pytest.mark.parametrize(
    "limit",
    [pytest.param(each, marks=LARGE if each.default > 10**6 else (), id=each.name) for each in OF_FILES],
)
def test_both_sides_of_the_default(limit: limits.SizeLimit) -> None:
    dense = {**limits.DEFAULT_LIMITS, **({} if limit.name == "density" else {"density": 1000})}
    assert read(MAKERS[limit.name](limit.default), limits=dense)
    with pytest.raises(Unreadable):
        read(MAKERS[limit.name](limit.default + 1), limits=dense)


SHORTEST = ["".join(each) for each in islice(product(map(chr, range(0x21, 0x7F)), repeat=3), limits.EXEMPT_PARTS + 1)]
"""So many values have names of three letters at least."""


@pytest.mark.parametrize(
    "part",
    [
        field(7, field(5, b"\x08\0" + b"\x10\1" + field(8, b"abc"))),
        field(7, field(5, b"\x10\6" + field(5, b"\1") + field(8, b"abc"))),
        field(14, field(1, b"abc")),
        field(8, field(1, b"abc") + b"\x10\1"),
    ],
    ids=["empty tensors", "scalars", "metadata", "operator sets"],
)
def test_the_smallest_parts_are_not_too_dense(part: bytes) -> None:
    """A reader joins the graphs of a file."""
    for number in (limits.EXEMPT_PARTS - 1, *([limits.EXEMPT_PARTS + 1] if part[0] == 0x3A else [])):
        assert read(
            b"\x08\x0a"
            + field(7, field(2, b"g"))
            + b"".join(part.replace(b"abc", name.encode()) for name in SHORTEST[:number])
        )


def test_the_smallest_nodes_are_not_too_dense() -> None:
    """No name of an operator of the profile has fewer than three letters."""
    names = SHORTEST
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in ("x", names[0])]
    graph = helper.make_graph([helper.make_node("Sin", ["x"], [name]) for name in names], "g", ends[:1], ends[1:])
    assert len(read(helper.make_model(graph).SerializeToString()).graph.nodes) > limits.EXEMPT_PARTS


def test_the_dimensions_of_tensors_count_too() -> None:
    assert read(tensor_dimensions(1000))
    with pytest.raises(Unreadable, match="has 1001 dimensions of one tensor or type"):
        read(tensor_dimensions(1001))


def test_prose_may_be_long() -> None:
    made = model()
    made.doc_string = made.graph.doc_string = "x" * 100_000
    made.metadata_props.add(key="k", value="v" * 100_000)
    assert read(made.SerializeToString())


@pytest.mark.parametrize("command", ["check", "run", "prove"])
def test_every_command_has_limits(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(nodes(4))
    assert run([command, str(path), "--limit", "nodes=3"]) == 2
    assert "has 4 nodes in all its graphs and functions" in capsys.readouterr().err


def test_children_have_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.onnx").write_bytes(nodes(4))
    assert run(["check", str(tmp_path), "--limit", "nodes=3", "--format", "json"]) == 2
    assert "has 4 nodes" in json.loads(capsys.readouterr().out)["unreadable"][0]["reason"]


@pytest.mark.parametrize(
    "text", ["nodes", "=3", "nods=3", "nodes=-1", "nodes=", "nodes=1e3", "depth=33", "name=10", f"nodes={10**13}"]
)
def test_wrong_limits_are_usage_errors(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "m.onnx", "--limit", text]) == 2
    assert one_sentence(capsys.readouterr().err.strip())


@ALL
def test_both_ends_of_what_a_limit_may_be(limit: limits.SizeLimit) -> None:
    least, largest = 512 if limit.name == "name" else 0, 32 if limit.name == "depth" else 2**31 - 1
    for number in (least, largest):
        assert limits.parse_limits([f"{limit.name}={number}"])[limit.name] == number
    for number in (least - 1, largest + 1):
        with pytest.raises(sonnx.UsageError):
            limits.parse_limits([f"{limit.name}={number}"])


def test_a_model_longer_than_protobuf_parses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real number, 2 GiB, is more than a test should have; what is compared with it is the same."""
    monkeypatch.setattr(wire_format, "MAX_MESSAGE_BYTES", 2000)
    assert read(structure(1999))
    with pytest.raises(Unreadable, match="has 2000 bytes without its raw_data, more than the 2000 protobuf parses"):
        read(structure(2000))


def test_the_fuel_of_one_evaluation() -> None:
    facts = Evaluator()
    facts.spend(FUEL)
    with pytest.raises(OutOfFuel):
        facts.spend(1)


@each_case(("count", "open_"), [(1000, False), (1001, True)])
def test_a_rule_over_a_long_list_is_undecided_where_the_fuel_ends(
    count: int, open_: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All inputs and the output have one element type; the rule about that passes, or says that it was not decided.

    Their shapes differ, because equal items of a list are visited once.
    """
    monkeypatch.setattr(Evaluator.__init__, "__defaults__", (1000,))
    *given, made_value = [helper.make_tensor_value_info(f"x{extent}", 1, [extent]) for extent in range(count)]
    node = helper.make_node("Max", [each.name for each in given], [made_value.name])
    made = model(nodes=[node], inputs=given)
    made.graph.output.append(made_value)
    report = sonnx.check(made.SerializeToString())
    rule = "no-implicit-conversion"
    assert [each.verdict for each in report.findings if each.rule == rule] == ([Verdict.UNDECIDED] if open_ else [])
    passed = [each for each in report.counts if each.rule == rule and each.verdict is Verdict.PASS]
    assert bool(passed) is not open_


@each_case(("read_numbers", "most"), [(numbers, 1 << 18), (whole_numbers, MAX_PARAMETER_ELEMENTS)])
def test_both_sides_of_the_numbers_that_rules_read(read_numbers: Callable[[Tensor], object], most: int) -> None:
    def tensor(count: int) -> Tensor:
        made = helper.make_tensor("w", TensorProto.INT32, [count], bytes(4 * count), raw=True)
        return read(model(tensors=[made]).SerializeToString()).graph.initializers[0]

    assert read_numbers(tensor(most)) == (0,) * most
    assert isinstance(read_numbers(tensor(most + 1)), Unknown)


@pytest.mark.parametrize("file_format", [toml_files.TOML, toml_files.JSON], ids=lambda each: each.name)
def test_both_sides_of_the_size_of_a_project_file(
    file_format: toml_files.FileFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = file_format._replace(max_bytes=100)
    path = tmp_path / "file"
    for size in (100, 101):
        path.write_text(("" if file_format is toml_files.TOML else "{}").ljust(size))
        if size <= small.max_bytes:
            assert toml_files.read_project_file(path, dict, lambda *_: True, small)
        else:
            with pytest.raises(sonnx.UsageError, match=f"is not a {file_format.name} file"):
                toml_files.read_project_file(path, dict, lambda *_: True, small)


def test_the_documentation_has_the_table() -> None:
    text = (ROOT / "docs/threat-model.md").read_text()
    rows = [tuple(cell.strip() for cell in line.strip("|\n").split("|")) for line in text.splitlines() if "|" in line]
    stated = [row for row in rows if row[0].strip("`") in BY_NAME]
    assert stated == [(f"`{each.name}`", each.what, f"{each.default:,}", each.protects, each.beyond) for each in LIMITS]


@pytest.mark.parametrize("name", ["nodes", "graphs", "values", "entries"])
def test_counted_before_protobuf_reads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protobuf takes up to a hundred times the bytes of a structure, so these limits come first."""

    def parsed(*_: object) -> None:
        raise AssertionError("protobuf reads a file that is over a limit")

    monkeypatch.setattr(reader, "_parsed", parsed)
    monkeypatch.setattr(wire_format, "MAX_BYTES_COUNTED_LATER", 1000)
    with pytest.raises(Unreadable, match=f"--limit {name}=2001 allows them"):
        read(MAKERS[name](2001), limits={**limits.DEFAULT_LIMITS, name: 2000})


@pytest.mark.parametrize("padded", [0, 1, 3])
def test_padded_numbers_are_counted_before_protobuf_reads(padded: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protobuf also reads a tag or a length that is written with more bytes than it needs (0x80 is a further zero)."""

    def varint(value: int) -> bytes:
        groups = [value >> shift & 127 for shift in range(0, max(1, value.bit_length()), 7)]
        groups += [0] * padded
        return bytes([each | 0x80 for each in groups[:-1]] + groups[-1:])

    graph = (varint(1 << 3 | 2) + varint(0)) * 2001
    written = varint(7 << 3 | 2) + varint(len(graph)) + graph
    monkeypatch.setattr(wire_format, "MAX_BYTES_COUNTED_LATER", 1000)
    allowed = {**limits.DEFAULT_LIMITS, "density": 1000}
    assert len(read(written, limits=allowed).graph.nodes) == 2001
    monkeypatch.setattr(reader, "_parsed", None)
    with pytest.raises(Unreadable, match="--limit nodes=2001 allows them"):
        read(written, limits={**allowed, "nodes": 2000})


def gathers(number: int) -> bytes:
    """Nodes of different types, each of which reads a constant of 100 indices with the rule of ScatterND."""
    index = helper.make_tensor("i", TensorProto.INT64, [100, 1], [1] * 100)
    inputs = [helper.make_tensor_value_info(f"x{i}", 1, [i + 5]) for i in range(number)]
    update = helper.make_tensor_value_info("u", 1, [100])
    made = [helper.make_node("ScatterND", [f"x{i}", "i", "u"], [f"y{i}"]) for i in range(number)]
    return model(nodes=made, inputs=[*inputs, update], tensors=[index]).SerializeToString()


def test_both_sides_of_the_steps() -> None:
    """Within the limit the rule is decided for every node; beyond it nodes are undecided, none is passed over."""
    rule = "ScatterND.indices-in-axes"

    def results(allowed: int) -> dict[Verdict, int]:
        report = sonnx.check(gathers(20), limits={**limits.DEFAULT_LIMITS, "steps": allowed})
        said = [each.actual for each in report.findings if each.rule == rule]
        assert all(f"more than {allowed} steps of evaluation; --limit steps=" in each for each in said)
        return {each.verdict: each.number for each in report.counts if each.rule == rule}

    assert results(100_000) == {Verdict.PASS: 20}
    fewer = results(1000)
    assert fewer[Verdict.UNDECIDED] > 0 and fewer.get(Verdict.PASS, 0) < 20 and sum(fewer.values()) == 20


@each_case(("allowed", "listed"), [(20, 20), (19, 19)])
def test_both_sides_of_the_findings(allowed: int, listed: int) -> None:
    report = sonnx.check(nodes(20), limits={**limits.DEFAULT_LIMITS, "findings": allowed})
    named = [each for each in report.findings if each.rule == "operator-named"]
    assert len(named) == listed
    assert [each.number for each in report.counts if (each.rule, each.verdict) == ("operator-named", "fail")] == [20]
    note = "of 20 results fail of operator-named the first 19 are listed; --limit findings=20 lists all"
    assert (note in report.notes) is (allowed < 20)


@pytest.mark.parametrize(("size", "taken"), [(1000, True), (1001, False)])
def test_both_sides_of_the_arrays(
    size: int, taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A compressed file is refused by its directory, before anything is unpacked; a stored one is as long as it is."""
    path = tmp_path / "m.onnx"
    path.write_bytes(model(inputs=[helper.make_tensor_value_info("x", 3, [size - 128])]).SerializeToString())
    values = {"x": np.zeros(size - 128, np.int8)}  # a header of numpy takes 128 bytes
    np.savez(tmp_path / "stored.npz", **values)
    np.savez_compressed(tmp_path / "small.npz", **values)
    assert (tmp_path / "small.npz").stat().st_size < 300
    if not taken:
        monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("unpacked"))
    arguments = ["run", str(path), "--unchecked", "--limit", "arrays=1000", "--input"]
    code = run([*arguments, str(tmp_path / "small.npz")])
    said = capsys.readouterr().err
    assert (code == 0) is taken, said
    assert taken or f"has 1001 {BY_NAME['arrays'].what}, more than the 1000 allowed; --limit arrays=1001" in said
    monkeypatch.undo()
    assert run([*arguments, str(tmp_path / "stored.npz")]) == 0


# ------------------------------------------------------------------ files that change, files elsewhere


def test_a_small_file_may_change_while_it_is_used(tmp_path: Path) -> None:
    tensor = helper.make_tensor("w", 1, [1000], b"\1" * 4000, raw=True)
    path = tmp_path / "m.onnx"
    path.write_bytes(model(tensors=[tensor]).SerializeToString())
    data = read(path).graph.initializers[0].data
    os.truncate(path, 10)
    assert bytes(data) == b"\1" * 4000


def test_a_large_file_that_is_shortened_costs_its_child_only(tmp_path: Path) -> None:
    """The file is mapped; where it ends now, the system ends the process that looks there."""
    code = f"""
import os, sys
from sonnx.model.reader import read
data = read({str(tmp_path / "m.onnx")!r}).graph.initializers[0].data
os.truncate({str(tmp_path / "m.onnx")!r}, 10)
bytes(data)
"""
    tensor = helper.make_tensor(
        "w", 1, [reader.MAX_BYTES_READ_AT_ONCE // 4], b"\1" * reader.MAX_BYTES_READ_AT_ONCE, raw=True
    )
    (tmp_path / "m.onnx").write_bytes(model(tensors=[tensor]).SerializeToString())
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True)
    assert done.returncode == -7


def test_external_data_are_not_opened_by_a_check(tmp_path: Path) -> None:
    """Opening a pipe would block; the check asks for sizes only."""
    os.mkfifo(tmp_path / "f0")
    path = tmp_path / "m.onnx"
    path.write_bytes(external(3))
    before = sorted(tmp_path.iterdir())
    assert sonnx.check(path)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("location", ["../secret", "link", "/etc/hostname", "folder/../../secret", "", ".", "folder"])
def test_external_data_are_in_the_folder_of_the_model(location: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"\1" * 8)
    folder = tmp_path / "models"
    (folder / "folder").mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path / "secret")
    made = model(nodes=[helper.make_node("Max", ["w"], ["y"])])
    tensor = made.graph.initializer.add(name="w", data_type=1, data_location=1, dims=[2])
    tensor.external_data.add(key="location", value=location)
    made.graph.output.append(helper.make_tensor_value_info("y", 1, [2]))
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(sonnx.NotExecutable, match=r"is not in the folder|cannot be read|is a folder"):
        sonnx.run(folder / "m.onnx", {}, unchecked=True)
    (tmp_path / "secret").replace(folder / "inside")
    made.graph.initializer[0].external_data[0].value = "inside"
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    assert sonnx.run(folder / "m.onnx", {}, unchecked=True)["y"].size == 2


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by a check nor by its children, beside the report that was asked for."""
    for number in range(2):
        (tmp_path / f"m{number}.onnx").write_bytes(model().SerializeToString())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    run(["check", ".", "--output", "report.txt"])
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["m0.onnx", "m1.onnx", "report.txt"]


def test_a_model_that_protobuf_cannot_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protobuf gives one error for a message that is too large and for a lack of memory."""

    def refuse(message: object, **_: object) -> bytes:
        raise EncodeError("Failed to serialize proto")

    read_model = read(model().SerializeToString())
    monkeypatch.setattr(type(reader.message_classes().ModelProto()), "SerializeToString", refuse)
    with pytest.raises(MemoryError):
        write(read_model)
    monkeypatch.setattr(writer, "LARGEST_WEIGHTS", -1)
    with pytest.raises(ValueError, match="more than two gigabytes"):
        write(read_model)


def test_graphs_that_are_too_deep_for_protobuf() -> None:
    """The bytes of a small model can be read as those of a tensor, too."""
    nested = field(1, field(4, b"Relu"))
    for _ in range(33):
        nested = field(1, field(4, b"If") + field(5, field(1, b"then_branch") + field(6, nested) + b"\xa0\x01\x05"))
    with pytest.raises(Unreadable, match="is nested deeper than 100 levels"):
        read(b"\x08\x08" + field(7, nested) + field(8, field(1, b"") + b"\x10\x0d"))
