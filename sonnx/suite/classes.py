"""What the structure classes of an operator are: terms of the solver, each with a name.

Facts come first, then numbers and texts of parameters, then the comparisons of the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain, product

import z3

from sonnx.language.domain import written_key
from sonnx.prover.call_variables import element as element_of
from sonnx.prover.signature_family import SignatureFamily
from sonnx.prover.smt_functions import ELEMENT_TYPES
from sonnx.prover.smt_values import bool_term

EXTENTS = (0, 1, 2, 3, 5)
"""Extents that are classes; 5 is one more than a vector instruction often takes."""
WIDE_NUMBERS = (("int32", 24), ("int64", 24), ("int64", 32), ("int64", 53))
"""Integer types, and exponents of the first whole numbers that a narrower type does not have."""
NAME_LENGTH = 90
_COMPARISONS = {z3.Z3_OP_LE, z3.Z3_OP_GE, z3.Z3_OP_LT, z3.Z3_OP_GT, z3.Z3_OP_EQ}


class ClassSubject(Enum):
    """What a class is about, where it is combined with others."""

    FIRST_TYPE = auto()
    """The element type of the first input."""
    FURTHER_TYPE = auto()
    """That of another input."""
    FIRST_RANK = auto()
    """The rank of the first input."""
    COUNT = auto()
    """How many tensors a variadic input has."""
    TEXT = auto()
    """The text of an attribute."""
    NUMBER = auto()
    """One number of a list."""
    SCALAR = auto()
    """The number of an attribute that has one."""
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Literal:
    """A class: its name, the rule whose comparison it splits ("" for none), its term, and what it is about."""

    name: str
    rule: str
    term: z3.BoolRef
    subject: ClassSubject = ClassSubject.OTHER


def literals_of(family: SignatureFamily) -> Iterator[Literal]:
    """The classes: of facts, then of the comparisons of the rules."""
    outputs = {output.name for output in family.signature.outputs}
    first = next((name for name, tensor in family.variables.tensors.items() if tensor.formal not in outputs), "")
    for name, tensor in family.variables.tensors.items():
        there = bool_term(tensor.present)
        typed_as = ClassSubject.FIRST_TYPE if name == first else ClassSubject.FURTHER_TYPE
        if tensor.formal in outputs:
            for axis, extent in enumerate(extents_of(family, name)):
                for number in EXTENTS[:2]:
                    has_extent = z3.And(there, z3.Int(f"{name}.rank") > axis, extent == number)
                    yield Literal(f"{name} has extent {number} on axis {axis}", "", has_extent)
            continue
        for code, element in enumerate(ELEMENT_TYPES):
            typed = z3.And(there, z3.Int(f"{name}.type") == code)
            yield Literal(f"{name} is {element}", "", typed, typed_as)
        extents = extents_of(family, name)
        ranked_as = ClassSubject.FIRST_RANK if name == first else ClassSubject.OTHER
        for rank in range(len(extents) + 1):
            has_rank = z3.And(there, z3.Int(f"{name}.rank") == rank)
            yield Literal(f"{name} has rank {rank}", "", has_rank, ranked_as)
        for axis, extent in enumerate(extents):
            for number in EXTENTS:
                has_extent = z3.And(there, z3.Int(f"{name}.rank") > axis, extent == number)
                yield Literal(f"{name} has extent {number} on axis {axis}", "", has_extent)
    for operand in family.signature.inputs:
        if operand.variadic:
            for count in range(family.bounds.count + 1):
                counted = z3.Int(f"{operand.name}.count") == count
                yield Literal(f"{count} inputs {operand.name}", "", counted, ClassSubject.COUNT)
    for parameter in family.signature.attributes:
        written = family.variables.names.get(written_key(parameter.name))
        if parameter.kind == "tensor" and written is not None:
            for code, element in enumerate(ELEMENT_TYPES):
                term = z3.And(bool_term(written), z3.Int(f"{parameter.name}.type") == code)
                yield Literal(f"{parameter.name} is {element}", "", term)
    yield from _parameters(family)
    for name in with_read_elements(family):
        there = bool_term(family.variables.tensors[name].present)
        for element_type, bits in WIDE_NUMBERS:
            typed = z3.And(there, z3.Int(f"{name}.type") == ELEMENT_TYPES.index(element_type))
            term = z3.And(typed, element_of(name).term == 2**bits + 1)
            yield Literal(f"{name} is {element_type} 2^{bits} + 1", "", term)
    for question, truth in family.variables.names.items():
        if question.endswith(")") and z3.is_expr(truth):
            yield Literal(question, "", truth)
            yield Literal(f"not {question}", "", z3.Not(truth))
    known: set[frozenset[int]] = set()
    for rule in family.rules:
        for number, (left, right) in enumerate(_comparisons(bool_term(family.holds(rule)))):
            sides = frozenset((left.get_id(), right.get_id()))  # equal terms are one term of the solver
            if sides in known:
                continue
            known.add(sides)
            texts = _short_texts((left, right))
            for sign, term in (("<", left < right), ("=", left == right), (">", left > right)):
                said = f"{texts[0]} {sign} {texts[1]}" if texts else f"comparison {number} is {sign}"
                yield Literal(f"{rule.slug}: {said}", rule.slug, term)
    for parameter in family.signature.attributes:  # the rules have told which texts there are
        for text, code in family.variables.interpretation.codes.items():
            if parameter.kind == "string" and code >= len(ELEMENT_TYPES):
                written = bool_term(family.variables.names[written_key(parameter.name)])
                term = z3.And(written, z3.Int(f"{parameter.name}.text") == code)
                yield Literal(f"{parameter.name} is {text!r}", "", term, ClassSubject.TEXT)


def _parameters(family: SignatureFamily) -> Iterator[Literal]:
    """The classes of numbers of parameters: each number by its sign, 0 and 1; of a list its length, and the order of
    neighbours and of numbers at the same place of both halves.
    """
    for parameter in (*family.signature.attributes, *family.signature.values):
        name, numbers = parameter.name, numbers_of(family, parameter.name, parameter.kind)
        there = bool_term(family.variables.names[written_key(name)])
        length = z3.Int(f"{name}.length")
        several = parameter.kind.endswith("s")
        subject = ClassSubject.SCALAR if parameter.kind in ("float", "int") else ClassSubject.NUMBER
        for place, number in enumerate(numbers):
            used = z3.And(there, length > place) if several else there
            called = f"{name}[{place}]" if several else name
            for said, term in (
                ("is negative", number < 0), ("is 0", number == 0), ("is 1", number == 1), ("is above 1", number > 1)
            ):  # fmt: skip
                yield Literal(f"{called} {said}", "", z3.And(used, term), subject)
        for count in range(len(numbers) + 1) if several else ():
            yield Literal(f"{count} numbers {name}", "", z3.And(there, length == count))
        pairs = [(place, place + 1, length > place + 1) for place in range(len(numbers) - 1)]
        pairs += [
            (place, place + half, length == 2 * half)
            for half in range(2, len(numbers) // 2 + 1)
            for place in range(half)
        ]
        for place, partner, used in pairs if several else ():
            for sign, term in (("<", numbers[place] < numbers[partner]), (">", numbers[place] > numbers[partner])):
                within = f" of {2 * (partner - place)}" if partner > place + 1 else ""
                yield Literal(f"{name}[{place}] {sign} {name}[{partner}]{within}", "", z3.And(there, used, term))


def combined(literals: Sequence[Literal]) -> Iterable[tuple[int, int]]:
    """Pairs for which kernels are written: the element types of the first input with each number of inputs or text of
    an attribute, these texts with negative and large numbers, the element types of all inputs with the numbers of
    attributes that have one, and the ranks of the first input with negative and large ones of them: an axis that is
    read without its sign is another one for most ranks only.
    """

    def about(*subjects: ClassSubject) -> list[int]:
        return [at for at, literal in enumerate(literals) if literal.subject in subjects]

    types, texts, scalars = about(ClassSubject.FIRST_TYPE), about(ClassSubject.TEXT), about(ClassSubject.SCALAR)
    large = [
        at
        for at in about(ClassSubject.NUMBER, ClassSubject.SCALAR)
        if literals[at].name.endswith(("is negative", "is above 1"))
    ]
    signed_scalars = [at for at in large if literals[at].subject is ClassSubject.SCALAR]
    every_type = about(ClassSubject.FIRST_TYPE, ClassSubject.FURTHER_TYPE)
    return chain(
        product(types, about(ClassSubject.COUNT) or texts),
        product(texts, large),
        product(every_type, scalars),
        product(about(ClassSubject.FIRST_RANK), signed_scalars),
    )


def _short_texts(sides: Sequence[z3.ExprRef]) -> list[str]:
    """Both sides as text; none where they are too long for a name.

    The printer takes most of the time of a suite for terms of thousands of parts, so only small ones reach it.
    """
    parts, waiting = 0, [*sides]
    while waiting:
        term = waiting.pop()
        parts += 1
        if parts > NAME_LENGTH:  # each part has a letter at least
            return []
        waiting += term.children()
    texts = [" ".join(str(side).split()) for side in sides]
    return texts if sum(map(len, texts)) <= NAME_LENGTH else []


def _is_code(side: z3.ExprRef) -> bool:
    """Whether a term is the code of a type or text."""
    return bool(z3.is_const(side) and side.decl().name().endswith((".type", ".text")))


def _comparisons(condition: z3.BoolRef) -> Iterator[tuple[z3.ArithRef, z3.ArithRef]]:
    """The comparisons of numbers in a condition, in the order of its text; those of codes of types are left out."""
    waiting, known = [condition], set[int]()
    while waiting:
        term = waiting.pop()
        if term.get_id() in known or not z3.is_app(term):
            continue
        known.add(term.get_id())
        compares = term.decl().kind() in _COMPARISONS and z3.is_arith(term.arg(0))
        if compares and not any(map(_is_code, term.children())):
            yield term.arg(0), term.arg(1)
        waiting += reversed(term.children())


def with_read_elements(family: SignatureFamily) -> list[str]:
    """The tensors of whose elements rules read, but for those that list the numbers of a parameter."""
    listed = {value.name for value in family.signature.values}
    return sorted((family.variables.with_values - listed) & family.variables.tensors.keys())


def numbers_of(family: SignatureFamily, name: str, kind: str) -> list[z3.ArithRef]:
    """The variables of the solver for the numbers of a parameter; none for one that has no numbers."""
    make = z3.Real if kind.startswith("float") else z3.Int
    if kind in ("int", "float"):
        values = [make(name)] if name not in {value.name for value in family.signature.values} else [make(f"{name}.0")]
    elif kind in ("ints", "floats"):
        values = [make(f"{name}.{index}") for index in range(family.bounds.values)]
    else:
        values = []
    return values


def extents_of(family: SignatureFamily, name: str) -> list[z3.ArithRef]:
    """The variables of the solver for the extents of a tensor, one for each axis that it may have."""
    shape = family.variables.tensors[name].record.fields["shape"]
    return [z3.Int(f"{name}.{axis}") for axis in range(len(shape.items))]
