"""Whole networks against onnx.reference and onnxruntime: time in turns in one process, memory in a process of its own.

    python -m benchmarks.networks [--rounds 5] [--only NAME] [--models DIR] [--random] [--write]

The networks are the nine convolutional ones of the onnx package, and the .onnx files of DIR.  Inputs are normally
distributed.  The weights of the nine are all one number, which saves memory, reading and ties; with --random they are
drawn, and stored as initializers, so that both are measured.  BLAS has one thread.  Targets: at most 0.15 of the
evaluator's time in the median over the nine and at most 0.5 each, and less memory at the peak.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.measurements import write
from benchmarks.processes import spent

MEDIAN, EACH = 0.15, 0.5

LEAST, LONG = 2, 15
"""Rounds that are made in any case, after a first one that does not count, and seconds after which no other begins."""

Run = Callable[[], Any]

RUNNERS = ("ours", "reference", "onnxruntime")


def light() -> list[Path]:
    """The networks of the onnx package."""
    spec = importlib.util.find_spec("onnx")
    assert spec is not None and spec.origin is not None
    return sorted((Path(spec.origin).parent / "backend/test/data/light").glob("light_*.onnx"))


def drawn(path: Path, folder: Path) -> Path:
    """A network whose tensors of one value (ConstantOfShape) are random numbers, as initializers.

    Weights are normally distributed, with the deviation that keeps the size of the values from layer to layer; vectors
    (biases, scales, means and variances) lie between 0.5 and 1.5.
    """
    import onnx

    model, draw = onnx.load(path), np.random.default_rng(0)
    known = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    kept = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in known:
            kept.append(node)
            continue
        shape = known[node.input[0]].tolist()
        spread = float(np.sqrt(2 / max(1, np.prod(shape[1:]))))
        made = (
            draw.standard_normal(shape, "f4") * np.float32(spread) if len(shape) > 1 else 0.5 + draw.random(shape, "f4")
        )
        model.graph.initializer.append(onnx.numpy_helper.from_array(made, node.output[0]))
    del model.graph.node[:]
    model.graph.node.extend(kept)
    target = folder / path.name
    onnx.save(model, target)
    return target


def inputs(path: Path) -> dict[str, Any]:
    """Normally distributed values for what a model asks for."""
    from sonnx.executor.model_inputs import required_inputs
    from sonnx.model.reader import read

    draw = np.random.default_rng(0)
    wanted = required_inputs(read(path))
    shapes = {value.name: [d if isinstance(d, int) else 1 for d in value.type.shape or ()] for value in wanted}
    return {name: draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def runner(which: str, path: Path) -> Run | None:
    """What one of RUNNERS does with a model, loaded; None where it cannot be asked."""
    given = inputs(path)
    if which == "ours":
        from sonnx.executor.executor import ModelRunner
        from sonnx.model.reader import read

        ready = ModelRunner(read(path), path, unchecked=True)
        return lambda: ready.run(given)
    if which == "reference":
        from onnx.reference import ReferenceEvaluator

        evaluator = ReferenceEvaluator(str(path))
        return lambda: evaluator.run(None, given)
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, given)


PEAK = "VmHWM:"
"""The line of /proc/self/status with the peak of this process; getrusage counts its parent before it began, too."""


def peak(which: str, path: Path) -> float | None:
    """Megabytes at the peak of a process that runs a model once."""
    order = [sys.executable, "-m", "benchmarks.networks", "--peak", which, str(path)]
    done = subprocess.run(order, capture_output=True, text=True, check=False)
    return float(done.stdout) if done.returncode == 0 else None


def print_peak(which: str, path: Path) -> None:
    act = runner(which, path)
    if act is None:
        sys.exit(1)
    act()
    [line] = [each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith(PEAK)]
    print(int(line.split()[1]) / 1024)


@dataclass
class Measured:
    """One network: seconds and megabytes by runner, and the share of elements that took the exact path."""

    name: str
    seconds: dict[str, float] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)
    exact: tuple[int, int] = (0, 0)

    def ratio(self, peer: str) -> float | None:
        return self.seconds["ours"] / self.seconds[peer] if peer in self.seconds else None


def measure(path: Path, rounds: int) -> Measured:
    made = Measured(path.stem.removeprefix("light_"))
    acts = {which: act for which in RUNNERS if (act := runner(which, path)) is not None}
    taken: dict[str, list[float]] = {which: [] for which in acts}
    started = time.perf_counter()
    for turn in range(rounds + 1):
        if turn > LEAST and time.perf_counter() - started > LONG:
            break
        for which, act in acts.items():
            start = time.thread_time()
            found = act()
            taken[which].append(time.thread_time() - start)
            if which == "ours":
                counts = found.exact_path_counts.by_operator.values()
                made.exact = sum(all_ for all_, _ in counts), sum(exact for _, exact in counts)
    made.seconds = {which: statistics.median(times[1:]) for which, times in taken.items()}
    made.memory = {which: found for which in acts if (found := peak(which, path)) is not None}
    return made


def products(path: Path, start: float) -> str:
    """How much of a run are the float64 products of matrices of Conv and of large operands, which BLAS makes; and what
    else numpy does that a fused kernel would do with them: their two ends, and BatchNormalization.
    """
    from sonnx.numerics import single_products
    from sonnx.operators import batchnormalization

    act, taken = runner("ours", path), dict[str, float]()
    assert act is not None
    act()
    parts = (single_products, "in_parts"), (single_products, "_undecided"), (batchnormalization, "_certified")
    for module, name in parts:
        setattr(module, name, timed(getattr(module, name), taken))
    begun = time.thread_time()
    act()
    whole = time.thread_time() - begun
    for module, name in parts:
        setattr(module, name, getattr(module, name).__wrapped__)
    made, ends, normalized = (taken.get(name, 0.0) for _, name in parts)
    command = seconds_of_run(path)
    numbers = (*(f"{each * 1e3:.0f}" for each in (made, ends, normalized, whole)), f"{whole / made:.2f}")
    return f"| {path.stem} | {' | '.join(numbers)} | {command * 1e3:.0f} | {command / (start + made):.2f} |"


def timed(function: Callable[..., Any], taken: dict[str, float]) -> Callable[..., Any]:
    """The function, which adds its processor time under its name."""

    @wraps(function)
    def wrapped(*given: Any) -> Any:
        begun = time.thread_time()
        made = function(*given)
        taken[function.__name__] = taken.get(function.__name__, 0.0) + time.thread_time() - begun
        return made

    return wrapped


TWO_NODES = Path(__file__).parent.parent / "examples/conforming.onnx"
"""A model whose run is a start."""
COMMANDS = 3
"""Processes of a command, of which the fastest counts."""


def seconds_of_run(path: Path) -> float:
    """Seconds of processor time of `sonnx run`, the least of some."""
    command = ("-m", "sonnx", "run", "--unchecked", "--random", "--jobs", "1", str(path))
    return min(spent(*command).seconds for _ in range(COMMANDS))


HEAD = """| network | ms | /onnx.reference | /onnxruntime | peak MB | of onnx.reference | elements | exact path |
|---|---|---|---|---|---|---|---|"""


def line(each: Measured) -> str:
    reference, runtime = (each.ratio(peer) for peer in RUNNERS[1:])
    cells = [each.name, f"{each.seconds['ours'] * 1e3:.0f}", "–" if reference is None else f"{reference:.3f}"]
    cells += ["–" if runtime is None else f"{runtime:.1f}"]
    cells += [f"{each.memory[which]:.0f}" if which in each.memory else "–" for which in RUNNERS[:2]]
    cells += [str(each.exact[0]), f"{each.exact[1]} ({each.exact[1] / max(1, each.exact[0]):.1e})"]
    return f"| {' | '.join(cells)} |"


PRODUCTS_HEAD = (
    "| network | float64 products, ms | their ends, ms | BatchNormalization, ms | a run that is prepared, ms "
    "| of products | the command, ms | of products and start ({start:.0f} ms) |\n|---|---|---|---|---|---|---|---|"
)
RANDOM = " with random weights"


def verdict(measured: list[Measured], what: str) -> str:
    ratios = [r for each in measured if (r := each.ratio("reference")) is not None]
    less = sum(each.memory.get("ours", 0) < each.memory.get("reference", 0) for each in measured)
    said = f"{len(measured)} networks of the onnx package{what}: {statistics.median(ratios):.3f} of onnx.reference's "
    said += f"time in the median (target ≤ {MEDIAN}), at most {max(ratios):.3f} (target ≤ {EACH}); less memory at the "
    return said + f"peak for {less} of {len(measured)}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="networks whose name contains this")
    parser.add_argument("--models", type=Path, help="a folder with more networks")
    parser.add_argument("--random", action="store_true", help="also the nine with random weights")
    parser.add_argument("--products", action="store_true", help="the share of matrix products, nothing else")
    parser.add_argument("--write", action="store_true", help="write the table to docs/measurements")
    parser.add_argument("--peak", nargs=2, metavar=("RUNNER", "MODEL"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.peak:
        print_peak(options.peak[0], Path(options.peak[1]))
        return
    of_package = [path for path in light() if options.only in path.stem]
    others = (
        [path for path in sorted(options.models.glob("*.onnx")) if options.only in path.stem] if options.models else []
    )
    if options.products:
        start = seconds_of_run(TWO_NODES)
        print(PRODUCTS_HEAD.format(start=start * 1e3))
        for path in [*of_package, *others]:
            with tempfile.TemporaryDirectory() as folder:
                model = drawn(path, Path(folder)) if options.random and path in of_package else path
                print(products(model, start), flush=True)
        return
    print(HEAD)
    measured, random = [], []
    for path in [*of_package, *others]:
        measured.append(measure(path, options.rounds))
        print(line(measured[-1]), flush=True)
    for path in of_package if options.random else ():
        with tempfile.TemporaryDirectory() as folder:
            random.append(measure(drawn(path, Path(folder)), options.rounds))
        random[-1].name += ", random weights"
        print(line(random[-1]), flush=True)
    said = [verdict(side, what) for side, what in ((measured[: len(of_package)], ""), (random, RANDOM)) if side]
    print("\n".join(said))
    if options.write:
        write("networks", "\n".join([*said, "", HEAD, *map(line, [*measured, *random])]))


if __name__ == "__main__":
    main()
