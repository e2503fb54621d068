"""The loader of the profile: restrictions/ as frozen objects, each operator file read only when it is needed.

An unknown key, a missing key or a value of another type is a `CatalogueError`.  Errors that one file does not show
(dangling tags, slugs used twice, wrong types in expressions) are found by `sonnx.checker.profile_validation`, which the
tests and `sonnx selfcheck` run.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.base.resources import folder
from sonnx.base.suggestions import did_you_mean
from sonnx.language.domain import Expression
from sonnx.profile.definitions import (
    Edition,
    Editions,
    Erratum,
    Input,
    Operator,
    Output,
    Parameter,
    RoundingPoint,
    Rule,
    Text,
    Uncheckable,
    Versioned,
    at,
    expand,
)
from sonnx.profile.toml_files import (
    CatalogueError,
    Table,
    by_version,
    numbers,
    parsed,
    read_record,
    reasons,
    strings,
)

_OPERATOR_RULE_KEYS = frozenset({"since", "before", "relies", "implied_by"})
"""Keys that only a rule of an operator may have."""


def _rule(data: Mapping[str, Any], place: str, operator: str) -> Rule:
    table = Table(data, place)
    slug = f"{operator}.{table.take('name', str)}" if operator else table.take("slug", str)
    table.place = slug
    for key in () if operator else _OPERATOR_RULE_KEYS & table.data.keys():
        raise CatalogueError(f"{slug} is not a rule of an operator, so it cannot have {key}")
    return read_record(
        Rule,
        table,
        slug=slug,
        subject="node" if operator else table.take("subject", str),
        kind=table.take("class", str),
        require=table.expression("require"),
        onnx=table.expression("onnx"),
        when=table.expression("when"),
        implied_by=table.implied_by(),
    )


def _inputs(name: str, table: Table) -> Iterator[Input]:
    for span in _spans(name, table):
        yield read_record(Input, Table(table.data, table.place), name=name, **span)


def _outputs(name: str, table: Table) -> Iterator[Output]:
    texts = {key: table.expressions(key) for key in ("shape", "element")}
    given = {**texts, "implied_by": table.implied_by()}
    for span in _spans(name, table):
        yield read_record(Output, Table(table.data, table.place), name=name, **given, **span)


def _spans(name: str, table: Table) -> list[dict[str, Any]]:
    """The spans of versions in which type, ONNX name and optionality of an input or output are constant."""
    since, before = table.take("since", int, 1), table.maybe("before", int)
    types, names = table.versioned("type"), table.versioned("onnx") or {1: name}
    optional = table.versioned("optional") or {1: False}
    if not types:
        raise CatalogueError(f"{table.place} lacks type")
    first = max(since, min(types))
    starts = sorted({first, *(start for start in (*types, *names, *optional) if start > first)})
    return [
        {
            "type": at(types, start), "onnx": at(names, start), "optional": bool(at(optional, start)),
            "since": start, "before": end,
        }
        for start, end in zip(starts, [*starts[1:], before], strict=True)
    ]  # fmt: skip


def _parameters(name: str, table: Table) -> Iterator[Parameter]:
    """One parameter for each span of versions in which its kind is constant."""
    place = f"{table.place}.absent"
    texts = table.versioned("absent")
    absent = {version: None if text == "none" else parsed(text, place) for version, text in texts.items()}
    since, before, kinds = table.take("since", int, 1), table.maybe("before", int), table.versioned("kind")
    if not kinds:
        raise CatalogueError(f"{table.place} lacks kind")
    starts = sorted({max(since, min(kinds)), *(start for start in kinds if start > since)})
    for start, end in zip(starts, [*starts[1:], before], strict=True):
        span = {"kind": at(kinds, start), "since": start, "before": end}
        yield read_record(Parameter, Table(table.data, table.place), name=name, absent=absent, **span)


def _operator(data: Mapping[str, Any], place: str) -> Operator:
    table = Table(data, place)
    name = table.take("operator", str)
    versions = Table(table.take("versions", dict), f"{place}.versions")
    known = numbers(versions.take("known", list, []), f"{versions.place}.known")
    operator = Operator(
        name=name,
        summary=table.take("summary", str),
        formula=table.take("formula", str),
        source=table.take("source", str),
        specified=None if known else versions.take("specified", int),
        known=known,
        instead=table.take("instead", str, ""),
        equivalent=reasons(versions, "equivalent"),
        refused=reasons(versions, "refused"),
        types={
            variable: {
                since: strings(names, f"{each.place}.{since}")
                for since, names in by_version(each.data, each.place).items()
            }
            for variable, each in table.tables("types")
        },
        profile={
            variable: {text: strings(names, f"{each.place}.{text}") for text, names in each.data.items()}
            for variable, each in table.tables("profile")
        },
        inputs=tuple(each for item in table.tables("inputs") for each in _inputs(*item)),
        outputs=tuple(each for item in table.tables("outputs") for each in _outputs(*item)),
        parameters=tuple(each for item in table.tables("parameters") for each in _parameters(*item)),
        define=_defines(table),
        rounding=tuple(_rounding(table)),
        one_type=tuple(strings(names, f"{place}.one_type") for names in table.take("one_type", list, [])),
        output_counts={
            since: numbers(counts, f"{place}.output_counts")
            for since, counts in table.versioned("output_counts").items()
        },
        errata=table.names("errata"),
        tags=table.tags(),
        specified_in=_versions_by_text(versions),
        rules=tuple(_rule(rule, f"{place}.rule[{i}]", name) for i, rule in enumerate(table.take("rule", list, []))),
    )
    versions.end()
    table.end()
    return operator


def _rounding(table: Table) -> Iterator[RoundingPoint]:
    for number, data in enumerate(table.take("rounding", list, [])):
        yield read_record(RoundingPoint, Table(data, f"{table.place}.rounding[{number}]"))


def _versions_by_text(versions: Table) -> dict[str, int]:
    table = Table(versions.take("specified_in", dict, {}), f"{versions.place}.specified_in")
    return {text: table.take(text, int) for text in list(table.data)}


def _defines(table: Table) -> dict[str, Versioned[Expression]]:
    defines = Table(table.take("define", dict, {}), f"{table.place}.define")
    return {name: defines.expressions(name) for name in list(defines.data)}


def read_data(name: str) -> dict[str, Any]:
    """The table in a file of restrictions/.

    Raises:
        CatalogueError: the file is not valid TOML.
    """
    try:
        return tomllib.loads((folder("restrictions") / name).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CatalogueError(f"{name} is not valid TOML: {error}") from error


def _rules(name: str) -> tuple[Rule, ...]:
    table = Table(read_data(name), name)
    rules = tuple(_rule(data, f"{name}.rule[{i}]", "") for i, data in enumerate(table.take("rule", list)))
    table.end()
    return rules


@cache
def editions() -> Editions:
    """The texts and editions of editions.toml."""
    table = Table(read_data("editions.toml"), "editions.toml")
    known = Table(table.take("onnx", dict), "editions.toml.onnx")
    texts = [read_record(Text, Table(data, "editions.toml.text")) for data in table.take("text", list)]
    limits = [read_record(Uncheckable, Table(data, "editions.toml.limit")) for data in table.take("limit", list, [])]
    families = {name: strings(names, f"families.{name}") for name, names in table.take("families", dict).items()}
    by_name: dict[str, Edition] = {}
    for data in table.take("edition", list):
        edition = _edition(Table(data, f"edition {data.get('name')}"), by_name, families)
        by_name[edition.name] = edition
    result = Editions(
        default=table.take("default", str),
        operator_set=known.take("operator_set", int),
        ir_version=known.take("ir_version", int),
        families=families,
        texts={text.name: text for text in texts},
        editions=by_name,
        uncheckable=tuple(limits),
    )
    known.end()
    table.end()
    return result


def edition_named(name: str | None = None) -> Edition:
    """The edition of a name, the default one if None.

    Raises:
        UsageError: no edition has the name.
    """
    known = editions()
    found = known.editions.get(known.default if name is None else name)
    if found is None:
        hint = did_you_mean(name or "", known.editions)
        raise UsageError(f"unknown edition {name!r}; known are {', '.join(known.editions)}{hint}")
    return found


def _edition(table: Table, earlier: Mapping[str, Edition], families: Mapping[str, tuple[str, ...]]) -> Edition:
    name, parent = table.take("name", str), table.maybe("parent", str)
    if parent is not None and parent not in earlier:
        raise CatalogueError(f"{table.place}.parent is {parent!r}, which is not an edition above it")
    base = earlier[parent] if parent else Edition("", "", "", (), False, {}, frozenset(), frozenset())
    specified, drafts = (
        _by_operator(table.take(key, dict, {}), f"{table.place}.{key}") for key in ("specified", "draft")
    )
    removed = frozenset(table.names("removed"))
    kept = {operator: text for operator, text in base.operators.items() if operator not in removed}
    edition = Edition(
        name=name,
        title=table.take("title", str),
        general=table.take("general", str),
        element_types=expand(table.names("element_types"), families),
        consolidated=table.take("consolidated", bool, False),
        operators={**kept, **specified, **drafts},
        drafts=(base.drafts - specified.keys()) | drafts.keys(),
        planned=(base.planned | frozenset(table.names("planned"))) - specified.keys() - drafts.keys(),
    )
    table.end()
    return edition


def _by_operator(by_text: Mapping[str, object], place: str) -> dict[str, str]:
    listed = {text: strings(operators, f"{place}.{text}") for text, operators in by_text.items()}
    return {operator: text for text, operators in listed.items() for operator in operators}


@cache
def general_rules() -> tuple[Rule, ...]:
    """The rules of general.toml."""
    return _rules("general.toml")


@cache
def graph_rules() -> tuple[Rule, ...]:
    """The rules of graph.toml."""
    return _rules("graph.toml")


@cache
def errata() -> Mapping[str, Erratum]:
    """The errata of the texts, by id."""
    table = Table(read_data("errata.toml"), "errata.toml")
    entries = [read_record(Erratum, Table(data, f"erratum {data.get('id')}")) for data in table.take("erratum", list)]
    table.end()
    return {entry.id: entry for entry in entries}


@cache
def _files() -> Mapping[str, str]:
    """The file of each operator, by its name in lower case."""
    return {entry.stem: entry.name for entry in (folder("restrictions") / "operators").glob("*.toml")}


@cache
def operator(name: str) -> Operator | None:
    """The operator of that name, None where no file describes it.

    The name is looked up among the files that exist; it never becomes part of a path.
    """
    file = _files().get(name.lower())
    if file is None:
        return None
    found = _operator(read_data(f"operators/{file}"), file)
    return found if found.name == name else None


def operators() -> tuple[Operator, ...]:
    """Every operator with a file, by name; reads every file."""
    found = [_operator(read_data(f"operators/{file}"), file) for file in sorted(_files().values())]
    return tuple(sorted(found, key=lambda each: each.name))
