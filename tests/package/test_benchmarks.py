"""Benchmarks and examples, which `make test` does not run, name what the product has."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

from tests.support.cases import each_case
from tests.support.paths import ROOT

FILES = sorted([*ROOT.glob("benchmarks/*.py"), *ROOT.glob("examples/**/*.py")])


@each_case("file", [str(path.relative_to(ROOT)) for path in FILES])
def test_what_is_imported_exists(file: str) -> None:
    for node in ast.walk(ast.parse((ROOT / Path(file)).read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in {"sonnx", "tests"}:
            module = import_module(node.module or "")
            for name in node.names:
                known = hasattr(module, name.name) or import_module(f"{node.module}.{name.name}")
                assert known, f"{node.module}.{name.name}"
