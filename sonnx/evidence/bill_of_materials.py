"""Bills of materials in the form of CycloneDX 1.6 (ECMA-424): of an installation, and of a model.

They have no time and no serial number: equal installations and equal models give equal bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import Any

from sonnx.evidence.configuration import NAME, Configuration, Installed
from sonnx.evidence.identity import ExternalFile, ModelIdentity
from sonnx.model.ir import Model, Type
from sonnx.model.scopes import canonical_domain, scopes, stored_tensors

SPDX_EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*")


def bill_of_materials(about: Configuration) -> dict[str, Any]:
    """The packages of an installation of the tool, each with its version, licence and hash."""
    listed = about.distributions
    checkout = Installed(NAME, "", about.source, 0)  # not installed, so without a version
    tool = next((installed for installed in listed if installed.name == NAME), checkout)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _component(tool, "application")},
        "components": [_component(installed, "library") for installed in listed if installed.name != NAME],
        "dependencies": [
            {
                "ref": _reference(dependent),
                "dependsOn": [_reference(installed) for installed in listed if installed.name in dependent.requires],
            }
            for dependent in listed
        ],
    }


def _reference(each: Installed) -> str:
    return f"pkg:pypi/{each.name}@{each.version}"


def _component(each: Installed, kind: str) -> dict[str, Any]:
    component: dict[str, Any] = {
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
        component["licenses"] = [{"expression": each.license} if expression else {"license": {"name": each.license}}]
    return component


# ------------------------------------------------------------------ of a model

STATED_KEYS = {"license": ("license", "licence"), "dataset": ("dataset", "datasets", "training_data")}
"""Keys of the metadata of a model, without regard to case, under which exporters state a licence and datasets."""
NOT_STATED = "not stated in the file"


def model_bill_of_materials(model: Model, about: ModelIdentity) -> dict[str, Any]:
    """A model as a machine-learning component: its hashes, interface, operators, parameters, licence and datasets.

    Args:
        model: the model.
        about: its identity, as `sonnx.evidence.identity.about_model` gives it.
    """
    reference = f"model:sha256:{about.sha256}"
    parts = [_data_component(file) for file in about.external_data]
    component: dict[str, Any] = {
        "type": "machine-learning-model",
        "bom-ref": reference,
        "name": about.file,
        "hashes": [{"alg": "SHA-256", "content": about.sha256}],
        "modelCard": {
            "modelParameters": {
                "inputs": [{"format": _interface(operand.name, operand.type)} for operand in model.graph.inputs],
                "outputs": [{"format": _interface(output.name, output.type)} for output in model.graph.outputs],
            }
        },
        "properties": [{"name": f"sonnx:{name}", "value": value} for name, value in _properties(model, about)],
    }
    licence = _stated(about, "license")
    if licence:
        component["licenses"] = [{"license": {"name": licence}}]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component},
        "components": parts,
        "dependencies": [{"ref": reference, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def _interface(name: str, type_: Type) -> str:
    return f"{name}: {type_}"


def _data_component(file: ExternalFile) -> dict[str, Any]:
    component: dict[str, Any] = {"type": "data", "bom-ref": f"data:{file.file}", "name": file.file}
    if file.sha256 is not None:
        component["hashes"] = [{"alg": "SHA-256", "content": file.sha256}]
    else:
        component["description"] = f"not read: {file.not_read}"
    return component


def _properties(model: Model, about: ModelIdentity) -> Iterator[tuple[str, str]]:
    """What describes the model, as pairs of a name and a text."""
    operators = Counter(
        f"{canonical_domain(node.domain) or 'ai.onnx'}.{node.operator}"
        for scope in scopes(model)
        for node in scope.graph.nodes
    )
    yield "canonical-sha256", about.canonical_sha256
    yield "ir-version", str(about.ir_version)
    yield from (("operator-set", f"{domain or 'ai.onnx'} {version}") for domain, version in about.operator_sets)
    yield "producer", about.producer or NOT_STATED
    yield "nodes", str(operators.total())
    yield from (("operator", f"{name} {number}") for name, number in sorted(operators.items()))
    stored = [tensor.dims for tensor in stored_tensors(model) if min(tensor.dims, default=0) >= 0]
    yield "constant-tensors", str(len(stored))
    yield "constant-elements", str(sum(map(prod, stored)))
    yield "licence", _stated(about, "license") or NOT_STATED
    yield "datasets", _stated(about, "dataset") or NOT_STATED


def _stated(about: ModelIdentity, what: str) -> str:
    """The entry of the metadata that states something, "" where none does."""
    return next((value for key, value in about.metadata if key.lower() in STATED_KEYS[what] and value), "")
