"""Which value classes nodes meet when the whole model runs, as cases of a document and as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sonnx.base.escaping import escape, escape_once, plural, quote
from sonnx.executor.comparison import CLASS_NODE, Comparison
from sonnx.executor.reach import InputReach, Reach
from sonnx.report.document import CaseResult, Standing

REACH = "classes-of-nodes"
REACH_STATEMENT = "Whether the model leads to a value class at an input of a node is known."
HEADS = ("#reached", "#unreachable", "#unknown")
SHOWN_RUNS = 6
"""Runs of one input that are shown; JSON has all."""
POSITIONS = ("first", "between", "last", "alone")


def reach_cases(reach: Reach) -> Iterator[CaseResult]:
    """A case for each input of a node."""
    for operand in reach.inputs:
        numbers = (operand.number, len(operand.unreachable), len(operand.unknown))
        words = ("reached", "unreachable", "unknown")
        message = ", ".join(f"{n} {word}" for n, word in zip(numbers, words, strict=True) if n) or "no classes"
        all_known = not operand.unknown
        yield CaseResult(
            REACH, f"{escape(operand.value)} ({escape(operand.operator)})", "known" if all_known else "partly known",
            Standing.GOOD if all_known else Standing.NOTE, message, tuple(_details(reach, operand)),
            operand.where, cells=tuple(map(str, numbers)), shown=True,
        )  # fmt: skip


def _details(reach: Reach, each: InputReach) -> Iterator[tuple[str, str]]:
    for met in each.reached[:SHOWN_RUNS]:
        run = reach.runs[met.run]
        with_inputs = f" ({'; '.join(run.inputs)})" if run.inputs else ""
        yield "reached", escape_once(f"{grouped(met.classes)} by {run.name}{with_inputs}")
    if len(each.reached) > SHOWN_RUNS:
        later = [name for met in each.reached[SHOWN_RUNS:] for name in met.classes]
        yield "reached", f"{grouped(later)} by {plural(len(each.reached) - SHOWN_RUNS, 'other run')}"
    if each.unreachable:
        yield "unreachable", grouped(each.unreachable)
    if each.unknown:
        yield "unknown", grouped(each.unknown)


def grouped(names: Iterable[str]) -> str:
    """Names of classes with the positions of one value together: `nan first, last`."""
    groups: dict[str, list[str]] = {}
    for name in names:
        value, _, position = name.rpartition(" ")
        if position in POSITIONS:
            groups.setdefault(value, []).append(position)
        else:
            groups.setdefault(name, [])
    return "; ".join(f"{name} {', '.join(places)}".rstrip() for name, places in groups.items())


def reach_sentences(comparison: Comparison) -> Iterator[str]:
    """How many classes are known, and which differences of nodes alone the model leads to."""
    reach = comparison.reach
    if reach is None or not reach.inputs:
        return
    triples = [(operand.number, len(operand.unreachable), len(operand.unknown)) for operand in reach.inputs]
    numbers = [sum(column) for column in zip(*triples, strict=True)]
    yield (
        f"classes at inputs of nodes when the whole model runs: {numbers[0]} reached, {numbers[1]} unreachable for "
        f"{escape(reach.box)}, {numbers[2]} unknown"
    )
    if reach.no_ranges:
        yield f"no range of the model excludes a class: {escape_once(reach.no_ranges)}"
    for row in comparison.rows:
        if row.way != CLASS_NODE or row.classes is None:
            continue
        for far in row.classes.unexplained:
            name = far.name.partition(" among ")[0]
            run = reach.run_of(row.place or "", name)
            if run is not None:
                yield (
                    f"the model leads to the class {quote(far.name)}, in which {escape(row.value)} "
                    f"({escape(row.operator or '')}) differs in {far.kind}: {escape_once(run.name)}"
                )
                break
