"""The proof of a model, as text for a terminal and as data for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sonnx.model_proof import ModelProof, Open, Refuted
from sonnx.quoting import escape, quote
from sonnx.verdict import Where

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
    yield f"{proof.name}: {_headline(proof)}"
    if proof.assumptions:
        yield f"  for all     {', '.join(proof.assumptions)}"
    if proof.refuted:
        yield f"  needs       {proof.constraint or UNSTATED}"
    for note in proof.notes:
        yield f"  note        {note}"


def _headline(proof: ModelProof) -> str:
    what = f"{proof.proved} of {proof.conditions} conditions of {proof.nodes_judged} nodes"
    symbols = f"for all values of {', '.join(proof.symbols)}" if proof.symbols else "without symbolic dimensions"
    asked = f"{_plural(proof.distinct, 'different call')}, {_plural(proof.queries, 'question')} to the solver"
    return f"{proof.verdict}: {what} hold {symbols} (edition {proof.edition}; {asked})"


def _refuted(proof: ModelProof, refuted: Refuted) -> Iterator[str]:
    yield f"{proof.name}: {_where(refuted.where, refuted.nodes)}"
    numbers = ", ".join(f"{symbol}={number}" for symbol, number in refuted.numbers)
    at = "whatever the symbols are" if refuted.always else f"for {numbers}"
    yield f"  refuted  {refuted.rule}  {at}: {refuted.actual}"
    yield f"        requires  {refuted.requires}"
    if not refuted.always:
        yield f"        holds     {f'where {refuted.constraint}' if refuted.constraint else UNSTATED}"
        yield f"        repeat    sonnx check --bind {numbers.replace(', ', ',')} {proof.name}"


def _where(where: Where, nodes: int) -> str:
    more = f" and {_plural(nodes - 1, 'node')} with the same facts" if nodes > 1 else ""
    return f"node {quote(where.name)} ({where.operator}, opset {where.version}), {where.place}{more}"


def _plural(number: int, one: str) -> str:
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


def as_data(proof: ModelProof) -> dict[str, Any]:
    """The proof as a dictionary of JSON values."""
    return {
        "model": proof.name,
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
