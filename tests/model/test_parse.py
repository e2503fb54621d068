"""The reader: the content of a file arrives complete, and what is not a model is refused in one sentence."""

import os
import stat
import struct
import subprocess
import sys
from pathlib import Path

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sonnx.base.errors import Unreadable
from sonnx.model import from_protobuf, ir, reader, type_reader, wire_format
from sonnx.model.ir import NOT_STATED, Import, Type, UnknownField
from tests.support.cases import each_case

pb = reader.message_classes()
LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))
FOUND = sorted(Path(os.environ["SONNX_MODELS"]).rglob("*.onnx")) if "SONNX_MODELS" in os.environ else []


def proto(**graph):
    return pb.ModelProto(ir_version=8, graph=pb.GraphProto(**graph), opset_import=[helper.make_opsetid("", 13)])


def read(message):
    return reader.read(message.SerializeToString())


def tensor(message):
    [only] = read(proto(initializer=[message])).graph.initializers
    return only


def attribute(message):
    node = pb.NodeProto(op_type="X", attribute=[message])
    return read(proto(node=[node])).graph.nodes[0].attributes[0]


def type_of(message):
    return read(proto(input=[pb.ValueInfoProto(name="x", type=message)])).graph.inputs[0].type


def refusal(source):
    with pytest.raises(Unreadable) as caught:
        reader.read(source)
    return str(caught.value)


# ------------------------------------------------------------------ refused

GRAPH_ONLY = pb.GraphProto(node=[pb.NodeProto(op_type="Max", input=["a"])], name="g").SerializeToString()
TENSOR_ONLY = numpy_helper.from_array(numpy.zeros((2, 3), numpy.float32), "w").SerializeToString()


@each_case(
    ("data", "words"),
    [
        (b"", "the model is empty"),
        (b"\x08\x08", "the model has no graph"),
        (GRAPH_ONLY, "the model is a GraphProto, not a ModelProto"),
        (TENSOR_ONLY, "the model is a TensorProto, not a ModelProto"),
        (b"PK\x03\x04\x14\0\0\0", "the model is a ZIP archive (a PyTorch or Keras file may be one), not an ONNX model"),
        (b"<!DOCTYPE html>\n<html></html>", "the model is HTML or XML, not an ONNX model"),
        (b'{"irVersion": "8"}', "the model is JSON text, not an ONNX model in binary protobuf"),
        (pb.ModelProto(ir_version=8, opset_import=[helper.make_opsetid("", 14)]).SerializeToString(),
         "the model has no graph"),
        (b"ir_version: 8\ngraph {}\n", "the model is in the text form of protobuf, not in binary protobuf:"
         " google.protobuf.text_format reads it"),
        (b'<\n   ir_version: 8,\n   opset_import: ["" : 14]\n>\n', "the model is in the ONNX text form, not in"
         " binary protobuf: onnx.parser.parse_model reads it"),
        (b"any other words", "the model is text, not an ONNX model in binary protobuf"),
        (b"version https://git-lfs.github.com/spec/v1\n",
         "the model is a Git LFS pointer, not the model itself: run git lfs pull"),
        (b"\x89HDF\r\n\x1a\n", "the model is an HDF5 file (Keras), not an ONNX model"),
        (b"\x08\x08\x3a\x09abc",
         "the model is cut short or damaged: a field of 9 bytes reaches 6 bytes beyond the end of its ModelProto"
         " at byte 2"),
        (b"\x08", "the model ends inside a field at byte 1"),
        (b"\xff" * 20, "the model is not a protobuf message: a number of more than 10 bytes ends at byte 10"),
    ],
)  # fmt: skip
def test_bytes_that_are_not_a_model(data, words):
    assert refusal(data) == words


def test_every_truncation_is_refused_or_read():
    data = proto(node=[helper.make_node("Max", ["a", "b"], ["c"], name="n")]).SerializeToString()
    for length in range(1, len(data)):
        try:
            reader.read(data[:length])
        except Unreadable as error:
            assert str(error).startswith("the model ")


