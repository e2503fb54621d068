"""Rules about one graph: names, order, what contributes to its outputs.

Each public function is the rule of its name in restrictions/graph.toml: it yields what is wrong with its subject.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from sonnx.base.escaping import escape, plural, quote
from sonnx.checker.graph_rules.defect import Defect
from sonnx.model.ir import Node, SparseTensor, Tensor, Type
from sonnx.model.scopes import Scope, captured, standard
from sonnx.profile.catalogue import operator


def graph_named(scope: Scope) -> Iterator[Defect]:
    if not scope.graph.name:
        yield Defect("the graph has no name")


def values_named(scope: Scope) -> Iterator[Defect]:
    graph = scope.graph
    for kind in ("input", "output", "initializer"):
        for index, value in enumerate(getattr(graph, f"{kind}s")):
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
    if (
        clean
        and outer is None
        and len(seen) - ("" in seen and "" in produced) == len(given) + len(produced) - produced.count("")
    ):
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
        yield Defect(f"{plural(len(cycle), 'node depends', 'nodes depend')} on their own outputs: {shown}")


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
    for index in reversed(passed):
        node = nodes[index]
        if wanted.isdisjoint(node.outputs):
            yield Defect("no graph output depends on the node", f"node[{index}]", node.name, node.operator)


def no_unused_value(scope: Scope) -> Iterator[Defect]:
    graph = scope.graph
    used = {value.name for value in graph.outputs}
    used.update(chain.from_iterable([node.inputs for node in graph.nodes]))
    for node in graph.nodes:
        if node.attributes:
            used |= captured(node)
    inputs = {value.name for value in graph.inputs}
    for index, value in enumerate(graph.inputs if scope.outer is None else ()):  # a body's inputs are its operator's
        if value.name and value.name not in used:
            yield Defect(f"no node uses the graph input {quote(value.name)}", f"input[{index}]", value.name)
    for index, tensor in enumerate(_constants(scope)):
        if tensor.name and tensor.name not in used and tensor.name not in inputs:
            yield Defect(f"no node uses the initializer {quote(tensor.name)}", f"initializer[{index}]", tensor.name)
    for index, node in enumerate(graph.nodes):
        unused = [name for name in node.outputs if name and name not in used]
        for name in unused if not used.isdisjoint(node.outputs) else ():  # no-dead-node reports the other nodes
            yield Defect(f"no node uses the output {quote(name)} of a node", f"node[{index}]", name)
    for index, value in enumerate(graph.value_info):
        if value.name and not _is_known(scope, value.name):
            yield Defect(f"nothing makes the value {quote(value.name)}", f"value_info[{index}]", value.name)


def axis_denotations(scope: Scope) -> Iterator[Defect]:
    denoted = {name: type_.denotations for name, type_ in scope.declared.items() if type_.denotations}
    for index, node in enumerate(scope.graph.nodes if denoted else ()):
        described = operator(node.operator) if standard(node.domain) == "" else None
        for formal, name in zip(described.inputs if described else (), node.inputs, strict=False):
            written, expected = denoted.get(name, ()), formal.denotations
            wanted = [expected[min(axis, len(expected) - 1)] for axis in range(len(written))] if expected else []
            if any(said not in ("", meant) for said, meant in zip(written, wanted, strict=False)):
                said, meant = (", ".join(each or "none" for each in listed) for listed in (written, wanted))
                text = f"{formal.name} is denoted [{escape(said)}], the operator expects [{meant}]"
                yield Defect(text, f"node[{index}]", node.name, node.operator)


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


def _is_known(scope: Scope, name: str) -> bool:
    """Whether the graph, or one around it, has a value of that name."""
    found = name in scope.defined_at or name in {value.name for value in scope.graph.outputs}
    return found or (scope.outer is not None and scope.outer.visible(name, scope.position))


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


def _constants(scope: Scope) -> tuple[Tensor | SparseTensor, ...]:
    return (*scope.graph.initializers, *scope.graph.sparse_initializers)


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
    """The nodes on a cycle: what is left when nodes that wait for none, and nodes none waits for, are taken away."""
    nodes, defined = scope.graph.nodes, scope.defined_at
    before = [{at for name in node.inputs if (at := defined.get(name, -1)) >= 0} for node in nodes]
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
