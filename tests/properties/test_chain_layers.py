"""The two readings of a model as layers agree: that of the search, and that of the program that checks certificates."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sonnx.model.reader import read
from sonnx.properties import certificate_checker
from sonnx.properties.chain_layers import ChainLayer, NotAChain, chain_layers
from tests.support.cases import crossed, each_case, examples
from tests.support.layer_networks import image_network, network

STRUCTURE = {
    "Gemm": ("Gemm", ["h", "W", "b"], {}),
    "Gemm without bias": ("Gemm", ["h", "W"], {}),
    "Gemm of a transposed matrix": ("Gemm", ["h", "Wt", "b"], {"transB": 1}),
    "Gemm of a transposed row": ("Gemm", ["h", "W", "b"], {"transA": 1}),
    "Gemm with a factor": ("Gemm", ["h", "W", "b"], {"alpha": 0.5}),
    "Gemm with factors of 1": ("Gemm", ["h", "W", "b"], {"alpha": 1.0, "beta": 1.0}),
    "Gemm of a constant": ("Gemm", ["W", "h"], {}),
    "MatMul": ("MatMul", ["h", "W"], {}),
    "MatMul of a constant": ("MatMul", ["W", "h"], {}),
    "Add": ("Add", ["h", "b"], {}),
    "Add of one number": ("Add", ["one", "h"], {}),
    "Add of itself": ("Add", ["h", "h"], {}),
    "Sub of itself": ("Sub", ["h", "h"], {}),
    "Add of a column": ("Add", ["h", "column"], {}),
    "Sub": ("Sub", ["h", "b"], {}),
    "Sub from a constant": ("Sub", ["b", "h"], {}),
    "Relu": ("Relu", ["h"], {}),
    "Identity": ("Identity", ["h"], {}),
    "Flatten": ("Flatten", ["h"], {"axis": 1}),
    "Flatten to a column": ("Flatten", ["h"], {"axis": 2}),
    "Reshape": ("Reshape", ["h", "row"], {}),
    "Reshape to the rest": ("Reshape", ["h", "rest"], {}),
    "Reshape to a column": ("Reshape", ["h", "tall"], {}),
    "Reshape to a vector": ("Reshape", ["h", "flat"], {}),
    "Tanh": ("Tanh", ["h"], {}),
    "Relu of another domain": ("Relu", ["h"], {"domain": "own"}),
    "Relu of the standard domain": ("Relu", ["h"], {"domain": "ai.onnx"}),
    "an infinite weight": ("Add", ["h", "infinite"], {}),
    "a weight that is NaN": ("MatMul", ["h", "nan"], {}),
    "weights of double": ("Add", ["h", "double"], {}),
}
"""Nodes that read `h`, a row of 3 elements, by what is special of them."""
DRAW = np.random.default_rng(11)
CONSTANTS = {
    "W": DRAW.standard_normal((3, 3)).astype("f4"), "Wt": DRAW.standard_normal((3, 3)).astype("f4"),
    "b": DRAW.standard_normal(3).astype("f4"), "one": np.array([0.1], "f4"), "column": np.ones((3, 1), "f4"),
    "row": np.array([1, 3]), "rest": np.array([1, -1]), "tall": np.array([3, 1]), "flat": np.array([3]),
    "infinite": np.array([1, np.inf, 0], "f4"), "nan": np.full((3, 3), np.nan, "f4"), "double": np.ones(3),
}  # fmt: skip


def model_of(names: tuple[str, ...], shape: tuple[Any, ...] = (1, 3)) -> bytes:
    """A chain of nodes of these kinds."""
    nodes, stored = [], {}
    for place, name in enumerate(names):
        operator, inputs, attributes = STRUCTURE[name]
        read_here = [f"h{place}" if each == "h" else each for each in inputs]
        stored |= {each: CONSTANTS[each] for each in inputs if each != "h"}
        nodes.append(helper.make_node(operator, read_here, [f"h{place + 1}"], **attributes))
    x = helper.make_tensor_value_info("h0", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info(f"h{len(names)}", TensorProto.FLOAT, None)
    constants = [numpy_helper.from_array(array, name) for name, array in stored.items()]
    return bytes(helper.make_model(helper.make_graph(nodes, "g", [x], [y], constants)).SerializeToString())


def readings(data: bytes) -> tuple[list[ChainLayer] | None, list[certificate_checker.CheckedLayer] | None]:
    """What each reading gives, None where it refuses."""
    search, checker = None, None
    with suppress(NotAChain):
        search = chain_layers(read(data))
    with suppress(certificate_checker.Refused):
        checker = certificate_checker.layers(data)
    return search, checker


def full(layer: certificate_checker.CheckedLayer, row: certificate_checker.WholeRow) -> list[float]:
    """A row of the checker with all its numbers."""
    places, weights = row
    numbers = dict(zip(range(layer.n) if places is None else places, weights, strict=True))
    return [float(Fraction(numbers.get(place, 0), 1 << layer.bits)) for place in range(layer.n)]


def require_equal(data: bytes) -> bool:
    """Whether both read the model; then each number of the search is that of the checker, rounded once."""
    search, checker = readings(data)
    assert (search is None) is (checker is None)
    for ours, theirs in zip(search or [], checker or [], strict=True):
        assert ours.W.tolist() == [full(theirs, row) for row in theirs.W]
        assert ours.sizes.tolist() == [full(theirs, row) for row in theirs.sizes]
        assert ours.bias.tolist() == [float(Fraction(b, 1 << theirs.bias_bits)) for b in theirs.bias]
        assert ours.constant_sizes.tolist() == [float(size) for size in theirs.fixed]
        assert ours.relu.tolist() == theirs.relu
        numbers = zip(ours.terms, ours.products, ours.additions, ours.largest_inner, strict=True)
        assert [*map(tuple, numbers)] == [
            (how.terms, how.products, how.added, float(how.inner)) if how else (0, 0, 0, 0) for how in theirs.sums
        ]
    return search is not None


@each_case("seed", range(examples(4, 8)))
def test_random_networks(seed: int) -> None:
    draw = np.random.default_rng(seed)
    assert require_equal(network(draw, tuple(int(n) for n in draw.integers(1, 9, 4)))[0])


@each_case("seed", range(examples(6, 16)))
def test_random_images(seed: int) -> None:
    """Conv with groups, strides, pads and dilations, MaxPool, sums of two values, several outputs."""
    assert require_equal(image_network(np.random.default_rng(seed)).SerializeToString())


@pytest.mark.parametrize("first", STRUCTURE)
def test_chains_of_two_and_of_three_nodes(first: str) -> None:
    """Each pair of nodes, also with a Relu between them, so that both orders of sums and products occur."""
    read_by_both = 0
    for second, between in crossed(STRUCTURE, ((), ("Relu",), ("Add",)), every=2):
        read_by_both += require_equal(model_of((first, *between, second)))
        require_equal(model_of((*between, first, second)))
    usable = require_equal(model_of((first,)))
    assert usable is (read_by_both > 0)


@pytest.mark.parametrize(
    ("shape", "usable"),
    [((1, 3), True), ((3,), True), ((1, 1, 3), True), (("N", 3), True), ((2, 3), False), ((3, 1), False), ((), False)],
)
def test_shapes_of_the_input(shape: tuple[Any, ...], usable: bool) -> None:
    assert require_equal(model_of(("Add", "Relu"), shape)) is usable
    require_equal(model_of(("Flatten", "Relu"), shape))
    require_equal(model_of(("Reshape", "Relu"), shape))


def test_what_a_graph_has_besides() -> None:
    """Constants as nodes, values of one name, several outputs, unused nodes, weights in another file."""
    base = onnx.load_from_string(model_of(("MatMul", "Relu", "Add")))
    assert require_equal(base.SerializeToString())

    def changed(change: Any) -> bytes:
        model = onnx.ModelProto.FromString(base.SerializeToString())
        change(model.graph)
        return bytes(model.SerializeToString())

    def constant(graph: Any) -> None:
        tensor = graph.initializer.pop()
        graph.node.insert(0, helper.make_node("Constant", [], [tensor.name], value=tensor))

    def number(graph: Any) -> None:
        graph.node.insert(0, helper.make_node("Constant", [], [graph.initializer.pop().name], value_float=1.0))

    def outside(graph: Any) -> None:
        graph.initializer[0].data_location = TensorProto.EXTERNAL
        graph.initializer[0].external_data.add(key="location", value="weights")

    assert require_equal(changed(constant))
    for change in (
        number, outside, lambda graph: graph.initializer.append(graph.initializer[0]),
        lambda graph: graph.output.append(graph.output[0]), lambda graph: graph.output.pop(),
        lambda graph: graph.input.append(graph.output[0]),
        lambda graph: graph.node.append(helper.make_node("Relu", ["h1"], ["unused"])),
        lambda graph: graph.node.append(graph.node[0]), lambda graph: graph.node.pop(),
        lambda graph: graph.node[1].output.append("second"), lambda graph: graph.sparse_initializer.add(),
    ):  # fmt: skip
        assert not require_equal(changed(change))


def test_the_checker_stays_alone() -> None:
    assert "sonnx" not in {line.split()[1] for line in Path(certificate_checker.__file__).read_text().splitlines()
                           if line.startswith(("import ", "from "))}  # fmt: skip
