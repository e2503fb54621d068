"""The facts of one operator call as variables: tensors of symbolic rank, lists of symbolic length, parameters.

What every file states before a rule of the operator is asked stands here as hypotheses: the ranges of the variables,
and the general rules of the profile read by Z3 (`general_rules`), not typed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import z3

from sonnx.checker.rules import ActiveRules
from sonnx.language.domain import Expression
from sonnx.language.evaluator import Cause, Unknown
from sonnx.language.structure import questions, reads
from sonnx.model.ir import WIDTH
from sonnx.profile.definitions import Input, Output, Parameter, Rule
from sonnx.profile.signature import Signature
from sonnx.prover.encoding import Condition, Encoding
from sonnx.prover.encoding_functions import ELEMENT_TYPES
from sonnx.prover.smt_lists import masked, merge, of_length
from sonnx.prover.smt_truth import Truth, both, either, formula, implies
from sonnx.prover.smt_values import (
    Listing,
    Number,
    Partial,
    Record,
    Text,
    Value,
    at_most,
    choose,
    equal,
    less,
    real,
    variable,
    within,
)

WHOLE = {"int64": 63, "int32": 31, "int16": 15}
"""Element types of constants whose values the theorems speak of, with their bits; other constants are cases."""
NUMBERS = (-(2**63), 2**63 - 1)
"""What an attribute of kind int can state."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large a call the theorems speak of: inputs of a repeated kind, rank of a tensor, values of a list.

    `turns` is of loops over a number that nothing else bounds.
    """

    count: int = 3
    rank: int = 4
    values: int = 5
    turns: int = 3

    def __str__(self) -> str:
        return (
            f"at most {self.count} repeated inputs, rank at most {self.rank} (constants 2), "
            f"at most {self.values} values in a list, {self.turns} turns of a loop over a number"
        )


@dataclass
class Setting:
    """One signature with variables for its facts.

    `names` is what its rules read, `ranges` the hypotheses about the variables, `tensors` the inputs and outputs by
    letter (each with the condition under which it is there).
    """

    made: Signature
    bounds: Bounds = field(default_factory=Bounds)
    reading: Encoding = field(init=False)
    names: dict[str, Value] = field(default_factory=dict)
    ranges: list[z3.BoolRef] = field(default_factory=list)
    tensors: dict[str, tuple[Truth, Record]] = field(default_factory=dict)
    valued: frozenset[str] = frozenset()
    constants: frozenset[str] = frozenset()
    conditions: dict[str, Condition] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.reading = Encoding(self.bounds.turns)
        self.valued, self.constants = valued(self.made), asked_constant(self.made)
        values = {parameter.name for parameter in self.made.values}
        for formal in self.made.inputs:
            if formal.variadic:
                self._variadic(formal)
            else:
                self._single(formal, f"{formal.name}_input" if formal.name in values else formal.name)
        for output in self.made.outputs:
            self._single(output, output.name)
        self.ranges.append(formula(either([self.names[f"given({output.name})"] for output in self.made.outputs])))
        for parameter in self.made.values:
            self._constant(parameter)
        for parameter in self.made.attributes:
            self._attribute(parameter)
        for parameter in (*self.made.attributes, *self.made.values):
            self._effective(parameter)
        for name, expression in self.made.define.items():
            self.names[name] = self.reading.partial(expression, self.names, f"{name} is not defined")

    # Tensors

    def tensor(self, name: str, rank: int | None = None) -> Record:
        """A tensor of any element type, rank and extents."""
        kind, length = z3.Int(f"{name}.type"), variable(f"{name}.rank", 0, self.bounds.rank if rank is None else rank)
        extents = [variable(f"{name}.{axis}", 0, NUMBERS[1]) for axis in range(length.high or 0)]
        self.ranges += [*within(length), kind >= 0, kind < len(ELEMENT_TYPES)]
        for extent in extents:
            self.ranges += within(extent)
        shape = of_length(length, extents)
        values: Value = Unknown(Cause.RUN_TIME, "the value is known at run time only")
        if name in self.valued:
            value = element(name)
            self.ranges += ranges(value, kind)
            values = listed(value, shape)
        return Record({"type": Text(kind), "shape": shape, "kind": "tensor", "holds_sparse": False, "values": values})

    def _variadic(self, formal: Input) -> None:
        count = variable(f"{formal.name}.count", 0, self.bounds.count)
        self.ranges += within(count)
        made = of_length(count, [self.tensor(f"{formal.name}[{index}]") for index in range(self.bounds.count)])
        self.names[formal.name] = made
        for index, (present, record) in enumerate(made.items):
            self.tensors[f"{formal.name}[{index}]"] = present, record

    def _single(self, formal: Input | Output, called: str) -> None:
        record = self.tensor(called, 2 if called != formal.name else None)
        there: Truth = z3.Bool(f"given({formal.name})") if formal.optional else True
        self.names[f"given({formal.name})"] = there
        self.names[called] = Partial(record, there, f"{formal.name} is not connected") if formal.optional else record
        self.tensors[called] = there, record
        if formal.name in self.constants:
            asked: Truth = z3.Bool(f"constant({formal.name})")
            if formal.name in self.valued:
                asked = both([asked, readable(record.fields["type"].term)])
            self.names[f"constant({formal.name})"] = asked

    # Parameters

    def _constant(self, parameter: Parameter) -> None:
        """A constant input: as many values as its shape asks for."""
        name = parameter.name
        there = self.names[f"given({name})"]
        listed = self._listed(name)
        shape = self.tensors[f"{name}_input"][1].fields["shape"]
        kind = self.tensors[f"{name}_input"][1].fields["type"]
        self.ranges.append(_holding(shape, listed.length or 0))
        self.ranges.append(formula(either([self.reading.equal(kind, each) for each in WHOLE])))
        for element, bits in WHOLE.items():
            fits = [formula(less(value, 2**bits)) for _, value in listed.items]
            fits += [formula(at_most(-(2**bits), value)) for _, value in listed.items]
            self.ranges.append(formula(implies(self.reading.equal(kind, element), both(fits))))
        self.names[f"written({name})"] = self.names[f"constant({name})"] = there
        single = not parameter.kind.endswith("s")
        one = Partial(listed.items[0][1], equal(listed.length or 0, 1), f"{name} is not one value")
        self.names[name] = one if single else listed

    def _listed(self, name: str) -> Listing:
        length = variable(f"{name}.length", 0, self.bounds.values)
        items = [variable(f"{name}.{index}", *NUMBERS) for index in range(self.bounds.values)]
        for number in (length, *items):
            self.ranges += within(number)
        return of_length(length, items)

    def _attribute(self, parameter: Parameter) -> None:
        """An attribute of any value; of floating-point values the theorems speak of whole ones."""
        name = parameter.name
        written = z3.Bool(f"written({name})")
        self.names[f"written({name})"] = written
        if parameter.required_at(self.made.version):
            self.ranges.append(written)
        match parameter.kind:
            case "int" | "float":
                number = variable(name, *NUMBERS)
                self.ranges += within(number)
                self.names[name] = number
            case "ints" | "floats":
                self.names[name] = self._listed(name)
            case "string":
                self.names[name] = self._text(name)
            case "strings":
                length = variable(f"{name}.length", 0, self.bounds.values)
                self.ranges += within(length)
                texts = [self._text(f"{name}.{index}") for index in range(self.bounds.values)]
                self.names[name] = of_length(length, texts)
            case "tensor":
                self.names[name] = self.tensor(name)
            case "sparse_tensor":  # the general rule no-sparse-tensor refuses it, so no theorem needs one
                self.ranges.append(z3.Not(written))
                self.names[name] = self.tensor(name)
            case kind:
                raise NotImplementedError(f"the Z3 reading knows no attribute of kind {kind} ({name})")

    def _text(self, name: str) -> Text:
        code = z3.Int(f"{name}.text")
        self.ranges.append(code >= len(ELEMENT_TYPES))
        return Text(code)

    def _effective(self, parameter: Parameter) -> None:
        """Where a parameter is not written, what its absence means stands for it."""
        name = parameter.name
        written, value = self.names[f"written({name})"], self.names[name]
        absent = self.made.absent[name]
        if written is True:
            return
        inner, defined = (value.value, value.defined) if isinstance(value, Partial) else (value, True)
        if absent is None:
            self.names[name] = Partial(inner, both([written, defined]), f"{name} is not written")
            return
        stands, instead = self.reading.read(absent, self.names)
        if isinstance(instead, str):
            instead = Text(self.reading.text(instead))
        if isinstance(instead, float):
            instead = real(instead)
        merged = merge(written, inner, instead)
        there = merge(written, defined, stands)
        self.names[name] = merged if there is True else Partial(merged, there, f"{name} has no value")

    # Rules

    def condition(self, rule: Rule, demand: Expression | None) -> Condition:
        """A rule of the operator read by Z3; one no text demands holds."""
        if demand is None:
            return Condition(True, True)
        key = f"{demand.text} when {rule.when.text if rule.when else ''}"
        if key not in self.conditions:
            self.conditions[key] = self.reading.condition(demand, self.names, rule.when)
        return self.conditions[key]


def _holding(shape: Listing, length: int | Number) -> z3.BoolRef:
    """The shape is that of so many elements: rank 0, rank 1, or rank 2 with one row, so that no product is needed."""
    (_, first), (_, second) = shape.items
    rank = shape.length or 0
    cases = (
        both([equal(rank, 0), equal(length, 1)]),
        both([equal(rank, 1), equal(first, length)]),
        both([equal(rank, 2), equal(first, 1), equal(second, length)]),
    )
    return formula(either(cases))


def valued(made: Signature) -> frozenset[str]:
    """The inputs whose values a rule of the operator reads."""
    read = {name for each in _expressions(made) for name, field in reads(each) if field == "values"}
    return _inputs_among(made, read)


def asked_constant(made: Signature) -> frozenset[str]:
    """The inputs of which a rule of the operator asks whether they are constants."""
    asked = {name for each in _expressions(made) for question, name in questions(each) if question == "constant"}
    return _inputs_among(made, asked)


def _expressions(made: Signature) -> list[Expression]:
    """The conditions of an operator's rules, its definitions and its shapes."""
    expressions = [each for rule in made.rules for each in (rule.require, rule.onnx, rule.when) if each is not None]
    return [*expressions, *made.define.values(), *made.shapes.values()]


