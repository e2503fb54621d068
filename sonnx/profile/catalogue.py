"""The loader of the profile: restrictions/ as frozen objects, each operator file read only when it is needed.

An unknown key, a missing key or a value of another type is a `CatalogueError`.  Errors that one file does not show
(dangling tags, slugs used twice, wrong types in expressions) are found by `sonnx.checker.profile_validation`, which the
tests and `sonnx tool selfcheck` run; so are texts that are not of the rule language, which a command parses when it
needs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from sonnx.base.errors import UsageError
from sonnx.base.suggestions import did_you_mean
from sonnx.language.domain import Expression
from sonnx.profile.definitions import (
    Edition,
    Editions,
    Erratum,
    Input,
    OperatorDefinition,
    Output,
    Parameter,
    Rule,
    at,
    expand,
    expressions_in,
)
from sonnx.profile.file_format import (
    EditionFormat,
    EditionsFile,
    ErrataFile,
    GeneralFile,
    GeneralRule,
    GraphFile,
    GraphRule,
    InputFormat,
    OperatorFile,
    OperatorRule,
    OperatorsOutsideFile,
    OutputFormat,
    ParameterFormat,
)
from sonnx.profile.profile_data import in_use, of_profile
from sonnx.profile.stored_tables import table
from sonnx.profile.toml_files import CatalogueError, T, by_version, expression, loads, numbered, structure

CompletedT = TypeVar("CompletedT", bound=Struct)


def read_data(name: str, kind: type[T]) -> T:
    """The structure in a file of restrictions/.

    Raises:
        CatalogueError: the file is not valid TOML, or does not have the expected keys and values.
    """
    return structure(table(in_use().folder / name, name), kind, name)


@of_profile
def _read_operator(file: str) -> OperatorDefinition:
    try:
        return _operator(read_data(f"operators/{file}", OperatorFile), file)
    except CatalogueError as error:
        text = str(error)
        raise CatalogueError(text if file in text else f"operators/{file}: {text}") from None


def operator_in(text: str, place: str) -> OperatorDefinition:
    """The operator in the text of a file of operators/.

    Raises:
        CatalogueError: the text is not valid TOML, or does not have the expected keys and values.
    """
    definition = _operator(structure(loads(text, place), OperatorFile, place), place)
    for each in expressions_in(definition):
        each.parsed_now()
    return definition


def _completed(kind: type[CompletedT], written: Struct, computed: Mapping[str, Any]) -> CompletedT:
    """A structure with the given values; the others are as they are written."""
    values = {**asdict(written), **computed}
    return kind(**{name: values[name] for name in kind.__struct_fields__ if name in values})


def _rule(written: GeneralRule | GraphRule | OperatorRule, slug: str, **computed: Any) -> Rule:
    texts = {key: getattr(written, key, None) for key in ("require", "onnx", "when")}
    parts = {key: None if text is None else expression(text, f"{slug}.{key}") for key, text in texts.items()}
    return _completed(Rule, written, {**parts, "slug": slug, **computed})


def _expressions(written: str | Mapping[str, str] | None, place: str) -> dict[int, Expression]:
    """Expressions of the rule language by version."""
    return {} if written is None else {key: expression(text, place) for key, text in by_version(written).items()}


def _inputs(name: str, written: InputFormat, place: str) -> Iterator[Input]:
    when = expression(written.absent_when, f"{place}.absent_when") if written.absent_when else None
    for span in _spans(name, written):
        yield _completed(Input, written, {**span, "absent_when": when})


def _outputs(name: str, written: OutputFormat, place: str) -> Iterator[Output]:
    computed = {
        "shape": _expressions(written.shape, f"{place}.shape"),
        "element": _expressions(written.element, f"{place}.element"),
        "values": _expressions(written.values, f"{place}.values"),
        "implied_by": _names_by_version(written.implied_by),
    }
    for span in _spans(name, written):
        yield _completed(Output, written, {**computed, **span})


def _names_by_version(written: Mapping[str, tuple[str, ...]] | tuple[str, ...]) -> dict[int, tuple[str, ...]]:
    return by_version(written) if written else {}


def _spans(name: str, written: InputFormat | OutputFormat) -> list[dict[str, Any]]:
    """The spans of versions in which type, ONNX name and optionality of an input or output are constant."""
    types, names, optional = by_version(written.type), by_version(written.onnx or name), by_version(written.optional)
    first = max(written.since, min(types))
    starts = sorted({first, *(start for start in (*types, *names, *optional) if start > first)})
    return [
        {
            "name": name, "type": at(types, start), "onnx": at(names, start), "optional": bool(at(optional, start)),
            "since": start, "before": end,
        }
        for start, end in zip(starts, [*starts[1:], written.before], strict=True)
    ]  # fmt: skip


def _parameters(name: str, written: ParameterFormat, place: str) -> Iterator[Parameter]:
    """One parameter for each span of versions in which its kind is constant."""
    meanings = {} if written.absent is None else by_version(written.absent)
    absent = {
        start: None if meaning == "none" else expression(meaning, f"{place}.absent")
        for start, meaning in meanings.items()
    }
    kinds = by_version(written.kind)
    starts = sorted({max(written.since, min(kinds)), *(start for start in kinds if start > written.since)})
    for start, end in zip(starts, [*starts[1:], written.before], strict=True):
        span = {"name": name, "kind": at(kinds, start), "since": start, "before": end, "absent": absent}
        yield _completed(Parameter, written, span)


def _operator(written: OperatorFile, place: str) -> OperatorDefinition:
    name, versions = written.operator, written.versions
    inputs, outputs, parameters = written.inputs.items(), written.outputs.items(), written.parameters.items()
    computed: dict[str, Any] = {
        "name": name,
        "specified": versions.specified,
        "known": versions.known,
        "equivalent": numbered(versions.equivalent),
        "refused": numbered(versions.refused),
        "specified_in": versions.specified_in,
        "types": {variable: numbered(value_type) for variable, value_type in written.types.items()},
        "inputs": tuple(
            operand
            for letter, input_format in inputs
            for operand in _inputs(letter, input_format, f"{place}.inputs.{letter}")
        ),
        "outputs": tuple(
            output
            for letter, output_format in outputs
            for output in _outputs(letter, output_format, f"{place}.outputs.{letter}")
        ),
        "parameters": tuple(
            parameter
            for letter, parameter_format in parameters
            for parameter in _parameters(letter, parameter_format, f"{place}.parameters.{letter}")
        ),
        "define": {letter: _expressions(text, f"{place}.define.{letter}") for letter, text in written.define.items()},
        "kinds": numbered(written.kinds),
        "output_counts": numbered(written.output_counts),
        "rules": tuple(
            _rule(
                operator_rule,
                f"{name}.{operator_rule.name}",
                subject="node",
                implied_by=_names_by_version(operator_rule.implied_by),
            )
            for operator_rule in written.rule
        ),
    }
    return _completed(OperatorDefinition, written, computed)


@of_profile
def operators_outside() -> Mapping[str, str]:
    """The operators of ONNX that neither an edition nor a file names, each with what of the profile is near, or ""."""
    listed = read_data("onnx_operators.toml", OperatorsOutsideFile).near
    every = editions().editions.values()
    named = {operator for edition in every for operator in (*edition.operators, *edition.planned)}
    outside = {name: near for name, near in listed.items() if name not in named and name.lower() not in _files()}
    return MappingProxyType(outside)


@of_profile
def editions() -> Editions:
    """The texts and editions of editions.toml."""
    file = read_data("editions.toml", EditionsFile)
    by_name: dict[str, Edition] = {}
    for edition_format in file.edition:
        by_name[edition_format.name] = _edition(edition_format, by_name, file.families)
    return Editions(
        default=file.default,
        operator_set=file.onnx.operator_set,
        ir_version=file.onnx.ir_version,
        families=file.families,
        texts={text.name: text for text in file.text},
        editions=by_name,
        uncheckable=file.limit,
    )


def edition_named(name: str | None = None) -> Edition:
    """The edition of a name, the default one if None.

    Raises:
        UsageError: no edition has the name.
    """
    known = editions()
    edition = known.editions.get(known.default if name is None else name)
    if edition is None:
        hint = did_you_mean(name or "", known.editions)
        raise UsageError(f"unknown edition {name!r}; known are {', '.join(known.editions)}{hint}")
    return edition


def _edition(
    written: EditionFormat, earlier: Mapping[str, Edition], families: Mapping[str, tuple[str, ...]]
) -> Edition:
    parent = written.parent
    if parent is not None and parent not in earlier:
        raise CatalogueError(f"edition {written.name}.parent is {parent!r}, which is not an edition above it")
    base = earlier[parent] if parent else Edition("", "", "", (), False, {}, frozenset(), frozenset())
    specified, drafts = _by_operator(written.specified), _by_operator(written.draft)
    kept = {operator: text for operator, text in base.operators.items() if operator not in written.removed}
    return Edition(
        name=written.name,
        title=written.title,
        general=written.general,
        element_types=expand(written.element_types, families),
        consolidated=written.consolidated,
        operators={**kept, **specified, **drafts},
        drafts=(base.drafts - specified.keys()) | drafts.keys(),
        planned=(base.planned | frozenset(written.planned)) - specified.keys() - drafts.keys(),
    )


def _by_operator(by_text: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    return {operator: text for text, operators in by_text.items() for operator in operators}


@of_profile
def general_rules() -> tuple[Rule, ...]:
    """The rules of general.toml."""
    return tuple(_rule(general_rule, general_rule.slug) for general_rule in read_data("general.toml", GeneralFile).rule)


@of_profile
def graph_rules() -> tuple[Rule, ...]:
    """The rules of graph.toml."""
    return tuple(_rule(graph_rule, graph_rule.slug) for graph_rule in read_data("graph.toml", GraphFile).rule)


@of_profile
def errata() -> Mapping[str, Erratum]:
    """The errata of the texts, by id."""
    return {erratum.id: erratum for erratum in read_data("errata.toml", ErrataFile).erratum}


@of_profile
def _files() -> Mapping[str, str]:
    """The file of each operator, by its name in lower case."""
    return {entry.stem: entry.name for entry in (in_use().folder / "operators").glob("*.toml")}


@of_profile
def operator(name: str) -> OperatorDefinition | None:
    """The operator of that name, None where no file describes it.

    The name is looked up among the files that exist; it never becomes part of a path.
    """
    file = _files().get(name.lower())
    if file is None:
        return None
    operator = _read_operator(file)
    return operator if operator.name == name else None


def operators() -> tuple[OperatorDefinition, ...]:
    """Every operator with a file, by name; reads every file."""
    operators = [_read_operator(file) for file in sorted(_files().values())]
    return tuple(sorted(operators, key=lambda operator: operator.name))
