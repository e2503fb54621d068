"""What shows each rule: from the text that states it to its cases and theorems, and which of these no rule has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sonnx.cases import EXPECTATIONS, cases
from sonnx.domain import Expression
from sonnx.expression import words
from sonnx.identifier import Tag
from sonnx.profile import Rule

WHOLE = ("defined", "restricts", "satisfiable", "shape-total")
"""The last part of the identifiers of derived theorems that are about all rules of an operator."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One rule with what it comes from and what shows it, by identifiers."""

    rule: str
    kind: str
    statement: str
    source: str
    tags: tuple[Tag, ...]
    decided: str
    """The rule text, "" where a function decides."""
    conforming: tuple[str, ...]
    violating: tuple[str, ...]
    theorems: tuple[str, ...]
    errata: tuple[str, ...]


def traces(rules: Iterable[Rule], theorems: Sequence[str] = ()) -> Iterator[Trace]:
    """The trace of each rule, with those of the theorems named that are about it."""
    about = _by_rule(theorems)
    shown = _by_case()
    for rule in rules:
        found = {name for word in used_words(rule) for name in about.get(f"word.{word}", ())}
        yield Trace(
            rule=rule.slug,
            kind=rule.kind,
            statement=rule.statement,
            source=rule.source,
            tags=rule.tags,
            decided=rule.require.text if rule.require else "",
            conforming=shown.get((rule.slug, True), ()),
            violating=shown.get((rule.slug, False), ()),
            theorems=tuple(sorted({*about.get(rule.slug, ()), *found})),
            errata=rule.errata,
        )


def _by_case() -> Mapping[tuple[str, bool], tuple[str, ...]]:
    found: dict[tuple[str, bool], tuple[str, ...]] = {}
    for case in cases():
        for word in EXPECTATIONS:
            for slug in case.rules(word):
                key = slug, word == "conforms"
                found[key] = (*found.get(key, ()), *([] if case.id in found.get(key, ()) else [case.id]))
    return found


def _by_rule(theorems: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Theorems by what they are about: `derived.Max-13.independent.same-shape` by `Max.same-shape`, words by name."""
    found: dict[str, tuple[str, ...]] = {}
    for name in theorems:
        parts = name.split(".")
        last = parts[-1]
        if parts[0] == "derived" and last not in WHOLE:
            key = f"{operator_of(name)}.{last}"
            found[key] = (*found.get(key, ()), name)
        elif parts[0] == "word":
            key = f"word.{last.replace('-', '_')}"
            found[key] = (*found.get(key, ()), name)
    return found


def operator_of(theorem: str) -> str:
    """The operator a derived theorem is about, "" for any other theorem."""
    topic, _, rest = theorem.partition(".")
    return rest.partition("-")[0] if topic == "derived" else ""


def used_words(rule: Rule) -> frozenset[str]:
    """The words of a rule's texts, and those these are made of."""
    texts: list[Expression] = [text for text in (rule.require, rule.onnx, rule.when) if text is not None]
    waiting, found = [name for text in texts for name in text.words], set[str]()
    known = words()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [each for each in re.findall(r"\w+", known[name].source) if each in known]
    return frozenset(found)
