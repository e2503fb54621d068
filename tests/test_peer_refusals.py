"""What onnx refuses as invalid is no pass here, unless peer_refusals.toml says why; asked of changed models."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sonnx
from sonnx.misuse import Misuse
from sonnx.verdict import Verdict

sys.path.insert(0, str(Path(__file__).parent / "fuzz"))
import mutation

RECORDED = tomllib.loads(Path(__file__).with_name("peer_refusals.toml").read_text("utf-8"))["refusal"]
PEER = """
import json, sys
import onnx.checker
for line in sys.stdin:
    try:
        onnx.checker.check_model(bytes.fromhex(line), full_check=True)
        said = ""
    except Exception as error:
        said = str(error) or type(error).__name__
    print(json.dumps(said), flush=True)
"""


def passing(number: int, seed: int) -> list[bytes]:
    """The changed models this tool passes."""
    draw, found = random.Random(seed), {}
    for _ in range(number):
        data = mutation.model(draw.randbytes(draw.randrange(2, 40)))
        try:
            if sonnx.check(data).verdict in (Verdict.PASS, Verdict.ASSUMED):
                found[data] = None
        except (sonnx.Unreadable, Misuse):
            continue
    return list(found)


def refused(models: list[bytes], tmp_path: Path) -> dict[bytes, str]:
    """What the peer says of them, in a process of its own, which a model may end."""
    said: dict[bytes, str] = {}
    waiting = list(models)
    while waiting:
        lines = "".join(f"{data.hex()}\n" for data in waiting)
        done = subprocess.run([sys.executable, "-c", PEER], input=lines, cwd=tmp_path, capture_output=True, text=True,
                              check=False, timeout=300)  # fmt: skip
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        said |= dict(zip(waiting, answers, strict=False))
        if len(answers) < len(waiting):
            said[waiting[len(answers)]] = f"the process of the peer ended with {done.returncode}"
        waiting = waiting[len(answers) + 1 :]
    return {data: sentence for data, sentence in said.items() if sentence}


def unexplained(number: int, seed: int, tmp_path: Path) -> dict[str, str]:
    models = passing(number, seed)
    assert len(models) > number / 60
    return {
        sentence: data.hex()
        for data, sentence in refused(models, tmp_path).items()
        if not any(re.search(each["says"], sentence) for each in RECORDED)
    }


def test_what_the_peer_refuses_does_not_pass(tmp_path: Path) -> None:
    assert unexplained(1500, 1, tmp_path) == {}


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(2, 12))
def test_what_the_peer_refuses_does_not_pass_in_a_campaign(seed: int, tmp_path: Path) -> None:
    assert unexplained(6000, seed, tmp_path) == {}


def test_a_peer_that_crashes_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = PEER.replace(
        "onnx.checker.check_model(", "line.startswith('00') and sys.exit(9); onnx.checker.check_model("
    )
    monkeypatch.setattr(sys.modules[__name__], "PEER", crash.replace("except Exception", "except ValueError"))
    fine = mutation.bases()[0]
    said = refused([b"\x00", b"\x00\x01", fine], tmp_path)
    assert set(list(said.values())[:2]) == {"the process of the peer ended with 9"}
