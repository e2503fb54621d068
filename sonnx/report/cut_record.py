"""The list of steps that `sonnx fix --cut` writes beside the parts of a model: `steps.json`."""

from __future__ import annotations

from msgspec import Struct

from sonnx.base.reported import Result
from sonnx.checker.verdicts import Verdict
from sonnx.profile.text_types import Number, Sha256, Text

STEPS = "steps.json"
"""The name of the file."""


class CutValue(Struct, frozen=True):
    """A value at the border of a part."""

    name: Text
    """Its name, the same in every part and in the whole model."""
    type: Text
    """Its element type and shape."""


class OutsideOperator(Struct, frozen=True):
    """The nodes of one operator in a part that is outside the profile."""

    operator: Text
    """The operator, with its domain where that is not the standard one."""
    nodes: Number
    """How many nodes."""
    reasons: tuple[str, ...]
    """What the check says of them; empty where they stand behind others."""


class CutStep(Struct, frozen=True):
    """One part of the model; it runs after those before it."""

    file: Text
    """The file of the part."""
    sha256: Sha256
    """Its SHA-256."""
    conforms: bool
    """Whether its check has no finding."""
    verdict: Verdict
    """What a check of the part says."""
    nodes: Number
    """How many nodes it has."""
    inputs: tuple[CutValue, ...]
    """What it takes: inputs of the model, and outputs of steps before it."""
    outputs: tuple[CutValue, ...]
    """What it gives: outputs of the model, and inputs of later steps."""
    outside: tuple[OutsideOperator, ...] = ()
    """Its operators, those without a reason of their own included; none in a part that conforms."""
    findings: tuple[str, ...] = ()
    """What its check says that is not about one node."""


class CutRecord(Result, frozen=True, kw_only=True):
    """The parts of a rewritten model, in the order in which they run."""

    model: str
    """The base name of the original."""
    original_sha256: Sha256
    """The SHA-256 of the original."""
    whole_sha256: Sha256
    """The SHA-256 of the rewritten model that the parts are made of."""
    edition: str
    """The edition of the checks."""
    inputs: tuple[CutValue, ...]
    """The inputs of the model."""
    outputs: tuple[CutValue, ...]
    """The outputs of the model."""
    passed: tuple[str, ...]
    """The outputs of the model that are inputs of it, which no step gives."""
    steps: tuple[CutStep, ...]
    """The parts."""
