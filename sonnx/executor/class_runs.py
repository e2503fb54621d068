"""Runs on class inputs: which cases of `sonnx.numerics.value_classes` a node or a model runs, and what differs there.

A *class run* has the inputs of one case.  The cases of a node or model are run in their order, as many as its budget
allows; those left out are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.reported import HIDDEN, OptionalText
from sonnx.executor.distance import FLUSHED, INFINITY, NAN, NUMBER, SUBNORMAL, UNDERFLOW, SpecialMismatch
from sonnx.model.ir import Node
from sonnx.numerics.draws import is_ordinary, least_normal
from sonnx.numerics.formats import Array, format_of, patterns
from sonnx.numerics.value_classes import ClassCase
from sonnx.operators import stated_operator
from sonnx.profile import catalogue
from sonnx.profile.definitions import Alternative, DeviationKind
from sonnx.profile.text_types import Limit, Number

MAX_RUNS = 256
"""Class runs of one node, and of the whole model."""
MIN_RUNS = 2
"""Class runs of one node, and of the whole model, however large it is."""
ELEMENTS_OF_ALL_RUNS = 1 << 20
"""Elements of inputs, constants and outputs of all class runs of one node or model together."""
SHOWN_ELEMENTS = 24
"""Elements of an input up to which it is shown as a whole."""
SHOWN_SPECIALS = 4
"""Elements of a larger input that are shown."""
SEARCHED_ELEMENTS = 1 << 13
"""Elements of a larger input among which those are searched that are not ordinary."""


class ClassDeviation(Struct, frozen=True):
    """A value class in which elements differ in kind, with the first run."""

    name: str
    """The name of the class."""
    detail: str
    """Which input, and where."""
    kind: DeviationKind
    """What differs."""
    runs: Annotated[int, Limit(ge=1)]
    """The runs of the class in which it differs."""
    at: tuple[Number, ...]
    """The index of the first element."""
    exact: str
    """The exact element there, with its bits."""
    found: str
    """The runtime's element there, with its bits."""
    inputs: tuple[str, ...]
    """The inputs of the first run: all elements of a small one, of a larger one those that are not ordinary."""
    errata: tuple[str, ...] = ()
    """The errata of the operator from which runtimes deviate in this kind."""
    explained: OptionalText = ""
    """Why it is not a fault of the runtime; null where it may be one."""
    packed: Annotated[bool, HIDDEN] = False
    subnormal: Annotated[bool, HIDDEN] = False
    """Whether an input has a subnormal number."""


class ClassRuns(Struct, frozen=True):
    """What was done on class inputs for one value."""

    runs: Number = 0
    """The runs that were compared."""
    left_out: Number = 0
    """The cases that the budget left out."""
    without_value: Number = 0
    """The cases in which the inputs have no exact value."""
    deviations: tuple[ClassDeviation, ...] = ()
    """The classes in which elements differ in kind."""

    @property
    def unexplained(self) -> tuple[ClassDeviation, ...]:
        """The deviations that may be faults of the runtime."""
        return tuple(deviation for deviation in self.deviations if not deviation.explained)

    def with_deviations(self, deviations: Sequence[ClassDeviation]) -> ClassRuns:
        """These runs and one more with these deviations; of a class and a kind the first is kept."""
        known = {(deviation.name, deviation.kind, deviation.explained): deviation for deviation in self.deviations}
        for deviation in deviations:
            key = (deviation.name, deviation.kind, deviation.explained)
            first = known.get(key)
            known[key] = deviation if first is None else replace(first, runs=first.runs + 1)
        return replace(self, runs=self.runs + 1, deviations=tuple(known.values()))


