"""The operators: for each a module with the formula of its text, its definition, and faster ways to the same values."""

from sonnx.operators.operator import Operator
from sonnx.operators.registry import all_operators, find_operator, is_executable, operator_of

__all__ = ["Operator", "all_operators", "find_operator", "is_executable", "operator_of"]
