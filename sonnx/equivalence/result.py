"""The result of a comparison of two models.  The JSON of the command is the result, field by field."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Struct

from sonnx.base.reported import HIDDEN, reported
from sonnx.checker.conditions import Conditions


class Answer(StrEnum):
    """What is known of two models, or of two outputs."""

    IDENTICAL = "identical"
    ROUNDING = "equal up to rounding"
    NARROWED = "equal but for narrowings"
    DIFFERENT = "different"
    UNDECIDED = "not decided"
    IDENTICAL_AT_SIZES = "identical for these sizes"
    ROUNDING_AT_SIZES = "equal up to rounding for these sizes"
    NARROWED_AT_SIZES = "equal but for narrowings for these sizes"

    @property
    def at_sizes(self) -> Answer:
        """The answer where it holds for the sizes that were looked at only."""
        sized = {
            Answer.IDENTICAL: Answer.IDENTICAL_AT_SIZES,
            Answer.ROUNDING: Answer.ROUNDING_AT_SIZES,
            Answer.NARROWED: Answer.NARROWED_AT_SIZES,
        }
        return sized.get(self, self)

    @property
    def at_any_size(self) -> Answer:
        """What is known, whatever sizes it holds for."""
        return next((answer for answer in Answer if answer.at_sizes is self), self)


INEXACT = (Answer.ROUNDING, Answer.NARROWED)
"""The answers of models that are the same function over the reals, and not bit for bit."""


class File(Struct, frozen=True):
    """One of the two models."""

    name: str
    """What the result calls it."""
    sha256: str
    """The SHA-256 of the file."""
    nodes: int
    """The nodes of its main graph."""


class ComparedOutput(Struct, frozen=True):
    """A pair of outputs."""

    first: str
    """The name in the first model."""
    second: str
    """The name in the second model."""
    answer: Answer
    """What is known of the pair."""
    difference: float | None = None
    """At least the difference of two implementations on the box, None where it is not known."""


class RoundedConstant(Struct, frozen=True):
    """A pair of values between which constants were folded: on equal inputs x of the fold, the ideal values differ by
    at most gain times the largest |x|, plus offset.
    """

    first: str
    """The value in the first model, or the operator that makes it."""
    second: str
    """The value in the second model, or the operator that makes it."""
    gain: float
    """The largest sum of the differences of the weights of one element."""
    offset: float
    """The largest difference of the biases."""
    relative: float
    """The largest difference of two constants, relative to the largest of their array."""
    roundings: int
    """The roundings that the fold may have had."""


class Narrowing(Struct, frozen=True):
    """A value that has fewer digits in one model than in the other one: there every computed number is rounded to the
    format, and a number beyond its ends becomes an end or an infinity.
    """

    first: str
    """The value in the first model, or the operator that makes it."""
    second: str
    """The value in the second model, or the operator that makes it."""
    narrower: Literal["first", "second"]
    """The model in which it has fewer digits."""
    kind: Literal["input", "constant", "value"]
    """What it is in that model."""
    format: str
    """The type that it is rounded to."""
    quantum: float | None = None
    """The largest distance of two neighbouring numbers of integers with a scale; null for a floating-point type."""
    low: float | None = None
    """The least number that the integers of a value stand for; null for a floating-point type or a constant."""
    high: float | None = None
    """The largest one, likewise."""


class Quantum(Struct, frozen=True):
    """A pair of quantized values that differ, on equal inputs of the operator, by at most one quantum, and only where
    the ideal quotient is no further than `reach` from the middle between two whole numbers.
    """

    first: str
    """The value in the first model, or the operator that makes it."""
    second: str
    """The value in the second model, or the operator that makes it."""
    reach: float
    """The distance in quanta by which roundings of any implementation move the quotient, at most."""


class UnmatchedPair(Struct, frozen=True):
    """A pair of values that could not be matched."""

    first: str
    """The value in the first model, or the operator that makes it."""
    second: str
    """The value in the second model, or the operator that makes it."""
    reason: str
    """Why they do not match."""


class Unmatched(UnmatchedPair, frozen=True):
    """A pair of values that could not be matched."""

    common: float
    """The share of the values they are made of that is the same."""


class OpenPart(Struct, frozen=True):
    """The part of both models that is left open, between a pair of values and values that match."""

    first: str
    """The value in the first model."""
    second: str
    """The value in the second model."""
    first_nodes: tuple[str, ...]
    """The nodes of the first model, each as OUTPUTS = OPERATOR(INPUTS)."""
    second_nodes: tuple[str, ...]
    """The nodes of the second model, likewise."""
    inputs: dict[str, str]
    """The values of the first model that match, by which ones of the second."""
    tried: tuple[str, ...]
    """What was tried to decide it."""
    axiom: str
    """The statement that would decide it."""


class GeneratedInput(Struct, frozen=True):
    """An input on which the models differ, and where; it was made simpler than the generated one it comes from."""

    number: int
    """The number of the generated set of inputs."""
    kind: str
    """The kind of its numbers."""
    seed: int
    """Its seed; `sonnx run MODEL --random SEED` makes set 0."""
    output: str
    """The output that differs."""
    at: tuple[int, ...]
    """The index of the element."""
    first: float | None
    """Its exact value in the first model; null for an infinity or a NaN, and where the shapes differ."""
    second: float | None
    """Its exact value in the second model, likewise."""
    non_zero: int | None = None
    """The elements other than 0 that are left of the generated input, after it was made as simple as was found; null
    where an input has texts, which stay as they are."""
    program: tuple[str, ...] = ()
    """Lines of Python that print the element in both models."""


class Evidence(StrEnum):
    """What shows that models differ at an input."""

    ENCLOSURES = "enclosures of the ideal values"
    """The enclosures of the ideal values are apart, further than the roundings of a fold explain."""
    SHAPES = "shapes"
    """The shapes of an output differ, whatever the elements of the inputs are."""
    EXACT = "exact values in both precisions"
    """The exact values are apart by more than 1 % of the largest, and so they are when both models compute in double
    precision; an operator has no enclosure of its ideal values."""
    REFERENCE = "runs of an implementation"
    """The same of the values that the evaluator of the onnx package gives; the executor lacks an operator."""


class DifferingInput(GeneratedInput, frozen=True, kw_only=True):
    """An input on which the models differ beyond rounding."""

    exact: Annotated[tuple[float, float], HIDDEN]
    """Its exact values in both models; NaN where the shapes differ."""
    apart: float
    """At least the distance of the ideal values there; 0 where the value of one model is out of the reach of any
    implementation of the other one, and where there are no enclosures."""
    evidence: Evidence = Evidence.ENCLOSURES
    """What shows it."""
    implementation: str = ""
    """The implementation that ran, with its version, where the executor did not."""


class Equivalence(Struct, frozen=True):
    """What is known of two models, for the inputs named."""

    first: File
    """The first model."""
    second: File
    """The second model."""
    conditions: Conditions
    """What the answer holds for."""
    answer: Answer
    """The answer for all outputs: the weakest one."""
    outputs: tuple[ComparedOutput, ...]
    """The answer for each pair of outputs."""
    constants: tuple[RoundedConstant, ...] = ()
    """The folded or rounded constants, the largest difference first."""
    decisions: tuple[str, ...] = ()
    """Operators that may jump, whose operands are not identical in both models."""
    quanta: tuple[Quantum, ...] = ()
    """Quantized values that roundings may move by one quantum."""
    narrowings: tuple[Narrowing, ...] = ()
    """The values that have fewer digits in one model: without these narrowings the models are equal up to rounding."""
    unmatched: Unmatched | None = None
    """Where the models stopped to match."""
    open: OpenPart | None = None
    """The nodes there, and what would decide them; null where they cannot stand alone."""
    witness: DifferingInput | None = None
    """An input on which they differ."""
    searched: int = 0
    """The generated sets of inputs that both models ran on."""
    bits: str = ""
    """What these runs showed where it does not decide: the first difference in bits, or why there are no values."""
    assumptions: tuple[str, ...] = ()
    """What the answer rests on beside the theorems and the definitions of operators."""
    theorems: tuple[str, ...] = ()
    """The theorems the answer rests on."""
    same_content: bool = False
    """Both files have the same bytes."""
    not_valid: tuple[str, ...] = ()
    """Why a model is not valid ONNX, so that it defines no function, as sentences."""
    max_difference: float | None = None
    """The largest difference that is accepted; null for any."""

    @property
    @reported
    def edition(self) -> str:
        """The edition whose texts define the operators."""
        return self.conditions.edition or ""

    @property
    @reported
    def binding(self) -> dict[str, tuple[int, ...]]:
        """The shapes of inputs for which the answer holds, where it does not hold for all values of symbols."""
        return self.conditions.tried

    @property
    @reported
    def hypotheses(self) -> str:
        """What is assumed of implementations in the differences of outputs; "" without a box."""
        return self.conditions.hypotheses or ""

    @property
    @reported
    def box(self) -> tuple[str, ...]:
        """The ranges of inputs for these differences."""
        return self.conditions.box

    @property
    def proved(self) -> bool:
        """Whether the models are the same function, exactly or up to rounding."""
        return self.answer.at_any_size in (Answer.IDENTICAL, Answer.ROUNDING)

    @property
    def matched(self) -> bool:
        """Whether every output of one model is explained by the other one: `proved`, or equal but for narrowings."""
        return self.proved or self.answer.at_any_size is Answer.NARROWED

    @property
    @reported
    def largest_difference(self) -> float | None:
        """At least the difference of two implementations of outputs that are not identical; null if unknown."""
        rounded = [output.difference for output in self.outputs if output.answer in INEXACT]
        known = [difference for difference in rounded if difference is not None]
        return max(known, default=0.0) if len(known) == len(rounded) else None

    def exit_code(
        self, *, identical: bool = False, sizes_as_given: bool = False, narrowings_as_listed: bool = False
    ) -> Literal[0, 1, 3]:
        """0 where the models are the same function, 1 where they differ, 3 where neither is known.

        Args:
            identical: 0 for identical models only; models equal up to rounding have 1 then.
            sizes_as_given: 0 also where the tool chose sizes, and the answer holds for these only.
            narrowings_as_listed: 0 also where the models are equal but for narrowings, whatever these change.
        """
        known = self.answer.at_any_size
        if known is Answer.UNDECIDED:
            return 3
        if known is Answer.DIFFERENT or (known is not Answer.IDENTICAL and identical):
            return 1
        if known is Answer.NARROWED and self.max_difference is None and not narrowings_as_listed:
            return 3
        if known is not Answer.IDENTICAL and self.max_difference is not None:
            if self.largest_difference is None:
                return 3
            if self.largest_difference > self.max_difference:
                return 1
        return 3 if self.conditions.tried and not sizes_as_given else 0
