"""Values of the SMT interpretation for numbers in place of the variables, without a solver: substituted and simplified.

Many values are computed at once, because they share terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import z3

from sonnx.language.evaluator import Unknown, UnknownCause
from sonnx.prover.smt_values import PartialValue, RecordValue, SymbolicList, SymbolicNumber, SymbolicString
from sonnx.prover.terms import variables_in

NOT_DEFINED = Unknown(UnknownCause.UNDEFINED, "an obligation fails")
UNSPECIFIED = Unknown(UnknownCause.UNDEFINED, "SMT-LIB does not say, as for a division by 0")


class GroundTerms:
    """Values of the SMT interpretation, to be read for numbers again and again.

    `codes` are the codes of strings.
    """

    def __init__(self, values: Sequence[Any], codes: Mapping[str, int]) -> None:
        self.values = values
        self.texts = {code: text for text, code in codes.items()}
        self.terms = list({part.get_id(): part for value in values for part in _terms(value)}.values())
        self.variables = {each.decl().name(): each for each in variables_in(*self.terms)}
        self.ids = [part.get_id() for part in self.terms]
        sorts = [part.sort() for part in self.terms]
        self.together = z3.Function("together", *sorts, z3.BoolSort())(*self.terms) if sorts else None

    def read(self, numbers: Mapping[str, int]) -> list[Any]:
        """The values as the evaluator represents them; a variable without a number is 0."""
        known: dict[int, Any] = {}
        if self.together is not None:
            pairs = [
                (each, _literal(numbers.get(name, 0), each.sort().kind())) for name, each in self.variables.items()
            ]
            ground = z3.simplify(z3.substitute(self.together, *pairs))
            known = dict(zip(self.ids, _constants(ground), strict=True))
        return [self._value(value, known) for value in self.values]

    def _value(self, value: Any, known: Mapping[int, Any]) -> Any:
        match value:
            case PartialValue():
                inner = self._value(value.value, known)
                return inner if self._value(value.defined, known) else NOT_DEFINED
            case SymbolicList():
                return tuple(
                    [self._value(item, known) for there, item in value.items if self._value(there, known) is True]
                )
            case SymbolicString():
                return self.texts.get(known[value.term.get_id()], known[value.term.get_id()])
            case SymbolicNumber():
                return known[value.term.get_id()]
            case z3.ExprRef():
                return known[value.get_id()]
        return value


def _terms(value: Any) -> Iterator[z3.ExprRef]:
    match value:
        case PartialValue():
            yield from _terms(value.value)
            yield from _terms(value.defined)
        case SymbolicList():
            for present, item in value.items:
                yield from _terms(present)
                yield from _terms(item)
        case RecordValue():
            return
        case SymbolicNumber() | SymbolicString():
            yield value.term
        case z3.ExprRef():
            yield value


def agree(value: Any, fact: Any) -> bool:
    """Whether values of the two interpretations are equal; lists have what is not defined at the same places."""
    if isinstance(value, tuple) and isinstance(fact, tuple):
        return len(value) == len(fact) and all(map(agree, value, fact))
    if isinstance(value, Unknown) or isinstance(fact, Unknown):
        return value == fact or (value is NOT_DEFINED and isinstance(fact, Unknown))
    return bool(value == fact) and isinstance(value, bool) is isinstance(fact, bool)


@cache
def _literal(value: int | Fraction, sort: int) -> z3.ExprRef:
    if sort == z3.Z3_BOOL_SORT:
        return z3.BoolVal(bool(value))
    return z3.RealVal(str(value)) if sort == z3.Z3_REAL_SORT else z3.IntVal(value)


def _constants(term: z3.ExprRef) -> Iterator[Any]:
    """The arguments of a term; by the functions of the library, because an object for each takes most of the time."""
    context, whole = term.ctx_ref(), term.as_ast()
    for index in range(z3.Z3_get_app_num_args(context, whole)):
        part = z3.Z3_get_app_arg(context, whole, index)
        if z3.Z3_get_ast_kind(context, part) == z3.Z3_NUMERAL_AST:
            text = z3.Z3_get_numeral_string(context, part)
            yield Fraction(text) if "/" in text else int(text)
        else:
            yield {z3.Z3_L_TRUE: True, z3.Z3_L_FALSE: False}.get(z3.Z3_get_bool_value(context, part), UNSPECIFIED)
