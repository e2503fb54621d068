"""Answers about properties, against values computed in several orders at many points."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx.parser
import pytest

import sonnx
from sonnx.base.budget import time_limit
from sonnx.cli.main import run
from sonnx.model.reader import read
from sonnx.properties.property import box_of_ends
from sonnx.properties.result import PropertyAnswer, PropertyResult
from sonnx.properties.search import parts_of
from tests.support.cases import DEEP, each_case, examples
from tests.support.layer_networks import computed, network, vnnlib

HEAD = '<ir_version: 9, opset_import: ["" : 13]> g '
SCHEMA = Path(sonnx.__file__).parent / "report" / "property.schema.json"


def verified(model: bytes, text: str, tmp_path: Path, ending: str = "vnnlib", **options: Any) -> PropertyResult:
    path = tmp_path / f"p.{ending}"
    path.write_text(text)
    return sonnx.verify_property(model, path, unchecked=True, **options)


@each_case("seed", range(examples(10, 24)))
def test_no_point_contradicts_an_answer(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    sizes = (int(draw.integers(2, 5)), 8, 8, 3)
    model, layers = network(draw, sizes)
    radius = 0.5
    points = draw.uniform(-radius, radius, (1000, sizes[0])).astype("f4")
    outputs = list(computed(layers, points))
    low, high = (float(np.quantile(outputs[2][:, 0], share)) for share in (0.0, 1.0))
    bound = low - draw.uniform(-0.2, 0.4) * (high - low)
    formula = f"(or (<= Y_0 {bound:.6f}) (and (<= Y_1 (- Y_2 2)) (>= Y_1 1)))"
    found = verified(model, vnnlib(sizes[0], 3, radius, formula), tmp_path, search=1.0)
    bad = [(y[:, 0] <= bound - 1e-6) | ((y[:, 1] <= y[:, 2] - 2) & (y[:, 1] >= 1)) for y in outputs]
    if found.answer is PropertyAnswer.HOLDS:
        assert not any(each.any() for each in bad)
    if found.answer is PropertyAnswer.VIOLATED:
        [point] = found.witness.values()
        assert (np.abs(point) <= radius).all()
        for y in computed(layers, point):
            assert y[0, 0] <= Fraction(f"{bound:.6f}") or (y[0, 1] <= y[0, 2] - 2 and y[0, 1] >= 1)
    if any(each.any() for each in bad):
        assert found.answer in (PropertyAnswer.VIOLATED, PropertyAnswer.OPEN)
    assert all(0 <= each.shown <= 1 for each in found.tasks)


def test_answers_of_every_kind_occur() -> None:
    kinds = set()
    for seed, factor in ((0, -0.3), (1, 0.5), (2, 0.0)):
        draw = np.random.default_rng(seed)
        model, layers = network(draw, (2, 6, 2))
        points = np.array(np.meshgrid(*[np.linspace(-0.5, 0.5, 41)] * 2)).reshape(2, -1).T
        values = list(computed(layers, points))[2][:, 0]
        bound = values.min() + factor * np.ptp(values)
        found = verified(model, vnnlib(2, 2, 0.5, f"(<= Y_0 {bound:.9f})"), Path("/tmp"), search=2.0)
        kinds.add(found.answer)
    assert {PropertyAnswer.HOLDS, PropertyAnswer.VIOLATED} <= kinds


@each_case(
    ("inputs", "parts", "below", "answer"),
    [(4, 1, 0.02, PropertyAnswer.OPEN), (4, 70, 0.02, PropertyAnswer.VIOLATED), (12, 200, 0.3, PropertyAnswer.OPEN)],
)
def test_a_number_of_parts_gives_the_answer_at_any_speed(
    inputs: int, parts: int, below: float, answer: PropertyAnswer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chain of few inputs, which are halved, and of many, whose neurons get signs; one run is much slower."""
    draw = np.random.default_rng(inputs)
    model, layers = network(draw, (inputs, 16, 16, 2))
    least = min(float(y[:, 0].min()) for y in computed(layers, draw.uniform(-0.5, 0.5, (2000, inputs)).astype("f4")))
    text = vnnlib(inputs, 2, 0.5, f"(<= Y_0 {least - below:.6f})")
    runs = [verified(model, text, tmp_path, parts=parts)]
    clock = iter(range(0, 10**9, 1000))
    monkeypatch.setattr("sonnx.supervise.search.monotonic", lambda: next(clock))
    runs.append(verified(model, text, tmp_path, parts=parts))
    assert runs[0].tasks == runs[1].tasks
    assert runs[0].answer is answer
    assert 0 < runs[0].tasks[0].parts <= parts
    assert runs[0].conditions.budgets == ((f"--parts {parts}",) if answer is PropertyAnswer.OPEN else ())


