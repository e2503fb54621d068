"""The reference executor: the values a model has, by the definitions of its operators.

Nodes run in the order of the file.  The shape and type of every value are computed before the first one runs, from the
operators' own shape expressions, and compared after each node.  A value is dropped after its last use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from sonnx.base.errors import BadInput, NotExecutable, UsageError
from sonnx.base.escaping import quote
from sonnx.checker.checker import judge_model
from sonnx.checker.report import NotConforming, Report, Verdict
from sonnx.checker.rules import ActiveRules
from sonnx.executor.plan import Program, Step, at, place_of, program
from sonnx.executor.preparation import Applier, Expected, facts_of
from sonnx.model.ir import Model, Node, Type, Value
from sonnx.model.reader import read
from sonnx.model.scopes import imports_of
from sonnx.numerics.application import ExactPathCounts
from sonnx.numerics.constant_data import decode
from sonnx.numerics.formats import ELEMENTS, NAMES, Array
from sonnx.operators.registry import Kernel
from sonnx.profile import catalogue

Watch = Callable[[int, int, Node], None]
"""What is told before each step: how many are done, of how many, and the node that comes."""

BUFFER = 1024
"""Elements numpy converts at a time; it writes out an operand that stands still for fewer, so long rows need less."""

RUNS = (Verdict.PASS, Verdict.ASSUMED)
"""Verdicts a model may have to be run.  What the check assumes about values is decided for the values given."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run gives: the values, the report on the model (None if unchecked), the elements of the exact path."""

    values: dict[str, Array]
    report: Report | None
    tally: ExactPathCounts
    outside: tuple[str, ...]
    """Operators of the model that the edition does not specify; they ran by their ONNX text."""


def run(
    source: str | os.PathLike[str] | bytes,
    inputs: Mapping[str, Array],
    edition: str | None = None,
    *,
    unchecked: bool = False,
    all_values: bool = False,
) -> dict[str, Array]:
    """The outputs of a model for its inputs.

    Args:
        source: a path, or the bytes of a model file.
        inputs: an array for every graph input that is no constant, of exactly the declared type and shape; bfloat16 is
            the type of ml_dtypes.
        edition: a name of restrictions/editions.toml; the default one if none is named.
        unchecked: run a model that does not conform to the edition.  Rules its values rest on must hold all the same.
        all_values: give the outputs of every node, not only those of the graph.

    Returns:
        The values by name, in the order of the graph; no array shares memory with an input or with another one.

    Raises:
        Unreadable: the source is no readable ONNX model.
        Misuse: an unknown edition.
        NotConforming: the model does not conform; it carries the report.
        BadInput: an input is missing, not asked for, or of another type or shape.
        ErrorCondition: a rule the values rest on does not hold; it names the rule.
        NotExecutable: the executor has no meaning for a part of the model.
    """
    path = None if isinstance(source, bytes) else source
    return run_model(read(source), inputs, path, edition, unchecked=unchecked, all_values=all_values).values


def run_model(
    model: Model,
    inputs: Mapping[str, Array],
    path: str | os.PathLike[str] | None = None,
    edition: str | None = None,
    *,
    unchecked: bool = False,
    all_values: bool = False,
    watch: Watch | None = None,
) -> RunResult:
    """The outputs of a model that is read already, with what else is known of the run; see `run`."""
    in_force, report = _in_force(edition), None
    if not unchecked:
        report = judge_model(model, PurePath(path).name if path else "model", in_force.edition.name)
        require_conforming(report)
    folder = Path(path).parent if path else None
    applier = Applier(in_force, imports_of(model.imports).get(""), conforming=not unchecked)
    values = execute(program(model, applier, given(model, inputs, folder), keep=all_values), watch)
    known = in_force.edition.operators
    outside = dict.fromkeys(node.operator for node in model.graph.nodes if node.operator not in known)
    return RunResult(values, report, applier.tally, tuple(outside))


def _in_force(edition: str | None) -> ActiveRules:
    known = catalogue.editions()
    if edition is not None and edition not in known.editions:
        raise UsageError(f"there is no edition {edition!r}; there are {', '.join(known.editions)}")
    return ActiveRules(known.editions[edition or known.default])