def _inputs_among(made: Signature, names: set[str]) -> frozenset[str]:
    return frozenset(formal.name for formal in made.inputs if formal.name in names)


def general_rules(setting: Setting, in_force: ActiveRules) -> Iterator[tuple[str, Truth]]:
    """The general rules about the values, parameters, inputs and groups of one call, each with its slug."""
    made, reading = setting.made, setting.reading
    types = Listing(tuple((True, name) for name in in_force.edition.element_types), packed=True)
    for rule, demand in in_force.about("value"):
        for _, (there, record) in setting.tensors.items():
            names = {"value": record, "element_types": types}
            yield rule.slug, implies(there, reading.condition(demand, names, rule.when).holds)
    for rule, demand in in_force.about("parameter"):
        for parameter in made.parameters:
            facts = {
                "written": setting.names[f"written({parameter.name})"],
                "value_when_absent": made.absent[parameter.name] is not None,
            }
            yield rule.slug, reading.condition(demand, {"parameter": Record(facts)}, rule.when).holds
    values = {parameter.name for parameter in made.values}
    for rule, demand in in_force.about("input"):
        for formal in made.inputs:
            if formal.optional and not formal.exempt and formal.name not in values:
                connected = Record({"connected": setting.names[f"given({formal.name})"]})
                yield rule.slug, reading.condition(demand, {"input": connected}, rule.when).holds
    for rule, demand in in_force.about("group"):
        for members in (*made.groups.values(), *made.one_type):
            group = _group(setting, members)
            if len(group.items) > 1:
                yield rule.slug, reading.condition(demand, {"group": group}, rule.when).holds


