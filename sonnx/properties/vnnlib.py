"""Properties in VNN-LIB 1.0, the format of the verification competitions (https://www.vnnlib.org).

A file declares X_i and Y_j and asserts formulas of `and`, `or`, `<=` and `>=` over linear terms; an assignment that
satisfies all of them violates the property.  Inputs are compared with constants, outputs by linear terms.  Numbers are
numerals and decimals of SMT-LIB, with a sign and an exponent as published properties have them; they are read exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple, TypeAlias

from sonnx.base.errors import BadInput
from sonnx.base.escaping import quote
from sonnx.model.ir import Model
from sonnx.properties.property import (
    MAX_FLOAT,
    Atom,
    Interval,
    Property,
    Task,
    box_of_ends,
    elements_of,
    output_of,
    require_not_empty,
)  # fmt: skip

MAX_CASES = 100_000
"""Conjunctions of a property."""
MAX_DEPTH = 200
MAX_DIGITS = 1000
"""Digits of a number before its exponent."""
MAX_EXPONENT_DIGITS = 3
TOKEN = re.compile(r"(?P<remark>;[^\n\r]*)|[()]|[^ \t\r\n();]+")
VARIABLE = re.compile(r"[XY]_(?:0|[1-9][0-9]{0,8})")
NUMBER = re.compile(r"-?(?P<digits>(?:0|[1-9][0-9]*)(?:\.[0-9]+)?)(?:[eE][+-]?(?P<exponent>[0-9]+))?")

Term: TypeAlias = "str | list[Term]"
Linear = dict[str, Fraction]
"""Coefficients by variable; "" is the constant."""


class AtMostZero(NamedTuple):
    """That a linear term is at most 0; below 0 where it is strict."""

    terms: Linear
    is_strict: bool = False


Conjunction = tuple[AtMostZero, ...]


def property_of_vnnlib(text: str, model: Model, name: str, *, round_inputs: bool = False) -> Property:
    """The property that a file states about a model.

    Args:
        text: of the file.
        model: what it is about.
        name: of the file.
        round_inputs: an input that is fixed to a decimal takes the nearest number of its element type.

    Raises:
        BadInput: the text is not VNN-LIB 1.0, or is about other inputs or outputs; with the line.
    """
    declared = set[str]()
    conjunctions: list[Conjunction] = [()]
    for line, command in commands_of(text):
        try:
            if isinstance(command, list) and command[:1] == ["declare-const"] and len(command) == 3:
                declared.add(_declared(command))
            elif isinstance(command, list) and command[:1] == ["assert"] and len(command) == 2:
                added = _cases(command[1], declared)
                if len(added) * len(conjunctions) > MAX_CASES:
                    raise BadInput(f"the assertions have more than {MAX_CASES} cases")
                conjunctions = [(*one, *other) for one, other in product(conjunctions, added)]
            else:
                raise BadInput("a command is (declare-const NAME Real) or (assert FORMULA)")
        except BadInput as error:
            raise BadInput(f"{name}, line {line}: {error}") from None
    try:
        _require_declared(declared, model)
        return property_of_cases(name, conjunctions, model, round_inputs=round_inputs)
    except BadInput as error:
        raise BadInput(f"{name}: {error}") from None


def commands_of(text: str) -> Iterator[tuple[int, Term]]:
    """The top-level terms with the lines on which they begin."""
    stack: list[list[Term]] = []
    begin = line = 1
    counted = 0
    for token in TOKEN.finditer(text):
        if token["remark"]:
            continue
        word = token[0]
        line, counted = line + text.count("\n", counted, token.start()), token.start()
        begin = begin if stack else line
        if word == "(":
            if len(stack) == MAX_DEPTH:
                raise BadInput(f"line {line}: parentheses nest more than {MAX_DEPTH} deep")
            stack.append([])
        elif word == ")":
            if not stack:
                raise BadInput(f"line {line}: a parenthesis closes that was not opened")
            done = stack.pop()
            if stack:
                stack[-1].append(done)
            else:
                yield begin, done
        elif stack:
            stack[-1].append(word)
        else:
            raise BadInput(f"line {line}: {quote(word)} stands outside parentheses")
    if stack:
        raise BadInput(f"line {begin}: a parenthesis is not closed")


def _declared(command: list[Term]) -> str:
    name, kind = command[1], command[2]
    if not isinstance(name, str) or not VARIABLE.fullmatch(name) or kind != "Real":
        raise BadInput("a declaration names X_I or Y_J, of type Real")
    return name


def _require_declared(declared: set[str], model: Model) -> None:
    """Refuse a property of a model with other inputs or outputs."""
    sizes = {
        "X": sum(elements_of(value) for value in model.graph.inputs if value.name not in _constants(model)),
        "Y": elements_of(output_of(model)),
    }
    for letter, what in (("X", "input"), ("Y", "output")):
        expected = {f"{letter}_{index}" for index in range(sizes[letter])}
        declared_here = {name for name in declared if name[0] == letter}
        if declared_here != expected:
            odd = sorted(declared_here ^ expected, key=lambda name: (len(name), name))[0]
            state = "declares" if odd in declared_here else "does not declare"
            raise BadInput(f"the model has {len(expected)} {what} elements; the property {state} {odd}")


def _constants(model: Model) -> set[str]:
    return {tensor.name for tensor in model.graph.initializers}


def _cases(term: Term, declared: set[str]) -> list[Conjunction]:
    """The disjunctive normal form: conjunctions of linear terms that are at most 0."""
    if not isinstance(term, list) or not term or not isinstance(term[0], str):
        raise BadInput(f"{_shown(term)} is not a formula")
    word, parts = term[0], term[1:]
    if word in ("<=", ">="):
        if len(parts) != 2:
            raise BadInput(f"{word} compares two terms")
        left, right = (_linear(part, declared) for part in parts)
        return [(AtMostZero(linear_sum(left, right, -1) if word == "<=" else linear_sum(right, left, -1)),)]
    if word == "and":
        return cases_of_all([_cases(part, declared) for part in parts])
    if word == "or" and parts:
        return [case for part in parts for case in _cases(part, declared)]
    if word in ("<", ">"):
        raise BadInput(f"VNN-LIB 1.0 compares with <= and >=, not with {word}")
    raise BadInput(f"{_shown(term)} is not a formula of and, or, <= and >=")


def cases_of_all(parts: Iterable[Sequence[Conjunction]]) -> list[Conjunction]:
    """The cases of a conjunction, from those of its parts.

    Raises:
        BadInput: there are too many.
    """
    conjunctions: list[Conjunction] = [()]
    for cases in parts:
        if len(cases) * len(conjunctions) > MAX_CASES:
            raise BadInput(f"a formula has more than {MAX_CASES} cases")
        conjunctions = [(*one, *other) for one, other in product(conjunctions, cases)]
    return conjunctions


def _linear(term: Term, declared: set[str]) -> Linear:
    if isinstance(term, str):
        if VARIABLE.fullmatch(term):
            if term not in declared:
                raise BadInput(f"{term} is not declared")
            return {term: Fraction(1)}
        return {"": number_of(term)}
    if not term or not isinstance(term[0], str):
        raise BadInput(f"{_shown(term)} is not a term")
    word, parts = term[0], [_linear(name, declared) for name in term[1:]]
    if word == "+" and parts:
        total = parts[0]
        for part in parts[1:]:
            total = linear_sum(total, part, 1)
        return total
    if word == "-" and len(parts) == 1:
        return {name: -factor for name, factor in parts[0].items()}
    if word == "-" and parts:
        total = parts[0]
        for part in parts[1:]:
            total = linear_sum(total, part, -1)
        return total
    if word == "*" and len(parts) == 2:
        for one, other in (parts, parts[::-1]):
            if one.keys() <= {""}:
                return {name: factor * one.get("", Fraction(0)) for name, factor in other.items()}
        raise BadInput(f"{_shown(term)} is not linear")
    raise BadInput(f"{_shown(term)} is not a term of +, - and *")


def number_of(text: str) -> Fraction:
    """The number that a word is, exactly.

    Raises:
        BadInput: it is not a number, or has too many digits.
    """
    number = NUMBER.fullmatch(text)
    if number is None:
        raise BadInput(f"{_shown(text)!r} is not a number, and not X_I or Y_J")
    if len(number["digits"]) > MAX_DIGITS or len((number["exponent"] or "").lstrip("0")) > MAX_EXPONENT_DIGITS:
        raise BadInput(
            f"{_shown(text)!r} has more than {MAX_DIGITS} digits, or more than {MAX_EXPONENT_DIGITS} in its exponent"
        )
    value = Fraction(text)
    if abs(value) > MAX_FLOAT:
        raise BadInput(f"{_shown(text)!r} is beyond the numbers of type double")
    return value


def linear_sum(one: Linear, other: Linear, sign: int) -> Linear:
    """One term plus another one, or minus it."""
    total = dict(one)
    for name, factor in other.items():
        total[name] = total.get(name, Fraction(0)) + sign * factor
    return total


def property_of_cases(
    name: str, conjunctions: Iterable[Conjunction], model: Model, *, round_inputs: bool = False
) -> Property:
    """The conjunctions by their boxes.

    A comparison of one input is an end of the box; others are atoms.  A strict end of a box is taken as one that
    belongs to it.  A conjunction with an empty box says nothing, nor does one with a false comparison of constants.
    """
    by_box: dict[tuple[tuple[int, Interval], ...], list[tuple[Atom, ...]]] = {}
    empty: list[BadInput] = []
    is_silent = False
    for conjunction in conjunctions:
        ends: dict[int, Interval] = {}
        atoms: list[Atom] = []
        for linear, is_strict in conjunction:
            used = {variable: factor for variable, factor in linear.items() if variable and factor}
            bound = -linear.get("", Fraction(0))
            if any(variable[0] == "X" for variable in used):
                _narrow(ends, used, bound)
            else:
                atoms.append(
                    Atom(tuple((int(variable[2:]), factor) for variable, factor in used.items()), bound, is_strict)
                )
        try:
            require_not_empty(ends)
        except BadInput as reason:
            empty.append(reason)
            continue
        is_silent |= not any(variable[:1] == "Y" for linear, _ in conjunction for variable in linear)
        unsafe = by_box.setdefault(tuple(sorted(ends.items())), [])
        if all(atom.coefficients or atom.bound > 0 or (atom.bound == 0 and not atom.is_strict) for atom in atoms):
            unsafe.append(tuple(atom for atom in atoms if atom.coefficients) or tuple(atoms[:1]))
    if not by_box:
        raise empty[0]
    rounded = 0
    tasks: list[Task] = []
    for box_ends, sets in by_box.items():
        box = box_of_ends(model, dict(box_ends), round_inputs=round_inputs)
        rounded += box.rounded
        tasks.append(Task(box.box, tuple(sets)))
    if is_silent:
        raise BadInput("a case of the property asserts nothing about the outputs")
    return Property(name, tuple(tasks), empty_boxes=len(empty), rounded_inputs=rounded)


def _narrow(ends: dict[int, Interval], used: Linear, bound: Fraction) -> None:
    """Take factor · X_i <= bound into account."""
    if len(used) != 1:
        raise BadInput(f"inputs are compared with constants only; {', '.join(sorted(used))} stand in one comparison")
    [(name, factor)] = used.items()
    index, end = int(name[2:]), bound / factor
    low, high = ends.get(index, (None, None))
    if factor > 0:
        high = end if high is None else min(high, end)
    else:
        low = end if low is None else max(low, end)
    ends[index] = low, high


def _shown(term: Term) -> str:
    text = term if isinstance(term, str) else f"({' '.join(_shown(part) for part in term)})"
    return text if len(text) <= 60 else f"{text[:57]}…"
