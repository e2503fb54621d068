"""Rewrites: the model that results, its values by independent evaluators, and what must not be rewritten."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy
import onnx
import onnx.parser
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from benchmarks import fix as table
from sonnx import fix
from sonnx.checker.verdicts import Verdict
from sonnx.evidence.rewrite_cases import rewrite_cases
from sonnx.executor.model_inputs import required_inputs
from sonnx.model.reader import read
from sonnx.profile import catalogue
from sonnx.profile.index import rules_by_slug
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.options import FixOptions
from sonnx.rewriter.passes import every_rewrite
from sonnx.rewriter.sample_inputs import sample_inputs
from tests.support.cases import DEEP, each_case

ROOT = Path(__file__).parent.parent.parent
CASES = rewrite_cases()
PAGES = "".join((ROOT / "docs" / name).read_text("utf-8") for name in ("fix.md", "measurements/rewriting.md"))
ALL = each_case("case", CASES, ids=lambda case: case.title)


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(text)


def original(case):
    return onnx.ModelProto.FromString(case.model_bytes())


def fixed_again(case, samples):
    data = original(case).SerializeToString()
    return fix(data, bind=case.bind or None, samples=samples, **given(case))


FIXED = {}


def fixed(case):
    """The result of a case, for all tests."""
    if case.title not in FIXED:
        FIXED[case.title] = fixed_again(case, samples=1)
    return FIXED[case.title]


def given(case):
    """The other options of `fix`."""
    return {name: value for name, value in case.options().items() if name != "bind"}


def shown(model: onnx.ModelProto) -> dict:
    """All that a model says, without the order of initializers and declarations, and whichever field holds data."""
    graph = model.graph

    def tensor(it):
        return it.data_type, tuple(it.dims), numpy_helper.to_array(it).tobytes()

    def attribute(it):
        value = onnx.helper.get_attribute_value(it)
        if it.type == onnx.AttributeProto.GRAPH:
            return inside(value)
        return tensor(value) if it.type == onnx.AttributeProto.TENSOR else value

    def nodes(it):
        return [
            (n.op_type, list(n.input), [o for o in n.output if o], {a.name: attribute(a) for a in n.attribute})
            for n in it.node
        ]

    def inside(it):
        constants = {each.name: tensor(each) for each in it.initializer}
        return it.name, nodes(it), types(it.input), types(it.output), constants

    def types(values):
        return {value.name: value.type.SerializeToString() for value in values}

    return {
        "format": (model.ir_version, [(each.domain, each.version) for each in model.opset_import], graph.name),
        "nodes": nodes(graph),
        "inputs": types(graph.input),
        "outputs": types(graph.output),
        "value_info": types(value for value in graph.value_info),
        "initializers": {each.name: tensor(each) for each in graph.initializer},
        "functions": [each.name for each in model.functions],
    }


def runtime(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


EVALUATORS = {"onnx": ReferenceEvaluator, "onnxruntime": runtime}


@ALL
def test_the_model_becomes(case):
    found = fixed(case)
    made, wanted = (shown(model) for model in (onnx.ModelProto.FromString(found.model_bytes()), parsed(case.after)))
    for part in case.only or wanted:
        assert made[part] == wanted[part], part
    assert list(dict.fromkeys(each.name for each in found.rewrites)) == [*case.rewrites]


@ALL
def test_the_model_is_the_same_function_for_all_inputs(case):
    answer = fixed(case).validation.for_all_inputs
    assert answer == case.function


@ALL
def test_the_remaining_failures(case):
    found = fixed(case)
    failing = {each.rule for each in found.after.roots if each.verdict is Verdict.FAIL}
    assert failing == set(case.remaining)


@ALL
def test_another_evaluator_gives_the_same_values(case):
    """Independent of the executor that validates: every bit, for generated inputs with special values."""
    found, before = fixed(case), original(case)
    if case.bind or case.oracle == "none":
        return  # an evaluator of shapes with symbols has nothing to compare but what is bound
    if "sorted-nodes" in case.rewrites:
        return  # the evaluator runs in the order of the file
    for values in sample_inputs(required_inputs(read(before.SerializeToString())), 3):
        pair = []
        for model in (before, onnx.ModelProto.FromString(found.model_bytes())):
            names = {value.name for value in model.graph.input}
            inputs = {name: each for name, each in values.items() if name in names}
            with numpy.errstate(all="ignore"):
                pair.append(EVALUATORS[case.oracle](model).run(None, inputs))
        for one, other in zip(*pair, strict=True):
            assert (numpy.asarray(one).dtype, numpy.asarray(one).shape) == (other.dtype, other.shape)
            assert numpy.asarray(one).tobytes() == other.tobytes()


@each_case("case", CASES if DEEP else CASES[::2], ids=lambda case: case.title)
def test_fixing_again_does_nothing(case):
    found = fixed(case)
    again = fix(found.model_bytes(), samples=0, **given(case))
    assert not again.rewrites
    assert again.model_bytes() == found.model_bytes()


@each_case("case", CASES if DEEP else CASES[1::4], ids=lambda case: case.title)
def test_the_same_input_gives_the_same_bytes(case):
    assert fixed_again(case, samples=0).model_bytes() == fixed(case).model_bytes()


@ALL
def test_the_output_is_valid_onnx(case):
    if not case.remaining:
        onnx.checker.check_model(onnx.ModelProto.FromString(fixed(case).model_bytes()), full_check=True)


@ALL
def test_no_rule_fails_that_did_not_fail_before(case):
    found = fixed(case)
    before, after = ({each.rule for each in report.roots} for report in (found.before, found.after))
    assert after <= before


def test_every_rewrite_has_a_case():
    made = {name for case in CASES for name in case.rewrites} - {"bound-symbol"}
    assert made == every_rewrite().keys()


def test_every_rewrite_names_rules_that_exist():
    known = rules_by_slug()
    names = {*known, *(rule.name for rule in known.values())}
    for name, rewrite in every_rewrite().items():
        assert rewrite.description.title, name
        assert rewrite.rules, name
        assert set(rewrite.rules) <= names, name


def test_the_option_of_a_rewrite_is_a_parameter():
    options = {rewrite.option for rewrite in every_rewrite().values()} - {""}
    assert options == {"fold_batch_normalization", "within_bound", "approximate"}
    assert options <= set(FixOptions.__struct_fields__)


OUTSIDE = {"Dropout", "DynamicQuantizeLinear", "Floor", "MatMulInteger", "Mean", "RNN", "Size", "Sum", "Upsample"}
"""Operators that the code of rewrites names and the profile does not describe."""


def test_every_operator_that_is_named_exists():
    named = {operator.value for operator in OperatorName}
    assert {name for name in named if catalogue.operator(name) is None} == OUTSIDE
    assert all(onnx.defs.has(name) for name in named)


def test_no_operator_is_named_elsewhere():
    """A string that is the name of an operator stands in one module of the rewriter only."""
    known = {schema.name for schema in onnx.defs.get_all_schemas()}
    for path in (ROOT / "sonnx" / "rewriter").rglob("*.py"):
        strings = {
            each.value for each in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(each, ast.Constant)
        }
        assert path.name == "operator_names.py" or not known & strings, path


# ------------------------------------------------------------------ sparse constants


def with_sparse(values, indices, dims, where):
    """A model whose sparse constant stands in an initializer or a node."""
    constant = "" if where == "initializer" else "w = Constant () "
    text = (
        f'<ir_version: 8, opset_import: ["" : 13]> g (float[2, 3] a) => (float[2, 3] y) {{ {constant} y = Max(a, w) }}'
    )
    model = onnx.parser.parse_model(text)
    sparse = onnx.SparseTensorProto(values=values, indices=indices, dims=dims)
    sparse.values.name, sparse.indices.name = "w", "i"
    if where == "initializer":
        model.graph.sparse_initializer.append(sparse)
    else:
        model.graph.node[0].attribute.append(helper.make_attribute("sparse_value", sparse))
    return model


def numbers(values, element=numpy.float32):
    return numpy_helper.from_array(numpy.array(values, element))


SPARSE = each_case("where", ["initializer", "node"])


@SPARSE
@each_case("seed", range(20))
def test_a_sparse_constant_becomes_the_dense_one(where, seed):
    """Any values with every bit, at any places, in both forms of indices, in typed and raw data, against numpy."""
    draw = numpy.random.default_rng(seed)
    dims = [[2, 3], [1, 3], [3], [1], []][seed % 5]
    size = int(numpy.prod(dims))
    places = numpy.flatnonzero(draw.random(size) < 0.6)
    bits = draw.integers(0, 1 << 32, len(places), numpy.uint32)
    values, wanted = bits.view(numpy.float32), numpy.zeros(size, numpy.uint32)
    for place, each in zip(places.tolist(), bits, strict=True):
        wanted[place] = each
    by_axis = numpy.stack(numpy.unravel_index(places, dims), 1) if seed % 2 and dims else places
    tensor = numbers(values)
    if seed % 3 == 0 and len(values):
        tensor.ClearField("raw_data")
        tensor.float_data.extend(1.5 + each for each in range(len(values)))
        wanted[places] = (1.5 + numpy.arange(len(places))).astype(numpy.float32).view(numpy.uint32)
    found = fix(with_sparse(tensor, numbers(by_axis, numpy.int64), dims, where).SerializeToString())
    made = onnx.ModelProto.FromString(found.model_bytes())
    [dense] = made.graph.initializer if where == "initializer" else [made.graph.node[0].attribute[0].t]
    assert (list(dense.dims), dense.data_type, dense.raw_data) == (dims, 1, wanted.astype("<u4").tobytes())
    assert not any(each.rule == "no-sparse-tensor" for each in found.after.roots)
    assert not made.graph.sparse_initializer


NOT_DENSE = {
    "a place outside": ([1], [6], [2, 3]),
    "a negative place": ([1], [-1], [2, 3]),
    "an index outside its axis": ([1], [[0, 3]], [2, 3]),
    "a place twice": ([1, 2], [4, 4], [2, 3]),
    "places that descend": ([1, 2], [4, 1], [2, 3]),
    "more values than places": ([1, 2], [4], [2, 3]),
    "an index too many": ([1], [[0, 1, 1]], [2, 3]),
    "a negative dimension": ([1], [0], [-2, -3]),
    "more than 64 MiB": ([1], [0], [1 << 12, (1 << 12) + 1]),
    "more than any memory": ([1], [0], [1 << 62, 1 << 62]),
    "a place where nothing is": ([1], [0], [0, 1 << 62, 1 << 62]),
}


@SPARSE
@each_case("why", NOT_DENSE)
def test_a_sparse_constant_that_leaves_something_open_stays(where, why):
    values, indices, dims = NOT_DENSE[why]
    model = with_sparse(numbers(values), numbers(indices, numpy.int64), dims, where)
    found = fix(model.SerializeToString(), samples=1)
    assert "no-sparse-tensor" in {each.rule for each in found.after.roots}
    made = onnx.ModelProto.FromString(found.model_bytes())
    kept, before = (
        each.graph.sparse_initializer[0] if where == "initializer" else each.graph.node[0].attribute[0].sparse_tensor
        for each in (made, model)
    )
    assert kept == before


def test_indices_of_another_type_and_a_constant_the_caller_may_give_stay():
    wrong = with_sparse(numbers([1]), numbers([0], numpy.int32), [2, 3], "initializer")
    given = with_sparse(numbers([1]), numbers([0], numpy.int64), [2, 3], "initializer")
    given.graph.input.append(helper.make_tensor_value_info("w", 1, [2, 3]))
    for model in (wrong, given):
        assert "dense-constants" not in {each.name for each in fix(model.SerializeToString(), samples=1).rewrites}


# ------------------------------------------------------------------ names of nodes


def test_nodes_that_take_the_place_of_one_have_names_of_their_own():
    text = """<ir_version: 8, opset_import: ["" : 11]>
        g (float[1, 4, 3, 3] x) => (float[1, 4, 3, 3] y) <float[4, 2, 1, 1] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
            m = Conv <group = 2> (x, w)
            y = Conv <group = 2> (m, w)
        }"""
    model = onnx.parser.parse_model(text)
    model.graph.node[0].name, model.graph.node[1].name = "conv", "conv_2"
    found = fix(model.SerializeToString())
    assert found.after.verdict == "pass"
    names = [node.name for node in onnx.ModelProto.FromString(found.model_bytes()).graph.node if node.name]
    assert {"conv", "conv_2"} < set(names)
    assert len(set(names)) == len(names)


# ------------------------------------------------------------------ the page


def test_the_page_lists_every_rewrite(monkeypatch):
    """In a run that is not deep without the number of nodes, for which every case is rewritten."""
    if DEEP:
        assert "".join(table.rewrites()) in PAGES
    monkeypatch.setattr(table, "nodes_for_one", dict)
    rows = [row.removesuffix(" |\n") for row in table.rewrites()]
    assert [row for row in rows if f"\n{row}" not in PAGES] == []
    assert PAGES.index(rows[-1]) - PAGES.index(rows[0]) < sum(len(row) + 30 for row in rows)


@each_case("path", sorted((ROOT / "tests" / "models").glob("*.onnx")), ids=lambda path: path.stem)
def test_the_page_says_what_becomes_of_a_model(path):
    assert table.row(path, 1) in PAGES


def test_the_page_has_every_network_of_the_onnx_package():
    """One of them is fixed again; the others would take minutes."""
    networks = {path.stem: path for path in table.light_networks()}
    assert len(networks) == 9
    assert all(f"| {name} |" in PAGES for name in networks)
    assert table.row(networks["light_squeezenet"], 1) in PAGES


@each_case("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_samples_have_both_ends_of_an_integer_type(kind):
    ready = read(
        parsed(
            f'<ir_version: 8, opset_import: ["": 17]> g ({kind}[800] x) => (y) {{ y = Identity(x) }}'
        ).SerializeToString()
    )
    drawn = numpy.concatenate([values["x"] for values in sample_inputs(required_inputs(ready), 3)])
    limits = numpy.iinfo(kind)
    assert (drawn.min(), drawn.max()) == (limits.min, limits.max)
