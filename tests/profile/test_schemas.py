"""The JSON Schemas describe exactly what stands in restrictions/ and what the commands print."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import onnx.parser
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

import sonnx
from sonnx.base.errors import UsageError
from sonnx.checker.profile_validation import problems
from sonnx.checker.report import Report
from sonnx.cli import main
from sonnx.evidence import verification
from sonnx.evidence.verification import model_bytes
from sonnx.profile import catalogue
from sonnx.profile.cases import all_cases
from sonnx.profile.toml_files import CatalogueError
from sonnx.report import fix_record
from sonnx.report import json as json_report
from sonnx.report.check_run import CheckRun
from tests.support.cases import each_case, spread
from tools.schemas import schemas

ROOT = Path(__file__).parent.parent.parent
RESTRICTIONS = ROOT / "restrictions"
PATHS = [*sorted((RESTRICTIONS / "schema").glob("*.json")), *sorted((ROOT / "sonnx" / "report").glob("*.json"))]
SCHEMAS: dict[str, dict[str, Any]] = {path.name: json.loads(path.read_text("utf-8")) for path in PATHS}
DATA = sorted(path.relative_to(RESTRICTIONS).as_posix() for path in RESTRICTIONS.rglob("*.toml"))
REGISTRY: Registry = Registry().with_resources(
    [(name, Resource.from_contents(schema)) for name, schema in SCHEMAS.items()]
)
NOT_USED_YET = {
    "GeneralRule.onnx": "what ONNX demands of values and parameters is a rule of its own",
    "GeneralRule.withdrawn": "every rule of general.toml is in force",
    "Tag.rule": "a key of labels on operators' pages, unused in general.toml and graph.toml",
}
"""Keys no file has, each with the reason; a key that comes into use leaves this list."""


def schema_of(file: str) -> str:
    """The schema a data file names in its first line, `#:schema schema/rules.json`."""
    first = (RESTRICTIONS / file).read_text("utf-8").partition("\n")[0]
    named = (RESTRICTIONS / file).parent / first.removeprefix("#:schema ")
    assert named.resolve().parent == RESTRICTIONS / "schema"
    return named.name


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(SCHEMAS[name], registry=REGISTRY)


def load(file: str, folder: Path = RESTRICTIONS) -> dict[str, Any]:
    return tomllib.loads((folder / file).read_text("utf-8"))


def tables(part: Any) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema that lists properties."""
    if isinstance(part, dict):
        if part.get("type") == "object" and "properties" in part:
            yield part
        for inner in part.values():
            yield from tables(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from tables(inner)


# ------------------------------------------------------------------ the schemas


@each_case("name", SCHEMAS)
def test_is_a_closed_and_described_schema(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    for table in tables(SCHEMAS[name]):
        assert table["additionalProperties"] is False
        for key, value in table["properties"].items():
            assert value.get("description"), f"{name}: {key} has no description"


def test_schemas_are_those_of_the_types() -> None:
    """`python -m tools.schemas` writes them."""
    assert [path for path, text in schemas() if (ROOT / path).read_text("utf-8") != text] == []


@each_case("file", DATA)
def test_data_follow_their_schema(file: str) -> None:
    validator(schema_of(file)).validate(load(file))


def resolved(schema: dict[str, Any], home: str) -> tuple[dict[str, Any], str]:
    """The schema a reference points to, and the file it stands in."""
    while "$ref" in schema:
        file, _, pointer = schema["$ref"].partition("#/")
        home = file or home
        schema = SCHEMAS[home]
        for step in pointer.split("/"):
            schema = schema[step]
    return schema, home


def used(schema: dict[str, Any], home: str, instance: Any) -> Iterator[tuple[str, int, str]]:
    """The properties of the schemas that an instance has: file, identity of the list of properties, key."""
    schema, home = resolved(schema, home)
    for inner in schema.get("anyOf", ()):
        yield from used(inner, home, instance)
    if isinstance(instance, list) and "items" in schema:
        for item in instance:
            yield from used(schema["items"], home, item)
    if isinstance(instance, dict):
        listed, other = schema.get("properties", {}), schema.get("additionalProperties")
        for key, value in instance.items():
            if key in listed:
                yield home, id(listed), key
                yield from used(listed[key], home, value)
            elif isinstance(other, dict):
                yield from used(other, home, value)


def test_every_key_is_used_or_has_a_reason() -> None:
    found = {each for file in DATA for each in used(SCHEMAS[schema_of(file)], schema_of(file), load(file))}
    unused = {
        f"{where}.{key}"
        for name in {schema_of(file) for file in DATA}
        for where, part in {"": {**SCHEMAS[name], "$defs": {}}, **SCHEMAS[name]["$defs"]}.items()
        for table in tables(part)
        for key in table["properties"]
        if (name, id(table["properties"]), key) not in found
    }
    assert unused == NOT_USED_YET.keys()


# ------------------------------------------------------------------ broken data


def read_all() -> None:
    """What the catalogue reads, without what `validation.py` adds."""
    catalogue.editions()
    catalogue.general_rules()
    catalogue.graph_rules()
    catalogue.errata()
    catalogue.operators()


def broken(copy: Path, file: str, old: str, new: str) -> None:
    text = (copy / file).read_text("utf-8")
    assert old in text
    (copy / file).write_text(text.replace(old, new, 1), "utf-8")


MAX, ARGMAX, SOFTMAX = "operators/max.toml", "operators/argmax.toml", "operators/softmax.toml"
BROKEN = [
    ("general.toml", 'slug      = "no-sparse-tensor"\n', "", "lacks slug"),
    ("general.toml", 'remedy    = "Replace the value by tensors."\n', "", "lacks remedy"),
    ("general.toml", 'because   = "The', 'reason    = "-"\nbecause   = "The', "unknown reason"),
    ("general.toml", 'class     = "restriction"', "class     = 3", "not of type str"),
    ("graph.toml", 'statement = "Every graph has a name."', "statement = true", "not of type str"),
    ("graph.toml", 'slug      = "acyclic"', 'slug      = "acyclic"\nseverity  = "high"', "unknown severity"),
    ("graph.toml", 'label = "T01a", ', "", "lacks label"),
    ("editions.toml", "operator_set = 28", 'operator_set = "28"', "not of type int"),
    ("editions.toml", "operator_set = 28", "operator_set = 28\nnewest = 1", "unknown newest"),
    ("editions.toml", "consolidated  = true", 'consolidated  = "yes"', "not of type bool"),
    ("editions.toml", 'title    = "SONNX drafts"\n', "", "lacks title"),
    ("editions.toml", 'removed       = ["ReduceMax"]', 'removed       = "ReduceMax"', "not of type list"),
    ("errata.toml", 'id             = "living-pages"\n', "", "lacks id"),
    ("errata.toml", 'document       = ["onnx"]', 'document       = "onnx"', "not of type list"),
    (
        "errata.toml",
        'id             = "living-pages"',
        'id             = "living-pages"\nauthor = "x"',
        "unknown author",
    ),
    (MAX, 'operator = "Max"\n', "", "max.toml lacks operator"),
    (MAX, "specified = 13", "specified = true", "not of type int"),
    (MAX, "specified = 13", "specified = 13\nnewest = 13", "unknown newest"),
    (MAX, "1  = [", "one  = [", "max.toml: '(one|eight)' is not a version number"),
    (MAX, "variadic = true", 'variadic = "yes"', "not of type bool"),
    (MAX, "variadic = true", "repeated = true", "unknown repeated"),
    (MAX, "shape.8 = ", "shape.eight = ", "max.toml: '(one|eight)' is not a version number"),
    (MAX, "relies  = [", "needs = [", "unknown needs"),
    (MAX, 'name      = "input-count"\n', "", "lacks name"),
    (MAX, 'class     = "validity"\n', "", "lacks class"),
    (MAX, "before    = 8", 'before    = "8"', "not of type int"),
    (MAX, "before    = 8", 'before    = 8\nsubject   = "node"', "unknown subject"),
    (ARGMAX, 'kind = "int", absent = "0"', 'absent = "0"', "lacks kind"),
    (ARGMAX, 'absent = "0"', 'default = "0"', "unknown default"),
    ("general.toml", 'class     = "restriction"', 'class     = "law"', "'law', which is not a known word"),
    ("general.toml", 'subject   = "value"', 'subject   = "planet"', "'planet', which is not a known word"),
    (MAX, 'kind = "ints"', 'kind = "list"', "not of type|not a known word"),
    (SOFTMAX, 'name      = "output"\n', "", "lacks name"),
    (SOFTMAX, 'name      = "output"', 'name      = "output"\nprecision = 24', "unknown precision"),
]


@pytest.mark.parametrize(("file", "old", "new", "said"), spread(BROKEN, 18))
def test_broken_data_are_refused_twice(copy: Path, file: str, old: str, new: str, said: str) -> None:
    broken(copy, file, old, new)
    assert not validator(schema_of(file)).is_valid(load(file, copy))
    with pytest.raises(CatalogueError, match=said):
        read_all()


@pytest.mark.parametrize("text", ["", " ", "axis ** 2 > 0", "axis > ", "lambda: 1"])
def test_a_text_that_is_not_a_rule_is_found_by_validation(copy: Path, text: str) -> None:
    """A schema cannot read the rule language."""
    broken(copy, ARGMAX, '"-X.rank <= axis < X.rank"', f'"{text}"')
    assert [problem for problem in problems() if problem.startswith("ArgMax.axis-range.require: ")]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (ARGMAX, "-X.rank <= axis < X.rank"),
        (ARGMAX, 'kind = "int", absent = "0'),
        (ARGMAX, "[1 if i == normal(axis, X.rank) else"),
        ("operators/constantofshape.toml", 'element = "value.type'),
        ("operators/gemm.toml", 'absent_when = "beta == 1.0'),
        ("operators/where.toml", "[X.values[i % len(X.values)]"),
    ],
)
def test_each_text_of_a_new_operator_is_parsed(file: str, text: str) -> None:
    operator = (RESTRICTIONS / file).read_text("utf-8")
    assert catalogue.operator_in(operator, "draft.toml")
    with pytest.raises(CatalogueError, match="is not an expression"):
        catalogue.operator_in(operator.replace(text, f"{text} +* ", 1), "draft.toml")


