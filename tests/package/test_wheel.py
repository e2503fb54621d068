"""The wheel holds what the checkout holds: the same identifiers, cases and theorems, and it works from any folder."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sonnx.profile.cases import all_cases
from sonnx.profile.index import rules_by_slug
from tests.support.exchange_formats import cyclonedx_faults
from tests.support.paths import ROOT
from tools.wheel_bill import ENDING, main

TELL = """
import json, sonnx
from sonnx.profile.cases import all_cases
from sonnx.profile.index import rules_by_slug
print(json.dumps([sonnx.__file__, sorted(rules_by_slug()), sorted(case.id for case in all_cases())]))
"""


def built(target: str, source: Path, folder: Path) -> Path:
    """The file that a build of a source tree gives."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed") / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def ask(installed: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=installed.parent, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


def test_identifiers_equal_the_checkout(installed: Path) -> None:
    file, slugs, ids = json.loads(ask(installed, "-c", TELL))
    assert Path(file).is_relative_to(installed)
    assert slugs == sorted(rules_by_slug())
    assert ids == sorted(case.id for case in all_cases())


def test_it_runs_from_another_folder(installed: Path) -> None:
    assert "Max.broadcastable" in ask(installed, "-m", "sonnx", "rules")


def test_it_holds_the_package_with_its_data_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
    package = {path for path in (ROOT / "sonnx").rglob("*") if path.is_file()}
    for data in ("proofs", "restrictions"):
        package |= {ROOT / "sonnx" / path.relative_to(ROOT) for path in (ROOT / data).rglob("*") if path.is_file()}
    expected = sorted(path.relative_to(ROOT).as_posix() for path in package if "__pycache__" not in path.parts)
    assert sorted(names) == expected
    assert {"sonnx/py.typed", "sonnx/proofs/record.json", "sonnx/restrictions/operators/max.toml"} <= set(names)


def test_the_bill_of_a_wheel_states_its_file_and_what_it_asks_for(wheel: Path) -> None:
    assert main([str(wheel)]) == 0
    bill = json.loads(wheel.with_name(wheel.name + ENDING).read_text())
    assert cyclonedx_faults(bill) == []
    tool = bill["metadata"]["component"]
    assert tool["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (tool["name"], tool["version"]) == (project["name"], project["version"])
    required = [each["name"] for each in bill["components"] if each["scope"] == "required"]
    declared = [Requirement(each) for each in project["dependencies"]]
    assert sorted(required) == sorted(canonicalize_name(each.name) for each in declared)
    extras = [each for texts in project["optional-dependencies"].values() for each in texts]
    assert len(bill["components"]) == len(declared) + len(extras)


def test_two_builds_give_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    """Of the source distribution, whatever the time and the order of the files, and of the wheel from that one."""
    source, second = (built("sdist", ROOT, tmp_path / name) for name in ("sdist", "second"))
    assert second.read_bytes() == source.read_bytes()
    with tarfile.open(source) as archive:
        members = archive.getmembers()
        assert [each.name for each in members if not each.isfile()] == []
        archive.extractall(tmp_path, filter="data")
    again = built("wheel", tmp_path / source.name.removesuffix(".tar.gz"), tmp_path / "again")
    assert again.read_bytes() == wheel.read_bytes()
