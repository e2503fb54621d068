"""What a remedy advises is possible in every edition in which its rule is in force."""

from __future__ import annotations

import re

import pytest

from sonnx.profile import catalogue
from sonnx.report.rules import rules_of

EDITIONS = catalogue.editions().editions
OPERATORS = {
    *catalogue.operators_outside(),
    *(name for edition in EDITIONS.values() for name in (*edition.operators, *edition.planned)),
}
ADVICE = {
    "Cast": r"\b[Cc]ast\b|\b[Cc]onvert\b(?! to operator set| the model to an operator set)",
    "Transpose": r"\b[Tt]ranspose\b",
    "Reshape": r"\b[Rr]eshape\b",
    "Expand": r"\b[Ee]xpand\b",
    "Split": r"\bSplit\b|\bsplit (?!into)(?:X|the|it)\b",
    "Slice": r"\b[Ss]lice\b",
    "Squeeze": r"\b[Ss]queeze\b",
    "Flatten": r"\b[Ff]latten\b",
    "Tile": r"\b[Rr]epeat\b",
    "Gather": r"\b[Gg]ather\b",
    "Clip": r"\bClip\b",
    "Pad": r"\bPad X\b|\bpad X\b",
}
"""The words with which a remedy advises an operator without its name."""


def advised(remedy: str) -> set[str]:
    """The operators that a remedy advises, by name or by what they do."""
    first = remedy.split(maxsplit=1)[0]  # a sentence begins with a capital letter: `Add fewer elements`
    named = {word for word in re.findall(r"\b[A-Z]\w*", remedy.removeprefix(first)) if word in OPERATORS}
    return named | {name for name, words in ADVICE.items() if re.search(words, remedy)}


@pytest.mark.parametrize("name", EDITIONS)
def test_no_remedy_advises_an_operator_outside_the_edition(name: str) -> None:
    """A planned operator has no text: a node of one is outside the profile."""
    edition = EDITIONS[name]
    wrong = {
        (rule.slug, operator, rule.remedy)
        for rule in rules_of(edition)
        for operator in advised(rule.remedy)
        if operator not in edition.operators and operator != rule.slug.partition(".")[0]
    }
    assert wrong == set()


@pytest.mark.parametrize(
    ("remedy", "operators"),
    [
        ("Transpose or reshape the matrix that does not fit.", {"Transpose", "Reshape"}),
        ("Convert the tensor to one of these element types before the node.", {"Cast"}),
        ("Give y_scale rank 0, or split X into tensors with one scale each.", {"Split"}),
        ("Store the tensor as an initializer, or as the value attribute of Constant.", {"Constant"}),
        ("Convert the model to an operator set in which the specified version is in force.", set()),
    ],
)
def test_advice_is_recognized(remedy: str, operators: set[str]) -> None:
    assert advised(remedy) == operators