LEFT_TO_VALIDATION = [
    ("general.toml", 'slug      = "no-sparse-tensor"', 'slug      = "No sparse tensor"'),
    ("general.toml", 'introduced = "2025-11"', 'introduced = "second"'),
]


@pytest.mark.parametrize(("file", "old", "new"), LEFT_TO_VALIDATION)
def test_what_the_loader_leaves_to_validation_is_refused_twice(copy: Path, file: str, old: str, new: str) -> None:
    broken(copy, file, old, new)
    assert not validator(schema_of(file)).is_valid(load(file, copy))
    assert list(problems())


# ------------------------------------------------------------------ what the commands print


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    main.run(arguments)
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "more",
    [(), ("--edition", "2025-10"), ("--select", "Max"), ("--ignore", "explicit-shape"), ("--bind", "N=1")],
    ids=" ".join,
)
def test_reports_follow_their_schema(capsys: pytest.CaptureFixture[str], more: tuple[str, ...]) -> None:
    document = printed(capsys, "check", "--format", "json", str(ROOT / "examples" / "as_exported.onnx"), *more)
    validator("report.schema.json").validate(document)
    assert document["reports"]


def test_a_run_on_several_files_follows_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    files = [ROOT / "examples" / "conforming.onnx", ROOT / "Makefile", ROOT / "nothing.onnx"]
    document = printed(capsys, "check", "--jobs", "0", "--format", "json", *map(str, files))
    validator("report.schema.json").validate(document)
    assert (len(document["reports"]), len(document["unreadable"])) == (1, 2)


