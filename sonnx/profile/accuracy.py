"""The formulas of the texts' pages on accuracy, as data: each is the statement of a theorem of proofs/accuracy.py."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from sonnx.profile.catalogue import read_data
from sonnx.profile.profile_data import of_profile
from sonnx.profile.text_types import ErratumId, Limit, OperatorName, Sentence


class AccuracyFormula(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A formula that bounds or states an error."""

    id: Annotated[str, Limit(pattern="^[A-Z][A-Za-z]*(-[a-z]+)*$")]
    """The theorem accuracy.ID is about it."""
    operator: OperatorName
    """The operator that it is about."""
    place: Sentence
    """Page and section."""
    statement: Sentence
    """What it says, in one sentence."""
    formula: Sentence
    """The formula."""
    holds: bool
    """Whether the theorem is proved; else it is refuted."""
    because: str = ""
    """Why it does not hold."""
    erratum: ErratumId | None = None
    """The erratum about it."""
    ours: str = ""
    """What `sonnx bound` uses instead; absent where it uses the formula itself, or none."""

    @property
    def theorem(self) -> str:
        """The theorem about it."""
        return f"accuracy.{self.id}"


class AccuracyFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Formulas of the pages on accuracy: accuracy.toml."""

    formula: tuple[AccuracyFormula, ...]
    """The formulas, by operator and page."""


@of_profile
def accuracy_formulas() -> tuple[AccuracyFormula, ...]:
    """Every formula, in the order of the file."""
    return read_data("accuracy.toml", AccuracyFile).formula
