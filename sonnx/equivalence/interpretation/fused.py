"""Operators that stand for several nodes, with their meaning by operators of ONNX (fused.toml)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from msgspec import Struct, convert

from sonnx.model.ir import Node

STEP = re.compile(r"(\w+) = (\w+|@\w+)\(([^;)]*)(?:;([^)]*))?\)")
"""A step of a fused operator."""

PARAMETERS = "activation_params"
"""The attribute with the parameters of an activation."""

AXES = "axes"
"""The input of a step that stands for the axes of a reduction, wherever the operator of the step has them."""

WRITTEN_OUT = frozenset({("com.microsoft", "FusedMatMul"), ("com.microsoft", "QLinearConcat"), ("", "CastLike")})
"""The operators that `expansion.py` writes out by the ranks, types and number of their inputs."""


class Fused(Struct, frozen=True):
    """A fused operator: its inputs, its steps in order, and where its text stands.

    A step is `name = Operator(inputs; attributes)`.  An input is an input of the operator, an earlier name, a number,
    or a list in brackets that follows from the shape of the first input, also behind `input|` where the input is left
    out; `axes` are those that `reduces` names.
    `@activation` is the operator that the attribute names, with the parameters that `activation_params` lists.
    An attribute is one of the fused node,
    with `|value` where its absence means another value than that of the step's operator, and `=number` a number, or
    `=number-other` a number less the integer of another attribute, 0 where it is absent.  An input with `?` may be left
    out of the step's operator; a step without another input passes its first one on.

    Attributes:
        domain: of the operator.
        operator: its name.
        inputs: the names of its inputs.
        steps: what computes the output, in order.
        source: where its text stands.
        ideal: the meaning holds over the reals: how the operator rounds is not stated.
        only: the numbers of attributes for which the meaning is stated; "last" is the last axis.
        optional: the inputs that may be left out.
        axiom: what the meaning rests on; where it is "", the meaning is assumed as it is written.
        since: the operator set from which on the operator has this meaning.
        elements: the element types of the first input for which the meaning is stated; all where there are none.
        further: attributes that the lists of the steps depend on.
        reduces: the axes of its reductions: "from-axis", all from the attribute `axis` on; "axis", that one; "spatial",
            all but the first two; "last", the last of three; "last-axis", that one; "" for those of an input or an
            attribute `axes`.
        outputs: the steps that are further outputs, by their places.
        chosen_by: the texts of attributes that choose this meaning, where an operator has several.
    """

    domain: str
    operator: str
    inputs: tuple[str, ...]
    steps: tuple[str, ...]
    source: str
    ideal: bool = False
    only: Mapping[str, Any] = {}
    optional: tuple[str, ...] = ()
    axiom: str = ""
    since: int = 1
    elements: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    reduces: Literal["", "from-axis", "axis", "spatial", "last", "last-axis"] = ""
    outputs: Mapping[int, str] = {}
    chosen_by: Mapping[str, str] = {}

    @property
    def name(self) -> str:
        """The operator with its domain, as messages name it."""
        return f"{self.domain}.{self.operator}" if self.domain else self.operator

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes that the steps use."""
        axis = (
            {"": {AXES}, "from-axis": {"axis"}, "axis": {"axis"}}.get(self.reduces, set()) if self.has_axes else set()
        )
        activation = {PARAMETERS} if any("@activation" in step for step in self.steps) else set[str]()
        words = re.findall(r"[A-Za-z_]\w*", " ".join(self.steps))
        return frozenset({*words, *self.only, *self.chosen_by, *self.further, *axis, *activation})

    @property
    def has_axes(self) -> bool:
        """Whether a step uses `axes`."""
        return any(AXES in step for step in self.steps)


class Activation(Struct, frozen=True, forbid_unknown_fields=True):
    """An operator that a fused operator may name.

    Attributes:
        name: of the operator.
        parameters: the attributes or inputs whose numbers `activation_params` lists.
        inputs_since: the operator set from which on they are inputs; None where they are attributes.
    """

    name: str
    parameters: tuple[str, ...]
    inputs_since: int | None = None


@cache
def activations() -> Mapping[str, Activation]:
    """The activations of the file, by name."""
    listed = tomllib.loads(files(__package__).joinpath("fused.toml").read_text("utf-8"))["activation"]
    return {activation.name: activation for activation in convert(listed, list[Activation])}


@cache
def fused_operators() -> Mapping[tuple[str, str], tuple[Fused, ...]]:
    """The fused operators, by domain and name; several where attributes choose the meaning."""
    fuseds = [
        Fused(
            entry["domain"],
            entry["name"],
            tuple(entry["inputs"]),
            tuple(entry["steps"]),
            entry["source"],
            entry.get("ideal", False),
            entry.get("only", {}),
            tuple(entry.get("optional", ())),
            entry.get("axiom", ""),
            entry.get("since", 1),
            tuple(entry.get("elements", ())),
            tuple(entry.get("further", ())),
            entry.get("reduces", ""),
            {int(place): step for place, step in entry.get("outputs", {}).items()},
            entry.get("chosen_by", {}),
        )
        for entry in tomllib.loads(files(__package__).joinpath("fused.toml").read_text("utf-8"))["operator"]
    ]
    listed: dict[tuple[str, str], tuple[Fused, ...]] = {}
    for fused in fuseds:
        key = fused.domain, fused.operator
        listed[key] = (*listed.get(key, ()), fused)
    return listed


def stated_for(domain: str, operator: str, node: Node) -> Fused | None:
    """The meaning of an operator that the attribute of a node chooses, the first one where none does; None for an
    operator without a stated meaning.
    """
    listed = fused_operators().get((domain, operator), ())
    values = {attribute.name: attribute.value for attribute in node.attributes}
    chosen = [each for each in listed if each.chosen_by.items() <= values.items()] if len(listed) > 1 else listed
    return next(iter(sorted(chosen, key=lambda each: -len(each.chosen_by))), None)


def has_meaning(domain: str, operator: str) -> bool:
    """Whether the meaning of an operator is stated: by a fused operator of the file, or in `expansion.py`."""
    return (domain, operator) in fused_operators() or (domain, operator) in WRITTEN_OUT
