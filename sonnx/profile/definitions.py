"""The profile as frozen objects: rules, operators, texts, editions, errata.

`catalogue.py` reads them from restrictions/; docs/profile-format.md describes the files field by field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal, TypeVar

from msgspec import Struct, field

from sonnx.base.reported import HIDDEN
from sonnx.language.domain import Expression
from sonnx.profile.text_types import (
    EditionName,
    ErrataIds,
    ErratumId,
    Label,
    Limit,
    Sentence,
    TextName,
    TheoremId,
)
from sonnx.profile.text_types import Text as NonEmpty

RuleClass = Literal["validity", "restriction", "error-condition", "project"]
"""A condition of ONNX, of the profile, or of a file of the project."""
T = TypeVar("T")
Versioned = Mapping[int, T]
"""Values, each by the first version of its operator that it holds for."""


class Tag(Struct, frozen=True, forbid_unknown_fields=True):
    """A label that a text gives a rule, with the origin the text states; never printed without its text."""

    text: TextName
    """The text that uses the label."""
    label: Label
    """The label as the text prints it."""
    origin: Sentence
    """Where the text says the rule comes from."""
    rule: Annotated[str, HIDDEN] = ""
    """On a label of an operator's page: the general rule that decides it, "" where it states what is computed."""


class Rule(Struct, frozen=True):
    """A rule."""

    slug: str
    subject: str
    kind: RuleClass = field(name="class")
    """Who demands the rule, and of what."""
    statement: NonEmpty
    """What is demanded, as one sentence."""
    because: NonEmpty
    """Why the rule exists."""
    remedy: NonEmpty
    """What to do about a failure."""
    source: NonEmpty
    """The places in the texts that state the rule."""
    require: Expression | None = None
    """The condition, None where a function of `graph_rules` decides."""
    onnx: Expression | None = None
    """The weaker condition of ONNX itself, where there is one."""
    when: Expression | None = None
    relies: tuple[str, ...] = ()
    implied_by: Versioned[tuple[str, ...]] = {}
    """By version the rules that imply it, where no file can break it alone; a theorem where all of them are active."""
    since: int = 1
    before: int | None = None
    introduced: str = "onnx"
    withdrawn: str | None = None
    tags: tuple[Tag, ...] = ()
    errata: tuple[NonEmpty, ...] = ()
    """The errata that concern the rule, for `sonnx explain`."""
    says: str | None = None
    """What a failure states, where the part of the condition that fails does not say it; `{field}` is a fact."""

    json_fields = ("kind", "statement", "because", "remedy", "source", "errata")

    def __hash__(self) -> int:
        return hash(self.slug)

    @property
    def name(self) -> str:
        """The slug without its operator."""
        return self.slug.rpartition(".")[2]

    @property
    def inert(self) -> bool:
        """Whether no text demands it any more: it stays in its file so that its slug is not used again."""
        return self.introduced == self.withdrawn


class Input(Struct, frozen=True):
    """An input of an operator; `type` is a type variable or an element type.

    An input whose type or ONNX name changes between versions is several objects, each with its span of versions.
    """

    name: str
    type: str
    onnx: str
    variadic: bool = False
    optional: bool = False
    since: int = 1
    before: int | None = None
    tags: tuple[Tag, ...] = ()
    """Tags of the demand that it is connected."""
    type_tags: tuple[Tag, ...] = ()
    exempt: str = ""
    """Why the profile allows omitting it, with the place in the text; "" where it does not."""
    instead: str = ""
    """What the text says to write where the input is not wanted, as the end of a sentence."""
    denotations: tuple[str, ...] = ()
    """What its dimensions mean by the ONNX text, the last one of every further dimension; () where it does not say."""
    absent: str = ""
    """The number, or the name with the number, that each element has where it is left out; "" where no tensor means the
    same."""
    absent_when: Expression | None = None
    """The condition under which that holds, None for always."""


