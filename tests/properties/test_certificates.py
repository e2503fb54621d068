"""Certificates: accepted by the program that checks them, which imports nothing of sonnx; changed ones are refused."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import helper, numpy_helper

import sonnx
from sonnx.cli.main import run
from sonnx.model.reader import read
from sonnx.properties import certificate_checker as checker
from sonnx.properties.chain_layers import NotAChain
from sonnx.properties.chain_search import slope_digits
from sonnx.properties.chains import Chain
from sonnx.properties.result import PropertyAnswer
from tests.support.cases import each_case, examples
from tests.support.certificate_mutants import certified, changed_certificates, outcome, refitted
from tests.support.layer_networks import computed, image_network, network, session_of, vnnlib

PROGRAM = Path(checker.__file__)
HEAD = '<ir_version: 9, opset_import: ["" : 13]> g '


def certificate_of(model: bytes, text: str, folder: Path) -> str:
    """The certificate of a property that holds."""
    (folder / "p.vnnlib").write_text(text)
    found = sonnx.verify_property(model, folder / "p.vnnlib", unchecked=True, search=20.0)
    assert found.answer is PropertyAnswer.HOLDS
    assert found.certificate
    return found.certificate


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str, str]:
    """A model, a property of two boxes and several sets that holds, and its certificate with parts."""
    model, layers = network(np.random.default_rng(3), (2, 6, 5, 3))
    grid = np.array(np.meshgrid(*[np.linspace(-1, 1, 41)] * 2)).reshape(2, -1).T
    values = list(computed(layers, grid))[2]
    low, high, gap = values[:, 0].min(), values[:, 0].max(), (values[:, 1] - values[:, 2]).min()
    spread = 0.05 * np.ptp(values[:, 0])
    declared = "".join(f"(declare-const X_{i} Real)" for i in range(2))
    declared += "".join(f"(declare-const Y_{i} Real)" for i in range(3))
    sets = f"(or (<= Y_0 {low - spread:.5f}) (>= Y_0 {high + spread:.5f}) (<= (- Y_1 Y_2) {gap - spread:.5f}))"
    boxes = [
        "(and (<= X_0 0.1) (>= X_0 -1) (<= X_1 1) (>= X_1 -1))",
        "(and (<= X_0 1) (>= X_0 0) (<= X_1 1) (>= X_1 -0.7))",
    ]
    text = f"; two boxes\n{declared}\n(assert (or {' '.join(boxes)}))\n(assert {sets})\n"
    return model, text, certificate_of(model, text, tmp_path_factory.mktemp("certificate"))


def test_the_program_accepts_it_and_imports_the_standard_library_only(shown: Any, tmp_path: Path) -> None:
    for name, content in zip(("m.onnx", "p.vnnlib", "c.json"), shown, strict=True):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    command = [sys.executable, "-I", "-S", str(PROGRAM), "m.onnx", "p.vnnlib", "c.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    leaves = shown[2].count('"slopes"')
    assert leaves > 4
    assert done.stdout.startswith(f"shown, on {leaves} parts, for every implementation that computes in float")
    tree = ast.parse(PROGRAM.read_text("utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_a_changed_certificate_shows_nothing_else(shown: Any) -> None:
    """What is accepted claims the same of the same model and property; the checker does not read the conditions."""
    model, text, whole = shown
    certificate = json.dumps({name: value for name, value in json.loads(whole).items() if name != "conditions"})
    checker.check(model, text.encode(), certificate.encode())
    outcomes = Counter(outcome(model, text, changed) for changed in changed_certificates(certificate, 60, 7))
    assert outcomes.keys() == {"accepted, with the same claim", "refused"}


def test_a_certificate_does_not_show_a_violated_property(tmp_path: Path) -> None:
    case = certified(2, tmp_path)
    assert case is not None
    model, text, certificate, violated = case
    assert checker.check(model, text.encode(), certificate.encode()).leaves > 1
    with pytest.raises(checker.Refused, match="not shown on the part"):
        checker.check(model, violated.encode(), refitted(certificate, violated).encode())


@each_case("name", ["model", "property", "format", "claim"])
def test_a_certificate_of_something_else_is_refused(name: str, shown: Any) -> None:
    model, text, certificate = shown
    source = text.encode()
    if name == "model":
        other = onnx.load_from_string(model)
        weights = numpy_helper.to_array(other.graph.initializer[0]).copy()
        weights.flat[0] = np.nextafter(weights.flat[0], np.float32(9))
        other.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, other.graph.initializer[0].name))
        model = other.SerializeToString()
    elif name == "property":
        source += b"\n"
    else:
        certificate = json.dumps(json.loads(certificate) | {name: "another"})
    with pytest.raises(checker.Refused, match=f"the certificate is about another {name}"):
        checker.check(model, source, certificate.encode())


@each_case("seed", range(12))
def test_bounds_of_a_chain_contain_what_is_computed(seed: int) -> None:
    """The rows of a batch of boxes, and the same in exact integers, against sums in several orders at many points."""
    draw = np.random.default_rng(100 + seed)
    sizes = (3, *(int(n) for n in draw.integers(1, 9, int(draw.integers(1, 4)))), 2)
    model, layers = network(draw, sizes)
    chain, integers = Chain(read(model)), checker.layers(model)
    low = draw.uniform(-2, 1, (4, 3)).astype("f4").astype(float)
    high = (low + draw.choice([0, 2.0**-10, 1.0], (4, 3))).astype("f4").astype(float)
    rows = draw.integers(-2, 3, (3, 2)).astype(float)
    found = chain.rows(low, high, rows)
    for place in range(4):
        points = draw.uniform(low[place], high[place], (300, 3)).astype("f4")
        points = np.clip(points, low[place], high[place]).astype("f4")
        *floats, exact = computed(layers, points)
        assert (found.least[place] <= (exact @ rows.T).min(axis=0) + 1e-12).all()
        for values in floats:
            differs = np.abs((values.astype(float) - exact) @ rows.T).max(axis=0)
            assert (differs <= found.error[place] + 1e-13).all()
        box = [
            (int(a * 2**checker.GRID), int(b * 2**checker.GRID)) for a, b in zip(low[place], high[place], strict=True)
        ]
        slopes = ["".join(str(int(8 * each)) for each in layer[place]) for layer in found.slopes]
        known = checker.known_on(integers, box, slopes)
        for row, least, error in zip(rows, found.least[place], found.error[place], strict=True):
            atom = {index: Fraction(c) for index, c in enumerate(row) if c}
            reached, size = (exact @ row).min(), 1 + abs(least)
            below = Fraction(float(least - error)) - Fraction(size) / 2**13
            assert checker.excluded(integers, known, box, [[(atom, below)]], [{}])
            assert not checker.excluded(integers, known, box, [[(atom, Fraction(reached))]], [{}])


@each_case("seed", range(examples(5, 10)))
def test_bounds_of_image_networks_contain_what_is_computed(seed: int) -> None:
    """As above, for Conv, MaxPool, sums of two values and several outputs, against onnxruntime and exact values."""
    draw = np.random.default_rng(200 + seed)
    proto = image_network(draw, 5)
    data = proto.SerializeToString()
    chain, integers = Chain(read(data)), checker.layers(data)
    session, shape = session_of(proto)
    centre = draw.uniform(-1, 1, chain.inputs).astype("f4").astype(float)
    low, high = (centre - 2.0**-5)[None], (centre + 2.0**-5)[None]
    rows = draw.integers(-2, 3, (3, chain.outputs_count)).astype(float)
    found = chain.rows(low, high, rows)
    points = draw.uniform(low, high, (40, chain.inputs)).astype("f4")
    points[:20] = np.where(draw.integers(2, size=(20, chain.inputs)) > 0, low, high)
    exact = chain.outputs_at(points.astype(float))
    floats = [np.concatenate([a.reshape(-1) for a in session.run(None, {"x": x.reshape(shape)})]) for x in points]
    assert (found.least[0] <= (exact @ rows.T).min(axis=0) + 1e-12).all()
    assert (np.abs((np.array(floats, float) - exact) @ rows.T).max(axis=0) <= found.error[0] + 1e-13).all()
    model = sonnx.run(data, {"x": points[0].reshape(shape)}, unchecked=True)
    ideal = np.concatenate([model[each.name].reshape(-1) for each in proto.graph.output])
    assert np.allclose(ideal, exact[0], rtol=1e-5, atol=1e-5)
    box = [(int(a * 2**checker.GRID), int(b * 2**checker.GRID)) for a, b in zip(low[0], high[0], strict=True)]
    known = checker.known_on(integers, box, slope_digits(chain, found.slopes, 0))
    for row, least, error in zip(rows, found.least[0], found.error[0], strict=True):
        atom = {index: Fraction(c) for index, c in enumerate(row) if c}
        below = Fraction(float(least - error)) - Fraction(1 + abs(float(least))) / 2**13
        assert checker.excluded(integers, known, box, [[(atom, below)]], [{}])
        assert not checker.excluded(integers, known, box, [[(atom, Fraction(float((exact @ row).min())))]], [{}])


def test_a_side_of_what_has_no_relu_is_refused(tmp_path: Path) -> None:
    """A value that goes on as it is may have both signs, and its lines do not bend."""
    case = certified(3, tmp_path)
    assert case is not None
    model, text, certificate, _ = case
    layers = checker.layers(model)
    plain = [[k, j] for k, layer in enumerate(layers[:-1]) for j, relu in enumerate(layer.relu) if not relu]
    assert plain
    leaf = {"slopes": "above"}
    tree = json.loads(certificate)["boxes"][0]
    for neuron in (plain[0], plain[-1]):
        split = {"lines": tree.get("lines", tree.get("slopes")), "neuron": neuron, "above": leaf, "below": leaf}
        changed = json.dumps(json.loads(certificate) | {"boxes": [split]})
        with pytest.raises(checker.Refused, match="which is none"):
            checker.check(model, text.encode(), changed.encode())


def test_roundings_of_long_sums_are_in_the_error() -> None:
    """A sum that loses its small terms in one order: the error is at least what that loses."""
    n = 400
    weights = np.full((1, n), 2.0**-24, "f4")
    weights[0, 0] = 1.0
    chain = Chain(read(sum_of(weights)))
    point = np.ones((1, n))
    total = np.float32(0)
    for w in weights[0]:
        total = np.float32(total + w)
    lost = abs(float(total) - float(weights.astype(float).sum()))
    error = float(chain.rows(point, point, np.ones((1, 1))).error[0, 0])
    assert 1e-5 < lost <= error <= 4 * lost


def sum_of(weights: Any) -> bytes:
    """A model of one product with a matrix."""
    rows, n = weights.shape
    ends = [[helper.make_tensor_value_info(name, 1, [1, size])] for name, size in (("x", n), ("y", rows))]
    constant = numpy_helper.from_array(np.ascontiguousarray(weights.T), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", *ends, [constant])
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 13)])
    return bytes(model.SerializeToString())


ROW = "(float[1,2] x) => (float[1,2] y)"
SQUARE = "float[2,2] w = {1,2,3,4}"
REFUSED = [
    (f"{ROW} <{SQUARE}, float[2,2] v = {{1,2,3,4}}> {{ a = MatMul(x, w) y = MatMul(a, v) }}", "two products follow"),
    (f"{ROW} <{SQUARE}> {{ y = Gemm<alpha = 2.0>(x, w) }}", "operator Gemm with"),
    (f"(float[2,1] x) => (float[2,1] y) <{SQUARE}> {{ y = MatMul(w, x) }}", "a row of elements is read"),
    (
        "(float[2] x) => (float[2,2] y) <float[2,1] c = {1,2}> { y = Add(x, c) }",
        "a constant of (extents|shape) .2, 1. is added",
    ),
    (f"{ROW} <float[1,2] c = {{1,2}}> {{ y = Sub(c, x) }}", "operator Sub with"),
    (f"{ROW} {{ y = Tanh(x) }}", "operator Tanh with"),
    (f"{ROW} <{SQUARE}> {{ a = Add(x, x) y = MatMul(a, w) }}", "a product follows a sum of two values"),
    (f"{ROW} {{ a = Relu(x) b = Relu(x) y = Relu(b) }}", "its result is not read"),
    (f"{ROW} {{ y = Relu(z) }}", "neither a constant nor a result"),
    (
        "(float[1,1,2,2] x) => (float[1,1,1,1] y) { y = MaxPool<kernel_shape = [2,2], ceil_mode = 1>(x) }",
        "a window with these attributes",
    ),
    ("(float[1,1,2,2] x) => (float[1,1,1,1] y) { y = MaxPool<kernel_shape = [3,3]>(x) }", "a window does not fit"),
    (
        "(float[1,2,2,2] x) => (float[1,1,1,1] y) <float[1,1,1,1] w = {1}> { y = Conv(x, w) }",
        "is applied to 2 channels in 1 groups",
    ),
    (
        "(float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}, float[1,1] b = {1}> { y = Conv(x, w, b) }",
        "a Conv of 1 channels adds numbers",
    ),
    ("(double[1,2] x) => (double[1,2] y) { y = Relu(x) }", "the input is not of type float"),
    ("(float[1,2] x) => (float[2,1] y) <int64[2] s = {2,1}> { y = Reshape(x, s) }", "operator Reshape with"),
    ("(float[2,2] x) => (float[2,2] y) { y = Relu(x) }", "a row of elements is read"),
]


@each_case(("text", "sentence"), REFUSED)
def test_models_that_are_not_such_chains(text: str, sentence: str) -> None:
    model = onnx.parser.parse_model(f"{HEAD}{text}").SerializeToString()
    with pytest.raises(NotAChain, match=sentence):
        Chain(read(model))
    with pytest.raises(checker.Refused, match=sentence):
        checker.layers(model)


def test_the_command_writes_a_certificate_or_says_why_not(
    shown: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, text, certificate = shown
    (tmp_path / "m.onnx").write_bytes(model)
    (tmp_path / "p.vnnlib").write_text(text)
    common = ["verify", str(tmp_path / "m.onnx"), str(tmp_path / "p.vnnlib"), "--unchecked"]
    assert run([*common, "--search", "20", "--certificate", str(tmp_path / "c.json")]) == 0
    assert json.loads((tmp_path / "c.json").read_text()) == json.loads(certificate)
    assert checker.main([str(tmp_path / name) for name in ("m.onnx", "p.vnnlib", "c.json")]) == 0
    assert checker.main([str(tmp_path / name) for name in ("m.onnx", "p.vnnlib", "p.vnnlib")]) == 2
    assert checker.main([]) == 2
    capsys.readouterr()
    (tmp_path / "t.onnx").write_bytes(
        onnx.parser.parse_model(f"{HEAD}(float[1,2] x) => (float[1,2] y) {{ y = Tanh(x) }}").SerializeToString()
    )
    (tmp_path / "p.vnnlib").write_text(vnnlib(2, 2, 1.0, "(<= Y_0 -2)"))
    common[1] = str(tmp_path / "t.onnx")
    assert run([*common, "--certificate", str(tmp_path / "t.json")]) == 2
    said = capsys.readouterr().err
    assert "no certificate can be written of this model: operator Tanh with these inputs" in said
    assert not (tmp_path / "t.json").exists()


@each_case("content", ["[]", '"x"', "3", "null", "{", "", "\xff", '{"boxes": {}}', '{"boxes": 3}', "[" * 100_000])
def test_what_is_not_a_certificate_is_one_sentence(
    content: str, shown: tuple[bytes, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, text, _ = shown
    files = [tmp_path / name for name in ("m.onnx", "p.vnnlib", "c.json")]
    for file, data in zip(files, (model, text.encode(), content.encode("latin-1")), strict=True):
        file.write_bytes(data)
    assert checker.main(list(map(str, files))) == 2
    assert capsys.readouterr().err.startswith("cannot be read: ")


def test_a_place_of_a_halving_is_a_short_number(shown: tuple[bytes, str, str]) -> None:
    model, text, certificate = shown
    for place in ("1e999999999", "1/3", "nan", "0." + "1" * 5000):
        changed = json.loads(certificate)
        changed["boxes"][0] = {"axis": 0, "at": place, "below": {}, "above": {}}
        with pytest.raises(checker.Refused, match="not a number"):
            checker.check(model, text.encode(), json.dumps(changed).encode())


def test_rounded_inputs_are_part_of_the_claim(tmp_path: Path) -> None:
    """X_0 is fixed to 0.1, and the output of its float is less than 2e-9 away from that of the decimal."""
    model = onnx.parser.parse_model(HEAD + "(float[1, 1] x) => (float[1, 1] y) { y = Relu(x) }").SerializeToString()
    text = vnnlib(1, 1, 1, "(>= Y_0 0.2)").replace("X_0 1", "X_0 0.1").replace("X_0 -1", "X_0 0.1")
    assert text.count("X_0 0.1") == 2
    (tmp_path / "p.vnnlib").write_text(text)
    found = sonnx.verify_property(model, tmp_path / "p.vnnlib", unchecked=True, round_inputs=True)
    assert (found.answer, found.rounded_inputs) == (PropertyAnswer.HOLDS, 1)
    assert "1 input element to the nearest number of the element type" in found.to_text()
    assert found.certificate
    assert checker.check(model, text.encode(), found.certificate.encode()).claim == checker.ROUNDED_CLAIM
    with pytest.raises(sonnx.BadInput, match="--round-inputs"):
        sonnx.verify_property(model, tmp_path / "p.vnnlib", unchecked=True)


def test_floats_are_rounded_as_numpy_rounds() -> None:
    draw = np.random.default_rng(4)
    for value in [*draw.normal(size=50) * 10.0 ** draw.integers(-46, 38, 50), 0.1, 2.0**-150, 1.5 * 2.0**-149, 0.0]:
        assert checker.nearest_float(Fraction(float(value))) == Fraction(float(np.float32(value)))
