"""Rules of ONNX about the types that a file declares.

Each public function decides the rule of its name in restrictions/graph.toml and yields the violations.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonnx.base.escaping import escape, quote
from sonnx.checker.verdicts import Violation
from sonnx.model.ir import NOT_STATED, Model, Type
from sonnx.model.scopes import Scope
from sonnx.profile.definitions import Editions

KEYS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "string"})
"""The element types that a key of a map may have."""
WITH_SHAPE = ("tensor", "sparse tensor")


def interface_declared(model: Model, editions: Editions) -> Iterator[Violation]:
    for kind, listed in (("input", model.graph.inputs), ("output", model.graph.outputs)):
        for index, value in enumerate(listed):
            place = f"graph/{kind}[{index}]"
            named = f"the {kind} {quote(value.name)} of the main graph"
            bare = value.type.shape is None or (kind == "input" and value.name in model.without_shape)
            if value.type == NOT_STATED or value.type.kind == "not stated":
                yield Violation(f"{named} has no type", place, value.name)
            elif value.type.kind in WITH_SHAPE and bare:
                yield Violation(f"{named} has no shape", place, value.name)


def types_complete(scope: Scope) -> Iterator[Violation]:
    graph, known = scope.graph, dict[Type, str]()
    for kind, listed in (("input", graph.inputs), ("output", graph.outputs), ("value_info", graph.value_info)):
        for index, value in enumerate(listed):
            defect = known.get(value.type)
            if defect is None:
                defect = known[value.type] = "" if value.type.kind == "not stated" else _defect(value.type)
            if defect:
                yield Violation(f"the type of {quote(value.name)} {defect}", f"{kind}[{index}]", value.name)
    for index, node in enumerate(graph.nodes):
        for attribute in node.attributes:
            for item in attribute.items if attribute.kind.startswith("type_proto") else ():
                defect = _defect(item) if isinstance(item, Type) else ""
                if defect:
                    text = f"the type in the attribute {quote(attribute.name)} {defect}"
                    yield Violation(text, f"node[{index}]", node.name, node.operator)


def _defect(type_: Type) -> str:
    """What a type lacks, as the end of a sentence; "" where it is complete."""
    if type_.kind == "not stated":
        return "has a part without a type"
    if type_.kind in WITH_SHAPE:
        if type_.element is None:
            return "has no element type"
        return f"has the element type {_number(type_.element)}, which ONNX does not define" if _unknown(type_) else ""
    if type_.kind == "map":
        if type_.key is None:
            return "has keys without an element type"
        if type_.key not in KEYS:
            return f"has keys of type {escape(_number(type_.key))}; they must be integers or strings"
    return "" if type_.inner is None else _defect(type_.inner)


def _unknown(type_: Type) -> bool:
    return type_.element is not None and type_.element.startswith("type ")


def _number(element: str) -> str:
    return element.removeprefix("type ")
