"""Whether an expression uses extents only by their order: it then has one value for all facts that agree in it.

`C.shape == broadcast([A.shape, B.shape])` asks which extents are equal, and which are 1; `product(A.shape) == 8` asks
for numbers.  This module is the domain that tells them apart; `sonnx/graph/views.py` gives the order of extents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sonnx.language.domain import BuiltIn, Expression, Thunk

LANDMARKS = (0, 1)
"""Numbers that are put in order with the extents."""


class Use(NamedTuple):
    """What a value has to do with extents.

    `sort` is "extent" for an extent, "landmark" for a constant that may be compared with extents, "plain" for another
    value that follows from the order of the extents, "record" for a tensor, "undefined" for no value.  `depth` counts
    the lists around an extent or a landmark.
    """

    sort: str
    depth: int = 0


PLAIN, RECORD, UNDEFINED = Use("plain"), Use("record"), Use("undefined")


class _ByNumber(Exception):
    """A part of the expression needs more of an extent than its order."""


def is_by_order(expression: Expression, names: Mapping[str, Use]) -> bool:
    """Whether the truth of a condition follows from the order of extents, and from all other facts."""
    return use_of(expression, names) == PLAIN


def use_of(expression: Expression, names: Mapping[str, Use]) -> Use | None:
    """What the value of an expression has to do with extents, None where it needs more of them than their order."""
    try:
        found: Use = expression.evaluate(_Order(), names)
    except (_ByNumber, KeyError):  # a name that has no use needs more itself
        return None
    return found


def _joined(left: Use, right: Use) -> Use:
    if left == right or right == UNDEFINED:
        return left
    if left == UNDEFINED:
        return right
    sorts = {left.sort, right.sort}
    if sorts == {"plain", "landmark"}:
        return PLAIN
    if sorts == {"extent", "landmark"} and left.depth == right.depth:
        return Use("extent", left.depth)
    raise _ByNumber


def _plain(*uses: Use | None) -> Use:
    if any(use is not None and use.sort not in ("plain", "landmark") for use in uses):
        raise _ByNumber
    return PLAIN


def _nested(use: Use, levels: int) -> Use:
    return use._replace(depth=use.depth + levels) if use.sort in ("extent", "landmark") else use


class _Order:
    """The domain of uses, see `domain.Domain`."""

    def constant(self, value: int | float | str) -> Use:
        return Use("landmark") if value in LANDMARKS else PLAIN

    def listing(self, items: Sequence[Use]) -> Use:
        found = UNDEFINED if items else Use("landmark")
        for item in items:
            found = _joined(found, item)
        return _nested(found, 1)

    def field(self, value: Use, name: str) -> Use:
        if value != RECORD:
            raise _ByNumber
        return Use("extent", 1) if name == "shape" else PLAIN

    def item(self, sequence: Use, index: Use) -> Use:
        _plain(index)
        return _nested(sequence, -1)

    def part(self, sequence: Use, start: Use | None, stop: Use | None) -> Use:
        _plain(start, stop)
        return sequence

    def arithmetic(self, sign: str, left: Use, right: Use) -> Use:
        return _joined(left, right) if sign == "+" and left.depth and right.depth else _plain(left, right)

    def negative(self, value: Use) -> Use:
        return _plain(value)

    def compare(self, sign: str, left: Use, right: Use) -> Use:
        if "extent" in (left.sort, right.sort) and not {left.sort, right.sort} <= {"extent", "landmark"}:
            raise _ByNumber
        return PLAIN

    def conjunction(self, parts: Sequence[Thunk]) -> Use:
        return _plain(*[part() for part in parts])

    disjunction = conjunction

    def negation(self, value: Use) -> Use:
        return _plain(value)

    def choice(self, condition: Use, then: Thunk, otherwise: Thunk) -> Use:
        _plain(condition)
        return _joined(then(), otherwise())

    def quantify(self, name: str, variable: str, sequence: Use, body: Callable[[Use], Use]) -> Use:
        return _plain(body(_nested(sequence, -1)))

    def collect(
        self, variable: str, sequence: Use, body: Callable[[Use], Use], where: Callable[[Use], Use] | None
    ) -> Use:
        item = _nested(sequence, -1)
        _plain(where and where(item))
        return _nested(body(item), 1)

    def flatten(self, lists: Use) -> Use:
        return _nested(lists, -1)

    def function(self, name: str, arguments: Sequence[Use]) -> Use:
        if name in ("max", "min"):
            return _nested(arguments[0], -1)
        return PLAIN if name in ("len", "stated", "distinct") else _plain(*arguments)

    def built_in(self, function: BuiltIn, arguments: Sequence[Use]) -> Use:
        found: Use = function.interpret(self, arguments)
        return found

    def reduce(self, function: BuiltIn, sequence: Use, start: Use) -> Use:
        once = _joined(start, self.built_in(function, (start, _nested(sequence, -1))))
        return _joined(once, self.built_in(function, (once, _nested(sequence, -1))))

    def undefined(self, reason: str) -> Use:
        return UNDEFINED
