"""The result of `sonnx verify`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from math import floor
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Struct

from sonnx.base.errors import Unfinished
from sonnx.base.escaping import escape, plural
from sonnx.base.files import write_folder
from sonnx.base.reported import HIDDEN, OptionalText, Result, reported
from sonnx.bounds.result import InputBox
from sonnx.checker.conditions import MODEL, Conditions
from sonnx.executor.tensor_files import npy
from sonnx.numerics.formats import Array
from sonnx.profile.text_types import EditionName
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing
from sonnx.report.rendered import Rendered

MAX_SHOWN = 8
"""Elements of a violating input in the text."""
PLAIN_NAME = re.compile(r"\w[\w.-]*")
"""Names of inputs that are names of files."""


class PropertyAnswer(StrEnum):
    """What is known of a property."""

    HOLDS = "holds"
    VIOLATED = "violated"
    IDEAL = "holds for the ideal network only"
    OPEN = "not decided"


CLAIMS = {
    PropertyAnswer.HOLDS: "holds in every implementation within the hypotheses",
    PropertyAnswer.VIOLATED: "violated in every implementation within the hypotheses",
}
"""What the answers claim, where they claim something of implementations."""
PROPERTY = "property"
"""The role of the file of a property among the digests."""
STANDINGS = {PropertyAnswer.HOLDS: Standing.GOOD, PropertyAnswer.VIOLATED: Standing.BAD}


class TaskAnswer(Struct, frozen=True):
    """What is known of one box of a property."""

    answer: PropertyAnswer
    """The answer for this box."""
    parts: int
    """The number of parts of the box that were analysed."""
    shown: float
    """The share of the volume on which the property holds in every implementation within the hypotheses."""
    ideal: float
    """The share of the volume on which it is shown for ideal values, and not with the error."""
    margin: float | None
    """On the parts where it holds: the least distance of a row from its bound that remains with the error."""
    place: OptionalText
    """A part on which it is shown for ideal values only; null where there is none."""
    unsafe: int
    """The number of sets of outputs that must not occur."""
    box: dict[str, InputBox]
    """The inputs that it is about."""
    sets: tuple[str, ...]
    """The sets of outputs that must not occur, the first of them."""


class PropertyResult(Result, Rendered, frozen=True, kw_only=True):
    """Whether a property holds in every implementation within hypotheses."""

    model: str
    """The name of the model file."""
    conditions: Conditions
    """What the answer holds for."""
    subject: str
    """The property: the name of its file, or what robustness is about."""
    about: str
    """What they say about an implementation."""
    excludes: tuple[str, ...]
    """What they exclude."""
    tasks: tuple[TaskAnswer, ...]
    """The boxes of the property, in its order."""
    violated: OptionalText
    """The set of outputs that occurs for the violating input; null where there is none."""
    empty_boxes: int = 0
    """The cases of the property that are about no input: they are skipped."""
    rounded_inputs: int = 0
    """The input elements that the property fixes to a decimal which their type does not have: the answer is about the
    nearest number of the type.
    """
    timed_out: Annotated[bool, HIDDEN] = False
    """Whether the time of the search ended it."""
    assignment: Annotated[tuple[tuple[str, float], ...], HIDDEN] = ()
    """The elements of the violating input and of the exact outputs for it, by the names that the property has."""
    witness: Annotated[Mapping[str, Array], HIDDEN] = {}
    certificate: Annotated[str | None, HIDDEN] = None

    @property
    @reported
    def sha256(self) -> str:
        """The SHA-256 of the model file."""
        return self.conditions.digests.get(MODEL, "")

    @property
    @reported
    def subject_sha256(self) -> OptionalText:
        """The SHA-256 of the file of the property, or of the input of robustness."""
        return self.conditions.digests.get(PROPERTY, "")

    @property
    @reported
    def edition(self) -> EditionName | None:
        """The edition to which the model conforms; null where it was not checked."""
        return self.conditions.edition if self.conditions.checked else None

    @property
    @reported
    def hypotheses(self) -> str:
        """The name of the hypotheses."""
        return self.conditions.hypotheses or ""

    @property
    @reported
    def answer(self) -> PropertyAnswer:
        """The answer for all boxes together."""
        property_answers = {task.answer for task in self.tasks}
        order = PropertyAnswer.VIOLATED, PropertyAnswer.OPEN, PropertyAnswer.IDEAL, PropertyAnswer.HOLDS
        return next(
            (property_answer for property_answer in order if property_answer in property_answers), PropertyAnswer.HOLDS
        )

    @property
    @reported
    def exit_code(self) -> int:
        """0 if it holds, 1 if an input violates it, 3 else."""
        codes = {PropertyAnswer.HOLDS: 0, PropertyAnswer.VIOLATED: 1}
        return codes.get(self.answer, Unfinished.exit_code)

    @property
    @reported
    def input(self) -> dict[str, Any] | None:
        """The violating input by name, as nested lists; null where there is none."""
        return {name: array.astype(np.float64).tolist() for name, array in self.witness.items()} or None

    def competition_answer(self) -> str:
        """The answer as the competitions of verifiers have it, a counterexample with each element on a line."""
        words = {PropertyAnswer.HOLDS: "unsat", PropertyAnswer.VIOLATED: "sat"}
        word = words.get(self.answer, "timeout" if self.timed_out else "unknown")
        lines = [f"({name} {number!r})" for name, number in self.assignment]
        return "\n".join([word, *([f"({lines[0]}", *(f" {line}" for line in lines[1:])] if lines else [])]) + (
            ")\n" if lines else "\n"
        )

    def write_witness(self, folder: Path) -> None:
        """Write the violating input to a new folder, all of it or nothing: NAME.npy, or input_K.npy for an odd name.

        Raises:
            OSError: the folder cannot be written.
        """
        plain = all(PLAIN_NAME.fullmatch(name) for name in self.witness)
        names = [name if plain else f"input_{place}" for place, name in enumerate(self.witness)]
        arrays = zip(names, self.witness.values(), strict=True)
        write_folder(folder, {f"{name}.npy": npy(name, array) for name, array in arrays})

    def document(self) -> Document:
        """The result as a document with a case for each box."""
        parts = sum(task.parts for task in self.tasks)
        boxes = f"{plural(len(self.tasks), 'box', 'boxes')}, {plural(parts, 'part')} analysed"
        cases = tuple(_case(number, task, self) for number, task in enumerate(self.tasks, 1))
        return Document(
            command="verify", title=f"Property {escape(self.subject)}", subject=escape(self.model),
            headline=f"{self.conditions.limited(CLAIMS.get(self.answer, self.answer.value))}; {boxes}",
            code=self.exit_code,
            criteria={
                "property": Criterion(
                    "No input of the box gives an output in an unsafe set, in any implementation.", "property"
                )
            },
            sections=(Section(self.subject, self.model, cases),),
            tiles=tuple(self._tiles()),
            facts=(
                ("hypotheses", f"{self.hypotheses}: {self.about}"),
                *((("excluded", "; ".join(self.excludes)),) if self.excludes else ()),
                *self.conditions.facts(),
                *self._changes(),
            ),
        )  # fmt: skip

    def _tiles(self) -> Iterator[tuple[str, str]]:
        """How many boxes hold, and how far the nearest output stays from what is unsafe."""
        holding = [task for task in self.tasks if task.answer is PropertyAnswer.HOLDS]
        yield f"{len(holding)} of {len(self.tasks)}", "boxes hold in every implementation"
        margins = [task.margin for task in holding if task.margin is not None]
        if margins:
            yield f"{min(margins):.6g}", "least margin to an unsafe output; 0 is the limit"

    def _changes(self) -> Iterator[tuple[str, str]]:
        """What the answer is about that the property does not say."""
        if self.rounded_inputs:
            count = plural(self.rounded_inputs, "input element")
            yield "rounded", f"{count} to the nearest number of the element type (--round-inputs)"
        if self.empty_boxes:
            yield "skipped", f"{plural(self.empty_boxes, 'case')} of the property with an empty box"


def _case(number: int, task: TaskAnswer, result: PropertyResult) -> CaseResult:
    details = [(f"for {escape(name)}", _interval(box)) for name, box in task.box.items()]
    more = f" or {plural(task.unsafe - len(task.sets), 'more set')}" if task.unsafe > len(task.sets) else ""
    details += [("must not give", f"{' or '.join(map(escape, task.sets))}{more}"), ("parts", str(task.parts))]
    if task.margin is not None and task.answer is PropertyAnswer.HOLDS:
        details.append(("least margin", f"{task.margin:.6g}"))
    if task.place:
        details.append(("for ideal values only, for example where", escape(task.place)))
    if task.answer is PropertyAnswer.VIOLATED:
        message = f"an input gives {escape(result.violated)} in every implementation within the hypotheses"
        details += [(f"input {escape(name)}", _listed(array)) for name, array in result.witness.items()]
    elif task.answer is PropertyAnswer.HOLDS:
        message = "in every implementation within the hypotheses"
    else:
        message = f"shown on {_share(task.shown)} of the volume"
        message += f", for ideal values on another {_share(task.ideal)}" if task.ideal else ""
    standing = STANDINGS.get(task.answer, Standing.OPEN)
    return CaseResult("property", f"box {number}", task.answer.value, standing, message, tuple(details), shown=True)


def _interval(box: InputBox) -> str:
    if box.low is None:
        return "no elements"
    if box.same:
        return f"each of {list(box.shape)} in [{box.low!r}, {box.high!r}]"
    if box.intervals is not None and len(box.intervals) <= MAX_SHOWN:
        return ", ".join(f"[{low!r}, {high!r}]" for low, high in box.intervals)
    return f"{list(box.shape)} intervals within [{box.low!r}, {box.high!r}], SHA-256 of their ends {box.sha256}"


def _share(volume: float) -> str:
    """A share that is not the whole, rounded down."""
    return f"{floor(1e4 * volume) / 100:.2f} %" if volume >= 1e-4 else "less than 0.01 %" if volume else "0 %"


def _listed(values: Array) -> str:
    flat = values.reshape(-1)
    more = f", … ({flat.size} elements)" if flat.size > MAX_SHOWN else ""
    return f"[{', '.join(repr(float(each)) for each in flat[:MAX_SHOWN])}{more}]"
