"""The page of flows names functions and classes that exist."""

from __future__ import annotations

import ast
import re

from tests.support.paths import DOCS, ROOT

PAGE = (DOCS / "flows.md").read_text("utf-8")


def test_what_the_page_names_exists() -> None:
    named = re.findall(r"`(\w+)`\s+of\s+`(sonnx/[\w/]+\.py)`", PAGE)
    assert len(named) > 20
    for name, file in named:
        tree = ast.parse((ROOT / file).read_text("utf-8"))
        defined = {each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
        assert name in defined, (file, name)
