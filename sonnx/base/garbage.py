"""How often Python searches for reference cycles, which models and reports never form."""

from __future__ import annotations

import gc


def collect_rarely() -> None:
    """Collect after 50,000 new objects, not after 700: that is 5 % of a check.

    The library leaves the collector to the process that calls it.
    """
    gc.set_threshold(50_000, 20, 100)
