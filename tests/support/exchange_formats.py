"""Validation by the published schemas of CycloneDX, SARIF and ReqIF, which packages of the tests carry unchanged."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cyclonedx.schema
from jsonschema import Draft7Validator
from referencing import Registry, Resource
from reqif.commands.validate.validate import ValidateCommand

from tests.support import sarif

CYCLONEDX = Path(cyclonedx.schema.__file__).parent / "_res"
PARTS = ("bom-1.6", "jsf-0.82", "spdx")
"""The schema of CycloneDX 1.6 and those that it refers to."""


def cyclonedx_faults(document: Any) -> list[str]:
    """What breaks the schema of CycloneDX 1.6."""
    return [each.message for each in _cyclonedx().iter_errors(document)]


@cache
def _cyclonedx() -> Draft7Validator:
    schemas = [json.loads((CYCLONEDX / f"{name}.SNAPSHOT.schema.json").read_text("utf-8")) for name in PARTS]
    known: Registry[Any] = Registry().with_resources((each["$id"], Resource.from_contents(each)) for each in schemas)
    return Draft7Validator(schemas[0], registry=known)


def sarif_faults(document: Any) -> list[str]:
    """What breaks the schema of SARIF 2.1.0."""
    return [each.message for each in _sarif().iter_errors(document)]


@cache
def _sarif() -> Draft7Validator:
    return Draft7Validator(sarif.official())


def reqif_faults(path: Path) -> list[str]:
    """What breaks the schema of ReqIF 1.2, or refers to nothing."""
    found = ValidateCommand._validate(SimpleNamespace(input_file=str(path), use_reqif_schema=True))
    described = [each.get_description() for each in (*found.schema_errors, *found.semantic_warnings)]
    return [*map(str, found.xml_errors), *described]
