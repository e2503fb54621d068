"""What a model says of itself is kept, and each new node names the one it comes from."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

from sonnx import fix
from sonnx.model.descriptions import SOURCE_NODE
from tests.support.cases import each_case


def described() -> ModelProto:
    """A model with a description of every kind, whose nodes are replaced, inlined, or stay."""
    x, y = (
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2]),
    )
    branch = helper.make_graph(
        [helper.make_node("Neg", ["s"], ["t"])], "b", [], [helper.make_tensor_value_info("t", TensorProto.FLOAT, None)]
    )
    nodes = [
        helper.make_node("square", ["x"], ["s"], name="call", domain="my"),
        helper.make_node("If", ["c"], ["p"], then_branch=branch, else_branch=branch),
        helper.make_node("Greater", ["p", "w"], ["g"], name="above"),
        helper.make_node("Where", ["g", "p", "w"], ["q"], name="choice"),
        helper.make_node("Softmax", ["q"], ["y"], name="last"),
    ]
    constants = [
        numpy_helper.from_array(numpy_helper.np.ones((2, 2), "f"), "w"),
        numpy_helper.from_array(numpy_helper.np.array(True), "c"),
    ]
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    body = [helper.make_node("Mul", ["a", "a"], ["b"])]
    function = helper.make_function("my", "square", ["a"], ["b"], body, imports)
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=imports, functions=[function], ir_version=10)
    model.producer_name, model.producer_version, model.domain, model.model_version = "p", "1.2", "org.x", 7
    for each in parts(model):
        each.doc_string = f"about {getattr(each, 'name', 'model')}"
        each.metadata_props.add(key="unit", value="m")
    first = model.graph.input[0].type
    first.denotation, first.tensor_type.shape.dim[0].denotation = "TENSOR", "DATA_BATCH"
    annotation = model.graph.quantization_annotation.add(tensor_name="w")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    return model


def parts(model: ModelProto) -> Iterator[object]:
    """Everything with documentation and metadata, the graphs inside nodes excepted."""
    graph = model.graph
    yield from (model, graph, *graph.node, *graph.input, *graph.output, *graph.initializer)


def rewritten() -> ModelProto:
    return ModelProto.FromString(fix(described().SerializeToString(), bind={"N": 2}).model_bytes())


def test_the_model_and_its_values_keep_their_descriptions():
    before, after = described(), rewritten()
    for field in ("producer_name", "producer_version", "domain", "model_version", "doc_string", "metadata_props"):
        assert getattr(after, field) == getattr(before, field)
    assert after.graph.doc_string == "about g"
    assert after.graph.metadata_props == before.graph.metadata_props
    assert after.graph.quantization_annotation == before.graph.quantization_annotation
    for field in ("input", "output"):
        for one, other in zip(getattr(after.graph, field), getattr(before.graph, field), strict=True):
            assert (one.doc_string, one.metadata_props) == (other.doc_string, other.metadata_props)
    [w] = [each for each in after.graph.initializer if each.name == "w"]
    assert w.doc_string == "about w"
    type_ = after.graph.input[0].type
    assert (type_.denotation, type_.tensor_type.shape.dim[0].denotation) == ("TENSOR", "DATA_BATCH")


def sources(model: ModelProto) -> dict[str, str]:
    return {
        node.output[0]: next((each.value for each in node.metadata_props if each.key == SOURCE_NODE), "")
        for node in model.graph.node
    }


def test_each_new_node_names_its_source():
    found = sources(rewritten())
    [inlined] = found.keys() - {"s", "g", "q", "y"}
    assert found == {"s": "call", inlined: "graph/node[1]", "g": "above", "q": "", "y": ""}


@each_case("output, text", [("y", "about last"), ("g", "about above"), ("s", "about call")])
def test_the_node_that_gives_a_value_keeps_its_documentation(output, text):
    assert {node.output[0]: node.doc_string for node in rewritten().graph.node}[output] == text


def test_a_second_fix_adds_nothing():
    once = rewritten().SerializeToString(deterministic=True)
    assert fix(once).model_bytes() == once
    assert onnx.load_model_from_string(once) == rewritten()
