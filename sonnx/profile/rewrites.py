"""What `sonnx fix` can correct, as data: the rewrites of restrictions/rewrites.toml with the rules they serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from sonnx.profile.catalogue import read_data
from sonnx.profile.toml_files import Table, read_record

FILE = "rewrites.toml"


@dataclass(frozen=True, slots=True)
class RewriteDescription:
    """What a rewrite is for.

    `rules` are the slugs it serves, or their last parts where several operators have such a rule; `operators` are the
    only operators of nodes it is tried on, empty for all.  `theorem` names the theorem about its arithmetic.
    """

    name: str
    title: str
    rules: tuple[str, ...]
    operators: tuple[str, ...] = ()
    theorem: str = ""

    def serves(self, slug: str) -> bool:
        """Whether the rewrite is for a rule."""
        return slug in self.rules or slug.rpartition(".")[2] in self.rules


@cache
def rewrite_descriptions() -> Mapping[str, RewriteDescription]:
    """Every rewrite by name."""
    file = read_data(FILE)
    return MappingProxyType(
        {name: read_record(RewriteDescription, Table(data, f"{FILE}.{name}"), name=name) for name, data in file.items()}
    )


@cache
def rewrites_for(slug: str, operator: str = "") -> tuple[RewriteDescription, ...]:
    """The rewrites that may correct a failure of a rule at a node of an operator.

    Where a node fails because of its operator, only rewrites for that very operator count.
    """
    found = (each for each in rewrite_descriptions().values() if each.serves(slug))
    return tuple(each for each in found if operator in each.operators or not (each.operators or slug == OUTSIDE))


OUTSIDE = "operator-in-profile"
"""The rule that a node fails because of its operator."""
