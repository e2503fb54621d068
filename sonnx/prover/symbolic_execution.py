"""Executes the functions that the checker and the executor run on z3 terms in place of numbers.

Each branch on a term forks: the function runs again for the other side, until every path is executed.  A path is its
condition and the result there, or why there is none.  Only the operators of the proxies below are trusted: that the
paths cover all arguments is an obligation of its own, and whatever cannot be executed exactly is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import z3

from sonnx.language.builtins import Undefined
from sonnx.prover.terms import conjunction, disjunction
from sonnx.prover.theorem import Obligation

MAX_PATHS = 500
"""A scalar function of this project has a dozen paths."""
MAX_BRANCHES = 60
"""Bounds the branches of one path, so that every loop ends."""


@dataclass(frozen=True)
class ExecutionPath:
    """One path of a function: its condition and its result; `value` is None if it raises Undefined."""

    condition: z3.BoolRef
    value: z3.ExprRef | None
    undefined: str = ""


@dataclass(frozen=True)
class Execution:
    """All paths of a call."""

    name: str
    paths: tuple[ExecutionPath, ...]
    exact: tuple[z3.BoolRef, ...]
    """What must hold for the terms to equal the numbers: no bit-vector overflows."""

    @cached_property
    def value(self) -> Term:
        """The result as one term, for arguments for which the call returns."""
        *others, last = [path for path in self.paths if path.value is not None]
        term = last.value
        for path in reversed(others):
            term = z3.If(path.condition, path.value, term)
        return term

    @property
    def defined(self) -> z3.BoolRef:
        """Whether the call returns."""
        return disjunction([path.condition for path in self.paths if path.value is not None])

    def obligations(self, *hypotheses: z3.BoolRef) -> Iterator[Obligation]:
        """The paths cover all arguments, and every term is exact."""
        covered = disjunction([path.condition for path in self.paths])
        yield Obligation(f"paths of {self.name} cover all arguments", hypotheses, covered)
        if self.exact:
            yield Obligation(f"terms of {self.name} are exact", hypotheses, conjunction(self.exact))


def execute(function: Callable[..., Any], *arguments: Term, assuming: tuple[z3.BoolRef, ...] = ()) -> Execution:
    """Execute every path of a call; arguments are terms (Int or bit-vector, signed) or numbers.

    Raises:
        Unsupported: the function does something that has no exact counterpart in z3.
    """
    paths, exact = [], []
    pending: list[list[bool]] = [[]]
    while pending:
        run = _PathRun(assuming, pending.pop())
        paths.append(run.run(function, arguments))
        exact += run.exact
        pending += [[*run.taken[:i], False] for i in sorted(run.open)]
        if len(paths) > MAX_PATHS:
            raise Unsupported(f"{function.__name__} has more than {MAX_PATHS} paths")
    return Execution(function.__name__, tuple(paths), tuple(exact))


class _PathRun:
    """One run of a function: along given decisions, then along the first possible side of every new branch."""

    def __init__(self, assuming: tuple[z3.BoolRef, ...], taken: list[bool]) -> None:
        self.given = len(taken)
        self.taken = taken
        self.decided = 0
        self.open: set[int] = set()
        self.conditions: list[z3.BoolRef] = []
        self.exact: list[z3.BoolRef] = []
        self.solver = z3.SimpleSolver()
        self.solver.add(*assuming)
        self.width = 0

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> ExecutionPath:
        proxies = [self.proxy(argument) for argument in arguments]
        try:
            result = function(*proxies)
        except Undefined as reason:
            return ExecutionPath(self.so_far(), None, str(reason))
        return ExecutionPath(self.so_far(), self.term(result))

    def so_far(self) -> z3.BoolRef:
        return conjunction(self.conditions)

    def proxy(self, argument: Term) -> Term:
        if isinstance(argument, z3.ArithRef) and argument.is_int():
            return IntegerProxy(argument, self)
        if isinstance(argument, z3.BitVecRef):
            self.width = argument.size()
            return BitsProxy(argument, self)
        if type(argument) is int:
            return argument
        raise Unsupported(f"an argument of type {type(argument).__name__} cannot be executed")

    def term(self, result: Term) -> z3.ExprRef:
        if isinstance(result, NumberProxy | ConditionProxy):
            return result.term
        if isinstance(result, bool):
            return z3.BoolVal(result)
        if isinstance(result, int):
            return z3.BitVecVal(result, self.width) if self.width else z3.IntVal(result)
        raise Unsupported(f"a result of type {type(result).__name__} cannot be executed")

    def decide(self, condition: z3.BoolRef) -> bool:
        """The side taken; a branch with one possible side is not a fork, which the coverage obligation proves."""
        place, self.decided = self.decided, self.decided + 1
        if place >= MAX_BRANCHES:
            raise Unsupported(f"a path has more than {MAX_BRANCHES} branches; a loop over terms is not executed")
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
        return bool(self.solver.check(condition) != z3.unsat)

    def require(self, condition: z3.BoolRef, otherwise: str) -> None:
        if self.possible(z3.Not(condition)):
            raise Unsupported(otherwise)


# Proxies: terms with the operators that Python and z3 define alike; all other operators are refused

Term = Any
"""A z3 term, or a number or proxy in place of one."""


class Unsupported(ValueError):
    """The function does something that has no exact counterpart in z3; the message says what."""


class Decider(Protocol):
    """Decides branches, and collects the conditions to prove."""

    exact: list[z3.BoolRef]

    def decide(self, condition: z3.BoolRef) -> bool: ...
    def so_far(self) -> z3.BoolRef: ...
    def require(self, condition: z3.BoolRef, otherwise: str) -> None: ...


class ConditionProxy:
    """A condition; its truth value forks."""

    def __init__(self, term: z3.BoolRef, decider: Decider) -> None:
        self.term, self.decider = term, decider

    def __bool__(self) -> bool:
        return self.decider.decide(self.term)


class NumberProxy:  # noqa: PLW1641  a proxy is not a key
    """A term in place of a number, with the operators that Python and z3 define alike."""

    __slots__ = ("decider", "term")

    def __init__(self, term: Term, decider: Decider) -> None:
        self.term, self.decider = term, decider

    def operand(self, value: Term) -> Term:
        if isinstance(value, type(self)):
            return value.term
        if type(value) is int:
            return self.constant(value)
        raise Unsupported(f"a {type(self).__name__} meets a {type(value).__name__}")

    def constant(self, value: int) -> Term:
        raise NotImplementedError

    def wrapped(self, term: Term) -> Term:
        return type(self)(term, self.decider)

    def __eq__(self, value: object) -> ConditionProxy:  # type: ignore[override]
        return ConditionProxy(self.term == self.operand(value), self.decider)

    def __ne__(self, value: object) -> ConditionProxy:  # type: ignore[override]
        return ConditionProxy(self.term != self.operand(value), self.decider)

    def __lt__(self, value: Term) -> ConditionProxy:
        return ConditionProxy(self.term < self.operand(value), self.decider)

    def __le__(self, value: Term) -> ConditionProxy:
        return ConditionProxy(self.term <= self.operand(value), self.decider)

    def __gt__(self, value: Term) -> ConditionProxy:
        return ConditionProxy(self.term > self.operand(value), self.decider)

    def __ge__(self, value: Term) -> ConditionProxy:
        return ConditionProxy(self.term >= self.operand(value), self.decider)

    def refused(self, *_: Term) -> Term:
        raise Unsupported(
            "the function needs the number itself: as an index, a truth value or a hash, or for an unsupported operator"
        )

    __bool__ = __index__ = __int__ = __float__ = __hash__ = __iter__ = refused
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __lshift__ = __rlshift__ = __divmod__ = __invert__ = refused


class IntegerProxy(NumberProxy):
    """An integer; // and % only by a divisor proved positive, where Python and z3 agree."""

    __slots__ = ()

    def constant(self, value: int) -> Term:
        return z3.IntVal(value)

    def __add__(self, value: Term) -> Term:
        return self.wrapped(self.term + self.operand(value))

    def __sub__(self, value: Term) -> Term:
        return self.wrapped(self.term - self.operand(value))

    def __rsub__(self, value: Term) -> Term:
        return self.wrapped(self.operand(value) - self.term)

    def __mul__(self, value: Term) -> Term:
        return self.wrapped(self.term * self.operand(value))

    def __neg__(self) -> Term:
        return self.wrapped(-self.term)

    def __floordiv__(self, value: Term) -> Term:
        return self.wrapped(self.term / self.divisor(value))

    def __rfloordiv__(self, value: Term) -> Term:
        return self.wrapped(self.operand(value) / self.divisor(self))

    def __mod__(self, value: Term) -> Term:
        return self.wrapped(self.term % self.divisor(value))

    def divisor(self, value: Term) -> Term:
        divisor = self.operand(value)
        self.decider.require(divisor > 0, f"the divisor {divisor} is not proved positive")
        return divisor

    __radd__, __rmul__ = __add__, __mul__
    __rmod__ = __and__ = __or__ = __xor__ = __rshift__ = NumberProxy.refused
    __eq__, __hash__ = NumberProxy.__eq__, NumberProxy.refused


