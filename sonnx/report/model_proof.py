"""The public result of proving a model, as a document and as JSON (proof.schema.json)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Annotated

from sonnx.base.escaping import escape, escape_once, plural
from sonnx.base.reported import HIDDEN
from sonnx.checker.verdicts import Where
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition
from sonnx.prover.model_proof import ModelProof, Open, Refuted
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing, rule_criterion
from sonnx.report.rendered import Rendered
from sonnx.report.rules import rules_of

TOO_LONG = "for some values only; the condition is too long to print"

WHOLE_MODEL = Where("model", "model")
EVERY_NODE = "every-node-asked"
"""The criterion that each node of the model has rules and was checked; not a rule of the profile."""


class ProofReport(ModelProof, Rendered, frozen=True):
    """The proof of a model for all values of its symbolic dimensions, with its renderings."""

    written_proofs: Annotated[str, HIDDEN] = ""
    """How many questions have a proof in the folder of the proofs; "" without one."""

    def document(self) -> Document:
        """The proof as a document: a case for each rule that holds everywhere, and each place where one does not."""
        edition = catalogue.editions().editions[self.edition]
        cases = (
            *(_refuted_case(self, refuted) for refuted in self.refuted),
            *map(_open_case, self.open),
            *_count_cases(self),
            _every_node_case(self),
        )
        return Document(
            command="prove",
            title="the rules of a model for all values of its symbols",
            subject=escape(self.name),
            headline=escape_once(headline(self)),
            code=self.exit_code,
            criteria=_criteria(edition),
            sections=(Section(escape(self.name), self.name, cases),),
            facts=tuple((term, escape_once(text)) for term, text in _facts(self, edition)),
            notes=(*map(escape_once, self.notes), *_folded(self)),
            hashes={self.name: self.sha256},
            advice=tuple((term, escape_once(text)) for term, text in advice(self)),
        )


def advice(proof: ModelProof) -> Iterator[tuple[str, str]]:
    """The command that may decide what waits for a declaration, as a term with its text."""
    lacking = sum(each.lacks_declaration for each in proof.open)
    if lacking:
        of = f"{lacking} of {plural(len(proof.open), 'undecided result')}"
        command = f"sonnx fix {shlex.quote(proof.name)}, then prove the file it writes"
        yield "mend first", f"{command}: {of} lack a declaration, and fix declares what can be computed"


def headline(proof: ModelProof) -> str:
    """The verdict with its numbers, in one line."""
    what = f"{proof.proved} of {proof.asked} conditions of {plural(proof.nodes_judged, 'node')}"
    symbols = f"for all values of {', '.join(proof.symbols)}" if proof.symbols else "without symbolic dimensions"
    calls = f"{plural(proof.distinct, 'different call')}, {plural(proof.queries, 'query', 'queries')} to the solver"
    return f"{proof.conditions.limited(f'{proof.verdict}: {what} hold {symbols}')}; {calls}"


def binding(refuted: Refuted) -> str:
    """The values of the symbols that matter for which the rule fails."""
    values = refuted.counterexample.items()
    numbers = ", ".join(f"{symbol}={number}" for symbol, number in values if symbol in refuted.matters)
    return "whatever the symbols are" if refuted.always else f"for {numbers}"


def details(proof: ModelProof, refuted: Refuted) -> Iterator[tuple[str, str]]:
    """What the rule requires, where it holds, and the command that shows the failure, as terms with their texts."""
    yield "requires", refuted.requires
    if not refuted.always:
        yield "holds", f"where {refuted.constraint}" if refuted.constraint else TOO_LONG
        numbers = ",".join(f"{symbol}={number}" for symbol, number in refuted.counterexample.items())
        yield "repeat", f"sonnx check --bind {numbers} {proof.name}"


def _criteria(edition: Edition) -> dict[str, Criterion]:
    """Every rule of the edition, so that an alert is closed when it no longer occurs."""
    rules = {rule.slug: rule_criterion(rule, edition) for rule in rules_of(edition)}
    every = Criterion("Every node has rules in the edition and is checked.", "coverage")
    return {**dict(sorted(rules.items())), EVERY_NODE: every}


def _facts(proof: ModelProof, edition: Edition) -> Iterator[tuple[str, str]]:
    """What the verdict holds for, what the model needs, what a second solver confirms."""
    yield from proof.conditions.facts()
    yield "edition", f"{proof.edition}: {edition.title}"
    if proof.assumptions:
        yield "for all", ", ".join(proof.assumptions)
    if proof.refuted:
        yield "needs", proof.constraint or TOO_LONG
    if proof.refuted and proof.sufficient is not None:
        yield (
            "sufficient",
            "yes: under it all conditions hold" if proof.sufficient else "not shown: it is only necessary",
        )
    if len(proof.solvers) > 1:
        confirmed = sum(question.confirmed for question in proof.questions)
        asked = plural(len(proof.questions), "query", "queries")
        yield "confirmed", f"{proof.solvers[1]} confirms {confirmed} of {asked} that decide a rule"


def _refuted_case(proof: ModelProof, refuted: Refuted) -> CaseResult:
    told = ((term, escape_once(text)) for term, text in details(proof, refuted))
    return CaseResult(
        refuted.rule, refuted.rule, "refuted", Standing.BAD, escape_once(f"{binding(refuted)}: {refuted.actual}"),
        (*told, *_more(refuted.nodes)), refuted.where,
    )  # fmt: skip


def _open_case(undecided: Open) -> CaseResult:
    return CaseResult(
        undecided.rule, undecided.rule, "undecided", Standing.OPEN, escape_once(undecided.reason),
        tuple(_more(undecided.nodes)), undecided.where,
    )  # fmt: skip


def _more(nodes: int) -> Iterator[tuple[str, str]]:
    if nodes > 1:
        yield "also", f"{plural(nodes - 1, 'node')} with the same facts"


def _count_cases(proof: ModelProof) -> Iterator[CaseResult]:
    """The numbers of nodes where a rule holds, and where it is undecided only because of other results."""
    for tally in proof.rules:
        if tally.waiting:
            text = f"{plural(tally.waiting, 'node')} not decided, only because of other results"
            yield CaseResult(tally.rule, tally.rule, "undecided", Standing.OPEN, text, (), WHOLE_MODEL, folded=True)
        if tally.proved:
            yield CaseResult(tally.rule, tally.rule, "proved", Standing.GOOD, f"at {plural(tally.proved, 'node')}")


def _folded(proof: ModelProof) -> Iterator[str]:
    waiting = [tally.waiting for tally in proof.rules if tally.waiting]
    if waiting:
        results = plural(sum(waiting), "result is", "results are")
        yield f"{results} open only because of others, for {plural(len(waiting), 'rule')}"


def _every_node_case(proof: ModelProof) -> CaseResult:
    text = f"{proof.nodes_judged} of {plural(proof.nodes, 'node')} checked"
    if proof.nodes_judged < proof.nodes:
        return CaseResult(EVERY_NODE, EVERY_NODE, "undecided", Standing.OPEN, text, (), WHOLE_MODEL)
    return CaseResult(EVERY_NODE, EVERY_NODE, "proved", Standing.GOOD, text)
