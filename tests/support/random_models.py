"""Random models over every operator of the catalogue, and the same models written in other ways.

The calls are those of the conforming cases of restrictions/cases: an operator, its attributes, and the types and shapes
of its inputs and outputs.  A model takes the values of earlier calls where type and shape fit.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import numpy
import onnx
import onnx.parser
from google.protobuf import text_format
from onnx import TensorProto, helper, numpy_helper

from sonnx.numerics.formats import Array
from sonnx.profile import catalogue
from sonnx.profile.cases import RuleCase, all_cases

Kind: TypeAlias = tuple[int, tuple[int, ...]]
"""ONNX's number of an element type, and a shape."""

PLANNED = "operator-in-profile"
"""The one rule that a correct call of a planned operator fails."""

CONSTANT_OF_ANY_TYPE = 9
"""The operator set from which on Constant gives tensors of integers and bool."""

CONSTANTS = ("initializer", "node", "default")
"""The forms of a constant: an initializer, the output of Constant, the default of a graph input."""


@dataclass(frozen=True)
class SampleCall:
    """A correct call: `inputs` are a type and shape, a constant, or None where one is left out."""

    node: onnx.NodeProto
    operator_set: int
    inputs: tuple[Kind | onnx.TensorProto | None, ...]
    outputs: tuple[Kind | None, ...]


@cache
def sample_calls() -> Mapping[str, tuple[SampleCall, ...]]:
    """The calls of the cases in which every rule of their operator holds, by operator."""
    found = defaultdict[str, list[SampleCall]](list)
    for case in all_cases():
        if _conforms(case):
            for call in _calls(case):
                found[call.node.op_type].append(call)
    return {operator: tuple(calls) for operator, calls in sorted(found.items())}


def _conforms(case: RuleCase) -> bool:
    default = catalogue.editions().default
    expected = case.expected.get(default, case.expected.get("", {}))
    broken = {rule for what in ("invalid", "violates", "undecided", "not-checked") for rule in expected.get(what, ())}
    return broken <= {PLANNED} and not case.append


def _calls(case: RuleCase) -> Iterator[SampleCall]:
    onnx_text = case.language == "onnx"
    model = onnx.parser.parse_model(case.text) if onnx_text else text_format.Parse(case.text, onnx.ModelProto())
    graph, kinds, sets = model.graph, dict[str, Kind | onnx.TensorProto | None]({"": None}), model.opset_import
    for value in (*graph.input, *graph.output, *graph.value_info):
        tensor = value.type.tensor_type
        if tensor.HasField("shape") and all(each.HasField("dim_value") for each in tensor.shape.dim):
            kinds[value.name] = tensor.elem_type, tuple(each.dim_value for each in tensor.shape.dim)
    kinds |= {tensor.name: tensor for tensor in graph.initializer if not tensor.external_data}
    for node in graph.node:
        known = not node.domain and {*node.input, *node.output} <= kinds.keys() and len(sets) == 1
        if known and catalogue.operator(node.op_type) and not any(each.HasField("g") for each in node.attribute):
            outputs = [kinds[name] for name in node.output]
            results = tuple(None if isinstance(each, onnx.TensorProto) else each for each in outputs)
            yield SampleCall(node, sets[0].version, tuple(kinds[name] for name in node.input), results)