def test_what_is_shown_when_the_time_of_the_command_ends_is_kept(tmp_path: Path) -> None:
    draw = np.random.default_rng(12)
    model, layers = network(draw, (6, 60, 60, 60, 2))
    least = min(float(y[:, 0].min()) for y in computed(layers, draw.uniform(-0.5, 0.5, (2000, 6)).astype("f4")))
    with time_limit(2.0):
        found = verified(model, vnnlib(6, 2, 0.5, f"(<= Y_0 {least - 0.3:.6f})"), tmp_path, search=600.0)
    assert found.answer is PropertyAnswer.OPEN and found.tasks[0].parts > 0
    assert found.conditions.budgets == ("the time of the command (--timeout)",)


def test_parts_are_counted_in_one_process(tmp_path: Path) -> None:
    model, _ = network(np.random.default_rng(0), (2, 4, 2))
    with pytest.raises(sonnx.UsageError, match=r"--parts counts the parts of one run in one process; leave out --jobs"):
        verified(model, vnnlib(2, 2, 0.5, "(<= Y_0 0)"), tmp_path, parts=5, jobs=2)


def plain(body: str, inputs: str = "float[1] x", outputs: str = "float[1] y") -> bytes:
    return bytes(onnx.parser.parse_model(f"{HEAD}({inputs}) => ({outputs}) {body}").SerializeToString())


SCALED = plain("<float[1] w = {0.1}> { y = Mul(x, w) }")
MOST = float(np.float32(0.1))
"""The largest ideal value of SCALED on [-1, 1]."""


@each_case(
    ("above", "answer", "code"),
    [
        (1e-6, PropertyAnswer.HOLDS, 0),
        (1e-12, PropertyAnswer.IDEAL, 3),
        (-1e-12, PropertyAnswer.OPEN, 3),
        (-1e-6, PropertyAnswer.VIOLATED, 1),
    ],
)
def test_the_error_counts(above: float, answer: PropertyAnswer, code: int, tmp_path: Path) -> None:
    """An implementation may round 0.1 x up by less than 4e-9."""
    text = f'input = ["x=[-1,1]"]\n[[require]]\noutput = 0\nbelow = {MOST + above!r}'
    found = verified(SCALED, text, tmp_path, "toml", search=1.0)
    assert (found.answer, found.exit_code) == (answer, code)
    [task] = found.tasks
    if answer is PropertyAnswer.HOLDS:
        assert (task.shown, task.ideal, task.place) == (1.0, 0.0, "")
        assert 0 < (task.margin or 0) <= above
    if answer is PropertyAnswer.IDEAL:
        assert task.shown < 1
        assert task.place
    if answer is PropertyAnswer.VIOLATED:
        assert found.witness["x"].tolist() == [1.0]
        assert found.input == {"x": [1.0]}
        assert found.violated.startswith("-Y_0 <= -0.0999990")


@each_case("kink", [1e-10, 1e-20] if DEEP else [1e-10])
def test_a_single_point_is_not_overlooked(kink: float, tmp_path: Path) -> None:
    """|x - kink| is 0 at one number only; the parts around it become smaller than a share of the volume can say."""
    body = f"<float[1] c = {{{kink}}}> {{ p = Sub(x, c) n = Sub(c, x) a = Relu(p) b = Relu(n) y = Add(a, b) }}"
    found = verified(plain(body), vnnlib(1, 1, 1, "(<= Y_0 0)"), tmp_path, search=600.0)
    assert found.answer in (PropertyAnswer.OPEN, PropertyAnswer.VIOLATED)
    assert found.exit_code in (1, 3)
    assert found.tasks[0].shown < 1
    if found.answer is PropertyAnswer.OPEN:
        assert "shown on 99.99 % of the volume" in found.to_text()


