"""Generated inputs of ordinary numbers; equal seeds give equal inputs on every machine (`sonnx.numerics.draws`)."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from zlib import crc32

from sonnx.base.errors import BadInput, UsageError
from sonnx.base.escaping import quote
from sonnx.executor.array_sizes import require_arrays
from sonnx.executor.input_files import inputs_from_files
from sonnx.executor.model_inputs import required_inputs
from sonnx.model.ir import Model, ValueInfo
from sonnx.numerics.draws import ORDINARY, TIES, draw
from sonnx.numerics.formats import ELEMENTS, Array

DEFAULT_RUNS = 2
"""Generated runs of a comparison with ordinary inputs."""
KINDS = (ORDINARY, TIES)
"""The sets of inputs, in turn."""


def probe(inputs: Sequence[ValueInfo], seed: int, number: int) -> dict[str, Array]:
    """The inputs of one run.

    Args:
        inputs: the graph inputs, of numeric shapes.
        seed: any whole number.
        number: which set; its kind is `KINDS[number % 2]`.

    Raises:
        BadInput: an input has a symbolic or missing dimension, or an element type the executor does not know.
    """
    return {value.name: _values(value, seed, number) for value in inputs}


def _values(value: ValueInfo, seed: int, number: int) -> Array:
    kind = ELEMENTS.get(value.type.element or "")
    if kind is None:
        raise BadInput(f"no values can be made for the input {quote(value.name)} of type {value.type.element}")
    shape = value.type.shape
    if shape is None:
        raise BadInput(f"the input {quote(value.name)} has no shape; give its values with --input")
    dims = [extent for extent in shape if isinstance(extent, int) and extent >= 0]
    if len(dims) < len(shape):
        symbols = ", ".join(str(extent) for extent in shape if not isinstance(extent, int) or extent < 0)
        raise BadInput(f"the input {quote(value.name)} has the dimension {symbols}: give it a number with --bind")
    seeds = (seed, number, crc32(value.name.encode("utf-8", "surrogatepass")))
    return draw(kind, dims, KINDS[number % len(KINDS)], seeds)


def comparison_inputs(
    model: Model,
    files: Collection[str],
    test_data: str | os.PathLike[str] | None,
    recorded: bool,
    runs: int | None,
    seed: int,
) -> tuple[list[Mapping[str, Array]], str]:
    """The inputs of each run of a comparison, and where they come from.

    Raises:
        UsageError: options that exclude one another.
        BadInput: a file cannot be used.
    """
    require_arrays(model)
    from_files, needed = inputs_from_files(model, files, test_data), required_inputs(model)
    if from_files and runs is not None:
        raise UsageError("--random excludes --input and --test-data")
    if from_files or not needed:
        return [from_files], "from files" if from_files else "none needed"
    if recorded:
        raise UsageError("--outputs requires --input or --test-data: the inputs they were computed from")
    number = runs or DEFAULT_RUNS
    kinds = ", ".join(KINDS[: min(number, len(KINDS))])
    generated: list[Mapping[str, Array]] = [probe(needed, seed, index) for index in range(number)]
    return generated, f"generated from seed {seed} ({kinds})"
