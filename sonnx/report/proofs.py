"""The outcome of proving, as text and as JSON; no times, so that two runs give the same bytes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sonnx.proving import SOLVERS, Outcome
from sonnx.quoting import escape
from sonnx.report.json import tool_version

FORMAT = 1
STATUSES = ("proved", "refuted", "undecided", "vacuous")
ANSWER = ("solver", "version", "result", "effort", "steps", "trusted")
MODELS = 24
"""Witness models that are shown one by one."""
Theorem = Any
"""A theorem of proofs/, which is not imported here."""


def listing(found: Iterable[Theorem]) -> str:
    """One line for each theorem."""
    return "".join(
        f"{theorem.id:46s} {theorem.expected:8s} {theorem.statement}"
        f"{f' ({theorem.bounds})' if theorem.bounds else ''}\n"
        for theorem in found
    )


def text(outcomes: Sequence[Outcome]) -> str:
    """A table by topic, what came out otherwise than stated, the refuted statements, and what is assumed."""
    return "\n".join([*_table(outcomes), *_surprises(outcomes), *_refuted(outcomes), *_trust(outcomes)]) + "\n"


def _table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    topics = dict.fromkeys(outcome.theorem.id.partition(".")[0] for outcome in outcomes)
    yield _row("topic", ["theorems", *STATUSES[:3], "obligations", *SOLVERS, "confirmed"])
    for topic in topics:
        yield _row(topic, _counts([o for o in outcomes if o.theorem.id.partition(".")[0] == topic]))
    yield _row("all", _counts(outcomes))


def _row(first: str, cells: Sequence[object]) -> str:
    return f"{first:14s}" + "".join(f"{cell!s:>12s}" for cell in cells)


def _counts(outcomes: Sequence[Outcome]) -> list[int]:
    status = [outcome.status for outcome in outcomes]
    obligations = [each for outcome in outcomes for each in outcome.obligations]
    solvers = [answer.solver for each in obligations for answer in each.answers if answer.result in ("sat", "unsat")]
    undecided = len(status) - status.count("proved") - status.count("refuted")
    return [
        len(outcomes), status.count("proved"), status.count("refuted"), undecided, len(obligations),
        *(solvers.count(solver) for solver in SOLVERS), sum(outcome.confirmed for outcome in outcomes),
    ]  # fmt: skip


def _surprises(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield from _unanswered(outcomes)
    for outcome in outcomes:
        if not outcome.expected and outcome.unanswered is None:
            theorem = outcome.theorem
            yield ""
            yield f"{theorem.id} is {outcome.status}, and is stated as {theorem.expected}: {theorem.statement}"
            yield from (f"  {each.status:9s} {each.name}{_disagreement(each)}" for each in outcome.obligations
                        if each.status != theorem.expected)  # fmt: skip
            if outcome.counterexample:
                yield f"  for {_values(outcome)}"
            if outcome.unconfirmed:
                yield f"  the code that runs does not show it: {escape(outcome.unconfirmed)}"


def _unanswered(outcomes: Sequence[Outcome]) -> Iterator[str]:
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


def _disagreement(judged: Any) -> str:
    found = {answer.solver: answer.result for answer in judged.answers}
    return f" ({', '.join(f'{solver}: {result}' for solver, result in found.items())})" if found else ""


def _refuted(outcomes: Sequence[Outcome]) -> Iterator[str]:
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
            yield f"  shown    {escape(outcome.replayed) or _values(outcome)}"
            if theorem.because:
                yield f"  because  {theorem.because}"
    if folded:
        yield ""
        yield f"refuted, as stated: {len(folded)} claims that a rule follows from the others or that nothing conforms"
        yield "  shown    by a model for each, which the checker judged"
        yield f"  more     sonnx prove --select {folded[0].theorem.id}"


def _values(outcome: Outcome) -> str:
    return ", ".join(f"{name} = {value}" for name, value in outcome.counterexample)


def _trust(outcomes: Sequence[Outcome]) -> Iterator[str]:
    outcomes = [outcome for outcome in outcomes if outcome.unanswered is None]
    single = [outcome for outcome in outcomes if not outcome.confirmed]
    answers = [answer for outcome in outcomes for each in outcome.obligations for answer in each.answers]
    versions = dict.fromkeys(f"{answer.solver} {answer.version}" for answer in answers)
    steps = sum(answer.steps for answer in answers)
    yield ""
    yield f"solvers: {', '.join(versions) or 'none answered'}"
    if steps:
        yield f"cvc5 gave proofs of {steps} steps, {sum(a.trusted for a in answers)} of them trusted"
    if single:
        yield f"{len(single)} of {len(outcomes)} theorems rest on one solver; --solver all asks a second one"
        reasons = Counter(outcome.theorem.reason_single for outcome in single if outcome.theorem.reason_single)
        yield from (f"  {count} of them for a reason: {reason}" for reason, count in reasons.items())
    yield "what has to be believed: docs/trust.md"


def as_json(outcomes: Sequence[Outcome]) -> str:
    """The certificates: what was asked, by its hashes, and what each solver answered."""
    document = {
        "format": FORMAT,
        "tool": {"name": "sonnx", "version": tool_version()},
        "theorems": [_certificate(outcome) for outcome in outcomes],
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _certificate(outcome: Outcome) -> dict[str, Any]:
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
