"""TreeEnsembleRegressor: for each tree a choice among the weights of its leaves, by Less and Where.

The value of one tree is the weight of a leaf, which no sum rounds; each comparison is one by Less: x <= v is x < w for
the next number w above v.  A comparison with NaN is false, as that of the text; where NaN goes to the true side, the
opposite comparison chooses between the exchanged sides.

ONNX does not state in which order the values of several trees are added: their sum keeps the ideal value.
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
"""Nodes of all trees of the largest ensemble."""
FIELDS = ("modes", "featureids", "values", "truenodeids", "falsenodeids")
"""The attributes `nodes_` with an entry for each node, besides its number."""
WITHOUT_EFFECT = frozenset({"nodes_hitrates", "n_targets", "aggregate_function",
                            "post_transform"})  # fmt: skip
"""Attributes that change nothing where trees give one number."""
UP, DOWN = np.float32(np.inf), np.float32(-np.inf)


class _Branch(NamedTuple):
    """A comparison of a feature, and the nodes where it holds and where not."""

    mode: str
    feature: int
    limit: float
    yes: int
    no: int
    missing: int

    @property
    def nan_holds(self) -> bool:
        """Whether NaN goes to the true side."""
        return self.missing != 0

    @property
    def below(self) -> bool:
        """Whether the feature is on the left of Less, not the limit."""
        return (self.mode in ("BRANCH_LEQ", "BRANCH_LT")) != self.nan_holds

    @property
    def less_limit(self) -> Any:
        """The number that Less takes: the comparison of the mode, or its opposite where NaN holds."""
        limit = np.float32(self.limit)
        if (self.mode in ("BRANCH_LEQ", "BRANCH_GTE")) == self.nan_holds:
            return limit
        return np.nextafter(limit, UP if self.below else DOWN)

    @property
    def sides(self) -> tuple[int, int]:
        """The nodes where Less holds and where not."""
        return (self.no, self.yes) if self.nan_holds else (self.yes, self.no)


class _Tree(NamedTuple):
    """A tree: its number, its root, its branches, and the weights of its leaves, by the numbers of the nodes."""

    number: int
    root: int
    branches: Mapping[int, _Branch]
    leaves: Mapping[int, float]


@rewrite("chosen-leaf", Trigger.RULE_FAILS)
def chosen_leaf(site: Site) -> Replacement | None:
    """One tree: Where for each branch, from the leaves to the root."""
    trees = _written_trees(site)
    if len(trees) != 1 or not trees[0].branches or "base_values" in site.attributes:
        return None
    writing = _Writing(site)
    writing.choice(trees[0], writing.sequence.output)
    after = f"a choice among {len(trees[0].leaves)} leaves"
    return writing.sequence.replacement(descriptions.call(site.node), after)


@rewrite("summed-trees", Trigger.RULE_FAILS)
def summed_trees(site: Site) -> Replacement | None:
    """The sum of the values of the trees and of the base value, one after another."""
    trees = _written_trees(site)
    written = site.attributes["base_values"].value if "base_values" in site.attributes else ()
    base = [number for number in written if isinstance(number, float)] if isinstance(written, tuple) else []
    if not trees or written != tuple(base) or len(base) > 1 or len(trees) + len(base) < 2:
        return None
    largest = sum(max(abs(weight) for weight in tree.leaves.values()) for tree in trees)
    largest += sum(abs(number) for number in base)
    if not largest < LARGEST_SUM:
        return None
    writing = _Writing(site)
    sequence = writing.sequence
    operands = [writing.choice(tree, "") for tree in trees]
    operands += [sequence.constant("base", ELEMENT, number, writing.column) for number in base]
    total = operands[0]
    for place, operand in enumerate(operands[1:], 2):
        output = sequence.output if place == len(operands) else sequence.name("sum")
        total = sequence.add(OperatorName.ADD, (total, operand), output)
    return sequence.replacement(descriptions.call(site.node), f"the sum of the values of {len(trees)} trees")


class _Writing:
    """The nodes of choices while they are written; the trees share the columns of the features."""

    def __init__(self, site: Site) -> None:
        self.shape, self.source = float_matrix(site) or (), site.node.inputs[0]
        self.sequence, self.column = NodeSequence(site.node.outputs[0], site.operator_set), (self.shape[0], 1)
        self.features: dict[int, str] = {}

    def choice(self, tree: _Tree, output: str) -> str:
        """Append what gives the value of a tree, under a name if one is asked for; its name."""
        sequence, mark = self.sequence, f"{tree.number}_" if tree.number else ""
        chosen = {
            number: sequence.constant(f"leaf{mark}{number}", ELEMENT, weight, self.column)
            for number, weight in tree.leaves.items()
        }
        for number in _from_leaves(tree):
            branch = tree.branches[number]
            limit = sequence.constant(f"limit{mark}{number}", ELEMENT, branch.less_limit, self.column)
            operands = self._feature(branch.feature), limit
            less = operands if branch.below else operands[::-1]
            holds = sequence.add(OperatorName.LESS, less, sequence.name("holds"))
            name = output if output and number == tree.root else sequence.name("chosen")
            sides = [chosen[side] for side in branch.sides]
            chosen[number] = sequence.add(OperatorName.WHERE, (holds, *sides), name)
        return chosen[tree.root]

    def _feature(self, number: int) -> str:
        """The column of a feature."""
        if number not in self.features:
            alone, span = self.shape[1] == 1, (number, number + 1)
            self.features[number] = self.source if alone else self.sequence.slice(self.source, self.shape, 1, span)
        return self.features[number]


def _from_leaves(tree: _Tree) -> Sequence[int]:
    """The branches, each behind those below it."""
    order, waiting = list[int](), [tree.root]
    while waiting:
        number = waiting.pop()
        if number in tree.branches:
            order.append(number)
            waiting += [tree.branches[number].yes, tree.branches[number].no]
    return order[::-1]


def _written_trees(site: Site) -> Sequence[_Tree]:
    """The trees of the ensemble, in order of their numbers; none where it is something that sums of choices are not."""
    values, shape = written_values(site), float_matrix(site)
    if shape is None or values is None or site.operator_set < FIRST_WITH_WHERE or len(site.node.outputs) != 1:
        return ()
    plain = {"n_targets": 1, "aggregate_function": "SUM", "post_transform": "NONE"}
    known = {*WITHOUT_EFFECT, *(f"nodes_{name}" for name in NODE_FIELDS), *(f"target_{name}" for name in TARGETS)}
    is_plain = all(values.get(name, value) == value for name, value in plain.items())
    if values.keys() - known - {"base_values"} or not is_plain:
        return ()
    missing = values.get(f"nodes_{MISSING}") or (0,) * len(values.get("nodes_nodeids") or ())
    nodes = _entries({**values, f"nodes_{MISSING}": missing}, "nodes", NODE_FIELDS)
    leaves = _entries(values, "target", TARGETS)
    if not 1 < len(nodes) <= MOST_NODES or not leaves:
        return ()
    numbers = sorted({entry[0] for entry in nodes})
    trees = [_tree(tree, _of_tree(nodes, tree), _of_tree(leaves, tree), shape[1]) for tree in numbers]
    stray = {entry[0] for entry in leaves} - set(numbers)
    return () if stray or None in trees else [tree for tree in trees if tree]


def _entries(values: Mapping[str, Any], prefix: str, names: Sequence[str]) -> Sequence[tuple[Any, ...]]:
    """The lists of attributes, entry by entry; none where one is absent or has another length."""
    listed: list[Any] = [values.get(f"{prefix}_{name}") for name in names]
    same = all(isinstance(each, tuple) and len(each) == len(listed[0]) for each in listed)
    return list(zip(*listed, strict=True)) if same else ()


def _of_tree(entries: Sequence[tuple[Any, ...]], tree: int) -> Sequence[tuple[Any, ...]]:
    """The entries of a tree, without its number."""
    return [entry[1:] for entry in entries if entry[0] == tree]


def _tree(tree: int, nodes: Sequence[tuple[Any, ...]], targets: Sequence[tuple[Any, ...]], width: int) -> _Tree | None:
    """One tree of its entries; None where they are something that no choice among leaves is."""
    numbers, leaves = [number for number, *_ in nodes], _leaves(targets)
    if len(set(numbers)) != len(numbers):
        return None
    branches = {number: _Branch(*entry) for number, *entry in nodes if entry[0] != "LEAF"}
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
    return _Tree(tree, roots.pop(), branches, leaves)


MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")
MISSING = "missing_value_tracks_true"
"""The attribute `nodes_` that says for each node whether NaN goes to the true side; absent, it never does."""
NODE_FIELDS = ("treeids", "nodeids", *FIELDS, MISSING)
"""The attributes `nodes_` with an entry for each node."""
TARGETS = ("treeids", "ids", "nodeids", "weights")
"""The attributes `target_` with an entry for each leaf."""
LARGEST_SUM = 3e38
"""Sums of less than this overflow in no order."""


def _leaves(entries: Sequence[tuple[Any, ...]]) -> dict[int, float] | None:
    """The weight of each leaf; None where one has several, or one that a sum from 0 would change."""
    if any(target for target, *_ in entries) or len({number for _, number, _ in entries}) != len(entries):
        return None
    array = np.array([weight for *_, weight in entries], np.float32)
    if not np.isfinite(array).all() or (np.signbit(array) & (array == 0)).any():
        return None
    return {number: weight for _, number, weight in entries}
