"""Whether the model of an evidence pack is the same function as the model it was derived from (`sonnx equivalent`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from sonnx.base.errors import BadInput, UsageError
from sonnx.base.escaping import escape
from sonnx.base.files import sha256
from sonnx.checker.request import CheckRequest
from sonnx.equivalence.decision import compare_models, side_of
from sonnx.equivalence.options import EquivalenceOptions
from sonnx.equivalence.result import Answer
from sonnx.evidence.identity import external_files
from sonnx.model.ir import Model
from sonnx.model.reader import file_bytes, read

LIMIT = (
    "The comparison with the original is about exact and ideal values for the inputs that audit.json names; a runtime "
    "may add up in another order in each model."
)
DIGITS = 4
"""Digits of the largest difference: the last digits of a float64 product depend on the processor, a pack does not."""


@dataclass(frozen=True, eq=False)
class Derivation:
    """What is known of the model and its original.

    Attributes:
        about: the entry of audit.json.
        theorems: that the answer rests on.
        code: the exit code of the comparison.
    """

    about: dict[str, Any]
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
        found = compare_models(first, side_of(model, name, digest, folder), EquivalenceOptions.of(asked))
    except BadInput as reason:
        raise UsageError(f"{escape(original.name)} is no original of {escape(name)}: {_without_hint(reason)}") from None
    largest = max((each.relative for each in found.constants), default=None)
    about = {
        "original": {
            "file": original.name,
            "sha256": found.first.sha256,
            "external_data": list(external_files(source, original.parent)),
        },
        "answer": found.answer.value,
        "outputs": [{"name": escape(each.first), "answer": each.answer.value} for each in found.outputs],
        "only_for": {escape(each): list(shape) for each, shape in found.binding.items()},
        "folded": len(found.constants),
        "largest_relative_difference": None if largest is None else _rounded(largest),
        "by_one_quantum": [
            {"first": escape(each.first), "second": escape(each.second), "reach": _rounded(each.reach)}
            for each in found.quanta
        ],
        "may_jump": [escape(each) for each in found.decisions],
        "unmatched": None if found.unmatched is None else _unmatched(to_builtins(found.unmatched)),
        "witness": None if found.witness is None else _witness(to_builtins(found.witness)),
        "theorems": list(found.theorems),
        "assumed": [escape(each) for each in found.assumptions],
    }
    proved = found.answer in (Answer.IDENTICAL, Answer.ROUNDING)
    return Derivation(about, frozenset(found.theorems if proved else ()), found.exit_code())


def _without_hint(reason: BadInput) -> str:
    """The sentence without the option of the command equivalent that pairs names."""
    return str(reason).partition("; --map")[0]


def _unmatched(found: Mapping[str, Any]) -> dict[str, str]:
    return {key: escape(found[key]) for key in ("first", "second", "reason")}


def _witness(found: Mapping[str, Any]) -> dict[str, Any]:
    """Which generated input shows the difference, and where; `sonnx equivalent --witness` writes it."""
    return {key: found[key] for key in ("number", "kind", "seed", "output", "at", "first", "second")}


def _rounded(value: float) -> float:
    return float(Context(prec=DIGITS, rounding=ROUND_CEILING).create_decimal_from_float(value))
