"""A call is prepared in one place: what runs, bounds and comparisons read of it is built by `PreparedCall`."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import onnx.parser
import pytest

from sonnx.base.errors import NotExecutable
from sonnx.executor.prepared_call import PreparedCall
from sonnx.graph.call import Calls
from sonnx.language.evaluator import RUN_TIME, TensorFacts
from sonnx.model.reader import read
from sonnx.model.scopes import Scope, imports_of
from sonnx.operators import gru
from sonnx.profile import catalogue
from tests.support.applications import applied
from tests.support.oracle import same
from tests.support.paths import ROOT

BUILDERS = {
    "sonnx/executor/prepared_call.py": "the calls of models",
    "sonnx/operators/recurrent_cells.py": "an activation inside a cell, which no node applies",
}
"""The modules that build an `Application`, each with what for."""

HEAD = '<ir_version: 10, opset_import: ["": 13]> '
CONV = (
    HEAD + "g (float[1,1,5,5] x, float[1,1,2,2] w) => (y) "
    '{ y = Conv <auto_pad = "SAME_UPPER", kernel_shape = [2, 2]> (x, w) }'
)


def test_one_module_builds_the_application_of_calls() -> None:
    building = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "sonnx").rglob("*.py")
        if "Application(" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Application"
    }
    assert building == BUILDERS.keys()


def call_of(text: str, *shapes: tuple[int, ...] | None) -> PreparedCall:
    """The first call of a model on float tensors of these shapes, None for one that is not known."""
    model = read(onnx.parser.parse_model(text).SerializeToString())
    calls = Calls(model, catalogue.edition_named(None), beyond_edition=True)
    call = calls.of(Scope("graph", model.graph, imports_of(model.imports)), model.graph.nodes[0])
    facts = [TensorFacts("float", RUN_TIME if shape is None else shape, RUN_TIME) for shape in shapes]
    return PreparedCall.of(call, facts)


def test_absent_attributes_have_the_value_that_their_absence_means() -> None:
    prepared = call_of(HEAD + "g (float[2,3] x) => (y) { y = Softmax (x) }", (2, 3))
    assert "axis" not in prepared.attributes
    assert prepared.application().names["axis"] == -1


def test_padding_is_made_explicit_where_shapes_are_known() -> None:
    written = call_of(CONV, (1, 1, 5, 5), (1, 1, 2, 2))
    explicit = written.explicit()
    assert (written.names["auto_pad"], explicit.names["auto_pad"]) == ("SAME_UPPER", "NOTSET")
    assert tuple(explicit.names["pads"]) == (0, 0, 1, 1)
    assert [facts.shape for facts in explicit.output_facts()] == [(1, 1, 5, 5)]
    assert explicit.attributes["auto_pad"].value == "NOTSET"


def test_padding_stays_as_written_where_a_shape_is_known_at_run_time_only() -> None:
    waiting = call_of(CONV, None, (1, 1, 2, 2)).explicit()
    assert waiting.awaits_values
    assert waiting.names["auto_pad"] == "SAME_UPPER"


def test_a_call_without_a_data_file_has_no_names() -> None:
    prepared = call_of(HEAD + "g (float[2] x) => (y) { y = Elu (x) }", (2,))
    application = prepared.application()
    assert (prepared.names, application.text, application.version) == ({}, "onnx", 13)


X = np.ones((2, 1, 3), np.float32)
W, R = (np.linspace(-1, 1, 6 * count, dtype=np.float32).reshape(1, 6, count) for count in (3, 2))


@pytest.mark.parametrize(
    ("operator", "version", "inputs", "parameter", "meaning"),
    [
        ("GRU", 7, [X, W, R], "layout", 0),  # version 14 adds it
        ("GRU", 1, [X, W, R], "linear_before_reset", 0),
        ("GRU", 14, [X, W, R], "activations", ("Sigmoid", "Tanh")),
        ("Cast", 13, [X], "saturate", 1),
        ("ScatterND", 11, [X, X, X], "reduction", "none"),
        ("Split", 1, [X], "axis", None),  # no text says it
        ("ConvTranspose", 11, [X, X], "strides", (1,)),
        ("HardSigmoid", 6, [X], "alpha", float(np.float32(0.2))),
        ("HardSigmoid", 6, [X], "beta", 0.5),
        ("LRN", 13, [X], "size", None),
        ("Gemm", 13, [X, X], "broadcast", None),  # version 7 removes it
    ],
)
def test_an_absent_attribute_means_what_the_data_say(
    operator: str, version: int, inputs: list[Any], parameter: str, meaning: object
) -> None:
    assert applied(operator, version, inputs).parameter(parameter) == meaning


@pytest.mark.parametrize("written", [{}, {"direction": "foward"}, {"direction": "forward"}])
def test_version_1_of_gru_spells_forward_wrongly(written: dict[str, str]) -> None:
    version_1, version_3 = (applied("GRU", version, [X, W, R], **written) for version in (1, 3))
    expected = gru.define(applied("GRU", 14, [X, W, R]), [X, W, R])
    assert same(gru.define(version_1, [X, W, R])[0], expected[0])
    if written == {"direction": "foward"}:
        with pytest.raises(NotExecutable, match="the direction 'foward' is not one of"):
            gru.define(version_3, [X, W, R])
