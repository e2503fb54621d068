"""Functions that call one another: `fix` ends, whatever their calls become."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

from sonnx import fix
from sonnx.base.errors import Unfinished

IMPORTS = [helper.make_opsetid("", 13), helper.make_opsetid("f", 1)]


def model(number: int, called: Callable[[int], Iterable[int]]) -> bytes:
    """A call of function 0; each function calls the functions that `called` names, one after the other, then Relu."""
    functions = []
    for index in range(number):
        nodes = []
        for place, other in enumerate(each for each in called(index) if each < number):
            nodes.append(helper.make_node(f"f{other}", [f"v{place}"], [f"v{place + 1}"], domain="f"))
        nodes.append(helper.make_node("Relu", [f"v{len(nodes)}"], ["out"]))
        functions.append(helper.make_function("f", f"f{index}", ["v0"], ["out"], nodes, IMPORTS))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    graph = helper.make_graph([helper.make_node("f0", ["x"], ["y"], domain="f")], "g", [x], [y])
    return helper.make_model(graph, opset_imports=IMPORTS, functions=functions, ir_version=8).SerializeToString()


@pytest.mark.parametrize(
    ("number", "called", "nodes"),
    [
        (150, lambda index: [index + 1], 150),
        (8, lambda index: [index + 1] * 2, 2**8 - 1),
        (8, lambda index: range(index + 1, 8), 2**7),
        (3, lambda index: [1, 1] if index < 1 else [3 - index], 1),  # functions 1 and 2 call each other
    ],
)
def test_the_nodes_of_functions(number: int, called: Callable[[int], Iterable[int]], nodes: int) -> None:
    written = onnx.load_model_from_string(fix(model(number, called), samples=0).model_bytes())
    assert len(written.graph.node) == nodes


@pytest.mark.parametrize("called", [lambda index: [index + 1] * 2, lambda index: range(index + 1, 100)])
def test_calls_that_become_too_many_nodes(called: Callable[[int], Iterable[int]]) -> None:
    with pytest.raises(Unfinished, match=r"the graph has .* nodes .* more than the 200000 allowed"):
        fix(model(100, called), samples=0)


PARTS = """<ir_version: 8, opset_import: ["" : 13, "d" : 1]> g (float[4] x) => (float[1] y) { y = d.f (x) }
<domain: "d", opset_import: ["" : 13]> f (x) => (y) {
  s = Constant <value = int64[4] {1, 1, 1, 1}> ()
  a, b, c, y = Split <axis = 0> (x, s)
  e = Split <axis = 0> (y)
}"""


def test_the_parts_that_a_function_uses_stay() -> None:
    """Also where only the output of the call names a part; of the others no slice is made."""
    found = fix(onnx.parser.parse_model(PARTS).SerializeToString())
    model = onnx.ModelProto.FromString(found.model_bytes())
    assert [node.op_type for node in model.graph.node] == ["Slice"]
    assert model.graph.node[0].output == ["y"]