def test_ends_lie_inside_the_exact_interval(tmp_path: Path) -> None:
    model = plain("{ y = Relu(x) }", "double[1] x", "double[1] y")
    ends = {0: (Fraction(1, 10), Fraction(3, 10))}
    box = box_of_ends(read(model), ends).box["x"]
    assert Fraction(1, 10) <= Fraction(float(box.low[0])) <= Fraction(1, 10) + Fraction(2) ** -56
    assert Fraction(3, 10) >= Fraction(float(box.high[0])) >= Fraction(3, 10) - Fraction(2) ** -54
    with pytest.raises(sonnx.BadInput, match=r"X_0 is 0\.1, which is not a number of type double; --round-inputs"):
        box_of_ends(read(model), {0: (Fraction(1, 10), Fraction(1, 10))})


def test_parts_are_halved_until_the_property_is_shown(tmp_path: Path) -> None:
    """|x| - x / 2 is at least 0 by two lines, and above -0.5 by one."""
    body = "<float[1] h = {0.5}> { n = Neg(x) a = Relu(x) b = Relu(n) m = Add(a, b) s = Mul(x, h) y = Sub(m, s) }"
    text = 'input = ["x=[-1,1]"]\n[[require]]\noutput = 0\nabove = -0.001'
    found = verified(plain(body), text, tmp_path, "toml")
    [task] = found.tasks
    assert found.answer is PropertyAnswer.HOLDS
    assert task.parts > 1


def test_two_boxes_are_two_tasks(tmp_path: Path) -> None:
    text = "(declare-const X_0 Real)(declare-const Y_0 Real)"
    text += "(assert (or (and (<= X_0 1)(>= X_0 0)(>= Y_0 2)) (and (<= X_0 30)(>= X_0 20)(<= Y_0 2.5))))"
    found = verified(SCALED, text, tmp_path)
    assert [each.answer for each in found.tasks] == [PropertyAnswer.HOLDS, PropertyAnswer.VIOLATED]
    assert (found.answer, found.violated) == (PropertyAnswer.VIOLATED, "Y_0 <= 2.5")
    lines = found.to_text().splitlines()
    assert lines[0].startswith("model: violated in every implementation within the hypotheses (not checked; ")
    assert lines[0].endswith("); 2 boxes, 2 parts analysed")


# ------------------------------------------------------------------ the command


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model.onnx").write_bytes(SCALED)
    return tmp_path / "model.onnx"


def test_the_command_writes_the_witness_and_json(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.toml").write_text('input = ["x=[-1,1]"]\n[[require]]\noutput = 0\nabove = -0.05')
    arguments = ["verify", str(model), str(tmp_path / "p.toml"), "--format", "json", "--witness", str(tmp_path / "w")]
    assert run(arguments) == 1
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads(SCHEMA.read_text("utf-8")))
    assert (document["answer"], document["exit_code"], document["model"]) == ("violated", 1, "model.onnx")
    written = np.load(tmp_path / "w" / "x.npy")
    assert written.dtype == np.float32
    assert document["input"] == {"x": written.tolist()}
    assert float(written[0]) * MOST <= -0.05
    assert run(arguments) == 2
    assert "is not empty" in capsys.readouterr().err
    (tmp_path / "p.toml").write_text('input = ["x=[-1,1]"]\n[[require]]\noutput = 0\nabove = -1')
    assert run(["verify", str(model), str(tmp_path / "p.toml"), "--format", "json"]) == 0
    holds = json.loads(capsys.readouterr().out)
    assert (holds["answer"], holds["input"], holds["violated"]) == ("holds", None, None)
    assert holds["subject_sha256"] != document["subject_sha256"]
    assert holds["tasks"][0]["shown"] == 1


