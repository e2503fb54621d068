"""The scripts of examples/deviations, against the installed runtimes."""

from __future__ import annotations

import contextlib
import io
import runpy
from importlib.metadata import version

import pytest

from tests.support.paths import ROOT

SCRIPTS = sorted((ROOT / "examples" / "deviations").glob("*.py"))
OF_ONNXRUNTIME = {each.stem: each for each in SCRIPTS if "import onnxruntime" in each.read_text("utf-8")}
MEASURED = "1.31.1"
"""The version of onnxruntime whose deviations they show."""


@pytest.mark.skipif(version("onnxruntime") != MEASURED, reason="another version of onnxruntime")
@pytest.mark.parametrize("name", OF_ONNXRUNTIME)
def test_the_runtime_deviates(name: str) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        runpy.run_path(str(OF_ONNXRUNTIME[name]))
    exact, given = said.getvalue().removeprefix("exact").split("given")
    assert exact.split() != given.split()


def test_there_are_deviations_of_fifteen_classes() -> None:
    assert len(SCRIPTS) >= 15
