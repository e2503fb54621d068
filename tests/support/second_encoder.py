"""Compare the terms of Python's translation with those of Coq's, for the rules of every operator, version and edition.

`python -m tests.support.second_encoder PROGRAM RULES`: PROGRAM is extracted from proofs/coq/encoding.v, RULES what
`sonnx export coq DIR` writes.  Both translations get the same variables of a call, within the bounds of the derived
theorems.  A solver decides whether the two terms of a condition are defined for the same calls and have the same value
there: 1 where the values differ for some call, else 0.  It lists the rules of which it does not show the terms to be
equal, with the reason that tests/data/second_encoder.toml has.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import z3

from sonnx.language.coq import read_by
from sonnx.language.domain import Expression
from sonnx.language.evaluator import Unknown
from sonnx.profile import catalogue
from sonnx.profile.definitions import Rule
from sonnx.profile.signature import Signature, active_condition
from sonnx.prover.call_variables import CallVariables
from sonnx.prover.signature_family import signatures
from sonnx.prover.smt_functions import FactNotStated
from sonnx.prover.smt_interpretation import SmtCondition
from sonnx.prover.smt_values import (
    PartialValue,
    RecordValue,
    SymbolicList,
    SymbolicNumber,
    SymbolicString,
    UndefinedValue,
    all_of,
    bool_term,
    implies,
)
from sonnx.prover.terms import variables_in
from sonnx.report import coq_rules
from tests.support.paths import DATA

EXPLAINED = DATA / "second_encoder.toml"
"""Which rules have other terms, and why."""
DIFFER = "the values differ"
FEWER = "undefined for some calls where it fails"
"""The term of Python, beside that of Coq: it holds for the same calls."""
MORE = "defined for more calls"
"""The term of Python, so that the theorem says nothing of these."""
WAYS = ((5, False), (5, True), (10, True), (20, True))
"""The bound on the turns of a loop over a number in Coq's translation, and whether the lengths of all lists are
compared first; the next way where Python's term is defined for more calls."""
STEPS = 2_000_000
"""Of the solver for one question, before it is divided into cases."""
CASES = 8
"""Questions that are divided at most for one claim."""
MOST_VALUES = 6
"""Of a rank, a length or a count in the bounds of theorems: 0 to 5."""


class NoScope(Exception):
    """A value that Coq's scopes do not have."""


@dataclass
class Leaves:
    """The variables of a scope: numbers that stand for terms of z3."""

    terms: list[z3.ExprRef] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)

    def place(self, term: z3.ExprRef) -> int:
        """The number of a term."""
        if term.get_id() not in self.places:
            self.places[term.get_id()] = len(self.terms)
            self.terms.append(term)
        return self.places[term.get_id()]

    def truth(self, value: Any) -> bool | int:
        """A truth value of JSON."""
        return value if isinstance(value, bool) else self.place(value)

    def value(self, value: Any) -> dict[str, Any]:
        """A value as JSON; a field that is not stated is left out.

        Raises:
            NoScope: an item or a field has a value under a condition only.
        """
        match value:
            case bool() | z3.BoolRef():
                return {"truth": self.truth(value)}
            case int():
                return {"int": value}
            case str():
                return {"text": value}
            case SymbolicNumber():
                return {"number": self.place(value.term)}
            case SymbolicString():
                return {"string": self.place(value.term)}
            case SymbolicList():
                return {"list": [[self.truth(present), self.value(item)] for present, item in value.items]}
            case RecordValue():
                stated = {name: item for name, item in value.fields.items() if not isinstance(item, Unknown)}
                return {"record": {name: self.value(item) for name, item in stated.items()}}
            case UndefinedValue():
                return {"undefined": 0}
        raise NoScope(type(value).__name__)

    def name(self, value: Any) -> list[Any]:
        """The value of a name with the condition under which it is defined."""
        defined: Any = True
        while isinstance(value, PartialValue):
            defined, value = all_of([defined, value.defined]), value.value
        return [self.truth(defined), self.value(value)]


@dataclass(frozen=True)
class Question:
    """A rule with its scope, Python's terms, and what holds of the variables."""

    rule: str
    slug: str
    text: str
    names: Mapping[str, Any]
    leaves: Sequence[z3.ExprRef]
    condition: SmtCondition
    facts: Sequence[tuple[z3.BoolRef, str]]
    variables: CallVariables

    @property
    def key(self) -> tuple[str, ...]:
        """The same for equal questions."""
        leaves, facts = (leaf.sexpr() for leaf in self.leaves), sorted(text for _, text in self.facts)
        return self.rule, json.dumps(self.names), *leaves, *facts

    def asked(self, bound: int, *, all_lists: bool = False) -> dict[str, Any]:
        """For the program; see proofs/coq/lengths_first.v for the lists."""
        return {"rule": self.rule, "bound": bound, "all": all_lists, "names": self.names}


