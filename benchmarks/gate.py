"""Reading a model against `onnx.checker.check_model(path, full_check=True)`: time and memory, as ratios of one run.

Run from the root of the repository: `python -m benchmarks.gate [rounds]`.  Absolute times differ by a factor of two
between machines and runs; each round runs both sides one after the other, and the medians of the ratios are printed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from sonnx.model import reader, wire_format

PEAK = "\nprint([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
READ = "import sys; from sonnx import parse; parse.read(sys.argv[1])"
PEER = "import sys, onnx.checker; onnx.checker.check_model(sys.argv[1], full_check=True)"
OPERATORS = (("Max", 2), ("Relu", 1), ("Add", 2), ("Abs", 1))


def chain(path: Path, length: int, distinct: bool = False) -> Path:
    """A model of so many nodes, every value with its type; `distinct` gives each another shape."""

    def value(index):
        return helper.make_tensor_value_info(f"v{index}", TensorProto.FLOAT, ["N" if distinct else 1, 64, 56, 56])

    nodes = [
        helper.make_node(name, [f"v{i}"] * count, [f"v{i + 1}"], name=f"n{i}")
        for i in range(length)
        for name, count in [OPERATORS[i % 4]]
    ]
    values = [value(i) for i in range(1, length)]
    if distinct:
        for index, one in enumerate(values):
            one.type.tensor_type.shape.dim[0].dim_param = f"N{index}"
    graph = helper.make_graph(nodes, "g", [value(0)], [value(length)], value_info=values)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def weights(path: Path, tensors: int, size: int) -> Path:
    """A model with so many weights of `size` bytes inside it; the zeros take no room on the disk."""
    graph = helper.make_graph(
        [helper.make_node("Identity", ["w0"], ["y"])], "g", [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [size // 4])],
    ).SerializeToString()  # fmt: skip
    heads = []
    for index in range(tensors):
        tensor = TensorProto(name=f"w{index}", data_type=1, dims=[size // 4]).SerializeToString()
        head = tensor + wire_format._written(9 << 3 | 2) + wire_format._written(size)
        heads.append(wire_format._written(5 << 3 | 2) + wire_format._written(len(head) + size) + head)
    model = helper.make_model(onnx.GraphProto(), opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    model.ClearField("graph")
    total = len(graph) + sum(len(head) + size for head in heads)
    with path.open("wb") as file:
        file.write(model.SerializeToString() + wire_format._written(7 << 3 | 2) + wire_format._written(total) + graph)
        for head in heads:
            file.write(head)
            file.seek(size, os.SEEK_CUR)
        file.truncate(file.tell())
    return path


def seconds(action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def process(code: str, path: Path) -> tuple[float, float]:
    """Wall seconds and peak MB of a whole process, as it reports itself: the kernel counts its parent in."""
    start = time.perf_counter()
    result = subprocess.run([sys.executable, "-c", code + PEAK, str(path)], capture_output=True, check=True)
    return time.perf_counter() - start, int(result.stdout) / 1024


def compare(title: str, rounds: int, ours, peer) -> None:
    """Prints the medians of both sides and of their ratio."""
    pairs = [(ours(), peer()) for _ in range(rounds)]
    ratio, mine, other = (statistics.median(c) for c in zip(*((a / b, a, b) for a, b in pairs), strict=True))
    print(f"{title:46} x{ratio:.3f}  ({mine * 1e3:9.2f} ms against {other * 1e3:9.2f} ms)")


def in_process(title: str, path: Path, rounds: int) -> None:
    compare(
        f"{title}, in process", rounds,
        lambda: seconds(lambda: reader.read(path)),
        lambda: seconds(lambda: onnx.checker.check_model(str(path), full_check=True)),
    )  # fmt: skip


def whole_process(title: str, path: Path, rounds: int) -> None:
    memory = []

    def run(code):
        took, peak = process(code, path)
        memory.append(peak)
        return took

    compare(f"{title}, whole process", rounds, lambda: run(READ), lambda: run(PEER))
    mine, peer = statistics.median(memory[::2]), statistics.median(memory[1::2])
    print(f"{'':10}memory {'':29} x{mine / peer:.3f}  ({mine:9.1f} MB against {peer:9.1f} MB)")


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        small = chain(Path(folder, "small.onnx"), 3)
        usual = chain(Path(folder, "chain.onnx"), 10_000)
        distinct = chain(Path(folder, "distinct.onnx"), 10_000, distinct=True)
        large = weights(Path(folder, "weights.onnx"), 64, 2**24)
        in_process("10,000 nodes", usual, 5 * rounds)
        in_process("10,000 nodes, distinct shapes", distinct, rounds)
        whole_process("3 nodes", small, rounds)
        whole_process("10,000 nodes", usual, rounds)
        whole_process("1 GB of weights", large, min(rounds, 3))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
