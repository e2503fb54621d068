"""Name the graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sonnx.fix.record import Rewrite
from sonnx.fix.site import World
from sonnx.model import Model
from sonnx.verdict import Where

RULES = ("graph-named",)
NAME = "graph"


def rewrite(model: Model, world: World) -> tuple[Model, Iterator[Rewrite]]:
    """The model whose main graph has a name; other names that are missing or given twice leave open what is meant."""
    if model.graph.name or not world.wants_any(RULES):
        return model, iter(())
    record = Rewrite("named-graph", RULES, Where("graph", "graph"), "no name", f"'{NAME}'")
    return replace(model, graph=replace(model.graph, name=NAME)), iter((record,))
