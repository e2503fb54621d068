"""Proofs, checks, runs and bounds in threads of one process: it stays alive, and results are those of one thread.

In a child process, because a fault in z3 ends the process.
"""

from __future__ import annotations

import subprocess
import sys

from tests.support.cases import DEEP
from tests.support.paths import ROOT

MODELS = 200 if DEEP else 6
"""Models of cases on which two threads do everything."""
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


OF_CASES = """
import sys
from concurrent.futures import ThreadPoolExecutor

import sonnx
from sonnx.base.errors import Stop, UsageError
from sonnx.evidence.verification import model_bytes
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.probes import probe
from sonnx.model.reader import read
from sonnx.profile.cases import all_cases


def inputs(model):
    return probe(required_inputs(read(model)), 3, 0)


def bounds(model):
    box = {name: (array, array) for name, array in inputs(model).items()}
    return sonnx.bound(model, box, unchecked=True, name="m").to_json()


def texts(values):
    return {name: (array.shape, array.tobytes()) for name, array in values.items()}


WORK = {
    "check": lambda model: sonnx.check(model, name="m").to_json(),
    "prove": lambda model: sonnx.prove(model, name="m").to_json(),
    "run": lambda model: texts(sonnx.run(model, inputs(model), unchecked=True, name="m")),
    "bound": bounds,
}


def result(task):
    name, model = task
    try:
        return WORK[name](model)
    except (Stop, UsageError) as refusal:
        return str(refusal)


known = list(all_cases())
number = int(sys.argv[1])
models = [model_bytes(case) for case in known[:: len(known) // number][:number]]
tasks = [(name, model) for model in models for name in WORK]
alone = [result(task) for task in tasks]
with ThreadPoolExecutor(2) as threads:
    forwards = threads.submit(lambda: [result(task) for task in tasks])
    backwards = threads.submit(lambda: [result(task) for task in reversed(tasks)])
    assert forwards.result() == alone
    assert backwards.result()[::-1] == alone
answered = sum(not isinstance(one, str) or one.startswith("{") for one in alone)
print(len(models), "models, equal,", answered, "of", len(alone), "with a result")
"""


def test_two_threads_give_the_results_of_one() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", OF_CASES, str(MODELS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"{MODELS} models, equal, ")
