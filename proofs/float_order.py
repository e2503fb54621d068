"""NaN > +Inf > any positive number > +0 > -0 > any negative number > -Inf (SONNX Max, second edition, line 57).

`greater` transcribes that line; theorems prove that the functions of numerics/order.py, which run, agree with it.
This module also makes theorems for every format at once and on the bits of each format, for other modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import z3

from sonnx.numerics import order
from sonnx.prover.float_patterns import FORMATS, SymbolicFormat, all_formats, bit_format
from sonnx.prover.symbolic_execution import Term
from sonnx.prover.terms import disjunction
from sonnx.prover.theorem import Mutant, Obligation, Sort, Theorem


def classes(x: Term, f: SymbolicFormat) -> list[z3.BoolRef]:
    """The seven classes of the line, highest first."""
    positive, negative = x < f.sign, x >= f.sign
    size = z3.If(negative, x - f.sign, x)
    return [
        size > f.infinity,
        z3.And(positive, size == f.infinity),
        z3.And(positive, size > 0, size < f.infinity),
        z3.And(positive, size == 0),
        z3.And(negative, size == 0),
        z3.And(negative, size > 0, size < f.infinity),
        z3.And(negative, size == f.infinity),
    ]


def greater(x: Term, y: Term, f: SymbolicFormat) -> z3.BoolRef:
    """The order of the line: by class, and among numbers of one sign by their size."""
    of_x, of_y = classes(x, f), classes(y, f)
    by_class = [z3.And(of_x[i], disjunction(of_y[i + 1 :])) for i in range(len(of_x) - 1)]
    return z3.Or(*by_class, z3.And(of_x[2], of_y[2], x > y), z3.And(of_x[5], of_y[5], x < y))


def nan(x: Term, f: SymbolicFormat) -> z3.BoolRef:
    """X is not a number."""
    return classes(x, f)[0]


def same(x: Term, y: Term, f: SymbolicFormat) -> z3.BoolRef:
    """One value: the same bits, or both NaN, which is one class."""
    return z3.Or(x == y, z3.And(nan(x, f), nan(y, f)))


@dataclass(frozen=True)
class Definitions:
    """The definitions a claim is about; a mutant changes one."""

    classes: Callable[..., list[z3.BoolRef]] = classes
    greater: Callable[..., z3.BoolRef] = greater
    key: Callable[..., Any] = order.key
    equal_zeros_key: Callable[..., Any] = order.equal_zeros_key
    maximum: Callable[..., Any] = order.maximum
    replaces: Callable[..., Any] = order.replaces


FormatClaim = Callable[[SymbolicFormat, Definitions], Iterable[Obligation]]
Change: TypeAlias = Definitions | FormatClaim
"""A mutant: other definitions for the claim, or the claim about another formula."""


def in_both_forms(
    identifier: str, statement: str, formula: str, claim: FormatClaim, mutants: Mapping[str, Change], **more: Any
) -> Iterator[Theorem]:
    """The theorem for every format at once, and the same on the bits of each of the four formats."""
    yield Theorem(
        identifier, f"{statement} In every format at once.", formula, lambda: claim(all_formats(), Definitions()),
        mutants=tuple(Mutant(name, _on(claim, defined, all_formats)) for name, defined in mutants.items()), **more,
    )  # fmt: skip
    yield on_bits(f"{identifier}-bits", f"{statement} On bits.", formula, claim, mutants, "bits", **more)


def on_bits(
    identifier: str, statement: str, formula: str, claim: FormatClaim, mutants: Mapping[str, Change], sort: Sort,
    formats: Iterable[str] = tuple(FORMATS), **more: Any,
) -> Theorem:  # fmt: skip
    """The theorem on the bits of each format."""

    def obligations() -> Iterator[Obligation]:
        for name in formats:
            yield from (replace(each, name=f"{name}: {each.name}") for each in claim(bit_format(name), Definitions()))

    small = [Mutant(name, _on(claim, defined, lambda: bit_format("float16"))) for name, defined in mutants.items()]
    bounds = ", ".join(formats)
    return Theorem(identifier, statement, formula, obligations, sort=sort, bounds=bounds, mutants=tuple(small), **more)


def _on(claim: FormatClaim, change: Change, form: Callable[[], SymbolicFormat]) -> Callable[[], Iterable[Obligation]]:
    if isinstance(change, Definitions):
        return lambda: claim(form(), change)
    return lambda: change(form(), Definitions())