def require_conforming(report: Report) -> None:
    """Only a conforming model has values.

    Raises:
        NotConforming: the verdict is none of RUNS.
    """
    if report.verdict in RUNS:
        return
    first, others = report.roots[0], len(report.roots) - 1
    more = f" and {others} more" if others else ""
    found = f"{report.verdict.value} {first.rule} at {first.where.place} ({first.actual}){more}"
    raise NotConforming(f"{quote(report.name)} does not conform to edition {report.edition}: {found}", report)


# ------------------------------------------------------------------ inputs


def asked(model: Model) -> tuple[Value, ...]:
    """The graph inputs a caller must give: below IR version 4 an initializer makes an input a constant."""
    constant = {tensor.name for tensor in model.graph.initializers}
    return tuple(value for value in model.graph.inputs if value.name not in constant)


def given(model: Model, inputs: Mapping[str, Array], folder: Path | None) -> dict[str, Array]:
    """All values before the first node: inputs and constants.

    Raises:
        BadInput: the inputs are not those the model asks for.
        NotExecutable: a constant cannot be read.
    """
    if model.graph.sparse_initializers:
        raise NotExecutable("the executor does not know sparse tensors")
    wanted = {value.name: value.type for value in asked(model)}
    replaceable = {value.name: value.type for value in model.graph.inputs} if (model.ir_version or 0) >= 4 else wanted
    missing, extra = wanted.keys() - inputs.keys(), inputs.keys() - replaceable.keys()
    if missing or extra:
        said = [f"lacks {_listed(missing)}"] if missing else []
        said += [f"has no input {_listed(extra)}"] if extra else []
        verb = "the call " if missing else "the model "
        raise BadInput(f"{verb}{' and the model '.join(said)}; the model asks for {_listed(wanted) or 'no input'}")
    symbols: dict[str, tuple[int, str]] = {}
    values = {name: _fitting(name, inputs[name], replaceable[name], symbols) for name in replaceable if name in inputs}
    constants = {t.name: decode(t, folder) for t in model.graph.initializers if t.name not in values}
    return values | constants


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(quote, sorted(names)))


def _fitting(name: str, values: Array, declared: Type, symbols: dict[str, tuple[int, str]]) -> Array:
    """The input, if it has the declared type and shape; a symbol stands for one number in all inputs."""
    kind = ELEMENTS.get(declared.element or "")
    if declared.kind != "tensor" or kind is None:
        what = declared.element or declared.kind
        raise NotExecutable(f"the input {quote(name)} is declared as {what}, which the executor does not know")
    if isinstance(values, np.generic):
        values = np.asarray(values)
    if not isinstance(values, np.ndarray):
        raise BadInput(f"the input {quote(name)} is no numpy array but of type {type(values).__name__}")
    if values.dtype != kind:
        given_type = NAMES.get(values.dtype, str(values.dtype))
        raise BadInput(f"the input {quote(name)} is of type {given_type}; the model declares {declared.element}")
    if kind == np.bool_ and bool((values.view(np.uint8) > 1).any()):
        raise BadInput(f"the input {quote(name)} is of type bool and has a byte that is neither 0 nor 1")
    if not all(_agrees(name, *pair, symbols) for pair in _pairs(values.shape, declared)):
        shape = ", ".join("?" if d is None else str(d) for d in declared.shape or ())
        raise BadInput(f"the input {quote(name)} has the shape {list(values.shape)}; the model declares [{shape}]")
    return values


def _pairs(shape: tuple[int, ...], declared: Type) -> Iterator[tuple[int, Any]]:
    if declared.shape is None:
        return iter(())
    if len(shape) != len(declared.shape):
        return iter([(0, -1)])
    return iter(zip(shape, declared.shape, strict=True))


def _agrees(name: str, number: int, stated: int | str | None, symbols: dict[str, tuple[int, str]]) -> bool:
    if isinstance(stated, str):
        known, where = symbols.setdefault(stated, (number, name))
        if known != number:
            both = f"{known} in the input {quote(where)} and {number} in {quote(name)}"
            raise BadInput(f"the symbol {quote(stated)} is {both}")
        return True
    return stated is None or stated == number


