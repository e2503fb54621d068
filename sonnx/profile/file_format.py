"""What the files of restrictions/ may hold, key by key; `python -m tools.schemas` writes it as JSON Schemas.

A type is the table of a file or a part of it.  The text below a field is its description in the schema.  Annotations
are evaluated here, and not from strings when a file is read, which takes a twentieth of a short check.
"""

from typing import Annotated, Literal, TypeVar

from msgspec import Struct, field

from sonnx.profile.definitions import Erratum, RoundingPoint, Tag, Text, Uncheckable
from sonnx.profile.text_types import (
    Element,
    ErrataIds,
    ExpressionText,
    Letter,
    Limit,
    Neutral,
    OperatorName,
    RuleName,
    Sentence,
    TextName,
    Version,
    VersionKey,
)

T = TypeVar("T")
ByVersion = dict[VersionKey, T]
"""Values, each from a version on."""
Names = ByVersion[Letter]
RuleNames = tuple[RuleName, ...]
Class = Literal["validity", "restriction", "error-condition"]
Kind = Literal["int", "ints", "float", "floats", "string", "strings", "tensor", "sparse_tensor"]
OnnxName = Annotated[str, Limit(min_length=1)]
Elements = Annotated[tuple[Element, ...], Limit(min_length=1)]
Denotation = Annotated[str, Limit(pattern="^[A-Z][A-Z_]*$")]
EditionName = Annotated[str, Limit(pattern="^[0-9]{4}-[0-9]{2}$")]
ByText = dict[TextName, tuple[OperatorName, ...]]


