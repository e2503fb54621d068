"""An evaluator of the terms that `sonnx export coq` writes, as proofs/coq/evaluation.v defines it, in Python.

It reads the text of a term, so that a test without Coq can say what an exported expression means.  Values are those of
the evaluator of the check; of an unknown only the cause and the symbol count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import floor, isfinite
from typing import Any

from sonnx.language.evaluator import TensorFacts, Unknown, UnknownCause

Term = Any
"""An atom, a quoted text as a pair of "text" and the text, or a list of terms."""
Names = Mapping[str, Any]
UNDEFINED = Unknown(UnknownCause.UNDEFINED, "")
_TOKEN = re.compile(r'\s*(?:([()])|"((?:[^"]|"")*)"|([^\s()"]+))')


def read(text: str) -> Term:
    """The term in a text."""
    tokens = _TOKEN.finditer(text)
    term = _term(next(tokens), tokens)
    if next(tokens, None) is not None:
        raise ValueError(f"more than one term: {text}")
    return term


def _term(token: re.Match[str], tokens: Iterator[re.Match[str]]) -> Term:
    if token[1] == "(":
        parts = []
        while (token := next(tokens))[1] != ")":
            parts.append(_term(token, tokens))
        return parts[0] if len(parts) == 1 and isinstance(parts[0], str) and _is_number(parts[0]) else parts
    return token[3] if token[3] is not None else ("text", (token[2] or "").replace('""', '"'))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+", text) is not None


def constructors(term: Term) -> set[str]:
    """The constructors, signs and functions in a term."""
    if isinstance(term, str):
        return {term}
    return set() if isinstance(term, tuple) else set().union(*map(constructors, term))


def strict(parts: Sequence[Any], known: Any) -> Any:
    """What is known only if all parts are; the strongest cause else."""
    causes = [part.cause for part in parts if isinstance(part, Unknown)]
    return Unknown(max(causes), "") if causes else known


def kleene(end: bool, parts: Sequence[Any]) -> Any:
    """A conjunction where `end` is false, a disjunction where it is true."""
    return end if any(part is end for part in parts) else strict(parts, not end)


def negation(value: Any) -> Any:
    return Unknown(value.cause, "") if isinstance(value, Unknown) else not value


def number(value: Any) -> bool:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> Any:
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        same = isinstance(left, Unknown) and isinstance(right, Unknown) and left.symbol and left.symbol == right.symbol
        return True if same else strict((left, right), UNDEFINED)
    if is_list(left) and is_list(right):
        if len(left) != len(right):
            return False
        return kleene(False, [equal(*pair) for pair in zip(left, right, strict=True)])
    if number(left) and number(right):
        return left == right
    return type(left) is type(right) and left == right


def is_list(value: Any) -> bool:
    return isinstance(value, tuple) and not isinstance(value, TensorFacts)


def on_list(value: Any, function: Callable[[tuple[Any, ...]], Any]) -> Any:
    if isinstance(value, Unknown):
        return Unknown(value.cause, "")
    return function(value) if is_list(value) else UNDEFINED


def calculate(sign: str, left: Any, right: Any) -> Any:
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return strict((left, right), UNDEFINED)
    if is_list(left) and is_list(right):
        return (*left, *right) if sign == "Plus" else UNDEFINED
    if not all(number(side) and isfinite(side) for side in (left, right)):
        return UNDEFINED
    x, y = (side if isinstance(side, int) else Fraction(side) for side in (left, right))
    match sign:
        case "Plus":
            return x + y
        case "Minus":
            return x - y
        case "Times":
            return x * y
        case "Quotient":
            return floor(Fraction(x) / y) if y > 0 else UNDEFINED
        case "Remainder":
            return x - y * floor(Fraction(x) / y) if y > 0 else UNDEFINED
    raise ValueError(sign)


def same(left: Any, right: Any) -> bool:
    if is_list(left) and is_list(right):
        return len(left) == len(right) and all(map(same, left, right))
    floats = isinstance(left, float | Fraction) and isinstance(right, float | Fraction)
    kinds = floats or (type(left) is type(right) and isinstance(left, int | str | bool))
    return kinds and (left == right or (left != left and right != right))


def apply(function: str, items: tuple[Any, ...]) -> Any:
    match function:
        case "Len":
            return len(items)
        case "Sum":
            return total("Plus", 0, items)
        case "Product":
            return 0 if any(equal(item, 0) is True for item in items) else total("Times", 1, items)
        case "Largest":
            return strict(items, max(items)) if items and not any(map(is_unknown, items)) else strict(items, UNDEFINED)
        case "Smallest":
            return strict(items, min(items)) if items and not any(map(is_unknown, items)) else strict(items, UNDEFINED)
        case "All":
            return kleene(False, items)
        case "Any":
            return kleene(True, items)
        case "Distinct":
            pairs = [(items[i], items[j]) for i in range(len(items)) for j in range(i + 1, len(items))]
            return kleene(False, [negation(equal(*pair)) for pair in pairs])
    raise ValueError(function)


def is_unknown(value: Any) -> bool:
    return isinstance(value, Unknown)


def total(sign: str, start: int, items: tuple[Any, ...]) -> Any:
    found: Any = start
    for item in items:
        found = calculate(sign, found, item)
    return strict(items, found)


def field(record: Any, name: str) -> Any:
    if isinstance(record, Unknown):
        return Unknown(record.cause, "")
    if name == "rank":
        return on_list(record.shape, len)
    return getattr(record, name)


def evaluate(term: Term, names: Names) -> Any:
    """The value of a term."""
    if term == "Nil":
        return ()
    if term == "Undefined":
        return UNDEFINED
    if term == "Always":
        return True
    head, *parts = term

    def value(index: int, scope: Names = names) -> Any:
        return evaluate(parts[index], scope)

    match head:
        case "Int":
            return int(parts[0])
        case "Float":
            return Fraction(int(parts[0][1]), int(parts[0][2]))
        case "Text":
            return parts[0][1]
        case "Name":
            return names[parts[0][1]]
        case "Cons":
            return on_list(value(1), lambda rest: (value(0), *rest))
        case "Field":
            return field(value(0), parts[1][1])
        case "Item":
            return item(value(0), value(1))
        case "Part":
            return part(value(0), value(1), value(2))
        case "Arithmetic":
            return calculate(parts[0], value(1), value(2))
        case "Negative":
            operand = value(0)
            return Unknown(operand.cause, "") if is_unknown(operand) else -operand
        case "Compare":
            return compare(parts[0], value(1), value(2))
        case "And" | "Or":
            return kleene(head == "Or", [value(0), value(1)])
        case "Not":
            return negation(value(0))
        case "If":
            return choice(value(0), value(1), value(2))
        case "Flatten":
            return on_list(value(0), flattened)
        case "Apply":
            return on_list(value(1), lambda items: apply(parts[0], items))
        case "Range":
            first, last = value(0), value(1)
            return strict((first, last), UNDEFINED) if not (_int(first) and _int(last)) else tuple(range(first, last))
        case "Stated":
            return not is_unknown(value(0))
        case "Let":
            return value(2, {**names, parts[0][1]: value(1)})
    return _loop(head, parts, names)


def flattened(lists: tuple[Any, ...]) -> Any:
    """The items of lists, in one list."""
    if any(map(is_unknown, lists)):
        return strict(lists, UNDEFINED)
    return tuple(item for inner in lists if is_list(inner) for item in inner)


def _int(value: Any) -> bool:
    return type(value) is int


def _loop(head: str, parts: list[Term], names: Names) -> Any:
    if head == "Reduce":
        return on_list(evaluate(parts[3], names), lambda items: _reduced(parts, items, names))
    variable = parts[0][1]

    def each(index: int, items: Sequence[Any]) -> list[Any]:
        return [evaluate(parts[index], {**names, variable: one}) for one in items]

    match head:
        case "ForAll":
            return on_list(evaluate(parts[1], names), lambda items: kleene(False, each(2, items)))
        case "Exists":
            return on_list(evaluate(parts[1], names), lambda items: kleene(True, each(2, items)))
        case "Collect":
            return on_list(evaluate(parts[1], names), lambda items: _collected(each, items))
    raise ValueError(head)


def _reduced(parts: list[Term], items: Sequence[Any], names: Names) -> Any:
    found = evaluate(parts[4], names)
    for one in items:
        found = evaluate(parts[2], {**names, parts[0][1]: found, parts[1][1]: one})
    return found


def _collected(each: Callable[[int, Sequence[Any]], list[Any]], items: tuple[Any, ...]) -> Any:
    tests = each(2, items)
    return strict(tests, tuple(each(3, [one for one, test in zip(items, tests, strict=True) if test is True])))


def item(sequence: Any, index: Any) -> Any:
    if is_list(sequence) and _int(index):
        return sequence[index] if 0 <= index < len(sequence) else UNDEFINED
    return strict((sequence, index), UNDEFINED)


def part(sequence: Any, start: Any, stop: Any) -> Any:
    if is_list(sequence) and _int(start) and _int(stop):
        return sequence[start:stop] if 0 <= start <= stop <= len(sequence) else UNDEFINED
    return strict((sequence, start, stop), UNDEFINED)


def compare(sign: str, left: Any, right: Any) -> Any:
    match sign:
        case "Equal":
            return equal(left, right)
        case "Member":
            return on_list(right, lambda items: negation(kleene(False, [negation(equal(one, left)) for one in items])))
        case "Less":
            return strict((left, right), not (is_unknown(left) or is_unknown(right)) and left < right)
        case "AtMost":
            return strict((left, right), not (is_unknown(left) or is_unknown(right)) and left <= right)
    raise ValueError(sign)


def choice(condition: Any, yes: Any, no: Any) -> Any:
    if isinstance(condition, bool):
        return yes if condition else no
    if same(yes, no):
        return yes
    return Unknown(condition.cause, "") if is_unknown(condition) else UNDEFINED
