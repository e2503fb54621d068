"""One call with numbers for the variables of its `Setting`: as facts the checker reads, and as a model of one node."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, prod
from typing import Any

import z3

from sonnx.checker.environment import RUN_TIME, environment
from sonnx.checker.report import Report, Verdict
from sonnx.checker.request import CheckRequest, check_model, open_model
from sonnx.language.evaluator import TensorFacts as Facts
from sonnx.model.from_protobuf import VALUE_FIELD
from sonnx.model.ir import WIDTH, Attribute, Graph, Import, Model, Node, Tensor, Type, Value
from sonnx.model.writer import write
from sonnx.profile.definitions import Parameter, Rule
from sonnx.profile.signature import Signature
from sonnx.prover.encoding_functions import ELEMENT_TYPES
from sonnx.prover.setting import INFINITY, READABLE, Setting, asked_constant, valued
from sonnx.prover.smt_lists import variables_in
from sonnx.prover.smt_truth import formula
from sonnx.prover.smt_values import Listing, Number
from sonnx.prover.theorem import Counterexample, Unconfirmed

IR_VERSION = 10
_CODES = {
    "float": "f", "double": "d", "float16": "e", "int8": "b", "int16": "h", "int32": "i", "int64": "q",
    "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
}  # fmt: skip


@dataclass(frozen=True)
class Instance:
    """The facts of one call of an operator; None among inputs and outputs is one left out."""

    made: Signature
    inputs: tuple[Facts | None, ...]
    outputs: tuple[Facts | None, ...]
    attributes: tuple[Attribute, ...]

    def names(self) -> dict[str, Any]:
        """What the rules of the operator read, as in a check."""
        return environment(self.made, self.attributes, self.inputs, self.outputs)

    def model(self) -> Model:
        """A model of this one node, in which all else conforms: every shape and type is declared."""
        made = self.made
        names = tuple(f"x{index}" if each is not None else "" for index, each in enumerate(self.inputs))
        results = tuple(f"y{index}" if each is not None else "" for index, each in enumerate(self.outputs))
        given = [(name, each) for name, each in zip(names, self.inputs, strict=True) if each is not None]
        node = Node("node", made.operator, "", "", _trimmed(names), _trimmed(results), self.attributes)
        produced = [(name, each) for name, each in zip(results, self.outputs, strict=True) if each is not None]
        graph = Graph(
            name="witness",
            inputs=tuple(Value(name, _type(each)) for name, each in given if not isinstance(each.values, tuple)),
            outputs=tuple(Value(name, _type(each)) for name, each in produced),
            value_info=(),
            initializers=tuple(_constant(name, each) for name, each in given if isinstance(each.values, tuple)),
            sparse_initializers=(),
            nodes=(node,),
        )
        return Model(IR_VERSION, (Import("", made.version),), graph)


def _trimmed(names: Sequence[str]) -> tuple[str, ...]:
    """Names left out at the end are not written at all."""
    end = max([index + 1 for index, name in enumerate(names) if name], default=0)
    return tuple(names[:end])


def _type(facts: Facts) -> Type:
    return Type("tensor", facts.type, facts.shape)  # type: ignore[arg-type]


def _constant(name: str, facts: Facts) -> Tensor:
    element, values = str(facts.type), facts.values
    assert isinstance(values, tuple)  # noqa: S101  (the caller's condition)
    data = struct.pack(f"<{len(values)}{_CODES[element]}", *values)
    return Tensor(name, element, facts.shape, ("raw_data",), memoryview(data))  # type: ignore[arg-type]


def _zeros(name: str, facts: Facts) -> Tensor:
    """A constant of zeros, or of empty strings."""
    element, size = str(facts.type), prod(facts.shape)  # type: ignore[arg-type]
    if element == "string":
        return Tensor(name, element, facts.shape, ("string_data",), strings=(b"",) * size)  # type: ignore[arg-type]
    data = bytes(ceil(size * WIDTH[element]))
    return Tensor(name, element, facts.shape, ("raw_data",), memoryview(data))  # type: ignore[arg-type]


class _Reader:
    """The parts of an instance from the values of its variables by name; one that has none is 0."""

    def __init__(self, made: Signature, codes: Mapping[str, int], values: Mapping[str, int]) -> None:
        self.made, self.values = made, values
        self.texts = {code: text for text, code in codes.items()}

    def number(self, name: str) -> int:
        return self.values.get(name, 0)

    def listed(self, name: str, length: int) -> tuple[int, ...]:
        return tuple(self.number(f"{name}.{index}") for index in range(length))

    def tensor(self, name: str) -> Facts:
        shape = self.listed(name, self.number(f"{name}.rank"))
        return Facts(ELEMENT_TYPES[self.number(f"{name}.type")], shape, RUN_TIME)

    def constant(self, parameter: Parameter) -> Facts:
        facts = self.tensor(f"{parameter.name}_input")
        return facts._replace(values=self.listed(parameter.name, self.number(f"{parameter.name}.length")))

    def formal(self, formal: Any) -> list[Facts | None]:
        if getattr(formal, "variadic", False):
            return [self.tensor(f"{formal.name}[{i}]") for i in range(self.number(f"{formal.name}.count"))]
        if formal.optional and not self.number(f"given({formal.name})"):
            return [None]
        for parameter in self.made.values:
            if parameter.name == formal.name:
                return [self.constant(parameter)]
        facts = self.tensor(formal.name)
        if formal.name in valued(self.made) and self.may_be_constant(formal.name):
            return [self.filled(facts, self.number(f"{formal.name}.value"))]
        if self.number(f"constant({formal.name})") and facts.type in _CODES:
            return [facts._replace(values=(0,) * prod(facts.shape))]  # type: ignore[arg-type]
        return [facts]

    def may_be_constant(self, name: str) -> bool:
        """Whether the variables leave it open that a value is a constant, or say so."""
        return name not in asked_constant(self.made) or bool(self.number(f"constant({name})"))

    def filled(self, facts: Facts, element: int) -> Facts:
        """A tensor of one repeated value, a constant where a check reads values of its type."""
        if facts.type not in READABLE:
            return facts
        value = element if abs(element) < INFINITY else inf if element > 0 else -inf
        return facts._replace(values=(value,) * prod(facts.shape))  # type: ignore[arg-type]

    def attribute(self, parameter: Parameter) -> Attribute:
        name, kind = parameter.name, parameter.kind
        field = VALUE_FIELD.get(kind, kind)
        if kind.endswith("s"):
            parts = [self.item(f"{name}.{index}", kind[:-1]) for index in range(self.number(f"{name}.length"))]
            return Attribute(name, kind, tuple(parts), fields=(field,) if parts else ())
        return Attribute(name, kind, self.item(name, kind), fields=(field,))

    def item(self, name: str, kind: str) -> int | float | str | Tensor:
        number = self.number(name)
        match kind:
            case "int":
                return number
            case "float":
                return float(number)
            case "string":
                code = self.number(f"{name}.text")
                return self.texts.get(code, f"text {code}")
        return _zeros(name, self.tensor(name))


def instance(made: Signature, codes: Mapping[str, int], values: Mapping[str, int]) -> Instance:
    """The call that values of the variables of a `Setting` describe; `codes` are those of its reading."""
    reader = _Reader(made, codes, values)
    return Instance(
        made=made,
        inputs=tuple(each for formal in made.inputs for each in reader.formal(formal)),
        outputs=tuple(each for formal in made.outputs for each in reader.formal(formal)),
        attributes=tuple(reader.attribute(each) for each in made.attributes if reader.number(f"written({each.name})")),
    )


# ------------------------------------------------------------------
# Witnesses: a model file that breaks exactly one rule, or none, found by Z3 and judged by the checker.
#
# The solver is asked for natural calls first: small numbers, no empty axis, no rank 0, float tensors.


EFFORT = 2_000_000
"""Steps of Z3 (its rlimit) spent on one wish."""
SIZES = (1, 2, 3, 4, 6, 8, 16)


def find(setting: Setting, assertions: Sequence[z3.BoolRef]) -> dict[str, int] | None:
    """Values of the variables for which the assertions hold, as natural as can be; None where there are none."""
    solver = z3.SolverFor("QF_NIA")
    solver.set("random_seed", 0)
    solver.set("rlimit", EFFORT)
    solver.add(*setting.ranges, *assertions)
    numbers = _numbers([*setting.ranges, *assertions])
    natural = list(_natural(setting))
    for wish, sizes in ((z3.And(*natural), SIZES[:4]), (z3.BoolVal(True), SIZES)):
        for size in sizes:
            solver.push()
            solver.add(wish, *[z3.And(number <= size, -size <= number) for number in numbers])
            if solver.check() == z3.sat:
                return _polished(solver, [*natural, *_preferred(setting)])
            solver.pop()
    solver.set("rlimit", 50 * EFFORT)
    return _values(solver.model()) if solver.check() == z3.sat else None


def _polished(solver: z3.Solver, wishes: Sequence[z3.BoolRef]) -> dict[str, int]:
    """As many wishes as can be had, the first ones first."""
    model = solver.model()
    for wish in wishes:
        if z3.is_true(model.eval(wish, model_completion=True)):
            solver.add(wish)
            continue
        solver.push()
        solver.add(wish)
        if solver.check() == z3.sat:
            model = solver.model()
        else:
            solver.pop()
    return _values(model)


def _values(model: z3.ModelRef) -> dict[str, int]:
    found = {}
    for name in model.decls():
        value = model[name]
        found[str(name)] = value.as_long() if z3.is_int_value(value) else int(z3.is_true(value))
    return dict(sorted(found.items()))


def _numbers(assertions: Sequence[z3.BoolRef]) -> list[z3.ExprRef]:
    """The integer variables that are no code of an element type or string."""
    found = {str(part): part for part in variables_in(z3.And(*assertions)) if z3.is_int(part)}
    return [found[name] for name in sorted(found) if not name.endswith((".type", ".text"))]


def _natural(setting: Setting) -> Iterator[z3.BoolRef]:
    """No tensor of rank 0, no empty axis."""
    for there, record in setting.tensors.values():
        shape = record.fields["shape"]
        assert isinstance(shape, Listing)  # noqa: S101  (see Setting.tensor)
        rank = shape.length
        yield z3.Implies(formula(there), rank.term >= 1 if isinstance(rank, Number) else z3.BoolVal(True))
        for _, extent in shape.items:
            yield z3.Implies(formula(there), extent.term >= 1)


def _preferred(setting: Setting) -> Iterator[z3.BoolRef]:
    """The usual element type, and everything written."""
    for _, record in setting.tensors.values():
        yield record.fields["type"].term == 0
    for parameter in setting.made.attributes:
        yield z3.Bool(f"written({parameter.name})")


# Judged by the checker


def dependents(made: Signature, name: str) -> frozenset[str]:
    """The names of the rules that rely on a rule, also through others."""
    found = {name}
    while more := {rule.name for rule in made.rules if found & set(rule.relies)} - found:
        found |= more
    return frozenset(found - {name})


def report(made: Signature, codes: Mapping[str, int], values: Counterexample, edition: str) -> tuple[Instance, Report]:
    """The call as a file, and what the checker says about it."""
    call = instance(made, codes, values)
    model, _ = open_model(write(call.model()), hashed=False)
    return call, check_model(model, "", CheckRequest(edition), "model")


def conforms(made: Signature, codes: Mapping[str, int], values: Counterexample, edition: str) -> str:
    """Confirms that the checker finds nothing in the call.

    Raises:
        Unconfirmed: it does.
    """
    call, found = report(made, codes, values, edition)
    if found.verdict is not Verdict.PASS:
        raise Unconfirmed(f"{show(call)} should conform in {edition}: {_findings(found)}")
    return f"{show(call)} conforms"


def breaks(
    made: Signature,
    rule: Rule,
    codes: Mapping[str, int],
    values: Counterexample,
    edition: str,
    following: Collection[str] = (),
) -> str:
    """Confirms that the checker reports the rule for the call, and with it only what relies on it or follows.

    What is assumed of values known at run time only is no report: the run decides it.

    Raises:
        Unconfirmed: it reports something else.
    """
    call, found = report(made, codes, values, edition)
    failing = {finding.rule for finding in found.findings if finding.verdict is Verdict.FAIL}
    others = {each.rule for each in found.findings if each.verdict not in (Verdict.FAIL, Verdict.ASSUMED)}
    relying = {f"{made.operator}.{name}" for each in (rule.name, *following) for name in dependents(made, each)}
    also = {f"{made.operator}.{name}" for name in following} & failing
    if failing != {rule.slug} | also or others != relying & others:
        raise Unconfirmed(f"{show(call)} should break {rule.slug} only in {edition}: {_findings(found)}")
    reason = next(finding.actual for finding in found.findings if finding.rule == rule.slug)
    with_them = f"with {', '.join(sorted(also))}" if also else "only"
    return f"{show(call)} breaks {rule.slug} {with_them}: {reason}"


def _findings(found: Report) -> str:
    said = [f"{each.rule} {each.verdict}: {each.actual}" for each in found.findings]
    return "; ".join(said) or f"the checker says {found.verdict} without a finding"


def show(call: Instance) -> str:
    """A call in one line: `Max-13(float [2, 3], float [2]) -> float [2, 3]`."""
    parts = [_tensor(each) for each in call.inputs]
    parts += [f"{each.name}={_plain(each.value)}" for each in call.attributes]
    results = ", ".join(_tensor(each) for each in call.outputs)
    return f"{call.made.operator}-{call.made.version}({', '.join(parts)}) -> {results}"


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _tensor(facts: object) -> str:
    if facts is None:
        return "none"
    values = getattr(facts, "values", None)
    constant = f" = {list(values)}" if isinstance(values, tuple) else ""
    return f"{getattr(facts, 'type', '')} {_plain(getattr(facts, 'shape', ()))}{constant}"
