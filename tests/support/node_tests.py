"""The node tests that the onnx package generates."""

from __future__ import annotations

import pickle
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import onnx

from tests.support.paths import ROOT
from tests.support.shared_suites import made_once


@cache
def node_tests() -> tuple[Any, ...]:
    """Every case with its model, inputs and outputs; kept in build/, because to generate them takes eight seconds."""
    kept = ROOT / "build" / f"node-tests-{onnx.__version__}-{numpy.__version__}.pickle"
    if kept.is_file():
        return tuple(pickle.loads(kept.read_bytes()))
    return tuple(pickle.loads(made_once(kept, _generate).read_bytes()))


def _generate(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        path.write_bytes(pickle.dumps(tuple(collect_testcases(None))))
