"""Operators applied without a model: the definition, the kernel and the fast path on the same inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from sonnx.executor.prepared_call import PreparedCall
from sonnx.graph.call import Calls
from sonnx.language.evaluator import RUN_TIME, TensorFacts
from sonnx.model.ir import Attribute, Graph, Model, Node
from sonnx.model.scopes import Scope
from sonnx.numerics.application import Application
from sonnx.numerics.formats import NAMES, Array
from sonnx.operators import Operator, operator_facts
from sonnx.profile import catalogue
from tests.support.oracle import same

ATTRIBUTE_TYPES: dict[type, str] = {int: "int", float: "float", str: "string", list: "ints"}
EDITION = catalogue.edition_named(None)


def application(operator: str, names: Mapping[str, Any] | None = None) -> Application:
    """An application with these names of the data file."""
    return Application(operator, 1, "onnx", dict(names or {}))


def attribute(name: str, value: Any) -> Attribute:
    """An attribute of the kind of its value."""
    kind = (
        "strings" if isinstance(value, list) and value and isinstance(value[0], str) else ATTRIBUTE_TYPES[type(value)]
    )
    return Attribute(name, kind, tuple(value) if isinstance(value, list) else value)


def written(operator: str, version: int = 13, **attributes: Any) -> Application:
    """An application with these attributes, of an operator without a data file, or where no absent one is read."""
    made = {name: attribute(name, value) for name, value in attributes.items()}
    facts = operator_facts(operator)
    absent = {name: facts.absent_value(name, version) for name in facts.absent}
    return Application(operator, version, "onnx", {}, made, absent=absent)


def applied(
    operator: str, version: int, inputs: Sequence[Array | None], outputs: int = 1, **attributes: Any
) -> Application:
    """The application of a node of operator set `version` to inputs of these types and shapes, as a run prepares it."""
    names = tuple("" if each is None else f"x{place}" for place, each in enumerate(inputs))
    written = tuple(attribute(name, value) for name, value in attributes.items())
    node = Node("", operator, "", "", names, tuple(f"y{place}" for place in range(outputs)), written)
    graph = Graph("", (), (), (), (), (), (node,))
    call = Calls(Model(10, (), graph), EDITION, beyond_edition=True).of(Scope("graph", graph, {"": version}), node)
    facts = [None if each is None else TensorFacts(NAMES[each.dtype], each.shape, RUN_TIME) for each in inputs]
    return PreparedCall.of(call, facts).application()


def kernel_output(operator: Operator, made: Application, inputs: Sequence[Array | None], like: Array) -> Array:
    """The output of the kernel, in an array of the shape and type of another one."""
    assert operator.kernel is not None, f"{operator.name} has no kernel"
    out = numpy.full_like(like, 7)
    with numpy.errstate(all="ignore"):
        return operator.kernel(made)(inputs, out)


def fast_outputs(operator: Operator, made: Application, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """The outputs of the fast path."""
    assert operator.fast_path is not None, f"{operator.name} has no fast path"
    with numpy.errstate(all="ignore"):
        return operator.fast_path(made, inputs)


def agreed(operator: Operator, made: Application, inputs: Sequence[Array | None]) -> Array:
    """The value by the definition, which kernel and fast path must give as well, whichever there are."""
    assert operator.kernel is not None or operator.fast_path is not None
    with numpy.errstate(all="ignore"):
        [value] = operator.define(made, inputs)
    if operator.kernel is not None:
        assert same(kernel_output(operator, made, inputs, value), value)
    if operator.fast_path is not None:
        assert same(fast_outputs(operator, made, inputs)[0], value)
    return value
