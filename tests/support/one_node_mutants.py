"""Pairs of models of one node: a node test of the onnx package, and the same with one attribute, the operator set or
one constant changed.  The inputs behind the first one are constants.  The judge runs both models exactly, or with the
reference implementation of the onnx package where the executor lacks an operator.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from sonnx.equivalence.decision import ModelComparison
from sonnx.equivalence.result import Answer
from sonnx.executor.distance import first_difference
from sonnx.executor.executor import ModelRunner
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.probes import probe
from sonnx.model.reader import read
from sonnx.operators import is_executable
from tests.support.node_tests import node_tests

Values = Mapping[str, np.ndarray[Any, Any]]
SETS, SEED = 5, 3
"""Sets of generated inputs of the judge beside the one of the node test, and their seed."""
CLEAR, CLOSE = 0.01, 1e-4
"""Relative distances: from which on a difference must be shown, and up to which roundings explain it."""


@dataclass(frozen=True)
class OneNodePair:
    """Two models of one node; `change` says what was changed, `given` is the input of the node test."""

    name: str
    change: str
    first: bytes
    second: bytes
    given: Values


def one_node_pairs() -> Iterator[OneNodePair]:
    """Every pair, test by test."""
    seen: dict[tuple[str, str], list[onnx.AttributeProto]] = {}
    tests = [case for case in node_tests() if len(case.model.graph.node) == 1 and _is_plain(case)]
    for case in tests:
        [node] = case.model.graph.node
        for attribute in node.attribute:
            listed = seen.setdefault((node.op_type, attribute.name), [])
            if attribute not in listed:
                listed.append(attribute)
    for case in tests:
        base, given = _with_constants(case)
        for change, changed in _changed(base, seen):
            yield OneNodePair(case.name, change, base.SerializeToString(), changed.SerializeToString(), given)


def _is_plain(case: Any) -> bool:
    """Whether all inputs and outputs are tensors, and there is an input."""
    inputs, outputs = case.data_sets[0]
    return bool(inputs) and all(isinstance(each, np.ndarray) for each in (*inputs, *outputs))


def _with_constants(case: Any) -> tuple[onnx.ModelProto, Values]:
    """The model with the inputs behind the first one as constants, and its input."""
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    inputs = list(model.graph.input)
    for value, array in list(zip(inputs, case.data_sets[0][0], strict=True))[1:]:
        constant = numpy_helper.from_array(array, value.name)
        constant.data_type = value.type.tensor_type.elem_type or constant.data_type
        model.graph.initializer.append(constant)
    model.ir_version = max(model.ir_version, 4)  # from which on a constant is not an input
    del model.graph.input[1:]
    for output in model.graph.output:  # a change may give another shape
        output.type.tensor_type.ClearField("shape")
    return model, {inputs[0].name: case.data_sets[0][0][0]}


def _changed(
    base: onnx.ModelProto, seen: Mapping[tuple[str, str], list[onnx.AttributeProto]]
) -> Iterator[tuple[str, onnx.ModelProto]]:
    """The model with one change each."""
    [node] = base.graph.node
    for index, attribute in enumerate(node.attribute):
        candidates = [each for each in seen[node.op_type, attribute.name] if each != attribute][:2]
        candidates += _near(attribute)
        for candidate in (None, *candidates):
            model = onnx.ModelProto.FromString(base.SerializeToString())
            del model.graph.node[0].attribute[index]
            if candidate is not None:
                model.graph.node[0].attribute.append(candidate)
            yield f"attribute {attribute.name}" if candidate is not None else f"without {attribute.name}", model
    for step in (-1, 1, -4):
        model = onnx.ModelProto.FromString(base.SerializeToString())
        model.opset_import[0].version += step
        yield f"operator set {step:+}", model
    for index, constant in enumerate(base.graph.initializer):
        array = numpy_helper.to_array(constant)
        if not array.size or array.dtype.kind not in "fiub":
            continue
        model = onnx.ModelProto.FromString(base.SerializeToString())
        array = array.copy()
        array.flat[0] = not array.flat[0] if array.dtype.kind == "b" else array.flat[0] + array.dtype.type(1)
        model.graph.initializer[index].CopyFrom(numpy_helper.from_array(array, constant.name))
        yield f"constant {index + 1}", model


def _near(attribute: onnx.AttributeProto) -> list[onnx.AttributeProto]:
    """The attribute with a number beside its own."""
    value = helper.get_attribute_value(attribute)
    if isinstance(value, int | float):
        return [helper.make_attribute(attribute.name, value + 1)]
    if isinstance(value, list) and value and isinstance(value[0], int | float):
        return [helper.make_attribute(attribute.name, [*value[:-1], value[-1] + 1])]
    return []


@dataclass(frozen=True)
class OneNodeJudgement:
    """What the runs show: whether any gave values, whether bits differ, the largest relative distance, and whether the
    executor ran both models.
    """

    ran: bool
    differs: bool
    distance: float
    exact: bool = False


def judged_one_node(pair: OneNodePair) -> OneNodeJudgement:
    """Run both models on the input of the node test and on generated ones."""
    try:
        runners = _runners(pair)
        inputs = required_inputs(read(pair.first))
        sets = [pair.given, *(probe(inputs, SEED, index) for index in range(SETS))]
    except Exception:  # noqa: BLE001  a mutant may be no model in many ways
        return OneNodeJudgement(False, False, 0.0)
    ran, differs, distance = False, False, 0.0
    for given in sets:
        one, other = (_values(runner, given) for runner in runners)
        if one is None or other is None:
            continue
        ran = True
        for name in one.keys() & other.keys():
            if _differ(one[name], other[name]):
                differs, distance = True, max(distance, _distance(one[name], other[name]))
    return OneNodeJudgement(ran, differs, distance, runners[0].func is _exact)


def _runners(pair: OneNodePair) -> list[partial[Values]]:
    """What runs each of both models; the same kind for both."""
    models = [read(data) for data in (pair.first, pair.second)]
    if all(is_executable(node) for model in models for node in model.graph.nodes):
        return [partial(_exact, ModelRunner(model, unchecked=True)) for model in models]
    return [partial(_reference, ReferenceEvaluator(data)) for data in (pair.first, pair.second)]


def _exact(runner: ModelRunner, given: dict[str, Any]) -> Values:
    return runner.run(given).values


def _reference(evaluator: ReferenceEvaluator, given: dict[str, Any]) -> Values:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        values = evaluator.run(None, given)
    return {name: np.asarray(value) for name, value in zip(evaluator.output_names, values, strict=True)}


def _values(run: Callable[[dict[str, Any]], Values], given: Values) -> Values | None:
    try:
        return run(dict(given))
    except Exception:  # noqa: BLE001  a mutant may have no value in many ways
        return None


def _differ(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Whether types, shapes or bits differ; texts are compared as they are."""
    if one.dtype.kind in "OUST" or one.dtype != other.dtype or one.shape != other.shape:
        return not np.array_equal(one, other) or one.dtype != other.dtype
    return first_difference(other, one) is not None


