"""Bounds of random models of all operators hold for the exact values; the campaign draws more (bounded_models.py)."""

from __future__ import annotations

import pytest

from tests.support.bounded_models import bounded_model, exact_values, outside, points
from tests.support.cases import DEEP

BLOCKS, SEEDS = 4, 200 if DEEP else 8


@pytest.mark.parametrize("block", range(BLOCKS))
def test_exact_values_of_random_models_are_inside(block: int) -> None:
    bounded = 0
    for seed in range(block * SEEDS, (block + 1) * SEEDS):
        made = bounded_model(seed)
        if made is not None:
            bounded += 1
            for given in points(made, seed):
                assert list(outside(made, exact_values(made, given))) == [], f"seed {seed}"
    assert bounded > SEEDS / 4
