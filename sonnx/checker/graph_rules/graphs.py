"""Rules about one graph: names, order of nodes, nodes and values that no output depends on.

Each public function decides the rule of its name in restrictions/graph.toml and yields the violations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from sonnx.base.escaping import escape, listed, plural, quote
from sonnx.checker.verdicts import Violation
from sonnx.model.ir import Node, SparseTensor, Tensor, Type
from sonnx.model.scopes import Scope, canonical_domain, captured
from sonnx.profile.catalogue import operator


def graph_named(scope: Scope) -> Iterator[Violation]:
    if not scope.graph.name:
        yield Violation("the graph has no name")


def values_named(scope: Scope) -> Iterator[Violation]:
    graph = scope.graph
    for kind in ("input", "output", "initializer", "sparse_initializer"):
        for index, value in enumerate(getattr(graph, f"{kind}s")):
            if not value.name:
                yield Violation(f"{kind} {index} has no name", f"{kind}[{index}]")


def names_defined_once(scope: Scope) -> Iterator[Violation]:
    graph = scope.graph
    inputs, initializers = [value.name for value in graph.inputs], [tensor.name for tensor in _constants(scope)]
    produced = [name for node in graph.nodes for name in node.outputs]
    stated = {*inputs, *initializers}
    seen = stated | set(produced)
    outer = scope.outer
    clean = len(inputs) == len(set(inputs)) and len(initializers) == len(set(initializers))
    if (
        clean
        and outer is None
        and len(seen) - ("" in seen and "" in produced) == len(stated) + len(produced) - produced.count("")
    ):
        return
    for kind, names in (("graph input", inputs), ("initializer", initializers)):
        for name, number in Counter(names).items():
            if name and number > 1:
                yield Violation(f"{number} entries of kind {kind} define {quote(name)}", "", name)
            elif name and outer is not None and outer.visible(name, scope.position):
                yield Violation(f"the {kind} {quote(name)} is already defined in a graph around this one", "", name)
    first: dict[str, str] = dict.fromkeys(initializers, "an initializer") | dict.fromkeys(inputs, "a graph input")
    for index, node in enumerate(graph.nodes):
        for name in filter(None, node.outputs):
            if name in first:
                yield Violation(f"{quote(name)} is already defined by {first[name]}", f"node[{index}]", name)
            elif outer is not None and outer.visible(name, scope.position):
                yield Violation(f"{quote(name)} is already defined in a graph around this one", f"node[{index}]", name)
            first.setdefault(name, f"node[{index}]")


def names_defined_before_use(scope: Scope) -> Iterator[Violation]:
    defined = scope.defined_at
    looping = _cyclic(scope) if scope.early_uses else set()
    for index, name in scope.early_uses:
        if scope.visible(name, index):
            continue
        if name not in defined:
            yield Violation(f"{quote(name)} is used but not defined", f"node[{index}]", name)
        elif not (index in looping and defined[name] in looping):
            yield Violation(f"{quote(name)} is used before node[{defined[name]}] defines it", f"node[{index}]", name)


def acyclic(scope: Scope) -> Iterator[Violation]:
    cycle = sorted(_cyclic(scope)) if scope.early_uses else []
    if cycle:
        shown = ", ".join(f"node[{index}]" for index in cycle[:5]) + (", …" if len(cycle) > 5 else "")
        yield Violation(f"{plural(len(cycle), 'node depends', 'nodes depend')} on their own outputs: {shown}")


def node_names_distinct(scope: Scope) -> Iterator[Violation]:
    nodes = scope.graph.nodes
    names = [node.name for node in nodes if node.name]
    for name, number in Counter(names).items() if len(set(names)) < len(names) else ():
        if number > 1:
            place = next(index for index, node in enumerate(nodes) if node.name == name)
            yield Violation(f"{number} nodes are named {quote(name)}", f"node[{place}]", name, nodes[place].operator)


def value_info_once(scope: Scope) -> Iterator[Violation]:
    names = [value.name for value in scope.graph.value_info]
    for name, number in Counter(names).items() if len(set(names)) < len(names) else ():
        if number > 1:
            yield Violation(f"value_info has {number} entries for {quote(name)}", "", name)


def outputs_produced(scope: Scope) -> Iterator[Violation]:
    for index, value in enumerate(scope.graph.outputs):
        defined = value.name in scope.defined_at
        if value.name and not defined and not (scope.outer and scope.outer.visible(value.name, scope.position)):
            yield Violation(f"nothing produces the output {quote(value.name)}", f"output[{index}]", value.name)


def no_dead_node(scope: Scope) -> Iterator[Violation]:
    nodes = scope.graph.nodes
    wanted = {value.name for value in scope.graph.outputs} - {""}
    skipped: list[int] = []
    for index in range(len(nodes) - 1, -1, -1):
        if wanted.isdisjoint(nodes[index].outputs):
            skipped.append(index)
        else:
            _want(nodes[index], wanted)
    _want_unsorted([nodes[index] for index in skipped], wanted)
    for index in reversed(skipped):
        node = nodes[index]
        if wanted.isdisjoint(node.outputs):
            yield Violation("no graph output depends on the node", f"node[{index}]", node.name, node.operator)


def no_unused_value(scope: Scope) -> Iterator[Violation]:
    graph = scope.graph
    used = {value.name for value in graph.outputs}
    used.update(chain.from_iterable([node.inputs for node in graph.nodes]))
    for node in graph.nodes:
        if node.attributes:
            used |= captured(node)
    inputs = {value.name for value in graph.inputs}
    for index, value in enumerate(graph.inputs if scope.outer is None else ()):  # a body's inputs are its operator's
        if value.name and value.name not in used:
            yield Violation(f"no node uses the graph input {quote(value.name)}", f"input[{index}]", value.name)
    for index, tensor in enumerate(_constants(scope)):
        if tensor.name and tensor.name not in used and tensor.name not in inputs:
            yield Violation(f"no node uses the initializer {quote(tensor.name)}", f"initializer[{index}]", tensor.name)
    for index, node in enumerate(() if used.issuperset(scope.defined_at) else graph.nodes):
        if not used.isdisjoint(node.outputs):  # no-dead-node reports the other nodes
            for name in filter(None, node.outputs):
                if name not in used:
                    yield Violation(f"no node uses the output {quote(name)} of a node", f"node[{index}]", name)
    defined = scope.defined_at
    undefined = {value.name for value in graph.value_info if value.name not in defined}
    undefined -= {value.name for value in graph.outputs}
    for index, value in enumerate(graph.value_info if undefined else ()):
        if (
            value.name in undefined
            and value.name
            and not (scope.outer and scope.outer.visible(value.name, scope.position))
        ):
            yield Violation(f"nothing makes the value {quote(value.name)}", f"value_info[{index}]", value.name)


def axis_denotations(scope: Scope) -> Iterator[Violation]:
    denoted = {name: type_.denotations for name, type_ in scope.declared.items() if type_.denotations}
    texts: dict[tuple[str, str, str], str] = {}  # many nodes can read one value of many axes
    for index, node in enumerate(scope.graph.nodes if denoted else ()):
        definition = operator(node.operator) if canonical_domain(node.domain) == "" else None
        for formal, name in zip(definition.inputs if definition else (), node.inputs, strict=False):
            if name in denoted and formal.denotations:
                key = node.operator, formal.name, name
                if key not in texts:
                    texts[key] = _misnamed_axes(formal.name, denoted[name], formal.denotations)
                if texts[key]:
                    yield Violation(texts[key], f"node[{index}]", node.name, node.operator)


def _misnamed_axes(formal: str, written: tuple[str, ...], expected: tuple[str, ...]) -> str:
    """What is wrong with the denotations of an input; the last one that is expected is that of all further axes."""
    wanted = [expected[min(axis, len(expected) - 1)] for axis in range(len(written))]
    if all(text in ("", meant) for text, meant in zip(written, wanted, strict=True)):
        return ""
    name, meant = (listed([text or "none" for text in names]) for names in (written, wanted))
    return f"{formal} is denoted [{escape(name)}], the operator expects [{meant}]"


def consistent_declarations(scope: Scope) -> Iterator[Violation]:
    graph, declared = scope.graph, scope.declared
    values = (*graph.inputs, *graph.outputs, *graph.value_info)
    for value in values if len(declared) < len(values) else ():
        if value.name and not _agree(declared[value.name], value.type):
            difference = f"{_show(value.type)} and elsewhere as {_show(declared[value.name])}"
            yield Violation(f"{quote(value.name)} is declared as {difference}", "", value.name)
    for tensor in graph.initializers:
        declaration = declared.get(tensor.name)
        if declaration is not None and not _fits(tensor, declaration):
            constant = Type("tensor", tensor.element, tensor.dims)
            difference = f"declared as {_show(declaration)}, its initializer is {_show(constant)}"
            yield Violation(f"{quote(tensor.name)} is {difference}", "", tensor.name)


def _want(node: Node, wanted: set[str]) -> None:
    wanted.update(node.inputs)
    if node.attributes:
        wanted |= captured(node)
    wanted.discard("")


def _want_unsorted(skipped: list[Node], wanted: set[str]) -> None:
    """Add the inputs of skipped nodes that a wanted name depends on; only unsorted nodes need this."""
    producers: dict[str, list[Node]] = {}
    for node in skipped:
        for name in node.outputs:
            producers.setdefault(name, []).append(node)
    waiting = [name for name in producers if name in wanted]
    while waiting:
        for node in producers.pop(waiting.pop(), ()):
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
    """Whether two declarations are consistent; a missing or symbolic part is consistent with any other."""
    if left == right or "not stated" in (left.kind, right.kind):
        return True
    if left.kind != right.kind or (left.element != right.element and None not in (left.element, right.element)):
        return False
    if left.shape is None or right.shape is None:
        return left.kind in ("tensor", "sparse tensor")  # other types are compared as a whole
    pairs = zip(left.shape, right.shape, strict=False)
    numbers = [(a, b) for a, b in pairs if isinstance(a, int) and isinstance(b, int)]
    return len(left.shape) == len(right.shape) and all(a == b for a, b in numbers)


def _show(type_: Type) -> str:
    if type_.shape is None:
        return f"{type_.element or type_.kind} without shape"
    return f"{type_.element or type_.kind} [{', '.join('?' if d is None else escape(str(d)) for d in type_.shape)}]"


def _cyclic(scope: Scope) -> set[int]:
    """The nodes on cycles, and those between cycles: nodes without remaining predecessors or successors are removed."""
    nodes, defined = scope.graph.nodes, scope.defined_at
    before = [{at for name in node.inputs if (at := defined.get(name, -1)) >= 0} for node in nodes]
    remaining = _peel(before)
    after: list[set[int]] = [set() for _ in nodes]
    for index in remaining:
        for source in before[index] & remaining:
            after[source].add(index)
    return remaining & _peel(after)


def _peel(edges: list[set[int]]) -> set[int]:
    """The indices left after removing, repeatedly, those whose edges all lead to removed ones."""
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
