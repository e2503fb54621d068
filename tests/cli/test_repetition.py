"""The same bytes from every command, whatever the hash seed, locale, time zone, home, clock or number of jobs is.

What the encoding of a terminal lacks is escaped there, so the locales here are those of UTF-8.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import onnx.parser
import pytest

from sonnx.cli.main import _names
from tests.support.paths import ROOT

MODEL = """<ir_version: 10, opset_import: ["" : 14]>
g (float[2, 3] x, float[N] a, float[M] b) => (float[2, 2] y, float[N] z)
<float[3, 2] w = {1, 2, 3, -1, 0.5, 0.25}> {
  m = MatMul (x, w)
  y = Relu (m)
  z = Max (a, b)
}"""
OTHER = """<ir_version: 10, opset_import: ["" : 14]> g (float[2, 3] x) => (float[2, 2] y)
<float[3, 2] w = {1, 2, 3, -1, 0.5, 0.25}, float[2] c = {1, 2}> {
  m = Gemm (x, w, c)
  y = Softmax (m)
}"""
PROPERTY = 'input = ["x=[-1,1]"]\n[[require]]\noutput = 0\nabove = -100\n'
SUITE = "suite make --operator Relu suite"
LINES = {
    "audit": ("audit m.onnx --output pack", "audit o.onnx --output pack"),
    "bound": ("bound o.onnx --box x=[-1,1] --unchecked --format json",),
    "check": ("check m.onnx o.onnx --format json", "check m.onnx --format html", "check o.onnx --format sarif"),
    "compare": ("compare o.onnx --runtime reference --random 2 --unchecked --format json",),
    "diff": ("diff m.onnx o.onnx --format json",),
    "draft": ("draft TopK",),
    "equivalent": ("equivalent o.onnx o.onnx --format json", "equivalent o.onnx c.onnx --format json"),
    "explain": ("explain Max",),
    "export": ("export coq out", "export why3 out"),
    "fix": ("fix o.onnx --output new.onnx --report new.json --format json",),
    "prove": ("prove m.onnx --format json",),
    "rules": ("rules --format json", "rules --since 2025-11 m.onnx o.onnx --format json"),
    "run": ("run o.onnx --random --unchecked --output out.npz",),
    "theorems": ("theorems --select max --format json",),
    "tool": ("tool completion bash", "tool selfcheck"),
    "suite": (f"{SUITE} && suite report suite --format json", f"{SUITE} && suite run suite --runtime reference"),
    "verify": ("verify o.onnx p.toml --unchecked --search 5 --format json",),
}
NOT_REPEATED = {"qualify": "the kit names the environment, and its cases run the other commands"}
CLOCK = """
import time
time.time = lambda begun=time.monotonic(): 1e9 - (time.monotonic() - begun)
"""
"""A module that Python loads at its start: the clock shows the year 2001 and runs backwards."""
VARIANTS: Mapping[str, Mapping[str, str]] = {
    "another hash seed": {"PYTHONHASHSEED": "1"},
    "a third hash seed": {"PYTHONHASHSEED": "4242"},
    "another locale and time zone": {"LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE.UTF-8", "TZ": "Asia/Tokyo"},
    "no locale": {"LC_ALL": "C"},
    "no home": {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "/dev/null/home"},
    "a clock that is set back": {"PYTHONPATH": "clock"},
}
PYTHONS = [sys.executable, *filter(None, [os.environ.get("SONNX_OTHER_PYTHON")])]
"""With SONNX_OTHER_PYTHON, an interpreter of another version that has the packages of requirements.txt and this one."""


def outcome(line: str, folder: Path, more: Mapping[str, str], python: str = sys.executable) -> dict[str, bytes]:
    """What a command prints and writes, with its exit code, in a new folder with the models."""
    folder.mkdir()
    for name, text in (("m.onnx", MODEL), ("o.onnx", OTHER), ("c.onnx", OTHER.replace("c = {1, 2}", "c = {1, 2.5}"))):
        (folder / name).write_bytes(onnx.parser.parse_model(text).SerializeToString())
    (folder / "p.toml").write_text(PROPERTY)
    (folder / "clock").mkdir()
    (folder / "clock" / "sitecustomize.py").write_text(CLOCK)
    before = {path for path in folder.rglob("*") if path.is_file()}
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "LANG"))}
    paths = [str(ROOT), *([str(folder / more["PYTHONPATH"])] if "PYTHONPATH" in more else [])]
    environment = {**clean, "PYTHONHASHSEED": "0", **more, "PYTHONPATH": os.pathsep.join(paths)}
    said, code = b"", 0
    for part in line.split(" && "):
        done = subprocess.run(
            [python, "-P", "-m", "sonnx", *part.split()], cwd=folder, env=environment, capture_output=True, check=False
        )
        assert done.returncode in (0, 1, 3), done.stderr
        said, code = said + done.stdout + done.stderr, done.returncode
    written = {
        path for path in folder.rglob("*") if path.is_file() and path.name != TIMES and "__pycache__" not in path.parts
    }
    written -= before
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(written)}
    return {"code": bytes([code]), "printed": said, **files}


def different(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> list[str]:
    """The names of what differs."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def test_every_command_is_repeated() -> None:
    assert sorted([*LINES, *NOT_REPEATED]) == _names()


@pytest.mark.campaign
@pytest.mark.parametrize("line", [line for lines in LINES.values() for line in lines])
def test_the_same_bytes(line: str, tmp_path: Path) -> None:
    first = outcome(line, tmp_path / "first", {})
    for number, (title, more) in enumerate(VARIANTS.items()):
        assert different(first, outcome(line, tmp_path / f"{number}", more)) == [], title
    for python in PYTHONS[1:] if line.partition(" ")[0] not in NAMES_PYTHON else ():
        assert different(first, outcome(line, tmp_path / "other", {}, python)) == [], python


NAMES_PYTHON = ("audit",)
"""Commands that write down the version of Python."""
TIMES = "run.json"
"""The file of a pack that says when it was made."""
JOBS = {
    "check": ("check m.onnx o.onnx c.onnx --format json --jobs 0", "--jobs 1", "--jobs 3"),
    "bound": ("bound o.onnx --box x=[-1,1] --unchecked --format json", "--jobs 2"),
    "run": ("run o.onnx --random --unchecked --output out.npz", "--jobs 1", "--jobs 2"),
    "theorems": ("theorems --select max --format json", "--jobs 1", "--jobs 2"),
}
"""A line of each command that takes jobs, and what is put behind it."""


@pytest.mark.campaign
@pytest.mark.parametrize("command", JOBS)
def test_the_same_bytes_with_other_jobs(command: str, tmp_path: Path) -> None:
    line, *options = JOBS[command]
    first = outcome(line, tmp_path / "first", {})
    for number, option in enumerate(options):
        without = line.partition(" --jobs")[0]
        assert different(first, outcome(f"{without} {option}", tmp_path / f"{number}", {})) == [], option


@pytest.mark.campaign
def test_the_order_of_files_orders_the_report_only(tmp_path: Path) -> None:
    """Each model has the same result, wherever it stands in the list."""
    names = ("m.onnx", "o.onnx", "c.onnx")
    found = list[dict[str, object]]()
    for order in (names, names[::-1]):
        document = json.loads(outcome(f"check {' '.join(order)} --format json", tmp_path / order[0], {})["printed"])
        found.append({report["model"]: report for report in document["reports"]})
    assert found[0] == found[1]
    assert found[0].keys() == set(names)
