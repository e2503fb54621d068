"""The progress of a long command: a line that is rewritten on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from time import sleep

import pytest

from sonnx.base import progress
from sonnx.base.progress import Progress


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(progress.QUIET, raising=False)
    for name in ("FIRST_SECONDS", "SECONDS_BETWEEN_UPDATES", "SECONDS_BETWEEN_LINES"):
        monkeypatch.setattr(progress, name, 0.005)


def shown(capsys: pytest.CaptureFixture[str], *, quiet: bool = False) -> str:
    with Progress("working on m\x1b[31m", quiet=quiet) as step:
        step("node 1 of 4: Conv")
        while not (step.quiet or step._shown):
            sleep(0.001)
        sleep(0.02)
    sleep(0.02)
    return capsys.readouterr().err


def test_a_terminal_has_one_line_with_a_bar_that_is_erased(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    said = shown(capsys)
    assert "\r\x1b[K[#####               ] working on m\\x1b[31m: node 1 of 4: Conv (0 s)" in said
    assert said.endswith("\r\x1b[K") and "\n" not in said


def test_elsewhere_lines_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys).splitlines()
    assert len(lines) >= 1
    assert set(lines) == {"sonnx: working on m\\x1b[31m: node 1 of 4: Conv (0 s)"}


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_is_said_where_it_is_quiet(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: terminal)
    assert shown(capsys, quiet=True) == ""
    monkeypatch.setenv(progress.QUIET, "1")
    assert shown(capsys) == ""


def test_a_short_task_says_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "FIRST_SECONDS", 60.0)
    with Progress("working"):
        pass
    assert capsys.readouterr().err == ""


def test_an_error_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="x"), Progress("working"):
        raise ValueError("x")


def test_the_bar() -> None:
    bars = [progress.progress_bar(done, 3, 6) for done in range(4)] + [progress.progress_bar(0, 0, 6)]
    assert bars == ["[      ]", "[##    ]", "[####  ]", "[######]", "[      ]"]
