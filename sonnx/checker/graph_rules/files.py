"""Rules about a model file as a whole, and about its model-local functions.

Each public function decides the rule of its name in restrictions/graph.toml and yields the violations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from sonnx.base.escaping import escape, listed, plural, quote
from sonnx.base.printable import is_printable
from sonnx.checker.verdicts import Violation
from sonnx.model.ir import Function, Model, Node
from sonnx.model.scopes import canonical_domain, scopes, stored_tensors
from sonnx.profile.definitions import Editions


def ir_version_known(model: Model, editions: Editions) -> Iterator[Violation]:
    if model.ir_version is None:
        yield Violation("the IR version is missing")
    elif not 1 <= model.ir_version <= editions.ir_version:
        yield Violation(f"the IR version is {model.ir_version}; known are 1 to {editions.ir_version}")


def operator_set_imported_once(model: Model, editions: Editions) -> Iterator[Violation]:
    for place, imports in [("", model.imports), *((_function_place(f), f.imports) for f in model.functions)]:
        seen: dict[str, list[str]] = {}
        for entry in imports:
            seen.setdefault(canonical_domain(entry.domain), []).append(str(entry.version))
        for domain, versions in seen.items():
            if len(versions) > 1:
                text = f"the operator set {quote(domain)} is imported {len(versions)} times"
                yield Violation(f"{text}, with versions {listed(versions)}", place)
        for entry in imports:
            if entry.version is None:
                yield Violation(f"the operator set {quote(entry.domain)} is imported without a version", place)


def some_operator_set_imported(model: Model, editions: Editions) -> Iterator[Violation]:
    if model.ir_version not in (1, 2) and not model.imports:
        yield Violation("no operator set is imported")


def imports_since_ir_version_3(model: Model, editions: Editions) -> Iterator[Violation]:
    # An IR version that is missing or unknown fails ir-version-known.
    if model.ir_version in (1, 2):
        yield Violation(f"the IR version is {model.ir_version}")


def no_import_before_ir_version_3(model: Model, editions: Editions) -> Iterator[Violation]:
    if model.ir_version in (1, 2) and model.imports:
        yield Violation(f"the IR version is {model.ir_version}, and {quote(model.imports[0].domain)} is imported")


def initializers_are_inputs(model: Model, editions: Editions) -> Iterator[Violation]:
    if model.ir_version not in (1, 2, 3):
        return
    for scope in scopes(model):
        graph = scope.graph
        inputs = {value.name for value in graph.inputs}
        names = [
            *(initializer.name for initializer in graph.initializers),
            *(sparse_initializer.name for sparse_initializer in graph.sparse_initializers),
        ]
        others = [name for name in names if name not in inputs]
        if others:
            alone = plural(len(others), "initializer is not a graph input", "initializers are not graph inputs")
            yield Violation(
                f"at IR version {model.ir_version} {alone}, first {quote(others[0])}", scope.place, others[0]
            )


def operator_set_known(model: Model, editions: Editions) -> Iterator[Violation]:
    for place, imports in [("", model.imports), *((_function_place(f), f.imports) for f in model.functions)]:
        for entry in imports:
            version = entry.version
            if (
                canonical_domain(entry.domain) == ""
                and version is not None
                and not 1 <= version <= editions.operator_set
            ):
                yield Violation(f"operator set {version} is imported; known are 1 to {editions.operator_set}", place)


def no_training_info(model: Model, editions: Editions) -> Iterator[Violation]:
    if model.training_count:
        yield Violation(f"training_info has {plural(model.training_count, 'entry', 'entries')}")


def no_unknown_field(model: Model, editions: Editions) -> Iterator[Violation]:
    for unknown in model.unknown:
        if not unknown.field:
            yield Violation(f"the ONNX format does not define the field with number {unknown.number}", unknown.place)


def enumeration_values(model: Model, editions: Editions) -> Iterator[Violation]:
    for unknown in model.unknown:
        if unknown.field:
            yield Violation(f"{unknown.field} has a value that the ONNX format does not define", unknown.place)


def subgraph_initializers(model: Model, editions: Editions) -> Iterator[Violation]:
    newer = (model.ir_version or 0) >= 4
    for scope in scopes(model):
        if scope.outer is None:
            continue
        constants = {tensor.name for tensor in scope.graph.initializers}
        constants |= {tensor.name for tensor in scope.graph.sparse_initializers}
        both = [value.name in constants for value in scope.graph.inputs]
        for index, value in enumerate(scope.graph.inputs):
            place = f"{scope.place}/input[{index}]"
            if both[index] and newer:
                yield Violation(
                    f"{quote(value.name)} is an input and an initializer of a nested graph", place, value.name
                )
            elif both[index] and not all(both[index:]):
                yield Violation(f"{quote(value.name)}, an initializer, stands before an input", place, value.name)


def metadata_keys_distinct(model: Model, editions: Editions) -> Iterator[Violation]:
    for key, number in Counter(key for key, _ in model.metadata).items():
        if number > 1:
            yield _repeated(key, "")
    for scope in scopes(model):
        for place, key in scope.graph.repeated_keys:
            yield _repeated(key, "/".join(filter(None, (scope.place, place))))
    for tensor in stored_tensors(model):
        if tensor.repeated_keys:
            yield from [_repeated(key, "", tensor.name) for key in tensor.repeated_keys]


def _repeated(key: str, place: str, name: str = "") -> Violation:
    return Violation(f"metadata_props has the key {quote(key)} more than once", place, name)


def printable_name(model: Model, editions: Editions) -> Iterator[Violation]:
    for place, name in _names(model):
        yield Violation(f"the name is {quote(name)}", place, name)


def no_model_local_function(model: Model, editions: Editions) -> Iterator[Violation]:
    for index, function in enumerate(model.functions):
        text = f"the function {quote(function.name)} of the domain {quote(function.domain)} is defined in the model"
        yield Violation(text, f"function[{index}]")


def function_overrides_operator(function: Function) -> Iterator[Violation]:
    if canonical_domain(function.domain) == "":
        yield Violation(f"the function {quote(function.name)} has the domain of the standard operators")


def _function_place(function: Function) -> str:
    return f"function {quote(function.name)}"


def _names(model: Model) -> Iterator[tuple[str, str]]:
    """The names with unprintable characters, each with its place; lists of printable names are skipped as a whole."""
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
            if not is_printable("".join([value.name for value in listed])):
                for index, value in enumerate(listed):
                    yield from _unprintable(f"{scope.place}/{kind}[{index}]", (value.name,))
        for value in {
            id(operand.type): operand for operand in (*graph.inputs, *graph.outputs, *graph.value_info)
        }.values():
            symbols = tuple(dimension for dimension in value.type.shape or () if isinstance(dimension, str))
            yield from _unprintable(f"{scope.place}/{escape(value.name)}", symbols)
        if not is_printable("".join(chain.from_iterable(map(_node_names, graph.nodes)))):
            for index, node in enumerate(graph.nodes):
                yield from _unprintable(scope.node_place(index), _node_names(node))


def _node_names(node: Node) -> tuple[str, ...]:
    names = (node.name, node.operator, node.domain, node.overload, *node.inputs, *node.outputs)
    return (*names, *[attribute.name for attribute in node.attributes]) if node.attributes else names


def _unprintable(place: str, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys(names):
        if not is_printable(name):
            yield place, name
