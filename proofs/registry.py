"""Every theorem of the project: a new module of theorems is added to `MODULES`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain

from sonnx.profile.catalogue import operators
from sonnx.profile.profile_data import of_profile
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
    convolution,
    derived,
    equivalence,
    identities,
    integer_wraparound,
    integers,
    kernel_code,
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
from sonnx.proofs.inductions import induction
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
    convolution.theorems,
    derived.theorems,
    equivalence.theorems,
    identities.theorems,
    integer_wraparound.theorems,
    integers.theorems,
    kernel_code.theorems,
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
    return _in_order((*stated(), *derived.theorems()))


@cache
def stated() -> tuple[Theorem, ...]:
    """Those that are not derived from the data of operators, in the order of identifiers; they are made much faster."""
    return _in_order(each for module in MODULES if module is not derived.theorems for each in module())


@of_profile
def about_operators(names: frozenset[str]) -> tuple[Theorem, ...]:
    """Those stated, and those derived from the data of these operators, in the order of identifiers."""
    derived_ones = (derived.about(described) for described in operators() if described.name in names)
    return _in_order((*stated(), *chain.from_iterable(derived_ones)))


def among(names: Sequence[str]) -> tuple[Theorem, ...]:
    """Theorems among which are all with these identifiers or topics; every theorem without names."""
    return stated() if names and "derived" not in {name.partition(".")[0] for name in names} else theorems()


def _in_order(theorems: Iterable[Theorem]) -> tuple[Theorem, ...]:
    complete = (replace(theorem, induction=induction(theorem.id)) for theorem in theorems)
    return tuple(sorted(complete, key=lambda theorem: theorem.id))
