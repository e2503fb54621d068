"""Operators whose meaning `equivalent` states by steps (fused.toml), written by these steps.

What the steps are is said there, once.  Where they keep every bit, so does the rewrite; where they hold over the reals,
each step rounds, and the rewrite has an option.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from sonnx.equivalence.interpretation.attention import written_attention
from sonnx.equivalence.interpretation.fused import stated_for
from sonnx.equivalence.interpretation.written_out import WrittenOut, written_out
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Node
from sonnx.model.scopes import canonical_domain
from sonnx.numerics.formats import Array
from sonnx.profile.onnx_schemas import schema_at
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.rewrites.sums import FLOATS
from sonnx.rewriter.site import Shape, Site

BROADCASTS = 8
"""The operator set from which every operator of the steps broadcasts a number (ONNX Max-8)."""


@rewrite("stated-steps", Trigger.RULE_FAILS, makes_executable=True)
def stated_steps(site: Site) -> Replacement | None:
    """The steps that give the same bits."""
    return _steps(site, ideal=False)


@rewrite("stated-formula", Trigger.RULE_FAILS)
def stated_formula(site: Site) -> Replacement | None:
    """The steps that give the same ideal value."""
    return _steps(site, ideal=True)


def _steps(site: Site, *, ideal: bool) -> Replacement | None:
    """The nodes of the steps; None where a number of an attribute is not one of the element type."""
    node = site.node
    fused = stated_for(canonical_domain(node.domain), node.operator, node)
    if fused is None or fused.ideal != ideal or fused.axiom or not node.outputs or site.operator_set < BROADCASTS:
        return None
    label = next(filter(None, node.outputs), "")
    written = written_out(fused, node, site.inputs[0], site.operator_set, lambda role: f"{label}.{role}")
    if written is None or not written.stated or not written.nodes:
        return None
    nodes = _existing(written, site)
    if nodes is None:
        return None
    results = {0: written.result, **written.further}
    return _replacement(site, nodes, results, written.constants)


def _existing(written: WrittenOut, site: Site) -> list[Node] | None:
    """The nodes, with LayerNormalization by its own steps where the operator set does not have it; None where it lacks
    another one.
    """
    nodes: list[Node] = []
    for node in written.nodes:
        if _exists(node.operator, site.operator_set):
            nodes.append(node)
            continue
        fused = stated_for("", node.operator, node)
        first = next((facts for facts in (site.inputs[0], site.outputs[0]) if facts and facts.type in FLOATS), None)
        if fused is None or first is None:
            return None
        inner = written_out(fused, node, first, site.operator_set, partial("{}.{}".format, node.outputs[0]))
        if (
            inner is None
            or not inner.stated
            or not all(_exists(each.operator, site.operator_set) for each in inner.nodes)
        ):
            return None
        written.constants |= inner.constants
        nodes += [replace(each, outputs=node.outputs) if each.outputs == (inner.result,) else each
                  for each in inner.nodes]  # fmt: skip
    return nodes


def _exists(operator: str, operator_set: int) -> bool:
    schema = schema_at("", operator, operator_set)
    return schema is not None and not schema.deprecated


class _KnownInput(Struct, frozen=True):
    """An input as `written_attention` reads it."""

    facts: TensorFacts
    shape: Shape | None
    array: Array | None


OPERATORS_OF_ATTENTION = 13
"""The operator set from which every operator of its nodes has its present form (ONNX Softmax-13)."""


@rewrite("stated-attention", Trigger.RULE_FAILS)
def stated_attention(site: Site) -> Replacement | None:
    """Attention and other operators of transformers, by the nodes that give the same ideal value."""
    node, constants = site.node, dict[str, Array]()
    label = next(filter(None, node.outputs), "")
    if site.operator_set < OPERATORS_OF_ATTENTION:
        return None

    def constant(role: str, array: Array, narrowed: object = None) -> str:
        del narrowed  # of a comparison without narrowings only
        constants[name(role)] = array
        return name(role)

    def name(role: str) -> str:
        return f"{label}.{role.replace(' ', '').lower()}"

    written = written_attention(None, node, [*_operands(site)], constant, name)
    return None if written is None else _replacement(site, written.nodes, written.results, constants)


def _operands(site: Site) -> Iterator[_KnownInput | None]:
    for index, facts in enumerate(site.inputs):
        tensor = site.constant(index)
        array = None if tensor is None else constant_tensors.decoded(tensor)
        yield None if facts is None else _KnownInput(facts, site.shape(index), array)


def _replacement(
    site: Site, nodes: Sequence[Node], results: Mapping[int, str], arrays: Mapping[str, Array]
) -> Replacement | None:
    """The nodes with the names of the outputs for their results; None where one that is used has none, or is an
    input.
    """
    names: dict[str, str] = {}
    for index, output in enumerate(site.node.outputs):
        if output in site.used and results.get(index, "") in ("", *names, *site.node.inputs):
            return None
        if output in site.used:
            names[results[index]] = output
    listed = [
        replace(
            node,
            inputs=tuple([names.get(name, name) for name in node.inputs]),
            outputs=tuple([names.get(name, name) for name in node.outputs]),
        )
        for node in nodes
    ]
    if not names.keys() <= {name for node in nodes for name in node.outputs}:
        return None
    constants = tuple([constant_tensors.from_array(name, array) for name, array in arrays.items()])
    steps = ", ".join(dict.fromkeys(node.operator for node in nodes))
    return Replacement(tuple(listed), descriptions.call(site.node), f"its steps: {steps}", constants)
