"""Sizes for the open dimensions of graph inputs at which a model is valid ONNX: windows fit, reshapes divide.

A size is fixed by the model where neither its neighbours nor its double are possible, as before a Flatten and a matrix
with constant rows.  All others are a choice of the user: the smallest one that was tried is proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import TypeAlias

from msgspec import Struct

from sonnx.base.errors import UsageError
from sonnx.checker.checker import evaluate_model
from sonnx.checker.conditions import Conditions
from sonnx.checker.facts_domain import KnownCalls
from sonnx.checker.report import Finding, Report
from sonnx.checker.report_builder import Subject, open_inputs
from sonnx.checker.rules import ActiveRules
from sonnx.checker.verdicts import Verdict
from sonnx.model.ir import Model
from sonnx.model.symbols import bind_symbols

TRIED = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256,
         299, 320, 384, 448, 512, 640, 768, 1024)  # fmt: skip
"""The sizes that are tried, ascending: small ones, and those that networks have."""

MOST_VARIED = 8
"""Where there are more variables they are not varied one by one."""

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
"""The shapes of inputs by name."""
Numbers: TypeAlias = Mapping[str, int]
"""The number of each open dimension, by its symbol, or by input and axis."""


class OpenSizes(Struct, frozen=True):
    """The open dimensions of the inputs of a model.

    `inputs` has for each open input a number or the name of a variable for each axis; `first` are the variables of
    first axes, which mostly count examples.
    """

    inputs: Mapping[str, tuple[int | str, ...]]
    first: frozenset[str]

    @classmethod
    def of(cls, model: Model) -> OpenSizes:
        """Those of a model; a dimension without symbol is a variable of its own."""
        inputs: dict[str, tuple[int | str, ...]] = {}
        first: set[str] = set()
        for name, shape in open_inputs(model):
            axes = [
                int(size) if size.isdecimal() else f"{name}.shape[{axis}]" if size == "?" else size
                for axis, size in enumerate(shape)
            ]
            inputs[name] = tuple(axes)
            if len(axes) > 1 and isinstance(axes[0], str):
                first.add(axes[0])
        return cls(inputs, frozenset(first))

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in the order of the inputs."""
        return tuple(dict.fromkeys(size for shape in self.inputs.values() for size in shape if isinstance(size, str)))

    def shapes(self, numbers: Numbers) -> Shapes:
        """The shapes of the open inputs with these numbers."""
        return {
            name: tuple([numbers[size] if isinstance(size, str) else size for size in shape])
            for name, shape in self.inputs.items()
        }


def possible_numbers(sizes: OpenSizes, is_possible: Callable[[Shapes], bool]) -> Iterator[Numbers]:
    """Numbers for all variables at which a model is possible: one number for all, then each as small as it can be.

    A variable of a first axis is 1 where that is possible, and else like the others.
    """
    for alone in (sizes.first, frozenset[str]()):
        for size in TRIED:
            numbers = {name: 1 if name in alone else size for name in sizes.names}
            if is_possible(sizes.shapes(numbers)):
                yield _reduced(sizes, numbers, is_possible)
        if not alone:
            return


USUAL = (48, 64)
"""Sides of images that are tried where the smallest possible sizes leave findings: 1 can hide what is meant."""
SIDES = (32, 48, 64, 96, 128, 160, 192, 224, 256, 320)
"""Sides of images that are not square."""


def usual_numbers(sizes: OpenSizes, is_possible: Callable[[Shapes], bool]) -> Iterator[Numbers]:
    """Numbers at which a model is possible and an image has usual sides, with one example; then sides that differ."""
    sides = [name for name in sizes.names if name not in sizes.first]
    square = [{**dict.fromkeys(sizes.first, 1), **dict.fromkeys(sides, size)} for size in USUAL]
    square = [numbers for numbers in square if is_possible(sizes.shapes(numbers))]
    yield from square
    if square or len(sides) != len(("rows", "columns")):
        return
    for rows, columns in product(SIDES, SIDES):
        numbers = {**dict.fromkeys(sizes.first, 1), sides[0]: rows, sides[1]: columns}
        if rows != columns and is_possible(sizes.shapes(numbers)):
            yield numbers
            return


def _reduced(sizes: OpenSizes, numbers: Numbers, is_possible: Callable[[Shapes], bool]) -> Numbers:
    """The numbers with each one as small as possible among those tried, while the others stay."""
    found = dict(numbers)
    if 1 < len(found) <= MOST_VARIED:
        for name, number in numbers.items():
            smaller = (size for size in TRIED if size < number)
            found[name] = next((size for size in smaller if is_possible(sizes.shapes({**found, name: size}))), number)
    return found


def open_choices(sizes: OpenSizes, numbers: Numbers, is_possible: Callable[[Shapes], bool]) -> tuple[str, ...]:
    """The variables that the model does not fix: another size is possible while the others stay."""
    return tuple(
        name
        for name, number in numbers.items()
        if len(numbers) > MOST_VARIED
        or any(
            size >= 1 and is_possible(sizes.shapes({**numbers, name: size}))
            for size in (number - 1, number + 1, 2 * number)
        )
    )


class Possible:
    """Whether shapes of inputs leave a model as valid as it is without them."""

    def __init__(self, model: Model, rules: ActiveRules) -> None:
        self.model, self.rules, self.known = model, rules, KnownCalls()
        self.before = broken(self._report(model))
        self._answers: dict[tuple[tuple[str, tuple[int, ...]], ...], bool] = {}

    def __call__(self, shapes: Shapes) -> bool:
        """Whether no condition of ONNX fails that does not fail without these shapes."""
        key = tuple(shapes.items())
        if key not in self._answers:
            self._answers[key] = self._is_possible(shapes)
        return self._answers[key]

    def _is_possible(self, shapes: Shapes) -> bool:
        try:
            bound = bind_symbols(self.model, {}, shapes)
        except UsageError:
            return False
        return broken(self._report(bound)) <= self.before

    def _report(self, model: Model) -> Report:
        return evaluate_model(model, self.rules, Subject.of(model, "", Conditions()), self.known)


def broken(report: Report) -> frozenset[tuple[str, str]]:
    """The conditions of ONNX and the error conditions of operators that fail, with their places."""
    return frozenset((finding.rule, finding.where.place) for finding in breaking(report))


def breaking(report: Report) -> Iterator[Finding]:
    """The findings by which a node has no value."""
    for finding in report.findings:
        failed = finding.verdict is Verdict.FAIL
        if failed and (finding.breaks_onnx or report.rules[finding.rule].kind == "error-condition"):
            yield finding


def smallest_sizes(model: Model, rules: ActiveRules) -> Shapes | None:
    """The shapes of open inputs that are proposed, None where none was found."""
    sizes, is_possible = OpenSizes.of(model), Possible(model, rules)
    numbers = next(possible_numbers(sizes, is_possible), None) if sizes.inputs else None
    return None if numbers is None else sizes.shapes(numbers)
