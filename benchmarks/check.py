"""Time `sonnx check` against onnx.checker.check_model(path, full_check=True), in turns within one run; prints ratios.

python -m benchmarks.check [--rounds 7]
"""

from __future__ import annotations

import argparse
import gc
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from benchmarks.processes import REPOSITORY, spent
from sonnx.base.garbage import collect_rarely
from sonnx.checker.request import CheckRequest, check_model
from sonnx.model.reader import read

PEER = "import sys, onnx.checker as c\ntry: c.check_model(sys.argv[1], full_check=True)\nexcept c.ValidationError: pass"
OURS = "import sys\nfrom sonnx.__main__ import main\nsys.argv = ['sonnx', 'check', sys.argv[1]]\nmain()"


def chain(nodes: int, distinct: bool = False) -> onnx.ModelProto:
    """A chain of Max nodes over one shape, or over a shape of its own for each node."""
    shapes = [[1, 2 + i % 50, 3 + i // 50] if distinct else [1, 64] for i in range(nodes + 1)]
    values = [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, shapes[i]) for i in range(nodes + 1)]
    if distinct:
        ones = [helper.make_tensor_value_info(f"b{i}", TensorProto.FLOAT, shapes[i + 1]) for i in range(nodes)]
        made = [helper.make_node("Max", [f"b{i}", f"b{i}"], [f"x{i + 1}"], name=f"n{i}") for i in range(nodes)]
        graph = helper.make_graph(made, "chain", ones, values[1:])
    else:
        made = [helper.make_node("Max", [f"x{i}", "x0"], [f"x{i + 1}"], name=f"n{i}") for i in range(nodes)]
        graph = helper.make_graph(made, "chain", values[:1], values[-1:], value_info=values[1:-1])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def weights(size: int) -> onnx.ModelProto:
    """A model with `size` bytes of inline weights in tensors of 16 MiB."""
    number, block = size >> 24, bytes(1 << 24)
    tensors = [helper.make_tensor(f"w{i}", TensorProto.FLOAT, [1 << 22], block, raw=True) for i in range(number)]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1 << 22])
    node = helper.make_node("Max", [f"w{i}" for i in range(number)], ["y"], name="n")
    graph = helper.make_graph([node], "weights", [], [output], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def timed(action: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    action()
    return time.process_time() - start


def paired(ours: Callable[[], object], peer: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Median times of both, taken in turns after one round that is not counted."""
    return medians(lambda: timed(ours), lambda: timed(peer), rounds)


def medians(ours: Callable[[], float], peer: Callable[[], float], rounds: int) -> tuple[float, float]:
    """Of what both measure, in turns after one round that is not counted."""
    ours(), peer()
    pairs = [(ours(), peer()) for _ in range(rounds)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def memory(code: str, path: str) -> int:
    """Peak memory (MB) of a fresh process; started by a small one, because a child starts with its parent's peak."""
    start = (
        f"import resource, subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}, sys.argv[1]], stdout=-3)"
    )
    tell = "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run([sys.executable, "-S", "-c", f"{start}; {tell}", path], capture_output=True, check=True)
    return int(done.stdout) // 1024


def line(name: str, ours: float, peer: float, target: str) -> None:
    print(f"| {name} | {ours * 1e3:.1f} | {peer * 1e3:.1f} | {ours / peer:.2f} | {target} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    collect_rarely()  # as the program does in its processes
    request = CheckRequest()
    light = Path(onnx.__file__).parent / "backend/test/data/light"
    print("| | sonnx, ms | onnx.checker, ms | ratio | target |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:

        def saved(name: str, model: onnx.ModelProto) -> str:
            path = str(Path(folder) / name)
            onnx.save(model, path)
            return path

        def full(path: str) -> None:
            try:
                onnx.checker.check_model(path, full_check=True)
            except onnx.checker.ValidationError:
                pass

        def whole(name: str, path: str, target: str) -> None:
            ours, peer = medians(
                lambda: spent("-c", OURS, path).seconds, lambda: spent("-c", PEER, path).seconds, rounds
            )
            line(f"{name}, whole process", ours, peer, target)

        whole("a model of two nodes", str(REPOSITORY / "examples/conforming.onnx"), "0.33")
        for network in (*sorted(light.glob("light_*.onnx")), *sorted((REPOSITORY / "tests/models").glob("*.onnx"))):
            path = str(network)
            whole(network.stem, path, "0.75" if network.stem.startswith("light_") else "0.33")
            target = "8.00" if check_model(read(path), "", request, "m").exit_code() == 1 else "4.00"
            checked = paired(lambda: check_model(read(path), "", request, "m"), lambda: full(path), rounds)
            line(f"{network.stem}, second check in one process", *checked, target)
        for number in (10_000, 100_000):
            path = saved(f"chain{number}.onnx", chain(number))
            if number == 10_000:
                whole(f"chain of {number} nodes", path, "0.80")
            model = read(path)
            line(
                f"chain of {number}, check of a built Model",
                *paired(lambda: check_model(model, "", request, "m"), lambda: full(path), rounds),
                "1.50",
            )
            line(
                f"chain of {number}, read and check",
                *paired(lambda: check_model(read(path), "", request, "m"), lambda: full(path), rounds),
                "4.00",
            )
        path = saved("distinct.onnx", chain(10_000, distinct=True))
        model = read(path)
        line(
            "10000 nodes, distinct shapes, check",
            *paired(lambda: check_model(model, "", request, "m"), lambda: full(path), rounds),
            "8.60",
        )
        path = saved("weights.onnx", weights(1 << 30))
        whole("1 GB of inline weights", path, "0.04")
        ours, peer = memory(OURS, path), memory(PEER, path)
        print(f"| the same, peak memory | {ours} MB | {peer} MB | {ours / peer:.2f} | 0.01 |")


if __name__ == "__main__":
    main()
