"""The examples of the ONNX texts (tests/data/seed_examples.toml) as cases: one for each example and element type."""

from __future__ import annotations

import struct
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import onnx
from onnx import TensorProto, helper

TESTS = Path(__file__).parent.parent
DATA = tomllib.loads((TESTS / "data" / "seed_examples.toml").read_text("utf-8"))
EDITIONS: Sequence[Mapping[str, Any]] = tomllib.loads(
    (TESTS.parent / "restrictions" / "editions.toml").read_text("utf-8")
)["edition"]
FLOATS = {"bfloat16": (16, 8), "float16": (16, 5), "float": (32, 8), "double": (64, 11)}
"""Floating-point types: width, exponent bits."""

Case: TypeAlias = Mapping[str, Any]


def cases() -> Iterator[tuple[str, Case]]:
    """One case per example and type, the data put in place of their names."""
    for example in DATA["example"]:
        for element_type in example.get("types", [None]):
            name = example["id"] if element_type is None else f"{example['id']}-{element_type}"
            inputs = [DATA["data"][x] if isinstance(x, str) else x for x in example["inputs"]]
            fixed = {"type": element_type} if element_type else {}
            case = {"inputs": [x | fixed for x in inputs], "output": example["output"] | fixed}
            yield name, {"attributes": {}, "violates": {}} | example | case


CASES = dict(cases())
LAST = max(edition for case in CASES.values() for edition in case["violates"])
"""The last edition that a case names; later ones are expected to give the same."""


def violated(case: Case, edition: str) -> list[str]:
    """The rules that fail in an edition."""
    rules: list[str] = case["violates"].get(min(edition, LAST), [])
    return rules


def pattern(element_type: str, value: Any) -> int:
    """A number as the oracle keeps it: an integer as it is, a floating-point value as its bits."""
    if element_type not in FLOATS:
        whole: int = value
        return whole
    code = {"float16": ">e", "bfloat16": ">f", "float": ">f", "double": ">d"}[element_type]
    return int.from_bytes(struct.pack(code, value)[: FLOATS[element_type][0] // 8])


def elements(tensor: Mapping[str, Any]) -> list[int]:
    """The elements in row-major order, as `pattern` keeps them."""
    if "bits" in tensor:
        return [int(bits, 16) for bits in tensor["bits"].split()]
    return [pattern(tensor["type"], value) for value in tensor["values"]]


def model(case: Case) -> onnx.ModelProto:
    """A model of one node; the operator decides the names."""

    def declared(name: str, tensor: Mapping[str, Any]) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, getattr(TensorProto, tensor["type"].upper()), tensor["shape"])

    names = [f"x{m}" for m in range(len(case["inputs"]))]
    node = helper.make_node(case["operator"], names, ["y"], name="node", **case["attributes"])
    inputs = [declared(name, tensor) for name, tensor in zip(names, case["inputs"], strict=True)]
    graph = helper.make_graph([node], "example", inputs, [declared("y", case["output"])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
