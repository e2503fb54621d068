"""Nodes that `--keep-slow` leaves, because what takes their place is estimated to cost more."""

from __future__ import annotations

import json

import onnx.parser
import pytest

from sonnx import fix
from sonnx.checker.verdicts import Verdict

GROUPS = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 8, 6, 6] a) => (float[1, 8, 6, 6] y)
<float[8, 2, 1, 1] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> {
  b = Relu (a)
  y = Conv <kernel_shape = [1, 1], group = 4> (b, w)
}"""


def source(text: str) -> bytes:
    return bytes(onnx.parser.parse_model(text).SerializeToString())


def test_nothing_is_kept_without_the_option() -> None:
    fixed = fix(source(GROUPS), samples=1)
    assert fixed.after.verdict is Verdict.PASS
    assert not fixed.kept


@pytest.mark.parametrize(("factor", "kept"), [(1.5, ["Conv"]), (1000.0, [])])
def test_a_convolution_of_groups_stays_where_its_parts_cost_more(factor: float, kept: list[str]) -> None:
    fixed = fix(source(GROUPS), samples=1, keep_slow=factor)
    assert [node.operator for node in fixed.kept] == kept
    assert [root.where.operator for root in fixed.after.roots if root.rule == "Conv.standard-or-depthwise"] == kept
    assert all(node.ratio > factor for node in fixed.kept)
    assert [each["operator"] for each in json.loads(fixed.to_json())["kept"]] == kept
    assert ("left as they are" in fixed.to_text()) == bool(kept)


def test_a_second_rewriting_keeps_the_same_nodes() -> None:
    first = fix(source(GROUPS), samples=0, keep_slow=1.5)
    again = fix(first.model_bytes(), samples=0, keep_slow=1.5)
    assert again.model_bytes() == first.model_bytes()
    assert len(again.kept) == len(first.kept) == 1
