"""docs/trust.md names every module that the theorems rest on, which are those they import, and no other module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.paths import DOCS, ROOT

ROOTS = ("sonnx.proofs.registry", "sonnx.prover.driver")
HEADING = "## The modules that theorems rest on"


@cache
def path_of(module: str) -> Path | None:
    """The file of a module of the project; None for a package without code of its own, or another name."""
    stem = ROOT / module.replace(".", "/").replace("sonnx/proofs", "proofs", 1)
    return next((each for each in (stem.with_suffix(".py"),) if each.is_file()), None)


@cache
def imports(path: Path) -> tuple[str, ...]:
    """The modules a file imports, inside functions too, but not for type checking only."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text("utf-8"))
    for_types = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in for_types:
            yield node.module or ""
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def imported() -> set[str]:
    """The files of all modules that the roots import, directly or through others."""
    found, waiting = set[Path](), list(ROOTS)
    while waiting:
        path = path_of(waiting.pop())
        if path is not None and path not in found:
            found.add(path)
            waiting += imports(path)
    return {path.relative_to(ROOT).as_posix() for path in found}


def named() -> tuple[set[str], set[str]]:
    """The files and the folders that the section names."""
    section = (DOCS / "trust.md").read_text("utf-8").split(HEADING)[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    names = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    return {name for name in names if name.endswith(".py")}, {name for name in names if name.endswith("/")}


def test_every_module_that_theorems_rest_on_is_named() -> None:
    files, folders = named()
    assert [each for each in sorted(imported() - files) if not each.startswith(tuple(folders))] == []


def test_theorems_rest_on_every_module_that_is_named() -> None:
    files, folders = named()
    assert files <= imported()
    assert [folder for folder in folders if not any(each.startswith(folder) for each in imported())] == []


def test_the_modules_of_the_translation_are_named_one_by_one() -> None:
    files, folders = named()
    assert not {"sonnx/", "sonnx/prover/", "sonnx/language/"} & folders
    assert {each for each in imported() if each.startswith("sonnx/prover/smt_")} <= files