class Output(Struct, frozen=True):
    """An output of an operator with its type and shape; like an input, one object for each span of versions."""

    name: str
    type: str
    onnx: str
    shape: Versioned[Expression]
    because: str
    relies: tuple[str, ...] = ()
    implied_by: Versioned[tuple[str, ...]] = {}
    """By version the rules that imply its shape, so that it cannot be wrong alone."""
    variadic: bool = False
    optional: bool = False
    since: int = 1
    before: int | None = None
    tags: tuple[Tag, ...] = ()
    type_tags: tuple[Tag, ...] = ()
    errata: tuple[str, ...] = ()
    exempt: str = ""
    """Why the profile allows leaving it out, with the place in the text; "" where it does not."""
    constant: str = ""
    """The parameter whose tensor is the output, which is then known before the model runs (Constant)."""
    element: Versioned[Expression] = {}
    """The element type, where parameters determine it (Cast) and not its type variable."""
    values: Versioned[Expression] = {}
    """Its elements in row-major order, where it has few and the values of the inputs are known (Shape, Concat)."""


Formal = Input | Output


class Parameter(Struct, frozen=True):
    """A value that an operator takes as an attribute, or from version `input` on as a constant input.

    `absent` is the value that its absence means, None where absence means no value.
    """

    name: str
    kind: str
    absent: Versioned[Expression | None]
    required: int | None = None
    """The first version in which it must be written."""
    optional: int | None = None
    """The first version in which it need no longer be written."""
    input: int | None = None
    list_since: int | None = None
    """The first version that requires rank 1; before it ONNX also accepts a scalar as a list of one."""
    since: int = 1
    before: int | None = None
    tags: tuple[Tag, ...] = ()
    errata: tuple[str, ...] = ()

    def required_at(self, version: int) -> bool:
        """Whether a node must write the parameter in this version of the operator."""
        ended = self.optional is not None and self.optional <= version
        return self.required is not None and self.required <= version and not ended


def expressions_in(value: object) -> Iterator[Expression]:
    """Every expression of the rule language in a rule, an operator, or a container of them."""
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, Struct):
        yield from expressions_in([getattr(value, name) for name in value.__struct_fields__])
    elif isinstance(value, Mapping):
        yield from expressions_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from expressions_in(item)


class RoundingPoint(Struct, frozen=True, forbid_unknown_fields=True):
    """A real value that is rounded to nearest, ties to even: an intermediate one, or "output" if no text says so."""

    name: ErratumId
    """What is rounded, as a slug; output is the result itself, stated where a text leaves open what else is rounded."""
    statement: Sentence
    """What is rounded, and into which element type."""
    source: Sentence
    """The places in the texts that say so, or are silent."""
    errata: ErrataIds = ()
    """The errata that bear on the rounding."""


