"""Claims in the rule language about the expressions of an operator's data file.

A `SymbolicCall` is one call of an operator with stated ranks, whose extents and numbers are variables.  The rules of
the operator, the shapes of its outputs and the claims about them have one SMT interpretation, so a theorem about a
shape is about the very expression that checks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from sonnx.checker.rules import evaluate_rule
from sonnx.language.domain import constant_key, given_key
from sonnx.language.evaluator import Evaluator
from sonnx.language.parser import parse
from sonnx.profile import signature as signatures
from sonnx.profile.catalogue import editions, operator
from sonnx.profile.signature import Signature, active_condition
from sonnx.prover.smt_interpretation import SmtInterpretation
from sonnx.prover.smt_lists import list_of
from sonnx.prover.smt_values import RecordValue, Value, bool_term, interval_constraints, variable
from sonnx.prover.theorem import Obligation, by_form

ExpressionChange = tuple[str, str]
"""A part of an expression's text, and its replacement in a mutant."""


@dataclass
class SymbolicCall:
    """One call: the environment of its rules, and what is known of the variables."""

    operator: str
    version: int
    edition: str = ""
    change: ExpressionChange | None = None
    names: dict[str, Value] = field(default_factory=dict)
    known: list[z3.BoolRef] = field(default_factory=list)
    interpretation: SmtInterpretation = field(default_factory=SmtInterpretation)

    @property
    def signature(self) -> Signature:
        """The operator's signature in the edition, by default the default one."""
        candidate = signatures.signature(self.operator, self.version, self.edition or editions().default)
        assert candidate is not None  # noqa: S101  the theorems name operators of the catalogue
        return candidate

    def number(self, name: str, low: int | None = None, high: int | None = None) -> Value:
        """A variable for a number."""
        symbolic_number = variable(name, low, high)
        self.known += interval_constraints(symbolic_number)
        return symbolic_number

    def numbers(self, name: str, count: int, low: int | None = None) -> Value:
        """A list of so many variables."""
        return list_of([self.number(f"{name}.{i}", low) for i in range(count)])

    def tensor(self, name: str, rank: int) -> RecordValue:
        """A tensor of a rank, its extents variables."""
        return RecordValue({"shape": self.numbers(name, rank, 0)})

    def with_facts(self, **facts: Value) -> SymbolicCall:
        """This call with these facts, and with the names its data file defines."""
        self.names |= facts | {key(name): True for name in facts for key in (given_key, constant_key)}
        for name, expression in self.signature.define.items():
            self.names[name] = self.interpretation.partial(parse(self._changed(expression.text)), self.names, name)
        return self

    def rules(self, *names: str) -> tuple[z3.BoolRef, ...]:
        """The named rules of the data file hold, with those they rely on; all of them if none is named."""
        described = operator(self.operator)
        assert described is not None  # noqa: S101
        in_file = {rule.name for rule in described.rules}
        in_force = {rule.name: rule for rule in self.signature.rules if rule.name in in_file}
        wanted, holding = list(names or in_force), dict[str, z3.BoolRef]()
        while wanted:
            name = wanted.pop(0)
            if name in holding or (name not in in_force and name not in names):
                continue
            rule = in_force[name]
            wanted += rule.relies
            demand = active_condition(rule, self.signature.text, editions())
            assert demand is not None  # noqa: S101  a rule in force demands something
            condition = self.interpretation.condition(parse(self._changed(demand.text)), self.names, rule.when)
            holding[name] = bool_term(condition.holds)
        return tuple(holding.values())

    def shape(self, output: str) -> tuple[z3.BoolRef, Value]:
        """Whether the shape of an output is defined, and the shape."""
        defined, value = self.interpretation.interpret(
            parse(self._changed(self.signature.shapes[output].text)), self.names
        )
        return bool_term(defined), value

    def claim(self, text: str, **more: Value) -> z3.BoolRef:
        """A condition in the rule language: it is defined and holds."""
        return bool_term(self.interpretation.condition(parse(text), {**self.names, **more}).holds)

    def sources(self, output: str) -> Iterator[str]:
        """The expressions of the data file that a claim about an output is about."""
        yield self.signature.shapes[output].text
        yield from (expression.text for expression in self.signature.define.values())

    def _changed(self, text: str) -> str:
        return text.replace(*self.change) if self.change else text


def claims(
    call: SymbolicCall,
    rules: Sequence[str],
    texts: Mapping[str, str] | Iterable[str],
    output: str = "Y",
    suffix: str = "",
) -> Iterator[Obligation]:
    """The shape of an output exists under the rules, and the claims about it hold; the output's name is the shape."""
    hypotheses = (*call.known, *call.rules(*rules))
    defined, shape = call.shape(output)
    yield by_form(Obligation(f"{output} has a shape{suffix}", hypotheses, defined))
    for text in texts:
        yield by_form(Obligation(f"{text}{suffix}", (*hypotheses, defined), call.claim(text, **{output: shape})))


def checker_verdict(operator: str, version: int, edition: str, rule: str, **facts: Any) -> str:
    """The verdict of a check for one rule of the operator and concrete facts: it confirms a counterexample."""
    signature = signatures.signature(operator, version, edition or editions().default)
    assert signature is not None  # noqa: S101
    names = dict(facts)
    for name, expression in signature.define.items():
        names[name] = expression.evaluate(Evaluator(), names)
    (stated,) = [candidate for candidate in signature.rules if candidate.name == rule]
    demand = active_condition(stated, signature.text, editions())
    assert demand is not None  # noqa: S101
    return str(evaluate_rule(stated, demand, names).verdict)
