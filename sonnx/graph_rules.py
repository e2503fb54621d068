"""The rules of graph.toml, one function each, named as the rule: no-dead-node is `no_dead_node`.

A function gets its subject (a model, a function, a scope, a tensor or a `Call`) and yields what is wrong: a `Defect` says
what stands where.  It judges nothing else; which rules are in force is decided elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from sonnx.blame import show
from sonnx.model import DATA_FIELD, WIDTH, Attribute, Function, Model, Node, SparseTensor, Tensor, Type, byte_size
from sonnx.profile import Editions, Operator
from sonnx.quoting import escape, quote
from sonnx.scope import Scope, captured, scopes, standard
from sonnx.signature import Signature


class Defect(NamedTuple):
    """What is wrong; `place` is relative to the subject, `name` a value it is about."""

    actual: str
    place: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A node as its signature rules see it: without names of values, so that equal calls are judged once."""

    operator: str
    domain: str
    operator_set: int | None
    version: int | None
    attributes: tuple[Attribute, ...]
    inputs: tuple[bool, ...]
    """Which inputs are connected."""
    outputs: tuple[bool, ...]
    known: Operator | None
    signature: Signature | None
    status: str
    """specified, draft, planned, or "" where the edition does not name the operator."""
    imported: bool
    in_function: bool
    calls_function: bool
    strict: bool


# The file


def ir_version_known(model: Model, editions: Editions) -> Iterator[Defect]:
    if model.ir_version is None:
        yield Defect("no IR version is written")
    elif not 1 <= model.ir_version <= editions.ir_version:
        yield Defect(f"the IR version is {model.ir_version}; known are 1 to {editions.ir_version}")


def operator_set_imported_once(model: Model, editions: Editions) -> Iterator[Defect]:
    for place, imports in [("", model.imports), *((_function_place(f), f.imports) for f in model.functions)]:
        seen = Counter(standard(entry.domain) for entry in imports)
        for domain, number in seen.items():
            if number > 1:
                versions = ", ".join(str(entry.version) for entry in imports if standard(entry.domain) == domain)
                yield Defect(f"the operator set {quote(domain)} is imported {number} times, with versions {versions}", place)
        for entry in imports:
            if entry.version is None:
                yield Defect(f"the operator set {quote(entry.domain)} is imported without a version", place)


def operator_set_known(model: Model, editions: Editions) -> Iterator[Defect]:
    for place, imports in [("", model.imports), *((_function_place(f), f.imports) for f in model.functions)]:
        for entry in imports:
            version = entry.version
            if standard(entry.domain) == "" and version is not None and not 1 <= version <= editions.operator_set:
                yield Defect(f"operator set {version} is imported; known are 1 to {editions.operator_set}", place)


def no_training_info(model: Model, editions: Editions) -> Iterator[Defect]:
    if model.training_count:
        yield Defect(f"training_info has {_plural(model.training_count, 'entry', 'entries')}")


def no_unknown_field(model: Model, editions: Editions) -> Iterator[Defect]:
    for unknown in model.unknown:
        yield Defect(f"field number {unknown.number} has a content the format does not define", unknown.place)


def printable_name(model: Model, editions: Editions) -> Iterator[Defect]:
    for place, name in _names(model):
        yield Defect(f"the name is {quote(name)}", place, name)


def no_model_local_function(model: Model, editions: Editions) -> Iterator[Defect]:
    for index, function in enumerate(model.functions):
        text = f"the function {quote(function.name)} of the domain {quote(function.domain)} is defined in the model"
        yield Defect(text, f"function[{index}]")


# Functions


def function_overrides_operator(function: Function) -> Iterator[Defect]:
    if standard(function.domain) == "":
        yield Defect(f"the function {quote(function.name)} has the domain of the standard operators")


# Graphs


def graph_named(scope: Scope) -> Iterator[Defect]:
    if not scope.graph.name:
        yield Defect("the graph has no name")


def values_named(scope: Scope) -> Iterator[Defect]:
    graph = scope.graph
    for kind, values in (("input", graph.inputs), ("output", graph.outputs), ("initializer", graph.initializers)):
        for index, value in enumerate(values):
            if not value.name:
                yield Defect(f"{kind} {index} has no name", f"{kind}[{index}]")


