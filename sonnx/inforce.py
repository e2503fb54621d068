"""The part of the catalogue that one check applies: an edition with its rules by subject."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sonnx import catalogue
from sonnx.domain import Expression
from sonnx.profile import Edition, Editions, Rule
from sonnx.signature import demanded


@dataclass(frozen=True)
class InForce:
    """An edition, and whether only the specified version of each operator is admitted."""

    edition: Edition
    strict: bool = False

    @cached_property
    def editions(self) -> Editions:
        """The texts and editions around this one."""
        return catalogue.editions()

    @cached_property
    def general(self) -> tuple[tuple[Rule, Expression], ...]:
        """The rules of general.toml in force, each with its condition under this edition."""
        rules = ((rule, self._demand(rule)) for rule in catalogue.general_rules())
        return tuple((rule, demand) for rule, demand in rules if demand is not None)

    def _demand(self, rule: Rule) -> Expression | None:
        return demanded(rule, self.edition.general, self.editions)

    @cached_property
    def graph(self) -> tuple[Rule, ...]:
        """The rules of graph.toml in force."""
        return tuple(rule for rule in catalogue.graph_rules() if self.editions.in_force(rule, self.edition.general))

    @cached_property
    def slugs(self) -> frozenset[str]:
        """The general and graph rules in force."""
        return frozenset({rule.slug for rule, _ in self.general} | {rule.slug for rule in self.graph})

    def about(self, subject: str) -> tuple[tuple[Rule, Expression], ...]:
        """The general rules in force about a subject."""
        return tuple((rule, demand) for rule, demand in self.general if rule.subject == subject)

    def deciding(self, subject: str) -> tuple[Rule, ...]:
        """The graph rules in force about a subject."""
        return tuple(rule for rule in self.graph if rule.subject == subject)
