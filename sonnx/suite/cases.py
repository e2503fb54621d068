"""The cases of an operator: structure classes by value classes, with exact values and derived ends, as files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from math import prod

import numpy as np
from msgspec import Struct

from sonnx.base.errors import Stop
from sonnx.base.files import sha256
from sonnx.checker.report import NotConforming
from sonnx.executor.executor import ModelRunner
from sonnx.executor.result_boundaries import OVERFLOW, UNDERFLOW, SearchedCall, boundary_cases
from sonnx.language.evaluator import RUN_TIME
from sonnx.model.ir import Model, Type, ValueInfo
from sonnx.model.writer import write
from sonnx.numerics.constant_data import decode
from sonnx.numerics.enclosures.hypotheses import Hypotheses, hypotheses_named
from sonnx.numerics.formats import ELEMENTS, Array, TensorSpec, format_of
from sonnx.numerics.value_classes import ClassCase, Fill, cases, meetings
from sonnx.operators import stated_operator
from sonnx.profile.catalogue import edition_named
from sonnx.profile.definitions import OperatorDefinition, Tag
from sonnx.prover.signature_family import SignatureFamily, signatures
from sonnx.prover.witness import CallInstance, call_text
from sonnx.suite.archive import (
    UNBOUNDED,
    Case,
    ClassAnswer,
    CoveredPairs,
    DataSet,
    Excluded,
    Part,
    StoredCase,
    archive_of,
    tensor_file,
)
from sonnx.suite.constants import (
    SEED,
    conforms,
    constant_inputs,
    initializer_of,
    model_of_call,
    read_by_rules,
    with_attribute_elements,
    with_inputs_and_constants,
)
from sonnx.suite.expected import Expected, Tolerances
from sonnx.suite.options import MakeOptions
from sonnx.suite.sized_values import behind_slice, sized_classes, with_long_attributes
from sonnx.suite.structures import Structure, Structures, structures

FIRST, FURTHER, MEETINGS = 48, 24, 48
"""Data sets of a call that stands for its element types: the first value classes, further ones at equal distances in
the rest of their list, and those in which the special values of two inputs meet."""
BOUNDARIES = 48
"""Of these those next to where a conversion rounds, beside neutral inputs."""
RESULT_BOUNDARIES = 12
"""Data sets of a function next to where its result overflows or underflows."""
SETS = 5
"""Data sets of any other call: ordinary inputs, the first value class, and of each call other ones."""
SLICED = (7, 17, 33)
"""Extents of calls that occur behind a Slice, too."""


class OperatorSuite(Struct, frozen=True):
    """The versions of an operator: what is said about each, and the archive of their cases."""

    parts: tuple[Part, ...]
    archive: bytes


def operator_suite(described: OperatorDefinition, options: MakeOptions) -> OperatorSuite:
    """The part of a suite about one operator: its versions, or the newest one, and their cases."""
    edition, hypotheses = edition_named(options.edition).name, hypotheses_named(options.hypotheses)
    parts: list[Part] = []
    stored_cases: list[StoredCase] = []
    for family in families_of(described, edition, every=options.every_version):
        options.progress(f"{family.label}")
        part, cases_of_part = part_of(family, hypotheses, options.pairs, options.progress)
        parts.append(part)
        stored_cases += cases_of_part
    return OperatorSuite(tuple(parts), archive_of(stored_cases))


def families_of(described: OperatorDefinition, edition: str, *, every: bool) -> Iterator[SignatureFamily]:
    """Every version of an operator that an edition admits, or the newest one."""
    in_edition = [candidate for candidate, name in signatures(described) if name == edition]
    for signature in in_edition if every else in_edition[:1]:
        yield SignatureFamily(described, signature, edition, ((signature.version, edition),))


def part_of(
    family: SignatureFamily,
    hypotheses: Hypotheses,
    pairs: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Part, list[StoredCase]]:
    """The cases of one version of an operator in one edition, and what the suite says about them."""
    coverage = structures(family, pairs, progress=lambda done: progress(f"{family.label}: {done}"))
    excluded: Counter[tuple[str, str]] = Counter()
    stored_cases: list[StoredCase] = []
    start = f"{family.signature.operator}-{family.signature.version}-{family.edition}".lower()
    for structure in (*coverage.positive, *coverage.negative, *_with_sizes(coverage)):
        for model in _forms(structure, family.edition):
            name = f"{start}-{len(stored_cases):04}"
            stored_case = _stored(name, len(stored_cases), structure, model, coverage, hypotheses, excluded)
            if stored_case is not None:
                stored_cases.append(stored_case)
    sets = [members for stored in stored_cases for members in stored.case.sets]
    part = Part(
        operator=family.signature.operator, version=family.signature.version, edition=family.edition,
        classes=tuple(ClassAnswer(class_.name, class_.rule, class_.answer) for class_ in coverage.classes),  # type: ignore[arg-type]
        pairs=(
            None if coverage.pairs is None
            else CoveredPairs(
                coverage.pairs.covered, coverage.pairs.unsatisfiable, coverage.pairs.unknown, coverage.pairs.not_asked
            )
        ),
        sizes=_sizes(coverage), unbroken=dict(coverage.unbroken), labels=_matrix(family, stored_cases),
        excluded=tuple(Excluded(call, reason, number) for (call, reason), number in excluded.items()),
        positive=sum(not stored.case.broken for stored in stored_cases),
        negative=sum(bool(stored.case.broken) for stored in stored_cases),
        sets=len(sets), without_bound=sum(members.outputs.count(UNBOUNDED) for members in sets),
    )  # fmt: skip
    return part, stored_cases


def _forms(structure: Structure, edition: str) -> Iterator[Model]:
    """The model that the checker judged; for a conforming call also models with more graph inputs or more constants."""
    if structure.broken:
        yield with_attribute_elements(structure.call.model())
        return
    model = model_of_call(structure.call, edition)
    yield model
    if structure.sized is not None:
        behind = behind_slice(model, structure.sized) if structure.sized.extent in SLICED else None
        if behind is not None and conforms(behind, edition):
            yield behind
        return
    kept = constant_inputs(structure.call.signature)
    yield from (longer for longer in with_long_attributes(model) if conforms(longer, edition))
    movable = [initializer for initializer in model.graph.initializers if initializer.name not in kept]
    for promoted in ((movable, movable[:1]) if len(movable) > 1 else (movable,)) if movable else ():
        as_inputs = tuple(ValueInfo(tensor.name, Type("tensor", tensor.element, tensor.dims)) for tensor in promoted)
        constants = tuple(initializer for initializer in model.graph.initializers if initializer not in promoted)
        yield with_inputs_and_constants(model, (*model.graph.inputs, *as_inputs), constants)
    if len(model.graph.inputs) > 1:
        specs = specs_of(model)
        drawn = ClassCase("ordinary", "", {}).drawn(specs, SEED)
        constants = tuple(initializer_of(operand.name, drawn[operand.name]) for operand in model.graph.inputs[1:])
        yield with_inputs_and_constants(model, model.graph.inputs[:1], (*model.graph.initializers, *constants))


def _with_sizes(coverage: Structures) -> Iterator[Structure]:
    """The calls with large extents as structures, each with the class of its size."""
    for sized in coverage.sized:
        yield Structure(sized.call, (sized.title,), sized=sized)


def _in_words(structure: Structure, model: Model) -> str:
    """The call of a model in one line, without the values of constants that no rule reads."""
    call = structure.call
    if structure.broken:
        return call_text(call)
    fixed = read_by_rules(call.signature)
    inputs = tuple(
        facts if facts is None or f"x{place}" in fixed else facts._replace(values=RUN_TIME)
        for place, facts in enumerate(call.inputs)
    )
    shapes = iter([tuple(int(str(extent)) for extent in output.type.shape or ()) for output in model.graph.outputs])
    outputs = tuple(None if facts is None else facts._replace(shape=next(shapes)) for facts in call.outputs)
    return call_text(replace(call, inputs=inputs, outputs=outputs, attributes=model.graph.nodes[-1].attributes))


def specs_of(model: Model) -> dict[str, TensorSpec]:
    """The shapes and types of the graph inputs."""
    return {
        operand.name: (tuple(int(extent) for extent in operand.type.shape or ()), ELEMENTS[operand.type.element or ""])  # type: ignore[arg-type]
        for operand in model.graph.inputs
    }


def _stored(
    name: str,
    number: int,
    structure: Structure,
    model: Model,
    coverage: Structures,
    hypotheses: Hypotheses,
    excluded: Counter[tuple[str, str]],
) -> StoredCase | None:
    """A case with its files; None where no data set has a value, which is counted."""
    files = {"model.onnx": write(model)}
    sets: list[DataSet] = []
    if not structure.broken:
        try:
            for chosen, inputs, outputs, expected in _data(structure, model, number, coverage, hypotheses, excluded):
                add_data_set(files, len(sets), inputs, outputs, expected)
                sets.append(DataSet(chosen.name, chosen.detail, tuple(judged.decides for judged in expected)))
        except (NotConforming, Stop) as error:
            excluded[call_text(structure.call), str(error)] += 1
        if not sets:
            return None
    slugs = {class_.name: class_.rule for class_ in coverage.classes}
    of_classes = (slugs.get(class_, "") for class_ in structure.classes)
    rules = tuple(dict.fromkeys(filter(None, [structure.broken, *of_classes])))
    described = [rule for rule in coverage.family.rules if rule.slug in rules]
    tags = [] if structure.broken else list(coverage.family.described.tags)
    case = Case(
        id=name, operator=coverage.family.signature.operator, version=coverage.family.signature.version,
        edition=coverage.family.edition, call=_in_words(structure, model), classes=structure.classes, rules=rules,
        labels=_labels([*tags, *(tag for rule in described for tag in rule.tags)]),
        errata=tuple(dict.fromkeys(text for rule in described for text in rule.errata)),
        constants=tuple(initializer.name for initializer in model.graph.initializers), broken=structure.broken,
        invalid=structure.invalid, sets=tuple(sets),
        digests={path: sha256(content) for path, content in sorted(files.items())},
    )  # fmt: skip
    return StoredCase(case, files)


def _data(
    structure: Structure,
    model: Model,
    number: int,
    coverage: Structures,
    hypotheses: Hypotheses,
    excluded: Counter[tuple[str, str]],
) -> Iterator[tuple[ClassCase, dict[str, Array], list[Array], list[Expected]]]:
    """The data sets of a call, by its number in the suite."""
    specs = specs_of(model)
    runner = ModelRunner(model, None, coverage.family.edition)
    tolerances = Tolerances(model, hypotheses, coverage.family.edition)
    is_standing = any(call_instance is structure.call for call_instance in _standing(coverage))
    constants = {
        initializer.name: decode(initializer, None) for initializer in structure.call.model().graph.initializers
    }
    own = {name: array for name, array in constants.items() if name in specs}
    if structure.sized is not None:
        chosen_classes = [*sized_classes(structure.sized, specs, exact=tolerances.exact >= {*tolerances.names})]
    else:
        chosen_classes = [*_value_classes(specs, is_standing, number, _broadcasts(model)), *_classes_of_numbers(own)]
        if is_standing and len(tolerances.exact) < len(tolerances.names):
            chosen_classes += _result_boundaries(model, runner, specs)
    for chosen in chosen_classes:
        inputs = chosen.drawn(specs, SEED)
        try:
            exact = runner.run(inputs).values
        except Stop as error:
            excluded[call_text(structure.call), str(error)] += 1
            continue
        yield chosen, inputs, [*exact.values()], tolerances.ends(inputs, exact)


def _result_boundaries(model: Model, runner: ModelRunner, specs: Mapping[str, TensorSpec]) -> list[ClassCase]:
    """Inputs of a function of one tensor next to where its result overflows, or becomes subnormal or 0."""
    [node] = model.graph.nodes
    facts = stated_operator(node.operator, node.domain)
    if len(specs) != 1 or facts is None or not facts.elementwise or model.graph.initializers:
        return []
    [(shape, _)] = specs.values()
    name = model.graph.outputs[0].name

    def results(inputs: Mapping[str, Array]) -> Array | None:
        with suppress(Stop):
            return runner.run(inputs).values[name]
        return None

    searched = SearchedCall(specs, results, prod(shape), shape, is_elementwise=True)
    of_sorts = [case for case in boundary_cases(searched, SEED) if case.name.startswith((UNDERFLOW, OVERFLOW))]
    return of_sorts[:RESULT_BOUNDARIES]


def _value_classes(specs: Mapping[str, TensorSpec], is_standing: bool, number: int, broadcast: bool) -> list[ClassCase]:
    """The value classes of a call by its number in the suite, so that all calls together have the whole list."""
    listed = cases(specs)
    ordinary = ClassCase("ordinary", "", {})
    if is_standing:
        rest = listed[FIRST:]
        further = rest[:: max(1, len(rest) // FURTHER)][:FURTHER]
        boundaries = [
            class_case
            for class_case in rest
            if class_case.name.startswith("conversion boundary,") and class_case not in further
        ]
        further += boundaries[:BOUNDARIES]
        return [ordinary, *listed[:FIRST], *further, *islice(meetings(specs) if broadcast else (), MEETINGS)]
    rest = listed[1:]
    places = {(number * (SETS - 2) + index) % len(rest) for index in range(SETS - 2)} if rest else set()
    return [ordinary, *listed[:1], *(rest[place] for place in sorted(places))]


def _classes_of_numbers(own: Mapping[str, Array]) -> Iterator[ClassCase]:
    """The numbers that the call has as constants, for graph inputs, and their neighbours in a type of floats."""

    def nexts(end: float) -> dict[str, Fill]:
        return {name: partial(_next, values=values, end=end) for name, values in own.items()}

    if own:
        yield ClassCase("numbers of the call", "", nexts(0))
    if any(format_of(values.dtype) is not None for values in own.values()):
        yield ClassCase("next above the numbers of the call", "", nexts(np.inf))
        yield ClassCase("next below the numbers of the call", "", nexts(-np.inf))


def _next(ordinary: Array, values: Array, end: float) -> Array:
    """The values; of floats the neighbour of each towards `end`, an infinity, unless it is 0."""
    stays = not end or format_of(values.dtype) is None
    return values.copy() if stays else np.asarray(np.nextafter(values, values.dtype.type(end)))


def _broadcasts(model: Model) -> bool:
    """Whether the inputs have the shape of the output when they are broadcast together: elements of them may meet."""
    shapes = [
        tuple(map(int, map(str, operand.type.shape or ()))) for operand in (*model.graph.inputs, model.graph.outputs[0])
    ]
    try:
        return np.broadcast_shapes(*shapes[:-1]) == shapes[-1]
    except ValueError:
        return False


def _standing(coverage: Structures) -> list[CallInstance]:
    """One call for each combination of element types of the inputs: the first whose inputs have two elements or more
    and whose outputs have four, or else the one with most elements; first of all one without padding.
    """
    best: dict[object, tuple[tuple[int, int], CallInstance]] = {}
    padded = [structure.call for structure in coverage.positive if structure.call not in coverage.unpadded]
    for call in (*coverage.unpadded, *padded):
        present = [facts for facts in call.inputs if facts is not None]
        key = tuple(str(facts.type) for facts in present)
        shapes = [facts.shape for facts in present if isinstance(facts.shape, tuple)]
        inputs = min([2, *(prod(int(str(extent)) for extent in shape) for shape in shapes)])
        outputs = [facts.shape for facts in call.outputs if facts is not None and isinstance(facts.shape, tuple)]
        elements = inputs, min([4, *(prod(int(str(extent)) for extent in shape) for shape in outputs)])
        if key not in best or elements > best[key][0]:
            best[key] = (elements, call)
    return [call for _, call in best.values()]


def add_data_set(
    files: dict[str, bytes],
    number: int,
    inputs: Mapping[str, Array],
    outputs: Sequence[Array],
    expected: Sequence[Expected],
) -> None:
    """Add the files of a data set to the files of its case."""
    folder = f"test_data_set_{number}"
    for place, (name, array) in enumerate(inputs.items()):
        files[f"{folder}/input_{place}.pb"] = tensor_file(name, array)
    for place, (array, (_, allowed)) in enumerate(zip(outputs, expected, strict=True)):
        files[f"{folder}/output_{place}.pb"] = tensor_file(f"y{place}", array)
        if allowed is not None:
            files[f"{folder}/lower_{place}.pb"] = tensor_file(f"y{place}", allowed.lower)
            files[f"{folder}/upper_{place}.pb"] = tensor_file(f"y{place}", allowed.upper)


def _sizes(coverage: Structures) -> dict[str, tuple[int, ...]]:
    """The extents that grew, by input and axis."""
    sizes: dict[str, set[int]] = {}
    for sized in coverage.sized:
        sizes.setdefault(f"input {sized.input} axis {sized.axis}", set()).add(sized.extent)
    return {name: tuple(sorted(extents)) for name, extents in sorted(sizes.items())}


def _labels(tags: Iterable[Tag]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{tag.label}@{tag.text}" for tag in tags))


def _matrix(family: SignatureFamily, stored_cases: Sequence[StoredCase]) -> dict[str, tuple[str, ...]]:
    """Every label of the operator and its rules, with the cases that test it."""
    tags = [*family.described.tags, *(tag for rule in family.rules for tag in rule.tags)]
    return {
        label: tuple(stored.case.id for stored in stored_cases if label in stored.case.labels)
        for label in sorted(_labels(tags))
    }
