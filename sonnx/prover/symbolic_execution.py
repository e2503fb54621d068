"""Runs the very functions that the checker and the executor run on terms of Z3 instead of numbers.

Each branch on a term forks: the function is run again for the other side, until every path was followed.  A path is
its condition and what the function returned there, or why it gives no value.  Nothing is trusted here but the operators
of `proxies.py`: that the paths cover every argument is an obligation of its own, and what cannot be read exactly is
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import z3

from sonnx.language.builtins import Undefined
from sonnx.prover.theorem import Obligation, every, some

PATHS = 500
"""Paths followed at most; a scalar function of this project has a dozen."""
BRANCHES = 60
"""Branches on one path at most, so that a loop without an end has one."""


@dataclass(frozen=True)
class Path:
    """One way through a function: when it is taken and what comes out; `value` is None where it raises Undefined."""

    condition: z3.BoolRef
    value: z3.ExprRef | None
    undefined: str = ""


@dataclass(frozen=True)
class Reading:
    """All paths of a call."""

    name: str
    paths: tuple[Path, ...]
    exact: tuple[z3.BoolRef, ...]
    """What has to hold so that the terms mean the same numbers: no overflow of a bit-vector."""

    @cached_property
    def value(self) -> Term:
        """The result as one term; it means something only where the call is defined."""
        *some, last = [path for path in self.paths if path.value is not None]
        term = last.value
        for path in reversed(some):
            term = z3.If(path.condition, path.value, term)
        return term

    @property
    def defined(self) -> z3.BoolRef:
        """The call returns."""
        return some([path.condition for path in self.paths if path.value is not None])

    def obligations(self, *hypotheses: z3.BoolRef) -> Iterator[Obligation]:
        """Every argument takes one of the paths, and every term is exact."""
        covered = some([path.condition for path in self.paths])
        yield Obligation(f"paths of {self.name} cover all arguments", hypotheses, covered)
        if self.exact:
            yield Obligation(f"terms of {self.name} are exact", hypotheses, every(self.exact))


def read(function: Callable[..., Any], *arguments: Term, assuming: tuple[z3.BoolRef, ...] = ()) -> Reading:
    """Follow every path of a call; arguments are terms (Int or bit-vector, signed) or numbers.

    Raises:
        Refused: where the function leaves what can be read.
    """
    found, exact = [], []
    pending: list[list[bool]] = [[]]
    while pending:
        follower = _Follower(assuming, pending.pop())
        found.append(follower.run(function, arguments))
        exact += follower.exact
        pending += [[*follower.taken[:i], False] for i in sorted(follower.open)]
        if len(found) > PATHS:
            raise Refused(f"{function.__name__} has more than {PATHS} paths")
    return Reading(function.__name__, tuple(found), tuple(exact))


class _Follower:
    """One run of a function along decisions made before, then along the first side of every new branch."""

    def __init__(self, assuming: tuple[z3.BoolRef, ...], taken: list[bool]) -> None:
        self.given = len(taken)
        self.taken = taken
        self.asked = 0
        self.open: set[int] = set()
        self.conditions: list[z3.BoolRef] = []
        self.exact: list[z3.BoolRef] = []
        self.solver = z3.Solver()
        self.solver.add(*assuming)
        self.width = 0

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Path:
        proxies = [self.proxy(argument) for argument in arguments]
        try:
            result = function(*proxies)
        except Undefined as reason:
            return Path(self.so_far(), None, str(reason))
        return Path(self.so_far(), self.term(result))

    def so_far(self) -> z3.BoolRef:
        return every(self.conditions)

    def proxy(self, argument: Term) -> Term:
        if isinstance(argument, z3.ArithRef) and argument.is_int():
            return Whole(argument, self)
        if isinstance(argument, z3.BitVecRef):
            self.width = argument.size()
            return Bits(argument, self)
        if type(argument) is int:
            return argument
        raise Refused(f"an argument of the kind {type(argument).__name__} cannot be followed")

    def term(self, result: Term) -> z3.ExprRef:
        if isinstance(result, Number | Truth):
            return result.of
        if isinstance(result, bool):
            return z3.BoolVal(result)
        if isinstance(result, int):
            return z3.BitVecVal(result, self.width) if self.width else z3.IntVal(result)
        raise Refused(f"a result of the kind {type(result).__name__} cannot be followed")

    def decide(self, condition: z3.BoolRef) -> bool:
        """The side taken; where only one is possible the branch is none, and the coverage proves it."""
        place, self.asked = self.asked, self.asked + 1
        if place >= BRANCHES:
            raise Refused(f"a path has more than {BRANCHES} branches; a loop over terms is not followed")
        if place >= self.given:
            possible = [self.possible(condition), self.possible(z3.Not(condition))]
            self.taken.append(possible[0])
            if all(possible):
                self.open.add(place)
        taken = condition if self.taken[place] else z3.Not(condition)
        self.conditions.append(taken)
        self.solver.add(taken)
        return self.taken[place]

    def possible(self, condition: z3.BoolRef) -> bool:
        return self.solver.check(condition) != z3.unsat

    def require(self, condition: z3.BoolRef, otherwise: str) -> None:
        if self.possible(z3.Not(condition)):
            raise Refused(otherwise)


# ------------------------------------------------------------------
# What stands for a number while a function is followed: terms of Z3 with the operators both languages mean alike.
#
# A proxy asks its follower to decide each branch; whatever is not written here is refused with a sentence.


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
