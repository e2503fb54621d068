"""Races: several actions in turns, medians, a table."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sonnx.executor.executor import NUMPY_BUFFER_ELEMENTS

PEERS = ("numpy", "reference", "onnxruntime")
TURN = 1.5
"""Seconds all rounds of one case may take, apart from the first five."""

USUAL = np.getbufsize()

LEAST = 2e-4
"""Seconds one measurement should take at least; quick actions are repeated within it."""

Action = Callable[[], object]


@dataclass
class Case:
    """One line of a table: what is computed, by whom, and the ratio to numpy that is aimed at."""

    title: str
    element: str
    detail: str
    target: float | None
    actions: dict[str, Action]
    times: dict[str, float] = field(default_factory=dict)

    def ratio(self, peer: str) -> float | None:
        """Our time over a peer's."""
        return self.times["ours"] / self.times[peer] if peer in self.times else None


def measure(case: Case, rounds: int) -> Case:
    """Medians of the processor time of this thread, which a busy machine does not change.

    The order is drawn anew for each round, because each action warms the cache for the next.
    """
    names, taken = list(case.actions), {name: [] for name in case.actions}
    gc.collect()
    gc.disable()
    started, repeats = time.perf_counter(), {name: _repeats(action) for name, action in case.actions.items()}
    for turn in range(rounds + 1):
        for name in random.Random(turn).sample(names, len(names)):
            np.setbufsize(buffered(name))
            taken[name].append(_timed(case.actions[name], repeats[name]))
        if turn >= 5 and time.perf_counter() - started > TURN:
            break
    np.setbufsize(USUAL)
    gc.enable()
    case.times = {name: statistics.median(times[1:]) for name, times in taken.items()}
    case.actions = {}
    return case


def _timed(action: Action, repeats: int) -> float:
    before = time.thread_time()
    for _ in range(repeats):
        action()
    return (time.thread_time() - before) / repeats


def buffered(name: str) -> int:
    """Elements of numpy's buffers: for this project's kernels what the executor sets, for the peers what numpy has."""
    return NUMPY_BUFFER_ELEMENTS if name == "ours" else USUAL


def _repeats(action: Action) -> int:
    action()
    return max(1, int(LEAST / max(_timed(action, 3), 1e-7)))


def line(case: Case) -> str:
    shown = [f"{ratio:.3g}" if (ratio := case.ratio(peer)) is not None else "–" for peer in PEERS]
    target = f"≤ {case.target:g}" if case.target is not None else ""
    met = "" if case.target is None else "met" if (case.ratio("numpy") or 0) <= case.target else "**missed**"
    cells = [
        case.title,
        case.element,
        case.detail,
        f"{case.times['ours'] * 1e6:.1f}",
        shown[0],
        target,
        met,
        *shown[1:],
    ]
    return f"| {' | '.join(cells)} |"


HEAD = """| operator | type | case | µs | /numpy | target | | /onnx.reference | /onnxruntime |
|---|---|---|---|---|---|---|---|---|"""
