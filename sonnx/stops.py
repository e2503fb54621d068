"""Why a run stops: four kinds of sentences, and the exit code of each."""

from __future__ import annotations

from sonnx.verdict import Report


class Stop(Exception):
    """A run that has no result; the message is one sentence."""

    exit_code = 1


class NotConforming(Stop):
    """The model does not conform to the edition, so its values are not defined; `report` says where."""

    def __init__(self, sentence: str, report: Report) -> None:
        super().__init__(sentence)
        self.report = report


class ErrorCondition(Stop):
    """A rule the values rest on does not hold for these inputs; `rule` is its identifier."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(sentence)
        self.rule = rule


class NotExecutable(Stop):
    """The executor has no meaning for a part of the model, or the model states no values for a constant."""


class BadInput(Stop, ValueError):
    """An input is missing, not asked for, unreadable, or of another type or shape than the model declares."""

    exit_code = 2
