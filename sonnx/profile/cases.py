"""The cases: small models in text with the verdict each must get.  `sonnx explain` shows them, the tests run them.

A file of tests/cases is Markdown.  Below each `##` heading stand prose, one fenced block that is the model (`onnx`: the
ONNX text form; `textproto`: protobuf text of a ModelProto, for what the text form cannot say), and lines such as

    invalid: Max.broadcastable          fails, and is not valid ONNX
    violates: no-dead-node              fails, outside the profile only
    violates in 2025-10: nothing        the same for named editions
    conforms: Max.broadcastable         these rules had something to judge and passed; alone: the whole model passes
    option: strict-versions             how the check is asked

docs/cases.md has the whole list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sonnx.base.resources import folder

EXPECTATIONS = ("invalid", "violates", "undecided", "assumed", "not-checked", "conforms")
_LINE = re.compile(r"^(?P<what>[a-z-]+)(?: in (?P<editions>[\d, -]+))?: (?P<rules>.+)$")
_BLOCK = re.compile(r"^```(onnx|textproto)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class CaseError(ValueError):
    """A case that is not of the format; the message names file and heading."""


@dataclass(frozen=True, slots=True)
class Case:
    """One model and what is expected of it; `expected` is by edition, "" standing for the default one, then by word."""

    file: str
    title: str
    prose: str
    language: str
    text: str
    append: bytes
    """Bytes after the encoded model, for content no text form can say."""
    strict_versions: bool
    expected: Mapping[str, Mapping[str, frozenset[str]]]

    @property
    def id(self) -> str:
        """File and heading, as a name."""
        return f"{self.file}: {self.title}"

    def rules(self, *words: str) -> frozenset[str]:
        """The rules named under these words in any edition."""
        return frozenset(rule for by_word in self.expected.values() for word in words for rule in by_word.get(word, ()))


@cache
def cases() -> tuple[Case, ...]:
    """All cases, in the order of the files' names and of their headings."""
    return tuple(case for path in sorted((folder("restrictions") / "cases").glob("*.md")) for case in _file(path))


def _file(path: Path) -> Iterator[Case]:
    _, *sections = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for section in sections:
        title, _, body = section.partition("\n")
        yield _case(path.name, title.strip(), body)


def _case(file: str, title: str, body: str) -> Case:
    blocks = _BLOCK.findall(body)
    if len(blocks) != 1:
        raise CaseError(f"{file}, {title!r}: one model is asked for, there are {len(blocks)}")
    lines = _BLOCK.sub("", body).splitlines()
    expected: dict[str, dict[str, frozenset[str]]] = {}
    append, strict, prose = b"", False, []
    for line in lines:
        match = _LINE.match(line)
        if line.startswith("append: "):
            append = bytes.fromhex(line.removeprefix("append: "))
        elif line == "option: strict-versions":
            strict = True
        elif match and match["what"] in EXPECTATIONS:
            rules = frozenset(match["rules"].split(", ")) - {"nothing"}
            for edition in (match["editions"] or "").split(", "):
                expected.setdefault(edition, {})[match["what"]] = rules
        else:
            prose.append(line)
    if not expected:
        raise CaseError(f"{file}, {title!r}: nothing is expected")
    (language, text), said = blocks[0], " ".join(" ".join(prose).split())
    return Case(file, title, said, language, text.strip(), append, strict, expected)