def questions(rules: str) -> Iterator[Question | tuple[str, str]]:
    """Each different question; or a rule and why it has none."""
    names = {text: name for name, text in re.findall(r"^Definition (\w+) := (.*)\.$", rules, re.MULTILINE)}
    seen = set[tuple[str, ...]]()
    for described in catalogue.operators():
        for made, _ in signatures(described):
            facts = Facts(CallVariables(made))
            pairs = [(rule, active_condition(rule, made.text, catalogue.editions())) for rule in made.rules]
            stated = [(rule, demand) for rule, demand in pairs if demand is not None]
            for (rule, demand), text in zip(stated, coq_rules.rule_terms(made), strict=True):
                question = asked(names[text], text, made, facts, rule, demand)
                key = question.key if isinstance(question, Question) else question
                if key not in seen:
                    seen.add(key)
                    yield question


def asked(
    name: str, text: str, made: Signature, facts: Facts, rule: Rule, demand: Expression
) -> Question | tuple[str, str]:
    """The question of a rule, or its slug and why it has none."""
    expressions = [demand] if rule.when is None else [demand, rule.when]
    read = {word for expression in expressions for word in expression.names}
    for word in {word for expression in expressions for word in read_by(expression, made.define)}:
        read |= set(made.define[word].names)
    leaves, variables = Leaves(), facts.variables
    try:
        condition = variables.condition(rule, demand)
    except FactNotStated:
        return rule.slug, "reads values that are known at run time only"
    scope = {
        word: leaves.name(variables.names[word])
        for word in sorted(read - set(made.define))
        if word in variables.names and not isinstance(variables.names[word], Unknown)
    }
    names = variables_of(bool_term(condition.defined), bool_term(condition.value), *leaves.terms)
    return Question(name, rule.slug, text, scope, leaves.terms, condition, facts.about(names), variables)


def variables_of(*terms: z3.ExprRef) -> frozenset[str]:
    """The names of the variables of terms."""
    return frozenset(variable.decl().name() for variable in variables_in(*terms))


class Facts:
    """What holds of the variables of a call: ranges, and the bounds of loops, each with its variables."""

    def __init__(self, variables: CallVariables) -> None:
        self.variables = variables
        self.known: dict[int, tuple[z3.BoolRef, frozenset[str], str]] = {}

    def about(self, names: frozenset[str]) -> list[tuple[z3.BoolRef, str]]:
        """The facts that speak of these variables only, with their texts."""
        stated = (*self.variables.ranges, *map(bool_term, self.variables.interpretation.bounds))
        for fact in stated:
            if fact.get_id() not in self.known:
                self.known[fact.get_id()] = fact, variables_of(fact), fact.sexpr()
        entries = (self.known[number] for number in dict.fromkeys(fact.get_id() for fact in stated))
        return [(fact, text) for fact, read, text in entries if read <= names]


def read_terms(line: str, question: Question) -> tuple[Any, Any] | None:
    """The terms that the program printed: when the condition is defined, and its value; None without a translation."""
    if line == "always":
        return True, True
    if line in ("none", "large"):
        return None
    *parts, last = line.split(";")
    made: list[Any] = []
    for part in parts:
        kind, _, rest = part.partition(" ")
        if kind == "variable":
            made.append(question.leaves[int(rest)])
        elif kind == "int":
            made.append(z3.IntVal(int(rest, 2)))
        elif kind == "text":
            made.append(question.variables.interpretation.text(rest))
        else:
            made.append(_OPERATIONS[kind](*(made[int(place)] for place in rest.split())))
    defined, value = (made[int(place)] for place in last.split())
    return defined, value


_OPERATIONS: Mapping[str, Any] = {
    "true": lambda: z3.BoolVal(True),
    "false": lambda: z3.BoolVal(False),
    "not": z3.Not,
    "and": z3.And,
    "or": z3.Or,
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "ite": z3.If,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "mod": lambda a, b: a % b,
}