def _group(setting: Setting, members: Sequence[str]) -> Listing:
    """The tensors of a type group, by their element types only."""
    return masked(
        [
            (there, Record({"type": record.fields["type"]}))
            for letter, (there, record) in setting.tensors.items()
            if letter.partition("[")[0].removesuffix("_input") in members
        ]
    )


# ------------------------------------------------------------------
# The values of constant tensors as variables: one element stands for all of them, because they are taken equal.


READABLE = ("float", "double", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
"""Element types of constants whose values a check reads; the element of any other is one of run time."""
WHOLE_NUMBERS = 2048
"""The whole numbers up to this one are values of every floating-point type a check reads."""
INFINITY = 2**1024
"""What stands for an infinite element: a number above every finite one, of which no rule asks more than that."""
STATED = f"constants of one repeated value: an integer of its type, a whole number up to {WHOLE_NUMBERS} or an infinity"


def element(name: str) -> Number:
    """The element of the tensor of that name."""
    return variable(f"{name}.value", -INFINITY, INFINITY)


def readable(kind: z3.ArithRef) -> z3.BoolRef:
    """Whether a check reads the values of constants of an element type, given by its code."""
    return z3.Or(*[kind == ELEMENT_TYPES.index(name) for name in READABLE])


def ranges(number: Number, kind: z3.ArithRef) -> Iterator[z3.BoolRef]:
    """What an element of each element type can be."""
    value = number.term
    yield from (value >= -INFINITY, value <= INFINITY)
    for name in READABLE:
        finite = [value >= _first(name), value <= _last(name)]
        infinite = [] if "int" in name else [value == INFINITY, value == -INFINITY]
        yield z3.Implies(kind == ELEMENT_TYPES.index(name), z3.Or(z3.And(*finite), *infinite))


def _first(name: str) -> int:
    if name.startswith("uint"):
        return 0
    return -(2 ** (8 * int(WIDTH[name]) - 1)) if "int" in name else -WHOLE_NUMBERS


def _last(name: str) -> int:
    if "int" not in name:
        return WHOLE_NUMBERS
    return int(2 ** (8 * int(WIDTH[name]) - (not name.startswith("uint"))) - 1)


def listed(number: Number, shape: Listing) -> Listing:
    """The values of a tensor of that shape: the element, unless an extent is 0."""
    filled: Truth = both([implies(present, less(0, extent)) for present, extent in shape.items])
    return Listing(((filled, number),), packed=True, length=1 if filled is True else choose(formula(filled), 1, 0))
