"""What `sonnx bound` says of many small networks, one line each; `make recorded-bounds` records them, `make operator`
those of one operator.

A change of a bound, wider or narrower, is then seen by whoever makes it.  That bounds hold is tested elsewhere, by
values that implementations compute; these lines show what such tests cannot: that an allowance became smaller where no
implementation comes near it, or larger.

The networks are the correct calls of every operator, alone and between scaled values that all come from one input, and
the chains of the bounds campaign.  A line has the sums of the lower and upper ends, of the errors that the node
introduces, and of all errors, over the elements of an output with different weights; then the conditions.
"""

from __future__ import annotations

import random
import sys
import zlib
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from sonnx.base.errors import BadInput
from sonnx.bounds.analysis import bound_model
from sonnx.bounds.box import Interval
from sonnx.bounds.result import TensorBounds
from sonnx.model.reader import read
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.enclosures.values import NotBounded
from tests.support.cases import spread
from tests.support.fusions import TOPICS, model_of, network
from tests.support.paths import DATA
from tests.support.random_models import Kind, SampleCall, random_array, sample_calls

RECORDED = DATA / "recorded_bounds.txt"
FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
MOST_ELEMENTS = 400
CHAINS = 12
"""Networks of each topic."""
ASSUMED = ("ieee-any", "onnxruntime-cpu")
RANGES = {"around 0": (-2.0, 1.5), "positive": (0.25, 2.0), "within one": (-0.9, 0.9), "large": (-3000.0, 5000.0)}
"""The ends between which a box is drawn."""
HALVES = {"halves": (-2.0, 2.0)}
"""Ends of a box whose intervals end at halves: where functions have kinks, steps and ties."""


class Network(NamedTuple):
    """A model, a box, and the hypotheses under which it is bounded."""

    model: ModelProto
    box: dict[str, Interval]
    hypotheses: str


def groups() -> list[str]:
    """The operators and the topics of chains."""
    return [*sample_calls(), *TOPICS]


