"""The public result of bounding a model, as a document and as JSON (bounds.schema.json)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil, floor, inf, log10

from msgspec.structs import replace

from sonnx.base.escaping import escape, escape_once, plural, quote
from sonnx.base.outward import lower_bound_text, upper_bound_text
from sonnx.base.reported import json_text
from sonnx.bounds.box import Interval
from sonnx.bounds.result import Bounds, TensorBounds
from sonnx.checker.conditions import UNCHECKED
from sonnx.numerics.enclosures.values import DECISION
from sonnx.report.document import CaseResult, Criterion, Document, Picture, Section, Standing
from sonnx.report.plot import LimitLine, Series, plot
from sonnx.report.rendered import Rendered, render_document

MAX_INTERVALS = 8
"""Elements of an input whose intervals are listed."""
MAX_SHARES = 5
"""Nodes in the list of shares."""
HEADS = ("shape", "#low", "#high", "#introduced", "#propagated", "#error")
CRITERIA = {
    "bounded": "Every value has a range and an error that hold for each input of the box.",
    "decision": "Every implementation within the hypotheses decides as real arithmetic does.",
    "condition": "A condition on values at run time holds for each input of the box, in every implementation within "
    "the hypotheses.",
    "error": "The error of the first output is at most what was asked.",
    "split": "What is asked is shown on the whole box.",
}
LIMIT = "The bounds hold for inputs of the box and under these hypotheses only."
CURVES = (
    ("largest magnitude", "dark", "var(--text)"),
    ("error", "red", "var(--fail)"),
    ("introduced by the node", "grey", "var(--soft)"),
)
"""The lines of the picture with their colours, in words and as the style has them."""


class BoundsReport(Bounds, Rendered, frozen=True, eq=False):
    """The bounds of a model on a box, with their renderings, of the outputs or of every node."""

    def document(self, *, every_node: bool = False) -> Document:
        """The bounds as a document: the outputs or all values, what was asked, the conditions, and a picture."""
        file = self.model
        values = [_value_case(bounds) for bounds in self.listed(every_node)]
        asked = [*_goal_cases(self), *_decision_cases(self)]
        conditions = [
            CaseResult(
                "condition",
                f"{condition.name} at {condition.node}",
                *_standing(condition.holds, "met", "not shown"),
                condition.detail,
            )
            for condition in sorted(self.met, key=lambda condition: condition.holds)
        ]
        sections = (
            Section("values" if every_node else "outputs", file, tuple(values), heads=HEADS),
            *([Section("asked", file, tuple(asked), heads=("answer",))] if asked else []),
            Section("conditions", file, tuple(conditions)),
        )
        code = self.exit_code(every_node=every_node)
        return Document(
            command="bound",
            title="ranges and errors under stated hypotheses",
            subject=escape(file),
            headline=self.conditions.limited(_claim(self, every_node)),
            code=code,
            criteria={name: Criterion(text, "bound") for name, text in CRITERIA.items()},
            sections=sections,
            facts=tuple((term, escape_once(text)) for term, text in _facts(self)),
            results_first=True,
            notes=(LIMIT, *map(escape_once, _notes(self, every_node))),
            pictures=tuple(_pictures(self.tensors, self.max_error)),
            tiles=tuple(_tiles(self)),
        )

    def to_json(self, *, every_node: bool = True) -> str:
        """One JSON document (bounds.schema.json)."""
        return json_text(replace(self, every_node=every_node))

    def to_format(self, name: str, *, every_node: bool = False) -> str:
        """As `Rendered.to_format`."""
        if name == "json":
            return self.to_json(every_node=every_node)
        return render_document(name, self.document(every_node=every_node))


def _asked(criterion: str, name: str, good: bool, yes: str, no: str, text: str) -> CaseResult:
    return CaseResult(criterion, name, *_standing(good, yes, no), text, cells=(text,))


def _standing(good: bool, yes: str, no: str) -> tuple[str, Standing]:
    return (yes, Standing.GOOD) if good else (no, Standing.OPEN)


def _value_case(tensor: TensorBounds) -> CaseResult:
    numbers: tuple[str, ...] = ("",) * 5
    if not tensor.unbounded and tensor.low.size:
        above = (tensor.high.max(), tensor.introduced.max(), tensor.propagated.max(), tensor.error.max())
        numbers = (
            lower_bound_text(float(tensor.low.min()), 6),
            *(upper_bound_text(float(number), 6) for number in above),
        )
    text = f"in [{numbers[0]}, {numbers[1]}], error at most {numbers[4]}" if numbers[0] else "no elements"
    return CaseResult(
        "bounded", escape(tensor.name),
        *_standing(not tensor.unbounded, "vacuous" if tensor.vacuous else "bounded", "not bounded"),
        escape_once(tensor.unbounded or text), (("made by", escape_once(tensor.node)),) if tensor.node else (),
        cells=(str(list(tensor.low.shape)), *numbers),
    )  # fmt: skip


def _decision_cases(bounds: Bounds) -> Iterator[CaseResult]:
    for decision in bounds.decisions:
        ends = f"[{lower_bound_text(decision.low, 6)}, {upper_bound_text(decision.high, 6)}]"
        text = f"in {ends}, error at most {upper_bound_text(decision.error)}"
        yield _asked("decision", decision.what, decision.same, "the same", "not shown", text)


def _goal_cases(bounds: Bounds) -> Iterator[CaseResult]:
    if bounds.max_error is not None and bounds.outputs:
        error = bounds.outputs[0].largest_error
        text = f"the error is at most {upper_bound_text(error, 6)}; the limit is {bounds.max_error:.6g}"
        yield _asked("error", "error", error <= bounds.max_error, "holds", "not shown", text)
    if bounds.split is not None:
        yield _asked("split", "split", bounds.split.finished, "shown", "open", bounds.split.text)


def _facts(bounds: Bounds) -> Iterator[tuple[str, str]]:
    if not bounds.conditions.checked:
        yield "conformance", UNCHECKED
    yield "hypotheses", f"{bounds.hypotheses.name}: {bounds.hypotheses.statement}"
    if bounds.hypotheses.measured_with:
        yield "measured with", bounds.hypotheses.measured_with
    yield from (("excluded", text) for text in bounds.hypotheses.excludes)
    yield from bounds.conditions.facts()
    yield from (("file", f"{name}, SHA-256 {digest}") for name, digest in bounds.files.items())
    for name, interval in bounds.box.items():
        yield "input", f"{name} {list(interval.low.shape)}: {_interval(interval)}"
    if bounds.attained_in_words:
        yield "attained", bounds.attained_in_words
    for node, share in bounds.shares[:MAX_SHARES]:
        yield "share", f"{share:.1%} of the error of the worst output element: {node}"


def _interval(interval: Interval) -> str:
    """The box of an input, with every digit: one interval, those of few elements, or where to find them."""
    pairs = [*zip(interval.low.reshape(-1).tolist(), interval.high.reshape(-1).tolist(), strict=True)]
    if not pairs:
        return "no elements"
    if interval.is_same:
        return f"each element in {list(pairs[0])}"
    if len(pairs) <= MAX_INTERVALS:
        return "elements in " + ", ".join(str(list(pair)) for pair in pairs)
    what = "a number of its own" if interval.is_point else "an interval of its own"
    return (
        f"each element has {what}, all within [{interval.low.min()}, {interval.high.max()}]; "
        f"SHA-256 of the lower ends and the upper ends as float64 {interval.sha256}"
    )


def _claim(bounds: Bounds, every_node: bool) -> str:
    """What is shown, and of how many values it says nothing."""
    claim = "not all requested bounds are proved"
    if bounds.exit_code(every_node=every_node) == 0:
        claim = "all requested bounds are proved"
    vacuous, listed = len(bounds.vacuous(every_node)), sum(1 for _ in bounds.listed(every_node))
    what = plural(listed, "value" if every_node else "output")
    return f"{claim}; vacuous: {vacuous} of {what}" if vacuous else claim


def _notes(bounds: Bounds, every_node: bool) -> Iterator[str]:
    for tensor in bounds.vacuous(every_node):
        elements = f"{tensor.vacuous} of {plural(tensor.low.size, 'element')}"
        yield f"vacuous: the bounds of {quote(tensor.name)} say nothing about {elements}: the error exceeds the value"
    if bounds.not_run:
        listed = ", ".join(bounds.not_run[:3]) + (", …" if len(bounds.not_run) > 3 else "")
        most = f"of operators that the hypotheses {bounds.hypotheses.name} were not measured with, and are assumed to"
        yield f"assumed: {plural(len(bounds.not_run), 'node has a form', 'nodes have forms')} {most} agree: {listed}"
    if bounds.coarse:
        listed = ", ".join(bounds.coarse[:3]) + (", …" if len(bounds.coarse) > 3 else "")
        most = "forward errors only, but for the largest elements of an output; the network is too large"
        yield f"coarse: {plural(len(bounds.coarse), 'value has', 'values have')} {most}: {listed}"
    for condition in bounds.met:
        if condition.name == DECISION:
            yield f"counted: {condition.name} at {condition.node}: {condition.detail}"


def _tiles(bounds: Bounds) -> Iterator[tuple[str, str]]:
    """The error and the range of the first output, the decisions, and the conditions."""
    first = next((output for output in bounds.outputs if not output.unbounded and output.low.size), None)
    if first is not None:
        limit = "" if bounds.max_error is None else f"; the limit is {bounds.max_error:.6g}"
        name = quote(first.name)
        yield upper_bound_text(first.largest_error, 6), f"largest error of the output {name}{limit}"
        ends = lower_bound_text(float(first.low.min()), 6), upper_bound_text(float(first.high.max()), 6)
        yield f"{ends[0]} to {ends[1]}", f"range of the ideal values of {name}"
    if bounds.decisions:
        same = sum(decision.same for decision in bounds.decisions)
        yield f"{same} of {len(bounds.decisions)}", "decisions are the same in every implementation"
    met = sum(bool(condition.holds) for condition in bounds.met)
    yield f"{met} of {len(bounds.met)}", "conditions of the bounds are met"


def _pictures(tensors: Iterable[TensorBounds], max_error: float | None) -> Iterator[Picture]:
    drawn = [tensor for tensor in tensors if not tensor.unbounded and tensor.low.size]
    if len(drawn) > 1:
        names = ", ".join(f"{title} ({colour})" for title, colour, _ in CURVES)
        yield Picture(
            "Range and error along the network", f"From inputs to outputs: {names}.", picture(drawn, max_error)
        )


def picture(tensors: Sequence[TensorBounds], max_error: float | None = None) -> str:
    """The largest magnitude, error and introduced error of each value, from inputs to outputs, in powers of 10."""
    curves = (
        [_power(max(abs(tensor.low.min()), abs(tensor.high.max()))) for tensor in tensors],
        [_power(tensor.error.max()) for tensor in tensors],
        [_power(tensor.introduced.max()) for tensor in tensors],
    )
    asked = None if not max_error else LimitLine(log10(max_error), f"limit {max_error:.6g}")
    numbers = [number for curve in curves for number in curve if number is not None]
    numbers += [asked.height] if asked is not None else []
    low, high = floor(min(numbers, default=0)), ceil(max(numbers, default=1))
    steps = range(low, max(high, low + 1) + 1, max(1, (high - low) // 8))
    series = [
        Series(curve, f'style="fill:{colour}"', f'style="stroke:{colour};stroke-width:1.5"')
        for (*_, colour), curve in zip(CURVES, curves, strict=True)
    ]
    return plot(series, [(step, f"1e{step}") for step in steps], "range and error along the network",
                labels=[escape(tensor.name) for tensor in tensors], limit=asked)  # fmt: skip


def _power(value: float) -> float | None:
    return log10(value) if 0 < value < inf else None
