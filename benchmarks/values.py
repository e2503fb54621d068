"""Time the exact kernels against numpy, onnx.reference and onnxruntime, in turns within one run; prints ratios.

python -m benchmarks.values [--rounds 15] [--only float16] [--write]

A ratio is the median time of this project's kernel over the median of the peer's; below 1 is faster.  The kernel and
numpy write into an array that is there already, as the executor's buffers are; the runtimes allocate their outputs.
`--write` puts the table into docs/measurements.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from benchmarks.measurements import write
from benchmarks.racing import HEAD, Action, Case, line, measure
from sonnx.checker.checker import stated_facts
from sonnx.checker.rules import ActiveRules
from sonnx.executor.executor import execute
from sonnx.executor.plan import build_plan
from sonnx.executor.preparation import RunDomain
from sonnx.model.reader import read
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.numerics.maximum import fast_maximum, fold
from sonnx.operators import argmax, reducemax
from sonnx.profile.catalogue import editions

FLOATS = ("float", "double", "float16", "bfloat16")
TYPES = ("int8", "int32", "int64", *FLOATS)

BROADCAST: dict[str, list[tuple[int, ...]]] = {
    "scalar": [(10**6,), ()],
    "bias (64,1,1) on 125x125": [(1, 64, 125, 125), (64, 1, 1)],
    "bias (64,1,1) on 56x56": [(5, 64, 56, 56), (64, 1, 1)],
    "row (1600) on 1000x1600": [(1000, 1600), (1600,)],
}


def drawn(element: str, shape: tuple[int, ...], pattern: str = "normal", number: int = 0) -> Array:
    """Elements of a type: normally distributed; with 30 % of -0; or with a NaN among thousand."""
    draw = np.random.default_rng(number)
    values = np.asarray(draw.standard_normal(shape) * 40).astype(ELEMENTS[element])
    if pattern == "many -0":
        values[draw.random(shape) < 0.3] = -0.0
    elif pattern == "some NaN":
        values[draw.random(shape) < 0.001] = np.nan
    return values


def model(operator: str, arrays: list[Array], element: str, output: tuple[int, ...], **attributes: int) -> bytes:
    """A model of one node."""
    number = getattr(TensorProto, element.upper())
    names = [f"x{i}" for i in range(len(arrays))]
    inputs = [helper.make_tensor_value_info(n, number, a.shape) for n, a in zip(names, arrays, strict=True)]
    given = TensorProto.INT64 if operator == "ArgMax" else number
    node = helper.make_node(operator, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", given, output)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return model.SerializeToString()


def runtimes(source: bytes, arrays: list[Array]) -> Iterator[tuple[str, Action]]:
    """The two runtimes on a model, where they have the operator for the type."""
    given = {f"x{i}": a for i, a in enumerate(arrays)}
    reference = ReferenceEvaluator(source)
    yield "reference", lambda: reference.run(None, given)
    if importlib.util.find_spec("onnxruntime") is None:
        return
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    try:
        session = onnxruntime.InferenceSession(source, options)
        session.run(None, given)
    except Exception:  # noqa: BLE001  not implemented for this type
        return
    yield "onnxruntime", lambda: session.run(None, given)


def max_case(
    title: str,
    element: str,
    detail: str,
    shapes: list[tuple[int, ...]],
    target: float | None,
    pattern: str = "normal",
) -> Case:
    arrays = [drawn(element, shape, pattern, number) for number, shape in enumerate(shapes)]
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    ours, theirs = (np.empty(shape, ELEMENTS[element]) for _ in range(2))
    actions: dict[str, Action] = {
        "ours": lambda: fast_maximum(arrays, ours),
        "numpy": lambda: fold(arrays, theirs),
    }
    return Case(title, element, detail, target, actions | dict(runtimes(model("Max", arrays, element, shape), arrays)))


def reduce_case(element: str, detail: str, whole: tuple[int, ...], axes: tuple[int, ...], target: float | None) -> Case:
    values = drawn(element, whole)
    shape = tuple(1 if i in axes else extent for i, extent in enumerate(values.shape))
    ours, theirs = (np.empty(shape, values.dtype) for _ in range(2))
    source = model("ReduceMax", [values], element, shape, axes=axes, keepdims=1)  # type: ignore[arg-type]
    actions: dict[str, Action] = {
        "ours": lambda: reducemax.reduce_into(values, axes, ours),
        "numpy": lambda: np.maximum.reduce(values, axis=axes, keepdims=True, out=theirs),
    }
    return Case("ReduceMax", element, detail, target, actions | dict(runtimes(source, [values])))


def arg_case(element: str, detail: str, whole: tuple[int, ...], axis: int, target: float | None) -> Case:
    values = drawn(element, whole)
    shape = tuple(1 if i == axis else extent for i, extent in enumerate(values.shape))
    ours, theirs = (np.empty(shape, np.int64) for _ in range(2))
    source = model("ArgMax", [values], element, shape, axis=axis, keepdims=1)
    actions: dict[str, Action] = {
        "ours": lambda: argmax.arg_into(values, axis, False, True, ours),
        "numpy": lambda: np.argmax(values, axis=axis, keepdims=True, out=theirs),
    }
    return Case("ArgMax", element, detail, target, actions | dict(runtimes(source, [values])))


# ------------------------------------------------------------------ what is measured


def equal_shapes_target(element: str, size: int) -> float | None:
    """The ratio to numpy that is aimed at for two operands of one shape."""
    wide = 1.5 if size < 10_000_000 else 1.25
    return (
        {"float16": 0.08, "bfloat16": 0.5, "float": wide, "double": wide}.get(element, 1.05) if size >= 10**6 else None
    )


def cases(only: str) -> Iterator[Callable[[], Case]]:
    """Every case, made when its turn comes: all arrays together do not fit."""
    for element in [value_type for value_type in TYPES if only in ("", value_type)]:
        for size in (10**3, 10**5, 10**6, 10**7):
            text = f"two of 1e{len(str(size)) - 1}"
            yield partial(max_case, "Max", element, text, [(size,)] * 2, equal_shapes_target(element, size))
        for pattern in ("many -0", "some NaN") if element in FLOATS else ():
            yield partial(max_case, "Max", element, f"two of 1e6, {pattern}", [(10**6,)] * 2, None, pattern)
        goal = {"float": 0.7, "int8": 0.2}.get(element)
        for text, shapes in BROADCAST.items():
            yield partial(max_case, "Max, broadcast", element, text, shapes, goal)
        for number in (8, 64):
            yield partial(max_case, "Max, many", element, f"{number} of 1e6", [(10**6,)] * number, 1.15)
        target = {"float16": 0.1, "bfloat16": 0.15, "float": 1.1, "double": 1.1}.get(element)
        for text, axes in (("inner axis", (1,)), ("outer axis", (0,)), ("all axes", (0, 1))):
            yield partial(reduce_case, element, f"{text} of 1000x1600", (1000, 1600), axes, target)
        yield partial(reduce_case, element, "inner axis of 28571x56", (28571, 56), (1,), None)
        for text, shape, axis in (("inner", (1000, 1600), 1), ("outer", (1000, 1600), 0), ("flat", (1600000,), 0)):
            goal = 0.2 if element == "float16" else 1.6 if text == "outer" else 1.25
            yield partial(arg_case, element, f"{text}, 1.6e6", shape, axis, goal)


def overhead(count: int = 1000) -> tuple[float, float]:
    """Microseconds of the executor for each node of a chain, beyond its kernel; and of making the program."""
    info = [helper.make_tensor_value_info(f"v{i}", TensorProto.FLOAT, [4]) for i in range(count + 1)]
    nodes = [helper.make_node("Max", [f"v{i}", "b"], [f"v{i + 1}"]) for i in range(count)]
    operand = helper.make_tensor_value_info("b", TensorProto.FLOAT, [4])
    graph = helper.make_graph(nodes, "chain", [info[0], operand], [info[-1]], value_info=info[1:-1])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    read_model, given = read(model.SerializeToString()), {"v0": np.ones(4, "f4"), "b": np.zeros(4, "f4")}
    known = editions()
    rules = ActiveRules(known.editions[known.default])
    domain, checked = RunDomain(rules, conforming=True), stated_facts(read_model, rules)
    run, kernel, prepare, out = [], [], [], np.empty(4, "f4")
    for _ in range(25):
        marks = [time.thread_time()]
        ready = build_plan(read_model, domain, given, checked=checked)
        marks.append(time.thread_time())
        execute(ready)
        marks.append(time.thread_time())
        for _ in range(count):
            fast_maximum([given["v0"], given["b"]], out)
        marks.append(time.thread_time())
        for times, start, end in zip((prepare, run, kernel), marks[:-1], marks[1:], strict=True):
            times.append((end - start) / count * 1e6)
    return statistics.median(run) - statistics.median(kernel), statistics.median(prepare)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="one element type")
    parser.add_argument("--write", action="store_true", help="write the table to docs/measurements")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    measured = []
    print(HEAD)
    with np.errstate(all="ignore"):
        for made in cases(options.only):
            measured.append(measure(made(), options.rounds))
            print(line(measured[-1]), flush=True)
    goals = [case for case in measured if case.target is not None]
    missed = [case for case in goals if (case.ratio("numpy") or 0) > (case.target or 0)]
    beyond, prepare = overhead()
    said = f"{len(goals) - len(missed)} of {len(goals)} targets met. "
    said += f"Executor: {beyond:.1f} µs for each node beyond its kernel (target ≤ 5), {prepare:.1f} µs to prepare it."
    print(said)
    if options.write:
        write("values", "\n".join([said, "", HEAD, *map(line, measured)]))


if __name__ == "__main__":
    main()
