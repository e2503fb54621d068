"""The cases: small models as text, each with the verdict it must get.  `sonnx explain` shows them, the tests run them.

A file of restrictions/cases is Markdown.  Below each `##` heading are prose, one fenced block with the model (`onnx`:
the ONNX text form; `textproto`: protobuf text of a ModelProto, where that does not suffice), and lines such as

    invalid: Max.broadcastable          fails, and is not valid ONNX
    violates: no-dead-node              fails, outside the profile only
    violates in 2025-10: nothing        for named editions instead of all with the same texts as the default one
    conforms: Max.broadcastable         these rules apply and pass; as the only line: the whole model passes
    option: strict-versions             an option of the check
    beside: w.bin 12, v.bin 8           the model is a file, with other files of so many bytes in its folder

docs/profile-format.md has the whole list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sonnx.profile import catalogue
from sonnx.profile.profile_data import in_use, of_profile

EXPECTATIONS = ("invalid", "violates", "undecided", "assumed", "not-checked", "conforms")
_LINE = re.compile(r"^(?P<what>[a-z-]+)(?: in (?P<editions>[\d, -]+))?: (?P<rules>.+)$")
_IMPORT = re.compile(
    r'opset_import\s*(?::\s*\[[^]]*?""\s*:\s*(?P<listed>\d+)|:?\s*\{\s*(?:domain:\s*""\s*)?version:\s*(?P<version>\d+))'
)
_BLOCK = re.compile(r"^```(onnx|textproto)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class CaseError(ValueError):
    """A case does not have the expected format; the message names file and heading."""


@dataclass(frozen=True, slots=True)
class RuleCase:
    """One model with the verdicts expected of it: rules by edition ("" is the default one) and by expectation."""

    file: str
    title: str
    prose: str
    language: str
    text: str
    append: bytes
    """Bytes to append to the encoded model, for content that no text form can express."""
    strict_versions: bool
    beside: Mapping[str, int] | None
    """Bytes of each other file in the folder of the model; None where the model is read from bytes."""
    expected: Mapping[str, Mapping[str, frozenset[str]]]

    @property
    def id(self) -> str:
        """File and heading."""
        return f"{self.file}: {self.title}"

    @property
    def operator_set(self) -> int:
        """The version of the standard operator set that the model imports, 0 where it imports none."""
        match = _IMPORT.search(self.text)
        return int(match["listed"] or match["version"]) if match else 0

    @property
    def editions(self) -> tuple[str, ...]:
        """The editions for which a verdict is stated."""
        return tuple(name for name in catalogue.editions().editions if self.expected_in(name) is not None)

    def expected_in(self, edition: str) -> Mapping[str, frozenset[str]] | None:
        """The rules by expectation, None where nothing is stated.

        The verdict without an edition is that of the default one, and of every other one that has its texts (see
        `like_default`).
        """
        named = self.expected.get(edition)
        if named is None and (edition == catalogue.editions().default or edition in like_default(self.file)):
            named = self.expected.get("")
        return named

    def rules(self, *expectations: str) -> frozenset[str]:
        """The rules named with one of these expectations in any edition."""
        return frozenset(
            rule
            for named in self.expected.values()
            for expectation in expectations
            for rule in named.get(expectation, ())
        )


@of_profile
def like_default(file: str) -> frozenset[str]:
    """The editions with the texts of the default one: the text of the operator a file is about, and general rules.

    An edition may have more general rules and other element types; a case on which these bear states its verdict.
    """
    editions = catalogue.editions()
    default, rules = editions.editions[editions.default], (*catalogue.general_rules(), *catalogue.graph_rules())
    general = {
        name: {rule.slug for rule in rules if editions.in_force(rule, edition.general)}
        for name, edition in editions.editions.items()
    }
    stem = file.removesuffix(".md")
    names = {name for edition in editions.editions.values() for name in (*edition.operators, *edition.planned)}
    operator = next((name for name in names if name.lower() == stem), "")
    return frozenset(
        name
        for name, edition in editions.editions.items()
        if edition is not default and general[name] >= general[default.name]
        if edition.text_of(operator) == default.text_of(operator)
    )


@of_profile
def all_cases() -> tuple[RuleCase, ...]:
    """All cases, in the order of the files' names and of their headings."""
    return tuple(case for path in _paths() for case in _file(path))


@of_profile
def cases_about(slug: str, *expectations: str) -> Sequence[RuleCase]:
    """The cases that name one rule with one of these expectations; files that do not name it are not parsed."""
    named = [path for path in _paths() if slug in _text(path)]
    return [case for path in named for case in _file(path) if slug in case.rules(*expectations)]


@of_profile
def _paths() -> Sequence[Path]:
    return sorted((in_use().folder / "cases").glob("*.md"))


@of_profile
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@of_profile
def cases_by_rule(*expectations: str) -> Mapping[str, Sequence[RuleCase]]:
    """The cases that name a rule with one of these expectations, by its slug."""
    by_slug: dict[str, list[RuleCase]] = {}
    for case in all_cases():
        for slug in case.rules(*expectations):
            by_slug.setdefault(slug, []).append(case)
    return by_slug


@of_profile
def _file(path: Path) -> Sequence[RuleCase]:
    _, *sections = re.split(r"^## ", _text(path), flags=re.MULTILINE)
    parts = (section.partition("\n") for section in sections)
    return [_case(path.name, title.strip(), body) for title, _, body in parts]


def _case(file: str, title: str, body: str) -> RuleCase:
    blocks = _BLOCK.findall(body)
    if len(blocks) != 1:
        raise CaseError(f"{file}, {title!r}: a case has one model, this one has {len(blocks)}")
    lines = _BLOCK.sub("", body).splitlines()
    expected: dict[str, dict[str, frozenset[str]]] = {}
    append, strict, prose = b"", False, []
    beside: dict[str, int] | None = None
    for line in lines:
        match = _LINE.match(line)
        if line.startswith("append: "):
            append = bytes.fromhex(line.removeprefix("append: "))
        elif line == "option: strict-versions":
            strict = True
        elif line.startswith("beside: "):
            files = line.removeprefix("beside: ").replace("nothing", "")
            beside = {name: int(size) for name, size in map(str.split, filter(None, files.split(", ")))}
        elif match and match["what"] in EXPECTATIONS:
            rules = frozenset(match["rules"].split(", ")) - {"nothing"}
            for edition in (match["editions"] or "").split(", "):
                expected.setdefault(edition, {})[match["what"]] = rules
        else:
            prose.append(line)
    if not expected:
        raise CaseError(f"{file}, {title!r}: nothing is expected")
    (language, text), joined = blocks[0], " ".join(" ".join(prose).split())
    return RuleCase(file, title, joined, language, text.strip(), append, strict, beside, expected)
