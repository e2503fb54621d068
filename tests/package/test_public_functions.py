"""The public functions: a model in any form, the same results as on the command line."""

from __future__ import annotations

import html
import inspect
import json
import pydoc
import subprocess
import sys
import types
from collections.abc import Callable
from importlib.metadata import version
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from msgspec.structs import fields, replace

import sonnx
from sonnx.base.options import default_of
from sonnx.cli.main import run as command
from sonnx.report.formats import HASHED
from tests.support.cases import spread
from tests.support.editions import NEWEST
from tests.support.model_texts import TEXTS, model_of
from tests.support.paths import ROOT

pytestmark = pytest.mark.usefixtures("runtimes_in_this_process")
"""What is said of a runtime is tested here, not what one may do to its process."""
SYMBOLIC = ROOT / "examples" / "symbolic.onnx"
FINE = model_of(TEXTS["fine"])
INPUTS = {"a": np.array([1, 2], np.float32)}


@pytest.fixture
def fine(tmp_path: Path) -> Path:
    path = tmp_path / "fine.onnx"
    path.write_bytes(FINE)
    return path


FUNCTIONS: dict[str, Callable[[Any], str]] = {
    "check": lambda model: sonnx.check(model, name="m", hashed=True).to_json(),
    "prove": lambda model: sonnx.prove(model, name="m").to_json(),
    "run": lambda model: sonnx.run(model, INPUTS, name="m").to_json(),
    "compare": lambda model: (
        sonnx.compare(model, "reference", name="m", runs=1).to_json().replace("fine.onnx", "model")
    ),
    "fix": lambda model: sonnx.fix(model, name="m", samples=1).to_text(),
    "audit": lambda model: sonnx.audit(model, name="m").files["report.json"].decode(),
}


SLOW = ("compare", "fix", "audit")
"""Those that take the model as the others do, and seconds."""


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_form_of_a_model_gives_the_same_result(function: str, fine: Path) -> None:
    message = onnx.load(fine)
    assert message.SerializeToString() == fine.read_bytes(), "so that hashes agree"
    forms = [fine, str(fine), fine.read_bytes(), message]
    results = {FUNCTIONS[function](form) for form in (spread(forms, 2) if function in SLOW else forms)}
    assert len(results) == 1
    assert results != {""}


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    command(arguments)
    return capsys.readouterr().out


