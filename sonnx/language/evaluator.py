"""The evaluator of the check: three-valued logic on the facts a model states, total on any input.

A known value is a Python int, bool, str or tuple (a list), or a record with fields (`TensorFacts`).  A float stands for
the rational number it is; arithmetic on it is exact.  A value that is not known is an `Unknown` with its cause; the
strongest cause wins.  The only exception is `OutOfFuel`: it bounds the work of one evaluation (docs/rule-language.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import combinations
from math import isfinite, prod
from operator import add, floordiv, ge, gt, le, lt, mod, mul, sub
from typing import Any, NamedTuple

from msgspec import Struct

from sonnx.base.escaping import number_text, quote
from sonnx.language.builtins import Undefined
from sonnx.language.domain import Body, BuiltIn, Expression, Thunk
from sonnx.language.known_numbers import KnownNumbers, known_numbers
from sonnx.language.steps import TOO_LONG, OutOfFuel, current_steps


class UnknownCause(IntEnum):
    """Why a fact is not known; the larger cause is the stronger one."""

    RUN_TIME = 1
    NOT_STATED = 2
    UNDEFINED = 3


class Unknown(Struct, frozen=True):
    """A fact that is not known, with the reason as half a sentence.

    `symbol` is the name of a symbolic dimension, `because` the slug of the rule that fails where the fact is missing.
    """

    cause: UnknownCause
    reason: str
    symbol: str = ""
    because: str = ""


class TensorFacts(NamedTuple):
    """The facts of a tensor: element type, shape, and of a constant its values (a list, or an object with `read`)."""

    type: str | Unknown
    shape: tuple[int | Unknown, ...] | Unknown
    values: Any = Unknown(UnknownCause.RUN_TIME, "the value is known at run time only")
    kind: str = "tensor"
    holds_sparse: bool = False
    derived: bool = False
    """Whether the values are those of no constant, but follow from constants through nodes."""


Record = TensorFacts | Mapping[str, Any]

MAX_PARAMETER_ELEMENTS = 4096
"""Elements of the largest constant that a parameter is read from."""
RUN_TIME = Unknown(UnknownCause.RUN_TIME, "the value is known at run time only")
"""The values of a tensor that no declaration and no constant states."""
FUEL = 100_000
"""Element visits allowed for one evaluation: a quarter of a second on usual facts, under three on the worst."""


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {"+": add, "-": sub, "*": mul, "//": floordiv, "%": mod}
_ORDER: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_PLAIN = frozenset({int, str, bool, float})
"""Types whose values Python compares as the language does."""
_NUMBERS = frozenset({int, float, Fraction})
_FRACTIONS = frozenset({float, Fraction})
_FEW = 16
"""Lists of fewer numbers are visited number by number."""
_UNDEFINED = (Undefined, ValueError, IndexError, ZeroDivisionError)


def dimension(value: int | str | None, index: int) -> int | Unknown:
    """A dimension as a fact."""
    if isinstance(value, int):
        if value >= 0:
            return value
        return Unknown(UnknownCause.NOT_STATED, f"dimension {index} is {value}", because="explicit-shape")
    stated = "is not stated" if value is None else f"is the symbol {quote(value)}"
    return Unknown(UnknownCause.NOT_STATED, f"dimension {index} {stated}", value or "", "explicit-shape")


def stronger(left: Unknown, right: Unknown) -> Unknown:
    """The one with the stronger cause; the first where both are equal."""
    return right if right.cause > left.cause else left


def strongest(values: Sequence[Any]) -> Unknown | None:
    """The strongest unknown among values, not inside lists, as a value computed from it; None where all are known."""
    unknown = [value for value in values if type(value) is Unknown]
    return computed_from(reduce(stronger, unknown)) if unknown else None


def computed_from(unknown: Unknown) -> Unknown:
    """What an operation on an unknown gives: it has no symbol, because N + 1 and -N must not equal N."""
    return Unknown(unknown.cause, unknown.reason, because=unknown.because) if unknown.symbol else unknown


def undefined(reason: str) -> Unknown:
    """The unknown of a value that no text defines."""
    return Unknown(UnknownCause.UNDEFINED, reason)


def first_unknown(value: Any) -> Unknown | None:
    """The strongest unknown anywhere inside a value."""
    if type(value) is tuple:  # of KnownNumbers every item is known
        inner = [unknown for item in value if type(item) is not int and (unknown := first_unknown(item)) is not None]
        return reduce(stronger, inner) if inner else None
    return value if isinstance(value, Unknown) else None


class Evaluator:
    """The domain of facts in Kleene's three-valued logic; one object for each evaluation, because it counts fuel."""

    def __init__(self, fuel: int = FUEL) -> None:
        self.fuel, self.of_model = fuel, current_steps()

    def spend(self, amount: int) -> None:
        """Count element visits.

        Raises:
            OutOfFuel: more visits than allowed.
        """
        self.fuel -= amount
        if self.fuel < 0:
            raise OutOfFuel(TOO_LONG)
        if self.of_model is not None:
            self.of_model.spend(amount)

    def constant(self, value: int | float | str) -> int | float | str:
        return value

    def listing(self, items: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(items)

    def field(self, value: Any, name: str) -> Any:
        if type(value) is Unknown:
            return computed_from(value)
        if name == "rank":
            return computed_from(value.shape) if type(value.shape) is Unknown else len(value.shape)
        content = getattr(value, name) if type(value) is TensorFacts else value[name]
        return content.read() if name == "values" and hasattr(content, "read") else content

    def item(self, sequence: Any, index: Any) -> Any:
        unknown = strongest((sequence, index))
        if unknown is not None:
            return unknown
        if type(index) is int and 0 <= index < len(sequence):
            return sequence[index]
        return undefined(f"there is no item {number_text(index)} among {len(sequence)}")

    def part(self, sequence: Any, start: Any | None, stop: Any | None) -> Any:
        unknown = strongest((sequence, start, stop))
        if unknown is not None:
            return unknown
        first, last = 0 if start is None else start, len(sequence) if stop is None else stop
        if type(first) is type(last) is int and 0 <= first <= last <= len(sequence):
            return sequence[first:last]
        return undefined(f"items {number_text(first)} to {number_text(last)} do not lie within {len(sequence)}")

    def arithmetic(self, sign: str, left: Any, right: Any) -> Any:
        unknown = strongest((left, right))
        if unknown is not None:
            return unknown
        if type(left) is float or type(right) is float:
            if any(type(side) is float and not isfinite(side) for side in (left, right)):
                return undefined(f"{number_text(left)} {sign} {number_text(right)} is not defined on real numbers")
            left, right = Fraction(left), Fraction(right)
        if sign in ("//", "%") and right <= 0:
            return undefined(f"the divisor {number_text(right)} is not positive")
        return _ARITHMETIC[sign](left, right)

    def negative(self, value: Any) -> Any:
        return computed_from(value) if isinstance(value, Unknown) else -value

    def compare(self, sign: str, left: Any, right: Any) -> Any:
        if sign == "==":
            return self.equal(left, right)
        if sign == "!=":
            return self.negation(self.equal(left, right))
        if sign == "in":
            return self.contains(right, left)
        if sign == "not in":
            return self.negation(self.contains(right, left))
        unknown = strongest((left, right))
        return unknown if unknown is not None else _ORDER[sign](left, right)

    def equal(self, left: Any, right: Any) -> bool | Unknown:
        """Equality; a symbol equals itself, lists are compared item by item."""
        if type(left) in _PLAIN and type(right) in _PLAIN:
            return bool(left == right)
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            if isinstance(left, Unknown) and isinstance(right, Unknown) and left.symbol and left.symbol == right.symbol:
                return True
            return strongest((left, right)) or False
        if type(left) is type(right) is KnownNumbers and left.whole and right.whole:
            self.spend(1 + len(left) // 64)  # at the speed of memory
            return left is right or left == right
        if isinstance(left, tuple) and isinstance(right, tuple):
            if len(left) != len(right):
                return False
            self.spend(len(left))
            return self.every([self.equal(a, b) for a, b in zip(left, right, strict=True)])
        return bool(left == right)

    def contains(self, sequence: Any, value: Any) -> bool | Unknown:
        """Whether a list holds a value."""
        if isinstance(sequence, Unknown):
            return computed_from(sequence)
        self.spend(len(sequence))
        if _PLAIN.issuperset(map(type, sequence)):
            if type(value) in _PLAIN:
                return value == value and bool(value in sequence)  # Python finds the same NaN equal to itself
            if type(value) is Unknown:
                return computed_from(value) if sequence else False
        contained: bool | Unknown = self.negation(
            self.every([self.negation(self.equal(item, value)) for item in sequence])
        )
        return contained

    def every(self, truths: Sequence[bool | Unknown]) -> bool | Unknown:
        """Kleene's conjunction of evaluated conditions."""
        if False in truths:
            return False
        unknown = strongest(truths)
        return True if unknown is None else unknown

    def conjunction(self, parts: Sequence[Thunk]) -> Any:
        return self._until(False, parts)

    def disjunction(self, parts: Sequence[Thunk]) -> Any:
        return self._until(True, parts)

    def _until(self, end: bool, parts: Iterable[Thunk]) -> Any:
        unknown: Unknown | None = None
        for part in parts:
            value = part()
            if value is end:
                return end
            if isinstance(value, Unknown):
                unknown = value if unknown is None else stronger(unknown, value)
        return (not end) if unknown is None else computed_from(unknown)

    def negation(self, value: Any) -> Any:
        return computed_from(value) if isinstance(value, Unknown) else not value

    def choice(self, condition: Any, then: Thunk, otherwise: Thunk) -> Any:
        if not isinstance(condition, Unknown):
            return then() if condition else otherwise()
        left, right = then(), otherwise()
        return left if _same(left, right) else computed_from(condition)

    def quantify(self, name: str, variable: str, sequence: Any, body: Callable[[Any], Any]) -> Any:
        if isinstance(sequence, Unknown):
            return computed_from(sequence)
        edges = body.edges() if isinstance(body, Body) and self.has_classes(sequence) else None
        chosen = different(sequence) if edges is None else self.representatives(sequence, edges)
        self.spend(len(chosen))
        return self._until(name == "any", (_call(body, sequence[index]) for index in chosen))

    def has_classes(self, sequence: Any) -> bool:
        """Whether `representatives` may be fewer than the items."""
        return type(sequence) is KnownNumbers and len(sequence) >= _FEW

    def representatives(self, sequence: KnownNumbers, edges: Sequence[Any]) -> Sequence[int]:
        """The indices that a loop must visit whose body compares each item with `edges` and does nothing else."""
        certain = [edge for edge in edges if not isinstance(edge, Unknown)]
        if not all(type(edge) in _NUMBERS and edge == edge for edge in certain):
            return range(len(sequence))
        chosen, looked_at = sequence.representatives(certain)
        self.spend(looked_at // 16)
        return chosen

    def collect(
        self, variable: str, sequence: Any, body: Callable[[Any], Any], where: Callable[[Any], Any] | None
    ) -> Any:
        if isinstance(sequence, Unknown):
            return computed_from(sequence)
        self.spend(len(sequence))
        if where is None:
            return tuple([body(item) for item in sequence])
        chosen = [where(item) for item in sequence]
        unknown = strongest(chosen)
        if unknown is not None:
            return unknown
        return tuple([body(item) for item, take in zip(sequence, chosen, strict=True) if take])

    def flatten(self, lists: Any) -> Any:
        unknown = computed_from(lists) if isinstance(lists, Unknown) else strongest(lists)
        if unknown is not None:
            return unknown
        self.spend(sum(map(len, lists)))
        return tuple([item for part in lists for item in part])

    def function(self, name: str, arguments: Sequence[Any]) -> Any:
        if name == "stated":
            return not isinstance(arguments[0], Unknown)
        unknown = strongest(arguments)
        if unknown is not None:
            return unknown
        if name == "range":
            whole = all(type(argument) is int for argument in arguments)
            return self._range(*arguments) if whole else undefined("an argument of range is not a whole number")
        return _FUNCTIONS[name](self, arguments[0])

    def _range(self, first: int, last: int | None = None) -> tuple[int, ...]:
        numbers = range(first) if last is None else range(first, last)
        self.spend(max(0, numbers.stop - numbers.start))
        return tuple(numbers)

    def _len(self, sequence: tuple[Any, ...]) -> int:
        return len(sequence)

    def _all(self, sequence: tuple[Any, ...]) -> Any:
        return self.every(sequence)

    def _any(self, sequence: tuple[Any, ...]) -> Any:
        return self.negation(self.every([self.negation(item) for item in sequence]))

    def _distinct(self, sequence: tuple[Any, ...]) -> Any:
        self.spend(len(sequence))
        if {int, str}.issuperset(map(type, sequence)):
            return len(set(sequence)) == len(sequence)
        self.spend(len(sequence) * (len(sequence) - 1) // 2)
        return self.every([self.negation(self.equal(one, other)) for one, other in combinations(sequence, 2)])

    def _sum(self, sequence: tuple[Any, ...]) -> Any:
        return self._number(sum, sequence)

    def _product(self, sequence: tuple[Any, ...]) -> Any:
        self.spend(len(sequence) ** 2 // 64)  # each factor makes the product longer
        return 0 if 0 in sequence else self._number(prod, sequence)

    def _max(self, sequence: tuple[Any, ...]) -> Any:
        return self._number(max, sequence) if sequence else undefined("the largest of nothing")

    def _min(self, sequence: tuple[Any, ...]) -> Any:
        return self._number(min, sequence) if sequence else undefined("the smallest of nothing")

    def _number(self, function: Callable[[Sequence[int]], int], sequence: tuple[Any, ...]) -> Any:
        self.spend(len(sequence))
        unknown = strongest(sequence)
        return function(sequence) if unknown is None else unknown

    def built_in(self, function: BuiltIn, arguments: Sequence[Any]) -> Any:
        """Call the function where all arguments are known; else interpret its source, which may not need them all.

        Where the call is undefined the source is interpreted too: a part of the result may be defined.
        """
        if function.name in OF_DIFFERENT_SHAPES and type(arguments[0]) is tuple:
            arguments = (_different(arguments[0]),)
        self.spend(1 + _size(arguments) // 16)  # a Python loop: an item costs a fraction of an interpreted visit
        if first_unknown(tuple(arguments)) is not None:
            return function.interpret(self, arguments)
        try:
            if function.name in OF_DIFFERENT_SHAPES and {KnownNumbers}.issuperset(map(type, arguments[0])):
                return _of_shapes(function.function, arguments[0])
            return as_fact(function.function(*arguments))
        except _UNDEFINED:
            return function.interpret(self, arguments)

    def reduce(self, function: BuiltIn, sequence: Any, start: Any) -> Any:
        if isinstance(sequence, Unknown):
            return computed_from(sequence)
        return reduce(lambda total, item: self.built_in(function, (total, item)), sequence, start)

    def undefined(self, reason: str) -> Unknown:
        return undefined(reason)


def evaluate(expression: Expression, names: Mapping[str, Any], facts: Evaluator | None = None) -> Any:
    """The value of an expression, unknown where the evaluation runs out of fuel."""
    try:
        return expression.evaluate(facts or Evaluator(), names)
    except OutOfFuel as error:
        return Unknown(UnknownCause.NOT_STATED, str(error))


_FUNCTIONS: Mapping[str, Callable[[Evaluator, tuple[Any, ...]], Any]] = {
    "len": Evaluator._len,
    "all": Evaluator._all,
    "any": Evaluator._any,
    "distinct": Evaluator._distinct,
    "sum": Evaluator._sum,
    "product": Evaluator._product,
    "max": Evaluator._max,
    "min": Evaluator._min,
}
"""The functions of one list; `stated` and `range` take other arguments."""


def different(sequence: tuple[Any, ...]) -> Sequence[int]:
    """The indices of the items, of one object that stands in a longer list several times the first."""
    if len(sequence) < _FEW or type(sequence) is KnownNumbers:
        return range(len(sequence))
    return sorted(dict(zip(map(id, reversed(sequence)), range(len(sequence) - 1, -1, -1), strict=True)).values())


def _same(left: Any, right: Any) -> bool:
    """Whether two values are one value, known in all its parts, not only equal: 1 and 1.0 are not, as an index."""
    if isinstance(left, tuple) and isinstance(right, tuple) and not isinstance(left, TensorFacts):
        return len(left) == len(right) and all(map(_same, left, right))
    kinds = {type(left), type(right)}
    return ((len(kinds) == 1 and kinds <= _PLAIN) or kinds <= _FRACTIONS) and (
        left == right or (left != left and right != right)
    )


def _call(body: Callable[[Any], Any], item: Any) -> Thunk:
    return lambda: body(item)


def as_fact(value: Any) -> Any:
    """The value with lists at any depth replaced by tuples: the result of a built-in function as a fact."""
    return known_numbers(tuple([as_fact(item) for item in value])) if isinstance(value, list) else value


OF_DIFFERENT_SHAPES = frozenset({"broadcastable", "onnx_broadcastable", "broadcast", "widest"})
"""Built-in functions of one list of shapes that give the same for the different shapes in it, in the order of their
first place."""


@lru_cache(maxsize=256)
def _of_shapes(function: Callable[..., Any], shapes: tuple[KnownNumbers, ...]) -> Any:
    """The value for shapes of known extents: most nodes of a model have one of few."""
    return as_fact(function(shapes))


def _different(shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    """The shapes without repetitions; most of them are one object."""
    return tuple(dict.fromkeys({id(shape): shape for shape in shapes}.values()))


def _size(arguments: Sequence[Any]) -> int:
    """A bound on the work of a built-in function: each item of a list of lists, once for each place of the longest."""
    size = 1
    for argument in arguments:
        if isinstance(argument, tuple):
            inner = (
                1
                if type(argument) is KnownNumbers
                else max([len(i) for i in argument if isinstance(i, tuple)], default=1)
            )
            size += len(argument) * (1 + inner)
    return size
