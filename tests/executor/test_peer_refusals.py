"""A changed model that onnx or onnxruntime refuses does not pass here, unless peer_refusals.toml says why."""

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
from sonnx.base.errors import UsageError
from sonnx.checker.verdicts import Verdict
from tests.fuzz import mutation
from tests.support.cases import examples

RECORDED = tomllib.loads((Path(__file__).parent.parent / "data" / "peer_refusals.toml").read_text("utf-8"))["refusal"]
ASKED = """
import json, sys
{loads}
for line in sys.stdin:
    try:
        data = bytes.fromhex(line)
        {asks}
        said = ""
    except Exception as error:
        said = type(error).__name__ + ": " + str(error)
    print(json.dumps(said), flush=True)
"""
PEERS = {
    "onnx": ASKED.format(loads="import onnx.checker", asks="onnx.checker.check_model(data, full_check=True)"),
    "onnxruntime": ASKED.format(
        loads="import onnxruntime as peer; peer.set_default_logger_severity(4); options = peer.SessionOptions(); "
        "options.graph_optimization_level = peer.GraphOptimizationLevel.ORT_DISABLE_ALL",
        asks="peer.InferenceSession(data, options, providers=['CPUExecutionProvider'])",
    ),
}
"""What each peer is asked; a runtime that has no code for a valid model (NotImplemented) does not call it invalid."""


each_peer = pytest.mark.parametrize("peer", PEERS)


def passing(number: int, seed: int) -> list[bytes]:
    """The changed models this tool passes."""
    draw, found = random.Random(seed), {}
    for _ in range(number):
        data = mutation.model(draw.randbytes(draw.randrange(2, 40)))
        try:
            if sonnx.check(data).verdict in (Verdict.PASS, Verdict.ASSUMED):
                found[data] = None
        except (sonnx.Unreadable, UsageError):
            continue
    return list(found)


def refused(models: list[bytes], peer: str, tmp_path: Path) -> dict[bytes, str]:
    """What the peer says of them, in a process of its own, which a model may end."""
    said: dict[bytes, str] = {}
    waiting = list(models)
    while waiting:
        lines = "".join(f"{data.hex()}\n" for data in waiting)
        asking = [sys.executable, "-c", PEERS[peer]]
        done = subprocess.run(
            asking, input=lines, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
        )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        said |= dict(zip(waiting, answers, strict=False))
        if len(answers) < len(waiting):
            said[waiting[len(answers)]] = f"the process of the peer ended with {done.returncode}"
        waiting = waiting[len(answers) + 1 :]
    return {
        data: sentence for data, sentence in said.items() if sentence and not sentence.startswith("NotImplemented: ")
    }


def unexplained(number: int, seed: int, peer: str, tmp_path: Path) -> dict[str, str]:
    """The sentences of a peer for which no reason is recorded, each with a model."""
    pytest.importorskip(peer)
    models = passing(number, seed)
    assert len(models) > number / 60
    return {
        sentence: data.hex()
        for data, sentence in refused(models, peer, tmp_path).items()
        if not any(re.search(each["says"], sentence) for each in RECORDED if each["peer"] == peer)
    }


@each_peer
def test_what_a_peer_refuses_does_not_pass(peer: str, tmp_path: Path) -> None:
    assert unexplained(examples(200, 1500), 1, peer, tmp_path) == {}


@pytest.mark.campaign
@each_peer
@pytest.mark.parametrize("seed", range(2, 12))
def test_what_a_peer_refuses_does_not_pass_in_a_campaign(seed: int, peer: str, tmp_path: Path) -> None:
    assert unexplained(6000, seed, peer, tmp_path) == {}


def test_a_peer_that_crashes_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = PEERS["onnx"].replace("data = ", "line.startswith('00') and sys.exit(9); data = ")
    monkeypatch.setitem(PEERS, "onnx", crash.replace("except Exception", "except ValueError"))
    fine = mutation.bases()[0]
    said = refused([b"\x00", b"\x00\x01", fine], "onnx", tmp_path)
    assert set(list(said.values())[:2]) == {"the process of the peer ended with 9"}