class OperatorDefinition(Struct, frozen=True, dict=True):
    """One operator file."""

    name: str
    summary: str
    formula: str
    source: str
    specified: int | None
    """The version that the texts specify, None where no text specifies the operator."""
    equivalent: Mapping[int, str]
    refused: Mapping[int, str]
    """Versions with another meaning than the specified one, each with what to convert the node to."""
    types: Mapping[str, Versioned[tuple[str, ...]]]
    profile: Mapping[str, Mapping[str, tuple[str, ...]]]
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    parameters: tuple[Parameter, ...]
    define: Mapping[str, Versioned[Expression]]
    rules: tuple[Rule, ...]
    rounding: tuple[RoundingPoint, ...] = ()
    """Where values are rounded, if not only at the output or if no text says where; in the order of computation."""
    one_type: tuple[tuple[str, ...], ...] = ()
    """Inputs and outputs that must share an element type by the SONNX text but not by ONNX's type variables."""
    kinds: Versioned[tuple[str, ...]] = {}
    """The kinds of values besides dense tensors that ONNX lets its inputs and outputs have."""
    output_counts: Versioned[tuple[int, ...]] = {}
    """The numbers of outputs a node may list, where not every number up to all of them is allowed."""
    errata: tuple[str, ...] = ()
    type_errata: Mapping[str, tuple[str, ...]] = {}
    """The errata about the element types of a type variable."""
    known: tuple[int, ...] = ()
    """The versions of an operator that no text specifies; empty for the others."""
    specified_in: Mapping[str, int] = {}
    """The version that a text specifies, where it is not `specified`."""
    tags: tuple[Tag, ...] = ()
    """Labels of its page that state what it computes, or that a general rule decides."""
    instead: str = ""
    """What to write until a text specifies the operator; "" where no operator of the profile computes the same."""

    @property
    def versions(self) -> tuple[int, ...]:
        """The ONNX versions in the file, ascending."""
        specified = () if self.specified is None else (self.specified,)
        return tuple(sorted({*specified, *self.equivalent, *self.refused, *self.known}))

    @property
    def specified_first(self) -> list[int]:
        """The versions, the specified one first, then the newest."""
        return sorted(self.versions, key=lambda version: (version != self.specified, -version))

    @cached_property
    def type_rules(self) -> Mapping[str, tuple[str, ...]]:
        """The inputs and outputs that each rule about listed element types constrains, by the name of the rule.

        A type variable of ONNX is given to other tensors in another version (T2 of QuantizeLinear), so it names no
        requirement.  The name is that of the first of the tensors that share a variable in every version.
        """
        variables: dict[str, dict[int, str]] = {}
        formals: tuple[Formal, ...] = (*self.inputs, *self.outputs)
        for formal in formals:
            variable = formal.type if formal.type in self.types else f"of {formal.name}"
            spanned = {version: variable for version in self.versions if covers(formal, version)}
            variables[formal.name] = variables.get(formal.name, {}) | spanned
        groups: list[list[str]] = []
        for name, own in variables.items():
            alike = (group for group in groups if all(_agree(own, variables[member]) for member in group))
            group = next(alike, None)
            if group is None:
                groups.append([name])
            else:
                group.append(name)
        computed = {output.name for output in self.outputs if output.element}
        return {f"{names[0]}-type{'-allowed' * (names[0] in computed)}": tuple(names) for names in groups}

    def specified_by(self, text: str) -> int | None:
        """The version that a text specifies."""
        return self.specified_in.get(text, self.specified)

    def version_at(self, operator_set: int) -> int | None:
        """The version that an operator set contains, None before the first."""
        return max((version for version in self.versions if version <= operator_set), default=None)


def covers(part: Input | Output | Parameter | Rule, version: int) -> bool:
    """Whether a version of the operator has the part."""
    return part.since <= version and (part.before is None or version < part.before)


def _agree(first: Mapping[int, str], second: Mapping[int, str]) -> bool:
    """Whether two tensors are in one version, and have one type variable in each that has both."""
    versions = first.keys() & second.keys()
    return bool(versions) and all(first[version] == second[version] for version in versions)


class Text(Struct, frozen=True, forbid_unknown_fields=True):
    """A published text the rules come from."""

    name: TextName
    """The name rules, tags and errata use for the text: onnx, or year and month."""
    title: Sentence
    """The title of the text."""
    document: Sentence
    """The files of the text, with the commit or address that pins them."""


class Uncheckable(Struct, frozen=True, forbid_unknown_fields=True):
    """A demand of a text that cannot be checked on a file; from that text on every report names it in a note."""

    introduced: TextName
    """The first text that demands it."""
    statement: Sentence
    """What is not checked: the note after "not checked:"."""
    because: Sentence
    """Why not, as half a sentence."""


DeviationKind = Literal[
    "NaN", "infinity", "integer", "bool", "string", "number", "subnormal", "underflow", "sign of zero", "shape"
]
"""The kinds in which elements of a runtime differ from the exact ones."""


Alternative = Literal["NaN", "NaN of -inf alone", "value by ONNX", "value by another reading", "any"]
"""NaN; NaN in elements that depend on -inf alone; the value by the text of ONNX alone, as far as rounding allows; the
value by a definition that the operator states for the erratum; anything of the kind of difference."""


