"""The profile as frozen objects: rules, operators, texts, editions, errata.

`catalogue.py` reads them from restrictions/; docs/profile-format.md describes the files field by field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from sonnx.language.domain import Expression

T = TypeVar("T")
Versioned = Mapping[int, T]
"""A value from each version on."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what it demands, of what, in which editions and versions, and why.

    `require` is None where a function of `graph_rules` decides.  `onnx` is what ONNX itself demands, where that is
    less.
    """

    slug: str
    subject: str
    kind: str
    """validity (ONNX demands it), restriction or error-condition (the profile does)."""
    statement: str
    because: str
    remedy: str
    source: str
    require: Expression | None = None
    onnx: Expression | None = None
    when: Expression | None = None
    relies: tuple[str, ...] = ()
    implied_by: Versioned[tuple[str, ...]] = field(default_factory=dict, hash=False)
    """By version the rules it follows from, where no file can break it alone; where all are in force, a theorem."""
    since: int = 1
    before: int | None = None
    introduced: str = "onnx"
    withdrawn: str | None = None
    tags: tuple[Tag, ...] = ()
    errata: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The slug without its operator."""
        return self.slug.rpartition(".")[2]

    @property
    def inert(self) -> bool:
        """Whether no text demands it any more: it stays in its file so that its slug is not used again."""
        return self.introduced == self.withdrawn


@dataclass(frozen=True, slots=True)
class Input:
    """An input of an operator; `type` is a type variable or an element type.

    One whose type or ONNX name changes between versions is several inputs, each with its span of versions.
    """

    name: str
    type: str
    onnx: str
    variadic: bool = False
    optional: bool = False
    since: int = 1
    before: int | None = None
    tags: tuple[Tag, ...] = ()
    """Labels of the demand that it be connected."""
    type_tags: tuple[Tag, ...] = ()
    exempt: str = ""
    """Why it may be omitted in the profile, with its place; "" where it may not."""
    instead: str = ""
    """What the text says to write where the input is not wanted, as the end of a sentence."""
    denotations: tuple[str, ...] = ()
    """What its dimensions mean by the ONNX text, the last one of every further dimension; () where it does not say."""


@dataclass(frozen=True, slots=True)
class Output:
    """An output of an operator, its type and its shape from each version on; like an input it is one for each span."""

    name: str
    type: str
    onnx: str
    shape: Versioned[Expression]
    because: str
    relies: tuple[str, ...] = ()
    implied_by: Versioned[tuple[str, ...]] = field(default_factory=dict)
    """The rules under which the output is not there, so that its shape cannot be wrong alone."""
    variadic: bool = False
    optional: bool = False
    since: int = 1
    before: int | None = None
    tags: tuple[Tag, ...] = ()
    type_tags: tuple[Tag, ...] = ()
    errata: tuple[str, ...] = ()
    exempt: str = ""
    """Why it may be left out in the profile, with its place; "" where it may not."""
    constant: str = ""
    """The parameter whose tensor the output is, known before the model runs (Constant)."""
    element: Versioned[Expression] = field(default_factory=dict)
    """The element type from each version on, where parameters decide it (Cast); else its type variable does."""


Formal = Input | Output


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value an operator takes as an attribute, or from version `input` on as a constant input.

    `absent` is what its absence means from each version on, None where it means nothing.
    """

    name: str
    kind: str
    absent: Versioned[Expression | None]
    required: int | None = None
    """The version from which it must be written."""
    optional: int | None = None
    """The version from which it need not be written any more."""
    input: int | None = None
    list_since: int | None = None
    """The first version whose text asks for one axis; before it ONNX takes a scalar for a list of one."""
    since: int = 1
    before: int | None = None
    tags: tuple[Tag, ...] = ()
    errata: tuple[str, ...] = ()

    def required_at(self, version: int) -> bool:
        """Whether it must be written in a version."""
        ended = self.optional is not None and self.optional <= version
        return self.required is not None and self.required <= version and not ended


@dataclass(frozen=True, slots=True)
class RoundingPoint:
    """A real that is rounded to nearest, ties to even: an inner one, or the "output" where a text leaves that open."""

    name: str
    statement: str
    source: str
    errata: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator file."""

    name: str
    summary: str
    formula: str
    source: str
    specified: int | None
    """The version a text speaks of, None as long as no text specifies the operator."""
    equivalent: Mapping[int, str]
    refused: Mapping[int, str]
    """Versions that mean something else than the specified one, each with what to convert to."""
    types: Mapping[str, Versioned[tuple[str, ...]]]
    profile: Mapping[str, Mapping[str, tuple[str, ...]]]
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    parameters: tuple[Parameter, ...]
    define: Mapping[str, Versioned[Expression]]
    rules: tuple[Rule, ...]
    rounding: tuple[RoundingPoint, ...] = ()
    """Where values are rounded, if not once at the output or if the text leaves it open; in the order of computing."""
    one_type: tuple[tuple[str, ...], ...] = ()
    """Inputs and outputs that the SONNX text wants in one element type, beyond ONNX's type variables."""
    output_counts: Versioned[tuple[int, ...]] = field(default_factory=dict)
    """How many outputs a node may list, where that is not any number up to all of them."""
    errata: tuple[str, ...] = ()
    known: tuple[int, ...] = ()
    """The versions of an operator that no text specifies."""
    specified_in: Mapping[str, int] = field(default_factory=dict)
    """The version of a text that speaks of another one than `specified`."""
    tags: tuple[Tag, ...] = ()
    """Labels of its page that state what it computes, or that a general rule decides."""
    instead: str = ""
    """What to write as long as no text specifies the operator; "" where nothing of the profile computes the same."""

    @property
    def versions(self) -> tuple[int, ...]:
        """The ONNX versions the file knows, ascending."""
        specified = () if self.specified is None else (self.specified,)
        return tuple(sorted({*specified, *self.equivalent, *self.refused, *self.known}))

    @property
    def specified_first(self) -> list[int]:
        """The versions, the specified one first, then the newest."""
        return sorted(self.versions, key=lambda version: (version != self.specified, -version))

    def specified_by(self, text: str) -> int | None:
        """The version a text speaks of."""
        return self.specified_in.get(text, self.specified)

    def version_at(self, operator_set: int) -> int | None:
        """The version in force at an operator set, None before the first."""
        return max((version for version in self.versions if version <= operator_set), default=None)


