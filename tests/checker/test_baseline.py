"""Findings since an earlier report: what is new, unchanged and gone, in every format."""

from __future__ import annotations

import json
from pathlib import Path

import onnx.parser
import pytest

import sonnx
from sonnx.checker.report import NEW, UNCHANGED
from sonnx.cli.main import run
from tests.support.cases import each_case

HEAD = '<ir_version: 10, opset_import: ["" : 18]> g (float[2, 3] a, float[2, 3] b) => (float[2, 3] y)'
DECLARED = "<float[2, 3] u, float[2, 3] v, float[2, 3] w>"
ONE = "u = Identity(a) y = Max(u, b)"
MEAN = "[sum] y = ReduceMean <keepdims = 1, noop_with_empty_axes = 0> (a, axes)"
CHANGES = {
    "the same model": (ONE, ONE, "0 new, 1 unchanged, 0 gone"),
    "a node before it": (ONE, "v = Max(a, b) u = Identity(a) y = Max(u, v)", "0 new, 1 unchanged, 0 gone"),
    "an unnamed node that another one replaces": (
        "u = Identity(a) y = Max(u, b)", "v = Identity(b) y = Max(a, v)", "1 new, 0 unchanged, 1 gone",
    ),
    "another finding": (ONE, "v = Identity(b) u = Identity(a) y = Max(u, v)", "1 new, 1 unchanged, 0 gone"),
    "one of two is gone": (
        "v = Identity(b) u = Identity(a) y = Max(u, v)", "u = Identity(a) y = Max(u, b)", "0 new, 1 unchanged, 1 gone",
    ),
    "all are gone": (ONE, "y = Max(a, b)", "0 new, 0 unchanged, 1 gone"),
    "another operator": (ONE, "u = ArgMin(a) y = Max(b, b)", None),
    "named nodes in another order": (
        "[one] u = Identity(a) [two] v = Identity(b) y = Max(u, v)",
        "[two] v = Identity(b) [one] u = Identity(a) y = Max(u, v)",
        "0 new, 2 unchanged, 0 gone",
    ),
    "a named node that another one replaces": (
        "[one] u = Identity(a) y = Max(u, b)", "[two] u = Identity(a) y = Max(u, b)", "1 new, 0 unchanged, 1 gone",
    ),
}  # fmt: skip
"""Bodies of a model before and after, and what the report says; None where only that something is new."""


def model(path: Path, body: str) -> str:
    declared = "<" + ", ".join(f"float[2, 3] {name}" for name in "uvw" if f"{name} =" in body) + ">"
    text = f"{HEAD} {declared if declared != '<>' else ''} {{ {body} }}"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    return str(path)


def earlier(folder: Path, body: str) -> str:
    file = str(folder / "old.json")
    run(["check", model(folder / "m.onnx", body), "--format", "json", "--output", file])
    return file


