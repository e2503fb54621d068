"""Counterexamples are made simple, and the program that a result shows prints what it says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import sonnx
from sonnx.equivalence.result import DifferingInput
from sonnx.equivalence.search.shrinking import RevealingInput, non_zero, shrunk
from sonnx.numerics.formats import Array
from tests.support.differences import printed_by, shown_different


def model(body: str, inputs: str = "float[4, 5] x, float[4, 5] u", element: str = "float") -> bytes:
    text = f'<ir_version: 8, opset_import: ["" : 18]> g ({inputs}) => ({element}[4, 5] y) {{ {body} }}'
    return onnx.parser.parse_model(text).SerializeToString()


PAIRS = {
    "one negative element": ("a = Relu(x) y = Add(a, u)", "a = LeakyRelu <alpha = 0.25> (x) y = Add(a, u)", 1),
    "no element at all": (
        "c = Constant <value_float = 1.0> () y = Add(x, c)", "c = Constant <value_float = 2.0> () y = Add(x, c)", 0,
    ),
    "two elements": ("y = Mul(x, u)", "a = Sub(x, u) y = Sub(a, x)", 1),
    "a product": ("a = Mul(x, u) y = Neg(a)", "y = Mul(x, u)", 2),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_a_counterexample_has_few_round_numbers_and_a_program(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, most = PAIRS[name]
    files, report, witness = shown_different(tmp_path, model(first), model(second))
    assert witness.non_zero == non_zero(report.inputs) <= most
    numbers = np.concatenate([array.reshape(-1) for array in report.inputs.values()])
    assert set(numbers.tolist()) <= {-1.0, 0.0, 1.0}
    runs = [sonnx.run(file, report.inputs, unchecked=True)["y"][witness.at] for file in files]
    assert (float(runs[0]), float(runs[1])) == witness.exact
    monkeypatch.chdir(tmp_path)
    assert len(witness.program) == 3
    assert tuple(map(float, printed_by(witness.program).split())) == witness.exact


def test_the_program_knows_other_names_of_the_second_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / "first.onnx", tmp_path / "second.onnx"]
    files[0].write_bytes(model("y = Relu(x)", "float[4, 5] x"))
    files[1].write_bytes(model("y = Neg(z)", "float[4, 5] z"))
    witness = sonnx.equivalent(files[0], files[1], renamed={"x": "z"}).result.witness
    assert witness is not None
    monkeypatch.chdir(tmp_path)
    assert tuple(map(float, printed_by(witness.program).split())) == witness.exact


def test_what_needs_two_distant_elements_keeps_them() -> None:
    """No half of the elements shows the difference, and an input that shows none is never kept."""
    start = {"x": np.arange(1, 41, dtype=np.float32), "n": np.full(3, 7, np.int64)}
    witness = DifferingInput(0, "", 0, "y", (0,), 1.0, 2.0, exact=(1.0, 2.0), apart=1.0)
    judged = []

    def judge(inputs: Mapping[str, Array]) -> DifferingInput | None:
        shows = bool(inputs["x"][3] != 0 and inputs["x"][38] > 2)
        judged.append(shows)
        return witness if shows else None

    found = shrunk(RevealingInput(start, witness), judge, 43)
    assert np.flatnonzero(found.inputs["x"]).tolist() == [3, 38] and not found.inputs["n"].any()
    assert found.inputs["x"][38] == 39 and len(judged) <= 64
    assert shrunk(RevealingInput(start, witness), judge, 1 << 30).inputs is start
