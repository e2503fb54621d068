"""Building a report: results are counted, findings get their places, and notes tell what a check leaves out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from sys import maxsize
from typing import TYPE_CHECKING, NamedTuple, Self

from msgspec import Struct

from sonnx.base.escaping import quote, shortened
from sonnx.checker.conditions import Conditions
from sonnx.checker.report import ACCEPTED_LIKE, Count, Coverage, Finding, Report, applicable_and_evaluated, overall
from sonnx.checker.rules import ActiveRules, Listing, RuleResult, SubjectResults
from sonnx.checker.verdicts import Verdict, Where
from sonnx.model.ir import Model, Node
from sonnx.model.scopes import imports_of
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition, Rule, Tag
from sonnx.profile.signature import Signature

if TYPE_CHECKING:
    from sonnx.checker.graph_outline import Outline

MAX_SHOWN_INPUTS = 8
"""Inputs of a variadic input that a finding names."""


class Subject(Struct, frozen=True):
    """What a report says of the model besides its results; see the fields of `Report` with the same names."""

    name: str
    conditions: Conditions
    outline: Outline | None = None
    open_inputs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    notes: tuple[str, ...] = ()
    """Notes besides those on results, the last ones of the report."""

    @classmethod
    def of(cls, model: Model, name: str, conditions: Conditions) -> Self:
        """A model whose graph is not drawn."""
        return cls(name, conditions, open_inputs=open_inputs(model))


def open_inputs(model: Model) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The graph inputs with a dimension that is not a number, each dimension as text, `?` where none is stated."""
    return tuple(
        (value.name, tuple("?" if d is None or d == -1 else str(d) for d in value.type.shape))
        for value in model.graph.inputs
        if value.type.shape is not None and not all(isinstance(d, int) and d >= 0 for d in value.type.shape)
    )


class _Row(NamedTuple):
    """What the findings of one result have in common: rule and verdict, the fields after the place, formal names."""

    key: tuple[str, Verdict]
    said: tuple[str, str, bool, tuple[Tag, ...], str]
    names: tuple[str, ...]
    witness: str = ""
    errata: tuple[str, ...] = ()