@each_case(("before", "after", "said"), [*CHANGES.values()], ids=lambda each: str(each))
def test_a_finding_is_known_by_what_it_is_about(
    before: str, after: str, said: str | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("baseline")
    old = earlier(folder, before)
    report = sonnx.check(model(folder / "m.onnx", after), baseline=old)
    assert report.baseline is not None
    since = report.baseline
    states = [finding.state for finding in report.findings]
    assert (states.count(NEW), states.count(UNCHANGED)) == (since.new, since.unchanged)
    if said is None:
        assert since.new and since.gone
        assert report.exit_code(new_only=True) == 1
    else:
        assert f"{since.new} new, {since.unchanged} unchanged, {len(since.gone)} gone" == said
        assert report.exit_code(new_only=True) == int(since.new > 0)
    assert report.exit_code() == int(bool(report.findings)), "the verdict is that of the whole model"


def test_a_worse_result_is_new(tmp_path: Path) -> None:
    """A condition that was open until run time fails when the value is known."""
    head = '<ir_version: 10, opset_import: ["" : 18]> g (float[2, 3] a'
    texts = [
        f"{head}, int64[1] axes) => (float[2, 1] y) {{ {MEAN} }}",
        f"{head}) => (float[2, 1] y) <int64[1] axes = {{7}}> {{ {MEAN} }}",
    ]
    files = [tmp_path / "a.onnx", tmp_path / "b.onnx"]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    (tmp_path / "old.json").write_text(sonnx.check(files[0]).to_json())
    later = sonnx.check(files[1], baseline=tmp_path / "old.json")
    earlier_verdicts = {finding.rule: finding.verdict for finding in sonnx.check(files[0]).findings}
    states = {finding.rule: (finding.verdict, finding.state) for finding in later.findings}
    assert earlier_verdicts["ReduceMean.axes-range"] == "assumed"
    assert states["ReduceMean.axes-range"] == ("fail", NEW)
    assert states["operator-in-profile"] == ("fail", UNCHANGED)


def test_what_a_selection_does_not_look_at_is_not_gone(tmp_path: Path) -> None:
    old = earlier(tmp_path, ONE)
    report = sonnx.check(tmp_path / "m.onnx", baseline=old, select=["Max"])
    assert report.baseline is not None and report.baseline.gone == ()
    assert report.exit_code(new_only=True) == 3


def test_what_is_counted_only_is_new(tmp_path: Path) -> None:
    two = "v = Identity(b) u = Identity(a) y = Max(u, v)"
    old = earlier(tmp_path, two)
    report = sonnx.check(tmp_path / "m.onnx", baseline=old, limits={"findings": 1})
    assert report.baseline is not None and report.baseline.new == 1
    assert report.exit_code(new_only=True) == 1


def test_each_format_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = earlier(tmp_path, "v = Identity(b) y = Max(a, v)")
    file = model(tmp_path / "m.onnx", "u = Identity(a) y = Max(u, b)")
    capsys.readouterr()

    def said(name: str, *options: str) -> str:
        run(["check", file, "--baseline", old, "--format", name, *options])
        return capsys.readouterr().out

    line = f"1 new, 0 unchanged, 1 gone since {old}"
    assert line in said("text") and "gone: fail operator-in-profile" in said("text")
    [log] = json.loads(said("sarif"))["runs"]
    assert sorted(result["baselineState"] for result in log["results"]) == ["absent", "new"]
    [report] = json.loads(said("json"))["reports"]
    assert [finding["state"] for finding in report["findings"]] == [NEW]
    assert (report["baseline"]["new"], len(report["baseline"]["gone"])) == (1, 1)
    assert "1 new" in said("html") and "Gone since the baseline" in said("html")
    assert "since the baseline: new" in said("junit")
    assert 'failures="1"' in said("junit", "--new-only")


def test_unchanged_findings_do_not_count_with_new_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = earlier(tmp_path, ONE)
    line = ["check", str(tmp_path / "m.onnx"), "--baseline", old]
    assert run(line) == 1
    assert run([*line, "--new-only"]) == 0
    assert "does not conform" in capsys.readouterr().out
    run([*line, "--new-only", "--format", "junit"])
    assert 'failures="0" errors="0"' in capsys.readouterr().out
    run([*line, "--new-only", "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert (document["exit"], document["reports"][0]["exit"], document["reports"][0]["verdict"]) == (0, 0, "fail")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"reports": [{"model": 1}]}', "\xff", '{"reports": 7}'])
def test_a_file_that_is_no_report_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "old.json"
    file.write_bytes(text.encode("latin-1"))
    model(tmp_path / "m.onnx", ONE)
    assert run(["check", str(tmp_path / "m.onnx"), "--baseline", str(file)]) == 2
    said = capsys.readouterr()
    assert (
        said.out == "" and "is not a JSON report: sonnx check MODEL --format json --output FILE writes one" in said.err
    )


def test_new_only_needs_a_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", model(tmp_path / "m.onnx", ONE), "--new-only"]) == 2
    assert "--new-only requires --baseline" in capsys.readouterr().err
