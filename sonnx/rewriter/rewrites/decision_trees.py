"""TreeEnsembleRegressor of one tree: a choice among the weights of its leaves, by Less and Where.

The value is the weight of a leaf, which no sum rounds; each comparison is one by Less: x <= v is x < w for the next
number w above v.  A comparison with NaN is false, as that of the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sonnx.rewriter import descriptions
from sonnx.rewriter.node_builders import NodeSequence
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.choices import FIRST_WITH_WHERE
from sonnx.rewriter.rewrites.estimators import ELEMENT, float_matrix, written_values
from sonnx.rewriter.site import Site

MOST_NODES = 1000
"""Nodes of the largest tree."""
FIELDS = ("modes", "featureids", "values", "truenodeids", "falsenodeids")
"""The attributes `nodes_` with an entry for each node, besides its number."""
WITHOUT_EFFECT = frozenset({"nodes_hitrates", "nodes_treeids", "target_treeids", "n_targets", "aggregate_function",
                            "post_transform", "nodes_missing_value_tracks_true"})  # fmt: skip
"""Attributes that change nothing where one tree gives one number and NaN never goes to the true side."""
UP, DOWN = np.float32(np.inf), np.float32(-np.inf)


class _Branch(NamedTuple):
    """A comparison of a feature, and the nodes where it holds and where not."""

    mode: str
    feature: int
    limit: float
    yes: int
    no: int


class _Tree(NamedTuple):
    """A tree: its root, its branches, and the weights of its leaves, by the numbers of the nodes."""

    root: int
    branches: Mapping[int, _Branch]
    leaves: Mapping[int, float]


@rewrite("chosen-leaf", Trigger.RULE_FAILS)
def chosen_leaf(site: Site) -> Replacement | None:
    """Where for each branch, from the leaves to the root."""
    values, shape = written_values(site), float_matrix(site)
    if shape is None or values is None or site.operator_set < FIRST_WITH_WHERE or len(site.node.outputs) != 1:
        return None
    tree = _tree(values, shape[1])
    if tree is None:
        return None
    sequence, column = NodeSequence(site.node.outputs[0], site.operator_set), (shape[0], 1)
    source, features = site.node.inputs[0], dict[int, str]()
    chosen = {
        number: sequence.constant(f"leaf{number}", ELEMENT, weight, column) for number, weight in tree.leaves.items()
    }
    for number in _from_leaves(tree):
        branch = tree.branches[number]
        if branch.feature not in features:
            span = (branch.feature, branch.feature + 1)
            features[branch.feature] = source if shape[1] == 1 else sequence.slice(source, shape, 1, span)
        limit = sequence.constant(f"limit{number}", ELEMENT, _limit(branch), column)
        operands = features[branch.feature], limit
        less = operands if branch.mode in ("BRANCH_LEQ", "BRANCH_LT") else operands[::-1]
        holds = sequence.add(OperatorName.LESS, less, sequence.name("holds"))
        output = sequence.output if number == tree.root else sequence.name("chosen")
        sides = chosen[branch.yes], chosen[branch.no]
        chosen[number] = sequence.add(OperatorName.WHERE, (holds, *sides), output)
    return sequence.replacement(descriptions.call(site.node), f"a choice among {len(tree.leaves)} leaves")


def _limit(branch: _Branch) -> Any:
    """The number that Less takes."""
    limit = np.float32(branch.limit)
    return {"BRANCH_LEQ": np.nextafter(limit, UP), "BRANCH_GTE": np.nextafter(limit, DOWN)}.get(branch.mode, limit)


def _from_leaves(tree: _Tree) -> Sequence[int]:
    """The branches, each behind those below it."""
    order, waiting = list[int](), [tree.root]
    while waiting:
        number = waiting.pop()
        if number in tree.branches:
            order.append(number)
            waiting += [tree.branches[number].yes, tree.branches[number].no]
    return order[::-1]


def _tree(values: Mapping[str, Any], width: int) -> _Tree | None:
    """The only tree of the attributes; None where there are several, or something that no choice among leaves is."""
    fields: dict[str, Any] = {name: values.get(f"nodes_{name}") for name in ("nodeids", *FIELDS)}
    known = WITHOUT_EFFECT | {f"nodes_{name}" for name in fields} | {f"target_{name}" for name in TARGETS}
    numbers = fields["nodeids"]
    if values.keys() - known or not isinstance(numbers, tuple) or not 1 < len(numbers) <= MOST_NODES:
        return None
    if any(not isinstance(each, tuple) or len(each) != len(numbers) for each in fields.values()):
        return None
    if len(set(numbers)) != len(numbers) or not _is_one_number(values):
        return None
    leaves = _leaves(values)
    branches = {
        number: _Branch(*entry)
        for number, *entry in zip(numbers, *(fields[name] for name in FIELDS), strict=True)
        if entry[0] != "LEAF"
    }
    below = [child for branch in branches.values() for child in (branch.yes, branch.no)]
    roots = set(numbers) - set(below)
    is_tree = len(roots) == 1 and len(below) == len(set(below)) == len(numbers) - 1 and set(below) <= set(numbers)
    if leaves is None or not is_tree or leaves.keys() != set(numbers) - branches.keys():
        return None
    if any(
        branch.mode not in MODES or not 0 <= branch.feature < width or not np.isfinite(branch.limit)
        for branch in branches.values()
    ):
        return None
    return _Tree(roots.pop(), branches, leaves) if branches else None


MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")
TARGETS = ("ids", "nodeids", "weights")
"""The attributes `target_` with an entry for each leaf."""


def _is_one_number(values: Mapping[str, Any]) -> bool:
    """Whether one tree gives one number, and NaN goes to the false side."""
    trees = {*(values.get("nodes_treeids") or ()), *(values.get("target_treeids") or ())}
    plain = {"n_targets": 1, "aggregate_function": "SUM", "post_transform": "NONE"}
    return (
        len(trees) <= 1
        and all(values.get(name, value) == value for name, value in plain.items())
        and not any(values.get("nodes_missing_value_tracks_true") or ())
    )


def _leaves(values: Mapping[str, Any]) -> dict[int, float] | None:
    """The weight of each leaf; None where one has several, or one that a sum from 0 would change."""
    listed: list[Any] = [values.get(f"target_{name}") for name in TARGETS]
    if not all(isinstance(each, tuple) for each in listed):
        return None
    targets, numbers, weights = listed
    if any(targets) or len(set(numbers)) != len(numbers) or not len(targets) == len(numbers) == len(weights):
        return None
    array = np.array(weights, np.float32)
    if not np.isfinite(array).all() or (np.signbit(array) & (array == 0)).any():
        return None
    return dict(zip(numbers, weights, strict=True))
