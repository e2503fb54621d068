"""Which pairs of models are the same function: by hand, with the answer that follows from the definitions."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import sonnx
import sonnx.equivalence
from sonnx.cli.main import run
from sonnx.equivalence.interpretation.domain import TermDomain
from sonnx.equivalence.terms.axioms import axioms
from sonnx.equivalence.terms.store import OWN
from sonnx.proofs import equivalence, identities, registry
from tests.support.cases import DEEP, crossed, examples, spread
from tests.support.equivalence_mutants import FAMILIES, Builder, judged, optimized, pairs, refuted
from tests.support.paths import ROOT
from tools import axiom_table

IDENTICAL, ROUNDING, DIFFERENT, UNDECIDED = "identical", "equal up to rounding", "different", "not decided"
Built = Callable[[Builder], str]


def answer(
    first: Built, second: Built, shape: list[int | str] | None = None, **options: object
) -> sonnx.EquivalenceReport:
    """The answer for two models from the input x of a shape."""
    made = []
    for build in (first, second):
        builder = Builder(0)
        made.append(builder.model(shape or [2, 3], build(builder)).SerializeToString())
    return sonnx.equivalent(*made, **options)


def chain(*steps: tuple[str, object]) -> Built:
    """Operators one after the other, each with a constant as its second operand, or with attributes."""

    def build(b: Builder) -> str:
        value = "x"
        for operator, operand in steps:
            if isinstance(operand, dict):
                value = b(operator, value, **operand)
            else:
                value = b(operator, value, *([] if operand is None else [b.constant(operand)]))
        return value

    return build


PERM = {"perm": [1, 0]}
IDENTICAL_PAIRS = {
    "another function": (chain(("Transpose", PERM), ("Transpose", PERM)), chain(("Relu", None)), False),
    "movement below Relu": (
        chain(("Transpose", PERM), ("Relu", None)), chain(("Relu", None), ("Transpose", PERM)), True),
    "constant below movement": (
        chain(("Transpose", PERM), ("Add", [[1], [2], [3]])), chain(("Add", [1, 2, 3]), ("Transpose", PERM)), True),
    "an axis that is repeated": (chain(("Mul", [[2, 2, 2]])), chain(("Mul", 2)), True),
    "other constants": (chain(("Mul", [2, 2, 3])), chain(("Mul", 2)), False),
    "a signed zero": (chain(("Add", 0.0)), chain(("Add", -0.0)), False),
    "order of a product": (lambda b: b("Mul", "x", b.constant(3)), lambda b: b("Mul", b.constant(3), "x"), True),
    "order of a difference": (lambda b: b("Sub", "x", b.constant(3)), lambda b: b("Sub", b.constant(3), "x"), False),
    "times one": (chain(("Mul", 1.0)), lambda b: b("Identity", "x"), False),
    "a default that is written": (
        chain(("LeakyRelu", {"alpha": 0.01})), chain(("LeakyRelu", {})), True),
    "a maximum taken twice": (
        lambda b: b("Max", b("Max", "x", b("Neg", "x")), b("Neg", "x")), lambda b: b("Max", "x", b("Neg", "x")), True),
    "a maximum taken before": (
        lambda b: b("Max", "x", b("Max", "x", b("Neg", "x"))), lambda b: b("Max", "x", b("Neg", "x")), True),
    "another NaN first": (
        lambda b: b("Max", b("Neg", "x"), b("Max", "x", b("Neg", "x"))), lambda b: b("Max", "x", b("Neg", "x")), False),
    "slices of a concatenation": (
        lambda b: b("Slice", b("Concat", "x", b("Relu", "x"), axis=0), b.constant([0], np.int64),
                    b.constant([2], np.int64), b.constant([0], np.int64)),
        lambda b: b("Identity", "x"), True),
}  # fmt: skip


@pytest.mark.parametrize("case", IDENTICAL_PAIRS)
def test_identical(case: str) -> None:
    first, second, same = IDENTICAL_PAIRS[case]
    found = answer(first, second)
    assert (found.result.answer == IDENTICAL) is same
    if same:
        assert found.exit_code == 0


def constants_of(first: Built, second: Built, **options: object) -> tuple[str, list[float]]:
    found = answer(first, second, runs=0, **options).result
    return found.answer, [each.offset + each.gain for each in found.constants]


def test_sums_of_constants_are_formulas_not_numbers() -> None:
    """Beside 1e20 every small constant vanishes in float64; the formulas still differ."""
    first, second = chain(("Add", 1e20), ("Add", 1e-3)), chain(("Add", 1e20), ("Add", 2e-3))
    assert constants_of(first, second)[0] == UNDECIDED
    assert constants_of(first, chain(("Add", 1e-3), ("Add", 1e20))) == (ROUNDING, [])


def test_a_fold_may_round_as_often_as_it_has_operations() -> None:
    folded = np.float32(0.1) * np.float32(0.3)
    first = chain(("Mul", 0.1), ("Mul", 0.3))
    found, [gain] = constants_of(first, chain(("Mul", folded)))
    assert found == ROUNDING
    exact = float(np.float32(0.1)) * float(np.float32(0.3))
    assert abs(exact - float(folded)) <= gain < 1.01 * abs(exact - float(folded))
    four_off = folded
    for _ in range(4):
        four_off = np.nextafter(four_off, np.float32(1))
    assert constants_of(first, chain(("Mul", four_off)))[0] == UNDECIDED
    assert constants_of(chain(("Mul", folded)), chain(("Mul", np.nextafter(folded, np.float32(1)))))[0] == UNDECIDED


def test_a_scale_by_channel_does_not_pass_another_shape_of_a_convolution() -> None:
    """Channels of (2, 4, 3, 3) are not those of (1, 4, 6, 3)."""

    def build(scaled_first: bool) -> Built:
        def model(b: Builder) -> str:
            scale = np.array([1, 2, 3, 4]).reshape(4, 1, 1)
            value = b("Conv", "x", b.weights(4, 2, 1, 1))
            if scaled_first:
                value = b("Mul", value, b.constant(scale))
            value = b("Reshape", value, b.constant([1, 4, 6, 3], np.int64))
            return value if scaled_first else b("Mul", value, b.constant(scale))

        return model

    assert answer(build(True), build(False), [2, 2, 3, 3]).result.answer == DIFFERENT


@pytest.mark.parametrize("seed", range(examples(3, 6)))
@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: each.__name__)
def test_what_an_optimizer_folds(family: Callable[[int], onnx.ModelProto], seed: int) -> None:
    model = family(seed)
    found = sonnx.equivalent(model, optimized(model)).result
    assert found.answer in (IDENTICAL, ROUNDING)
    assert not found.binding
    assert all(each.relative < 1e-6 for each in found.constants)


def test_no_answer_about_mutants_is_wrong() -> None:
    shown = differing = 0
    for seed in range(examples(1, 12)):
        for pair in spread(pairs(seed), 10):
            found = sonnx.equivalent(pair.first, pair.second, runs=4).result
            if not found.proved and found.witness is None:
                continue
            judge = judged(pair, 2)
            assert not refuted(pair, found, judge), f"{pair.family}, {pair.kind}, seed {seed}"
            differing += not found.proved
            shown += found.answer == DIFFERENT
    assert shown == differing > 0


def test_an_answer_for_one_number_of_a_symbol_says_so() -> None:
    def first(b: Builder) -> str:
        return b("Reshape", "x", b.constant([1, -1], np.int64))

    def second(b: Builder) -> str:
        return b("Flatten", "x", axis=0)

    assert answer(first, second, ["N", 3]).result.binding == {"x": (1, 3)}
    same = answer(chain(("Relu", None), ("Add", 0.5)), chain(("Relu", None), ("Add", [0.5])), ["N", 3]).result
    assert same.binding == {}


def test_a_shape_that_holds_for_one_sample_only_is_shown_different() -> None:
    def first(b: Builder) -> str:
        return b("ReduceMax", "x", axes=[0], keepdims=1)

    def second(b: Builder) -> str:
        return b("Identity", "x")

    assert answer(first, second, ["N", 3]).result.answer in (DIFFERENT, UNDECIDED)


def test_operator_sets_are_one_only_where_their_meanings_are() -> None:
    """Softmax sums over all axes from the named one on before version 13, and along that axis from then on."""

    def models(axis: int) -> list[onnx.ModelProto]:
        made = []
        for version in (11, 13):
            b = Builder(0)
            made.append(b.model([2, 3], b("Softmax", "x", axis=axis)))
            made[-1].opset_import[0].version = version
        return made

    assert sonnx.equivalent(*models(0)).result.answer == DIFFERENT
    assert sonnx.equivalent(*models(1)).result.answer == IDENTICAL


def parts(order: tuple[int, int], weights: tuple[int, int]) -> Built:
    """A convolution in two groups as two convolutions, of the channels and with the weights in an order."""

    def build(b: Builder) -> str:
        kernels, made = np.arange(4.0).reshape(2, 2, 1, 1), []
        for part, weight in zip(order, weights, strict=True):
            value = b("Gather", "x", b.constant([2 * part, 2 * part + 1], np.int64), axis=1)
            made.append(b("Conv", value, b.constant(kernels[weight : weight + 1]), kernel_shape=[1, 1]))
        return b("Concat", *made, axis=1)

    return build


def groups(b: Builder) -> str:
    return b("Conv", "x", b.constant(np.arange(4.0).reshape(2, 2, 1, 1)), kernel_shape=[1, 1], group=2)


def test_a_convolution_in_groups_is_one_of_each_part_of_the_channels() -> None:
    assert answer(groups, parts((0, 1), (0, 1)), [1, 4, 2, 2]).result.answer == IDENTICAL
    assert answer(groups, parts((1, 0), (0, 1)), [1, 4, 2, 2]).result.answer == DIFFERENT
    assert answer(groups, parts((0, 1), (1, 0)), [1, 4, 2, 2]).result.answer == DIFFERENT


def stack(order: tuple[int, int] | None) -> Built:
    """The product of a stack of two matrices with its transposed one, as one or as two products."""

    def build(b: Builder) -> str:
        turned = b("Transpose", "x", perm=[0, 2, 1])
        if order is None:
            return b("MatMul", "x", turned)
        made = []
        for index in order:
            pair = [b("Gather", value, b.constant([index], np.int64), axis=0) for value in ("x", turned)]
            made.append(b("MatMul", *pair))
        return b("Concat", *made, axis=0)

    return build


def test_a_product_of_stacks_is_one_of_each_pair_of_matrices() -> None:
    assert answer(stack(None), stack((0, 1)), [2, 3, 3]).result.answer == IDENTICAL
    assert answer(stack(None), stack((1, 0)), [2, 3, 3]).result.answer == DIFFERENT


def test_random_operators_equal_nothing() -> None:
    def build(b: Builder) -> str:
        return b("Add", "x", b("RandomUniformLike", "x"))

    assert answer(build, build, runs=0, names=("a", "b")).result.same_content
    assert answer(build, lambda b: b("Identity", build(b)), runs=0).result.answer == UNDECIDED


def test_infinite_constants_have_no_affine_form() -> None:
    first = chain(("Mul", np.inf), ("Mul", 0.5))
    assert answer(first, chain(("Mul", 0.5), ("Mul", np.inf))).result.answer == UNDECIDED


def test_fused_operators_have_the_stated_meaning_as_an_assumption() -> None:
    def fused(b: Builder) -> str:
        return b("FusedConv", "x", b.weights(2, 3, 1, 1), domain="com.microsoft", activation="Relu")

    def plain(b: Builder) -> str:
        return b("Relu", b("Conv", "x", b.weights(2, 3, 1, 1)))

    found = answer(fused, plain, [1, 3, 2, 2]).result
    assert found.answer == IDENTICAL
    assert any("FusedConv" in each for each in found.assumptions)


def normalization(version: int, square: str, epsilon: float = 1e-5) -> onnx.ModelProto:
    """LayerNormalization along the last axis as exporters write it."""
    b = Builder(0)
    axes = {"axes": [-1]} if version < 18 else {}
    last = [] if version < 18 else [b.constant([-1], np.int64)]
    centred = b("Sub", "x", b("ReduceMean", "x", *last, **axes))
    squared = b("Pow", centred, b.constant(2.0)) if square == "Pow" else b("Mul", centred, centred)
    spread = b("Sqrt", b("Add", b("ReduceMean", squared, *last, **axes), b.constant(epsilon)))
    value = b("Add", b("Mul", b("Div", centred, spread), b.constant([1, 2, 3])), b.constant([4, 5, 6]))
    made = b.model([2, 3], value)
    made.opset_import[0].version = version
    return made


def normalized(version: int = 17, **attributes: float) -> onnx.ModelProto:
    b = Builder(0)
    made = b.model([2, 3], b("LayerNormalization", "x", b.constant([1, 2, 3]), b.constant([4, 5, 6]), **attributes))
    made.opset_import[0].version = version
    return made


@pytest.mark.parametrize(("version", "square"), crossed([17, 18], ["Pow", "Mul"], every=2))
def test_layer_normalization_as_a_pattern(version: int, square: str) -> None:
    found = sonnx.equivalent(normalization(version, square), normalized(version)).result
    assert found.answer == ROUNDING
    assert any(each.startswith("LayerNormalization means") for each in found.assumptions)
    others = [normalized(version, epsilon=2e-5), normalized(version, stash_type=10)]
    for other in others if DEEP else [others[version == 18]]:
        assert sonnx.equivalent(normalization(version, square), other).result.answer == UNDECIDED
    report = sonnx.equivalent(normalization(version, square), normalized(version, axis=0)).result
    assert report.witness is not None and report.witness.implementation.startswith("onnx.reference")


def gelu(first: int) -> Built:
    """The orders of the three factors of Gelu."""

    def build(b: Builder) -> str:
        more = b("Add", b("Erf", b("Div", "x", b.constant(np.sqrt(2)))), b.constant(1.0))
        half = b.constant(0.5)
        if first == 0:
            return b("Mul", b("Mul", "x", more), half)
        return b("Mul", b("Mul", "x", half), more) if first == 1 else b("Mul", "x", b("Mul", half, more))

    return build


def with_gelu(domain: str, **attributes: str) -> onnx.ModelProto:
    b = Builder(0)
    made = b.model([2, 3], b("Gelu", "x", domain=domain, **attributes))
    made.opset_import[0].version = 20
    return made


@pytest.mark.parametrize(("order", "domain"), crossed(range(3), ["", "com.microsoft"], every=2))
def test_gelu_as_a_pattern(order: int, domain: str) -> None:
    b = Builder(0)
    made = b.model([2, 3], gelu(order)(b))
    made.opset_import[0].version = 20
    assert sonnx.equivalent(made, with_gelu(domain)).result.answer == ROUNDING
    assert sonnx.equivalent(made, with_gelu("", approximate="tanh")).result.answer == UNDECIDED


def test_operators_whose_roundings_are_not_stated_are_not_identical() -> None:
    assert sonnx.equivalent(with_gelu(""), with_gelu("com.microsoft")).result.answer == ROUNDING


@pytest.mark.parametrize("name", sorted(OWN))
def test_an_operator_may_have_the_name_of_a_term(name: str) -> None:
    def unknown(b: Builder) -> str:
        return b(name, "x")

    assert answer(unknown, lambda b: b("Identity", "x")).result.answer == UNDECIDED
    assert answer(unknown, lambda b: b("Add", b(name, "x"), b.constant(0))).result.answer in (UNDECIDED, ROUNDING)


def test_the_difference_of_two_implementations_on_a_box() -> None:
    first = chain(("Mul", 0.1), ("Add", 0.2), ("Relu", None))
    second = chain(
        ("Relu", None),
    )
    del second
    found = answer(first, lambda b: b("Identity", first(b)), box=["x=[-1,1]"]).result
    [output] = found.outputs
    assert output.difference is not None
    assert 0 < output.difference < 1e-6


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ([2, 4], "the input 'x' is float [2, 3] in the first model and float [2, 4]"),
        (["N", 3], "--bind or --input-shape"),
    ],
)
def test_models_with_other_inputs_are_refused_in_one_sentence(shape: list[int | str], sentence: str) -> None:
    made = []
    for each in ([2, 3], shape):
        b = Builder(0)
        made.append(b.model(each, b("Relu", "x")))
    with pytest.raises(sonnx.BadInput, match="the first model") as stop:
        sonnx.equivalent(*made)
    assert sentence in str(stop.value)


def test_renamed_inputs_and_outputs() -> None:
    b = Builder(0)
    model = b.model([2, 3], b("Relu", "x"))
    other = onnx.ModelProto()
    other.CopyFrom(model)
    other.graph.input[0].name = other.graph.node[0].input[0] = "image"
    with pytest.raises(sonnx.BadInput, match="--map"):
        sonnx.equivalent(model, other)
    assert sonnx.equivalent(model, other, renamed={"x": "image"}).result.answer == IDENTICAL


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = FAMILIES[0](1)
    files = [str(tmp_path / name) for name in ("a.onnx", "b.onnx")]
    onnx.save(model, files[0])
    onnx.save(optimized(model), files[1])
    assert run(["equivalent", *files]) == 0
    text = capsys.readouterr().out
    assert "equal up to rounding" in text
    assert "equivalence.output-scale" in text
    assert run(["equivalent", *files, "--identical", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["exit"] == 1
    assert len(found["result"]["constants"]) == 2
    assert run(["equivalent", files[0], files[0]]) == 0
    assert run(["equivalent", files[0], str(tmp_path / "none.onnx")]) == 2
    for form in ("markdown", "html", "sarif", "junit", "github"):
        assert run(["equivalent", *files, "--format", form]) == 0
        assert capsys.readouterr().out


def test_the_witness_is_written_whole_and_shows_the_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, operator in (("a", "Relu"), ("b", "Neg"), ("same", "Relu")):
        b = Builder(0)
        (tmp_path / f"{name}.onnx").write_bytes(b.model([2, 3], b(operator, "x")).SerializeToString())
    models = [str(tmp_path / name) for name in ("a.onnx", "b.onnx", "same.onnx")]
    folder = tmp_path / "shown"
    assert run(["equivalent", *models[:2], "--witness", str(folder), "--format", "json"]) == 1
    witness = json.loads(capsys.readouterr().out)["result"]["witness"]
    assert [each.name for each in folder.iterdir()] == ["x.npy"]
    given = {"x": np.load(folder / "x.npy")}
    values = [sonnx.run(model, given, unchecked=True).arrays["y"][tuple(witness["at"])] for model in models[:2]]
    assert values == [np.float32(witness["first"]), np.float32(witness["second"])]
    assert run(["equivalent", *models[:2], "--witness", str(folder)]) == 2
    other = tmp_path / "other"
    assert run(["equivalent", models[0], models[2], "--witness", str(other)]) == 0
    assert not other.exists() and [*tmp_path.glob(".*")] == []


@pytest.mark.parametrize("turned", [False, True])
def test_a_model_without_bounds_is_shown_different_from_one_with_bounds(turned: bool) -> None:
    """Clip with a minimum above the maximum has no bounds."""

    def clip(low: float, high: float) -> Built:
        return lambda b: b("Clip", "x", b.constant(low), b.constant(high))

    models = [clip(0.6, 0.2), clip(0.6, 4.0)]
    assert answer(*(reversed(models) if turned else models)).result.answer == DIFFERENT


def test_names_of_inputs_are_names_of_files() -> None:
    report = answer(chain(("Relu", None)), chain(("Neg", None)))
    renamed = dataclasses.replace(report, inputs={"../a/b": np.zeros(1, np.float32), "": np.zeros(1, np.float32)})
    assert [*renamed.witness_files()] == ["..%2Fa%2Fb.npy", ".npy"]


def test_every_axiom_is_used_and_is_a_theorem_or_assumed() -> None:
    theorems = {each.id for each in registry.theorems() if each.expected == "proved"}
    named = {each.theorem for each in axioms().values()} - {""}
    assert named <= theorems
    assert {each.id for module in (equivalence, identities) for each in module.theorems()} <= named
    package = Path(sonnx.equivalence.__file__).parent
    used = {
        name for file in package.rglob("*.py") for name in re.findall(r'rest_on\("([^"]+)"\)', file.read_text("utf-8"))
    }
    assert {name for name, each in axioms().items() if each.level != "real"} <= used <= axioms().keys()


def test_the_table_of_axioms_is_that_of_the_data() -> None:
    page = (ROOT / "docs" / "equivalence.md").read_text("utf-8")
    assert axiom_table.with_table(page) == page


def test_a_result_names_the_theorems_and_the_assumptions_it_rests_on() -> None:
    turned = answer(lambda b: b("Mul", "x", b.constant(3)), lambda b: b("Mul", b.constant(3), "x")).result
    assert (turned.theorems, turned.assumptions) == (("equivalence.commutative",), ())

    def product(transposed: int) -> Built:
        matrix = np.arange(9.0).reshape(3, 3)
        return lambda b: b("Gemm", "x", b.constant(matrix.T if transposed else matrix), transB=transposed)

    found = answer(product(0), product(1)).result
    assert found.answer == IDENTICAL
    assert found.assumptions == (axioms()["stored-matrix"].statement,)


def test_constants_in_graphs_keep_their_names() -> None:
    """Two bodies of a loop that differ in the names of two constants only."""
    made = []
    for names in (("a", "b"), ("b", "a")):
        constants = [
            numpy_helper.from_array(np.float32(value), name) for value, name in zip((1, 2), names, strict=True)
        ]
        graph = helper.make_graph(
            [helper.make_node("Sub", ["a", "b"], ["r"])], "g", [],
            [helper.make_tensor_value_info("r", TensorProto.FLOAT, [])], constants,
        )  # fmt: skip
        b = Builder(0)
        condition = b("Greater", b("ReduceMax", "x", keepdims=0), b.constant(0))
        made.append(b.model([2, 3], b("If", condition, then_branch=graph, else_branch=graph)).SerializeToString())
    assert sonnx.equivalent(*made).result.answer != IDENTICAL


def test_equal_files_with_other_external_data_are_not_one_model(tmp_path: Path) -> None:
    paths = []
    for weight in (1, 2):
        folder = tmp_path / str(weight)
        folder.mkdir()
        b = Builder(0)
        made = b.model([64], b("Add", "x", b.constant(np.full(64, weight))))
        path = folder / "model.onnx"
        onnx.save_model(made, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
        paths.append(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sonnx.equivalent(*paths).result.answer == DIFFERENT
    assert sonnx.diff(*paths).exit_code == 1
    same = sonnx.equivalent(paths[0], paths[0]).result
    assert (same.answer, same.same_content) == (IDENTICAL, True)
    (paths[1].parent / "weights.bin").write_bytes((paths[0].parent / "weights.bin").read_bytes())
    copied = sonnx.equivalent(*paths).result
    assert (copied.answer, copied.same_content) == (IDENTICAL, False)
    (paths[0].parent / "weights.bin").unlink()  # equal bytes of a model are not enough
    assert sonnx.equivalent(paths[0], paths[0]).result.answer not in (IDENTICAL, DIFFERENT)


def test_a_call_is_compared_once_whatever_its_outputs_are_declared_to_be(monkeypatch):
    asked = []
    defined = TermDomain._defined
    monkeypatch.setattr(
        TermDomain, "_defined", lambda self, call, *rest: asked.append(call) or defined(self, call, *rest)
    )
    texts = [
        f'<ir_version: 8, opset_import: ["": 13]> g (float[2] x) => (float[2] z) {known} {{ y = Relu(x) z = Abs(y) }}'
        for known in ("", "<float[2] y>")
    ]
    first, second = (onnx.parser.parse_model(text).SerializeToString() for text in texts)
    assert sonnx.equivalent(first, second).result.answer == IDENTICAL
    assert [call.operator for call in asked] == ["Relu", "Abs"]
