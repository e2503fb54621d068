"""What `sonnx fix` can correct, as data: the rewrites of restrictions/rewrites.toml with the rules they serve."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from msgspec import Struct
from msgspec.structs import asdict

from sonnx.profile.catalogue import read_data
from sonnx.profile.profile_data import of_profile
from sonnx.profile.text_types import Limit

FILE = "rewrites.toml"

WITHIN_BOUND: Literal["within-bound"] = "within-bound"
"""The option of `sonnx fix` for rewrites that keep the ideal values and round in another way."""
APPROXIMATE: Literal["approximate"] = "approximate"
"""The option for rewrites whose ideal value differs by a certified bound."""
Option = Literal["", "fold-batch-normalization", "within-bound", "approximate"]
OPTIONS: tuple[Option, ...] = ("", "fold-batch-normalization", WITHIN_BOUND, APPROXIMATE)


class RewriteFormat(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a rewrite is for."""

    title: Annotated[str, Limit(pattern="^[A-Z].*[^.]$")]
    """What the rewrite does, an imperative."""
    rules: Annotated[tuple[str, ...], Limit(min_length=1)]
    """The slugs it serves, or their last parts where several operators have such a rule."""
    operators: tuple[str, ...] = ()
    """The only operators of nodes it is tried on; every operator without it."""
    kinds: tuple[Literal["node", "value", "tensor"], ...] = ()
    """The only kinds of places it corrects, where a rule has several; every kind without it."""
    theorem: str = ""
    """The theorem about its arithmetic."""
    option: Option = ""
    """The option of `sonnx fix` that enables it, because values are rounded in another way; none where they stay."""
    lifts: tuple[str, ...] = ()
    """Error conditions of the operators it replaces under which the result has a value."""


class RewriteDescription(RewriteFormat, frozen=True, kw_only=True):
    """What a rewrite is for, with its name."""

    name: str

    def serves(self, slug: str) -> bool:
        """Whether the rewrite is for a rule."""
        return slug in self.rules or slug.rpartition(".")[2] in self.rules


RewritesFile = dict[Annotated[str, Limit(pattern="^[a-z]+(-[a-z]+)*$")], RewriteFormat]
"""Rewrites: what `sonnx fix` can correct: rewrites.toml."""


@of_profile
def rewrite_descriptions() -> Mapping[str, RewriteDescription]:
    """Every rewrite by name."""
    file = read_data(FILE, RewritesFile)
    return MappingProxyType(
        {name: RewriteDescription(name=name, **asdict(description)) for name, description in file.items()}
    )


@of_profile
def _served() -> frozenset[str]:
    """The names of rules that some rewrite serves."""
    return frozenset(name for rewrite in rewrite_descriptions().values() for name in rewrite.rules)


def _serving(slug: str) -> tuple[RewriteDescription, ...]:
    """The rewrites for a rule, in the order of the file."""
    if slug.rpartition(".")[2] not in _served() and slug not in _served():  # most have none
        return ()
    return tuple(rewrite for rewrite in rewrite_descriptions().values() if rewrite.serves(slug))


@of_profile
def rewrites_for(slug: str, operator: str = "", kind: str = "node", option: str = "") -> tuple[RewriteDescription, ...]:
    """The rewrites that may correct a failure of a rule at a place of a kind, a node of an operator for example.

    Where a node fails because of its operator, only rewrites for that very operator count; and only those that run
    without an option, or that `option` enables.
    """
    served = (rewrite for rewrite in _serving(slug) if rewrite.option == option)
    of_kind = (rewrite for rewrite in served if not rewrite.kinds or kind in rewrite.kinds)
    return tuple(
        rewrite for rewrite in of_kind if operator in rewrite.operators or not (rewrite.operators or slug == OUTSIDE)
    )


@of_profile
def names_of_rewrites_for(slug: str, operator: str, kind: str) -> tuple[str, ...]:
    """The names of these rewrites."""
    return tuple(rewrite.name for rewrite in rewrites_for(slug, operator, kind))


@of_profile
def rewrite_titles(slug: str) -> tuple[str, ...]:
    """The titles of the rewrites that serve a rule; of a rule of an operator, those tried on its nodes."""
    operator = slug.partition(".")[0] if "." in slug else ""
    served = _serving(slug)
    return tuple(
        _titled(rewrite) for rewrite in served if not operator or not rewrite.operators or operator in rewrite.operators
    )


def _titled(rewrite: RewriteDescription) -> str:
    return f"{rewrite.title} (with --{rewrite.option})" if rewrite.option else rewrite.title


@of_profile
def operator_titles(operator: str) -> tuple[str, ...]:
    """The titles of the rewrites that replace nodes of an operator outside the profile."""
    return tuple(_titled(rewrite) for option in OPTIONS for rewrite in rewrites_for(OUTSIDE, operator, "node", option))


OUTSIDE = "operator-in-profile"
"""The rule that a node fails because of its operator."""