@dataclass(frozen=True, slots=True)
class Computation:
    """What the operators of a node or model do on the way to a result, as their facts say.

    Attributes:
        computes_inside: one of them has an intermediate result that may leave the range of the type.
        elementwise: each of them that has one is a function of single elements, so that nothing is cancelled.
        is_exact: none of them rounds.
    """

    computes_inside: bool
    elementwise: bool
    is_exact: bool

    @classmethod
    def of(cls, nodes: Sequence[Node]) -> Computation:
        """Of nodes; what the tool does not know has intermediate results."""
        known = [stated_operator(node.operator, node.domain) for node in nodes]
        inside = [facts for facts in known if facts is None or facts.may_overflow_inside]
        return cls(
            bool(inside),
            all(facts is not None and facts.elementwise for facts in inside),
            all(facts is not None and (facts.exact or facts.selects) for facts in known),
        )

    @property
    def further_kinds(self) -> frozenset[DeviationKind]:
        """The kinds of differences of floating-point numbers that count: every one where nothing rounds."""
        return frozenset({NUMBER}) if self.is_exact else FLUSHED

    def excuse(self, kind: DeviationKind, huge: bool) -> str:
        """Why a difference of a kind may be no fault, "" where it is one.

        A function of single elements, such as 1 / (1 + exp(-x)), loses a number to an overflow inside only where the
        reciprocal of what overflows is subnormal; a sum loses numbers of any size to the rounding of its terms.
        """
        if not self.computes_inside:
            return ""
        if kind in (NAN, INFINITY) and huge:
            return "an intermediate result may overflow"
        if kind == SUBNORMAL or (kind == UNDERFLOW and not self.elementwise):
            return "the rounding or overflow of an intermediate result may give 0"
        return ""


def affordable_cases(cases: Sequence[ClassCase], elements: int, runs: int | None) -> Sequence[ClassCase]:
    """The first cases: as many as `runs`, else as many as the elements of one run leave room for."""
    if runs is None:
        runs = max(MIN_RUNS, min(MAX_RUNS, ELEMENTS_OF_ALL_RUNS // max(1, elements)))
    return cases[:runs]


def deviations_of(
    case: ClassCase,
    inputs: Mapping[str, Array],
    specials: Sequence[SpecialMismatch],
    operator: str,
    computation: Computation,
) -> Iterator[ClassDeviation]:
    """The kinds in which a value differs in one run of a case."""
    for special in specials:
        errata = dict(errata_of(operator, special.kind))
        explained = next((f"erratum {name} decides" for name, named in errata.items() if case.name in named), "")
        explained = explained or computation.excuse(special.kind, case.huge)
        yield ClassDeviation(
            case.name, case.detail, special.kind, 1, special.at, special.exact, special.found,
            tuple(text_of_input(name, values) for name, values in inputs.items()), tuple(errata), explained,
            case.packed, any(map(has_subnormal, inputs.values())),
        )  # fmt: skip


def errata_of(operator: str, kind: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The errata of an operator that runtimes deviate from in a kind, with the classes that each decides."""
    for erratum in catalogue.errata().values():
        by_kind = {str(key): named for key, named in erratum.deviations.get(operator, {}).items()}
        if kind in by_kind:
            yield erratum.id, by_kind[kind]


def alternative_of(operator: str, erratum: str) -> Alternative | None:
    """What a runtime may give in place of the exact value by another reading, where that tells the cause."""
    return catalogue.errata()[erratum].instead.get(operator)


def has_subnormal(values: Array) -> bool:
    """Whether an element is subnormal."""
    number_format = format_of(values.dtype)
    if number_format is None:
        return False
    magnitude = patterns(np.ascontiguousarray(values)) & number_format.unsigned.type(number_format.sign - 1)
    return bool(((magnitude > 0) & (magnitude < least_normal(number_format))).any())


def text_of_input(name: str, values: Array) -> str:
    """An input as text: all of a small one, of a larger one its elements that are not ordinary."""
    if values.size <= SHOWN_ELEMENTS:
        return f"{name} = {values.tolist()}"
    flat = values.reshape(-1)
    special = [at for at in range(min(flat.size, SEARCHED_ELEMENTS)) if not is_ordinary(flat[at : at + 1])]
    texts = [f"{flat[at]} at {[int(number) for number in np.unravel_index(at, values.shape)]}" for at in special]
    listed = ": " + ", ".join(texts[:SHOWN_SPECIALS]) if texts else ""
    return f"{name} of shape {[*values.shape]}{listed}{', ...' if len(texts) > SHOWN_SPECIALS else ''}"
