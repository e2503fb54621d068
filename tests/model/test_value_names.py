"""Unused names: the smallest free number, whatever was asked before."""

from __future__ import annotations

from random import Random

from sonnx.model.value_names import TakenNames, unused
from tests.support.growth import counted


def _smallest(wanted: str, taken: set[str]) -> str:
    """The name that the definition gives, with a search from the first number."""
    if wanted not in taken:
        return wanted
    stem, _, end = wanted.rpartition("_")
    base = stem if end.isdecimal() and "_" in wanted else wanted
    number = 2
    while f"{base}_{number}" in taken:
        number += 1
    return f"{base}_{number}"


def test_a_name_gets_the_smallest_free_number_also_after_names_became_free() -> None:
    random = Random(1)
    names = ["a", "b", "a_2", "a_3", "b_9", "a_b_1", "_4"]
    taken = TakenNames(names)
    for _ in range(2000):
        if random.random() < 0.3:
            taken.free(random.choice(sorted(taken) or names))
        else:
            wanted = random.choice([*names, *sorted(taken)])
            expected = _smallest(wanted, set(taken))
            assert unused(wanted, taken) == expected
            assert expected in taken


def test_a_search_goes_on_where_the_last_one_ended() -> None:
    def lines(times: int) -> int:
        taken = TakenNames(["a"])
        return counted(lambda: [unused("a", taken) for _ in range(times)])[0]

    assert lines(2000) < 2.1 * lines(1000)
