"""A release: what its check refuses, the addresses in the metadata, and a workflow that stores no secret."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.cases import each_case
from tests.support.paths import ROOT
from tools.release import main, obstacles, version_of

TESTS = (ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8")
WORKFLOW = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
VERSION = version_of(ROOT)


def prepared(folder: Path, heading: str = f"## {VERSION}, 2027-01-15", pinned: str = VERSION) -> Path:
    """What the check of a release reads."""
    (folder / "docs").mkdir()
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n")
    (folder / "docs" / "page.md").write_text(f"  rev: v{pinned}\n")
    return folder


def test_what_fits_is_released(tmp_path: Path) -> None:
    assert list(obstacles(f"v{VERSION}", prepared(tmp_path))) == []


@each_case(
    ("tag", "changed", "said"),
    [
        ("v9.9.9", {}, "the tag is v9.9.9"),
        (VERSION, {}, f"the tag is {VERSION}"),
        (f"v{VERSION}", {"heading": f"## {VERSION}, unreleased"}, "CHANGELOG.md"),
        (f"v{VERSION}", {"heading": "## 0.0.1, 2026-01-01"}, "CHANGELOG.md"),
        (f"v{VERSION}", {"heading": ""}, "CHANGELOG.md"),
        (f"v{VERSION}", {"pinned": "0.0.1"}, "docs/page.md"),
    ],
)
def test_what_does_not_fit_is_named(
    tag: str, changed: dict[str, str], said: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("release")
    [sentence] = obstacles(tag, prepared(folder, **changed))
    assert said in sentence


def test_pages_name_this_version() -> None:
    assert not [each for each in obstacles(f"v{VERSION}") if each.startswith("docs/")]
    assert main([]) == 2
    assert main(["v0.0.0"]) == 1


def test_the_metadata_has_the_addresses_of_the_repository_that_builds(tmp_path: Path) -> None:
    environment = {
        **os.environ, "SONNX_REPOSITORY": "https://git.example/group/sonnx", "SONNX_SITE": "https://docs.example/sonnx/",
    }  # fmt: skip
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    with ZipFile(next(tmp_path.iterdir())) as wheel:
        [name] = [each for each in wheel.namelist() if each.endswith("/METADATA")]
        metadata = Parser().parsestr(wheel.read(name).decode())
    assert metadata["Version"] == VERSION
    addresses = dict(each.split(", ") for each in metadata.get_all("Project-URL", []))
    assert addresses["Source"] == "https://git.example/group/sonnx"
    assert addresses["Rules"] == "https://docs.example/sonnx"
    assert {"Profile", "Documentation", "Changelog", "Issues"} <= addresses.keys()
    assert metadata["Author"]
    assert metadata["Keywords"]


def test_the_workflow_publishes_what_it_tested_and_stores_no_secret() -> None:
    assert "secrets." not in WORKFLOW
    assert "password" not in WORKFLOW.replace("without a stored password", "")
    build, publish = re.split(r"^  publish:$", WORKFLOW, flags=re.MULTILINE)
    assert "id-token" not in build
    assert "id-token: write" in publish
    assert "needs: build" in publish
    assert "checkout" not in publish
    for command in re.findall(r"python -m (tools\.\w+)", build):
        assert (ROOT / f"{command.replace('.', '/')}.py").exists()
    assert build.index(".ci/run") < build.index("hatchling build")


def test_every_change_is_tested_with_each_version_of_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    versions = [name.rpartition(" ")[2] for name in project["classifiers"] if re.search(r"Python :: 3\.\d", name)]
    [tried] = re.findall(r"python: \[(.*)\]", TESTS)
    assert re.findall(r'"([^"]+)"', tried) == versions
    assert "pull_request" in TESTS and "permissions:\n  contents: read" in TESTS


def test_the_recipe_for_conda_says_what_the_metadata_say() -> None:
    """Version, Python, what is needed to build and to run, the entry point, summary and license."""
    recipe = (ROOT / "recipe" / "meta.yaml").read_text("utf-8")
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project = whole["project"]

    def listed(key: str, before: str) -> list[str]:
        part = recipe.partition(f"  {key}:\n")[2].partition(before)[0]
        return [each.replace(" ", "") for each in re.findall(r"^ +- (.+)$", part, re.MULTILINE)]

    python = f"python{project['requires-python']}"
    assert f'{{% set version = "{project["version"]}" %}}' in recipe
    assert listed("run", "\n\n") == [python, *project["dependencies"]]
    assert listed("host", "  run:") == [python, "pip", *whole["build-system"]["requires"]]
    assert listed("entry_points", "\n\n") == [f"{name}={target}" for name, target in project["scripts"].items()]
    assert f"summary: {project['description']}\n  license: {project['license']}\n" in recipe
