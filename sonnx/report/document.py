"""A document: what a command found, in the form that text, SARIF, JUnit, GitHub, Markdown and HTML render.

A `Document` has sections (models, the topics of theorems, the ways to compare values), a section has cases.  Every
text is printable: the module that makes a case escapes what comes from a model, so a format adds only its own markup.
File names and the names in a `Where` are not escaped; the formats escape them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct, structs

from sonnx.base.escaping import escape_once
from sonnx.checker.verdicts import Where
from sonnx.profile.definitions import Edition, Rule
from sonnx.profile.rewrites import rewrite_titles
from sonnx.report.phrases import explain_in, place, rule_page, tags_until


class Standing(StrEnum):
    """What a case means for the run, the worst first."""

    BAD = "fail"
    OPEN = "open"
    ASSUMED = "assumed"
    """Open until run time; it may be accepted."""
    NOTE = "note"
    """Worth reporting, but allowed."""
    SKIPPED = "skipped"
    """Not run."""
    JUSTIFIED = "deviated"
    """Does not hold, and a record justifies it."""
    NOT_APPLICABLE = "not applicable"
    GOOD = "pass"


class Criterion(Struct, frozen=True):
    """What a case is checked against: a rule of the profile, a theorem, a way to compare values."""

    statement: str
    kind: str
    because: str = ""
    remedy: str = ""
    source: str = ""
    tags: tuple[str, ...] = ()
    address: str = ""
    """The page about it."""
    command: str = ""
    """The command that explains it."""
    rewrites: str = ""
    """What `sonnx fix` can do about it."""


class CaseResult(Struct, frozen=True):
    """The result for one criterion, a key of `Document.criteria`, and the subject `name` of its section."""

    criterion: str
    name: str
    verdict: str
    standing: Standing
    message: str
    details: tuple[tuple[str, str], ...] = ()
    """Further information, as terms with their texts."""
    where: Where | None = None
    folded: bool = False
    """Open only because of other cases; formats for people count it and do not list it."""
    grave: bool = False
    """It stands before others of its standing: not valid ONNX."""
    justification: str = ""
    """The record that justifies it."""
    command: str = ""
    """The command that explains it, where that of its criterion does not suffice."""
    properties: Mapping[str, Any] = {}
    """What SARIF has beside the message."""
    cells: tuple[str, ...] = ()
    """The figures of the case, one for each of the heads of its section."""
    shown: bool = False
    """Text lists it although it passes."""
    state: str = ""
    """new, unchanged or gone since a baseline; "" where there is none."""

    @property
    def at(self) -> str:
        """The place of the case in words; its name where it has no place."""
        return place(self.where) if self.where else self.name

    @property
    def message_with_details(self) -> str:
        """Message and details in one line."""
        return "; ".join([self.message, *(f"{term}: {text}" for term, text in self.details)])

    @property
    def sentence(self) -> str:
        """Place, message and details in one line."""
        return f"{self.at}: {self.message_with_details}"


class Section(Struct, frozen=True):
    """Cases that belong together; `file` is the file they are about, as it was named."""

    name: str
    file: str
    cases: tuple[CaseResult, ...]
    note: str = ""
    """A remark on all its cases."""
    gone: tuple[CaseResult, ...] = ()
    """Cases of a baseline that are gone."""
    heads: tuple[str, ...] = ()
    """The heads of the figures of its cases; a head that begins with # is one of numbers."""
    headline: str = ""
    """The verdict on it, where sections have verdicts of their own; its passing cases are then not listed."""
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def standing(self) -> Standing:
        """The worst standing of its cases."""
        return worst_standing(self.cases)

    @property
    def numbers(self) -> str:
        """The number of cases with each verdict."""
        return _numbers(self.cases)

    @property
    def findings(self) -> list[list[CaseResult]]:
        """The cases that do not pass and are not folded, by criterion and verdict; the worst first."""
        groups: dict[tuple[str, str], list[CaseResult]] = {}
        for case in self.cases:
            if case.standing not in PASSING and not case.folded:
                groups.setdefault((case.criterion, case.verdict), []).append(case)
        return sorted(groups.values(), key=_weight)


class Picture(Struct, frozen=True):
    """A drawing of a result as SVG, for pages."""

    title: str
    legend: str
    svg: str
    """Markup, in which every text is escaped."""


class MatrixCell(Struct, frozen=True):
    """A cell of a matrix: a short text, and the cases that it unfolds to."""

    text: str
    cases: tuple[CaseResult, ...] = ()


class Matrix(Struct, frozen=True):
    """A table for pages whose cells unfold to cases: `rows` have a name and a cell for each of the heads."""

    title: str
    legend: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[MatrixCell, ...]], ...]