@dataclass
class RandomModel:
    """A model in parts: nodes in order, the types of its values, its constants with their forms."""

    operator_set: int
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    kinds: dict[str, Kind] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)
    symbols: dict[str, tuple[int | str, ...]] = field(default_factory=dict)
    """The declared shapes in which symbols stand for numbers."""
    undeclared: set[str] = field(default_factory=set)

    @property
    def outputs(self) -> list[str]:
        """Every value that no node uses."""
        used = {name for node in self.nodes for name in node.input}
        return [name for node in self.nodes for name in node.output if name and name not in used]

    def declared(self, name: str) -> onnx.ValueInfoProto:
        """The declaration of a value."""
        element, shape = self.kinds[name]
        return helper.make_tensor_value_info(name, element, self.symbols.get(name, shape))

    def constant_node(self, name: str) -> onnx.NodeProto:
        """A node that gives a constant."""
        return helper.make_node("Constant", [], [name], f"of {name}", value=self.constants[name])

    def proto(self, form: str = "initializer", nodes: list[onnx.NodeProto] | None = None) -> onnx.ModelProto:
        """The model, its constants in a form; with `nodes` in the place of its own."""
        inputs, tensors = [self.declared(name) for name in self.inputs], list(self.constants.values())
        first = []
        if form == "node" and self.operator_set < CONSTANT_OF_ANY_TYPE:
            form = "initializer"
        if form == "node":
            first, tensors = [self.constant_node(name) for name in self.constants], []
        elif form == "default":
            inputs += [self.declared(name) for name in self.constants]
        inner = [name for node in self.nodes for name in node.output if name and name not in self.outputs]
        inner += [name for name in self.constants if form == "node"]
        stated = [self.declared(name) for name in inner if name not in self.undeclared]
        outputs = [self.declared(name) for name in self.outputs]
        graph = helper.make_graph(
            [*first, *(self.nodes if nodes is None else nodes)], "g", inputs, outputs, tensors, value_info=stated
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.operator_set)], ir_version=10)

    def arrays(self, chance: random.Random, bound: Mapping[str, int] | None = None) -> dict[str, Array]:
        """Arrays for the inputs."""
        made = {}
        for name in self.inputs:
            element, shape = self.kinds[name]
            extents = [(bound or {})[each] if isinstance(each, str) else each for each in self.symbols.get(name, shape)]
            made[name] = random_array(chance, element, extents)
        return made


def random_array(chance: random.Random, element: int, shape: list[int] | tuple[int, ...]) -> Array:
    """Small numbers of an element type."""
    draw = numpy.random.default_rng(chance.getrandbits(32))
    kind = helper.tensor_dtype_to_np_dtype(element)
    if element == TensorProto.STRING:
        return numpy.full(shape, "text", object)
    if element == TensorProto.BOOL:
        return numpy.asarray(draw.integers(0, 2, shape)).astype(kind)
    if numpy.dtype(kind).kind in "ui":
        return numpy.asarray(draw.integers(0 if numpy.dtype(kind).kind == "u" else -2, 4, shape)).astype(kind)
    return numpy.asarray(draw.standard_normal(shape) * 2).astype(kind)


def random_model(chance: random.Random, first: str, size: int, specified: bool) -> RandomModel:
    """A model of up to `size` calls, the first of this operator, the others of specified operators or of any."""
    call = chance.choice(sample_calls()[first])
    model = RandomModel(call.operator_set)
    fitting = _fitting(call.operator_set, specified)
    for each in (call, *(chance.choice(chance.choice(fitting)) for _ in range(size - 1))):
        add(chance, model, each)
    return model


@cache
def _fitting(operator_set: int, specified: bool) -> tuple[tuple[SampleCall, ...], ...]:
    """The calls whose operators have the same version in an operator set, by operator."""
    status = catalogue.edition_named().status

    def version(call: SampleCall, number: int) -> int | None:
        known = catalogue.operator(call.node.op_type)
        return known.version_at(number) if known else None

    found = [
        tuple(call for call in calls if version(call, call.operator_set) == version(call, operator_set))
        for operator, calls in sample_calls().items()
        if not specified or status(operator) in ("specified", "draft")
    ]
    return tuple(calls for calls in found if calls)


