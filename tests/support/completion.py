"""Random expressions of the rule language: what is decided on part of the facts stays so on every completion of them.

python -m tests.support.completion [--expressions N] [--seed N]

Each expression is evaluated on facts with unknown parts and on facts in which each symbol stands for one value and
every other unknown part for any value.  What the first evaluation knows, in parts of a list too, the second must have,
with the same type.  `stated(...)` asks what the model states, so it keeps its answer.  `proofs/coq/completion.v` proves
the property of Coq's evaluator; this is its twin for the evaluator of the check.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from sonnx.language.evaluator import Evaluator, TensorFacts, Unknown, UnknownCause
from sonnx.language.parser import built_ins, parsed_later
from sonnx.language.steps import OutOfFuel
from sonnx.language.type_checker import ListType, built_in_types

Facts = Mapping[str, Any]
DEPTH = 4
SYMBOLS = ("N", "M")
NAMES = {"int": ("n", "m"), "bool": ("p", "q"), "text": ("s", "t"), "float": ("a", "b"), "ints": ("S", "T"),
         "shapes": ("SS",), "tensor": ("X", "Y"), "tensors": ("XS",)}  # fmt: skip
TEXTS = ("float", "int8", "int64", "NOTSET")
_STATED = re.compile(r"stated\[(.*?)\]\]")


class Example(NamedTuple):
    """An expression with facts and their completion."""

    text: str
    facts: Facts
    completed: Facts
    known: Any
    value: Any


class Writer:
    """Writes random expressions of each type; `kinds` has the loop variables in scope."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.loops = 0
        self.variables: dict[str, list[str]] = {}

    def expression(self, kind: str, depth: int) -> str:
        """An expression of a type, of at most this depth."""
        known = [*NAMES.get(kind, ()), *self.variables.get(kind, ())]
        if depth <= 0 or self.chance.random() < 0.15:
            return self.chance.choice(known) if known and self.chance.random() < 0.8 else self.leaf(kind)
        return self.chance.choice(_FORMS[kind])(self, depth - 1)

    def leaf(self, kind: str) -> str:
        chance = self.chance
        match kind:
            case "int":
                return str(chance.choice((0, 1, 2, 3, -1, -2)))
            case "float":
                return chance.choice(("0.5", "1.0", "-2.25"))
            case "text":
                return repr(chance.choice(TEXTS))
            case "bool":
                left, sign, right = (chance.choice(of) for of in (NAMES["int"], ("==", "<", "<=", "!="), NAMES["int"]))
                return f"{left} {sign} {right}"
            case "ints":
                return f"[{', '.join(self.leaf('int') for _ in range(chance.randrange(4)))}]"
            case "shapes":
                return f"[{', '.join(self.leaf('ints') for _ in range(1 + chance.randrange(2)))}]"
        return chance.choice(NAMES[kind])

    def looped(self, kind: str, depth: int, part: Callable[[], str]) -> tuple[str, str]:
        """The clause of a loop over items of a type, and a part that may use its variable."""
        lists = {"int": "ints", "ints": "shapes", "tensor": "tensors"}[kind]
        sequence = self.expression(lists, depth)
        self.loops += 1
        variable = f"i{self.loops}"
        self.variables.setdefault(kind, []).append(variable)
        text = part()
        self.variables[kind].pop()
        return f"for {variable} in ({sequence})", text

    def condition_and(self, kind: str, depth: int) -> str:
        """A part of a loop of a type, followed by `|` and a filter or nothing."""
        filtered = f" if ({self.expression('bool', depth)})" if self.chance.random() < 0.4 else ""
        return f"{self.expression(kind, depth)}|{filtered}"

    def nested(self, kind: str, depth: int) -> str:
        """The inside of a loop that is one of two: its part, `|`, and its clause."""
        clause, text = self.looped("int", depth, lambda: self.condition_and(kind, depth))
        part, filtered = text.split("|")
        return f"{part}| {clause}{filtered}"

    def loop(self, kind: str, depth: int) -> str:
        """The inside of a list or a quantifier."""
        item = self.chance.choice(("int", "int", "ints", "tensor"))
        inner = self.nested if self.chance.random() < 0.25 else self.condition_and
        clause, text = self.looped(item, depth, lambda: inner(kind, depth))
        part, rest = text.split("|")
        return f"({part}) {clause}{rest}"

    def stated(self) -> str:
        """A question about what the model states, of facts only, in brackets that `Example` replaces."""
        x = self.chance.choice(NAMES["tensor"])
        return self.chance.choice((
            f"stated[{x}.shape]]", f"stated[{x}.type]]", f"stated[{self.chance.choice(NAMES['int'])}]]",
            f"stated[{x}.shape[{self.chance.randrange(3)}] + 1]]",
        ))  # fmt: skip

    def called(self, kind: str, depth: int) -> str:
        """A call of a built-in function with a result of a type; a list is joined to a list where there is none."""
        name, parameters = self.chance.choice(_CALLS[kind])
        return f"{name}({', '.join(self.expression(parameter, depth) for parameter in parameters)})"


