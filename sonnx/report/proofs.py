"""The outcome of proving, as text and as JSON (theorems.schema.json), without times: equal runs give equal bytes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sonnx.base.escaping import escape, plural, quote
from sonnx.base.resources import tool_version
from sonnx.checker.report import Where
from sonnx.prover.model_proof import ModelProof, Open, Refuted
from sonnx.prover.results import SOLVERS, ObligationResult, TheoremResult

if TYPE_CHECKING:  # it loads z3
    from sonnx.prover.theorem import Theorem

FORMAT = 1
STATUSES = ("proved", "refuted", "undecided", "vacuous")
ANSWER = ("solver", "version", "result", "effort", "steps", "trusted")
MODELS = 24
"""Witness models that are shown one by one."""


def listing(found: Iterable[Theorem]) -> str:
    """One line for each theorem."""
    return "".join(
        f"{theorem.id:46s} {theorem.expected:8s} {theorem.statement}"
        f"{f' ({theorem.bounds})' if theorem.bounds else ''}\n"
        for theorem in found
    )


def text(outcomes: Sequence[TheoremResult]) -> str:
    """A table by topic, what came out otherwise than stated, the refuted statements, and what is assumed."""
    return "\n".join([*_table(outcomes), *_surprises(outcomes), *_refuted(outcomes), "", *trusted(outcomes)]) + "\n"


def _table(outcomes: Sequence[TheoremResult]) -> Iterator[str]:
    topics = dict.fromkeys(outcome.theorem.id.partition(".")[0] for outcome in outcomes)
    yield _row("topic", ["theorems", *STATUSES[:3], "obligations", *SOLVERS, "confirmed"])
    for topic in topics:
        yield _row(topic, _counts([o for o in outcomes if o.theorem.id.partition(".")[0] == topic]))
    yield _row("all", _counts(outcomes))


def _row(first: str, cells: Sequence[object]) -> str:
    return f"{first:14s}" + "".join(f"{cell!s:>12s}" for cell in cells)


def _counts(outcomes: Sequence[TheoremResult]) -> list[int]:
    status = [outcome.status for outcome in outcomes]
    obligations = [each for outcome in outcomes for each in outcome.obligations]
    solvers = [answer.solver for each in obligations for answer in each.answers if answer.result in ("sat", "unsat")]
    undecided = len(status) - status.count("proved") - status.count("refuted")
    return [
        len(outcomes), status.count("proved"), status.count("refuted"), undecided, len(obligations),
        *(solvers.count(solver) for solver in SOLVERS), sum(outcome.confirmed for outcome in outcomes),
    ]  # fmt: skip


def _surprises(outcomes: Sequence[TheoremResult]) -> Iterator[str]:
    yield from _unanswered(outcomes)
    for outcome in outcomes:
        if not outcome.expected and outcome.unanswered is None:
            theorem = outcome.theorem
            yield ""
            yield f"{theorem.id} is {outcome.status}, and is stated as {theorem.expected}: {theorem.statement}"
            yield from (f"  {each.status:9s} {each.name}{disagreement(each)}" for each in outcome.obligations
                        if each.status != theorem.expected)  # fmt: skip
            if outcome.counterexample:
                yield f"  for {values(outcome)}"
            if outcome.unconfirmed:
                yield f"  the code that runs does not show it: {escape(outcome.unconfirmed)}"


def _unanswered(outcomes: Sequence[TheoremResult]) -> Iterator[str]:
    """By reason, because a run that ended leaves many."""
    reasons: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.unanswered is not None:
            name = outcome.theorem.id
            reasons.setdefault(outcome.unanswered.removeprefix(f"{name} "), []).append(name)
    for reason, names in reasons.items():
        more = f" and {len(names) - MODELS} more" if len(names) > MODELS else ""
        yield ""
        yield f"{', '.join(names[:MODELS])}{more}: {escape(reason)}"


def disagreement(judged: ObligationResult) -> str:
    """What each solver answered to an obligation."""
    found = {answer.solver: answer.result for answer in judged.answers}
    return f" ({', '.join(f'{solver}: {result}' for solver, result in found.items())})" if found else ""


def _refuted(outcomes: Sequence[TheoremResult]) -> Iterator[str]:
    """What a text says and is false, one by one; models that break one rule alone are many, and then only counted."""
    found = [outcome for outcome in outcomes if outcome.status == "refuted" and outcome.expected]
    models = [outcome for outcome in found if outcome.theorem.reason_single]
    folded = models if len(models) > MODELS else []
    for outcome in found:
        if outcome not in folded:
            theorem = outcome.theorem
            yield ""
            yield f"refuted, as stated: {theorem.id}{f'  [{theorem.erratum}]' if theorem.erratum else ''}"
            yield f"  claim    {theorem.statement}"
            yield f"  shown    {escape(outcome.replayed) or values(outcome)}"
            if theorem.because:
                yield f"  because  {theorem.because}"
    if folded:
        yield ""
        yield f"refuted, as stated: {len(folded)} claims that a rule follows from the others or that nothing conforms"
        yield "  shown    by a model for each, which the checker judged"
        yield f"  more     sonnx prove --select {folded[0].theorem.id}"


def values(outcome: TheoremResult) -> str:
    """The counterexample of the solver."""
    return ", ".join(f"{name} = {value}" for name, value in outcome.counterexample)


def trusted(outcomes: Sequence[TheoremResult]) -> Iterator[str]:
    """Who answered, what rests on one solver, and what has to be believed."""
    outcomes = [outcome for outcome in outcomes if outcome.unanswered is None]
    single = [outcome for outcome in outcomes if not outcome.confirmed]
    answers = [answer for outcome in outcomes for each in outcome.obligations for answer in each.answers]
    versions = dict.fromkeys(f"{answer.solver} {answer.version}" for answer in answers)
    steps = sum(answer.steps for answer in answers)
    yield f"solvers: {', '.join(versions) or 'none answered'}"
    if steps:
        yield f"cvc5 gave proofs of {steps} steps, {sum(a.trusted for a in answers)} of them trusted"
    if single:
        yield f"{len(single)} of {len(outcomes)} theorems rest on one solver; --solver all asks a second one"
        reasons = Counter(outcome.theorem.reason_single for outcome in single if outcome.theorem.reason_single)
        yield from (f"  {count} of them for a reason: {reason}" for reason, count in reasons.items())
    yield "what has to be believed: docs/trust.md"


def as_json(outcomes: Sequence[TheoremResult]) -> str:
    """The certificates: what was asked, by its hashes, and what each solver answered."""
    document = {
        "format": FORMAT,
        "tool": {"name": "sonnx", "version": tool_version()},
        "theorems": [_certificate(outcome) for outcome in outcomes],
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _certificate(outcome: TheoremResult) -> dict[str, Any]:
    theorem = outcome.theorem
    stated = ("id", "statement", "formula", "expected", "bounds", "sort", "reason_single", "because", "erratum")
    return {
        **{name: getattr(theorem, name) for name in stated},
        "status": outcome.status,
        "as_expected": outcome.expected,
        "confirmed": outcome.confirmed,
        "source_sha256": outcome.source,
        "counterexample": dict(outcome.counterexample),
        "replayed": outcome.replayed,
        "unconfirmed": outcome.unconfirmed,
        "unanswered": str(outcome.unanswered or ""),
        "obligations": [
            {
                "name": each.name,
                "status": each.status,
                "smt2_sha256": each.hash,
                "answers": [{name: getattr(answer, name) for name in ANSWER} for answer in each.answers],
            }
            for each in outcome.obligations
        ],
    }


# ------------------------------------------------------------------
# The proof of a model, as text for a terminal and as data for JSON (proof.schema.json).


MODEL_FORMAT = 1
UNSTATED = "under a condition on the symbols that could not be stated in few words"


def render(proof: ModelProof) -> str:
    """The whole proof: what fails first, then what is open, then the totals."""
    return "\n".join(escape(line) for line in _lines(proof)) + "\n"


def _lines(proof: ModelProof) -> Iterator[str]:
    for refuted in proof.refuted:
        yield from _refuted_model(proof, refuted)
    for undecided in proof.open:
        yield f"{proof.name}: {_where(undecided.where, undecided.nodes)}"
        yield f"  undecided  {undecided.rule}  {undecided.reason}"
    yield f"{proof.name}: {headline(proof)}"
    if proof.assumptions:
        yield f"  for all     {', '.join(proof.assumptions)}"
    if proof.refuted:
        yield f"  needs       {proof.constraint or UNSTATED}"
    for note in proof.notes:
        yield f"  note        {note}"


def headline(proof: ModelProof) -> str:
    """The verdict with its numbers, in one line."""
    what = f"{proof.proved} of {proof.conditions} conditions of {plural(proof.nodes_judged, 'node')}"
    symbols = f"for all values of {', '.join(proof.symbols)}" if proof.symbols else "without symbolic dimensions"
    asked = f"{plural(proof.distinct, 'different call')}, {plural(proof.queries, 'question')} to the solver"
    return f"{proof.verdict}: {what} hold {symbols} (edition {proof.edition}; {asked})"


def _refuted_model(proof: ModelProof, refuted: Refuted) -> Iterator[str]:
    yield f"{proof.name}: {_where(refuted.where, refuted.nodes)}"
    yield f"  refuted  {refuted.rule}  {binding(refuted)}: {refuted.actual}"
    yield from (f"        {term:<8}  {said}" for term, said in told(proof, refuted))


def binding(refuted: Refuted) -> str:
    """For which values of the symbols the rule fails."""
    numbers = ", ".join(f"{symbol}={number}" for symbol, number in refuted.numbers)
    return "whatever the symbols are" if refuted.always else f"for {numbers}"


def told(proof: ModelProof, refuted: Refuted) -> Iterator[tuple[str, str]]:
    """What the rule demands, where it holds, and the command that shows it, as terms and what they say."""
    yield "requires", refuted.requires
    if not refuted.always:
        yield "holds", f"where {refuted.constraint}" if refuted.constraint else UNSTATED
        numbers = ",".join(f"{symbol}={number}" for symbol, number in refuted.numbers)
        yield "repeat", f"sonnx check --bind {numbers} {proof.name}"


def _where(where: Where, nodes: int) -> str:
    more = f" and {plural(nodes - 1, 'node')} with the same facts" if nodes > 1 else ""
    return f"node {quote(where.name)} ({where.operator}, opset {where.version}), {where.place}{more}"


def model_as_json(proof: ModelProof) -> str:
    """The proof as one JSON document, ending in a line feed."""
    return json.dumps(as_data(proof), indent=1, ensure_ascii=True) + "\n"


def as_data(proof: ModelProof) -> dict[str, Any]:
    """The proof as a dictionary of JSON values."""
    return {
        "format": MODEL_FORMAT,
        "tool": {"name": "sonnx", "version": tool_version()},
        "model": proof.name,
        "sha256": proof.sha256 or None,
        "edition": proof.edition,
        "verdict": proof.verdict,
        "exit": proof.exit_code,
        "symbols": list(proof.symbols),
        "assumptions": list(proof.assumptions),
        "nodes": proof.nodes,
        "nodes_judged": proof.nodes_judged,
        "conditions": proof.conditions,
        "proved": proof.proved,
        "distinct": proof.distinct,
        "queries": proof.queries,
        "rules": [{"rule": each.rule, "proved": each.proved, "waiting": each.waiting} for each in proof.rules],
        "refuted": [_refuted_data(each) for each in proof.refuted],
        "open": [_open_data(each) for each in proof.open],
        "constraint": proof.constraint or None,
        "notes": list(proof.notes),
    }


def _refuted_data(refuted: Refuted) -> dict[str, Any]:
    return {
        "rule": refuted.rule,
        "where": _where_data(refuted.where),
        "nodes": refuted.nodes,
        "requires": refuted.requires,
        "counterexample": dict(refuted.numbers),
        "actual": refuted.actual,
        "constraint": refuted.constraint or None,
        "always": refuted.always,
    }


def _open_data(undecided: Open) -> dict[str, Any]:
    return {
        "rule": undecided.rule,
        "where": _where_data(undecided.where),
        "nodes": undecided.nodes,
        "reason": undecided.reason,
    }


def _where_data(where: Where) -> dict[str, Any]:
    return {"place": where.place, "name": where.name, "operator": where.operator, "operator_set": where.version}
