"""What a box of inputs shows of a model: for the report of a check, and for an evidence pack with its files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape, quote
from sonnx.base.files import whole_bytes
from sonnx.base.outward import rounded_down, rounded_up
from sonnx.bounds.bound import box_of, only_array
from sonnx.bounds.box import box_of_texts
from sonnx.bounds.discharge import Discharge, discharge
from sonnx.bounds.result import TensorBounds
from sonnx.checker.report import Finding, Report
from sonnx.executor.tensor_files import npy
from sonnx.model.ir import Model
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.formats import Array

FOLDER = "configuration/box"
"""The folder of a pack that has its files."""
COUNTEREXAMPLES = "counterexamples"
"""The folder that has the inputs of the box that break an assumption, of which each is a file as numpy reads it."""
TOPIC = "bounds."
"""Begins the theorems that bounds rest on."""
LIMIT = (
    "What the box shows holds for inputs of the box, and for implementations within the hypotheses that audit.json "
    "states. Its figures are rounded outward."
)
DIGITS = 4
"""Digits of the figures: the last digits of a float64 product depend on the processor, a pack does not."""


@dataclass(frozen=True, eq=False)
class BoxEvidence:
    """The report where what the box shows passes, the files of the box, and the entry of audit.json."""

    report: Report
    files: Mapping[str, bytes]
    texts: tuple[str, ...]
    """The texts of the box, with base names."""
    about: dict[str, Any]


def discharged(report: Report, model: Model, path: Path | None, texts: Sequence[str], hypotheses: str) -> Report:
    """The report on a model with numbers for its symbols, where an assumption that a box of its inputs shows passes.

    Raises:
        BadInput: the box is not one of the model.
    """
    return discharge(report, model, path, box_of(model, texts), texts, hypotheses_named(hypotheses)).report


def evidence(
    report: Report, model: Model, path: Path | None, texts: Sequence[str], folder: Path | None, hypotheses: str
) -> BoxEvidence:
    """What a box shows.

    Args:
        report: of the check.
        model: with numbers for its symbols.
        path: of the model file.
        texts: the box, as `sonnx bound --input` takes it.
        folder: where its files stand; the working folder if None.
        hypotheses: about the implementations.

    Raises:
        BadInput: the box is not one of the model.
        UsageError: two of its files have the same base name.
    """
    read: dict[str, bytes] = {}

    def array(name: str) -> Array:
        place = Path(name) if folder is None else folder / name
        made, content = only_array(str(place)), whole_bytes(place)
        if read.setdefault(name, content) != content or sum(Path(each).name == place.name for each in read) > 1:
            raise UsageError(f"two files of the box are named {quote(place.name)}: a pack has one")
        return made

    box, assumed = box_of_texts(model, texts, array), hypotheses_named(hypotheses)
    named = tuple(reduce(_with_base_name, sorted(read, key=len, reverse=True), text) for text in texts)
    found = discharge(report, model, path, box, named, assumed)
    files = {f"{FOLDER}/{Path(name).name}": content for name, content in read.items()}
    about = {
        "inputs": list(named),
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        "hypotheses": assumed.as_json(),
        "shown": [_condition(each) for each in found.shown],
        "counterexamples": [
            {**_condition(each), "why": escape(broken.why),
             "input": {escape(name): _file_of(number, at) for at, name in enumerate(broken.input)}}
            for number, (each, broken) in enumerate(found.failing)
        ],
        "undecided": [
            {**_condition(each), "share": rounded_up(open_.share, DIGITS), "part": open_.part}
            for each, open_ in found.undecided
        ],
        **_figures(found),
    }  # fmt: skip
    for number, (_, broken) in enumerate(found.failing):
        for at, (name, values) in enumerate(broken.input.items()):
            files[_file_of(number, at)] = npy(name, values)
    return BoxEvidence(found.report, files, named, about)


def _with_base_name(text: str, file: str) -> str:
    return text.replace(file, Path(file).name)


def _condition(finding: Finding) -> dict[str, Any]:
    return {"place": finding.where.place, "rule": finding.rule, "condition": finding.requires}


def _file_of(number: int, at: int) -> str:
    """The file of a pack that has an input of a counterexample."""
    return f"{COUNTEREXAMPLES}/{number}-{at}.npy"


def _figures(found: Discharge) -> dict[str, Any]:
    bounds = found.bounds
    if bounds is None:
        return {"conditions": 0, "open": [], "unbounded": found.report.notes[-1], "outputs": []}
    return {
        "conditions": len(bounds.conditions),
        "open": [{"place": escape(each.node), "condition": each.name} for each in bounds.conditions if not each.holds],
        "unbounded": next((escape(each.unbounded) for each in bounds.tensors if each.unbounded), ""),
        "outputs": [_output(each) for each in bounds.outputs],
    }


def _output(tensor: TensorBounds) -> dict[str, Any]:
    """The range and the error of the worst element; null where they are not known."""
    known = not tensor.unbounded and tensor.low.size > 0
    return {
        "name": escape(tensor.name),
        "shape": list(tensor.low.shape),
        "low": rounded_down(float(tensor.low.min()), DIGITS) if known else None,
        "high": rounded_up(float(tensor.high.max()), DIGITS) if known else None,
        "error": rounded_up(tensor.largest_error, DIGITS) if known else None,
    }
