"""What `sonnx prove` found, theorems or the proof of a model, in the form every format renders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from sonnx.base.escaping import escape, plural, printable
from sonnx.checker.report import Where
from sonnx.profile import catalogue
from sonnx.profile.definitions import Edition
from sonnx.prover.dependencies import functions, page_of
from sonnx.prover.model_proof import ModelProof, Open, Refuted
from sonnx.prover.results import TheoremResult
from sonnx.report import proofs as model_report
from sonnx.report import proofs as theorem_report
from sonnx.report.result import Case, Declared, Part, Result, Standing, rule_declared
from sonnx.report.rules import rules_of

if TYPE_CHECKING:  # it loads z3
    from sonnx.prover.theorem import Theorem

# ------------------------------------------------------------------ theorems


def of_theorems(outcomes: Sequence[TheoremResult], code: int) -> Result:
    """A part for each page of docs/theorems, a case for each theorem; it is good where it comes out as stated."""
    pages: dict[str, list[TheoremResult]] = {}
    for outcome in outcomes:
        pages.setdefault(page_of(outcome.theorem), []).append(outcome)
    topics = dict.fromkeys(outcome.theorem.id.partition(".")[0] for outcome in outcomes)
    numbers = Counter(outcome.status for outcome in outcomes)
    wrong = sum(not outcome.expected for outcome in outcomes)
    said = ", ".join(f"{numbers[status]} {status}" for status in theorem_report.STATUSES if numbers[status])
    return Result(
        command="prove",
        title="theorems about the profile",
        about=f"{plural(len(topics), 'topic')}: {', '.join(topics)}",
        headline=f"{plural(len(outcomes), 'theorem')}: {said}; {wrong or 'none'} otherwise than stated",
        code=code,
        declared={outcome.theorem.id: _theorem(outcome.theorem) for outcome in outcomes},
        parts=tuple(_page(page, members) for page, members in pages.items()),
        notes=tuple(map(printable, theorem_report.trusted(outcomes))),
    )


def _page(page: str, members: Sequence[TheoremResult]) -> Part:
    """The theorems of one page; the bounds that all of them have are said once."""
    bounds = {outcome.theorem.bounds for outcome in members}
    shared = len(bounds) == 1 and "" not in bounds
    note = f"bounds of all: {members[0].theorem.bounds}" if shared else ""
    return Part(page, f"docs/theorems/{page}.md", tuple(_outcome(outcome, shared) for outcome in members), note)


def _theorem(theorem: Theorem) -> Declared:
    about = ", ".join(functions(theorem))
    tags = tuple(filter(None, (theorem.id.partition(".")[0], theorem.erratum)))
    return Declared(theorem.statement, "theorem", theorem.because, "", f"about {about}" if about else "", tags)


def _outcome(outcome: TheoremResult, shared: bool) -> Case:
    theorem = outcome.theorem
    if outcome.expected:
        standing = Standing.GOOD
    else:
        standing = Standing.OPEN if outcome.status in ("undecided", "vacuous") else Standing.BAD
    stated = "" if outcome.expected else f"stated as {theorem.expected}: "
    if outcome.expected and outcome.status == "refuted":
        stated = "false, as stated: "
    message = f"{stated}{theorem.statement}"
    return Case(
        theorem.id, theorem.id, outcome.status, standing, message, tuple(_shown(outcome, shared and outcome.expected))
    )


def _shown(outcome: TheoremResult, shared: bool) -> Iterator[tuple[str, str]]:
    theorem = outcome.theorem
    if outcome.unanswered is not None:
        yield "not answered", printable(outcome.unanswered)
    for each in outcome.obligations:
        if not outcome.expected and each.status != theorem.expected:
            yield each.status, f"{each.name}{theorem_report.disagreement(each)}"
    if outcome.status == "refuted":
        yield "shown", printable(outcome.replayed) or theorem_report.values(outcome)
    if outcome.unconfirmed:
        yield "not confirmed", f"the code that runs does not show it: {printable(outcome.unconfirmed)}"
    if theorem.bounds and not shared:
        yield "bounds", theorem.bounds
    if outcome.confirmed:
        yield "solvers", "two"


# ------------------------------------------------------------------ a model

WHOLE = Where("model", "model")
EVERY_NODE = "every-node-asked"
"""No rule of the profile: that each node of a model has rules, and is asked."""


def of_model(proof: ModelProof) -> Result:
    """One part: a case for each rule that holds everywhere, one for each place where one does not or is open."""
    edition = catalogue.editions().editions[proof.edition]
    cases = (*map(_refuted(proof), proof.refuted), *map(_open, proof.open), *_tallies(proof), _every_node(proof))
    return Result(
        command="prove",
        title="the rules of a model for all values of its symbols",
        about=escape(proof.name),
        headline=printable(model_report.headline(proof)),
        code=proof.exit_code,
        declared=_declared(edition),
        parts=(Part(escape(proof.name), proof.name, cases),),
        facts=tuple(_facts(proof, edition)),
        notes=(*map(printable, proof.notes), *_folded(proof)),
        hashes={proof.name: proof.sha256},
    )


def _declared(edition: Edition) -> dict[str, Declared]:
    """Every rule of the edition, asked or not, so that an alert that no longer comes is closed."""
    rules = {rule.slug: rule_declared(rule, edition) for rule in rules_of(edition)}
    every = Declared("Every node has rules in the edition, and is asked.", "coverage")
    return {**dict(sorted(rules.items())), EVERY_NODE: every}


def _facts(proof: ModelProof, edition: Edition) -> Iterator[tuple[str, str]]:
    if proof.sha256:
        yield "SHA-256", proof.sha256
    yield "edition", f"{proof.edition}: {edition.title}"
    if proof.assumptions:
        yield "for all", printable(", ".join(proof.assumptions))
    if proof.refuted:
        yield "needs", printable(proof.constraint or model_report.UNSTATED)


def _refuted(proof: ModelProof) -> Callable[[Refuted], Case]:
    def case(refuted: Refuted) -> Case:
        return Case(
            refuted.rule, refuted.rule, "refuted", Standing.BAD,
            printable(f"{model_report.binding(refuted)}: {refuted.actual}"),
            (*((term, printable(said)) for term, said in model_report.told(proof, refuted)), *_more(refuted.nodes)),
            refuted.where,
        )  # fmt: skip

    return case


def _open(undecided: Open) -> Case:
    return Case(
        undecided.rule, undecided.rule, "undecided", Standing.OPEN, printable(undecided.reason),
        tuple(_more(undecided.nodes)), undecided.where,
    )  # fmt: skip


def _more(nodes: int) -> Iterator[tuple[str, str]]:
    if nodes > 1:
        yield "also", f"{plural(nodes - 1, 'node')} with the same facts"


def _tallies(proof: ModelProof) -> Iterator[Case]:
    """What holds, and what was left open because of another answer, by rule."""
    for tally in proof.rules:
        if tally.waiting:
            said = f"{plural(tally.waiting, 'node')} not decided, only because of other answers"
            yield Case(tally.rule, tally.rule, "undecided", Standing.OPEN, said, (), WHOLE, folded=True)
        if tally.proved:
            yield Case(tally.rule, tally.rule, "proved", Standing.GOOD, f"at {plural(tally.proved, 'node')}")


def _folded(proof: ModelProof) -> Iterator[str]:
    waiting = [tally.waiting for tally in proof.rules if tally.waiting]
    if waiting:
        answers = plural(sum(waiting), "answer is", "answers are")
        yield f"{answers} open only because of others, to {plural(len(waiting), 'rule')}"


def _every_node(proof: ModelProof) -> Case:
    said = f"{proof.nodes_judged} of {plural(proof.nodes, 'node')} asked"
    if proof.nodes_judged < proof.nodes:
        return Case(EVERY_NODE, EVERY_NODE, "undecided", Standing.OPEN, said, (), WHOLE)
    return Case(EVERY_NODE, EVERY_NODE, "proved", Standing.GOOD, said)
