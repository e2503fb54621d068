"""What is assumed of an implementation, as data: formats, order of sums, fusion, and the accuracy of functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from sonnx.base.decoding import decoding
from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.numerics.enclosures import PREDEFINED
from sonnx.numerics.enclosures.arithmetic import (
    FORMATS,
    Factors,
    RoundingFormat,
    SumOrder,
    enlargement,
    flushed_operands,
    grown,
    rounding_error,
    steps_error,
    sum_error,
)
from sonnx.numerics.enclosures.readings import NONE, Readings, readings_of
from sonnx.numerics.formats import Array
from sonnx.profile import toml_files

ORDERS = ("any", "pairwise", "lanes", "once")

EXACT = "exact"
"""The order of a sum that is not rounded; no file states it."""

FIELDS = (
    "statement",
    "order",
    "lanes",
    "fused",
    "flush",
    "running",
    "accumulator",
    "functions",
    "excludes",
    "measured",
    "readings",
)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How far a computed function is from its exact value: units in the last place, plus an absolute error."""

    ulp: float
    absolute: float


@dataclass(frozen=True)
class Hypotheses:
    """The implementations a bound is about; see hypotheses.toml for each field."""

    name: str
    statement: str
    order: SumOrder
    fused: bool
    flush: bool
    running: bool
    accumulators: Mapping[str, str]
    functions: Mapping[str, Accuracy]
    excludes: tuple[str, ...]
    measured: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    readings: Readings = NONE

    @property
    def measured_with(self) -> str:
        """The runtimes and versions with which they were measured, "" where they state a requirement."""
        return " and ".join(f"{name} {' and '.join(versions)}" for name, versions in self.measured.items())

    def not_measured(self, title: str) -> str:
        """A sentence if they were not measured with a runtime of this title, its name and version first; else "".

        Outputs that no named runtime computed have a title without a version, and there is nothing to say of them.
        """
        name, _, rest = title.partition(" ")
        version = rest.partition(",")[0].partition(" ")[0]
        if not self.measured or not version[:1].isdigit() or version in self.measured.get(name, ()):
            return ""
        return f"the hypotheses {self.name} were measured with {self.measured_with}, not with {name} {version}"

    @property
    def once(self) -> bool:
        """Every operator is rounded once, from its exact value."""
        return self.order.kind == "once"

    @property
    def rounds_once(self) -> bool:
        """The exact value of a step is known, and rounded at most once."""
        return self.order.kind in ("once", EXACT)

    def unrounded(self) -> Hypotheses:
        """For what is not rounded: integers, and steps of an operator before its one rounding."""
        return replace(self, order=SumOrder(EXACT), fused=False, flush=False)

    def inner(self) -> Hypotheses:
        """For the steps of an operator before its last one: not rounded where each operator is rounded once."""
        return self.unrounded() if self.once else self

    def least(self, rounding_format: RoundingFormat) -> float:
        """The absolute error of a rounding that underflows."""
        return rounding_format.normal if self.flush else rounding_format.tiny

    def accumulator(self, element: str) -> RoundingFormat:
        """The format of products and partial sums."""
        return FORMATS[self.accumulators.get(element, element)]

    def rounding(self, element: str, values: Array) -> Array:
        """The error of one rounding to the element type of numbers of at most these absolute values."""
        if self.order.kind == EXACT:
            return np.zeros(np.shape(values))
        return rounding_error(FORMATS[element], values, self.least(FORMATS[element]))

    def function(self, name: str, element: str, values: Array) -> Array:
        """The error of a function whose value has at most these absolute values."""
        if self.order.kind == EXACT:
            return np.zeros(np.shape(values))
        rounding_format = FORMATS[element]
        accuracy = self.functions.get(name, self.functions["default"])
        return steps_error(rounding_format, values, accuracy.ulp, accuracy.absolute, self.least(rounding_format))

    def sum(
        self,
        element: str,
        terms: int,
        scalings: float,
        absolute: Array,
        result: Array,
        factors: Factors,
        *,
        depth: float = inf,
    ) -> Array:
        """The error of a sum; see `enclosure.sum_error`.

        Args:
            element: the element type of the result.
            terms: n.
            scalings: roundings of each term beside the additions.
            absolute: a bound of the sum of the terms' absolute values.
            result: a bound of the absolute value of the sum.
            factors: of the terms.
            depth: additions that a term passes at most.
        """
        if self.rounds_once:
            return self.rounding(element, result)
        rounding_format = self.accumulator(element)
        least = self.least(rounding_format)
        follows = factors.after_operand if self.flush else factors.after_rounding  # a sum underflows only where flushed
        lost = least * follows * enlargement(rounding_format.unit, least, scalings)
        error = sum_error(rounding_format, self.order, terms, scalings, absolute, result, lost, depth)
        if self.flush:
            count = max(scalings + 1, len(factors.sizes))
            error = grown(error + flushed_operands(terms, count, FORMATS[element].normal * follows), 1)
        return error if rounding_format.name == element else error + self.rounding(element, result + error)

    def as_json(self) -> dict[str, Any]:
        """The hypotheses as a report shows them."""
        return {
            "name": self.name,
            "statement": self.statement,
            "order": self.order.kind + (f" {self.order.lanes}" if self.order.lanes else ""),
            "fused": self.fused,
            "flush": self.flush,
            "running": self.running,
            "accumulator": dict(self.accumulators),
            "functions": {name: {"ulp": a.ulp, "absolute": a.absolute} for name, a in self.functions.items()},
            "excludes": list(self.excludes),
            "measured": {runtime: list(versions) for runtime, versions in self.measured.items()},
        }


