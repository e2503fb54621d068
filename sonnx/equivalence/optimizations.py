"""Whether what the optimizer of a runtime makes of a model is the same function, and which value stops to match."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from sonnx.base.errors import BadInput, Stop, Unreadable
from sonnx.base.files import sha256
from sonnx.equivalence.decision import compare_models
from sonnx.equivalence.interpretation.model_terms import terms_of
from sonnx.equivalence.options import EquivalenceOptions
from sonnx.equivalence.result import Equivalence
from sonnx.equivalence.sides import Side, paired, side_of, with_shapes
from sonnx.equivalence.terms.store import empty_store
from sonnx.equivalence.walk import Walk
from sonnx.executor.comparison import Optimization
from sonnx.executor.runtimes import LEVELS, Failure, OptimizationLevel
from sonnx.model.ir import Graph, Model
from sonnx.model.limits import Limits
from sonnx.model.reader import read


def optimizations(
    model: Model, folder: Path | None, optimized: Callable[[str], bytes], edition: str | None, limits: Limits
) -> tuple[Optimization, ...]:
    """The graph of each level of the optimizer against the model.

    Args:
        model: the model.
        folder: where its file stands.
        optimized: the optimized model file of a level; raises Failure.
        edition: whose texts define the operators.
        limits: for reading what the runtime wrote.
    """
    return tuple(_optimization(level, model, folder, optimized, edition, limits) for level in LEVELS)


def _optimization(
    level: OptimizationLevel,
    model: Model,
    folder: Path | None,
    optimized: Callable[[str], bytes],
    edition: str | None,
    limits: Limits,
) -> Optimization:
    try:
        data = optimized(level)
        second = side_of(read(data, f"the graph of level {level}", limits), level, sha256(data), None)
        first = side_of(model, "model", "", folder)
        equivalence = compare_models(first, second, EquivalenceOptions(edition))
        cut = None if equivalence.proved else first_cut(first, second, equivalence, level)
    except (Failure, Unreadable, BadInput, Stop) as reason:
        return Optimization(level, None, reason=str(reason))
    if cut is not None:
        return cut
    if equivalence.proved or equivalence.unmatched is None:
        return Optimization(level, equivalence.answer.value, equivalence.second.nodes)
    unmatched = equivalence.unmatched
    return Optimization(
        level,
        equivalence.answer.value,
        equivalence.second.nodes,
        unmatched.first,
        unmatched.second,
        reason=unmatched.reason,
    )


def first_cut(first: Side, second: Side, equivalence: Equivalence, level: OptimizationLevel) -> Optimization | None:
    """The first value of an optimized graph that does not match the value of that name in the model; None where all do.

    Fused nodes keep the name of the last value, so that the node that makes it is the transformation.  A name only
    proposes what is compared: the outputs of the models decide whether they are the same function.
    """
    first, second = with_shapes(first, equivalence.binding), with_shapes(second, equivalence.binding)
    pairing, store = paired(first.model, second.model, {}), empty_store(equivalence.edition)
    terms = [
        terms_of(side.model, store, side.folder, {name: name for name in pairing.inputs})[1] for side in (first, second)
    ]
    walk, makers = Walk(store), _makers(first.model.graph)
    for node in second.model.graph.nodes:
        for name in node.outputs:
            term, their_term = terms[0].get(name), terms[1].get(name)
            if not name or name not in makers or term is None or their_term is None:
                continue
            if "declared" not in (term.operator, their_term.operator) and (
                term is their_term or walk.matches(term, their_term)
            ):
                continue
            reason = walk.mismatches[-1].reason if walk.mismatches else "nothing is known of it"
            operators = makers[name], f"{node.domain}.{node.operator}" if node.domain else node.operator
            return Optimization(
                level, equivalence.answer.value, equivalence.second.nodes, name, name, operators, reason
            )
    return None


def _makers(graph: Graph) -> Mapping[str, str]:
    """The operator that makes each value of a graph."""
    return {name: node.operator for node in graph.nodes for name in node.outputs if name}
