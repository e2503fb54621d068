"""How far values of the rewritten model are from those of the original, where rewrites round in another way.

The values that such rewrites compute, and the graph outputs, are outputs of both models for the comparison of terms: it
shows that their ideal values are equal, and bounds the difference of any two implementations on the box.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import isfinite

from msgspec.structs import replace

from sonnx.base.errors import BadInput, Stop
from sonnx.equivalence.decision import compare_models
from sonnx.equivalence.options import EquivalenceOptions
from sonnx.equivalence.sides import side_of
from sonnx.model.ir import Model, ValueInfo
from sonnx.numerics.enclosures.options import DEFAULT_HYPOTHESES
from sonnx.numerics.formats import ELEMENTS, format_of

HYPOTHESES = DEFAULT_HYPOTHESES
"""What is assumed of the implementations."""


def certified_differences(
    original: Model, rewritten: Model, names: Iterable[str], box: Collection[str], edition: str
) -> dict[str, float]:
    """At least the difference of any implementations of both models, by value, for those that are bounded.

    Raises:
        BadInput: the box does not fit the model.
    """
    types = {value.name: value.type for value in (*rewritten.graph.value_info, *rewritten.graph.outputs)}
    outputs = [value.name for value in original.graph.outputs]
    inner = [name for name in dict.fromkeys(names) if name in types and name not in outputs]
    numbers = [name for name in (*outputs, *inner) if name in types and _is_float(types[name].element)]
    added = tuple([ValueInfo(name, types[name]) for name in numbers])
    sides = []
    for model, called in ((original, "original"), (rewritten, "rewritten")):
        sides.append(side_of(replace(model, graph=replace(model.graph, outputs=added)), called, "", None))
    options = EquivalenceOptions(edition=edition, box=tuple(box), runs=0, hypotheses=HYPOTHESES)
    try:
        equivalence = compare_models(sides[0], sides[1], options)
    except BadInput:
        raise
    except Stop:
        return {}
    apart = {output.first: output.difference for output in equivalence.outputs}
    return {name: most for name, most in apart.items() if most is not None and isfinite(most)}


def _is_float(element: str | None) -> bool:
    kind = ELEMENTS.get(element or "")
    return kind is not None and format_of(kind) is not None