class Document(Struct, frozen=True):
    """One run of a command: `title` says what was done, `subject` to what, `headline` the result."""

    command: str
    title: str
    subject: str
    headline: str
    code: int
    """The exit code of the run."""
    criteria: Mapping[str, Criterion]
    sections: tuple[Section, ...]
    facts: tuple[tuple[str, str], ...] = ()
    """What the result depends on, as terms with their texts."""
    notes: tuple[str, ...] = ()
    hashes: Mapping[str, str] = {}
    """The SHA-256 of the files, by name."""
    advice: tuple[tuple[str, str], ...] = ()
    """What to do next, as terms with their texts."""
    pictures: tuple[Picture, ...] = ()
    matrix: Matrix | None = None
    overview: tuple[tuple[str, ...], ...] = ()
    """A table of the sections: its heads, then a row for each; the first cell is a name."""
    table: tuple[tuple[str, ...], ...] = ()
    """A table of the whole result for text: its heads, then the rows."""
    unreadable: Mapping[str, str] = {}
    """Files without a result, each with the reason."""
    accepted: bool = False
    """Whether assumptions count as holding."""
    tiles: tuple[tuple[str, str], ...] = ()
    """Figures for the top of a page, each with what it counts; if empty, cases by standing."""
    properties: Mapping[str, Any] = {}
    """What SARIF says of the run; if empty, what the fields above say."""
    results_first: bool = False
    """The text has the facts behind the results, not before them."""

    @property
    def cases(self) -> tuple[CaseResult, ...]:
        """All cases, section by section."""
        return tuple(case for section in self.sections for case in section.cases)

    @property
    def standing(self) -> Standing:
        """The worst standing of all cases."""
        return worst_standing(self.cases)

    @property
    def numbers(self) -> str:
        """The number of cases with each verdict."""
        return _numbers(self.cases)

    @property
    def findings(self) -> list[tuple[Section, list[CaseResult]]]:
        """The findings of all sections, each with its section; the worst first."""
        every = [(section, cases) for section in self.sections for cases in section.findings]
        return sorted(every, key=lambda each: _weight(each[1]))


def _numbers(cases: Iterable[CaseResult]) -> str:
    counted = Counter(case.verdict for case in cases)
    return ", ".join(f"{number} {verdict}" for verdict, number in counted.items())


PASSING = (Standing.GOOD, Standing.NOT_APPLICABLE)
"""The standings of cases that formats for people need not list."""


def _weight(cases: Sequence[CaseResult]) -> tuple[int, bool]:
    return list(Standing).index(worst_standing(cases)), not any(case.grave for case in cases)


def worst_standing(cases: Iterable[CaseResult]) -> Standing:
    """The worst standing of some cases; GOOD if there are none."""
    standings = {case.standing for case in cases}
    return next((standing for standing in Standing if standing in standings), Standing.GOOD)


def rule_criterion(rule: Rule, edition: Edition, docs: str = "") -> Criterion:
    """A rule of the profile as a criterion, with its tags up to an edition and its page on a site."""
    operator = rule.slug.partition(".")[0] if "." in rule.slug else ""
    planned = operator and operator not in edition.operators
    tags = rule.tags if planned else tags_until(rule, edition)
    labels = tuple(dict.fromkeys(f"{tag.label}@{tag.text}" for tag in tags))
    own = rule.kind == "project"
    page, command = (
        ("", "") if own else (rule_page(docs, rule.slug), f"sonnx explain {rule.slug}{explain_in(edition.name)}")
    )
    return Criterion(
        rule.statement,
        rule.kind,
        rule.because,
        rule.remedy,
        rule.source,
        labels,
        page,
        command,
        "; ".join(rewrite_titles(rule.slug)),
    )


AS_IT_IS = frozenset({"svg", "file", "where", "standing"})
"""Fields of documents that formats escape themselves, or that hold no text."""


def printable(document: Document) -> Document:
    """A document with every text escaped that is not printable: of files from elsewhere any may be so."""
    result: Document = _printable(document)
    return result


def _printable(part: Any) -> Any:
    if isinstance(part, str) and not isinstance(part, StrEnum):
        return escape_once(part)
    if isinstance(part, tuple):
        return tuple(map(_printable, part))
    if isinstance(part, dict):
        return {_printable(key): _printable(value) for key, value in part.items()}
    if isinstance(part, Struct):
        named = {name: getattr(part, name) for name in part.__struct_fields__ if name not in AS_IT_IS}
        return structs.replace(part, **{name: _printable(value) for name, value in named.items()})
    return part