class Erratum(Struct, frozen=True, forbid_unknown_fields=True):
    """A defect or ambiguity of a text, and what this tool does about it."""

    id: ErratumId
    """Permanent name, referred to by `errata` of a rule, output or parameter."""
    document: Annotated[tuple[TextName, ...], Limit(min_length=1)]
    """The texts concerned, by their names in editions.toml, the earliest first."""
    place: Sentence
    """File and lines, or section."""
    defect: Sentence
    """What is wrong or open."""
    counterexample: Sentence
    """A concrete case that shows the defect, or what a reader would misread."""
    reading: Sentence
    """What this tool does."""
    theorems: tuple[TheoremId, ...] = ()
    """The theorems of proofs/ about it: the printed condition refuted, or what holds in its place."""
    unproved: str = ""
    """Why no theorem refutes the printed condition; "" where one does, or where no condition is printed."""
    deviations: Mapping[str, Mapping[DeviationKind, tuple[Sentence, ...]]] = {}
    """How runtimes differ from the exact values because of the reading: by operator and kind of difference, the value
    classes in which every such difference has this cause; none where a class does not tell."""
    instead: Mapping[str, Alternative] = {}
    """By operator what a runtime may give there in place of the exact value, where that tells the cause."""


class StatedEdition(Struct, frozen=True):
    """An edition of the profile."""

    name: EditionName
    """The name of the edition."""
    title: NonEmpty
    """What the edition is."""
    consolidated: bool
    """Whether this tool chose the texts of the edition."""


class Edition(Struct, frozen=True):
    """An edition of the profile: its element types, and the text it takes for each operator."""

    name: str
    title: str
    general: str
    element_types: tuple[str, ...]
    consolidated: bool
    operators: Mapping[str, str]
    """The text of each operator that the edition specifies."""
    drafts: frozenset[str]
    planned: frozenset[str]

    def text_of(self, operator: str) -> str | None:
        """The text of the operator: "onnx" for a planned one, None where the edition does not name it."""
        return self.operators.get(operator, "onnx" if operator in self.planned else None)

    def status(self, operator: str) -> str:
        """specified, draft, planned, or "" where the edition does not name the operator."""
        if operator in self.operators:
            return "draft" if operator in self.drafts else "specified"
        return "planned" if operator in self.planned else ""


class Editions(Struct, frozen=True, dict=True):
    """The file editions.toml."""

    default: str
    operator_set: int
    ir_version: int
    families: Mapping[str, tuple[str, ...]]
    texts: Mapping[str, Text]
    editions: Mapping[str, Edition]
    uncheckable: tuple[Uncheckable, ...] = ()

    def in_force(self, rule: Rule, text: str) -> bool:
        """Whether the rule holds under a text: introduced by it or before it, and not withdrawn."""
        order = self._order
        after = order[rule.introduced] <= order[text]
        return after and (rule.withdrawn is None or order[text] < order[rule.withdrawn])

    @cached_property
    def _order(self) -> Mapping[str, int]:
        """The place of each text, from the oldest."""
        return {name: place for place, name in enumerate(self.texts)}


def at(values: Versioned[T], version: int) -> T | None:
    """The value at a version, None before the first."""
    begun = [since for since in values if since <= version]
    return values[max(begun)] if begun else None


def expand(names: Sequence[str], families: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Element types with each family name replaced by its members."""
    return tuple(member for name in names for member in families.get(name, (name,)))


_SLUG = r"(?:[A-Z][A-Za-z0-9]*\.)?[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*"

MAX_SHOWN_LABELS = 4
"""Labels of one text that a message prints."""


def is_slug(text: str) -> bool:
    """Whether a string has the form of a slug: `no-dead-node`, `Max.broadcastable`."""
    return re.fullmatch(_SLUG, text) is not None


def show_tags(tags: tuple[Tag, ...]) -> str:
    """Tags by text, as messages print them: `[E1 C1, 2025-11; C1, 2026-08]`; "" for none."""
    by_text: dict[str, list[str]] = {}
    for tag in tags:
        by_text.setdefault(tag.text, []).append(tag.label)
    inner = "; ".join(f"{_shortened(labels)}, {text}" for text, labels in by_text.items())
    return f"[{inner}]" if inner else ""


def _shortened(labels: list[str]) -> str:
    """The first labels; a page that restates one condition in every section gives it a dozen."""
    more = f" and {len(labels) - MAX_SHOWN_LABELS} more" if len(labels) > MAX_SHOWN_LABELS else ""
    return " ".join(labels[:MAX_SHOWN_LABELS]) + more
