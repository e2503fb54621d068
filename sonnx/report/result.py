"""What `prove` and `compare` found, in one small form that SARIF, JUnit, GitHub, Markdown and HTML render.

A `Result` has parts (the topics of theorems, a model, the ways to compare values), a part has cases.  Every text is
printable already: what comes from a model was escaped by whoever made the case, so that a format adds its own marks
only.  File names and the names in a `Where` are as they are; the formats escape them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sonnx.checker.report import Where
from sonnx.profile.definitions import Edition, Rule
from sonnx.report.rules import tags_until
from sonnx.report.text import place


class Standing(StrEnum):
    """What an answer means for the run, the worst first."""

    BAD = "fail"
    OPEN = "open"
    NOTE = "note"
    """It is worth saying, and nothing forbids it."""
    SKIPPED = "skipped"
    """There was nothing to answer."""
    GOOD = "pass"


@dataclass(frozen=True, slots=True)
class Declared:
    """What was asked, apart from where: a rule of the profile, a theorem, a way to compare values."""

    statement: str
    kind: str
    because: str = ""
    remedy: str = ""
    source: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One answer: to `rule`, a key of `Result.declared`, for the subject `name` of its part; `verdict` is its word."""

    rule: str
    name: str
    verdict: str
    standing: Standing
    message: str
    details: tuple[tuple[str, str], ...] = ()
    """What else is known, as terms and what they say."""
    where: Where | None = None
    folded: bool = False
    """It is open only because of other cases: formats for people count it there, and do not show it again."""

    @property
    def at(self) -> str:
        """The place in words, the name where there is none."""
        return place(self.where) if self.where else self.name

    @property
    def told(self) -> str:
        """Message and details in one line."""
        return "; ".join([self.message, *(f"{term}: {said}" for term, said in self.details)])

    @property
    def sentence(self) -> str:
        """Place, message and details in one line."""
        return f"{self.at}: {self.told}"


@dataclass(frozen=True, slots=True)
class Part:
    """Cases that belong together; `file` is what they are about, as it was named, and `name` is printable."""

    name: str
    file: str
    cases: tuple[Case, ...]
    note: str = ""
    """What is said of all its cases."""


@dataclass(frozen=True, slots=True)
class Result:
    """One run of a command, whole: `title` says what was done, `about` to what, `headline` what came out."""

    command: str
    title: str
    about: str
    headline: str
    code: int
    """The exit code of the run."""
    declared: Mapping[str, Declared]
    parts: tuple[Part, ...]
    facts: tuple[tuple[str, str], ...] = ()
    """What the result rests on, as terms and what they say."""
    notes: tuple[str, ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of files that were judged, by their names."""

    @property
    def cases(self) -> tuple[Case, ...]:
        """All cases, part by part."""
        return tuple(case for part in self.parts for case in part.cases)

    @property
    def standing(self) -> Standing:
        """The worst standing of all."""
        return worst(self.cases)

    @property
    def numbers(self) -> str:
        """How many answers there are of each word."""
        counted = Counter(case.verdict for case in self.cases)
        return ", ".join(f"{number} {verdict}" for verdict, number in counted.items())

    @property
    def findings(self) -> Iterator[tuple[Part, list[Case]]]:
        """What is no pass and not folded, by part, rule and word, the worst first."""
        groups: dict[tuple[int, str, str], tuple[Part, list[Case]]] = {}
        for number, part in enumerate(self.parts):
            for case in part.cases:
                if case.standing is not Standing.GOOD and not case.folded:
                    groups.setdefault((number, case.rule, case.verdict), (part, []))[1].append(case)
        yield from sorted(groups.values(), key=lambda group: list(Standing).index(worst(group[1])))


def worst(cases: Iterable[Case]) -> Standing:
    """The worst standing of some cases; of none it is good."""
    found = {case.standing for case in cases}
    return next((each for each in Standing if each in found), Standing.GOOD)


def rule_declared(rule: Rule, edition: Edition) -> Declared:
    """A rule of the profile with its tags until an edition."""
    operator = rule.slug.partition(".")[0] if "." in rule.slug else ""
    planned = operator and operator not in edition.operators
    tags = rule.tags if planned else tags_until(rule, edition)
    labels = tuple(dict.fromkeys(f"{tag.label}@{tag.text}" for tag in tags))
    return Declared(rule.statement, rule.kind, rule.because, rule.remedy, rule.source, labels)
