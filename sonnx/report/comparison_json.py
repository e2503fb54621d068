"""What `sonnx compare --format json` prints; comparison.schema.json beside this file is made from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from sonnx.base.reported import ABSENT_IF_EMPTY, OptionalText, Result, json_text
from sonnx.checker.conditions import Conditions
from sonnx.executor.comparison import Comparison, Optimization, Row
from sonnx.executor.reach import Reach
from sonnx.profile.text_types import Number, Sha256


class ComparisonDocument(Result, frozen=True):
    """A runtime against the exact values: sonnx compare --format json."""

    model: str
    """The base name of the file."""
    conditions: Conditions
    """What the figures hold for."""
    sha256: Annotated[Sha256, ABSENT_IF_EMPTY]
    """The SHA-256 of the bytes of the model file; null where it was not requested."""
    runtime: str
    """The runtime, its version and how it was used."""
    edition: OptionalText
    """The edition; null where the model was not checked."""
    unchecked: bool
    """Whether a model was compared without a check of its conformance."""
    inputs: str
    """Where the inputs come from."""
    runs: Number
    """Runs with exact values."""
    ordinary_runs: Number
    """Those of them with ordinary inputs."""
    skipped: tuple[str, ...]
    """Runs without exact values, with the reason."""
    without_classes: tuple[str, ...]
    """What did not run on class inputs, with the reason."""
    optimizations: tuple[Optimization, ...]
    """With --optimizations: the optimized graphs of the runtime."""
    reach: Reach | None
    """With --every-node: which value classes nodes meet when the whole model runs; null where it was not searched."""
    rows: tuple[Row, ...]
    """Every value compared, each in its way."""
    first_diverging: str | None
    """The first node that differs on equal inputs."""
    broken: tuple[str, ...]
    """The bounds that do not hold."""
    not_measured: OptionalText
    """With --bound: that the hypotheses were not measured with this version of the runtime; null where they were."""
    without_bounds: tuple[str, ...]
    """With --bound: runs with values that have no bound, with the reason."""
    unusual: tuple[str, ...]
    """With --bound: values within their bound that random rounding rarely makes; an estimate."""


def render(comparison: Comparison, broken: Sequence[str]) -> str:
    """The comparison as one JSON document."""
    first = comparison.first_diverging
    named = {
        name: getattr(comparison, name) for name in ComparisonDocument.__struct_fields__ if hasattr(comparison, name)
    }
    named |= {"first_diverging": first.place if first else None, "broken": tuple(broken)}
    return json_text(ComparisonDocument(**named))