def structure(part: Any, place: str = "") -> Iterator[str]:
    """The keys of a document with the kinds of their values, and with the words that stand for a verdict."""
    if isinstance(part, dict):
        for key, value in part.items():
            yield from structure(value, f"{place}.{key}" if re.fullmatch("[a-z_]+", key) else f"{place}.*")
    elif isinstance(part, list):
        for item in part:
            yield from structure(item, f"{place}[]")
    else:
        yield f"{place} {part if place.endswith('verdict') else type(part).__name__}"


def test_the_reports_of_all_cases_follow_the_schema() -> None:
    """One report of each structure, of a part of the cases."""
    found: dict[frozenset[str], Report] = {}
    for case in spread(all_cases(), 70):
        for edition in case.expected:
            report = sonnx.check(model_bytes(case), edition or None)
            [document] = json.loads(json_report.render(CheckRun([report])))["reports"]
            found.setdefault(frozenset(structure(document)), report)
    assert 10 < len(found) < 1000
    validator("report.schema.json").validate(json.loads(json_report.render(CheckRun([*found.values()]))))


@pytest.mark.parametrize("edition", catalogue.editions().editions)
def test_lists_of_rules_follow_their_schema(capsys: pytest.CaptureFixture[str], edition: str) -> None:
    validator("rules.schema.json").validate(printed(capsys, "rules", "--format", "json", "--edition", edition))


@pytest.mark.parametrize("models", [(), ("as_exported.onnx", "conforming.onnx", "nothing.onnx")], ids=len)
@pytest.mark.parametrize(("before", "after"), list(pairwise(catalogue.editions().editions)))
def test_differences_of_editions_follow_their_schema(
    capsys: pytest.CaptureFixture[str], before: str, after: str, models: tuple[str, ...]
) -> None:
    files = [str(ROOT / "examples" / name) for name in models]
    document = printed(capsys, "rules", "--since", before, "--edition", after, *files, "--format", "json")
    validator("difference.schema.json").validate(document)
    assert (len(document["models"]), len(document["unreadable"])) == ((2, 1) if models else (0, 0))
    assert document["changed"]


