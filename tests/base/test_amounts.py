"""Numbers on the command line, on both sides of each bound, and the line that shows progress."""

from __future__ import annotations

import re

import pytest

from sonnx.base import progress
from sonnx.cli.main import run

TAKEN = {
    "check --jobs": (0, 999999999), "check --timeout": (1, 999999999), "check --memory": (1, 999999999),
    "prove --jobs": (0, 999999999), "prove --timeout": (1, 999999999), "run --jobs": (1, 1024),
    "compare --random": (1, 999999999),
    "compare --max-ulp": (0, 2**64), "fix --samples": (0, 999999999),
}  # fmt: skip


@pytest.mark.parametrize("option", TAKEN)
def test_both_sides_of_the_bounds(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, name = option.split()
    more = ["--dry-run"] if command == "fix" else []
    least, largest = TAKEN[option]
    for text in (str(least - 1), str(largest + 1), "", "two", "²", "1.5", "+3", "1_000", "9" * 5000):
        with pytest.raises(SystemExit, match="2"):
            run([command, "no.onnx", *more, f"{name}={text}"])
        said = capsys.readouterr().err.splitlines()[-1]
        assert re.search(rf"argument {name}: a number of \w+ from {least} to {largest}, not '", said), said
        assert len(said) < 200
    for number in (least, largest):
        assert run([command, "no.onnx", *more, f"{name}={number}"]) in (2, 1)
        assert "argument" not in capsys.readouterr().err


def test_the_line_is_rewritten_and_wiped_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 1.0, 1.0, 1.001, 1.5, 1.5])
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    with progress.Line() as line:
        line("one\x1b[31m")
        line("too soon")
        line("two " + "x" * 100)
    wanted = f"\r\x1b[Kone\\x1b[31m\r\x1b[Ktwo {'x' * 75}\r\x1b[K"
    assert capsys.readouterr().err == wanted


def test_the_bar() -> None:
    shown = [progress.bar(done, 3, 6) for done in range(4)] + [progress.bar(0, 0, 6)]
    assert shown == ["[      ]", "[##    ]", "[####  ]", "[######]", "[      ]"]


def test_there_is_no_line_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.Line() as line:
        line("one")
    assert capsys.readouterr().err == ""
