"""A box halved on a Dask cluster of two workers: the same parts as in one process, whatever happens to a worker."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonnx
from sonnx.base.errors import Stop, UsageError
from tests.bounds.test_networks import MODELS
from tests.support.dask_cluster import cluster_of, needs_dask
from tests.support.paths import ROOT

MODEL: bytes = MODELS["dense"]().SerializeToString()
BOX = {"x": (np.full((1, 5), -0.4), np.full((1, 5), 0.4))}


def split(error: float, seconds: float = 600, **more: Any) -> Any:
    return sonnx.bound(MODEL, BOX, unchecked=True, max_error=error, split=seconds, **more)


@needs_dask
@pytest.mark.campaign
def test_a_cluster_halves_a_box_and_loses_no_part(tmp_path: Path) -> None:
    error = sonnx.bound(MODEL, BOX, unchecked=True).outputs[0].largest_error / 2
    here, kept = split(error), tmp_path / "parts.jsonl"
    assert here.split.boxes > 16

    def after_the_first(what: Any) -> Any:
        waiting = [what]
        return lambda _: waiting.pop()() if waiting else None

    with cluster_of(2, ROOT) as cluster:
        killed = after_the_first(lambda: os.kill(cluster.workers.pop(), signal.SIGKILL))
        found = split(error, cluster=cluster.address, progress=killed)
        _same(found, here)
        with pytest.raises(Stop, match="was lost"):
            split(error, cluster=cluster.address, progress=after_the_first(cluster.kill), resume=kept)
    known = split(error, 1e-9, resume=kept).split.boxes
    assert 1 < known <= here.split.boxes
    _same(split(error, resume=kept), here)


def _same(found: Any, here: Any) -> None:
    assert found.split == here.split
    assert (found.outputs[0].error == here.outputs[0].error).all()


def test_a_cluster_needs_something_to_halve() -> None:
    with pytest.raises(UsageError, match="--cluster requires --split"):
        sonnx.bound(MODEL, BOX, unchecked=True, cluster="127.0.0.1:1")
