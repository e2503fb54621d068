"""What fix makes of Transposes, and the time of onnxruntime before and after.

python -m benchmarks.transpositions [MODEL …]

The networks below have the Transposes of usual exports: images with the channels last, and attention with heads.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from sonnx.rewriter.fix import fix

RUNS = 60
HEAD = """| network | nodes | Transposes | nodes after | Slices | time | time after | ratio |
|---|---|---|---|---|---|---|---|"""

Constants = dict[str, np.ndarray]


def network(nodes: str, shape: tuple[int, ...], constants: Constants) -> bytes:
    """A model from lines `output = Operator [attribute=value …] (inputs)` of the text format of the onnx package."""
    header = f'<ir_version: 9, opset_import: ["" : 18]> g (float{list(shape)} x) => (float[] y) {{ {nodes} }}'
    model = onnx.parser.parse_model(header)
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, None))
    return onnx.shape_inference.infer_shapes(model).SerializeToString()


def weights(**shapes: tuple[int, ...]) -> Constants:
    """Constants of ordinary numbers."""
    random = np.random.default_rng(0)
    return {name: (random.standard_normal(shape) / 8).astype(np.float32) for name, shape in shapes.items()}


def classifier() -> bytes:
    """Images with the channels last, two convolutions, and a matrix for features with the channels last."""
    text = """
      a = Transpose <perm = [0, 3, 1, 2]> (x)   b = Conv <pads = [1, 1, 1, 1]> (a, v)   c = Relu(b)
      d = Conv <pads = [1, 1, 1, 1]> (c, w)   e = Relu(d)   f = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (e)
      t = Transpose <perm = [0, 2, 3, 1]> (f)   h = Flatten(t)   y = MatMul(h, m)"""
    return network(text, (1, 48, 48, 3), weights(v=(16, 3, 3, 3), w=(16, 16, 3, 3), m=(16 * 24 * 24, 43)))


def channels_last() -> bytes:
    """Each convolution between two Transposes, as of a framework with the channels last."""
    text = """
      a = Transpose <perm = [0, 3, 1, 2]> (x)   b = Conv <pads = [1, 1, 1, 1]> (a, v)
      c = Transpose <perm = [0, 2, 3, 1]> (b)   d = Relu(c)   e = Transpose <perm = [0, 3, 1, 2]> (d)
      f = Conv <pads = [1, 1, 1, 1]> (e, w)   t = Transpose <perm = [0, 2, 3, 1]> (f)   y = Relu(t)"""
    return network(text, (1, 48, 48, 3), weights(v=(16, 3, 3, 3), w=(16, 16, 3, 3)))


def attention() -> bytes:
    """Attention with 4 heads on 16 tokens."""
    lists = {"s": [1, 16, 4, 8], "r": [1, 16, 32]}
    text = """
      p = MatMul(x, wq)   q = Reshape(p, s)   qt = Transpose <perm = [0, 2, 1, 3]> (q)
      k = MatMul(x, wk)   l = Reshape(k, s)   kt = Transpose <perm = [0, 2, 3, 1]> (l)
      u = MatMul(x, wv)   v = Reshape(u, s)   vt = Transpose <perm = [0, 2, 1, 3]> (v)
      scores = MatMul(qt, kt)   share = Softmax <axis = -1> (scores)   heads = MatMul(share, vt)
      ht = Transpose <perm = [0, 2, 1, 3]> (heads)   joined = Reshape(ht, r)   y = MatMul(joined, wo)"""
    constants = weights(wq=(32, 32), wk=(32, 32), wv=(32, 32), wo=(32, 32))
    return network(text, (1, 16, 32), constants | {name: np.array(value) for name, value in lists.items()})


def milliseconds(data: bytes) -> float:
    """The median time of a run with one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(1)
    given = {
        get_input.name: random.standard_normal(get_input.shape).astype(np.float32) for get_input in session.get_inputs()
    }
    times = []
    for _ in range(RUNS):
        start = perf_counter()
        session.run(None, given)
        times.append(perf_counter() - start)
    return 1000 * median(times)


def row(name: str, data: bytes) -> str:
    """One network as a row of the table."""
    made = fix(data, samples=1).model_bytes()
    before, after = (list(onnx.ModelProto.FromString(side).graph.node) for side in (data, made))
    turned = sum(node.op_type == "Transpose" for node in before)
    cut = sum(node.op_type == "Slice" for node in after)
    times = milliseconds(data), milliseconds(made)
    return (
        f"| {name} | {len(before)} | {turned} | {len(after)} | {cut} | {times[0]:.3f} ms | {times[1]:.3f} ms | "
        f"{times[1] / times[0]:.1f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", type=Path)
    print(HEAD)
    for make in (classifier, channels_last, attention):
        print(row(make.__name__.replace("_", " "), make()), flush=True)
    for path in parser.parse_args().models:
        print(row(path.stem, path.read_bytes()), flush=True)


if __name__ == "__main__":
    main()
