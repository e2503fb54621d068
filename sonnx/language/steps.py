"""How many elements evaluations may visit: each on its own, and all of one model together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

TOO_LONG = "the lists are too long to be evaluated"
"""The reason of a value whose evaluation ran out of fuel."""
TOO_MANY = "the model takes more than"
"""How the reason begins where all evaluations of a model together ran out."""


class OutOfFuel(Exception):
    """One evaluation, or all of a model together, visit more elements than allowed; the message is the reason."""


class Steps:
    """The element visits that all evaluations of one model may make together, and how many are left."""

    __slots__ = ("allowed", "left")

    def __init__(self, allowed: int) -> None:
        self.allowed = self.left = allowed

    def spend(self, amount: int) -> None:
        """Count visits.

        Raises:
            OutOfFuel: more visits than allowed.
        """
        self.left -= amount
        if self.left < 0:
            more = min(10 * max(1, self.allowed), 2**31 - 1)
            text = f"{TOO_MANY} {self.allowed} steps of evaluation; --limit steps={more} allows more"
            raise OutOfFuel(text)

    @property
    def taken(self) -> int:
        """The visits so far."""
        return self.allowed - self.left


_STEPS: ContextVar[Steps | None] = ContextVar("steps of the model", default=None)


def current_steps() -> Steps | None:
    """The steps of the model that is evaluated, None outside of `steps_of_model`."""
    return _STEPS.get()


def are_left() -> bool:
    """Whether no evaluation of the model has run out of steps: what follows from it does not depend on those before."""
    steps = _STEPS.get()
    return steps is None or steps.left >= 0


def is_shortage(reason: str) -> bool:
    """Whether a value is unknown for this reason because its evaluation, or all of the model, ran out."""
    return reason == TOO_LONG or reason.startswith(TOO_MANY)


@contextmanager
def steps_of_model(allowed: int) -> Iterator[Steps]:
    """Bound all evaluations inside together; beyond the bound every one that visits an element is out of fuel.

    Inside another such bound the outer one stays in force.
    """
    outer = _STEPS.get()
    if outer is not None:
        yield outer
        return
    current = Steps(allowed)
    token = _STEPS.set(current)
    try:
        yield current
    finally:
        _STEPS.reset(token)