def _distance(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    """The largest distance relative to the largest finite value; infinite for other shapes, or texts."""
    if one.shape != other.shape or one.dtype != other.dtype or one.dtype.kind not in "fiub":
        return np.inf
    first, second = one.astype(np.float64), other.astype(np.float64)
    finite = np.isfinite(first) & np.isfinite(second)
    if not np.array_equal(first[~finite], second[~finite], equal_nan=True):
        return np.inf
    first, second = first[finite], second[finite]
    size = max(np.abs(each).max(initial=0) for each in (first, second))
    return float(np.abs(first - second).max(initial=0) / size) if size else 0.0


def refuted_one_node(pair: OneNodePair, comparison: ModelComparison, judgement: OneNodeJudgement) -> str:
    """Why an answer is wrong, "" where the runs do not refute it."""
    found = comparison.result
    if found.answer is Answer.DIFFERENT:
        return "" if judgement.differs or _is_confirmed(pair, comparison) else "no run shows a difference"
    if not found.proved or found.binding or not judgement.differs:
        return ""
    if found.answer is Answer.IDENTICAL:
        return f"bits differ; apart by {judgement.distance:.3g}"
    return f"apart by {judgement.distance:.3g}" if judgement.distance > CLOSE else ""


def _is_confirmed(pair: OneNodePair, comparison: ModelComparison) -> bool:
    """Whether the values at the input that shows the difference differ, or one model has none."""
    one, other = (_values(run, dict(comparison.inputs)) for run in _runners(pair))
    if one is None or other is None:
        return one is not other
    return any(_differ(one[each], other[each]) for each in one.keys() & other.keys())
