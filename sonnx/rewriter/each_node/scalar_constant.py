"""Give single numbers the rank 0 that the text asks for."""

from __future__ import annotations

from dataclasses import replace

from sonnx.language.structure import equalities
from sonnx.model.ir import Tensor
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("lower-bound-scalar", "upper-bound-scalar", "scale-scalar", "constant-value-scalar", "scalars")


def rewrite(site: Site) -> Change | None:
    """The node with its constants of shape [1] as constants of shape []."""
    made, failing = site.signature, site.fails(RULES)
    if made is None or not failing:
        return None
    demanded = [
        each for rule in made.rules if rule.slug in failing and rule.require for each in equalities(rule.require)
    ]
    scalars = {left.text for left, right in demanded if right.text == "0"}
    together = any(slug.endswith(".scale-scalar") for slug in failing)  # a zero point has the shape of its scale
    inputs, constants, before = list(site.node.inputs), list[Tensor](), list[str]()
    for index, formal in enumerate(made.inputs[: len(inputs)]):
        constant = site.constant(index)
        asked = f"{formal.name}.rank" in scalars or (together and index > 0)
        if asked and constant is not None and constant.dims and set(constant.dims) == {1}:
            scalar = replace(constant_tensors.reshaped(constant, ()), name=f"{constant.name}.scalar")
            before.append(f"{formal.name} {descriptions.tensor(constant)}")
            constants.append(scalar)
            inputs[index] = scalar.name
    if not constants or (together and any(shape == (1,) for shape in _shapes(site, inputs))):
        return None
    after = ", ".join(map(descriptions.tensor, constants))
    return Change((replace(site.node, inputs=tuple(inputs)),), ", ".join(before), after, tuple(constants))


def _shapes(site: Site, inputs: list[str]) -> list[tuple[int, ...] | None]:
    """The shapes of the inputs after the first that stay what they were."""
    return [site.shape(index) for index in range(1, len(inputs)) if inputs[index] == site.node.inputs[index]]
