"""Arrays of every element type in files, and packed elements as the onnx package writes and reads them."""

import os
import zipfile
from urllib.parse import unquote

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import sonnx
from sonnx.base.errors import BadInput
from sonnx.bounds.result import _entry_name
from sonnx.cli.main import run
from sonnx.executor import tensor_files
from sonnx.executor.distance import first_difference
from sonnx.executor.probes import probe
from sonnx.executor.tensor_files import as_declared, read_file, write_tensors
from sonnx.model.ir import Type, ValueInfo
from sonnx.model.reader import read_tensor
from sonnx.model.writer import element_number
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import ELEMENTS, TEXT, patterns
from tests.support.cases import each_case
from tests.support.models import graph

each_type = each_case("element", [*ELEMENTS])
STRING = TensorProto.STRING


def some(element, shape=(3, 5)):
    """Every kind of element, NaN and infinities included."""
    made = probe([ValueInfo("x", Type("tensor", element, shape))], 5, 3)["x"]
    return (
        numpy.array([text.rstrip("\0") for text in made.ravel()], TEXT).reshape(shape) if made.dtype == TEXT else made
    )


@each_type
@each_case("form", ["npz", "pb"])
@each_case("shape", [(3, 5), (), (0, 2)])
def test_what_is_written_is_read(tmp_path, element, form, shape):
    values = some(element, shape)
    [name] = write_tensors(tmp_path / "out", {"x": values}, form)
    [(_, found)] = read_file(tmp_path / "out" / name).items()
    found = as_declared(found, element)
    if element == "string":
        found = found.astype(TEXT)
    assert first_difference(found, values, bits=True) is None


@each_type
def test_the_onnx_package_reads_what_is_written(tmp_path, element):
    values = some(element)
    [name] = write_tensors(tmp_path / "out", {"x": values}, "pb")
    found = numpy_helper.to_array(onnx.load_tensor(tmp_path / "out" / name))
    assert first_difference(numpy.asarray(found), values, bits=True) is None


@each_type
@each_case("raw", [True, False])
def test_what_the_onnx_package_writes_is_read(element, raw):
    values = some(element, (7,))
    if element == "string":
        tensor = helper.make_tensor("x", STRING, [7], [text.encode() for text in values])
    elif raw:
        tensor = numpy_helper.from_array(values)
    elif values.dtype.kind == "c":
        return
    else:
        numbers = (
            patterns(values).tolist()
            if element.startswith(("float1", "bfloat", "float4", "float6", "float8"))
            else None
        )
        tensor = TensorProto(name="x", data_type=element_number(element), dims=[7])
        if numbers is None or values.dtype.itemsize > 2:
            tensor = helper.make_tensor("x", element_number(element), [7], values)
        elif element in ("float4e2m1",):
            numbers.append(0)
            tensor.int32_data.extend(low | high << 4 for low, high in zip(numbers[::2], numbers[1::2], strict=True))
        else:
            tensor.int32_data.extend(numbers)
    assert first_difference(decode(read_tensor(memoryview(tensor.SerializeToString())), None), values) is None


def test_strings_on_the_command_line(tmp_path, monkeypatch, capsys):
    """A conforming model of strings, from files of numpy to files of numpy."""
    monkeypatch.chdir(tmp_path)
    node = helper.make_node("Concat", ["a", "b"], ["y"], axis=0)
    model = graph([node], {"a": (STRING, [2]), "b": (STRING, [1])}, {"y": (STRING, [3])})
    onnx.save(model, "concat.onnx")
    numpy.save("a.npy", numpy.array(["é", "it's"]))
    numpy.save("b.npy", numpy.array([""]))
    assert run(["run", "concat.onnx", "--input", "a=a.npy", "--input", "b=b.npy", "--output", "out"]) == 0
    [(_, found)] = read_file(tmp_path / "out" / "outputs.npz").items()
    assert found.tolist() == ["é", "it's", ""]
    assert "conforms (edition " in capsys.readouterr().out
    given = {"a": numpy.array(["x", "y"], TEXT), "b": numpy.array(["z"])}
    assert sonnx.run(model.SerializeToString(), given)["y"].tolist() == ["x", "y", "z"]
    given["a"] = numpy.array(["x", 7], TEXT)
    with pytest.raises(BadInput, match="declared as strings and has an element of type int"):
        sonnx.run(model.SerializeToString(), given)


def test_a_string_that_numpy_would_shorten(tmp_path):
    with pytest.raises(BadInput, match="ends in a zero"):
        write_tensors(tmp_path / "out", {"x": numpy.array(["a\0"], TEXT)}, "npz")
    assert write_tensors(tmp_path / "out", {"x": numpy.array(["a\0"], TEXT)}, "pb") == ["output_0.pb"]


def test_a_tensor_with_its_elements_twice_is_refused(tmp_path):
    tensor = TensorProto(dims=[1], data_type=TensorProto.FLOAT, float_data=[2.0], raw_data=b"\0\0\x80?")
    (tmp_path / "x.pb").write_bytes(tensor.SerializeToString())
    with pytest.raises(BadInput, match="elements more than once, in float_data and raw_data"):
        read_file(tmp_path / "x.pb")


@each_case("version", [(1, 0), (2, 0)])
def test_an_array_that_declares_more_than_its_file_takes_no_memory(tmp_path, version):
    path = tmp_path / f"{version[0]}.npy"
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (2 * 10**12, 4)}
        write = (
            numpy.lib.format.write_array_header_1_0 if version == (1, 0) else numpy.lib.format.write_array_header_2_0
        )
        write(file, header)
    with pytest.raises(BadInput, match="declares 32000000000000 bytes of elements and has 0"):
        read_file(path)


def test_what_is_not_a_file_is_named(tmp_path):
    (tmp_path / "folder.npy").mkdir()
    os.mkfifo(tmp_path / "pipe.npy")
    for name, wrong in (("folder", "is a folder"), ("pipe", "is not a regular file"), ("none", "does not exist")):
        with pytest.raises(BadInput, match=wrong):
            read_file(tmp_path / f"{name}.npy")


OUTSIDE = ("../a", "/a", "a/../../b", "..", "a\\b", "c:a", "")


@each_case("name", OUTSIDE)
def test_an_entry_outside_the_folder_is_neither_read_nor_written(name, tmp_path_factory):
    folder = tmp_path_factory.mktemp("entries")
    with pytest.raises(BadInput, match="cannot be an entry"):
        tensor_files.write_npz(folder / "a.npz", {name: numpy.zeros(1, numpy.float32)})
    assert not [*folder.iterdir()]
    with zipfile.ZipFile(folder / "b.npz", "w") as archive:
        archive.writestr(zipfile.ZipInfo(f"{name}.npy" if name else "/.npy"), tensor_files.npy("x", numpy.zeros(1)))
    if name != "..":  # "...npy" is a name in the folder
        with pytest.raises(BadInput, match="would be unpacked elsewhere"):
            tensor_files.read_file(folder / "b.npz")


def test_bounds_of_any_name_stay_in_their_folder():
    for name in ("../../a", "/conv/out", "a:0", "plain"):
        entry = _entry_name(name)
        assert tensor_files.can_be_an_entry(entry), entry
        assert unquote(entry) == name
