"""Compute once what depends on constants only, with the reference executor.

Whole numbers and truth values are exact on every machine, so that all operators on them are folded; floating-point
results only where an operator moves elements without computing.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from sonnx.base.errors import Stop
from sonnx.executor.executor import run_model
from sonnx.language.evaluator import TensorFacts, first_unknown
from sonnx.model.ir import NOT_STATED, Graph, Import, Model, Tensor, Value, subgraphs
from sonnx.numerics.formats import Array
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("operator-in-profile",)
FIRST = True

MOVES = frozenset({
    "Concat", "ConstantOfShape", "Expand", "Flatten", "Gather", "Reshape", "Slice", "Split", "Squeeze",
    "Transpose", "Unsqueeze",
})  # fmt: skip
"""Operators that give elements of their inputs, or a stated one."""

MOST = 1 << 20
"""Elements of a result that is computed."""

WHOLE = frozenset({"bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))})


def rewrite(site: Site) -> Change | None:
    """No node: its outputs are constants."""
    node = site.node
    inputs = [site.constants[name] for name in dict.fromkeys(node.inputs) if name in site.constants]
    whole = len(inputs) == len(set(node.inputs)) > 0
    if not whole or site.call.domain or not site.world.wants_any(RULES) or next(subgraphs(node), None) is not None:
        return None
    if not all(_foldable(site, facts) for facts in site.outputs):
        return None
    found = _run(site, inputs)
    if not found or (any(values.dtype.kind not in "iub" for values in found.values()) and node.operator not in MOVES):
        return None
    constants = tuple(constant_tensors.of_array(name, values) for name, values in found.items())
    after = ", ".join(map(descriptions.tensor, constants))
    return Change((), descriptions.call(node), f"constant {after}", constants)


def _foldable(site: Site, facts: TensorFacts) -> bool:
    """Whether an output is of a kind and size that is folded, by what is known before it is computed."""
    if site.node.operator in MOVES:
        return True
    shape: Any = None if first_unknown(facts.shape) is not None else facts.shape
    return shape is not None and prod(shape) <= MOST and facts.type in WHOLE


def _run(site: Site, inputs: list[Tensor]) -> dict[str, Array]:
    """The outputs of the node alone, empty where the executor has no values for it."""
    node = site.node
    outputs = tuple(Value(name, NOT_STATED) for name in node.outputs if name)
    constants = tuple(
        replace(tensor, name=name) for name, tensor in zip(dict.fromkeys(node.inputs), inputs, strict=True)
    )
    graph = Graph("folded", (), outputs, (), constants, (), (node,))
    model = Model(10, (Import("", site.world.operator_set),), graph)
    try:
        return run_model(model, {}, None, site.world.in_force.edition.name, unchecked=True).values
    except Stop:
        return {}
