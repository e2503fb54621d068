"""Rules of ONNX about model-local functions.

Each public function decides the rule of its name in restrictions/graph.toml and yields the violations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from sonnx.base.escaping import listed, quote
from sonnx.checker.verdicts import Violation
from sonnx.model.ir import Function, Model, Node, subgraphs
from sonnx.model.scopes import Scope, canonical_domain, function_key, imports_of
from sonnx.profile.definitions import Editions
from sonnx.profile.onnx_schemas import schema_at

Key = tuple[str, str, str]
"""Domain, name and overload of a function."""


def functions_distinct(model: Model, editions: Editions) -> Iterator[Violation]:
    seen = Counter[Key]()
    for index, function in enumerate(model.functions):
        key = function_key(function)
        seen[key] += 1
        if seen[key] == 2:
            number = sum(function_key(each) == key for each in model.functions)
            yield Violation(f"{_named(key)} is defined {number} times", f"function[{index}]")


def functions_not_recursive(model: Model, editions: Editions) -> Iterator[Violation]:
    known = {function_key(function): function for function in model.functions}
    calls = {
        key: {called for node in _all_nodes(function.nodes) if (called := _called(node)) in known}
        for key, function in known.items()
    }
    # What remains after removing, repeatedly, the functions that call none of the remaining ones lies on a cycle or
    # calls one that does; of these a function that reaches itself is recursive.
    remaining = dict(calls)
    while ended := [key for key, called in remaining.items() if remaining.keys().isdisjoint(called)]:
        for key in ended:
            del remaining[key]
    for index, function in enumerate(model.functions):
        key = function_key(function)
        if key in remaining and known[key] is function and _reaches(key, remaining):
            yield Violation(f"{_named(key)} calls itself, directly or through other functions", f"function[{index}]")


def _reaches(start: Key, calls: dict[Key, set[Key]]) -> bool:
    """Whether a function calls itself, directly or not."""
    waiting, seen = [start], set[Key]()
    while waiting:
        for called in calls.get(waiting.pop(), ()):
            if called == start:
                return True
            if called not in seen:
                seen.add(called)
                waiting.append(called)
    return False


def function_operator_sets_compatible(model: Model, editions: Editions) -> Iterator[Violation]:
    in_force = imports_of(model.imports)
    for function in model.functions:
        for domain, version in imports_of(function.imports).items():
            in_force.setdefault(domain, version)
    for index, function in enumerate(model.functions):
        own = imports_of(function.imports)
        for operator, domain in dict.fromkeys(
            (node.operator, canonical_domain(node.domain)) for node in _all_nodes(function.nodes)
        ):
            here, elsewhere = own.get(domain), in_force.get(domain)
            if here is None or elsewhere is None or here == elsewhere:
                continue
            schemas = [schema_at(domain, operator, version) for version in (here, elsewhere)]
            versions = [schema.version if schema else None for schema in schemas]
            if versions[0] != versions[1]:
                inside, outside = (f"version {version}" if version else "no version" for version in versions)
                yield Violation(
                    f"{quote(operator)} has {inside} in the function, by operator set {here}, and {outside} by "
                    f"operator set {elsewhere}, which is imported elsewhere",
                    f"function[{index}]",
                )


def function_named(function: Function) -> Iterator[Violation]:
    if not function.name:
        yield Violation("the function has no name")


def function_attributes_distinct(function: Function) -> Iterator[Violation]:
    names = Counter([*function.attributes, *(attribute.name for attribute in function.defaults)])
    repeated = [quote(name) for name, number in names.items() if number > 1]
    if repeated:
        yield Violation(f"the attributes {listed(repeated)} are declared more than once")


def function_names_declared(function: Function) -> Iterator[Violation]:
    known = {*function.inputs, *function.outputs}
    for node in function.nodes:
        known.update(node.outputs)
    for index, value in enumerate(function.value_info):
        if value.name not in known:
            yield Violation(
                f"value_info names {quote(value.name)}, which the function does not have", f"value_info[{index}]"
            )


def attribute_reference_declared(scope: Scope) -> Iterator[Violation]:
    function = scope.function
    if function is None:
        return
    declared = {*function.attributes, *(attribute.name for attribute in function.defaults)}
    for index, node in enumerate(scope.graph.nodes):
        for attribute in node.attributes:
            if attribute.reference and attribute.reference not in declared:
                text = f"the attribute {quote(attribute.name)} refers to {quote(attribute.reference)}"
                yield Violation(
                    f"{text}, which the function does not declare", f"node[{index}]", node.name, node.operator
                )


def _all_nodes(nodes: Iterable[Node]) -> Iterator[Node]:
    """The nodes, and those of the graphs nested in them."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        for _, graph in subgraphs(node):
            waiting += graph.nodes


def _called(node: Node) -> Key:
    return canonical_domain(node.domain), node.operator, node.overload


def _named(key: Key) -> str:
    domain, name, overload = key
    overloaded = f" with the overload {quote(overload)}" if overload else ""
    return f"the function {quote(name)} of the domain {quote(domain)}{overloaded}"