class BitsProxy(NumberProxy):
    """A signed bit-vector; each sum and difference adds the obligation that it does not overflow."""

    __slots__ = ()

    def constant(self, value: int) -> Term:
        width = self.term.size()
        if not -(1 << width - 1) <= value < 1 << width - 1:
            raise Unsupported(f"{value} does not fit {width} bits")
        return z3.BitVecVal(value, width)

    def exact(self, wide: Term, narrow: Term) -> Term:
        self.decider.exact.append(z3.Implies(self.decider.so_far(), wide == z3.SignExt(1, narrow)))
        return self.wrapped(narrow)

    def __add__(self, value: Term) -> Term:
        left, right = self.term, self.operand(value)
        return self.exact(z3.SignExt(1, left) + z3.SignExt(1, right), left + right)

    def __sub__(self, value: Term) -> Term:
        left, right = self.term, self.operand(value)
        return self.exact(z3.SignExt(1, left) - z3.SignExt(1, right), left - right)

    def __rsub__(self, value: Term) -> Term:
        return self.wrapped(self.operand(value)) - self

    def __and__(self, value: Term) -> Term:
        return self.wrapped(self.term & self.operand(value))

    def __or__(self, value: Term) -> Term:
        return self.wrapped(self.term | self.operand(value))

    def __xor__(self, value: Term) -> Term:
        return self.wrapped(self.term ^ self.operand(value))

    def __rshift__(self, value: int) -> Term:
        return self.wrapped(self.term >> self.operand(value))

    __radd__, __rand__, __ror__, __rxor__ = __add__, __and__, __or__, __xor__
    __mul__ = __rmul__ = __floordiv__ = __mod__ = __neg__ = NumberProxy.refused
    __eq__, __hash__ = NumberProxy.__eq__, NumberProxy.refused
