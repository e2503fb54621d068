"""Whether some values of the operands that are known at run time only give an output the shape that is declared.

The shape expression of the operator and its rules decide; a search over finitely many values stands for all of them:

* `axes`: an axis counted from the last one names one counted from the first, so lists over 0 to rank - 1 do;
* `shape`: each entry is the declared extent, or one of the numbers that stand for another (0, 1 and -1);
* `split`: each entry is an extent of the declared part;
* `pads`: the declared growth of an axis, all of it at one end or in equal parts, which is the least at both ends;
* `starts`, `ends`, `steps`: the number of elements on an axis decides, and each number that a step of 1 or the known
  step can give is given by a slice that begins at the first or at the last element, or at the known one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice, permutations, product
from typing import Any, NamedTuple, TypeAlias

from sonnx.graph.environment import NO_WHOLE_NUMBERS
from sonnx.language.domain import Expression, given_key, input_key
from sonnx.language.evaluator import TensorFacts, Unknown, UnknownCause, evaluate, first_unknown
from sonnx.language.explainer import value_text
from sonnx.language.known_numbers import known_numbers
from sonnx.language.parser import parse
from sonnx.profile.signature import Signature

MOST = 1500
"""Values that a search tries; where there are more, nothing is said."""
STANDING_FOR_OTHERS = (0, 1, -1)
SLICE = ("starts", "ends", "axes", "steps")
DEFAULT_STEP = 1
SLICED = parse("sliced(extent, start, end, step)")
"""The number of elements that a slice selects."""

Numbers: TypeAlias = tuple[int, ...]
Condition: TypeAlias = tuple[Expression | None, Expression]
"""A condition behind the one under which it applies."""


class Slice(NamedTuple):
    """What a slice selects of one axis."""

    start: int
    end: int
    step: int


class OpenCall(NamedTuple):
    """A call with operands whose values are known at run time only.

    Attributes:
        names: the facts of the call.
        shape: of the first input, None where it is not known.
        declared: the declared shape of the output, of all of them where the operator has several.
        parameters: the names of the operands.
    """

    names: Mapping[str, Any]
    shape: Numbers | None
    declared: tuple[Numbers, ...]
    parameters: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The operands, in words."""
        return " and ".join(self.parameters)

    def length(self, parameter: str) -> int | None:
        """The declared number of elements of an operand, None where it is unknown."""
        shape = self.names[input_key(parameter)].shape
        is_known = isinstance(shape, tuple) and len(shape) == 1 and type(shape[0]) is int
        return shape[0] if is_known else None

    def value(self, parameter: str) -> Numbers | None:
        """The value of another operand, () where it is absent and None where it is not known."""
        if self.names.get(given_key(parameter)) is not True:
            return ()
        value = self.names[parameter]
        return tuple(value) if isinstance(value, Sequence) and first_unknown((value,)) is None else None


def open_call(signature: Signature, names: Mapping[str, Any]) -> OpenCall | None:
    """The call, if the search can treat it: None where no operand is open, or a shape is not known."""
    parameters = tuple(
        parameter.name
        for parameter in signature.values
        if (reason := first_unknown((names[parameter.name],))) is not None and reason.cause is UnknownCause.RUN_TIME
    )
    data = next((names[each.name] for each in signature.inputs if each.name not in parameters), None)
    outputs = names[signature.outputs[0].name]
    declared = [
        each.shape for each in ([outputs] if isinstance(outputs, TensorFacts) else outputs) if _is_present(each)
    ]
    if parameters not in _SEARCHES or not declared or not all(map(_is_known, declared)):
        return None
    shape = data.shape if isinstance(data, TensorFacts) and _is_known(data.shape) else None
    return OpenCall(names, shape, tuple(declared), parameters)  # type: ignore[arg-type]  # they are numbers


def witness(signature: Signature, call: OpenCall, conditions: Sequence[Condition]) -> str | None:
    """Values of the operands that break none of the conditions, as `axes = [0]`.

    It is "" if there are none, and None if nothing is known.
    """
    searched = _SEARCHES[call.parameters](call)
    listed = [] if searched is None else list(islice(searched, MOST + 1))
    if not listed or len(listed) > MOST:
        return None
    undecided = False
    for values in listed:
        chosen = dict(call.names)
        for parameter, value in zip(call.parameters, values, strict=True):
            numbers = known_numbers(value)
            tensor = chosen[input_key(parameter)]
            chosen |= {parameter: numbers, input_key(parameter): tensor._replace(values=numbers)}
        for name, definition in signature.define.items():
            chosen[name] = evaluate(definition, chosen)
        truths = [_holds(when, condition, chosen) for when, condition in conditions]
        if all(truth is True for truth in truths):
            return ", ".join(f"{parameter} = {value_text(chosen[parameter])}" for parameter in call.parameters)
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


def _is_present(facts: Any) -> bool:
    return isinstance(facts, TensorFacts) and not isinstance(facts.type, Unknown)


def _is_known(shape: Any) -> bool:
    return isinstance(shape, tuple) and first_unknown((shape,)) is None


Search: TypeAlias = Callable[[OpenCall], Iterator[tuple[Numbers, ...]] | None]
"""The values to try, for each operand one; None where something that they need is not known."""


def _lengths(call: OpenCall, parameter: str) -> Sequence[int] | None:
    """The lengths that a value may have: the declared one, else up to the largest rank; None where it is unknown."""
    length = call.length(parameter)
    if length is not None:
        return (length,) if length <= MOST else None
    return None if call.shape is None else range(max(map(len, (call.shape, *call.declared))) + 1)


