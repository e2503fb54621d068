"""A fused operator as nodes: the steps of fused.toml, written for one call.

`equivalent` compares models by these nodes, and `fix` writes them in the place of the operator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from sonnx.equivalence.interpretation.fused import AXES, PARAMETERS, STEP, Fused, activations
from sonnx.language.evaluator import TensorFacts, first_unknown
from sonnx.model.ir import Attribute, Node
from sonnx.numerics.formats import ELEMENTS, TEXT, Array
from sonnx.operators import operator_facts

AXES_ARE_INPUT = 18
"""The operator set from which on reductions have their axes as an input; ReduceSum has it from 13 on."""
AXES_OF_SUM_ARE_INPUT = 13


@dataclass
class WrittenOut:
    """The nodes of one call in order, the constants that they need by name, and the name of the result."""

    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    result: str = ""
    further: Mapping[int, str] = field(default_factory=dict)
    """The values of further outputs, by their places."""
    stated: bool = True
    """Whether the element type has every number that an attribute gives."""


def written_out(
    fused: Fused, node: Node, first: TensorFacts | None, operator_set: int, name: Callable[[str], str]
) -> WrittenOut | None:
    """The nodes for one call; None where the meaning is not stated for it, or a shape that it needs is not known.

    Args:
        fused: the operator.
        node: the call.
        first: the facts of its first input.
        operator_set: of the model.
        name: the name of an intermediate value or of a constant, from what it is.
    """
    call = _Call.of(fused, node, first, operator_set, name)
    if call is None:
        return None
    for step in fused.steps:
        if not call.add(step):
            return None
    call.written.result = call.names[_parts(fused.steps[-1])[0]]
    call.written.further = {index: call.names[step] for index, step in fused.outputs.items()}
    return call.written


def _parts(text: str) -> tuple[str, str, list[str], list[str]]:
    """The target, the operator, the inputs and the attributes of a step."""
    match_ = STEP.fullmatch(text)
    if match_ is None:
        raise ValueError(f"the step {text!r} has another form")
    target, operator, inputs, attributes = match_.groups()
    return target, operator, _words(inputs), _words(attributes or "")


def _words(text: str) -> list[str]:
    return [word for word in (part.strip() for part in text.split(",")) if word]


def _is_stated(value: Any, stated: Any, first: TensorFacts | None) -> bool:
    """Whether an attribute has the value that is stated; "last" is the last axis of the first input."""
    rank = len(first.shape) if first is not None and isinstance(first.shape, tuple) else None
    return bool(value == stated) or (stated == "last" and (value == -1 or (rank is not None and value == rank - 1)))


@dataclass
class _Call:
    """A node of a fused operator while its steps are written out.

    Attributes:
        names: the names of values by those of inputs and steps; "" for an input that is left out.
        axes: those of reductions: the name of an input, numbers, or "" for all.
    """

    fused: Fused
    attributes: Mapping[str, Attribute]
    names: dict[str, str]
    first: TensorFacts | None
    operator_set: int
    name: Callable[[str], str]
    axes: str | tuple[int, ...] = ""
    written: WrittenOut = field(default_factory=WrittenOut)

    @classmethod
    def of(
        cls, fused: Fused, node: Node, first: TensorFacts | None, operator_set: int, name: Callable[[str], str]
    ) -> _Call | None:
        """The call before its steps; None where the meaning is stated for other attributes or inputs."""
        attributes = {attribute.name: attribute for attribute in node.attributes}
        stated = operator_facts(node.operator, node.domain).valueless_attributes
        further = [
            each for each, attribute in attributes.items()
            if each not in fused.attributes and each not in stated and attribute.value not in ((), "")
        ]  # fmt: skip
        if len(node.inputs) > len(fused.inputs) or not node.outputs or not node.outputs[0] or further:
            return None
        inputs = {**dict.fromkeys(fused.inputs, ""), **dict(zip(fused.inputs, node.inputs, strict=False))}
        if not all(inputs[each] or each in fused.optional for each in fused.inputs):
            return None
        if any(
            each in attributes and not _is_stated(attributes[each].value, value, first)
            for each, value in fused.only.items()
        ):
            return None
        if operator_set < fused.since or any(attribute.reference for attribute in attributes.values()):
            return None
        if fused.elements and (first is None or first.type not in fused.elements):
            return None
        call = cls(fused, attributes, {**inputs}, first, operator_set, name)
        return call if not fused.has_axes or call._find_axes() else None

    def _find_axes(self) -> bool:
        """Take the axes that the operator reduces; whether they are known."""
        shape, reduces, written = self._shape, self.fused.reduces, self.attributes.get("axis")
        if not reduces:
            given = self.attributes.get(AXES)
            every = () if shape is None else tuple(range(len(shape)))
            self.axes = self.names[AXES] or (every if given is None else given.value)  # type: ignore[assignment]
            return isinstance(self.axes, str | tuple)
        if shape is None:
            return False
        axis = -1 if written is None else written.value
        if type(axis) is not int or not -len(shape) <= axis < len(shape):
            return False
        first = axis % len(shape)
        self.axes = {"from-axis": tuple(range(first, len(shape))), "axis": (first,), "last": (2,),
                     "last-axis": (len(shape) - 1,),
                     "spatial": tuple(range(2, len(shape)))}[reduces]  # fmt: skip
        return bool(self.axes)

    @property
    def _shape(self) -> tuple[int, ...] | None:
        shape = None if self.first is None else self.first.shape
        if not isinstance(shape, tuple) or first_unknown(shape) is not None:
            return None
        return tuple([int(extent) for extent in shape])  # type: ignore[arg-type]  # each is a number

    def add(self, text: str) -> bool:
        """Write the node of one step, none where an input is left out, so that the first one is passed on.

        False where a part of it is not known.
        """
        target, operator, words, parameters = _parts(text)
        inputs: list[str] = []
        is_complete = True
        attributes = self._step_attributes(parameters)
        for word in words:
            if word == AXES:
                added = self._reduced_axes(operator)
                if isinstance(added, Attribute):
                    attributes.append(added)
                elif added:
                    inputs.append(added)
            elif "|[" in word:
                value, listed = self.names.get(word.partition("|")[0], ""), self._list(word.partition("|")[2][1:-1])
                if not value and listed is None:
                    return False
                inputs.append(value or self._constant(word, np.zeros(0) if listed is None else listed))
            elif re.fullmatch(r"[A-Za-z_]\w*\??", word):
                value = self.names.get(word.removesuffix("?"), "")
                is_complete = is_complete and (bool(value) or word.endswith("?"))
                inputs.append(value)
            else:
                constant = self._list(word[1:-1]) if word.startswith("[") else self._number(word)
                if constant is None:
                    return False
                inputs.append(self._constant(word, constant))
        if operator.startswith("@"):
            chosen = self.attributes.get(operator[1:])
            operator = str(chosen.value) if chosen is not None and chosen.value else ""
            if operator and not self._add_parameters(operator, inputs, attributes):
                return False
        if not operator or not is_complete:
            self.names[target] = inputs[0]
            return True
        while inputs and not inputs[-1]:
            inputs.pop()
        self.names[target] = self.name(target)
        self.written.nodes.append(Node("", operator, "", "", tuple(inputs), (self.names[target],), tuple(attributes)))
        return True

    def _add_parameters(self, activation: str, inputs: list[str], attributes: list[Attribute]) -> bool:
        """Add the parameters of an activation to its inputs or attributes; False where they are not stated."""
        listed, stated = self.attributes.get(PARAMETERS), activations().get(activation)
        numbers = () if listed is None else listed.value
        if stated is None or not isinstance(numbers, tuple) or len(numbers) != len(stated.parameters):
            return False
        kind = ELEMENTS.get(str(self.first.type)) if self.first is not None else None
        for name, number in zip(stated.parameters, numbers, strict=True):
            if stated.inputs_since is None or self.operator_set < stated.inputs_since:
                attributes.append(Attribute(name, "float", number, fields=("f",)))
            elif kind is None:
                return False
            else:
                inputs.append(self._constant(name, np.array(number).astype(kind)))
        return True

    def _reduced_axes(self, operator: str) -> str | Attribute | None:
        """The axes as the operator of a step has them: the name of an input, or an attribute; None for all of them."""
        if not self.axes:
            return None
        since = AXES_OF_SUM_ARE_INPUT if operator == "ReduceSum" else AXES_ARE_INPUT
        if isinstance(self.axes, str):
            return self.axes
        if self.operator_set < since:
            return Attribute(AXES, "ints", self.axes, fields=("ints",))
        return self._constant(AXES, np.array(self.axes, np.int64))

    def _step_attributes(self, words: Sequence[str]) -> list[Attribute]:
        """The attributes of a step: those of the fused node, what their absence means, or numbers of the step."""
        written = []
        for word in words:
            literal, is_literal, number = word.partition("=")
            name, differs, value = word.partition("|")
            if is_literal:
                whole, _, other = number.partition("-")
                subtracted = self.attributes[other].value if other in self.attributes else 0
                if type(subtracted) is int:
                    written.append(Attribute(literal, "int", int(whole) - subtracted, fields=("i",)))
            elif name in self.attributes:
                written.append(self.attributes[name])
            elif differs and value.isdecimal():
                written.append(Attribute(name, "int", int(value), fields=("i",)))
            elif differs:
                written.append(Attribute(name, "float", float(np.float32(value)), fields=("f",)))
        return written

    def _number(self, word: str) -> Array | None:
        """A number of the type of the first input, or the number of an attribute, or all of them; a text and a
        complex number have none.
        """
        kind = ELEMENTS.get(str(self.first.type)) if self.first is not None else None
        if kind is None or kind == TEXT or kind.kind == "c":
            return None
        if word.startswith("$"):
            name, _, absent = word[1:].partition("|")
            value: Any = self.attributes[name].value if name in self.attributes else float(np.float32(absent))
        else:
            value = float(word)
        with np.errstate(all="ignore"):
            number = np.array(value).astype(kind)
            self.written.stated &= bool((number.astype(np.float64) == value).all())
        return number

    def _list(self, what: str) -> Array | None:
        """A list that follows from the shape of the first input: [shape], [spatial] axes, [channels] and [groups] as
        shapes, [positions] along the second axis.
        """
        shape = self._shape
        if shape is None or len(shape) < 2 or 0 in shape:
            return None
        groups = self.attributes["num_groups"].value if "num_groups" in self.attributes else 1
        if type(groups) is not int or groups < 1 or shape[1] % groups:
            return None
        lists = {
            "shape": shape,
            "spatial": tuple(range(2, len(shape))),
            "channels": (shape[1], *[1] * (len(shape) - 2)),
            "positions": tuple(range(shape[1])),
            "groups": (shape[0], groups, prod(shape[1:]) // groups),
        }
        return np.array(lists[what], np.int64) if max(lists[what], default=0) < 2**63 else None

    def _constant(self, label: str, array: Array) -> str:
        """The name of a constant."""
        role = re.sub(r"\W+", "", label) or "number"
        name = self.name(role)
        while name in self.written.constants:
            name += "_"
        self.written.constants[name] = array
        return name
