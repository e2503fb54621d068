"""Which value classes the inputs of nodes have when the whole model runs.

A class is *reached* where a run of the model shows it, *unreachable* where the ranges of the model exclude it, and
otherwise *unknown*.  Only inputs that depend on what a caller gives are asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
from msgspec import Struct

from sonnx.base.reported import HIDDEN, OptionalText
from sonnx.checker.verdicts import Where
from sonnx.executor.class_runs import text_of_input
from sonnx.executor.node_errors import place_of
from sonnx.model.ir import Node
from sonnx.numerics.class_recognition import Excludes, excluded, occurring_classes, recognized
from sonnx.numerics.formats import TEXT, Array, TensorSpec, widened
from sonnx.numerics.value_classes import ClassCase
from sonnx.profile.text_types import Limit

MAX_RUNS = 512
"""Runs of the executor alone that search for classes, beside those that are compared."""

Ranges = Callable[[str], Excludes | None]
"""Which special values the elements of a value of the model never have, by its name; None where nothing is known."""


class NodeEnds(Protocol):
    """The ends between which the elements of an input are."""

    @property
    def low(self) -> Array: ...

    @property
    def high(self) -> Array: ...


@dataclass(frozen=True, slots=True)
class StatedRanges:
    """The ranges of a model.

    Attributes:
        said: the inputs for which they hold.
        ranges: which special values a value never has.
        box: the ends of the inputs; None for all finite numbers.
        missing: why there are none, "" where there are.
    """

    said: str
    ranges: Ranges
    box: Mapping[str, NodeEnds] | None = None
    missing: str = ""


class ReachingRun(Struct, frozen=True):
    """A run of the whole model in which a class occurs that no run before it shows."""

    name: str
    """The run: by its number, or by the class of the inputs of the model; the seed of the comparison makes it again."""
    inputs: tuple[str, ...]
    """The inputs of the model: all elements of a small one, of a larger one those that are not ordinary."""


class ReachedClasses(Struct, frozen=True):
    """Classes that one run shows first."""

    run: Annotated[int, Limit(ge=0)]
    """The place of the run in the list of runs."""
    classes: tuple[str, ...]
    """The names of the classes."""


class InputReach(Struct, frozen=True):
    """The value classes of an input of a node when the whole model runs."""

    value: str
    """The name of the input."""
    operator: str
    """The operator of the node."""
    place: str
    """The place of the node."""
    reached: tuple[ReachedClasses, ...]
    """Classes that occur, with the first run in which each occurs."""
    unreachable: tuple[str, ...]
    """Classes that no input of the stated box leads to."""
    unknown: tuple[str, ...]
    """Classes that no run shows and no range excludes."""
    where: Annotated[Where | None, HIDDEN] = None
    """The place of the node."""

    @property
    def number(self) -> int:
        """The classes that are reached."""
        return sum(len(reached_classes.classes) for reached_classes in self.reached)


class Reach(Struct, frozen=True):
    """Which value classes the nodes of a model meet when the whole model runs."""

    box: str
    """The inputs for which unreachable classes are shown to be so."""
    runs: tuple[ReachingRun, ...]
    """The runs that show a class first."""
    searched: Annotated[int, Limit(ge=0)]
    """All runs of the model in which classes were looked for."""
    inputs: tuple[InputReach, ...]
    """Every input of a node that depends on the inputs of the model."""
    no_ranges: OptionalText = ""
    """Why there are no ranges of the model; null where there are."""

    def run_of(self, place: str, name: str) -> ReachingRun | None:
        """The first run in which an input of a node has a class."""
        for operand in self.inputs:
            for reached_classes in operand.reached if operand.place == place else ():
                if name in reached_classes.classes:
                    return self.runs[reached_classes.run]
        return None


class ReachSearch:
    """The classes that runs of a model show; `add` takes one run.

    Args:
        nodes: the nodes of the model.
        varying: the values that depend on the inputs of the model.
        specs: the shapes and types of the values.
        ranges: makes the ranges of the model.
        box: the inputs that count; None for any.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        varying: Collection[str],
        specs: Mapping[str, TensorSpec],
        ranges: Callable[[], StatedRanges],
        box: Mapping[str, NodeEnds] | None,
    ) -> None:
        self.readers = [
            (index, node, name)
            for index, node in enumerate(nodes)
            for name in dict.fromkeys(node.inputs)
            if name in varying and name in specs
        ]
        read_values = dict.fromkeys(name for _, _, name in self.readers)
        self.specs = {name: specs[name] for name in read_values}
        self.open = {name: set(recognized(specs[name])) for name in read_values}
        self.reached: dict[str, dict[int, list[str]]] = {name: {} for name in read_values}
        self.unreachable: dict[str, frozenset[str]] = {}
        self.runs: list[ReachingRun] = []
        self.searched = 0
        self._ranges, self._box = ranges, box
        self._known: StatedRanges | None = None

    def add(self, name: str, inputs: Mapping[str, Array], values: Mapping[str, Array]) -> None:
        """The classes of one run.

        Args:
            name: of the run.
            inputs: the inputs of the model.
            values: all values of the model, inputs included.
        """
        if self._box is not None and not all(_is_inside(inputs[text], ends) for text, ends in self._box.items()):
            return
        self.searched += 1
        new = {
            value: self.open[value] & occurring_classes(values[value])
            for value, (shape, kind) in self.specs.items()
            if self.open[value] and (values[value].shape, values[value].dtype) == (shape, kind)
        }
        if not any(new.values()):
            return
        for value, classes in new.items():
            if classes:
                listed = [text for text in recognized(self.specs[value]) if text in classes]
                self.reached[value][len(self.runs)] = listed
                self.open[value] -= classes
        self.runs.append(ReachingRun(name, tuple(text_of_input(text, array) for text, array in inputs.items())))

    def exclude(self) -> None:
        """Find the classes that the ranges of the model exclude; no more runs search for them."""
        self._known = self._ranges()
        for value in self.open:
            excludes = self._known.ranges(value)
            if excludes is not None:
                self.unreachable[value] = excluded(self.specs[value], excludes) & self.open[value]
                self.open[value] -= self.unreachable[value]

    def inputs(
        self, cases: Sequence[ClassCase], specs: Mapping[str, TensorSpec], seed: int
    ) -> Iterator[tuple[str, dict[str, Array]]]:
        """Inputs of the model that may show open classes: those of cases, put into the box if there is one."""
        for case in cases:
            drawn = case.drawn(specs, seed)
            name = f"class {case.name!r} of {case.detail}"
            if self._box is None:
                yield name, drawn
            else:
                yield f"{name}, put into the box", {text: _put_inside(drawn[text], self._box[text]) for text in drawn}

    @property
    def is_complete(self) -> bool:
        """Whether no class is open."""
        return not any(self.open.values())

    def result(self) -> Reach:
        """What is known of every input of a node."""
        assert self._known is not None  # noqa: S101  (`exclude` comes before)
        inputs = []
        for index, node, name in self.readers:
            order = recognized(self.specs[name])
            inputs.append(
                InputReach(
                    name,
                    node.operator,
                    place_of(node, index),
                    tuple(ReachedClasses(run, tuple(classes)) for run, classes in self.reached[name].items()),
                    tuple(text for text in order if text in self.unreachable.get(name, ())),
                    tuple(text for text in order if text in self.open[name]),
                    Where(f"graph/node[{index}]", "node", node.name, node.operator),
                )
            )
        return Reach(self._known.said, tuple(self.runs), self.searched, tuple(inputs), self._known.missing)


def _is_inside(values: Array, ends: NodeEnds) -> bool:
    if values.dtype == TEXT:
        return True
    wide = widened(values).astype(np.float64)
    return bool(((ends.low <= wide) & (wide <= ends.high)).all())


def _put_inside(values: Array, ends: NodeEnds) -> Array:
    """The nearest numbers of the box; its lower end for a NaN."""
    wide = widened(values).astype(np.float64)
    put = np.where(np.isnan(wide), ends.low, np.clip(wide, ends.low, ends.high))
    return np.where(put == wide, values, put.astype(values.dtype)).astype(values.dtype)