def networks(group: str, *, part: bool = False) -> Iterator[tuple[str, Network]]:
    """The networks of a group, by name; as a part some chains of each topic, and every third call with one range."""
    every = range(CHAINS if group in TOPICS else 0)
    for number in spread(every, 3) if part else every:
        drawn = network(np.random.default_rng([zlib.crc32(group.encode()), number]), group)
        rows = drawn.x.astype(float).reshape(len(drawn.x), 1, -1, *[1, 1] * TOPICS[group][1])
        box = {"x": Interval(rows.min(axis=0), rows.max(axis=0))}
        yield f"{group} {number}", Network(model_of(drawn), box, ASSUMED[number % 2])
    for number, call in enumerate(distinct(sample_calls().get(group, ()))):
        for place, (name, ends) in enumerate((RANGES | HALVES).items()):
            if part and (number % 3 or (place - number // 3) % 5):
                continue
            key = f"{group} {number}, {name}"
            chance, assumed = random.Random(key), ASSUMED[(number + place) % 2]
            yield f"{key}, alone", alone(chance, call, ends, assumed)
            if any(isinstance(kind, tuple) and kind[0] in FLOATS for kind in call.inputs):
                yield f"{key}, between scales", between_scales(chance, call, ends, assumed)


def distinct(calls: tuple[SampleCall, ...]) -> list[SampleCall]:
    """The calls that differ in their attributes, types or shapes, without those of many elements."""
    known = {}
    for call in calls:
        kinds = [kind for kind in (*call.inputs, *call.outputs) if isinstance(kind, tuple)]
        small = all(prod(shape) <= MOST_ELEMENTS for _, shape in kinds)
        if small and all(element != TensorProto.STRING for element, _ in kinds):
            known[str((call.operator_set, call.node.attribute, call.inputs, call.outputs))] = call
    return list(known.values())


def interval(chance: random.Random, kind: Kind, ends: tuple[float, float]) -> Interval:
    """A box of this shape: some intervals wide, some narrow, some points."""
    draw = np.random.default_rng(chance.getrandbits(32))
    element, shape = kind
    if element in FLOATS:
        two = np.sort(draw.uniform(*ends, (2, *shape)), axis=0)
        share = draw.choice([0.0, 2.0**-8, 1.0, 1.0], shape)
        two[1] = two[0] + share * (two[1] - two[0])
        two = np.round(2 * two) / 2 if ends in HALVES.values() else two
    else:
        whole = random_array(chance, element, shape).astype(float)
        two = np.stack([whole, whole + (draw.integers(0, 3, shape) if element != TensorProto.BOOL else 0)])
    rounded = two.astype(helper.tensor_dtype_to_np_dtype(element)).astype(float)
    return Interval(np.asarray(rounded[0]), np.asarray(rounded[1]))


def alone(chance: random.Random, call: SampleCall, ends: tuple[float, float], hypotheses: str) -> Network:
    """A model of the call alone."""
    names = [f"x{place}" if kind is not None else "" for place, kind in enumerate(call.inputs)]
    kinds = {name: kind for name, kind in zip(names, call.inputs, strict=True) if isinstance(kind, tuple)}
    box = {name: interval(chance, kind, ends) for name, kind in kinds.items()}
    return Network(_model(call, [_node(call, names)], kinds, _constants(call, names), _outputs(call)), box, hypotheses)


def between_scales(chance: random.Random, call: SampleCall, ends: tuple[float, float], hypotheses: str) -> Network:
    """The call on multiples of one input, so that its rows meet, and its first output in a weighted difference."""
    names = [f"x{place}" if kind is not None else "" for place, kind in enumerate(call.inputs)]
    constants, box, kinds, nodes = _constants(call, names), dict[str, Interval](), dict[str, Kind](), []
    element = next(kind[0] for kind in call.inputs if isinstance(kind, tuple) and kind[0] in FLOATS)
    dtype = helper.tensor_dtype_to_np_dtype(element)

    def constant(values: Any, name: str) -> str:
        constants.append(numpy_helper.from_array(np.asarray(values).astype(dtype), name))
        return name

    kinds["z"] = element, ()
    low, high = min(ends), max(ends)
    box["z"] = Interval(np.array(0.25), np.array(0.75))
    draw = np.random.default_rng(chance.getrandbits(32))
    for name, kind in zip(names, call.inputs, strict=True):
        if not isinstance(kind, tuple):
            continue
        if kind[0] != element:
            kinds[name], box[name] = kind, interval(chance, kind, ends)
            continue
        at = draw.uniform(low, high, (2, *kind[1]))  # the values at z = 0 and z = 1
        if ends in HALVES.values():
            first, last = np.round(2 * at) / 2  # the values at both ends of z
            at = np.stack([1.5 * first - 0.5 * last, 1.5 * last - 0.5 * first])
        nodes.append(helper.make_node("Mul", ["z", constant(at[1] - at[0], f"k_{name}")], [f"p_{name}"]))
        nodes.append(helper.make_node("Add", [f"p_{name}", constant(at[0], f"c_{name}")], [name]))
    nodes.append(_node(call, names))
    outputs, last = _outputs(call), call.outputs[0]
    if last is not None and last[0] == element and last[1]:
        weights = draw.uniform(-1, 1, last[1])
        nodes.append(helper.make_node("Mul", ["y0", constant(weights, "w")], ["v"]))
        nodes.append(helper.make_node("MatMul", ["v", constant(draw.uniform(-1, 1, last[1][-1]), "u")], ["y"]))
        outputs = {"y": (element, last[1][:-1]), **outputs}
    return Network(_model(call, nodes, kinds, constants, outputs), box, hypotheses)


def _node(call: SampleCall, names: list[str]) -> Any:
    results = [f"y{place}" if kind else "" for place, kind in enumerate(call.outputs)]
    node = helper.make_node(call.node.op_type, names, results, "n")
    node.attribute.extend(call.node.attribute)
    return node


def _constants(call: SampleCall, names: list[str]) -> list[TensorProto]:
    made = []
    for name, kind in zip(names, call.inputs, strict=True):
        if isinstance(kind, TensorProto):
            made.append(TensorProto())
            made[-1].CopyFrom(kind)
            made[-1].name = name
    return made


def _outputs(call: SampleCall) -> dict[str, Kind]:
    return {f"y{place}": kind for place, kind in enumerate(call.outputs) if kind}


def _model(
    call: SampleCall, nodes: list[Any], inputs: dict[str, Kind], constants: list[TensorProto], outputs: dict[str, Kind]
) -> ModelProto:
    given, results = (
        [helper.make_tensor_value_info(name, *kind) for name, kind in part.items()] for part in (inputs, outputs)
    )
    graph = helper.make_graph(nodes, "g", given, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", call.operator_set)], ir_version=10)


# ------------------------------------------------------------------ lines


def lines(group: str, *, part: bool = False) -> dict[str, str]:
    """The lines of the networks of a group by name, "" for one that has no bounds at all."""
    return {name: line(name, drawn) for name, drawn in networks(group, part=part)}


def line(name: str, drawn: Network) -> str:
    """The line of a network, "" where it has no bounds."""
    try:
        model = read(drawn.model.SerializeToString())
        found = bound_model(model, drawn.box, hypotheses_named(drawn.hypotheses), unchecked=True)
    except (NotBounded, BadInput):
        return ""
    conditions = sorted({f"{'' if each.holds else 'not '}{each.name}" for each in found.met})
    return f"{name}: {'; '.join([*map(_sums, found.outputs), *conditions])}"


def _sums(tensor: TensorBounds) -> str:
    if tensor.unbounded:
        return f"{tensor.name} no bound"
    parts = (weighted(getattr(tensor, part)) for part in ("low", "high", "introduced", "error"))
    return " ".join([tensor.name, *parts])


def weighted(values: Any) -> str:
    """A sum with weights that differ from element to element; how many are infinite beside it."""
    flat = np.asarray(values, float).reshape(-1)
    finite = np.isfinite(flat)
    weights = 1 + np.arange(flat.size) % 7
    total = f"{float((np.where(finite, flat, 0.0) * weights).sum()):.10g}"
    return total if finite.all() else f"{total} and {int((~finite).sum())} infinite"


def record(text: str, changed: Sequence[str]) -> str:
    """The recorded text with new lines for these groups, or for all groups if none is named."""
    kept = text.splitlines()
    written = [
        line
        for group in groups()
        for line in (
            lines(group).values()
            if group in changed or not changed
            else [line for line in kept if line.startswith(f"{group} ")]
        )
    ]
    return "".join(f"{line}\n" for line in written if line)


if __name__ == "__main__":
    RECORDED.write_text(record(RECORDED.read_text("utf-8"), sys.argv[1:]), "utf-8")
    print(f"{RECORDED}: written", file=sys.stderr)
