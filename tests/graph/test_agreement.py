"""Check, prove and run agree on random models over every operator, in every form of constants, scopes and functions."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from typing import Any

import onnx
import pytest
from onnx import numpy_helper

import sonnx
from sonnx.checker.report import Report
from sonnx.checker.request import CheckRequest, check_model
from sonnx.checker.verdicts import Verdict
from sonnx.language.evaluator import Evaluator
from sonnx.language.parser import parse
from sonnx.model.reader import read
from sonnx.model.symbols import bind_symbols
from sonnx.numerics.formats import Array
from sonnx.profile import catalogue
from sonnx.prover.model_walk import prove_model
from tests.support.cases import each_case
from tests.support.random_models import (
    CONSTANTS,
    PLANNED,
    RandomModel,
    in_function,
    in_if,
    in_loop,
    perturbed,
    random_model,
    sample_calls,
    with_symbols,
)

NO_CHOICE = "no choice of sizes satisfies all conditions"
OPEN = (Verdict.ASSUMED, Verdict.UNDECIDED, Verdict.FAIL)


REFUSED = {
    "Erf": "of integers",
    "GRU": "of sequences that end early",
    "Mod": "by 0",
    "ScatterND": "that writes one place twice",
}
"""Calls that ONNX admits, or has no rule about, and the executor does not run, by planned operator."""


def drawn(seed: int, size: int = 4) -> tuple[random.Random, RandomModel]:
    """A random model; each operator comes first in turn, and half of the models are perturbed."""
    chance, operators = random.Random(seed), tuple(sample_calls())
    model = random_model(chance, operators[seed % len(operators)], size, seed % 2 == 1)
    for _ in range(chance.choice((0, 0, 1, 2))):
        perturbed(chance, model)
    return chance, model


def operator_findings(report: Report) -> dict[tuple[str, str], Verdict]:
    """The findings about nodes by name of the node and rule; rules of operators only."""
    return {
        (finding.where.name, finding.rule): finding.verdict
        for finding in report.findings
        if finding.where.kind == "node" and "." in finding.rule and not finding.where.name.startswith("of ")
    }


def outcome(source: bytes, arrays: Mapping[str, Array], **options: Any) -> dict[str, Array] | sonnx.Stop:
    """The outputs, or what stops the run."""
    try:
        return dict(sonnx.run(source, arrays, **options))
    except sonnx.Stop as stop:
        return stop


def same_outcome(one: dict[str, Array] | sonnx.Stop, other: dict[str, Array] | sonnx.Stop) -> bool:
    """Whether two runs give the same bits, or stop for the same reason."""
    if isinstance(one, sonnx.ErrorCondition) and isinstance(other, sonnx.ErrorCondition):
        return one.rule == other.rule
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = zip(one.values(), other.values(), strict=True)
        return one.keys() == other.keys() and all(
            (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes() for a, b in pairs
        )
    return type(one) is type(other)


def run_disagrees(seed: int) -> Iterator[str]:
    """A conforming model stops only at a rule that the check assumed, and an unchecked run gives the same."""
    chance, model = drawn(seed)
    source, arrays = model.proto().SerializeToString(), model.arrays(chance)
    report = sonnx.check(source)
    found = operator_findings(report)
    roots = {finding.rule for finding in report.roots if finding.verdict is not Verdict.ASSUMED}
    unchecked = outcome(source, arrays, unchecked=True)
    broken = Verdict.FAIL in found.values()  # what is computed behind it is not what is declared
    if isinstance(unchecked, sonnx.ErrorCondition) and not broken and unchecked.rule not in {rule for _, rule in found}:
        yield f"unchecked run stops: {unchecked}, the check passes the rule"
    known = any(f"({operator}, " in str(unchecked) for operator in REFUSED)
    if roots <= {PLANNED} and isinstance(unchecked, sonnx.NotExecutable) and not known:
        yield f"only {roots} fails, and the unchecked run stops: {unchecked}"
    if report.verdict not in (Verdict.PASS, Verdict.ASSUMED):
        return
    checked = outcome(source, arrays)
    if isinstance(checked, dict):
        for name, array in checked.items():
            element, shape = model.kinds[name]
            if numpy_helper.from_array(array).data_type != element or array.shape != shape:
                yield f"{name} is {array.dtype}{array.shape}, declared {shape}"
        if not same_outcome(checked, unchecked):
            yield f"the unchecked run gives {unchecked}"
    elif not isinstance(checked, sonnx.ErrorCondition):
        yield f"a conforming model stops: {checked!r}"
    elif checked.rule not in {finding.rule for finding in report.findings if finding.verdict is Verdict.ASSUMED}:
        yield f"a conforming model stops at a rule that was not assumed: {checked}"
    yield from _decided(model, arrays, found, checked)


def _decided(
    model: RandomModel,
    arrays: Mapping[str, Array],
    assumed: Mapping[tuple[str, str], Verdict],
    checked: dict[str, Array] | sonnx.Stop,
) -> Iterator[str]:
    """With the inputs as constants the check decides what it assumed, as the run did."""
    proto = model.proto()
    del proto.graph.input[:]
    proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    found = operator_findings(sonnx.check(proto.SerializeToString()))
    failed = {rule for (node, rule), verdict in found.items() if verdict is Verdict.FAIL and (node, rule) in assumed}
    if isinstance(checked, dict) and failed:
        yield f"the run does not stop, and {failed} fail on the values"
    if isinstance(checked, sonnx.ErrorCondition):
        still = {rule for (_, rule), verdict in found.items() if verdict in OPEN}
        if checked.rule not in still:
            yield f"the run stops: {checked}, the check passes the rule on the values"


def forms_disagree(seed: int) -> Iterator[str]:
    """The forms of a constant mean the same, but for defaults, which a caller may replace."""
    chance, model = drawn(seed)
    arrays = model.arrays(chance)
    sources = {form: model.proto(form).SerializeToString() for form in CONSTANTS}
    found = {form: operator_findings(sonnx.check(source)) for form, source in sources.items()}
    if found["initializer"] != found["node"]:
        yield f"initializers {found['initializer']}, outputs of Constant {found['node']}"
    failing = {node for (node, _), verdict in found["initializer"].items() if verdict is Verdict.FAIL}
    for key, verdict in found["default"].items():
        if "declared" in key[1] and key[0] in failing:
            continue  # two declarations contradict each other; with the constant the shape rule of the output says so
        if verdict is Verdict.FAIL and found["initializer"].get(key) is not Verdict.FAIL and "constant" not in key[1]:
            yield f"{key} fails for a default value, not for the constant"
    for key, verdict in found["initializer"].items():
        if verdict is Verdict.FAIL and key not in found["default"]:
            yield f"{key} fails for a constant, and passes for a default value"
    wanted = outcome(sources["initializer"], arrays, unchecked=True)
    for form in ("node", "default"):
        got = outcome(sources[form], arrays, unchecked=True)
        if not same_outcome(wanted, got):
            yield f"{form}: {got!r}, not {wanted!r}"


def scopes_disagree(seed: int) -> Iterator[str]:
    """A node inside If, Loop or a function has the findings and the values that it has outside."""
    chance, model = drawn(seed)
    flat = model.proto()
    arrays = model.arrays(chance)
    wanted, before = outcome(flat.SerializeToString(), arrays, unchecked=True), sonnx.check(flat.SerializeToString())
    nodes, functions, hidden = list[onnx.NodeProto](), list[onnx.FunctionProto](), set[str]()
    for node in model.nodes:
        form = chance.choice(("plain", "if", "loop", "function"))
        if form == "if" and any(node.output):
            nodes += in_if(chance, model, node)
        elif form == "loop" and any(node.output):
            nodes += in_loop(chance, model, node)
        elif form == "function":
            call, function = in_function(model, node)
            nodes.append(call)
            functions.append(function)
            hidden.add(node.name)
        else:
            nodes.append(node)
    proto = model.proto(nodes=nodes)
    proto.functions.extend(functions)
    if functions:
        proto.opset_import.append(onnx.helper.make_opsetid("own", 1))
    after = operator_findings(sonnx.check(proto.SerializeToString()))
    same = {key: verdict for key, verdict in operator_findings(before).items() if key[0] not in hidden}
    if same != {key: each for key, each in after.items() if key[0] not in hidden}:
        yield f"findings {same}, in scopes {after}"
    got = outcome(proto.SerializeToString(), arrays, unchecked=True)
    if not same_outcome(wanted, got):
        yield f"{got!r}, not {wanted!r}"


def proof_disagrees(seed: int, most: int = 2, bound: int = 3) -> Iterator[str]:
    """The conditions of a proof hold for exactly the bindings under which the rules hold."""
    chance, model = drawn(seed, 3)
    numbers = with_symbols(chance, model, most)
    source = model.proto().SerializeToString()
    proof, read_once = prove_model(source), read(source)
    named = {(each.where.name, each.rule): each for each in proof.refuted}
    unproved = {each.rule for each in (*proof.refuted, *proof.open)} | {e.rule for e in proof.rules if e.waiting}
    proved = {each.rule for each in proof.rules if each.proved} - unproved
    whole = not proof.open and not any("wait" in note for note in proof.notes)
    ranges = [sorted({*range(1, bound + 1), numbers[name]}) for name in proof.symbols]
    for values in itertools.product(*ranges):
        binding = dict(zip(proof.symbols, values, strict=True))
        bound_model = bind_symbols(read_once, binding) if binding else read_once
        found = operator_findings(check_model(bound_model, "", CheckRequest(), "model"))
        failing = {key for key, verdict in found.items() if verdict is Verdict.FAIL}
        if wrong := {rule for _, rule in failing} & proved:
            yield f"{wrong} are proved, and fail for {binding}"
        for key, each in named.items():
            holds = False if each.always else _holds(each.constraint, binding)
            verdict = found.get(key)
            if holds is not None and verdict is not Verdict.UNDECIDED and (verdict is Verdict.FAIL) is holds:
                yield f"{key} is {verdict} for {binding}, its condition {each.constraint!r} is {holds}"
        holds = _holds(proof.constraint, binding) if proof.refuted else True
        if whole and holds is not None and not any(each.always for each in proof.refuted) and holds is bool(failing):
            yield f"{failing} for {binding}, the condition {proof.constraint!r} is {holds}"
    for each in proof.open:
        if "defect" in each.reason:
            yield each.reason


def _holds(constraint: str, binding: Mapping[str, int]) -> bool | None:
    """Whether a condition on symbols holds, None where it has no text."""
    return bool(parse(constraint).evaluate(Evaluator(), binding)) if constraint and constraint != NO_CHOICE else None


PROPERTIES = {
    "run": (run_disagrees, 63),
    "forms": (forms_disagree, 10),
    "scopes": (scopes_disagree, 16),
    "proof": (proof_disagrees, 6),
}
"""Each property, with the number of models that `make test` draws."""
BLOCK, BLOCKS = 250, 6
"""Models of one campaign, and campaigns of each property."""


def disagreements(name: str, seeds: range) -> list[str]:
    """What disagrees, with the seed of the model."""
    return [f"{seed}: {each[:600]}" for seed in seeds for each in PROPERTIES[name][0](seed)]


def test_every_operator_is_drawn() -> None:
    assert sample_calls().keys() == {operator.name for operator in catalogue.operators()}


@each_case("name", PROPERTIES)
def test_check_prove_and_run_agree(name: str) -> None:
    assert disagreements(name, range(PROPERTIES[name][1])) == []


@pytest.mark.campaign
@pytest.mark.parametrize("block", range(1, BLOCKS + 1))
@pytest.mark.parametrize("name", PROPERTIES)
def test_many_models_agree(name: str, block: int) -> None:
    assert disagreements(name, range(BLOCK * block, BLOCK * (block + 1))) == []