# ------------------------------------------------------------------ execution


def execute(made: Program, watch: Watch | None = None) -> dict[str, Array]:
    """The outputs of a program; it runs once, because its values are dropped on the way."""
    values, buffers = made.values, [None] * made.buffers
    foreign = {place for place, each in enumerate(values) if each is not None}
    with np.errstate(all="ignore"):
        np.setbufsize(BUFFER)  # set back with the rest of errstate
        for done, step in enumerate(made.steps):
            if watch is not None:
                watch(done, len(made.steps), step.node)
            if step.fast is None:
                _slowly(step, made, values)
            else:
                _quickly(step, step.fast, made, buffers)
            for place in step.dead_values:
                values[place] = None
            for buffer in step.dead_buffers:
                buffers[buffer] = None
    return _outputs(made, values, foreign)


def _quickly(step: Step, fast: tuple[Kernel, Expected], made: Program, buffers: list[Any]) -> None:
    """One kernel into one buffer."""
    (kernel, (shape, kind)), values = fast, made.values
    try:
        if step.buffer is None:
            out = np.empty(shape, kind)
        else:
            if step.buffer_size:
                buffers[step.buffer] = np.empty(step.buffer_size, np.uint8)
            out = buffers[step.buffer][: step.size].view(kind).reshape(shape)
        result = kernel([values[place] for place in step.inputs], out)
    except Exception:
        with at(step.node, step.index, conforming=made.applier.conforming):
            raise
    if result.shape != shape or result.dtype != kind:
        raise _surprise(made, step, result, (shape, kind))
    values[step.outputs[0]] = result


def _slowly(step: Step, made: Program, values: list[Any]) -> None:
    """A node by its definition, or one whose shapes depend on values."""
    inputs = [values[place] for place in step.inputs]
    with at(step.node, step.index, conforming=made.applier.conforming):
        prepared = step.prepared
        if prepared is None:
            facts = tuple(None if each is None else facts_of(each) for each in inputs)
            prepared = made.applier.prepare(step.node, facts)
        if prepared is None:
            raise NotExecutable("its shape depends on values that are no short list of whole numbers")
        results: tuple[Array, ...]
        if prepared.kernel is not None and prepared.expected is not None:
            results = (prepared.kernel(inputs, np.empty(*prepared.expected[0])),)
        else:
            results = tuple([_own(each, inputs) for each in prepared.definition(prepared.application, inputs)])
    if len(results) != len(step.outputs) and not made.applier.conforming:
        raise NotExecutable(f"{place_of(step.node, step.index)}: its operator gives {len(results)} outputs")
    for place, result, expected in zip(step.outputs, results, prepared.expected or [None] * len(results), strict=True):
        if expected is not None and (result.shape, result.dtype) != expected:
            raise _surprise(made, step, result, expected)
        values[place] = result


def _surprise(made: Program, step: Step, result: Array, expected: Expected) -> Exception:
    """A definition that makes another shape than the rules say: in a conforming model a defect of ours."""
    shape, kind = expected
    text = f"{place_of(step.node, step.index)} made {result.dtype}{result.shape}, not {kind}{shape}"
    return AssertionError(text) if made.applier.conforming else NotExecutable(text)


def _own(values: Array, inputs: Sequence[Array | None]) -> Array:
    """An array that is neither an input nor a view: the memory of an input is used again when the input is dead."""
    fresh = values.base is None and values.flags.c_contiguous and not any(values is each for each in inputs)
    return values if fresh else np.array(values, order="C")


def _outputs(made: Program, values: list[Any], foreign: set[int]) -> dict[str, Array]:
    """The outputs by name; one that is an input, a constant or another output as well is copied."""
    taken, result = set(foreign), dict[str, Array]()
    for name, place in made.outputs.items():
        found = values[place]
        result[name] = found.copy() if place in taken else found
        taken.add(place)
    return result
