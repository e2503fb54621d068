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

    Args:
        source: a path, or the bytes of a model file.
        box: for each input an array (a point) or a pair of arrays (the ends of intervals); or texts as on the command
            line, `NAME=[LOW,HIGH]` or `NAME=FILE.npy`.
        hypotheses: predefined ones by name, a TOML file, or an object.
        edition: the edition the model must conform to; the default edition if None.
        unchecked: bound a model that does not conform, where its operators have bounds.
        differences: pairs (i, j) of elements of the first output: is their order the same in every implementation?
        argmax: is the largest element of the first output the same in every implementation?
        max_error: what the error of the first output must not exceed.
        bind: numbers for symbolic dimensions.
        input_shapes: shapes of graph inputs.
        split: seconds for which the box is halved until every part shows what is asked.
        progress: called with a short text now and then while the box is halved.

    Returns:
        The bounds, with the conditions under which they hold.

    Raises:
        Unreadable: the source is not a readable ONNX model.
        UsageError: an unknown edition, hypotheses that contradict each other, elements that do not exist, or a point
            that is to be halved.
        NotConforming: the model does not conform; it carries the report.
        BadInput: the box does not fit the inputs of the model.
        NotBounded: a node has no transfer function.
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
