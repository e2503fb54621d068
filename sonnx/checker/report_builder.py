"""Collecting answers: equal outcomes are counted by use, findings keep their places, the report adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from sonnx.base.escaping import quote
from sonnx.checker.report import Count, Coverage, Finding, Report, Verdict, Where, judged, overall
from sonnx.checker.rules import ActiveRules, RuleResult, RuleResults, outcome
from sonnx.model.ir import Model, Node
from sonnx.model.scopes import imports_of, scopes
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition, Rule, Tag
from sonnx.profile.signature import Signature

SHOWN = 8
"""Inputs of a repeated kind that a finding names."""


class ReportBuilder:
    """The answers of one check as they come."""

    def __init__(self, in_force: ActiveRules) -> None:
        self.in_force = in_force
        self.uses: Counter[RuleResults] = Counter()
        self.findings: list[Finding] = []
        self.notes: dict[str, None] = {}
        self.passing: dict[str, RuleResults] = {}

    def use(self, made: RuleResults, where: Where, node: Node | None = None, made_of: Signature | None = None) -> None:
        """Count an outcome for one more subject, and keep what it reports."""
        self.uses[made] += 1
        for answer in made.loud:
            self.findings.append(self._finding(answer, where, _operands(answer.letters, node, made_of)))

    def fail(self, rule: Rule, actual: str, where: Where) -> None:
        """Keep a failure of a rule that is no expression."""
        answer = RuleResult(rule, Verdict.FAIL, actual, rule.statement, rule.kind == "validity")
        self.use(outcome([answer]), where)

    def succeed(self, rule: Rule, number: int = 1) -> None:
        """Count a pass of a rule that is no expression."""
        made = self.passing.setdefault(rule.slug, outcome([RuleResult(rule, Verdict.PASS)]))
        self.uses[made] += number

    def note(self, text: str) -> None:
        """Keep a sentence that is no finding, once."""
        self.notes.setdefault(text)

    def _finding(self, answer: RuleResult, where: Where, operands: tuple[tuple[str, str], ...]) -> Finding:
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


# ------------------------------------------------------------------
# What a report says beside its findings: what is passed over, and which version stands for which.


def notes(model: Model, domains: set[str], made: Iterable[Signature], edition: Edition) -> Iterator[str]:
    """The notes on a model whose nodes are of these domains and calls of these signatures."""
    for each in made:
        yield from _on_operator(each, edition)
    for domain in imports_of(model.imports):
        if domain and domain not in domains:
            yield f"the operator set {quote(domain)} is imported and not used"
    annotations = sum(scope.graph.annotations for scope in scopes(model))
    if annotations:
        yield f"{annotations} quantization annotations are not judged: they change no value"
    if model.configurations:
        yield f"{model.configurations} device configurations are not judged: they change no value"
    texts = list(catalogue.editions().texts)
    for limit in catalogue.editions().limits:
        if texts.index(limit.introduced) <= texts.index(edition.general):
            yield f"not judged: {limit.statement}; {limit.because}"
    if edition.consolidated:
        yield f"edition {edition.name} is consolidated by this tool from the published texts"


def _on_operator(made: Signature, edition: Edition) -> Iterator[str]:
    described = catalogue.operator(made.operator)
    if described is None:
        return
    if made.operator in edition.drafts:
        reason = ", ".join(described.errata) or "its text is incomplete"
        yield f"{made.operator} is specified as a draft: {reason}"
    specified = described.specified_by(made.text)
    means = described.equivalent.get(made.version) or described.equivalent.get(specified or 0)
    if means and made.version != specified:
        yield f"{made.operator}-{made.version} stands for {made.operator}-{specified}: {means}"
