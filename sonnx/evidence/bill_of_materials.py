"""The software bill of materials of an installation, in the form of CycloneDX 1.6 (ECMA-424)."""

from __future__ import annotations

import re
from typing import Any

from sonnx.evidence.configuration import NAME, Configuration, Installed

SPDX_EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*")


def bill_of_materials(found: Configuration) -> dict[str, Any]:
    """The document, without time and serial number: equal installations give equal bytes."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _component(_tool(found), "application")},
        "components": [_component(each, "library") for each in found.distributions if each.name != NAME],
        "dependencies": [{"ref": _reference(each), "dependsOn": _needs(each, found)} for each in found.distributions],
    }


def _tool(found: Configuration) -> Installed:
    """The tool itself; a checkout that is not installed has no version."""
    return next((each for each in found.distributions if each.name == NAME), Installed(NAME, "", found.source, 0))


def _needs(one: Installed, found: Configuration) -> list[str]:
    return [_reference(each) for each in found.distributions if each.name in one.requires]


def _reference(each: Installed) -> str:
    return f"pkg:pypi/{each.name}@{each.version}"


def _component(each: Installed, kind: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": kind,
        "bom-ref": _reference(each),
        "name": each.name,
        "version": each.version,
        "scope": "optional" if each.needed_for else "required",
        "purl": _reference(each),
        "properties": [
            {"name": "sonnx:sha256-of-file-list", "value": each.record},
            {"name": "sonnx:files-differing-from-delivery", "value": str(len(each.changed))},
        ],
    }
    if each.license:
        expression = SPDX_EXPRESSION.fullmatch(each.license) and "-" in each.license
        made["licenses"] = [{"expression": each.license} if expression else {"license": {"name": each.license}}]
    return made
