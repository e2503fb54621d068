"""Public types have different names, and the modules of a package do not import each other in circles."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.paths import ROOT


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of each module of the package, by name."""
    paths = (path.relative_to(ROOT) for path in (ROOT / "sonnx").rglob("*.py"))
    return {_module(path): ast.parse((ROOT / path).read_text("utf-8")) for path in paths}


@cache
def imports() -> dict[str, list[ast.Import | ast.ImportFrom]]:
    """The statements of import in each module, by name."""
    return {
        name: [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        for name, tree in trees().items()
    }


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imports(module: str) -> Iterator[str]:
    for node in imports()[module]:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in trees() else node.module


def test_public_types_have_different_names() -> None:
    types = (node for tree in trees().values() for node in tree.body if isinstance(node, ast.ClassDef))
    numbers = Counter(node.name for node in types if not node.name.startswith("_"))
    assert {name for name, number in numbers.items() if number > 1} == set()


def test_no_module_imports_itself_by_way_of_others() -> None:
    known = {module: set(_imports(module)) & trees().keys() - {module} for module in trees()}
    while removed := {module for module, imported in known.items() if not imported}:
        known = {module: imported - removed for module, imported in known.items() if module not in removed}
    while removed := known.keys() - set().union(*known.values()):
        known = {module: imported for module, imported in known.items() if module not in removed}
    assert {module for module in known if _reaches(known, module)} == set()


def test_nothing_is_unpickled() -> None:
    """Processes exchange JSON; a Dask cluster alone pickles, and is trusted.  The stored tables are marshalled code."""
    pickling = {"pickle", "shelve", "multiprocessing", "concurrent.futures.process", "ProcessPoolExecutor", "dill"}
    imported = {
        name: {alias.name for node in nodes for alias in node.names}
        | {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        for name, nodes in imports().items()
    }
    assert {name for name, modules in imported.items() if modules & pickling} == set()


def test_no_function_of_the_library_switches_the_garbage_collector() -> None:
    """It is that of the whole process; the program may do so in its own processes."""
    own_processes = {"sonnx.__main__", "sonnx.base.garbage", "sonnx.workers.theorems"}
    switching = {
        name for name, nodes in imports().items() if any(alias.name == "gc" for node in nodes for alias in node.names)
    }
    callers = {name for name in trees() if "sonnx.base.garbage" in _imports(name)}
    assert (switching, callers) == (own_processes, {"sonnx.__main__", "sonnx.supervise.child"})


def _reaches(known: dict[str, set[str]], module: str) -> bool:
    """Whether a module imports itself by way of others."""
    seen: set[str] = set()
    waiting = [*known[module]]
    while waiting:
        other = waiting.pop()
        if other not in seen:
            seen.add(other)
            waiting += known.get(other, ())
    return module in seen
