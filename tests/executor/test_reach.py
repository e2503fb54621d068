"""Which classes the nodes of a network meet: reached by a run that shows them, unreachable by ranges, or unknown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx
import onnx.parser
import pytest

import sonnx
from sonnx.base.errors import BadInput, UsageError
from sonnx.cli.main import run
from sonnx.executor.reach import InputReach, Reach
from sonnx.numerics.class_recognition import occurring_classes
from sonnx.report.class_reach import grouped
from tests.support.faulty_runtimes import Exact, NaNDroppedAtOnePlace

RUNS = 64


def net(text: str, shape: str = "4", element: str = "float", opset: int = 13) -> bytes:
    """A network of one input x."""
    head = f'<ir_version: 8, opset_import: ["":{opset}]> g ({element}[{shape}] x) => ({element} y)'
    model = onnx.shape_inference.infer_shapes(onnx.parser.parse_model(f"{head} {{ {text} }}"))
    return model.SerializeToString()


def reach(data: bytes, **options: Any) -> Reach:
    """The classes that the nodes meet."""
    report = sonnx.compare(data, Exact(), every_node=True, unchecked=True, class_runs=RUNS, **options)
    assert report.reach is not None
    return report.reach


def at(found: Reach, operator: str) -> InputReach:
    return next(each for each in found.inputs if each.operator == operator)


def reached(each: InputReach) -> set[str]:
    return {name for met in each.reached for name in met.classes}


def test_behind_relu_nothing_is_negative_and_a_nan_comes_through() -> None:
    found = at(reach(net("r = Relu(x) y = Neg(r)")), "Neg")
    assert {"-1 first", "-inf last", "all -largest", "-inf before nan"} <= {*found.unreachable}
    assert {"nan first", "+inf last", "+1 between", "all +0", "greatest twice"} <= reached(found)
    assert not [each for each in found.unreachable if re.match(r"[+]\d|nan (first|last)|-0", each)]


def test_moves_and_maxima_keep_what_an_operator_in_front_cannot_give() -> None:
    text = "a = Sigmoid(x) b = Reshape(a, s) c = Transpose(b) d = Max(c, c) y = Neg(d)"
    met = reach(net(f"s = Constant<value=int64[2] {{2, 2}}>() {text}"))
    for operator in ("Reshape", "Transpose", "Max", "Neg"):
        found = at(met, operator)
        assert {"-1 first", "+above 1 first", "+inf last", "-inf before nan"} <= {*found.unreachable}
        assert "nan first" in reached(found)


def test_in_a_box_only_inputs_of_the_box_count() -> None:
    data = net("r = Add(x, x) y = Neg(r)")
    everywhere, inside = (at(reach(data, **box), "Neg") for box in ({}, {"box": ["x=[-1,1]"]}))
    assert {"nan first", "+inf last"} <= reached(everywhere)
    assert {"nan first", "+inf last", "all -largest"} <= {*inside.unreachable}
    assert {"+1 first", "-1 last"} & (reached(inside) | {*inside.unknown})
    assert not reached(inside) & {"nan first", "+inf last"}


def test_each_class_has_one_answer_and_the_named_run_shows_it() -> None:
    data = net("r = Tanh(x) y = ReduceMax<axes=[1],keepdims=1>(r)", "2,3")
    found = reach(data, seed=5)
    model = sonnx.prepare(data, unchecked=True, all_values=True)
    for each in found.inputs:
        sides = [reached(each), {*each.unreachable}, {*each.unknown}]
        assert sum(map(len, sides)) == len(set.union(*sides)) > 50
        for met in each.reached:
            [text] = found.runs[met.run].inputs
            x = np.array(eval(text.partition(" = ")[2], {"nan": np.nan, "inf": np.inf}), np.float32)
            values = {"x": x, **model.run({"x": x})}
            assert {*met.classes} <= occurring_classes(values[each.value])


def test_a_difference_alone_that_the_network_reaches_is_named() -> None:
    data = net("r = Relu(x) y = ReduceMax<axes=[0],keepdims=1>(r)", "5")
    report = sonnx.compare(data, NaNDroppedAtOnePlace(), every_node=True, unchecked=True)
    text = report.to_text()
    assert "the model leads to the class" in text
    assert "unreachable for all inputs of finite numbers" in text
    schema = json.loads((Path(sonnx.__file__).parent / "report" / "comparison.schema.json").read_text("utf-8"))
    document = json.loads(report.to_json())
    jsonschema.validate(document, schema)
    assert document["reach"]["inputs"][1]["operator"] == "ReduceMax"
    assert "classes of nodes" in report.to_format("html")


def test_without_ranges_the_reason_is_told() -> None:
    head = '<ir_version: 8, opset_import: ["":13]> g (int64[3] x) => (int64[3] y) { r = Abs(x) y = Neg(r) }'
    found = reach(onnx.parser.parse_model(head).SerializeToString())
    assert "beyond 2^53" in found.no_ranges
    assert not any(each.unreachable for each in found.inputs)


def test_wrong_boxes_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = net("y = Relu(x)")
    with pytest.raises(UsageError, match="every-node"):
        sonnx.compare(data, Exact(), box=["x=[0,1]"], unchecked=True)
    with pytest.raises(BadInput, match="no input 'z'"):
        sonnx.compare(data, Exact(), box=["z=[0,1]"], every_node=True, unchecked=True)
    path = tmp_path / "net.onnx"
    path.write_bytes(data)
    assert run(["compare", str(path), "--unchecked", "--every-node", "--box", "x=[1,0]"]) == 2
    assert "reversed" in capsys.readouterr().err


def test_positions_of_one_value_are_written_together() -> None:
    assert grouped(["nan first", "+inf last", "nan last", "all +0"]) == "nan first, last; +inf last; all +0"
