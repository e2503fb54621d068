"""Models of a command that compares two: files, or one of them from standard input."""

from __future__ import annotations

import sys
from pathlib import PurePath

from sonnx.base.errors import UsageError
from sonnx.checker.report import STANDARD_INPUT


def two_models(first: str, second: str) -> tuple[tuple[str | bytes, str | bytes], tuple[str, str]]:
    """The two models as paths or bytes, and what reports call them.

    Raises:
        UsageError: both come from standard input.
    """
    if first == second == "-":
        raise UsageError("both models cannot come from standard input: name a file for one of them")

    def source(name: str) -> str | bytes:
        return sys.stdin.buffer.read() if name == "-" else name

    def called(name: str) -> str:
        return STANDARD_INPUT if name == "-" else PurePath(name).name

    return (source(first), source(second)), (called(first), called(second))
