"""Padding derived by the runtime (auto_pad of ONNX Conv and MaxPool), written as pads.

The profile demands NOTSET; by these theorems explicit pads can replace the derived ones without another change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import z3

from sonnx.language import builtins
from sonnx.prover.symbolic_execution import Term, execute
from sonnx.prover.terms import keeps_order, undivided
from sonnx.prover.theorem import Mutant, Obligation, Theorem, mutated

Obligations = Iterator[Obligation]
EXTENT, WIDTH, STRIDE = z3.Ints("extent width stride")
KNOWN = (EXTENT >= 1, WIDTH >= 1, STRIDE >= 1)


def rounded_up(extent: int, stride: int) -> int:
    """ceil(extent / stride): the extent of Y for SAME_UPPER and SAME_LOWER (ONNX Conv-22, MaxPool-22)."""
    return (extent + stride - 1) // stride


def same_padding(extent: int, width: int, stride: int) -> int:
    """The sum of the padding at both ends: max((extent of Y - 1) * stride + window - extent, 0)."""
    needed = (rounded_up(extent, stride) - 1) * stride + width - extent
    return needed if needed > 0 else 0


def upper_half(total: int) -> int:
    """The padding at the end for SAME_UPPER: the larger half."""
    return total - total // 2


def _padding(function: Callable[..., Any]) -> Term:
    return execute(function, EXTENT, WIDTH, STRIDE, assuming=KNOWN).value


def same_extent(function: Callable[..., Any] = same_padding) -> Obligations:
    """Written as pads, the derived padding gives ceil(extent / stride) windows."""
    total, wanted = _padding(function), execute(rounded_up, EXTENT, STRIDE, assuming=KNOWN).value
    counted = execute(builtins.positions, EXTENT + total, WIDTH, STRIDE)
    places = (EXTENT + total - WIDTH) / STRIDE
    lemma = (
        keeps_order(places, wanted, STRIDE),
        keeps_order(wanted - 2, places, STRIDE),
        keeps_order(places, wanted - 1, STRIDE),
        keeps_order(wanted - 1, places + 1, STRIDE),
    )
    yield Obligation("the window fits", KNOWN, counted.defined)
    yield Obligation("windows", (*KNOWN, *lemma, counted.defined), counted.value == wanted)


def halves(upper: Callable[[int], int] = upper_half) -> Obligations:
    """Both ends add up to the padding, and the end is equal or longer by one."""
    total = z3.Int("total")
    end = execute(upper, total).value
    start = total - end
    yield Obligation("halves", (total >= 0,), z3.And(start >= 0, end >= start, end - start <= 1))


def valid_extent(spare: int = 0) -> Obligations:
    """VALID means no padding: ceil((extent - window + 1) / stride) windows."""
    counted = execute(builtins.positions, EXTENT, WIDTH, STRIDE)
    wanted = execute(rounded_up, EXTENT - WIDTH + 1 + spare, STRIDE, assuming=KNOWN).value
    places = (EXTENT - WIDTH) / STRIDE
    lemma = (
        keeps_order(places, wanted, STRIDE),
        keeps_order(wanted - 2, places, STRIDE),
        keeps_order(places, wanted - 1, STRIDE),
        keeps_order(wanted - 1, places + 1, STRIDE),
    )
    yield Obligation("windows", (*KNOWN, WIDTH <= EXTENT, *lemma), counted.value == wanted)


def theorems() -> Iterator[Theorem]:
    """SAME_UPPER, SAME_LOWER and VALID, written as pads."""
    stated: list[tuple[str, str, str, Any, dict[str, Any], tuple[Any, ...]]] = [
        ("same", "The padding that SAME derives, written as pads, gives the extent of X over the stride, rounded up.",
         "positions(extent + pads, window, stride) = ⌈extent / stride⌉", same_extent,
         {"one element less": mutated(same_padding, "width - extent", "width - extent - 1")},
         (same_padding, rounded_up, builtins.positions)),
        ("same-halves", "SAME_UPPER puts half of it before, and the larger half behind.",
         "0 ≤ end - start ≤ 1", halves, {"the smaller half": mutated(upper_half, "total - total // 2", "total // 2")},
         (upper_half,)),
        ("valid", "VALID, written as pads of 0, gives the extent that ONNX states.",
         "positions(extent, window, stride) = ⌈(extent - window + 1) / stride⌉", valid_extent, {"one more": 1},
         (rounded_up, builtins.positions)),
    ]  # fmt: skip
    for name, statement, formula, claim, changes, about in stated:
        changed = tuple(Mutant(title, undivided(claim, change)) for title, change in changes.items())
        yield Theorem(f"window.{name}", statement, formula, undivided(claim), about, mutants=changed,
                      erratum="conv-derived-padding")  # fmt: skip