def names_defined_once(scope: Scope) -> Iterator[Defect]:
    graph = scope.graph
    inputs, initializers = [value.name for value in graph.inputs], [tensor.name for tensor in _constants(scope)]
    produced = [name for node in graph.nodes for name in node.outputs]
    given = {*inputs, *initializers}
    seen = given | set(produced)
    outer = scope.outer
    clean = len(inputs) == len(set(inputs)) and len(initializers) == len(set(initializers))
    if clean and outer is None and len(seen) - ("" in seen and "" in produced) == len(given) + len(produced) - produced.count(""):
        return
    for kind, names in (("graph input", inputs), ("initializer", initializers)):
        for name, number in Counter(names).items():
            if name and number > 1:
                yield Defect(f"{number} entries of kind {kind} define {quote(name)}", "", name)
            elif name and outer is not None and outer.visible(name, scope.position):
                yield Defect(f"the {kind} {quote(name)} is already defined in a graph around this one", "", name)
    first: dict[str, str] = dict.fromkeys(initializers, "an initializer") | dict.fromkeys(inputs, "a graph input")
    for index, node in enumerate(graph.nodes):
        for name in filter(None, node.outputs):
            if name in first:
                yield Defect(f"{quote(name)} is already defined by {first[name]}", f"node[{index}]", name)
            elif outer is not None and outer.visible(name, scope.position):
                yield Defect(f"{quote(name)} is already defined in a graph around this one", f"node[{index}]", name)
            first.setdefault(name, f"node[{index}]")


def names_defined_before_use(scope: Scope) -> Iterator[Defect]:
    defined = scope.defined_at
    looping = _cyclic(scope) if scope.early_uses else set()
    for index, name in scope.early_uses:
        if scope.visible(name, index):
            continue
        if name not in defined:
            yield Defect(f"{quote(name)} is used and nowhere defined", f"node[{index}]", name)
        elif not (index in looping and defined[name] in looping):
            yield Defect(f"{quote(name)} is used before node[{defined[name]}] defines it", f"node[{index}]", name)


def acyclic(scope: Scope) -> Iterator[Defect]:
    cycle = sorted(_cyclic(scope)) if scope.early_uses else []
    if cycle:
        shown = ", ".join(f"node[{index}]" for index in cycle[:5]) + (", …" if len(cycle) > 5 else "")
        yield Defect(f"{_plural(len(cycle), 'node depends', 'nodes depend')} on their own outputs: {shown}")


def outputs_produced(scope: Scope) -> Iterator[Defect]:
    for index, value in enumerate(scope.graph.outputs):
        known = value.name in scope.defined_at
        if value.name and not known and not (scope.outer and scope.outer.visible(value.name, scope.position)):
            yield Defect(f"nothing produces the output {quote(value.name)}", f"output[{index}]", value.name)


def no_dead_node(scope: Scope) -> Iterator[Defect]:
    nodes = scope.graph.nodes
    wanted = {value.name for value in scope.graph.outputs} - {""}
    passed: list[int] = []
    for index in range(len(nodes) - 1, -1, -1):
        if wanted.isdisjoint(nodes[index].outputs):
            passed.append(index)
        else:
            _want(nodes[index], wanted)
    _want_unsorted([nodes[index] for index in passed], wanted)
    for index, node in enumerate(nodes):
        if wanted.isdisjoint(name for name in node.outputs if name):
            yield Defect("no graph output depends on the node", f"node[{index}]", node.name)


def no_unused_value(scope: Scope) -> Iterator[Defect]:
    graph = scope.graph
    used = {value.name for value in graph.outputs}
    used.update(chain.from_iterable([node.inputs for node in graph.nodes]))
    for node in graph.nodes:
        if node.attributes:
            used |= captured(node)
    inputs = {value.name for value in graph.inputs}
    for index, value in enumerate(graph.inputs):
        if value.name and value.name not in used:
            yield Defect(f"no node uses the graph input {quote(value.name)}", f"input[{index}]", value.name)
    for index, tensor in enumerate(_constants(scope)):
        if tensor.name and tensor.name not in used and tensor.name not in inputs:
            yield Defect(f"no node uses the initializer {quote(tensor.name)}", f"initializer[{index}]", tensor.name)


def consistent_declarations(scope: Scope) -> Iterator[Defect]:
    graph, declared = scope.graph, scope.declared
    values = (*graph.inputs, *graph.outputs, *graph.value_info)
    for value in values if len(declared) < len(values) else ():
        if value.name and not _agree(declared[value.name], value.type):
            difference = f"{_show(declared[value.name])} and {_show(value.type)}"
            yield Defect(f"{quote(value.name)} is declared as {difference}", "", value.name)
    for tensor in graph.initializers:
        declaration = declared.get(tensor.name)
        if declaration is not None and not _fits(tensor, declaration):
            said = f"{quote(tensor.name)} is declared as {_show(declaration)}"
            constant = _show(Type("tensor", tensor.element, tensor.dims))
            yield Defect(f"{said}, its initializer is {constant}", "", tensor.name)


