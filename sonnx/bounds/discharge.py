"""Assumptions of a check that a box of inputs shows, or refutes.

A rule that the definition of an operator decides element by element (`Operator.error_conditions`) is about the values
at run time, so a check assumes it.  `Operator.shown_by` names the condition of the transfer function that shows it.
Where that is recorded, the inputs of the node have bounds; where it holds, so does the rule, for each input of the box,
in real arithmetic and in every implementation within the hypotheses.  A rule without a condition stays assumed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from sonnx.base.escaping import quote
from sonnx.bounds.analysis import Analyser, bound_model
from sonnx.bounds.box import Box
from sonnx.bounds.counterexamples import (
    MAX_NUMBERS,
    Assumption,
    Counterexample,
    Decided,
    Undecided,
    decide_on_parts,
)
from sonnx.bounds.result import Bounds
from sonnx.checker.report import Count, Finding, Report, overall
from sonnx.checker.verdicts import Verdict
from sonnx.executor.executor import ModelRunner
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.node_errors import place_of
from sonnx.model.ir import Model
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.enclosures.values import Condition, NotBounded
from sonnx.numerics.formats import ELEMENTS
from sonnx.operators.registry import find_operator


@dataclass(frozen=True, eq=False)
class Discharge:
    """What a box shows of the findings of a report."""

    report: Report
    """The report where these findings pass, and others fail for an input of the box; notes say for which box, under
    which hypotheses, for which input, and what is undecided.
    """
    shown: tuple[Finding, ...]
    failing: tuple[tuple[Finding, Counterexample], ...]
    undecided: tuple[tuple[Finding, Undecided], ...]
    bounds: Bounds | None
    """None where a node has no transfer function."""


def discharge(
    report: Report, model: Model, path: Path | None, box: Box, texts: Collection[str], hypotheses: Hypotheses
) -> Discharge:
    """Decide the assumptions of a report on a box of inputs; `texts` are the box as the user wrote it."""
    report = replace(report, conditions=replace(report.conditions, box=tuple(texts), hypotheses=hypotheses.name))
    try:
        bounds = bound_model(model, box, hypotheses, path, report.edition, unchecked=True)
    except NotBounded as reason:
        return Discharge(
            replace(report, notes=(*report.notes, f"the box shows no assumption: {reason}")), (), (), (), None
        )
    waiting = {finding: key for finding in report.findings if (key := _assumption(model, finding)) is not None}
    known = _shown(bounds.met, model)
    decided = _on_parts(model, path, box, hypotheses, report.edition, [k for k in waiting.values() if k not in known])
    shown = tuple(finding for finding, key in waiting.items() if key in known | decided.shown)
    failing = {finding: decided.failing[key] for finding, key in waiting.items() if key in decided.failing}
    left = [replace(finding, verdict=Verdict.FAIL, actual=str(failing[finding])) if finding in failing else finding
            for finding in report.findings if finding not in shown]  # fmt: skip
    open_ = sum(finding.verdict is Verdict.ASSUMED for finding in left)
    text = (
        f"assumptions shown by the box {', '.join(map(quote, texts))}: {len(shown)}, for each of its inputs and in "
        f"every implementation within the hypotheses {hypotheses.name}"
    )
    if open_:
        why = next((f": {tensor.unbounded}" for tensor in bounds.tensors if tensor.unbounded), "")
        text += f"; not shown: {open_}{why}"
    undecided_notes = [f"{place}: {rule} is {why}" for (place, rule), why in decided.undecided.items()]
    counts = _moved(report.counts, Counter(finding.rule for finding in shown), Verdict.PASS)
    counts = _moved(counts, Counter(finding.rule for finding in failing), Verdict.FAIL)
    discharged = replace(
        report, findings=tuple(left), counts=counts, verdict=overall({count.verdict for count in counts}),
        notes=(*report.notes, text, *undecided_notes),
    )  # fmt: skip
    undecided = tuple((finding, decided.undecided[key]) for finding, key in waiting.items() if key in decided.undecided)
    return Discharge(discharged, shown, tuple(failing.items()), undecided, bounds)


def _on_parts(
    model: Model, path: Path | None, box: Box, hypotheses: Hypotheses, edition: str, waiting: Sequence[Assumption]
) -> Decided:
    """What parts of the box show of the assumptions that the bounds on the whole box leave open."""
    if not waiting:
        return Decided()
    runner = ModelRunner(model, path, edition, unchecked=True)
    analyser = Analyser(model, hypotheses, path.parent if path else None, edition)

    def shown_on(part: Box) -> tuple[set[Assumption], int]:
        try:
            run = analyser.run(part)
        except NotBounded:
            return set(), MAX_NUMBERS
        return _shown(run.conditions, model), sum(value.low.size for value in run.values.values())

    types = {value.name: np.dtype(ELEMENTS[value.type.element or ""]) for value in required_inputs(model)}
    return decide_on_parts(box, types, waiting, shown_on, runner.run)


def _assumption(model: Model, finding: Finding) -> Assumption | None:
    """The node and the rule of a finding that bounds can show."""
    operator = find_operator(finding.where.operator)
    if finding.verdict is not Verdict.ASSUMED or operator is None or finding.rule not in operator.error_conditions:
        return None
    for index, node in enumerate(model.graph.nodes):
        if finding.where.place == f"graph/node[{index}]" and not node.domain:
            return place_of(node, index), finding.rule
    return None


def _shown(conditions: Iterable[Condition], model: Model) -> set[Assumption]:
    """The assumptions that conditions prove: each condition that `Operator.shown_by` names is recorded for the node, so
    that its inputs have bounds, and holds.
    """
    held: dict[tuple[str, str], bool] = {}
    for condition in conditions:
        held[condition.node, condition.name] = condition.holds and held.get((condition.node, condition.name), True)
    return {
        (place, rule)
        for index, node in enumerate(model.graph.nodes)
        if (operator := find_operator(node.operator)) is not None and (place := place_of(node, index))
        for rule in operator.error_conditions
        if held.get((place, operator.shown_by.get(rule, "")), False)
    }


def _moved(counts: tuple[Count, ...], shown: Counter[str], verdict: Verdict) -> tuple[Count, ...]:
    """The counts after `shown` results of each rule moved from assumed to a verdict."""
    numbers: dict[tuple[str, Verdict, str], int] = {}
    for count in counts:
        number = count.number
        if count.verdict is Verdict.ASSUMED and shown[count.rule]:
            moved = min(number, shown[count.rule])
            number -= moved
            key = count.rule, verdict, ""
            numbers[key] = numbers.get(key, 0) + moved
        if number:
            key = count.rule, count.verdict, count.reason
            numbers[key] = numbers.get(key, 0) + number
    return tuple(Count(*key, number) for key, number in numbers.items())
