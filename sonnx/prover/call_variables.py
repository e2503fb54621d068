"""The facts of one operator call as variables: tensors of symbolic rank, lists of symbolic length, parameters.

The hypotheses about every call are the ranges of the variables, and the general rules of the profile, which are
interpreted from its data files like the rules of the operator (`general_rules_of_call`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import z3

from sonnx.checker.rules import ActiveRules
from sonnx.language.domain import Expression, constant_key, given_key, input_key, written_key
from sonnx.language.evaluator import Unknown, UnknownCause
from sonnx.language.structure import functions, questions, reads
from sonnx.model.ir import WIDTH
from sonnx.profile.definitions import Input, Output, Parameter, Rule
from sonnx.profile.signature import Signature
from sonnx.prover.smt_functions import ELEMENT_TYPES
from sonnx.prover.smt_interpretation import SmtCondition, SmtInterpretation
from sonnx.prover.smt_lists import filtered, merge, of_length
from sonnx.prover.smt_values import (
    INFINITY,
    PartialValue,
    RecordValue,
    SymbolicList,
    SymbolicNumber,
    SymbolicString,
    Truth,
    Value,
    all_of,
    any_of,
    at_most,
    bool_term,
    choose,
    equal,
    implies,
    interval_constraints,
    less,
    real_constant,
    variable,
)
from sonnx.prover.terms import conjunction, disjunction

PARAMETER_TYPES = {"int64": 63, "int32": 31, "int16": 15}
"""Element types of constant parameters in the theorems, with their bits; other types are tested by cases."""
INT64_RANGE = (-(2**63), 2**63 - 1)
"""The values of an attribute of type int."""
MAX_FLOAT = 2**128 - 2**104
"""The largest finite value of an attribute of type float; the theorems are about every real number up to it."""


@dataclass(frozen=True, slots=True)
class CallBounds:
    """The largest call of the theorems: inputs of a variadic formal, rank of a tensor, values of a list.

    `turns` bounds the iterations of loops over a number without another bound.
    """

    count: int = 3
    rank: int = 4
    values: int = 5
    turns: int = 3

    def about(self, signature: Signature) -> str:
        """The bounds of what a call of an operator has: one without constant parameters needs none for them."""
        kinds = {parameter.kind for parameter in signature.parameters}
        listed = any(kind.endswith("s") for kind in kinds)
        counted = any(
            "range" in functions(expression) for expression in (*_expressions(signature), *_absent(signature))
        )
        constants = f" (constants 2, of type {' or '.join(PARAMETER_TYPES)})" if signature.values else ""
        stated = {
            f"at most {self.count} repeated inputs": any(operand.variadic for operand in signature.inputs),
            f"rank at most {self.rank}{constants}": True,
            f"at most {self.values} values in a list": listed,
            f"{self.turns} turns of a loop over a number": counted,
            "attributes with finite numbers": bool(kinds & {"float", "floats"}),
            f"constants that repeat one element, if a floating-point number then a whole one up to {MAX_EXACT_INTEGER} "
            "or an infinity": bool(inputs_with_values(signature)),
        }
        return ", ".join(text for text, applies in stated.items() if applies)


class TensorVariables(NamedTuple):
    """An input or output as variables; `present` is the condition under which it is connected."""

    formal: str
    present: Truth
    record: RecordValue


@dataclass
class CallVariables:
    """One signature with variables for its facts.

    `names` is the environment of its rules, `ranges` the hypotheses about the variables, `tensors` the inputs and
    outputs by the prefix of their variables, `fractions` the variables that are not integers.
    """

    signature: Signature
    bounds: CallBounds = field(default_factory=CallBounds)
    interpretation: SmtInterpretation = field(init=False)
    names: dict[str, Value] = field(default_factory=dict)
    ranges: list[z3.BoolRef] = field(default_factory=list)
    tensors: dict[str, TensorVariables] = field(default_factory=dict)
    fractions: list[z3.ArithRef] = field(default_factory=list)
    with_values: frozenset[str] = frozenset()
    may_be_constant: frozenset[str] = frozenset()
    conditions: dict[tuple[Expression, Expression | None], SmtCondition] = field(default_factory=dict)
    shapes: dict[Expression, tuple[Truth, Any]] = field(default_factory=dict)
    general: tuple[tuple[str, Truth], ...] = ()
    """The general rules about the call, of the edition that it is made for; () before they are asked for."""

    def __post_init__(self) -> None:
        self.interpretation = SmtInterpretation(self.bounds.turns)
        self.with_values = inputs_with_values(self.signature)
        self.may_be_constant = inputs_asked_constant(self.signature)
        values = {parameter.name for parameter in self.signature.values}
        for formal in self.signature.inputs:
            if formal.variadic:
                self._variadic(formal)
            else:
                self._single(formal, input_key(formal.name) if formal.name in values else formal.name)
        for output in self.signature.outputs:
            self._single(output, output.name)
        self.ranges.append(bool_term(any_of([self.names[given_key(output.name)] for output in self.signature.outputs])))
        for parameter in self.signature.values:
            self._constant(parameter)
        for parameter in self.signature.attributes:
            self._attribute(parameter)
        for parameter in (*self.signature.attributes, *self.signature.values):
            self._effective(parameter)
        for name, expression in self.signature.define.items():
            self.names[name] = self.interpretation.partial(expression, self.names, f"{name} is not defined")

    # Tensors

    def tensor(self, name: str, rank: int | None = None) -> RecordValue:
        """A tensor of any element type, rank and extents."""
        type_code, length = (
            z3.Int(f"{name}.type"),
            variable(f"{name}.rank", 0, self.bounds.rank if rank is None else rank),
        )
        extents = [variable(f"{name}.{axis}", 0, INT64_RANGE[1]) for axis in range(length.high or 0)]
        self.ranges += [*interval_constraints(length), type_code >= 0, type_code < len(ELEMENT_TYPES)]
        for extent in extents:
            self.ranges += interval_constraints(extent)
        shape = of_length(length, extents)
        values: Value = Unknown(UnknownCause.RUN_TIME, "the value is known at run time only")
        if name in self.with_values:
            value = element(name)
            self.ranges += ranges(value, type_code)
            values = listed(value, shape)
        return RecordValue(
            {
                "type": SymbolicString(type_code),
                "shape": shape,
                "kind": "tensor",
                "holds_sparse": False,
                "values": values,
            }
        )

    def _variadic(self, formal: Input) -> None:
        count = variable(f"{formal.name}.count", 0, self.bounds.count)
        self.ranges += interval_constraints(count)
        tensors = of_length(count, [self.tensor(f"{formal.name}[{index}]") for index in range(self.bounds.count)])
        self.names[formal.name] = tensors
        for index, (present, record) in enumerate(tensors.items):
            self.tensors[f"{formal.name}[{index}]"] = TensorVariables(formal.name, present, record)

    def _single(self, formal: Input | Output, called: str) -> None:
        record = self.tensor(called, 2 if called != formal.name else None)
        there: Truth = z3.Bool(given_key(formal.name)) if formal.optional else True
        self.names[given_key(formal.name)] = there
        self.names[called] = (
            PartialValue(record, there, f"{formal.name} is not connected") if formal.optional else record
        )
        self.tensors[called] = TensorVariables(formal.name, there, record)
        if formal.name in self.may_be_constant:
            constant: Truth = z3.Bool(constant_key(formal.name))
            if formal.name in self.with_values:
                constant = all_of([constant, readable(record.fields["type"].term)])
            self.names[constant_key(formal.name)] = constant

    # Parameters

    def _constant(self, parameter: Parameter) -> None:
        """A constant input, with as many values as its shape has elements."""
        name = parameter.name
        there = self.names[given_key(name)]
        listed = self._list_of_numbers(name)
        shape = self.tensors[input_key(name)].record.fields["shape"]
        element_type = self.tensors[input_key(name)].record.fields["type"]
        self.ranges.append(_has_elements(shape, listed.length or 0, self.bounds.values))
        self.ranges.append(
            bool_term(
                any_of([self.interpretation.equal(element_type, parameter_type) for parameter_type in PARAMETER_TYPES])
            )
        )
        for text, bits in PARAMETER_TYPES.items():
            fits = [bool_term(less(value, 2**bits)) for _, value in listed.items]
            fits += [bool_term(at_most(-(2**bits), value)) for _, value in listed.items]
            self.ranges.append(bool_term(implies(self.interpretation.equal(element_type, text), all_of(fits))))
        self.names[written_key(name)] = self.names[constant_key(name)] = there
        single = not parameter.kind.endswith("s")
        first = PartialValue(listed.items[0][1], equal(listed.length or 0, 1), f"{name} is not one value")
        self.names[name] = first if single else listed

    def _list_of_numbers(self, name: str, kind: str = "ints") -> SymbolicList:
        length = variable(f"{name}.length", 0, self.bounds.values)
        items = [self._item(f"{name}.{index}", kind.removesuffix("s")) for index in range(self.bounds.values)]
        for number in (length, *items):
            self.ranges += interval_constraints(number)
        return of_length(length, items)

    def _item(self, name: str, kind: str) -> SymbolicNumber:
        """A number of an attribute, of kind int or float."""
        if kind == "int":
            return variable(name, *INT64_RANGE)
        number = SymbolicNumber(z3.Real(name), -MAX_FLOAT, MAX_FLOAT)
        self.fractions.append(number.term)
        return number

    def _attribute(self, parameter: Parameter) -> None:
        """An attribute of any value that is not an infinity or NaN."""
        name = parameter.name
        written = z3.Bool(written_key(name))
        self.names[written_key(name)] = written
        if parameter.required_at(self.signature.version):
            self.ranges.append(written)
        match parameter.kind:
            case "int" | "float":
                number = self._item(name, parameter.kind)
                self.ranges += interval_constraints(number)
                self.names[name] = number
            case "ints" | "floats":
                self.names[name] = self._list_of_numbers(name, parameter.kind)
            case "string":
                self.names[name] = self._text(name)
            case "strings":
                length = variable(f"{name}.length", 0, self.bounds.values)
                self.ranges += interval_constraints(length)
                texts = [self._text(f"{name}.{index}") for index in range(self.bounds.values)]
                self.names[name] = of_length(length, texts)
            case "tensor":
                self.names[name] = self.tensor(name)
            case "sparse_tensor":  # the general rule no-sparse-tensor refuses it, so no theorem needs one
                self.ranges.append(z3.Not(written))
                self.names[name] = self.tensor(name)
            case unknown:
                raise NotImplementedError(f"an attribute of type {unknown} has no SMT interpretation ({name})")

    def _text(self, name: str) -> SymbolicString:
        code = z3.Int(f"{name}.text")
        self.ranges.append(code >= len(ELEMENT_TYPES))
        return SymbolicString(code)

    def _effective(self, parameter: Parameter) -> None:
        """A parameter that is not written has the value its absence means."""
        name = parameter.name
        written, value = self.names[written_key(name)], self.names[name]
        absent = self.signature.absent[name]
        if written is True:
            return
        inner, defined = (value.value, value.defined) if isinstance(value, PartialValue) else (value, True)
        if absent is None:
            self.names[name] = PartialValue(inner, all_of([written, defined]), f"{name} is not written")
            return
        stands, instead = self.interpretation.interpret(absent, self.names)
        if isinstance(instead, str):
            instead = SymbolicString(self.interpretation.text(instead))
        if isinstance(instead, float):
            instead = real_constant(instead)
        merged = merge(written, inner, instead)
        there = merge(written, defined, stands)
        self.names[name] = merged if there is True else PartialValue(merged, there, f"{name} has no value")

    # Rules

    def condition(self, rule: Rule, demand: Expression | None) -> SmtCondition:
        """The interpretation of a rule of the operator; a rule without a demand holds."""
        if demand is None:
            return SmtCondition(True, True)
        if (demand, rule.when) not in self.conditions:
            self.conditions[demand, rule.when] = self.interpretation.condition(demand, self.names, rule.when)
        return self.conditions[demand, rule.when]

    def shape(self, expression: Expression) -> tuple[Truth, Any]:
        """The condition under which the shape of an output is defined, and the shape."""
        if expression not in self.shapes:
            self.shapes[expression] = self.interpretation.interpret(expression, self.names)
        return self.shapes[expression]


def _has_elements(shape: SymbolicList, length: int | SymbolicNumber, most: int) -> z3.BoolRef:
    """The condition that a shape of rank 0, 1 or 2 has `length` elements, at most `most`.

    A product of two extents is written as its cases, because solvers are slow with products.
    """
    (_, first), (_, second) = shape.items
    rank = shape.length or 0
    empty = all_of([equal(length, 0), any_of([equal(first, 0), equal(second, 0)])])
    filled = [
        all_of([equal(length, rows * columns), equal(first, rows), equal(second, columns)])
        for rows in range(1, most + 1)
        for columns in range(1, most // rows + 1)
    ]
    cases = (
        all_of([equal(rank, 0), equal(length, 1)]),
        all_of([equal(rank, 1), equal(first, length)]),
        all_of([equal(rank, 2), any_of([empty, *filled])]),
    )
    return bool_term(any_of(cases))


def inputs_with_values(signature: Signature) -> frozenset[str]:
    """The inputs whose values a rule of the operator reads."""
    read = {name for expression in _expressions(signature) for name, field in reads(expression) if field == "values"}
    return _inputs_among(signature, read)


def inputs_asked_constant(signature: Signature) -> frozenset[str]:
    """The inputs for which a rule of the operator asks whether they are constants."""
    asked = {
        name
        for expression in _expressions(signature)
        for question, name in questions(expression)
        if question == "constant"
    }
    return _inputs_among(signature, asked)


def _expressions(signature: Signature) -> list[Expression]:
    """The conditions of an operator's rules, its definitions and its shapes."""
    expressions = [
        expression
        for rule in signature.rules
        for expression in (rule.require, rule.onnx, rule.when)
        if expression is not None
    ]
    return [*expressions, *signature.define.values(), *signature.shapes.values()]


