"""Proofs, checks and runs in four threads of one process: the process stays alive, and results are those of one thread.

In a child process, because a fault in z3 ends the process.
"""

from __future__ import annotations

import subprocess
import sys

ROUNDS = 1
"""How often everything is computed; without own contexts the process ends in the first round."""
SCRIPT = """
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy
import onnx

import sonnx


def model(inputs, outputs, body):
    text = f'<ir_version: 10, opset_import: ["": 13]> g ({inputs}) => ({outputs}) {{ {body} }}'
    return onnx.parser.parse_model(text).SerializeToString()


TWO = model("float[N, 4] a, float[M, 4] b", "float[N, 4] c", "c = Max(a, b)")
ARRAYS = {name: numpy.arange(4.0, dtype="float32").reshape(1, 4) for name in "ab"}
WORK = {
    "prove two": lambda: sonnx.prove(TWO, name="m").to_json(),
    "prove all": lambda: sonnx.prove(TWO, name="m", assume=["N == M"], questions=True).to_json(),
    "check": lambda: sonnx.check(TWO, name="m").to_json(),
    "run": lambda: str(dict(sonnx.run(TWO, ARRAYS, unchecked=True))),
}
alone = {name: work() for name, work in WORK.items()}
with ThreadPoolExecutor(4) as threads:
    for _ in range(int(sys.argv[1])):
        results = list(threads.map(lambda name: (name, WORK[name]()), [*WORK, *WORK, *reversed(WORK)]))
        for name, result in results:
            assert result == alone[name], (name, result, alone[name])
print("equal")
"""


def test_threads_prove_check_and_run_as_one_thread_does() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ROUNDS)], capture_output=True, text=True, timeout=600, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "equal\n"), ended.stderr
