"""The affine normal form of a term over the reals: a sum of linear images of atoms, and a constant.

    term = L1(atom1) + L2(atom2) + … + b,   L: a factor for each element, a Conv, or a product with a matrix

Scales by channel go into weights, constants into one sum, both as formulas of constants (`constants.py`).  The form
holds over the reals wherever all numbers are finite (theorems equivalence.*); it says nothing about rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from sonnx.equivalence.terms import constants
from sonnx.equivalence.terms.constants import Real
from sonnx.equivalence.terms.store import Store, Term
from sonnx.numerics.broadcasting import AXIS_ATTRIBUTES
from sonnx.operators import operator_facts


@dataclass(frozen=True, eq=False)
class AffinePart:
    """A linear image of an atom.

    Attributes:
        kind: diagonal, conv, product.
        key: what beside weight and atom decides the image: the attributes of a Conv.
        atom: the term.
        weight: the factors; None for the factor 1 of a diagonal.
        reshaped: whether the result has another shape than the image itself.
    """

    kind: str
    key: Hashable
    atom: Term
    weight: Real | None
    reshaped: bool = False


@dataclass(frozen=True, eq=False)
class Affine:
    """A sum of parts and a bias, of a shape; `shape` is None where it is not known, then `rank` may be."""

    parts: tuple[AffinePart, ...]
    bias: Real | None
    shape: tuple[int, ...] | None
    rank: int | None

    def is_atom(self, term: Term) -> bool:
        """Whether the form says nothing: the term itself."""
        return (
            self.bias is None and len(self.parts) == 1 and self.parts[0].kind == "diagonal"
            and self.parts[0].weight is None and self.parts[0].atom is term
        )  # fmt: skip


@dataclass
class Forms:
    """The affine forms of terms, each computed once."""

    store: Store
    _known: dict[int, Affine] = field(default_factory=dict)

    def of(self, term: Term) -> Affine:
        """The affine form of a floating-point term."""
        waiting = [term]
        while waiting:  # operands first: models are deeper than Python's stack
            part = waiting[-1]
            if part.number in self._known:
                waiting.pop()
                continue
            needed = [operand for operand in _read(part) if operand.number not in self._known]
            if needed:
                waiting += needed
                continue
            self._known[part.number] = self._built(part)
            waiting.pop()
        return self._known[term.number]

    def _built(self, term: Term) -> Affine:
        builder = None if term.domain or broadcasts_along_axis(term) else BUILDERS.get(term.operator)
        complete = builder is not None and len(term.inputs) in builder.operands
        affine = builder.build(self, term) if builder is not None and term.is_float and complete else None
        return affine or atom(term)

    def real(self, constant: Term) -> Real:
        """The numbers of a constant."""
        return constants.leaf_of(self.store, constant)


class _Builder(NamedTuple):
    """What gives the form of an operator, and how many operands the operator has; a node that is not valid ONNX may
    have other numbers of them.
    """

    build: Callable[[Forms, Term], Affine | None]
    operands: range


BUILDERS: dict[str, _Builder] = {}
"""What gives the forms of operators, by their names (`affine_operators.py` registers them)."""

Build: TypeAlias = Callable[[Forms, Term], Affine | None]


def affine_form_of(operator: str, least: int, most: int | None = None) -> Callable[[Build], Build]:
    """Register what gives the form of the terms of an operator with `least` to `most` operands."""

    def register(build: Build) -> Build:
        BUILDERS[operator] = _Builder(build, range(least, (least if most is None else most) + 1))
        return build

    return register


def broadcasts_along_axis(term: Term) -> bool:
    """Whether the operands are broadcast along an axis, as before operator set 7."""
    if term.application is None or term.application.attributes.keys().isdisjoint(AXIS_ATTRIBUTES):
        return False
    return operator_facts(term.operator, term.domain).axis_broadcasting


def atom(term: Term) -> Affine:
    """The form of a term of which nothing is known."""
    return Affine((AffinePart("diagonal", None, term, None),), None, term.shape, term.rank)


def _read(term: Term) -> list[Term]:
    """The operands whose form the form of a term is made of."""
    if term.operator not in BUILDERS or term.domain or not term.is_float:
        return []
    listed = term.inputs[:1] if term.operator in ("BatchNormalization", "Conv") else term.inputs
    return [part for part in listed if part is not None and part.is_float and not part.is_constant]
