"""The part of the catalogue that one check applies: an edition with its rules by subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sonnx import catalogue, graph_rules
from sonnx.domain import Expression
from sonnx.graph_rules import Defect
from sonnx.profile import Edition, Editions, Rule
from sonnx.signature import demanded

if TYPE_CHECKING:
    from sonnx.tailoring import Tailoring


@dataclass(frozen=True)
class InForce:
    """An edition, whether only specified versions of operators are admitted, and what a project demands besides."""

    edition: Edition
    strict: bool = False
    tailoring: Tailoring | None = None

    @cached_property
    def editions(self) -> Editions:
        """The texts and editions around this one."""
        return catalogue.editions()

    @cached_property
    def general(self) -> tuple[tuple[Rule, Expression], ...]:
        """The rules in force that are a text, each with its condition under this edition."""
        rules = ((rule, self._demand(rule)) for rule in catalogue.general_rules())
        own = self.tailoring.conditions if self.tailoring else ()
        return (*((rule, demand) for rule, demand in rules if demand is not None), *own)

    def _demand(self, rule: Rule) -> Expression | None:
        return demanded(rule, self.edition.general, self.editions)

    @cached_property
    def graph(self) -> tuple[Rule, ...]:
        """The rules in force that a function decides."""
        own = [rule for rule, _ in self.tailoring.decided] if self.tailoring else []
        known = catalogue.graph_rules()
        return (*(rule for rule in known if self.editions.in_force(rule, self.edition.general)), *own)

    @cached_property
    def slugs(self) -> frozenset[str]:
        """The rules in force that are of no operator."""
        return frozenset({rule.slug for rule, _ in self.general} | {rule.slug for rule in self.graph})

    def about(self, subject: str) -> tuple[tuple[Rule, Expression], ...]:
        """The general rules in force about a subject."""
        return tuple((rule, demand) for rule, demand in self.general if rule.subject == subject)

    def deciding(self, subject: str) -> tuple[Rule, ...]:
        """The graph rules in force about a subject."""
        return tuple(rule for rule in self.graph if rule.subject == subject)

    def decide(self, rule: Rule) -> Callable[..., Iterable[Defect]]:
        """The function that decides a rule that is no text."""
        own = dict(self.tailoring.decided).get(rule) if self.tailoring else None
        return own or graph_rules.decide(rule)
