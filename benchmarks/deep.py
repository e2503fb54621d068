"""How good bounds of deep networks are: beside goals, observed errors, sampled widths and the widths of CROWN.

    python -m benchmarks.deep [--only NAME] [--samples 100] [--peer PYTHON]

Random weights of seed 0; the hypotheses ieee-any.  The observed error is that of onnxruntime at two levels from the
ideal value at the centre, a sampled width that of its outputs at random corners of the box.  "within" is how many
times what the hypotheses allow the error may be (`sonnx.bounds.attained`).  PYTHON has auto_LiRPA, onnx2torch and
torch; its widths are those of ideal ranges in float32, without a claim about roundings; at a point there is no width.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
import onnx

from benchmarks.bounds import LEVELS, session
from benchmarks.ranges import peer_ranges
from sonnx.bounds.analysis import Analyser, tightened
from sonnx.bounds.box import box_of_arrays as make_box
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from tests.support.deep_networks import centre_of, lenet, lstm, mobile, resnet, transformer

NETWORKS = {
    "ResNet, 9 convolutions, 32 x 32": (lambda: resnet(4), {0: "error 0.003", 1e-4: "width 0.004", 1e-3: "width 0.16"}),
    "ResNet, 17 convolutions, 16 x 16": (lambda: resnet(8, size=16), {0: "error 0.04"}),
    "transformer, 1 block": (lambda: transformer(1), {0: "error 2e-4"}),
    "transformer, 2 blocks": (lambda: transformer(2), {0: "error 4e-4"}),
    "transformer, 4 blocks": (lambda: transformer(4), {0: "error 0.001", 1e-4: "width 0.01"}),
    "LSTM, 20 steps": (lstm, {1e-2: "error 3e-6, width 0.013"}),
    "LeNet-5 with MaxPool": (lenet, {0: "", 1e-3: "width 0.11", 1e-2: "width 7"}),
    "MobileNet-like, 12 convolutions": (mobile, {0: "", 1e-3: "width 0.05"}),
}
"""Each network, and the goal for each radius."""


def measured(proto, radius, samples, peer):
    """The cells of a row."""
    model, x = read(proto.SerializeToString()), centre_of(proto)
    analyser = Analyser(model, hypotheses_named("ieee-any"))
    ends = (x - np.float32(radius), x + np.float32(radius)) if radius else x
    box, output = make_box(model, {"x": ends}), model.graph.outputs[0].name
    start = process_time()
    run = analyser.run(box, around=True)
    value = tightened(run, output)
    spent = process_time() - start
    if value.unbounded:
        return ["none"] * 2 + [""] * 4 + [f"{spent:.1f}"]
    share = analyser.attained(box, value)
    ideal = analyser.run(make_box(model, {"x": x}), around=True).values[output]
    sessions = [session(proto, level) for level in LEVELS]
    middle = 0.5 * (ideal.low + ideal.high)
    observed = max(float(np.abs(each.run(None, {"x": x})[0] - middle).max()) for each in sessions)
    draw, corners = np.random.default_rng(1), []
    for _ in range(samples if radius else 0):
        corner = np.where(draw.integers(2, size=x.shape) > 0, ends[0], ends[1])
        corners.append(sessions[1].run(None, {"x": corner})[0])
    sampled = f"{float(np.ptp(corners, axis=0).max()):.2g}" if corners else ""
    return [
        f"{value.error.max():.2g}", f"{(value.high - value.low).max():.2g}",
        "" if share is None else f"{1 / share:.2g}", f"{observed:.2g}", sampled,
        crown(proto, x, radius, peer), f"{spent:.1f}",
    ]  # fmt: skip


def crown(proto, x, radius, peer):
    """The largest width of an output by CROWN; where it fails, the reason goes to standard error."""
    if not peer or not radius:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        onnx.save(proto, path)
        rows = peer_ranges(peer, path, x[None], radius, ("CROWN",))
    if isinstance(rows, str):
        print(f"CROWN: {rows}", file=sys.stderr)
        return "not run"
    return f"{max(rows[0]['CROWN'][0]):.2g}"


def main(arguments: list[str]) -> int:
    """Print a row for each network and radius."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deep", description="Bounds of deep networks.")
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--peer", help="a Python with auto_LiRPA, onnx2torch and torch")
    options = parser.parse_args(arguments)
    print("| network | radius | goal | error | width | within | observed error | sampled width | CROWN's width | s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, (make, goals) in NETWORKS.items():
        if options.only in name:
            for radius, goal in goals.items():
                cells = measured(make(), radius, options.samples, options.peer)
                print(f"| {name} | {radius:g} | {goal} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
