"""Collecting answers: equal outcomes are counted by use, findings keep their places, the report adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sonnx.identifier import Tag
from sonnx.inforce import InForce
from sonnx.judging import Answer, Outcome, outcome
from sonnx.model import Node
from sonnx.profile import Rule
from sonnx.signature import Signature
from sonnx.verdict import Count, Coverage, Finding, Report, Verdict, Where, judged, overall

SHOWN = 8
"""Inputs of a repeated kind that a finding names."""


class Tally:
    """The answers of one check as they come."""

    def __init__(self, in_force: InForce) -> None:
        self.in_force = in_force
        self.uses: Counter[Outcome] = Counter()
        self.findings: list[Finding] = []
        self.notes: dict[str, None] = {}
        self.passing: dict[str, Outcome] = {}

    def use(self, made: Outcome, where: Where, node: Node | None = None, made_of: Signature | None = None) -> None:
        """Count an outcome for one more subject, and keep what it reports."""
        self.uses[made] += 1
        for answer in made.loud:
            self.findings.append(self._finding(answer, where, _operands(answer.letters, node, made_of)))

    def fail(self, rule: Rule, actual: str, where: Where) -> None:
        """Keep a failure of a rule that is no expression."""
        answer = Answer(rule, Verdict.FAIL, actual, rule.statement, rule.kind == "validity")
        self.use(outcome([answer]), where)

    def succeed(self, rule: Rule, number: int = 1) -> None:
        """Count a pass of a rule that is no expression."""
        made = self.passing.setdefault(rule.slug, outcome([Answer(rule, Verdict.PASS)]))
        self.uses[made] += number

    def note(self, text: str) -> None:
        """Keep a sentence that is no finding, once."""
        self.notes.setdefault(text)

    def _finding(self, answer: Answer, where: Where, operands: tuple[tuple[str, str], ...]) -> Finding:
        cause = answer.cause if answer.cause in self.in_force.slugs or "." in answer.cause else ""
        return Finding(
            answer.rule.slug, answer.verdict, where, answer.actual, answer.requires, answer.breaks_onnx,
            self._tags(answer.rule), cause, operands,
        )  # fmt: skip

    def _tags(self, rule: Rule) -> tuple[Tag, ...]:
        """The tags of the text in force, or of the latest one before it that gives the rule any."""
        edition, texts = self.in_force.edition, list(self.in_force.editions.texts)
        operator = rule.slug.partition(".")[0]
        text = edition.operators.get(operator, edition.general) if "." in rule.slug else edition.general
        told = [tag.text for tag in rule.tags if texts.index(tag.text) <= texts.index(text)]
        latest = max(told, key=texts.index, default="")
        return tuple(tag for tag in rule.tags if tag.text == latest)

    def report(self, name: str, nodes: int, signatures: Iterable[Signature]) -> Report:
        """The report on what was collected."""
        numbers: Counter[tuple[str, Verdict, str]] = Counter()
        rules: dict[str, Rule] = {}
        for made, uses in self.uses.items():
            for answer in (*made.quiet, *made.loud):
                reason = answer.actual if answer.verdict is Verdict.NOT_APPLICABLE else ""
                numbers[answer.rule.slug, answer.verdict, reason] += uses
                rules[answer.rule.slug] = answer.rule
        counts = tuple(Count(*key, number) for key, number in sorted(numbers.items()))
        known = self.in_force.slugs | {rule.slug for made in signatures for rule in made.rules}
        edition = self.in_force.edition
        return Report(
            name=name,
            edition=edition.name,
            edition_title=edition.title,
            consolidated=edition.consolidated,
            verdict=overall({count.verdict for count in counts}),
            findings=tuple(self.findings),
            counts=counts,
            coverage=_coverage(counts, len(known), nodes),
            notes=tuple(self.notes),
            rules=dict(sorted(rules.items())),
        )


def _coverage(counts: tuple[Count, ...], known: int, nodes: int) -> Coverage:
    applicable, evaluated = judged(counts)
    membership = {count.verdict: count.number for count in counts if count.rule == "operator-in-profile"}
    return Coverage(
        known=known,
        applicable=applicable,
        evaluated=evaluated,
        nodes=nodes,
        nodes_in_profile=nodes - membership.get(Verdict.FAIL, 0),
        nodes_not_checked=membership.get(Verdict.NOT_CHECKED, 0),
    )


def _operands(letters: tuple[str, ...], node: Node | None, made: Signature | None) -> tuple[tuple[str, str], ...]:
    """Which value of the model each letter stands for."""
    if node is None or made is None or not letters:
        return ()
    known = _letters(node, made)
    whole = [f"{letter}[{index}]" for letter in letters for index in range(SHOWN)]
    return tuple((letter, known[letter]) for letter in dict.fromkeys((*letters, *whole)) if letter in known)


def _letters(node: Node, made: Signature) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for index, formal in enumerate(made.inputs):
        if formal.variadic:
            found |= {f"{formal.name}[{i}]": name for i, name in enumerate(node.inputs[index:])}
        elif index < len(node.inputs):
            found[formal.name] = node.inputs[index]
    found |= {formal.name: name for formal, name in zip(made.outputs, node.outputs, strict=False)}
    return found