def test_robustness_around_a_point(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(plain("{ y = Relu(x) }", "float[3] x", "float[3] y"))
    np.save(tmp_path / "x.npy", np.array([1, 2, 0.5], "f4"))
    common = ["verify", str(path), "--robust", str(tmp_path / "x.npy")]
    assert run([*common, "--radius", "0.25"]) == 0
    assert run([*common, "--radius", "0.75"]) == 1
    assert "Y_1 - Y_0 <= 0" in capsys.readouterr().out
    np.save(tmp_path / "x.npy", np.array([1, 1, 0.5], "f4"))
    assert run([*common, "--radius", "0.25"]) == 2
    assert "has no largest element at the point" in capsys.readouterr().err


@each_case(
    ("arguments", "sentence"),
    [
        ([], "name a property, .vnnlib or .toml, or --robust FILE.npy with --radius R"),
        (["p.toml", "--robust", "x.npy", "--radius", "1"], "name a property"),
        (["--robust", "x.npy"], "--robust requires --radius"),
        (["p.toml", "--radius", "1"], "--radius requires --robust"),
        (["p.txt"], "'p.txt' cannot be read"),
        (["--robust", "none.npy", "--radius", "1"], "the file 'none.npy' does not exist"),
        (["p.toml", "--hypotheses", "none"], "unknown hypotheses 'none'"),
    ],
)
def test_wrong_invocations(
    arguments: list[str], sentence: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text('input = ["x=[-1,1]"]\n[[require]]\noutput = 0\nabove = -1')
    assert run(["verify", str(model), *arguments]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_models_that_do_not_conform_or_have_several_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The elements of several outputs are numbered one output after another; their type is one."""
    for body, outputs, requirement, code, sentence in (
        ("{ y = Cos(x) }", "float[1] y", "output = 0\nabove = -1", 1, "operator-in-profile"),
        ("{ y = Relu(x) z = Neg(x) }", "float[1] y, float[1] z", "output = 1\nabove = -1.5", 0, "holds"),
        ("{ y = Relu(x) z = Neg(x) }", "float[1] y, float[1] z", "difference = [0, 1]\nabove = 2.5", 1, "violated"),
        ("{ y = Relu(x) z = Neg(x) }", "float[1] y, float[1] z", "output = 2\nabove = 0", 2, "elements 0 to 1"),
        (
            "{ y = Relu(x) z = Equal(x, x) }",
            "float[1] y, bool[1] z",
            "output = 0\nabove = 0",
            2,
            "outputs of one element type; these are bool, float",
        ),
    ):
        (tmp_path / "p.toml").write_text(f'input = ["x=[-1,1]"]\n[[require]]\n{requirement}')
        (tmp_path / "m.onnx").write_bytes(plain(body, outputs=outputs))
        assert run(["verify", str(tmp_path / "m.onnx"), str(tmp_path / "p.toml")]) == code
        said = capsys.readouterr()
        assert sentence in said.out + said.err


def test_the_place_of_a_part_is_short() -> None:
    from sonnx.bounds.box import Interval

    box = {"x": Interval(np.zeros(9), np.ones(9))}
    assert list(parts_of(box)) == [f"x[{index}] in [0, 1]" for index in range(4)]


@each_case(
    ("text", "answer"),
    [
        ("(<= Y_0 Y_0)", PropertyAnswer.VIOLATED),
        ("(<= Y_0 (- Y_0 1))", PropertyAnswer.HOLDS),
        ("(<= (* 0.1 Y_0) -0.0000001)", PropertyAnswer.HOLDS),
        ("(>= (+ (* 0.1234567890123456789 Y_0) (* 1e-300 Y_0)) 0.5)", PropertyAnswer.HOLDS),
        ("(>= (* 0.1234567890123456789 Y_0) 0.12)", PropertyAnswer.VIOLATED),
        ("(>= (* 1e300 (* 1e300 Y_0)) 0.5)", PropertyAnswer.VIOLATED),
    ],
)
@pytest.mark.parametrize("body", ["{ y = Relu(x) }", "{ y = Tanh(x) }"], ids=["chain", "boxes"])
def test_any_decimal_is_decided(body: str, text: str, answer: PropertyAnswer, tmp_path: Path) -> None:
    if body == "{ y = Tanh(x) }":
        text = text.replace("0.12)", "0.09)").replace("-0.0000001", "-0.9")
    found = verified(plain(body, "float[1, 1] x", "float[1, 1] y"), vnnlib(1, 1, 1, text), tmp_path)
    assert found.answer is answer
