"""Verify a property of a model: the tasks of the property one after another, within one time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sonnx.base.decoding import decoding
from sonnx.base.errors import BadInput, Unreadable, UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import sha256
from sonnx.base.reported import json_data
from sonnx.base.resources import tool_version
from sonnx.bounds.analysis import Analyser
from sonnx.bounds.result import InputBox
from sonnx.checker.conditions import MODEL, Conditions
from sonnx.executor.array_sizes import require_arrays
from sonnx.executor.executor import ModelRunner, check_conforming
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.tensor_files import read_file
from sonnx.model.ir import Model, ValueInfo
from sonnx.model.reader import file_bytes, read
from sonnx.numerics.constant_data import with_external_data
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.formats import Array
from sonnx.properties.certificate_checker import CLAIM, FORMAT, ROUNDED_CLAIM
from sonnx.properties.chain_layers import NotAChain
from sonnx.properties.chain_search import ChainTask, Tree, input_arrays
from sonnx.properties.chains import Chain
from sonnx.properties.joined_outputs import with_one_output
from sonnx.properties.options import VerifyOptions
from sonnx.properties.property import Property, Task, elements_of, output_of
from sonnx.properties.queries import is_query, stated_query
from sonnx.properties.requirements import largest_element, property_of_toml, robustness
from sonnx.properties.result import PROPERTY, PropertyAnswer, PropertyResult, TaskAnswer
from sonnx.properties.rounds import Elsewhere, KeptParts, decide_in_rounds
from sonnx.properties.search import Decision, Sets, Witness, decide_by_boxes, numbers_at, occurring_set, parts_of
from sonnx.properties.vnnlib import property_of_vnnlib
from sonnx.supervise.identity import tool_identity, value_hash
from sonnx.supervise.search import SearchLimit, shorter_time

MAX_BYTES = 1 << 28
"""Of a property file."""
SEARCH_SECONDS = 60.0
"""The time of a search for which neither a time nor a number of parts is stated."""
MAX_LISTED_SETS = 8
"""Sets of outputs of a box that a result lists."""


def verify_model(
    model: Model, data: bytes, name: str, folder: Path | None, source: Path | None, options: VerifyOptions,
    elsewhere: Callable[[Task], Elsewhere] | None = None,
) -> PropertyResult:  # fmt: skip
    """Verify a property of a model.

    Args:
        model: the model.
        data: the bytes of its file.
        name: of its file.
        folder: where it stands.
        source: the file of the property, .vnnlib or .toml; None for robustness.
        options: what is verified.
        elsewhere: what decides parts of a task in other processes.

    Raises:
        BadInput: the property is malformed, or about other inputs or outputs; the file of --resume is of another one.
        UsageError: options that exclude each other, unknown hypotheses, a file that cannot be read, or a certificate of
            a model that its checker does not know.
        NotConforming: the model does not conform.
        NotBounded: a node has no transfer function.
    """
    _require_options(source, options)
    hypotheses = hypotheses_named(options.hypotheses)
    require_arrays(model)
    stated = _stated(model, folder, source, options)
    asked, about, content = stated.model, stated.property, stated.content
    analyser = Analyser(asked, hypotheses, folder, options.edition, conforming=not options.unchecked)
    output = output_of(asked)
    inputs, outputs = sum(map(elements_of, required_inputs(model))), elements_of(output)
    if not options.unchecked:
        check_conforming(model, analyser.active, name, folder)
    _require_shapes(analyser, stated)
    elements = {value.name: value.type.element or "" for value in required_inputs(asked)}
    chain, why = _chain(model, inputs, outputs) if stated.names is None else (None, "the property is in VNN-LIB 2")
    for option, refused in (("certificate", "no certificate can be written of this model"),
                            ("resume", "--resume keeps no parts of this model"),
                            ("jobs", "--jobs does not divide the search for this model"),
                            ("cluster", "--cluster does not divide the search for this model")):  # fmt: skip
        if chain is None and getattr(options, option) is not None:
            raise UsageError(f"{refused}: {why}")
    digests = _digests(options, data, content)
    kept = None
    if options.resume is not None:
        kept = KeptParts(options.resume, {
            "model": digests[MODEL], "property": _property_hash(about, digests.get(PROPERTY, "")),
            "set of hypotheses": value_hash(repr(hypotheses)), "set of options": value_hash(options.edition),
            **tool_identity(("numpy",)),
        })  # fmt: skip
    seconds = _seconds(options)
    limit, time = SearchLimit.after(seconds, options.parts), shorter_time("--search", seconds)
    answers: list[TaskAnswer] = []
    trees: list[Tree] = []
    witness: dict[str, Array] = {}
    violated = ""
    for number, task in enumerate(about.tasks):
        share = SearchLimit.after(limit.seconds / (len(about.tasks) - number), limit.parts)
        if not task.unsafe:
            decision = Decision(shown=1.0)  # no output is unsafe
            trees.append({})
        elif chain is not None:
            on_chain = _chain_task(chain, analyser, output, elements, task)
            away = None if elsewhere is None else elsewhere(task)
            decision, tree = decide_in_rounds(on_chain, number, share, kept, away, options.progress)
            trees.append(tree)
        else:
            decision = decide_by_boxes(analyser, output.name, elements, task, share, options.progress)
        answers.append(_answer(decision, task))
        if decision.witness is not None:
            witness = dict(decision.witness.point)
            violated = " and ".join(map(str, task.unsafe[decision.witness.unsafe])) or "every output"
            break
    certificate = None
    holds = len(trees) == len(about.tasks) and all(answer.answer is PropertyAnswer.HOLDS for answer in answers)
    conditions = Conditions.of(options, digests=digests, budgets=_ended_by(options, answers, time))
    if content is not None and holds:
        certificate = certificate_of(trees, conditions, about.rounded_inputs)
    return PropertyResult(
        model=name, conditions=conditions, subject=about.name,
        about=hypotheses.statement,
        excludes=tuple(hypotheses.excludes), tasks=tuple(answers), violated=violated, witness=witness,
        timed_out=limit.seconds <= 0,
        assignment=_assignment(asked, stated, witness, folder, options.edition) if witness else (),
        certificate=certificate, empty_boxes=about.empty_boxes, rounded_inputs=about.rounded_inputs,
    )  # fmt: skip


def _seconds(options: VerifyOptions) -> float:
    """How long the search may take; a number of parts alone sets no time."""
    return options.search or (SEARCH_SECONDS if options.parts is None else inf)


def _digests(options: VerifyOptions, data: bytes, content: bytes | None) -> dict[str, str]:
    """The SHA-256 of each file that the answer depends on, by its role."""
    digests = {MODEL: hashlib.sha256(data).hexdigest()}
    digests |= {f"network {name}": sha256(path) for name, path in _network_files(options).items()}
    if content is not None:
        digests[PROPERTY] = hashlib.sha256(content).hexdigest()
    if options.robust is not None:
        digests["input of --robust"] = sha256(options.robust)
    return digests


def _ended_by(options: VerifyOptions, answers: Sequence[TaskAnswer], time: str) -> tuple[str, ...]:
    """The budget that ended the search of an open task: its parts, or its time."""
    if all(answer.answer not in (PropertyAnswer.OPEN, PropertyAnswer.IDEAL) for answer in answers):
        return ()
    counted = options.parts is not None and any(answer.parts >= options.parts for answer in answers)
    return (f"--parts {options.parts}" if counted else time,)


def _property_hash(about: Property, stated: str) -> str:
    """The SHA-256 of a property: of its file, and of every number of its boxes and sets."""
    digest = hashlib.sha256(stated.encode())
    for task in about.tasks:
        digest.update(repr(task.unsafe).encode())
        for name, interval in sorted(task.box.items()):
            digest.update(f"{name!r} {interval.low.shape}".encode())
            digest.update(interval.low.tobytes() + interval.high.tobytes())
    return digest.hexdigest()


def _chain(model: Model, inputs: int, outputs: int) -> tuple[Chain | None, str]:
    """The model as a chain of layers; or None, and why it is none.

    The checker's claim is about every implementation that any hypotheses admit for sums of float products.
    """
    try:
        chain = Chain(model)
    except NotAChain as error:
        return None, str(error)
    if (chain.inputs, chain.outputs_count) != (inputs, outputs):
        return None, "the model is about more than one row of elements"
    return chain, ""


def _chain_task(
    chain: Chain, analyser: Analyser, output: ValueInfo, elements: Mapping[str, str], task: Task
) -> ChainTask:  # fmt: skip
    """The task for the search, with an analyser that bounds inputs which seem to violate the property."""
    shapes = {value.name: np.shape(task.box[value.name].low) for value in required_inputs(analyser.model)}
    sets = Sets(task, [extent for extent in output.type.shape or () if isinstance(extent, int)])

    def confirmed(point: Array) -> Witness | None:
        near = numbers_at(input_arrays(point, shapes), task.box, elements)
        unsafe = None if near is None else occurring_set(analyser, output.name, sets, near)
        return None if unsafe is None or near is None else Witness(near, unsafe)

    low = np.concatenate([np.ravel(task.box[name].low) for name in shapes])
    high = np.concatenate([np.ravel(task.box[name].high) for name in shapes])
    return ChainTask(chain, shapes, low, high, sets, confirmed)


def certificate_of(trees: Sequence[Tree], conditions: Conditions, rounded_inputs: int = 0) -> str:
    """The certificate of a property that holds, as `certificate_checker` reads it.

    Args:
        trees: the parts of each box.
        conditions: what the answer holds for, with the SHA-256 of the model and of the .vnnlib file; the checker reads
            the trees and these two, `sonnx audit` compares all of them with a pack's.
        rounded_inputs: how many inputs were rounded to a number of their type.
    """
    stated = {
        "format": FORMAT, "claim": ROUNDED_CLAIM if rounded_inputs else CLAIM, "tool": tool_version(),
        "model": conditions.digests[MODEL], "property": conditions.digests[PROPERTY],
        "boxes": list(trees), "conditions": json_data(conditions),
    }  # fmt: skip
    return json.dumps(stated, separators=(",", ":")) + "\n"


def _require_options(source: Path | None, options: VerifyOptions) -> None:
    if (source is None) == (options.robust is None):
        raise UsageError("name a property, .vnnlib or .toml, or --robust FILE.npy with --radius R")
    if options.certificate is not None and (source is None or source.suffix != ".vnnlib"):
        raise UsageError("--certificate requires a property in a .vnnlib file")
    if (options.robust is None) != (options.radius is None):
        raise UsageError("--robust requires --radius, and --radius requires --robust")
    for option in ("jobs", "cluster", "resume") if options.parts is not None else ():
        if getattr(options, option) is not None:
            raise UsageError(f"--parts counts the parts of one run in one process; leave out --{option}")


class _Stated(NamedTuple):
    """A property of a model with one output, and the bytes of its file.

    Attributes:
        names: of the elements of the inputs and of the output, where the property is a query of VNN-LIB 2.
        hidden: values of the model whose shape the query states.
    """

    model: Model
    property: Property
    content: bytes | None
    names: tuple[str, ...] | None = None
    hidden: tuple[tuple[str, tuple[int, ...]], ...] = ()


def _stated(model: Model, folder: Path | None, source: Path | None, options: VerifyOptions) -> _Stated:
    """The property of a file, or robustness."""
    if source is None or source.suffix != ".vnnlib":
        _require_no_networks(options)
        asked = with_one_output(model)
        return _Stated(asked, *_property(asked, folder, source, options))
    shown = quote(str(source))
    content = _content(source, shown)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{shown}, line {line}: byte {error.start} of the file is not UTF-8") from None
    with decoding(source, "a property in VNN-LIB"):
        if not is_query(text):
            _require_no_networks(options)
            asked = with_one_output(model)
            about = property_of_vnnlib(text, asked, source.name, round_inputs=options.round_inputs)
            return _Stated(asked, about, content)
        networks = {
            name: with_external_data(read(file_bytes(path, quote(str(path))), quote(str(path))), path.parent)
            for name, path in _network_files(options).items()
        }
        own = with_external_data(model, folder) if networks else model
        query = stated_query(text, networks, own, source.name, round_inputs=options.round_inputs)
    return _Stated(query.model, query.property, content, (*query.inputs, *query.names), query.hidden)


def _require_no_networks(options: VerifyOptions) -> None:
    if options.networks:
        raise UsageError("--network requires a query in VNN-LIB 2")


def _network_files(options: VerifyOptions) -> dict[str, Path]:
    """The files of --network by the names of the networks.

    Raises:
        UsageError: an argument has another form, or names a network again.
    """
    files: dict[str, Path] = {}
    for text in options.networks:
        name, equals, path = text.partition("=")
        if not equals or not name or not path or name in files:
            raise UsageError(f"--network takes NAME=FILE, each name once, not {quote(text)}")
        files[name] = Path(path)
    return files


def _require_shapes(analyser: Analyser, stated: _Stated) -> None:
    """Refuse a query that states another shape of a hidden node than its values have."""
    if not stated.hidden or not stated.property.tasks:
        return
    values = analyser.run(stated.property.tasks[0].box).values
    for name, shape in stated.hidden:
        if values[name].low.shape != shape:
            raise BadInput(f"{quote(name)} has shape {[*values[name].low.shape]}; the query states {[*shape]}")


def _assignment(
    model: Model, stated: _Stated, witness: Mapping[str, Array], folder: Path | None, edition: str | None
) -> tuple[tuple[str, float], ...]:
    """The elements of a violating input and of the exact values of the outputs, rounded once."""
    runner = ModelRunner(model, folder and folder / "model", edition, unchecked=True)
    inputs = [np.ravel(witness[value.name]) for value in required_inputs(model)]
    output = np.ravel(runner.run(witness).values[output_of(model).name])
    numbers = [float(each) for each in (*np.concatenate(inputs), *output)]
    count = sum(map(len, inputs))
    names = stated.names or [*(f"X_{index}" for index in range(count)), *(f"Y_{index}" for index in range(output.size))]
    return tuple(dict(zip(names, numbers, strict=True)).items())


def _content(source: Path, shown: str) -> bytes:
    try:
        content = file_bytes(source, shown)
    except Unreadable as error:
        raise UsageError(str(error)) from None
    if len(content) > MAX_BYTES:
        raise UsageError(f"{shown} is not a property of at most {MAX_BYTES} bytes")
    return content


def _property(
    model: Model, folder: Path | None, source: Path | None, options: VerifyOptions
) -> tuple[Property, bytes | None]:
    """Robustness, or the property of a file in TOML with its bytes."""
    if source is None:
        point = _array(str(options.robust))
        [name] = [value.name for value in required_inputs(model)][:1] or [""]
        runner = ModelRunner(model, folder and folder / "model", options.edition, unchecked=True)
        place = largest_element(runner.run({name: point}).values[output_of(model).name])
        return robustness(model, point, options.radius or 0.0, place, Path(str(options.robust)).name), None
    shown = quote(str(source))
    content = _content(source, shown)
    if source.suffix != ".toml":
        raise UsageError(f"{shown} is not a .vnnlib or .toml file")
    with decoding(source, "a property in TOML"):
        return property_of_toml(source, model, lambda text: _array(str(source.parent / text))), content


def _array(path: str) -> Array:
    """The one array of a file."""
    arrays = list(read_file(Path(path)).values())
    if len(arrays) != 1:
        raise BadInput(f"{quote(path)} has {len(arrays)} arrays; one is used")
    return np.asarray(arrays[0])


def _answer(decision: Decision, task: Task) -> TaskAnswer:
    answer = PropertyAnswer.OPEN
    if decision.witness is not None:
        answer = PropertyAnswer.VIOLATED
    elif not decision.left:
        answer = PropertyAnswer.HOLDS
    elif not decision.open:
        answer = PropertyAnswer.IDEAL
    place = ", ".join(parts_of(decision.place)) if decision.place is not None else ""
    margin = float(decision.margin) if np.isfinite(decision.margin) else None
    sets = tuple(" and ".join(map(str, atoms)) or "every output" for atoms in task.unsafe[:MAX_LISTED_SETS])
    return TaskAnswer(
        answer, decision.parts, decision.shown, decision.ideal, margin, place, len(task.unsafe),
        {name: InputBox.of(interval) for name, interval in task.box.items()}, sets,
    )  # fmt: skip
