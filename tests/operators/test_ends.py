"""What operators can give whatever their inputs are: ends on every float16, and elements of their inputs alone."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

import sonnx
from sonnx.numerics.special_values import special_values
from sonnx.operators.registry import all_operators

WITH_ENDS = {name: each.ends for name, each in all_operators().items() if each.ends is not None}
SELECTING = {name for name, each in all_operators().items() if each.selects}
CALLS = {
    "Concat": "Concat<axis=0>(x, z)",
    "Expand": "Expand(x, s)",
    "Flatten": "Flatten(x)",
    "Gather": "Gather<axis=0>(x, i)",
    "GlobalMaxPool": "GlobalMaxPool(w)",
    "Identity": "Identity(x)",
    "Max": "Max(x, z)",
    "MaxPool": "MaxPool<kernel_shape=[2,2],pads=[1,1,1,1]>(w)",
    "Min": "Min(x, z)",
    "ReduceMax": "ReduceMax<axes=[0],keepdims=0>(x)",
    "Reshape": "Reshape(x, s)",
    "Slice": "Slice(x, i, s)",
    "Split": "Split<axis=0>(x)",
    "Squeeze": "Squeeze(v)",
    "Transpose": "Transpose(x)",
    "Unsqueeze": "Unsqueeze(x, i)",
    "Where": "Where(b, x, z)",
}
"""A node of each operator; x and z are [4, 5], v is [1, 4, 5], w is [1, 1, 4, 5]."""


@pytest.mark.parametrize("name", sorted(WITH_ENDS))
def test_every_element_is_between_the_ends(name: str) -> None:
    low, high = WITH_ENDS[name]  # type: ignore[misc]
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    given = every[np.abs(every) <= 1] if name == "Acos" else every
    attributes = "<axis=1>" if name == "Softmax" else ""
    x = given.reshape(64, -1) if given.size % 64 == 0 else given.reshape(1, -1)
    shape = ",".join(map(str, x.shape))
    text = f'<ir_version: 8, opset_import: ["":22]> g (float16[{shape}] x) => (float16[{shape}] y) {{ y = {name}{attributes}(x) }}'  # noqa: E501  # fmt: skip
    [y] = sonnx.run(onnx.parser.parse_model(text), {"x": x}, unchecked=True).values()
    known = y[~np.isnan(y)].astype(np.float64)
    assert known.size > 20000 or name in ("Acos", "Softmax")
    assert known.min() >= low
    assert known.max() <= high


def test_every_selecting_operator_has_a_call() -> None:
    assert {*CALLS} == SELECTING


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_selecting_operator_gives_elements_of_its_inputs(name: str) -> None:
    opset = 13 if name in ("Split", "ReduceMax", "Reshape", "Unsqueeze") else 22
    given = {
        "x": special_values(np.dtype(np.float32)).values.repeat(2)[:20].reshape(4, 5),
        "z": np.array([np.nan, -1, 7, -0.0, np.inf] * 4, np.float32).reshape(4, 5),
        "b": np.arange(20).reshape(4, 5) % 3 == 0,
        "s": np.array([4, 5], np.int64),
        "i": np.array([1, 2] if name in ("Gather", "Slice") else [0], np.int64),
    }
    given["v"], given["w"] = given["x"][None], given["x"][None, None]
    call = CALLS[name]
    used = [each for each in "xzbsivw" if f"({each}" in call or f" {each}" in call]
    kinds = {"b": "bool[4,5]", "s": "int64[2]", "i": f"int64[{given['i'].size}]", "v": "float[1,4,5]", "w": "float[1,1,4,5]"}  # noqa: E501  # fmt: skip
    inputs = ", ".join(f"{kinds.get(each, 'float[4,5]')} {each}" for each in used)
    outputs = "p, q" if name == "Split" else "p"
    declared = ", ".join(f"float {each}" for each in outputs.split(", "))
    text = f'<ir_version: 8, opset_import: ["":{opset}]> g ({inputs}) => ({declared}) {{ {outputs} = {call} }}'
    values = sonnx.run(onnx.parser.parse_model(text), {each: given[each] for each in used}, unchecked=True)
    known = {array.tobytes() for each in used for array in given[each].ravel() if given[each].dtype == np.float32}
    for array in values.values():
        assert array.size
        assert {element.tobytes() for element in array.ravel()} <= known
