"""What operators can give whatever their inputs are: ends on every float16."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

import sonnx
from sonnx.operators.registry import all_operators

WITH_ENDS = {name: each.ends for name, each in all_operators().items() if each.ends is not None}


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