@cache
def predefined() -> Mapping[str, Hypotheses]:
    """The hypotheses of hypotheses.toml by name."""
    return _read(PREDEFINED)


def hypotheses_named(name: str) -> Hypotheses:
    """Predefined hypotheses by name, or those of a TOML file with one table.

    Raises:
        UsageError: there are none of the name, or the file contradicts itself.
    """
    if name in predefined():
        return predefined()[name]
    path = Path(name)
    if path.suffix != ".toml":
        raise UsageError(f"unknown hypotheses {quote(name)}; known are {', '.join(predefined())}, or a .toml file")
    tables = _read(path)
    if len(tables) != 1:
        raise UsageError(f"the hypotheses {quote(name)} have {len(tables)} tables; one is used")
    return next(iter(tables.values()))


def _read(path: Path) -> dict[str, Hypotheses]:
    tables, _ = toml_files.read_value(path)
    with decoding(path, "a file of hypotheses"):
        return {name: _table(name, table, quote(path.name)) for name, table in tables.items()}


def _table(name: str, table: Any, file: str) -> Hypotheses:
    def refuse(text: str) -> UsageError:
        return UsageError(f"{file}, hypotheses {quote(name)}: {text}")

    if not isinstance(table, dict):
        raise refuse("a table is expected")
    unknown = table.keys() - set(FIELDS)
    if unknown:
        raise refuse(f"unknown field {quote(min(unknown))}; known are {', '.join(FIELDS)}")
    order, lanes = table.get("order", "any"), table.get("lanes", 0)
    if order not in ORDERS:
        raise refuse(f"the order is none of {', '.join(ORDERS)}")
    if (order == "lanes") != (isinstance(lanes, int) and lanes > 0) or not isinstance(lanes, int):
        raise refuse("lanes is a positive number exactly where the order is lanes")
    fused, flush, running = table.get("fused", True), table.get("flush", False), table.get("running", False)
    if not all(isinstance(part, bool) for part in (fused, flush, running)):
        raise refuse("fused, flush and running are true or false")
    if order == "once" and fused:
        raise refuse("an order of once rounds each operator, so fused must be false")
    accumulators = table.get("accumulator", {})
    for element, wide in accumulators.items():
        if element not in FORMATS or wide not in FORMATS or not _holds(FORMATS[wide], FORMATS[element]):
            raise refuse(f"the accumulator of {quote(str(element))} is not a format with all its numbers")
    functions = {function: _accuracy(value, refuse) for function, value in table.get("functions", {}).items()}
    functions.setdefault("default", Accuracy(0.5 if order == "once" else 1.0, 0.0))
    excludes = table.get("excludes", [])
    if not isinstance(excludes, list) or not all(isinstance(exclude, str) for exclude in excludes):
        raise refuse("excludes is a list of sentences")
    measured = table.get("measured", {})
    versions = list(measured.values()) if isinstance(measured, dict) else [None]
    if not all(map(_are_versions, versions)):
        raise refuse("measured has a list of versions for each runtime")
    reads = table.get("readings", "")
    if reads and (not isinstance(reads, str) or readings_of(reads) is NONE):
        raise refuse(f"there are no readings {quote(str(reads))}")
    statement = table.get("statement", "")
    if not isinstance(statement, str):
        raise refuse("statement is a sentence")
    return Hypotheses(
        name, statement, SumOrder(order, lanes), fused, flush, running, dict(accumulators), functions, tuple(excludes),
        {runtime: tuple(listed) for runtime, listed in measured.items()}, readings_of(reads),
    )  # fmt: skip


def _are_versions(listed: Any) -> bool:
    return isinstance(listed, list) and bool(listed) and all(isinstance(version, str) for version in listed)


def _holds(wide: RoundingFormat, element: RoundingFormat) -> bool:
    """Whether every number of a format is one of another."""
    return wide.unit <= element.unit and wide.tiny <= element.tiny and wide.largest >= element.largest


def _accuracy(value: Any, refuse: Any) -> Accuracy:
    good = isinstance(value, dict) and value.keys() <= {"ulp", "absolute"}
    numbers = [value.get("ulp", 0.0), value.get("absolute", 0.0)] if good else [inf]
    if not all(isinstance(number, int | float) and isfinite(number) and number >= 0 for number in numbers):
        raise refuse("a function has the fields ulp and absolute, numbers of at least 0")
    return Accuracy(float(numbers[0]), float(numbers[1]))
