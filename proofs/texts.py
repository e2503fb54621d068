"""What follows from the texts of an operator's data file, claimed in the same language.

A `Call` is one call of an operator on facts of stated ranks, each extent and number a variable.  Its rules, the shapes
of its outputs and the claims about them are texts of the rule language, read by Z3 as the checker reads them; so a
theorem about a shape is one about the very text that checks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from sonnx.checker.rules import evaluate_rule
from sonnx.language.evaluator import Evaluator
from sonnx.language.parser import parse
from sonnx.profile.catalogue import editions, operator
from sonnx.profile.signature import Signature, demanded, signature
from sonnx.prover.encoding import Encoding
from sonnx.prover.smt_lists import listing
from sonnx.prover.smt_truth import formula
from sonnx.prover.smt_values import Record, Value, variable, within
from sonnx.prover.theorem import Obligation

Change = tuple[str, str]
"""A place of a text and what stands there instead: a mutant."""


@dataclass
class Call:
    """One call: what its rules read, and what is known of the variables."""

    operator: str
    version: int
    edition: str = ""
    change: Change | None = None
    names: dict[str, Value] = field(default_factory=dict)
    known: list[z3.BoolRef] = field(default_factory=list)
    reading: Encoding = field(default_factory=Encoding)

    @property
    def made(self) -> Signature:
        """The operator as the edition sees it; the default edition where none is named."""
        found = signature(self.operator, self.version, self.edition or editions().default)
        assert found is not None  # noqa: S101  the theorems name operators of the catalogue
        return found

    def number(self, name: str, low: int | None = None, high: int | None = None) -> Value:
        """An arbitrary number."""
        made = variable(name, low, high)
        self.known += within(made)
        return made

    def numbers(self, name: str, count: int, low: int | None = None) -> Value:
        """A list of so many numbers."""
        return listing([self.number(f"{name}.{i}", low) for i in range(count)])

    def tensor(self, name: str, rank: int) -> Record:
        """A tensor of a rank, its extents arbitrary."""
        return Record({"shape": self.numbers(name, rank, 0)})

    def of(self, **facts: Value) -> Call:
        """The call on these facts, with the names its data file defines."""
        self.names |= facts | {f"given({name})": True for name in facts}
        for name, text in self.made.define.items():
            self.names[name] = self.reading.partial(parse(self._changed(text.text)), self.names, name)
        return self

    def rules(self, *names: str) -> tuple[z3.BoolRef, ...]:
        """The written rules of these names hold, with those they rely on; all of them where none is named."""
        described = operator(self.operator)
        assert described is not None  # noqa: S101
        in_file = {rule.name for rule in described.rules}
        known = {rule.name: rule for rule in self.made.rules if rule.name in in_file}
        wanted, found = list(names or known), dict[str, z3.BoolRef]()
        while wanted:
            name = wanted.pop(0)
            if name in found or (name not in known and name not in names):
                continue
            rule = known[name]
            wanted += rule.relies
            text = demanded(rule, self.made.text, editions())
            assert text is not None  # noqa: S101  a rule in force demands something
            condition = self.reading.condition(parse(self._changed(text.text)), self.names, rule.when)
            found[name] = formula(condition.holds)
        return tuple(found.values())

    def shape(self, output: str) -> tuple[z3.BoolRef, Value]:
        """Whether the shape of an output is defined, and the shape."""
        defined, value = self.reading.read(parse(self._changed(self.made.shapes[output].text)), self.names)
        return formula(defined), value

    def claim(self, text: str, **more: Value) -> z3.BoolRef:
        """A condition in the rule language: it is defined and holds."""
        return formula(self.reading.condition(parse(text), {**self.names, **more}).holds)

    def sources(self, output: str) -> Iterator[str]:
        """The texts of the data file a claim about an output is about."""
        yield self.made.shapes[output].text
        yield from (text.text for text in self.made.define.values())

    def _changed(self, text: str) -> str:
        return text.replace(*self.change) if self.change else text


def claims(
    call: Call, rules: Sequence[str], texts: Mapping[str, str] | Iterable[str], output: str = "Y", suffix: str = ""
) -> Iterator[Obligation]:
    """The shape of an output exists under the rules, and the claims about it, which call it by its letter."""
    hypotheses = (*call.known, *call.rules(*rules))
    defined, shape = call.shape(output)
    yield Obligation(f"{output} has a shape{suffix}", hypotheses, defined)
    for text in texts:
        yield Obligation(f"{text}{suffix}", (*hypotheses, defined), call.claim(text, **{output: shape}))


def verdict(operator: str, version: int, edition: str, rule: str, **facts: Any) -> str:
    """What a check says of one rule of the operator on plain facts: the confirmation of a counterexample."""
    made = signature(operator, version, edition or editions().default)
    assert made is not None  # noqa: S101
    names = dict(facts)
    for name, text in made.define.items():
        names[name] = text.evaluate(Evaluator(), names)
    (asked,) = [each for each in made.rules if each.name == rule]
    text = demanded(asked, made.text, editions())
    assert text is not None  # noqa: S101
    return str(evaluate_rule(asked, text, names).verdict)
