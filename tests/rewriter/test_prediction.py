"""What `check` announces of `fix` against what `fix` leaves: the same numbers, for every model.

The command that the check prints is run as it stands, and the new file is checked on its own.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import onnx
import onnx.parser
import pytest

import sonnx
from sonnx.base.errors import UsageError
from sonnx.cli.main import run
from sonnx.model.ir import DeferredBytes
from sonnx.report.fix_forecast import ForecastRequest
from sonnx.rewriter.forecast import forecast_of
from tests.support.cases import DEEP, spread
from tests.support.editions import NEWEST
from tests.support.paths import ROOT

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
"""The networks that the onnx package brings; their weights are constant."""
MODELS = sorted((ROOT / "tests" / "models").rglob("*.onnx")) + sorted((ROOT / "examples").glob("*.onnx"))
ANNOUNCED = re.compile(r"; sonnx fix leaves (\w+)(?:, with --within-bound (\w+))?(?::.*)?$", re.MULTILINE)
COMMAND = re.compile(r"^  sonnx (fix \S+.*?)(?:   \(.*\))?$", re.MULTILINE)


def counted(word: str) -> int:
    return 0 if word == "none" else int(word)


def announced_and_left(path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[int], list[int]]:
    """The numbers that a check announces, and those of checks of the files that its command writes."""
    run(["check", str(path)])
    text = capsys.readouterr().out
    numbers, command = ANNOUNCED.search(text), COMMAND.search(text)
    assert numbers is not None, text
    assert command is not None, text
    exact = counted(numbers[1])
    stated = [exact, exact if numbers[2] is None else counted(numbers[2])]
    left = []
    for options in ([], ["--within-bound"]):
        target = folder / f"{path.stem}{len(options)}.onnx"
        run([*shlex.split(command[1]), *options, "--samples", "0", "--output", str(target)])
        left.append(len(sonnx.check(target).roots))
    capsys.readouterr()
    return stated, left


@pytest.mark.parametrize("path", spread(MODELS, 4), ids=lambda path: path.stem)
def test_a_check_announces_what_is_left(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonnx.cli.commands.check.announced_forecast", in_this_process)
    report = sonnx.check(path)
    if report.exit_code() == 0 or "ZipMap" in {finding.where.operator for finding in report.findings}:
        return  # nothing to correct, or a model that `fix` refuses
    stated, left = announced_and_left(path, tmp_path, capsys)
    assert stated == left


def in_this_process(reports: list[sonnx.Report], file: str) -> object:
    [report] = reports
    return forecast_of(ForecastRequest(file, report.edition, report.strict_versions, {}, {}))


def network(text: str) -> bytes:
    return bytes(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g ' + text).SerializeToString())


def windows() -> Iterator[tuple[str, tuple[int, ...], tuple[str, ...]]]:
    """Networks, the shape of x that is proposed, and the sizes that are left to the reader."""
    yield ("(float[N, 1, H, W] x) => (float[a, b, c, d] y) { y = MaxPool <kernel_shape = [3, 2]> (x) }",
           (1, 1, 3, 2), ("N", "H", "W"))  # fmt: skip
    yield ("(float[N, 1, H, 1] x) => (float[a, 2] y) <float[8, 2] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, "
           "15, 16}> { flat = Flatten (x) y = MatMul (flat, w) }", (1, 1, 8, 1), ("N",))  # fmt: skip
    yield ("(float[N, 4] x) => (float[a, b] y) <int64[2] s = {3, -1}> { y = Reshape (x, s) }", (3, 4), ("N",))


@pytest.mark.parametrize(("text", "shape", "chosen"), [*windows()])
def test_sizes_fit_every_window_and_reshape(
    text: str, shape: tuple[int, ...], chosen: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "m.onnx").write_bytes(network(text))
    forecast = forecast_of(ForecastRequest(str(tmp_path / "m.onnx"), NEWEST, False, {}, {})).forecast
    assert forecast is not None
    assert forecast.shapes["x"] == shape
    assert forecast.chosen == chosen


def test_a_size_that_breaks_a_window_is_refused_with_the_smallest_that_fits() -> None:
    [text, *_], *_ = windows()
    with pytest.raises(UsageError, match=r"MaxPool.*node\[0\].*the smallest that fits is 'x' of shape \[1, 1, 3, 2\]"):
        sonnx.fix(network(text), bind={"N": 1, "H": 1, "W": 1})


def test_the_command_is_for_the_edition_and_versions_of_the_check() -> None:
    for options, words in (
        ({"edition": "2026-08"}, " --edition 2026-08"),
        ({"strict_versions": True}, " --strict-versions"),
    ):
        text = sonnx.check(ROOT / "examples" / "as_exported.onnx", **options).to_text()
        assert f"as_exported.onnx{words}" in text
    assert "--edition" not in sonnx.check(ROOT / "examples" / "as_exported.onnx").to_text()


def test_a_report_without_a_dry_run_announces_no_number() -> None:
    text = sonnx.check(ROOT / "examples" / "as_exported.onnx").to_text()
    assert "leaves" not in text
    assert "--input-shape scores=SIZE,8   (write your numbers for SIZE)" in text


def test_a_dry_run_computes_no_large_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    """VGG-19 has 143 million weights, of which matrices are transposed and a bias is broadcast."""

    def refuse(self: DeferredBytes) -> memoryview:
        raise AssertionError(f"{self.size} bytes are computed")

    monkeypatch.setattr(DeferredBytes, "read", refuse)
    [path] = LIGHT.glob("light_vgg19.onnx")
    forecast = forecast_of(ForecastRequest(str(path), NEWEST, False, {}, {})).forecast
    assert forecast is not None
    assert not forecast.left


NETWORKS = sorted(LIGHT.glob("*.onnx")) if DEEP else [LIGHT / "light_squeezenet.onnx"]


@pytest.mark.parametrize("path", NETWORKS, ids=lambda path: path.stem)
def test_a_dry_run_leaves_what_is_left_of_networks(path: Path) -> None:
    left = sonnx.fix(path, samples=0).after.roots
    forecast = forecast_of(ForecastRequest(str(path), NEWEST, False, {}, {})).forecast
    assert forecast is not None
    assert sum(forecast.left.values()) == len(left)