class ReportBuilder:
    """The results of one check so far."""

    def __init__(self, active: ActiveRules, most: int) -> None:
        """Lists at most `most` findings of a rule with one verdict; more are counted, and a note says so."""
        self.active, self.listing = active, Listing(most)
        self.uses: Counter[SubjectResults] = Counter()  # the number of subjects with the same results
        self.findings: list[Finding] = []
        self.rows: dict[SubjectResults, list[_Row]] = {}
        self.places: dict[tuple[tuple[str, ...], Signature], list[tuple[str, int, int]]] = {}
        self.notes: dict[str, None] = {}
        self.decided: Counter[tuple[str, Verdict]] = Counter()  # the number of results of rules decided by functions
        self.passed: dict[str, int] = {}  # the number of their passes
        self.rules: dict[str, Rule] = {}
        self.tags: dict[tuple[str, tuple[Tag, ...]], tuple[Tag, ...]] = {}  # those that apply

    def add(
        self, results: SubjectResults, where: Where, node: Node | None = None, signature: Signature | None = None
    ) -> None:
        """Add the results for one subject; of a node with its signature, findings name its operands."""
        self.uses[results] += 1
        listed = self.listing.listed(results)
        if not listed:
            return
        rows = self.rows.get(results)
        if rows is None:
            rows = self.rows[results] = [self._row(result) for result in results.reported]
        for row in compress(rows, listed):
            if row.names and node is not None and signature is not None:
                self._list(row, where, self._operands(row.names, node, signature))
            else:
                self._list(row, where)

    def _operands(self, names: tuple[str, ...], node: Node, signature: Signature) -> tuple[tuple[str, str], ...]:
        """The value of the model for each formal name."""
        places = self.places.get((names, signature))
        if places is None:
            places = self.places[names, signature] = _places(names, signature)
        inputs, outputs = node.inputs, node.outputs
        operands = list[tuple[str, str]]()
        for name, input_index, output_index in places:
            if output_index < len(outputs):
                operands.append((name, outputs[output_index]))
            elif input_index < len(inputs):
                operands.append((name, inputs[input_index]))
        return tuple(operands)

    def _list(self, row: _Row, where: Where, operands: tuple[tuple[str, str], ...] = ()) -> None:
        actual, requires, breaks_onnx, tags, cause = row.said
        finding = Finding(
            *row.key, where, actual, requires, breaks_onnx, tags, cause, operands, row.witness, errata=row.errata
        )
        self.findings.append(finding)

    def lists_failure(self, rule: Rule, verdict: Verdict = Verdict.FAIL) -> bool:
        """Count a failure, or a missing answer, of a rule that a function decides, and say whether to list it."""
        self._count(rule, verdict)
        return self.listing.takes(rule, verdict)

    def list_failure(
        self, rule: Rule, actual: str, where: Where, verdict: Verdict = Verdict.FAIL, cause: str = ""
    ) -> None:
        """List a failure that `lists_failure` has counted."""
        breaks_onnx = verdict is Verdict.FAIL and rule.kind == "validity"
        self._list(self._row(RuleResult(rule, verdict, actual, rule.statement, breaks_onnx, cause)), where)

    def add_failure(self, rule: Rule, actual: str, where: Where) -> None:
        """Count a failure, and list it unless too many are listed."""
        if self.lists_failure(rule):
            self.list_failure(rule, actual, where)

    def add_pass(self, rule: Rule, times: int = 1) -> None:
        """Add passes of a rule that a function decides."""
        number = self.passed.get(rule.slug)
        if number is None:
            self.rules.setdefault(rule.slug, rule)
        self.passed[rule.slug] = (number or 0) + times

    def _count(self, rule: Rule, verdict: Verdict) -> None:
        self.decided[rule.slug, verdict] += 1
        self.rules.setdefault(rule.slug, rule)

    def add_note(self, text: str) -> None:
        """Add a note, unless it is there already."""
        self.notes.setdefault(text)

    def _row(self, result: RuleResult) -> _Row:
        cause = result.cause if result.cause in self.active.slugs or "." in result.cause else ""
        said = shortened(result.actual), result.requires, result.breaks_onnx, self._latest_tags(result.rule), cause
        return _Row((result.rule.slug, result.verdict), said, result.names, result.witness, self._errata(result.rule))

    def _latest_tags(self, rule: Rule) -> tuple[Tag, ...]:
        """The tags of the text that applies, or of the latest one before it that gives the rule any."""
        key = rule.slug, rule.tags
        tags = self.tags.get(key)
        if tags is None:
            tags = self.tags[key] = self._applying_tags(rule)
        return tags

    def _applying_tags(self, rule: Rule) -> tuple[Tag, ...]:
        texts, text = list(self.active.editions.texts), self._text_of(rule)
        candidates = [tag.text for tag in rule.tags if texts.index(tag.text) <= texts.index(text)]
        latest = max(candidates, key=texts.index, default="")
        return tuple(tag for tag in rule.tags if tag.text == latest)

    def _text_of(self, rule: Rule) -> str:
        """The text that the edition takes for a rule."""
        edition = self.active.edition
        operator = rule.slug.partition(".")[0]
        return edition.operators.get(operator, edition.general) if "." in rule.slug else edition.general

    def _errata(self, rule: Rule) -> tuple[str, ...]:
        """The errata of a rule in the text that applies or an earlier one."""
        if not rule.errata:
            return ()
        texts, known = list(self.active.editions.texts), catalogue.errata()
        last = texts.index(self._text_of(rule))
        return tuple(name for name in rule.errata if texts.index(known[name].document[0]) <= last)

    def _unlisted(self, numbers: Mapping[tuple[str, Verdict, str], int]) -> Iterator[str]:
        """A note on each rule with more findings than are listed."""
        for slug, verdict in self.listing.numbers:
            number = numbers[slug, verdict, ""]
            if number > self.listing.most:
                more = f"--limit findings={number} lists all"
                yield f"of {number} results {verdict} of {slug} the first {self.listing.most} are listed; {more}"

    def report(self, about: Subject, nodes: int, signatures: Iterable[Signature]) -> Report:
        """The report on a model with this number of nodes, calling operators with these signatures."""
        numbers = Counter({(*key, ""): number for key, number in self.decided.items()})
        numbers.update({(slug, Verdict.PASS, ""): number for slug, number in self.passed.items()})
        rules = dict(self.rules)
        for results, uses in self.uses.items():
            for result in (*results.counted, *results.reported):
                reason = result.actual if result.verdict is Verdict.NOT_APPLICABLE else ""
                numbers[result.rule.slug, result.verdict, reason] += uses
                rules[result.rule.slug] = result.rule
        counts = tuple(Count(*key, number) for key, number in sorted(numbers.items()))
        in_force = self.active.slugs | {rule.slug for signature in signatures for rule in signature.rules}
        return Report(
            name=about.name,
            conditions=about.conditions,
            verdict=overall({count.verdict for count in counts}),
            findings=tuple(self.findings),
            counts=counts,
            coverage=_coverage(counts, len(in_force), nodes),
            notes=(*self.notes, *self._unlisted(numbers), *about.notes),
            rules=dict(sorted(rules.items())),
            open_inputs=about.open_inputs,
            outline=about.outline,
            tailoring=self.active.tailoring,
        )


