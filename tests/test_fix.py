"""Rewrites: what comes of a model, that its values stay by evaluators that are not ours, and nothing half done."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path

import numpy
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from sonnx.fix.fixing import fix
from sonnx.fix.record import every_kind, title
from sonnx.fix.samples import samples
from sonnx.parse import read
from sonnx.running import asked
from sonnx.selecting import every
from sonnx.verdict import Verdict

ROOT = Path(__file__).parent.parent
CASES = tomllib.loads((Path(__file__).parent / "fix_cases.toml").read_text("utf-8"))["case"]
PAGE = (ROOT / "docs" / "fix.md").read_text("utf-8")
ALL = pytest.mark.parametrize("case", CASES, ids=lambda case: case["title"])


def parsed(text: str) -> onnx.ModelProto:
    """A model from its text; a graph called "unnamed" has no name."""
    model = onnx.parser.parse_model(text)
    if model.graph.name == "unnamed":
        model.graph.name = ""
    return model


def fixed(case):
    data = parsed(case["before"]).SerializeToString()
    return fix(data, bind=case.get("bind"), **given(case))


def given(case):
    """What is asked for with the model."""
    return {
        "select": case.get("select", ()),
        "options": case.get("options", ()),
        "strict_versions": case.get("strict", False),
    }


def shown(model: onnx.ModelProto) -> dict:
    """All that a model says, without the order of initializers and declarations, and whichever field holds data."""
    graph = model.graph

    def tensor(it):
        return it.data_type, tuple(it.dims), numpy_helper.to_array(it).tobytes()

    def attribute(it):
        value = onnx.helper.get_attribute_value(it)
        return tensor(value) if it.type == onnx.AttributeProto.TENSOR else value

    def types(values):
        return {value.name: value.type.SerializeToString() for value in values}

    return {
        "format": (model.ir_version, [(each.domain, each.version) for each in model.opset_import], graph.name),
        "nodes": [
            (n.op_type, list(n.input), [o for o in n.output if o], {a.name: attribute(a) for a in n.attribute})
            for n in graph.node
        ],
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
    made, wanted = (shown(model) for model in (onnx.ModelProto.FromString(found.data), parsed(case["after"])))
    for part in case.get("only", wanted):
        assert made[part] == wanted[part], part
    assert list(dict.fromkeys(each.kind for each in found.rewrites)) == case["kinds"]


@ALL
def test_what_is_left_over(case):
    found = fixed(case)
    failing = {each.rule for each in found.after.roots if each.verdict is Verdict.FAIL}
    assert failing == set(case.get("left", ()))


@ALL
def test_another_evaluator_gives_the_same_values(case):
    """Independent of the executor that validates: every bit, for generated inputs with special values."""
    found, before = fixed(case), parsed(case["before"])
    if "bind" in case or case.get("oracle") == "none":
        return  # an evaluator of shapes with symbols has nothing to compare but what is bound
    if "sorted-nodes" in case["kinds"]:
        return  # the evaluator runs in the order of the file
    for values in samples(asked(read(before.SerializeToString())), 3):
        pair = []
        for model in (before, onnx.ModelProto.FromString(found.data)):
            names = {value.name for value in model.graph.input}
            inputs = {name: each for name, each in values.items() if name in names}
            with numpy.errstate(all="ignore"):
                pair.append(EVALUATORS[case.get("oracle", "onnx")](model).run(None, inputs))
        for one, other in zip(*pair, strict=True):
            assert (numpy.asarray(one).dtype, numpy.asarray(one).shape) == (other.dtype, other.shape)
            assert numpy.asarray(one).tobytes() == other.tobytes()


@ALL
def test_fixing_again_does_nothing(case):
    found = fixed(case)
    again = fix(found.data, **given(case))
    assert not again.rewrites
    assert again.data == found.data


@ALL
def test_the_same_input_gives_the_same_bytes(case):
    assert fixed(case).data == fixed(case).data


@ALL
def test_the_output_is_valid_onnx(case):
    if "left" not in case:
        onnx.checker.check_model(onnx.ModelProto.FromString(fixed(case).data), full_check=True)


@ALL
def test_no_rule_fails_that_did_not_fail_before(case):
    found = fixed(case)
    before, after = ({each.rule for each in report.roots} for report in (found.before, found.after))
    assert after <= before


def test_every_rewrite_has_a_case():
    made = {kind for case in CASES for kind in case["kinds"]} - {"bound-symbol"}
    assert made == every_kind().keys()


def test_every_rewrite_names_rules_that_exist():
    known = every()
    names = {*known, *(rule.name for rule in known.values())}
    for kind, module in every_kind().items():
        assert title(module), kind
        assert module.RULES, kind
        assert set(module.RULES) <= names, kind


# ------------------------------------------------------------------ the page


def table():
    """The program that makes the tables of docs/fix.md."""
    path = ROOT / "benchmarks" / "fix.py"
    found = importlib.util.spec_from_file_location("table", path)
    made = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    return made


def test_the_page_lists_every_rewrite():
    assert "".join(table().kinds()) in PAGE


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "models").glob("*.onnx")), ids=lambda path: path.stem)
def test_the_page_says_what_becomes_of_a_model(path):
    assert table().row(path, 1) in PAGE


def test_the_page_has_every_network_of_the_wheel():
    """One of them again as a whole; the others would take minutes."""
    networks = {path.stem: path for path in table().wheel()}
    assert len(networks) == 9
    assert all(f"| {name} |" in PAGE for name in networks)
    assert table().row(networks["light_squeezenet"], 1) in PAGE
