"""Whether the model of an evidence pack is the same function as the model it was derived from (`sonnx equivalent`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from pathlib import Path

from msgspec import Struct, convert

from sonnx.base.errors import BadInput, UsageError
from sonnx.base.escaping import escape
from sonnx.base.files import sha256
from sonnx.checker.request import CheckRequest
from sonnx.equivalence.decision import compare_models
from sonnx.equivalence.options import EquivalenceOptions
from sonnx.equivalence.result import GeneratedInput, Quantum, UnmatchedPair
from sonnx.equivalence.sides import side_of
from sonnx.evidence.identity import ExternalFile, external_files
from sonnx.model.ir import Model
from sonnx.model.reader import file_bytes, read

LIMIT = (
    "The comparison with the original is about exact and ideal values for the inputs that audit.json names; a runtime "
    "may add up in another order in each model."
)
DIGITS = 4
"""Digits of the largest difference: the last digits of a float64 product depend on the processor, a pack does not."""


class OriginalModel(Struct, frozen=True):
    """The model file that the model was made from."""

    file: str
    """The base name of the file."""
    sha256: str
    """Its SHA-256."""
    external_data: tuple[ExternalFile, ...]
    """The files of external data."""


class AnsweredOutput(Struct, frozen=True):
    """An output of both models."""

    name: str
    """Its name in the original."""
    answer: str
    """Whether it is the same function."""


class ComparedOriginal(Struct, frozen=True):
    """Whether the model is the same function as the model it was made from."""

    original: OriginalModel
    """That model."""
    answer: str
    """The answer of `sonnx equivalent`."""
    outputs: tuple[AnsweredOutput, ...]
    """The answer for each output."""
    only_for: Mapping[str, tuple[int, ...]]
    """The shapes of inputs for which the answer holds; empty for all."""
    folded: int
    """Constants that were computed in advance."""
    largest_relative_difference: float | None
    """Of these from the constants of the original, rounded up; null without one."""
    by_one_quantum: tuple[Quantum, ...]
    """Values that differ by one quantum at most."""
    may_jump: tuple[str, ...]
    """Values that jump where their arguments are near a threshold."""
    unmatched: UnmatchedPair | None
    """Where the models stop to match; null where they match."""
    witness: GeneratedInput | None
    """The input on which they differ, which `sonnx equivalent --witness` writes; null where none is known."""
    theorems: tuple[str, ...]
    """The theorems that the answer rests on."""
    assumed: tuple[str, ...]
    """What is assumed without a theorem."""


@dataclass(frozen=True, eq=False)
class Derivation:
    """What is known of the model and its original.

    Attributes:
        about: the entry of audit.json.
        theorems: that the answer rests on.
        code: the exit code of the comparison.
    """

    about: ComparedOriginal
    theorems: frozenset[str]
    code: int

    def worst(self, code: int) -> int:
        """The exit code of a pack whose check has this one: 1 if either fails, else 3 if either is open."""
        return next(each for each in (1, 3, 0) if each in (code, self.code))


def derivation(
    original: Path, model: Model, name: str, digest: str, folder: Path | None, asked: CheckRequest
) -> Derivation:
    """Compare a model with its original.

    Args:
        original: the model file that the model was made from.
        model: the model of the pack, as it is in its file.
        name: of the model in the pack.
        digest: the SHA-256 of its file.
        folder: where its file stands.
        asked: edition and sizes of the check, which the comparison shares.

    Raises:
        Unreadable: the original is not a readable ONNX model.
        UsageError: the models have other inputs or outputs, or other types.
    """
    data = file_bytes(original, repr(str(original)))
    source = read(data, repr(str(original)), asked.limits, original.parent)
    first = side_of(source, original.name, sha256(data), original.parent)
    try:
        equivalence = compare_models(first, side_of(model, name, digest, folder), EquivalenceOptions.of(asked))
    except BadInput as reason:
        text = f"{escape(original.name)} is not an original of {escape(name)}: {_without_hint(reason)}"
        raise UsageError(text) from None
    largest = max((constant.relative for constant in equivalence.constants), default=None)
    unmatched = equivalence.unmatched
    about = ComparedOriginal(
        OriginalModel(original.name, equivalence.first.sha256, tuple(external_files(source, original.parent))),
        equivalence.answer.value,
        tuple(AnsweredOutput(escape(output.first), output.answer.value) for output in equivalence.outputs),
        {escape(name): tuple(shape) for name, shape in equivalence.binding.items()},
        len(equivalence.constants),
        None if largest is None else _rounded(largest),
        tuple(
            Quantum(escape(quantum.first), escape(quantum.second), _rounded(quantum.reach))
            for quantum in equivalence.quanta
        ),
        tuple(map(escape, equivalence.decisions)),
        None
        if unmatched is None
        else UnmatchedPair(*map(escape, (unmatched.first, unmatched.second, unmatched.reason))),
        None if equivalence.witness is None else convert(equivalence.witness, GeneratedInput, from_attributes=True),
        tuple(equivalence.theorems),
        tuple(map(escape, equivalence.assumptions)),
    )
    proved = equivalence.proved
    return Derivation(about, frozenset(equivalence.theorems if proved else ()), equivalence.exit_code())


def _without_hint(reason: BadInput) -> str:
    """The sentence without the option of the command equivalent that pairs names."""
    return str(reason).partition("; --map")[0]


def _rounded(value: float) -> float:
    return float(Context(prec=DIGITS, rounding=ROUND_CEILING).create_decimal_from_float(value))
