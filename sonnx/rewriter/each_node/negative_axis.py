"""Count axes from the first one.

Which parameter counts which axes is read from the operator's data file: where it says `normal(axis, X.rank)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sonnx.language.domain import Expression
from sonnx.language.structure import arguments_of
from sonnx.profile.definitions import Operator, Parameter
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site, with_attributes

RULES = ("axis-not-negative",)
THEOREM = "rewrite.negative-axis"


def rewrite(site: Site) -> Change | None:
    """The node with its negative axis brought to [0, rank - 1] by the word of the rules."""
    known, made = site.call.known, site.signature
    if known is None or made is None or not site.fails(RULES):
        return None
    for parameter in made.attributes:
        for rank in _ranks(known, parameter):
            axis = site.value(f"normal({parameter.name}, {rank})")
            if axis is not None and axis != site.known(parameter.name):
                return _written(site, parameter, axis)
    return None


def _written(site: Site, parameter: Parameter, axis: int) -> Change:
    made = constant_tensors.attribute(parameter.name, parameter.kind, axis)
    before = site.attributes.get(parameter.name)
    shown = f"{parameter.name} not written" if before is None else descriptions.attribute(before)
    return Change((with_attributes(site.node, {parameter.name: made}),), shown, descriptions.attribute(made))


def _ranks(known: Operator, parameter: Parameter) -> Iterator[str]:
    """The ranks the file counts a parameter in: the second arguments of `normal`."""
    for expression in _expressions(known):
        for axis, rank in arguments_of(expression, "normal"):
            if axis.text == parameter.name:
                yield rank.text


def _expressions(known: Operator) -> Iterator[Expression]:
    versioned: list[Mapping[int, object]] = [each.shape for each in known.outputs]
    versioned += known.define.values()
    for values in versioned:
        yield from (each for each in values.values() if isinstance(each, Expression))
    yield from (rule.require for rule in known.rules if rule.require)
