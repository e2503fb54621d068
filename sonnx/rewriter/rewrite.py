"""What a rewrite is: what it replaces, by what, for which rules, and why the values stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from sonnx.checker.report import Where
from sonnx.model.ir import Node, Tensor


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite that was made.

    `kind` is the module it comes from; `rules` are the slugs it serves at this place; `before` and `after` are what
    stood there and what stands there now, as text.  `theorem` names a theorem of `proofs/` for its algebra, `changes`
    says what happens to values where they do not stay the same bit for bit, or to the interface of the model.
    """

    kind: str
    rules: tuple[str, ...]
    where: Where
    before: str
    after: str
    theorem: str = ""
    changes: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What takes the place of one node.

    `nodes` stand where it stood; `constants` are new initializers (one with the name of an output of the node takes
    its place); `same` are pairs of an output that falls away and the value every user of it takes instead.  Names that
    the model has already are made unique by the one who applies the change.
    """

    nodes: tuple[Node, ...]
    before: str
    after: str
    constants: tuple[Tensor, ...] = ()
    same: tuple[tuple[str, str], ...] = ()
    rules: tuple[str, ...] = ()
    """The slugs it serves, where not all failing ones of its module's RULES."""
    changes: str = ""


def modules(folder: str) -> list[ModuleType]:
    """The rewrites in a folder of this package: those that are FIRST, then the others, in the order of their names.

    Each has a docstring whose first sentence is its title, `RULES` (slugs, or their last parts where many operators
    have such a rule) and `rewrite`; `THEOREM` where its algebra is proved, `OPTION` where it is made only when asked
    for, `FIRST` where a node falls away for which nothing else need be written.
    """
    package = f"{__package__}.{folder}"
    found = [import_module(f"{package}.{each.name}") for each in iter_modules(import_module(package).__path__)]
    return sorted(found, key=lambda module: not getattr(module, "FIRST", False))


def title(module: ModuleType) -> str:
    """The first sentence of the module's docstring without its full stop."""
    return (module.__doc__ or "").partition("\n")[0].partition(".  ")[0].rstrip(".")


def every_kind() -> dict[str, ModuleType]:
    """All rewrites by the name of their module."""
    return {name_of(module): module for folder in ("before", "each_node", "after") for module in modules(folder)}


def name_of(module: ModuleType) -> str:
    """The name of a rewrite: that of its module, with hyphens."""
    return module.__name__.rpartition(".")[2].replace("_", "-")


def serves(module: ModuleType, slug: str) -> bool:
    """Whether a rewrite is for a rule."""
    return slug in module.RULES or slug.rpartition(".")[2] in module.RULES


Rewriter = Callable[..., object]
