"""The ranges that exclude value classes: which special values the elements of a model's values never have."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np

from sonnx.base.errors import BadInput
from sonnx.base.escaping import quote
from sonnx.bounds.analysis import Analyser, Run
from sonnx.bounds.bound import box_of
from sonnx.bounds.box import MAX_WHOLE, Box, box_of_arrays
from sonnx.executor.model_inputs import required_inputs
from sonnx.executor.reach import StatedRanges
from sonnx.model.ir import Model, Node, Tensor
from sonnx.numerics.class_recognition import Excludes
from sonnx.numerics.constant_data import decode
from sonnx.numerics.enclosures.arithmetic import above, below
from sonnx.numerics.enclosures.hypotheses import hypotheses_named
from sonnx.numerics.enclosures.options import DEFAULT_HYPOTHESES
from sonnx.numerics.enclosures.values import NotBounded, Value
from sonnx.numerics.formats import ELEMENTS, TEXT, Array, format_of, is_integer, limits_of, patterns, widened
from sonnx.operators.operator import Operator
from sonnx.operators.registry import operator_of

FINITE = "all inputs of finite numbers"


def ranges_of(
    model: Model, texts: Collection[str], box: Box | None, folder: Path | None, edition: str | None
) -> StatedRanges:
    """The ranges of every value of a model on a box, or why there are none.

    Args:
        model: the model, with numbers for its symbols.
        texts: of the box.
        box: the box; None for all finite inputs.
        folder: where the model file stands.
        edition: whose texts define the operators.
    """
    inputs = f"inputs of the box {', '.join(map(quote, texts))}" if texts else FINITE
    try:
        analyser = Analyser(
            model, hypotheses_named(DEFAULT_HYPOTHESES), folder, edition, tighten=False, relax=box is not None
        )
        run = analyser.run(_finite(model) if box is None else box)
    except (BadInput, NotBounded) as reason:
        return StatedRanges(inputs, lambda name: None, box, str(reason))
    exclusions = _Exclusions(run, analyser)
    return StatedRanges(inputs, exclusions.__getitem__, box)


def box_of_options(model: Model, texts: Collection[str]) -> Box | None:
    """The box of the option; None without one.

    Raises:
        BadInput: it is not one of the model.
    """
    return box_of(model, texts) if texts else None


def _finite(model: Model) -> Box:
    """The box of all finite inputs.

    Raises:
        BadInput: an input has no shape of numbers, or a type without such a box.
    """
    ends: dict[str, tuple[Array, Array]] = {}
    for value in required_inputs(model):
        kind, shape = ELEMENTS.get(value.type.element or ""), value.type.shape
        if kind is None or shape is None or not all(isinstance(extent, int) for extent in shape):
            raise BadInput(f"the input {quote(value.name)} has no shape of numbers")
        number_format = format_of(kind)
        if number_format is not None:
            largest = float(widened(np.array([number_format.infinity - 1], number_format.unsigned).view(kind))[0])
            least = -largest
        else:
            least, largest = limits_of(kind) if is_integer(kind) else (0.0, 1.0)
            if largest > MAX_WHOLE:
                raise BadInput(f"the input {quote(value.name)} has integers beyond 2^53")
        ends[value.name] = np.full(shape, float(least)), np.full(shape, float(largest))
    return box_of_arrays(model, ends)


class _Exclusions:
    """Which special values the values of a model never have, by its ranges and by what its operators can give."""

    def __init__(self, run: Run, analyser: Analyser) -> None:
        self.run, self.model, self.folder = run, analyser.model, analyser.folder
        self.makers = {name: node for node in self.model.graph.nodes for name in node.outputs if name}
        self.constants = {initializer.name: initializer for initializer in self.model.graph.initializers}
        self.known: dict[str, Excludes | None] = {}

    def __getitem__(self, name: str) -> Excludes | None:
        waiting = [name]
        while waiting:  # no recursion: a model may have thousands of nodes in a row
            needed = [text for text in self._needed(waiting[-1]) if text not in self.known]
            if needed:
                waiting += needed
            else:
                last = waiting.pop()
                self.known[last] = self._excludes(last)
        return self.known[name]

    def _needed(self, name: str) -> list[str]:
        """The inputs of its node that the elements of a value are taken from."""
        maker = self.makers.get(name)
        if maker is None or not self._operator(maker).selects:
            return []
        return [
            maker_input for maker_input in maker.inputs if maker_input and self._type(maker_input) == self._type(name)
        ]

    def _excludes(self, name: str) -> Excludes | None:
        by_range, maker = _by_range(self.run.values.get(name)), self.makers.get(name)
        functions = [] if by_range is None else [by_range]
        if maker is None:
            functions += [self._constant(self.constants[name])] if name in self.constants else []
        else:
            operator = self._operator(maker)
            functions += [] if operator.ends is None else [_outside(operator.ends)]
            sources = [self.known[text] for text in self._needed(name)]
            known = [source for source in sources if source is not None]
            if (
                sources
                and len(known) == len(sources)
                and all(self._is_filled(maker_input) for maker_input in maker.inputs if maker_input)
            ):
                functions.append(lambda special: np.array([all(function(special).all() for function in known)]))
        return (
            (lambda special: np.any(np.broadcast_arrays(*(function(special) for function in functions)), 0))
            if functions
            else None
        )

    def _operator(self, node: Node) -> Operator:
        return operator_of(node.operator, node.domain)

    def _type(self, name: str) -> object:
        value = self.run.values.get(name)
        return value.facts.type if value is not None else getattr(self.constants.get(name), "element", None)

    def _is_filled(self, name: str) -> bool:
        """Whether a value is known to have elements."""
        value = self.run.values.get(name)
        shape = self.constants[name].dims if name in self.constants else None if value is None else value.facts.shape
        return isinstance(shape, tuple) and all(isinstance(extent, int) and extent > 0 for extent in shape)

    def _constant(self, tensor: Tensor) -> Excludes:
        values = decode(tensor, self.folder).reshape(-1)

        def excludes(special: Array) -> Array:
            if not _is_number(special):
                return np.array([special.dtype != TEXT and special.dtype.kind != "c" and not _nans(values).any()])
            return ~np.isin(patterns(values), patterns(special))

        return excludes


def _nans(values: Array) -> Array:
    wide = widened(values)
    return np.isnan(wide) if wide.dtype.kind == "f" else np.zeros(wide.shape, np.bool_)


def _is_number(special: Array) -> bool:
    return special.dtype != TEXT and special.dtype.kind != "c" and not _nans(special).any()


def _outside(ends: tuple[float, float]) -> Excludes:
    low, high = ends
    return lambda special: np.array([_is_number(special) and not low <= float(widened(special)) <= high])


def _by_range(value: Value | None) -> Excludes | None:
    """Excludes what is outside the range of a value, widened by its error; None without a finite range."""
    if value is None or value.unbounded:
        return None
    exact = value.error == 0
    low = np.where(exact, value.low, below(value.low - value.error)).reshape(-1)
    high = np.where(exact, value.high, above(value.high + value.error)).reshape(-1)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return None

    def excludes(special: Array) -> Array:
        if special.dtype == TEXT or special.dtype.kind == "c":
            return np.zeros(low.shape, np.bool_)
        number = float(widened(special))
        return np.full(low.shape, True) if np.isnan(number) else (number < low) | (number > high)

    return excludes