def _coverage(counts: tuple[Count, ...], known: int, nodes: int) -> Coverage:
    applicable, evaluated = applicable_and_evaluated(counts)
    membership = {count.verdict: count.number for count in counts if count.rule == "operator-in-profile"}
    return Coverage(
        known=known,
        applicable=applicable,
        evaluated=evaluated,
        nodes=nodes,
        nodes_in_profile=nodes - membership.get(Verdict.FAIL, 0),
        nodes_not_checked=membership.get(Verdict.NOT_CHECKED, 0),
    )


def _places(names: tuple[str, ...], signature: Signature) -> list[tuple[str, int, int]]:
    """For each formal name, and the first members of a variadic one, its place among inputs and among outputs.

    A formal that is not an input, or not an output, has a place there that no node has.
    """
    items = [f"{name}[{index}]" for name in names if "[" not in name for index in range(MAX_SHOWN_INPUTS)]
    input_index, output_index = dict[str, int](), {formal.name: index for index, formal in enumerate(signature.outputs)}
    shown = dict.fromkeys((*names, *items))
    for index, formal in enumerate(signature.inputs):
        if formal.variadic:
            first = len(formal.name) + 1
            input_index |= {name: index + int(name[first:-1]) for name in shown if name.startswith(f"{formal.name}[")}
        else:
            input_index[formal.name] = index
    return [
        (name, input_index.get(name, maxsize), output_index.get(name, maxsize))
        for name in shown
        if name in input_index or name in output_index
    ]


def notes(model: Model, domains: set[str], signatures: Iterable[Signature], edition: Edition) -> Iterator[str]:
    """The notes on a model whose nodes have these domains and these signatures."""
    for signature in signatures:
        yield from _operator_notes(signature, edition)
    for domain in imports_of(model.imports):
        if domain and domain not in domains:
            yield f"the operator set {quote(domain)} is imported and not used"
    yield from edition_notes(edition)


def edition_notes(edition: Edition) -> Iterator[str]:
    """The notes that are on every model: they say what this edition demands and no check decides, and whose it is."""
    texts = list(catalogue.editions().texts)
    for demand in catalogue.editions().uncheckable:
        if texts.index(demand.introduced) <= texts.index(edition.general):
            yield f"not checked: {demand.statement}; {demand.because}"
    if edition.consolidated:
        yield f"edition {edition.name} is consolidated by this tool from the published texts"


def _operator_notes(signature: Signature, edition: Edition) -> Iterator[str]:
    operator, version = catalogue.operator(signature.operator), signature.version
    if operator is None:
        return
    if operator.name in edition.drafts:
        reason = ", ".join(operator.errata) or "its text is incomplete"
        yield f"{operator.name} is specified as a draft: {reason}"
    specified = operator.specified_by(signature.text)
    reason = operator.equivalent.get(version) or operator.equivalent.get(specified or 0, "")
    if reason and version != specified:
        yield f"{operator.name} {version} {ACCEPTED_LIKE} {specified}: {reason}"
