"""The bill of materials of a wheel, in the form of CycloneDX 1.6: its file, and the packages that it asks for.

    python -m tools.wheel_bill dist/sonnx-0.9.0-py3-none-any.whl

writes `sonnx-0.9.0-py3-none-any.whl.cdx.json` beside the wheel.  A wheel of sonnx contains no other package, so its
components are the dependencies that its metadata declares, each with the range of versions that it admits.  The bill
has no time and no serial number: equal wheels give equal bytes.  `sonnx qualify --output` writes the bill of an
installation.
"""

from __future__ import annotations

import json
import sys
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from sonnx.base.files import sha256, write_whole

ENDING = ".cdx.json"


def metadata_of(wheel: Path) -> Message:
    """The metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def wheel_bill(wheel: Path) -> dict[str, Any]:
    """The bill of materials of a wheel."""
    about = metadata_of(wheel)
    name, version = str(about["Name"]), str(about["Version"])
    asked = [Requirement(str(text)) for text in about.get_all("Requires-Dist", [])]
    reference = f"pkg:pypi/{name}@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": reference, "name": name, "version": version, "purl": reference,
                "licenses": [{"expression": str(about["License-Expression"])}],
                "hashes": [{"alg": "SHA-256", "content": sha256(wheel)}],
                "properties": [{"name": "sonnx:file", "value": wheel.name}],
            }
        },
        "components": [_component(each) for each in asked],
        "dependencies": [{"ref": reference, "dependsOn": list(dict.fromkeys(map(_reference, asked)))}],
    }  # fmt: skip


def _reference(each: Requirement) -> str:
    return f"{each.name} {each.specifier}; {each.marker}" if each.marker else f"{each.name} {each.specifier}"


def _component(each: Requirement) -> dict[str, Any]:
    is_extra = each.marker is not None and "extra" in str(each.marker)
    properties = {"sonnx:versions": str(each.specifier), "sonnx:needed-if": str(each.marker or "")}
    return {
        "type": "library", "bom-ref": _reference(each), "name": each.name, "purl": f"pkg:pypi/{each.name}",
        "scope": "optional" if is_extra else "required",
        "properties": [{"name": name, "value": value} for name, value in properties.items() if value],
    }  # fmt: skip


def main(arguments: list[str]) -> int:
    """Write the bill of each wheel."""
    if not arguments:
        print("usage: python -m tools.wheel_bill WHEEL ...", file=sys.stderr)
        return 2
    for argument in arguments:
        wheel = Path(argument)
        write_whole(wheel.with_name(wheel.name + ENDING), json.dumps(wheel_bill(wheel), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
