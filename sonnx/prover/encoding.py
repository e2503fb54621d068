"""The Z3 reading of the rule language, a domain of the one evaluator (`sonnx.language.domain.Domain`).

Lists have a static bound and presence flags; whatever an expression needs in order to be defined (an index in range, a
positive divisor, a value that is there) is an obligation under the guard of its place: the left parts of and, or; the
branch of if; the presence of the loop item.  A condition *holds* where its obligations and itself do, and it *fails*
where its obligations do and itself does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sonnx.language.domain import BuiltIn, Expression, Thunk
from sonnx.language.evaluator import Cause, Unknown
from sonnx.prover import smt_values as values
from sonnx.prover.encoding_functions import Functions, NotStated
from sonnx.prover.smt_lists import chain, length, listing, masked, merge, pack, pick
from sonnx.prover.smt_truth import Truth, both, either, implies, negate
from sonnx.prover.smt_values import NOTHING, Listing, Nothing, Partial, Text, Value, less, real

_ARITHMETIC = {"+": values.add, "-": values.subtract, "*": values.multiply, "//": values.divide, "%": values.remainder}


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition read by Z3: what makes it defined, and what it says where it is."""

    defined: Truth
    value: Truth

    @property
    def holds(self) -> Truth:
        """It is defined and true."""
        return both([self.defined, self.value])

    @property
    def fails(self) -> Truth:
        """It is defined and false."""
        return both([self.defined, negate(self.value)])


