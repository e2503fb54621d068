"""What a box of inputs shows of a model: for the report of a check, and for an evidence pack with its files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from msgspec import Struct, convert

from sonnx.base.errors import UsageError
from sonnx.base.escaping import escape, quote
from sonnx.base.files import whole_bytes
from sonnx.base.outward import rounded_down, rounded_up
from sonnx.bounds.bound import box_of, only_array
from sonnx.bounds.box import box_of_texts
from sonnx.bounds.discharge import Discharge, discharge
from sonnx.bounds.result import StatedHypotheses, TensorBounds
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


class BoxCondition(Struct, frozen=True, kw_only=True):
    """A condition on run-time values that a rule has."""

    place: str
    """The place in the file."""
    rule: str
    """The rule."""
    condition: str
    """The condition."""


class BrokenCondition(BoxCondition, frozen=True, kw_only=True):
    """A condition that an input of the box breaks."""

    why: str
    """What the values are."""
    input: Mapping[str, str]
    """The file of the pack with each input."""


class UndecidedCondition(BoxCondition, frozen=True, kw_only=True):
    """A condition that the box does not decide."""

    share: float
    """The share of the box where it is open, rounded up."""
    part: str
    """A part of the box where it is open."""


class OpenBoundCondition(Struct, frozen=True):
    """A condition of the bounds that is not shown."""

    place: str
    """The node."""
    condition: str
    """The condition."""


class BoxOutput(Struct, frozen=True):
    """The range and the error of the worst element of an output; null where they are not known."""

    name: str
    """The name of the output."""
    shape: tuple[int, ...]
    """Its shape."""
    low: float | None
    """The least value, rounded down."""
    high: float | None
    """The largest value, rounded up."""
    error: float | None
    """The largest error, rounded up."""


class ShownByBox(Struct, frozen=True):
    """What a box of inputs shows."""

    inputs: tuple[str, ...]
    """The box, as `sonnx bound --box` takes it."""
    files: Mapping[str, str]
    """The SHA-256 of its files."""
    hypotheses: StatedHypotheses
    """About implementations."""
    shown: tuple[BoxCondition, ...]
    """Conditions that hold on the box."""
    counterexamples: tuple[BrokenCondition, ...]
    """Conditions that an input of the box breaks."""
    undecided: tuple[UndecidedCondition, ...]
    """Conditions that are open."""
    conditions: int
    """Conditions of the bounds."""
    open: tuple[OpenBoundCondition, ...]
    """Those that are not shown."""
    unbounded: str
    """Why the model has no bounds, "" where it has."""
    outputs: tuple[BoxOutput, ...]
    """The outputs."""


@dataclass(frozen=True, eq=False)
class BoxEvidence:
    """The report where what the box shows passes, the files of the box, and the entry of audit.json."""

    report: Report
    files: Mapping[str, bytes]
    texts: tuple[str, ...]
    """The texts of the box, with base names."""
    about: ShownByBox


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
        texts: the box, as `sonnx bound --box` takes it.
        folder: where its files stand; the working folder if None.
        hypotheses: about the implementations.

    Raises:
        BadInput: the box is not one of the model.
        UsageError: two of its files have the same base name.
    """
    read: dict[str, bytes] = {}

    def array(name: str) -> Array:
        place = Path(name) if folder is None else folder / name
        part, content = only_array(str(place)), whole_bytes(place)
        if read.setdefault(name, content) != content or sum(Path(written).name == place.name for written in read) > 1:
            raise UsageError(f"two files of the box are named {quote(place.name)}: a pack has one")
        return part

    box, assumed = box_of_texts(model, texts, array), hypotheses_named(hypotheses)
    named = tuple(reduce(_with_base_name, sorted(read, key=len, reverse=True), written) for written in texts)
    outcome = discharge(report, model, path, box, named, assumed)
    files = {f"{FOLDER}/{Path(name).name}": content for name, content in read.items()}
    about = ShownByBox(
        named,
        {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        convert(assumed.as_json(), StatedHypotheses),
        tuple(BoxCondition(**_condition(finding)) for finding in outcome.shown),
        tuple(
            BrokenCondition(
                **_condition(finding), why=escape(broken.why),
                input={escape(name): _file_of(number, at) for at, name in enumerate(broken.input)},
            )
            for number, (finding, broken) in enumerate(outcome.failing)
        ),
        tuple(
            UndecidedCondition(**_condition(finding), share=rounded_up(open_.share, DIGITS), part=open_.part)
            for finding, open_ in outcome.undecided
        ),
        *_figures(outcome),
    )  # fmt: skip
    for number, (_, broken) in enumerate(outcome.failing):
        for at, (name, values) in enumerate(broken.input.items()):
            files[_file_of(number, at)] = npy(name, values)
    return BoxEvidence(outcome.report, files, named, about)


def _with_base_name(text: str, file: str) -> str:
    return text.replace(file, Path(file).name)


def _condition(finding: Finding) -> dict[str, str]:
    return {"place": finding.where.place, "rule": finding.rule, "condition": finding.requires}


def _file_of(number: int, at: int) -> str:
    """The file of a pack that has an input of a counterexample."""
    return f"{COUNTEREXAMPLES}/{number}-{at}.npy"


def _figures(outcome: Discharge) -> tuple[int, tuple[OpenBoundCondition, ...], str, tuple[BoxOutput, ...]]:
    """The fields of `ShownByBox` about bounds: conditions, those not shown, why there are none, and outputs."""
    bounds = outcome.bounds
    if bounds is None:
        return 0, (), outcome.report.notes[-1], ()
    conditions = bounds.met
    return (
        len(conditions),
        tuple(OpenBoundCondition(escape(open_.node), open_.name) for open_ in conditions if not open_.holds),
        next((escape(tensor.unbounded) for tensor in bounds.tensors if tensor.unbounded), ""),
        tuple(map(_output, bounds.outputs)),
    )


def _output(tensor: TensorBounds) -> BoxOutput:
    is_known = not tensor.unbounded and tensor.low.size > 0
    return BoxOutput(
        escape(tensor.name),
        tensor.low.shape,
        rounded_down(float(tensor.low.min()), DIGITS) if is_known else None,
        rounded_up(float(tensor.high.max()), DIGITS) if is_known else None,
        rounded_up(tensor.largest_error, DIGITS) if is_known else None,
    )