# Tensors


def tensor_data(tensor: Tensor) -> Iterator[Defect]:
    if any(extent < 0 for extent in tensor.dims):
        yield Defect(f"the dimensions are {show(tensor.dims)}")
        return
    if tensor.element is None or tensor.element.startswith("type "):
        yield Defect(f"the element type is {tensor.element or 'not stated'}")
        return
    if tensor.segment:
        yield Defect("the tensor is stored in segments")
    if tensor.external is not None:
        return
    if len(tensor.stored) > 1:
        yield Defect(f"values stand in {' and '.join(tensor.stored)}")
    wrong = [name for name in tensor.stored if name not in ("raw_data", DATA_FIELD[tensor.element])]
    if wrong:
        yield Defect(f"values of type {tensor.element} stand in {' and '.join(wrong)}")
    elif tensor.misfit is not None:
        yield Defect(f"entry {tensor.misfit[0]} is {tensor.misfit[1]}, which {tensor.element} cannot hold")
    elif len(tensor.stored) <= 1:
        yield from _stored_size(tensor)


def _stored_size(tensor: Tensor) -> Iterator[Defect]:
    asked = f"the dimensions {show(tensor.dims)} of type {tensor.element} ask for"
    if tensor.element == "string":
        if byte_size("int8", tensor.dims) != len(tensor.strings):
            yield Defect(f"{asked} another number of strings than the {len(tensor.strings)} stored")
        return
    wanted = byte_size(tensor.element or "", tensor.dims)
    stored = 0 if tensor.data is None else len(tensor.data)
    if stored != wanted:
        yield Defect(f"{asked} {_bytes(wanted)}, {stored} are stored")


def _bytes(number: int | None) -> str:
    return "more bytes than a file can hold" if number is None else _plural(number, "byte")


def external_data(tensor: Tensor) -> Iterator[Defect]:
    external = tensor.external
    if external is None:
        return
    parts = external.location.replace("\\", "/").split("/")
    if not external.location or ".." in parts or parts[0] == "" or ":" in parts[0]:
        yield Defect(f"the location is {quote(external.location)}")
    for key in ("offset", "length"):
        if key in dict(external.entries) and (getattr(external, key) is None or getattr(external, key) < 0):
            yield Defect(f"{key} is {quote(dict(external.entries)[key])}, no number of bytes")
    inside = [name for name in tensor.stored if name != "external_data"]
    if inside:
        yield Defect(f"the tensor is stored outside the file and also in {' and '.join(inside)}")
    if external.length is not None and tensor.element in WIDTH and min(tensor.dims, default=0) >= 0:
        wanted = byte_size(tensor.element, tensor.dims)
        if external.length != wanted:
            yield Defect(f"length is {external.length}, the dimensions {show(tensor.dims)} ask for {_bytes(wanted)}")


# Nodes


def operator_named(call: Call) -> Iterator[Defect]:
    if not call.operator:
        yield Defect("the node names no operator")
    if not any(call.outputs):
        yield Defect("the node has no output")


def operator_set_imported(call: Call) -> Iterator[Defect]:
    if not call.imported:
        yield Defect(f"the operator set {quote(call.domain)} is not imported")


def operator_in_profile(call: Call) -> Iterator[Defect]:
    if call.calls_function:
        yield Defect(f"the node calls the model-local function {quote(call.operator)}")
    elif call.domain != "":
        yield Defect(f"the operator {quote(call.operator)} is of the domain {quote(call.domain)}")
    elif call.status == "planned":
        yield Defect(f"the operator {quote(call.operator)} is planned for the profile and not specified yet")
    elif not call.status and call.operator:
        yield Defect(f"the operator {quote(call.operator)} is not one of the profile")


def operator_version(call: Call) -> Iterator[Defect]:
    known = call.known
    if known is None or call.operator_set is None:
        return
    if call.version is None:
        yield Defect(f"operator set {call.operator_set} has no {known.name}")
    elif call.strict and call.version != known.specified:
        yield Defect(f"version {call.version} is in force; the text specifies {known.specified}")


def known_attribute(call: Call) -> Iterator[Defect]:
    if call.signature is None:
        return
    names = {parameter.name for parameter in call.signature.attributes}
    for attribute in call.attributes:
        if attribute.name not in names:
            has = f"it has {', '.join(sorted(names))}" if names else "it has none"
            yield Defect(f"the attribute {quote(attribute.name)} is unknown to version {call.version}; {has}")