def add(chance: random.Random, model: RandomModel, call: SampleCall) -> None:
    """Add a call, on values of the model where some fit, else on new inputs."""
    number, names = len(model.nodes), []
    for place, wanted in enumerate(call.inputs):
        name = f"x{number}_{place}"
        if wanted is None:
            name = ""
        elif isinstance(wanted, onnx.TensorProto):
            model.constants[name] = onnx.TensorProto()
            model.constants[name].CopyFrom(wanted)
            model.constants[name].name = name
            model.kinds[name] = wanted.data_type, tuple(wanted.dims)
        else:
            known = [each for each, kind in model.kinds.items() if kind == wanted and each not in model.constants]
            if known and chance.random() < 0.8:
                name = chance.choice(known)
            elif chance.random() < 0.15 and wanted[0] != TensorProto.STRING:
                model.constants[name] = numpy_helper.from_array(random_array(chance, *wanted), name)
            else:
                model.inputs.append(name)
            model.kinds[name] = wanted
        names.append(name)
    results = [f"y{number}_{place}" if kind else "" for place, kind in enumerate(call.outputs)]
    model.kinds.update((name, kind) for name, kind in zip(results, call.outputs, strict=True) if kind)
    node = helper.make_node(call.node.op_type, names, results, f"n{number}")
    node.attribute.extend(call.node.attribute)
    model.nodes.append(node)


# ------------------------------------------------------------------ other models


def perturbed(chance: random.Random, model: RandomModel) -> None:
    """Change one part: an attribute, an extent, an element of a constant, an input or an output."""
    node = chance.choice(model.nodes)
    change = chance.choice((_attribute, _attribute, _extent, _extent, _element, _wiring))
    change(chance, model, node)


def _attribute(chance: random.Random, model: RandomModel, node: onnx.NodeProto) -> None:
    if not node.attribute:
        return
    attribute = chance.choice(node.attribute)
    if chance.random() < 0.3:
        node.attribute.remove(attribute)
    elif attribute.type == onnx.AttributeProto.INT:
        attribute.i = chance.choice((-1, 0, 1, 2, attribute.i + 1))
    elif attribute.type == onnx.AttributeProto.INTS and attribute.ints:
        attribute.ints[chance.randrange(len(attribute.ints))] = chance.choice((-1, 0, 1, 2, 3))


def _extent(chance: random.Random, model: RandomModel, node: onnx.NodeProto) -> None:
    names = [name for name in (*node.input, *node.output) if name and name not in model.constants]
    if names:
        name = chance.choice(names)
        element, shape = model.kinds[name]
        axis = chance.randrange(len(shape) + 1)
        new = (*shape[:axis], chance.choice((0, 1, 2, 3, 4)), *shape[axis + 1 :])
        model.kinds[name] = element, chance.choice((new, new, new, shape[:-1]))


def _element(chance: random.Random, model: RandomModel, node: onnx.NodeProto) -> None:
    names = [name for name in node.input if name in model.constants and model.constants[name].data_type in WHOLE]
    if names:
        name = chance.choice(names)
        values = numpy_helper.to_array(model.constants[name]).copy()
        if values.size:
            values.reshape(-1)[chance.randrange(values.size)] = chance.choice((0, 1, 2, 5))
            model.constants[name] = numpy_helper.from_array(values, name)


def _wiring(chance: random.Random, model: RandomModel, node: onnx.NodeProto) -> None:
    if node.input:
        place = chance.randrange(len(node.input))
        node.input[place] = chance.choice(["", *model.inputs, node.input[0]])


WHOLE = (TensorProto.INT64, TensorProto.INT32, TensorProto.UINT8, TensorProto.INT8)


def with_symbols(chance: random.Random, model: RandomModel, most: int) -> dict[str, int]:
    """Put symbols for equal extents of the inputs and declared values; the number that each stands for."""
    numbers = {extent for name in model.inputs for extent in model.kinds[name][1] if extent > 0}
    chosen = {f"S{number}": number for number in chance.sample(sorted(numbers), min(most, len(numbers)))}
    names = {number: symbol for symbol, number in chosen.items()}
    for name, (_, shape) in model.kinds.items():
        if name not in model.constants and not (shape and model.kinds[name][0] in WHOLE and chance.random() < 0.5):
            model.symbols[name] = tuple(
                names[extent] if extent in names and chance.random() < 0.9 else extent for extent in shape
            )
    return chosen


