"""The wheel holds what the checkout holds: the same identifiers, cases and theorems, and it works from any folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sonnx.profile.cases import cases
from sonnx.profile.index import every

ROOT = Path(__file__).parent.parent.parent
TELL = """
import json, sonnx
from sonnx.profile.cases import cases
from sonnx.profile.index import every
print(json.dumps([sonnx.__file__, sorted(every()), sorted(case.id for case in cases())]))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def ask(installed: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=installed.parent, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


def test_identifiers_equal_the_checkout(installed: Path) -> None:
    file, slugs, ids = json.loads(ask(installed, "-c", TELL))
    assert Path(file).is_relative_to(installed)
    assert slugs == sorted(every())
    assert ids == sorted(case.id for case in cases())


def test_it_runs_from_another_folder(installed: Path) -> None:
    assert "Max.broadcastable" in ask(installed, "-m", "sonnx", "rules")


def test_it_holds_the_typing_marker_and_no_tests(installed: Path) -> None:
    names = {str(path.relative_to(installed)) for path in installed.rglob("*") if path.is_file()}
    assert "sonnx/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "restrictions/", "proofs/"))]