def _absent(signature: Signature) -> list[Expression]:
    """What the absence of each parameter means."""
    return [expression for expression in signature.absent.values() if expression is not None]


def _inputs_among(signature: Signature, names: set[str]) -> frozenset[str]:
    return frozenset(formal.name for formal in signature.inputs if formal.name in names)


def general_rules_of_call(call: CallVariables, active_rules: ActiveRules) -> Iterator[tuple[str, Truth]]:
    """The general rules about the values, parameters, inputs and groups of one call, each with its slug."""
    signature, interpretation = call.signature, call.interpretation
    types = SymbolicList(tuple((True, name) for name in active_rules.edition.element_types), packed=True)
    for rule, demand in active_rules.general_rules_about("value"):
        for tensor in call.tensors.values():
            names = {"value": tensor.record, "element_types": types}
            yield rule.slug, implies(tensor.present, interpretation.condition(demand, names, rule.when).holds)
    for rule, demand in active_rules.general_rules_about("parameter"):
        for parameter in signature.attributes:
            facts = {
                "written": call.names[written_key(parameter.name)],
                "value_when_absent": signature.absent[parameter.name] is not None,
            }
            yield rule.slug, interpretation.condition(demand, {"parameter": RecordValue(facts)}, rule.when).holds
    for rule, demand in active_rules.general_rules_about("input"):
        for formal in signature.inputs:
            if formal.optional and not formal.exempt:
                connected = RecordValue({"connected": call.names[given_key(formal.name)]})
                yield rule.slug, interpretation.condition(demand, {"input": connected}, rule.when).holds
    for rule, demand in active_rules.general_rules_about("group"):
        for members in (*signature.groups.values(), *signature.one_type):
            group = _group(call, members)
            if len(group.items) > 1:
                yield rule.slug, interpretation.condition(demand, {"group": group}, rule.when).holds


