"""Verdicts, places, and what functions that decide rules yield."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct


class Verdict(StrEnum):
    """The result of one rule for one subject, and of a whole check."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    UNDECIDED = "undecided"
    ASSUMED = "assumed"
    NOT_APPLICABLE = "not-applicable"
    NOT_CHECKED = "not-checked"
    DEVIATED = "deviated"


class Where(Struct, frozen=True):
    """The place of a finding: a path in the file, and the subject at that place.

    `kind` is node, value, graph, function, tensor or model; `operator` and `version` are set for nodes.
    """

    place: str
    kind: str
    name: str = ""
    operator: str = ""
    version: int | None = None


class Violation(NamedTuple):
    """What a function of `graph_rules` yields: `actual` is what the model states instead of what the rule demands.

    `place` is relative to the subject; `name` is the value concerned, or with `operator` the node.  `verdict` is
    NOT_CHECKED, with the reason as `actual`, where the function has no answer.
    """

    actual: str
    place: str = ""
    name: str = ""
    operator: str = ""
    verdict: Verdict = Verdict.FAIL
