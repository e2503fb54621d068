"""Models from text, and one with hostile names everywhere."""

from __future__ import annotations

import onnx
import onnx.parser

HOSTILE = "</style><script>a(1)</script>\x1b[3m\u202e\r\n::error::x%0A\x00 | `a` ]]> --> & \"'{0} [x](http://e.org) @me"
TEXTS = {
    "fine": '<ir_version: 10, opset_import: ["" : 13]> g (float[2] a) => (float[2] y) { y = Max(a) }',
    "open": '<ir_version: 10, opset_import: ["" : 13]> g (float[2] a) => (float[2] y) { y = Relu(a) }',
    "run_time": """<ir_version: 10, opset_import: ["" : 18]> g (float[2, 3] a, int64[1] axes) => (float[2, 1] y)
{ y = ReduceMax <keepdims = 1, noop_with_empty_axes = 0> (a, axes) }""",
}


def hostile() -> bytes:
    """A model with such names everywhere; one of them is not UTF-8."""
    model = onnx.parser.parse_model(
        TEXTS["fine"].replace("Max(a)", "Max(a, b)").replace("float[2] a", "float[2] a, float[N] b")
    )
    model.graph.name = model.graph.node[0].name = model.graph.input[0].name = HOSTILE
    model.graph.node[0].input[0] = HOSTILE
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = HOSTILE
    model.graph.node.add(op_type=HOSTILE, domain=HOSTILE, name="zzzz", output=["unused"])
    return model.SerializeToString().replace(b"zzzz", b"z\xff\xfez")


def model_of(text: str) -> bytes:
    """A model from its text."""
    return onnx.parser.parse_model(text).SerializeToString()
