"""Pairs of models that look alike and are not the same function: none of them is called equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import sonnx
from sonnx.equivalence.result import Answer
from sonnx.equivalence.terms import movements
from sonnx.equivalence.terms.store import empty_store
from sonnx.executor.executor import ModelRunner
from sonnx.language.evaluator import TensorFacts

FLOAT = TensorProto.FLOAT
EQUAL = {Answer.IDENTICAL, Answer.ROUNDING}
Node = onnx.NodeProto


def value(name: str, shape: Sequence[int | str] | None = None, element: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element, shape)


def model(
    nodes: Sequence[Node],
    constants: dict[str, object] | None = None,
    *,
    inputs: Sequence[onnx.ValueInfoProto] = (value("x", [2, 3]),),
    outputs: Sequence[str] = ("y",),
    version: int = 17,
    functions: Sequence[onnx.FunctionProto] = (),
    **versions: int,
) -> onnx.ModelProto:
    """A model; `versions` are those of further domains."""
    tensors = [numpy_helper.from_array(np.asarray(each), name) for name, each in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=name) for name in outputs], tensors)
    imports = [helper.make_opsetid(domain, number) for domain, number in {"": version, **versions}.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=9, functions=functions)


def answer(first: onnx.ModelProto, second: onnx.ModelProto, **options: object) -> Answer:
    return sonnx.equivalent(first, second, **options).result.answer


def loop(inner: Node, **options: object) -> onnx.ModelProto:
    """A loop whose number of iterations is computed, with a node from s to s2 in its body."""
    body = helper.make_graph(
        [inner, helper.make_node("Identity", ["c"], ["c2"])], "body",
        [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("s", [2, 3])],
        [value("c2", [], TensorProto.BOOL), value("s2", [2, 3])],
    )  # fmt: skip
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
        helper.make_node("Cast", ["total"], ["times"], to=TensorProto.INT64),
        helper.make_node("Loop", ["times", "", "x"], ["z"], body=body),
        helper.make_node("Relu", ["z"], ["y"]),
    ]
    return model(nodes, **options)


def function(operator: str) -> onnx.FunctionProto:
    body = [helper.make_node(operator, ["a"], ["b"])]
    return helper.make_function("local", "f", ["a"], ["b"], body, [helper.make_opsetid("", 17)])


def same_by_another_file(made: onnx.ModelProto) -> onnx.ModelProto:
    """The model with other bytes."""
    other = onnx.ModelProto()
    other.CopyFrom(made)
    other.producer_name = "another"
    return other


def test_functions_that_graphs_inside_nodes_call() -> None:
    inner = helper.make_node("f", ["s"], ["s2"], domain="local")
    models = [loop(inner, functions=[function(operator)], local=1) for operator in ("Abs", "Neg")]
    assert answer(*models) not in EQUAL


def test_operator_sets_of_nodes_in_graphs() -> None:
    other = helper.make_node("F", ["s"], ["s2"], domain="other")
    assert answer(*(loop(other, other=number) for number in (1, 2))) not in EQUAL
    softmax = helper.make_node("Softmax", ["s"], ["s2"], axis=0)
    assert answer(*(loop(softmax, version=number) for number in (11, 12))) == Answer.IDENTICAL
    assert answer(*(loop(softmax, version=number) for number in (12, 13))) not in EQUAL
    alike = loop(helper.make_node("Abs", ["s"], ["s2"]))
    assert answer(alike, same_by_another_file(alike)) == Answer.IDENTICAL


def test_dropout_that_may_train_equals_nothing() -> None:
    constants = {"half": np.float32(0.5), "none": np.float32(0), "yes": np.array(True), "no": np.array(False)}
    node = helper.make_node("Dropout", ["x", "half", "yes"], ["y"])
    for version, inputs, same in (
        (17, ["x", "half", "yes"], False), (17, ["x", "half", "no"], True), (17, ["x", "none", "yes"], True),
        (17, ["x", "", "yes"], False), (6, ["x"], False), (7, ["x"], True),
    ):  # fmt: skip
        for shape in ([2, 3], ["N", 3]):
            node = helper.make_node("Dropout", inputs, ["y"])
            made = model([node], constants, inputs=[value("x", shape)], version=version)
            assert (answer(made, same_by_another_file(made), runs=0) == Answer.IDENTICAL) is same
    asked = model(
        [helper.make_node("Dropout", ["x", "half", "t"], ["y"])], constants,
        inputs=[value("x", [2, 3]), value("t", [], TensorProto.BOOL)],
    )  # fmt: skip
    found = sonnx.equivalent(asked, same_by_another_file(asked)).result
    assert found.answer == Answer.IDENTICAL
    assert found.assumptions == ("Dropout whose training mode is computed does not train",)
    trains = loop(helper.make_node("Dropout", ["s", "half", "yes"], ["s2"]), constants=constants)
    assert answer(trains, same_by_another_file(trains), runs=0) == Answer.UNDECIDED


def test_one_file_with_other_pairs_of_names() -> None:
    pair = [value("a", [2]), value("b", [2])]
    difference = model([helper.make_node("Sub", ["a", "b"], ["y"])], inputs=pair)
    assert answer(difference, difference, renamed={"a": "b", "b": "a"}) == Answer.DIFFERENT
    assert answer(difference, difference) == Answer.IDENTICAL
    two = model(
        [helper.make_node("Relu", ["a"], ["p"]), helper.make_node("Neg", ["a"], ["q"])],
        inputs=pair[:1], outputs=["p", "q"],
    )  # fmt: skip
    assert answer(two, two, renamed={"p": "q", "q": "p"}) == Answer.DIFFERENT


def test_a_defect_of_this_tool_is_not_a_run_without_values(monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(*_: object) -> None:
        raise TypeError("a defect")

    first, second = (
        model([helper.make_node(operator, ["a"], ["y"])], inputs=[value("a", [2])]) for operator in ("Relu", "Neg")
    )
    monkeypatch.setattr(ModelRunner, "run", defect)
    with pytest.raises(TypeError, match="a defect"):
        answer(first, second)


def test_two_inputs_are_not_one() -> None:
    first = model([helper.make_node("Relu", ["a"], ["y"])], inputs=[value("a", [2]), value("b", [2])])
    second = model([helper.make_node("Relu", ["z"], ["y"])], inputs=[value("z", [2])])
    with pytest.raises(sonnx.BadInput, match="--map pairs two inputs of the first model with 'z'"):
        answer(first, second, renamed={"a": "z", "b": "z"})


def test_sequences_of_other_types() -> None:
    def identity(element: int) -> onnx.ModelProto:
        listed = [helper.make_tensor_sequence_value_info(name, element, None) for name in "sy"]
        graph = helper.make_graph([helper.make_node("Identity", ["s"], ["y"])], "g", listed[:1], listed[1:])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    with pytest.raises(sonnx.BadInput, match="sequence of float without shape in the first model"):
        answer(identity(FLOAT), identity(TensorProto.INT64))


def test_constants_that_overflow_together() -> None:
    """Their sum over the reals is 0, and no exact value of the first model is finite."""
    names = ["x", "u", "v", "w", "y"]
    nodes = [
        helper.make_node(operator, [first, "c"], [second])
        for operator, first, second in zip(("Add", "Add", "Sub", "Sub"), names, names[1:], strict=False)
    ]
    first = model(nodes, {"c": np.float32(2.0**127)})
    assert answer(first, model([helper.make_node("Identity", ["x"], ["y"])])) not in EQUAL


def test_what_may_jump_is_named() -> None:
    """Every operator but those known as continuous, where an operand is not identical."""

    def rounded_down(second: bool) -> onnx.ModelProto:
        factors = "ba" if second else "ab"
        nodes = [
            helper.make_node("Mul", ["x", factors[0]], ["u"]),
            helper.make_node("Mul", ["u", factors[1]], ["v"]),
            helper.make_node("Floor", ["v"], ["y"]),
        ]
        return model(nodes, {"a": np.float32(0.3), "b": np.float32(0.7)})

    found = sonnx.equivalent(rounded_down(False), rounded_down(True)).result
    assert found.answer == Answer.ROUNDING
    assert found.decisions == ("Floor: y",)


def test_maps_beyond_32_bits() -> None:
    """Elements of sources with more elements together than an int32 can number."""
    store = empty_store(None)
    sources = [store.input(str(index), TensorFacts("float", (1 << 30,))) for index in range(4)]
    made = movements.moved(store, sources, np.array([0, 3 << 30], np.int64), (2,))
    assert made.places is not None
    assert made.places.tolist() == [0, 1 << 30]
    every = np.arange(4, dtype=np.int64) << 30
    assert movements.moved(store, sources, every, (4,)).places.tolist() == every.tolist()  # type: ignore[union-attr]


def test_other_types_of_outputs_are_refused() -> None:
    made = [
        model([helper.make_node("Cast", ["x"], ["y"], to=element)], outputs=[])
        for element in (FLOAT, TensorProto.DOUBLE)
    ]
    for each, element in zip(made, (FLOAT, TensorProto.DOUBLE), strict=True):
        each.graph.output.append(value("y", element=element))
    with pytest.raises(sonnx.BadInput, match="the output 'y' is float without shape in the first model and double"):
        answer(*made)
    made[1].graph.output[0].ClearField("type")
    found = sonnx.equivalent(*made).result
    assert (found.answer, found.bits) == (Answer.UNDECIDED, "y has the type float and double")


def test_operator_sets_that_are_not_known_are_assumed_to_change_nothing() -> None:
    made = [model([helper.make_node("Relu", ["x"], ["y"])], version=version) for version in (17, 99)]
    found = sonnx.equivalent(*made).result
    assert found.assumptions == ("operator set 99, which is newer than the known ones, changes no operator",)


def test_operators_outside_the_profile_are_equal_on_equal_inputs_and_attributes() -> None:
    def custom(attribute: int, *more: Node, version: int = 1) -> onnx.ModelProto:
        node = helper.make_node("F", ["x"], ["z"], domain="own", k=attribute)
        return model([node, *more, helper.make_node("Identity", ["z"], ["y"])], own=version)

    found = sonnx.equivalent(custom(1), custom(1, helper.make_node("Relu", ["x"], ["unused"]))).result
    assert found.answer == Answer.IDENTICAL
    assert any("own.F" in each for each in found.assumptions)
    for other in (custom(2), custom(1, version=2), model([helper.make_node("F", ["x"], ["y"])])):
        assert answer(custom(1), other) == Answer.UNDECIDED


def test_a_box_is_read_for_files_with_the_same_content() -> None:
    same = model([helper.make_node("Relu", ["x"], ["y"])])
    with pytest.raises((sonnx.BadInput, sonnx.UsageError), match="'q'"):
        answer(same, same, box=["q=[0,1]"])
    assert sonnx.equivalent(same, same, box=["x=[0,1]"]).result.outputs[0].difference is not None


def _chosen(constants: Sequence[str], choose: Sequence[Node], **values: object) -> onnx.ModelProto:
    """x with constants added one after the other gives v, from which `choose` makes y."""
    names = ["x", *(f"v{index}" for index in range(1, len(constants))), "v"]
    nodes = [
        helper.make_node("Add", [names[index], constant], [names[index + 1]])
        for index, constant in enumerate(constants)
    ]
    numbers = {"p": np.float32(1000), "q": np.float32(-1000), "zero": np.float32(0), "one": np.array([1])}
    return model([*nodes, *choose], numbers | values)


CHOICES: dict[str, list[Node]] = {
    "Where by Less": [
        helper.make_node("Less", ["v", "zero"], ["c"]), helper.make_node("Where", ["c", "p", "q"], ["y"]),
    ],
    "Where by Not of Less": [
        helper.make_node("Less", ["v", "zero"], ["l"]), helper.make_node("Not", ["l"], ["c"]),
        helper.make_node("Where", ["c", "p", "q"], ["y"]),
    ],
    "Where by Cast": [
        helper.make_node("Cast", ["v"], ["c"], to=TensorProto.BOOL), helper.make_node("Where", ["c", "p", "q"], ["y"]),
    ],
    "GatherElements by indices of TopK": [
        helper.make_node("TopK", ["v", "one"], ["t", "i"]), helper.make_node("GatherElements", ["x", "i"], ["y"]),
    ],
    "indices of MaxPool": [
        helper.make_node("Unsqueeze", ["v", "one"], ["u"]),
        helper.make_node("MaxPool", ["u"], ["m", "i"], kernel_shape=[2]),
        helper.make_node("Cast", ["i"], ["y"], to=FLOAT),
    ],
    "ArgMax": [helper.make_node("ArgMax", ["v"], ["i"]), helper.make_node("Cast", ["i"], ["y"], to=FLOAT)],
    "Floor": [helper.make_node("Floor", ["v"], ["y"])],
    "QuantizeLinear of a fine quantum": [
        helper.make_node("QuantizeLinear", ["v", "fine"], ["i"]),
        helper.make_node("DequantizeLinear", ["i", "p"], ["y"]),
    ],
}  # fmt: skip
SUM = np.float32(0.3) + np.float32(0.1)
EXACT_SUM = np.float32(0.25) + np.float32(0.5)


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_across_rounded_constants_is_not_equal(name: str) -> None:
    """A constant that was folded with a rounding puts the operands apart: there are numbers between them, at which one
    model chooses otherwise than the other one, however little the constants differ.
    """
    rounded = {"a": np.float32(0.3), "b": np.float32(0.1), "ab": SUM, "fine": np.float32(1e-6)}
    assert float(np.float32(0.3)) + float(np.float32(0.1)) != float(SUM)
    pair = [_chosen(constants, CHOICES[name], **rounded) for constants in (["a", "b"], ["ab"])]
    assert answer(*pair) not in EQUAL
    unchosen = [
        _chosen(constants, [helper.make_node("Relu", ["v"], ["y"])], **rounded) for constants in (["a", "b"], ["ab"])
    ]
    assert answer(*unchosen) == Answer.ROUNDING


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_of_equal_functions_is_named(name: str) -> None:
    """Over the reals the operands are equal, so that the choice is; how implementations choose is said to be open."""
    exact = {"a": np.float32(0.25), "b": np.float32(0.5), "ab": EXACT_SUM, "fine": np.float32(1e-6)}
    compared = sonnx.equivalent(
        *(_chosen(constants, CHOICES[name], **exact) for constants in (["a", "b"], ["ab"]))
    ).result
    assert compared.answer == Answer.ROUNDING
    assert compared.decisions
