"""Raise the IR version to 4 where constants were added.

Below it every initializer must be a graph input too, with a value the caller may not replace; from 4 on it must not be
one to be a constant (ONNX IR, GraphProto.initializer).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sonnx.checker.report import Where
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Model
from sonnx.rewriter.rewrite import Rewrite
from sonnx.rewriter.site import World

RULES = ("no-default-values",)
LEAST = 4


def rewrite(model: Model, world: World, facts: Mapping[str, TensorFacts]) -> tuple[Model, Iterator[Rewrite]]:
    """The model in the oldest format that has constants, if it has an initializer that is no graph input."""
    del facts, world
    graph, version = model.graph, model.ir_version
    inputs = {value.name for value in graph.inputs}
    constant = {tensor.name for tensor in graph.initializers}
    if version is None or not 0 < version < LEAST or constant <= inputs:
        return model, iter(())
    kept = tuple(value for value in graph.inputs if value.name not in constant)
    before = f"IR version {version}, {len(inputs & constant)} constants among the graph inputs"
    record = Rewrite("format-version", RULES, Where("model", "model"), before, f"IR version {LEAST}, none")
    return replace(model, ir_version=LEAST, graph=replace(graph, inputs=kept)), iter((record,))
