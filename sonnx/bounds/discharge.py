"""Assumptions of a check that a box of inputs shows.

A rule that the definition of an operator decides element by element (`Operator.error_conditions`) is about the values
at run time, so a check assumes it.  Where every output of the node has bounds, the conditions of its transfer function
hold for each input of the box, in real arithmetic and in every implementation within the hypotheses; they include those
rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from sonnx.base.escaping import quote
from sonnx.bounds.analysis import bound_model
from sonnx.bounds.box import Box
from sonnx.bounds.result import Bounds
from sonnx.checker.report import Count, Finding, Report, overall
from sonnx.checker.verdicts import Verdict
from sonnx.model.ir import Model
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.enclosures.values import NotBounded
from sonnx.operators.registry import find_operator


@dataclass(frozen=True, eq=False)
class Discharge:
    """What a box shows of the findings of a report."""

    report: Report
    """The report where these findings pass; a note says for which box, and under which hypotheses."""
    shown: tuple[Finding, ...]
    bounds: Bounds | None
    """None where a node has no transfer function."""


def discharge(
    report: Report, model: Model, path: Path | None, box: Box, texts: Collection[str], hypotheses: Hypotheses
) -> Discharge:
    """What a box of inputs shows; `texts` say it."""
    try:
        found = bound_model(model, box, hypotheses, path, report.edition, unchecked=True)
    except NotBounded as reason:
        return Discharge(replace(report, notes=(*report.notes, f"the box shows no assumption: {reason}")), (), None)
    shown = tuple(each for each in report.findings if _shows(found, model, each))
    left = tuple(each for each in report.findings if each not in shown)
    waiting = [each for each in left if each.verdict is Verdict.ASSUMED]
    text = (
        f"assumptions shown by the box {', '.join(map(quote, texts))}: {len(shown)}, for each of its inputs and in "
        f"every implementation within the hypotheses {hypotheses.name}"
    )
    if waiting:
        why = next((f": {each.unbounded}" for each in found.tensors if each.unbounded), "")
        text += f"; not shown: {len(waiting)}{why}"
    counts = _counted(report.counts, Counter(each.rule for each in shown))
    made = replace(
        report, findings=left, counts=counts, verdict=overall({each.verdict for each in counts}),
        notes=(*report.notes, text),
    )  # fmt: skip
    return Discharge(made, shown, found)


def _shows(found: Bounds, model: Model, finding: Finding) -> bool:
    """Whether the bounds of a node show the assumption."""
    operator = find_operator(finding.where.operator)
    if finding.verdict is not Verdict.ASSUMED or operator is None or finding.rule not in operator.error_conditions:
        return False
    places = {f"graph/node[{index}]": node for index, node in enumerate(model.graph.nodes)}
    node = places.get(finding.where.place)
    known = {tensor.name for tensor in found.tensors if not tensor.unbounded}
    return node is not None and not node.domain and all(name in known for name in node.outputs if name)


def _counted(counts: tuple[Count, ...], shown: Counter[str]) -> tuple[Count, ...]:
    """The counts with results that moved from assumed to pass."""
    made: dict[tuple[str, Verdict, str], int] = {}
    for each in counts:
        number = each.number
        if each.verdict is Verdict.ASSUMED and shown[each.rule]:
            moved = min(number, shown[each.rule])
            number -= moved
            key = each.rule, Verdict.PASS, ""
            made[key] = made.get(key, 0) + moved
        if number:
            key = each.rule, each.verdict, each.reason
            made[key] = made.get(key, 0) + number
    return tuple(Count(*key, number) for key, number in made.items())
