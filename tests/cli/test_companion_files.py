"""Files beside the model: a pipe, a folder, a device or a file without an end in their place is refused at once.

So is a text that costs time or the stack: nested deeply, a number of thousands of digits, thousands of long headings.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import onnx.parser
import pytest

from sonnx.cli.main import run
from tests.support.invariants import one_sentence

MODEL = '<ir_version: 10, opset_import: ["" : 14]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
PROPERTY = 'input = ["x=[-1,1]"]\n[[require]]\noutput = 0\nabove = -1\n'
COMMANDS = {
    "model": "{} PLACE",
    "tailoring": "check m.onnx --tailoring PLACE",
    "deviations": "check m.onnx --deviations PLACE",
    "journal": "check m.onnx --resume PLACE",
    "box": "check m.onnx --box x=PLACE.npy",
    "input": "run m.onnx --input x=PLACE.npy",
    "inputs in a folder": "run m.onnx --test-data folder",
    "hypotheses": "bound m.onnx --box x=[-1,1] --hypotheses PLACE.toml",
    "parts": "bound m.onnx --box x=[-1,1] --split 1 --resume PLACE",
    "property": "verify m.onnx PLACE.toml",
    "rounds": "verify m.onnx p.toml --resume PLACE",
    "bound": "compare m.onnx --runtime reference --bound PLACE.toml",
    "rewrites": "audit m.onnx --output new --rewrites PLACE",
    "proofs": "audit m.onnx --output new --proofs folder",
    "pack": "audit m.onnx --verify folder",
    "suite": "suite report folder",
}
MODELS = ("check", "run", "compare", "fix", "prove", "bound", "equivalent m.onnx", "diff m.onnx", "audit --output new")
PLACES = {
    "pipe": os.mkfifo,
    "folder": os.mkdir,
    "device": lambda path: Path(path).symlink_to("/dev/zero"),
}
HEADING = "[a{}" + ".b" * 200 + "]\n"
TEXTS = {
    "nested deeply": "a=" + "[" * 5000,
    "nested deeply in JSON": "[" * 100_000,
    "a long number": "a=" + "1" * 5000,
    "long headings": "".join(map(HEADING.format, range(2500))),
    "too large": "".join(map(HEADING.format, range(3000))),
    "blank lines": "\n" * 1_000_000,
    "blanks in a heading": f"[{' ' * 1_000_000}a",
    "open headings": "[\n" * 500_000,
}
IN_FOLDER = ("input_0.pb", "manifest.json", "suite.json")


def expanded() -> list[str]:
    listed = [text.format(command) for text in COMMANDS.values() for command in (MODELS if "{}" in text else [""])]
    return list(dict.fromkeys(listed))


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    """A command that waits for a pipe fails."""

    def late(*_: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_file(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(tmp_path, monkeypatch, PLACES[place])
    for line in expanded():
        if (line, place) != ("check PLACE", "folder"):  # the models in a folder
            is_refused(line, capsys)


@pytest.mark.parametrize("title", TEXTS)
def test_a_text_that_costs_time(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(tmp_path, monkeypatch, lambda name: Path(name).write_text(TEXTS[title], "ascii"))
    for name, line in COMMANDS.items():
        if name not in ("model", "proofs", "pack"):
            is_refused(line, capsys)


def prepare(folder: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[str], object]) -> None:
    """Make what stands in the place of each file beside the model."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sonnx.cli.budget.time_limit", lambda *_, **__: nullcontext())
    Path("m.onnx").write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    Path("p.toml").write_text(PROPERTY, "utf-8")
    Path("folder").mkdir()
    for name in ("PLACE", "PLACE.npy", "PLACE.toml", *(f"folder/{each}" for each in IN_FOLDER)):
        make(name)


def is_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(line.split())
    said = capsys.readouterr().err.strip()
    assert (code, one_sentence(said)) == (2, True), f"{line}: {code}, {said}"
