"""Runs on class inputs: which cases of `sonnx.numerics.value_classes` a node or a model runs, and what differs there.

A *class run* has the inputs of one case.  The cases of a node or model are run in their order, as many as its budget
allows; those left out are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from sonnx.base.reported import HIDDEN, OptionalText
from sonnx.executor.distance import INFINITY, NAN, SpecialMismatch
from sonnx.numerics.draws import is_ordinary
from sonnx.numerics.formats import Array, format_of
from sonnx.numerics.value_classes import ClassCase
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
    computes: bool,
) -> Iterator[ClassDeviation]:
    """The kinds in which a value differs in one run of a case; `computes`: intermediate results may overflow."""
    for special in specials:
        errata = dict(errata_of(operator, special.kind))
        explained = next((f"erratum {name} decides" for name, named in errata.items() if case.name in named), "")
        if not explained and special.kind in (NAN, INFINITY) and case.huge and computes:
            explained = "an intermediate result may overflow"
        yield ClassDeviation(
            case.name, case.detail, special.kind, 1, special.at, special.exact, special.found,
            tuple(text_of_input(name, values) for name, values in inputs.items()), tuple(errata), explained,
            case.packed,
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


def selects(exact: Array, inputs: Iterable[Array]) -> bool:
    """Whether every element is an element of an input, its negative or 0, so that nothing was computed that overflows.

    It is asked of ordinary inputs: on other ones a computed element may be equal to an input by chance.
    """
    if format_of(exact.dtype) is None:
        return True
    known = [np.abs(values).reshape(-1) for values in inputs if values.dtype == exact.dtype]
    if not known or not exact.any():
        return False
    array = np.abs(exact).reshape(-1)
    return bool((np.isin(array, np.concatenate(known)) | (array == 0)).all())


def text_of_input(name: str, values: Array) -> str:
    """An input as text: all of a small one, of a larger one its elements that are not ordinary."""
    if values.size <= SHOWN_ELEMENTS:
        return f"{name} = {values.tolist()}"
    flat = values.reshape(-1)
    special = [at for at in range(min(flat.size, SEARCHED_ELEMENTS)) if not is_ordinary(flat[at : at + 1])]
    texts = [f"{flat[at]} at {[int(number) for number in np.unravel_index(at, values.shape)]}" for at in special]
    listed = ": " + ", ".join(texts[:SHOWN_SPECIALS]) if texts else ""
    return f"{name} of shape {[*values.shape]}{listed}{', ...' if len(texts) > SHOWN_SPECIALS else ''}"
