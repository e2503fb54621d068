"""Time layers by themselves, models of one node, against the runtimes, in turns: python -m benchmarks.layers --write.

A ratio is the median time of a run of this project, of a model that is prepared, over the median of the peer's.  Inputs
and weights are normally distributed; weights are initializers.  `--write` writes the table to docs/measurements.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from benchmarks.measurements import write
from benchmarks.racing import Action, Case, measure
from benchmarks.values import runtimes
from sonnx.executor.executor import ModelRunner
from sonnx.model.reader import read

VERSION = 14
HEAD = """| layer | case | ms | /onnx.reference | /onnxruntime | elements | exact path |
|---|---|---|---|---|---|---|"""

Shape = tuple[int, ...]


def case(operator: str, detail: str, shapes: list[Shape], outputs: int = 1, **attributes: Any) -> Case:
    """One layer; the first shape is that of the input, the others those of its weights, in their order."""
    draw = np.random.default_rng(0)
    arrays = [draw.standard_normal(shape, "f4") for shape in shapes]
    arrays[1:] = [array / np.sqrt(np.float32(array.shape[-1])) for array in arrays[1:]]
    names, made = [f"x{i}" for i in range(len(arrays))], [f"y{i}" for i in range(outputs)]
    info = [helper.make_tensor_value_info(names[0], TensorProto.FLOAT, arrays[0].shape)]
    weights = [numpy_helper.from_array(a, n) for n, a in zip(names[1:], arrays[1:], strict=True)]
    kinds = [TensorProto.INT64 if operator == "MaxPool" and i else TensorProto.FLOAT for i in range(outputs)]
    results = [helper.make_tensor_value_info(n, kind, None) for n, kind in zip(made, kinds, strict=True)]
    graph = helper.make_graph([helper.make_node(operator, names, made, **attributes)], "layer", info, results, weights)
    opset = helper.make_opsetid("", VERSION)
    source = helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString()
    model, given = read(source), {names[0]: arrays[0]}
    ready = ModelRunner(model, unchecked=True)
    actions: dict[str, Action] = {"ours": lambda: ready.run(given)}
    return Case(operator, "float", detail, None, actions | dict(runtimes(source, arrays[:1])))


def recurrent(operator: str, steps: int, batch: int, inputs: int, hidden: int, **attributes: Any) -> Case:
    rows = {"LSTM": 4, "GRU": 3}[operator] * hidden
    shapes = [(steps, batch, inputs), (1, rows, inputs), (1, rows, hidden), (1, 2 * rows)]
    detail = f"{steps} steps, batch {batch}, {inputs} to {hidden}"
    return case(operator, detail, shapes, 2, hidden_size=hidden, **attributes)


def transposed(inputs: int, outputs: int, extent: int, kernel: int, stride: int) -> Case:
    shapes = [(1, inputs, extent, extent), (inputs, outputs, kernel, kernel)]
    detail = f"{inputs} to {outputs} channels of {extent}x{extent}, kernel {kernel}x{kernel}, stride {stride}"
    return case("ConvTranspose", detail, shapes, strides=[stride] * 2)


def cases() -> Iterator[Callable[[], Case]]:
    """Every case, made when its turn comes."""
    for operator in ("LSTM", "GRU"):
        yield partial(recurrent, operator, 20, 1, 16, 32)
        yield partial(recurrent, operator, 50, 1, 64, 128)
        yield partial(recurrent, operator, 50, 16, 64, 256)
    yield partial(recurrent, "GRU", 50, 1, 64, 128, linear_before_reset=1)
    yield partial(transposed, 64, 32, 56, 2, 2)
    yield partial(transposed, 256, 128, 14, 2, 2)
    yield partial(transposed, 64, 64, 28, 4, 2)
    for kernel in (2, 3):
        detail = f"with Indices, 64 channels of 112x112, kernel {kernel}x{kernel}, stride 2"
        yield partial(case, "MaxPool", detail, [(1, 64, 112, 112)], 2, kernel_shape=[kernel] * 2, strides=[2, 2])


def line(made: Case, counts: tuple[int, int]) -> str:
    ratios = [
        f"{ratio:.3g}" if (ratio := made.ratio(peer)) is not None else "–" for peer in ("reference", "onnxruntime")
    ]
    cells = [made.title, made.detail, f"{made.times['ours'] * 1e3:.1f}", *ratios, str(counts[0]), str(counts[1])]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", action="store_true", help="write the table to docs/measurements")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(HEAD)
    lines = []
    for ready in cases():
        made = ready()
        counts = made.actions["ours"]().exact_path_counts.by_operator.get(made.title, (0, 0))  # type: ignore[attr-defined]
        lines.append(line(measure(made, options.rounds), counts))
        print(lines[-1], flush=True)
    if options.write:
        write("layers", "\n".join([HEAD, *lines]))


if __name__ == "__main__":
    main()
