"""Every promise of a page names the tests that hold it, by an identifier in a comment of the page.

The comment stands below the paragraph or list item that makes the promises.  In a section that has such a comment every
paragraph has one, or the comment that it makes none.
"""

from __future__ import annotations

import ast
import re
import tomllib
from argparse import ArgumentParser
from collections import Counter
from functools import cache
from importlib import import_module

from sonnx.cli.commands import suite
from sonnx.cli.main import _names
from tests.support.paths import ROOT
from tests.support.sentences import Paragraph, paragraphs
from tools.pages.site import written_by_hand

HELD: dict[str, list[str]] = tomllib.loads((ROOT / "tests/data/promises.toml").read_text("utf-8"))
"""The tests of each promise."""
PAGES = {page: [*paragraphs(text)] for page, text in written_by_hand().items()}
NETWORK = {"socket", "ssl", "http", "urllib.request", "ftplib", "smtplib", "xmlrpc", "requests", "distributed"}


def unmarked(page: list[Paragraph]) -> list[str]:
    """The paragraphs that do not say what they promise, in the sections that promise something."""
    sections = {each.heading for each in page if each.promises}
    return [each.text for each in page if each.heading in sections and each.promises is None]


def test_every_promise_has_tests() -> None:
    """And is made once."""
    made = Counter(name for page in PAGES.values() for each in page for name in each.promises or ())
    assert set(made) == set(HELD)
    assert max(made.values()) == 1
    assert all(HELD.values())


def test_every_paragraph_beside_promises_says_what_it_promises() -> None:
    assert {page: found for page, listed in PAGES.items() if (found := unmarked(listed))} == {}


def test_a_paragraph_without_a_comment_is_found() -> None:
    text = (
        "# A\n\nFirst.\n<!-- promise: a, b -->\n\n* Second,\n  third.\n* Last.\n  <!-- no promise -->\n\n# B\n\nFree.\n"
    )
    page = [*paragraphs(text)]
    assert [each.promises for each in page] == [("a", "b"), None, (), None]
    assert unmarked(page) == ["Second, third."]


def test_the_tests_exist() -> None:
    for promise, tests in HELD.items():
        for each in tests:
            file, _, name = each.partition("::")
            assert name in _tests(file), (promise, each)


@cache
def _tests(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return frozenset(each.name for each in tree.body if isinstance(each, ast.FunctionDef))


def test_the_tests_of_each_kind_of_failure_exist() -> None:
    text = (
        (ROOT / "docs" / "robustness.md").read_text("utf-8").partition("## Kinds of failures")[2].partition("\n## ")[0]
    )
    rows = re.findall(r"^\| (?!kind|---).* \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) == 18
    for row in rows:
        for part in row.split("; "):
            file, *names = re.findall(r"`([^`]+)`", part)
            assert names
            assert set(names) <= _tests(file), part


def test_the_tests_and_the_campaigns_of_each_class_exist() -> None:
    """Of the table of classes, and of that of known defects."""
    text = (ROOT / "docs" / "robustness.md").read_text("utf-8")
    classes = re.findall(
        r"^\| (?!class|---)([^|]+) \| [^|]+ \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", text.partition("\n## ")[0], re.M
    )
    assert len(classes) >= 20
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for name, tests, campaign, figure in classes:
        assert "`tests/" in tests, name
        assert figure.strip(), name
        for target in re.findall(r"`make ([a-z-]+)`", campaign):
            assert target in targets, name
        for module in re.findall(r"`python -m ([a-z._]+)", campaign):
            assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), name
    known = text.partition("## Known defects")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?!row|---).* \| .* \| (.*) \|$", known, re.MULTILINE)
    assert len(rows) == 18
    assert all(row.startswith("`tests/") for row in rows)
    assert {f"N{number} " in known for number in range(1, 17)} == {True}
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text):
        assert name in _tests(file), (file, name)


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
