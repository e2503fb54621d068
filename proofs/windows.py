"""Windows of Conv, ConvInteger and MaxPool on one axis: their places and the elements they touch.

The theorems are about the functions that check: `window`, `positions` and `touches`.  An axis has `extent` elements,
`before` and `after` of padding; a kernel of `kernel` taps, `dilation` apart, moves by `stride`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import z3

from sonnx.language import builtins
from sonnx.prover.symbolic_execution import Term, execute
from sonnx.prover.terms import keeps_order, undivided
from sonnx.prover.theorem import Counterexample, Mutant, Obligation, ReplayFailed, Theorem, mutated

Obligations = Iterator[Obligation]


@dataclass(frozen=True)
class Axis:
    """One axis with its window, by the functions that run, or with one of them changed."""

    window: Callable[..., Any] = builtins.window
    positions: Callable[..., Any] = builtins.positions
    touches: Callable[..., Any] = builtins.touches

    @property
    def numbers(self) -> list[Term]:
        """Extent, padding before and after, kernel, dilation, stride, and the number of a window."""
        return list(z3.Ints("extent before after kernel dilation stride m"))

    @property
    def known(self) -> tuple[z3.BoolRef, ...]:
        """The hypotheses about each number."""
        extent, before, after, kernel, dilation, stride, _ = self.numbers
        return (extent >= 0, before >= 0, after >= 0, kernel >= 1, dilation >= 1, stride >= 1)

    @property
    def padded(self) -> Term:
        extent, before, after, *_ = self.numbers
        return extent + before + after

    @property
    def width(self) -> Term:
        """The extent of the window."""
        _, _, _, kernel, dilation, *_ = self.numbers
        return execute(self.window, kernel, dilation).value

    @property
    def count(self) -> Term:
        """The number of windows."""
        return execute(self.positions, self.padded, self.width, self.numbers[5]).value

    @property
    def fits(self) -> z3.BoolRef:
        """The rule kernel-fits."""
        return self.width <= self.padded

    def start(self, m: Term) -> Term:
        """Where window m begins, counted from the first element."""
        return m * self.numbers[5] - self.numbers[1]

    def touched(self, m: Term) -> z3.BoolRef:
        """Whether window m touches an element, by the rule every-window-touches."""
        extent, _, _, kernel, dilation, *_ = self.numbers
        return execute(self.touches, extent, self.start(m), kernel, dilation, assuming=(dilation >= 1,)).value


def places(a: Axis) -> Obligations:
    """The windows counted are those that lie in the padded axis, and there is one where the window fits."""
    *_, stride, m = a.numbers
    counted = execute(a.positions, a.padded, a.width, stride)
    yield from counted.obligations()
    yield Obligation("counted where it fits", (*a.known,), counted.defined == a.fits)
    yield Obligation("at least one", (*a.known, a.fits), a.count >= 1)
    lemma = (keeps_order(a.count - 1, m, stride), keeps_order(m, a.count, stride))
    inside = m * stride + a.width <= a.padded
    yield Obligation("counted where inside", (*a.known, a.fits, m >= 0, *lemma), (m < a.count) == inside)


def taps(a: Axis) -> Obligations:
    """Every tap of every window lies on the padded axis."""
    _, _, _, kernel, dilation, stride, m = a.numbers
    h = z3.Int("h")
    lemma = (
        keeps_order(a.count - 1, m, stride),
        keeps_order(kernel - 1, h, dilation),
        keeps_order(m, z3.IntVal(0), stride),
        keeps_order(h, z3.IntVal(0), dilation),
    )
    inside = (*a.known, a.fits, m >= 0, m < a.count, h >= 0, h < kernel)
    at = m * stride + h * dilation
    yield Obligation("on the axis", (*inside, *lemma), z3.And(at >= 0, at < a.padded))


def touches_means(a: Axis) -> Obligations:
    """`touches` is true exactly if a tap is on an element: it implies one, and any such tap implies it."""
    extent, start, kernel, dilation, h = z3.Ints("extent start kernel dilation h")
    known = (extent >= 0, kernel >= 1, dilation >= 1)
    execution = execute(a.touches, extent, start, kernel, dilation, assuming=(dilation >= 1,))
    yield from execution.obligations(*known)
    first = z3.If(start >= 0, 0, (dilation - 1 - start) / dilation)
    on_element = z3.And(start + first * dilation >= 0, start + first * dilation < extent)
    shown = z3.And(first >= 0, first < kernel, on_element)
    rest, quotient = start % dilation, start / dilation
    lemma = [
        keeps_order(first, -quotient, dilation),
        keeps_order(-quotient, first, dilation),
        keeps_order(first, -quotient + 1, dilation),
        keeps_order(-quotient, first + 1, dilation),
        keeps_order(h, first, dilation),
        keeps_order(first - 1, h, dilation),
        keeps_order(first, z3.IntVal(0), dilation),
        keeps_order(h, z3.IntVal(0), dilation),
        rest == rest,
    ]
    yield Obligation("a tap on an element", (*known, *lemma, execution.value), shown)
    tap = (h >= 0, h < kernel, start + h * dilation >= 0, start + h * dilation < extent)
    yield Obligation("any tap on an element", (*known, *lemma, *tap), execution.value)


def chosen_windows_suffice(a: Axis, last: int = 1) -> Obligations:
    """The rule tests the last window and those that begin in the padding; then every window touches an element."""
    _, before, _, _, _, stride, m = a.numbers
    window = (*a.known, a.fits, m >= 0, m < a.count)
    begins = (before + stride - 1) / stride
    lemma = (
        keeps_order(m, begins, stride),
        keeps_order(begins, m + 1, stride),
        keeps_order(a.count - last, m, stride),
    )
    yield Obligation("begins in the padding: asked", (*window, *lemma, a.start(m) < 0), m < begins)
    last_touches = a.touched(a.count - last)
    yield Obligation("begins behind it: as the last", (*window, *lemma, a.start(m) >= 0, last_touches), a.touched(m))


def padding_suffices(a: Axis, dilation_bounded: bool = True) -> Obligations:
    """A bound on the padding that ensures it."""
    extent, before, after, kernel, dilation, stride, m = a.numbers
    bound = [a.width > before, a.width > after, extent >= 1]
    if dilation_bounded:
        bound.append(z3.Or(kernel == 1, dilation <= extent))
    quotient = (dilation - 1 - a.start(m)) / dilation
    lemma = (keeps_order(a.count - 1, m, stride), keeps_order(m, z3.IntVal(0), stride),
             keeps_order(quotient, kernel, dilation), keeps_order(kernel - 1, quotient, dilation))  # fmt: skip
    yield Obligation("touches", (*a.known, a.fits, m >= 0, m < a.count, *bound, *lemma), a.touched(m))


def printed_extent(padded: int, width: int, stride: int) -> int:
    """The extent of Y as printed, for any numbers: floor((padded - window) / stride) + 1 (MaxPool of 2026-08)."""
    return (padded - width) // stride + 1


def printed_window(kernel: int, dilation: int) -> int:
    """The extent of the dilated kernel as printed: dilation * kernel - 1 + 1 (Conv of 2026-08)."""
    return dilation * kernel - 1 + 1


def drafted_positions(padded: int, width: int, stride: int) -> int:
    """The places of the formal draft of Conv: (padded - kernel) / (stride + 1)."""
    return (padded - width) // (stride + 1)


def prints_positive_extent(a: Axis) -> Obligations:
    stride = a.numbers[5]
    extent = execute(printed_extent, a.padded, a.width, stride, assuming=(stride >= 1,)).value
    yield Obligation("at least 1", a.known, extent >= 1)


def empty_axis_stays_empty(a: Axis) -> Obligations:
    stride = a.numbers[5]
    extent = execute(printed_extent, a.padded, a.width, stride, assuming=(stride >= 1,)).value
    plain = (a.numbers[0] == 0, a.numbers[4] == 1, stride == 1)
    yield Obligation("0, with steps of 1", (*a.known, *plain), extent == 0)


def prints_window(a: Axis) -> Obligations:
    _, _, _, kernel, dilation, *_ = a.numbers
    yield Obligation("equal", a.known, execute(printed_window, kernel, dilation).value == a.width)


def draft_counts_places(a: Axis) -> Obligations:
    stride = a.numbers[5]
    drafted = execute(drafted_positions, a.padded, a.width, stride, assuming=(stride >= 1,)).value
    yield Obligation("equal", (*a.known, a.fits), drafted == a.count)


def _show(found: Counterexample) -> tuple[int, int, int, list[int]]:
    """Extent, padded axis, window, and the windows that touch no element, tap by tap."""
    values = {"extent": 0, "before": 0, "after": 0, "kernel": 1, "dilation": 1, "stride": 1, **found}
    extent, before, after, kernel, dilation, stride = (
        values[name] for name in ("extent", "before", "after", "kernel", "dilation", "stride")
    )
    padded, width = extent + before + after, builtins.window(kernel, dilation)
    starts = range(-before, extent + after - width + 1, stride)
    missing = [s for s in starts if not any(0 <= s + h * dilation < extent for h in range(kernel))]
    return extent, padded, width, missing


def show_extent(found: Counterexample) -> str:
    """The printed formula on numbers."""
    extent, padded, width, missing = _show(found)
    printed = printed_extent(padded, width, found["stride"])
    if printed >= 1 and not (extent == 0 and missing):
        raise ReplayFailed(f"a padded axis of {padded} has {printed} places for a window of {width}")
    return f"extent {extent}, padded {padded}, window {width}, stride {found['stride']}: the formula gives {printed}"


def show_window(found: Counterexample) -> str:
    """Both extents of the window."""
    printed, meant = (
        printed_window(found["kernel"], found["dilation"]),
        builtins.window(found["kernel"], found["dilation"]),
    )
    if printed == meant:
        raise ReplayFailed(f"both extents are {meant}")
    return f"kernel {found['kernel']}, dilation {found['dilation']}: printed {printed}, from first to last tap {meant}"


def show_draft(found: Counterexample) -> str:
    """Both counts of places."""
    _, padded, width, _ = _show(found)
    stride = found["stride"]
    drafted, counted = drafted_positions(padded, width, stride), builtins.positions(padded, width, stride)
    if drafted == counted:
        raise ReplayFailed(f"both counts are {counted}")
    return f"padded axis {padded}, window {width}, stride {stride}: the draft has {drafted} places, not {counted}"


NO_GAPS = Axis(window=mutated(builtins.window, "dilation * (kernel - 1)", "(kernel - 1)"))
ONE_MORE = Axis(positions=mutated(builtins.positions, "// stride + 1", "// stride + 2"))
ROUNDED_UP = Axis(positions=mutated(builtins.positions, "extent - width)", "extent - width + stride - 1)"))
ANY_WIDTH = Axis(positions=mutated(builtins.positions, "extent < width", "extent < 0"))
NO_END = Axis(touches=mutated(builtins.touches, "start % dilation < extent and ", ""))
NO_KERNEL = Axis(touches=mutated(builtins.touches, " and (dilation - 1 - start) // dilation < kernel", ""))
STATED: list[tuple[str, str, str, Any, dict[str, Any], tuple[Any, ...]]] = [
    ("places", "The windows counted are those inside the padded axis; there is one where the window fits.",
     "0 ≤ m < positions ⇔ 0 ≤ m ∧ m · stride + window ≤ padded;  window ≤ padded ⇒ positions ≥ 1", places,
     {"one more": ONE_MORE, "rounded up": ROUNDED_UP, "any width": ANY_WIDTH}, (builtins.window, builtins.positions)),
    ("taps", "Every tap of every window lies on the padded axis.",
     "0 ≤ m < positions ∧ 0 ≤ h < kernel ⇒ 0 ≤ m · stride + h · dilation < padded", taps,
     {"one window more": ONE_MORE, "gaps forgotten": NO_GAPS},
     (builtins.window, builtins.positions)),
    ("touches", "The word touches says that a tap of the kernel lies on an element.",
     "touches ⇔ ∃h. 0 ≤ h < kernel ∧ 0 ≤ start + h · dilation < extent", touches_means,
     {"end of the axis forgotten": NO_END, "end of the kernel forgotten": NO_KERNEL}, (builtins.touches,)),
    ("chosen-windows", "Every window touches an element where the last and those that begin in the padding do.",
     "touches(last) ∧ (∀m: m · stride < before ⇒ touches(m)) ⇒ ∀m: touches(m)", chosen_windows_suffice,
     {"the last but one": partial(chosen_windows_suffice, last=2)},
     (builtins.window, builtins.positions, builtins.touches)),
    ("padding-bound", "Every window touches an element where the window exceeds the padding and no gap the axis.",
     "window > before, after ∧ (kernel = 1 ∨ dilation ≤ extent) ⇒ touches", padding_suffices,
     {"any dilation": partial(padding_suffices, dilation_bounded=False)},
     (builtins.window, builtins.positions, builtins.touches)),
]  # fmt: skip
REFUTED: list[tuple[str, str, str, Any, Any, str, str]] = [
    ("printed-extent", "The extent of Y as printed is positive, also where the window does not fit.",
     "⌊(padded - window) / stride⌋ + 1 ≥ 1", prints_positive_extent, show_extent, "maxpool-extent-not-positive",
     "Where the window is larger than the padded axis, the quotient is negative."),
    ("printed-extent-of-convolution", "The extent of Y of a convolution as printed is positive for every kernel.",
     "⌊(padded - window) / stride⌋ + 1 ≥ 1", prints_positive_extent, show_extent, "conv-kernel-larger-than-input",
     "No constraint says that the kernel fits."),
    ("empty-axis", "An axis of extent 0 gives extent 0, as the draft of MaxPool says.",
     "extent = 0 ⇒ ⌊(padded - window) / stride⌋ + 1 = 0", empty_axis_stays_empty, show_extent,
     "maxpool-extent-not-positive", "Without padding the formula gives a negative extent, with padding even 1."),
    ("printed-window", "The extent of the dilated kernel as printed is that from its first to its last tap.",
     "dilation · kernel - 1 + 1 = window", prints_window, show_window, "conv-dilated-extent",
     "A gap is counted behind the last tap."),
    ("drafted-places", "The formal draft of Conv counts the windows.",
     "(padded - window) / (stride + 1) = positions", draft_counts_places, show_draft, "conv-formal-drafts",
     "It divides by the stride plus 1."),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """Windows on one axis, of any extent, kernel, dilation, stride and padding."""
    for name, statement, formula, claim, changes, about in STATED:
        changed_claims = {
            title: (claim, change) if isinstance(change, Axis) else (change, Axis())
            for title, change in changes.items()
        }
        changed = tuple(Mutant(title, undivided(*each)) for title, each in changed_claims.items())
        yield Theorem(f"window.{name}", statement, formula, undivided(claim, Axis()), about, mutants=changed)
    for name, statement, formula, refuted, replay, erratum, because in REFUTED:
        yield Theorem(
            f"window.{name}", statement, formula, undivided(refuted, Axis()), (printed_extent, printed_window,
            drafted_positions), "refuted", replay=replay, erratum=erratum, because=because,
        )  # fmt: skip