def _group(call: CallVariables, members: Sequence[str]) -> SymbolicList:
    """The tensors of a type group, by their element types only."""
    return filtered(
        [
            (tensor.present, RecordValue({"type": tensor.record.fields["type"]}))
            for tensor in call.tensors.values()
            if tensor.formal in members
        ]
    )


# The values of constant tensors: all elements of one are equal, so one variable stands for them

READABLE = ("float", "double", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
"""Element types of constants whose values a check reads; values of other types are known at run time only."""
MAX_EXACT_INTEGER = 2048
"""Every floating-point type that a check reads represents the integers up to this one exactly."""


def element(name: str) -> SymbolicNumber:
    """The variable for the elements of a tensor."""
    return variable(f"{name}.value", -INFINITY, INFINITY)


def readable(type_code: z3.ArithRef) -> z3.BoolRef:
    """Whether a check reads the values of constants of an element type, which is given by its code."""
    return z3.Or(*[type_code == ELEMENT_TYPES.index(name) for name in READABLE])


def ranges(number: SymbolicNumber, type_code: z3.ArithRef) -> Iterator[z3.BoolRef]:
    """The range of an element for each element type."""
    value = number.term
    yield from (value >= -INFINITY, value <= INFINITY)
    may_be_infinite = [type_code == ELEMENT_TYPES.index(name) for name in READABLE if "int" not in name]
    yield z3.Or(z3.And(value > -INFINITY, value < INFINITY), *may_be_infinite)
    for name in READABLE:
        finite = [value >= _first(name), value <= _last(name)]
        infinite = [] if "int" in name else [value == INFINITY, value == -INFINITY]
        yield z3.Implies(type_code == ELEMENT_TYPES.index(name), disjunction([conjunction(finite), *infinite]))


def _first(name: str) -> int:
    if name.startswith("uint"):
        return 0
    return -(2 ** (8 * int(WIDTH[name]) - 1)) if "int" in name else -MAX_EXACT_INTEGER


def _last(name: str) -> int:
    if "int" not in name:
        return MAX_EXACT_INTEGER
    return int(2 ** (8 * int(WIDTH[name]) - (not name.startswith("uint"))) - 1)


def listed(number: SymbolicNumber, shape: SymbolicList) -> SymbolicList:
    """The values of a tensor of that shape: the element, unless an extent is 0."""
    filled: Truth = all_of([implies(present, less(0, extent)) for present, extent in shape.items])
    return SymbolicList(
        ((filled, number),), packed=True, length=1 if filled is True else choose(bool_term(filled), 1, 0)
    )
