"""The types of rewrites: what each states of itself, what it gives, and the record of each place it changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sonnx.checker.verdicts import Where
from sonnx.model.ir import Model, Node, Tensor
from sonnx.profile.rewrites import RewriteDescription, rewrite_descriptions
from sonnx.report.fix_record import AppliedRewrite
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.site import Site

ROUNDED_DIFFERENTLY = "values are rounded differently from the original's"


class NoReplacement(Exception):
    """A rewrite needs a constant of more bytes than a file can hold: it leaves the node as it is."""


class Trigger(Enum):
    """When a rewrite is tried."""

    RULE_FAILS = "one of its rules fails at the node and is selected"
    RULE_SELECTED = "one of its rules is selected, failing or not"
    ALWAYS = "always"


class Edit(Struct, frozen=True):
    """One place that a rewrite of a whole model changed, with the texts of before and after.

    `rules` are the slugs served at this place, None for those of the rewrite.  `changes` says what happens to the
    model's interface or values, where they do not stay the same.
    """

    where: Where
    before: str
    after: str
    rules: tuple[str, ...] | None = None
    changes: str = ""


class ModelChange(Struct, frozen=True):
    """What a rewrite made of a model, and the places it changed."""

    model: Model
    edits: Sequence[Edit]


def changed_graph(context: RewriteContext, edits: Sequence[Edit], **changes: Any) -> ModelChange | None:
    """The model with another main graph; None where there is no edit."""
    model = context.model
    return ModelChange(replace(model, graph=replace(model.graph, **changes)), edits) if edits else None


class Replacement(Struct, frozen=True):
    """What takes the place of one node, with the texts of before and after.

    `nodes` stand where the node stood.  `constants` are new initializers; one with the name of an output of the node
    takes the place of that output.  `same` are pairs (output that is removed, value that its users take instead).
    Names that the model has already are made unique by the caller.
    """

    nodes: tuple[Node, ...]
    before: str
    after: str
    constants: tuple[Tensor, ...] = ()
    same: tuple[tuple[str, str], ...] = ()
    changes: str = ""
    """What happens to values, where the option of the rewrite does not say it all."""


ModelRewriting: TypeAlias = Callable[[RewriteContext], ModelChange | None]
"""Rewrites a whole model; None where there is nothing to do."""
NodeRewriting: TypeAlias = Callable[[Site], Replacement | None]
"""Replaces one node; None where there is nothing to do."""
StageT = TypeVar("StageT", bound=Callable[..., Any])
Stage_co = TypeVar("Stage_co", bound=Callable[..., Any], covariant=True)


class Rewrite(Struct, Generic[Stage_co], frozen=True):
    """One rewrite.

    `name` is that of its description in restrictions/rewrites.toml, which states the rules it serves and the option
    that enables it.  `makes_executable` is set where the executor may need the rewrite to run a model at all, and no
    operator that it can run is touched.
    """

    name: str
    trigger: Trigger
    apply: Stage_co
    makes_executable: bool = False

    @property
    def option(self) -> str:
        """The parameter of `fix` that enables it, because values are rounded in another way; "" where they stay."""
        return self.description.option.replace("-", "_")

    @property
    def description(self) -> RewriteDescription:
        """What it is for."""
        return rewrite_descriptions()[self.name]

    @property
    def rules(self) -> tuple[str, ...]:
        """The slugs it serves, or their last parts."""
        return self.description.rules

    def enabled(self, context: RewriteContext) -> bool:
        """Whether the rewrite runs at all."""
        optional = not self.option or self.option in context.options
        return optional and (context.only is None or self.name in context.only)

    def triggered(self, context: RewriteContext) -> bool:
        """Whether the rewrite is tried on the whole model."""
        return self.trigger is Trigger.ALWAYS or context.selects_any(self.rules)

    def triggered_at(self, site: Site) -> bool:
        """Whether the rewrite is tried on a node; of an invalid one only where it serves a rule that makes it so."""
        if site.node.operator in site.context.kept and site.in_standard_domain:
            return False
        about = self.description
        if site.invalid and not any(map(about.serves, site.invalid)):
            return False
        only = about.operators
        if only and site.qualified_operator not in only:
            return False
        if self.trigger is Trigger.RULE_FAILS:
            return bool(site.failing and site.failing_of(*about.rules))
        return self.triggered(site.context)

    def applied(self, edits: Sequence[Edit]) -> Iterator[AppliedRewrite]:
        """The records of the places it changed."""
        for edit in edits:
            rules = self.rules if edit.rules is None else edit.rules
            yield self.record(rules, edit.where, edit.before, edit.after, edit.changes)

    def record(
        self, rules: tuple[str, ...], where: Where, before: str, after: str, changes: str = "", value: str = ""
    ) -> AppliedRewrite:
        """The record of one place it changed."""
        about = self.description
        changes = changes or (ROUNDED_DIFFERENTLY if about.option else "")
        return AppliedRewrite(self.name, about.title, rules, where, before, after, about.theorem, changes, value)


def rewrite(name: str, trigger: Trigger, *, makes_executable: bool = False) -> Callable[[StageT], Rewrite[StageT]]:
    """Makes a function a rewrite; the arguments are the fields of `Rewrite`."""
    return lambda apply: Rewrite(name, trigger, apply, makes_executable)
