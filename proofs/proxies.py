"""What stands for a number while a function is followed: terms of Z3 with the operators both languages mean alike.

A proxy asks its follower to decide each branch; whatever is not written here is refused with a sentence.
"""

from __future__ import annotations

from typing import Any, Protocol

import z3

Term = Any
"""A term of Z3, or what stands for one."""


class Refused(ValueError):
    """The function does something this reading cannot follow exactly; the message says what."""


class Follower(Protocol):
    """Decides branches and keeps what has to be proved."""

    exact: list[z3.BoolRef]

    def decide(self, condition: z3.BoolRef) -> bool: ...
    def so_far(self) -> z3.BoolRef: ...
    def require(self, condition: z3.BoolRef, otherwise: str) -> None: ...


class Truth:
    """A condition; asking for its truth forks."""

    def __init__(self, of: z3.BoolRef, follower: Follower) -> None:
        self.of, self.follower = of, follower

    def __bool__(self) -> bool:
        return self.follower.decide(self.of)


class Number:  # noqa: PLW1641  it is no key
    """A term that stands for a number; the operators are those Python and Z3 mean alike."""

    __slots__ = ("follower", "of")

    def __init__(self, of: Term, follower: Follower) -> None:
        self.of, self.follower = of, follower

    def other(self, value: Term) -> Term:
        if isinstance(value, type(self)):
            return value.of
        if type(value) is int:
            return self.constant(value)
        raise Refused(f"a {type(self).__name__} meets a {type(value).__name__}")

    def constant(self, value: int) -> Term:
        raise NotImplementedError

    def made(self, term: Term) -> Term:
        return type(self)(term, self.follower)

    def __eq__(self, value: object) -> Truth:  # type: ignore[override]
        return Truth(self.of == self.other(value), self.follower)

    def __ne__(self, value: object) -> Truth:  # type: ignore[override]
        return Truth(self.of != self.other(value), self.follower)

    def __lt__(self, value: Term) -> Truth:
        return Truth(self.of < self.other(value), self.follower)

    def __le__(self, value: Term) -> Truth:
        return Truth(self.of <= self.other(value), self.follower)

    def __gt__(self, value: Term) -> Truth:
        return Truth(self.of > self.other(value), self.follower)

    def __ge__(self, value: Term) -> Truth:
        return Truth(self.of >= self.other(value), self.follower)

    def refused(self, *_: Term) -> Term:
        raise Refused("the function needs the number itself (an index, a truth, a hash or an operator not read here)")

    __bool__ = __index__ = __int__ = __float__ = __hash__ = __iter__ = refused
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __lshift__ = __rlshift__ = __divmod__ = __invert__ = refused


class Whole(Number):
    """An integer of Z3; // and % only by a divisor proved positive, where both round down."""

    __slots__ = ()

    def constant(self, value: int) -> Term:
        return z3.IntVal(value)

    def __add__(self, value: Term) -> Term:
        return self.made(self.of + self.other(value))

    def __sub__(self, value: Term) -> Term:
        return self.made(self.of - self.other(value))

    def __rsub__(self, value: Term) -> Term:
        return self.made(self.other(value) - self.of)

    def __mul__(self, value: Term) -> Term:
        return self.made(self.of * self.other(value))

    def __neg__(self) -> Term:
        return self.made(-self.of)

    def __floordiv__(self, value: Term) -> Term:
        return self.made(self.of / self.divisor(value))

    def __rfloordiv__(self, value: Term) -> Term:
        return self.made(self.other(value) / self.divisor(self))

    def __mod__(self, value: Term) -> Term:
        return self.made(self.of % self.divisor(value))

    def divisor(self, value: Term) -> Term:
        divisor = self.other(value)
        self.follower.require(divisor > 0, f"the divisor {divisor} is not proved positive")
        return divisor

    __radd__, __rmul__ = __add__, __mul__
    __rmod__ = __and__ = __or__ = __xor__ = __rshift__ = Number.refused
    __eq__, __hash__ = Number.__eq__, Number.refused


class Bits(Number):
    """A signed bit-vector; each sum and difference adds the obligation that it does not overflow."""

    __slots__ = ()

    def constant(self, value: int) -> Term:
        width = self.of.size()
        if not -(1 << width - 1) <= value < 1 << width - 1:
            raise Refused(f"{value} does not fit {width} bits")
        return z3.BitVecVal(value, width)

    def exact(self, wide: Term, narrow: Term) -> Term:
        self.follower.exact.append(z3.Implies(self.follower.so_far(), wide == z3.SignExt(1, narrow)))
        return self.made(narrow)

    def __add__(self, value: Term) -> Term:
        left, right = self.of, self.other(value)
        return self.exact(z3.SignExt(1, left) + z3.SignExt(1, right), left + right)

    def __sub__(self, value: Term) -> Term:
        left, right = self.of, self.other(value)
        return self.exact(z3.SignExt(1, left) - z3.SignExt(1, right), left - right)

    def __rsub__(self, value: Term) -> Term:
        return self.made(self.other(value)) - self

    def __and__(self, value: Term) -> Term:
        return self.made(self.of & self.other(value))

    def __or__(self, value: Term) -> Term:
        return self.made(self.of | self.other(value))

    def __xor__(self, value: Term) -> Term:
        return self.made(self.of ^ self.other(value))

    def __rshift__(self, value: int) -> Term:
        return self.made(self.of >> self.other(value))

    __radd__, __rand__, __ror__, __rxor__ = __add__, __and__, __or__, __xor__
    __mul__ = __rmul__ = __floordiv__ = __mod__ = __neg__ = Number.refused
    __eq__, __hash__ = Number.__eq__, Number.refused