def attribute_once(call: Call) -> Iterator[Defect]:
    for name, number in Counter(attribute.name for attribute in call.attributes).items():
        if number > 1:
            yield Defect(f"the attribute {quote(name)} is written {number} times")


def attribute_kind(call: Call) -> Iterator[Defect]:
    wanted: Mapping[str, str] = (
        {} if call.signature is None else {each.name: each.kind for each in call.signature.attributes}
    )
    for attribute in call.attributes:
        kind = wanted.get(attribute.name, attribute.kind)
        if attribute.kind == "undefined":
            yield Defect(f"the attribute {quote(attribute.name)} states no kind")
        elif attribute.kind != kind:
            yield Defect(f"the attribute {quote(attribute.name)} is of kind {attribute.kind}, the operator asks for {kind}")
        elif not attribute.reference and not _holds_its_kind(attribute):
            yield Defect(
                f"the attribute {quote(attribute.name)} of kind {attribute.kind} holds "
                f"{' and '.join(attribute.fields) or 'no value'}"
            )


def attribute_reference(call: Call) -> Iterator[Defect]:
    if call.in_function:
        return
    for attribute in call.attributes:
        if attribute.reference:
            yield Defect(f"the attribute {quote(attribute.name)} refers to {quote(attribute.reference)} of a caller")


def input_count(call: Call) -> Iterator[Defect]:
    if call.signature is None:
        return
    inputs = call.signature.inputs
    least, most = _bounds(inputs)
    present = len(call.inputs)
    if present < least or (most is not None and present > most):
        yield Defect(f"the node has {_plural(present, 'input')}, the operator takes {_range(least, most)}")
        return
    for index, connected in enumerate(call.inputs):
        formal = inputs[min(index, len(inputs) - 1)]
        if not connected and not formal.optional:
            yield Defect(f"input {index} ({formal.name}) is not connected")


def output_count(call: Call) -> Iterator[Defect]:
    if call.signature is None:
        return
    outputs = call.signature.outputs
    least = max([index + 1 for index, output in enumerate(outputs) if not output.optional], default=0)
    if not least <= len(call.outputs) <= len(outputs):
        yield Defect(f"the node has {_plural(len(call.outputs), 'output')}, the operator gives {_range(least, len(outputs))}")
        return
    for index, (named, formal) in enumerate(zip(call.outputs, outputs, strict=False)):
        if not named and not formal.optional:
            yield Defect(f"output {index} ({formal.name}) has no name")


# Helpers


def _want(node: Node, wanted: set[str]) -> None:
    wanted.update(node.inputs)
    if node.attributes:
        wanted |= captured(node)
    wanted.discard("")


def _want_unsorted(passed: list[Node], wanted: set[str]) -> None:
    """Where nodes are not sorted, a node passed over may be wanted by one before it, and so on."""
    makers: dict[str, list[Node]] = {}
    for node in passed:
        for name in node.outputs:
            makers.setdefault(name, []).append(node)
    waiting = [name for name in makers if name in wanted]
    while waiting:
        for node in makers.pop(waiting.pop(), ()):
            more: set[str] = set()
            _want(node, more)
            waiting.extend(more - wanted)
            wanted |= more


def _bounds(inputs: tuple[object, ...]) -> tuple[int, int | None]:
    """The least and largest number of inputs; how often a repeated input may stand is a rule of its operator."""
    least = max([i + 1 for i, each in enumerate(inputs) if not (each.optional or each.variadic)], default=0)  # type: ignore[attr-defined]
    return least, None if any(each.variadic for each in inputs) else len(inputs)  # type: ignore[attr-defined]


def _range(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} or more"
    return str(least) if least == most else f"{least} to {most}"


