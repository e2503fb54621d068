"""Witnesses: models Z3 finds, judged by the checker and by the onnx package."""

from __future__ import annotations

import onnx
import pytest
import z3

from sonnx import check
from sonnx.model.reader import read
from sonnx.model.writer import Unwritable, element_number, write
from sonnx.profile.catalogue import editions, operators
from sonnx.proofs import derived
from sonnx.prover.signature_family import SignatureFamily, families
from sonnx.prover.smt_functions import ELEMENT_TYPES
from sonnx.prover.smt_values import bool_term
from sonnx.prover.solvers import find_model, script
from sonnx.prover.terms import variables_in
from sonnx.prover.theorem import ReplayFailed
from sonnx.prover.witness import CallInstance, confirm_broken, confirm_conforming, instance, judge
from tests.support.cases import each_case, spread
from tests.support.proved import chosen_operators

FAMILIES = [family for each in chosen_operators() for family in families(each, SignatureFamily.conformance)]
DEFAULT = [family for family in FAMILIES if family.edition == editions().default]


SMALL = 1 << 16
"""Above the numbers of a witness that onnx is asked about: it computes extents in 64 bits, and of Slice in float64."""


def conforming(family: SignatureFamily) -> tuple[CallInstance, bytes]:
    conditions = list(derived.conforming(family))
    numbers = [each for each in variables_in(*conditions) if z3.is_int(each)]
    values = find_model(script([*conditions, *(z3.And(each > -SMALL, each < SMALL) for each in numbers)]))
    assert values is not None
    assert "conforms" in confirm_conforming(
        family.signature, family.variables.interpretation.codes, values, family.edition
    )
    call, _ = judge(family.signature, family.variables.interpretation.codes, values, family.edition)
    return call, write(call.model())


@each_case("family", spread(FAMILIES, 25), ids=lambda family: family.label)
def test_a_conforming_call_is_accepted_by_onnx_too(family: SignatureFamily) -> None:
    _, data = conforming(family)
    try:
        onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
    except onnx.shape_inference.InferenceError as error:  # Pad admits axes of int32, which onnx's inference cannot read
        assert family.signature.operator == "Pad"
        assert "Expected:int64 Actual:int32" in str(error)


@each_case("element, length", [("float", 32), ("bfloat16", 16), ("uint64", 64), ("string", None), ("int4", 4)])
def test_a_constant_of_zeros_has_any_type(element: str, length: int | None) -> None:
    """Whether z3 chooses float or bfloat16 for weights must not decide whether they are constants."""
    [operator] = (operator for operator in operators() if operator.name == "LSTM")
    *_, family = families(operator, SignatureFamily.conformance)
    code = ELEMENT_TYPES.index(element)
    values = {"W.rank": 3, "W.0": 1, "W.1": 4, "W.2": 2, "W.type": code, "constant(W)": 1, "given(W)": 1}
    call = instance(family.signature, {}, values)
    [weights] = [tensor for tensor in call.model().graph.initializers if tensor.name == "x1"]
    assert (weights.element, weights.dims) == (element, (1, 4, 2))
    assert (None if weights.data is None else len(weights.data)) == length


def test_a_witness_that_breaks_another_rule_is_refused() -> None:
    family = next(each for each in DEFAULT if each.label == "ArgMax-13")
    rules = {rule.name: rule for rule in family.rules}
    flag = rules["keepdims-flag"]
    values = find_model(script([*derived.breaking(family, flag), bool_term(family.condition(flag).fails)]))
    assert values is not None
    with pytest.raises(ReplayFailed, match=r"should break ArgMax\.axis-range only"):
        confirm_broken(
            family.signature, rules["axis-range"], family.variables.interpretation.codes, values, family.edition
        )
    with pytest.raises(ReplayFailed, match="should conform"):
        confirm_conforming(family.signature, family.variables.interpretation.codes, values, family.edition)
    both = values | {"select_last_index": 2}
    with pytest.raises(ReplayFailed, match=r"break ArgMax\.keepdims-flag only .*ArgMax\.select-last-index-flag fail"):
        confirm_broken(family.signature, flag, family.variables.interpretation.codes, both, family.edition)


def test_a_theorem_replays_the_counterexample_of_its_own() -> None:
    theorem = next(each for each in derived.theorems() if each.id == "derived.Max-13.independent.broadcastable")
    assert theorem.replay is not None
    said = theorem.replay({"X.count": 2, "X[0].rank": 1, "X[0].0": 2, "X[1].rank": 1, "X[1].0": 3})
    assert "breaks Max.broadcastable only" in said
    with pytest.raises(ReplayFailed, match="cannot be completed"):
        theorem.replay({"X.count": 1, "X[0].rank": 0})


# Writing


MODEL = """
<ir_version: 10, opset_import: ["": 13, "local": 1], producer_name: "p", metadata_props: ["k": "v"]>
g (float[N, 2] a, bool c, float[] s) => (float[N, 2] y) <float[2] w = {1, 2}, int64[1] axes = {-1}, float[N, 2] t> {
    t = local.twice(a)
    y = If (c) <then_branch = b1 () => (float[N, 2] u) { u = Max(t, w) },
                else_branch = b2 () => (float[N, 2] v) { v = Max(a, s) }>
}
<domain: "local", opset_import: ["": 13]> twice (x) => (z) { z = Add(x, x) }
"""


def test_what_is_written_reads_the_same() -> None:
    model = read(onnx.parser.parse_model(MODEL).SerializeToString())
    again = read(write(model))
    assert again.graph.nodes == model.graph.nodes
    assert (again.functions, again.imports, again.metadata) == (model.functions, model.imports, model.metadata)
    assert [bytes(each.data or b"") for each in again.graph.initializers] == [
        bytes(each.data or b"") for each in model.graph.initializers
    ]
    assert write(again) == write(model)
    assert check(write(model)).counts == check(onnx.parser.parse_model(MODEL).SerializeToString()).counts


def test_what_is_not_kept_is_refused() -> None:
    model = onnx.helper.make_model(onnx.helper.make_graph([], "g", [], []))
    model.training_info.add()
    with pytest.raises(Unwritable, match="training"):
        write(read(model.SerializeToString()))


def test_element_types_have_the_numbers_of_onnx() -> None:
    assert element_number("float") == onnx.TensorProto.FLOAT
    assert element_number("bfloat16") == onnx.TensorProto.BFLOAT16
    assert element_number(None) == 0
    assert element_number("type 99") == 99
