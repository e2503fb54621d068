"""What ONNX says of the operators of all its domains, as `proofs/coq/model.v` has it.

A line is a record in parentheses: `(domain NAME NEWEST)`, then `(schema DOMAIN OPERATOR VERSION ...)` with the ranges
of the numbers of inputs and outputs, whether it is deprecated, and the attributes.
"""

from __future__ import annotations

from collections.abc import Iterator

from sonnx.language.coq import text
from sonnx.profile import catalogue
from sonnx.profile.onnx_schemas import OnnxSchema, newest_version, schema_domains, schema_operators, schemas

SCHEMAS = "schemas.txt"


def schema_lines() -> Iterator[str]:
    """The lines of all domains."""
    for domain in schema_domains():
        newest = newest_version(domain) if domain else catalogue.editions().operator_set
        yield f"(domain {text(domain)} {newest})"
        for operator in schema_operators(domain):
            for schema in schemas(domain, operator).values():
                yield f"(schema {text(domain)} {text(operator)} {_schema(schema)})"


def _schema(schema: OnnxSchema) -> str:
    ranges = " ".join(f"{least} {'*' if most is None else most}" for least, most in (schema.inputs, schema.outputs))
    attributes = " ".join(
        f"({text(name)} {text(attribute.kind)} {'T' if attribute.required else 'F'})"
        for name, attribute in schema.attributes.items()
    )
    return f"{schema.version} {ranges} {'T' if schema.deprecated else 'F'} ({attributes})"
