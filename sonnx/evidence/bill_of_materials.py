"""The software bill of materials of an installation, in the form of CycloneDX 1.6 (ECMA-424)."""

from __future__ import annotations

import re
from typing import Any

from sonnx.evidence.configuration import NAME, Configuration, Installed

SPDX_EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*")


def bill_of_materials(found: Configuration) -> dict[str, Any]:
    """The document, without time and serial number: equal installations give equal bytes."""
    listed = found.distributions
    checkout = Installed(NAME, "", found.source, 0)  # not installed, so without a version
    tool = next((each for each in listed if each.name == NAME), checkout)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _component(tool, "application")},
        "components": [_component(each, "library") for each in listed if each.name != NAME],
        "dependencies": [
            {"ref": _reference(one), "dependsOn": [_reference(each) for each in listed if each.name in one.requires]}
            for one in listed
        ],
    }


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
