"""Terms: what the values of models are made of.  Equal terms are one object, in all models that share a store.

A term is an input, a constant, elements moved from other terms (`movements.py`), or an output of an operator on terms.
Constants are equal where type, shape and every bit agree: a digest finds them, the bytes decide.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from sonnx.base.files import sha256
from sonnx.equivalence.terms.axioms import axioms
from sonnx.equivalence.terms.narrowed_numbers import Narrowed, Narrowings, Passage
from sonnx.executor.executor import active_rules
from sonnx.executor.preparation import RunDomain
from sonnx.language.evaluator import TensorFacts
from sonnx.numerics.application import Application
from sonnx.numerics.formats import ELEMENTS, TEXT, Array, format_of

OWN = frozenset({"input", "constant", "moved", "ideal", "narrowed", "quotient", "declared", "unknown", "sparse"})
"""What terms are that no operator computes; an operator of a model may have such a name."""

BLOCK_SIZES = (16, 8)
"""The channels of a block in the layout NCHWc on the machines for which onnxruntime has it."""

DIGESTED = 1 << 12
"""Bytes at either end of a large constant that its digest reads."""


@dataclass(frozen=True, eq=False, slots=True)
class Term:
    """One value of a model; equal terms are one object.

    Attributes:
        number: the place among all terms of the store.
        operator: the operator that computes it; one of `OWN` where none does.
        key: what beside the inputs decides the value: attributes by their effective values.
        inputs: the terms it is computed from, None for one that is left out.
        output: which output of the operator.
        facts: type, shape and short values; dimensions may be unknown.
        array: the value of a constant.
        places: of moved elements, the place of each in the elements of all inputs one after the other; None where they
            are those of the only input in order.
        application: how the operator is applied; None where it has no definition here.
        domain: of the operator, "" for the standard one.
        origin: the node that the term was first made for.
    """

    number: int
    operator: str
    key: Hashable
    inputs: tuple[Term | None, ...]
    output: int
    facts: TensorFacts
    array: Array | None = None
    places: Array | None = None
    application: Application | None = None
    domain: str = ""
    origin: str = ""

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape, None where a dimension is not known."""
        shape = self.facts.shape
        if not isinstance(shape, tuple) or any(type(extent) is not int for extent in shape):
            return None
        return tuple(shape)  # type: ignore[arg-type]  # whole numbers

    @property
    def rank(self) -> int | None:
        """The number of axes, None where it is not known."""
        return len(self.facts.shape) if isinstance(self.facts.shape, tuple) else None

    @property
    def is_float(self) -> bool:
        """Whether the elements are floating-point numbers that operators compute with."""
        kind = ELEMENTS.get(self.facts.type) if isinstance(self.facts.type, str) else None
        return kind is not None and format_of(kind) is not None

    @property
    def is_discrete(self) -> bool:
        """Whether the elements are integers, truth values or strings, which change by jumps only."""
        kind = ELEMENTS.get(self.facts.type) if isinstance(self.facts.type, str) else None
        return kind is not None and (kind == TEXT or kind.kind in "iub")

    @property
    def is_constant(self) -> bool:
        """Whether it has a known value."""
        return self.array is not None

    def __repr__(self) -> str:
        return f"<{self.number}: {self.operator} of {[operand and operand.number for operand in self.inputs]}>"


