"""The bounds of a model as a page: the answer, a picture of range and error along the network, the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, floor, inf, isfinite, log10
from typing import NamedTuple

from sonnx.base.resources import tool_version
from sonnx.bounds.result import Bounds, Tensor
from sonnx.numerics.formats import Array
from sonnx.report.html_elements import Markup, code, element, folding, join, safe, table, terms, whole_page

LIMITS = "The bounds hold under the hypotheses above only. They are evidence for an assessment, not a certificate."
WIDTH, HEIGHT, LEFT, TOP = 900, 320, 70, 10
"""The picture, and the room for its numbers, in pixels."""


class Curve(NamedTuple):
    """A line of the picture: what it shows, its class, and a number for each value, None where there is none."""

    title: str
    colour: str
    numbers: Sequence[float | None]


def render(bounds: Bounds, code_: int, *, every_node: bool) -> str:
    """The whole page, ending in a line feed."""
    return whole_page(f"sonnx bound: {bounds.model}", list(_parts(bounds, code_, every_node)))


def _parts(bounds: Bounds, code_: int, every_node: bool) -> Iterator[Markup]:
    yield element("h1", f"sonnx {tool_version()}: ranges and errors under stated hypotheses")
    answer = "Everything asked is shown." if code_ == 0 else "Not everything asked is shown."
    yield element(
        "div", element("h2", safe(bounds.model)), element("p", answer, class_="answer"),
        *(element("p", safe(each)) for each in _stopped(bounds)),
        class_=f"banner {'pass' if code_ == 0 else 'open'}",
    )  # fmt: skip
    yield element("h3", "Hypotheses about the implementation")
    made = bounds.hypotheses
    yield element("p", code(made.name), ": ", safe(made.statement))
    if made.excludes:
        yield element("p", "Excluded:")
        yield element("ul", *(element("li", safe(each)) for each in made.excludes))
    yield element("h3", "Box of inputs")
    yield table(
        ("input", "shape", "#low", "#high"),
        [(code(name), str(list(low.shape)), *_ends(low, high)) for name, (low, high) in bounds.box.items()],
    )
    if bounds.decisions:
        yield element("h3", "Decisions")
        yield table(("decision", "#low", "#high", "#error", "in every implementation within the hypotheses"), [
            (code(each.what), f"{each.low:.6g}", f"{each.high:.6g}", f"{each.error:.3g}",
             "the same" if each.same else "not shown") for each in bounds.decisions
        ])  # fmt: skip
    yield element("h3", "Outputs")
    yield _tensors(bounds.outputs)
    if bounds.split is not None:
        yield element("p", safe(f"Bisection of the box: {bounds.split['text']}."))
    known = [each for each in bounds.tensors if not each.unbounded and each.low.size]
    if len(known) > 1:
        yield element("h3", "Along the network")
        yield picture(known)
    if bounds.shares:
        yield element("h3", "Share of the nodes in the error of the worst output element")
        yield table(("node", "#share"), [(code(node), f"{share:.1%}") for node, share in bounds.shares[:20]])
    yield element("h3", "Conditions")
    waiting = [each for each in bounds.conditions if not each.holds]
    yield element("p", f"{len(bounds.conditions)} conditions, of which {len(waiting)} are not shown.")
    rows = [(code(each.node), each.name, safe(each.detail), "holds" if each.holds else "not shown")
            for each in (*waiting, *(each for each in bounds.conditions if each.holds))]  # fmt: skip
    yield folding("All conditions", table(("node", "condition", "detail", ""), rows), start=bool(waiting))
    yield folding("All values", _tensors(bounds.tensors), start=every_node)
    yield terms([("edition", code(bounds.edition) if bounds.checked else Markup("the model was not checked"))])
    yield element("p", f"Exit code of the run: {code_}. {LIMITS}", class_="soft")


def _stopped(bounds: Bounds) -> list[str]:
    """Where the first value without bounds comes from, if there is one."""
    return [f"Not bounded: {each.unbounded}" for each in bounds.tensors if each.unbounded][:1]


def _ends(low: Array, high: Array) -> tuple[str, str]:
    return (f"{low.min():.6g}", f"{high.max():.6g}") if low.size else ("", "")


def _tensors(tensors: Sequence[Tensor]) -> Markup:
    rows = []
    for each in tensors:
        numbers = ("",) * 5
        if each.unbounded:
            numbers = ("not bounded", "", "", "", "")
        elif each.low.size:
            found = each.low.min(), each.high.max(), each.introduced.max(), each.propagated.max(), each.error.max()
            low, high, introduced, propagated, error = (f"{number:.6g}" for number in found)
            numbers = low, high, introduced, propagated, error
        rows.append((code(each.name), code(each.node), str(list(each.low.shape)), *numbers))
    return table(("value", "node", "shape", "#low", "#high", "#introduced", "#propagated", "#error"), rows)


def picture(tensors: Sequence[Tensor]) -> Markup:
    """The largest magnitude, error and introduced error of each value, from inputs to outputs, in powers of 10."""
    curves = [
        Curve(
            "largest magnitude", "var(--text)", [_positive(max(abs(t.low.min()), abs(t.high.max()))) for t in tensors]
        ),
        Curve("error", "var(--fail)", [_positive(t.error.max()) for t in tensors]),
        Curve("introduced by the node", "var(--soft)", [_positive(t.introduced.max()) for t in tensors]),
    ]
    numbers = [number for curve in curves for number in curve.numbers if number is not None]
    low, high = (floor(min(numbers, default=0)), ceil(max(numbers, default=1)))
    high = max(high, low + 1)
    steps = range(low, high + 1, max(1, (high - low) // 8))
    parts = [_rule(step, _height(step, low, high)) for step in steps]
    parts += [piece for curve in curves for piece in _drawn(curve, low, high)]
    legend = join((element("span", f"\u25cf {curve.title} ", style=f"color:{curve.colour}") for curve in curves), " ")
    svg = Markup(
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="range and error along the network">{join(parts, "")}</svg>'
    )
    return element("div", element("p", legend), svg)


def _positive(value: float) -> float | None:
    return log10(value) if 0 < value < inf else None


def _height(number: float, low: int, high: int) -> float:
    return TOP + (high - number) / (high - low) * (HEIGHT - 2 * TOP)


def _rule(step: int, y: float) -> Markup:
    return Markup(
        f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" font-size="12" fill="currentColor">1e{step}</text>'
    )


def _drawn(curve: Curve, low: int, high: int) -> Iterator[Markup]:
    """Lines between neighbours that both have a number, and a dot for each."""
    step = (WIDTH - LEFT - 10) / max(1, len(curve.numbers) - 1)
    points = [
        None if number is None or not isfinite(number) else (LEFT + index * step, _height(number, low, high))
        for index, number in enumerate(curve.numbers)
    ]
    for first, second in pairwise(points):
        if first is not None and second is not None:
            yield Markup(
                f'<path d="M{first[0]:.1f} {first[1]:.1f}L{second[0]:.1f} {second[1]:.1f}" fill="none" '
                f'style="stroke:{curve.colour};stroke-width:1.5"/>'
            )
    for point in points:
        if point is not None:
            yield Markup(f'<circle cx="{point[0]:.1f}" cy="{point[1]:.1f}" r="2.5" style="fill:{curve.colour}"/>')
