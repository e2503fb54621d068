"""Functions over numpy arrays of patterns, run on one element as a term, whatever the rest of its block holds.

A kernel combines arrays element by element, and asks of a whole block whether some element is beyond a limit.  So one
element is run, as a bit-vector.  Where such a question is answered "none", it is answered so for this element; where it
is answered "some", nothing is known of this element, because another one may be meant.  Both answers are followed.

numpy's integer operations are taken as those of bit-vectors, and `maximum` of floating-point numbers as what the caller
says of it.  Every other function of numpy is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import z3

from sonnx.numerics.scratch import Scratch
from sonnx.prover.symbolic_execution import Unsupported

Term = Any
FloatMaximum = Callable[[Term, Term], Term]
"""The result of numpy's maximum of two floating-point numbers."""


class Cell:
    """One element of an array; its views share the bits, as views of arrays share memory."""

    shape = (1,)
    size = 1

    def __init__(self, run: BlockRun, bits: list[Term], kind: np.dtype[Any]) -> None:
        self.run, self.bits, self.kind = run, bits, kind

    @property
    def term(self) -> Term:
        """The bits as they are now."""
        return self.bits[0]

    def view(self, kind: np.dtype[Any]) -> Cell:
        """The same bits as another type of the same width."""
        if kind.itemsize != self.kind.itemsize:
            raise Unsupported(f"a view as {kind} of {self.kind}")
        return Cell(self.run, self.bits, kind)

    def reshape(self, *shape: object) -> Cell:
        """The same element."""
        return self

    def __and__(self, mask: int) -> Cell:
        return Cell(self.run, [self.term & mask], self.kind)

    def __gt__(self, limit: int) -> z3.BoolRef:
        return self.compared(z3.UGT, lambda a, b: a > b, limit)

    def __le__(self, limit: int) -> z3.BoolRef:
        return self.compared(z3.ULE, lambda a, b: a <= b, limit)

    def compared(self, unsigned: Callable[..., Any], signed: Callable[..., Any], operand: Term) -> z3.BoolRef:
        """A comparison of integers, as their type has it."""
        if self.kind.kind not in "iu":
            raise Unsupported(f"a comparison of {self.kind}")
        right = operand.term if isinstance(operand, Cell) else z3.BitVecVal(operand, self.term.size())
        compare = signed if self.kind.kind == "i" else unsigned
        return compare(self.term, right)


@dataclass
class Reduced:
    """The largest or least element of a block, of which one element is known."""

    cell: Cell
    largest: bool

    def __gt__(self, limit: int) -> SomeElement:
        if not self.largest:
            raise Unsupported("the least element above a limit")
        return SomeElement(self.cell.run, self.cell > limit)

    def __lt__(self, limit: int) -> SomeElement:
        if self.largest:
            raise Unsupported("the largest element below a limit")
        return SomeElement(self.cell.run, self.cell.compared(z3.ULT, lambda a, b: a < b, limit))

    def __eq__(self, limit: object) -> Any:
        least = -(1 << self.cell.term.size() - 1)
        if self.largest or self.cell.kind.kind != "i" or limit != least:
            raise Unsupported("an extreme element equal to a number other than the least of its type")
        return SomeElement(self.cell.run, self.cell.term == least)

    __hash__ = None  # type: ignore[assignment]


class SomeElement:
    """Whether some element of the block meets a condition, of which one element is known."""

    def __init__(self, run: BlockRun, own: z3.BoolRef) -> None:
        self.run, self.own = run, own
        self.answer: bool | None = None

    def __bool__(self) -> bool:
        if self.answer is None:
            self.answer = self.run.decide(self.own)
        return self.answer


class Operation:
    """A function of numpy on two operands, element by element, and its reduction over a block."""

    def __init__(self, run: BlockRun, name: str) -> None:
        self.run, self.name = run, name

    def __call__(self, x: Cell, y: Cell | int, out: Cell, where: z3.BoolRef | None = None) -> None:
        """The result in `out`, where the condition holds."""
        right = y.term if isinstance(y, Cell) else z3.BitVecVal(y, x.term.size())
        result = self.run.applied(self.name, x, right)
        out.bits[0] = result if where is None else z3.If(where, result, out.term)

    def reduce(self, x: Cell, axis: None) -> Reduced:
        """The largest or least element."""
        if self.name not in ("maximum", "minimum") or x.kind.kind not in "iu":
            raise Unsupported(f"{self.name}.reduce of {x.kind}")
        return Reduced(x, self.name == "maximum")


