"""What a page of a SONNX text states, item by item: labels, type lists, shapes, formulas and error conditions.

The extraction knows the form of the pages (Markdown with `# **Conv** (real)` sections) and nothing of the rules.
tests/profile/test_label_map.py compares its result with the recorded maps.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple


class Statement(NamedTuple):
    """One statement: the section (`real`, `float`, ...), the part of it (`X`, `Function`, ...), label and quotation.

    The label is the printed one, or the kind of the statement (types, shape, formula, error) with a number.
    """

    section: str
    part: str
    label: str
    quote: str

    @property
    def place(self) -> str:
        """Where the statement stands."""
        return " / ".join(filter(None, (self.section, self.part)))


QUOTE_LENGTH = 90
_HEADING = re.compile(r"^(#+)\s*(.*?)\s*$")
_SECTION = re.compile(r"^(?:\*\*[A-Za-z]+\*\*|`?[A-Za-z]+`?)(?:\s+operator)?\s*(?:`?\((.*)\)?`?)?$")
_ITEM_LABEL = re.compile(
    r"^\s*(?:[-*]\s*)?(?:<a[^>]*>(?:</a>)?\s*)?(?:[-*]\s*)?"
    r"(?:`?\[((?:[CT]\d+[a-z]?|[RG]+\d+|R[Xx]|E_\w+))\]`?(?:`|\b|\s|$)|\((C\d+)\)\s|`(E_\w+)`)"
)
_TABLE_LABEL = re.compile(r"^\|\s*`?\[?([RG]+\d+)\]?`?\s*(?:<a[^>]*></a>)?\s*\|\s*(.*?)\s*\|")
_TRAILING_LABEL = re.compile(r"^\s*-\s*(.*?)[\s=TBC]*`\[(R\d+)\]`\s*$")
_FUNCTION_LABEL = re.compile(r"\[(E_\w+)\]</br>")
_TYPES = re.compile(r"^\s*[-*]\s*[`*]*[A-Za-z]+[`*]*\s+\[?operator.*?[\[(]([^\])]*)[\])]")
_ELEMENT = re.compile(
    r"\b(?:b?float(?:16|32|64)?|double|u?int(?:2|4|8|16|32|64)|bool|string|fp(?:16|32|64))\b", re.IGNORECASE
)
_REQUIREMENT = re.compile(
    r"^#+\s*(?:<a name=[^>]*>\s*</a>\s*((?:REQ|RECO)[ -][A-Z]{2}[ -]\d+)\s*:\s*(.*)"
    r"|NEED `?([A-Z]+-\d+)`?\s*:\s*`?(.*?)`?)$"
)
_GENERIC = {
    "signature", "restrictions", "function", "informal specification", "error conditions", "attributes", "inputs",
    "outputs", "output", "formal specification", "numeric accuracy", "numerical accuracy", "inputs and outputs",
    "accuracy", "sonnx restrictions", "notations", "types", "standard convolution", "depthwise convolution",
}  # fmt: skip
_OF_TENSORS = {"attributes", "inputs", "outputs", "output", "inputs and outputs"}
_ALIAS = {"fp16": "float16", "fp32": "float", "fp64": "double", "float32": "float", "float64": "double"}


def element_types(text: str) -> tuple[str, ...]:
    """The element types that a list of a page names, in ONNX's spelling."""
    found = (name.lower() for name in _ELEMENT.findall(text))
    return tuple(dict.fromkeys(_ALIAS.get(name, name) for name in found))


def statements(page: str, whole: bool = False) -> list[Statement]:
    """Every statement of a page, in its order; equal places are numbered (`C1`, `C1 (2)`).

    Args:
        page: its text.
        whole: whether quotations are whole; else they are shortened.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for section, part, label, quote in _raw(page):
        seen[section, part, label] += 1
        number = seen[section, part, label]
        numbered = label in ("formula", "shape", "error", "restriction", "types", "demand")
        name = f"{label} {number}" if numbered else label if number == 1 else f"{label} ({number})"
        shown = quote if label == "types" else plain(quote) if whole else shortened(quote)
        found.append(Statement(section, part, name, shown))
    return found


def shortened(quote: str) -> str:
    """The quotation as plain text, up to QUOTE_LENGTH characters."""
    text = plain(quote)
    return text if len(text) <= QUOTE_LENGTH else text[:QUOTE_LENGTH].rstrip() + "…"


def plain(quote: str) -> str:
    """The quotation without tags and line ends."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", quote)).strip()


