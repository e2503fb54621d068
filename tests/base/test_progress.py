"""The status line on a terminal."""

from __future__ import annotations

import pytest

from sonnx.base import progress


def test_the_line_is_rewritten_and_erased(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter([0.0, 1.0, 1.0, 1.001, 1.5, 1.5])
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    with progress.StatusLine() as line:
        line("one\x1b[31m")
        line("too soon")
        line("two " + "x" * 100)
    wanted = f"\r\x1b[Kone\\x1b[31m\r\x1b[Ktwo {'x' * 75}\r\x1b[K"
    assert capsys.readouterr().err == wanted


def test_the_bar() -> None:
    shown = [progress.progress_bar(done, 3, 6) for done in range(4)] + [progress.progress_bar(0, 0, 6)]
    assert shown == ["[      ]", "[##    ]", "[####  ]", "[######]", "[      ]"]


def test_without_a_terminal_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.StatusLine() as line:
        line("one")
    assert capsys.readouterr().err == ""
