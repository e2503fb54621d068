"""What the tool knows of an operator, in words: the facts of its object, with what each of them means.

The meanings are those of the docstrings of `StatedOperator` and `Operator`, which are their home.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, NamedTuple

from sonnx.operators.operator import CONSUMED_INPUTS, Operator, StatedOperator
from sonnx.operators.registry import modules

ELSEWHERE = frozenset({"name", "signature"})
"""Fields that are not shown: the name, and what stands in place of a data file."""
ENTRY = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


class Fact(NamedTuple):
    """One fact of an operator.

    Attributes:
        name: the field of its object.
        value: the value in words; "" for one that holds or does not, and for code.
        meaning: what the field says.
    """

    name: str
    value: str
    meaning: str


def facts_in_words(operator: StatedOperator) -> Iterator[Fact]:
    """The facts that are stated for an operator, in the order of the fields of its object."""
    for stated in fields(operator):
        value = getattr(operator, stated.name)
        if stated.name not in ELSEWHERE and value not in (False, None, "", (), {}) and value is not CONSUMED_INPUTS:
            yield Fact(stated.name, _in_words(value), meanings()[stated.name])


def source_of(operator: StatedOperator) -> str:
    """The file of the operator's object."""
    module = modules().get(operator.name.lower(), "sonnx.operators.stated_operators")
    return f"{module.replace('.', '/')}.py"


@cache
def meanings() -> Mapping[str, str]:
    """What each field says, by its name."""
    entries: dict[str, str] = {}
    for described in (StatedOperator, Operator):
        attributes = (inspect.getdoc(described) or "").partition("Attributes:\n")[2]
        entries |= {name: " ".join(text.split()) for name, text in ENTRY.findall(attributes)}
    return entries


def _in_words(value: Any) -> str:
    if value is True or callable(value):
        return ""
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_in_words(each)}" for key, each in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(_in_words, value))
    return str(value)
