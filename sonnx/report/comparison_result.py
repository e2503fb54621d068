"""What `sonnx compare` found, in the form every format renders: a case for each value that was compared.

A broken bound is bad, a difference without one is worth a note; what a runtime did not give is open, because nothing
says how far it is from the exact values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonnx.base.escaping import escape, plural, printable
from sonnx.checker.report import Where
from sonnx.executor.comparison import ACCUMULATED, EQUAL, OUTPUT, BoundViolation, Comparison, Row
from sonnx.executor.distance import Distance
from sonnx.report.comparison import label, standing, summary
from sonnx.report.result import Case, Declared, Part, Result, Standing

WAYS = {
    OUTPUT: ("outputs", "The outputs of the whole model are the exact values."),
    EQUAL: ("equal-inputs", "A node alone, on its exact inputs, gives the exact values."),
    ACCUMULATED: ("accumulated", "Every value on the way through the whole model is the exact one."),
}
"""What is asked of a value in each way to compare, under which name."""
RUNS = "exact-values"
RUN = "The model has exact values for the inputs of a run, and values of the runtime can be compared with them."


def of_comparison(found: Comparison, broken: Sequence[BoundViolation], code: int, file: str) -> Result:
    """A part for each way to compare, and one for the runs where they are worth a word."""
    name = escape(found.model)
    parts = [
        Part(
            f"{name}: {way}",
            file,
            tuple(_row(row, _of(broken, row)) for row in rows),
        )
        for way in WAYS
        if (rows := [row for row in found.rows if row.way == way])
    ]
    whole = tuple(_whole(found, _of(broken, None)))
    declared = {way: Declared(statement, "comparison") for way, statement in (*WAYS.values(), (RUNS, RUN))}
    return Result(
        command="compare",
        title="a runtime against the exact values",
        about=name,
        headline=summary(found),
        code=code,
        declared=declared,
        parts=(*parts, *([Part(f"{name}: runs", file, whole)] if whole else [])),
        facts=tuple(_facts(found)),
        notes=(standing(found),),
        hashes={file: found.sha256},
    )


def _of(broken: Sequence[BoundViolation], row: Row | None) -> list[str]:
    return [each.sentence for each in broken if each.row is row]


def _facts(found: Comparison) -> Iterator[tuple[str, str]]:
    if found.sha256:
        yield "SHA-256", found.sha256
    yield "runtime", printable(found.runtime)
    yield "inputs", f"{plural(found.runs, 'run')}, {printable(found.inputs)}"
    if found.first_diverging is not None:
        yield "first node that differs on equal inputs", found.first_diverging.place


def _row(row: Row, broken: Sequence[str]) -> Case:
    said = [*map(printable, broken)] or list(_said(row))
    if broken:
        verdict, standing_ = "broken", Standing.BAD
    elif row.failures:
        verdict, standing_ = "not compared", Standing.OPEN
    elif row.differs:
        verdict, standing_ = "differs", Standing.NOTE
    else:
        verdict, standing_ = "identical", Standing.GOOD
    where = row.where or Where(row.value, "value", row.value)
    return Case(WAYS[row.way][0], label(row), verdict, standing_, "; ".join(said), tuple(_details(row)), where)


def _said(row: Row) -> Iterator[str]:
    if row.failures:
        yield f"not compared in {printable(row.failures[0])}"
    if row.distance is not None:
        yield _distance(row.distance)


def _distance(distance: Distance) -> str:
    """How far the values are, in one sentence."""
    if distance.identical == distance.elements:
        return f"all of {plural(distance.elements, 'element')} identical"
    far = f"{distance.absolute:.3g}" if distance.ulp is None else f"{distance.ulp} ulp"
    return f"{distance.elements - distance.identical} of {distance.elements} elements differ, by up to {far}"


def _details(row: Row) -> Iterator[tuple[str, str]]:
    distance = row.distance
    if distance is not None and distance.found:
        yield "farthest", f"at {list(distance.at)}: {distance.found}, exact {distance.exact}"
    for special in distance.specials if distance is not None else ():
        example = f"first at {list(special.at)}: {special.found}, exact {special.exact}"
        yield special.kind, f"{plural(special.number, 'element')}, {example}"
    for failure in row.failures:
        yield "not compared", printable(failure)


def _whole(found: Comparison, broken: Sequence[str]) -> Iterator[Case]:
    where = Where("model", "model")
    for sentence in broken:
        yield Case(RUNS, "all runs", "not compared", Standing.BAD, printable(sentence), (), where)
    for reason in found.skipped:
        yield Case(RUNS, reason.partition(":")[0], "skipped", Standing.SKIPPED, printable(reason), (), where)
