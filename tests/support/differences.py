"""Pairs of models that are shown different, and what the program of a result prints."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path

import sonnx
from sonnx.equivalence.result import Answer, DifferingInput
from sonnx.report.equivalence import EquivalenceReport


def shown_different(
    folder: Path, first: bytes, second: bytes
) -> tuple[list[Path], EquivalenceReport, DifferingInput]:  # fmt: skip
    """Two models as files of a folder, the report that they are different, and its witness."""
    files = [folder / "first.onnx", folder / "second.onnx"]
    for file, data in zip(files, (first, second), strict=True):
        file.write_bytes(data)
    report = sonnx.equivalent(files[0], files[1])
    witness = report.result.witness
    assert report.result.answer is Answer.DIFFERENT and witness is not None
    return files, report, witness


def printed_by(program: Sequence[str]) -> str:
    """What the lines of a program print."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec("\n".join(program), {})
    return printed.getvalue()
