"""Errors that users meet, and the exit code of each."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import DecodeError


class UsageError(ValueError):
    """Wrong use of a command or function; the message is one sentence that says what is accepted."""


NOT_JSON = (DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises where bytes from elsewhere are not JSON, or not of the type."""

USAGE, TOOL_FAILED = 2, 4
EXIT_CODES = {
    0: "every rule holds",
    1: "a rule fails",
    USAGE: "the file is not a readable model, or the command is wrong",
    3: "something is undecided, assumed or not checked",
    TOOL_FAILED: "the tool failed",
}
"""What the exit code of a check means."""


def worst_exit_code(codes: Collection[int]) -> int:
    """The exit code of several files: the first of 4, 2, 1, 3, 0 that one of them has."""
    return next(number for number in (TOOL_FAILED, USAGE, 1, 3, 0) if number in codes)


class Unreadable(Exception):
    """The bytes of a file are not a model; the message is one sentence that says what is wrong and where."""


class Stop(Exception):
    """A run ends without a result; the message is one sentence."""

    exit_code = 1


class ErrorCondition(Stop):
    """A rule on which the values depend does not hold for these inputs; `rule` is its slug."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(sentence)
        self.rule = rule


class Unfinished(Stop):
    """The time or the memory allowed does not suffice, or a value is larger than an array may be."""

    exit_code = 3


class LackOfMemory(Unfinished):
    """The values do not fit into memory, as it is now."""


class NotExecutable(Stop):
    """The executor does not support a part of the model, or a constant of the model has no values."""


class BadInput(Stop, ValueError):
    """An input is missing, unknown to the model, unreadable, or of another type or shape than the model declares."""

    exit_code = 2