def _axes(call: OpenCall) -> Iterator[tuple[Numbers, ...]] | None:
    lengths = _lengths(call, "axes")
    rank = max(map(len, (call.shape or (), *call.declared)))
    return (
        None if lengths is None else ((value,) for length in lengths for value in product(range(rank), repeat=length))
    )


def _shape(call: OpenCall) -> Iterator[tuple[Numbers, ...]] | None:
    declared = call.declared[0]
    lasts = [declared[len(declared) - length :] for length in _lengths(call, "shape") or () if length <= len(declared)]
    entries = ([_distinct(extent, *STANDING_FOR_OTHERS) for extent in last] for last in lasts)
    return ((value,) for each in entries for value in product(*each))


def _split(call: OpenCall) -> Iterator[tuple[Numbers, ...]] | None:
    if call.length("split") not in (None, len(call.declared)):
        return None
    return ((value,) for value in product(*(_distinct(*shape) or (0,) for shape in call.declared)))


def _pads(call: OpenCall) -> Iterator[tuple[Numbers, ...]] | None:
    shape, declared, axes = call.shape, call.declared[0], call.value("axes")
    if shape is None or axes is None or len(declared) != len(shape):
        return None
    axes = axes or tuple(range(len(shape)))
    is_listed = all(-len(shape) <= axis < len(shape) for axis in axes)
    if not is_listed or call.length("pads") not in (None, 2 * len(axes)):
        return None
    growth = [declared[axis] - shape[axis] for axis in axes]
    begins = product(*(_distinct(0, each, each // 2) for each in growth))
    return (((*begin, *(total - first for first, total in zip(begin, growth, strict=True))),) for begin in begins)


def _sliced(call: OpenCall) -> Iterator[tuple[Numbers, ...]] | None:
    shape, declared = call.shape, call.declared[0]
    known = {name: call.value(name) for name in SLICE if name not in call.parameters}
    lengths = {call.length(name) for name in call.parameters} | {len(value) for value in known.values() if value}
    if shape is None or len(shape) != len(declared) or None in known.values() or len(lengths - {None}) != 1:
        return None
    length = max(each for each in lengths if each is not None)
    if length > len(shape):
        return None
    fixed = {name: value for name, value in known.items() if value and name != "axes"}
    if "steps" in known or known.keys().isdisjoint(
        ("starts", "ends")
    ):  # with both open, it gives every number of elements
        fixed.setdefault("steps", (DEFAULT_STEP,) * length)
    lists: list[Numbers] = [known["axes"] or tuple(range(length))] if "axes" in known else _arrangements(shape, length)
    if any(len(axes) != length or not all(-len(shape) <= axis < len(shape) for axis in axes) for axes in lists):
        return None
    choices: list[tuple[Numbers, list[Sequence[Slice]]]] = []
    for axes in lists:
        slices = [
            _slices(shape[axis], declared[axis], {name: value[position] for name, value in fixed.items()})
            for position, axis in enumerate(axes)
        ]
        if None in slices:
            return None
        choices.append((axes, [each for each in slices if each is not None]))
    return (_operands(call, axes, chosen) for axes, slices in choices for chosen in product(*slices))


def _arrangements(shape: Numbers, length: int) -> list[Numbers]:
    """Lists of different axes, one more than a search tries where there are more."""
    return list(islice(permutations(range(len(shape)), length), MOST + 1))


def _operands(call: OpenCall, axes: Numbers, slices: Sequence[Slice]) -> tuple[Numbers, ...]:
    """The open operands that select the slices."""
    starts, ends, steps = zip(*slices, strict=True) if slices else ((), (), ())
    columns = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    return tuple(columns[name] for name in call.parameters)


def _slices(extent: int, declared: int, fixed: Mapping[str, int]) -> Sequence[Slice] | None:
    """Slices of an axis: some with the declared number of elements, else any one.

    Of many, the first and the last: an empty one that begins where it ends may be either.  None if there are too many.
    """
    if extent > MOST and len(fixed) < len(Slice._fields):
        return None
    before = -extent - 1
    steps = (fixed["steps"],) if "steps" in fixed else (*range(1, max(extent, 1) + 1), *range(-1, before, -1))
    starts = _distinct(0, max(extent - 1, 0)) if "ends" not in fixed else tuple(range(extent + 1))
    starts = (fixed["starts"],) if "starts" in fixed else starts
    ends = (fixed["ends"],) if "ends" in fixed else (*range(extent + 1), before)
    if len(starts) * len(ends) * len(steps) > MOST:
        return None
    slices = [Slice(*each) for each in product(starts, ends, steps)]
    names = ("extent", "start", "end", "step")
    fitting = [each for each in slices if evaluate(SLICED, dict(zip(names, (extent, *each), strict=True))) == declared]
    return list(dict.fromkeys((*fitting[:2], *fitting[-2:]))) or slices[:1]


def _distinct(*numbers: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys(numbers))


_SEARCHES: Mapping[tuple[str, ...], Search] = {
    ("axes",): _axes,
    ("shape",): _shape,
    ("split",): _split,
    ("pads",): _pads,
    **{names: _sliced for number in (1, 2, 3, 4) for names in combinations(SLICE, number) if names != ("axes",)},
}
"""The searches by the operands that are open, in the order of the operator."""