class _Place:
    """Where the reader of a page stands."""

    def __init__(self) -> None:
        self.section, self.part, self.parent = "", "", ""
        self.constraints = self.example = False

    def enter(self, level: int, heading: str) -> None:
        """A heading begins a section, a part of it, a tensor or attribute, or an example."""
        plain = _plain(heading)
        generic = plain.lower().rstrip(".:")
        if generic == "constraints":
            self.constraints = True
            return
        self.constraints = False
        section = _SECTION.match(heading.strip())
        if level <= 2 and section and generic not in _GENERIC and "example" not in generic:
            self.section, self.part, self.parent, self.example = _kind(section[1] or ""), "", "", False
        elif generic in _GENERIC:
            self.part, self.example = plain.rstrip(".:"), False
            self.parent = generic
        elif self.parent in _OF_TENSORS:
            self.part, self.example = plain.partition(":")[0].partition("(")[0].strip(), False
        else:
            self.example = level > 2


def _kind(inner: str) -> str:
    first = inner.split(",", maxsplit=1)[0].strip().rstrip(")`").lower()
    if first in ("bool",):
        first = inner.split(",")[1].strip().rstrip(")`").lower()
    return "types" if element_types(first) and first not in ("float", "int", "uint") else first


def _plain(heading: str) -> str:
    text = re.sub(r"<[^>]*>", "", heading)
    text = re.sub(r"\\text(?:bf)?\{([^}]*)\}", r"\1", text)
    return re.sub(r"\s+", " ", text.replace("\\", "").replace("$", "").replace("`", "").replace("*", "")).strip()


def _raw(page: str) -> Iterator[tuple[str, str, str, str]]:
    """Statements line by line, without numbers."""
    place, lines = _Place(), page.splitlines()
    index, in_code = 0, False
    while index < len(lines):
        line = lines[index]
        index += 1
        if line.startswith("```") and not line.startswith("```math"):
            in_code = not in_code
            continue
        if in_code:
            continue
        requirement = _REQUIREMENT.match(line)
        if requirement:
            label, title = filter(None, requirement.groups())
            yield "", "", label.replace(" ", "-"), title
            continue
        heading = _HEADING.match(line)
        if heading:
            place.enter(len(heading[1]), heading[2])
            continue
        opened = re.search(r"\$\$|```math", line)
        if opened:
            block, index = _display(lines, index - 1)
            if not place.constraints and not place.example and place.part not in ("Error conditions", ""):
                yield place.section, place.part, "formula", block
            continue
        yield from _line(place, line)


def _display(lines: list[str], index: int) -> tuple[str, int]:
    """The text of a displayed formula, and the line after it."""
    fence = "```" if "```math" in lines[index] else "$$"
    rest = lines[index].partition("```math" if fence == "```" else "$$")[2]
    block = [rest.partition(fence)[0]]
    while fence not in rest and index + 1 < len(lines):
        index += 1
        rest = lines[index]
        block.append(rest.partition(fence)[0])
    return " ".join(block), index + 1


def _line(place: _Place, line: str) -> Iterator[tuple[str, str, str, str]]:
    types = _TYPES.match(line)
    if types and place.section == "" and place.part in ("", "Contents"):
        listed = line.rpartition("](")[0] or line
        yield "", "Contents", "types", ", ".join(element_types(listed)) or "real"
        return
    function = _FUNCTION_LABEL.search(line)
    if function:
        yield place.section, "Function", function[1], "the definition"
        return
    for pattern in (_TABLE_LABEL, _TRAILING_LABEL):
        row = None if place.constraints else pattern.match(line)
        if row:
            label, quote = (row[1], row[2]) if pattern is _TABLE_LABEL else (row[2], row[1])
            yield place.section, place.part or "Restrictions", label, quote
            return
    item = _ITEM_LABEL.match(line)
    if item:
        yield place.section, place.part, item[1] or item[2] or item[3], line[item.end() :].strip(" `:")
    elif place.part == "Error conditions" and not place.example:
        yield from _error(place, line)
    elif place.part == "SONNX restrictions" and line.startswith("- "):
        yield place.section, place.part, "restriction", line[2:]
    elif place.parent in _OF_TENSORS and not place.constraints and re.search(r"\bshape\b.*[(\[]", line):
        yield place.section, place.part, "shape", line
    elif not place.constraints and not place.example and re.search(r"\b(shall|must)\b", line, re.IGNORECASE):
        yield place.section, place.part, "demand", line


def _error(place: _Place, line: str) -> Iterator[tuple[str, str, str, str]]:
    text = re.sub(r"<[^>]*>", "", line).strip().lstrip("-* ").strip()
    rule = set(text) <= set("|-: ") or text.startswith("| Condition")
    if text and not rule and not re.fullmatch(r"(There (is|are) )?[Nn]o error conditions?\.?", text):
        yield place.section, place.part, "error", text
