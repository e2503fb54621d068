"""The signatures of all operators of ONNX, also of those without an operator file: restrictions/onnx_schemas.toml.

`tools.onnx_schemas` writes the file from the definitions of the onnx package.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from sonnx.profile.catalogue import read_data
from sonnx.profile.file_format import OnnxSchemasFile
from sonnx.profile.profile_data import of_profile
from sonnx.profile.toml_files import numbered

FILE = "onnx_schemas.toml"
STANDARD = "ai.onnx"
"""The name that the file has for the standard domain."""
DEPRECATED = "deprecated"
_COUNT = r"(\d+)(?:-(\d+|\*))?"
_SCHEMA = rf"{_COUNT} inputs, {_COUNT} outputs(?:; (.*))?"


class AttributeSchema(Struct, frozen=True):
    """An attribute of an operator."""

    kind: str
    required: bool


class OnnxSchema(Struct, frozen=True):
    """The signature of an operator in one version; the largest number is None where any number is allowed."""

    version: int
    inputs: tuple[int, int | None]
    outputs: tuple[int, int | None]
    attributes: Mapping[str, AttributeSchema]
    deprecated: bool = False


@of_profile
def _schemas() -> OnnxSchemasFile:
    return read_data(FILE, OnnxSchemasFile)


def schema_domains() -> tuple[str, ...]:
    """The domains of ONNX, "" for the standard one."""
    return tuple("" if name == STANDARD else name for name in _schemas())


def schema_operators(domain: str) -> tuple[str, ...]:
    """The operators of a domain of ONNX."""
    return tuple(_schemas()[domain or STANDARD])


def has_domain(domain: str) -> bool:
    """Whether ONNX defines the operators of a domain."""
    return (domain or STANDARD) in _schemas()


def newest_version(domain: str) -> int:
    """The newest version of an operator of a domain of ONNX; an operator set that is newer is not known."""
    return max(max(map(int, versions)) for versions in _schemas()[domain or STANDARD].values())


@of_profile
def schemas(domain: str, operator: str) -> Mapping[int, OnnxSchema]:
    """The signatures of an operator of ONNX by version; none where ONNX has no such operator."""
    texts = numbered(_schemas().get(domain or STANDARD, {}).get(operator, {}))
    return MappingProxyType({version: _schema(version, text) for version, text in texts.items()})


def schema_at(domain: str, operator: str, operator_set: int) -> OnnxSchema | None:
    """The signature of an operator in an operator set, None where that has no such operator."""
    known = schemas(domain, operator)
    version = max((version for version in known if version <= operator_set), default=None)
    return None if version is None else known[version]


def _schema(version: int, text: str) -> OnnxSchema:
    if text == DEPRECATED:
        return OnnxSchema(version, (0, None), (0, None), MappingProxyType({}), True)
    match_ = re.fullmatch(_SCHEMA, text)
    assert match_ is not None  # noqa: S101  the type of the file demands the pattern
    pairs = [part.split(": ") for part in match_[5].split(", ")] if match_[5] else []
    attributes = {name: AttributeSchema(kind.removesuffix("!"), kind.endswith("!")) for name, kind in pairs}
    counts = _range(match_[1], match_[2]), _range(match_[3], match_[4])
    return OnnxSchema(version, *counts, MappingProxyType(attributes))


def _range(least: str, most: str | None) -> tuple[int, int | None]:
    return int(least), None if most == "*" else int(most or least)
