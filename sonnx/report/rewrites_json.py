"""The record that `sonnx fix --report` writes, as JSON: which file came of which, what was done, and why.

`RecordFile` describes the file, and rewrites.schema.json beside this file is made from it; the evidence pack reads it.
"""

from __future__ import annotations

import os
from typing import Literal

from msgspec import Struct

from sonnx.checker.verdicts import Verdict
from sonnx.equivalence.result import Answer
from sonnx.profile.text_types import Number, Sha256
from sonnx.profile.toml_files import JSON
from sonnx.profile.toml_files import read_file as read_project_file
from sonnx.report.json_parts import CountedFindings, JsonDocument, Part, Place


class ModelPart(Part, frozen=True):
    """The original or the rewritten model."""

    model: str | None
    """The base name of the file; null where none was written."""
    sha256: Sha256
    """The SHA-256 of the file."""
    verdict: Verdict
    """The verdict of a check."""
    findings: tuple[CountedFindings, ...]
    """The findings that do not follow from another one, counted."""


class RewritePart(Part, frozen=True):
    """One place that a rewrite changed."""

    kind: str
    """The kind of rewrite; docs/fix.md lists them."""
    rules: tuple[str, ...]
    """The slugs it serves."""
    where: Place
    """Its place: of a node in the original, of what is declared or removed afterwards in the new model."""
    before: str
    """What the original has."""
    after: str
    """What the new model has."""
    theorem: str | None
    """The theorem by which the values stay; null where they stay by construction."""
    changes: str | None
    """What happens to values, or to the interface of the model; null for nothing."""
    difference: float | None = None
    """At least the difference of the value it computes in any implementations of both models on the box of inputs; null
    where no bound is known, or the value stays."""


class ReasonPart(Part, frozen=True):
    """The findings of one reason."""

    reason: str
    """Why it is so."""
    places: tuple[str, ...]
    """Where."""


class FindingsPart(CountedFindings, frozen=True):
    """What a rule still reports."""

    remedy: str
    """What a person can do."""
    reasons: tuple[ReasonPart, ...]
    """The findings by reason."""


class OutputDifference(Part, frozen=True):
    """How far an output of the rewritten model can be from that of the original."""

    output: str
    """Its name."""
    difference: float | None
    """At least the difference in any implementations of both models on the box; null where no bound is known."""


class ValidationPart(Part, frozen=True):
    """What was compared between both models."""

    summary: str
    """What was compared, as a sentence."""
    done: bool
    """Whether the values of the original were compared in full, for all inputs that were requested."""
    requested: Number
    """Sets of inputs that were requested."""
    inputs: Number
    """Sets of inputs that were run through both models."""
    outputs: Number
    """Values that were compared for each set."""
    elements: Number
    """Elements that were compared."""
    bits: bool
    """Whether the bits of NaNs are the same too."""
    without_value: Number
    """Sets for which neither model has a value, by the same rule."""
    since: tuple[str, ...]
    """Kinds of rewrites that had to be made before the original could be run: they are not compared."""
    left_out: tuple[str, ...]
    """Operators that the executor does not know."""
    because: str | None
    """Why the original itself cannot be run."""
    beyond: tuple[str, ...]
    """Rewrites that change values, made after what was compared."""
    open: str | None
    """Why nothing, or not all that was requested, was compared."""
    for_all_inputs: Answer | None = None
    """What the comparison of both models as terms shows for every input; null where it was not made."""
    unmatched: str | None = None
    """Where that comparison stopped, or the shapes that it holds for; null where it holds for all inputs."""
    box: tuple[str, ...] = ()
    """The ranges of inputs for the differences."""
    hypotheses: str | None = None
    """What is assumed of the implementations in the differences; null without a box."""
    differences: tuple[OutputDifference, ...] = ()
    """The differences of the outputs, where a box was given."""


class RecordFile(JsonDocument, frozen=True):
    """The record of a rewritten model: sonnx fix --report, --format json."""

    exit: Literal[0, 1, 3]
    """The exit code of a check of the rewritten model."""
    edition: str
    """The edition the model was brought to."""
    original: ModelPart
    """The model before."""
    rewritten: ModelPart
    """The model after."""
    rewrites: tuple[RewritePart, ...]
    """Every rewrite, in the order in which they were made."""
    left: tuple[FindingsPart, ...]
    """What still fails or is open, by rule."""
    validation: ValidationPart
    """What was compared between both models."""


class Record(Struct, frozen=True):
    """A record that was read: the base name and the SHA-256 of its file, and what stands in it."""

    file: str
    sha256: str
    content: RecordFile


def read(path: str | os.PathLike[str]) -> Record:
    """The record in a file.

    Raises:
        UsageError: the file cannot be read, or is not such a record.
    """
    return read_project_file(path, RecordFile, lambda content, file, digest: Record(file, digest, content), JSON)
