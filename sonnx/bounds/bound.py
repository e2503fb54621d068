"""Bounds a model: reads the model and the box, analyses the whole box, and halves it while there is time."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from sonnx.base.errors import BadInput, UsageError
from sonnx.base.escaping import quote
from sonnx.base.files import sha256
from sonnx.bounds.analysis import bound_model
from sonnx.bounds.box import Box, box_of_arrays, box_of_texts
from sonnx.bounds.options import BoundsOptions
from sonnx.bounds.result import Bounds
from sonnx.bounds.split import BisectionProblem, Goal, HalvesElsewhere, bisect
from sonnx.checker.conditions import MODEL, Conditions
from sonnx.checker.request import open_model
from sonnx.executor.tensor_files import read_file
from sonnx.model.ir import Model
from sonnx.model.limits import DEFAULT_LIMITS, Limits
from sonnx.model.scopes import stored_tensors
from sonnx.model.symbols import bind_symbols
from sonnx.numerics.enclosures.hypotheses import Hypotheses, hypotheses_named
from sonnx.numerics.formats import Array
from sonnx.supervise.search import shorter_time


def bound_source(
    source: str | os.PathLike[str] | bytes, options: BoundsOptions, elsewhere: HalvesElsewhere | None = None
) -> Bounds:
    """The range of every value of a model on a box of inputs, and how far any implementation can be from it.

    `sonnx.bound` documents the options and errors.

    Args:
        source: a path, or the bytes of a model file.
        options: of the bounds.
        elsewhere: halves the box; this process if None.
    """
    named = options.hypotheses
    assumed: Hypotheses = hypotheses_named(named) if isinstance(named, str) else named
    opened, digest = open_model(source, True, options.limits)
    model = bind_symbols(opened, options.bind, options.input_shapes)
    path = None if isinstance(source, bytes) else Path(source)
    read_files: dict[str, str] = {}
    ranges = box_of(model, options.box, read_files)
    if path is not None:
        read_files |= constant_files(model, path.parent)
    if options.split is not None and all(interval.is_point for interval in ranges.values()):
        raise UsageError("--split requires an input range; every input is a single value")
    if options.resume is not None and options.split is None:
        raise UsageError("--resume requires --split")
    differences = tuple(options.differences)
    bounds = bound_model(
        model, ranges, assumed, path, options.edition, unchecked=options.unchecked, differences=differences,
        argmax=options.argmax,
    )  # fmt: skip
    time = shorter_time("--split", options.split or 0.0)
    if options.split is not None:
        problem = BisectionProblem(
            source if isinstance(source, bytes) else str(Path.cwd() / source),
            (dict(options.bind), dict(options.input_shapes)), assumed, options.edition,
            Goal(options.max_error, differences, options.argmax), dict(options.limits),
        )  # fmt: skip
        bounds = bisect(
            problem, ranges, bounds, options.split, options.progress, elsewhere=elsewhere, kept=options.resume
        )
    digests = {MODEL: digest, **{f"ends of {name}": interval.sha256 for name, interval in sorted(ranges.items())}}
    is_cut = options.split is not None and bounds.split is not None and not bounds.split.finished
    conditions = Conditions.of(
        options,
        box=tuple(options.box) if not isinstance(options.box, Mapping) else tuple(_texts(ranges)),
        digests=digests | {f"file {name}": file_digest for name, file_digest in read_files.items()},
        budgets=(time,) if is_cut else (),
    )
    return replace(bounds, max_error=options.max_error, files=read_files, conditions=conditions)


def _texts(box: Box) -> Iterator[str]:
    """A box of arrays as texts; the digests of the ends say which arrays they are."""
    for name, interval in sorted(box.items()):
        if interval.low.size and interval.is_same:
            yield f"{name}=[{interval.low.min()!r},{interval.high.max()!r}]"
        else:
            yield f"{name}={'an array' if interval.is_point else 'arrays'} of shape {list(interval.low.shape)}"


def box_of(
    model: Model, box: Mapping[str, Array | tuple[Array, Array]] | Collection[str],
    read_files: dict[str, str] | None = None,
) -> Box:  # fmt: skip
    """A box from arrays, or from texts of the command line; the hashes of its files are put into a mapping."""
    if isinstance(box, Mapping):
        return box_of_arrays(model, box)

    def array(name: str) -> Array:
        part = only_array(name, model.limits)
        if read_files is not None:
            read_files[name] = sha256(Path(name))
        return part

    return box_of_texts(model, box, array)


def constant_files(model: Model, folder: Path) -> dict[str, str]:
    """The hashes of the files beside a model that its constants stand in."""
    places = {tensor.external.location for tensor in stored_tensors(model) if tensor.external is not None}
    return {place: sha256(folder / place) for place in sorted(places) if (folder / place).is_file()}


def only_array(name: str, limits: Limits = DEFAULT_LIMITS) -> Array:
    """The array of a file that has one."""
    arrays = read_file(Path(name), limits)
    if len(arrays) != 1:
        raise BadInput(f"{quote(name)} has {len(arrays)} arrays; a box takes one")
    return next(iter(arrays.values()))
