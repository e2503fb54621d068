"""The reading for speed: rules as one Python function, which says nothing or what `facts.py` says.

Where every fact a text reads is known, the language means what Python means, and Python runs it faster than closures.
So the texts of many rules become the source of one function.  Whatever it cannot settle (a fact that is not known, a
value no text defines, a long list, a failure) it leaves: the three-valued reading is asked then, which also finds the
words for a failure.  So this reading says yes to nothing to which `facts.py` does not say yes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from sonnx.domain import Expression, Thunk, Word
from sonnx.facts import Tensor, frozen

MOST = 16
"""Items of a list this reading walks: with `DEEPEST` it stays below the fuel the three-valued reading has."""

DEEPEST = 3
"""Loops in loops this reading writes."""

DOES_NOT_APPLY, OVER_NOTHING = 1, 2
"""What a rule's two bits of an answer say; 0 says that it holds."""


class NotKnown(Exception):
    """A value this reading does not go on with."""


class NotPlain(Exception):
    """A text this reading does not write."""


NOWHERE: Any = object()
"""Stands under a name whose value is not known; it is never part of a value."""


def known(value: Any) -> bool:
    """Whether a value is known through: whole numbers, strings, short lists of them, tensors with type and shape."""
    kind = type(value)
    if kind is Tensor:
        return type(value.type) is str and type(value.shape) is tuple and known(value.shape)
    if kind is tuple:
        return len(value) <= MOST and (_NUMBER.issuperset(map(type, value)) or all(map(known, value)))
    return kind in _SIMPLE


_NUMBER = frozenset([int])
_SIMPLE = frozenset([int, str, bool])


def program(
    asked: Sequence[tuple[Expression | None, Expression, Mapping[str, tuple[str, ...]]]],
    following: Iterable[tuple[str, Expression]] = (),
) -> Callable[[Mapping[str, Any]], int | None]:
    """A function of the names rules use: two bits for each rule if none fails and nothing is left, else None.

    Each rule is its `when`, its condition, and names that stand for a list of other names; `following` are names
    defined by expressions on those before them.

    Raises:
        NotPlain: where a text goes beyond this reading.
    """
    lines = _Lines()
    for name, expression in following:
        source = lines.write(expression, {})
        lines.body += ["try:", f"    {lines.local(name)} = {source}", "except Exception:"]
        lines.body += [f"    {lines.local(name)} = NOWHERE"]
    lines.body.append("answer = 0")
    for place, (when, condition, lists) in enumerate(asked):
        inner = [f"if not {lines.write(condition, lists)}: return None"]
        if condition.over is not None:
            ranged = lines.write_run(condition.over[1], condition, lists)
            inner.append(f"if {ranged} == (): answer |= {OVER_NOTHING << 2 * place}")
        if when is None:
            lines.body += inner
        else:
            lines.body += [f"if {lines.write(when, lists)}:", *(f"    {line}" for line in inner)]
            lines.body += ["else:", f"    answer |= {DOES_NOT_APPLY << 2 * place}"]
    return lines.function()


class _Lines:
    """The source of one function as it grows."""

    def __init__(self) -> None:
        self.body: list[str] = []
        self.locals: dict[str, str] = {}
        self.outer: list[str] = []
        self.reading = Plain()

    def local(self, name: str) -> str:
        return self.locals.setdefault(name, f"n{len(self.locals)}")

    def read(self, name: str) -> str:
        """A name of the rules where it is used: what is not known ends the function there."""
        if name not in self.locals:
            self.outer.append(name)
        return f"met({self.local(name)})"

    def write(self, expression: Expression, lists: Mapping[str, tuple[str, ...]]) -> str:
        return self.write_run(expression.run, expression, lists)

    def write_run(self, run: Callable[..., Any], expression: Expression, lists: Mapping[str, tuple[str, ...]]) -> str:
        names = {name: self._list(lists[name]) if name in lists else self.read(name) for name in expression.names}
        source: str = run(self.reading, names)
        return source

    def _list(self, members: tuple[str, ...]) -> str:
        parts = [f"*{self.read(each[1:])}" if each[0] == "*" else self.read(each) for each in members]
        return f"({', '.join(parts)},)"

    def function(self) -> Callable[[Mapping[str, Any]], int | None]:
        head = [
            f"{self.locals[name]} = names[{name!r}]\nif not known({self.locals[name]}): {self.locals[name]} = NOWHERE"
            for name in self.outer
        ]
        inner = "\n".join([*head, "try:", *(f"    {line}" for line in self.body), "    return answer"])
        inner += "\nexcept Exception:\n    return None"
        source = "def answer_of(names):\n" + "\n".join(f"    {line}" for line in inner.splitlines())
        space: dict[str, Any] = {**_HELP, **self.reading.words}
        exec(compile(source, "<the rules of one call>", "exec"), space)  # noqa: S102  made of texts of the profile only
        made: Callable[[Mapping[str, Any]], int | None] = space["answer_of"]
        return made


