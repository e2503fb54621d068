"""Types and shapes behind operators that sonnx does not know, as the onnx package infers them.

The inference runs in a process of its own, with limits of time and memory: what it does to a malformed model stays
there.  Its results are hints: they are used for the outputs of nodes that neither the profile nor the executor knows,
and none is used where one contradicts what sonnx computes (`contradicted`).
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from math import prod
from threading import Lock

import msgspec
from msgspec.structs import replace

from sonnx.graph.environment import declared_facts
from sonnx.language.evaluator import TensorFacts, Unknown, first_unknown
from sonnx.model.ir import NOT_STATED, Model, Node, Tensor, Type, ValueInfo
from sonnx.model.reader import element_names
from sonnx.model.scopes import Scope, canonical_domain
from sonnx.model.writer import Unwritable, write
from sonnx.operators import is_executable
from sonnx.rewriter.shape_inference import InferredType
from sonnx.supervise.process import ProcessEnded
from sonnx.supervise.service import Service, ServiceLimits

LIMITS = ServiceLimits(seconds=60, megabytes=8192, idle=20)
MAX_ELEMENTS = 1024
"""Elements of an initializer that a shape can depend on; of larger ones the inference gets type and shape only."""


def hint_of(inferred: InferredType) -> TensorFacts | None:
    """An inferred type and shape as stated facts; None where one is not completely known."""
    name = element_names().get(inferred.element)
    return None if name is None or min(inferred.shape, default=0) < 0 else TensorFacts(name, inferred.shape)


Hints = Mapping[str, TensorFacts]
DECODER = msgspec.json.Decoder(dict[str, InferredType])


def unknown_nodes(model: Model) -> Iterable[Node]:
    """The nodes of the main graph whose operators are of the standard domain and not known to the executor."""
    return (node for node in model.graph.nodes if not canonical_domain(node.domain) and not is_executable(node))


def hints_of(model: Model) -> Hints:
    """What the onnx package infers of the values of the main graph; nothing where sonnx knows every operator, or the
    model declares what the others give, and the graph outputs, whose names these may get.
    """
    declared = Scope("graph", model.graph, {}).declared
    names = [name for node in unknown_nodes(model) for name in node.outputs if name]
    types = [declared.get(name, NOT_STATED) for name in (*names, *(value.name for value in model.graph.outputs))]
    if not names or (not model.functions and all(map(_is_complete, types))):
        return {}
    try:
        data = write(_without_large_constants(model))
    except (Unwritable, ValueError):
        return {}
    return _inferred(data)


def _is_complete(declared: Type) -> bool:
    """Whether a declaration leaves nothing that a hint could add."""
    facts = declared_facts(declared)
    return not isinstance(facts.type, Unknown) and first_unknown(facts.shape) is None


def contradicted(hints: Hints, facts: Mapping[str, TensorFacts]) -> bool:
    """Whether a hint differs from a type or a shape that sonnx has computed."""
    return any(_differs(hint, facts[name]) for name, hint in hints.items() if name in facts)


def _differs(hint: TensorFacts, known: TensorFacts) -> bool:
    element = not isinstance(known.type, Unknown) and known.type != hint.type
    return element or (first_unknown(known.shape) is None and known.shape != hint.shape)


def _without_large_constants(model: Model) -> Model:
    graph = model.graph
    large = {
        initializer.name: initializer for initializer in graph.initializers if prod(initializer.dims) > MAX_ELEMENTS
    }
    given = {value.name for value in graph.inputs}
    added = tuple(ValueInfo(tensor.name, _type_of(tensor)) for tensor in large.values() if tensor.name not in given)
    kept = tuple(initializer for initializer in graph.initializers if initializer.name not in large)
    return replace(model, graph=replace(graph, inputs=(*graph.inputs, *added), initializers=kept))


def _type_of(tensor: Tensor) -> Type:
    return Type("tensor", tensor.element, tensor.dims)


class _Inference:
    """The process that infers, which answers one request after another and ends when none comes; a fork starts its own
    one.
    """

    def __init__(self) -> None:
        self._lock, self._service, self._owner = Lock(), None, 0
        atexit.register(self.end)

    _service: Service | None

    def end(self) -> None:
        """End the process, if it is one of this process."""
        if self._service is not None and self._owner == os.getpid():
            self._service.end()
        self._service = None

    def answer(self, data: bytes) -> Mapping[str, InferredType] | None:
        """The inferred types; None where the process fails at this model, or cannot be started."""
        with self._lock:
            try:
                if self._is_ready and self._service is not None:
                    with suppress(ProcessEnded):  # it may have ended in the meantime, so that the next one answers
                        return self._service.ask(data, DECODER.decode)
                self.end()
                self._service, self._owner = Service("sonnx.rewriter.shape_inference", [], LIMITS), os.getpid()
                self._service.greeting(lambda _: None)
                return self._service.ask(data, DECODER.decode)
            except (OSError, ProcessEnded):
                self.end()
                return None

    @property
    def _is_ready(self) -> bool:
        return self._service is not None and self._owner == os.getpid() and self._service.is_running


_INFERENCE = _Inference()


@lru_cache(maxsize=64)
def _inferred(data: bytes) -> Hints:
    """The answer of the child; nothing where it fails."""
    found = _INFERENCE.answer(data) or {}
    known = ((name, hint_of(inferred)) for name, inferred in found.items())
    return {name: facts for name, facts in known if facts is not None}
