"""Large models and many models: `python -m benchmarks.large`.

The files are sparse: what is not read takes no room on the disk.  Seconds are of whole processes; where other programs
run beside it, compare the processor time.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from benchmarks.check import OURS, chain, memory
from benchmarks.gate import weights

MODELS = 200


def external(path: Path, tensors: int, size: int) -> Path:
    """A model whose weights of `size` bytes each stand in one file beside it."""
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Max", [f"w{i}" for i in range(tensors)], ["y"])], "g", [],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [size // 4])],
        ),
        opset_imports=[helper.make_opsetid("", 13)], ir_version=8,
    )  # fmt: skip
    for index in range(tensors):
        tensor = model.graph.initializer.add(name=f"w{index}", data_type=1, data_location=1, dims=[size // 4])
        for key, value in {"location": "w.bin", "offset": index * size, "length": size}.items():
            tensor.external_data.add(key=key, value=str(value))
    onnx.save_model(model, path)
    with path.with_name("w.bin").open("wb") as file:
        file.truncate(tensors * size)
    return path


MEASURED = """
import resource, sys
from sonnx.cli.main import run
run(["check", *sys.argv[1:]])
both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(*[each.ru_utime + each.ru_stime for each in both], file=sys.stderr)
"""


def spent(*arguments: str) -> tuple[float, float, float]:
    """Wall seconds of `sonnx check`, processor seconds of its process, and of its children."""
    start = time.perf_counter()
    command = [sys.executable, "-c", MEASURED, *arguments]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    own, children = map(float, done.stderr.splitlines()[-1].split())
    return time.perf_counter() - start, own, children


def tell(title: str, path: Path, target: str) -> None:
    """The best of three runs, and the peak memory."""
    wall, own, _ = min(spent(str(path)) for _ in range(3))
    print(f"| {title} | {wall:.2f} | {own:.2f} | {memory(OURS, str(path))} | {target} |", flush=True)


def main() -> None:
    """Print the lines."""
    print("| | seconds | of the processor | megabytes of memory | target |\n|---|---|---|---|---|")
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
        many(zoo)


def many(zoo: Path) -> None:
    """One job and two; on free cores a run takes what its own process does, and of its children the share of a job."""
    found = {}
    for jobs in (1, 2):
        found[jobs] = wall, own, children = spent(str(zoo), "--jobs", str(jobs))
        title = f"{MODELS} models of 500 nodes whose shapes differ, `--jobs {jobs}`"
        print(f"| {title} | {wall:.1f} | {own + children:.1f} | | |", flush=True)
    (wall, own, children), (wall_2, own_2, children_2) = found[1], found[2]
    free = (own + children) / (own_2 + children_2 / 2)
    print(f"| one job to two: {wall / wall_2:.2f} times the seconds, {free:.2f} times by processor | | | | 1.7 times |")


if __name__ == "__main__":
    main()
