"""Files beside the model: a pipe, a folder, a device or a file without an end in their place is refused at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import onnx.parser
import pytest

from sonnx.cli.main import run
from tests.support.invariants import one_sentence

MODEL = '<ir_version: 10, opset_import: ["" : 14]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
COMMANDS = {
    "model": "{} PLACE",
    "tailoring": "check m.onnx --tailoring PLACE",
    "deviations": "check m.onnx --deviations PLACE",
    "journal": "check m.onnx --resume PLACE",
    "box": "check m.onnx --box x=PLACE.npy",
    "input": "run m.onnx --input x=PLACE.npy",
    "inputs in a folder": "run m.onnx --test-data folder",
    "hypotheses": "bound m.onnx --input x=[-1,1] --hypotheses PLACE.toml",
    "parts": "bound m.onnx --input x=[-1,1] --split 1 --resume PLACE",
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
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sonnx.cli.budget.time_limit", lambda *_, **__: nullcontext())
    Path("m.onnx").write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    Path("folder").mkdir()
    for name in ("PLACE", "PLACE.npy", "PLACE.toml", *(f"folder/{each}" for each in IN_FOLDER)):
        PLACES[place](name)
    for text in expanded():
        if (text, place) == ("check PLACE", "folder"):
            continue  # the models in a folder
        code = run(text.split())
        said = capsys.readouterr().err.strip()
        assert (code, one_sentence(said)) == (2, True), f"{text}: {code}, {said}"
