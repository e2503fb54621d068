"""Sums, products, maxima, conjunctions of integers or truth values: their operands have no order and no brackets.

Their operators are commutative and associative in every bit, so a tree of one of them is the same for each order of
its leaves.  Floating-point operands are regrouped over the reals only, by the walk over pairs (`walk.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

from sonnx.equivalence.normal_forms import elementwise
from sonnx.equivalence.terms.store import Store, Term
from sonnx.equivalence.terms.term_calls import EVERY_OPERATOR, TermCall, normal_form_of

MAX_LEAVES = 1 << 10
"""Operands that are regrouped; a larger tree keeps its order."""


class TreeKind(NamedTuple):
    """What the nodes of a tree have in common: their operator, its domain and key, and the type and shape they give."""

    operator: str
    domain: str
    key: Hashable
    element: object
    shape: tuple[int, ...] | None

    @classmethod
    def of(cls, term: Term) -> TreeKind:
        """The kind of the tree whose last node gives a term."""
        return cls(term.operator, term.domain, term.key, term.facts.type, term.shape)


def leaves_of(term: Term, kind: TreeKind) -> list[Term]:
    """The operands of a tree of nodes of one kind, from left to right, as often as they occur; a tree with more than
    `MAX_LEAVES` as one leaf.
    """
    leaves, waiting = list[Term](), [term]
    while waiting and len(leaves) <= MAX_LEAVES:
        part = waiting.pop()
        if TreeKind.of(part) == kind and None not in part.inputs:
            waiting += reversed([operand for operand in part.inputs if operand is not None])
        else:
            leaves.append(part)
    return leaves if len(leaves) <= MAX_LEAVES else [term]


@normal_form_of(EVERY_OPERATOR)
def with_sorted_leaves(store: Store, call: TermCall) -> list[Term] | None:
    """A tree of one operator as a chain of nodes of two operands: the leaves in the order of their numbers."""
    stated = call.stated
    if not (stated.associative and stated.elementwise and (stated.commutative or stated.commutative_numbers)):
        return None
    operands = [operand for operand in call.operands if operand is not None]
    if call.is_along_axis or len(operands) < max(2, len(call.operands)) or len(call.outputs) != 1:
        return None
    if not all(operand.is_discrete and operand.facts.type == call.outputs[0].type for operand in operands):
        return None
    kind = TreeKind(call.operator, call.domain, call.key, call.outputs[0].type, call.shape)
    trees = [leaves_of(operand, kind) for operand in operands]
    leaves = sorted((leaf for tree in trees for leaf in tree), key=_order)
    if len(leaves) > MAX_LEAVES or _is_sorted_chain(operands, trees, leaves):
        return None
    store.rest_on("regrouped")
    store.rest_on("regrouped-in-order")
    return [_chain(store, call, leaves)]


def _order(term: Term) -> tuple[bool, int]:
    """Constants first, so that they become one."""
    return not term.is_constant, term.number


def _is_sorted_chain(operands: Sequence[Term], trees: Sequence[list[Term]], leaves: Sequence[Term]) -> bool:
    """Whether one operand is the greatest leaf, and the other one the chain of all others."""
    if len(operands) != 2:
        return False
    return any(
        last is leaves[-1] and len(tree) == 1 and sorted(chain, key=_order) == leaves[:-1]
        for last, tree, chain in ((operands[1], trees[1], trees[0]), (operands[0], trees[0], trees[1]))
    )


@normal_form_of("Max", "Min")
def of_two(store: Store, call: TermCall) -> list[Term] | None:
    """A maximum or a minimum of several values as one of the first two, then of that and the third one, and so on: by
    its definition the first of several NaNs is the result, here and there.
    """
    operands = [operand for operand in call.operands if operand is not None]
    if len(operands) < max(3, len(call.operands)) or len(operands) > MAX_LEAVES:
        return None
    return [_chain(store, call, operands)]


def _chain(store: Store, call: TermCall, leaves: Sequence[Term]) -> Term:
    chain = leaves[0]
    for leaf in leaves[1:]:
        chain = elementwise.term_of(store, replace(call, operands=(chain, leaf)))
    return chain
