"""The operators that the executor knows, by name; they are found by the files of this folder.

A file for each operator, named like it in lower case (`and_.py`, `or_.py` and `not_.py` for And, Or and Not), states
its `OPERATOR`.  It is imported at the first look-up of its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from sonnx.base.errors import NotExecutable
from sonnx.base.escaping import quote
from sonnx.model.ir import Node
from sonnx.model.scopes import canonical_domain
from sonnx.operators.operator import Operator

OTHER_MODULES = frozenset(
    {"__init__", "operator", "recurrent_cells", "recurrent_sequences", "registry", "stated_signature"}
)
"""The files of this folder that are not an operator."""


@cache
def _modules() -> Mapping[str, str]:
    """The module of each operator by its name in lower case; a name in a model never becomes a path."""
    stems = {entry.stem for entry in Path(__file__).parent.glob("*.py")} - OTHER_MODULES
    return {stem.rstrip("_"): f"{__package__}.{stem}" for stem in stems}


def find_operator(name: str) -> Operator | None:
    """The operator of the standard domain with this name, None where the executor does not know it."""
    module = _modules().get(name.lower())
    if module is None:
        return None
    found: Operator = import_module(module).OPERATOR
    return found if found.name == name else None


def operator_of(name: str, domain: str) -> Operator:
    """The operator with a name in a domain.

    Raises:
        NotExecutable: the executor does not know it.
    """
    found = None if canonical_domain(domain) else find_operator(name)
    if found is None:
        of_domain = f" of the domain {quote(domain)}" if canonical_domain(domain) else ""
        raise NotExecutable(f"the executor does not know the operator {quote(name)}{of_domain}")
    return found


def is_executable(node: Node) -> bool:
    """Whether the executor knows the operator of a node."""
    try:
        operator_of(node.operator, node.domain)
    except NotExecutable:
        return False
    return True


def all_operators() -> Mapping[str, Operator]:
    """Every operator that the executor knows, by name."""
    found: list[Operator] = [import_module(module).OPERATOR for module in _modules().values()]
    return {each.name: each for each in sorted(found, key=lambda each: each.name)}
