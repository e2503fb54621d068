"""Tests of comparisons of models search for differing runs by runtimes in this process, which start once."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def runtimes(runtimes_in_this_process: None) -> None:
    """What is found is tested here, not what a runtime may do to its process."""
