"""What `sonnx explain` says of a theorem: its sentence, formula, domain and size, and what its obligations are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sonnx.prover.results import STATED_KINDS

if TYPE_CHECKING:  # it loads z3
    from sonnx.prover.theorem import Theorem


NAME = re.compile(r"[a-z]+(-[a-z]+)*\.[A-Za-z0-9.-]+")
"""The form of an identifier; other names are refused without loading the theorems."""


def theorem_named(name: str) -> Theorem | None:
    """The theorem with this identifier, None if there is none."""
    if not NAME.fullmatch(name):
        return None
    from sonnx.proofs import registry

    return next((theorem for theorem in registry.among((name,)) if theorem.id == name), None)


def theorem_facts(theorem: Theorem) -> Iterator[tuple[str, str]]:
    """What is known of a theorem, as terms with their texts; its obligations are made, and no solver is asked."""
    yield "formula", theorem.formula
    yield "domain", theorem.domain
    yield "size", f"all of {theorem.size}" if theorem.scope == "finite domain" else theorem.size
    yield "bounded", theorem.bound_reason
    if theorem.any_size:
        yield "any size", theorem.any_size
    yield "induction", theorem.induction or "none is needed"
    yield "expected", f"{theorem.expected} ({STATED_KINDS[theorem.expected]})"
    yield "because", theorem.because
    yield "erratum", theorem.erratum
    yield "one solver", theorem.reason_single
    for obligation in theorem.obligations():
        yield (
            "asked" if not obligation.computed else "computed",
            f"{obligation.name}{f': {obligation.computed}' if obligation.computed else ''}",
        )
    yield "repeat", f"sonnx theorems --select {theorem.id} --solver all"
