"""Small networks in the forms that exporters give the layers of common architectures (exporter_networks.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

HEAD = '<ir_version: 9, opset_import: ["" : {operator_set}]> g ({inputs}) => ({outputs}) {{ {nodes} }}'
FILE = Path(__file__).with_suffix(".toml")


def network(entry: dict[str, Any]) -> onnx.ModelProto:
    """A network with its constants, those of `shapes` drawn."""
    model = onnx.parser.parse_model(
        HEAD.format(**{key: entry[key] for key in ("operator_set", "inputs", "outputs", "nodes")})
    )
    draw = np.random.default_rng(len(entry["name"]))
    constants = {
        name: draw.standard_normal(shape).astype(np.float32) for name, shape in entry.get("shapes", {}).items()
    }
    constants |= {name: np.array(value["numbers"], value["type"]) for name, value in entry.get("values", {}).items()}
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    return model


def networks() -> Iterator[tuple[str, onnx.ModelProto]]:
    """All of them, by name."""
    for entry in tomllib.loads(FILE.read_text("utf-8"))["network"]:
        yield entry["name"], network(entry)