class Encoding(Functions):
    """The domain, see `domain.Domain`."""

    # Whole expressions

    def read(self, expression: Expression, names: Mapping[str, Value]) -> tuple[Truth, Value]:
        """What makes an expression defined, and its value."""
        outer = self.guards, self.obligations
        self.guards, self.obligations = [], []
        try:
            value = self.use(expression.evaluate(self, names))
            return both(self.obligations), value
        finally:
            self.guards, self.obligations = outer

    def condition(
        self, expression: Expression, names: Mapping[str, Value], when: Expression | None = None
    ) -> Condition:
        """A condition, asked only where `when` holds."""
        if when is None:
            return Condition(*self.truth(expression, names))
        applies = Condition(*self.truth(when, names))
        if applies.value is False:
            return Condition(applies.defined, True)
        defined, value = self.truth(expression, names)
        return Condition(both([applies.defined, implies(applies.value, defined)]), implies(applies.value, value))

    def truth(self, expression: Expression, names: Mapping[str, Value]) -> tuple[Truth, Truth]:
        """What makes a condition defined, and the condition."""
        defined, value = self.read(expression, names)
        return defined, (False if isinstance(value, Nothing) else value)

    def partial(self, expression: Expression, names: Mapping[str, Value], reason: str) -> Value:
        """The value of an expression, carrying its own obligations to whoever reads it."""
        try:
            defined, value = self.read(expression, names)
        except NotStated as unknown:
            return Unknown(Cause.NOT_STATED, str(unknown))
        return value if defined is True else Partial(value, defined, reason)

    # Parts of an expression

    def constant(self, value: int | float | str) -> Value:
        return real(value) if isinstance(value, float) else value

    def listing(self, items: Sequence[Value]) -> Value:
        return listing(items)

    def field(self, value: Value, name: str) -> Value:
        record = self.use(value)
        if isinstance(record, Nothing) or name != "rank":
            return record if isinstance(record, Nothing) else record.fields[name]
        shape = self.use(record.fields["shape"])
        return length(shape) if isinstance(shape, Listing) else shape

    def item(self, sequence: Value, index: Value) -> Value:
        known, place = self.use(sequence), self.use(index)
        if isinstance(known, Nothing) or isinstance(place, Nothing):
            return NOTHING
        self.require(both([values.at_most(0, place), less(place, length(known))]))
        return self.use(pick(known, place))

    def part(self, sequence: Value, start: Value | None, stop: Value | None) -> Value:
        known = self.use(sequence)
        if isinstance(known, Nothing):
            return known
        first = 0 if start is None else self.use(start)
        last = length(known) if stop is None else self.use(stop)
        self.require(both([values.at_most(0, first), values.at_most(first, last), values.at_most(last, length(known))]))
        return masked(
            [
                (both([present, values.at_most(first, index), less(index, last)]), item)
                for index, (present, item) in enumerate(pack(known).items)
            ]
        )

    def arithmetic(self, sign: str, left: Value, right: Value) -> Value:
        one, other = self.use(left), self.use(right)
        if isinstance(one, Nothing) or isinstance(other, Nothing):
            return NOTHING
        if isinstance(one, Listing):
            return chain(one, other)
        if sign in values.FRACTION:
            self.require(less(0, other))
        return _ARITHMETIC[sign](one, other)

    def negative(self, value: Value) -> Value:
        number = self.use(value)
        return number if isinstance(number, Nothing) else values.minus(number)

    def compare(self, sign: str, left: Value, right: Value) -> Truth:
        one, other = self.use(left), self.use(right)
        if isinstance(one, Nothing) or isinstance(other, Nothing):
            return False
        match sign:
            case "in" | "not in":
                found = either([both([present, self.equal(one, item)]) for present, item in other.items])
                return found if sign == "in" else negate(found)
            case "==" | "!=":
                alike = self.equal(one, other)
                return alike if sign == "==" else negate(alike)
            case "<" | ">=":
                return less(one, other) if sign == "<" else values.at_most(other, one)
        return less(other, one) if sign == ">" else values.at_most(one, other)

    def conjunction(self, parts: Sequence[Thunk]) -> Truth:
        return self._connect(parts, both, lambda value: value)

    def disjunction(self, parts: Sequence[Thunk]) -> Truth:
        return self._connect(parts, either, negate)

    def _connect(
        self, parts: Sequence[Thunk], join: Callable[[Sequence[Truth]], Truth], onward: Callable[[Truth], Truth]
    ) -> Truth:
        """Each part is asked only where those before it leave the answer open."""
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
        """A constant string beside one that is not, or beside another constant, as a term."""
        if isinstance(value, Listing) and any(isinstance(item, str) for _, item in value.items):
            items = tuple(
                (there, Text(self.text(item)) if isinstance(item, str) else item) for there, item in value.items
            )
            return Listing(items, value.packed, value.length)
        return Text(self.text(value)) if isinstance(value, str) and value != other else value

    # Loops

    def quantify(self, name: str, variable: str, sequence: Value, body: Callable[[Value], Value]) -> Truth:
        known = self.use(sequence)
        if isinstance(known, Nothing):
            return False
        found = [self._asked(present, body, item) for present, item in known.items]
        if name == "all":
            return both([implies(present, truth) for present, truth in found])
        return either([both([present, truth]) for present, truth in found])

    def _asked(self, present: Truth, body: Callable[[Value], Value], item: Value) -> tuple[Truth, Truth]:
        with self.under(present):
            return present, self.truth_of(body(item))

    def collect(
        self, variable: str, sequence: Value, body: Callable[[Value], Value], where: Callable[[Value], Value] | None
    ) -> Value:
        known = self.use(sequence)
        if isinstance(known, Nothing):
            return known
        made: list[tuple[Truth, Value]] = []
        for present, item in known.items:
            taken = present if where is None else both([present, *self._asked(present, where, item)[1:]])
            if taken is not False:
                with self.under(taken):
                    made.append((taken, self.use(body(item))))
        if where is None:
            return Listing(tuple(made), known.packed, known.length)
        return masked(made)

    def flatten(self, sequences: Value) -> Value:
        known = self.use(sequences)
        if isinstance(known, Nothing):
            return known
        return masked(
            [
                (both([present, inner]), value)
                for present, item in known.items
                if isinstance(item, Listing)
                for inner, value in item.items
            ]
        )

    def word(self, word: BuiltIn, arguments: Sequence[Value]) -> Value:
        return self.use(word.interpret(self, [self.use(argument) for argument in arguments]))

    def fold(self, word: BuiltIn, sequence: Value, start: Value) -> Value:
        known, total = self.use(sequence), self.use(start)
        if isinstance(known, Nothing):
            return known
        for present, item in known.items:
            with self.under(present):
                step = self.word(word, (total, item))
            total = merge(present, step, total)
        return total

    def undefined(self, reason: str) -> Value:
        self.require(False)
        return NOTHING


# ------------------------------------------------------------------
# What a Z3 reading asks for in order to be defined: obligations, each under the guard of its place.
