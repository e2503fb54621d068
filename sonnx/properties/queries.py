"""Properties in VNN-LIB 2.0: tensors with types, hidden nodes, and several networks in one query.

The package vnnlib parses a query and checks its types.  Here the networks of a query become one model side by side,
whose output has the elements of all outputs and hidden nodes, and of the inputs that a comparison relates to something;
so a comparison is a row over this output, and the property is one in the form of `sonnx.properties.property`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from msgspec.structs import replace

from sonnx.base.errors import BadInput, UsageError
from sonnx.base.escaping import quote
from sonnx.executor.model_inputs import required_inputs
from sonnx.model.ir import Graph, Model, ValueInfo
from sonnx.model.scopes import holds_graph
from sonnx.model.value_names import own_names, with_own_renamed
from sonnx.properties.joined_outputs import with_outputs
from sonnx.properties.property import Property, elements_of
from sonnx.properties.vnnlib import (
    AtMostZero,
    Conjunction,
    Linear,
    cases_of_all,
    commands_of,
    linear_sum,
    number_of,
    property_of_cases,
)

VERSION = re.compile(r"\s*(?:;[^\n\r]*\s*)*\(\s*vnnlib-version\s*<")
"""The first command of a query of version 2."""
TYPES = {
    "F16": "float16", "F32": "float", "F64": "double", "BF16": "bfloat16", "I8": "int8", "I16": "int16", "I32": "int32",
    "I64": "int64", "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64", "Bool": "bool",
}  # fmt: skip
"""Element types of ONNX by the names of the package."""
REAL = "Real"
"""The type that stands for any of them: values are compared as real numbers in any case."""


class StatedQuery(NamedTuple):
    """A query as a model with one output, and a property of it.

    Attributes:
        names: of the elements of the output.
        inputs: of the elements of the inputs.
        hidden: for each hidden node its value in the model, and the shape that the query states.
    """

    model: Model
    property: Property
    names: tuple[str, ...]
    inputs: tuple[str, ...]
    hidden: tuple[tuple[str, tuple[int, ...]], ...]


class _Tensor(NamedTuple):
    """A declared tensor: the value of the joint model that it is, and whether that is an input."""

    name: str
    value: ValueInfo
    shape: tuple[int, ...]
    is_input: bool


def is_query(text: str) -> bool:
    """Whether a text is of VNN-LIB 2: it begins with its version."""
    return VERSION.match(text) is not None


def stated_query(
    text: str, models: Mapping[str, Model], model: Model, name: str, *, round_inputs: bool = False
) -> StatedQuery:
    """The model and the property that a query states.

    Args:
        text: of the query.
        models: the networks of the query that are not `model`, by name.
        model: the first network, and those that are equal to it.
        name: of the file.
        round_inputs: an input that is fixed to a decimal takes the nearest number of its element type.

    Raises:
        BadInput: the text is not such a query, or is about other tensors than the models have; with the line where the
            package states it.
        UsageError: the package vnnlib is not installed, or a network has no file.
    """
    for _ in commands_of(text):  # nesting is bounded before the parser of the package sees it
        pass
    query = _parsed(text, name)
    try:
        return _Query(query, models, model).stated(name, round_inputs)
    except BadInput as error:
        raise BadInput(f"{name}: {error}") from None


def _parsed(text: str, name: str) -> Any:
    try:
        import vnnlib
    except ImportError:
        raise UsageError("VNN-LIB 2 needs vnnlib; it comes with pip install 'sonnx[vnnlib]'") from None
    try:
        return vnnlib.parse_query_string(text)
    except vnnlib.VNNLibException as error:
        raise BadInput(f"{name}{_reason(str(error))}") from None


def _reason(text: str) -> str:
    """The first error of the package in one sentence, with its line."""
    try:
        first = json.loads(text)["errors"][0]
        place, said = first.get("line"), f"{first['message']}: {quote(first['offendingSymbol'])}; {first['hint']}"
    except (ValueError, LookupError, TypeError):
        found = re.search(r"line (\d+), column \d+: (.*)", text)
        place, said = (
            (found[1], f"{found[2]} is not the syntax of VNN-LIB 2") if found else (None, text.partition("\n")[0])
        )
    return f"{f', line {place}' if place else ''}: {said}"


class _Query:
    """A parsed query with the models of its networks."""

    def __init__(self, query: Any, models: Mapping[str, Model], model: Model) -> None:
        networks = list(query.networks)
        if not networks:
            raise BadInput("the query declares no network")
        self.models = _models_of(networks, models, model)
        self.assertions = [assertion.expr for assertion in query.assertions]
        self.tensors: dict[str, _Tensor] = {}
        self.hidden: list[tuple[str, tuple[int, ...]]] = []
        several = len(networks) > 1
        for network in networks:
            own, prefix = self.models[network.name], f"{network.name}/" if several else ""
            self._declare(network, own, prefix)
        self.same = self._same_inputs()
        self.joint = _side_by_side(self.models, {
            self.tensors[one].value.name: self.tensors[two].value.name for one, two in self.same.items()
        }) if several else model  # fmt: skip
        kept = [tensor for name, tensor in self.tensors.items() if tensor.is_input and name not in self.same]
        self.inputs = {
            (tensor.name, index): number
            for number, (tensor, index) in enumerate(
                (tensor, index) for tensor in kept for index in range(prod(tensor.shape))
            )
        }  # fmt: skip
        self.rows: dict[str, int] = {}
        self.listed: list[_Tensor] = []

    def stated(self, name: str, round_inputs: bool) -> StatedQuery:
        for tensor in self.tensors.values():
            if not tensor.is_input:
                self._row(tensor, 0)
        cases = cases_of_all([list(_cases_of(expression, self._comparison)) for expression in self.assertions])
        asked = with_outputs(self.joint, [tensor.value for tensor in self.listed])
        inputs = tuple(_element(self.tensors[name], index) for name, index in self.inputs)
        names = tuple(_element(tensor, index) for tensor in self.listed for index in range(prod(tensor.shape)))
        about = property_of_cases(name, cases, asked, round_inputs=round_inputs)
        return StatedQuery(asked, about, names, inputs, tuple(self.hidden))

    def _declare(self, network: Any, model: Model, prefix: str) -> None:
        inputs, outputs = required_inputs(model), model.graph.outputs
        for kind, declared, values in (("input", network.inputs, inputs), ("output", network.outputs, outputs)):
            if len(declared) != len(values):
                raise BadInput(
                    f"network {network.name} declares {len(declared)} {kind} tensors; its model has {len(values)}"
                )
            for each, value in zip(declared, values, strict=True):
                self._add(each, value, prefix, kind == "input")
        produced = {name for node in model.graph.nodes for name in node.outputs}
        for each in network.hidden:
            hidden = str(each.onnx_name or "").strip('"')
            if hidden not in produced:
                raise BadInput(
                    f"the model of network {network.name} has no value {quote(hidden)}, the hidden {each.name}"
                )
            known = {value.name: value for value in (*model.graph.value_info, *outputs)}
            element = TYPES.get(each.dtype.name) or next(value.type.element for value in inputs)
            stated = replace(outputs[0].type, element=element, shape=tuple(each.shape))
            self._add(each, known.get(hidden, ValueInfo(hidden, stated)), prefix, False)
            self.hidden.append((prefix + hidden, tuple(each.shape)))

    def _add(self, declared: Any, value: ValueInfo, prefix: str, is_input: bool) -> None:
        shape, element = tuple(declared.shape), value.type.element
        if declared.dtype.name != REAL and TYPES.get(declared.dtype.name) != element:
            raise BadInput(f"{declared.name} is declared as {declared.dtype.name}; the model has the type {element}")
        elements_of(value)
        if shape != value.type.shape:
            extents = ", ".join(map(str, value.type.shape or ()))
            raise BadInput(f"{declared.name} is declared with shape {[*shape]}; the model has [{extents}]")
        self.tensors[declared.name] = _Tensor(
            declared.name, replace(value, name=prefix + value.name), shape, is_input
        )  # fmt: skip

    def _same_inputs(self) -> dict[str, str]:
        """Inputs that equal an earlier input in each element, by top-level assertions."""
        pairs: dict[tuple[str, str], set[int]] = {}
        order = list(self.tensors)
        for part in _conjuncts(self.assertions):
            if type(part).__name__ == "Equal" and {type(part.lhs).__name__, type(part.rhs).__name__} == {"Var"}:
                one, two = sorted((part.lhs, part.rhs), key=lambda variable: -order.index(variable.name))
                if self.tensors[one.name].is_input and self.tensors[two.name].is_input and one.indices == two.indices:
                    pairs.setdefault((one.name, two.name), set()).add(_flat(one.indices, self.tensors[one.name].shape))
        same: dict[str, str] = {}
        for (one, two), elements in pairs.items():
            types = [self.tensors[name].value.type.element for name in (one, two)]
            whole = (
                len(elements) == prod(self.tensors[one].shape) and self.tensors[one].shape == self.tensors[two].shape
            )
            if whole and types[0] == types[1] and one not in same and one != two:
                same[one] = same.get(two, two)
        return same

    def _row(self, tensor: _Tensor, index: int) -> int:
        """The number of an element of a tensor in the joint output."""
        if tensor.name not in self.rows:
            self.rows[tensor.name] = sum(prod(each.shape) for each in self.listed)
            self.listed.append(tensor)
        return self.rows[tensor.name] + index

    def _comparison(self, terms: Mapping[tuple[str, int], Any], constant: Any, is_strict: bool) -> Conjunction:
        """The comparison of terms with 0 in numbers of inputs and of the joint output."""
        used = Linear()
        total: dict[tuple[str, int], Any] = {}
        for (name, index), factor in terms.items():
            place = self.same.get(name, name), index
            total[place] = total.get(place, 0) + factor
        total = {place: factor for place, factor in total.items() if factor}
        bounds = len(total) == 1 and next(iter(total)) in self.inputs
        for place, factor in total.items():
            used[f"X_{self.inputs[place]}" if bounds else f"Y_{self._row(self.tensors[place[0]], place[1])}"] = factor
        made = [AtMostZero(used | {"": constant}, is_strict)]
        if bounds and is_strict:  # the box has its end, and this excludes it
            [(place, factor)] = total.items()
            row = {f"Y_{self._row(self.tensors[place[0]], place[1])}": factor}
            made.append(AtMostZero(row | {"": constant}, True))
        return tuple(made)


def _models_of(networks: Sequence[Any], models: Mapping[str, Model], model: Model) -> dict[str, Model]:
    """The model of each network: the file that is verified, that of --network, or that of the one it equals."""
    found: dict[str, Model] = {}
    for number, network in enumerate(networks):
        if network.equal_to:
            if network.name in models:
                raise UsageError(f"--network {network.name}: the network is equal to {network.equal_to}")
            found[network.name] = found[network.equal_to]
        elif number == 0:
            found[network.name] = model
        elif network.name in models:
            found[network.name] = models[network.name]
        else:
            raise UsageError(f"network {network.name} has no model; --network {network.name}=FILE names it")
        if network.isometric_to:
            _require_isomorphic(network, found[network.name], found[network.isometric_to])
    unknown = models.keys() - found.keys()
    if unknown:
        raise UsageError(f"--network {min(unknown)}: the query has no such network")
    return found


def _require_isomorphic(network: Any, one: Model, two: Model) -> None:
    """Refuse networks that differ in more than weights."""

    def structure(model: Model) -> list[Any]:
        numbers: dict[str, int] = {}
        fixed = {tensor.name: ("weights", tensor.element, tensor.dims) for tensor in model.graph.initializers}
        names = [name for node in model.graph.nodes for name in (*node.inputs, *node.outputs)]
        for name in [*(value.name for value in required_inputs(model)), *names]:
            if name not in fixed:
                numbers.setdefault(name, len(numbers))
        kinds: dict[str, Any] = {**numbers, **fixed}
        return [
            (node.operator, node.domain, [kinds[name] for name in node.inputs], [kinds[name] for name in node.outputs],
             sorted((each.name, each.kind, each.kind == "tensor" or repr(each.value)) for each in node.attributes))
            for node in model.graph.nodes
        ]  # fmt: skip

    if structure(one) != structure(two):
        raise BadInput(f"network {network.name} is not isomorphic to {network.isometric_to}: their nodes differ")


def _side_by_side(models: Mapping[str, Model], same: Mapping[str, str]) -> Model:
    """The networks as one model, each name behind that of its network; inputs that are the same are one."""
    first = next(iter(models.values()))
    parts: list[Graph] = []
    for network, model in models.items():
        if any(map(holds_graph, model.graph.nodes)) or model.functions or model.graph.sparse_initializers:
            raise BadInput(f"network {network} has functions, subgraphs or sparse constants, which are not joined")
        if {(each.domain, each.version) for each in model.imports} != {
            (each.domain, each.version) for each in first.imports
        }:
            raise BadInput(f"network {network} imports other operator sets than the first one")
        parts.append(_renamed(model.graph, f"{network}/", same))
    graph = parts[0]
    for part in parts[1:]:
        graph = replace(
            graph, inputs=(*graph.inputs, *part.inputs), outputs=(*graph.outputs, *part.outputs),
            value_info=(*graph.value_info, *part.value_info), nodes=(*graph.nodes, *part.nodes),
            initializers=(*graph.initializers, *part.initializers),
        )  # fmt: skip
    return replace(first, graph=graph)


def _renamed(graph: Graph, prefix: str, same: Mapping[str, str]) -> Graph:
    names = {name: same.get(prefix + name, prefix + name) for name in own_names(graph) if name}
    inputs = tuple(value for value in graph.inputs if prefix + value.name not in same)
    outputs = tuple(replace(value, name=names[value.name]) for value in graph.outputs)
    return replace(with_own_renamed(replace(graph, inputs=inputs), names), outputs=outputs, annotations=())


def _conjuncts(expressions: Sequence[Any]) -> Iterator[Any]:
    for expression in expressions:
        if type(expression).__name__ == "And":
            yield from _conjuncts(expression.args)
        else:
            yield expression


def _cases_of(formula: Any, comparison: Any) -> list[Conjunction]:
    """The cases of a formula; a comparison becomes what `comparison` makes of its terms, constant and strictness."""
    kind = type(formula).__name__
    if kind == "And":
        return cases_of_all([_cases_of(part, comparison) for part in formula.args])
    if kind == "Or":
        return [case for part in formula.args for case in _cases_of(part, comparison)]
    difference = linear_sum(_terms(formula.lhs), _terms(formula.rhs), -1)
    opposite = {name: -factor for name, factor in difference.items()}

    def at_most_zero(linear: Linear, is_strict: bool) -> Conjunction:
        terms = {_place(name): factor for name, factor in linear.items() if name}
        return tuple(comparison(terms, linear.get("", number_of("0")), is_strict))

    match kind:
        case "LessEqual" | "LessThan":
            return [at_most_zero(difference, kind == "LessThan")]
        case "GreaterEqual" | "GreaterThan":
            return [at_most_zero(opposite, kind == "GreaterThan")]
        case "Equal":
            return [(*at_most_zero(difference, False), *at_most_zero(opposite, False))]
        case "NotEqual":
            return [at_most_zero(difference, True), at_most_zero(opposite, True)]
    raise BadInput(f"{formula} is not a comparison that is read")


def _terms(term: Any) -> Linear:
    """A linear term, by "NAME INDEX" and "" for the constant."""
    kind = type(term).__name__
    match kind:
        case "Var":
            return {f"{term.name} {_flat(term.indices, term.shape)}": number_of("1")}
        case "Float" | "Int" | "IntExpr":
            return {"": number_of(term.lexeme)}
        case "Negate":
            return {name: -factor for name, factor in _terms(term.expr).items()}
        case "Plus" | "Minus":
            parts = [*term.args] if kind == "Plus" else [term.head, *term.rest]
            total = _terms(parts[0])
            for part in parts[1:]:
                total = linear_sum(total, _terms(part), 1 if kind == "Plus" else -1)
            return total
        case "Multiply":
            factor, rest = number_of("1"), dict[str, Any]()
            for part in map(_terms, term.args):
                if part.keys() <= {""}:
                    factor *= part.get("", number_of("0"))
                elif rest:
                    raise BadInput(f"{term} is not linear")
                else:
                    rest = part
            return {name: factor * each for name, each in (rest or {"": number_of("1")}).items()}
    raise BadInput(f"{term} is not a term of numbers, variables, +, - and *")


def _place(name: str) -> tuple[str, int]:
    tensor, _, index = name.rpartition(" ")
    return tensor, int(index)


def _flat(indices: Sequence[int], shape: Sequence[int]) -> int:
    """The number of an element in row-major order."""
    number = 0
    for index, extent in zip(indices, shape, strict=True):
        number = number * extent + index
    return number


def _element(tensor: _Tensor, number: int) -> str:
    """An element of a tensor as a query names it."""
    indices = list[int]()
    for extent in reversed(tensor.shape):
        indices.insert(0, number % extent)
        number //= extent
    return f"{tensor.name}[{','.join(map(str, indices))}]" if indices else tensor.name