def _type_name(kind: Any) -> str:
    if isinstance(kind, ListType):
        return {"int": "ints", "ints": "shapes"}[_type_name(kind.of)]
    return {"string": "text"}.get(str(kind), str(kind))


def _calls() -> dict[str, list[tuple[str, list[str]]]]:
    calls: dict[str, list[tuple[str, list[str]]]] = {}
    for name, function in built_ins().items():
        parameters, result = built_in_types(function)
        calls.setdefault(_type_name(result), []).append((name, [_type_name(kind) for kind in parameters]))
    return calls


_CALLS = _calls()
_REDUCED = [name for name, parameters in _CALLS["int"] if parameters == ["int", "int"]]


def _forms(*forms: str | Callable[[Writer, int], str]) -> list[Callable[[Writer, int], str]]:
    """Forms with the type of each part in braces."""
    return [_form(form) if isinstance(form, str) else form for form in forms]


def _form(text: str) -> Callable[[Writer, int], str]:
    def write(writer: Writer, depth: int) -> str:
        return re.sub(r"{(\w+)}", lambda part: f"({writer.expression(part[1], depth)})", text)

    return write


def _reduced(writer: Writer, depth: int) -> str:
    name = writer.chance.choice(_REDUCED)
    return f"reduce({name}, {writer.expression('ints', depth)}, {writer.expression('int', depth)})"


def _of_itself(writer: Writer, depth: int) -> str:
    """An operand compared with an operation on it: a symbol must not survive one."""
    x = writer.chance.choice(("n", "m", "S[0]", "X.shape[0]", "Y.shape[1]"))
    other = writer.expression("int", depth)
    return writer.chance.choice((
        f"{x} == -{x}", f"{x} in [-{x}]", f"{x} == max([{x}])", f"sum([{x}]) == {x}", f"{x} == product([{x}])",
        f"{x} == ({x} if ({other}) > 0 else 2)", f"distinct([{x}, -{x}])", f"[{x}][0] == {x}",
        f"[{x}, ({other})] == [{x}, -{x}]", f"{x} == join({x}, 1)", f"{x} == ({other}) * {x}",
    ))  # fmt: skip


_FORMS: Mapping[str, list[Callable[[Writer, int], str]]] = {
    "int": _forms(
        "-{int}", "{int} + {int}", "{int} - {int}", "{int} * {int}", "{int} // {int}", "{int} % {int}", "{ints}[{int}]",
        "{tensor}.rank", "{tensor}.shape[{int}]", "len({ints})", "len({shapes})", "sum({ints})", "product({ints})",
        "max({ints})", "min({ints})", "{int} if {bool} else {int}", _reduced, lambda w, d: w.called("int", d),
        lambda w, d: f"sum({w.loop('int', d)})", lambda w, d: f"len([{w.loop('int', d)}])",
    ),
    "float": _forms("-{float}", "{float} * {float}", "{float} + {int}", "{float} if {bool} else {float}",
                    "{tensor}.values[{int}]"),
    "bool": _forms(
        "{int} == {int}", "{int} != {int}", "{int} < {int}", "{int} <= {int}", "{int} > {int}",
        "{int} <= {int} < {int}",
        "{text} == {text}", "{float} < {int}", "{float} == {float}", "{float} >= {float}", "{ints} == {ints}",
        "{shapes} == {shapes}", "{int} in {ints}", "{int} not in {ints}", "{ints} in {shapes}", "{bool} and {bool}",
        "{bool} or {bool}", "not {bool}", "{bool} if {bool} else {bool}", "distinct({ints})", "distinct({shapes})",
        "{tensor}.type == {text}", "{tensor}.shape == {tensor}.shape", lambda w, d: w.stated(), _of_itself,
        lambda w, d: w.called("bool", d), lambda w, d: f"all({w.loop('bool', d)})",
        lambda w, d: f"any({w.loop('bool', d)})", lambda w, d: f"all([{w.loop('bool', d)}])",
        lambda w, d: f"any([{w.loop('bool', d)}])",
    ),
    "text": _forms("{tensor}.type", "{text} if {bool} else {text}"),
    "ints": _forms(
        "[{int}, {int}]", "[{int}]", "{ints} + {ints}", "{ints}[{int}:{int}]", "{ints}[{int}:]", "{ints}[:{int}]",
        "range({int})", "range({int}, {int})", "{tensor}.shape", "{shapes}[{int}]", "{ints} if {bool} else {ints}",
        lambda w, d: w.called("ints", d), lambda w, d: f"[{w.loop('int', d)}]",
    ),
    "shapes": _forms("[{ints}, {ints}]", "[{tensor}.shape, {ints}]", "{shapes} + {shapes}",
                     "{shapes} if {bool} else {shapes}", lambda w, d: f"[{w.loop('ints', d)}]"),
    "tensor": _forms("{tensors}[{int}]", "{tensor} if {bool} else {tensor}"),
    "tensors": _forms("[{tensor}, {tensor}]", "{tensors} + {tensors}"),
}  # fmt: skip


