"""`Factors` name all factors of the terms that an implementation may compute: the hypothesis `collected` of
proofs/coq/collected_sums.v, for networks of operators that are fused, by multiplying out the networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
import pytest

from sonnx.bounds.analysis import Analyser
from sonnx.bounds.box import box_of_arrays
from sonnx.model.reader import read
from sonnx.numerics.enclosures import sums
from sonnx.numerics.enclosures.arithmetic import Factors
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.enclosures.values import SumRecord
from tests.support import fusions
from tests.support.cases import each_case, examples
from tests.support.fusions import Network, Stage

Array = Any
Term = tuple[float, ...]
WITHOUT_TERMS = ("Relu", "LeakyRelu", "LRN")
DISTRIBUTED = ("Mul", "Div", "Identity")
"""What leaves a product of an input and constants one."""
WALKS = 40


def root_of(stage: Stage) -> Array:
    """The square root in BatchNormalization."""
    return np.sqrt(stage.numbers[3].astype(float) + stage.attributes["epsilon"])


def after(stage: Stage, x: Array) -> Array:
    """The rows after a stage, in float64."""
    k = [array.astype(float) for array in stage.numbers]
    match stage.name:
        case "Mul" | "Div" | "Add" | "Sub":
            return {"Mul": np.multiply, "Div": np.divide, "Add": np.add, "Sub": np.subtract}[stage.name](x, k[0])
        case "MatMul":
            return x @ k[0]
        case "Conv":
            return x @ k[0] + k[1]
        case "Gemm":
            return stage.attributes["alpha"] * (x @ k[0]) + stage.attributes["beta"] * k[1]
        case "BatchNormalization":
            return (x - k[2]) / root_of(stage) * k[0] + k[1]
        case "ReduceSum" | "ReduceMean":
            return x.sum(1, keepdims=True) / (x.shape[1] if stage.name == "ReduceMean" else 1)
    return x


def at(array: Array, element: int) -> float:
    """An element of constants, one for all or one for each."""
    return float(array if array.ndim == 0 else array[element])


def walked(network: Network, source: np.random.Generator) -> Term:
    """The factors of a term of some element of the output, taken by chance: of the input or of an added constant."""
    x = network.x.astype(float)
    point, element = int(source.integers(len(x))), int(source.integers(x.shape[1]))
    term: Term = (x[point, element],)
    product = True
    for stage in network.stages:
        k, attributes = stage.numbers, stage.attributes
        n, x, before = x.shape[1], after(stage, x), x
        if stage.name in ("MatMul", "Conv", "Gemm"):
            if not product:
                term = (before[point, element],)
            output = int(source.integers(x.shape[1]))
            term = (*term, float(k[0][element, output]), *([attributes["alpha"]] if stage.name == "Gemm" else []))
            if stage.name != "MatMul" and source.integers(4) == 0:
                term = (float(k[1][output]), *([attributes["beta"]] if stage.name == "Gemm" else []))
            element = output
        elif stage.name in ("Mul", "Div"):
            factor = at(k[0], element)
            term = (*term, factor if stage.name == "Mul" else 1 / factor)
        elif stage.name in ("Add", "Sub"):
            term = (at(k[0], element),) if source.integers(2) else term
        elif stage.name == "BatchNormalization":
            root, scale = float(root_of(stage)[element]), at(k[0], element)
            parts = (scale / root,) if source.integers(2) else (1 / root, scale)
            term = ((*term, *parts), (at(k[2], element), *parts), (at(k[1], element),))[source.integers(3)]
        elif stage.name.startswith("Reduce"):
            term, element = (*term, *([1 / n] if stage.name == "ReduceMean" else [])), 0
        product = product and stage.name in DISTRIBUTED
    return term


def collected(factors: Factors, scalings: float, term: Term) -> bool:
    """The definition of the Coq file: what is left of a term without two factors, or one, and how many it has."""
    sizes = sorted((max(abs(factor), 1.0) for factor in term), reverse=True)
    within = prod(sizes[:-2]) <= factors.after_rounding and prod(sizes[:-1]) <= factors.after_operand
    return within and len(term) <= max(scalings + 1, len(factors.sizes))


def record_of(network: Network) -> SumRecord | None:
    """The sum that the analysis takes the output for; None where it has no bound, or is none."""
    model = read(fusions.model_of(network).SerializeToString())
    shape = (1, network.x.shape[1], *((1, 1) if network.image else ()))
    ends = (network.x.astype(float).min(axis=0).reshape(shape), network.x.astype(float).max(axis=0).reshape(shape))
    run = Analyser(model, hypotheses_named("ieee-any")).run(box_of_arrays(model, {"x": ends}))
    transfer = run.values[model.graph.outputs[0].name].transfer
    return None if transfer is None else transfer.sum


def walks(topic: str, count: int) -> Iterator[tuple[Network, SumRecord, Term]]:
    """Terms of random networks that are sums, with what the analysis says of these."""
    source = np.random.default_rng(5)
    for _ in range(count):
        network = fusions.network(source, topic)
        if any(stage.name in WITHOUT_TERMS for stage in network.stages):
            continue
        record = record_of(network)
        for _ in range(WALKS if record else 0):
            assert record is not None
            yield network, record, walked(network, source)


@each_case("topic", ["scaled sums", "constants", "convolutions", "normalization"])
def test_the_terms_of_fused_operators_have_factors_of_the_sizes(topic: str) -> None:
    counts = Counter[int]()
    for network, record, term in walks(topic, examples(70, 120)):
        names = [stage.name for stage in network.stages]
        assert collected(record.factors, record.scalings, term), (names, network.kind, term, record.factors)
        counts[len(term)] += 1
    assert sum(counts.values()) > 50 * WALKS
    assert sum(count for factors, count in counts.items() if factors > 2) > WALKS


def test_a_transfer_function_that_leaves_out_factors_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonnx.numerics.enclosures.bilinear.as_operand", lambda context, value: sums.term(value))
    assert not all(collected(record.factors, record.scalings, term) for _, record, term in walks("constants", 60))


def test_a_factor_that_is_left_out_is_noticed() -> None:
    factors = Factors.of(3.0).times(Factors.of_constant(5.0)).scaled(7.0, everywhere=True)
    assert collected(factors, 2, (3.0, 5.0, -7.0))
    assert not collected(factors, 2, (3.0, 5.0, 8.0))
    assert not collected(factors, 2, (2.0, 2.0, 2.0, 2.0))
    assert collected(factors.scaled(6.0, everywhere=True, steps=2), 4, (3.0, 5.0, 7.0, 2.0, 3.0))
