"""How well the cases tell the rules from texts that differ in one small way, and why some are not told apart."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sonnx.evidence.rule_mutants import chosen, score

DATA = Path(__file__).with_name("rule_survivors.toml")


@dataclass(frozen=True, slots=True)
class Survivor:
    """A mutant no case notices: the rule, its text on one line, and the text it was changed to."""

    rule: str
    text: str
    mutant: str


@dataclass(frozen=True, slots=True)
class Group:
    """Survivors with one reason."""

    id: str
    reason: str
    survivors: frozenset[Survivor]


@dataclass(frozen=True, slots=True)
class Mutation:
    """The mutants of all rules, and those no case notices, by reason."""

    mutants: int
    alive: int
    reasons: tuple[tuple[str, str, tuple[Survivor, ...]], ...]
    """Id and text of each reason, with the survivors it is stated for, in the order of the file."""
    unexplained: tuple[Survivor, ...]
    """Those without a reason."""
    gone: tuple[Survivor, ...]
    """Those a reason is stated for, though a case notices them or there is no such mutant."""

    @property
    def killed(self) -> int:
        """Mutants some case notices."""
        return self.mutants - self.alive


@cache
def groups() -> tuple[Group, ...]:
    """The reasons on record."""
    recorded: Mapping[str, Mapping[str, str]] = tomllib.loads(DATA.read_text("utf-8"))
    return tuple(
        Group(name, each["reason"], frozenset(Survivor(*row) for row in each["survivors"]))
        for name, each in recorded.items()
    )


def mutation() -> Mutation:
    """Every mutant of every rule, asked of all cases here; some seconds."""
    found: dict[Survivor, None] = {}
    number = 0
    for slug, text in chosen([]):
        made = score(slug, text)
        number += made.mutants
        found |= dict.fromkeys(Survivor(slug, " ".join(text.split()), mutant) for mutant in made.alive)
    recorded = frozenset().union(*(each.survivors for each in groups()))
    return Mutation(
        number,
        len(found),
        tuple((each.id, each.reason, tuple(one for one in found if one in each.survivors)) for each in groups()),
        tuple(one for one in found if one not in recorded),
        tuple(sorted(recorded - found.keys(), key=lambda one: (one.rule, one.text, one.mutant))),
    )
