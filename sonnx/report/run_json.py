"""What `sonnx run --report json` prints; run.schema.json beside this file is made from it."""

from __future__ import annotations

from sonnx.report.json_parts import EditionName, JsonDocument, Number, Part, Text


class OperatorPart(Part, frozen=True):
    """The approximated elements of an operator."""

    operator: Text
    """The operator."""
    elements: Number
    """Elements that were first approximated."""
    exact_path: Number
    """How many of them were recomputed exactly."""


class ApproximatedPart(Part, frozen=True):
    """The elements that were first approximated; all values are exact to the last bit."""

    elements: Number
    """Elements of all operators."""
    exact_path: Number
    """How many of them were recomputed exactly."""
    operators: tuple[OperatorPart, ...]
    """The numbers of each operator."""


class FirstDifferencePart(Part, frozen=True):
    """The first element that differs, in row-major order."""

    place: str
    """Where it is."""
    found: str
    """The value of this run."""
    expected: str
    """The expected value."""


class ComparedPart(Part, frozen=True):
    """An output that was compared with expected values."""

    output: str
    """The name of the output."""
    elements: Number
    """Its elements."""
    different: Number
    """How many of them differ."""
    first: FirstDifferencePart | None
    """The first one that differs; null where none does."""


class OutputPart(Part, frozen=True):
    """An output."""

    name: str
    """The name of the output."""
    type: str
    """Its element type."""
    shape: tuple[Number, ...]
    """Its shape."""


class RunDocument(JsonDocument, frozen=True):
    """A run: sonnx run --report json."""

    model: str
    """The file, as it was named."""
    checked: bool
    """Whether the model was checked before it ran."""
    edition: EditionName | None
    """The edition it conforms to; null where it ran unchecked."""
    assumed: bool
    """Whether the check assumed something about values, which holds for these inputs."""
    outside_the_profile: tuple[str, ...]
    """Operators that the edition does not specify; their ONNX text defines the values."""
    approximated: ApproximatedPart
    """The elements that were first approximated."""
    written: tuple[str, ...]
    """The files that the values were written to."""
    compared: tuple[ComparedPart, ...]
    """The outputs that were compared with expected values."""
    outputs: tuple[OutputPart, ...]
    """The outputs of the model, in its order."""
