"""The recorded mutation test of the rules: how many changed rules the cases detect, and why they miss the others.

`python -m tools.rule_mutants` runs the mutation test; a test compares its result with the record, rule_survivors.toml.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

RECORD = Path(__file__).with_name("rule_survivors.toml")


@dataclass(frozen=True, slots=True)
class Survivor:
    """A mutant that no case detects: the rule, its expression on one line, and the changed expression."""

    rule: str
    text: str
    mutant: str


@dataclass(frozen=True, slots=True)
class SurvivorGroup:
    """Survivors that have the same reason."""

    id: str
    reason: str
    survivors: tuple[Survivor, ...]


@dataclass(frozen=True, slots=True)
class MutationRecord:
    """The number of mutants of all rules, and those that no case detects, by reason."""

    mutants: int
    groups: tuple[SurvivorGroup, ...]

    @property
    def survivors(self) -> tuple[Survivor, ...]:
        """All survivors, group by group."""
        return tuple(survivor for group in self.groups for survivor in group.survivors)

    @property
    def detected(self) -> int:
        """How many mutants some case detects."""
        return self.mutants - len(self.survivors)


@cache
def mutation_record() -> MutationRecord:
    """The record that comes with the rules."""
    data = tomllib.loads(RECORD.read_text("utf-8"))
    mutants = data.pop("mutants")
    groups = (
        SurvivorGroup(id_, each["reason"], tuple(Survivor(*row) for row in each["survivors"]))
        for id_, each in data.items()
    )
    return MutationRecord(mutants, tuple(groups))
