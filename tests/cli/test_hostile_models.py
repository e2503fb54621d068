"""Small models that once ended a command with 4, or took it minutes or gigabytes: how each command ends on them.

The shapes that no array has are those of test_impossible_shapes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from sonnx.cli.main import run
from tests.support.invariants import one_sentence

FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
DOMAIN = helper.make_opsetid("d", 1)
node = helper.make_node


def value(name: str, *shape: int | str, kind: int = FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def numbers(name: str, *listed: int) -> TensorProto:
    return numpy_helper.from_array(np.array(listed, np.int64), name)


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    *constants: TensorProto,
    version: int = 14,
    functions: Sequence[FunctionProto] = (),
) -> ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    imports = [helper.make_opsetid("", version), *([DOMAIN] if functions else [])]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=functions)


def of_functions(called: Mapping[str, Sequence[str]], calls: int = 1, inner: int = 1) -> ModelProto:
    """A chain of calls of the first function; one that calls no other is a chain of Relu."""
    first = next(iter(called))
    made = [function(name, chain(names or ["Relu"] * inner, "a", "b", "d" if names else ""))
            for name, names in called.items()]  # fmt: skip
    return model(chain([first] * calls, "x", "y", "d"), [value("x", 2)], [value("y", 2)], functions=made)


def chain(operators: Sequence[str], read: str, written: str, domain: str) -> list[NodeProto]:
    names = [read, *[f"{written}{index}" for index in range(1, len(operators))], written]
    return [node(name, [names[index]], [names[index + 1]], domain=domain) for index, name in enumerate(operators)]


def function(name: str, nodes: Sequence[NodeProto]) -> FunctionProto:
    return helper.make_function("d", name, ["a"], ["b"], nodes, [helper.make_opsetid("", 14), DOMAIN])


def calls_of_many_shapes(number: int) -> ModelProto:
    nodes = [node("f", [f"x{i}"], [f"y{i}"], domain="d") for i in range(number)]
    inputs, outputs = ([value(f"{name}{i}", i + 1) for i in range(number)] for name in "xy")
    return model(nodes, inputs, outputs, functions=[function("f", chain(["Relu"], "a", "b", ""))])


def symbols(prefix: str, number: int) -> list[str]:
    return [f"{prefix}{index}" for index in range(number)]


def flattened(number: int, tensors: int = 1) -> ModelProto:
    nodes = [node("Flatten", [f"x{i}"], [f"y{i}"], axis=number // 2) for i in range(tensors)]
    inputs = [value(f"x{i}", *symbols(f"s{i}_", number)) for i in range(tensors)]
    return model(nodes, inputs, [value(f"y{i}", "a", "b") for i in range(tensors)])


def joined(number: int) -> ModelProto:
    inputs = [value(f"x{i}", f"s{i}") for i in range(number)]
    return model([node("Concat", [each.name for each in inputs], ["y"], axis=0)], inputs, [value("y", "n")])


def doubled(number: int) -> ModelProto:
    nodes = [node("Concat", [f"v{i}", f"v{i}"], [f"v{i + 1}"], axis=0) for i in range(number)]
    nodes[0].input[:] = ["x0", "x0"]
    return model(nodes, [value("x0", 1)], [value(f"v{number}", 2**number)])


def long_loop() -> ModelProto:
    body = helper.make_graph(
        [node("Identity", ["c"], ["d"]), node("Relu", ["a"], ["b"])], "body",
        [value("i", kind=INT64), value("c", kind=TensorProto.BOOL), value("a", 2)],
        [value("d", kind=TensorProto.BOOL), value("b", 2)],
    )  # fmt: skip
    trips, goes_on = numpy_helper.from_array(np.array(2**62), "t"), numpy_helper.from_array(np.array(True), "k")
    return model([node("Loop", ["t", "k", "x0"], ["y"], body=body)], [value("x0", 2)], [value("y", 2)], trips, goes_on)


def binary(operator: str, kind: int) -> ModelProto:
    inputs = [value("x0", 2**31, 1, 1, kind=kind), value("x1", 1, kind=kind)]
    return model([node(operator, ["x0", "x1"], ["y"])], inputs, [value("y", 2**31, 1, 1, kind=kind)])


LONG = 2**40
NEXT = {f"f{i}": [f"f{i + 1}"] for i in range(1000)} | {"f1000": []}
MODELS: Mapping[str, Callable[[], ModelProto]] = {
    "a filled tensor": lambda: model(
        [node("ConstantOfShape", ["s"], ["y"], value=helper.make_tensor("v", FLOAT, [1], [0]))], [], [value("y", LONG)],
        numbers("s", LONG)),
    "an expanded input": lambda: model(
        [node("Expand", ["x0", "s"], ["y"])], [value("x0", 1)], [value("y", LONG)], numbers("s", LONG)),
    "an expanded constant": lambda: model(
        [node("Expand", ["c", "s"], ["y"])], [], [value("y", LONG, kind=INT64)], numbers("s", LONG), numbers("c", 1)),
    "a padded input": lambda: model(
        [node("Pad", ["x0", "p"], ["y"], mode="constant")], [value("x0", 1)], [value("y", LONG + 1)],
        numbers("p", 0, LONG)),
    "a resized input": lambda: model(
        [node("Resize", ["x0", "", "", "s"], ["y"], mode="nearest", coordinate_transformation_mode="asymmetric",
              nearest_mode="floor")], [value("x0", 1)], [value("y", LONG)], numbers("s", LONG)),
    "functions that call all later ones": lambda: of_functions(
        {f"f{i}": [f"f{j}" for j in range(i + 1, 100)] for i in range(100)}),
    "functions that call the next one twice": lambda: of_functions(
        {f"f{i}": [f"f{i + 1}"] * 2 for i in range(30)} | {"f30": []}),
    "a chain of functions": lambda: of_functions(NEXT),
    "calls of a long function": lambda: of_functions({"f0": []}, 300, 301),
    "calls with many shapes": lambda: calls_of_many_shapes(300),
    "an operator without an output, of an unknown operator set": lambda: model(
        [node("Erf", ["x0"], [])], [value("x0", 2)], [], version=2**62),
    "a constant that cannot be": lambda: model(
        [node("Gather", ["", "c"], ["y"], axis=2**31)], [], [value("y", 2, kind=INT64)],
        helper.make_tensor("c", INT64, [2**63 - 1, 0], [])),
    "a product of many symbols": lambda: flattened(999),
    "products of symbols": lambda: flattened(30, 10),
    "a sum of many symbols": lambda: joined(40),
    "a list doubled 24 times": lambda: doubled(24),
    "a list doubled 60 times": lambda: doubled(60),
    "a quotient of many elements": lambda: binary("Div", INT64),
    "a difference of many elements": lambda: binary("Sub", INT32),
    "parts of one element": lambda: model(
        [node("Split", ["x0"], symbols("y", 3000), axis=0)], [value("x0", 3000)], [value("y0", 1)], version=11),
    "an endless loop": long_loop,
}  # fmt: skip
COMMANDS = {
    "run": ("--random", "--unchecked"), "fix": ("--dry-run",), "bound": ("--unchecked",), "prove": (),
}  # fmt: skip
QUICK = ("an expanded input", "an expanded constant", "a padded input", "a resized input", "a constant that cannot be",
         "an operator without an output, of an unknown operator set", "a quotient of many elements",
         "a difference of many elements", "a list doubled 60 times")  # fmt: skip
SECONDS = 3
"""The limit on the time of each command."""


@pytest.mark.parametrize(
    "title", [pytest.param(title, marks=() if title in QUICK else pytest.mark.campaign) for title in MODELS]
)
def test_each_command_ends_with_a_sentence(title: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = MODELS[title]()
    path = tmp_path / "m.onnx"
    path.write_bytes(data.SerializeToString())
    box = [part for each in data.graph.input for part in ("--box", f"{each.name}=[1,2]")]
    for command, options in {"check": (), **COMMANDS}.items():
        limits = [] if command == "check" else ["--timeout", str(SECONDS), "--memory", "4096"]
        code = run([command, str(path), *options, *(box if command == "bound" and len(box) < 9 else []), *limits])
        said = capsys.readouterr()
        assert code in (0, 1, 2, 3), command
        assert said.out or one_sentence(said.err.strip()), f"{command}: {said.err}"
