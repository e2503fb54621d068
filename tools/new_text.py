"""A new text of the profile arrives: what a page changes, which rules that concerns, and the new map of its labels.

    python -m tools.new_text PAGE [--before OLD_PAGE] [--map FILE] [--text NAME] [--write FILE]

PAGE is a page of the new text.  Its statements (labels, type lists, shapes, formulas, error conditions) are compared
with the newest map of a page of that name in tests/data/label_map, which has the first 90 characters of each; with the
page before, they are compared whole.  The list says which rules, cases, errata and editions each statement concerns
that is new, changed, renamed or gone.  In the map that --write writes each of these has the key `review`, which the
tests refuse until a person has decided; the others have their entries.

A page of ONNX's documentation that restrictions/technical_pages.toml pins, such as float6.md, has no labels: it is
compared with the sentences there.

CONTRIBUTING.md has the recipe.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sonnx.profile import catalogue
from sonnx.profile.cases import cases_by_rule
from sonnx.profile.index import rules_by_slug
from sonnx.profile.technical_pages import TechnicalPage, technical_pages
from tests.support.text_statements import Statement, shortened, statements

MAPS = Path(__file__).parent.parent / "tests" / "data" / "label_map"
SHOWS = ("rules", "values", "errata", "commands", "none")
KEPT, RENAMED, CHANGED, NEW, GONE = "kept", "renamed", "changed", "new", "gone"
KINDS = (GONE, CHANGED, RENAMED, NEW, KEPT)


class Change(NamedTuple):
    """A statement of the new page, or one that is gone, with the entry of the map before."""

    kind: str
    statement: Statement
    entry: Mapping[str, Any]


def changes(entries: Sequence[Mapping[str, Any]], after: Sequence[Statement], whole: Mapping[str, str]) -> list[Change]:
    """How the statements of a page differ from those of its map, in the order of the page; those that are gone last.

    Args:
        entries: of the map before.
        after: the statements of the new page, with whole quotations.
        whole: the whole quotation of each statement before, by its key; empty if the page before is not at hand.
    """
    known = {key(each["at"], each["label"]): each for each in entries}
    found, used = [], set[str]()
    for statement in after:
        name = key(statement.place, statement.label)
        if name in known:
            used.add(name)
            same = whole.get(name) == statement.quote if whole else known[name]["quote"] == recorded(statement)
            found.append(Change(KEPT if same else CHANGED, statement, known[name]))
        else:
            found.append(Change(NEW, statement, {}))
    left = {entry["quote"]: entry for name, entry in known.items() if name not in used and entry["quote"]}
    for place, change in enumerate(found):
        entry = left.pop(recorded(change.statement), None) if change.kind == NEW else None
        if entry is not None:
            used.add(key(entry["at"], entry["label"]))
            found[place] = Change(RENAMED, change.statement, entry)
    gone = [entry for name, entry in known.items() if name not in used]
    return [*found, *(Change(GONE, _statement(entry), entry) for entry in gone)]


def key(place: str, label: str) -> str:
    """What names a statement on its page."""
    return f"{place} / {label}"


def recorded(statement: Statement) -> str:
    """The quotation as a map has it: a list of types is whole."""
    return statement.quote if statement.label.startswith("types") else shortened(statement.quote)


def _statement(entry: Mapping[str, Any]) -> Statement:
    section, _, part = entry["at"].partition(" / ")
    return Statement(section, part, entry["label"], entry["quote"])


# ------------------------------------------------------------------ the list


def listed(found: Sequence[Change], page: Mapping[str, Any]) -> Iterator[str]:
    """The list in Markdown: figures, then each statement that needs a decision with what it concerns."""
    number = {kind: sum(each.kind == kind for each in found) for kind in KINDS}
    yield f"# {Path(page['page']).name}: {', '.join(f'{number[kind]} {kind}' for kind in KINDS)}"
    editions = catalogue.editions().editions.values()
    taking = [edition.name for edition in editions if edition.operators.get(page.get("operator", "")) == page["text"]]
    yield ""
    yield f"Editions that take the text {page['text']} of this page: {', '.join(taking) or 'none by an operator'}."
    for change in found:
        if change.kind != KEPT:
            yield ""
            yield f"## {change.kind}: {key(change.statement.place, change.statement.label).removeprefix(' / ')}"
            yield ""
            if change.kind in (CHANGED, RENAMED):
                yield f"* before, {change.entry['label']}: {change.entry['quote']}"
            yield f"* {'before' if change.kind == GONE else 'now'}: {change.statement.quote}"
            yield from concerned(change.entry)


def concerned(entry: Mapping[str, Any]) -> Iterator[str]:
    """The rules of an entry with their files, cases and errata, and what else shows the statement."""
    rules, cases = rules_by_slug(), cases_by_rule("conforms", "invalid", "violates")
    for slug in entry.get("rules", ()):
        file = f"operators/{slug.partition('.')[0].lower()}.toml" if "." in slug else "general.toml or graph.toml"
        errata = "".join(f", erratum {name}" for name in rules[slug].errata) if slug in rules else ""
        yield f"* rule {slug}: restrictions/{file}, {len(cases.get(slug, ()))} cases{errata}"
    yield from (f"* value of {name}" for name in entry.get("values", ()))
    yield from (f"* erratum {name}: does it still hold?" for name in entry.get("errata", ()))
    yield from (f"* command {name}" for name in entry.get("commands", ()))
    if "none" in entry:
        yield f"* no rule so far: {entry['none']}"


def technical_changes(pinned: TechnicalPage, content: bytes) -> Iterator[str]:
    """The list of a technical page: the sentences that are gone, and what follows them."""
    text, name = content.decode("utf-8"), Path(pinned.file).name
    gone = [sentence for sentence in pinned.sentences if sentence not in text]
    if hashlib.sha256(content).hexdigest() == pinned.sha256:
        yield f"# {name}: the state of commit {pinned.commit}"
    else:
        number = f"{len(gone)} of {len(pinned.sentences)} sentences are gone"
        yield f"# {name}: changed since commit {pinned.commit}; {number}"
    for sentence in gone:
        yield ""
        yield f"## gone: {sentence}"
        yield ""
        yield from (f"* module {module}" for module in pinned.modules)


# ------------------------------------------------------------------ the map


def new_map(found: Sequence[Change], page: Mapping[str, Any], text: str, content: bytes) -> str:
    """The map of the new page as TOML."""
    heads = {"page": page["page"], "text": text, "revision": ""}
    heads |= {"operator": page["operator"]} if "operator" in page else {}
    heads |= {"sha256": hashlib.sha256(content).hexdigest()}
    lines = [f"{name:8} = {json.dumps(value)}" for name, value in heads.items()]
    lines += ["", "statements = ["]
    lines += [f"  {{ {', '.join(_fields(change))} }}," for change in found if change.kind != GONE]
    return "\n".join([*lines, "]"]) + "\n"


def _fields(change: Change) -> Iterator[str]:
    statement = change.statement
    shown = {"at": statement.place, "label": statement.label, "quote": recorded(statement)}
    shown |= {name: change.entry[name] for name in ("tag", *SHOWS) if name in change.entry}
    if change.kind != KEPT:
        shown["review"] = change.kind
    yield from (f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in shown.items())


def newest_map(name: str) -> Path:
    """The map of the newest text that has a page of this name."""
    paths = [path for path in MAPS.glob("*.toml") if Path(tomllib.loads(path.read_text("utf-8"))["page"]).name == name]
    if not paths:
        sys.exit(f"no map in {MAPS} is of a page {name}; name one with --map")
    return max(paths, key=lambda path: path.name)


def main() -> int:
    """Print the list, and write the map."""
    parser = argparse.ArgumentParser(description="What a new page of the profile changes.")
    parser.add_argument("page", type=Path)
    parser.add_argument("--before", type=Path, metavar="OLD_PAGE", help="the page before, to compare whole statements")
    parser.add_argument("--map", type=Path, metavar="FILE", help="default: the newest map of a page of that name")
    parser.add_argument("--text", default="", metavar="NAME", help="the name of the new text, for example 2027-01")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the new map of labels")
    options = parser.parse_args()
    for pinned in technical_pages():
        if Path(pinned.file).name == options.page.name:
            print("\n".join(technical_changes(pinned, options.page.read_bytes())))
            return 0
    page = tomllib.loads((options.map or newest_map(options.page.name)).read_text("utf-8"))
    content, whole = options.page.read_bytes(), {}
    if options.before is not None:
        whole = {
            key(statement.place, statement.label): statement.quote
            for statement in statements(options.before.read_text("utf-8"), True)
        }
    found = changes(page["statements"], statements(content.decode("utf-8"), True), whole)
    print("\n".join(listed(found, page)))
    if options.write is not None:
        options.write.write_text(new_map(found, page, options.text, content), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