def in_if(chance: random.Random, model: RandomModel, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """A node as the branch that an If takes; the other branch is the same node."""
    name, taken = f"c_{node.name}", chance.random() < 0.5
    condition = numpy_helper.from_array(numpy.array(taken), name)
    branches: dict[str, Any] = {}
    for branch in ("then_branch", "else_branch"):
        body, inner = _inner(chance, model, node)
        branches[branch] = helper.make_graph([body], branch, [], [_as(model, *pair) for pair in inner])
    made = helper.make_node("If", [name], [each for each in node.output if each], f"if_{node.name}", **branches)
    if chance.random() < 0.5 and model.operator_set >= CONSTANT_OF_ANY_TYPE:
        return [helper.make_node("Constant", [], [name], f"of {name}", value=condition), made]
    model.constants[name], model.kinds[name] = condition, (TensorProto.BOOL, ())
    return [made]


def in_loop(chance: random.Random, model: RandomModel, node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """A node as the body of a Loop that carries its outputs and runs twice."""
    body, inner = _inner(chance, model, node)
    outputs = [name for name in node.output if name]
    first = [f"first_{name}" for name in outputs]
    carried = [_as(model, name, f"carried_{name}") for name, _ in inner]
    goes_on = helper.make_tensor_value_info("goes_on", TensorProto.BOOL, [])
    graph = helper.make_graph(
        [body, helper.make_node("Identity", ["before"], ["goes_on"], "of goes_on")],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("before", TensorProto.BOOL, []),
            *carried,
        ],
        [goes_on, *(_as(model, *pair) for pair in inner)],
    )
    for name, output in zip(first, outputs, strict=True):
        element, shape = model.kinds[output]
        model.constants[name] = numpy_helper.from_array(random_array(chance, element, shape), name)
        model.kinds[name] = model.kinds[output]
    count = f"turns_{node.name}"
    model.constants[count] = numpy_helper.from_array(numpy.array(2, numpy.int64), count)
    model.kinds[count] = TensorProto.INT64, ()
    return [helper.make_node("Loop", [count, "", *first], outputs, f"loop_{node.name}", body=graph)]


def in_function(model: RandomModel, node: onnx.NodeProto) -> tuple[onnx.NodeProto, onnx.FunctionProto]:
    """A node as the body of a function, one of its attributes given by the caller; and the call."""
    inner = onnx.NodeProto()
    inner.CopyFrom(node)
    inputs = list(dict.fromkeys(name for name in node.input if name))
    outputs = [name for name in node.output if name]
    call = helper.make_node(f"F_{node.name}", inputs, outputs, f"call_{node.name}", domain="own")
    given = []
    if node.attribute and node.attribute[0].type == onnx.AttributeProto.INT:
        given = [node.attribute[0].name]
        call.attribute.append(node.attribute[0])
        del inner.attribute[0]
        inner.attribute.append(onnx.AttributeProto(name=given[0], ref_attr_name=given[0], type=onnx.AttributeProto.INT))
    imports = [helper.make_opsetid("", model.operator_set)]
    return call, helper.make_function("own", call.op_type, inputs, outputs, [inner], imports, given)


def _inner(
    chance: random.Random, model: RandomModel, node: onnx.NodeProto
) -> tuple[onnx.NodeProto, list[tuple[str, str]]]:
    """The node inside a graph, and its outputs with their names there: new ones, or those of values around it."""
    around = [name for name in model.kinds if name not in node.input and name not in node.output]
    chance.shuffle(around)
    body = onnx.NodeProto()
    body.CopyFrom(node)
    pairs = []
    for place, name in enumerate(node.output):
        if name:
            hides = around and chance.random() < 0.3
            body.output[place] = around.pop() if hides else f"in_{name}_{chance.getrandbits(32)}"
            pairs.append((name, body.output[place]))
    return body, pairs


def _as(model: RandomModel, name: str, other: str) -> onnx.ValueInfoProto:
    """The declaration of a value under another name."""
    value = model.declared(name)
    value.name = other
    return value
