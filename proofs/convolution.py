"""The nine properties of Conv that the working group wants to see proved of its specification.

They stand in the minutes of its group in Toulouse of 2026-06-05.  An element of Y is a sum of products over the reals,
of the elements of X under the kernel with the weights, and 0 for those over padding; here one product is added to a sum
of any number, and `proofs/why3/sums.mlw` makes the induction.  Which element of X the k-th product has is `position`
for each axis; a test compares it with the places of the operator's definition in all small calls.  So the properties
hold for every number of axes, stride, dilation, padding and group, but where a property says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import z3

from sonnx.language import builtins
from sonnx.prover.symbolic_execution import Term, execute
from sonnx.prover.theorem import Mutant, Obligation, Theorem, mutated

Obligations = Iterator[Obligation]
Function = Callable[..., Any]
ZERO, ONE = z3.RealVal(0), z3.RealVal(1)


def position(place: Term, element: Term, stride: Term, dilation: Term, begin: Term) -> Term:
    """The index on an axis of X over which an element of the kernel lies, also outside X."""
    return place * stride + element * dilation - begin


def read(inside: Term, x: Term) -> Term:
    """An element of X under the kernel, or 0 in the padding."""
    return z3.If(inside, x, z3.RealVal(0))


def added(total: Term, x: Term, w: Term) -> Term:
    """A sum with one more product."""
    return total + x * w


SUM, OTHER, REST, X, Y, W, V, A, B = z3.Reals("sum other rest x y w v a b")
"""Three sums of the same number of products, two elements of X, two weights, a factor, and a bias."""
INSIDE = z3.Bool("inside")


def additive_in_weights(more: Function = added) -> Obligations:
    """The sum for W1 + W2 is that for W1 and that for W2."""
    x = read(INSIDE, X)
    yield Obligation("no product", (SUM == 0, OTHER == 0, REST == 0), SUM == OTHER + REST)
    step = more(SUM, x, W + V) == more(OTHER, x, W) + more(REST, x, V)
    yield Obligation("one more product", (SUM == OTHER + REST,), step)


def scaled_input(more: Function = added, element: Function = read) -> Obligations:
    """A factor of X is a factor of Y; padding stays 0."""
    yield Obligation("no product", (SUM == 0, OTHER == 0), SUM == A * OTHER)
    step = more(SUM, element(INSIDE, A * X), W) == A * more(OTHER, element(INSIDE, X), W)
    yield Obligation("one more product", (SUM == A * OTHER,), step)


def scaled_weights(more: Function = added) -> Obligations:
    """A factor of W is a factor of Y."""
    x = read(INSIDE, X)
    yield Obligation("no product", (SUM == 0, OTHER == 0), SUM == A * OTHER)
    yield Obligation("one more product", (SUM == A * OTHER,), more(SUM, x, A * W) == A * more(OTHER, x, W))


def zero_input(more: Function = added, element: Function = read) -> Obligations:
    """Y of zeros is 0."""
    yield Obligation("one more product", (SUM == 0, X == 0), more(SUM, element(INSIDE, X), W) == 0)


def zero_weights(more: Function = added) -> Obligations:
    """Y with weights 0 is 0."""
    yield Obligation("one more product", (SUM == 0, W == 0), more(SUM, read(INSIDE, X), W) == 0)


def bias_added(more: Function = added) -> Obligations:
    """The bias of a channel is added to each of its elements."""
    x = read(INSIDE, X)
    yield Obligation("no product", (SUM == B, OTHER == 0), SUM == OTHER + B)
    yield Obligation("one more product", (SUM == OTHER + B,), more(SUM, x, W) == more(OTHER, x, W) + B)


def permuted_channels(more: Function = added) -> Obligations:
    """Channels of X and W change places together: neighbours; kernels and biases take the channels of Y with them."""
    x, y = read(INSIDE, X), read(z3.Bool("also inside"), Y)
    yield Obligation("neighbouring products", (), more(more(SUM, x, W), y, V) == more(more(SUM, y, V), x, W))
    weights = z3.Function("weights", z3.IntSort(), z3.RealSort())
    permuted = z3.Function("permuted", z3.IntSort(), z3.RealSort())
    c, source = z3.Ints("c source")
    known = (permuted(c) == weights(source), SUM == OTHER)
    yield Obligation("a kernel", known, more(SUM, x, permuted(c)) == more(OTHER, x, weights(source)))


def identity(more: Function = added, index: Function = position) -> Obligations:
    """A kernel of extent 1, the weight 1 for its own channel and 0 for others, stride 1, no padding: Y is X."""
    channel, own, m, extent, dilation = z3.Ints("channel own m extent dilation")
    x = z3.Function("x", z3.IntSort(), z3.RealSort())
    weight = z3.If(channel == own, ONE, ZERO)
    so_far = z3.If(channel > own, x(own), ZERO)
    after = z3.If(channel + 1 > own, x(own), ZERO)
    inside = z3.BoolVal(True)
    yield Obligation("no channel", (own >= 0, channel == 0), so_far == 0)
    yield Obligation("one more channel", (so_far == SUM,), more(SUM, read(inside, x(channel)), weight) == after)
    yield Obligation("the element", (), index(m, z3.IntVal(0), z3.IntVal(1), dilation, z3.IntVal(0)) == m)
    width = execute(builtins.window, z3.IntVal(1), dilation).value
    places = execute(builtins.positions, extent, width, z3.IntVal(1), assuming=(extent >= 1,))
    yield Obligation("the shape", (extent >= 1, dilation >= 1), z3.And(places.defined, places.value == extent))


def moved_input(more: Function = added, index: Function = position) -> Obligations:
    """X moved by one element: where Y and the moved Y overlap, the kernel lies over the same elements of both."""
    m, j, size, extent, moved = z3.Ints("m j size extent moved")
    one, none = z3.IntVal(1), z3.IntVal(0)
    before, behind = index(m, j, one, one, none), index(m + 1, j, one, one, none)
    width = execute(builtins.window, size, one).value
    places = execute(builtins.positions, extent, width, one).value
    known = (size >= 1, extent >= size, m >= 0, m + 1 < places, j >= 0, j < size)
    yield Obligation("inside X", known, z3.And(before >= 0, before < extent))
    yield Obligation("inside the moved X", known, z3.And(behind >= 1, behind < extent))
    x, y = (z3.Function(name, z3.IntSort(), z3.RealSort()) for name in "xy")
    same = (moved == before + 1, y(moved) == x(before), SUM == OTHER)
    yield Obligation("one more product", same, more(SUM, y(behind), W) == more(OTHER, x(before), W))


ONE_MORE = mutated(added, "total + x * w", "total + x * w + 1")
NO_PADDING = mutated(read, "z3.RealVal(0)", "z3.RealVal(1)")
DOUBLED = mutated(added, "total +", "2 * total +")
REVERSED = mutated(position, "place * stride +", "element - place * stride +")
STATED: list[tuple[str, str, str, Callable[..., Obligations], dict[str, dict[str, Function]]]] = [
    ("additive", "The convolution with the sum of two kernels is the sum of both convolutions.",
     "Conv(X, W1 + W2) = Conv(X, W1) + Conv(X, W2)", additive_in_weights,
     {"1 more in each product": {"more": ONE_MORE}}),
    ("scaled-input", "A factor of the input is a factor of the convolution.", "Conv(a X, W) = a Conv(X, W)",
     scaled_input, {"padding by 1": {"element": NO_PADDING}, "1 more in each product": {"more": ONE_MORE}}),
    ("scaled-weights", "A factor of the kernel is a factor of the convolution.", "Conv(X, a W) = a Conv(X, W)",
     scaled_weights, {"1 more in each product": {"more": ONE_MORE}}),
    ("zero-input", "The convolution of zeros is 0.", "Conv(0, W) = 0", zero_input,
     {"padding by 1": {"element": NO_PADDING}}),
    ("zero-weights", "The convolution with a kernel of zeros is 0.", "Conv(X, 0) = 0", zero_weights,
     {"1 more in each product": {"more": ONE_MORE}}),
    ("bias", "The bias is added to the convolution without one, at every place of its channel.",
     "Conv(X, W, B) = Conv(X, W, 0) + broadcast(B)", bias_added, {"the sum so far twice": {"more": DOUBLED}}),
    ("permuted", "Channels of input and kernels may change places together; kernels take the channels of Y with them.",
     "Conv(X[:, p], W[:, p]) = Conv(X, W),  Conv(X, W[q], B[q]) = Conv(X, W, B)[:, q]", permuted_channels,
     {"the sum so far twice": {"more": DOUBLED}}),
    ("identity", "A kernel of extent 1 with weight 1 for its own channel gives the input back, at stride 1 without "
     "padding.", "Conv(X, δ) = X", identity,
     {"1 more in each product": {"more": ONE_MORE}, "places counted back": {"index": REVERSED}}),
    ("moved",
     "At stride and dilation 1 without padding, the convolution of a moved input is moved, where both overlap.",
     "Conv(moved X)[m + 1] = Conv(X)[m]", moved_input, {"places counted back": {"index": REVERSED}}),
]  # fmt: skip


def theorems() -> Iterator[Theorem]:
    """The properties of Conv, over the reals."""
    for name, statement, formula, claim, changes in STATED:
        changed = tuple(Mutant(title, partial(claim, **change)) for title, change in changes.items())
        yield Theorem(
            f"conv.{name}", f"{statement} Over the reals.", formula, claim, (claim, added, read, position),
            mutants=changed, reals=True, concerns=("Conv",),
            because="The working group asks for it, to gain confidence in its specification of Conv.",
        )  # fmt: skip
