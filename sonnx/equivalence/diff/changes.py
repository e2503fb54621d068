"""The result of `sonnx diff`: what changed between two models.  Its JSON is the result, field by field."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from sonnx.base.reported import reported
from sonnx.checker.conditions import Conditions
from sonnx.checker.verdicts import PlaceKind, Verdict
from sonnx.equivalence.result import Answer, File


class NodeStatus(StrEnum):
    """What became of a node."""

    SAME = "unchanged"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    NEW = "new"


class NodePlace(Struct, frozen=True):
    """A node of one of the models."""

    index: int
    """Its position in the main graph, from 0."""
    name: str
    """Its name, which may be empty."""
    operator: str
    """Its operator, with the domain where that is not the standard one."""
    output: str
    """The name of its first output."""


class ConstantChange(Struct, frozen=True):
    """A constant input of a node whose value changed."""

    first: str
    """The name of the constant in the first model."""
    second: str
    """The name of the constant in the second model."""
    type: str
    """Element type and shape in the first model."""
    other_type: str
    """Element type and shape in the second model; "" where they are the same."""
    elements: int
    """The elements of the constant in the first model."""
    changed: int
    """The elements whose bits differ; all of them where type or shape differ."""
    largest: float | None
    """The largest difference of two elements; null where the elements are not finite numbers in equal places."""
    relative: float | None
    """This difference, relative to the largest element of the first constant; null where there is none."""


class NodeChange(Struct, frozen=True):
    """A node of the first model, of the second one, or a pair of them."""

    status: NodeStatus
    """What became of the node."""
    first: NodePlace | None
    """The node of the first model; null for a new one."""
    second: NodePlace | None
    """The node of the second model; null for one that is gone."""
    value: Answer | None
    """How the outputs of a pair are related: not decided means that they are not shown equal.  Of a single node: how
    its outputs are related to values of the other model, null where none is shown equal."""
    counterpart: str = ""
    """Of a single node: the value of the other model that its first output is equal to."""
    changes: tuple[str, ...] = ()
    """What of the pair differs, but for constants."""
    constants: tuple[ConstantChange, ...] = ()
    """The constants of the pair that differ."""
    renamed: bool = False
    """Whether the names of the node or of its outputs differ."""
    upstream_unchanged: bool = False
    """Whether the pair, and every node that it depends on, computes the same: same operators, attributes and bits."""


class FindingChange(Struct, frozen=True):
    """A finding of the check that only one of the models has."""

    new: bool
    """Whether the second model has it."""
    rule: str
    """The slug of the rule."""
    verdict: Verdict
    """What the check states."""
    place: str
    """The place in the model that has it."""
    kind: PlaceKind
    """What stands there, such as node or value."""
    name: str
    """Its name, which may be empty."""
    operator: str
    """The operator of a node, "" for anything else."""
    message: str
    """What that model states there."""


class EvidenceStanding(Struct, frozen=True):
    """Whether one kind of evidence about the first model stands for the second one."""

    evidence: str
    """The kind of evidence, with the command that gives it."""
    standing: str
    """stands, stands in part, or renew."""
    extent: str
    """For what it stands, or what must be renewed."""
    because: str
    """Why."""


class ModelChanges(Struct, frozen=True):
    """What changed between two models, and which evidence about the first one stands for the second one."""

    first: File
    """The first model."""
    second: File
    """The second model."""
    conditions: Conditions
    """What the result holds for."""
    answer: Answer | None
    """Whether both are the same function; null where their inputs or outputs differ."""
    claim: str
    """For which shapes the answer holds, or why there is none; "" for all inputs."""
    header: tuple[str, ...]
    """What of inputs, outputs, operator sets and IR version differs."""
    nodes: tuple[NodeChange, ...]
    """The nodes of both models, in the order of the second one; those that are gone at their place in the first one."""
    verdicts: tuple[Verdict, Verdict]
    """The verdicts of the check on both models."""
    findings: tuple[FindingChange, ...]
    """The findings that come and go."""
    evidence: tuple[EvidenceStanding, ...]
    """Which evidence stands."""

    @property
    @reported
    def edition(self) -> str:
        """The edition of the profile."""
        return self.conditions.edition or ""

    def number(self, status: NodeStatus) -> int:
        """The number of nodes with a status."""
        return sum(node.status is status for node in self.nodes)

    @property
    def unchanged(self) -> bool:
        """Whether nothing that is compared differs: nodes, constants, header and findings."""
        same = all(node.status is NodeStatus.SAME for node in self.nodes)
        return same and not self.header and not self.findings
