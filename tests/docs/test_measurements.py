"""Measured figures stand in docs/measurements, each table between the comments with its command."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import measurements
from benchmarks.measurements import MARKED, printed_tables, tables, write
from tests.support.paths import ROOT
from tests.support.sentences import prose
from tools.pages.site import written_by_hand

MEASURED = re.compile(r"\b(?:ms|µs|seconds|processor time|processor|MB|megabytes of memory|peak memory|/onnxruntime)\b")
"""What the head of a table of measured figures names."""
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def test_names_are_unique() -> None:
    assert max(Counter(each.name for each in tables()).values()) == 1


def test_every_table_of_the_measurements_has_a_command() -> None:
    """The index lists pages, and measures nothing."""
    for page in sorted(measurements.FOLDER.glob("*.md")):
        rest = MARKED.sub("", page.read_text("utf-8"))
        assert page.name == "index.md" or not re.search(r"^\|", rest, re.MULTILINE), page.name
        assert "<!-- " not in rest, page.name


def test_the_commands_exist() -> None:
    for each in tables():
        words = shlex.split(each.command)
        if words[0] == "make":
            assert words[1] in TARGETS, each.name
        elif words[:2] == ["python", "-m"]:
            path = ROOT / f"{words[2].replace('.', '/')}.py"
            assert path.is_file(), each.name
            assert "--write" not in words or f'write("{each.name}"' in path.read_text("utf-8"), each.name
        else:
            assert words[0] == "pytest", each.name


def test_no_other_page_has_measured_figures() -> None:
    """But the decisions, which keep the figures that they were made from."""
    for name, text in written_by_hand().items():
        if not name.startswith(("docs/measurements/", "docs/decisions/")):
            heads = re.findall(r"^(\|.*\|)\n\|[-:| ]+\|$", prose(text), re.MULTILINE)
            assert [head for head in heads if MEASURED.search(head)] == [], name


def test_a_table_is_replaced_where_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("A\n\n<!-- measured one: make x -->\n| a |\n<!-- end of one -->\n\nB\n\n" + mark("two", "| b |"))
    monkeypatch.setattr(measurements, "FOLDER", tmp_path)
    write("two", "| c |\n")
    assert page.read_text() == "A\n\n<!-- measured one: make x -->\n| a |\n<!-- end of one -->\n\nB\n\n" + mark(
        "two", "| c |"
    )
    with pytest.raises(KeyError, match="has no table three"):
        write("three", "| c |")


def mark(name: str, text: str) -> str:
    return f"<!-- measured {name}: python -m x -->\n{text}\n<!-- end of {name} -->\n"


def test_what_a_command_prints() -> None:
    assert printed_tables("begin\n| a | b |\n|---|---|\n| 1 | 2 |\nend\n") == "| a | b |\n|---|---|\n| 1 | 2 |\n"
    with pytest.raises(ValueError, match="no table"):
        printed_tables("nothing")
