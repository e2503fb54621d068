"""Bounds a model: reads the model and the box, analyses the whole box, and halves it while there is time."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sonnx.base.errors import BadInput, UsageError
from sonnx.base.escaping import quote
from sonnx.bounds.analysis import Analyser, bound_model
from sonnx.bounds.box import Box, box_of_arrays, box_of_texts
from sonnx.bounds.result import Bounds
from sonnx.bounds.split import Goal, bisect
from sonnx.executor.tensor_files import read_file
from sonnx.model.ir import Model
from sonnx.model.reader import read
from sonnx.model.symbols import bind_symbols
from sonnx.numerics.enclosures.hypotheses import Hypotheses, hypotheses_named
from sonnx.numerics.formats import Array


def bound(
    source: str | os.PathLike[str] | bytes,
    box: Mapping[str, Array | tuple[Array, Array]] | Collection[str],
    hypotheses: str | Hypotheses,
    edition: str | None = None,
    *,
    unchecked: bool = False,
    differences: Sequence[tuple[int, int]] = (),
    argmax: bool = False,
    max_error: float | None = None,
    bind: Mapping[str, int] | None = None,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    split: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> Bounds:
    """The range of every value of a model on a box of inputs, and how far any implementation can be from it.

    `sonnx.bound` documents the arguments and errors.
    """
    assumed = hypotheses_named(hypotheses) if isinstance(hypotheses, str) else hypotheses
    model = bind_symbols(read(source), bind or {}, input_shapes or {})
    path = None if isinstance(source, bytes) else Path(source)
    ranges = _box(model, box)
    if split is not None and all(each.is_point for each in ranges.values()):
        raise UsageError("--split halves a box; the inputs are points")
    found = bound_model(
        model, ranges, assumed, path, edition, unchecked=unchecked, differences=differences, argmax=argmax
    )
    if split is not None:
        analyser = Analyser(model, assumed, path.parent if path else None, edition)
        found = bisect(analyser, ranges, found, Goal(max_error, differences, argmax), split, progress)
    return replace(found, max_error=max_error)


def _box(model: Model, box: Mapping[str, Array | tuple[Array, Array]] | Collection[str]) -> Box:
    return box_of_arrays(model, box) if isinstance(box, Mapping) else box_of_texts(model, box, _only_array)


def _only_array(name: str) -> Array:
    """The array of a file that has one."""
    arrays = read_file(Path(name))
    if len(arrays) != 1:
        raise BadInput(f"{quote(name)} has {len(arrays)} arrays; a box takes one")
    return next(iter(arrays.values()))