@dataclass(eq=False)
class Store:
    """All terms of a comparison.

    Attributes:
        run: how the executor prepares the calls of all models, under the edition whose texts define the operators.
        assumptions: what the terms rest on that no theorem and no definition here states, in the order of first use.
        theorems: the theorems that the terms rest on, likewise.
        known_calls: the terms of the outputs of calls on terms.
        narrowings: where values of narrower types are taken as wide ones, what is known of that; None where types are
            kept.
        block: the channels of a block in the layout NCHWc of onnxruntime.
        takes_sixths: whether the slope nearest to 1/6 of a HardSigmoid is taken as 1/6.
        met_sixths: whether there was such a slope.
    """

    run: RunDomain
    assumptions: dict[str, None] = field(default_factory=dict)
    theorems: dict[str, None] = field(default_factory=dict)
    known_calls: dict[Hashable, list[Term]] = field(default_factory=dict)
    narrowings: Narrowings | None = None
    block: int = BLOCK_SIZES[0]
    takes_sixths: bool = False
    met_sixths: bool = False
    _numbers: count[int] = field(default_factory=lambda: count(1))
    _known: dict[Hashable, Term] = field(default_factory=dict)
    _constants: dict[Hashable, list[Term]] = field(default_factory=dict)
    _moved: dict[Hashable, list[Term]] = field(default_factory=dict)

    def number(self) -> int:
        """A number that nothing else has."""
        return next(self._numbers)

    def assume(self, sentence: str) -> None:
        """Record what the result rests on."""
        self.assumptions[sentence] = None

    def rest_on(self, axiom: str) -> None:
        """Record an axiom that terms rest on: its theorem, or that it is assumed."""
        used = axioms()[axiom]
        if used.theorem:
            self.theorems[used.theorem] = None
        else:
            self.assume(used.statement)

    def input(self, name: str, facts: TensorFacts) -> Term:
        """The value of a graph input."""
        return self._unique(("input", name), "input", name, (), 0, facts)

    def fresh(self, operator: str, facts: TensorFacts, origin: str) -> Term:
        """A term that equals no other: nothing is known of its value."""
        number = next(self._numbers)
        return Term(number, operator, ("fresh", number), (), 0, facts, origin=origin)

    def constant(self, array: Array, facts: TensorFacts, narrowed: Narrowed | None = None) -> Term:
        """A constant, found by a digest and compared byte by byte; one that was narrowed is another one."""
        mark = None if narrowed is None else _mark(narrowed)
        array = np.ascontiguousarray(array) if array.ndim else array
        bucket = self._constants.setdefault((array.dtype, array.shape, _digest(array), mark), [])
        for part in bucket:
            if part.array is not None and _same_bytes(part.array, array):
                return part
        term = Term(next(self._numbers), "constant", None, (), 0, facts, array=array)
        bucket.append(term)
        if narrowed is not None and self.narrowings is not None:
            self.narrowings.constants[term.number] = narrowed
            self.rest_on("narrowed-constant")
        return term

    def narrowing_of(self, term: Term) -> Narrowed | None:
        """How a constant was narrowed; None where it was not."""
        return None if self.narrowings is None else self.narrowings.constants.get(term.number)

    def moved(self, inputs: Sequence[Term], places: Array | None, facts: TensorFacts) -> Term:
        """Elements of terms in another order; see `movements.moved`, which brings them to their normal form."""
        kind, shape = facts.type, facts.shape
        numbers = tuple([operand.number for operand in inputs])
        bucket = self._moved.setdefault((numbers, kind, shape, None if places is None else _digest(places)), [])
        for part in bucket:
            if (part.places is None and places is None) or (
                part.places is not None and places is not None and np.array_equal(part.places, places)
            ):
                return part
        term = Term(next(self._numbers), "moved", None, tuple(inputs), 0, facts, places=places)
        bucket.append(term)
        return term

    def applied(
        self,
        operator: str,
        key: Hashable,
        inputs: Sequence[Term | None],
        output: int,
        facts: TensorFacts,
        *,
        application: Application | None = None,
        domain: str = "",
        origin: str = "",
    ) -> Term:
        """An output of an operator."""
        if operator in OWN:
            operator = f"operator {operator}"
        numbers = tuple([0 if operand is None else operand.number for operand in inputs])
        identity = ("applied", domain, operator, key, numbers, output)
        return self._unique(identity, operator, key, tuple(inputs), output, facts, application, domain, origin)

    def ideal(self, operator: str, term: Term) -> Term:
        """The output of an operator that equals a term over the reals; nothing is known of its roundings."""
        return self._unique(("ideal", operator, term.number), "ideal", operator, (term,), 0, term.facts)

    def quotient(self, dividend: Term | None, divisor: Term, facts: TensorFacts) -> Term:
        """The quotient of two values over the reals, broadcast to the shape of the facts; None stands for 1."""
        number = 0 if dividend is None else dividend.number
        identity = ("quotient", number, divisor.number, repr(facts.shape))
        return self._unique(identity, "quotient", None, (dividend, divisor), 0, facts)

    def narrowed(self, term: Term, passage: Passage) -> Term:
        """A value after it passed through integers (`narrowings.py`)."""
        return self._unique(("narrowed", passage, term.number), "narrowed", passage, (term,), 0, term.facts)

    def _unique(
        self,
        identity: Hashable,
        operator: str,
        key: Hashable,
        inputs: tuple[Term | None, ...],
        output: int,
        facts: TensorFacts,
        application: Application | None = None,
        domain: str = "",
        origin: str = "",
    ) -> Term:
        term = self._known.get(identity)
        if term is None:
            term = self._known[identity] = Term(
                next(self._numbers), operator, key, inputs, output, facts,
                application=application, domain=domain, origin=origin,
            )  # fmt: skip
        return term


def first_names(values: Mapping[str, Term]) -> dict[int, str]:
    """The first name of each term, by its number."""
    names: dict[int, str] = {}
    for name, term in values.items():
        names.setdefault(term.number, name)
    return names


def run_domain(edition: str | None) -> RunDomain:
    """How calls are prepared of models whose operators the texts of an edition define."""
    return RunDomain(active_rules(edition), conforming=False)


def empty_store(edition: str | None) -> Store:
    """A store without terms, for models whose operators the texts of an edition define."""
    return Store(run_domain(edition))


def _mark(narrowed: Narrowed) -> Hashable:
    """Equal constants with equal marks were narrowed alike."""
    radii = b"" if narrowed.own_radii is None else sha256(np.ascontiguousarray(narrowed.own_radii).tobytes())
    return narrowed.element, narrowed.quantum, radii


def _digest(array: Array) -> Hashable:
    if array.dtype == TEXT:
        return tuple(array.reshape(-1).tolist())
    data = _bytes(array)
    ends = zlib.crc32(data[:DIGESTED].tobytes()), zlib.crc32(data[-DIGESTED:].tobytes())
    step = max(1, len(data) // DIGESTED)
    return len(data), *ends, zlib.crc32(data[::step].tobytes())


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _same_bytes(one: Array, other: Array) -> bool:
    """Whether two arrays of one type and shape agree in every bit."""
    if one is other:
        return True
    if one.dtype == TEXT:
        return bool((one == other).all())
    return bool(np.array_equal(_bytes(one), _bytes(other)))
