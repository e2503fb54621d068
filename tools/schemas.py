"""Write the JSON Schemas of all files that are read and reports that are written, from their types.

python -m tools.schemas [--check]

The docstring of a type is the title of its schema, and the text below a field its description.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from sonnx.base.reported import ABSENT_IF_EMPTY, Marker, json_keys
from sonnx.bounds.result import Bounds
from sonnx.checker.deviation_records import DeviationsFile
from sonnx.checker.edition_difference import EditionDifference
from sonnx.checker.tailoring import TailoringFile
from sonnx.evidence.audit_document import AuditDocument
from sonnx.profile.accuracy import AccuracyFile
from sonnx.profile.file_format import (
    EditionsFile,
    ErrataFile,
    GeneralFile,
    GraphFile,
    OnnxSchemasFile,
    OperatorFile,
    OperatorsOutsideFile,
)
from sonnx.profile.rewrites import RewritesFile
from sonnx.profile.technical_pages import TechnicalPagesFile
from sonnx.profile.text_types import Limit
from sonnx.properties.result import PropertyResult
from sonnx.prover.model_proof import ModelProof
from sonnx.report.comparison_json import ComparisonDocument
from sonnx.report.cut_record import CutRecord
from sonnx.report.equivalence import EquivalenceDocument
from sonnx.report.facts_json import FactsDocument
from sonnx.report.fix_record import FixRecord
from sonnx.report.json import CheckDocument
from sonnx.report.model_changes import ModelChangesDocument
from sonnx.report.rules import RuleList
from sonnx.report.run import RunReport
from sonnx.report.theorems import TheoremReport
from sonnx.suite.difference import RunDifference
from sonnx.suite.known_deviations import RuntimeDeviationsFile
from sonnx.suite.report import SuiteReport
from sonnx.suite.result import SuiteRun

ROOT = Path(__file__).parent.parent
DIALECT = "https://json-schema.org/draft/2020-12/schema"
TOML_FILES: dict[str, Any] = {
    "restrictions/schema/accuracy.json": AccuracyFile,
    "restrictions/schema/editions.json": EditionsFile,
    "restrictions/schema/errata.json": ErrataFile,
    "restrictions/schema/general.json": GeneralFile,
    "restrictions/schema/graph.json": GraphFile,
    "restrictions/schema/onnx_operators.json": OperatorsOutsideFile,
    "restrictions/schema/onnx_schemas.json": OnnxSchemasFile,
    "restrictions/schema/operator.json": OperatorFile,
    "restrictions/schema/rewrites.json": RewritesFile,
    "restrictions/schema/technical_pages.json": TechnicalPagesFile,
    "sonnx/schema/deviations.json": DeviationsFile,
    "sonnx/schema/runtime_deviations.json": RuntimeDeviationsFile,
    "sonnx/schema/tailoring.json": TailoringFile,
}
"""Types of TOML files, which have no null: a key is absent instead."""
JSON_FILES: dict[str, Any] = {
    "sonnx/report/audit.schema.json": AuditDocument,
    "sonnx/report/bounds.schema.json": Bounds,
    "sonnx/report/comparison.schema.json": ComparisonDocument,
    "sonnx/report/cut.schema.json": CutRecord,
    "sonnx/report/difference.schema.json": EditionDifference,
    "sonnx/report/equivalence.schema.json": EquivalenceDocument,
    "sonnx/report/facts.schema.json": FactsDocument,
    "sonnx/report/model_changes.schema.json": ModelChangesDocument,
    "sonnx/report/proof.schema.json": ModelProof,
    "sonnx/report/report.schema.json": CheckDocument,
    "sonnx/report/rewrites.schema.json": FixRecord,
    "sonnx/report/property.schema.json": PropertyResult,
    "sonnx/report/rules.schema.json": RuleList,
    "sonnx/report/suite.schema.json": SuiteReport,
    "sonnx/report/suite_difference.schema.json": RunDifference,
    "sonnx/report/suite_run.schema.json": SuiteRun,
    "sonnx/report/run.schema.json": RunReport,
    "sonnx/report/theorems.schema.json": TheoremReport,
}


def schemas() -> Iterator[tuple[str, str]]:
    """The text of each schema by its path."""
    for files, nullable in ((TOML_FILES, False), (JSON_FILES, True)):
        for path, kind in files.items():
            yield path, json.dumps(schema(kind, nullable), indent=1, ensure_ascii=False) + "\n"


def schema(kind: Any, nullable: bool) -> dict[str, Any]:
    """The schema of a type."""
    made = msgspec.json.schema(_limited(kind, nullable))
    structs = _structs(kind, nullable)
    for name, part in made.get("$defs", {}).items():
        part.pop("title", None)
        described = _descriptions(structs[name]) if name in structs else {}
        for key, value in part.get("properties", {}).items():
            value.pop("default", None)
            if not described.get(key):
                raise ValueError(f"{name}.{key} has no text below it")
            part["properties"][key] = {"description": described[key]} | (value if nullable else _without_null(value))
    parts = made.pop("$defs", {})
    top = parts.pop(made.pop("$ref").rpartition("/")[2]) if "$ref" in made else made
    title = _title(kind)
    return {"$schema": DIALECT, "title": title, **{k: v for k, v in top.items() if k != "description"}, "$defs": parts}


@cache
def _limited(kind: Any, printed: bool) -> Any:
    """The type with each `Limit` as a limit of msgspec; of one that is printed, each structure as its JSON."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        shown = _printed_fields(kind) if printed else _read_fields(kind)
        namespace = {"__doc__": kind.__doc__}
        return msgspec.defstruct(
            kind.__name__, list(shown), namespace=namespace, kw_only=True, forbid_unknown_fields=True
        )
    inner = tuple(
        _limited(get_argument, printed)
        for get_argument in get_args(kind)
        if not isinstance(get_argument, Limit | Marker)
    )
    if get_origin(kind) is Annotated:
        limits = [each for each in kind.__metadata__ if isinstance(each, Limit)]
        limited = _within(inner[0], limits[0]) if limits else inner[0]
        return limited | None if ABSENT_IF_EMPTY in kind.__metadata__ else limited
    if get_origin(kind) in (Union, UnionType):
        return Union[inner]  # noqa: UP007  (the members are known at run time only)
    return get_origin(kind)[inner] if get_origin(kind) in (tuple, dict, Mapping) else kind


