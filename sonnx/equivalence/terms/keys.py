"""Keys: what beside its inputs decides the value of a call.

Attributes count by their effective values, so a default that is written is one that is not; versions that an operator's
data file calls equivalent are one.  Numbers are compared by their bits, tensors by their bytes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from sonnx.graph.call import Call
from sonnx.language.evaluator import TensorFacts, Unknown, evaluate, first_unknown
from sonnx.model.ir import Attribute, Graph, Node, SparseTensor, Tensor
from sonnx.operators import StatedOperator, operator_facts
from sonnx.profile.definitions import at
from sonnx.profile.signature import Signature


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


def written_key(call: Call, rank: int | None = None) -> Hashable:
    """The key of a call whose operator has no data file: the version with the meaning that is in force, and the
    attributes as written, or what ONNX states that their absence means; an axis of a first input of known rank from the
    first one.
    """
    stated = operator_facts(call.operator, call.domain)
    attributes = {
        attribute.name: attribute for attribute in call.attributes if not _is_valueless(stated, attribute.name)
    }
    written = {
        name: frozen(attribute if attribute.reference else attribute.value) for name, attribute in attributes.items()
    }
    operator_set = call.operator_set or 0
    kernel = attributes.get("kernel_shape")
    axes = len(kernel.value) if kernel is not None and isinstance(kernel.value, tuple) else 0
    for name in stated.absent:
        value = _absent_value(stated, name, operator_set, axes)
        if name not in written and value is not None:
            written[name] = frozen(value)
    if rank and stated.axis_parameter in written:
        written[stated.axis_parameter] = _from_first(written[stated.axis_parameter], rank)
    listed = tuple(sorted(written.items(), key=repr))
    return "written", version_in_force(stated, call), listed, () if stated.independent_outputs else call.outputs


def version_in_force(stated: StatedOperator, call: Call) -> Hashable:
    """The first version with the meaning of a call; where none is stated, the number of the import, which is another
    for operators of equal meaning.
    """
    version = stated.since_version(call.operator_set or 0)
    return ("since", version) if version is not None else ("import", call.operator_set)


def _absent_value(stated: StatedOperator, name: str, operator_set: int, axes: int) -> Any:
    """What the absence of an attribute means, as a file has it: "ones" and "zeros" have an entry for each axis of the
    kernel, two for pads; numbers are of type float, as those of attributes.
    """
    value = stated.absent_value(name, operator_set)
    if value in ("ones", "zeros"):
        return (int(value == "ones"),) * (axes * (2 if name == "pads" else 1))
    return float(np.float32(value)) if isinstance(value, float) else value


def _is_valueless(stated: StatedOperator, name: str) -> bool:
    return name in stated.valueless_attributes


def effective_key(
    call: Call, signature: Signature, names: Mapping[str, Any], rank: int | None, *, conforms: bool
) -> Hashable:
    """The key of a call by the names of its operator's data file; a parameter that is not known counts as written, an
    axis of an input of known rank from the first one (theorem rewrite.negative-axis).

    Args:
        call: the call.
        signature: of its operator.
        names: the effective values of its parameters.
        rank: of its first input, None where it is not known.
        conforms: whether the rules hold under which the data file calls the version equivalent to the specified one.
    """
    stated = operator_facts(call.operator, call.domain)
    written = {attribute.name: attribute for attribute in call.attributes}
    counted = [parameter for parameter in signature.parameters if not _is_valueless(stated, parameter.name)]
    rows: list[tuple[Hashable, ...]] = []
    for parameter in counted:
        value = names.get(parameter.name)
        if parameter.name == stated.axis_parameter and rank:
            value = _from_first(value, rank)
        if isinstance(value, Unknown | TensorFacts) or first_unknown(value) is not None:
            attribute = written.get(parameter.name)
            rows.append((parameter.name, "as written", "absent" if attribute is None else frozen(attribute)))
        else:
            rows.append((parameter.name, frozen(value)))
    rows += _of_other_versions(call, signature, stated, names)
    known = {parameter.name for parameter in signature.parameters}
    rows += [
        (name, "beyond", frozen(attribute)) for name, attribute in written.items()
        if name not in known and not _is_valueless(stated, name)
    ]  # fmt: skip
    outputs = () if stated.independent_outputs else call.outputs
    return "effective", meaning(call, signature, conforms=conforms), tuple(sorted(rows, key=repr)), outputs


def _of_other_versions(
    call: Call, signature: Signature, stated: StatedOperator, names: Mapping[str, Any]
) -> Iterator[tuple[Hashable, ...]]:
    """The parameters that other versions of the operator have, with what their absence means: so the keys of versions
    that mean the same are equal.
    """
    version = signature.version
    for parameter in () if call.definition is None else call.definition.parameters:
        is_gone = parameter.before is not None and parameter.before <= version
        if _is_valueless(stated, parameter.name) or (parameter.since <= version and not is_gone):
            continue
        nearest = parameter.since if parameter.before is None or not is_gone else parameter.before - 1
        absent = at(parameter.absent, nearest)
        value = None if absent is None else evaluate(absent, names)
        is_unknown = isinstance(value, Unknown) or first_unknown(value) is not None
        yield (parameter.name, "as written", "absent") if is_unknown else (parameter.name, frozen(value))


def _from_first(axes: Any, rank: int) -> Any:
    """An axis counted from the first one, or a set of axes in order; what is neither, as it is."""
    if type(axes) is int and -rank <= axes < rank:
        return axes % rank
    if not isinstance(axes, tuple | list) or not all(type(axis) is int and -rank <= axis < rank for axis in axes):
        return axes
    return tuple(sorted(axis % rank for axis in axes))


def counts_from_last(operator: str, names: Mapping[str, Any]) -> bool:
    """Whether the key of a call has an axis that the call counts from the last one."""
    value = names.get(operator_facts(operator).axis_parameter)
    listed = value if isinstance(value, tuple | list) else (value,)
    return any(type(each) is int and each < 0 for each in listed)


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


def meaning(call: Call, signature: Signature, *, conforms: bool) -> Hashable:
    """The versions of an operator that mean the same: the specified one and, for calls that conform to the rules of the
    equivalence, its equivalents; of an operator outside the profile those without a change between them.
    """
    definition, version = call.definition, signature.version
    same = definition is not None and (version == definition.specified or version in definition.equivalent)
    if same and conforms:
        return "specified"
    stated = operator_facts(call.operator, call.domain)
    is_specified = definition is not None and definition.specified is not None
    return stated.since_version(version) if stated.changes and not is_specified else version


def stated_by(signature: Signature, names: Mapping[str, Any], index: int) -> bool:
    """Whether an input is a parameter whose value the key has."""
    if index >= len(signature.inputs):
        return False
    name = signature.inputs[index].name
    if all(parameter.name != name for parameter in signature.values):
        return False
    return first_unknown(names.get(name)) is None and not isinstance(names.get(name), Unknown | TensorFacts)
