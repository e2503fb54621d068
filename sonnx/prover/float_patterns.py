"""Bit patterns of floating-point numbers as terms: of every format at once, or of one format.

A pattern is a number of [0, 2*sign - 1].  For every format at once it is an integer, and the format is two integers:
`sign` (the pattern of -0) and `infinity` (of +Inf), for which a positive finite number and a NaN exist; every IEEE 754
interchange format is an instance.  For one format it is a bit-vector with two spare bits, so that no sum overflows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import z3

from sonnx.prover.symbolic_execution import Execution, Term, execute
from sonnx.prover.theorem import Obligation

FORMATS = {"float16": (5, 11), "bfloat16": (8, 8), "float32": (8, 24), "float64": (11, 53)}
"""Bits of the exponent and of the significand with its hidden bit."""


@dataclass(frozen=True)
class SymbolicFormat:
    """A format with what is known of it and of its patterns made so far."""

    name: str
    sign: Term
    infinity: Term
    exponent: int = 0
    significand: int = 0
    known: list[z3.BoolRef] = field(default_factory=list)

    @property
    def width(self) -> int:
        """The bits of a pattern, 0 for every format at once."""
        return self.exponent + self.significand

    @property
    def hypotheses(self) -> tuple[z3.BoolRef, ...]:
        """What is known so far."""
        return tuple(self.known)

    def patterns(self, names: str) -> list[Term]:
        """Variables for patterns, by names separated by spaces."""
        return [self.pattern(name) for name in names.split()]

    def pattern(self, name: str) -> Term:
        """A variable for a pattern."""
        if self.width:
            return z3.ZeroExt(2, z3.BitVec(name, self.width))
        term = z3.Int(name)
        self.known.append(z3.And(term >= 0, term < 2 * self.sign))
        return term

    def value(self, function: Callable[..., Any], *patterns: Term) -> Term:
        """The result of the function for patterns: its result for variables, with these in their place."""
        formals, execution = _template(self.name, function)
        return z3.substitute(execution.value, *zip(formals, patterns, strict=True))

    def obligations(self, function: Callable[..., Any]) -> Iterator[Obligation]:
        """The execution covers every pattern, and its terms are exact."""
        formals, execution = _template(self.name, function)
        yield from execution.obligations(*_ranges(self, formals))

    def number(self, pattern: Term) -> Term:
        """The pattern as a term of the theory of floating point."""
        bits = z3.Extract(self.width - 1, 0, pattern)
        return z3.fpBVToFP(bits, z3.FPSort(self.exponent, self.significand))


def all_formats() -> SymbolicFormat:
    """Every format at once, on integers."""
    sign, infinity = z3.Ints("sign infinity")
    return SymbolicFormat("every format", sign, infinity, known=[infinity >= 2, sign >= infinity + 2])


def bit_format(name: str) -> SymbolicFormat:
    """One format, on bit-vectors."""
    exponent, significand = FORMATS[name]
    infinity = ((1 << exponent) - 1) << significand - 1
    return SymbolicFormat(name, 1 << exponent + significand - 1, infinity, exponent, significand)


def _ranges(float_format: SymbolicFormat, formals: list[Term]) -> list[z3.BoolRef]:
    return [*float_format.known, *(z3.And(formal >= 0, formal < 2 * float_format.sign) for formal in formals)]


@cache
def _template(name: str, function: Callable[..., Any]) -> tuple[list[Term], Execution]:
    """A function executed once for all patterns, with the variables for them; their range is assumed."""
    float_format = bit_format(name) if name in FORMATS else all_formats()
    count = len(inspect.signature(function).parameters) - 2
    names = [f"{function.__name__}{i}" for i in range(count)]
    formals = [z3.BitVec(formal, float_format.width + 2) if float_format.width else z3.Int(formal) for formal in names]
    assuming = tuple(_ranges(float_format, formals))
    return formals, execute(function, *formals, float_format.sign, float_format.infinity, assuming=assuming)
