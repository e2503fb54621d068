"""Each construct, operator and built-in function of the language is exported as what it means, seen without Coq."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from sonnx.language import coq
from sonnx.language.evaluator import Evaluator, Unknown
from sonnx.language.parser import built_ins, parse, parsed_later
from sonnx.language.steps import OutOfFuel
from sonnx.language.type_checker import built_in_types
from tests.support import coq_terms
from tests.support.cases import examples
from tests.support.completion import World, Writer, _type_name, stands
from tests.support.paths import ROOT

SYNTAX = (ROOT / "proofs" / "coq" / "syntax.v").read_text("utf-8")


def constructors(name: str) -> set[str]:
    """The constructors of an inductive type of syntax.v."""
    body = re.search(rf"Inductive {name} :=(.*?)\.\n", SYNTAX, re.DOTALL)
    assert body is not None
    return set(re.findall(r"(?:^|\|)\s*([A-Z]\w*)", body[1].strip()))


EXPORTED = {"expr", "arithmetic", "comparison", "list_function"}
NOT_WRITTEN = {"Undefined", "Always"}
"""Constructors that only bodies of functions and loops without a filter have; their tests are those of functions."""


def agree(left: Any, right: Any) -> bool:
    """Two values with the same known parts; causes of unknown ones count, reasons do not."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return isinstance(left, Unknown) and isinstance(right, Unknown) and left.cause == right.cause
    return stands(left, right) and stands(right, left)


def example(seed: int) -> tuple[str, str, dict[str, Any]]:
    """An expression, its exported term, and facts."""
    chance = random.Random(seed)
    kind = chance.choice(("bool", "bool", "bool", "int", "ints", "shapes", "float"))
    text = Writer(chance).expression(kind, 1 + chance.randrange(4))
    text = re.sub(r"stated\[(.*?)\]\]", r"stated(\1)", text)
    facts, _ = World(chance).facts()
    return text, coq.term(parsed_later.__wrapped__(text), {}), dict(facts)


def disagreement(seeds: range) -> tuple[str, Any, Any] | None:
    """An expression whose term has another value."""
    for seed in seeds:
        text, term, facts = example(seed)
        try:
            checked = parsed_later.__wrapped__(text).evaluate(Evaluator(20_000), facts)
        except OutOfFuel:
            continue
        try:
            exported = coq_terms.evaluate(coq_terms.read(term), facts)
        except (TypeError, AttributeError) as error:  # a term of another type
            exported = error
        if not agree(checked, exported):
            return text, checked, exported
    return None


def test_a_term_has_the_value_of_its_expression() -> None:
    assert disagreement(range(examples(2_500, 40_000))) is None


def test_every_construct_is_among_the_examples() -> None:
    seen: set[str] = set()
    for seed in range(1_500):
        seen |= coq_terms.constructors(coq_terms.read(example(seed)[1]))
    for name in EXPORTED:
        assert constructors(name) <= seen | NOT_WRITTEN, name


@pytest.mark.parametrize("name", built_ins())
def test_a_built_in_function_is_exported_as_it_is(name: str) -> None:
    function = built_ins()[name]
    kinds = [_type_name(kind) for kind in built_in_types(function)[0]]
    arguments = [f"a{index}" for index in range(len(kinds))]
    term = coq_terms.read(coq.term(parse(f"{name}({', '.join(arguments)})"), {}))
    for seed in range(60):
        chance = random.Random(seed)
        world = World(chance)
        values = [world.pair(kind)[0] if seed % 2 else world.whole(kind) for kind in kinds]
        checked = Evaluator().built_in(function, values)
        exported = coq_terms.evaluate(term, dict(zip(arguments, values, strict=True)))
        assert agree(checked, exported), (values, checked, exported)


CHANGES = [
    *[("_ARITHMETIC", sign) for sign in coq._ARITHMETIC],
    *[("_FUNCTIONS", name) for name in coq._FUNCTIONS],
]


@pytest.mark.parametrize(("table", "key"), CHANGES)
def test_a_changed_operator_or_function_is_detected(table: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = getattr(coq, table)
    keys = list(names)
    monkeypatch.setitem(names, key, names[keys[(keys.index(key) + 1) % len(keys)]])
    assert disagreement(range(2_500)) is not None


SIGNS = [
    ("==", "!="),
    ("!=", "=="),
    ("<", "<="),
    ("<=", "<"),
    (">", ">="),
    (">=", ">"),
    ("in", "not in"),
    ("not in", "in"),
]
METHODS = [
    ("field", lambda method, self, value, name: method(self, value, "shape" if name == "rank" else name)),
    ("item", lambda method, self, sequence, index: method(self, sequence, "(Int 0)")),
    ("part", lambda method, self, sequence, start, stop: method(self, sequence, None, stop)),
    ("part", lambda method, self, sequence, start, stop: method(self, sequence, start, None)),
    ("arithmetic", lambda method, self, sign, left, right: method(self, sign, right, left)),
    ("negative", lambda method, self, value: value),
    *[("compare", lambda method, self, sign, *two, old=old, new=new: method(self, new if sign == old else sign, *two))
      for old, new in SIGNS],
    ("conjunction", lambda method, self, parts: method(self, parts[:1])),
    ("disjunction", lambda method, self, parts: method(self, parts[-1:])),
    ("disjunction", lambda method, self, parts: self.conjunction(parts)),
    ("negation", lambda method, self, value: value),
    ("choice", lambda method, self, condition, then, otherwise: method(self, condition, otherwise, then)),
    ("quantify", lambda method, self, name, *rest: method(self, "any" if name == "all" else "all", *rest)),
    ("collect", lambda method, self, variable, sequence, body, where: method(self, variable, sequence, body, None)),
    ("flatten", lambda method, self, lists: f"(Item {lists} (Int 0))"),
    ("listing", lambda method, self, items: method(self, items[::-1])),
    ("constant", lambda method, self, value: method(self, value + 1 if isinstance(value, int) else value)),
    ("function", lambda method, self, name, arguments: method(self, name, arguments[-1:])),
    ("reduce", lambda method, self, function, sequence, start: method(self, function, sequence, "(Int 1)")),
    ("built_in", lambda method, self, function, arguments: method(self, function, arguments[::-1])),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(METHODS)), ids=lambda number: f"{METHODS[number][0]}-{number}")
def test_a_changed_construct_is_detected(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name, change = METHODS[number]
    method = getattr(coq.CoqPrinter, name)
    monkeypatch.setattr(coq.CoqPrinter, name, lambda self, *arguments: change(method, self, *arguments))
    assert disagreement(range(2_500)) is not None