class World:
    """Random facts, and a completion of them in which each symbol stands for one value."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.symbols = {symbol: chance.randrange(4) for symbol in SYMBOLS}

    def pair(self, kind: str) -> tuple[Any, Any]:
        """A fact of a type, and what it is after completion."""
        chance = self.chance
        if kind == "tensor":
            parts = [self.pair("text"), self.pair("extents"), self.pair("floats")]
            return TensorFacts(*(part for part, _ in parts)), TensorFacts(*(part for _, part in parts))
        if kind in _ITEMS and (kind == "tensors" or chance.random() < 0.85):
            items = [self.pair(_ITEMS[kind]) for _ in range(chance.randrange(4))]
            return tuple(item for item, _ in items), tuple(item for _, item in items)
        whole = self.whole(kind)
        match chance.randrange(6):
            case 0 if kind in ("int", "extent"):
                symbol = chance.choice(SYMBOLS)
                return Unknown(UnknownCause.NOT_STATED, f"the symbol {symbol}", symbol), self.symbols[symbol]
            case 1:
                return Unknown(chance.choice(list(UnknownCause)), "hidden"), whole
            case 2 if chance.random() < 0.2:
                return (unknown := Unknown(UnknownCause.UNDEFINED, "not defined")), unknown
        return whole, whole

    def whole(self, kind: str) -> Any:
        """A value of a type."""
        chance = self.chance
        if kind in _ITEMS:
            return tuple(self.whole(_ITEMS[kind]) for _ in range(chance.randrange(4)))
        match kind:
            case "int":
                return chance.randrange(-3, 5)
            case "extent":
                return chance.randrange(4)
            case "bool":
                return chance.random() < 0.5
            case "float":
                return chance.choice((0.0, 0.5, 1.0, -2.25, float("nan"), float("inf"), float("-inf")))
        return chance.choice(TEXTS)

    def facts(self) -> tuple[Facts, Facts]:
        """Facts of every name, and their completion."""
        pairs = {name: self.pair(kind) for kind, names in NAMES.items() for name in names}
        return {name: part for name, (part, _) in pairs.items()}, {name: whole for name, (_, whole) in pairs.items()}


_ITEMS = {"ints": "int", "extents": "extent", "shapes": "ints", "floats": "float", "tensors": "tensor"}


def stands(known: Any, value: Any) -> bool:
    """Whether a value has every part that is known."""
    if isinstance(known, Unknown):
        return True
    if isinstance(known, TensorFacts):
        return isinstance(value, TensorFacts) and all(map(stands, known, value))
    if isinstance(known, tuple):
        return isinstance(value, tuple) and len(known) == len(value) and all(map(stands, known, value))
    kinds = {type(known), type(value)}
    return (len(kinds) == 1 or kinds == {float, Fraction}) and (known == value or (known != known and value != value))


def example(seed: int) -> Example | None:
    """An expression with its values; None where it takes too many steps."""
    chance = random.Random(seed)
    writer = Writer(chance)
    text = writer.expression(
        chance.choice(("bool", "bool", "bool", "int", "ints", "shapes", "float")), 1 + chance.randrange(DEPTH)
    )
    facts, completed = World(chance).facts()
    try:
        answer = _evaluated(_STATED.sub(lambda question: f"stated({question[1]})", text), facts)
        whole = _evaluated(_STATED.sub(lambda question: _answered(question[1], facts), text), completed)
    except OutOfFuel:
        return None
    return Example(text, facts, completed, answer, whole)


def _answered(text: str, facts: Facts) -> str:
    return "0 == 0" if _evaluated(f"stated({text})", facts) else "0 == 1"


def _evaluated(text: str, facts: Facts) -> Any:
    return parsed_later.__wrapped__(text).evaluate(Evaluator(20_000), facts)


def counterexamples(seeds: Sequence[int]) -> tuple[list[Example], int]:
    """The expressions whose decided value a completion changes, and how many were decided."""
    wrong, decided = [], 0
    for seed in seeds:
        tried = example(seed)
        if tried is not None and not isinstance(tried.known, Unknown):
            decided += 1
            if not stands(tried.known, tried.value):
                wrong.append(tried)
    return wrong, decided


def main() -> int:
    """Run the campaign; 0, or 1 with the expressions that changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expressions", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    wrong, decided = counterexamples(range(options.seed, options.seed + options.expressions))
    for each in wrong[:20]:
        print(f"{each.text}\n  on {each.facts}\n  {each.known}\n  completed {each.completed}\n  {each.value}")
    print(f"{options.expressions} expressions, {decided} decided on part of the facts, {len(wrong)} changed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
