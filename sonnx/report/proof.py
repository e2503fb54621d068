"""The proof of a model, as text for a terminal and as data for JSON (proof.schema.json)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sonnx.model_proof import ModelProof, Open, Refuted
from sonnx.quoting import escape, plural, quote
from sonnx.report.json import tool_version
from sonnx.verdict import Where

FORMAT = 1
UNSTATED = "under a condition on the symbols that could not be stated in few words"


def render(proof: ModelProof) -> str:
    """The whole proof: what fails first, then what is open, then the totals."""
    return "\n".join(escape(line) for line in _lines(proof)) + "\n"


def _lines(proof: ModelProof) -> Iterator[str]:
    for refuted in proof.refuted:
        yield from _refuted(proof, refuted)
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


def _refuted(proof: ModelProof, refuted: Refuted) -> Iterator[str]:
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


def as_json(proof: ModelProof) -> str:
    """The proof as one JSON document, ending in a line feed."""
    return json.dumps(as_data(proof), indent=1, ensure_ascii=True) + "\n"


def as_data(proof: ModelProof) -> dict[str, Any]:
    """The proof as a dictionary of JSON values."""
    return {
        "format": FORMAT,
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
