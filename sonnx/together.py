"""Many rules asked at once: what says the same as asking them one by one, where it says anything.

A call that occurs with many different shapes is judged by one function written for it (`plain.py`).  Its answer is a
number; equal numbers are equal outcomes, so that outcomes are counted as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from sonnx.domain import Expression
from sonnx.judging import Answer, Outcome, not_applying, outcome, over_nothing, passing
from sonnx.plain import DOES_NOT_APPLY, OVER_NOTHING, NotPlain, program
from sonnx.profile import Rule

OFTEN = 32
"""Subjects of one form that are judged one by one first: writing a function takes as long as judging so many."""


class Asked(NamedTuple):
    """A rule with its condition in force; `lists` gives a name that stands for several others, `*` before a list."""

    rule: Rule
    demand: Expression
    lists: Mapping[str, tuple[str, ...]] = {}


class Together:
    """Rules that are asked of one form of subject again and again."""

    def __init__(
        self,
        asked: Iterable[Asked],
        answers: Iterable[Answer] = (),
        following: Sequence[tuple[str, Expression]] = (),
    ) -> None:
        self.asked, self.answers, self.following = tuple(asked), tuple(answers), following
        self.outcomes: dict[int, Outcome] = {}

    @cached_property
    def _program(self) -> Any:
        try:
            return program([(each.rule.when, each.demand, each.lists) for each in self.asked], self.following)
        except NotPlain:
            return lambda names: None

    def outcome(self, names: Mapping[str, Any]) -> Outcome | None:
        """What all rules say of these names, None where they must be asked one by one."""
        number = self._program(names)
        if number is None:
            return None
        found = self.outcomes.get(number)
        if found is None:
            said = [self._answer(each, number >> 2 * place & 3) for place, each in enumerate(self.asked)]
            found = self.outcomes[number] = outcome([*self.answers, *said])
        return found

    def _answer(self, asked: Asked, bits: int) -> Answer:
        if bits == DOES_NOT_APPLY:
            return not_applying(asked.rule)
        return over_nothing(asked.rule, asked.demand) if bits == OVER_NOTHING else passing(asked.rule)
