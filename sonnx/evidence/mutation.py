"""The recorded mutation tests: how many changed rules and changed modules of commands the cases detect.

`python -m tools.rule_mutants` runs the mutation test of the rules; a test compares its result with the record,
rule_survivors.toml, which has a reason for each change that no case detects.  `python -m tools.command_mutants` runs
that of the commands and writes command_mutants.toml.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from msgspec import Struct, convert

from sonnx.base.files import sha256

RECORD = Path(__file__).with_name("rule_survivors.toml")
COMMAND_RECORD = Path(__file__).with_name("command_mutants.toml")
PACKAGE = Path(__file__).parent.parent


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
        SurvivorGroup(id_, entry["reason"], tuple(Survivor(*row) for row in entry["survivors"]))
        for id_, entry in data.items()
    )
    return MutationRecord(mutants, tuple(groups))


class ModuleMutants(Struct, frozen=True, forbid_unknown_fields=True):
    """A module of a command: how many mutants it has, how many were tried, and those that no case detects.

    A survivor is the function, and the old and the new text.
    """

    command: str
    name: str
    sha256: str
    """Of the module that was changed."""
    mutants: int
    tried: int
    survivors: tuple[tuple[str, str, str], ...]

    @property
    def detected(self) -> int:
        """How many of those tried some case detects."""
        return self.tried - len(self.survivors)

    @property
    def current(self) -> bool:
        """Whether the module is still the one that was changed."""
        path = PACKAGE.joinpath(*self.name.split(".")[1:]).with_suffix(".py")
        return path.is_file() and sha256(path.read_bytes()) == self.sha256


class CommandMutants(Struct, frozen=True, forbid_unknown_fields=True):
    """The mutation test of the commands: the size and the seed of the sample of each module, and the results."""

    sample: int
    seed: int
    module: tuple[ModuleMutants, ...]


@cache
def command_mutants() -> CommandMutants:
    """The record that comes with the tool."""
    return convert(tomllib.loads(COMMAND_RECORD.read_text("utf-8")), CommandMutants)
