"""Write the example models of this folder from their text: python examples/make.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser

CONFORMING = """
<ir_version: 10, opset_import: ["" : 18]>
detector (float[1, 8] scores, float[1, 8] floor) => (int64[1] best, float[1, 8] kept) {
  kept = Max(scores, floor)
  best = ArgMax <axis = 1, keepdims = 0, select_last_index = 0> (kept)
}
"""
AS_EXPORTED = """
<ir_version: 10, opset_import: ["" : 18]>
detector (float[N, 8] scores, float[1, 7] floor) => (int64[N] best) {
  kept = Max(scores, floor)
  best = ArgMax <axis = -1, keepdims = 0> (kept)
  unused = Identity(kept)
}
"""

SYMBOLIC = """
<ir_version: 10, opset_import: ["" : 18]>
skip (float[N, 8] a, float[M, 8] b) => (float[N, 8] larger) {
  [larger] larger = Max(a, b)
}
"""

CLASSIFIER = """
<ir_version: 10, opset_import: ["" : 18]>
classifier (float[batch, 1, 8, 8] image) => (float[batch, 4] scores) {
  edges = Conv <auto_pad = "SAME_UPPER", kernel_shape = [3, 3]> (image, kernel, offset)
  active = Relu(edges)
  small = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (active)
  same = Identity(small)
  row = Flatten(same)
  sums = Gemm(row, weights, bias)
  scores = Softmax(sums)
}
"""
"""As an exporter writes a network; `sonnx fix` rewrites all of it into the profile."""
CONSTANTS = {"kernel": (3, 1, 3, 3), "offset": (3,), "weights": (48, 4), "bias": (4,)}
"""The shapes of its constants."""

KERAS = """
<ir_version: 8, opset_import: ["" : 15], producer_name: "tf2onnx">
keras (float[batch, 8, 8, 1] input_1) => (float[batch, 4] dense) <int64[2] shape = {-1, 48}> {
  channels_first = Transpose <perm = [0, 3, 1, 2]> (input_1)
  conv2d = Conv <kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1>
    (channels_first, kernel, offset)
  relu = Relu(conv2d)
  pool = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (relu)
  channels_last = Transpose <perm = [0, 2, 3, 1]> (pool)
  flatten = Reshape(channels_last, shape)
  matmul = MatMul(flatten, weights)
  biasadd = Add(matmul, bias)
  dense = Softmax(biasadd)
}
"""
"""In the form in which tf2onnx writes a network of Keras: channels last, a symbolic batch."""

CONTROLLER = """
<ir_version: 10, opset_import: ["" : 18]>
controller (float[1, 2] state) => (float[1, 1] brake) <
  float[2, 3] w = {-1.3, -2.1, 0.4, 1.9, 0.8, -0.7}, float[1, 3] b = {0.1, 0.2, 0.3},
  float[3, 1] v = {0.6, 0.9, -0.5}, float[1, 1] c = {0.05}, float[1, 3] hidden, float[1, 3] active
> {
  [linear] hidden = Gemm <alpha = 1.0, beta = 1.0, transA = 0, transB = 0> (state, w, b)
  [kink] active = Relu(hidden)
  [output] brake = Gemm <alpha = 1.0, beta = 1.0, transA = 0, transB = 0> (active, v, c)
}
"""
"""Two inputs, distance and speed between 0 and 1; how hard to brake."""

MODELS = {
    "conforming": CONFORMING,
    "as_exported": AS_EXPORTED,
    "symbolic": SYMBOLIC,
    "classifier": CLASSIFIER,
    "controller": CONTROLLER,
    "keras": KERAS,
}


def constants() -> Iterator[onnx.TensorProto]:
    """The constants of the networks: multiples of 1/64 in [-1/2, 1/2)."""
    for name, shape in CONSTANTS.items():
        numbers = (37 * np.arange(np.prod(shape)) % 64 - 32) / 64
        yield onnx.numpy_helper.from_array(numbers.astype(np.float32).reshape(shape), name)


if __name__ == "__main__":
    for name, text in MODELS.items():
        model = onnx.parser.parse_model(text.strip())
        model.graph.initializer.extend(constants() if name in ("classifier", "keras") else ())
        onnx.save(model, Path(__file__).parent / f"{name}.onnx")