class Numpy:
    """The functions of numpy that kernels of patterns use."""

    def __init__(self, run: BlockRun) -> None:
        names = ("maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor", "right_shift", "subtract")
        for name in names:
            setattr(self, name, Operation(run, name))

    def __getattr__(self, name: str) -> Any:
        raise Unsupported(f"numpy's function {name}")

    def copyto(self, out: Cell, value: Cell | int, where: z3.BoolRef) -> None:
        """The value where the condition holds."""
        right = value.term if isinstance(value, Cell) else z3.BitVecVal(value, out.term.size())
        out.bits[0] = z3.If(where, right, out.term)


class SymbolicMemory:
    """Scratch memory: new elements with any contents."""

    def __init__(self, run: BlockRun) -> None:
        self.run = run

    def array(self, count: int, kind: np.dtype[Any]) -> Cell:
        """An element of this type."""
        return Cell(self.run, [z3.FreshConst(z3.BitVecSort(8 * kind.itemsize), "memory")], kind)


@dataclass
class BlockRun:
    """One run along given answers, then along "none" for every new question."""

    float_maximum: FloatMaximum | None
    taken: list[bool]
    given: int = field(init=False)
    hypotheses: list[z3.BoolRef] = field(default_factory=list)
    decided: int = 0

    def __post_init__(self) -> None:
        self.given = len(self.taken)

    def decide(self, own: z3.BoolRef) -> bool:
        """Whether some element of the block meets what `own` says of this one."""
        place, self.decided = self.decided, self.decided + 1
        if place >= len(self.taken):
            self.taken.append(False)
        if not self.taken[place]:
            self.hypotheses.append(z3.Not(own))
        return self.taken[place]

    def applied(self, name: str, x: Cell, y: Term) -> Term:
        """The result of a function on two operands."""
        match name, x.kind.kind:
            case (("maximum" | "minimum"), ("i" | "u")):
                right = Cell(self, [y], x.kind)
                above = x.compared(z3.UGT, lambda a, b: a > b, right)
                return z3.If(above if name == "maximum" else z3.Not(above), x.term, y)
            case "maximum", _ if self.float_maximum is not None:
                return self.float_maximum(x.term, y)
            case "right_shift", "i":
                return x.term >> y
            case "bitwise_and", ("i" | "u"):
                return x.term & y
            case "bitwise_or", ("i" | "u"):
                return x.term | y
            case "bitwise_xor", ("i" | "u"):
                return x.term ^ y
            case "subtract", ("i" | "u"):
                return x.term - y
        raise Unsupported(f"numpy's function {name} on {x.kind}")


@dataclass(frozen=True)
class BlockPath:
    """What a kernel leaves in an element, where the answers about its block are such that the hypotheses hold."""

    hypotheses: tuple[z3.BoolRef, ...]
    value: Term


Kernel = Callable[[dict[str, Any], Sequence[Cell], Cell], Cell]
"""Runs functions of a module, by name, on the operands, with an element for the result; what holds the result."""


def block_paths(
    module: ModuleType,
    kernel: Kernel,
    kind: np.dtype[Any],
    operands: Sequence[Term],
    float_maximum: FloatMaximum | None = None,
    **changed: Callable[..., Any],
) -> Iterator[BlockPath]:
    """What the functions of a module compute of patterns of a type, for all answers about the block.

    Raises:
        Unsupported: they do something that has no counterpart here.
    """
    pending: list[list[bool]] = [[]]
    while pending:
        run = BlockRun(float_maximum, pending.pop())
        cells = [Cell(run, [operand], kind) for operand in operands]
        cell = kernel(_on_terms(module, run, changed), cells, SymbolicMemory(run).array(1, kind))
        yield BlockPath(tuple(run.hypotheses), cell.term)
        pending += [[*run.taken[:place], True] for place in range(run.given, len(run.taken))]


def _on_terms(module: ModuleType, run: BlockRun, changed: dict[str, Callable[..., Any]]) -> dict[str, Any]:
    """The names of a module, whose functions use terms in place of numpy and of scratch memory."""
    names = {**vars(module), **changed, "np": Numpy(run)}
    names |= {name: SymbolicMemory(run) for name, value in vars(module).items() if isinstance(value, Scratch)}
    for name, value in list(names.items()):
        if isinstance(value, FunctionType) and value.__module__ == module.__name__:
            on_terms = FunctionType(value.__code__, names, name, value.__defaults__, value.__closure__)
            on_terms.__kwdefaults__ = value.__kwdefaults__
            names[name] = on_terms
    return names
