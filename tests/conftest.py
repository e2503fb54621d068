"""Fixtures that tests of several packages share."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from sonnx.base.threads import THREADS

os.environ.update(dict.fromkeys(THREADS, "1"))  # of BLAS, before a module below loads numpy

from sonnx.base.progress import QUIET
from sonnx.cli.main import run
from sonnx.profile import catalogue
from sonnx.profile.profile_data import Catalogue
from tests.support.cases import examples
from tests.support.local_services import LocalService
from tests.support.model_texts import TEXTS, hostile, model_of
from tests.support.paths import ROOT

settings.register_profile(
    "same", max_examples=examples(30, 100), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.load_profile("same")
"""No test asserts a time, and two runs try the same; `make campaign` and `make fuzz` look further."""


os.environ[QUIET] = "1"
"""No test of what a command says depends on how long the command takes; child processes inherit it."""

LONG = (
    "evidence", "prover", "workers", "executor", "operators", "docs", "suite", "tools", "rewriter", "bounds", "profile",
    "package", "report", "cli", "checker",
)  # fmt: skip
"""The folders of tests with long files; they begin in this order, so that all processes end at about the same time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long tests first."""
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path.parent.name, len(LONG)))


def pytest_collection_finish() -> None:
    """What is loaded need not be visited again and again by the garbage collector; it took 5 % of the time.

    Not `gc.freeze`: Hypothesis would not find what refers to its random numbers.
    """
    gc.set_threshold(1_000_000, 20, 100)


WITH_DRY_RUN = ("docs", "rewriter")
"""The folders of tests of what a check announces of `fix`."""


@pytest.fixture(autouse=True)
def without_dry_run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In other tests a check in this process makes no dry run, which takes a process of its own."""
    if request.path.parent.name not in WITH_DRY_RUN:
        monkeypatch.setattr("sonnx.cli.commands.check.announced_forecast", lambda reports, file: None)


@pytest.fixture(scope="module")
def runtimes_in_this_process() -> Iterator[None]:
    """Runtimes get the same messages, but from this process: a process of each would import everything twice a run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sonnx.executor.isolation.Service", LocalService)
        patch.setattr("sys.path", [*sys.path])
        yield


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of a run share."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Path]:
    """A copy of the profile's data, which is in use."""
    shutil.copytree(ROOT / "restrictions", tmp_path / "restrictions")
    with Catalogue(tmp_path / "restrictions").in_use():
        yield tmp_path / "restrictions"


# ------------------------------------------------------------------ reports


@pytest.fixture
def various(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of models in the working folder: conforming, failing, not checked, assumed, hostile, and unreadable files.

    The catalogue has no file of Relu here, so one model is not checked.
    """
    described = catalogue.operator
    monkeypatch.setattr(catalogue, "operator", lambda name: None if name == "Relu" else described(name))
    monkeypatch.chdir(tmp_path)
    for name, text in TEXTS.items():
        Path(f"{name}.onnx").write_bytes(model_of(text))
    Path("exported.onnx").write_bytes((ROOT / "examples" / "as_exported.onnx").read_bytes())
    Path("names").mkdir()
    Path("names/<b> |`&'%,:.onnx").write_bytes(hostile())
    Path("no\nmodel.onnx").write_text("hello")
    return [
        "fine.onnx",
        "exported.onnx",
        "open.onnx",
        "run_time.onnx",
        "names/<b> |`&'%,:.onnx",
        "no\nmodel.onnx",
        "absent.onnx",
    ]


@pytest.fixture
def printed(capsysbinary: pytest.CaptureFixture[bytes]) -> Any:
    """The output of `sonnx check` in a format, for files and options."""

    def said(name: str, *arguments: str) -> str:
        capsysbinary.readouterr()
        run(["check", "--jobs", "0", "--format", name, *arguments])
        return capsysbinary.readouterr().out.decode("utf-8")

    return said
