"""Proofs about models, for all values of their symbolic dimensions: the results as data, and the function that proves.

Reports import this module, so it loads no solver.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import PurePath

from sonnx.base.errors import UsageError
from sonnx.checker.report import Where
from sonnx.checker.request import open_model
from sonnx.model.limits import DEFAULT, Allowed
from sonnx.profile import catalogue


class Unprovable(UsageError):
    """An assumption that does not parse or cannot hold: one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """A rule that fails for some values of the symbols.

    `nodes` counts the nodes with the same facts as the one at `where`; `numbers` are the smallest values found, and
    `actual` is what the check reports for the rule if the symbols are bound to them.
    """

    rule: str
    where: Where
    nodes: int
    requires: str
    numbers: tuple[tuple[str, int], ...]
    actual: str
    constraint: str
    """The weakest condition on the symbols under which the rule holds, "" if no short text states it."""
    always: bool
    """It fails for all values of the symbols."""


@dataclass(frozen=True, slots=True)
class Open:
    """A rule that was neither proved nor refuted, and why."""

    rule: str
    where: Where
    nodes: int
    reason: str


@dataclass(frozen=True, slots=True)
class ProofCounts:
    """At how many nodes a rule is proved, and at how many it waits for another one, of that node or one before it."""

    rule: str
    proved: int
    waiting: int


@dataclass(frozen=True, slots=True)
class ModelProof:
    """The proof of a model: every rule of every node of the catalogue's operators, for all values of the symbols."""

    name: str
    edition: str
    symbols: tuple[str, ...]
    assumptions: tuple[str, ...]
    """The assumptions about the symbols, defaults included."""
    nodes: int
    nodes_judged: int
    """Nodes whose operator has rules in the edition."""
    conditions: int
    """Rules evaluated, counted once for each node."""
    proved: int
    distinct: int
    """Different calls; equal calls are proved once."""
    queries: int
    """Questions to the solver; all others fold to constants."""
    refuted: tuple[Refuted, ...]
    open: tuple[Open, ...]
    constraint: str
    """The weakest condition on the symbols under which all refuted rules hold, "" if no short text states it."""
    notes: tuple[str, ...]
    rules: tuple[ProofCounts, ...] = ()
    """Every rule of the judged nodes, by slug; refuted and open places are listed in `refuted` and `open`."""
    sha256: str = ""
    """The SHA-256 of the bytes that were read, "" if it was not requested."""

    @property
    def verdict(self) -> str:
        """Proved, refuted or undecided."""
        if self.refuted:
            return "refuted"
        return "undecided" if self.open or self.nodes_judged < self.nodes else "proved"

    @property
    def exit_code(self) -> int:
        """0 proved, 1 refuted, 3 undecided."""
        return {"proved": 0, "refuted": 1, "undecided": 3}[self.verdict]


def prove_model(
    source: str | os.PathLike[str] | bytes,
    edition: str | None = None,
    assume: Collection[str] = (),
    *,
    limits: Allowed = DEFAULT,
    name: str | None = None,
    hashed: bool = False,
) -> ModelProof:
    """Prove or refute that the rules about the nodes of a model hold for all values of its symbolic dimensions.

    Args:
        source: a path, or the bytes of a model file.
        edition: a name of restrictions/editions.toml; the default one if none is named.
        assume: conditions on the symbols in the rule language, several in one text separated by commas: "N>=1, N<=64".
            A symbol without an assumption that bounds it from below is at least 1.
        limits: how many of everything a model may have, see `sonnx.model.limits`.
        name: what the proof calls the model; by default the base name of the file.
        hashed: read the whole file once, prove these bytes and state their SHA-256.

    Raises:
        Unreadable: the source is not a readable ONNX model.
        UsageError: an unknown edition.
        Unprovable: an assumption does not parse, names no symbol of the model, or cannot hold.
    """
    editions = catalogue.editions()
    chosen = edition or editions.default
    if chosen not in editions.editions:
        raise UsageError(f"there is no edition {chosen!r}; there are {', '.join(editions.editions)}")
    model, digest = open_model(source, hashed, limits)
    called = name or ("model" if isinstance(source, bytes) else PurePath(source).name)
    from sonnx.prover.model_walk import prove  # loads z3, which reports of proofs do not need

    return replace(prove(model, called, chosen, tuple(assume)), sha256=digest)
