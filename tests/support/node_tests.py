"""The node tests that the onnx package generates."""

from __future__ import annotations

import pickle
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import onnx

from tests.support.paths import ROOT


@cache
def node_tests() -> tuple[Any, ...]:
    """Every case with its model, inputs and outputs; kept in build/, because to generate them takes eight seconds."""
    kept = ROOT / "build" / f"node-tests-{onnx.__version__}-{numpy.__version__}.pickle"
    if kept.is_file():
        return tuple(pickle.loads(kept.read_bytes()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        made = tuple(collect_testcases(None))
    kept.parent.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as file:
        file.write(pickle.dumps(made))
    Path(file.name).replace(kept)
    return made
