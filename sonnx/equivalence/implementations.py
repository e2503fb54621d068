"""A bound on the difference of any two implementations of two models, on a box of inputs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sonnx.base.errors import BadInput, Stop
from sonnx.base.escaping import quote
from sonnx.bounds.analysis import Analyser
from sonnx.bounds.box import box_of_texts
from sonnx.bounds.domain import BoundsDomain
from sonnx.equivalence.interpretation.model_terms import with_sorted_nodes
from sonnx.equivalence.options import EquivalenceOptions
from sonnx.equivalence.sides import Pairing, Side
from sonnx.numerics.application import NoValue
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.enclosures.values import Value
from sonnx.numerics.formats import Array

Domains = tuple[type[BoundsDomain], type[BoundsDomain]]
"""The domains of ranges and errors for both models."""

IDEAL: Domains = (BoundsDomain, BoundsDomain)
"""Those of models whose ideal values are what their nodes compute without rounding."""


def largest_differences(
    first: Side, second: Side, pairing: Pairing, options: EquivalenceOptions, domains: Domains, *, exact: bool
) -> dict[str, float]:
    """At least the difference of any two implementations, by output of the first model: both errors, and the distance
    of the ideal values.

    Args:
        first: the first model.
        second: the second model.
        pairing: of their inputs and outputs.
        options: the box and the hypotheses.
        domains: of ranges and errors for each model; by them both have the same ideal values.
        exact: the ideal values are equal; else their distance is at most that of the ends of their ranges.

    Raises:
        BadInput: the box does not fit the model.
    """
    hypotheses, values = hypotheses_named(options.hypotheses), list[Mapping[str, Value]]()
    boxes = [*options.box], [_renamed(text, pairing.inputs) for text in options.box]
    for side, texts, domain in zip((first, second), boxes, domains, strict=True):
        box = box_of_texts(side.model, texts, _no_file)
        try:
            analyser = Analyser(with_sorted_nodes(side.model), hypotheses, side.folder, options.edition)
            # A reference run has the ideal values of BoundsDomain, and no others.
            values.append(analyser.run(box, domain, around=domain is BoundsDomain).values)
        except (Stop, NoValue):
            return {}
    differences: dict[str, float] = {}
    for name, partner in pairing.outputs.items():
        own, theirs = values[0].get(name), values[1].get(partner)
        if own is None or theirs is None or own.unbounded or theirs.unbounded:
            continue
        apart = np.zeros(()) if exact else np.maximum(own.high - theirs.low, theirs.high - own.low)
        ends = own.computed_ends, theirs.computed_ends
        between = np.maximum(ends[0][1] - ends[1][0], ends[1][1] - ends[0][0])
        most = np.minimum(own.error + theirs.error + np.maximum(apart, 0.0), between) * (1 + 2.0**-40)
        differences[name] = float(most.max(initial=0.0))
    return differences


def _renamed(text: str, names: Mapping[str, str]) -> str:
    name, equals, rest = text.partition("=")
    return f"{names.get(name, name)}{equals}{rest}"


def _no_file(name: str) -> Array:
    raise BadInput(f"--box takes NAME=[LOW,HIGH], not the file {quote(name)}")
