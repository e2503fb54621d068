"""Bounds of random models of all operators, against the values that the executor and onnxruntime compute.

    python -m tests.support.bounded_models --seconds 600

A box is drawn around random inputs; the model is run at its corners, its middle and inside.  Every tensor is compared.
The chains of `fusions.py` search what optimizers fuse; these models search the operators beside each other.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper

import sonnx
from sonnx.base.errors import BadInput, Stop, UsageError
from sonnx.bounds.analysis import Analyser, tightened
from sonnx.bounds.box import Box, box_of_arrays
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named, predefined
from sonnx.numerics.enclosures.values import NotBounded, Value
from sonnx.numerics.formats import Array
from tests.support.random_models import RandomModel, random_model, sample_calls
from tests.support.recorded_bounds import FLOATS

RADII = (0.0, 1e-3, 0.1, 1.0)
SIZES = (2, 3, 4, 6)
"""How many nodes a model has."""
SHARES = (0.0, 0.5, 1.0)
"""The corners and the middle of a box."""
RUNS = 3
EXCLUDED = {"ConvInteger", "QuantizeLinear", "DequantizeLinear", "ArgMax", "ReduceMax", "Max", "Min"}
"""Operators in which onnxruntime deviates from the texts, or whose kernels the hypotheses exclude (runtimes.md)."""


class Bounded(NamedTuple):
    """A random model, a box, and the value of each tensor: as it came, and of outputs by the adjoint pass too."""

    model: RandomModel
    box: Box
    hypotheses: str
    values: list[tuple[str, Value]]


def bounded_model(seed: int) -> Bounded | None:
    """A model with its bounds; None where it has none."""
    chance, draw = random.Random(seed), np.random.default_rng(seed)
    operators = sorted(sample_calls())
    model = random_model(chance, operators[seed % len(operators)], chance.choice(SIZES), True)
    kinds = {name: model.kinds[name][0] for name in model.inputs}
    if TensorProto.STRING in kinds.values():
        return None
    radius, hypotheses = chance.choice(RADII), chance.choice(list(predefined()))
    ends = {name: _ends(draw, array, radius * (kinds[name] in FLOATS)) for name, array in model.arrays(chance).items()}
    try:
        ready = read(model.proto().SerializeToString())
        box = box_of_arrays(ready, ends)
        analyser = Analyser(ready, hypotheses_named(hypotheses))
        run = analyser.run(box)
        if seed // len(operators) % 2:
            run = analyser.around_reference(box, run)
    except (NotBounded, BadInput, Stop, UsageError):
        return None
    final = [(name, tightened(run, name)) for name in model.outputs if name in run.values]
    return Bounded(model, box, hypotheses, [*run.values.items(), *final])


def _ends(draw: np.random.Generator, middle: Array, radius: float) -> tuple[Array, Array]:
    wide = middle.astype(float)
    reach = radius * draw.uniform(0, 1, wide.shape)
    ends = [(wide + sign * reach).astype(middle.dtype).astype(float) for sign in (-1, 1)]
    return np.minimum(*ends), np.maximum(*ends)


def points(made: Bounded, seed: int) -> Iterator[dict[str, Array]]:
    """Inputs inside the box."""
    draw = np.random.default_rng(seed)
    for number in range(RUNS):
        given = {}
        for name, each in made.box.items():
            kind = element_type(made.model, name)
            share = draw.choice(SHARES, each.low.shape) if number else draw.uniform(0, 1, each.low.shape)
            drawn = (each.low + (each.high - each.low) * share).astype(kind).astype(float)
            given[name] = np.asarray(np.clip(drawn, each.low, each.high)).astype(kind)
        yield given


def element_type(model: RandomModel, name: str) -> np.dtype[Any]:
    """The element type of a value."""
    return helper.tensor_dtype_to_np_dtype(model.kinds[name][0])


def outside(made: Bounded, computed: Mapping[str, Any]) -> Iterator[str]:
    """The tensors with an element outside its bound, each in a sentence."""
    for name, value in made.values:
        if value.unbounded or not isinstance(computed.get(name), np.ndarray):
            continue
        actual = computed[name].astype(float)
        if actual.shape != value.shape:
            yield f"{name} has the shape {actual.shape}, its bound {value.shape}"
        elif not (inside := (value.low - value.error <= actual) & (actual <= value.high + value.error)).all():
            at = int(np.flatnonzero(~inside.reshape(-1))[0])
            found, low, high, error = (
                float(each.reshape(-1)[at]) for each in (actual, value.low, value.high, value.error)
            )
            yield f"{name} at {at}: {found!r} is outside [{low!r}, {high!r}] by more than {error!r}"


def exact_values(made: Bounded, given: dict[str, Array]) -> Mapping[str, Any]:
    """The value of each tensor by the executor; none where there is no value."""
    try:
        return sonnx.run(made.model.proto().SerializeToString(), given, unchecked=True, all_values=True)
    except (Stop, UsageError):
        return {}


def _computed_by_onnxruntime(made: Bounded, given: dict[str, Array], level: int) -> Mapping[str, Any]:
    onnxruntime = import_module("onnxruntime")
    if EXCLUDED & {node.op_type for node in made.model.nodes}:
        return {}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = (levels.ORT_DISABLE_ALL, levels.ORT_ENABLE_ALL)[level]
    try:
        session = onnxruntime.InferenceSession(made.model.proto().SerializeToString(), options)
        return dict(zip([each.name for each in session.get_outputs()], session.run(None, given), strict=True))
    except Exception:  # noqa: BLE001  # an operator or a type that it does not have
        return {}


def main() -> int:
    """Draw models until the time is over; 1 if a value is outside its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    counts, end, seed = Counter[str](), time.monotonic() + options.seconds, options.first
    while time.monotonic() < end:
        seed += 1
        made = bounded_model(seed)
        if made is None:
            counts["models without bounds"] += 1
            continue
        counts["models"] += 1
        for given in points(made, seed):
            all_computed = [exact_values(made, given)]
            if made.hypotheses == "onnxruntime-cpu":
                all_computed.append(_computed_by_onnxruntime(made, given, seed % 2))
            for computed in all_computed:
                counts["values"] += sum(each.size for each in computed.values() if isinstance(each, np.ndarray))
                for sentence in outside(made, computed):
                    counts["outside"] += 1
                    operators = ", ".join(node.op_type for node in made.model.nodes)
                    print(f"seed {seed} ({operators}), {made.hypotheses}: {sentence}", flush=True)
    print(", ".join(f"{number:,} {what}" for what, number in counts.items()))
    return int(counts["outside"] > 0)


if __name__ == "__main__":
    sys.exit(main())