@each_case("levels", [34, 60, 3000])
def test_too_deep(levels):
    data = b""
    for _ in range(levels):
        data = field(1, field(5, field(6, data)))
    assert "is nested deeper than 100 levels at byte" in refusal(field(7, data))


def field(number, content):
    return wire_format._written(number << 3 | 2) + wire_format._written(len(content)) + content


def test_thirty_levels_are_read():
    graph = pb.GraphProto(name="leaf")
    for _ in range(30):
        part = pb.AttributeProto(name="b", g=graph, type="GRAPH")
        graph = pb.GraphProto(node=[pb.NodeProto(op_type="If", attribute=[part])])
    inner = read(pb.ModelProto(graph=graph)).graph
    while inner.nodes:
        inner = inner.nodes[0].attributes[0].value
    assert inner.name == "leaf"


def test_no_file(tmp_path):
    assert refusal(tmp_path / "no\n.onnx").endswith("no\\n.onnx' cannot be read: No such file or directory")
    assert "embedded null" in refusal("a\0b")


def test_folder(tmp_path):
    assert refusal(tmp_path) == f"{str(tmp_path)!r} is a folder"


def test_empty_file(tmp_path):
    path = tmp_path / "empty.onnx"
    path.touch()
    assert refusal(path) == f"{str(path)!r} is empty"


def test_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert "is not a regular file" in refusal(path)


