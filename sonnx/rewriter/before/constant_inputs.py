"""Make graph inputs that have an initializer constants.

From IR version 4 on such an initializer is a default value the caller may replace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sonnx.checker.report import Where
from sonnx.model.ir import Model
from sonnx.rewriter.rewrite import Rewrite
from sonnx.rewriter.site import World

RULES = ("no-default-values",)


def rewrite(model: Model, world: World) -> tuple[Model, Iterator[Rewrite]]:
    """The model without these inputs; below IR version 4 they are constants already."""
    graph = model.graph
    constant = {tensor.name for tensor in graph.initializers}
    both = [(index, value.name) for index, value in enumerate(graph.inputs) if value.name in constant]
    if not both or (model.ir_version or 0) < 4 or not world.wants_any(RULES):
        return model, iter(())
    inputs = tuple(value for value in graph.inputs if value.name not in constant)
    return replace(model, graph=replace(graph, inputs=inputs)), (_record(*each) for each in both)


def _record(index: int, name: str) -> Rewrite:
    where = Where(f"graph/input[{index}]", "value", name)
    interface = "callers can no longer give it another value"
    return Rewrite("constant-inputs", RULES, where, "graph input with a default", "constant", "", interface)
