"""Transpose without Transpose: every permutation, and random graphs in which Transposes move, against onnx's evaluator.

The numbers are small integers, so that sums are exact in any order; NaN, an infinity and -0 are among those only moved.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations
from math import prod
from random import Random

import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from sonnx.equivalence.result import Answer
from sonnx.rewriter.fix import FixResult, fix
from sonnx.rewriter.rewrites.transpositions import cheapest_exchanges, cuts
from tests.support.cases import each_case, examples, spread

Array = np.ndarray
ORDERS = [(shape, order) for shape in [(2, 3, 1, 4), (3, 2, 2, 3)] for order in permutations(range(4))]


def model(nodes: list[onnx.NodeProto], shape: tuple[int, ...], constants: dict[str, Array], output: str) -> bytes:
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("a", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


def values(data: bytes, given: Array) -> Array:
    found: Array = ReferenceEvaluator(onnx.ModelProto.FromString(data)).run(None, {"a": given})[0]
    return found


def operators(data: bytes) -> list[str]:
    return [node.op_type for node in onnx.ModelProto.FromString(data).graph.node]


@each_case(("shape", "order"), spread(ORDERS, 8))
def test_every_permutation_moves_each_bit(shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    source = model([helper.make_node("Transpose", ["a"], ["y"], perm=order)], shape, {}, "y")
    given = np.arange(prod(shape), dtype=np.float32)
    given[:3] = np.nan, -0.0, np.inf
    made = fix(source, samples=1).model_bytes()
    found = values(made, given.reshape(shape))
    assert found.tobytes() == np.ascontiguousarray(given.reshape(shape).transpose(order)).tobytes()
    assert "Transpose" not in operators(made) or order == (0, 1, 2, 3)


def test_an_axis_is_cut_twice_where_that_needs_fewer_parts() -> None:
    assert cuts(16) == (4, 4)
    assert cuts(7) == (7,)
    assert prod(cuts(2304)) == 2304
    source = model([helper.make_node("Transpose", ["a"], ["y"], perm=[1, 0])], (16, 31), {}, "y")
    assert operators(fix(source, samples=1).model_bytes()).count("Slice") == 8


def test_blocks_are_exchanged_at_the_least_cost() -> None:
    """Of three reversed axes the short ones are cut: two exchanges, not three."""
    assert len(cheapest_exchanges((0, 1, 2), (2, 1, 0), ((0, 2), (1, 3), (2, 50)))) == 2


def test_a_permutation_with_too_many_parts_stays() -> None:
    source = model([helper.make_node("Transpose", ["a"], ["y"], perm=[1, 0])], (257, 263), {}, "y")
    assert operators(fix(source, samples=0).model_bytes()) == ["Transpose"]


def drawn(seed: int) -> tuple[bytes, tuple[int, ...]]:
    """A chain of Transposes, operators of single elements, and now and then a product behind a Reshape."""
    random = Random(seed)
    first = shape = tuple(random.choice([1, 2, 3]) for _ in range(3))
    nodes, constants, value = list[onnx.NodeProto](), dict[str, Array](), "a"
    known = [("a", shape)]
    for index in range(random.randint(4, 9)):
        name, kind = f"v{index}", random.choice(["turn", "turn", "one", "constant", "other", "product"])
        if kind == "turn" or (kind == "product" and index < 3):
            order = random.sample(range(len(shape)), len(shape))
            nodes.append(helper.make_node("Transpose", [value], [name], perm=order))
            shape = tuple(shape[axis] for axis in order)
        elif kind == "product":
            rows, columns = shape[0], prod(shape[1:])
            constants |= {f"s{index}": np.array([rows, columns], np.int64)}
            constants |= {f"w{index}": np.array([[random.randint(-2, 2)] * 2 for _ in range(columns)], np.float32)}
            nodes.append(helper.make_node("Reshape", [value, f"s{index}"], [f"r{index}"]))
            nodes.append(helper.make_node("MatMul", [f"r{index}", f"w{index}"], [name]))
            shape = (rows, 2)
        elif kind == "one":
            nodes.append(helper.make_node(random.choice(["Relu", "Neg", "Abs"]), [value], [name]))
        elif kind == "constant":
            dims = [random.choice([1, extent]) for extent in shape[random.randint(0, len(shape)) :]]
            constants[f"c{index}"] = np.array([random.randint(-2, 2) for _ in range(prod(dims))], np.float32).reshape(
                dims
            )
            nodes.append(helper.make_node(random.choice(["Add", "Sub", "Max"]), [value, f"c{index}"], [name]))
        else:
            other = random.choice([each for each, extents in known if extents == shape])
            nodes.append(helper.make_node("Add", [other, value], [name]))
        value = name
        known.append((value, shape))
    return model([*nodes, helper.make_node("Abs", [value], ["y"])], first, constants, "y"), first


SEEDS = range(examples(15, 400))


@cache
def fixed(seed: int) -> FixResult:
    return fix(drawn(seed)[0], samples=1)


@each_case("seed", SEEDS)
def test_random_graphs_keep_their_values(seed: int) -> None:
    source, shape = drawn(seed)
    given = np.array([Random(seed).randint(-3, 3) for _ in range(prod(shape))], np.float32).reshape(shape)
    result = fixed(seed)
    assert "Transpose" not in operators(result.model_bytes())
    assert values(result.model_bytes(), given).tolist() == values(source, given).tolist()
    assert result.validation.for_all_inputs is Answer.IDENTICAL
    assert result.after.exit_code() == 0


def test_the_graphs_have_what_moves_and_what_does_not() -> None:
    names = {rewrite.name for seed in SEEDS for rewrite in fixed(seed).rewrites}
    assert {"moved-transpositions", "transposed-parts"} <= names


ELEMENTWISE = ["Relu(a)", "Cast<to=11>(a)", "Clip(a, k)", "Pow(a, k)", "Where(c, a, k)", "Sum(a, k, k)"]
ENDS = [("y = Transpose<perm=[1,0]>(b)", 1), ("d = Transpose<perm=[1,0]>(b) y = Neg(d)", 2)]


@each_case(("call", "end"), [(call, end) for call in ELEMENTWISE for end in ENDS])
def test_a_pair_around_an_elementwise_node_leaves_that_node(call: str, end: tuple[str, int]) -> None:
    """Also where the second Transpose makes a graph output."""
    text, nodes = end
    element = "double" if call.startswith("Cast") else "float"
    source = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => ({element}[2,3] y)'
        f"<float k = {{0.5}}, bool c = {{1}}> {{ a = Transpose<perm=[1,0]>(x) b = {call} {text} }}"
    ).SerializeToString()
    made = operators(fix(source, samples=1).model_bytes())
    assert len(made) == nodes
    assert call.startswith(made[0])


def test_two_outputs_of_one_value_are_copied_by_one_node() -> None:
    source = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => (float[2,3] y, float[2,3] z)'
        "{ a = Transpose<perm=[1,0]>(x) b = Relu(a) y = Transpose<perm=[1,0]>(b) z = Transpose<perm=[1,0]>(b) }"
    ).SerializeToString()
    assert operators(fix(source, samples=1).model_bytes()) == ["Relu", "Reshape"]


def test_scales_along_an_axis_stop_a_transpose() -> None:
    """With one scale QuantizeLinear is elementwise, with several it is not."""
    for scales, count in (("float s = {0.5}", 1), ("float[2] s = {0.5, 1.5}", 11)):
        source = onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => (uint8[2,3] y)'
            f"<{scales}> {{ a = Transpose<perm=[1,0]>(x) b = QuantizeLinear<axis=1>(a, s)"
            " y = Transpose<perm=[1,0]>(b) }"
        ).SerializeToString()
        assert len(operators(fix(source, samples=1).model_bytes())) == count
