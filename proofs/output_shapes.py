"""Claims in the rule language about the shapes of outputs in the operators' data files.

The hypotheses are the rules of the operator, `Y` is the shape of its output.  Ranks are fixed if the rules fix them,
else bounded as the theorem states; extents and numbers are arbitrary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product

import z3

from sonnx.language.parser import parse
from sonnx.language.printer import formula
from sonnx.prover.expression_claims import ExpressionChange, SymbolicCall, claims
from sonnx.prover.smt_values import RecordValue, Value
from sonnx.prover.terms import conjunction, without_divisions
from sonnx.prover.theorem import Mutant, Obligation, Theorem, by_form

Obligations = Iterator[Obligation]
MOVES = ("kernel-fits", "strides-positive", "dilations-positive", "pads-not-negative")
KERNEL, POOL = (*MOVES, "kernel-shape", "kernel-not-empty"), (*MOVES, "kernel-positive")


WRITTEN_OUT = "written out item by item, because solvers do no induction over lists"
TWO_AXES = (
    f"The lists of the attributes are {WRITTEN_OUT}. Edition 2026-08 asks for two spatial axes, others for any number."
)


@dataclass(frozen=True)
class Stated:
    """Claims about the output of an operator; `calls` makes one call for each case, with the name of the case."""

    name: str
    statement: str
    calls: Callable[[ExpressionChange | None], Iterator[tuple[str, SymbolicCall]]]
    rules: tuple[str, ...]
    claims: tuple[str, ...]
    mutants: dict[str, ExpressionChange] = field(default_factory=dict)
    bounds: str = ""
    bound_reason: str = ""
    reason_single: str = ""

    def obligations(self, change: ExpressionChange | None = None) -> Obligations:
        """The shape exists, and the claims."""
        for case, call in self.calls(change):
            parts = claims(call, self.rules, self.claims)
            yield from without_divisions(_joined(case, tuple(parts)) if case else parts)


def _joined(case: str, parts: tuple[Obligation, ...]) -> Obligations:
    """One obligation for a case of many: the shape exists, and the claims hold."""
    exists, *others = parts
    yield Obligation(case, exists.hypotheses, conjunction([exists.goal, *(other.goal for other in others)]))


def convolution(operator: str, version: int) -> Callable[[ExpressionChange | None], Iterator[tuple[str, SymbolicCall]]]:
    """Conv and ConvInteger, whose inputs have different names."""

    def calls(change: ExpressionChange | None) -> Iterator[tuple[str, SymbolicCall]]:
        call = SymbolicCall(operator, version, change=change)
        x, w = call.tensor("X", 4), call.tensor("W", 4)
        letters = [formal.name for formal in call.signature.inputs[:2]]
        yield "", call.with_facts(**dict(zip(letters, (x, w), strict=True)), **_moves(call))

    return calls


def _moves(call: SymbolicCall, spatial: int = 2) -> dict[str, Value]:
    kernel = {"kernel_shape": call.numbers("kernel", spatial), "group": call.number("group")}
    pads = {"pads": call.numbers("pads", 2 * spatial), "auto_pad": "NOTSET", "ceil_mode": 0, "storage_order": 0}
    return {**kernel, **pads, "strides": call.numbers("strides", spatial), "dilations": call.numbers("gaps", spatial)}


def pooling(change: ExpressionChange | None) -> Iterator[tuple[str, SymbolicCall]]:
    """MaxPool on two spatial axes."""
    call = SymbolicCall("MaxPool", 12, change=change)
    yield "", call.with_facts(X=call.tensor("X", 4), **_moves(call))


def flattening(change: ExpressionChange | None) -> Iterator[tuple[str, SymbolicCall]]:
    """Flatten of each rank at each axis."""
    for rank in range(4):
        for axis in range(-rank, rank + 1):
            call = SymbolicCall("Flatten", 25, change=change)
            yield f"rank {rank}, axis {axis}", call.with_facts(X=call.tensor("X", rank), axis=axis)


def reshaping(change: ExpressionChange | None) -> Iterator[tuple[str, SymbolicCall]]:
    """Reshape: each kind of value at each place, with either meaning of 0."""
    for rank, length, allowzero in product(range(3), range(1, 3), (0, 1)):
        call = SymbolicCall("Reshape", 25, change=change)
        facts = {"shape": call.numbers("S", length), "allowzero": allowzero, "written(shape)": True}
        yield f"rank {rank}, {length} values, allowzero {allowzero}", call.with_facts(X=call.tensor("X", rank), **facts)


def slicing(change: ExpressionChange | None) -> Iterator[tuple[str, SymbolicCall]]:
    """Slice of a matrix, its axes named in either order and from either end, or one of them alone."""
    for axes in ((0, 1), (-1, 0), (1,), (-2,)):
        call = SymbolicCall("Slice", 13, change=change)
        lists = {name: call.numbers(name, len(axes)) for name in ("starts", "ends", "steps")}
        yield f"axes {axes}", call.with_facts(X=call.tensor("X", 2), axes=_list(axes), **lists)


def joining(change: ExpressionChange | None) -> Iterator[tuple[str, SymbolicCall]]:
    """Concat of one to three tensors along each axis."""
    for count, rank in ((1, 2), (2, 2), (3, 3)):
        for axis in range(rank):
            call = SymbolicCall("Concat", 13, change=change)
            inputs = [call.tensor(f"X.{m}", rank) for m in range(count)]
            yield f"{count} inputs of rank {rank}, axis {axis}", call.with_facts(X=_list(inputs), axis=axis)


def _list(items: Sequence[Value]) -> Value:
    return SymbolicCall("", 0).interpretation.listing(items)


def multiplying(change: ExpressionChange | None) -> Iterator[tuple[str, SymbolicCall]]:
    """MatMul of two matrices."""
    call = SymbolicCall("MatMul", 13, change=change)
    yield "", call.with_facts(A=call.tensor("A", 2), B=call.tensor("B", 2))


def multiplying_and_adding(change: ExpressionChange | None) -> Iterator[tuple[str, SymbolicCall]]:
    """Gemm with a bias, as the profile has it."""
    call = SymbolicCall("Gemm", 13, change=change)
    plain = {"alpha": 1, "beta": 1, "transA": 0, "transB": 0}
    yield "", call.with_facts(A=call.tensor("A", 2), B=call.tensor("B", 2), C=call.tensor("C", 2), **plain)


def unsqueezing(change: ExpressionChange | None) -> Iterator[tuple[str, SymbolicCall]]:
    """Unsqueeze with one or two new axes anywhere."""
    for rank, count in ((0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (2, 2)):
        call = SymbolicCall("Unsqueeze", 25, change=change)
        axes = call.numbers("axes", count)
        yield f"rank {rank}, {count} axes", call.with_facts(X=call.tensor("X", rank), axes=axes)


STATED = (
    *(
        Stated(
            f"{operator}-output", f"Where its rules hold, {operator} has a positive extent on each spatial axis, "
            "and one element for each place of the kernel inside the padded axis.",
            convolution(operator, version), KERNEL,
            ("all(y >= 1 for y in Y[2:])",
             f"all((Y[i + 2] - 1) * strides[i] + window({w}.shape[i + 2], dilations[i]) <= {x}.shape[i + 2] + pads[i] "
             f"+ pads[i + 2] < Y[i + 2] * strides[i] + window({w}.shape[i + 2], dilations[i]) for i in range(2))"),
            {"stride forgotten": ("strides[i])", "1)")}, "rank 4", TWO_AXES,
        )
        for operator, version, x, w in (("Conv", 22, "X", "W"), ("ConvInteger", 10, "X", "W"))
    ),
    Stated(
        "MaxPool-output", "Where its rules hold, MaxPool has a positive extent on each spatial axis, and one element "
        "for each place of the window inside the padded axis.", pooling, POOL,
        ("all(y >= 1 for y in Y[2:])",
         "all((Y[i + 2] - 1) * strides[i] + window(kernel_shape[i], dilations[i]) <= X.shape[i + 2] + pads[i] "
         "+ pads[i + 2] < Y[i + 2] * strides[i] + window(kernel_shape[i], dilations[i]) for i in range(2))"),
        {"padding at one end only": (" + pads[i + X.rank - 2] for i in axes", " for i in axes")},
        "two spatial axes", TWO_AXES,
    ),
    Stated(
        "Flatten-elements", "Flatten keeps the number of elements and gives a matrix.", flattening, ("axis-range",),
        ("len(Y) == 2", "product(Y) == product(X.shape)"),
        {"an axis left out": ("X.shape[split:]", "X.shape[split + 1:]")},
        "rank at most 3, every axis", f"The products of extents before and after the axis are {WRITTEN_OUT}.",
    ),
    Stated(
        "Reshape-elements", "Reshape keeps the number of elements, and no extent is negative.", reshaping, (),
        ("product(Y) == product(X.shape)", "all(y >= 0 for y in Y)", "len(Y) == len(shape)"),
        {"the remainder allowed": ("product(X.shape) % rest == 0", "rest > 0")},
        "rank at most 2, one or two values of S", f"Both products of extents are {WRITTEN_OUT}.",
    ),
    Stated(
        "Slice-extents", "An extent of Slice is not negative and at most that of X.", slicing,
        ("steps-not-zero",),
        ("len(Y) == X.rank", "all(0 <= Y[k] <= X.shape[k] for k in range(X.rank))"),
        {"one element more": ("stepping[i]) for", "stepping[i]) + 1 for")}, "rank 2, each order of the axes",
        f"The order of the axes decides which value belongs to which axis; the lists of values are {WRITTEN_OUT}.",
    ),
    Stated(
        "Concat-elements", "Concat has as many elements as its inputs together, and each input lies inside it.",
        joining, (), ("product(Y) == sum(product(x.shape) for x in X)", "len(Y) == X[0].rank",
             "all(x.shape[k] <= Y[k] for x in X for k in range(X[0].rank))"),
        {"other axes may differ": ("x.shape[i] == X[0].shape[i]", "x.shape[i] >= X[0].shape[i]")},
        "one to three inputs, rank at most 3",
        f"The sum over the inputs and the products of their extents are {WRITTEN_OUT}.",
    ),
    Stated(
        "MatMul-output", "The product of two matrices has the rows of the first and the columns of the second.",
        multiplying, (), ("Y == [A.shape[0], B.shape[1]]",),
        {"transposed": ("B.shape[len(stack_B) + 1:]", "B.shape[:1]")},
    ),
    Stated(
        "Gemm-output", "Gemm has the shape of the product of its matrices, and of its bias.",
        multiplying_and_adding, (),
        ("Y == [A.shape[0], B.shape[1]]", "Y == C.shape", "A.shape[1] == B.shape[0]"),
        {"rows of the second": ("[rows, columns]", "[columns, rows]")},
    ),
    Stated(
        "Unsqueeze-removal", "Removing the new axes of Unsqueeze gives X back; they have extent 1.", unsqueezing,
        ("axes-range", "axes-distinct"),
        ("len(Y) == X.rank + len(axes)", "[Y[k] for k in range(rank) if k not in named] == X.shape",
         "all(Y[k] == 1 for k in named)"),
        {"all new axes before": ("k - len([a for a in named if a < k])", "k - len(named)")},
        "rank at most 2, one or two new axes", f"The new axes are counted one by one; their list is {WRITTEN_OUT}.",
    ),
)  # fmt: skip


def associative(change: ExpressionChange | None = None) -> Obligations:
    """(A B) C and A (B C): both or neither conform, and their shapes are equal."""
    first, last = SymbolicCall("MatMul", 13, change=change), SymbolicCall("MatMul", 13, change=change)
    a, b, c = (first.tensor(name, 2) for name in "ABC")
    first.with_facts(A=a, B=b)
    last.with_facts(A=b, B=c)
    (_, of_first), (_, of_last) = first.shape("Y"), last.shape("Y")
    left = SymbolicCall("MatMul", 13, change=change).with_facts(A=RecordValue({"shape": of_first}), B=c)
    right = SymbolicCall("MatMul", 13, change=change).with_facts(A=a, B=RecordValue({"shape": of_last}))
    hypotheses = (*first.known, *first.rules(), *left.rules())
    yield from _together(hypotheses, (*last.rules(), *right.rules()), left, right)


def _together(
    known: Sequence[z3.BoolRef], implied: Sequence[z3.BoolRef], left: SymbolicCall, right: SymbolicCall
) -> Obligations:
    hypotheses, goals = tuple(known), tuple(implied)
    for number, goal in enumerate(goals):
        yield by_form(Obligation(f"rule {number} of the other order", hypotheses, goal))
    equal = left.claim("one == other", one=left.shape("Y")[1], other=right.shape("Y")[1])
    whole = Obligation("one shape", hypotheses, equal)
    parts = [Obligation("", hypotheses, child).trivial for child in equal.children()]
    yield replace(whole, computed=parts[0] if all(parts) else "")


def theorems() -> Iterator[Theorem]:
    """Shapes of outputs."""
    for each in STATED:
        calls = [call for _, call in each.calls(None)]
        sources = [text for call in calls for text in call.sources("Y")]
        concerns = (f"{calls[0].operator}.Y-shape", *(f"{calls[0].operator}.{name}" for name in each.rules))
        yield Theorem(
            f"shape.{each.name}", each.statement, ",  ".join(formula(parse(text)) for text in each.claims),
            each.obligations, tuple(dict.fromkeys(sources)), bounds=each.bounds,
            bound_reason=each.bound_reason, reason_single=each.reason_single, concerns=concerns,
            mutants=tuple(Mutant(title, partial(each.obligations, change)) for title, change in each.mutants.items()),
        )  # fmt: skip
    transposed = ("B.shape[len(stack_B) + 1:]", "B.shape[:1]")
    call = next(iter(multiplying(None)))[1]
    yield Theorem(
        "shape.MatMul-associative", "Shapes of products are associative: both orders conform, and give one shape.",
        "shape((A B) C) = shape(A (B C))", associative, tuple(call.sources("Y")),
        concerns=("MatMul.Y-shape",),
        mutants=(Mutant("rows of the second", lambda: associative(transposed)),),
    )  # fmt: skip
