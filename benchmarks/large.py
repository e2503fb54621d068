"""Large models and many models: `python benchmarks/large.py`.

The files are sparse: what is not read takes no room on the disk.  Seconds are of whole processes; where other programs
run beside it, compare the processor time.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import onnx
from check import OURS, chain, memory
from gate import weights
from onnx import TensorProto, helper

MODELS = 200


def external(path: Path, tensors: int, size: int) -> Path:
    """A model whose weights of `size` bytes each stand in one file beside it."""
    made = helper.make_model(
        helper.make_graph(
            [helper.make_node("Max", [f"w{i}" for i in range(tensors)], ["y"])], "g", [],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [size // 4])],
        ),
        opset_imports=[helper.make_opsetid("", 13)], ir_version=8,
    )  # fmt: skip
    for index in range(tensors):
        tensor = made.graph.initializer.add(name=f"w{index}", data_type=1, data_location=1, dims=[size // 4])
        for key, value in {"location": "w.bin", "offset": index * size, "length": size}.items():
            tensor.external_data.add(key=key, value=str(value))
    onnx.save_model(made, path)
    with path.with_name("w.bin").open("wb") as file:
        file.truncate(tensors * size)
    return path


def spent(*arguments: str) -> tuple[float, float]:
    """Wall and processor seconds of `sonnx check` with its children."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "sonnx", "check", *arguments]
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    os.waitpid(os.posix_spawn(sys.executable, command, os.environ, file_actions=quiet), 0)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def tell(title: str, path: Path, target: str) -> None:
    """The best of three runs, and the peak memory."""
    wall, processor = min(spent(str(path)) for _ in range(3))
    used = memory(OURS, str(path))
    print(f"{title:<40} {wall:6.2f} s wall {processor:6.2f} s processor {used:5d} MB   target {target}")


def main() -> None:
    """Print the lines."""
    with tempfile.TemporaryDirectory() as folder:
        tell("4.5 GB of inline weights", weights(Path(folder, "inline.onnx"), 288, 1 << 24), "0.5 s, 100 MB")
        tell("10 GB of external data", external(Path(folder, "external.onnx"), 640, 1 << 24), "0.5 s, 100 MB")
        for nodes in (10_000, 100_000):
            path = Path(folder, f"chain{nodes}.onnx")
            onnx.save(chain(nodes), path)
            tell(f"{nodes} nodes", path, "linear")
        zoo = Path(folder, "zoo")
        zoo.mkdir()
        for number in range(MODELS):
            onnx.save(chain(500, distinct=True), zoo / f"{number}.onnx")
        for jobs in ("1", "2"):
            wall, processor = spent(str(zoo), "--jobs", jobs)
            print(f"{MODELS} models of 500 nodes, --jobs {jobs:<9} {wall:6.2f} s wall {processor:6.2f} s processor")


if __name__ == "__main__":
    main()
