"""Identifiers of rules as requirements, and the register of all that were ever stated: requirement_identifiers.txt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from sonnx.profile.definitions import Rule
from sonnx.profile.profile_data import in_use

FILE = "requirement_identifiers.txt"
WITHDRAWN = "withdrawn"


def requirement_identifier(rule: Rule, edition: str) -> str:
    """The identifier of a rule as a requirement of an edition: `SONNX-2026-11/Max/broadcastable`."""
    return f"SONNX-{edition}/{_name(rule)}"


def _name(rule: Rule) -> str:
    """The identifier without the edition."""
    operator, dot, name = rule.slug.partition(".")
    return f"{operator}/{name}" if dot else f"general/{operator}"


def register() -> str:
    """The register: a line for each identifier that was ever stated, with the word withdrawn where its rule is gone."""
    return (in_use().folder / FILE).read_text("utf-8")


def register_faults(text: str, rules: Iterable[Rule]) -> Iterator[str]:
    """One sentence for each identifier that is listed or used twice, or used again after it was withdrawn."""
    listed, withdrawn, used = _numbers_of_entries(text), _withdrawn(text), Counter(map(_name, rules))
    for name in sorted(name for name, number in listed.items() if number > 1):
        yield f"The requirement identifier {name} is listed twice in {FILE}."
    for name in sorted(name for name, number in used.items() if number > 1):
        yield f"The requirement identifier {name} is used twice."
    for name in sorted(used.keys() & withdrawn.keys()):
        yield f"The requirement identifier {name} was withdrawn, and is that of a rule again."
    for name, successors in withdrawn.items():
        for successor in successors:
            if successor not in used:
                yield f"The requirement identifier {name} became {successor}, which is not that of a rule."


def _numbers_of_entries(text: str) -> Counter[str]:
    return Counter(name for name, *_ in _lines(text))


def withdrawal(slug: str) -> str:
    """The sentence about a rule that was withdrawn and whose demand others state now; "" about any other name."""
    operator, _, name = slug.partition(".")
    successors = _withdrawn(register()).get(f"{operator}/{name}" if name else f"general/{operator}", ())
    instead = " and ".join(each.removeprefix("general/").replace("/", ".") for each in successors)
    return instead and f"the rule {slug!r} was withdrawn; its demand is that of {instead}"


def _withdrawn(text: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(state[1:]) for name, *state in _lines(text) if state[:1] == [WITHDRAWN]}


def _lines(text: str) -> Iterator[list[str]]:
    yield from (line.split() for line in text.splitlines() if line and not line.startswith("#"))
