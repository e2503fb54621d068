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
}


def constants() -> Iterator[onnx.TensorProto]:
    """The constants of the classifier: multiples of 1/64 in [-1/2, 1/2)."""
    for name, shape in CONSTANTS.items():
        numbers = (37 * np.arange(np.prod(shape)) % 64 - 32) / 64
        yield onnx.numpy_helper.from_array(numbers.astype(np.float32).reshape(shape), name)


if __name__ == "__main__":
    for name, text in MODELS.items():
        model = onnx.parser.parse_model(text.strip())
        model.graph.initializer.extend(constants() if name == "classifier" else ())
        onnx.save(model, Path(__file__).parent / f"{name}.onnx")
