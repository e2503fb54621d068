"""The public result of a run: the values of the outputs, and what is known about them, as text or JSON."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from sonnx.base.escaping import escape, escape_once
from sonnx.base.reported import HIDDEN, Result, reported, reported_as
from sonnx.checker.conditions import UNCHECKED, Conditions
from sonnx.checker.verdicts import Verdict
from sonnx.executor.distance import Difference
from sonnx.executor.executor import ModelRunner, Watch, element_type
from sonnx.executor.tensor_files import array_digest, write_tensors
from sonnx.profile.text_types import EditionName, Number, Text
from sonnx.report.check import CheckReport
from sonnx.report.document import CaseResult, Criterion, Document, Section, Standing
from sonnx.report.phrases import VERDICT_PHRASES
from sonnx.report.rendered import Rendered

MAX_PRINTED_ELEMENTS = 64
"""Outputs with more elements are printed without them."""
DIFFERENT = 1
"""The exit code if an output differs from the expected one."""


class FirstDifference(Struct, frozen=True):
    """The first element that differs, in row-major order."""

    place: str
    """Where it is."""
    found: str
    """The value of this run."""
    expected: str
    """The expected value."""


class ExpectedOutput(Struct, frozen=True):
    """An output that was compared with expected values."""

    name: str = field(name="output")
    """The name of the output."""
    elements: Number
    """Its elements."""
    difference: Annotated[Difference | None, HIDDEN]

    @property
    @reported
    def different(self) -> Number:
        """How many of them differ."""
        return 0 if self.difference is None else self.difference.number

    @property
    @reported
    def first(self) -> FirstDifference | None:
        """The first one that differs; null where none does."""
        difference = self.difference
        return None if difference is None else FirstDifference(difference.place, difference.found, difference.wanted)

    @property
    def sentence(self) -> str:
        """How many values are the same, or the first that differs."""
        different = self.difference
        if different is None:
            return f"the same {self.elements} values"
        share = f"{different.number} of {different.of} elements differ"
        return f"differs {different.place}: {different.found}, expected {different.wanted}; {share}"


class ApproximatedOperator(Struct, frozen=True):
    """The approximated elements of an operator."""

    operator: Text
    """The operator."""
    elements: Number
    """Elements that were first approximated."""
    exact_path: Number
    """How many of them were recomputed exactly."""


class ApproximatedElements(Struct, frozen=True):
    """The elements that were first approximated; all values are exact to the last bit."""

    elements: Number
    """Elements of all operators."""
    exact_path: Number
    """How many of them were recomputed exactly."""
    operators: tuple[ApproximatedOperator, ...]
    """The numbers of each operator."""


class OutputTensor(Struct, frozen=True):
    """An output."""

    name: str
    """The name of the output."""
    type: str
    """Its element type."""
    shape: tuple[Number, ...]
    """Its shape."""


class StructOfMapping(type(Struct), ABCMeta):  # type: ignore[misc]
    """The class of structures that are mappings."""


class RunReport(Result, Rendered, Mapping[str, NDArray[Any]], frozen=True, eq=False, metaclass=StructOfMapping):
    """A run: sonnx run --report json; it maps the names of the outputs to their exact values."""

    model: str
    """The file, as it was named."""
    arrays: Annotated[Mapping[str, NDArray[Any]], HIDDEN]
    check: Annotated[CheckReport | None, HIDDEN]
    """The check of the model; None if it ran unchecked."""
    assumed: bool
    """Whether the check assumed something about values, which holds for these inputs."""
    approximated: Annotated[Mapping[str, tuple[int, int]], HIDDEN]
    """By operator, the elements that were first approximated, and how many of them were recomputed exactly."""
    conditions: Conditions
    """What the values and the verdict hold for, with the SHA-256 of each input."""
    outside: tuple[str, ...] = field(default=(), name="outside_the_profile")
    """Operators that the edition does not specify; their ONNX text defines the values."""
    compared: tuple[ExpectedOutput, ...] = ()
    """The outputs that were compared with expected values."""
    written: tuple[str, ...] = ()
    """The files that the values were written to."""

    @property
    @reported
    def checked(self) -> bool:
        """Whether the model was checked before it ran."""
        return self.check is not None

    @property
    @reported
    def edition(self) -> EditionName | None:
        """The edition it conforms to; null where it ran unchecked."""
        return self.check.edition if self.check else None

    @property
    @reported_as("approximated")
    def approximated_by_operator(self) -> ApproximatedElements:
        """The elements that were first approximated."""
        operators = (ApproximatedOperator(name, *numbers) for name, numbers in self.approximated.items())
        return ApproximatedElements(*self.approximated_elements, tuple(operators))

    @property
    @reported
    def outputs(self) -> tuple[OutputTensor, ...]:
        """The outputs of the model, in its order."""
        return tuple(OutputTensor(name, element_type(a), tuple(a.shape)) for name, a in self.arrays.items())

    def write(self, folder: Path, form: str) -> list[str]:
        """Write the outputs to a folder as npz or pb; return the names of the files.

        Raises:
            OSError: a file cannot be written.
        """
        return write_tensors(folder, dict(self.arrays), form)

    def written_to(self, folder: Path, form: str) -> RunReport:
        """Write the outputs to a folder as npz or pb; the report that names the files.

        Raises:
            OSError: a file cannot be written.
        """
        return replace(self, written=tuple(str(folder / file) for file in self.write(folder, form)))

    def document(self) -> Document:
        """The outputs as a document: a case for each, and for each comparison with expected values."""
        lines = {case.name: case for case in self.compared}
        cases = [_output_case(output, self._values(output.name), lines.get(output.name)) for output in self.outputs]
        return Document(
            command="run",
            title="the exact values of a model",
            subject=escape(self.model),
            headline=(
                self.conditions.limited("an output differs from the expected one") if self.exit_code else self._standing
            ),
            code=self.exit_code,
            criteria={name: Criterion(text, "run") for name, text in CRITERIA.items()},
            sections=(Section("outputs", self.model, tuple(cases), heads=("type", "shape", "values")),),
            facts=tuple(self.conditions.facts()),
            notes=tuple(self._remarks),
        )

    @property
    def _standing(self) -> str:
        if self.check is None:
            return self.conditions.limited(UNCHECKED)
        assumed = "; its assumptions hold for these inputs" if self.assumed else ""
        return f"{self.conditions.limited(VERDICT_PHRASES[Verdict.PASS])}{assumed}"

    @property
    def _remarks(self) -> Iterator[str]:
        if self.outside:
            yield f"operators outside the profile, computed as ONNX defines them: {', '.join(self.outside)}"
        elements, exact = self.approximated_elements
        if elements:
            by = ", ".join(f"{operator} {number}" for operator, (_, number) in self.approximated.items() if number)
            slow = f"{exact} of {elements} took the slow exact path" + (f": {by}" if by else "")
            yield f"all values are exact to the last bit ({slow})"

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The values of an output."""
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        """The names of the outputs, in the order of the graph."""
        return iter(self.arrays)

    def __len__(self) -> int:
        """The number of outputs."""
        return len(self.arrays)

    @property
    def exit_code(self) -> int:
        """0, or 1 if an output differs from the expected one."""
        return DIFFERENT if any(output.difference is not None for output in self.compared) else 0

    @property
    def approximated_elements(self) -> tuple[int, int]:
        """All elements that were first approximated, and how many of them were recomputed exactly."""
        counts = self.approximated.values()
        return sum(elements for elements, _ in counts), sum(exact for _, exact in counts)

    def to_text(self) -> str:
        """Lines for a terminal; the values are not printed where they were written or compared."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        for text in (self._standing, *self._remarks):
            yield f"{escape(self.model)}: {text}"
        for file in self.written:
            yield f"wrote {escape(file)}"
        for expected in self.compared:
            yield f"{escape(expected.name)}: {expected.sentence}"
        if not self.written and not self.compared:
            for output, values in self.arrays.items():
                yield f"{escape(output)}: {element_type(values)} {list(values.shape)}"
                shown = self._values(output)
                yield from [f"  {shown}"] if shown else []

    def _values(self, output: str) -> str:
        """The values of an output as text, "" where there are many."""
        values = self.arrays[output]
        if values.size > MAX_PRINTED_ELEMENTS:
            return ""
        with np.errstate(all="ignore"):
            return np.array2string(values, separator=", ", prefix="  ")


CRITERIA = {
    "computed": "The output has exact values.",
    "expected": "The output has the expected values.",
}


def _output_case(output: OutputTensor, values: str, compared: ExpectedOutput | None) -> CaseResult:
    typed = (output.type, str(list(output.shape)))
    cells = (*typed, escape_once(" ".join(values.split())) if values else "many: --output writes them")
    if compared is None:
        return CaseResult(
            "computed", escape(output.name), "computed", Standing.GOOD, " ".join(typed), cells=cells, shown=True
        )
    same = compared.difference is None
    return CaseResult(
        "expected", escape(output.name), "same" if same else "different", Standing.GOOD if same else Standing.BAD,
        compared.sentence, cells=cells, shown=True,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class PreparedModel:
    """A model that is ready to run many times, one run after another; `sonnx.prepare` makes it."""

    name: str
    runner: ModelRunner
    conditions: Conditions

    def run(self, inputs: Mapping[str, NDArray[Any]], watch: Watch | None = None) -> RunReport:
        """The exact values for these inputs.

        Raises:
            BadInput: an input is missing, unknown, or of another type or shape.
            ErrorCondition: a rule that the values depend on does not hold; it names the rule.
            NotExecutable: the executor does not support a part of the model.
        """
        result = self.runner.run(inputs, watch)
        checked = replace(self.conditions, settings=())
        report = replace(result.report, conditions=checked) if result.report else None
        conditions = self.conditions
        for name, values in sorted(inputs.items()):
            conditions = conditions.with_digest(f"input {name}", array_digest(values))
        return RunReport(
            model=self.name,
            arrays=result.values,
            check=CheckReport.of(report) if report else None,
            conditions=conditions,
            assumed=result.report is not None and result.report.verdict is Verdict.ASSUMED,
            approximated=result.exact_path_counts.by_operator,
            outside=result.outside_profile,
        )
