"""Rounds of all enabled rewrites of a model, until one changes nothing."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from sonnx.report.fix_record import AppliedRewrite
from sonnx.rewriter import passes
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.rewrite import ModelRewriting, Rewrite
from sonnx.rewriter.rewrites.moved_transpositions import may_move
from sonnx.rewriter.shape_hints import contradicted, hints_of
from sonnx.rewriter.walk import WalkResult, places_of, walk

MOST_ROUNDS = 100
"""Each round brings the model nearer to the profile, so that more of them are a defect."""


def rewritten_until_stable(context: RewriteContext) -> WalkResult:
    """The model after rounds of all enabled rewrites, until one changes nothing."""
    applied: list[AppliedRewrite] = []
    for _ in range(MOST_ROUNDS):
        found = _round(context)
        if not found.applied:
            return replace(found, applied=tuple(applied))
        applied += found.applied
        context = replace(context, model=found.model, sources=found.sources, facts={}, hints={})
    raise AssertionError("the rewrites of the model do not terminate")


def _round(context: RewriteContext) -> WalkResult:
    """The model after one round: preparations, the rewrites of each node, completions."""
    if not context.sources:
        context = replace(context, sources=places_of(context.model))
    context, before = _changed(context, passes.PREPARATIONS)
    rewrites = [node_rewrite for node_rewrite in passes.NODE_REWRITES if node_rewrite.enabled(context)]
    context = replace(context, hints=hints_of(context.model))
    moving = may_move(context) and any(move.enabled(context) for move in passes.MOVES)
    first = [rewrite for rewrite in rewrites if not moving or rewrite not in passes.LAST_OF_NODES]
    walked = walk(context, first)
    if contradicted(context.hints, walked.facts):
        context = replace(context, hints={})
        walked = walk(context, first)
    if moving:
        context = replace(context, model=walked.model, facts=walked.facts, sources=walked.sources)
        context, moved = _changed(context, passes.MOVES)
        again = walk(context, rewrites)
        walked = replace(again, applied=(*walked.applied, *moved, *again.applied))
    context, after = _changed(replace(context, model=walked.model, facts=walked.facts), passes.COMPLETIONS)
    return replace(walked, model=context.model, applied=(*before, *walked.applied, *after))


def _changed(
    context: RewriteContext, rewrites: Iterable[Rewrite[ModelRewriting]]
) -> tuple[RewriteContext, list[AppliedRewrite]]:
    """The context with the model after rewrites of it as a whole, and the places they changed."""
    applied: list[AppliedRewrite] = []
    for rewrite in rewrites:
        change = rewrite.apply(context) if rewrite.enabled(context) and rewrite.triggered(context) else None
        if change is not None:
            context = replace(context, model=change.model)
            applied += rewrite.applied(change.edits)
    return context, applied