def answers(program: Path, rules: Path, asked: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The two lines of the program for each question: when the rule applies, and what it demands."""
    document = json.dumps(asked).encode("ascii")
    done = subprocess.run([program.resolve(), rules], input=document, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace"))
    lines = done.stdout.decode("utf-8").splitlines()
    return list(zip(lines[::2], lines[1::2], strict=True))


def compared(question: Question, lines: tuple[str, str]) -> str:
    """What the solver says of the two pairs of terms."""
    applies, demand = (read_terms(line, question) for line in lines)
    if applies is None or demand is None:
        return "no translation in Coq"
    defined = all_of([bool_term(applies[0]), bool_term(implies(applies[1], demand[0]))])
    value = bool_term(implies(applies[1], demand[1]))
    mine, own = bool_term(question.condition.defined), bool_term(question.condition.value)
    same = z3.Implies(z3.And(mine, defined), own == value)
    claims = {
        "equal": z3.And(mine == defined, same),
        FEWER: z3.And(same, z3.Implies(mine, defined), z3.Implies(z3.And(defined, value), mine)),
        MORE: z3.And(same, z3.Implies(defined, mine)),
        "defined for other calls": same,
    }
    facts = [fact for fact, _ in question.facts]
    for result, claim in claims.items():
        answer = holds(claim, facts, small_numbers(question), iter(range(CASES)))
        if answer != "sat":
            return result if answer == "unsat" else "undecided"
    return DIFFER


def small_numbers(question: Question) -> list[z3.ArithRef]:
    """The ranks, lengths and counts in the facts, which have few values."""
    names = sorted(frozenset[str]().union(*(variables_of(fact) for fact, _ in question.facts)))
    return [z3.Int(name) for name in names if name.endswith((".rank", ".length", ".count"))]


def holds(claim: z3.BoolRef, facts: Sequence[z3.BoolRef], numbers: Sequence[z3.ArithRef], cases: Iterator[int]) -> str:
    """The answer of the solver to the negation of a claim; an undecided one is asked for each value of a number.

    Products and quotients are functions of which nothing is known first: what holds of these holds of them.
    """
    question = z3.And(*facts, z3.Not(claim))
    if _answer(unknown_functions(question)) == "unsat":
        return "unsat"
    answer = _answer(question)
    if answer != "unknown" or not numbers or next(cases, None) is None:
        return answer
    number, *others = numbers
    for value in range(MOST_VALUES):
        case = [z3.simplify(z3.substitute(part, (number, z3.IntVal(value)))) for part in (claim, *facts)]
        answer = holds(case[0], case[1:], others, cases)
        if answer != "unsat":
            return answer
    return _answer(z3.And(*facts, z3.Or(number < 0, number >= MOST_VALUES)))


def _answer(question: z3.BoolRef) -> str:
    solver = z3.Solver()
    solver.set("rlimit", STEPS)
    solver.add(question)
    return str(solver.check())


def unknown_functions(term: z3.ExprRef) -> z3.ExprRef:
    """The term with products of terms that are not constant, and quotients by these, as applications of functions."""
    made: dict[int, z3.ExprRef] = {}
    waiting = [term]
    while waiting:
        part = waiting[-1]
        missing = [inner for inner in part.children() if inner.get_id() not in made]
        waiting += missing
        if missing:
            continue
        waiting.pop()
        inner = [made[child.get_id()] for child in part.children()]
        kind = part.decl().kind()
        constants = sum(z3.is_int_value(child) for child in inner)
        if part.sort() != z3.IntSort():
            made[part.get_id()] = part.decl()(*inner) if inner else part
        elif kind == z3.Z3_OP_MUL and len(inner) - constants > 1:
            made[part.get_id()] = reduce(_PRODUCT, inner)
        elif kind in _QUOTIENTS and not z3.is_int_value(inner[1]):
            made[part.get_id()] = _QUOTIENTS[kind](*inner)
        else:
            made[part.get_id()] = part.decl()(*inner) if inner else part
    return made[term.get_id()]


_PRODUCT = z3.Function("product", z3.IntSort(), z3.IntSort(), z3.IntSort())
_QUOTIENTS = {
    z3.Z3_OP_IDIV: z3.Function("quotient", z3.IntSort(), z3.IntSort(), z3.IntSort()),
    z3.Z3_OP_MOD: z3.Function("remainder", z3.IntSort(), z3.IntSort(), z3.IntSort()),
}


def explained() -> dict[tuple[str, str], str]:
    """The reason for each result that is not `equal`, by the rule and the result."""
    entries = tomllib.loads(EXPLAINED.read_text("utf-8"))["difference"]
    return {(rule, entry["result"]): entry["because"] for entry in entries for rule in entry["rules"]}


def results(program: Path, rules: Path) -> Iterator[tuple[str, str]]:
    """The rule of each question and what the comparison says, in any order."""
    waiting = list[Question]()
    for question in questions(rules.read_text("utf-8")):
        if isinstance(question, Question):
            waiting.append(question)
        else:
            yield question
    for turns, all_lists in WAYS:
        again = list[Question]()
        lines = answers(program, rules, [question.asked(turns, all_lists=all_lists) for question in waiting])
        for question, pair in zip(waiting, lines, strict=True):
            result = compared(question, pair)
            if result == MORE and (turns, all_lists) != WAYS[-1]:
                again.append(question)
            else:
                yield question.slug, result
        waiting = again


def main() -> int:
    """Compare; 0 or 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("rules", type=Path)
    options = parser.parse_args()
    reasons, found = explained(), dict[tuple[str, str], None]()
    counts = Counter[str]()
    for slug, result in results(options.program, options.rules):
        counts[result] += 1
        if result != "equal":
            found[slug, result] = None
    for slug, result in found:
        print(f"{slug}: {result}. {reasons.get((slug, result), 'No reason is recorded.')}")
    others = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()) if result != "equal")
    print(f"{counts.total()} different conditions, {counts['equal']} with equal terms; {others or 'no others'}")
    return 1 if counts[DIFFER] else 0


if __name__ == "__main__":
    sys.exit(main())
