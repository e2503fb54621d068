"""Objectives of standards: every row has a source, its commands can be given, and a pack or kit has its files."""

from __future__ import annotations

import shlex
from collections import Counter
from functools import cache

import pytest

from sonnx.cli import main
from sonnx.evidence import qualification_kit
from sonnx.evidence.objectives import KIT, PACK, Objective, Standard, absent_files, objectives_page, standards
from tests.support.cases import each_case
from tests.support.paths import ROOT

ROWS = [(standard, each) for standard in standards() for each in standard.objective]
PACK_TABLE = (ROOT / "docs" / "audit.md").read_text("utf-8")
parser = cache(main.parser)
REQUIRED = {"DO-330", "DO-178C", "ED-324", "EASA", "ISO 26262-8", "ISO/PAS 8800", "EN 50128"}


def test_each_standard_has_a_table_with_a_version() -> None:
    assert {each.id for each in standards()} == REQUIRED
    assert all(each.version and each.use and each.objective for each in standards())
    [draft] = [each for each in standards() if each.id == "ED-324"]
    assert draft.version.startswith("draft 5b")


@each_case(("standard", "row"), ROWS, ids=[row.id[0] for _, row in ROWS])
def test_every_row_has_a_source_and_says_what_remains(standard: Standard, row: Objective) -> None:
    assert row.source in standard.sources
    assert all((row.id, row.asks.endswith("."), row.gives.endswith("."), row.remains.endswith(".")))
    if row.commands or row.files:
        assert row.gives != "Nothing: it is not a matter of a tool."
    else:
        assert row.gives.startswith("Nothing: ")
    for line in row.commands:
        program, *arguments = shlex.split(line)
        assert program == "sonnx"
        try:
            assert callable(parser().parse_args(arguments).command)
        except SystemExit as end:  # --help and --version print and end
            assert not end.code, line


def test_every_source_is_used_and_no_objective_stands_twice() -> None:
    for standard in standards():
        assert {each.source for each in standard.objective} == set(standard.sources), standard.id
        repeated = Counter(name for each in standard.objective for name in each.id)
        assert set(repeated.values()) == {1}, standard.id


@pytest.mark.parametrize("name", sorted({name for _, row in ROWS for name in row.files}))
def test_every_named_file_is_of_a_pack_or_kit(name: str) -> None:
    kind, _, file = name.partition("/")
    listed = {PACK: PACK_TABLE, KIT: qualification_kit.FIRST_PAGE}[f"{kind}/"]
    top = f"{file.split('/')[0]}/" if "/" in file else file
    assert any(each in listed for each in (f"`{top}`", f"| {top} |")) or name == "kit/README.md"


def test_a_file_that_a_pack_has_not_is_named() -> None:
    every = {"pack/configuration/box/", "pack/properties/", "pack/report.html", "pack/theorems/"}
    assert every <= set(absent_files(()))
    found = absent_files({"report.html", "theorems/x.1.smt2", "configuration/box/x.npy", "suites-of-others.json"})
    assert every - set(found) == every - {"pack/properties/"}
    assert "pack/suites/" in found
    assert not any(each.startswith(KIT) for each in found)


def test_the_page_marks_rows_that_follow_a_title() -> None:
    page = objectives_page()
    lines = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| objective |")]
    assert len(lines) == len(ROWS)
    assert sum("*(by title)*" in line for line in lines) == sum(row.named_by == "title" for _, row in ROWS)
    assert {line.count(" | ") for line in lines} == {5}
