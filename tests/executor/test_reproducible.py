"""The same bytes on any machine: with one and two threads of BLAS, and whatever the order of summation.

`SUMS` has inputs for every operator that adds up.  The order is shuffled in two ways: inside matrix products, by a
`numpy.matmul` that adds in another order, and outside, by shuffling the addends, on which no exact sum depends.
"""

import inspect
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy
import pytest

from sonnx.operators import all_operators
from sonnx.operators.registry import modules
from tests.support.cases import each_case, examples
from tests.support.exact import FORMATS
from tests.support.oracle import same
from tests.support.shuffled_sums import SUMS

ADDS = re.compile(
    r"matmul\(|einsum|vecdot|add\.reduce|\.sum\(|product_into|block_into|total|reduce_sum|axis_reduction|_steps\("
    r"|reduce\((down|up)\."
)
"""What the source text of an operator that adds up contains."""

TWO_ADDENDS = {"BatchNormalization"}
"""Operators whose sums have two addends, so that only one order exists."""


@each_case("name", FORMATS)
@each_case("which", SUMS)
@each_case("seed", range(examples(2, 5)))
def test_what_is_added_in_another_order(name, which, seed):
    made = SUMS[which](name, seed)
    assert same(made.value(made.inputs), made.back(made.value(made.shuffled)))


def test_every_operator_that_adds_up_is_shuffled():
    """By the source text of its module, the definition included."""
    sources = {name: inspect.getsource(import_module(modules()[name.lower()])) for name in all_operators()}
    adding = {name for name, source in sources.items() if ADDS.search(source)}
    assert adding - TWO_ADDENDS == SUMS.keys()
    assert adding >= TWO_ADDENDS


# ------------------------------------------------------------------ the library


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("which", ["MatMul", "Gemm", "Conv", "ConvInteger"])
@pytest.mark.parametrize("seed", range(3))
def test_a_matmul_in_another_order(name, which, seed, monkeypatch):
    """One that adds in a shuffled order, some of it backwards: other last digits, the same values."""
    made = SUMS[which](name, seed)
    usual, calls = made.value(made.inputs), []

    def in_another_order(A, B, out=None):
        total = numpy.zeros((*numpy.broadcast_shapes(A.shape[:-2], B.shape[:-2]), A.shape[-2], B.shape[-1]), A.dtype)
        for k in numpy.random.default_rng(seed).permutation(A.shape[-1]):
            total = total + A[..., :, k, None] * B[..., None, k, :]
        calls.append(1)
        if out is None:
            return total
        out[...] = total
        return out

    monkeypatch.setattr(numpy, "matmul", in_another_order)
    assert same(made.value(made.inputs), usual)
    assert calls


EVERYTHING = """
import hashlib
import numpy
from tests.support.models import run_node
from tests.support.shuffled_sums import SUMS
for name in ("float16", "float", "double"):
    draw = numpy.random.default_rng(1)
    kind = {"float16": "f2", "float": "f4", "double": "f8"}[name]
    shapes = (300, 700), (700, 290), (1, 16, 24, 24), (48, 16, 3, 3)  # large enough for several threads
    wide = [draw.standard_normal(shape).astype(kind) for shape in shapes]
    made = [("MatMul", wide[:2], 1), ("Conv", wide[2:], 1)]
    for operator, inputs, kind in made:
        print(operator, name, hashlib.sha256(run_node(operator, inputs, None)[1]().tobytes()).hexdigest())
    for which, source in SUMS.items():
        drawn = source(name, 0)
        value = drawn.value(drawn.inputs)
        print(which, name, hashlib.sha256(value.tobytes()).hexdigest())
"""


def test_one_and_two_threads_of_blas():
    root = Path(__file__).parent.parent.parent
    found = {
        subprocess.run(
            [sys.executable, "-c", EVERYTHING],
            cwd=root,
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads, "PYTHONPATH": str(root)},
            capture_output=True,
            check=True,
        ).stdout
        for threads in "12"
    }
    assert len(found) == 1
    assert found.pop().count(b"\n") == 3 * (len(SUMS) + 2)
