"""What a run over several models gives: reports, and sentences on files that have none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from sonnx.stops import TOOL_FAILED, USAGE, worst
from sonnx.verdict import Report

FEW = 3
"""Files that are named where many have the same sentence."""


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

    def sentences(self) -> Iterator[str]:
        """What to say of the files without a verdict; once where a run that ended left many."""
        ended: dict[str, list[str]] = {}
        for name, sentence in self.unjudged.items():
            reason = sentence.removeprefix(f"{name!r} was not judged: ")
            if sentence.why is Why.STOPPED and reason != sentence:
                ended.setdefault(reason, []).append(name)
            else:
                yield sentence
        for reason, names in ended.items():
            more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
            verb = "was" if len(names) == 1 else "were"
            yield f"{', '.join(map(repr, names[:FEW]))}{more} {verb} not judged: {reason}"

    def exit_code(self, accept_assumptions: bool) -> int:
        """Of all exit codes the one that matters most."""
        codes = {report.exit_code(accept_assumptions) for report in self.reports}
        return worst(codes | {int(sentence.why) for sentence in self.unjudged.values()})
