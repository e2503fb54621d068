"""Proofs as JUnit XML, for test reports of CI, and as Markdown, for a job summary or a review."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonnx.model_proof import ModelProof
from sonnx.proving import Outcome
from sonnx.quoting import escape
from sonnx.report import proof as model_report
from sonnx.report import proofs as theorem_report
from sonnx.report.json import tool_version
from sonnx.report.junit import Case, case_of, document
from sonnx.report.markdown import code_span, words


def junit(outcomes: Sequence[Outcome]) -> str:
    """A suite for each topic, a case for each theorem; it passes where it comes out as stated."""
    topics: dict[str, list[Case]] = {}
    for outcome in outcomes:
        topics.setdefault(outcome.theorem.id.partition(".")[0], []).append(_theorem(outcome))
    return document("sonnx prove", [(topic, "", cases) for topic, cases in topics.items()])


def _theorem(outcome: Outcome) -> Case:
    theorem = outcome.theorem
    element = "" if outcome.expected else "error" if outcome.status in ("undecided", "vacuous") else "failure"
    message = f"{outcome.status}, stated as {theorem.expected}: {theorem.statement}"
    lines = [f"{each.status}: {each.name}" for each in outcome.obligations if each.status != theorem.expected]
    lines += [f"the code that runs does not show it: {outcome.unconfirmed}"] if outcome.unconfirmed else []
    lines += [outcome.unanswered] if outcome.unanswered is not None else []
    return case_of(theorem.id.rpartition(".")[0], theorem.id, element, outcome.status, message, map(escape, lines))


def markdown(outcomes: Sequence[Outcome]) -> str:
    """What came out otherwise than stated first, then a table of all theorems."""
    wrong = [outcome for outcome in outcomes if not outcome.expected]
    lines = [f"# sonnx {tool_version()}: {len(outcomes)} theorems, {len(wrong)} otherwise than stated", ""]
    for outcome in wrong:
        reason = f": {words(outcome.unanswered)}" if outcome.unanswered is not None else ""
        lines += [
            f"* **{outcome.status}**, stated as {outcome.theorem.expected}: {code_span(outcome.theorem.id)}{reason}"
        ]
    lines += ["", "| theorem | status | as stated | solvers | statement |", "|---|---|---|---|---|"]
    lines += map(_row, outcomes)
    return "\n".join([*lines, "", *_trusted(outcomes)]) + "\n"


def _row(outcome: Outcome) -> str:
    theorem = outcome.theorem
    bounds = f" ({theorem.bounds})" if theorem.bounds else ""
    cells = [
        code_span(theorem.id),
        outcome.status,
        "yes" if outcome.expected else "**no**",
        "two" if outcome.confirmed else "one",
        words(f"{theorem.statement}{bounds}"),
    ]
    return f"| {' | '.join(cells)} |"


def _trusted(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The last lines of the text: solvers, what rests on one of them, what has to be believed."""
    said = theorem_report.text(outcomes).splitlines()
    start = next(index for index, line in enumerate(said) if line.startswith("solvers: "))
    yield from (f"* {words(line)}" for line in said[start:])


def junit_of_model(proof: ModelProof) -> str:
    """A suite for the model: a case for what is proved, one for each refuted rule and for each open one."""
    text = _last_lines(proof)
    whole = {"proved": "", "refuted": "failure", "undecided": "error"}[proof.verdict]
    cases = [case_of(proof.name, "proof", whole, proof.verdict, text[0], text[1:])]
    for refuted in proof.refuted:
        numbers = ", ".join(f"{symbol}={number}" for symbol, number in refuted.numbers)
        at = f"{refuted.where.place}: {refuted.rule}"
        lines = [f"requires {refuted.requires}", f"holds where {refuted.constraint}" if refuted.constraint else ""]
        message = f"for {numbers or 'all values'}: {refuted.actual}"
        cases.append(case_of(proof.name, at, "failure", "refuted", message, map(escape, filter(None, lines))))
    for each in proof.open:
        cases.append(case_of(proof.name, f"{each.where.place}: {each.rule}", "error", "undecided", each.reason, ()))
    return document("sonnx prove", [(proof.name, "", cases)])


def _last_lines(proof: ModelProof) -> list[str]:
    """The headline of the text, and what follows it."""
    said = model_report.render(proof).splitlines()
    start = next(index for index, line in enumerate(said) if line.startswith(f"{escape(proof.name)}: {proof.verdict}:"))
    return said[start:]


def markdown_of_model(proof: ModelProof) -> str:
    """The headline, then what is refuted and what is open; text of the model stands in code spans."""
    headline, *rest = _last_lines(proof)
    lines = [f"# {code_span(escape(proof.name))}: {proof.verdict}", "", code_span(headline), ""]
    lines += [f"* {code_span(' '.join(line.split()))}" for line in rest]
    for refuted in proof.refuted:
        numbers = ", ".join(f"{symbol}={number}" for symbol, number in refuted.numbers)
        at = code_span(escape(f"{numbers or 'all values'}: {refuted.actual}"))
        lines += ["", f"## refuted: {code_span(refuted.rule)} at {code_span(refuted.where.place)}", "", f"* For {at}"]
        lines += [f"* Requires {code_span(escape(refuted.requires))}"]
        lines += [f"* Holds where {code_span(escape(refuted.constraint))}"] if refuted.constraint else []
    for each in proof.open:
        at = f"{code_span(each.rule)} at {code_span(each.where.place)}"
        lines += ["", f"## undecided: {at}", "", f"* {code_span(escape(each.reason))}"]
    return "\n".join(lines) + "\n"
