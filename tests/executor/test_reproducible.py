"""The same bytes on any machine: with one and two threads of BLAS, and whatever the order of summation.

`SUMS` has inputs for every operator that adds up.  The order is shuffled twice: inside the products of matrices, by a
`numpy.matmul` that adds in another order, and from outside, by shuffling what is added, which no exact sum notices.
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

from sonnx import semantics
from sonnx.operators.registry import kernels
from tests.executor.test_unchecked import one
from tests.support.exact import FORMATS, hard
from tests.support.oracle import same

VERSION = 22
WINDOW = {"kernel_shape": [3, 3], "strides": [3, 3]}


def drawn(name, *shapes, seed=0):
    return [hard(name, shape, seed + 31 * k) for k, shape in enumerate(shapes)]


def order(count, seed):
    return numpy.random.default_rng(seed).permutation(count)


def matmul(name, seed):
    A, B = drawn(name, (5, 90), (90, 7), seed=seed)
    p = order(90, seed)
    return "MatMul", [A, B], [A[:, p], B[p]], {}


def gemm(name, seed):
    A, B, C = drawn(name, (5, 60), (60, 7), (7,), seed=seed)
    p = order(60, seed)
    scaled = {} if name == "double" else {"alpha": 0.5, "beta": 2.0}  # a scaled one of double takes the exact path
    return "Gemm", [A, B, C], [A[:, p], B[p], C], scaled


def conv(name, seed):
    X, W, B = drawn(name, (2, 9, 6, 5), (4, 9, 2, 3), (4,), seed=seed)
    p = order(9, seed)
    return "Conv", [X, W, B], [X[:, p], W[:, p], B], {}


def conv_transpose(name, seed):
    X, W = drawn(name, (1, 6, 3, 2), (6, 2, 2, 2), seed=seed)
    p = order(6, seed)
    return "ConvTranspose", [X, W], [X[:, p], W[p]], {}


def conv_integer(name, seed):
    X, W = drawn("uint8", (1, 40, 4, 4), (3, 40, 2, 2), seed=seed)
    p = order(40, seed)
    return "ConvInteger", [X, W], [X[:, p], W[:, p]], {"kind": 6}


def reduced(operator):
    def inputs(name, seed):
        (X,) = drawn(name, (4, 70), seed=seed)
        axes = numpy.array([1])
        return operator, [X, axes], [X[:, order(70, seed)], axes], {}

    return inputs


def pooled(operator, **attributes):
    def inputs(name, seed):
        (X,) = drawn(name, (1, 2, 3, 3), seed=seed)
        return operator, [X], [X.reshape(1, 2, 9)[:, :, order(9, seed)].reshape(X.shape)], attributes

    return inputs


def softmax(name, seed):
    (X,) = drawn(name, (3, 40), seed=seed)
    p = order(40, seed)
    return "Softmax", [X], [X[:, p]], {"back": lambda Y: Y[:, numpy.argsort(p)]}


def total(name, seed):
    X = drawn(name, *[(30,)] * 7, seed=seed)
    return "Sum", X, [X[k] for k in order(7, seed)], {}


def lrn(name, seed):
    """Every channel sees all of them."""
    (X,) = drawn(name, (1, 6, 4), seed=seed)
    p = order(6, seed)
    return "LRN", [X], [X[:, p]], {"size": 13, "back": lambda Y: Y[:, numpy.argsort(p)]}


def cell(operator, gates):
    def inputs(name, seed):
        X, W, R = drawn(name, (2, 1, 12), (1, gates * 2, 12), (1, gates * 2, 2), seed=seed)
        p = order(12, seed)
        return operator, [X, W, R], [X[:, :, p], W[:, :, p], R], {"hidden_size": 2}

    return inputs


def scattered(name, seed):
    data, updates = drawn(name, (3,), (20,), seed=seed)
    at, p = numpy.random.default_rng(seed).integers(0, 3, (20, 1)), order(20, seed)
    return "ScatterND", [data, at, updates], [data, at[p], updates[p]], {"reduction": "add"}


def resize(name, seed):
    """Mirrored: the weights of linear interpolation are those of the other side."""
    (X,) = drawn(name, (1, 6), seed=seed)
    sizes = numpy.array([1, 9])
    back = {"back": lambda Y: Y[:, ::-1], "mode": "linear", "left_out": 2}
    return "Resize", [X, sizes], [X[:, ::-1].copy(), sizes], back


SUMS = {
    "matmul": matmul, "gemm": gemm, "conv": conv, "convtranspose": conv_transpose, "convinteger": conv_integer,
    "reducesum": reduced("ReduceSum"), "reducemean": reduced("ReduceMean"),
    "averagepool": pooled("AveragePool", **WINDOW),
    "globalaveragepool": pooled("GlobalAveragePool"), "softmax": softmax, "sum": total, "lrn": lrn,
    "lstm": cell("LSTM", 4), "gru": cell("GRU", 3), "scatternd": scattered, "resize": resize,
}  # fmt: skip

ADDS = re.compile(
    r"matmul|einsum|vecdot|add\.reduce|\.sum\(|product_into|block_into|total_|reduce_sum|reduce\((down|up)"
)

ADDS_WHOLE_NUMBERS = {"argmax": "counts", "quantizelinear": "counts", "max": "counts", "reducemax": "counts"}


def computed(made):
    """The values of an operator on what a function of `SUMS` gave."""
    operator, first, second, more = made
    back, left_out = more.pop("back", lambda Y: Y), more.pop("left_out", 0)
    kind = more.pop("kind", 1)
    return [run(operator, inputs, left_out, kind, more) for inputs in (first, second)], back


def run(operator, inputs, left_out, kind, attributes):
    if left_out:  # inputs that are not given stand before the last one
        from onnx import load_from_string

        import sonnx

        model = load_from_string(one(operator, inputs, None, operator_set=VERSION, **attributes)[0])
        node = model.graph.node[0]
        node.input[:] = [node.input[0], *[""] * left_out, node.input[1]]
        given = dict(zip(("i0", "i1"), inputs, strict=True))
        return sonnx.run(model.SerializeToString(), given, unchecked=True)["o0"]
    return one(operator, inputs, None, kind=kind, operator_set=VERSION, **attributes)[1]()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("which", SUMS)
@pytest.mark.parametrize("seed", range(5))
def test_what_is_added_in_another_order(name, which, seed):
    (first, second), back = computed(SUMS[which](name, seed))
    assert same(first, back(second))


def test_every_operator_that_adds_up_is_shuffled():
    """By what its kernel says, or its definition where it has no kernel."""
    adding = set()
    for entry in Path(semantics.__file__).parent.glob("*.py"):
        name = entry.stem
        definition = import_module(f"{semantics.__name__}.{name}") if name != "__init__" else None
        if definition is None or not hasattr(definition, "OPERATOR"):
            continue
        kernel = kernels().get(name)
        code = inspect.getsource(import_module(kernel) if kernel else definition)
        if ADDS.search(code) or re.search(r"\btotal\(", inspect.getsource(definition)):
            adding.add(name)
    assert adding - ADDS_WHOLE_NUMBERS.keys() - {"batchnormalization"} <= SUMS.keys()


# ------------------------------------------------------------------ the library


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("which", ["matmul", "gemm", "conv", "convinteger"])
@pytest.mark.parametrize("seed", range(3))
def test_a_matmul_in_another_order(name, which, seed, monkeypatch):
    """One that adds in a shuffled order, some of it backwards: other last digits, the same values."""
    operator, inputs, _, more = SUMS[which](name, seed)
    kind = more.pop("kind", 1)
    usual, asked = run(operator, inputs, 0, kind, more), []

    def in_another_order(A, B, out=None):
        made = numpy.zeros((*numpy.broadcast_shapes(A.shape[:-2], B.shape[:-2]), A.shape[-2], B.shape[-1]), A.dtype)
        for k in numpy.random.default_rng(seed).permutation(A.shape[-1]):
            made = made + A[..., :, k, None] * B[..., None, k, :]
        asked.append(1)
        if out is None:
            return made
        out[...] = made
        return out

    monkeypatch.setattr(numpy, "matmul", in_another_order)
    assert same(run(operator, inputs, 0, kind, more), usual)
    assert asked


EVERYTHING = """
import hashlib
import numpy
from tests.executor import test_reproducible as them
for name in ("float16", "float", "double"):
    draw = numpy.random.default_rng(1)
    kind = {"float16": "f2", "float": "f4", "double": "f8"}[name]
    shapes = (300, 700), (700, 290), (1, 16, 24, 24), (48, 16, 3, 3)  # large enough for several threads
    wide = [draw.standard_normal(shape).astype(kind) for shape in shapes]
    made = [("MatMul", wide[:2], 1), ("Conv", wide[2:], 1)]
    for operator, inputs, kind in made:
        print(operator, name, hashlib.sha256(them.one(operator, inputs, None)[1]().tobytes()).hexdigest())
    for which, inputs in them.SUMS.items():
        (value, _), _ = them.computed(inputs(name, 0))
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
