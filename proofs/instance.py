"""One call with numbers for the variables of its `Setting`: as facts the checker reads, and as a model of one node."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, prod
from typing import Any

from sonnx.proofs.elements import INFINITY, READABLE
from sonnx.proofs.obliged import ELEMENT_TYPES
from sonnx.proofs.setting import asked_constant, valued

from sonnx.build import VALUE_FIELD
from sonnx.facts import Tensor as Facts
from sonnx.model import WIDTH, Attribute, Graph, Import, Model, Node, Tensor, Type, Value
from sonnx.node_facts import RUN_TIME, environment
from sonnx.profile import Parameter
from sonnx.signature import Signature

IR_VERSION = 10
_CODES = {
    "float": "f", "double": "d", "float16": "e", "int8": "b", "int16": "h", "int32": "i", "int64": "q",
    "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
}  # fmt: skip


@dataclass(frozen=True)
class Instance:
    """The facts of one call of an operator; None among inputs and outputs is one left out."""

    made: Signature
    inputs: tuple[Facts | None, ...]
    outputs: tuple[Facts | None, ...]
    attributes: tuple[Attribute, ...]

    def names(self) -> dict[str, Any]:
        """What the rules of the operator read, as in a check."""
        return environment(self.made, self.attributes, self.inputs, self.outputs)

    def model(self) -> Model:
        """A model of this one node, in which all else conforms: every shape and type is declared."""
        made = self.made
        names = tuple(f"x{index}" if each is not None else "" for index, each in enumerate(self.inputs))
        results = tuple(f"y{index}" if each is not None else "" for index, each in enumerate(self.outputs))
        given = [(name, each) for name, each in zip(names, self.inputs, strict=True) if each is not None]
        node = Node("node", made.operator, "", "", _trimmed(names), _trimmed(results), self.attributes)
        produced = [(name, each) for name, each in zip(results, self.outputs, strict=True) if each is not None]
        graph = Graph(
            name="witness",
            inputs=tuple(Value(name, _type(each)) for name, each in given if not isinstance(each.values, tuple)),
            outputs=tuple(Value(name, _type(each)) for name, each in produced),
            value_info=(),
            initializers=tuple(_constant(name, each) for name, each in given if isinstance(each.values, tuple)),
            sparse_initializers=(),
            nodes=(node,),
        )
        return Model(IR_VERSION, (Import("", made.version),), graph)


def _trimmed(names: Sequence[str]) -> tuple[str, ...]:
    """Names left out at the end are not written at all."""
    end = max([index + 1 for index, name in enumerate(names) if name], default=0)
    return tuple(names[:end])


def _type(facts: Facts) -> Type:
    return Type("tensor", facts.type, facts.shape)  # type: ignore[arg-type]


def _constant(name: str, facts: Facts) -> Tensor:
    element, values = str(facts.type), facts.values
    assert isinstance(values, tuple)  # noqa: S101  (the caller's condition)
    data = struct.pack(f"<{len(values)}{_CODES[element]}", *values)
    return Tensor(name, element, facts.shape, ("raw_data",), memoryview(data))  # type: ignore[arg-type]


def _zeros(name: str, facts: Facts) -> Tensor:
    """A constant of zeros, or of empty strings."""
    element, size = str(facts.type), prod(facts.shape)  # type: ignore[arg-type]
    if element == "string":
        return Tensor(name, element, facts.shape, ("string_data",), strings=(b"",) * size)  # type: ignore[arg-type]
    data = bytes(ceil(size * WIDTH[element]))
    return Tensor(name, element, facts.shape, ("raw_data",), memoryview(data))  # type: ignore[arg-type]


class _Reader:
    """The parts of an instance from the values of its variables by name; one that has none is 0."""

    def __init__(self, made: Signature, codes: Mapping[str, int], values: Mapping[str, int]) -> None:
        self.made, self.values = made, values
        self.texts = {code: text for text, code in codes.items()}

    def number(self, name: str) -> int:
        return self.values.get(name, 0)

    def listed(self, name: str, length: int) -> tuple[int, ...]:
        return tuple(self.number(f"{name}.{index}") for index in range(length))

    def tensor(self, name: str) -> Facts:
        shape = self.listed(name, self.number(f"{name}.rank"))
        return Facts(ELEMENT_TYPES[self.number(f"{name}.type")], shape, RUN_TIME)

    def constant(self, parameter: Parameter) -> Facts:
        facts = self.tensor(f"{parameter.name}_input")
        return facts._replace(values=self.listed(parameter.name, self.number(f"{parameter.name}.length")))

    def formal(self, formal: Any) -> list[Facts | None]:
        if getattr(formal, "variadic", False):
            return [self.tensor(f"{formal.name}[{i}]") for i in range(self.number(f"{formal.name}.count"))]
        if formal.optional and not self.number(f"given({formal.name})"):
            return [None]
        for parameter in self.made.values:
            if parameter.name == formal.name:
                return [self.constant(parameter)]
        facts = self.tensor(formal.name)
        if formal.name in valued(self.made) and self.may_be_constant(formal.name):
            return [self.filled(facts, self.number(f"{formal.name}.value"))]
        if self.number(f"constant({formal.name})") and facts.type in _CODES:
            return [facts._replace(values=(0,) * prod(facts.shape))]  # type: ignore[arg-type]
        return [facts]

    def may_be_constant(self, name: str) -> bool:
        """Whether the variables leave it open that a value is a constant, or say so."""
        return name not in asked_constant(self.made) or bool(self.number(f"constant({name})"))

    def filled(self, facts: Facts, element: int) -> Facts:
        """A tensor of one repeated value, a constant where a check reads values of its type."""
        if facts.type not in READABLE:
            return facts
        value = element if abs(element) < INFINITY else inf if element > 0 else -inf
        return facts._replace(values=(value,) * prod(facts.shape))  # type: ignore[arg-type]

    def attribute(self, parameter: Parameter) -> Attribute:
        name, kind = parameter.name, parameter.kind
        field = VALUE_FIELD.get(kind, kind)
        if kind.endswith("s"):
            parts = [self.item(f"{name}.{index}", kind[:-1]) for index in range(self.number(f"{name}.length"))]
            return Attribute(name, kind, tuple(parts), fields=(field,) if parts else ())
        return Attribute(name, kind, self.item(name, kind), fields=(field,))

    def item(self, name: str, kind: str) -> int | float | str | Tensor:
        number = self.number(name)
        match kind:
            case "int":
                return number
            case "float":
                return float(number)
            case "string":
                code = self.number(f"{name}.text")
                return self.texts.get(code, f"text {code}")
        return _zeros(name, self.tensor(name))


def instance(made: Signature, codes: Mapping[str, int], values: Mapping[str, int]) -> Instance:
    """The call that values of the variables of a `Setting` describe; `codes` are those of its reading."""
    reader = _Reader(made, codes, values)
    return Instance(
        made=made,
        inputs=tuple(each for formal in made.inputs for each in reader.formal(formal)),
        outputs=tuple(each for formal in made.outputs for each in reader.formal(formal)),
        attributes=tuple(reader.attribute(each) for each in made.attributes if reader.number(f"written({each.name})")),
    )
