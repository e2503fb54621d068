"""The evidence pack of one network with everything that a pack may have, made and verified as a project does it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sonnx.cli.main import run
from sonnx.evidence.objectives import PACK, absent_files
from sonnx.profile import catalogue
from tests.evidence.test_exchange import SSH, keys
from tests.support.cases import DEEP
from tests.support.exchange_formats import cyclonedx_faults, reqif_faults, sarif_faults
from tests.support.paths import ROOT

pytestmark = [SSH, pytest.mark.skipif(not DEEP, reason="half a minute: a part of make deep")]
NETWORK = ROOT / "tests" / "models" / "cnn.onnx"
"""An export of PyTorch: convolutions, pooling, a matrix product, Softmax."""
TAILORING = f'name = "no rank above 4"\nedition = "{catalogue.editions().default}"\nlargest.rank = 4\n'
NOT_HERE = {"certificates/", "configuration/box/", "configuration/deviations/", "counterexamples/", "properties/"}
"""What this pack has not: the box is given by numbers, nothing deviates, and the others have tests of their own."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the network, what `fix` made of it, the report of a suite, keys, an earlier pack, and the pack."""
    pytest.importorskip("onnxruntime")
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(NETWORK, folder / "exported.onnx")
    (folder / "tailoring.toml").write_text(TAILORING)
    keys(folder, "own", "other")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert ran("fix exported.onnx --output model.onnx --report rewrites.json") == 0
        assert ran("suite make cases --operator Flatten --operator Relu") == 0
        assert ran("suite run cases --runtime onnxruntime --format json --output suite.json") in (0, 1, 3)
        assert ran("audit exported.onnx --output earlier") == 1
        evidence = "--rewrites rewrites.json --derived-from exported.onnx --since earlier --suite suite.json"
        options = "--tailoring tailoring.toml --box image=[0,1] --sign own"
        assert ran(f"audit model.onnx --output pack {evidence} {options}") == 0
    return folder


def ran(line: str) -> int:
    """The exit code of a command line."""
    return run(line.split())


def document(folder: Path, name: str) -> Any:
    return json.loads((folder / "pack" / name).read_bytes())


def test_it_is_verified_with_its_signature(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    assert ran("audit --verify pack --signers signers") == 0
    said = capsys.readouterr().out
    assert "all " in said
    assert "; signed by a key in signers" in said


def test_each_file_follows_the_schema_of_its_format(project: Path) -> None:
    assert sarif_faults(document(project, "report.sarif")) == []
    assert cyclonedx_faults(document(project, "model.cdx.json")) == []
    assert reqif_faults(project / "pack" / "requirements.reqif") == []


def test_it_has_every_file_that_objectives_name(project: Path) -> None:
    pack = project / "pack"
    found = {path.relative_to(pack).as_posix() for path in pack.rglob("*") if path.is_file()}
    absent = document(project, "objectives.json")["absent"]
    assert absent == [*absent_files(found)]
    assert {name.removeprefix(PACK) for name in absent} == NOT_HERE


def test_every_kind_of_evidence_is_in_its_argument(project: Path) -> None:
    goals = {each["id"]: each["state"] for each in document(project, "argument.json")["elements"] if each["state"]}
    assert goals["G2"] == goals["G8"] == "met"
    assert {"G6", "G7", "G8", "G10"} <= goals.keys()
    since = document(project, "audit.json")["since"]
    assert since["changed"]
    assert {each["state"] for each in since["evidence"]} <= {"stands", "renewed by this pack", "must be renewed"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda pack: (pack / "manifest.json.sig").unlink(), "the pack has no signature"),
        (lambda pack: (pack / "report.json").write_text("{}"), "report.json was changed"),
        (lambda pack: (pack / "extra").write_text(""), "extra is not listed in the manifest"),
    ],
)
def test_a_changed_pack_is_said(
    change: Any, sentence: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    pack = shutil.copytree(project / "pack", tmp_path / "pack")
    change(pack)
    monkeypatch.chdir(project)
    assert run(["audit", "--verify", str(pack), "--signers", "signers"]) == 1
    assert sentence in capsys.readouterr().out