def _within(kind: Any, limit: Limit) -> Any:
    named = {name: value for name, value in limit._asdict().items() if value is not None}
    patterns = [named.pop(name) for name in ("pattern", "day") if name in named]
    extra = {"pattern": patterns[0]} if patterns else None  # a `pattern` of Meta itself crashes, see `text_types`
    return Annotated[kind, msgspec.Meta(**named, extra_json_schema=extra)]


def _printed_fields(kind: type[msgspec.Struct]) -> Iterator[tuple[str, Any]]:
    """The keys of its JSON; each is always there."""
    return ((key.name, _limited(key.type, True)) for key in json_keys(kind))


def _read_fields(kind: type[msgspec.Struct]) -> Iterator[tuple[str, Any, Any]]:
    hints = get_type_hints(kind, include_extras=True)
    for field in msgspec.structs.fields(kind):
        default = field.default if field.default_factory is msgspec.NODEFAULT else msgspec.NODEFAULT
        made = msgspec.field(default=default, default_factory=field.default_factory, name=field.encode_name)  # type: ignore[call-overload]
        yield field.name, _limited(hints[field.name], False), made


def _title(kind: Any) -> str:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return (inspect.getdoc(kind) or "").removesuffix(".")
    return "Rewrites: what `sonnx fix` can correct: rewrites.toml"


def _without_null(value: dict[str, Any]) -> dict[str, Any]:
    kept = [each for each in value.get("anyOf", ()) if each != {"type": "null"}]
    if not kept:
        return value
    return kept[0] if len(kept) == 1 else value | {"anyOf": kept}


@cache
def _descriptions(kind: type[msgspec.Struct]) -> dict[str, str]:
    """The text below each field of a type and of its bases, by the key in the file."""
    found: dict[str, str] = {}
    for value_type in reversed(kind.__mro__):
        if issubclass(value_type, msgspec.Struct) and value_type is not msgspec.Struct:
            body = ast.parse(textwrap.dedent(inspect.getsource(value_type))).body[0]
            assert isinstance(body, ast.ClassDef)  # noqa: S101  (the source of a class)
            for field, text in zip(body.body, body.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    found[field.target.id] = inspect.cleandoc(_text(text))
            found |= {
                name: inspect.getdoc(value) or ""
                for name, value in vars(value_type).items()
                if isinstance(value, property)
            }
    keys = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    keys |= {key.attribute: key.name for key in json_keys(kind)}
    return {key: " ".join(found.get(name, "").split()) for name, key in keys.items()}


def _text(statement: ast.stmt) -> str:
    """The text that a statement is, "" for another one."""
    constant = statement.value if isinstance(statement, ast.Expr) else None
    return constant.value if isinstance(constant, ast.Constant) and isinstance(constant.value, str) else ""


def _structs(kind: Any, printed: bool) -> dict[str, type[msgspec.Struct]]:
    """Every structure in a type, by its name."""
    structs: dict[str, type[msgspec.Struct]] = {}
    waiting = [kind]
    while waiting:
        one = waiting.pop()
        if not (isinstance(one, type) and issubclass(one, msgspec.Struct)):
            waiting += get_args(one)
        elif one.__name__ not in structs:
            structs[one.__name__] = one
            hints = get_type_hints(one, include_extras=True) if not printed else {}
            waiting += [key.type for key in json_keys(one)] if printed else hints.values()
    return structs


def main() -> int:
    """Write the schemas, or with --check say which ones are not as their types."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if a schema differs")
    options = parser.parse_args()
    stale = [
        (path, text) for path, text in schemas() if not (ROOT / path).exists() or (ROOT / path).read_text() != text
    ]
    for path, text in stale:
        if not options.check:
            (ROOT / path).write_text(text, encoding="utf-8")
        print(f"{'stale' if options.check else 'wrote'} {path}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
