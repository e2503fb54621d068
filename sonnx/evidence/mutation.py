"""The recorded mutation test of the rules: how many of the changed rules the cases detect, and why not the others.

`python -m tools.rule_mutants` runs the test, and a test of the project compares its result with the record,
rule_survivors.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

RECORD = Path(__file__).with_name("rule_survivors.toml")


@dataclass(frozen=True, slots=True)
class Survivor:
    """A mutant that no case detects: the rule, and its changed condition."""

    rule: str
    mutant: str


@dataclass(frozen=True, slots=True)
class SurvivorGroup:
    """Survivors that have the same reason.

    Where the reason follows from the table of types they are counted, by rule; else they are listed.
    """

    id: str
    reason: str
    rules: Mapping[str, int] = field(default_factory=dict)
    survivors: tuple[Survivor, ...] = ()

    @property
    def number(self) -> int:
        """How many they are."""
        return sum(self.rules.values()) + len(self.survivors)


@dataclass(frozen=True, slots=True)
class MutationRecord:
    """The number of mutants of all rules, and those that no case detects, by reason."""

    mutants: int
    groups: tuple[SurvivorGroup, ...]

    @property
    def undetected(self) -> int:
        """How many mutants no case detects."""
        return sum(group.number for group in self.groups)

    @property
    def detected(self) -> int:
        """How many mutants some case detects."""
        return self.mutants - self.undetected


@cache
def mutation_record() -> MutationRecord:
    """The record that comes with the rules."""
    data = tomllib.loads(RECORD.read_text("utf-8"))
    mutants = data.pop("mutants")
    groups = (
        SurvivorGroup(
            name,
            entry["reason"],
            entry.get("rules", {}),
            tuple(Survivor(rule, mutant) for rule, mutant in entry.get("survivors", ())),
        )
        for name, entry in data.items()
    )
    return MutationRecord(mutants, tuple(groups))
