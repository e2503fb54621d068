"""Nodes whose replacement would cost much more than they do: what `--keep-slow FACTOR` leaves as it is.

The costs are estimates (`cost.py`): a node is slow where what it becomes costs more than FACTOR times as much, and the
difference is a part of the model's cost that can be seen.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from sonnx.base.escaping import escape
from sonnx.model.ir import Model
from sonnx.report.fix_record import KeptNode
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.cost import node_seconds
from sonnx.rewriter.rounds import rewritten_until_stable
from sonnx.rewriter.walk import WalkResult, first_output, walk

VISIBLE = 0.01
"""The part of the estimated time of a model from which a difference counts."""


def rewritten_within(
    context: RewriteContext, factor: float | None
) -> tuple[RewriteContext, WalkResult, tuple[KeptNode, ...]]:
    """The context in which slow nodes are kept, the model after all rewrites in it, and these nodes.

    `factor` is None where every node may become as slow as it does.
    """
    result = rewritten_until_stable(context)
    if factor is None:
        return context, result, ()
    kept: dict[int, KeptNode] = {}
    before = node_seconds(context.model, walk(replace(context, model=context.model), ()).facts)
    while True:
        more = {
            index: node
            for index, node in _slow_nodes(context.model, before, result, factor).items()
            if index not in kept
        }
        if not more:
            return context, result, tuple([kept[index] for index in sorted(kept)])
        kept |= more
        names = frozenset([first_output(context.model.graph.nodes[index]) for index in kept])
        context = replace(context, kept_nodes=names)
        result = rewritten_until_stable(context)


def _slow_nodes(
    model: Model, before: Mapping[int, float | None], result: WalkResult, factor: float
) -> dict[int, KeptNode]:
    """The nodes of a model that become slow, by their indices."""
    after, after_of, unknown = node_seconds(result.model, result.facts), dict[int, float](), set[int]()
    for place, node in enumerate(result.model.graph.nodes):
        source, seconds = result.sources.get(first_output(node)), after[place]
        if source is not None and seconds is not None:
            after_of[source] = after_of.get(source, 0.0) + seconds
        elif source is not None:
            unknown.add(source)
    least = VISIBLE * sum(seconds for seconds in before.values() if seconds is not None)
    slow = {}
    for index, node in enumerate(model.graph.nodes):
        own, become = before[index], after_of.get(index, 0.0)
        if own is None or index in unknown or become <= factor * own or become - own < least:
            continue
        slow[index] = KeptNode(f"graph/node[{index}]", escape(node.name), node.operator, become / own)
    return slow