@pytest.mark.parametrize(
    ("dimensions", "assume", "part"), [("NM", "N>=1", "refuted"), ("NM", "N==M", "rules"), ("?N", "N>=1", "open")]
)
def test_proofs_of_models_follow_their_schema(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, dimensions: str, assume: str, part: str
) -> None:
    left, right = dimensions
    text = f"""<ir_version: 10, opset_import: ["" : 13]>
    g (float[{left}] a, float[{right}] b) => (float[N] c) {{ c = Max(a, b) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    document = printed(capsys, "prove", str(tmp_path / "m.onnx"), "--assume", assume, "--format", "json")
    validator("proof.schema.json").validate(document)
    assert document[part]


def test_theorems_follow_their_schema(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = "built-in.clamped,broadcast.axis-rules-aligned-left,order.total"
    document = printed(capsys, "theorems", "--select", wanted, "--solver", "all", "--jobs", "0", "--format", "json")
    validator("theorems.schema.json").validate(document)
    assert {each["status"] for each in document["theorems"]} == {"proved", "refuted"}
    assert any(each["counterexample"] for each in document["theorems"])
    answers = [
        answer for theorem in document["theorems"] for each in theorem["obligations"] for answer in each["answers"]
    ]
    assert len({answer["solver"] for answer in answers}) > 1


# ------------------------------------------------------------------ the record of rewrites

RECORDED = json.loads(tomllib.loads(verification.DATA.read_text("utf-8"))["texts"]["rewrites.json"])
RECORDED.setdefault("conditions", None)
RECORDED["validation"] |= {"terms_since": [], "approximated": [], "grade": None}
RECORDED["kept"] = []
RECORDED["left"] = [
    {"rule": "explicit-shape", "verdict": "fail", "number": 2, "remedy": "Declare it.",
     "reasons": [{"reason": "none", "places": ["graph/input[0]", "graph/output[0]"]}]}
]  # fmt: skip
PARTS = [(), ("tool",), ("original",), ("original", "findings", 0), ("rewritten",), ("rewrites", 0),
         ("rewrites", 0, "where"), ("left", 0), ("left", 0, "reasons", 0), ("validation",)]  # fmt: skip


ADDED = ("conditions", "for_all_inputs", "unmatched", "box", "hypotheses", "differences", "difference", "operator_set",
         "approximated", "grade", "output", "terms_since", "kept")  # fmt: skip
"""Keys that records of older versions do not have; they are read as null or as empty lists."""


def part_of(record: dict[str, Any], path: tuple[str | int, ...]) -> dict[str, Any]:
    found: Any = record
    for step in path:
        found = found[step]
    return found


def wrong_records() -> Iterator[tuple[str, dict[str, Any]]]:
    """The record with each key left out, of another kind, and each part with a key too many."""
    for path in PARTS:
        shown = "/".join(map(str, path))
        for key in part_of(RECORDED, path):
            for what in ("absent", "other") if key not in ADDED else ("other",):
                made = deepcopy(RECORDED)
                if what == "absent":
                    del part_of(made, path)[key]
                else:
                    part_of(made, path)[key] = {"other": 7.5}
                yield f"{shown} {key} {what}", made
        made = deepcopy(RECORDED)
        part_of(made, path)["more"] = 1
        yield f"{shown} more", made


@pytest.mark.parametrize("name", ["cnn_torchscript", "lstm"])
def test_records_of_rewrites_follow_their_schema(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    model, record = ROOT / "tests" / "models" / f"{name}.onnx", tmp_path / "record.json"
    for more in (("--dry-run",), ("--output", str(tmp_path / "out.onnx"), "--report", str(record))):
        document = printed(capsys, "fix", str(model), "--format", "json", "--samples", "1", *more)
        validator("rewrites.schema.json").validate(document)
        assert document["rewrites"]
    assert json.loads(record.read_text("utf-8")) == document
    found = fix_record.read(record)
    assert json.loads(msgspec.json.encode(found.content)) == document
    assert (found.content.original.sha256, found.content.rewritten.sha256) == tuple(
        hashlib.sha256(path.read_bytes()).hexdigest() for path in (model, tmp_path / "out.onnx")
    )


def test_a_wrong_record_is_refused_twice(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(json.dumps(RECORDED))
    validator("rewrites.schema.json").validate(RECORDED)
    assert json.loads(msgspec.json.encode(fix_record.read(path).content)) == RECORDED
    older = deepcopy(RECORDED)
    for part in (older, older["validation"], *older["rewrites"], *(rewrite["where"] for rewrite in older["rewrites"])):
        for key in part.keys() & set(ADDED):
            del part[key]
    path.write_text(json.dumps(older))
    assert json.loads(msgspec.json.encode(fix_record.read(path).content)) == RECORDED
    for what, record in wrong_records():
        assert not validator("rewrites.schema.json").is_valid(record), what
        path.write_text(json.dumps(record))
        with pytest.raises(UsageError, match="record"):
            fix_record.read(path)
            pytest.fail(what)
    for text in ("", "[]", "3", "null", "[" * 100000, '{"format": ' + "9" * 5000 + "}"):
        path.write_text(text)
        with pytest.raises(UsageError, match="record"):
            fix_record.read(path)
