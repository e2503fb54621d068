"""Writes restrictions/onnx_schemas.toml: the signatures of all operators that the installed onnx package defines."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx.defs

from sonnx.profile.onnx_schemas import DEPRECATED, FILE, STANDARD

PATH = Path(__file__).parent.parent / "restrictions" / FILE
HEAD = """#:schema schema/onnx_schemas.json
# The signatures of all operators of ONNX, by domain, operator and version: the numbers of inputs and outputs, `1-*` for
# one or more, then each attribute with its kind, and ! where it is required.  `python -m tools.onnx_schemas` writes it.
"""
_MANY = 2**31 - 1


def text() -> str:
    """The content of the file."""
    every = onnx.defs.get_all_schemas_with_history()
    parts = [HEAD + f"# Of onnx {onnx.__version__}.\n"]
    named = sorted({(schema.domain, schema.name) for schema in every})
    for domain, name in named:
        parts.append(f'\n["{domain or STANDARD}".{name}]\n')
        versions = (schema for schema in every if (schema.domain, schema.name) == (domain, name))
        for schema in sorted(versions, key=lambda schema: schema.since_version):
            parts.append(f'{schema.since_version} = "{_signature(schema)}"\n')
    return "".join(parts)


def _signature(schema: onnx.defs.OpSchema) -> str:
    if schema.deprecated:
        return DEPRECATED
    counts = [
        f"{_count(schema.min_input, schema.max_input)} inputs",
        f"{_count(schema.min_output, schema.max_output)} outputs",
    ]
    attributes = [
        f"{name}: {_kind(attribute)}{'!' if attribute.required else ''}"
        for name, attribute in sorted(schema.attributes.items())
    ]
    return "; ".join(filter(None, (", ".join(counts), ", ".join(attributes))))


def _kind(attribute: onnx.defs.OpSchema.Attribute) -> str:
    return str(attribute.type).rpartition(".")[2].lower()


def _count(least: int, most: int) -> str:
    return str(least) if least == most else f"{least}-{'*' if most == _MANY else most}"


if __name__ == "__main__":
    PATH.write_text(text(), "utf-8")