def test_a_check_is_that_of_the_command_line(fine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = sonnx.check(fine, name=str(fine), hashed=True)
    assert isinstance(report, sonnx.CheckReport) and isinstance(report, sonnx.Report)
    assert report.to_text() == printed(capsys, "check", str(fine))
    for form in ("json", "sarif", "junit", "github", "markdown", "deviations"):
        assert report.to_format(form) == printed(capsys, "check", str(fine), "--format", form)
    with pytest.raises(sonnx.UsageError, match="unknown format 'xml'; there are text, concise, json"):
        report.to_format("xml")


def test_models_are_checked_as_on_the_command_line(fine: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"\xff")
    for jobs in (0, 1):
        results = sonnx.check_models([str(tmp_path)], jobs=jobs, edition="2026-08")
        assert [(report.name, report.edition) for report in results.reports] == [(str(fine), "2026-08")]
        assert [*results.without_report] == [str(tmp_path / "broken.onnx")]
        assert results.exit_code(False) == 2
    (tmp_path / "none").mkdir()
    with pytest.raises(sonnx.UsageError, match=r"has no \.onnx file"):
        sonnx.check_models([str(tmp_path / "none")])
    with pytest.raises(TypeError, match="editon"):
        sonnx.check_models([str(fine)], editon="2026-08")  # type: ignore[call-arg]


def test_a_proof_is_that_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    report = sonnx.prove(SYMBOLIC, name=str(SYMBOLIC), hashed=True)
    assert isinstance(report, sonnx.ProofReport)
    for form in sorted(HASHED & {"json", "sarif", "markdown", "html"}):
        assert report.to_format(form) == printed(capsys, "prove", str(SYMBOLIC), "--format", form)
    assert (report.to_text(), report.to_json()) == (report.to_format("text"), report.to_format("json"))


def test_a_run_maps_outputs_to_values(fine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = sonnx.run(fine, INPUTS)
    assert isinstance(report, sonnx.RunReport)
    assert (list(report), len(report), report["y"].tolist()) == (["y"], 1, [1, 2])
    assert (report.edition, report.exit_code, report.assumed) == (NEWEST, 0, False)
    assert isinstance(report.check, sonnx.CheckReport)
    np.save(tmp_path / "a.npy", INPUTS["a"])
    given = f"a={tmp_path / 'a.npy'}"
    assert report.to_text() == printed(capsys, "run", str(fine), "--input", given)
    assert report.to_json() == printed(capsys, "run", str(fine), "--input", given, "--format", "json")
    assert sonnx.run(fine, input_files=[given]).to_text() == report.to_text()


def test_a_model_that_does_not_conform_carries_its_report() -> None:
    wrong = model_of(TEXTS["fine"].replace("float[2] y", "float[3] y"))
    for function in (sonnx.run, sonnx.compare):
        with pytest.raises(sonnx.NotConforming) as stop:
            function(wrong)
        assert isinstance(stop.value.report, sonnx.CheckReport)
        assert "Max.Y-shape" in stop.value.report.to_text()


def test_a_comparison_is_that_of_the_command_line(fine: Path, tmp_path: Path) -> None:
    report = sonnx.compare(fine, "reference", name=str(fine), hashed=True, max_ulp=0, class_runs=4)
    assert isinstance(report, sonnx.ComparisonReport)
    assert (report.exit_code, report.broken_bounds) == (0, ())
    formats = ["text", *sorted(HASHED & {"json", "html", "sarif", "markdown"})]
    options = [part for form in formats for part in ("--format", f"{form}={tmp_path / form}")]
    assert (
        command(["compare", str(fine), "--runtime", "reference", "--max-ulp", "0", "--class-runs", "4", *options]) == 0
    )
    for form in formats:
        assert (tmp_path / form).read_text("utf-8") == report.to_format(form)


def test_a_pack_is_written_whole(fine: Path, tmp_path: Path) -> None:
    pack = sonnx.audit(fine)
    assert isinstance(pack, sonnx.EvidencePack)
    pack.write(tmp_path / "pack", {"model": str(fine)})
    names = {
        path.relative_to(tmp_path / "pack").as_posix() for path in (tmp_path / "pack").rglob("*") if path.is_file()
    }
    assert names == {*pack.files, "run.json"}
    assert command(["audit", "--verify", str(tmp_path / "pack")]) == 0


@pytest.mark.parametrize("name", ["Max.broadcastable", "E1", "Max", "zero-against-one"])
def test_an_explanation_is_that_of_the_command_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = sonnx.explain(name)
    assert isinstance(found, sonnx.Explanation)
    assert found.to_text() == printed(capsys, "explain", name)
    assert found.rules or found.operator or found.erratum


class Program:
    """What an exporter returns."""

    model_proto = onnx.load_from_string(FINE)


def test_a_model_is_given_in_many_forms(fine: Path) -> None:
    with fine.open("rb") as file:
        sources = (FINE, bytearray(FINE), BytesIO(FINE), onnx.load_from_string(FINE), Program(), file)
        assert {sonnx.check(each).to_json() for each in sources} == {sonnx.check(FINE).to_json()}


def test_an_onnx_ir_model_is_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a stand-in for the package, which pulls many others."""

    class Model:
        pass

    package = types.SimpleNamespace(Model=Model, to_proto=lambda model: onnx.load_from_string(FINE))
    monkeypatch.setitem(sys.modules, "onnx_ir", package)
    assert sonnx.check(Model()).verdict is sonnx.Verdict.PASS  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [None, 3, [FINE], StringIO("text"), onnx.ModelProto, Program])
def test_another_object_is_a_type_error_that_says_what_is_accepted(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"a model is (the path of a file, .*, not|read from a binary file)"):
        sonnx.check(wrong)
    with pytest.raises(TypeError, match="a model is"):
        sonnx.fix(wrong)


def test_the_version_is_that_of_the_package() -> None:
    assert sonnx.__version__ == version("sonnx")


def test_a_notebook_shows_the_page() -> None:
    report = sonnx.check(FINE)
    shown = report._repr_html_()
    assert html.unescape(shown.partition('srcdoc="')[2].partition('" sandbox')[0]) == report.to_format("html")
    assert shown.count("<") == 2, "nothing of the page is outside the frame"
    assert sonnx.fix(FINE)._repr_html_().startswith("<iframe")
    assert sonnx.prove(FINE)._repr_html_().startswith("<iframe")


def test_results_are_json() -> None:
    assert json.loads(sonnx.check(FINE).to_json())["exit"] == 0
    assert json.loads(sonnx.prove(FINE).to_json())["verdict"] == "proved"


def test_public_names_exist_and_load_late() -> None:
    assert all(hasattr(sonnx, name) for name in sonnx.__all__)
    code = "import sys, sonnx; print({'numpy', 'z3', 'onnx'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = sonnx.nothing


# ------------------------------------------------------------------ what editors, help and notebooks show


def public_functions() -> list[str]:
    return [name for name in sonnx.__all__ if hasattr(getattr(sonnx, name), "takes")]


def test_signatures_have_each_option_with_its_type_and_default() -> None:
    names = public_functions()
    assert {"check", "run", "fix", "prove", "bound", "equivalent", "audit"} <= {*names}
    for name in names:
        function = getattr(sonnx, name)
        _, kind, subjects = function.takes
        parameters = list(inspect.signature(function).parameters.values())
        assert all(part.kind is part.POSITIONAL_ONLY for part in parameters[:subjects]), name
        options = {part.name: part for part in parameters[subjects:]}
        assert list(options) == [option.name for option in fields(kind)]
        for option in fields(kind):
            part = options[option.name]
            assert part.kind is part.KEYWORD_ONLY and part.annotation is not part.empty
            assert part.default == default_of(option) or repr(part.default) == "..."
    assert "edition: str | None = None" in pydoc.render_doc(sonnx.check)


def test_a_signature_accepts_what_the_function_accepts(fine: Path) -> None:
    bound = inspect.signature(sonnx.check).bind(fine, edition=NEWEST, select=["Max"])
    assert sonnx.check(*bound.args, **bound.kwargs) == sonnx.check(fine, edition=NEWEST, select=["Max"])
    with pytest.raises(TypeError, match="nothing"):
        inspect.signature(sonnx.check).bind(fine, nothing=1)


def test_a_result_is_one_line(fine: Path) -> None:
    results = [
        sonnx.check(fine), sonnx.prove(SYMBOLIC), sonnx.run(fine, INPUTS), sonnx.fix(fine, samples=0), sonnx.rules(),
        sonnx.equivalent(fine, fine), sonnx.diff(fine, fine), sonnx.bound(fine, box=["a=[0,1]"]),
    ]  # fmt: skip
    for result in results:
        assert repr(result).startswith(f"<{type(result).__name__}: ")
        assert "\n" not in repr(result)
        assert len(repr(result)) < 250
    assert repr(results[0]) == f"<CheckReport: fine.onnx: conforms (edition {NEWEST})>"


REPORTED = {
    "as_exported": {"bind": {"N": 1}}, "classifier": {"input_shapes": {"image": [2, 1, 8, 8]}}, "conforming": {},
    "symbolic": {"select": ["Max"]},
}  # fmt: skip


@pytest.mark.parametrize("name", REPORTED)
def test_a_report_is_loaded_from_its_json(name: str, tmp_path: Path) -> None:
    report = sonnx.check(ROOT / "examples" / f"{name}.onnx", **REPORTED[name])
    text = report.to_json()
    (tmp_path / "report.json").write_text(text)
    for source in (text, text.encode(), tmp_path / "report.json"):
        loaded = sonnx.load_report(source)
        assert replace(loaded, rules={}) == replace(report, rules={}), "of rules the texts are kept"
        assert (loaded.to_json(), loaded.to_text()) == (text, report.to_text())


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"reports": []}', "\ud800"])
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(sonnx.UsageError, match="not the JSON"):
        sonnx.load_report(text)


def test_a_document_of_several_reports_is_refused(tmp_path: Path) -> None:
    models = [str(ROOT / "examples" / f"{name}.onnx") for name in ("conforming", "symbolic")]
    assert command(["check", "--jobs", "0", *models, "--format", "json", "--output", str(tmp_path / "two.json")]) == 1
    with pytest.raises(sonnx.UsageError, match="2 reports"):
        sonnx.load_report(tmp_path / "two.json")
