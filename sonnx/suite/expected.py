"""What a conforming implementation may give for a call: the exact values, and the ends of what rounding allows.

An output is *exact* if it is of integers, bools or strings, if its operator only moves or selects elements (or gives
the end of the type where there are none), or if the error that the hypotheses allow is 0 for all inputs of a wide box.
Any other has for each element

* the NaN or infinity that the definition gives, where special values or a pole of the function make it,
* the ends from the bound at the point,
* an infinity or any number beyond the lower end, where rounding decides whether the value overflows, or
* nothing, where an intermediate result may overflow, or where there is no bound.

A bound is about a whole tensor and needs finite elements.  For a tensor with others, `_Points` replaces them by two
different ordinary numbers: the elements of the output whose ranges and errors do not change do not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import structs

from sonnx.base.errors import Stop
from sonnx.bounds.analysis import Analyser, Run
from sonnx.bounds.box import box_of_arrays
from sonnx.executor.executor import ModelRunner
from sonnx.model.ir import Model, Tensor
from sonnx.numerics.constant_data import decode
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.enclosures.values import FINITE, NO_WRAP_AROUND, Value
from sonnx.numerics.formats import ELEMENTS, NAMES, TEXT, Array, Format, format_of, is_small_float, limits_of, widened
from sonnx.numerics.packing import packed
from sonnx.operators import stated_operator
from sonnx.suite.archive import DERIVED, EXACT, OVERFLOWS, UNBOUNDED, Decides

SLACK = 1.01
"""More than the roundings of a part of a sum change it, as a factor."""
WIDTH = 1024.0
"""The box on which an operator is exact reaches from -1024 to 1024, as far as its types do."""
ORDINARY = (1.0, 0.71875)
"""What replaces elements; both are numbers of every format."""

T = TypeVar("T")

MAX_KEPT = 8
"""Runners, and analysers, for other constants that are kept."""


class Ends(NamedTuple):
    """The ends of the elements of an output, NaN where nothing decides."""

    lower: Array
    upper: Array


class Expected(NamedTuple):
    """How an output is judged, and the ends between which its elements may be; None where it must be exact."""

    decides: Decides
    ends: Ends | None


class _Answer(NamedTuple):
    """Ends of elements of an output: those which the answer may be about, and, asked only about one of them that has no
    answer yet, those about which it holds.
    """

    possible: Array
    lower: Array
    upper: Array
    holds: Callable[[], Array | bool]


def _sure(row: tuple[Array, Array, Array]) -> _Answer:
    """An answer that holds wherever it is possible."""
    return _Answer(*row, lambda: True)


@dataclass(frozen=True, slots=True)
class _Point:
    """The bounds at one point, none where `values` is empty; whether an intermediate result may overflow there."""

    values: Mapping[str, Value]
    overflows: bool


class Tolerances:
    """The ends of the outputs of one model under hypotheses."""

    def __init__(self, model: Model, hypotheses: Hypotheses, edition: str) -> None:
        self.model, self.hypotheses, self.edition = model, hypotheses, edition
        self.names = [output.name for output in model.graph.outputs]
        self.constants = {
            initializer.name: decode(initializer, None)
            for initializer in model.graph.initializers
            if _rounds(initializer.element or "")
        }
        self.inputs = {operand.name for operand in model.graph.inputs}
        self.analysers: dict[object, Analyser] = {}
        """By the inputs and the elements of the constants."""
        self.runners: dict[object, ModelRunner] = {}
        """By the elements of the constants."""
        self.exact = self._exact()

    def ends(self, inputs: Mapping[str, Array], exact: Mapping[str, Array]) -> list[Expected]:
        """What an implementation may give for each output."""
        points = _Points(self, inputs, _Known())
        return [
            Expected(EXACT, None) if name in self.exact else self._decided(name, points, widened(exact[name]))
            for name in self.names
        ]

    def bounds(
        self, box: Mapping[str, Array | tuple[Array, Array]], constants: Mapping[str, Array], *, tighten: bool = True
    ) -> Run:
        """The bounds of the model with other constants; without `tighten` by intervals alone.

        Raises:
            Stop: there are none.
        """
        key = tuple(box), _elements(constants), tighten
        analyser = _kept(self.analysers, key, lambda: self._analyser(box, constants, tighten=tighten))
        return analyser.run(box_of_arrays(analyser.model, box))

    def _analyser(self, inputs: Container[str], constants: Mapping[str, Array], *, tighten: bool) -> Analyser:
        """An analyser of the model with these inputs, and other constants."""
        tensors = (*(_with(initializer, constants) for initializer in self.model.graph.initializers), *(
            _constant(name, constant) for name, constant in constants.items() if name in self.inputs
        ))  # fmt: skip
        varying = tuple(operand for operand in self.model.graph.inputs if operand.name in inputs)
        model = structs.replace(
            self.model, graph=structs.replace(self.model.graph, inputs=varying, initializers=tensors)
        )
        return Analyser(model, self.hypotheses, None, self.edition, tighten=tighten, conforming=True)

    def exact_values(self, inputs: Mapping[str, Array], constants: Mapping[str, Array]) -> Mapping[str, Array]:
        """The exact outputs for other constants.

        Raises:
            Stop: the inputs have no value.
        """
        runner = _kept(self.runners, _elements(constants), lambda: self._runner(constants))
        return runner.run(inputs).values

    def _runner(self, constants: Mapping[str, Array]) -> ModelRunner:
        """A runner of the model with other constants."""
        tensors = tuple(_with(initializer, constants) for initializer in self.model.graph.initializers)
        model = structs.replace(self.model, graph=structs.replace(self.model.graph, initializers=tensors))
        return ModelRunner(model, None, self.edition, unchecked=True)

    def _decided(self, name: str, points: _Points, exact: Array) -> Expected:
        """The ends of an output, from the first points that decide about each element."""
        exact = exact.astype(np.float64)
        lower, upper = points.ends(name, exact)
        waiting = ~np.isnan(exact) & np.isnan(lower)
        missing = OVERFLOWS if waiting.any() and points.overflows() else UNBOUNDED
        return Expected(missing if waiting.any() else DERIVED, Ends(lower, upper))

    def _exact(self) -> set[str]:
        """The outputs that are exact."""
        of_floats = {output.name for output in self.model.graph.outputs if _rounds(output.type.element or "")}
        never_rounded = {name for name in self.names if name not in of_floats}
        facts = [stated_operator(node.operator, node.domain) for node in self.model.graph.nodes]
        if all(each is not None and (each.moves or each.selects) for each in facts):
            return {*self.names}
        box = {
            operand.name: _wide(operand.type.element or "", operand.type.shape or ())
            for operand in self.model.graph.inputs
        }
        # Constants that have no bound, such as crossed ends of Clip, are replaced by ascending ones.
        ascending = {
            name: np.full_like(values, (place + 1) * ORDINARY[1])
            for place, (name, values) in enumerate(self.constants.items())
        }
        for constants in (_replaced(self.constants, _special, ORDINARY[0]), ascending):
            with suppress(Stop, KeyError):
                values = self.bounds(box, constants, tighten=False).values
                known = {name for name in of_floats if name in values and values[name].low.size}
                bounded = {name for name in known if not values[name].unbounded}
                if bounded:
                    return never_rounded | {name for name in bounded if not values[name].has_error}
        return never_rounded


class _Known:
    """The bounds and the exact outputs for arrays, by their elements.

    Several outputs ask about equal arrays; where nothing is zero, huge or special, arrays in which such elements are
    replaced are equal.
    """

    def __init__(self) -> None:
        self.points: dict[object, _Point] = {}
        self.outputs: dict[object, Mapping[str, Array] | None] = {}


class _Points:
    """The inputs and constants of one data set, and others in which some elements are replaced."""

    def __init__(self, tolerances: Tolerances, inputs: Mapping[str, Array], known: _Known) -> None:
        self.tolerances, self.inputs = tolerances, {name: inputs[name] for name in inputs if name in tolerances.inputs}
        self.arrays = {**tolerances.constants, **inputs}
        self.known = known

    @cached_property
    def unreplaced(self) -> _Point:
        """The bounds at the point itself."""
        return self._at(self.arrays)

    def overflows(self) -> bool:
        """Whether an intermediate result may overflow at these inputs, or where special values are replaced."""
        return self.unreplaced.overflows or self._at(_replaced(self.arrays, _special, ORDINARY[0])).overflows

    def ends(self, name: str, exact: Array) -> tuple[Array, Array]:
        """The lower and the upper ends of an output, NaN where nothing decides."""
        lower, upper = _first(self._answers(name, exact), ~np.isnan(exact))
        # Where a function has no number, at a negative argument for example, no bound is about the rest of the tensor:
        # these places get ordinary arguments too.
        marks, waiting = ~np.isfinite(exact), ~np.isnan(exact) & np.isnan(lower)
        if marks.any() and waiting.any():
            one, other = (_Points(self.tolerances, self._without(marks, by), self.known) for by in ORDINARY)
            low, high = _first(one._answers(name, exact, of_other_inputs=True), waiting)
            possible = waiting & (low <= exact) & (exact <= high)
            if possible.any():
                same_low, same_high = _first(other._answers(name, exact, of_other_inputs=True), possible)
                possible &= (low == same_low) & (high == same_high)
            if possible.any():
                possible &= self._not_nan(self._without(marks, np.nan), name)
            lower, upper = np.where(possible, low, lower), np.where(possible, high, upper)
        return lower, upper

    def _without(self, marks: Array, by: float) -> dict[str, Array]:
        """The inputs and constants, with another number at marked places of those that have the shape of the output."""
        return {
            name: np.where(marks, np.array(by, values.dtype), values)
            if values.shape == marks.shape and _replaceable(values)
            else values
            for name, values in self.arrays.items()
        }

    def _answers(self, name: str, exact: Array, of_other_inputs: bool = False) -> Iterator[_Answer]:
        """Answers about elements of an output, of which the first one about each holds; with `of_other_inputs`, `exact`
        is the output for inputs that differ from these.
        """
        yield from map(_sure, _bounded(self.unreplaced.values.get(name), exact))
        if self.unreplaced.overflows:
            yield from map(_sure, _overflowing(self.unreplaced.values.get(name), exact))
        for marks in REPLACED:
            replaced = _replaced(self.arrays, marks, ORDINARY[0])
            one = self._at(replaced)
            by_large = any(map(_large_and(marks), self.arrays.values())) or (of_other_inputs and self._sums(name))
            if marks not in LARGE and np.isinf(exact).any() and not by_large:
                # An infinity that is not there without these elements is made by them, not by rounding.
                alone = name not in one.values or _no_other_overflow(one.values[name])
                yield _Answer(np.isinf(exact) & alone, exact, exact, partial(self._is_finite, replaced, name))
            if name in one.values:
                overflowing = _overflowing(one.values[name], exact) if one.overflows else ()
                for decided, low, high in (*_bounded(one.values[name], exact), *overflowing):
                    within = decided & (low <= exact) & (exact <= high)
                    yield _Answer(within, low, high, partial(self._stays, name, marks))
        # What is left may depend on an infinity: the value is the limit.
        for ends in ((np.inf, -np.inf), (np.inf,), (-np.inf,)):
            limit = self._at({key: _limited(values, ends) for key, values in self.arrays.items()})
            for decided, low, high in _bounded(limit.values.get(name), exact):
                error = limit.values[name].error
                with np.errstate(invalid="ignore"):
                    lower, upper = np.fmin(low, exact - error), np.fmax(high, exact + error)
                yield _Answer(decided, lower, upper, partial(self._is_at_limit, name, ends))

    def _stays(self, name: str, marks: Callable[[Array], Array]) -> Array | bool:
        """Where the value and error of an output do not depend on what replaces the marked elements."""
        one, other = (self._at(_replaced(self.arrays, marks, by)) for by in ORDINARY)
        if name not in other.values:
            return False
        same = _equal(one.values[name], other.values[name])
        # In a large sum both ordinary numbers are lost in rounding; a NaN is not.
        return same & self._not_nan(_replaced(self.arrays, marks, np.nan), name) if same.any() else same

    def _is_at_limit(self, name: str, ends: Sequence[float]) -> Array | bool:
        """Where an output does not depend on a special value that is none of these infinities."""
        return self._not_nan(_replaced(self.arrays, partial(_special_but, ends=ends), np.nan), name)

    def _sums(self, name: str) -> bool:
        """Whether an output is a sum, as far as it is known."""
        value = self.unreplaced.values.get(name)
        return value is None or value.transfer is None or _terms(value) > 1

    def _at(self, arrays: Mapping[str, Array]) -> _Point:
        key = _elements(arrays)
        if key not in self.known.points:
            self.known.points[key] = self._bounds_at(arrays)
        return self.known.points[key]

    def _bounds_at(self, arrays: Mapping[str, Array]) -> _Point:
        inputs, constants = self._apart(arrays)
        # At a point every input but the first may as well be a constant, and some bounds are for constants only; that
        # of Range wants all of them.
        first = dict([*inputs.items()][:1])
        ordinary = all(_replaceable(values) and not _special(values).any() for values in inputs.values())
        for varying in (first, {}) if ordinary else (first,):
            fixed = {key: values for key, values in inputs.items() if key not in varying}
            with suppress(Stop):
                run = self.tolerances.bounds(varying, {**constants, **fixed})
                failed = [condition.name for condition in run.conditions if not condition.holds]
                return _Point(run.values, FINITE in failed or NO_WRAP_AROUND in failed)
        return _Point({}, overflows=False)

    def _apart(self, arrays: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        """The inputs and the constants among arrays."""
        return (
            {name: arrays[name] for name in self.inputs}, {name: arrays[name] for name in self.tolerances.constants}
        )  # fmt: skip

    def _is_finite(self, arrays: Mapping[str, Array], name: str) -> Array | bool:
        """The elements of an output that are finite for these arrays; none where the arrays have no value."""
        exact = self._exact(arrays, name)
        return False if exact is None else np.isfinite(exact)

    def _not_nan(self, arrays: Mapping[str, Array], name: str) -> Array | bool:
        """The elements of an output that are not NaN for these arrays; all where the arrays have no value."""
        exact = self._exact(arrays, name)
        return True if exact is None else ~np.isnan(exact)

    def _exact(self, arrays: Mapping[str, Array], name: str) -> Array | None:
        """The exact output for these arrays; None where they have no value."""
        key, outputs = _elements(arrays), self.known.outputs
        if key not in outputs:
            inputs, constants = self._apart(arrays)
            outputs[key] = None
            with suppress(Stop):
                outputs[key] = self.tolerances.exact_values(inputs, constants)
        exact = outputs[key]
        return None if exact is None else widened(exact[name])


def _kept(known: dict[object, T], key: object, new: Callable[[], T]) -> T:
    """What is known by a key, or a new one, which is kept; what was kept before goes where there would be too many."""
    if key not in known:
        if len(known) == MAX_KEPT:
            known.clear()
        known[key] = new()
    return known[key]


def _elements(arrays: Mapping[str, Array]) -> object:
    """A key that only equal arrays have, with the bits of their elements."""
    return tuple(
        (name, tuple(array.ravel().tolist()) if array.dtype == TEXT else array.tobytes())
        for name, array in arrays.items()
    )


def _first(answers: Iterator[_Answer], waiting: Array) -> tuple[Array, Array]:
    """The ends of some elements by the first answer about each; NaN where there is none, and for the other elements."""
    lower, upper = np.full(waiting.shape, np.nan), np.full(waiting.shape, np.nan)
    for answer in answers if waiting.any() else ():
        now = waiting & answer.possible
        if now.any():
            now = now & answer.holds()
        lower, upper = np.where(now, answer.lower, lower), np.where(now, answer.upper, upper)
        waiting = waiting & ~now
        if not waiting.any():
            break
    return lower, upper


def _bounded(value: Value | None, exact: Array) -> Iterator[tuple[Array, Array, Array]]:
    """The finite elements with the ends of their bound, where the value has one."""
    if value is not None and not value.unbounded and value.low.shape == exact.shape:
        lower, upper = _ends(value)
        yield np.isfinite(exact) & np.isfinite(lower) & np.isfinite(upper), lower, upper


def _overflowing(value: Value | None, exact: Array) -> Iterator[tuple[Array, Array, Array]]:
    """The infinite elements whose values are finite, but near or beyond the largest number: either may be given.

    Of a sum whose terms of the other sign may overflow alone, nothing is said: a part of it may be the other infinity.
    """
    number_format = None if value is None else format_of(ELEMENTS[value.element])
    if value is None or number_format is None or value.low.shape != exact.shape:
        return
    lower, upper = _ends(value)
    largest = _largest(ELEMENTS[value.element], number_format)
    exact = np.where(_no_other_overflow(value), exact, 0.0)
    yield (exact == np.inf) & np.isfinite(lower), np.minimum(lower, largest), exact
    yield (exact == -np.inf) & np.isfinite(upper), exact, np.maximum(upper, -largest)


def _no_other_overflow(value: Value) -> Array | bool:
    """Where the terms of a sum that have the other sign than the value cannot overflow alone."""
    number_format = format_of(ELEMENTS[value.element])
    return number_format is None or _other_sign(value) < _largest(ELEMENTS[value.element], number_format)


def _terms(value: Value) -> int:
    """The terms of the sum that a value is; 1 where it is none."""
    return 1 if value.transfer is None or value.transfer.sum is None else value.transfer.sum.terms


def _other_sign(value: Value) -> Array:
    """An upper bound of the total magnitude of those terms of a sum that have the other sign than the value."""
    record = None if value.transfer is None else value.transfer.sum
    if record is None or _terms(value) < 2:
        return np.zeros(value.shape)
    least = np.where(value.low > 0, value.low, np.where(value.high < 0, -value.high, 0.0))
    with np.errstate(invalid="ignore"):  # of infinities nothing is known
        return np.broadcast_to(record.absolute - least, value.shape) * (0.5 * SLACK)


def _ends(value: Value) -> tuple[Array, Array]:
    """The ends of what an implementation may give: range and error, rounded outward."""
    with np.errstate(all="ignore"):
        return np.nextafter(value.low - value.error, -np.inf), np.nextafter(value.high + value.error, np.inf)


def _equal(one: Value, other: Value) -> Array:
    """Where two values have the same range and error."""
    if one.low.shape != other.low.shape:
        return np.zeros(one.low.shape, np.bool_)
    return np.asarray((one.low == other.low) & (one.high == other.high) & (one.error == other.error))


# ------------------------------------------------------------------ which elements are replaced


def _special(values: Array) -> Array:
    return np.asarray(~np.isfinite(values))


def _special_but(values: Array, ends: Sequence[float]) -> Array:
    """The special elements that are none of these infinities."""
    return np.asarray(_special(values) & ~np.isin(widened(values), ends))


def _huge(values: Array) -> Array:
    """The special elements and the numbers whose squares overflow."""
    number_format = format_of(values.dtype)
    if number_format is None:
        return _special(values)
    return np.asarray(~(np.abs(widened(values)) < np.sqrt(_largest(values.dtype, number_format))))


def _large_and(marks: Callable[[Array], Array]) -> Callable[[Array], bool]:
    """A test of values: whether some marked element is a finite number whose square overflows."""
    return lambda values: (
        _replaceable(values) and bool((np.asarray(marks(values)) & np.isfinite(widened(values)) & _huge(values)).any())
    )


def _largest(kind: np.dtype[np.generic], number_format: Format) -> float:
    """The largest finite number of a type."""
    return float(widened(np.array([number_format.infinity - 1], number_format.unsigned).view(kind))[0])


def _zero(values: Array) -> Array:
    """The special elements and the zeros."""
    return np.asarray(_special(values) | (values == 0))


def _not_positive(values: Array) -> Array:
    with np.errstate(invalid="ignore"):  # a signaling NaN
        return ~(np.isfinite(values) & (values > 0))


def _unusual(values: Array) -> Array:
    """All but the positive numbers from 2^-10 to 2^5."""
    return ~((widened(values) >= 2.0**-10) & (widened(values) <= 2.0**5))


REPLACED = (_special, _zero, _not_positive, _huge, _unusual)
"""Which elements are replaced, in the order in which it is tried."""
LARGE = (_huge, _unusual)
"""Those of them that mark large finite numbers."""


def _replaced(arrays: Mapping[str, Array], marks: Callable[[Array], Array], by: float) -> dict[str, Array]:
    """The arrays, with another number in place of the marked elements of floating-point types."""
    replaced = {}
    for name, values in arrays.items():
        if not _replaceable(values):
            replaced[name] = values
            continue
        replaced[name] = values.copy()
        replaced[name][np.asarray(marks(values)).reshape(values.shape)] = by
    return replaced


def _replaceable(values: Array) -> bool:
    """Whether the elements are real floating-point numbers."""
    return _rounds(NAMES[values.dtype]) and values.dtype.kind != "c"


def _limited(values: Array, ends: Sequence[float]) -> Array:
    """The largest numbers in place of some infinities, and an ordinary one for other special elements."""
    number_format = format_of(values.dtype)
    if number_format is None:
        return values
    limited, largest = values.copy(), _largest(values.dtype, number_format)
    for end in ends:
        limited[values == end] = np.copysign(largest, end)
    limited[~np.isfinite(limited)] = ORDINARY[0]
    return limited


def _with(tensor: Tensor, constants: Mapping[str, Array]) -> Tensor:
    """A tensor with the elements that `constants` has for its name."""
    return _constant(tensor.name, constants[tensor.name]) if tensor.name in constants else tensor


def _constant(name: str, array: Array) -> Tensor:
    return Tensor(name, NAMES[array.dtype], tuple(array.shape), ("raw_data",), memoryview(packed(array)))


def _rounds(element: str) -> bool:
    """Whether numbers of an element type are rounded: real or complex floats."""
    kind = ELEMENTS[element]
    return format_of(kind) is not None or is_small_float(kind) or kind.kind == "c"


def _wide(element: str, shape: Sequence[object]) -> tuple[Array, Array]:
    """The ends of the box for an input: from -WIDTH to WIDTH, as far as its type goes."""
    least, most = -WIDTH, WIDTH
    kind = ELEMENTS[element]
    if kind == np.bool_:
        least, most = 0.0, 1.0
    elif kind.kind in "iu" or not _rounds(element):
        ends = limits_of(kind)
        least, most = max(least, ends[0]), min(most, ends[1])
    extents = tuple(extent for extent in shape if isinstance(extent, int))
    return np.full(extents, least), np.full(extents, most)
