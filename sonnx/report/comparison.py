"""The public result of a comparison with a runtime, as a document and as JSON (comparison.schema.json)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2

from sonnx.base.errors import Unfinished
from sonnx.base.escaping import escape, escape_once, plural, quote
from sonnx.checker.conditions import UNCHECKED
from sonnx.checker.verdicts import Where
from sonnx.executor.class_runs import ClassDeviation, errata_of
from sonnx.executor.comparison import (
    ACCUMULATED,
    CLASS_NODE,
    CLASS_OUTPUT,
    EQUAL,
    OUTPUT,
    BoundViolation,
    Comparison,
    Optimization,
    Row,
)
from sonnx.executor.distance import Distance
from sonnx.report import comparison_json
from sonnx.report.class_reach import HEADS as REACH_HEADS
from sonnx.report.class_reach import REACH, REACH_STATEMENT, reach_cases, reach_sentences
from sonnx.report.document import CaseResult, Criterion, Document, Picture, Section, Standing
from sonnx.report.plot import LimitLine, Series, plot
from sonnx.report.rendered import Rendered

BROKEN = 1
"""The exit code if a bound is broken."""
SHOWN_DEVIATIONS = 4
"""Classes in which one value differs that are shown; JSON has all."""
SHOWN_SENTENCES = 3
"""Broken bounds of one value that are shown; JSON has all."""


@dataclass(frozen=True, slots=True)
class ComparisonReport(Comparison, Rendered):
    """A comparison of a runtime with the exact values, the bounds it breaks, and its renderings."""

    broken_bounds: tuple[BoundViolation, ...] = ()
    file: str = ""
    """The model file as it was named."""
    max_ulp: int | None = None
    """The steps that values may be away, as it was asked; None for any."""

    @property
    def exit_code(self) -> int:
        """0, 1 if a bound is broken, or 3 if the time was over before the last run or an optimized
        graph is not decided.
        """
        if self.broken_bounds:
            return BROKEN
        decided = ("identical", "equal up to rounding", "different")
        undecided = any(optimization.answer not in decided for optimization in self.optimizations)
        return Unfinished.exit_code if self.stopped or undecided else 0

    def to_json(self) -> str:
        """One JSON document (comparison.schema.json)."""
        return comparison_json.render(self, [violation.sentence for violation in self.broken_bounds])

    def document(self) -> Document:
        """The comparison as a document: a section for each way to compare, and one for runs with problems."""
        name = escape(self.model)

        def broken(row: Row | None) -> list[str]:
            return [violation.sentence for violation in self.broken_bounds if violation.row is row]

        sections = [
            Section(f"{name}: {way}", self.file, tuple(_case(row, broken(row)) for row in rows), heads=HEADS)
            for way in WAYS
            if (rows := [row for row in self.rows if row.way == way])
        ]
        if self.reach is not None and self.reach.inputs:
            note = f"unreachable: for {escape(self.reach.box)}; {plural(self.reach.searched, 'run')} searched"
            met = tuple(reach_cases(self.reach))
            sections.append(Section(f"{name}: classes of nodes", self.file, met, note, heads=REACH_HEADS))
        whole = tuple(_run_cases(self, broken(None)))
        named = (*WAYS.values(), (RUNS, RUN), (REACH, REACH_STATEMENT))
        criteria = {way: Criterion(statement, "comparison") for way, statement in named}
        return Document(
            command="compare",
            title="a runtime against the exact values",
            subject=name,
            headline=self.conditions.limited(summary(self)),
            code=self.exit_code,
            criteria=criteria,
            sections=(*sections, *([Section(f"{name}: runs", self.file, whole)] if whole else [])),
            facts=tuple(_facts(self)),
            notes=(standing(self), LEGEND),
            advice=tuple(("judgement", text) for text in judgement(self)),
            hashes={self.file: self.sha256},
            pictures=tuple(_pictures(self)),
            tiles=tuple(_tiles(self)),
        )


def _tiles(report: ComparisonReport) -> Iterator[tuple[str, str]]:
    """A distance against its limit, then one total for each unit."""
    ordinary = [row.ordinary for row in report.rows if row.way == OUTPUT and row.ordinary is not None]
    ulp = max((distance.ulp for distance in ordinary if distance.ulp is not None), default=None)
    if ulp is not None:
        limit = "no limit was asked (--max-ulp)" if report.max_ulp is None else f"at most {report.max_ulp} are allowed"
        yield f"{ulp} ulp", f"outputs on ordinary inputs; {limit}"
    if report.broken_bounds:
        yield f"{len(report.broken_bounds)}", "broken bound" if len(report.broken_bounds) == 1 else "broken bounds"
    same = sum(row.distance is not None and not row.differs for row in report.rows)
    yield f"{same} of {len(report.rows)}", "comparisons are identical bit for bit"
    yield f"{sum(bool(_kinds(row)) for row in report.rows)}", "comparisons differ in kind: NaN, infinity, zero"


def standing(comparison: Comparison) -> str:
    """A sentence on whether the model conforms to the edition."""
    if comparison.unchecked:
        return comparison.conditions.limited(UNCHECKED)
    return f"the model {comparison.conditions.limited('conforms')}"


def summary(comparison: Comparison) -> str:
    """How many comparisons are identical, and what is farthest, in one sentence."""
    rows = comparison.rows
    same = sum(row.distance is not None and not row.differs for row in rows)
    missing = sum(row.distance is None for row in rows)
    parts = [f"{same} of {len(rows)} comparisons of values are identical bit for bit"]
    farthest = max(rows, key=_steps, default=None)
    if farthest is not None and _steps(farthest):
        parts.append(f"the largest distance is {_steps(farthest)} ulp, of {label(farthest)}, {farthest.way}")
    of_kind = [kinds for row in rows if (kinds := _kinds(row))]
    if of_kind:
        listed = ", ".join(dict.fromkeys(kind for kinds in of_kind for kind in kinds))
        parts.append(f"{len(of_kind)} {'differs' if len(of_kind) == 1 else 'differ'} in kind: {listed}")
    return "; ".join([*parts, *([f"{missing} could not be made"] if missing else [])])


def _steps(row: Row) -> int:
    """The largest distance of a row in ulp, over all its runs."""
    return row.distance.ulp or 0 if row.distance is not None else 0


def _kinds(row: Row) -> list[str]:
    """The kinds in which elements of a row differ."""
    return [special.kind for special in row.distance.specials] if row.distance is not None else []


def judgement(comparison: Comparison) -> Iterator[str]:
    """What the comparison says about the runtime: ordinary inputs, others apart, classes, and the bounds if given."""
    outputs = [row for row in comparison.rows if row.way == OUTPUT]
    ordinary = [row.ordinary for row in outputs if row.ordinary is not None]
    if ordinary:
        of = f"{comparison.ordinary_runs} of {plural(comparison.runs, 'run')}"
        yield f"on ordinary inputs ({of}): {_ordinary_sentence(ordinary)}"
    elif outputs and comparison.runs:
        yield "no run has ordinary inputs"
    special = [kind for row in outputs for kind in _special_kinds(row)]
    if special:
        listed = ", ".join(f"{kind} {number}" for kind, number in _summed(special).items())
        yield f"on other inputs, elements that differ in kind: {listed}"
    yield from _class_sentences(comparison)
    yield from reach_sentences(comparison)
    faults = [row for row in comparison.rows if row.faults]
    if faults:
        values = plural(len(faults), "value", "values")
        yield f"the runtime fails for {values}: {escape(faults[0].faults[0])}"
    if comparison.hypotheses:
        yield _under_hypotheses(comparison)
        if comparison.not_measured:
            yield escape(comparison.not_measured)
    elif any(row.differs for row in outputs):
        yield "--bound says whether rounding alone explains the differences"
    yield from (f"warning, estimated by random rounding and not proved: {escape(name)}" for name in comparison.unusual)


def _class_sentences(comparison: Comparison) -> Iterator[str]:
    for way, of in ((CLASS_OUTPUT, "outputs of the whole model"), (CLASS_NODE, "nodes alone")):
        rows = [row for row in comparison.rows if row.way == way and row.classes is not None]
        if not rows:
            continue
        runs = sum(row.classes.runs for row in rows if row.classes and not row.same_as)
        wrong = [row for row in rows if row.classes and row.classes.unexplained]
        explained = sum(bool(row.classes and row.classes.deviations and not row.classes.unexplained) for row in rows)
        if wrong:
            kinds = dict.fromkeys(
                deviation.kind for row in wrong if row.classes for deviation in row.classes.unexplained
            )
            said = f"{plural(len(wrong), 'value differs', 'values differ')} in kind: {', '.join(kinds)}"
        else:
            said = "no value differs in kind" + (" without an explanation" if explained else "")
        yield f"on class inputs, {of} ({plural(runs, 'class run of a value', 'class runs of a value')}): {said}"


def _under_hypotheses(comparison: Comparison) -> str:
    exceeded = sum(bool(row.exceeded) for row in comparison.rows)
    if exceeded:
        values = plural(exceeded, "value is", "values are")
        return f"{values} outside the bound under {comparison.hypotheses}: rounding does not explain it"
    if not comparison.without_bounds:
        return f"every value is inside the bound under {comparison.hypotheses}: rounding explains the differences"
    missing = f"{len(comparison.without_bounds)} of {plural(comparison.runs, 'run')} have values without a bound"
    return f"every value with a bound under {comparison.hypotheses} is inside it; {missing}"


def _example(each: ClassDeviation) -> str:
    """The first element of a class that differs, with the inputs."""
    said = f"{each.found}, exact {each.exact} at {list(each.at)}, for {'; '.join(each.inputs)}"
    runs = f" ({plural(each.runs, 'run')})" if each.runs > 1 else ""
    noted = f"; {each.explained}" if each.explained else ""
    errata = [name for name in each.errata if name not in each.explained]
    more = f"; see erratum {', '.join(errata)}" if errata else ""
    return f"class {each.name!r}{runs} of {each.detail}: {said}{noted}{more}"


def _ordinary_sentence(distances: Sequence[Distance]) -> str:
    if all(distance.identical == distance.elements for distance in distances):
        return "every output is identical bit for bit"
    kinds = _summed([(special.kind, special.number) for distance in distances for special in distance.specials])
    ulp = max((distance.ulp for distance in distances if distance.ulp is not None), default=None)
    steps = f"{ulp} ulp, " if ulp is not None else ""
    far = f"outputs differ by at most {steps}{max(distance.absolute for distance in distances):.3g} absolute"
    wrong = ", ".join(f"{kind} {number}" for kind, number in kinds.items())
    return f"{far}; elements that differ in kind: {wrong}" if wrong else f"{far}, and none differs in kind"


def _special_kinds(row: Row) -> Iterator[tuple[str, int]]:
    """How many elements differ in kind in the runs with special inputs: those of all runs without the ordinary ones."""
    usual = {each.kind: each.number for each in row.ordinary.specials} if row.ordinary is not None else {}
    for special in row.distance.specials if row.distance is not None else ():
        if special.number > usual.get(special.kind, 0):
            yield special.kind, special.number - usual.get(special.kind, 0)


def _summed(pairs: Sequence[tuple[str, int]]) -> Counter[str]:
    counter: Counter[str] = Counter()
    for kind, number in pairs:
        counter[kind] += number
    return counter


def label(row: Row) -> str:
    """The value with its operator."""
    name = escape(row.value)
    return f"{name} ({escape(row.operator)})" if row.operator else f"{name}: {row.type}"


def cells_of(distance: Distance | None) -> tuple[str, ...]:
    """The figures of a row as text."""
    if distance is None:
        return ("", "", "", "", "", "")
    share = distance.identical / distance.elements if distance.elements else 1.0
    whole = distance.identical == distance.elements
    steps = ("", "") if distance.ulp is None else (str(distance.ulp), f"{distance.ulp_mean:.3g}")
    specials = ", ".join(f"{special.kind} {special.number}" for special in distance.specials)
    shown = "100 %" if whole else f"{min(share * 100, 99.999):.3f} %"
    return (str(distance.elements), shown, *steps, f"{distance.absolute:.3g}", specials)


# ------------------------------------------------------------------ the picture of the page


HEADS = ("#count", "#identical", "#ulp", "#mean", "#absolute", "other")
"""Short heads of the tables, so that names of values have room."""
LEGEND = (
    "a comparison: one value in one way, over all its runs, a row of the tables; "
    "a class run: one value for the inputs of one case of a value class; "
    "count: the elements compared; ulp and absolute: the largest distance of one; mean: in ulp; "
    "other: elements that differ in kind (NaN, infinite, sign of a zero, a number that became 0, integer, bool, string)"
)
DRAWN = {
    OUTPUT: "dot accumulated",
    CLASS_OUTPUT: "dot classes",
    EQUAL: "dot equal",
    CLASS_NODE: "dot classes",
    ACCUMULATED: "dot accumulated",
}
"""How the rows of each way are drawn; a row without any distance is left out."""


def _pictures(comparison: ComparisonReport) -> Iterator[Picture]:
    apart = [row for row in comparison.rows if row.distance is not None and (_steps(row) or _kinds(row))]
    if any(row.operator for row in comparison.rows) and apart:
        equal = len({_drawn_value(row) for row in comparison.rows} - {_drawn_value(row) for row in apart})
        legend = (
            f"{plural(equal, 'value', 'values')} without any distance {'is' if equal == 1 else 'are'} left out. "
            if equal
            else ""
        ) + (
            "From left to right the nodes, then the outputs of the model. Full dots: on equal inputs. Circles: "
            "accumulated from the inputs of the model. Dashed circles: on class inputs. "
            "At the top: what differs in kind. Large red dots: a broken bound."
        )
        yield Picture(
            "Largest distance of each comparison, in ulp, over all its runs", legend, _plot(apart, comparison)
        )


def _plot(rows: Sequence[Row], report: ComparisonReport) -> str:
    """One dot for each row: its value from left to right, its largest distance upwards, in powers of two."""
    from markupsafe import escape as entities  # only pages need it

    places = {
        value: place for place, value in enumerate(dict.fromkeys(_drawn_value(row) for row in _nodes_first(rows)))
    }
    allowed = None if report.max_ulp is None else LimitLine(_height_of(report.max_ulp), f"limit: {report.max_ulp} ulp")
    broken = [violation.row for violation in report.broken_bounds]
    top = max(4, *(int(_height(row)) + 1 for row in rows), int(allowed.height if allowed else 0) + 1) + 1
    series = []
    for way, class_ in DRAWN.items():
        heights: list[float | None] = [None] * len(places)
        titles = [""] * len(places)
        wrong = set[int]()
        for row in rows:
            if row.way == way and row.distance is not None:
                kinds = ", ".join(_kinds(row))
                place = places[_drawn_value(row)]
                heights[place] = top if kinds else _height(row)
                wrong |= {place} if any(row is each for each in broken) else set()
                titles[place] = f"{entities(label(row))}: {_steps(row)} ulp, {way}{f'; differs in {kinds}' if kinds else ''}"  # noqa: E501  # fmt: skip
        series.append(Series(heights, f'class="{class_}"', titles=titles, wrong=frozenset(wrong)))
    marks = [(height, str(2 ** (height - 1) if height else 0)) for height in range(0, top, max(1, top // 6))]
    names = [escape(value) for _, value in places]
    return plot(series, [*marks, (top, "kind")], "distances of the comparisons", names, allowed)


def _nodes_first(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: not row.operator)


def _drawn_value(row: Row) -> tuple[bool, str]:
    """What has a place of its own: a value of a node, or an output of the model."""
    return bool(row.operator), row.value


def _height(row: Row) -> float:
    return _height_of(_steps(row))


def _height_of(steps: int) -> float:
    """0 for no distance, 1 for one ulp, one more for each power of two."""
    return 1 + log2(steps) if steps else 0.0


# ------------------------------------------------------------------ as a document, for the other formats

WAYS = {
    OUTPUT: ("outputs", "The outputs of the whole model are the exact values."),
    CLASS_OUTPUT: (
        "class-outputs",
        "The outputs of the whole model are the exact values for the inputs of value classes.",
    ),
    EQUAL: ("equal-inputs", "A node alone, on its exact inputs, gives the exact values."),
    CLASS_NODE: ("class-inputs", "A node alone gives the exact values for the inputs of value classes."),
    ACCUMULATED: ("accumulated", "Every value on the way through the whole model is the exact one."),
}
"""The criterion of each way to compare: its name and statement."""
RUNS = "exact-values"
RUN = "The model has exact values for the inputs of a run, and values of the runtime can be compared with them."


def _facts(comparison: Comparison) -> Iterator[tuple[str, str]]:
    yield from comparison.conditions.facts()
    yield "runtime", escape_once(comparison.runtime)
    yield "inputs", f"{plural(comparison.runs, 'run')}, {escape_once(comparison.inputs)}"
    counted = [row.classes for row in comparison.rows if row.classes is not None and not row.same_as]
    if counted:
        runs, left = sum(each.runs for each in counted), sum(each.left_out for each in counted)
        without = sum(each.without_value for each in counted)
        said = plural(runs, "class run of a value", "class runs of a value")
        said += f"; {plural(left, 'case', 'cases')} left out (--class-runs)" if left else ""
        said += f"; {plural(without, 'case has', 'cases have')} no exact value" if without else ""
        yield "classes", said
    for reason in comparison.without_classes:
        yield "no classes", escape_once(reason)
    for optimization in comparison.optimizations:
        yield f"optimized graph, {optimization.level}", escape_once(_optimization(optimization))
    first = comparison.first_diverging
    if first is not None:
        text = "".join(f"; {term} {text}" for term, text in _farthest(first.distance))
        yield "first node that differs on equal inputs", f"{first.place}{text}"


def other_function(optimization: Optimization) -> str:
    """The sentence for an optimized graph that is another function."""
    return f"at level {optimization.level} the runtime computes another function: {_cut(optimization)}"


def _cut(optimization: Optimization) -> str:
    """The first pair of values that does not match."""
    producers = [f" of {operator}" if operator else "" for operator in optimization.operators]
    first, second = (f"{quote(optimization.first)}{producers[0]}", f"{quote(optimization.second)}{producers[1]}")
    pair = f"{second} in its graph and {first} in the model"
    return f"the first values that do not match are {pair}: {optimization.reason}"


def _optimization(optimization: Optimization) -> str:
    """What is known of the graph of one level."""
    if not optimization.answer:
        return f"not compared: {optimization.reason}"
    said = f"{optimization.answer}, {plural(optimization.nodes, 'node')}"
    return f"{said}; {_cut(optimization)}" if optimization.first else said


def _case(row: Row, broken: Sequence[str]) -> CaseResult:
    failed = [f"not compared in {row.failures[0]}"] if row.failures else []
    distances = [_distance_sentence(row.distance)] if row.distance is not None else []
    more = [f"and {len(broken) - SHOWN_SENTENCES} more"] if len(broken) > SHOWN_SENTENCES else []
    messages = [escape_once(text) for text in [*broken[:SHOWN_SENTENCES], *more] or (*failed, *distances)]
    if broken:
        verdict, standing_ = "broken", Standing.BAD
    elif row.failures:
        verdict, standing_ = "not compared", Standing.OPEN
    elif row.differs:
        verdict, standing_ = "differs", Standing.NOTE
    else:
        verdict, standing_ = "identical", Standing.GOOD
    where = row.where or Where(row.value, "value", row.value)
    return CaseResult(
        WAYS[row.way][0],
        label(row),
        verdict,
        standing_,
        "; ".join(messages),
        tuple(_case_details(row)),
        where,
        cells=cells_of(row.distance),
    )


def _distance_sentence(distance: Distance) -> str:
    """How far the values are, in one sentence."""
    if distance.identical == distance.elements:
        return f"all of {plural(distance.elements, 'element')} identical"
    far = f"{distance.absolute:.3g}" if distance.ulp is None else f"{distance.ulp} ulp"
    return f"{distance.elements - distance.identical} of {distance.elements} elements differ, by up to {far}"


def _case_details(row: Row) -> Iterator[tuple[str, str]]:
    distance = row.distance
    yield from _farthest(distance)
    for special in distance.specials if distance is not None else ():
        example = f"first at {list(special.at)}: {special.found}, exact {special.exact}"
        errata = [name for name, _ in errata_of(row.operator, special.kind)]
        noted = f"; see erratum {', '.join(errata)}" if errata else ""
        yield special.kind, f"{plural(special.number, 'element')}, {example}{noted}"
    yield from _class_details(row)
    for failure in row.failures:
        if failure not in row.faults:
            yield "not compared", escape_once(failure)
    for fault in row.faults:
        yield "fault", escape_once(fault)


def _class_details(row: Row) -> Iterator[tuple[str, str]]:
    if row.classes is None:
        return
    if row.same_as:
        yield "equal node", f"compared as {escape_once(row.same_as)}"
    listed = sorted(row.classes.deviations, key=lambda deviation: (bool(deviation.explained), deviation.packed))
    for class_deviation in listed[:SHOWN_DEVIATIONS]:
        yield class_deviation.kind, escape_once(_example(class_deviation))
    if len(listed) > SHOWN_DEVIATIONS:
        yield "more", plural(len(listed) - SHOWN_DEVIATIONS, "other class differs", "other classes differ")
    if row.classes.without_value:
        yield "no exact value", plural(row.classes.without_value, "case", "cases")
    if row.classes.left_out:
        yield "left out", plural(row.classes.left_out, "case", "cases")


def _farthest(distance: Distance | None) -> Iterator[tuple[str, str]]:
    if distance is not None and distance.found:
        yield "farthest", f"at {list(distance.at or ())}: {distance.found}, exact {distance.exact}"


def _run_cases(comparison: Comparison, broken: Sequence[str]) -> Iterator[CaseResult]:
    where = Where("model", "model")
    for sentence in broken:
        yield CaseResult(RUNS, "all runs", "not compared", Standing.BAD, escape_once(sentence), (), where)
    for reason in comparison.skipped:
        yield CaseResult(RUNS, reason.partition(":")[0], "skipped", Standing.SKIPPED, escape_once(reason), (), where)
