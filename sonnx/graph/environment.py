"""The environment of a node's rules: facts by name, of inputs, outputs, parameters and definitions."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sonnx.language.domain import Expression, constant_key, given_key, input_key, written_key
from sonnx.language.evaluator import (
    MAX_PARAMETER_ELEMENTS,
    RUN_TIME,
    Evaluator,
    TensorFacts,
    Unknown,
    UnknownCause,
    dimension,
    evaluate,
    first_unknown,
)
from sonnx.language.known_numbers import KnownNumbers, known_numbers
from sonnx.model.ir import Attribute, Dimension, SparseTensor, Tensor, Type
from sonnx.profile.definitions import Formal, Parameter
from sonnx.profile.signature import Signature

MAX_RULE_ELEMENTS = 1 << 18
"""Elements of the largest constant whose values a rule reads."""

NO_TYPE = Unknown(UnknownCause.NOT_STATED, "the element type is not declared", because="explicit-type")
NO_SHAPE = Unknown(UnknownCause.NOT_STATED, "the shape is not declared", because="explicit-shape")
NO_TENSOR = Unknown(UnknownCause.NOT_STATED, "the value is not a tensor", because="tensor-values-only")
NO_INPUT = Unknown(UnknownCause.UNDEFINED, "the input is not connected", because="input-count")
NO_WHOLE_NUMBERS = Unknown(UnknownCause.NOT_STATED, "the values are not integers")
NOT_CONNECTED = TensorFacts(NO_INPUT, NO_INPUT, NO_INPUT)
SPARSE = Unknown(UnknownCause.NOT_STATED, "the value is sparse", because="no-sparse-tensor")
NOTHING_STATED = TensorFacts(NO_TYPE, NO_SHAPE, RUN_TIME)


def declared_facts(type_: Type) -> TensorFacts:
    """The facts in a declaration."""
    if type_.kind not in ("tensor", "sparse tensor", "not stated"):
        return TensorFacts(NO_TENSOR, NO_TENSOR, RUN_TIME, type_.kind, type_.holds_sparse)
    element = NO_TYPE if type_.element is None else type_.element
    shape = NO_SHAPE if type_.shape is None else _extents(type_.shape)
    return TensorFacts(element, shape, RUN_TIME, type_.kind, type_.holds_sparse)


def constant_facts(tensor: Tensor) -> TensorFacts:
    """The facts of a constant: its type, its shape and its values."""
    element = NO_TYPE if tensor.element is None else tensor.element
    return TensorFacts(element, _extents(tensor.dims), _constant_values(tensor))


def _extents(shape: Sequence[Dimension]) -> Any:
    numbers: Sequence[Any] = shape
    if set(map(type, numbers)) <= {int} and min(numbers, default=0) >= 0:
        return KnownNumbers(numbers)
    return tuple([dimension(each, index) for index, each in enumerate(shape)])


def replaceable_facts(tensor: Tensor) -> TensorFacts:
    """What a default value states that a caller may replace: its type and its dimensions."""
    return constant_facts(tensor)._replace(values=RUN_TIME)


def sparse_facts(tensor: SparseTensor) -> TensorFacts:
    """The facts of a sparse constant: its type and its shape."""
    element = NO_TYPE if tensor.element is None else tensor.element
    return TensorFacts(element, _extents(tensor.dims), SPARSE, "sparse tensor", True)


def _constant_values(tensor: Tensor) -> Any:
    """Short lists of integers by value, so that calls with equal ones are evaluated once; others are read on demand."""
    short = tensor.element in _CODES and tensor.content is not None and tensor.data_size <= MAX_PARAMETER_ELEMENTS * 8
    return whole_numbers(tensor) if short or tensor.external is not None else StoredValue(tensor)


_CODES = {
    "int64": "q",
    "int32": "i",
    "uint64": "Q",
    "uint32": "I",
    "int16": "h",
    "uint16": "H",
    "int8": "b",
    "uint8": "B",
}


_OTHERS = {"float": "f", "double": "d", "float16": "e", "bool": "B"}


class StoredValue:
    """The numbers of a constant, read when a rule needs them; objects of equal constants are not equal."""

    __slots__ = ("_numbers", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self._numbers: KnownNumbers | Unknown | None = None

    def read(self) -> KnownNumbers | Unknown:
        """The numbers in row-major order; unknown where they are external data, too many, or of another type."""
        if self._numbers is None:
            self._numbers = numbers(self.tensor)
        return self._numbers


def numbers(tensor: Tensor) -> KnownNumbers | Unknown:
    """The values of a constant of integers, of bool as 0 and 1, or of floating-point numbers that Python represents
    exactly.
    """
    if tensor.element == "bool" and tensor.data is not None and not set(tensor.data) <= {0, 1}:
        return Unknown(UnknownCause.NOT_STATED, "the value has a byte that is not a bool", because="tensor-data")
    return _unpacked(tensor, {**_CODES, **_OTHERS}, MAX_RULE_ELEMENTS)


def whole_numbers(tensor: Tensor) -> tuple[int, ...] | Unknown:
    """The values of an integer constant that is small enough for a parameter."""
    return _unpacked(tensor, _CODES, MAX_PARAMETER_ELEMENTS)  # type: ignore[return-value]  # the codes of integers


def _unpacked(tensor: Tensor, codes: Mapping[str, str], most: int) -> KnownNumbers | Unknown:
    code = codes.get(tensor.element or "")
    if tensor.external is not None:
        return Unknown(UnknownCause.NOT_STATED, "the value is in another file, which is not read")
    if code is None or tensor.content is None:
        empty = code is not None and 0 in tensor.dims
        return (
            KnownNumbers()
            if empty
            else Unknown(UnknownCause.NOT_STATED, "the value is not a list of numbers that rules can read")
        )
    count, rest = divmod(tensor.data_size, struct.calcsize(f"<{code}"))
    if rest or count > most:
        return Unknown(
            UnknownCause.NOT_STATED, "the value does not fit its type" if rest else "the value is too large to read"
        )
    return KnownNumbers(struct.unpack(f"<{count}{code}", tensor.data or b""))


def attribute_fact(attribute: Attribute) -> Any:
    """The value of an attribute as a fact."""
    if attribute.reference:
        return Unknown(UnknownCause.NOT_STATED, f"the attribute {attribute.name} is given by the caller")
    value = attribute.value
    if isinstance(value, Tensor):
        return constant_facts(value)
    if isinstance(value, SparseTensor):
        return sparse_facts(value)
    if isinstance(value, int | str | float):
        return value
    if isinstance(value, tuple) and {int, str, float}.issuperset(map(type, value)):
        return known_numbers(value)
    return Unknown(UnknownCause.NOT_STATED, f"the attribute {attribute.name} has no value", because="attribute-kind")


def environment(
    signature: Signature,
    attributes: Sequence[Attribute],
    inputs: Sequence[TensorFacts | None],
    outputs: Sequence[TensorFacts | None],
) -> dict[str, Any]:
    """Every name that the rules of a signature may use; None stands for an omitted input or output."""
    names = written_names(signature, attributes, inputs, outputs)
    facts = Evaluator()
    for name, expression in derived_names(signature, names):
        names[name] = evaluate(expression, names, facts)
    return names


def written_names(
    signature: Signature,
    attributes: Sequence[Attribute],
    inputs: Sequence[TensorFacts | None],
    outputs: Sequence[TensorFacts | None],
) -> dict[str, Any]:
    """The names that the node itself gives a value, and whether each input, output and parameter is present."""
    names: dict[str, Any] = {}
    _name_tensors(names, signature.inputs, inputs)
    _name_tensors(names, signature.outputs, outputs)
    _parameters(names, signature, attributes)
    return names


def derived_names(signature: Signature, names: Mapping[str, Any]) -> list[tuple[str, Expression]]:
    """The derived names in order: parameters whose absence means a value, then the definitions of the operator."""
    absent = [
        (parameter.name, expression)
        for parameter in signature.parameters
        if not names[written_key(parameter.name)] and (expression := signature.absent[parameter.name]) is not None
    ]
    return [*absent, *signature.define.items()]


def _name_tensors(names: dict[str, Any], formals: Sequence[Formal], actuals: Sequence[TensorFacts | None]) -> None:
    for index, formal in enumerate(formals):
        if formal.variadic:
            names[formal.name] = tuple(NOT_CONNECTED if operand is None else operand for operand in actuals[index:])
            continue
        actual = actuals[index] if index < len(actuals) else None
        names[formal.name] = NOT_CONNECTED if actual is None else _without_elements(actual)
        names[given_key(formal.name)] = actual is not None
        stated = actual is not None and not actual.derived and not _at_run_time(actual.values)
        names[constant_key(formal.name)] = stated


def _without_elements(tensor: TensorFacts) -> TensorFacts:
    """The facts; the values are known where the shape says that there are none."""
    empty = isinstance(tensor.shape, tuple) and any(type(extent) is int and extent == 0 for extent in tensor.shape)
    return tensor._replace(values=()) if empty and _at_run_time(tensor.values) else tensor


def _at_run_time(values: Any) -> bool:
    return isinstance(values, Unknown) and values.cause is UnknownCause.RUN_TIME


def _parameters(names: dict[str, Any], signature: Signature, attributes: Sequence[Attribute]) -> None:
    written = {attribute.name: attribute for attribute in attributes}
    for parameter in signature.values:
        tensor, connected = names.pop(parameter.name), names[given_key(parameter.name)]
        names[written_key(parameter.name)] = connected
        names[input_key(parameter.name)] = tensor
        names[constant_key(parameter.name)] = connected and not isinstance(tensor.values, Unknown)
        if connected:
            names[parameter.name] = _read_value(tensor, parameter.kind)
    for parameter in signature.attributes:
        attribute = written.get(parameter.name)
        names[written_key(parameter.name)] = attribute is not None
        if attribute is not None:
            names[parameter.name] = _of_kind(attribute, parameter.kind)
    for parameter in signature.parameters:
        if not names[written_key(parameter.name)] and signature.absent[parameter.name] is None:
            reason, because = f"{parameter.name} is not written", _rule_demanding(parameter, signature)
            names[parameter.name] = Unknown(UnknownCause.UNDEFINED, reason, because=because)


def _rule_demanding(parameter: Parameter, signature: Signature) -> str:
    """The rule that fails where a required parameter is missing, "" for the others."""
    if not parameter.required_at(signature.version):
        return ""
    return "input-count" if parameter in signature.values else "required-attribute"


def _of_kind(attribute: Attribute, kind: str) -> Any:
    """The value, unknown where the attribute has another kind: then attribute-kind fails."""
    if attribute.reference or attribute.kind == kind:
        return attribute_fact(attribute)
    return Unknown(
        UnknownCause.NOT_STATED, f"the attribute {attribute.name} is of kind {attribute.kind}", because="attribute-kind"
    )


def _read_value(tensor: TensorFacts, kind: str) -> Any:
    """The value of a parameter that is an input: a list for kinds such as ints, else the only element."""
    values = tensor.values.read() if isinstance(tensor.values, StoredValue) else tensor.values
    if kind in ("int", "ints") and not isinstance(values, Unknown) and not KnownNumbers.are_whole(values):
        return NO_WHOLE_NUMBERS
    if kind.endswith("s"):
        known_length = isinstance(tensor.shape, tuple) and len(tensor.shape) == 1 and isinstance(tensor.shape[0], int)
        if isinstance(values, Unknown) and known_length and tensor.shape[0] <= MAX_PARAMETER_ELEMENTS:  # type: ignore[index, operator]
            return (values,) * tensor.shape[0]  # type: ignore[index, operator]
        return values
    if isinstance(values, Unknown):
        return values
    return (
        values[0]
        if len(values) == 1
        else Unknown(UnknownCause.UNDEFINED, f"there are {len(values)} values instead of one")
    )


_SPARSE_FIELDS = frozenset({"sparse_tensor", "sparse_tensors"})


def is_sparse(attribute: Attribute) -> bool:
    """Whether the attribute holds a sparse tensor, or the type of one."""
    return not _SPARSE_FIELDS.isdisjoint(attribute.fields) or any(
        isinstance(value, SparseTensor) or (isinstance(value, Type) and value.holds_sparse) for value in attribute.items
    )


def explicit_attributes(
    make: Callable[[Mapping[str, Any]], tuple[Attribute, ...]] | None, signature: Signature, names: Mapping[str, Any]
) -> tuple[Attribute, ...] | Unknown:
    """The attributes that `make` gives in place of those that are written, () without it.

    Unknown where the shape of the first input or a parameter is.
    """
    if make is None:
        return ()
    unknown = first_unknown(
        (names[signature.inputs[0].name].shape, *[names[parameter.name] for parameter in signature.parameters])
    )
    return make(names) if unknown is None else unknown
