"""Ranges of outputs on boxes around random inputs: `sonnx bound` beside CROWN and alpha-CROWN of auto_LiRPA.

    python -m benchmarks.ranges MODEL … [--radius 0.001 --radius 0.01] [--inputs 5] [--peer PYTHON]

PYTHON has auto_LiRPA, onnx2torch and torch; without it only the ranges of this tool are measured.  The peer computes
ideal ranges in float32 without counting roundings; those of this tool include them, and each has an error besides.
Both take one thread, in turns, on the same boxes.  A ratio below 1 means narrower, or faster, than the peer.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

from sonnx.bounds.analysis import Analyser, tightened
from sonnx.bounds.box import box_of_arrays as make_box
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named

LEAST = 1e-6
"""Widths well below it count as equal."""
PEER = r"""
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import numpy as np, onnx, torch, onnx2torch, torch.onnx.symbolic_helper
if not hasattr(torch.onnx.symbolic_helper, "_set_opset_version"):  # names that auto_LiRPA 0.3 reads and torch 2 lacks
    from torch.onnx._internal.torchscript_exporter._globals import GLOBALS
    torch.onnx.symbolic_helper._set_opset_version = lambda n: setattr(GLOBALS, "export_onnx_opset_version", n)
    torch._C.Node.__getitem__ = lambda node, name: getattr(node, node.kindOf(name))(name)
from auto_LiRPA import BoundedModule, BoundedTensor, PerturbationLpNorm
members = BoundedModule._named_members
BoundedModule._named_members = lambda net, get, prefix="", recurse=True, **_: members(net, get, prefix, recurse)
torch.set_num_threads(1)
path, inputs, radius, methods = sys.argv[1], np.load(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
net = onnx2torch.convert(onnx.load(path)).eval()
name, first = next(iter(net.named_children()))
if type(first).__name__ in ("Flatten", "OnnxFlatten"):  # CROWN of a Flatten of three axes has ranges of width 0
    setattr(net, name, torch.nn.Identity())
    inputs = inputs.reshape(len(inputs), 1, -1)
bounded = BoundedModule(net, torch.from_numpy(inputs[0]), device="cpu")
rows = []
for x in inputs:
    centre = torch.from_numpy(x)
    given = BoundedTensor(centre, PerturbationLpNorm(norm=float("inf"), eps=radius))
    row = {}
    for method in methods:
        bounded.set_bound_opts({"optimize_bound_args": {"iteration": 20}})
        start = time.perf_counter()
        with torch.set_grad_enabled(method != "CROWN"):
            low, high = bounded.compute_bounds(x=(given,), method=method)
        row[method] = [(high - low).detach().double().flatten().tolist(), time.perf_counter() - start]
    rows.append(row)
print(json.dumps(rows))
"""


def ranges(path: Path, inputs: np.ndarray, radius: float) -> list[tuple[np.ndarray, float]]:
    """The widths of the ideal ranges of the outputs, and the time of each analysis."""
    model = read(path)
    name, output = model.graph.inputs[0].name, model.graph.outputs[0].name
    analyser, rows = Analyser(model, hypotheses_named("ieee-any"), path.parent), []
    for x in inputs:
        box = make_box(model, {name: (x - np.float32(radius), x + np.float32(radius))})
        start = perf_counter()
        value = tightened(analyser.run(box), output)
        rows.append(((value.high - value.low).ravel(), perf_counter() - start))
    return rows


METHODS = ("CROWN", "alpha-CROWN")


def peer_ranges(
    python: str, path: Path, inputs: np.ndarray, radius: float, methods: Sequence[str] = METHODS
) -> list[dict[str, list]] | str:
    """What the peer computes, or why it does not."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "inputs.npy"), inputs)
        command = [python, "-c", PEER, str(path), str(Path(folder, "inputs.npy")), str(radius), *methods]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"}
        )
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["?"])[-1][:80]
    return json.loads(done.stdout.splitlines()[-1])


def main(arguments: list[str]) -> int:
    """Print a row for each model and radius."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranges", description="Ranges beside auto_LiRPA's.")
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--radius", type=float, action="append", default=[])
    parser.add_argument("--inputs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peer", help="a Python with auto_LiRPA, onnx2torch and torch")
    options = parser.parse_args(arguments)
    print("| network | radius | width over CROWN's | over alpha-CROWN's | s | over CROWN's | over alpha-CROWN's |")
    print("|---|---|---|---|---|---|---|")
    for path in options.models:
        [value] = [operand for operand in read(path).graph.inputs if operand.type.shape]
        shape = [extent if isinstance(extent, int) else 1 for extent in value.type.shape]
        inputs = np.random.default_rng(options.seed).uniform(0, 1, (options.inputs, *shape)).astype(np.float32)
        for radius in options.radius or [0.001, 0.01]:
            own = ranges(path, inputs, radius)
            seconds = float(np.median([spent for _, spent in own]))
            cells = [""] * 4
            peer = peer_ranges(options.peer, path, inputs, radius) if options.peer else ""
            if isinstance(peer, str):
                cells[0] = peer
            else:
                for place, method in enumerate(METHODS):
                    widths = [
                        np.median((w + LEAST) / (np.array(row[method][0]) + LEAST))
                        for (w, _), row in zip(own, peer, strict=True)
                    ]
                    times = [row[method][1] for row in peer]
                    cells[place] = f"{np.median(widths):.3f}"
                    cells[2 + place] = f"{seconds / float(np.median(times)):.2f}"
            print(
                f"| {path.stem} | {radius} | {cells[0]} | {cells[1]} | {seconds:.2f} | {cells[2]} | {cells[3]} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
