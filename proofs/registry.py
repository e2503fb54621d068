"""Every theorem of the project: a new module of theorems is added to `MODULES`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from sonnx.proofs import (
    accuracy,
    accuracy_refuted,
    argmax,
    auto_padding,
    bounds,
    broadcast,
    broadcast_axis,
    broadcast_index,
    builtin_functions,
    clip,
    derived,
    integer_wraparound,
    integers,
    kernels,
    maximum,
    memory_layout,
    order,
    output_shapes,
    printed_shapes,
    printed_values,
    quantization,
    real_values,
    reduction,
    rewrites,
    signs,
    slices,
    slopes,
    windows,
)
from sonnx.prover.theorem import Theorem

MODULES: tuple[Callable[[], Iterator[Theorem]], ...] = (
    accuracy.theorems,
    accuracy_refuted.theorems,
    argmax.theorems,
    auto_padding.theorems,
    bounds.theorems,
    broadcast.theorems,
    broadcast_axis.theorems,
    broadcast_index.theorems,
    builtin_functions.theorems,
    clip.theorems,
    derived.theorems,
    integer_wraparound.theorems,
    integers.theorems,
    kernels.theorems,
    maximum.theorems,
    memory_layout.theorems,
    order.theorems,
    output_shapes.theorems,
    printed_shapes.theorems,
    printed_values.theorems,
    quantization.theorems,
    real_values.theorems,
    reduction.theorems,
    rewrites.theorems,
    signs.theorems,
    slices.theorems,
    slopes.theorems,
    windows.theorems,
)


@cache
def theorems() -> tuple[Theorem, ...]:
    """Every theorem, in the order of identifiers."""
    return tuple(sorted((each for module in MODULES for each in module()), key=lambda theorem: theorem.id))
