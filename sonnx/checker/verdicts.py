"""Verdicts, places, and what functions that decide rules yield."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, NamedTuple

from msgspec import Struct, field

from sonnx.base.reported import ABSENT_IF_EMPTY, ADDED, OptionalText
from sonnx.profile.text_types import Text

PlaceKind = Literal["node", "value", "graph", "function", "tensor", "model", "deviation"]


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
    """A place in a model."""

    place: Text
    """The path in the file, such as graph/node[4] or graph/node[4]/then_branch/output[0]."""
    kind: PlaceKind
    """What stands there."""
    name: str = ""
    """Its name as the file has it, empty where it has none."""
    operator: OptionalText = ""
    """The operator of a node, null for anything else."""
    version: Annotated[int | None, ADDED] = field(default=None, name="operator_set")
    """The imported version of the node's operator set, null where there is none."""
    output: Annotated[str, ABSENT_IF_EMPTY, ADDED] = ""
    """The first output of a node that is the subject of rules about nodes, null for anything else: it names a node
    without a name."""


class Violation(NamedTuple):
    """What a function of `graph_rules` yields: `actual` is what the model states instead of what the rule demands.

    `place` is relative to the subject; `name` is the value concerned, or with `operator` the node.  `verdict` is
    NOT_CHECKED or UNDECIDED, with the reason as `actual`, where the function has no answer; `cause` is then the slug of
    the rule that fails where it has none.
    """

    actual: str
    place: str = ""
    name: str = ""
    operator: str = ""
    verdict: Verdict = Verdict.FAIL
    cause: str = ""
