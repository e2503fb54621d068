"""What audit.json of an evidence pack says, by the schema audit.schema.json; docs/audit.md describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from sonnx.checker.conditions import Conditions
from sonnx.checker.verdicts import Verdict
from sonnx.evidence.certified_properties import ShownProperty
from sonnx.evidence.derivation import ComparedOriginal
from sonnx.evidence.extracted_verdict import ExtractedVerdict
from sonnx.evidence.identity import EditionIdentity, ModelIdentity, PackageIdentity, ToolIdentity
from sonnx.evidence.pack_parts import StatedTheorem
from sonnx.evidence.suite_reports import TestedImplementation
from sonnx.report.box_evidence import ShownByBox
from sonnx.report.fix_record import ReadRecord


class EarlierModel(Struct, frozen=True):
    """The model of an earlier pack."""

    file: str
    """The base name of the file."""
    sha256: str
    """Its SHA-256."""
    same_canonical_form: bool
    """Whether its canonical form is that of this model."""


class ChangedResults(Struct, frozen=True):
    """A rule with other results than in the earlier pack."""

    rule: str
    """The rule."""
    before: Mapping[str, int] | None
    """The results in the earlier pack, by verdict; null where it does not have the rule."""
    now: Mapping[str, int] | None
    """The results in this pack."""


class StandingEvidence(Struct, frozen=True):
    """A kind of evidence, and whether it stands."""

    evidence: str
    """The kind."""
    state: str
    """Whether it stands, is renewed by this pack, or must be renewed."""
    because: str
    """Why."""


class ChangeImpact(Struct, frozen=True):
    """What of an earlier pack still holds."""

    audit_sha256: str
    """The SHA-256 of its audit.json."""
    model: EarlierModel
    """Its model."""
    changed: tuple[str, ...]
    """What evidence depends on and is not the same."""
    rules: tuple[ChangedResults, ...]
    """The rules with other results."""
    evidence: tuple[StandingEvidence, ...]
    """Each kind of evidence."""


class TracedRule(Struct, frozen=True):
    """A row of the matrix: the source of a rule, its cases and theorems, and its results on the model."""

    rule: str
    """The slug of the rule."""
    requirement: str
    """The identifier of the requirement."""
    kind: str = field(name="class")
    """Who demands the rule, and of what."""
    statement: str
    """What is demanded, as one sentence."""
    source: str
    """Where the rule stands."""
    tags: tuple[str, ...]
    """The labels of the texts."""
    decided_by: str | None
    """The condition in the rule language, null where a function decides."""
    code: tuple[str, ...]
    """The functions that decide it."""
    conforming_cases: tuple[str, ...]
    """Cases that conform."""
    violating_cases: tuple[str, ...]
    """Cases that violate it."""
    theorems: tuple[str, ...]
    """Theorems about it."""
    errata: tuple[str, ...]
    """Errata about it."""
    answers: Mapping[str, int]
    """Its results on the model, by verdict."""


class Gaps(Struct, frozen=True):
    """What the matrix lacks."""

    rules_without_conforming_case: tuple[str, ...]
    """Rules without a case that conforms."""
    rules_without_violating_case: tuple[str, ...]
    """Rules without a case that violates them."""
    rules_without_theorem: tuple[str, ...]
    """Rules without a theorem."""
    operators_without_rules: tuple[str, ...]
    """Operators of the model without rules."""
    operators_without_theorems: tuple[str, ...]
    """Operators of the model that no text specifies, which have no theorems."""


class AssumedCondition(Struct, frozen=True):
    """A condition on values at run time that the verdict assumes."""

    place: str
    """The place in the file."""
    rule: str
    """The rule."""
    condition: str
    """The condition."""
    why: str
    """Why it is open."""
    operands: Mapping[str, str]
    """The values of the model by their letters in the condition."""


class KnownProblem(Struct, frozen=True):
    """An erratum that concerns what the model uses."""

    id: str
    """Its name."""
    documents: tuple[str, ...]
    """The documents that have the defect."""
    place: str
    """Where it stands."""
    defect: str
    """The defect."""
    example: str
    """A concrete counterexample."""
    here: str
    """What the tool does about it."""


class AuditDocument(Struct, frozen=True, kw_only=True):
    """What an evidence pack says of a model: audit.json."""

    format: Literal[1] = 1
    """The version of this format; a change that breaks a reader gets a new number."""
    report_format: int
    """The version of the format of report.json."""
    model: ModelIdentity
    """The model."""
    conditions: Conditions
    """What the claims of the pack hold for."""
    verdict: Verdict
    """The verdict on it."""
    extracted: ExtractedVerdict | None = None
    """What the program extracted from the specification says of the file; null where it was not there."""
    exit: int
    """The exit code of the command."""
    command: tuple[str, ...]
    """The command that makes the pack again in its folder."""
    options: Mapping[str, Any]
    """The options of `sonnx audit` by their names; paths are relative to the pack."""
    tool: ToolIdentity
    """The tool."""
    packages: tuple[PackageIdentity, ...]
    """The packages that it needs."""
    edition: EditionIdentity
    """The edition of the profile."""
    rewrites: ReadRecord | None = None
    """The record of the rewrites that made the model (rewrites.schema.json); null without one."""
    since: ChangeImpact | None = None
    """What of an earlier pack still holds; null without one."""
    derived_from: ComparedOriginal | None = None
    """The comparison with the model that it was made from; null without one."""
    properties: tuple[ShownProperty, ...] = ()
    """Properties of the model, with certificates."""
    suite: tuple[TestedImplementation, ...] = ()
    """What suites gave on implementations."""
    rules: tuple[TracedRule, ...]
    """The matrix: every rule that was evaluated or had no subject."""
    without: Gaps
    """What the matrix lacks."""
    theorems: tuple[StatedTheorem, ...]
    """The theorems that the verdict rests on."""
    assumptions: tuple[AssumedCondition, ...]
    """What the verdict assumes of values at run time."""
    box: ShownByBox | None
    """What a box of inputs shows; null without one."""
    known_problems: tuple[KnownProblem, ...]
    """The errata that concern what the model uses."""
    limits: tuple[str, ...]
    """What the pack does not claim."""


class RunRecord(Struct, frozen=True, kw_only=True):
    """What differs between runs that write one pack: run.json; a caller of the library may state the model alone."""

    command: tuple[str, ...] = ()
    """The command line."""
    folder: str = ""
    """Where it ran."""
    model: str
    """The model file."""
    derived_from: str | None = None
    """The model file that it was made from; null without one."""
    started: str = ""
    """When it began."""
    ended: str = ""
    """When it ended."""
    host: str = ""
    """The name of the machine."""
    system: str = ""
    """Its operating system."""
    python: str = ""
    """The implementation and the version of Python."""
    executable: str = ""
    """Where it is installed."""


class Manifest(Struct, frozen=True, kw_only=True):
    """The files of a pack: manifest.json."""

    format: Literal[1] = 1
    """The version of this format."""
    files: Mapping[str, str]
    """The SHA-256 of every file except this one, its signature and run.json."""
