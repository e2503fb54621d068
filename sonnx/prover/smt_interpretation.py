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


def _visit(listed: SymbolicList) -> None:
    """Count the items of a list that a loop visits.

    Raises:
        FactNotStated: the model takes more steps than allowed.
    """
    steps = current_steps()
    try:
        if steps is not None:
            steps.spend(STEPS_OF_A_TERM * len(listed.items))
    except OutOfFuel as error:
        raise FactNotStated(str(error)) from None


class SmtInterpretation(Functions):
    """The domain, see `domain.Domain`."""

    # Whole expressions

    def interpret(self, expression: Expression, names: Mapping[str, Value]) -> tuple[Truth, Value]:
        """The condition under which an expression is defined, and its value there."""
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
        """The condition under which a condition is defined, and its truth value there."""
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
        listed, place = self.use(sequence), self.use(index)
        if isinstance(listed, UndefinedValue) or isinstance(place, UndefinedValue):
            return UNDEFINED
        self.require(all_of([values.at_most(0, place), less(place, length(listed))]))
        return self.use(item_at(listed if isinstance(place, int) else self._with_terms(listed), place))

    def part(self, sequence: Value, start: Value | None, stop: Value | None) -> Value:
        listed = self.use(sequence)
        if isinstance(listed, UndefinedValue):
            return listed
        first = 0 if start is None else self.use(start)
        last = length(listed) if stop is None else self.use(stop)
        if isinstance(first, UndefinedValue) or isinstance(last, UndefinedValue):
            return UNDEFINED
        self.require(
            all_of([values.at_most(0, first), values.at_most(first, last), values.at_most(last, length(listed))])
        )
        return filtered(
            [
                (all_of([present, values.at_most(first, index), less(index, last)]), item)
                for index, (present, item) in enumerate(without_gaps(listed).items)
            ]
        )

    def arithmetic(self, sign: str, left: Value, right: Value) -> Value:
        first, second = self.use(left), self.use(right)
        if isinstance(first, UndefinedValue) or isinstance(second, UndefinedValue):
            return UNDEFINED
        if isinstance(first, SymbolicList):
            return concatenate(first, second)
        self.require(all_of([values.finite(first), values.finite(second)]))
        if sign in values.DIVISIONS:
            self.require(less(0, second))
        return _ARITHMETIC[sign](first, second)

    def negative(self, value: Value) -> Value:
        number = self.use(value)
        return number if isinstance(number, UndefinedValue) else values.minus(number)

    def compare(self, sign: str, left: Value, right: Value) -> Truth:
        first, second = self.use(left), self.use(right)
        if isinstance(first, UndefinedValue) or isinstance(second, UndefinedValue):
            return False
        match sign:
            case "in" | "not in":
                contained = any_of([all_of([present, self.equal(first, item)]) for present, item in second.items])
                return contained if sign == "in" else negate(contained)
            case "==" | "!=":
                alike = self.equal(first, second)
                return alike if sign == "==" else negate(alike)
            case "<" | ">=":
                return less(first, second) if sign == "<" else values.at_most(second, first)
        return less(second, first) if sign == ">" else values.at_most(first, second)

    def conjunction(self, parts: Sequence[Thunk]) -> Truth:
        return self._connect(parts, all_of, lambda value: value)

    def disjunction(self, parts: Sequence[Thunk]) -> Truth:
        return self._connect(parts, any_of, negate)

    def _connect(
        self, parts: Sequence[Thunk], join: Callable[[Sequence[Truth]], Truth], onward: Callable[[Truth], Truth]
    ) -> Truth:
        """Each part is interpreted under the guard that the parts before it do not decide the result."""
        truths: list[Truth] = []
        depth = len(self.guards)
        try:
            for part in parts:
                value = self.truth_of(part())
                truths.append(value)
                if onward(value) is False:
                    break
                self.guards.append(onward(value))
            return join(truths)
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

    def _as_term(self, value: Value, alternative: Value) -> Value:
        """A constant string as a term, unless the other value is the same constant."""
        if isinstance(value, SymbolicList):
            return self._with_terms(value)
        return SymbolicString(self.text(value)) if isinstance(value, str) and value != alternative else value

    def _with_terms(self, listed: SymbolicList) -> SymbolicList:
        """The list with its constant strings as terms."""
        if not any(isinstance(item, str) for _, item in listed.items):
            return listed
        items = tuple(
            (there, SymbolicString(self.text(item)) if isinstance(item, str) else item) for there, item in listed.items
        )
        return SymbolicList(items, listed.packed, listed.length)

    # Loops

    def quantify(self, name: str, variable: str, sequence: Value, body: Callable[[Value], Value]) -> Truth:
        listed = self.use(sequence)
        if isinstance(listed, UndefinedValue):
            return False
        _visit(listed)
        truths = [self._item_condition(present, body, item) for present, item in listed.items]
        if name == "all":
            return all_of([implies(present, truth) for present, truth in truths])
        return any_of([all_of([present, truth]) for present, truth in truths])

    def _item_condition(self, present: Truth, body: Callable[[Value], Value], item: Value) -> tuple[Truth, Truth]:
        with self.under(present):
            return present, self.truth_of(body(item))

    def collect(
        self, variable: str, sequence: Value, body: Callable[[Value], Value], where: Callable[[Value], Value] | None
    ) -> Value:
        listed = self.use(sequence)
        if isinstance(listed, UndefinedValue):
            return listed
        _visit(listed)
        kept: list[tuple[Truth, Value]] = []
        for present, item in listed.items:
            taken = present if where is None else all_of([present, *self._item_condition(present, where, item)[1:]])
            if taken is not False:
                with self.under(taken):
                    kept.append((taken, self.use(body(item))))
        if where is None:
            return SymbolicList(tuple(kept), listed.packed, listed.length)
        return filtered(kept)

    def flatten(self, sequences: Value) -> Value:
        listed = self.use(sequences)
        if isinstance(listed, UndefinedValue):
            return listed
        return filtered(
            [
                (all_of([present, inner]), value)
                for present, item in listed.items
                if isinstance(item, SymbolicList)
                for inner, value in item.items
            ]
        )

    def built_in(self, function: BuiltIn, arguments: Sequence[Value]) -> Value:
        return self.use(function.interpret(self, [self.use(argument) for argument in arguments]))

    def reduce(self, function: BuiltIn, sequence: Value, start: Value) -> Value:
        listed, total = self.use(sequence), self.use(start)
        if isinstance(listed, UndefinedValue):
            return listed
        for present, item in listed.items:
            with self.under(present):
                step = self.built_in(function, (total, item))
            total = merge(present, step, total)
        return total

    def undefined(self, reason: str) -> Value:
        self.require(False)
        return UNDEFINED
