"""Rules of ONNX about device configurations, quantization annotations and training information: they change no value.

Each public function decides the rule of its name in restrictions/graph.toml and yields the violations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from sonnx.base.escaping import listed, plural, quote
from sonnx.checker.verdicts import Verdict, Violation
from sonnx.model.annotations import NodeConfiguration, Pairs, Sharding
from sonnx.model.ir import Model, Node
from sonnx.model.scopes import scopes
from sonnx.profile.definitions import Editions

QUANTIZATION_KEYS = ("SCALE_TENSOR", "ZERO_POINT_TENSOR")
"""The keys that onnx.proto defines for quantization parameters."""


def device_configurations(model: Model, editions: Editions) -> Iterator[Violation]:
    for index, configuration in enumerate(model.device_configurations):
        place = f"configuration[{index}]"
        if not configuration.name:
            yield Violation("the device configuration has no name", place)
        if configuration.devices is None:
            yield Violation("the device configuration does not state its number of devices", place)
        elif configuration.names and len(configuration.names) != configuration.devices:
            named = plural(len(configuration.names), "device")
            yield Violation(f"the device configuration names {named} and has {configuration.devices}", place)


def node_device_configurations(model: Model, editions: Editions) -> Iterator[Violation]:
    known = {configuration.name for configuration in model.device_configurations if configuration.name}
    for scope in scopes(model):
        if not any(node.configurations for node in scope.graph.nodes):
            continue
        ranks = {name: len(type_.shape) for name, type_ in scope.declared.items() if type_.shape is not None}
        ranks |= {tensor.name: len(tensor.dims) for tensor in scope.graph.initializers}
        for index, node in enumerate(scope.graph.nodes):
            for configuration in node.configurations:
                for text, verdict in _defects(configuration, known, node, ranks):
                    yield Violation(text, scope.node_place(index), node.name, node.operator, verdict)


def _defects(
    configuration: NodeConfiguration, known: set[str], node: Node, ranks: Mapping[str, int]
) -> Iterator[tuple[str, Verdict]]:
    identifier = configuration.configuration
    if not identifier:
        yield "a device configuration of the node has no configuration_id", Verdict.FAIL
    elif identifier not in known:
        yield f"the model has no device configuration {quote(identifier)}", Verdict.FAIL
    for sharding in configuration.shardings:
        yield from _sharding_defects(sharding, node, ranks)


def _sharding_defects(sharding: Sharding, node: Node, ranks: Mapping[str, int]) -> Iterator[tuple[str, Verdict]]:
    tensor = sharding.tensor
    if not tensor:
        yield "a sharding specification names no tensor", Verdict.FAIL
    elif tensor not in (*node.inputs, *node.outputs):
        yield f"a sharding specification names {quote(tensor)}, which the node neither reads nor makes", Verdict.FAIL
    for key in _repeated(sharding.groups):
        yield f"index_to_device_group_map has the key {key} more than once", Verdict.FAIL
    rank = ranks.get(tensor or "")
    for dimension in sharding.axes:
        axis = dimension.axis
        if axis is None:
            yield "a sharded dimension states no axis", Verdict.FAIL
        elif rank is None and tensor:
            yield f"the axis {axis} of {quote(tensor)} is sharded, and no rank is declared", Verdict.NOT_CHECKED
        elif rank is not None and not -rank <= axis < rank:
            yield f"the axis {axis} of {quote(tensor or '')}, of rank {rank}, is sharded", Verdict.FAIL
        if None in dimension.shards:
            yield "a sharded dimension states no num_shards", Verdict.FAIL


def quantization_annotations(model: Model, editions: Editions) -> Iterator[Violation]:
    for scope in scopes(model):
        for index, annotation in enumerate(scope.graph.annotations):
            place = f"{scope.place}/quantization_annotation[{index}]"
            keys = [key for key, _ in annotation.parameters]
            for key in _repeated(keys):
                yield Violation(f"the annotation has the key {quote(key)} more than once", place, annotation.tensor)
            unknown = [quote(key) for key in dict.fromkeys(keys) if key not in QUANTIZATION_KEYS]
            if unknown:
                defined = " and ".join(QUANTIZATION_KEYS)
                text = f"the annotation has the keys {listed(unknown)}; ONNX defines {defined}"
                yield Violation(text, place, annotation.tensor)


def training_bindings(model: Model, editions: Editions) -> Iterator[Violation]:
    graphs, updated = dict(model.training), Counter[str]()
    main = {tensor.name for tensor in model.graph.initializers}
    results = {value.name for value in model.graph.outputs}
    for index, bindings in enumerate(model.training_bindings):
        place = f"training_info[{index}]"
        first, step = graphs.get(f"{place}/initialization"), graphs.get(f"{place}/algorithm")
        variables = main | {tensor.name for tensor in step.initializers} if step else main
        initialized = {value.name for value in first.outputs} if first else set()
        computed = results | {value.name for value in step.outputs} if step else results
        if first is not None and first.inputs:
            yield Violation("the graph initialization has an input", f"{place}/initialization")
        yield from _bound(bindings.initialization, variables, initialized, f"{place}/initialization_binding")
        yield from _bound(bindings.update, variables, computed, f"{place}/update_binding")
        for key in _repeated(key for key, _ in bindings.initialization):
            yield Violation(f"the variable {quote(key)} is bound twice", f"{place}/initialization_binding", key)
        updated.update(key for key, _ in bindings.update)
    for key in _repeated(updated.elements()):
        yield Violation(f"the variable {quote(key)} is bound twice by update_binding", "training_info", key)


def _bound(pairs: Pairs, variables: set[str], values: set[str], place: str) -> Iterator[Violation]:
    for key, value in pairs:
        if key not in variables:
            yield Violation(f"the variable {quote(key)} is not an initializer", place, key)
        if value not in values:
            yield Violation(f"{quote(value)} is not an output of the graph that computes the variable", place, value)


def training_graphs(model: Model, editions: Editions) -> Iterator[Violation]:
    if model.training_count:
        yield Violation(
            "the conditions of ONNX on the graphs of training_info are not checked",
            "training_info",
            verdict=Verdict.NOT_CHECKED,
            cause="no-training-info",
        )


def _repeated(keys: Iterable[object]) -> list[str]:
    return [str(key) for key, number in Counter(keys).items() if number > 1]
