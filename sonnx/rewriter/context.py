"""What all rewrites of one model share: the edition, the model's imports and functions, and what was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from sonnx.checker.rules import ActiveRules
from sonnx.model.ir import Function


class RewriteContext(Struct, frozen=True):
    """The rules in force, the model around the nodes, and which rewrites run.

    `operator_set` is the version of the standard operator set that the model imports; `selected` are the slugs that
    rewrites may serve and `only` the names of the rewrites that run, None for all; `options` enable rewrites that
    change values.
    """

    active_rules: ActiveRules
    operator_set: int | None
    functions: Mapping[tuple[str, str, str], Function] = {}
    selected: frozenset[str] | None = None
    options: frozenset[str] = frozenset()
    only: frozenset[str] | None = None

    def selects(self, slug: str) -> bool:
        """Whether rewrites may serve a rule: it is in force, or of an operator, and among the selected ones."""
        active = slug in self.active_rules.slugs or "." in slug
        return active and (self.selected is None or slug in self.selected)

    def selects_any(self, slugs: Iterable[str]) -> bool:
        """Whether rewrites may serve one of the rules."""
        return any(map(self.selects, slugs))
