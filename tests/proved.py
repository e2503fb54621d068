"""Which derived theorems `make test` asks; `make proofs` asks all."""

from __future__ import annotations

import os
from collections.abc import Iterable

from sonnx.proofs.family import provable
from sonnx.proofs.theorem import Theorem

from sonnx.profile import Operator

CHOSEN = frozenset({"ArgMax", "Max"})
"""The operators whose theorems are looked at one by one."""
SLOW = frozenset({
    "BatchNormalization", "Concat", "Conv", "ConvInteger", "DequantizeLinear", "Flatten", "Gemm", "LSTM", "MaxPool",
    "Pad", "QuantizeLinear", "ReduceMax", "Reshape", "Slice", "Unsqueeze",
})  # fmt: skip
"""The operators whose theorems take together most of the time; those of all others are asked."""
EVERYTHING = "SONNX_PROVE_ALL" in os.environ


def chosen() -> tuple[Operator, ...]:
    """The operators whose theorems are looked at one by one."""
    return tuple(each for each in provable() if EVERYTHING or each.name in CHOSEN)


def of_chosen(theorems: Iterable[Theorem]) -> list[Theorem]:
    """The theorems derived from those."""
    names = {each.name for each in chosen()}
    return [each for each in theorems if _operator(each) in names]


def asked(theorems: Iterable[Theorem]) -> list[Theorem]:
    """The theorems about words and values, and those derived from operators that are not slow."""
    return [each for each in theorems if EVERYTHING or _operator(each) not in SLOW]


def _operator(theorem: Theorem) -> str:
    return theorem.id.split(".")[1].split("-")[0] if theorem.id.startswith("derived.") else ""
