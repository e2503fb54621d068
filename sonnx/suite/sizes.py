"""Sizes as classes of structure: calls whose axes have extents around the widths of vectors and blocks.

The calls that the structure classes give have extents of a few elements, so that the main loop of a vectorized kernel
never runs.  Here one extent of such a call grows to each of `SIZES`; everything but the extents stays.  The solver
gives the extents that have to grow with it, and each call is judged by the checker like any other.  An axis is asked
twice: in a call whose outputs grow with the axis, and in one that reduces, contracts or selects along it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import z3

from sonnx.checker.verdicts import Verdict
from sonnx.language.domain import given_key
from sonnx.language.evaluator import TensorFacts
from sonnx.proofs.derived import conforming
from sonnx.prover.signature_family import SignatureFamily
from sonnx.prover.witness import CallInstance, judge
from sonnx.suite.classes import extents_of

SIZES = (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 129)
"""Extents below, at and above the lanes of vector units, and what is left over after them."""
FEW_SIZES = (17, 129)
"""The sizes of an outer axis that the outputs have, too: a kernel only repeats its work along it."""
MANY = 100_000
"""Elements of the largest input of a large call: more than a block of a cache, and enough for several threads."""
MAX_ELEMENTS = 3 * MANY + 1000
"""Of all inputs and outputs of a call together."""
PADS = "pads"
WINDOW: Mapping[str, tuple[int, int]] = {PADS: (0, 0), "dilations": (1, 1), "kernel_shape": (1, 3), "strides": (1, 2)}
"""The least and the largest number of each attribute for a window that lies on elements."""
WINDOWED = 9
"""The last extent of an input over which windows slide without padding."""
EFFORT = 400_000
"""Steps of the solver for one size of one call."""
TRIES = 3
"""Calls that are tried for one size."""
MAX_BASES = 8
"""Calls that grow, for one axis."""


@dataclass(frozen=True, slots=True)
class SizedCall:
    """A call with a large extent.

    Attributes:
        call: the call.
        values: the values of its variables.
        input: the number of the input that has it.
        axis: the axis that grew.
        extent: its extent.
    """

    call: CallInstance
    values: Mapping[str, int]
    input: int
    axis: int
    extent: int

    @property
    def title(self) -> str:
        """The class of its size."""
        return f"input {self.input} has extent {self.extent} on axis {self.axis}"


@dataclass(slots=True)
class _Base:
    """A call that grows: the values of its variables, and its conditions, in which only extents are open."""

    values: Mapping[str, int]
    call: CallInstance
    solver: z3.Solver
    extents: dict[str, z3.ArithRef]
    of_inputs: Container[str]
    """Those of the extents that the others follow from."""
    known: dict[tuple[str, int], Mapping[str, int] | None] = field(default_factory=dict)

    def grown(self, name: str, extent: int) -> Mapping[str, int] | None:
        """The values with this extent and few other ones changed; None where the solver finds none."""
        if (name, extent) not in self.known:
            self.known[name, extent] = self._grown(name, extent)
        return self.known[name, extent]

    def _grown(self, name: str, extent: int) -> Mapping[str, int] | None:
        kept = [self.extents[name] == extent]
        others = {other: variable for other, variable in self.extents.items() if other != name}
        # Most often every other extent of an input stays: one question for all of them.
        stay = {other: others[other] == self.values.get(other, 0) for other in others if other in self.of_inputs}
        if stay and self.solver.check(*kept, *stay.values()) == z3.sat:
            kept += stay.values()
            others = {other: variable for other, variable in others.items() if other not in stay}
        elif self.solver.check(*kept) != z3.sat:
            return None
        extents = self._extents()
        for other, variable in others.items():
            for value in (self.values.get(other, 0), extent):
                # A model that has the value already is the answer to the question whether it can have it.
                if extents[other] != value and self.solver.check(*kept, variable == value) == z3.sat:
                    extents = self._extents()
                if extents[other] == value:
                    kept.append(variable == value)
                    break
        return {**self.values, **extents}

    def _extents(self) -> dict[str, int]:
        """The extents in the model of the last answer."""
        model = self.solver.model()
        return {name: model.eval(variable, model_completion=True).as_long() for name, variable in self.extents.items()}


def sized_calls(family: SignatureFamily, models: Sequence[tuple[Mapping[str, int], CallInstance]]) -> list[SizedCall]:
    """Calls in which every axis of an input has each of `SIZES`, and a large one for each combination of types.

    Args:
        family: the signature; its context is entered.
        models: conforming calls, with the values of their variables.
    """
    # A window that lies on padding hides what is lost along an axis.
    bases = _Bases(family, _unpadded(models) if _is_padded(family) else models)
    return [*bases.with_sizes(), *bases.large()]


def unpadded_calls(
    family: SignatureFamily, models: Sequence[tuple[Mapping[str, int], CallInstance]]
) -> list[SizedCall]:
    """For each combination of element types of an operator that pads a call whose windows lie within the input.

    Args:
        family: the signature; its context is entered.
        models: conforming calls, with the values of their variables.
    """
    if not _is_padded(family):
        return []
    bases, calls = _Bases(family, _unpadded(models)), dict[object, SizedCall]()
    for place, (_, call) in enumerate(bases.models):
        types = tuple(str(facts.type) for facts in call.inputs if facts is not None)
        sized = None if types in calls else bases.with_extent(place, WINDOWED)
        if sized is not None:
            calls[types] = sized
    return [*calls.values()]


def _is_padded(family: SignatureFamily) -> bool:
    return PADS in {attribute.name for attribute in family.signature.attributes}


def _unpadded(
    models: Sequence[tuple[Mapping[str, int], CallInstance]],
) -> list[tuple[Mapping[str, int], CallInstance]]:
    """The models with windows that lie on elements; the calls are those they come from."""
    return [({**values, **_dense(values)}, call) for values, call in models]


def _dense(values: Mapping[str, int]) -> dict[str, int]:
    """The numbers of the window with no padding, no gaps, and a small kernel and stride."""
    dense = {}
    for name, number in values.items():
        attribute, _, place = name.partition(".")
        if attribute in WINDOW and place.isdigit():
            least, most = WINDOW[attribute]
            dense[name] = min(max(number, least), most)
    return dense


class _Bases:
    """The calls of a signature that may grow."""

    def __init__(self, family: SignatureFamily, models: Sequence[tuple[Mapping[str, int], CallInstance]]) -> None:
        self.family = family
        self.conditions = [*conforming(family)]
        terms = _terms(self.conditions)
        self.variables = {
            term.decl().name(): term
            for term in terms
            if z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED
        }
        self.stating = _stating_extents(family, terms)
        self.models = [(values, call) for values, call in models if _elements(call.outputs) and _elements(call.inputs)]
        self.bases: dict[int, _Base] = {}
        self.context = z3.Context()
        """Of the questions about all bases: their answers do not depend on which model the solver finds."""
        self.grown: dict[tuple[int, str, int, int], SizedCall | None] = {}
        fixed = {value.name for value in family.signature.values}
        outputs = {output.name for output in family.signature.outputs}
        self.tensors = [
            name
            for name, tensor in family.variables.tensors.items()
            if tensor.formal not in outputs and tensor.formal not in fixed
        ]

    def with_sizes(self) -> Iterator[SizedCall]:
        """Every axis with each size, in a call whose outputs grow with it and in one whose outputs do not."""
        covered: set[tuple[str, int, int, bool]] = set()
        for tensor in self.tensors:
            for from_end in range(1, len(extents_of(self.family, tensor)) + 1):
                bases = self._by_growth(tensor, from_end)
                for turn, extent in enumerate(SIZES):
                    for grows, places in bases.items():
                        few = grows and from_end > 1 and extent not in FEW_SIZES
                        if few or (tensor, from_end, extent, grows) in covered:
                            continue
                        # Each size begins at another call, so that types and parameters take turns.
                        turned = [places[(turn + number) % len(places)] for number in range(min(TRIES, len(places)))]
                        tried = (self._grown(place, tensor, from_end, extent) for place in turned)
                        sized = next((each for each in tried if each is not None), None)
                        if sized is not None:
                            yield sized
                            covered |= {(*same, extent, grows) for same in self._with_extent(sized)}

    def with_extent(self, place: int, extent: int) -> SizedCall | None:
        """A call in which the last axis of the first input has an extent."""
        return (
            self._grown(place, self.tensors[0], 1, extent)
            if self._has(self.models[place][0], self.tensors[0], 0)
            else None
        )

    def _by_growth(self, tensor: str, from_end: int) -> dict[bool, list[int]]:
        """Calls whose outputs grow with an axis, and calls whose outputs do not; some of each."""
        places = [place for place, (values, _) in enumerate(self.models) if self._has(values, tensor, from_end - 1)]
        by_growth: dict[bool, list[int]] = {True: [], False: []}
        step = max(1, len(places) // MAX_BASES)
        for place in [*places[::step], *places][: 2 * MAX_BASES]:
            if min(map(len, by_growth.values())) >= TRIES:
                break
            sized = self._grown(place, tensor, from_end, FEW_SIZES[0])
            if sized is not None:
                known = by_growth[self._grows(place, tensor, sized)]
                if place not in known:
                    known.append(place)
        return by_growth

    def large(self) -> Iterator[SizedCall]:
        """For each combination of element types a call whose largest input has `MANY` elements; among all of them one
        whose outputs grew, too.
        """
        known, tried = set[object](), 0
        outputs_grew = False
        odd = sorted(range(len(self.models)), key=lambda place: not self._may_be_odd(place))
        for place, (_, call) in ((place, self.models[place]) for place in odd):
            types = tuple(str(facts.type) for facts in call.inputs if facts is not None)
            if types in known and (outputs_grew or tried > MAX_BASES):
                continue
            tried += types in known
            for sized, grows in self._large(place):
                if types not in known or (grows and not outputs_grew):
                    known.add(types)
                    outputs_grew = outputs_grew or grows
                    yield sized
                if outputs_grew:
                    break

    def _may_be_odd(self, place: int) -> bool:
        """Whether an input has an odd number of elements with an odd extent on its last axis, so that what threads
        divide among them leaves a rest; no other extent is 1, as a reduction along it would do nothing.
        """
        shapes = [each.shape for each in self.models[place][1].inputs if each is not None and each.shape]
        others = [
            [extent for extent in shape[:-1] if isinstance(extent, int)] for shape in shapes if isinstance(shape, tuple)
        ]
        return any(prod(each) % 2 and 1 not in each for each in others)

    def _large(self, place: int) -> Iterator[tuple[SizedCall, bool]]:
        """The calls with `MANY` elements that a call grows to on one axis, and whether its outputs grew."""
        values = self.models[place][0]
        for tensor in self.tensors:
            rank = values.get(f"{tensor}.rank", 0)
            for axis in reversed(range(rank if self._has(values, tensor, 0) else 0)):
                others = prod(values.get(f"{tensor}.{other}", 0) for other in range(rank) if other != axis)
                sized = self._grown(place, tensor, rank - axis, -(-MANY // max(1, others)) | 1)
                if sized is not None:
                    yield sized, self._grows(place, tensor, sized)

    def _has(self, values: Mapping[str, int], tensor: str, axis: int) -> bool:
        """Whether a tensor is there and has an axis."""
        formal = self.family.variables.tensors[tensor].formal
        declared = next(operand for operand in self.family.signature.inputs if operand.name == formal)
        if declared.variadic:
            present = _place(tensor) < values.get(f"{formal}.count", 0)
        else:
            present = not declared.optional or bool(values.get(given_key(formal)))
        return present and values.get(f"{tensor}.rank", 0) > axis

    def _grown(self, place: int, tensor: str, from_end: int, extent: int) -> SizedCall | None:
        """A call with a larger extent, on an axis counted from the end, that the checker passes."""
        key = place, tensor, from_end, extent
        if key not in self.grown:
            self.grown[key] = self._judged(place, tensor, from_end, extent)
        return self.grown[key]

    def _judged(self, place: int, tensor: str, from_end: int, extent: int) -> SizedCall | None:
        axis = self.models[place][0][f"{tensor}.rank"] - from_end
        values = self._base(place).grown(f"{tensor}.{axis}", extent)
        if values is None or self._elements_of_inputs(values) > MAX_ELEMENTS:
            return None
        codes = self.family.variables.interpretation.codes
        call, report = judge(self.family.signature, codes, values, self.family.edition)
        if report.verdict not in (Verdict.PASS, Verdict.ASSUMED):
            return None
        if not _elements(call.outputs) or _elements((*call.inputs, *call.outputs)) > MAX_ELEMENTS:
            return None
        number = self._number(call, tensor)
        # An input without elements has no long line, and a sequence without steps no long state.
        is_read = all(_elements(call.inputs[read : read + 1]) for read in (0, number))
        return SizedCall(call, values, number, axis, extent) if is_read else None

    def _elements_of_inputs(self, values: Mapping[str, int]) -> int:
        """The elements of all inputs, before there are arrays of them."""
        ranks = {name: values.get(f"{name}.rank", 0) for name in self.tensors if self._has(values, name, -1)}
        return sum(prod(values.get(f"{name}.{axis}", 0) for axis in range(rank)) for name, rank in ranks.items())

    def _grows(self, place: int, tensor: str, sized: SizedCall) -> bool:
        """Whether the outputs grow as the axis does."""
        values, call = self.models[place]
        before = values[f"{tensor}.{sized.axis}"]
        return _elements(sized.call.outputs) * before == _elements(call.outputs) * sized.extent

    def _with_extent(self, sized: SizedCall) -> Iterator[tuple[str, int]]:
        """The tensors that have the extent on some axis, and the number of this axis from the end."""
        for tensor in self.tensors:
            number = self._number(sized.call, tensor)
            facts = sized.call.inputs[number] if number < len(sized.call.inputs) else None
            shape = facts.shape if facts is not None and isinstance(facts.shape, tuple) else ()
            yield from ((tensor, len(shape) - axis) for axis, extent in enumerate(shape) if extent == sized.extent)

    def _number(self, call: CallInstance, tensor: str) -> int:
        """The number of a tensor among the inputs of the node."""
        formal = self.family.variables.tensors[tensor].formal
        names = [operand.name for operand in call.signature.inputs]
        return names.index(formal) + _place(tensor)

    def _base(self, place: int) -> _Base:
        if place not in self.bases:
            values, call = self.models[place]
            names = {
                f"{tensor}.{axis}": tensor in self.tensors
                for tensor in self.family.variables.tensors
                if self.family.variables.tensors[tensor].formal not in {v.name for v in self.family.signature.values}
                for axis in range(values.get(f"{tensor}.rank", 0))
            }
            names |= dict.fromkeys(self.stating, False)
            context = self.context
            solver = z3.SimpleSolver(ctx=context)
            solver.set("rlimit", EFFORT)
            solver.add(*(condition.translate(context) for condition in self._with_values(values, names)))
            # Extents of outputs follow from those of inputs.
            extents = {name: z3.Int(name, context) for name, of_input in names.items() if of_input}
            outputs = {name: z3.Int(name, context) for name, of_input in names.items() if not of_input}
            self.bases[place] = _Base(values, call, solver, {**extents, **outputs}, extents.keys())
        return self.bases[place]

    def _with_values(self, values: Mapping[str, int], opened: Container[str]) -> list[z3.BoolRef]:
        """The conditions in which every variable but the opened ones has its value."""
        pairs = []
        for name, variable in self.variables.items():
            if name in opened:
                continue
            number = values.get(name, 0)
            constant: z3.ExprRef
            if z3.is_bool(variable):
                constant = z3.BoolVal(bool(number))
            elif z3.is_int(variable):
                constant = z3.IntVal(number)
            elif z3.is_real(variable):
                constant = z3.RealVal(number)
            else:
                continue
            pairs.append((variable, constant))
        # One call for all conditions: each call translates all pairs for the solver.
        together = z3.substitute(z3.And(*self.conditions, z3.BoolVal(True)), *pairs)
        return [z3.simplify(condition) for condition in together.children()[:-1]]


def _terms(conditions: Sequence[z3.BoolRef]) -> list[z3.ExprRef]:
    """The conditions and all terms in them, each once."""
    waiting: list[z3.ExprRef] = [*conditions]
    known, terms = set[int](), list[z3.ExprRef]()
    while waiting:
        term = waiting.pop()
        if term.get_id() in known:
            continue
        known.add(term.get_id())
        terms.append(term)
        waiting += term.children()
    return terms


def _stating_extents(family: SignatureFamily, terms: Sequence[z3.ExprRef]) -> list[str]:
    """The attributes that state an extent of an input, such as hidden_size: a rule equates them with it."""
    numbers = {attribute.name for attribute in family.signature.attributes if attribute.kind == "int"}
    extents = {str(extent) for tensor in family.variables.tensors for extent in extents_of(family, tensor)}
    equated = (
        {str(side) for side in term.children()}
        for term in terms
        if term.decl().kind() == z3.Z3_OP_EQ and all(map(z3.is_const, term.children()))
    )
    return sorted({name for sides in equated if sides & extents for name in sides & numbers})


def _place(tensor: str) -> int:
    """The place of a tensor in a variadic input; 0 of any other."""
    return int(tensor.partition("[")[2].rstrip("]") or 0)


def _elements(tensors: Sequence[TensorFacts | None]) -> int:
    """The elements of all tensors of a call, whose shapes are known."""
    shapes = [tensor.shape for tensor in tensors if tensor is not None and isinstance(tensor.shape, tuple)]
    return sum(prod(int(str(extent)) for extent in shape) for shape in shapes)
