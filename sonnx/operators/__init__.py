"""The operators: for each a module with the formula of its text, its definition, and faster ways to the same values."""

from sonnx.operators.operator import Operator, StatedOperator
from sonnx.operators.registry import (
    all_operators,
    all_stated_operators,
    find_operator,
    is_executable,
    names_of,
    operator_facts,
    operator_of,
    stated_operator,
)

__all__ = [
    "Operator",
    "StatedOperator",
    "all_operators",
    "all_stated_operators",
    "find_operator",
    "is_executable",
    "names_of",
    "operator_facts",
    "operator_of",
    "stated_operator",
]
