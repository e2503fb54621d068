"""No list of operator names outside the room of the operators: a class of operators is a fact that is asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import sonnx
from sonnx.operators import all_stated_operators

PACKAGE = Path(sonnx.__file__).parent
NAMES = frozenset(all_stated_operators())
BY_CONSTANT = {name.upper(): name for name in NAMES}
"""Operators by the names of enumeration members, without underscores."""
MANY = 4

EXCEPTIONS = {
    "equivalence/interpretation/averages.py Add": "the steps of the formula of one operator, LRN, in their order",
    "equivalence/interpretation/choices.py Clip": "the last node of each function that is written out",
}
"""By file and the first name, lists that stay, each with the reason; at most three."""


def _elements(node: ast.AST) -> Iterable[ast.expr | ast.pattern]:
    """The parts of a node that may be names of operators: of a collection, of alternatives, of one call."""
    match node:
        case ast.Set() | ast.Tuple() | ast.List():
            return node.elts
        case ast.Dict():
            return [*filter(None, node.keys), *node.values]
        case ast.Call():
            return node.args
        case ast.MatchOr():
            return [each.value if isinstance(each, ast.MatchValue) else each for each in node.patterns]
        case ast.BoolOp():
            return [each for part in node.values if isinstance(part, ast.Compare) for each in part.comparators]
    return ()


def _names(element: ast.AST) -> set[str]:
    """The operators that an element names: as text, as a member of an enumeration, or first in a row of a table."""
    match element:
        case ast.Constant(value=str() as text):
            return {text} & NAMES
        case ast.Attribute(attr=member) if member.isupper():
            return {BY_CONSTANT[key] for key in [member.replace("_", "")] if key in BY_CONSTANT}
        case ast.Tuple(elts=[first, *_]) | ast.List(elts=[first, *_]):
            return _names(first)
    return set()


def lists_of_operators(source: str) -> Iterator[tuple[int, list[str]]]:
    """The lines with many names of operators together, and the names; a text of words that are names counts too."""
    words = {*re.findall(r"[A-Za-z]\w*", source)}
    if (
        len((NAMES & words) | {each for each in words if each.isupper() and each.replace("_", "") in BY_CONSTANT})
        < MANY
    ):
        return  # most files: it costs time to parse them
    nodes = [*ast.walk(ast.parse(source))]
    documented = {
        id(node.body[0].value)  # type: ignore[attr-defined]
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
    }
    for node in nodes:
        found = frozenset(name for element in _elements(node) for name in _names(element))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            words = re.findall(r"\w+", node.value)
            found = NAMES.intersection(words) if NAMES.issuperset(words) else set()
        if len(found) >= MANY:
            yield node.lineno, sorted(found)  # type: ignore[attr-defined]


def test_no_list_names_a_class_of_operators() -> None:
    found: dict[str, str] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.is_relative_to(PACKAGE / "operators"):
            continue
        for line, names in lists_of_operators(path.read_text("utf-8")):
            found[f"{path.relative_to(PACKAGE).as_posix()} {names[0]}"] = f"line {line}: {', '.join(names)}"
    assert {key: text for key, text in found.items() if key not in EXCEPTIONS} == {}
    assert EXCEPTIONS.keys() <= found.keys()
    assert len(EXCEPTIONS) <= 3


@pytest.mark.parametrize(
    "source",
    [
        'MOVING = frozenset({"Reshape", "Squeeze", "Flatten", "Unsqueeze"})',
        'MOVING = "Reshape Squeeze Flatten Unsqueeze".split()',
        "MOVING = (Name.RESHAPE, Name.SQUEEZE, Name.FLATTEN, Name.LEAKY_RELU)",
        'MOVING = {"Reshape": 1, "Squeeze": 2, "Flatten": 3, "Unsqueeze": 4}',
        'MOVING = [("Reshape", 1), ("Squeeze", 2), ("Flatten", 3), ("Unsqueeze", 4)]',
        'def f(x):\n match x:\n  case "Reshape" | "Squeeze" | "Flatten" | "Unsqueeze": pass',
        'x = a == "Reshape" or a == "Squeeze" or a == "Flatten" or a == "Unsqueeze"',
    ],
)
def test_a_list_is_found(source: str) -> None:
    [(_, names)] = lists_of_operators(source)
    assert len(names) == MANY


def test_other_texts_are_none() -> None:
    assert list(lists_of_operators('"""Conv, Gemm, MatMul and Mul."""\nx = ["Conv", "Gemm", "MatMul", "conv"]')) == []
    assert list(lists_of_operators("def f():\n    '''Conv Gemm MatMul Mul'''")) == []
