"""The sources of the site: all pages in one folder, with links that resolve there."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath

from sonnx.evidence.objectives import objectives_page
from sonnx.evidence.traceability import of_operator, traces
from sonnx.profile import catalogue
from sonnx.proofs.registry import theorems
from sonnx.prover import record
from tools.pages import errata, operators, rules, traceability
from tools.pages import theorems as theorem_pages
from tools.pages.rule_entries import GENERATED

ROOT = Path(__file__).parent.parent.parent
TOP_PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
"""Pages of the top folder; the site has them in `above/`."""
ORPHAN = "---\norphan: true\n---\n\n"
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")
FILE_NAME = re.compile(r"\[([\w/.-]+\.md)\]\(([^)\s#]+)(?=[)#])")
"""A link whose text is the name of a file."""
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


def written_by_hand() -> dict[str, str]:
    """The pages of the repository by their paths."""
    paths = [ROOT / name for name in TOP_PAGES] + sorted((ROOT / "docs").rglob("*.md"))
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}


@cache
def generated() -> Mapping[str, str]:
    """The generated pages and pictures by the paths they would have in the repository."""
    proved = theorems()
    traced = traces(proved)
    by_id = {theorem.id: theorem for theorem in proved}
    whole: dict[str, list[str]] = {}
    for theorem in proved:
        if of_operator(theorem) and theorem.id.count(".") == 2:
            whole.setdefault(of_operator(theorem), []).append(theorem.id)
    made: dict[str, str] = {
        **{f"docs/{name}": text for name, text in traceability.pages(traced, proved).items()},
        "docs/errata.md": errata.page(),
        "docs/objectives.md": f"{GENERATED}\n\n{objectives_page()}",
        **{f"docs/{name}": text for name, text in rules.pages(traced, proved).items()},
        "docs/operators/index.md": operators.index(),
    }
    for operator in catalogue.operators():
        made[f"docs/operators/{operator.name.lower()}.md"] = operators.page(
            operator, traced, whole.get(operator.name, ()), by_id
        )
    known = record.read(record.usual_path())
    return made | {f"docs/theorems/{name}": text for name, text in theorem_pages.pages(proved, known).items()}


def site_path(path: str) -> str:
    """Where the site has a page of the repository."""
    return path.removeprefix("docs/") if path.startswith("docs/") else f"above/{path}"


def write_site(folder: Path) -> None:
    """Write all pages to a folder, which is emptied first."""
    pages = {**written_by_hand(), **generated()}
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in pages.items():
        target = folder / site_path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_source(path, text, pages, folder) if path.endswith(".md") else text, "utf-8")


def _source(path: str, text: str, pages: Mapping[str, str], folder: Path) -> str:
    """The page of the site; one of a folder with a list of its own is not in the contents beside every page."""
    listed = PurePosixPath(site_path(path))
    alone = len(listed.parts) > 1 and listed.parts[0] != "above" and listed.stem != "index"
    return (ORPHAN if alone else "") + _relinked(path, text, pages, folder)


def _relinked(page: str, text: str, pages: Mapping[str, str], folder: Path) -> str:
    """The text with each relative link changed from the repository's layout to that of the site.

    Where the text of a link is the name of a page, it becomes the title of the page.
    """
    here = folder / PurePosixPath(site_path(page)).parent

    def changed(found: re.Match[str]) -> str:
        if "://" in found[1]:
            return found[1]
        target = os.path.normpath(PurePosixPath(page).parent / found[1])
        to = folder / site_path(target) if target in pages else ROOT / target
        return Path(os.path.relpath(to, here)).as_posix()

    def titled(found: re.Match[str]) -> str:
        target = os.path.normpath(PurePosixPath(page).parent / found[2])
        title = TITLE.search(pages.get(target, ""))
        return f"[{title[1] if title else found[1]}]({found[2]}"

    return LINK.sub(changed, FILE_NAME.sub(titled, text))
