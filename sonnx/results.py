"""What a run over several models gives: reports, and sentences on files that have none."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from sonnx.stops import TOOL_FAILED, USAGE, worst
from sonnx.verdict import Report


class Why(IntEnum):
    """What happened instead of a check; the number is the exit code it stands for."""

    UNREADABLE = USAGE
    STOPPED = 3
    FAILED = TOOL_FAILED

    @property
    def word(self) -> str:
        """How a report calls it."""
        return self.name.lower()


class Unjudged(str):
    """The sentence that stands in a report where a file has no verdict."""

    __slots__ = ("why",)

    def __new__(cls, sentence: str, why: Why = Why.UNREADABLE) -> Unjudged:
        """The sentence, and what happened."""
        made = super().__new__(cls, sentence)
        made.why = why
        return made

    why: Why


def why(sentence: str) -> Why:
    """What happened to a file; a plain sentence says why it is no readable model."""
    return sentence.why if isinstance(sentence, Unjudged) else Why.UNREADABLE


@dataclass
class Results:
    """What a run gives, in the order of the models: reports, and sentences."""

    reports: list[Report] = field(default_factory=list)
    unjudged: dict[str, Unjudged] = field(default_factory=dict)
    interrupted: bool = False

    def exit_code(self, accept_assumptions: bool) -> int:
        """Of all exit codes the one that matters most."""
        codes = {report.exit_code(accept_assumptions) for report in self.reports}
        return worst(codes | {int(sentence.why) for sentence in self.unjudged.values()})
