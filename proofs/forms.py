"""In which form a claim about floating-point patterns is put: for every format at once, or for one format on bits.

A pattern is a number of [0, 2*sign - 1].  In the first form it is an integer and the format is two integers, `sign`
(the pattern of -0) and `infinity` (of +Inf), with nothing assumed but that a positive finite number and a NaN exist;
every IEEE 754 interchange format is an instance.  In the second it is a bit-vector with two spare bits, so that no sum
overflows.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import z3

from sonnx.prover.symbolic_execution import Reading, Term, read
from sonnx.prover.theorem import Obligation

FORMATS = {"float16": (5, 11), "bfloat16": (8, 8), "float32": (8, 24), "float64": (11, 53)}
"""Bits of the exponent and of the significand with its hidden bit."""


@dataclass(frozen=True)
class Form:
    """One way to put a claim: the format, and what is known of it and of the patterns asked for."""

    name: str
    sign: Term
    infinity: Term
    exponent: int = 0
    significand: int = 0
    known: list[z3.BoolRef] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Bits of a pattern, 0 for every format at once."""
        return self.exponent + self.significand

    @property
    def hypotheses(self) -> tuple[z3.BoolRef, ...]:
        """What is known so far."""
        return tuple(self.known)

    def patterns(self, names: str) -> list[Term]:
        """Arbitrary patterns of these names."""
        return [self.pattern(name) for name in names.split()]

    def pattern(self, name: str) -> Term:
        """An arbitrary pattern."""
        if self.width:
            return z3.ZeroExt(2, z3.BitVec(name, self.width))
        term = z3.Int(name)
        self.known.append(z3.And(term >= 0, term < 2 * self.sign))
        return term

    def read(self, function: Callable[..., Any]) -> Reading:
        """A function of semantics/order.py on arbitrary patterns, with the format as its last arguments."""
        return _template(self.name, function)[1]

    def value(self, function: Callable[..., Any], *patterns: Term) -> Term:
        """What the function gives for patterns: what it gives for arbitrary ones, with these in their place."""
        formals, reading = _template(self.name, function)
        return z3.substitute(reading.value, *zip(formals, patterns, strict=True))

    def obligations(self, function: Callable[..., Any]) -> Iterator[Obligation]:
        """The reading covers every pattern, exactly."""
        formals, reading = _template(self.name, function)
        yield from reading.obligations(*_ranges(self, formals))

    def number(self, pattern: Term) -> Term:
        """The pattern as a term of the theory of floating point."""
        bits = z3.Extract(self.width - 1, 0, pattern)
        return z3.fpBVToFP(bits, z3.FPSort(self.exponent, self.significand))


def every_format() -> Form:
    """All formats at once, on integers."""
    sign, infinity = z3.Ints("sign infinity")
    return Form("every format", sign, infinity, known=[infinity >= 2, sign >= infinity + 2])


def one_format(name: str) -> Form:
    """One format, on bits."""
    exponent, significand = FORMATS[name]
    infinity = ((1 << exponent) - 1) << significand - 1
    return Form(name, 1 << exponent + significand - 1, infinity, exponent, significand)


def _ranges(form: Form, formals: list[Term]) -> list[z3.BoolRef]:
    return [*form.known, *(z3.And(formal >= 0, formal < 2 * form.sign) for formal in formals)]


@cache
def _template(name: str, function: Callable[..., Any]) -> tuple[list[Term], Reading]:
    """A function followed once for all patterns; its range is an assumption of the reading."""
    form = one_format(name) if name in FORMATS else every_format()
    count = len(inspect.signature(function).parameters) - 2
    names = [f"{function.__name__}{i}" for i in range(count)]
    formals = [z3.BitVec(each, form.width + 2) if form.width else z3.Int(each) for each in names]
    assuming = tuple(_ranges(form, formals))
    return formals, read(function, *formals, form.sign, form.infinity, assuming=assuming)


def altered(function: Callable[..., Any], old: str, new: str, **names: Any) -> Callable[..., Any]:
    """The function with one place of its source changed, and names it uses replaced: a mutant."""
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(old) != 1:
        raise ValueError(f"{old!r} stands {source.count(old)} times in {function.__name__}")
    made: dict[str, Any] = {}
    exec(source.replace(old, new), {**function.__globals__, **names}, made)  # noqa: S102  our own source, changed
    return made[function.__name__]  # type: ignore[no-any-return]
