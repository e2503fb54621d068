"""TreeEnsembleRegressor by Less, Where and Add, written independently of the rewrites that write such nodes.

One tree is exact; the sum of several is one over the reals, because ONNX does not state its order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sonnx.model.ir import Attribute, Node
from sonnx.numerics.formats import Array

Constants = Callable[[str, Array], str]
"""Makes a constant for a role; its name."""
DEEPEST = 100
"""Branches on the longest path of a tree that is written out."""
MISSING = "nodes_missing_value_tracks_true"
LISTS = ("nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids")
OPPOSITE = {"BRANCH_LT": "BRANCH_GTE", "BRANCH_GTE": "BRANCH_LT", "BRANCH_LEQ": "BRANCH_GT", "BRANCH_GT": "BRANCH_LEQ"}
"""What holds where a comparison of numbers does not."""
USUAL = {"n_targets": 1, "aggregate_function": "SUM", "post_transform": "NONE"}
"""Attributes that must say this, or nothing."""
ZEROS = ("target_ids",)
"""Lists that must have zeros only: one target."""
SPLIT = {"nodes_treeids": (*(f"nodes_{name}" for name in LISTS), MISSING),
         "target_treeids": ("target_nodeids", "target_weights")}  # fmt: skip
"""The lists that say the tree of each entry of others."""
SAFE_SUM = 2.0**127
"""No order of additions overflows below it."""


def ensemble_nodes(
    node: Node, shape: tuple[int, ...], values: Mapping[str, Any], constant: Constants
) -> tuple[list[Node], bool] | None:
    """The nodes, the last of which gives the value, and whether it is exact; None where the meaning is not stated."""
    numbers = {tree for name in SPLIT for tree in values.get(name) or (0,)}
    base = values.get("base_values") or ()
    weights = [abs(weight) for weight in (*(values.get("target_weights") or ()), *base)]
    if len(numbers) > 1 and not all(values.get(name) for name in SPLIT):
        return None
    if len(base) > 1 or (len(numbers) + len(base) > 1 and not sum(weights) < SAFE_SUM):
        return None
    nodes, operands = list[Node](), list[str]()
    for tree in sorted(numbers):
        own = _of_tree(values, tree)
        named = f"tree {tree} " if len(numbers) > 1 else ""
        written = None if own is None else _tree_value(node, shape, own, _labelled(constant, named), named)
        if written is None:
            return None
        nodes += written[0]
        operands.append(written[1])
    operands += [constant("base", np.full((shape[0], 1), number, np.float32)) for number in base]
    total = operands[0]
    for place, operand in enumerate(operands[1:], 1):
        output = f"{node.outputs[0]} (sum {place})"
        nodes.append(Node("", "Add", "", "", (total, operand), (output,), ()))
        total = output
    return (nodes, len(operands) == 1) if nodes else None


def _labelled(constant: Constants, label: str) -> Constants:
    return lambda role, array: constant(f"{label}{role}", array)


def _of_tree(values: Mapping[str, Any], tree: int) -> dict[str, Any] | None:
    """The attributes with the entries of one tree alone; None where lists have other lengths."""
    own = {name: value for name, value in values.items() if name not in SPLIT and name != "base_values"}
    for places, names in SPLIT.items():
        trees = values.get(places)
        for name in names:
            entries = values.get(name)
            if trees is None or entries is None:
                continue
            if len(entries) != len(trees):
                return None
            own[name] = tuple(each for each, number in zip(entries, trees, strict=True) if number == tree)
    return own


def _tree_value(
    node: Node, shape: tuple[int, ...], values: Mapping[str, Any], constant: Constants, label: str
) -> tuple[list[Node], str] | None:
    """The nodes of one tree, and the name of its value; None where the meaning is not stated for the attributes.

    The value is the weight of one leaf: a sum of one number.  -0 is left out, because a sum may begin with 0.
    """
    listed = [values.get(f"nodes_{name}") for name in LISTS]
    leaves, numbers = values.get("target_nodeids"), values.get("target_weights")
    expected = {*USUAL, *ZEROS, MISSING, *(f"nodes_{name}" for name in LISTS), "target_nodeids", "target_weights"}
    if values.keys() - expected - {"nodes_hitrates"} or not all(isinstance(each, tuple) for each in listed):
        return None
    if len({len(each or ()) for each in listed}) != 1 or not isinstance(leaves, tuple):
        return None
    if any(values.get(name, value) != value for name, value in USUAL.items()):
        return None
    if any(any(values.get(name) or ()) for name in ZEROS) or len(numbers or ()) != len(set(leaves)):
        return None
    weights = np.array(numbers, np.float32)
    if not np.isfinite(weights).all() or (np.signbit(weights) & (weights == 0)).any() or len(leaves) != len(weights):
        return None
    listed.append(values.get(MISSING) or (0,) * len(listed[0] or ()))
    if len(listed[-1] or ()) != len(listed[0] or ()):
        return None
    branches = {each[0]: each[1:] for each in zip(*listed, strict=True)}
    if len(branches) != len(listed[0] or ()):
        return None
    roots = branches.keys() - {
        child for mode, *_, yes, no, _ in branches.values() if mode != "LEAF" for child in (yes, no)
    }
    if len(roots) != 1:
        return None
    writing = _Writing(node, shape, branches, dict(zip(leaves, weights, strict=True)), constant, label)
    value = writing.value(roots.pop(), 0)
    return (writing.nodes, value) if value else None


class _Writing:
    """The nodes while they are written, from the root down."""

    def __init__(
        self, node: Node, shape: tuple[int, ...], branches: Mapping[int, Any], weights: Mapping[int, Any],
        constant: Constants, label: str,
    ) -> None:  # fmt: skip
        self.node, self.shape, self.branches, self.weights, self.constant = node, shape, branches, weights, constant
        self.label = label
        self.nodes: list[Node] = []
        self.visited = set[int]()

    def value(self, number: int, depth: int) -> str:
        """The name of the value of a node of the tree, "" where it has none that is stated."""
        if number in self.visited or number not in self.branches or depth > DEEPEST:
            return ""
        self.visited.add(number)
        mode, feature, limit, yes, no, nan_holds = self.branches[number]
        if nan_holds:  # the opposite comparison is false for NaN
            mode, yes, no = OPPOSITE.get(mode, mode), no, yes
        if mode == "LEAF":
            weight = self.weights.get(number)
            return "" if weight is None else self._column(f"leaf {number}", weight)
        if number in self.weights or not 0 <= feature < self.shape[1] or not np.isfinite(limit):
            return ""
        sides = self.value(yes, depth + 1), self.value(no, depth + 1)
        holds = self._holds(number, mode, feature, np.float32(limit))
        return self._add("Where", (holds, *sides), f"value {number}") if all((*sides, holds)) else ""

    def _holds(self, number: int, mode: str, feature: int, limit: Any) -> str:
        column = self._add(
            "Gather", (self.node.inputs[0], self.constant(f"feature {number}", np.array([feature], np.int64))),
            f"column {number}", (Attribute("axis", "int", 1, fields=("i",)),),
        )  # fmt: skip
        if mode == "BRANCH_LT":
            return self._add("Less", (column, self._column(f"limit {number}", limit)), f"holds {number}")
        if mode == "BRANCH_GT":
            return self._add("Less", (self._column(f"limit {number}", limit), column), f"holds {number}")
        if mode == "BRANCH_LEQ":
            above = np.nextafter(limit, np.float32(np.inf))
            return self._add("Less", (column, self._column(f"limit {number}", above)), f"holds {number}")
        if mode == "BRANCH_GTE":
            below = np.nextafter(limit, np.float32(-np.inf))
            return self._add("Less", (self._column(f"limit {number}", below), column), f"holds {number}")
        return ""

    def _column(self, role: str, number: Any) -> str:
        return self.constant(role, np.full((self.shape[0], 1), number, np.float32))

    def _add(self, operator: str, inputs: tuple[str, ...], role: str, attributes: tuple[Attribute, ...] = ()) -> str:
        output = f"{self.node.outputs[0]} ({self.label}{role})"
        self.nodes.append(Node("", operator, "", "", inputs, (output,), attributes))
        return output
