"""Simpler inputs on which two models still differ: few elements other than 0, and round numbers.

Each candidate runs exactly and is judged like the input it was made from, so what is left is a counterexample itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np

from sonnx.equivalence.result import DifferingInput
from sonnx.numerics.formats import TEXT, Array

MAX_CANDIDATES = 64
"""Inputs that are tried."""

MAX_WORK = 1 << 22
"""Elements of inputs and constants that all candidates together read, at most."""

MAX_WRITTEN = 256
"""Elements other than 0 of an input that a program writes; a larger input is read from a file."""

Inputs: TypeAlias = Mapping[str, Array]
Judge: TypeAlias = Callable[[Inputs], DifferingInput | None]


class RevealingInput(NamedTuple):
    """An input, and what it shows."""

    inputs: Inputs
    witness: DifferingInput


def shrunk(shown: RevealingInput, judge: Judge, size: int) -> RevealingInput:
    """The simplest input found that shows a difference.

    Args:
        shown: an input that does.
        judge: what an input shows; None where it shows no difference.
        size: the elements of inputs and constants that one run of both models reads.
    """
    left = min(MAX_CANDIDATES, MAX_WORK // max(1, size))
    search = _Search(shown, judge, left)
    search.with_fewer_elements()
    search.with_round_numbers()
    return search.shown


class _Search:
    """The simplest input so far, and how many candidates may still run."""

    def __init__(self, shown: RevealingInput, judge: Judge, left: int) -> None:
        self.shown, self.judge, self.left = shown, judge, left

    def accepts(self, candidate: Inputs) -> bool:
        """Whether a candidate shows a difference; it is the simplest input then."""
        if self.left <= 0:
            return False
        self.left -= 1
        witness = self.judge(candidate)
        if witness is not None:
            self.shown = RevealingInput(candidate, witness)
        return witness is not None

    def with_fewer_elements(self) -> None:
        """Set elements to 0: all, then halves, quarters and so on, while something is left to try."""
        kept = self._without([*_places(self.shown.inputs)], [])
        count = 2
        while kept and self.left > 0:
            step = -(-len(kept) // count)
            parts = [kept[start : start + step] for start in range(0, len(kept), step)]
            smaller = next((part for part in parts if len(part) < len(kept) and self._keeps(part)), None)
            if smaller is not None:
                kept, count = smaller, 2
                continue
            rest = ([place for other in parts if other is not part for place in other] for part in parts)
            smaller = next((places for places in rest if places and self._keeps(places)), None)
            if smaller is not None:
                kept, count = smaller, max(2, count - 1)
            elif step == 1:
                return
            else:
                count = min(len(kept), 2 * count)

    def _without(self, places: list[tuple[str, int]], kept: list[tuple[str, int]]) -> list[tuple[str, int]]:
        return kept if self._keeps(kept) else places

    def _keeps(self, places: Sequence[tuple[str, int]]) -> bool:
        """Whether the input with other elements set to 0 is accepted."""
        candidate = {}
        for name, array in self.shown.inputs.items():
            if array.dtype == TEXT:
                candidate[name] = array
                continue
            chosen = [place for owner, place in places if owner == name]
            simple = np.zeros(array.size, array.dtype)
            simple[chosen] = array.reshape(-1)[chosen]
            candidate[name] = simple.reshape(array.shape)
        return self.accepts(candidate)

    def with_round_numbers(self) -> None:
        """Round what is not 0: to 1 and -1, to whole numbers, to tenths; all elements alike."""
        for rounding in (np.sign, _to_whole, _to_tenths):
            candidate = {
                name: array if array.dtype == TEXT else rounding(array.astype(np.float64)).astype(array.dtype)
                for name, array in self.shown.inputs.items()
            }
            if self.accepts(candidate):
                return


def _to_whole(numbers: Array) -> Array:
    """Whole numbers; none becomes 0 that is not."""
    whole = np.rint(numbers)
    return np.where(whole == 0, np.sign(numbers), whole)


def _to_tenths(numbers: Array) -> Array:
    tenths = np.rint(numbers * 10) / 10
    return np.where(tenths == 0, np.sign(numbers) / 10, tenths)


def _places(inputs: Inputs) -> Iterator[tuple[str, int]]:
    """The elements that are not 0, each as an input and a place in it."""
    for name, array in inputs.items():
        if array.dtype != TEXT:
            yield from ((name, int(place)) for place in np.flatnonzero(array.astype(np.float64)))


def non_zero(inputs: Inputs) -> int:
    """The number of elements that are not 0."""
    return sum(1 for _ in _places(inputs))


def program(
    files: tuple[str, str],
    inputs: Inputs,
    names: Mapping[str, str],
    outputs: tuple[str, str],
    at: tuple[int, ...],
    *,
    is_exact: bool = True,
) -> tuple[str, ...]:
    """Three lines of Python that print the element at which both models differ.

    Args:
        files: of both models.
        inputs: by the names of the first model.
        names: the name in the second model of each input.
        outputs: the output that differs, in both models.
        at: the element; () for the shape.
        is_exact: exact values show the difference, not those of the evaluator of the onnx package.
    """
    shown = f"[{', '.join(map(str, at))}]" if at else ""
    arrays = ", ".join(f"{name!r}: {_array(name, array)}" for name, array in inputs.items())
    theirs = "x" if all(name == partner for name, partner in names.items()) else (
        "{" + ", ".join(f"{partner!r}: x[{name!r}]" for name, partner in names.items() if name in inputs) + "}"
    )  # fmt: skip
    shown = shown or ".shape"
    call = "sonnx.run({file!r}, {given}, unchecked=True)[{output!r}]{shown}" if is_exact else (
        "onnx.reference.ReferenceEvaluator({file!r}).run([{output!r}], {given})[0]{shown}"
    )  # fmt: skip
    calls = [
        call.format(file=file, given=given, output=output, shown=shown)
        for file, given, output in zip(files, ("x", theirs), outputs, strict=True)
    ]
    package = "sonnx" if is_exact else "onnx.reference"
    return f"import numpy as np, {package}", f"x = {{{arrays}}}", f"print({', '.join(calls)})"


def _array(name: str, array: Array) -> str:
    """An array as an expression; of many elements, or of a type that numpy lacks, the file that `--witness` writes."""
    places = np.flatnonzero(array.astype(np.float64)) if array.dtype != TEXT else np.zeros(0)
    exact = array.dtype.kind in "fbiu" and bool((array.astype(np.float64).astype(array.dtype) == array).all())
    if not exact or len(places) > MAX_WRITTEN:
        return f"np.load({name + '.npy'!r})"
    shape, kind = tuple(map(int, array.shape)), array.dtype.name
    if not len(places):
        return f"np.zeros({shape}, {kind!r})"
    numbers = [float(number) for number in array.reshape(-1)[places]]
    listed = f"np.bincount({places.tolist()}, {numbers}, {prod(shape)})"
    return f"{listed}.astype({kind!r}).reshape({shape})"
