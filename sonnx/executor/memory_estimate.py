"""The memory that a run needs at least, known before the first node runs."""

from __future__ import annotations

from math import prod

from sonnx.base.budget import MEGABYTE, allowed_bytes
from sonnx.base.errors import Unfinished
from sonnx.executor.plan import Plan


def needed_bytes(plan: Plan) -> int:
    """The most bytes that values which nodes compute take at one time, without those of unknown shapes."""
    sizes: dict[int, int] = {}
    live = most = 0
    for step in plan.steps:
        specs = step.prepared.output_specs if step.prepared is not None else None
        for place, (shape, kind) in zip(step.outputs, specs or (), strict=False):
            sizes[place] = prod(shape) * kind.itemsize
            live += sizes[place]
        most = max(most, live)
        live -= sum(sizes.pop(place, 0) for place in step.dead_values)
    return most


def require_memory(plan: Plan) -> None:
    """Refuse a run that needs more memory than the command may take.

    Raises:
        Unfinished: states both numbers.
    """
    require_bytes(needed_bytes(plan))


def require_bytes(needed: int) -> None:
    """As `require_memory`, for a number of bytes."""
    allowed = allowed_bytes()
    if allowed is not None and needed > allowed:
        raise Unfinished(
            f"the values of the model take at least {-(-needed // MEGABYTE)} megabytes at one time, more than the "
            f"{allowed // MEGABYTE} allowed (--memory)"
        )
