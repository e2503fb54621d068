"""A printed formula says what is judged: read back by the usual order of signs, it has the tree of the expression."""

from __future__ import annotations

from sonnx.language.parser import parse
from sonnx.language.printer import formula
from sonnx.profile import catalogue
from sonnx.profile.index import rules_by_slug
from sonnx.profile.signature import signature
from tests.support.cases import each_case
from tests.support.printed_formulas import read_formula, tree


def printed():
    """Every expression of the profile: conditions of rules, and the names that operator files define."""
    for rule in rules_by_slug().values():
        yield from filter(None, (rule.require, rule.onnx, rule.when))
    for operator in catalogue.operators():
        for edition in catalogue.editions().editions.values():
            for version in operator.versions if edition.status(operator.name) else ():
                yield from signature(operator.name, version, edition.name).define.values()


def test_every_formula_reads_back():
    expressions = {expression.text: expression for expression in printed()}
    assert len(expressions) > 400
    wrong = {
        text: formula(expression)
        for text, expression in expressions.items()
        if read_formula(formula(expression)) != tree(expression)
    }
    assert wrong == {}


@each_case(
    "text",
    [
        "a - (b - c) == a - b - c",
        "-((a - c) // b) == a",
        "-(a // b) == (-a) // b",
        "a // (b * c) % d == 0",
        "(a if a > b else b) - (c if c > d else d) == 0",
        "a == (b if c > d else (d if a > c else b))",
        "(b if c > d else d) if a > c else b",
        "a if (b > c if b > a else c > a) else b",
        "([a, b] + xs)[1] == (xs if a > b else [c])[0]",
        "(xs + [a])[1:] == [b][:-1]",
        "not (a == b and c == d) or (a == c or b == d) and a == d",
        "not (written(p) or given(X)) and (stated(a) or not stated(b))",
        "all(x > a for x in (xs if a > b else [c])) and any(x == y for x in xs for y in xs if y > x)",
        "any(all(x > y for y in xs) for x in xs) or a > b",
        "[x + 1 if x > a else b for x in xs if x > c or x < d] == [i for i in range(a - 1, b)]",
        "sum([len(xs) - 1, max([a, b])]) <= range(3)[a] + (b - -1)",
        "(a > b) == (c > d)",
        '"a" in ["a", "b"] or a not in [1, 2]',
    ],
)
def test_a_formula_of_every_construct_reads_back(text):
    assert read_formula(formula(parse(text))) == tree(parse(text))


def test_the_reader_tells_formulas_apart():
    assert read_formula("a - (b - c)") != read_formula("a - b - c")
    assert read_formula("−(a ÷ b)") != read_formula("−a ÷ b")
    assert read_formula("¬(a = b ∨ c = d)") != read_formula("¬(a = b) ∨ c = d")
