"""Networks of several operators: sequences that compilers fuse, and random ones, drawn from the rules by the solver.

Each node is a call that the solver finds for the type and shape that the node before it gives, with random wishes about
extents and numbers of parameters; the checker judges the whole model.  Exact values and ends are those of the model.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import z3
from msgspec import structs

from sonnx.base.errors import Stop
from sonnx.base.files import sha256
from sonnx.executor.executor import ModelRunner
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import Graph, Model, Node, Tensor, Type, ValueInfo
from sonnx.model.writer import write
from sonnx.numerics.enclosures.hypotheses import Hypotheses, hypotheses_named
from sonnx.numerics.value_classes import ClassCase
from sonnx.profile.catalogue import edition_named, operators
from sonnx.prover.signature_family import SignatureFamily
from sonnx.prover.smt_functions import ELEMENT_TYPES
from sonnx.prover.witness import CallInstance
from sonnx.suite.archive import UNBOUNDED, Case, DataSet, Excluded, Part, StoredCase, archive_of
from sonnx.suite.cases import OperatorSuite, add_data_set, families_of, specs_of
from sonnx.suite.classes import extents_of, numbers_of
from sonnx.suite.constants import conforms, constant_inputs, model_of_call
from sonnx.suite.expected import Tolerances
from sonnx.suite.options import MakeOptions
from sonnx.suite.structures import conforming_call

NETWORKS = "networks"
"""The name of the archive of networks; it is used in place of the name of an operator."""
SEQUENCES: tuple[tuple[str, ...], ...] = tuple(
    map(tuple, tomllib.loads(Path(__file__).with_name("sequences.toml").read_text("utf-8"))["sequences"])
)
DEPTHS = (3, 30)
"""The nodes of a random network."""
TRIES = 12
"""Operators that are tried for one node; a network ends early where none of them takes the value."""
SETS = 5
"""Data sets of a network: ordinary numbers, and their magnitudes.  Special inputs are left to calls of one operator:
after a node whose text has two readings, both would have to be computed."""
FIRST_TYPES = ("float", "float", "double", "float16", "int32")
"""Element types with which a network begins where the rules admit them."""
SEEDS_OF_SEQUENCE = 2
"""Networks for one sequence."""


def network_suite(options: MakeOptions) -> OperatorSuite:
    """The networks of a suite: those of each sequence, then as many random ones as the options ask for."""
    edition, hypotheses = edition_named(options.edition).name, hypotheses_named(options.hypotheses)
    known = {family.signature.operator: family for family in _families(edition)}
    stored_cases: list[StoredCase] = []
    excluded: Counter[tuple[str, str]] = Counter()
    for title, model in _models(known, edition, options):
        name = f"{NETWORKS}-{edition}-{len(stored_cases):04}"
        options.progress(f"{NETWORKS}: {len(stored_cases)}, {title}")
        stored = _stored(name, title, model, edition, hypotheses, excluded)
        if stored is not None:
            stored_cases.append(stored)
    sets = [members for stored in stored_cases for members in stored.case.sets]
    part = Part(
        operator=NETWORKS, version=1, edition=edition, classes=(), sizes={}, unbroken={}, labels={},
        excluded=tuple(Excluded(call, reason, number) for (call, reason), number in excluded.items()),
        positive=len(stored_cases), negative=0, sets=len(sets),
        without_bound=sum(members.outputs.count(UNBOUNDED) for members in sets),
    )  # fmt: skip
    return OperatorSuite((part,), archive_of(stored_cases))


def _families(edition: str) -> Iterator[SignatureFamily]:
    """The newest version of each operator that has an input."""
    for described in operators():
        for family in families_of(described, edition, every=False):
            if family.signature.inputs:
                yield replace(family, folded=True)


def _models(known: dict[str, SignatureFamily], edition: str, options: MakeOptions) -> Iterator[tuple[str, Model]]:
    """Models with what each is: a sequence, or a random network."""
    for sequence in SEQUENCES:
        if all(name in known for name in sequence):
            for seed in range(SEEDS_OF_SEQUENCE):
                random = Random(f"{options.seed} {sequence} {seed}")  # noqa: S311  (not for secrets)
                calls = _drawn(random, [[known[name]] for name in sequence])
                model = _composed(calls, edition) if len(calls) == len(sequence) else None
                if model is not None and conforms(model, edition):
                    yield f"sequence {'-'.join(sequence)}", model
    every = [*known.values()]
    for number in range(options.models):
        random = Random(f"{options.seed} {number}")  # noqa: S311  (not for secrets)
        depth = random.randint(*DEPTHS)
        calls = _drawn(random, [random.sample(every, min(TRIES, len(every))) for _ in range(depth)])
        model = _composed(calls, edition) if len(calls) >= DEPTHS[0] else None
        if model is not None and conforms(model, edition):
            yield f"random network {number}", model


def _drawn(random: Random, candidates: Sequence[Sequence[SignatureFamily]]) -> list[CallInstance]:
    """A call for each node, of the first candidate that takes what the node before it gives; the list ends at the first
    node without such a candidate.
    """
    drawn: list[CallInstance] = []
    for families in candidates:
        given = drawn[-1].outputs[0] if drawn else None
        calls = (_call(random, family, given) for family in families)
        call = next((each for each in calls if each is not None and _has_elements(each)), None)
        if call is None:
            break
        drawn.append(call)
    return drawn


def _has_elements(call: CallInstance) -> bool:
    first = call.outputs[0]
    return first is not None and isinstance(first.shape, tuple) and 0 not in first.shape


def _call(random: Random, family: SignatureFamily, given: TensorFacts | None) -> CallInstance | None:
    """A call whose first input has the type and shape of a tensor (any where None); None if there is no such call."""
    with family.context():
        name = next(iter(family.variables.tensors))
        if family.variables.tensors[name].formal != family.signature.inputs[0].name:
            return None
        wanted = [*_equals(family, name, given)] if given is not None else [z3.Int(f"{name}.rank") >= 1]
        return conforming_call(family, wanted, [*_wishes(random, family, name)])


def _equals(family: SignatureFamily, name: str, given: TensorFacts) -> Iterator[z3.BoolRef]:
    """A tensor of the call is that of another call."""
    shape = tuple(given.shape) if isinstance(given.shape, tuple) else ()
    extents = extents_of(family, name)
    yield z3.Int(f"{name}.type") == ELEMENT_TYPES.index(str(given.type))
    yield z3.Int(f"{name}.rank") == len(shape)
    yield z3.BoolVal(len(shape) <= len(extents))
    yield from (extent == int(str(number)) for extent, number in zip(extents, shape, strict=False))


def _wishes(random: Random, family: SignatureFamily, first: str) -> Iterator[z3.BoolRef]:
    """Random extents, element types and numbers of parameters, as far as the rules admit them."""
    yield z3.Int(f"{first}.rank") == random.randint(1, 4)
    yield z3.Int(f"{first}.type") == ELEMENT_TYPES.index(random.choice(FIRST_TYPES))
    for name in family.variables.tensors:
        yield from (extent == random.randint(2, 5) for extent in extents_of(family, name))
    for parameter in family.signature.attributes:
        yield from (number == random.randint(0, 3) for number in numbers_of(family, parameter.name, parameter.kind))


def _composed(calls: Sequence[CallInstance], edition: str) -> Model:
    """The model in which each node has the first output of the one before it as its first input."""
    inputs: list[ValueInfo] = []
    outputs: list[ValueInfo] = []
    between: list[ValueInfo] = []
    constants: list[Tensor] = []
    nodes: list[Node] = []
    versions: dict[str, Any] = {}
    before = ""
    for number, call in enumerate(calls):
        model, prefix = model_of_call(call, edition), f"n{number}."
        [node] = model.graph.nodes
        kept = constant_inputs(call.signature)
        names = {name: prefix + name for name in (*node.inputs, *node.outputs) if name}
        if before and node.inputs:
            names[node.inputs[0]] = before
        for operand in model.graph.inputs:
            if names[operand.name] != before:
                inputs.append(ValueInfo(names[operand.name], operand.type))
        for tensor in model.graph.initializers:
            if tensor.name in kept:
                constants.append(structs.replace(tensor, name=names[tensor.name]))
            elif names[tensor.name] != before:
                inputs.append(ValueInfo(names[tensor.name], Type("tensor", tensor.element, tensor.dims)))
        given = [ValueInfo(names[output.name], output.type) for output in model.graph.outputs]
        between.append(given[0])
        outputs += given[1:]
        nodes.append(structs.replace(
            node, name=f"node{number}", inputs=tuple(names.get(name, "") for name in node.inputs),
            outputs=tuple(names.get(name, "") for name in node.outputs),
        ))  # fmt: skip
        versions |= {imported.domain: imported for imported in model.imports if _newer(imported, versions)}
        before = given[0].name
    graph = Graph(
        name=NETWORKS, inputs=tuple(inputs), outputs=(between[-1], *outputs), value_info=tuple(between[:-1]),
        initializers=tuple(constants), sparse_initializers=(), nodes=tuple(nodes),
    )  # fmt: skip
    return structs.replace(calls[0].model(), graph=graph, imports=tuple(versions.values()))


def _newer(imported: Any, versions: dict[str, Any]) -> bool:
    known = versions.get(imported.domain)
    return known is None or (imported.version or 0) > (known.version or 0)


def _stored(
    name: str, title: str, model: Model, edition: str, hypotheses: Hypotheses, excluded: Counter[tuple[str, str]]
) -> StoredCase | None:
    """A network with its data; None where no data set has a value, which is counted."""
    files, sets = {"model.onnx": write(model)}, list[DataSet]()
    described = _text(model)
    runner = ModelRunner(model, None, edition)
    tolerances, specs = Tolerances(model, hypotheses, edition), specs_of(model)
    for seed in range(SETS):
        inputs = ClassCase("ordinary", "", {}).drawn(specs, seed)
        if seed % 2:
            inputs = {name: array if array.dtype.kind in "Obu" else abs(array) for name, array in inputs.items()}
        try:
            exact = runner.run(inputs).values
        except Stop as error:
            excluded[described, str(error)] += 1
            continue
        expected = tolerances.ends(inputs, exact)
        add_data_set(files, len(sets), inputs, [*exact.values()], expected)
        sets.append(DataSet("magnitudes" if seed % 2 else "ordinary", f"seed {seed}", tuple(
            judged.decides for judged in expected
        )))  # fmt: skip
    if not sets:
        return None
    case = Case(
        id=name, operator=NETWORKS, version=1, edition=edition, call=described, classes=(title,), rules=(), labels=(),
        errata=(), constants=tuple(initializer.name for initializer in model.graph.initializers), broken="",
        invalid=False, sets=tuple(sets), digests={path: sha256(content) for path, content in sorted(files.items())},
    )  # fmt: skip
    return StoredCase(case, files)


def _text(model: Model) -> str:
    """A network in one line, as the text of a call: its operators, its inputs and its outputs."""
    nodes = "-".join(node.operator for node in model.graph.nodes)
    given = ", ".join(str(operand.type) for operand in model.graph.inputs)
    return f"{nodes}({given}) -> {', '.join(str(output.type) for output in model.graph.outputs)}"