def test_no_permission(tmp_path, monkeypatch):
    path = tmp_path / "secret.onnx"
    path.write_bytes(b"\x08\x08")
    path.chmod(stat.S_IWUSR)
    if os.access(path, os.R_OK):  # root may read everything
        monkeypatch.setattr(os, "open", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    assert refusal(path) == f"{str(path)!r} cannot be read: Permission denied"


# ------------------------------------------------------------------ files


def test_a_file_says_what_its_bytes_say(tmp_path):
    message = proto(initializer=[numpy_helper.from_array(numpy.arange(5000.0), "w")])
    path = tmp_path / "m.onnx"
    path.write_bytes(message.SerializeToString())
    from_file, from_bytes = reader.read(path), read(message)
    assert from_file == from_bytes == reader.read(str(path))
    data = from_file.graph.initializers[0].data
    assert data.readonly
    assert bytes(data) == bytes(from_bytes.graph.initializers[0].data) == numpy.arange(5000.0).tobytes()


# ------------------------------------------------------------------ models of others


@each_case("path", LIGHT + FOUND, ids=lambda path: path.name)
def test_a_real_model_arrives_complete(path):
    message, got = onnx.load(path, load_external_data=False), reader.read(path)
    assert len(LIGHT) > 5
    assert not got.unknown
    assert [one.name for one in got.graph.nodes] == [one.name for one in message.graph.node]
    assert [one.inputs for one in got.graph.nodes] == [tuple(one.input) for one in message.graph.node]
    assert [one.name for one in got.graph.value_info] == [one.name for one in message.graph.value_info]
    for expected, one in zip(message.graph.initializer, got.graph.initializers, strict=True):
        assert (one.name, one.dims) == (expected.name, tuple(expected.dims))
        if one.data is not None:
            assert bytes(one.data) == numpy_helper.to_array(expected).tobytes()
    for node, expected in zip(got.graph.nodes, message.graph.node, strict=True):
        for one, part in zip(node.attributes, expected.attribute, strict=True):
            assert (one.name, one.kind) == (part.name, pb.AttributeProto.AttributeType.Name(part.type).lower())
            if one.kind in ("int", "ints", "float", "floats"):
                value = helper.get_attribute_value(part)
                assert one.value == (tuple(value) if one.kind.endswith("s") else value)


# ------------------------------------------------------------------ names


def test_names_that_are_not_utf8():
    message = proto(
        node=[helper.make_node("MaxQQ", ["aQQ", "b"], ["cQQ"], name="nQQ")],
        input=[helper.make_tensor_value_info("aQQ", 1, ["sQQ"])],
        name="gQQ",
    )
    got = reader.read(message.SerializeToString().replace(b"QQ", b"\xff\xc3")).graph
    wild = "\udcff\udcc3"
    node = got.nodes[0]
    assert (node.name, node.operator, node.inputs, node.outputs) == (
        "n" + wild, "Max" + wild, ("a" + wild, "b"), ("c" + wild,),
    )  # fmt: skip
    assert got.inputs[0].name == "a" + wild
    assert got.inputs[0].type.shape == ("s" + wild,)
    assert got.name == "g" + wild
    assert node.name.encode("utf-8", "surrogateescape") == b"n\xff\xc3"


# ------------------------------------------------------------------ types


def test_dimensions():
    shape = ["N", -5, None, 0, ""]
    assert type_of(helper.make_tensor_type_proto(1, shape)).shape == ("N", -5, None, 0, None)
    assert type_of(helper.make_tensor_type_proto(1, None)).shape is None
    assert type_of(helper.make_tensor_type_proto(1, [])).shape == ()


def test_kinds_of_type():
    floats = helper.make_tensor_type_proto(1, [2])
    sparse = helper.make_sparse_tensor_type_proto(7, [2])
    assert type_of(floats) == Type("tensor", "float", (2,))
    assert type_of(sparse) == Type("sparse tensor", "int64", (2,), holds_sparse=True)
    optional = Type("optional", holds_sparse=True, inner=type_of(sparse))
    assert type_of(helper.make_sequence_type_proto(helper.make_optional_type_proto(sparse))) == Type(
        "sequence", holds_sparse=True, inner=optional
    )
    assert type_of(helper.make_optional_type_proto(floats)) == Type("optional", inner=type_of(floats))
    map_type = Type("map", holds_sparse=True, inner=type_of(sparse), key="int64")
    assert type_of(helper.make_map_type_proto(7, sparse)) == map_type
    assert str(type_of(helper.make_optional_type_proto(floats))) == "optional of float [2]"
    assert type_of(pb.TypeProto(opaque_type=pb.TypeProto.Opaque(name="o"))) == Type("opaque")
    assert type_of(pb.TypeProto(denotation="IMAGE")) == type_of(None) == NOT_STATED


@each_case(("number", "name"), [(0, None), (1, "float"), (99, "type 99"), (-3, "type -3")])
def test_element_types(number, name):
    assert type_of(pb.TypeProto(tensor_type=pb.TypeProto.Tensor(elem_type=number))).element == name
    assert tensor(pb.TensorProto(data_type=number)).element == name


def test_equal_types_are_one_object():
    values = [helper.make_tensor_value_info(name, 1, [2, 3]) for name in "ab"]
    first, second = read(proto(value_info=values)).graph.value_info
    assert first.type is second.type


@each_case("name", ["", "x", "n" * 127, "n" * 128, "n" * 300, "ü", "ü" * 64])
def test_values_of_every_length_of_name(name):
    types = [helper.make_tensor_type_proto(1, [2]), helper.make_tensor_type_proto(7, ["N"]), None] * 2
    values = [pb.ValueInfoProto(name=name, type=one, doc_string="d" * (index % 2)) for index, one in enumerate(types)]
    expected = [Type("tensor", "float", (2,)), Type("tensor", "int64", ("N",)), NOT_STATED] * 2
    assert [(one.name, one.type) for one in read(proto(value_info=values)).graph.value_info] == [
        (name, one) for one in expected
    ]


def test_objects_made_the_fast_way_are_ordinary():
    node = read(proto(node=[pb.NodeProto(op_type="Max", input=["a"])])).graph.nodes[0]
    assert node == ir.Node("", "Max", "", "", ("a",), (), ())
    assert hash(node) == hash(ir.Node("", "Max", "", "", ("a",), (), ()))
    assert type(node) is ir.Node
    with pytest.raises(AttributeError):
        node.name = "x"


def test_tables_know_every_type_and_kind():
    elements = {name for name in reader.element_names().values() if name}
    assert elements - {"string"} == set(ir.WIDTH)
    assert elements == set(ir.DATA_FIELD)
    fields = pb.AttributeProto.DESCRIPTOR.fields_by_name
    kinds = set(reader.attribute_kinds().values()) - {"undefined"}
    assert {from_protobuf.VALUE_FIELD.get(kind, kind) for kind in kinds} == set(fields) - {
        "name", "ref_attr_name", "doc_string", "type",
    }  # fmt: skip
    assert {one.name for one in pb.TypeProto.DESCRIPTOR.oneofs_by_name["value"].fields} == set(type_reader._TYPE_KIND)


# ------------------------------------------------------------------ tensors

ARRAYS = [number for number, name in reader.element_names().items() if name and name != "string"]


@each_case("number", ARRAYS, ids=reader.element_names().get)
@each_case("raw", [True, False], ids=["raw", "typed"])
@each_case("size", [0, 5, 4000])
def test_values_of_each_element_type(number, raw, size):
    name = reader.element_names()[number]
    source = numpy.arange(size) % 2 if name == "bool" else numpy.arange(size) % 3 - ("int" in name and name[0] == "i")
    array = source.astype(helper.tensor_dtype_to_np_dtype(number))
    if raw:
        message = numpy_helper.from_array(array, "w")
        message.data_type = number
    else:
        message = helper.make_tensor("w", number, [size], array)
    got = tensor(message)
    assert got.stored == ((("raw_data",) if raw else (ir.DATA_FIELD[name],)) if raw or size else ())
    assert got.misfit is None
    if got.stored:
        assert bytes(got.data) == numpy_helper.from_array(numpy_helper.to_array(message)).raw_data
        assert raw or got.count == -(-size * ir.WIDTH[name] // 1) / ir.WIDTH[name] // 1
    assert (got.count is None) == (raw or not size)


def test_a_signalling_nan_keeps_its_bits():
    bits = struct.pack("<I", 0x7F800001)
    data = wire_format._written(4 << 3 | 2) + b"\x04" + bits
    assert bytes(tensor(pb.TensorProto.FromString(b"\x10\x01" + data)).data) == bits


@each_case(
    ("name", "entries", "data", "misfit"),
    [
        ("int8", [1, 200, 300], b"\x01\xc8\x2c", (1, 200)),
        ("uint8", [-1, 256], b"\xff\x00", (0, -1)),
        ("bool", [1, 0, 2], b"\x01\x00\x02", (2, 2)),
        ("bool", [1, 256], b"\x01\x00", (1, 256)),
        ("bfloat16", [65536], b"\0\0", (0, 65536)),
        ("int4", [300], b"\x2c", (0, 300)),
        ("float6e2m3", [1, 64], b"\x01\x00", (1, 64)),
        ("uint16", [65535], b"\xff\xff", None),
    ],
)
def test_entries_an_element_type_cannot_hold(name, entries, data, misfit):
    message = pb.TensorProto(data_type=pb.TensorProto.DataType.Value(name.upper()), int32_data=entries)
    got = tensor(message)
    assert (bytes(got.data), got.misfit) == (data, misfit)


def test_a_field_of_another_element_type():
    got = tensor(pb.TensorProto(data_type=1, int64_data=[1]))
    assert (got.stored, got.data, got.count) == (("int64_data",), None, None)


def test_strings():
    got = tensor(helper.make_tensor("s", TensorProto.STRING, [2], [b"a", b"\xff"]))
    assert (got.strings, got.count, got.data, got.stored) == ((b"a", b"\xff"), 2, None, ("string_data",))


def external(**entries):
    entries = [pb.StringStringEntryProto(key=key, value=value) for key, value in entries.items()]
    return tensor(pb.TensorProto(data_type=1, data_location="EXTERNAL", external_data=entries))


def test_external_data():
    got = external(location="no-such-file", offset="4096", length="12", checksum="x")
    assert (got.data, got.stored) == (None, ("external_data",))
    assert got.external == ir.External(
        "no-such-file", 4096, 12,
        (("location", "no-such-file"), ("offset", "4096"), ("length", "12"), ("checksum", "x")),
    )  # fmt: skip


@each_case("text", ["", "abc", " 1", "1_0", "٣", "9" * 5000, "1.0"])
def test_an_offset_that_is_not_a_number(text):
    got = external(location="w", offset=text).external
    assert got.offset is None
    assert ("offset", text) in got.entries


def test_segment():
    assert tensor(pb.TensorProto(segment=pb.TensorProto.Segment(begin=0, end=1))).segment
    assert not tensor(pb.TensorProto()).segment


def test_sparse_initializer():
    sparse = pb.SparseTensorProto(values=pb.TensorProto(name="s"), dims=[3, 4])
    (got,) = read(proto(sparse_initializer=[sparse])).graph.sparse_initializers
    assert got == ir.SparseTensor("s", None, (3, 4))


# ------------------------------------------------------------------ attributes

T1 = pb.TensorProto(name="t", data_type=7, dims=[1], int64_data=[5])


@each_case(
    ("value", "kind", "expected"),
    [
        (3, "int", 3), (0.5, "float", 0.5), ("sö", "string", "sö"), (b"\xff", "string", "\udcff"),
        ([1, 2], "ints", (1, 2)), ([0.5], "floats", (0.5,)), (["a", "b"], "strings", ("a", "b")),
        (helper.make_tensor_type_proto(1, [2]), "type_proto", Type("tensor", "float", (2,))),
    ],
)  # fmt: skip
def test_attribute_values(value, kind, expected):
    got = attribute(helper.make_attribute("a", value))
    assert (got.name, got.kind, got.value) == ("a", kind, expected)
    assert got.fields == (from_protobuf.VALUE_FIELD.get(kind, kind),)


def test_attributes_with_messages():
    graph = pb.GraphProto(name="inner")
    assert bytes(attribute(helper.make_attribute("a", T1)).value.data) == struct.pack("<q", 5)
    assert [one.name for one in attribute(helper.make_attribute("a", [T1, T1])).value] == ["t", "t"]
    assert attribute(helper.make_attribute("a", graph)).value.name == "inner"
    assert [one.name for one in attribute(helper.make_attribute("a", [graph])).value] == ["inner"]
    sparse = pb.SparseTensorProto(dims=[7])
    assert attribute(pb.AttributeProto(name="a", type="SPARSE_TENSOR", sparse_tensor=sparse)).value.dims == (7,)


def test_attributes_without_or_with_many_fields():
    assert attribute(pb.AttributeProto(name="a", type="INT")).value == 0
    assert attribute(pb.AttributeProto(name="a", type="INTS")).value == ()
    assert attribute(pb.AttributeProto(name="a", type="TENSOR")).value is None
    both = attribute(pb.AttributeProto(name="a", type="INT", i=1, s=b"x", ints=[2]))
    assert (both.value, both.fields) == (1, ("i", "s", "ints"))
    untyped = attribute(pb.AttributeProto(name="a", i=1))
    assert (untyped.kind, untyped.value, untyped.fields) == ("undefined", None, ("i",))
    reference = attribute(pb.AttributeProto(name="a", type="INT", ref_attr_name="r"))
    assert (reference.value, reference.reference, reference.fields) == (None, "r", ())


# ------------------------------------------------------------------ the rest of a model


def test_everything_around_the_graph():
    node = pb.NodeProto(op_type="Max", overload="o", device_configurations=[pb.NodeDeviceConfigurationProto()])
    message = proto(node=[node], quantization_annotation=[pb.TensorAnnotation(tensor_name="x")])
    message.opset_import.append(pb.OperatorSetIdProto(domain="d"))
    message.training_info.append(pb.TrainingInfoProto(algorithm=pb.GraphProto(name="step")))
    message.training_info.append(pb.TrainingInfoProto())
    message.configuration.append(pb.DeviceConfigurationProto(name="c"))
    message.metadata_props.append(pb.StringStringEntryProto(key="k", value="v"))
    message.producer_name = "p"
    message.functions.append(
        pb.FunctionProto(
            name="f",
            domain="d",
            input=["x"],
            output=["y"],
            attribute=["a"],
            node=[node, node],
            attribute_proto=[helper.make_attribute("b", 1)],
            opset_import=[helper.make_opsetid("", 18)],
        )
    )
    got = read(message)
    assert got.imports == (Import("", 13), Import("d", None))
    assert [(place, graph.name) for place, graph in got.training] == [("training_info[0]/algorithm", "step")]
    assert (got.training_count, got.configurations, len(got.graph.annotations)) == (2, 4, 1)
    assert (got.metadata, got.producer, got.ir_version) == ((("k", "v"),), "p", 8)
    [function] = got.functions
    assert (function.name, function.domain, function.inputs, function.outputs) == ("f", "d", ("x",), ("y",))
    assert (function.attributes, function.defaults[0].value, function.imports) == (("a",), 1, (Import("", 18),))
    assert [one.overload for one in function.nodes] == ["o", "o"]


def test_nothing_stated_is_none():
    assert read(pb.ModelProto(graph=pb.GraphProto())).ir_version is None


# ------------------------------------------------------------------ content the format does not define

STRANGER = b"\xba\x3e\x01x"  # field 999


def test_no_unknown_fields():
    assert read(proto(node=[pb.NodeProto(op_type="Max")])).unknown == ()


def test_unknown_fields_and_their_places():
    part = pb.AttributeProto.FromString(b"\x0a\x01a" + STRANGER)
    inner = pb.AttributeProto(name="g", g=pb.GraphProto(node=[pb.NodeProto(attribute=[part])]))
    message = proto(node=[pb.NodeProto(), pb.NodeProto(attribute=[inner])])
    assert reader.read(message.SerializeToString() + STRANGER * 3).unknown == (
        UnknownField("model", 999),
        UnknownField("graph/node[1]/attribute[0]/g/node[0]/attribute[0]", 999),
    )


def test_an_unknown_attribute_kind():
    part = pb.AttributeProto.FromString(b"\x0a\x01a" + b"\xa0\x01\x63")  # type = 99
    got = read(proto(node=[pb.NodeProto(attribute=[part])]))
    assert got.unknown == (UnknownField("graph/node[0]/attribute[0]", 20, "type"),)
    assert got.graph.nodes[0].attributes[0].kind == "undefined"


# ------------------------------------------------------------------ walls


def run(code):
    folder = str(Path(reader.__file__).parent.parent)
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": folder},
    )
    return result.returncode, result.stdout.strip() + result.stderr[-300:]


READ = f"import sonnx.model.reader; sonnx.model.reader.read({str(LIGHT[0])!r})\n"
WALL = "import sys; print(sorted({'numpy', 'onnx', 'z3', 'ml_dtypes', 'onnx.checker'} & set(sys.modules)))"


def test_reading_loads_neither_numpy_nor_the_onnx_package():
    assert run(READ + WALL) == (0, "[]")


def test_the_test_of_the_wall_can_fail():
    assert "numpy" in run(READ + "import onnx\n" + WALL)[1]


WITHOUT_C = "import os; os.environ['PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION'] = 'python'\n"


@each_case(
    "first",
    ["import onnx\n" + READ, READ + "import onnx\n", READ + "import onnx.helper\n", WITHOUT_C + READ + "import onnx\n"],
)
def test_onnx_shares_the_message_classes(first):
    code = first + (
        "import onnx, onnx.checker, pickle\n"
        "assert onnx.ModelProto is sonnx.model.reader.message_classes().ModelProto\n"
        "model = onnx.load(" + repr(str(LIGHT[0])) + "); onnx.checker.check_model(model)\n"
        "from onnx import onnx_ml_pb2\n"
        "assert onnx_ml_pb2.TypeProto.Tensor is sonnx.model.reader.message_classes().TypeProto.Tensor\n"
        "pickle.loads(pickle.dumps(model)); print('same')"
    )
    assert run(code) == (0, "same")
