"""Keys: what beside its inputs decides the value of a call.

Attributes count by their effective values, so a default that is written is one that is not; versions that an operator's
data file calls equivalent are one.  Numbers are compared by their bits, tensors by their bytes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from sonnx.equivalence.stated import stated_operators
from sonnx.graph.call import Call
from sonnx.language.evaluator import TensorFacts, Unknown, first_unknown
from sonnx.model.ir import Attribute, Graph, Node, SparseTensor, Tensor
from sonnx.model.scopes import canonical_domain
from sonnx.profile.signature import Signature

UNCOUNTED = frozenset({"consumed_inputs", "seed"})
"""Attributes without meaning for a value: a memory hint of operator set 1, and the seed of training."""

INDEPENDENT = frozenset({"GRU", "LSTM", "MaxPool", "RNN"})
"""Operators whose outputs do not depend on which of them are used."""

COUNTING = frozenset({"ArgMax", "Softmax"})
"""Operators whose axis is one of the first input, counted from either end."""

REDUCING = frozenset({"ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"})
"""Operators whose axes are a set of those of the first input, counted from either end."""


def frozen(value: Any) -> Hashable:
    """A value of an attribute as an object that is equal for equal values, bit by bit."""
    if isinstance(value, float):
        return "float", value.hex()
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, Tensor):
        data = None if value.data is None else bytes(value.data)
        outside = id(value) if value.external is not None else None
        return "tensor", value.element, value.dims, data, value.strings, outside
    if isinstance(value, Attribute):
        return value.name, value.kind, value.reference, frozen(value.value)
    if isinstance(value, tuple | list):
        return tuple([frozen(each) for each in value])
    if isinstance(value, Graph):
        constants = tuple([(initializer.name, frozen(initializer)) for initializer in value.initializers])
        sparse = tuple([id(sparse_initializer) for sparse_initializer in value.sparse_initializers])
        return ("graph", value.inputs, value.outputs, frozen(value.nodes), constants, sparse)
    if isinstance(value, Node):
        return value.operator, value.domain, value.overload, value.inputs, value.outputs, frozen(value.attributes)
    if isinstance(value, SparseTensor):
        return "sparse", id(value)
    return value if isinstance(value, Hashable) else ("object", id(value))


def written_key(call: Call) -> Hashable:
    """The key of a call whose operator has no data file: attributes as written or as ONNX states their absence, and
    the operator set; of one that `stated.toml` has, the operator sets of one meaning.
    """
    known = stated_operators().get(call.operator) if not canonical_domain(call.domain) else None
    written = {
        attribute.name: frozen(attribute.value) for attribute in call.attributes if attribute.name not in UNCOUNTED
    }
    written |= {attribute.name: frozen(attribute) for attribute in call.attributes if attribute.reference}
    version: Hashable = call.operator_set
    if known is not None:
        version = known.meaning(call.operator_set)
        kernel: Any = next((attribute.value for attribute in call.attributes if attribute.name == "kernel_shape"), ())
        written = {name: frozen(known.default(name, len(kernel))) for name in known.defaults} | written
    listed = sorted(written.items(), key=repr)
    return "written", version, tuple(listed), call.outputs


def effective_key(
    call: Call, made: Signature, names: Mapping[str, Any], rank: int | None, *, conforms: bool
) -> Hashable:
    """The key of a call by the names of its operator's data file; a parameter that is not known counts as written, an
    axis of an input of known rank from the first one (theorem rewrite.negative-axis).

    Args:
        call: the call.
        made: its signature.
        names: the effective values of its parameters.
        rank: of its first input, None where it is not known.
        conforms: whether the rules hold under which the data file calls the version equivalent to the specified one.
    """
    written = {attribute.name: attribute for attribute in call.attributes}
    parts: list[Hashable] = []
    for parameter in made.parameters:
        if parameter.name in UNCOUNTED:
            continue
        value = names.get(parameter.name)
        if (
            call.operator in COUNTING
            and parameter.name == "axis"
            and type(value) is int
            and rank
            and -rank <= value < 0
        ):
            value += rank
        if call.operator in REDUCING and parameter.name == "axes" and rank:
            value = _from_first(value, rank)
        if isinstance(value, Unknown | TensorFacts) or first_unknown(value) is not None:
            own = written.get(parameter.name)
            value = "absent" if own is None else frozen(own)
            parts.append((parameter.name, "as written", value))
        else:
            parts.append((parameter.name, frozen(value)))
    known = {parameter.name for parameter in made.parameters} | UNCOUNTED
    parts += [(name, "beyond", frozen(attribute)) for name, attribute in written.items() if name not in known]
    return "effective", meaning(call, made, conforms=conforms), tuple(sorted(parts, key=repr)), _used(call)


def _from_first(axes: Any, rank: int) -> Any:
    """Axes in order, counted from the first; what is not a list of axes, as it is."""
    if not isinstance(axes, tuple | list) or not all(type(axis) is int and -rank <= axis < rank for axis in axes):
        return axes
    return tuple(sorted(axis % rank for axis in axes))


def counts_from_last(operator: str, names: Mapping[str, Any]) -> bool:
    """Whether the key of a call has an axis that the call counts from the last one."""
    name = "axis" if operator in COUNTING else "axes" if operator in REDUCING else ""
    value = names.get(name)
    listed = value if isinstance(value, tuple | list) else (value,)
    return any(type(each) is int and each < 0 for each in listed)


def _used(call: Call) -> tuple[bool, ...]:
    """Which outputs are used, where others depend on it."""
    return () if call.operator in INDEPENDENT else call.outputs


def with_parameter(key: Hashable, name: str, value: Hashable) -> Hashable:
    """A key of `effective_key` with another value of a parameter."""
    assert isinstance(key, tuple)  # noqa: S101  it is made above
    listed = tuple([(name, value) if row[0] == name else row for row in key[2]])
    return (*key[:2], listed, *key[3:])


def with_written(key: Hashable, name: str, value: Hashable) -> Hashable:
    """A key of `written_key` with another value of an attribute."""
    assert isinstance(key, tuple)  # noqa: S101  it is made above
    listed = {**dict(key[2]), name: value}
    return (*key[:2], tuple(sorted(listed.items(), key=repr)), *key[3:])


def meaning(call: Call, made: Signature, *, conforms: bool) -> Hashable:
    """The versions of an operator that mean the same: the specified one and, for calls that conform to the rules of the
    equivalence, its equivalents.
    """
    known = call.definition
    same = known is not None and (made.version == known.specified or made.version in known.equivalent)
    return "specified" if same and conforms else made.version


def stated_by(made: Signature, names: Mapping[str, Any], index: int) -> bool:
    """Whether an input is a parameter whose value the key has."""
    if index >= len(made.inputs):
        return False
    name = made.inputs[index].name
    if all(parameter.name != name for parameter in made.values):
        return False
    return first_unknown(names.get(name)) is None and not isinstance(names.get(name), Unknown | TensorFacts)
