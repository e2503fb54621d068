"""Mutation testing of the rules: every small change of a rule's text must be noticed by a case.

    python -m sonnx.evidence.rule_mutants [OPERATOR or RULE …]

Each condition a case asks is recorded with the facts it was asked of.  A mutant is *killed* when some case would get
another answer of that rule: another word of docs/cases.md, or no pass where the case states `conforms`.  What other
rules would say is not counted, so a mutant that is reported alive may still be noticed; one reported killed is.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sonnx
from sonnx.checker import call, rules, walk
from sonnx.evidence.verification import model_bytes
from sonnx.language.domain import Expression, RuleError
from sonnx.language.evaluator import Cause, Evaluator, Unknown
from sonnx.language.parser import parse
from sonnx.profile.cases import Case, cases
from sonnx.profile.definitions import Rule

OPPOSITE = {ast.Eq: ast.NotEq, ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.In: ast.NotIn}
OPPOSITE |= {after: before for before, after in OPPOSITE.items()}
STRICTER = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
"""An order with its bound moved by one."""


@dataclass(frozen=True)
class Asked:
    """One condition as one case asked it: the facts, and what the case says of the rule in that edition."""

    case: str
    rule: Rule
    names: Mapping[str, Any]
    conforms: bool


@dataclass
class Score:
    """The mutants of one text of a rule, and those no case notices."""

    slug: str
    text: str
    mutants: int = 0
    alive: list[str] = field(default_factory=list)


# ------------------------------------------------------------------ mutants


def mutants(text: str) -> list[str]:
    """The texts that differ from this one in one small way, each once."""
    tree = ast.parse(text.strip(), mode="eval").body
    found = {ast.unparse(ast.fix_missing_locations(changed)): None for changed in _changed(tree)}
    found.pop(ast.unparse(tree), None)
    return [each for each in found if _is_rule(each)]


def _is_rule(text: str) -> bool:
    try:
        parse(text)
    except RuleError:
        return False
    return True


def _changed(tree: ast.expr) -> Iterator[ast.expr]:
    """Copies of the tree, each with one node replaced."""
    for index, node in enumerate(ast.walk(tree)):
        for new in _instead(node):
            yield _replaced(tree, index, new)


def _replaced(tree: ast.expr, index: int, new: ast.expr) -> ast.expr:
    if index == 0:
        return deepcopy(new)
    copied = deepcopy(tree)
    target = list(ast.walk(copied))[index]
    for parent in ast.walk(copied):
        for name, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, name, deepcopy(new))
            elif isinstance(value, list):
                setattr(parent, name, [deepcopy(new) if item is target else item for item in value])
    return copied


def _instead(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left=left, ops=signs, comparators=others):
            for place, sign in enumerate(signs):
                for table in (OPPOSITE, STRICTER):
                    if type(sign) in table:
                        yield ast.Compare(left, [*signs[:place], table[type(sign)](), *signs[place + 1 :]], others)
            if len(signs) > 1:  # a chain is a conjunction of its comparisons
                yield ast.Compare(left, signs[:-1], others[:-1])
                yield ast.Compare(others[0], signs[1:], others[1:])
        case ast.BoolOp(op=sign, values=parts):
            for place in range(len(parts)):
                rest = [*parts[:place], *parts[place + 1 :]]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(sign, rest)
        case ast.Constant(value=int() as number):
            yield ast.Constant(number + 1)
            yield ast.Constant(number - 1) if number else ast.UnaryOp(ast.USub(), ast.Constant(1))
        case ast.Call(func=ast.Name(id="all" | "any" as name), args=arguments):
            yield ast.Call(ast.Name("any" if name == "all" else "all"), arguments, [])


# ------------------------------------------------------------------ what the cases ask


@cache
def asked() -> Mapping[tuple[str, str], list[Asked]]:
    """Every condition the cases ask, by rule and text."""
    found: dict[tuple[str, str], list[Asked]] = defaultdict(list)
    for case in cases():
        for edition in case.expected:
            with _recorded(found, case, edition):
                sonnx.check(model_bytes(case), edition or None, strict_versions=case.strict_versions)
    return found


@contextmanager
def _recorded(found: dict[tuple[str, str], list[Asked]], case: Case, edition: str) -> Iterator[None]:
    judge = rules.evaluate_rule
    stated = case.expected[edition].get("conforms", frozenset())

    def record(rule: Rule, demand: Expression, names: Mapping[str, Any]) -> rules.RuleResult:
        asked = Asked(f"{case.id} [{edition}]", rule, dict(names), rule.slug in stated)
        found[rule.slug, demand.text].append(asked)
        return judge(rule, demand, names)

    for module in (call, walk):  # both hold the function under its name
        vars(module)["judge"] = record
    try:
        yield
    finally:
        for module in (call, walk):
            vars(module)["judge"] = judge


def words(demand: Expression, those: list[Asked]) -> dict[str, frozenset[str]]:
    """What each case would say of the rule: the words of docs/cases.md, and "pass" where it must pass."""
    said: dict[str, set[str]] = defaultdict(set)
    for one in those:
        word = _word(demand, one)
        if word != "pass" or one.conforms:
            said[one.case].add(word)
    return {case: frozenset(found - {"not-applicable"}) for case, found in said.items() if found - {"not-applicable"}}


def _word(demand: Expression, one: Asked) -> str:
    if one.rule.when is not None:
        applies = rules._value(one.rule.when, one.names)
        if applies is False:
            return "not-applicable"
        if isinstance(applies, Unknown):
            return _open(applies)
    value = rules._value(demand, one.names)
    if isinstance(value, Unknown):
        return _open(value)
    if value:
        return "not-applicable" if demand.over_nothing(Evaluator(), one.names) else "pass"
    onnx = demand if one.rule.kind == "validity" else one.rule.onnx
    return "invalid" if onnx is not None and rules._value(onnx, one.names) is False else "violates"


def _open(value: Unknown) -> str:
    if value.because:
        return "not-applicable"  # a folded answer is no word of a case
    return "assumed" if value.cause is Cause.RUN_TIME else "undecided"


def score(slug: str, text: str) -> Score:
    """Which mutants of a text of a rule no case notices."""
    those = asked()[slug, text]
    made, before = Score(slug, text), words(parse(text), those)
    for mutant in mutants(text):
        made.mutants += 1
        if words(parse(mutant), those) == before:
            made.alive.append(mutant)
    return made


def chosen(names: list[str]) -> list[tuple[str, str]]:
    """The texts of the rules with these slugs or of these operators; all of them where none is named."""
    return sorted(key for key in asked() if not names or key[0] in names or key[0].partition(".")[0] in names)


def main() -> None:
    """Write what no case notices, and the score."""
    number = alive = 0
    for slug, text in chosen(sys.argv[1:]):
        made = score(slug, text)
        number, alive = number + made.mutants, alive + len(made.alive)
        for mutant in made.alive:
            sys.stdout.write(f"{slug}\n    {' '.join(text.split())}\n    {mutant}\n")
    sys.stdout.write(f"{number - alive} of {number} mutants killed\n")


if __name__ == "__main__":
    main()
