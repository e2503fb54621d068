"""A table in the repository says what can be printed, so that no verdict depends on the Python that runs it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import onnx
import onnx.parser
import pytest

import sonnx
from sonnx.base import printable
from sonnx.base.escaping import escape
from sonnx.profile.index import rules_by_slug
from tests.support.cases import DEEP
from tests.support.paths import ROOT

POINTS = (
    0x41, 0xE9, 0x378, 0x61C, 0x85F, 0x88F, 0x890, 0x897, 0xC5C, 0x1C89, 0x200B, 0x2028, 0x202E, 0x2065, 0x20C0,
    0x2FFC, 0x31E4, 0xA7CB, 0xAB7A, 0xE000, 0xFDD0, 0xFEFF, 0xFFF9, 0x105C9, 0x10D40, 0x1133C, 0x11F00, 0x13430,
    0x13439, 0x16D40, 0x1CC00, 0x1D2C0, 0x1DF25, 0x1E4D0, 0x1E5D0, 0x1FADF, 0x1FAE8, 0x1FAE9, 0x2EBF0, 0x31350,
    0xE0001, 0xF0000, 0x10FFFF,
)  # fmt: skip
"""Code points that Unicode 14, 15, 15.1 or 16 assigned, unassigned ones, and those with a function."""
OF_ALL = "5d705256"
"""The first digits of the SHA-256 of the answers for all code points."""
OF_VERDICTS = "7e779c2c"
"""The first digits of the SHA-256 of the verdicts on names with `POINTS`."""
TEXT = '<ir_version: 10, opset_import: ["" : 14]> g (float[2] a) => (float[2] y) { y = Relu(a) }'
SCRIPT = """
import hashlib
from sonnx.base.escaping import escape
from sonnx.base.printable import is_printable
texts = map(chr, range(0x110000))
answers = "".join(f"{is_printable(text):d}{ascii(escape(text))}" for text in texts)
print(hashlib.sha256(answers.encode()).hexdigest()[:8])
"""


def test_the_table_is_named_by_the_rule() -> None:
    assert f"Unicode {printable.UNICODE}" in rules_by_slug()["printable-name"].statement


@pytest.mark.parametrize("version", ["", "3.11", "3.12", "3.13", "3.14"] if DEEP else [""])
def test_all_code_points(version: str) -> None:
    """Under this version of Python; in a deep run under every one that is installed."""
    folders = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(folders.glob(f"{version}.*/bin/python3")) if version else [Path(sys.executable)]
    if not found:
        pytest.skip(f"Python {version} is not installed")
    done = subprocess.run(
        [found[-1], "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == OF_ALL


def test_verdicts_on_names() -> None:
    said = hashlib.sha256()
    for code in POINTS:
        model = onnx.parser.parse_model(TEXT)
        model.graph.name = f"g{chr(code)}"
        report = sonnx.check(model.SerializeToString())
        findings = [(each.rule, each.where.place, each.where.name, each.actual) for each in report.findings]
        said.update(ascii((report.verdict, findings)).encode())
    assert said.hexdigest()[:8] == OF_VERDICTS


def test_what_is_refused() -> None:
    assert [hex(code) for code in POINTS if not printable.is_printable(chr(code))] == [
        "0x61c", "0x890", "0x200b", "0x2028", "0x202e", "0xfeff", "0xfff9", "0x13430", "0x13439", "0xe0001",
    ]  # fmt: skip
    assert escape("\ue000") == "\\ue000"
