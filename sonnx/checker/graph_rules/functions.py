"""Rules about a model-local function.

Each public function is the rule of its name in restrictions/graph.toml: it yields what is wrong with its subject.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonnx.base.escaping import quote
from sonnx.checker.graph_rules.defect import Defect
from sonnx.model.ir import Function
from sonnx.model.scopes import standard


def function_overrides_operator(function: Function) -> Iterator[Defect]:
    if standard(function.domain) == "":
        yield Defect(f"the function {quote(function.name)} has the domain of the standard operators")
