"""Every sentence of the pages that promise something names the tests that hold it, or is listed as an explanation."""

from __future__ import annotations

import ast
import re
import tomllib
from argparse import ArgumentParser
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from sonnx.cli.commands import suite
from sonnx.cli.main import _names
from tests.support.paths import ROOT
from tests.support.sentences import sentences

PAGES = tomllib.loads((ROOT / "tests/data/promises.toml").read_text("utf-8"))["page"]
EACH = pytest.mark.parametrize("page", PAGES, ids=lambda page: page["file"])
NETWORK = {"socket", "ssl", "http", "urllib.request", "ftplib", "smtplib", "xmlrpc", "requests", "distributed"}


def sentences_of(page: dict[str, Any]) -> list[str]:
    listed = sentences(ROOT / page["file"])
    return [text for heading, text in listed if not page.get("sections") or heading in page["sections"]]


@EACH
def test_every_sentence_has_one_entry(page: dict[str, Any]) -> None:
    beginnings = (*page["held"], *page["explains"])
    for sentence in sentences_of(page):
        found = [each for each in beginnings if sentence.startswith(each)]
        assert found, f"no entry for: {sentence}"
        assert len(found) == 1 or len({len(each) for each in found}) > 1, sentence


@EACH
def test_every_entry_has_a_sentence(page: dict[str, Any]) -> None:
    listed = sentences_of(page)
    for each in (*page["held"], *page["explains"]):
        assert any(sentence.startswith(each) for sentence in listed), each


@EACH
def test_the_tests_exist(page: dict[str, Any]) -> None:
    for each in {test for tests in page["held"].values() for test in tests}:
        file, _, name = each.partition("::")
        assert name in _tests(file), each


@cache
def _tests(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return frozenset(each.name for each in tree.body if isinstance(each, ast.FunctionDef))


def test_the_tests_of_each_kind_of_failure_exist() -> None:
    text = (
        (ROOT / "docs" / "robustness.md").read_text("utf-8").partition("## Kinds of failures")[2].partition("\n## ")[0]
    )
    rows = re.findall(r"^\| (?!kind|---).* \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) == 11
    for row in rows:
        for part in row.split("; "):
            file, *names = re.findall(r"`([^`]+)`", part)
            assert names
            assert set(names) <= _tests(file), part


def test_only_the_cluster_opens_connections() -> None:
    """No module of the program but that of --cluster imports a library of the network."""
    for path in sorted((ROOT / "sonnx").rglob("*.py")):
        names, text = set[str](), path.read_text("utf-8")
        for each in ast.walk(ast.parse(text)) if any(name in text for name in NETWORK) else ():
            if isinstance(each, ast.Import):
                names |= {one.name for one in each.names}
            elif isinstance(each, ast.ImportFrom):
                names.add(each.module or "")
        used = {name for name in names if name in NETWORK or name.partition(".")[0] in NETWORK}
        assert not used or path.name == "cluster.py", (path.name, used)


ROW = re.compile(r"^\| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def test_the_commands_of_the_table_are_those_of_the_program() -> None:
    """A command has the limits by default exactly where the table says so."""
    text = (ROOT / "docs" / "threat-model.md").read_text("utf-8").partition("## Budgets")[2].partition("\n## ")[0]
    table = {name: limits for name, _, limits in ROW.findall(text)}
    assert sorted(table) == _names()
    for name, limits in table.items():
        made = import_module(f"sonnx.cli.commands.{name.replace('-', '_')}")
        own = [each for each in vars(made).values() if getattr(each, "__module__", "") == made.__name__]
        assert any(hasattr(each, "__wrapped__") for each in own) == ("600 s" in limits), name


def test_the_commands_of_suite_have_the_limits_that_the_table_says() -> None:
    row = re.search(r"^\| `suite` \|.*$", (ROOT / "docs" / "threat-model.md").read_text("utf-8"), re.MULTILINE)
    assert row is not None
    limited, rest = row[0].split("600 s, 8,192 MB", 1)
    for name in suite.SUBCOMMANDS:
        parser = ArgumentParser()
        suite.add_arguments(parser)
        subjects = ["a"] * len(suite.SUBCOMMANDS[name][2])
        given = vars(parser.parse_args([name, *subjects]))
        budget = (given.get("timeout", "none"), given.get("memory", "none"))
        said = {"run": (60, 8192), "make": ("none", "none")}.get(name, (None, None))  # None: the default of a command
        assert budget == said
        assert f"`{name}`" in (limited if said == (None, None) else rest)
