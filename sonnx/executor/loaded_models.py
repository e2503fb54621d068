"""The models of a comparison as the runtime loads them: the whole model, with every value, and each node alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from sonnx.executor.runtimes import Failure, Loaded, Runtime
from sonnx.model.ir import Graph, Model, Node, Tensor, Type, ValueInfo
from sonnx.model.writer import Unwritable, write
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import NAMES, Array, TensorSpec


@dataclass(frozen=True, slots=True)
class Source:
    """A model, and where its file is."""

    name: str
    model: Model
    path: Path | None
    """None for bytes and for a model that was changed since it was read."""
    folder: Path | None

    @property
    def place(self) -> Path | None:
        """The path of the model, changed or not: its external data are beside it."""
        return self.folder / self.name if self.folder else None


def source_of(model: Model, path: str | os.PathLike[str] | None, *, changed: bool) -> Source:
    """The source of a model that was read from a path, and may have been changed since."""
    if path is None:
        return Source("model", model, None, None)
    return Source(Path(path).name, model, None if changed else Path(path), Path(path).parent)


@dataclass(frozen=True, slots=True)
class RuntimeAnswer:
    """What a runtime gave in two calls, or why it gave nothing."""

    values: Mapping[str, Array]
    again: Mapping[str, Array]
    failure: Failure | None = None


class LoadedModels:
    """A model as a runtime loads it: whole, with every value as an output, and each node alone.

    What is loaded is kept, because every run uses it.
    """

    def __init__(self, source: Source, runtime: Runtime) -> None:
        self.source, self.runtime = source, runtime
        self._loaded: dict[object, Loaded | Failure] = {}

    def whole(self, inputs: Mapping[str, Array]) -> RuntimeAnswer:
        """What the runtime gives for the model."""
        return self._answer("model", lambda: self.source.path or write(self.source.model), inputs)

    def every_value(self, inputs: Mapping[str, Array], exact: Mapping[str, Array]) -> RuntimeAnswer:
        """What the runtime gives for the model with every value as an output, typed and shaped as `exact`."""

        def model() -> bytes:
            graph = self.source.model.graph
            declared = {value.name for value in graph.outputs}
            names = dict.fromkeys(
                name for node in graph.nodes for name in node.outputs if name and name not in declared
            )
            outputs = (*graph.outputs, *(_value(name, exact[name]) for name in names))
            return write(replace(self.source.model, graph=replace(graph, outputs=outputs)))

        return self._answer("every value", model, inputs)

    def node(self, index: int, values: Mapping[str, Array]) -> RuntimeAnswer:
        """What the runtime gives for a node alone, all its inputs given."""
        node = self.source.model.graph.nodes[index]
        inputs = {name: values[name] for name in dict.fromkeys(node.inputs) if name}
        shapes = tuple(array.shape for array in inputs.values())
        return self._answer((index, shapes), lambda: write(self._node_model(index, inputs, values)), inputs)

    def node_with_constants(self, index: int, model: Model, inputs: Mapping[str, Array]) -> RuntimeAnswer:
        """What the runtime gives for a node alone, as `constants_model` made it."""
        return self._answer((index, "constants"), lambda: write(model), inputs)

    def constants_model(self, index: int, values: Mapping[str, Array], varying: Collection[str]) -> Model:
        """A node alone; its constants are initializers, as in the model."""
        model = self.source.model
        names = [*dict.fromkeys(filter(None, model.graph.nodes[index].inputs))]
        constants = tuple(
            initializer
            for initializer in model.graph.initializers
            if initializer.name in names and initializer.name not in varying
        )
        fixed = {constant.name for constant in constants} if (model.ir_version or 0) >= 4 else set()
        return self._node_model(index, [name for name in names if name not in fixed], values, constants)

    def constants(self, given: Mapping[str, Array]) -> dict[str, Array]:
        """The values of the initializers that no input replaces."""
        tensors = self.source.model.graph.initializers
        return {tensor.name: decode(tensor, self.source.folder) for tensor in tensors if tensor.name not in given}

    def _node_model(
        self,
        index: int,
        inputs: Iterable[str],
        values: Mapping[str, Array],
        constants: tuple[Tensor, ...] = (),
    ) -> Model:
        node = self.source.model.graph.nodes[index]
        outputs = tuple(_value(name, values[name]) for name in node.outputs if name)
        declared = tuple(_value(name, values[name]) for name in inputs)
        graph = Graph(f"node {index}", declared, outputs, (), constants, (), (node,))
        return replace(self.source.model, graph=graph)

    def _answer(self, key: object, model: Callable[[], bytes | Path], inputs: Mapping[str, Array]) -> RuntimeAnswer:
        if key not in self._loaded:
            try:
                self._loaded[key] = self.runtime.load(model(), self.source.folder)
            except Failure as failure:
                self._loaded[key] = failure
            except Unwritable as reason:
                self._loaded[key] = Failure(str(reason))
        loaded = self._loaded[key]
        if isinstance(loaded, Failure):
            return RuntimeAnswer({}, {}, loaded)
        try:
            return RuntimeAnswer(loaded(inputs), loaded(inputs))
        except Failure as failure:
            return RuntimeAnswer({}, {}, failure)


def node_digest(node: Node, alone: Model, specs: Iterable[TensorSpec], fixed: Iterable[Array]) -> bytes:
    """The same for nodes that compute the same of their inputs: the node with other names, its constants and types."""
    listed = dict.fromkeys([*node.inputs, *node.outputs])
    names = {name: f"{number}" if name else "" for number, name in enumerate(listed)}
    inputs, outputs = (tuple(names[name] for name in side) for side in (node.inputs, node.outputs))
    renamed = replace(node, name="", inputs=inputs, outputs=outputs)

    def called(value: ValueInfo) -> ValueInfo:
        return replace(value, name=names[value.name])

    graph = replace(
        alone.graph,
        name="",
        inputs=tuple(map(called, alone.graph.inputs)),
        outputs=tuple(map(called, alone.graph.outputs)),
        initializers=tuple(
            replace(initializer, name=names[initializer.name]) for initializer in alone.graph.initializers
        ),
        nodes=(renamed,),
    )
    said = repr([[*specs], [(array.dtype, array.shape, array.tolist()) for array in fixed]])
    return sha256(write(replace(alone, graph=graph)) + said.encode("utf-8", "surrogatepass")).digest()


def _value(name: str, array: Array) -> ValueInfo:
    return ValueInfo(name, Type("tensor", NAMES[array.dtype], array.shape))
