"""What shows a difference: enclosures, shapes, exact values in two precisions, or runs of the onnx package; and that no
evidence from runs is taken where roundings explain what differs.
"""

from __future__ import annotations

from pathlib import Path

import onnx.parser
import pytest

import sonnx
from sonnx.equivalence.result import Answer, Evidence
from tests.support.differences import printed_by, shown_different

RESIZE = 'Resize <mode = "cubic", coordinate_transformation_mode = "align_corners"> (x, r, s)'


def model(body: str, output: str = "float[a, b, c, d]", inputs: str = "float[1, 1, 4, 4] x") -> bytes:
    constants = "<float[0] r = {}, float[4] s = {1, 1, 2, 2}>"
    text = f'<ir_version: 8, opset_import: ["" : 18]> g ({inputs}) => ({output} y) {constants} {{ {body} }}'
    return onnx.parser.parse_model(text).SerializeToString()


DIFFERENT = {
    "an operator with enclosures": ("y = Relu(x)", "y = Abs(x)", Evidence.ENCLOSURES),
    "other shapes": (
        f"y = {RESIZE}", "y = AveragePool <kernel_shape = [3, 2], ceil_mode = 1> (x)", Evidence.SHAPES,
    ),
    "an operator without enclosures": (f"y = {RESIZE}", f"a = {RESIZE} y = Neg(a)", Evidence.EXACT),
    "an operator without a definition": (
        "y = LpPool <kernel_shape = [2, 2], p = 1> (x)", "y = LpPool <kernel_shape = [2, 2], p = 3> (x)",
        Evidence.REFERENCE,
    ),
    "numbers near constants": (
        "y = Shrink <lambd = 5.0, bias = 1.0> (x)", "y = Shrink <lambd = 5.0, bias = 1.5> (x)", Evidence.REFERENCE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_difference_names_its_evidence_and_a_program_that_shows_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, evidence = DIFFERENT[name]
    _, report, witness = shown_different(tmp_path, model(first), model(second))
    assert witness.evidence is evidence
    assert bool(witness.implementation) == (evidence is Evidence.REFERENCE)
    monkeypatch.chdir(tmp_path)
    printed = printed_by(witness.program)
    if witness.at:
        assert tuple(map(float, printed.split())) == pytest.approx(witness.exact)
    else:
        shapes = printed.strip().split(") (")
        assert shapes[0] + ")" != "(" + shapes[1]
    if evidence is Evidence.REFERENCE:
        assert "shown by runs of onnx.reference" in report.to_text()


NOT_SHOWN = {
    "a sum that absorbs a value before an operator without enclosures": (
        f"h = Constant <value_float = 1e20> () a = {RESIZE} b = Add(a, h) y = Sub(b, h)", f"y = {RESIZE}",
    ),
    "the same before an operator without a definition": (
        "h = Constant <value_float = 1e20> () a = Add(x, h) b = Sub(a, h) y = Shrink(b)", "y = Shrink(x)",
    ),
    "a random operator": ("y = Bernoulli(x)", "y = Bernoulli <seed = 2.0> (x)"),
    "a constant within a rounding": (
        "k = Constant <value_float = 3.0> () a = Mul(x, k) y = LpPool <kernel_shape = [2, 2]> (a)",
        "k = Constant <value_float = 3.0000002> () a = Mul(x, k) y = LpPool <kernel_shape = [2, 2]> (a)",
    ),
    "a decision on a rounding": (
        "k = Constant <value_float = 49.0> () a = Div(x, k) b = Mul(a, k) c = Floor(b) y = Shrink(c)",
        "c = Floor(x) y = Shrink(c)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_SHOWN)
def test_runs_show_nothing_that_roundings_explain(name: str) -> None:
    report = sonnx.equivalent(*map(model, NOT_SHOWN[name]))
    assert report.result.witness is None


def test_a_model_of_texts_differs_at_texts_that_it_states(tmp_path: Path) -> None:
    def normalizer(words: str) -> bytes:
        text = (
            '<ir_version: 8, opset_import: ["" : 18]> g (string[3] x) => (string[n] y)'
            f"{{ y = StringNormalizer <stopwords = [{words}]> (x) }}"
        )
        return onnx.parser.parse_model(text).SerializeToString()

    report = sonnx.equivalent(normalizer('"monday"'), normalizer('"monday", "sunday"'))
    assert report.result.answer is Answer.DIFFERENT
    assert report.witness_files()