class Plain:
    """The domain of `domain.Domain` whose values are Python source; helpers refuse what Python would say otherwise."""

    def __init__(self) -> None:
        self.words: dict[str, Callable[..., Any]] = {}
        self.depth = 0
        self.variables = 0

    def constant(self, value: int | float | str) -> str:
        if isinstance(value, float):
            raise NotPlain
        return f"({value!r})"

    def listing(self, items: Sequence[str]) -> str:
        return f"({''.join(f'{item}, ' for item in items)})"

    def field(self, value: str, name: str) -> str:
        if name in ("values", "written", "value_when_absent", "connected"):
            raise NotPlain
        return f"len({value}.shape)" if name == "rank" else f"{value}.{name}"

    def item(self, sequence: str, index: str) -> str:
        return f"item({sequence}, {index})"

    def part(self, sequence: str, start: str | None, stop: str | None) -> str:
        return f"part({sequence}, {start}, {stop})"

    def arithmetic(self, sign: str, left: str, right: str) -> str:
        return f"({left} {sign} positive({right}))" if sign in ("//", "%") else f"({left} {sign} {right})"

    def negative(self, value: str) -> str:
        return f"(-{value})"

    def compare(self, sign: str, left: str, right: str) -> str:
        return f"({left} {sign} {right})"

    def conjunction(self, parts: Sequence[Thunk]) -> str:
        return f"({' and '.join([part() for part in parts])})"

    def disjunction(self, parts: Sequence[Thunk]) -> str:
        return f"({' or '.join([part() for part in parts])})"

    def negation(self, value: str) -> str:
        return f"(not {value})"

    def choice(self, condition: str, then: Thunk, otherwise: Thunk) -> str:
        return f"({then()} if {condition} else {otherwise()})"

    def quantify(self, name: str, variable: str, sequence: str, body: Callable[[str], str]) -> str:
        return f"{name}([{self._loop(sequence, body, None)}])"

    def collect(
        self, variable: str, sequence: str, body: Callable[[str], str], where: Callable[[str], str] | None
    ) -> str:
        return f"tuple([{self._loop(sequence, body, where)}])"

    def _loop(self, sequence: str, body: Callable[[str], str], where: Callable[[str], str] | None) -> str:
        if self.depth == DEEPEST:
            raise NotPlain
        self.depth += 1
        self.variables += 1
        item = f"v{self.variables}"
        chosen = f" if {where(item)}" if where else ""
        text = f"{body(item)} for {item} in short({sequence}){chosen}"
        self.depth -= 1
        return text

    def flatten(self, lists: str) -> str:
        return f"sum({lists}, ())"

    def function(self, name: str, arguments: Sequence[str]) -> str:
        return f"{name}({', '.join(arguments)})"

    def word(self, word: Word, arguments: Sequence[str]) -> str:
        return self._as_fact(word, f"{self._named(word)}({', '.join(arguments)})")

    def fold(self, word: Word, sequence: str, start: str) -> str:
        return self._as_fact(word, f"reduce({self._named(word)}, {sequence}, {start})")

    def _as_fact(self, word: Word, value: str) -> str:
        """A list that a word gives is a fact as a tuple."""
        return value if word.function.__annotations__["return"] in ("int", "bool") else f"frozen({value})"

    def undefined(self, reason: str) -> str:
        raise NotPlain

    def _named(self, word: Word) -> str:
        self.words[f"w_{word.name}"] = word.function
        return f"w_{word.name}"


def _met(value: Any) -> Any:
    if value is NOWHERE:
        raise NotKnown
    return value


def _item(sequence: tuple[Any, ...], index: int) -> Any:
    if index < 0:
        raise NotKnown
    return sequence[index]


def _part(sequence: tuple[Any, ...], start: int | None, stop: int | None) -> tuple[Any, ...]:
    first, last = 0 if start is None else start, len(sequence) if stop is None else stop
    if 0 <= first <= last <= len(sequence):
        return sequence[first:last]
    raise NotKnown


def _positive(divisor: int) -> int:
    if divisor <= 0:
        raise NotKnown
    return divisor


def _short(sequence: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(sequence) > MOST:
        raise NotKnown
    return sequence


def _range(*bounds: int) -> tuple[int, ...]:
    numbers = range(*bounds)
    if len(numbers) > MOST:
        raise NotKnown
    return tuple(numbers)


def _product(numbers: Iterable[int]) -> int:
    return reduce(lambda total, number: total * number, numbers, 1)


def _distinct(items: tuple[Any, ...]) -> bool:
    return len(set(items)) == len(items)


def _stated(value: Any) -> bool:
    return True


_HELP = {"NOWHERE": NOWHERE, "known": known, "met": _met, "item": _item, "part": _part, "positive": _positive,
         "short": _short, "range": _range, "product": _product, "distinct": _distinct, "stated": _stated,
         "frozen": frozen, "reduce": reduce}  # fmt: skip