def _plural(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _function_place(function: Function) -> str:
    return f"function {quote(function.name)}"


def _constants(scope: Scope) -> tuple[Tensor | SparseTensor, ...]:
    return (*scope.graph.initializers, *scope.graph.sparse_initializers)


_FIELD = {
    "float": "f", "int": "i", "string": "s", "tensor": "t", "graph": "g", "sparse_tensor": "sparse_tensor",
    "type_proto": "tp", "floats": "floats", "ints": "ints", "strings": "strings", "tensors": "tensors",
    "graphs": "graphs", "sparse_tensors": "sparse_tensors", "type_protos": "type_protos",
}  # fmt: skip
"""The protobuf field that holds a value of each kind (ONNX IR, AttributeProto)."""


def _holds_its_kind(attribute: Attribute) -> bool:
    """A list may be empty, and then no field is there."""
    field = _FIELD.get(attribute.kind)
    return attribute.fields == (field,) or (attribute.fields == () and field == attribute.kind)


def _fits(tensor: Tensor, declaration: Type) -> bool:
    if declaration.kind != "tensor" or declaration.element not in (None, tensor.element):
        return declaration.kind == "not stated"
    shape = declaration.shape
    if shape is None:
        return True
    return len(shape) == len(tensor.dims) and all(
        extent == dimension for extent, dimension in zip(tensor.dims, shape, strict=True) if isinstance(dimension, int)
    )


def _agree(left: Type, right: Type) -> bool:
    """Whether nothing contradicts: what is not stated, or stated as a symbol, contradicts nothing."""
    if left == right or "not stated" in (left.kind, right.kind):
        return True
    if left.kind != right.kind or (left.element != right.element and None not in (left.element, right.element)):
        return False
    if left.shape is None or right.shape is None:
        return left.kind in ("tensor", "sparse tensor")  # types that hold others are compared as a whole
    pairs = zip(left.shape, right.shape, strict=False)
    numbers = [(a, b) for a, b in pairs if isinstance(a, int) and isinstance(b, int)]
    return len(left.shape) == len(right.shape) and all(a == b for a, b in numbers)


def _show(type_: Type) -> str:
    if type_.shape is None:
        return f"{type_.element or type_.kind} without shape"
    return f"{type_.element or type_.kind} [{', '.join('?' if d is None else escape(str(d)) for d in type_.shape)}]"


def _cyclic(scope: Scope) -> set[int]:
    """The nodes on a cycle: what remains when nodes without waiting predecessors, and without successors, are taken away."""
    nodes, defined = scope.graph.nodes, scope.defined_at
    before = [
        {at for name in node.inputs if (at := defined.get(name, -1)) >= 0} for node in nodes
    ]
    remaining = _peel(before)
    after: list[set[int]] = [set() for _ in nodes]
    for index in remaining:
        for source in before[index] & remaining:
            after[source].add(index)
    return remaining & _peel(after)


def _peel(edges: list[set[int]]) -> set[int]:
    """The indices left when those all of whose edges lead to peeled ones are peeled, again and again."""
    users: list[list[int]] = [[] for _ in edges]
    open_edges = [len(targets) for targets in edges]
    for index, targets in enumerate(edges):
        for target in targets:
            users[target].append(index)
    ready = [index for index, number in enumerate(open_edges) if number == 0]
    left = set(range(len(edges)))
    while ready:
        index = ready.pop()
        left.discard(index)
        for user in users[index]:
            open_edges[user] -= 1
            if open_edges[user] == 0:
                ready.append(user)
    return left


def _names(model: Model) -> Iterator[tuple[str, str]]:
    """The names that do not print, each with its place; whole lists are passed over where all do."""
    for index, entry in enumerate(model.imports):
        yield from _unprintable(f"opset_import[{index}]", (entry.domain,))
    for index, function in enumerate(model.functions):
        defaults = tuple(attribute.name for attribute in function.defaults)
        domains = tuple(entry.domain for entry in function.imports)
        own = (function.domain, function.overload, *function.attributes, *defaults, *domains)
        yield from _unprintable(f"function[{index}]", own)
    for scope in scopes(model):
        graph = scope.graph
        yield from _unprintable(scope.place, (graph.name,))
        for kind in ("input", "output", "value_info", "initializer", "sparse_initializer"):
            listed = getattr(graph, kind if kind == "value_info" else f"{kind}s")
            if not "".join([value.name for value in listed]).isprintable():
                for index, value in enumerate(listed):
                    yield from _unprintable(f"{scope.place}/{kind}[{index}]", (value.name,))
        for value in {id(each.type): each for each in (*graph.inputs, *graph.outputs, *graph.value_info)}.values():
            symbols = tuple(dimension for dimension in value.type.shape or () if isinstance(dimension, str))
            yield from _unprintable(f"{scope.place}/{escape(value.name)}", symbols)
        if not "".join(chain.from_iterable(map(_node_names, graph.nodes))).isprintable():
            for index, node in enumerate(graph.nodes):
                yield from _unprintable(scope.node_place(index), _node_names(node))


def _node_names(node: Node) -> tuple[str, ...]:
    names = (node.name, node.operator, node.domain, node.overload, *node.inputs, *node.outputs)
    return (*names, *[attribute.name for attribute in node.attributes]) if node.attributes else names


def _unprintable(place: str, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys(names):
        if not name.isprintable():
            yield place, name
