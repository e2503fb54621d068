"""The SMT interpretation of the rule language: a domain of the evaluator (`sonnx.language.domain.Domain`).

Lists have a static bound and presence conditions.  Whatever an expression needs in order to be defined (an index in
range, a positive divisor, a value that is present) is an obligation under the guards of its place: the left operands of
`and` and `or`, the branch of `if`, the presence of the loop item.  A condition *holds* if its obligations and its value
are true, and it *fails* if its obligations are true and its value is false.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sonnx.language.domain import BuiltIn, Expression, Thunk
from sonnx.language.evaluator import Unknown, UnknownCause
from sonnx.language.steps import OutOfFuel, current_steps
from sonnx.prover import smt_values as values
from sonnx.prover.smt_functions import FactNotStated, Functions
from sonnx.prover.smt_lists import concatenate, filtered, item_at, length, list_of, merge, without_gaps
from sonnx.prover.smt_values import (
    UNDEFINED,
    PartialValue,
    SymbolicList,
    SymbolicString,
    Truth,
    UndefinedValue,
    Value,
    all_of,
    any_of,
    implies,
    less,
    negate,
    real_constant,
)

_ARITHMETIC = {"+": values.add, "-": values.subtract, "*": values.multiply, "//": values.divide, "%": values.remainder}


@dataclass(frozen=True, slots=True)
class SmtCondition:
    """The interpretation of a condition: when it is defined, and its value."""

    defined: Truth
    value: Truth

    @property
    def holds(self) -> Truth:
        """It is defined and true."""
        return all_of([self.defined, self.value])

    @property
    def fails(self) -> Truth:
        """It is defined and false."""
        return all_of([self.defined, negate(self.value)])


STEPS_OF_A_TERM = 16
"""Steps of a model that a visit of an item takes where its value becomes a term."""


def _visit(known: SymbolicList) -> None:
    """Count the items of a list that a loop visits.

    Raises:
        FactNotStated: the model takes more steps than allowed.
    """
    steps = current_steps()
    try:
        if steps is not None:
            steps.spend(STEPS_OF_A_TERM * len(known.items))
    except OutOfFuel as error:
        raise FactNotStated(str(error)) from None


class SmtInterpretation(Functions):
    """The domain, see `domain.Domain`."""

    # Whole expressions

    def interpret(self, expression: Expression, names: Mapping[str, Value]) -> tuple[Truth, Value]:
        """When an expression is defined, and its value."""
        outer = self.guards, self.obligations
        self.guards, self.obligations = [], []
        try:
            value = self.use(expression.evaluate(self, names))
            return all_of(self.obligations), value
        finally:
            self.guards, self.obligations = outer

    def condition(
        self, expression: Expression, names: Mapping[str, Value], when: Expression | None = None
    ) -> SmtCondition:
        """A condition that applies only if `when` holds."""
        if when is None:
            return SmtCondition(*self.truth(expression, names))
        applies = SmtCondition(*self.truth(when, names))
        if applies.value is False:
            return SmtCondition(applies.defined, True)
        defined, value = self.truth(expression, names)
        return SmtCondition(all_of([applies.defined, implies(applies.value, defined)]), implies(applies.value, value))

    def truth(self, expression: Expression, names: Mapping[str, Value]) -> tuple[Truth, Truth]:
        """When a condition is defined, and its value."""
        defined, value = self.interpret(expression, names)
        return defined, (False if isinstance(value, UndefinedValue) else value)

    def partial(self, expression: Expression, names: Mapping[str, Value], reason: str) -> Value:
        """The value of an expression with its obligations, which count where the value is read."""
        try:
            defined, value = self.interpret(expression, names)
        except FactNotStated as unknown:
            return Unknown(UnknownCause.NOT_STATED, str(unknown))
        return value if defined is True else PartialValue(value, defined, reason)

    # Parts of an expression

    def constant(self, value: int | float | str) -> Value:
        return real_constant(value) if isinstance(value, float) else value

    def listing(self, items: Sequence[Value]) -> Value:
        return list_of(items)

    def field(self, value: Value, name: str) -> Value:
        record = self.use(value)
        if isinstance(record, UndefinedValue) or name != "rank":
            return record if isinstance(record, UndefinedValue) else record.fields[name]
        shape = self.use(record.fields["shape"])
        return length(shape) if isinstance(shape, SymbolicList) else shape

    def item(self, sequence: Value, index: Value) -> Value:
        known, place = self.use(sequence), self.use(index)
        if isinstance(known, UndefinedValue) or isinstance(place, UndefinedValue):
            return UNDEFINED
        self.require(all_of([values.at_most(0, place), less(place, length(known))]))
        return self.use(item_at(known, place))

    def part(self, sequence: Value, start: Value | None, stop: Value | None) -> Value:
        known = self.use(sequence)
        if isinstance(known, UndefinedValue):
            return known
        first = 0 if start is None else self.use(start)
        last = length(known) if stop is None else self.use(stop)
        if isinstance(first, UndefinedValue) or isinstance(last, UndefinedValue):
            return UNDEFINED
        self.require(
            all_of([values.at_most(0, first), values.at_most(first, last), values.at_most(last, length(known))])
        )
        return filtered(
            [
                (all_of([present, values.at_most(first, index), less(index, last)]), item)
                for index, (present, item) in enumerate(without_gaps(known).items)
            ]
        )

    def arithmetic(self, sign: str, left: Value, right: Value) -> Value:
        one, other = self.use(left), self.use(right)
        if isinstance(one, UndefinedValue) or isinstance(other, UndefinedValue):
            return UNDEFINED
        if isinstance(one, SymbolicList):
            return concatenate(one, other)
        self.require(all_of([values.finite(one), values.finite(other)]))
        if sign in values.DIVISIONS:
            self.require(less(0, other))
        return _ARITHMETIC[sign](one, other)

    def negative(self, value: Value) -> Value:
        number = self.use(value)
        return number if isinstance(number, UndefinedValue) else values.minus(number)

    def compare(self, sign: str, left: Value, right: Value) -> Truth:
        one, other = self.use(left), self.use(right)
        if isinstance(one, UndefinedValue) or isinstance(other, UndefinedValue):
            return False
        match sign:
            case "in" | "not in":
                found = any_of([all_of([present, self.equal(one, item)]) for present, item in other.items])
                return found if sign == "in" else negate(found)
            case "==" | "!=":
                alike = self.equal(one, other)
                return alike if sign == "==" else negate(alike)
            case "<" | ">=":
                return less(one, other) if sign == "<" else values.at_most(other, one)
        return less(other, one) if sign == ">" else values.at_most(one, other)

    def conjunction(self, parts: Sequence[Thunk]) -> Truth:
        return self._connect(parts, all_of, lambda value: value)

    def disjunction(self, parts: Sequence[Thunk]) -> Truth:
        return self._connect(parts, any_of, negate)

    def _connect(
        self, parts: Sequence[Thunk], join: Callable[[Sequence[Truth]], Truth], onward: Callable[[Truth], Truth]
    ) -> Truth:
        """Each part is interpreted under the guard that the parts before it do not decide the result."""
        found: list[Truth] = []
        depth = len(self.guards)
        try:
            for part in parts:
                value = self.truth_of(part())
                found.append(value)
                if onward(value) is False:
                    break
                self.guards.append(onward(value))
            return join(found)
        finally:
            del self.guards[depth:]

    def negation(self, value: Value) -> Truth:
        return negate(self.truth_of(value))

    def choice(self, condition: Value, then: Thunk, otherwise: Thunk) -> Value:
        test = self.truth_of(condition)
        if isinstance(test, bool):
            return self.use(then() if test else otherwise())
        with self.under(test):
            left = self.use(then())
        with self.under(negate(test)):
            right = self.use(otherwise())
        return merge(test, self._as_term(left, right), self._as_term(right, left))

    def _as_term(self, value: Value, other: Value) -> Value:
        """A constant string as a term, unless the other value is the same constant."""
        if isinstance(value, SymbolicList) and any(isinstance(item, str) for _, item in value.items):
            items = tuple(
                (there, SymbolicString(self.text(item)) if isinstance(item, str) else item)
                for there, item in value.items
            )
            return SymbolicList(items, value.packed, value.length)
        return SymbolicString(self.text(value)) if isinstance(value, str) and value != other else value

    # Loops

    def quantify(self, name: str, variable: str, sequence: Value, body: Callable[[Value], Value]) -> Truth:
        known = self.use(sequence)
        if isinstance(known, UndefinedValue):
            return False
        _visit(known)
        found = [self._item_condition(present, body, item) for present, item in known.items]
        if name == "all":
            return all_of([implies(present, truth) for present, truth in found])
        return any_of([all_of([present, truth]) for present, truth in found])

    def _item_condition(self, present: Truth, body: Callable[[Value], Value], item: Value) -> tuple[Truth, Truth]:
        with self.under(present):
            return present, self.truth_of(body(item))

    def collect(
        self, variable: str, sequence: Value, body: Callable[[Value], Value], where: Callable[[Value], Value] | None
    ) -> Value:
        known = self.use(sequence)
        if isinstance(known, UndefinedValue):
            return known
        _visit(known)
        made: list[tuple[Truth, Value]] = []
        for present, item in known.items:
            taken = present if where is None else all_of([present, *self._item_condition(present, where, item)[1:]])
            if taken is not False:
                with self.under(taken):
                    made.append((taken, self.use(body(item))))
        if where is None:
            return SymbolicList(tuple(made), known.packed, known.length)
        return filtered(made)

    def flatten(self, sequences: Value) -> Value:
        known = self.use(sequences)
        if isinstance(known, UndefinedValue):
            return known
        return filtered(
            [
                (all_of([present, inner]), value)
                for present, item in known.items
                if isinstance(item, SymbolicList)
                for inner, value in item.items
            ]
        )

    def built_in(self, function: BuiltIn, arguments: Sequence[Value]) -> Value:
        return self.use(function.interpret(self, [self.use(argument) for argument in arguments]))

    def reduce(self, function: BuiltIn, sequence: Value, start: Value) -> Value:
        known, total = self.use(sequence), self.use(start)
        if isinstance(known, UndefinedValue):
            return known
        for present, item in known.items:
            with self.under(present):
                step = self.built_in(function, (total, item))
            total = merge(present, step, total)
        return total

    def undefined(self, reason: str) -> Value:
        self.require(False)
        return UNDEFINED
