"""Write the example models of this folder from their text: python examples/make.py."""

from __future__ import annotations

from pathlib import Path

import onnx
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

if __name__ == "__main__":
    for name, text in (("conforming", CONFORMING), ("as_exported", AS_EXPORTED), ("symbolic", SYMBOLIC)):
        onnx.save(onnx.parser.parse_model(text.strip()), Path(__file__).parent / f"{name}.onnx")
