"""Whether some value of an operand that is known at run time only gives an output the shape that is declared.

The shape expression of the operator and its rules decide; a search over finitely many values stands for all of them:

* `axes`: an axis counted from the last one names one counted from the first, so lists over 0 to rank - 1 do;
* `shape`: each entry is the declared extent, or one of the numbers that stand for another (0, 1 and -1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from sonnx.graph.environment import NO_WHOLE_NUMBERS
from sonnx.language.domain import Expression, input_key
from sonnx.language.evaluator import TensorFacts, Unknown, UnknownCause, evaluate, first_unknown
from sonnx.language.explainer import value_text
from sonnx.language.known_numbers import known_numbers
from sonnx.profile.signature import Signature

MOST = 1500
"""Values that a search tries; where there are more, nothing is said."""
SEARCHED = ("axes", "shape")
"""The parameters whose values can be searched."""
STANDING_FOR_OTHERS = (0, 1, -1)


def open_parameter(signature: Signature, names: Mapping[str, Any]) -> str:
    """The parameter whose value is known at run time only, "" where there is none, several, or another one."""
    unknown = [
        parameter.name
        for parameter in signature.values
        if (reason := first_unknown((names[parameter.name],))) is not None and reason.cause is UnknownCause.RUN_TIME
    ]
    return unknown[0] if len(unknown) == 1 and unknown[0] in SEARCHED else ""


def witness(
    signature: Signature,
    names: Mapping[str, Any],
    parameter: str,
    conditions: Sequence[tuple[Expression | None, Expression]],
) -> str | None:
    """A value of the parameter that breaks none of the conditions, as `axes = [0]`.

    It is "" if there is none, and None if nothing is known.

    Args:
        signature: the operator.
        names: the facts of the call.
        parameter: whose values are searched.
        conditions: those that are assumed, each behind the condition under which it applies.
    """
    listed = list(_candidates(signature, names, parameter))
    if not listed or len(listed) > MOST:
        return None
    tensor, undecided = names[input_key(parameter)], False
    for value in listed:
        numbers = known_numbers(value)
        chosen = {**names, parameter: numbers, input_key(parameter): tensor._replace(values=numbers)}
        for name, definition in signature.define.items():
            chosen[name] = evaluate(definition, chosen)
        truths = [_holds(when, condition, chosen) for when, condition in conditions]
        if all(truth is True for truth in truths):
            return f"{parameter} = {value_text(numbers)}"
        undecided = undecided or False not in truths
    return None if undecided else ""


def _holds(when: Expression | None, condition: Expression, names: Mapping[str, Any]) -> bool | None:
    if when is not None and evaluate(when, names) is False:
        return True
    value = evaluate(condition, names)
    return value if isinstance(value, bool) else None if _is_open(value) else False


def _is_open(value: Any) -> bool:
    """Whether a condition waits for something else than what no text defines, such as an axis out of range."""
    return not isinstance(value, Unknown) or value.cause is not UnknownCause.UNDEFINED or value is NO_WHOLE_NUMBERS


def _candidates(signature: Signature, names: Mapping[str, Any], parameter: str) -> Iterator[tuple[int, ...]]:
    """The values to try; none where the ranks or the declared shape are not known."""
    shapes = [names[formal.name].shape for formal in signature.formals if _is_present(names.get(formal.name))]
    output = names[signature.outputs[0].name]
    lengths = _lengths(names, parameter, shapes)
    declared: Any = output.shape if isinstance(output, TensorFacts) else None
    if lengths is None or declared is None or first_unknown((declared,)) is not None:
        return
    rank = max((len(shape) for shape in shapes if isinstance(shape, tuple)), default=0)
    number, entries = 0, list[Sequence[int]]()
    for length in lengths:
        if parameter == "axes":
            entries = [range(rank)] * length
        elif length > len(declared):
            continue
        else:
            last = declared[len(declared) - length :]
            entries = [tuple(dict.fromkeys((extent, *STANDING_FOR_OTHERS))) for extent in last]
        for value in product(*entries):
            number += 1
            if number > MOST + 1:
                return
            yield value


def _lengths(names: Mapping[str, Any], parameter: str, shapes: Sequence[Any]) -> Sequence[int] | None:
    """The lengths that the value may have: the declared one, else up to the largest rank; None where it is unknown."""
    shape = names[input_key(parameter)].shape
    if isinstance(shape, tuple) and len(shape) == 1 and type(shape[0]) is int:
        return (shape[0],)
    if not all(isinstance(each, tuple) for each in shapes):
        return None
    return range(max(map(len, shapes), default=0) + 1)


def _is_present(facts: Any) -> bool:
    return isinstance(facts, TensorFacts) and not isinstance(facts.type, Unknown)
