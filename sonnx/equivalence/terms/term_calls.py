"""A call of an operator on terms, and the normal forms of single operators.

A normal form is a function that a module registers for the operator whose meaning it knows: it gives an equal call on
other terms, or the terms of the outputs, or None where it changes nothing.  `simplified` applies them until none does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from sonnx.equivalence.terms.store import Store, Term
from sonnx.language.evaluator import RUN_TIME, TensorFacts
from sonnx.model.ir import Attribute
from sonnx.numerics.application import Application
from sonnx.numerics.broadcasting import AXIS_ATTRIBUTES
from sonnx.operators import StatedOperator, operator_facts

SQUARE = ("square",)
"""The key of a Mul of an operand with itself, which has it once."""


@dataclass(frozen=True)
class TermCall:
    """A call of an operator on terms.

    Attributes:
        operator: the name of the operator.
        domain: its domain, "" for the standard one.
        key: what beside the operands decides the outputs (`keys.py`).
        operands: the inputs that the key does not have; None for one that is left out.
        outputs: type and shape of each output; dimensions may be unknown.
        operator_set: whose version of the operator is in force.
        written: the attributes of the node.
        application: how the executor applies the operator; None where it has no definition.
    """

    operator: str
    domain: str
    key: Hashable
    operands: tuple[Term | None, ...]
    outputs: tuple[TensorFacts, ...]
    operator_set: int | None
    written: tuple[Attribute, ...]
    application: Application | None = None

    @cached_property
    def stated(self) -> StatedOperator:
        """What is known of the operator."""
        return operator_facts(self.operator, self.domain)

    @property
    def is_along_axis(self) -> bool:
        """Whether attributes say that the second operand is broadcast along an axis, as before operator set 7."""
        return self.stated.axis_broadcasting and any(attribute.name in AXIS_ATTRIBUTES for attribute in self.written)

    @cached_property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the first output, None where a dimension is not known."""
        shape = self.outputs[0].shape if self.outputs else None
        if not isinstance(shape, tuple) or any(type(extent) is not int for extent in shape):
            return None
        return tuple(shape)  # type: ignore[arg-type]  # whole numbers

    def terms(self, store: Store) -> list[Term]:
        """The outputs as the operator gives them."""
        return [
            store.applied(
                self.operator,
                self.key,
                self.operands,
                index,
                facts._replace(values=RUN_TIME),
                application=self.application,
                domain=self.domain,
            )
            for index, facts in enumerate(self.outputs)
        ]


NormalForm: TypeAlias = Callable[[Store, TermCall], TermCall | list[Term] | None]

EVERY_OPERATOR = ""
"""In the place of an operator: the normal form asks the registry of operators itself."""

_NORMAL_FORMS: dict[str, list[NormalForm]] = {}
_OF_ANY_SHAPE: set[NormalForm] = set()


def normal_form_of(*operators: str, any_shape: bool = False) -> Callable[[NormalForm], NormalForm]:
    """Register a normal form of operators of the standard domain.

    Args:
        operators: their names.
        any_shape: the form holds where dimensions of the operands are not known, too.
    """

    def register(form: NormalForm) -> NormalForm:
        for operator in operators:
            _NORMAL_FORMS.setdefault(operator, []).append(form)
        if any_shape:
            _OF_ANY_SHAPE.add(form)
        return form

    return register


def normal_forms(call: TermCall) -> Sequence[NormalForm]:
    """The normal forms of the operator of a call."""
    if call.domain:
        return ()
    forms = [*_NORMAL_FORMS.get(call.operator, ()), *_NORMAL_FORMS.get(EVERY_OPERATOR, ())]
    shapes_known = call.shape is not None and all(
        operand is None or operand.shape is not None for operand in call.operands
    )
    return forms if shapes_known else [form for form in forms if form in _OF_ANY_SHAPE]


def simplified(store: Store, call: TermCall) -> TermCall | list[Term]:
    """The call in its normal form, or the terms of its outputs."""
    changed = True
    while changed:
        changed = False
        for form in normal_forms(call):
            simpler = form(store, call)
            if isinstance(simpler, list):
                return simpler
            if simpler is not None:
                call, changed = simpler, True
                if form not in normal_forms(call):  # it has become a call of another operator
                    break
    return call
