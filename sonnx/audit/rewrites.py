"""The record of rewrites in an evidence pack: whether it is about the model, and its part of the first page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sonnx import proving
from sonnx.misuse import Misuse
from sonnx.quoting import plural, quote
from sonnx.report.html_parts import Markup, code, element, folding, join, table
from sonnx.rewrites import Record

LIMIT = (
    "The record of rewrites is shown as sonnx fix wrote it. Its hash of the rewritten file is that of the model; for "
    "this pack no rewrite was made again and no value compared."
)


def require_about(record: Record, name: str, digest: str) -> None:
    """Refuse a record of another file, or one that names theorems there are not.

    Raises:
        Misuse: with the difference.
    """
    if record.rewritten.sha256 != digest:
        raise Misuse(
            f"{quote(record.file)} is the record of another file: it states the SHA-256 "
            f"{quote(record.rewritten.sha256)}, and {quote(name)} has {digest}"
        )
    unknown = sorted(theorems(record) - {each.id for each in proving.theorems()})
    if unknown:
        raise Misuse(f"{quote(record.file)} names a theorem that this tool does not have: {quote(unknown[0])}")


def theorems(record: Record) -> set[str]:
    """The theorems by which rewrites keep the values."""
    return {each.theorem for each in record.rewrites if each.theorem}


def section(found: Mapping[str, Any]) -> Iterator[Markup]:
    """The part of the page: where the model comes from, what was compared, each rewrite, and what is left over."""
    original, rewrites = found["original"], found["rewrites"]
    yield element(
        "p",
        "The model was written by sonnx fix ",
        found["tool"],
        " for edition ",
        found["edition"],
        " from ",
        code(original["model"]),
        " with the SHA-256 ",
        code(original["sha256"]),
        f", on which a check had {plural(original['findings'], 'finding')} ({original['verdict']}). The record: ",
        code(f"configuration/rewrites/{found['file']}"),
        ".",
    )
    yield element("p", f"{found['said'][:1].upper()}{found['said'][1:]}.", class_="" if found["done"] else "open")
    yield _kinds(rewrites)
    if rewrites:
        rows = [(code(each["kind"]), code(each["place"]), each["name"], each["before"], each["after"])
                for each in rewrites]  # fmt: skip
        yield folding(f"All {len(rewrites)} rewrites", table(("kind", "place", "name", "before", "after"), rows))
    if found["left"]:
        yield element("p", "Left over in the rewritten model, for a person:")
        yield element("ul", *(element("li", *_left(each)) for each in found["left"]))


def _kinds(rewrites: Sequence[Mapping[str, Any]]) -> Markup:
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for each in rewrites:
        kinds.setdefault(each["kind"], []).append(each)
    if not kinds:
        return element("p", "Nothing was rewritten.", class_="soft")
    rows = []
    for kind, made in kinds.items():
        rules = sorted({rule for each in made for rule in each["rules"]})
        proved = sorted({each["theorem"] for each in made} - {""})
        changes = sorted({each["changes"] for each in made} - {""})
        rows.append((code(kind), str(len(made)), ", ".join(rules), ", ".join(proved) or "construction",
                     join(changes, "; ")))  # fmt: skip
    return table(("kind", "#rewrites", "for", "the values stay by", "what changes"), rows)


def _left(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"{found['verdict']} "
    yield code(found["rule"])
    yield f": {found['remedy']} "
    yield "; ".join(f"{reason} ({', '.join(where)})" for reason, where in found["reasons"])
