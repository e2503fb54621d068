"""The generated pages say what the data say, and the site is built from them without a warning."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

import pytest

from sonnx.profile import catalogue
from sonnx.profile.index import rules_by_slug
from sonnx.proofs.registry import theorems
from sonnx.prover import record
from sonnx.report.phrases import rule_page
from tests.support.paths import DOCS, ROOT
from tests.support.sentences import prose
from tools.pages import theorems as theorem_pages
from tools.pages.site import generated, site_path, write_site, written_by_hand

LARGEST_SITE = 10_000_000
"""Bytes of the whole site."""


@pytest.fixture(scope="module")
def made() -> Mapping[str, str]:
    return generated()


def test_there_is_a_page_for_each_operator(made: Mapping[str, str]) -> None:
    pages = {path.partition("docs/operators/")[2] for path in made if path.startswith("docs/operators/")}
    assert pages == {"index.md", *(f"{each.name.lower()}.md" for each in catalogue.operators())}


def test_every_theorem_is_on_a_page(made: Mapping[str, str]) -> None:
    text = "".join(each for path, each in made.items() if path.startswith("docs/theorems/"))
    assert [each.id for each in theorems() if each.id.removeprefix("derived.") not in text] == []


def test_theorem_pages_are_few_and_small() -> None:
    pages = theorem_pages.pages(theorems(), record.read(record.usual_path()))
    stated = [name for name in pages if not name.startswith(theorem_pages.DERIVED)]
    assert len(stated) <= 25
    assert len(pages) - len(stated) <= len(catalogue.operators())
    assert max(len(text.encode()) for text in pages.values()) < 60_000


def test_generated_pages_are_not_tracked(made: Mapping[str, str]) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    tracked = subprocess.run(["git", "ls-files", "docs"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert set(made).isdisjoint(tracked.splitlines())


def test_the_site_has_every_page_and_builds_without_a_warning(tmp_path: Path, made: Mapping[str, str]) -> None:
    source, target = tmp_path / "pages", tmp_path / "site"
    write_site(source)
    written = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert written == {site_path(path) for path in (*written_by_hand(), *made)}
    if any(importlib.util.find_spec(name) is None for name in ("sphinx", "myst_parser", "furo")):
        pytest.skip("Sphinx is not installed: make docs installs it")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        "-c",
        str(DOCS),
        "-d",
        str(tmp_path / "doctrees"),
    ]
    done = subprocess.run([*command, str(source), str(target)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "<math" in (target / "operators" / "max.html").read_text("utf-8")
    pages = {path.relative_to(target).as_posix(): path.read_text("utf-8") for path in target.rglob("*.html")}
    for slug in rules_by_slug():
        page, _, place = rule_page("site", slug).removeprefix("site/").partition("#")
        assert f'id="{place}"' in pages[page], slug
    assert sum(path.stat().st_size for path in target.rglob("*") if path.is_file()) < LARGEST_SITE


def test_a_page_of_an_operator_begins_with_examples_then_rules(made: Mapping[str, str]) -> None:
    """And has captions above its tables."""
    text = made["docs/operators/max.md"]
    order = [
        text.index(f"## {title}") for title in ("An example that passes", "An example that fails", "Rules", "Editions")
    ]
    assert order == sorted(order)
    for path, page in made.items():
        if path.startswith("docs/operators/") and not path.endswith("index.md"):
            assert "```{table} Editions that have the operator" in page, path
            assert len(re.findall(r"^\|---", page, re.MULTILINE)) == page.count("```{table} ")


# ------------------------------------------------------------------ links


def anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.fixture(scope="module")
def site(made: Mapping[str, str]) -> dict[str, str]:
    """All pages, the generated ones too, by the paths they have or would have in the repository."""
    return {**written_by_hand(), **made}


def broken_links(page: str, site: dict[str, str]) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(site[page])):
        if "://" in target:
            continue
        file, _, place = target.partition("#")
        path = os.path.normpath(PurePosixPath(page).parent / file) if file else page
        if path not in site and not (ROOT / path).exists():
            yield target
        elif place:
            text = site[path] if path in site else (ROOT / path).read_text("utf-8")
            if place not in map(anchor, re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)):
                yield target


def test_links_lead_somewhere(site: dict[str, str]) -> None:
    assert {page: found for page in site if (found := list(broken_links(page, site)))} == {}