@dataclass(frozen=True, slots=True)
class Text:
    """A published text the rules come from."""

    name: str
    title: str
    document: str


@dataclass(frozen=True, slots=True)
class Limit:
    """What a text demands and no file can be judged by; a report says it of every model, from that text on."""

    introduced: str
    statement: str
    because: str


@dataclass(frozen=True, slots=True)
class Erratum:
    """A defect or ambiguity of a text, and what this tool does about it."""

    id: str
    document: tuple[str, ...]
    place: str
    defect: str
    counterexample: str
    reading: str
    theorems: tuple[str, ...] = ()
    """Theorems about it, by id: what is printed and refuted, or what holds in its place."""
    unproved: str = ""
    """Why no theorem refutes a printed condition; "" where one does, or where none is printed."""


@dataclass(frozen=True, slots=True)
class Edition:
    """An edition of the profile: which text each operator takes, and the rest."""

    name: str
    title: str
    general: str
    element_types: tuple[str, ...]
    consolidated: bool
    operators: Mapping[str, str]
    """Operator to text, for those the edition specifies."""
    drafts: frozenset[str]
    planned: frozenset[str]

    def text_of(self, operator: str) -> str | None:
        """The text the operator takes; a planned one has that of ONNX only, None where the edition does not name it."""
        return self.operators.get(operator, "onnx" if operator in self.planned else None)

    def status(self, operator: str) -> str:
        """specified, draft, planned, or "" where the edition does not name the operator."""
        if operator in self.operators:
            return "draft" if operator in self.drafts else "specified"
        return "planned" if operator in self.planned else ""


@dataclass(frozen=True, slots=True)
class Editions:
    """The file editions.toml."""

    default: str
    operator_set: int
    ir_version: int
    families: Mapping[str, tuple[str, ...]]
    texts: Mapping[str, Text]
    editions: Mapping[str, Edition]
    limits: tuple[Limit, ...] = ()

    def in_force(self, rule: Rule, text: str) -> bool:
        """Whether a text, or one before it from which it inherits, demands the rule."""
        order = list(self.texts)
        after = order.index(rule.introduced) <= order.index(text)
        return after and (rule.withdrawn is None or order.index(text) < order.index(rule.withdrawn))


def at(values: Versioned[T], version: int) -> T | None:
    """The value in force at a version, None before the first."""
    known = [since for since in values if since <= version]
    return values[max(known)] if known else None


def expand(names: Sequence[str], families: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Element types with each family name replaced by its members."""
    return tuple(member for name in names for member in families.get(name, (name,)))


# ------------------------------------------------------------------
# Identifiers: permanent slugs of rules, and the tags the texts use for them.


_SLUG = re.compile(r"(?:[A-Z][A-Za-z0-9]*\.)?[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")

SHOWN = 4
"""Labels of one text that a message prints."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A label a text gives a rule, with the origin the text states; never printed without its text."""

    text: str
    label: str
    origin: str
    rule: str = ""
    """On a label of an operator's page: the general rule that decides it, "" where it states what is computed."""


def is_slug(text: str) -> bool:
    """Whether a text has the form of a slug: `no-dead-node`, `Max.broadcastable`."""
    return _SLUG.fullmatch(text) is not None


def show_tags(tags: tuple[Tag, ...]) -> str:
    """Tags by text, as messages print them: `[E1 C1, 2025-11; C1, 2026-08]`, "" for none; of many the first few."""
    by_text: dict[str, list[str]] = {}
    for tag in tags:
        by_text.setdefault(tag.text, []).append(tag.label)
    inner = "; ".join(f"{_few(labels)}, {text}" for text, labels in by_text.items())
    return f"[{inner}]" if inner else ""


def _few(labels: list[str]) -> str:
    """The labels in one line; pages that restate one condition in every section give it a dozen."""
    more = f" and {len(labels) - SHOWN} more" if len(labels) > SHOWN else ""
    return " ".join(labels[:SHOWN]) + more
