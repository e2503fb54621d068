"""Numbers on the command line, on both sides of each bound."""

from __future__ import annotations

import re

import pytest

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
        message = capsys.readouterr().err.splitlines()[-1]
        assert re.search(rf"argument {name}: a number of \w+ from {least} to {largest}, not '", message), message
        assert len(message) < 200
    for number in (least, largest):
        assert run([command, "no.onnx", *more, f"{name}={number}"]) in (2, 1)
        assert "argument" not in capsys.readouterr().err
