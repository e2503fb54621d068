"""Time the correctly rounded elementwise kernels against numpy's own float32 functions and the runtimes, in turns.

python -m benchmarks.elementwise [--rounds 15] [--size 1000000] [--only Exp] [--write]

A ratio is the median time of this project's kernel over the median of the peer's.  numpy's functions are not correctly
rounded; a composite (Sigmoid, Softmax, LeakyRelu) is the usual few lines of numpy.  `--write` writes the table to
docs/measurements.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from benchmarks.measurements import write
from benchmarks.racing import HEAD, Action, Case, line, measure
from benchmarks.values import runtimes
from sonnx.checker.rules import ActiveRules
from sonnx.executor.plan import interpreted
from sonnx.executor.preparation import RunDomain
from sonnx.executor.prepared_call import PreparedNode
from sonnx.model.reader import read
from sonnx.numerics.formats import NAMES, Array
from sonnx.profile.catalogue import editions

VERSION = 22
MEDIAN, EACH = 8.0, 15.0
"""The targets: the median of all ratios to numpy, and every one."""


def model(operator: str, arrays: list[Array], output: tuple[int, ...], kind: int, attributes: dict[str, Any]) -> bytes:
    """A model of one node."""
    names = [f"x{i}" for i in range(len(arrays))]
    inputs = [
        helper.make_tensor_value_info(name, getattr(TensorProto, NAMES[array.dtype].upper()), array.shape)
        for name, array in zip(names, arrays, strict=True)
    ]
    node = helper.make_node(operator, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", kind, output)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", VERSION)], ir_version=8)
    return model.SerializeToString()


def case(operator: str, arrays: list[Array], numpy: Callable[[Array], object], **attributes: Any) -> Case:
    """One operator on some arrays; `numpy` writes into the array it is given, where it can."""
    known = editions()
    domain = RunDomain(ActiveRules(known.editions[known.default]), conforming=False)
    shape = np.broadcast_shapes(*[array.shape for array in arrays])
    source = model(operator, arrays, shape, TensorProto.FLOAT, attributes)
    asked = read(source)
    names = [value.name for value in asked.graph.inputs]
    [visit], _ = interpreted(asked, domain, dict(zip(names, arrays, strict=True)))
    ready = visit.result
    assert isinstance(ready, PreparedNode) and ready.kernel is not None and ready.output_specs is not None
    kernel, (wanted, kind) = ready.kernel, ready.output_specs[0]
    if kind == np.bool_:
        source = model(operator, arrays, shape, TensorProto.BOOL, attributes)
    ours, theirs = np.empty(wanted, kind), np.empty(wanted, kind)
    actions: dict[str, Action] = {"ours": lambda: kernel(arrays, ours), "numpy": lambda: numpy(theirs)}
    detail = f"{ours.size:.0e}".replace("e+0", "e")
    return Case(operator, "float", detail, EACH, actions | dict(runtimes(source, arrays)))


def sigmoid(x: Array, out: Array) -> None:
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.divide(1, out, out=out)


def softmax(x: Array, out: Array) -> None:
    np.subtract(x, x.max(axis=-1, keepdims=True), out=out)
    np.exp(out, out=out)
    np.divide(out, out.sum(axis=-1, keepdims=True), out=out)


def leaky_relu(x: Array, out: Array) -> None:
    np.multiply(x, np.float32(0.01), out=out)
    np.copyto(out, x, where=x >= 0)


def hard_sigmoid(x: Array, out: Array) -> None:
    np.multiply(x, np.float32(0.2), out=out)
    np.add(out, np.float32(0.5), out=out)
    np.clip(out, 0, 1, out=out)


def hard_swish(x: Array, out: Array) -> None:
    np.add(x, np.float32(3), out=out)
    np.divide(out, np.float32(6), out=out)
    np.clip(out, 0, 1, out=out)
    np.multiply(out, x, out=out)


def cases(size: int) -> dict[str, Callable[[], Case]]:
    """Every case, made when its turn comes."""
    draw = np.random.default_rng(0)
    x, y = (draw.standard_normal(size).astype("f4") for _ in range(2))
    positive, inner, square = np.abs(x), (2 * draw.random(size) - 1).astype("f4"), x.reshape(size // 1000, 1000)
    low, high, truth = np.array(-1, "f4"), np.array(1, "f4"), x > 0
    return {
        "Exp": lambda: case("Exp", [x], lambda out: np.exp(x, out=out)),
        "Log": lambda: case("Log", [positive], lambda out: np.log(positive, out=out)),
        "Sqrt": lambda: case("Sqrt", [positive], lambda out: np.sqrt(positive, out=out)),
        "Sin": lambda: case("Sin", [x], lambda out: np.sin(x, out=out)),
        "Tanh": lambda: case("Tanh", [x], lambda out: np.tanh(x, out=out)),
        "Acos": lambda: case("Acos", [inner], lambda out: np.arccos(inner, out=out)),
        "Sigmoid": lambda: case("Sigmoid", [x], lambda out: sigmoid(x, out)),
        "Softmax": lambda: case("Softmax", [square], lambda out: softmax(square, out), axis=-1),
        "Pow": lambda: case("Pow", [positive, y], lambda out: np.power(positive, y, out=out)),
        "Add": lambda: case("Add", [x, y], lambda out: np.add(x, y, out=out)),
        "Sub": lambda: case("Sub", [x, y], lambda out: np.subtract(x, y, out=out)),
        "Mul": lambda: case("Mul", [x, y], lambda out: np.multiply(x, y, out=out)),
        "Div": lambda: case("Div", [x, y], lambda out: np.divide(x, y, out=out)),
        "Abs": lambda: case("Abs", [x], lambda out: np.abs(x, out=out)),
        "Neg": lambda: case("Neg", [x], lambda out: np.negative(x, out=out)),
        "Relu": lambda: case("Relu", [x], lambda out: np.maximum(x, 0, out=out)),
        "LeakyRelu": lambda: case("LeakyRelu", [x], lambda out: leaky_relu(x, out), alpha=0.01),
        "Clip": lambda: case("Clip", [x, low, high], lambda out: np.clip(x, low, high, out=out)),
        "Less": lambda: case("Less", [x, y], lambda out: np.less(x, y, out=out)),
        "Greater": lambda: case("Greater", [x, y], lambda out: np.greater(x, y, out=out)),
        "Equal": lambda: case("Equal", [x, y], lambda out: np.equal(x, y, out=out)),
        "Min": lambda: case("Min", [x, y], lambda out: np.minimum(x, y, out=out)),
        "Sum": lambda: case("Sum", [x, y, x], lambda out: np.add(np.add(x, y, out=out), x, out=out)),
        "Floor": lambda: case("Floor", [x], lambda out: np.floor(x, out=out)),
        "Ceil": lambda: case("Ceil", [x], lambda out: np.ceil(x, out=out)),
        "Sign": lambda: case("Sign", [x], lambda out: np.sign(x, out=out)),
        "Reciprocal": lambda: case("Reciprocal", [positive], lambda out: np.divide(1, positive, out=out)),
        "Softplus": lambda: case("Softplus", [x], lambda out: np.log1p(np.exp(x, out=out), out=out)),
        "HardSigmoid": lambda: case("HardSigmoid", [x], lambda out: hard_sigmoid(x, out), alpha=0.2, beta=0.5),
        "HardSwish": lambda: case("HardSwish", [x], lambda out: hard_swish(x, out)),
        "Where": lambda: case("Where", [truth, x, y], lambda out: np.copyto(out, np.where(truth, x, y))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--size", type=int, default=10**6, help="elements, a multiple of 1000")
    parser.add_argument("--only", default="", help="one operator")
    parser.add_argument("--write", action="store_true", help="write the table to docs/measurements")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    measured = []
    print(HEAD)
    with np.errstate(all="ignore"):
        for name, case in cases(options.size).items():
            if options.only in ("", name):
                measured.append(measure(case(), options.rounds))
                print(line(measured[-1]), flush=True)
    ratios = [each.ratio("numpy") or 0 for each in measured]
    met = "met" if statistics.median(ratios) <= MEDIAN and max(ratios) <= EACH else "**missed**"
    of_all = f"Median {statistics.median(ratios):.3g} (target ≤ {MEDIAN:g})"
    said = f"{of_all}, largest {max(ratios):.3g} (target ≤ {EACH:g}): {met}."
    print(said)
    if options.write:
        write("elementwise", "\n".join([said, "", HEAD, *map(line, measured)]))


if __name__ == "__main__":
    main()