class _Table(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of a file: another key is an error."""


class _Rule(_Table, frozen=True, kw_only=True):
    kind: Class = field(name="class")
    """Who demands the rule: ONNX (validity) or the profile; an error-condition is an error of execution."""
    introduced: TextName = "onnx"
    """The first text that demands the rule; before it only `onnx` is demanded. Without it every text demands it."""
    withdrawn: TextName | None = None
    """The first text that does not demand the rule; the rule stays in its file."""
    statement: Sentence
    """What is demanded, as one sentence."""
    because: Sentence
    """Why the rule exists."""
    remedy: Sentence
    """What to do about a failure."""
    source: Sentence
    """The places in the texts that state the rule."""
    tags: tuple[Tag, ...] = ()
    """The labels the texts give the rule."""
    errata: ErrataIds = ()
    """The errata that bear on the rule."""


class _Condition(_Rule, frozen=True, kw_only=True):
    require: ExpressionText
    """The condition the profile demands, in the rule language."""
    onnx: ExpressionText | None = None
    """The condition ONNX demands where that is less than `require`; what breaks it is not valid ONNX."""
    when: ExpressionText | None = None
    """The condition under which the rule applies; elsewhere the result is not-applicable."""


class GeneralRule(_Condition, frozen=True, kw_only=True):
    """A rule with an expression, about the graph or all operators."""

    slug: RuleName
    """The permanent name of the rule, never reused and never changed."""
    subject: Literal["value", "parameter", "input", "group", "operand"]
    """What the rule is about."""
    says: Sentence | None = None
    """What a failure states; `{field}` stands for a fact of the subject."""


class GeneralFile(_Table, frozen=True, kw_only=True):
    """Rules about values and parameters of every operator: general.toml."""

    rule: Annotated[tuple[GeneralRule, ...], Limit(min_length=1)]
    """The rules, in the order in which they are evaluated and listed."""


class GraphRule(_Rule, frozen=True, kw_only=True):
    """A rule that a function of the checker decides."""

    slug: RuleName
    """The permanent name of the rule, never reused and never changed."""
    subject: Literal["model", "function", "graph", "tensor", "node"]
    """What the rule is about."""


class GraphFile(_Table, frozen=True, kw_only=True):
    """Rules about files, graphs, tensors and nodes: graph.toml."""

    rule: Annotated[tuple[GraphRule, ...], Limit(min_length=1)]
    """The rules, in the order in which they are evaluated and listed."""


class OperatorRule(_Condition, frozen=True, kw_only=True):
    """A rule of an operator."""

    name: RuleName
    """The slug of the rule is <operator>.<name>: permanent, never reused and never changed."""
    since: Version = 1
    """The first version the rule is about."""
    before: Version | None = None
    """The first version the rule is not about."""
    relies: RuleNames = ()
    """The rules that must hold for this one to be defined; where one fails this one is undecided because of it."""
    implied_by: RuleNames | ByVersion[RuleNames] = ()
    """The rules of the operator and general ones this one follows from, where no file can break it alone."""


class _Formal(_Table, frozen=True, kw_only=True):
    onnx: OnnxName | ByVersion[OnnxName] | Literal[""] = ""
    """The name in ONNX where the text uses another letter, alone or from each version on."""
    variadic: bool = False
    """Whether it may stand any number of times; it is then a list and the last one."""
    optional: bool | ByVersion[bool] = False
    """Whether ONNX lets a node omit it, alone or from each version on."""
    since: Version = 1
    """The first version that has it."""
    before: Version | None = None
    """The first version that does not have it."""
    type_tags: tuple[Tag, ...] = ()
    """The labels the texts give the element type."""
    exempt: Sentence | Literal[""] = ""
    """Why the profile lets a node omit it, with the place in a text; without it a node that omits it fails."""


class InputFormat(_Formal, frozen=True, kw_only=True):
    """An input of an operator."""

    type: Letter | Names
    """The type variable or element type of the input, alone or from each version on."""
    tags: tuple[Tag, ...] = ()
    """The labels the texts give the demand that the input is connected."""
    instead: Sentence | Literal[""] = ""
    """What the text says to write where the input is not wanted, as the end of a sentence."""
    denotations: tuple[Denotation, ...] = ()
    """What the dimensions mean by the ONNX text, the last one of every further dimension."""
    absent: Neutral = ""
    """What leaving it out means: the number, or the name with the number, that each of its elements then has; without
    it no tensor means the same.  -0 is the neutral element of a sum of floats; 0 is not, as -0 + 0 is 0."""
    absent_when: ExpressionText | Literal[""] = ""
    """The condition under which that tensor means the same for every input."""


class OutputFormat(_Formal, frozen=True, kw_only=True):
    """An output of an operator; it has a shape or is a constant."""

    type: Letter | Literal[""] | Names
    """The type variable or element type of the output, alone or from each version on; empty for a constant."""
    shape: ExpressionText | ByVersion[ExpressionText] | None = None
    """The shape the operator computes, in the rule language; the rule <operator>.<output>-shape comes from it."""
    element: ExpressionText | ByVersion[ExpressionText] | None = None
    """The element type, in the rule language, where parameters decide it; of <operator>.<output>-type."""
    values: ExpressionText | ByVersion[ExpressionText] | None = None
    """The elements in row-major order, bool as 0 and 1, in the rule language; a check takes those of short lists of
    integers and bool as known where those of the inputs are."""
    constant: Letter | Literal[""] = ""
    """The parameter whose tensor the output is, known before the model runs."""
    because: Sentence
    """Why the output has this shape."""
    relies: RuleNames = ()
    """The rules that must hold for the shape to be defined."""
    implied_by: RuleNames | ByVersion[RuleNames] = ()
    """The rules under which the output is absent, so that no file can break its shape alone."""
    tags: tuple[Tag, ...] = ()
    """The labels the texts give the shape."""
    errata: ErrataIds = ()
    """The errata that bear on the output."""

    def __post_init__(self) -> None:
        if self.shape is None and not self.constant:
            raise ValueError("lacks shape")


class ParameterFormat(_Table, frozen=True, kw_only=True):
    """A value that steers an operator, an attribute or a constant input."""

    kind: Kind | ByVersion[Kind]
    """The ONNX kind of the attribute, alone or from each version on; of a constant input ints for a list, else int."""
    absent: ExpressionText | ByVersion[ExpressionText] | None = None
    """What the absence of the parameter means, in the rule language; `none` where it means nothing."""
    required: Version | None = None
    """The first version in which ONNX demands that the parameter is written."""
    optional: Version | None = None
    """The first version in which ONNX does not demand it any more."""
    input: Version | None = None
    """The first version in which the parameter is a constant input of the same name, instead of an attribute."""
    list_since: Version | None = None
    """The first version that demands one axis of the constant input; before it ONNX takes a scalar as a list of one."""
    since: Version = 1
    """The first version that has the parameter."""
    before: Version | None = None
    """The first version that does not have the parameter."""
    tags: tuple[Tag, ...] = ()
    """The labels the texts give the demand that the parameter is written."""
    errata: ErrataIds = ()
    """The errata that bear on the parameter."""

    def __post_init__(self) -> None:
        if self.absent is None and self.required is None:
            raise ValueError("lacks absent")


class Versions(_Table, frozen=True, kw_only=True):
    """The ONNX versions the profile admits: `specified`, or `known` for a planned operator."""

    specified: Version | None = None
    """The version the text is about."""
    known: tuple[Version, ...] = ()
    """All versions of a planned operator, which no text specifies."""
    specified_in: dict[TextName, Version] = {}
    """The version a text is about, where that is another one."""
    equivalent: ByVersion[Sentence] = {}
    """Other versions that mean the same for the types of the profile, each with the reason as one sentence."""
    refused: ByVersion[Sentence] = {}
    """Other versions that mean something else, each with what to convert the node to."""

    def __post_init__(self) -> None:
        if (self.specified is None) is not bool(self.known):
            raise ValueError("lacks specified" if self.specified is None else "has both specified and known")


class OperatorFile(_Table, frozen=True, kw_only=True):
    """One operator of the profile: operators/<name>.toml."""

    operator: OperatorName
    """The name of the operator in ONNX; the file has the same name in lower case."""
    summary: Sentence
    """What the operator computes, as one sentence."""
    formula: Sentence
    """What the operator computes, in the letters of the text; for readers."""
    source: Sentence
    """The texts the file is made from."""
    versions: Versions
    """The ONNX versions the profile admits."""
    types: dict[Letter, ByVersion[Elements]] = {}
    """The element types ONNX gives each type variable, from each version on."""
    profile: dict[Letter, dict[TextName, Elements]] = {}
    """The element types a SONNX text gives each type variable, from that text on; else those of the edition."""
    inputs: dict[Letter, InputFormat] = {}
    """The inputs in the order of the node, under the letters of the text."""
    outputs: Annotated[dict[Letter, OutputFormat], Limit(min_length=1)]
    """The outputs in the order of the node, under the letters of the text."""
    parameters: dict[Letter, ParameterFormat] = {}
    """The values that steer the operator, whether a version keeps them in an attribute or in a constant input."""
    define: dict[Letter, ExpressionText | ByVersion[ExpressionText]] = {}
    """Names for parts of the expressions below; a definition may use those above it."""
    rounding: tuple[RoundingPoint, ...] = ()
    """Where values are rounded to nearest, ties to even, if not once at the output; in the order of computing."""
    one_type: tuple[tuple[Letter, ...], ...] = ()
    """Inputs and outputs the SONNX text wants in one element type, beyond ONNX's type variables."""
    kinds: ByVersion[tuple[Literal["sequence", "optional", "map"], ...]] = {}
    """The kinds of values besides dense tensors that ONNX lets inputs and outputs have, from each version on."""
    output_counts: ByVersion[tuple[Version, ...]] = {}
    """How many outputs a node may list, empty names included, where that is not any number up to all of them."""
    instead: Sentence | Literal[""] = ""
    """What to write as long as no text specifies the operator, as the end of a sentence."""
    tags: tuple[Tag, ...] = ()
    """Labels of the operator's page that state what it computes, or that a general rule decides."""
    errata: ErrataIds = ()
    """The errata that bear on the operator as a whole; a draft names those that make it one."""
    type_errata: dict[Letter, ErrataIds] = {}
    """The errata that bear on the element types of a type variable."""
    rule: tuple[OperatorRule, ...] = ()
    """The rules of the operator, each below those it relies on."""


class Newest(_Table, frozen=True, kw_only=True):
    """The newest ONNX format the catalogue knows."""

    operator_set: Version
    """The newest version of the standard operator set; a newer one fails `operator-set-known`."""
    ir_version: Version
    """The newest IR version; a newer one fails `ir-version-known`."""


class EditionFormat(_Table, frozen=True, kw_only=True):
    """An edition."""

    name: EditionName
    """The name of the edition: year and month."""
    title: Sentence
    """What the edition is, for the head of a report."""
    parent: EditionName | None = None
    """The edition whose operators this one inherits."""
    general: TextName
    """The text that general.toml and graph.toml are read by."""
    element_types: Elements
    """The element types of the profile, for values and for operators whose text lists none; not inherited."""
    consolidated: bool = False
    """Whether the tool chose the texts; every report then says so."""
    specified: ByText = {}
    """The operators the edition specifies, by the text each is taken from."""
    draft: ByText = {}
    """The operators whose text is a draft, by that text; they are checked like specified ones."""
    planned: tuple[OperatorName, ...] = ()
    """The operators that are announced without a text; a node of one is outside the profile."""
    removed: tuple[OperatorName, ...] = ()
    """The operators of the parent that this edition does not have."""


class EditionsFile(_Table, frozen=True, kw_only=True):
    """The texts, and the editions made of them: editions.toml."""

    default: EditionName
    """The edition a check takes where none is named."""
    onnx: Newest
    """The newest ONNX format the catalogue knows."""
    families: dict[Annotated[str, Limit(pattern="^[a-z]+$")], Elements]
    """Names for groups of element types, used wherever element types are listed."""
    text: Annotated[tuple[Text, ...], Limit(min_length=1)]
    """The published texts, the earliest first; a text inherits from those before it."""
    limit: tuple[Uncheckable, ...] = ()
    """What a text demands and no file can be judged by; every report says it."""
    edition: Annotated[tuple[EditionFormat, ...], Limit(min_length=1)]
    """The editions, each below its parent."""


class ErrataFile(_Table, frozen=True, kw_only=True):
    """Errata: defects and ambiguities of the texts: errata.toml."""

    erratum: Annotated[tuple[Erratum, ...], Limit(min_length=1)]
    """The errata, ordered by the earliest text concerned, then by place."""


SchemaText = Annotated[
    str,
    Limit(pattern=r"^(\d+(-(\d+|\*))? inputs, \d+(-(\d+|\*))? outputs(; \w+: \w+!?(, \w+: \w+!?)*)?|deprecated)$"),
]
"""The counts of inputs and outputs (`1-*`: one or more) and each attribute with its kind, `!` for a required one."""
OnnxSchemasFile = dict[str, dict[OperatorName, ByVersion[SchemaText]]]
"""The signatures of all operators of ONNX by domain, operator and version: onnx_schemas.toml."""


class OperatorsOutsideFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Operators of ONNX that no edition names: onnx_operators.toml."""

    near: dict[OperatorName, str]
    """What of the profile is near an operator, half a sentence; empty if nothing is."""
