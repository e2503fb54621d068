"""The bounds of a model on a box of inputs: one interpretation in the domain of ranges and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_data
from pathlib import Path, PurePath

import numpy as np
from msgspec.structs import replace

from sonnx.base.errors import UsageError
from sonnx.base.escaping import quote
from sonnx.bounds import adjoint, attained, kinks
from sonnx.bounds.around import ComputedDomain, ReferenceDomain
from sonnx.bounds.box import Box
from sonnx.bounds.domain import BoundsDomain, Memory, NodesDomain, blocks, empty
from sonnx.bounds.result import Bounds, DecisionBounds, TensorBounds
from sonnx.checker.checker import stated_facts
from sonnx.executor.array_sizes import require_arrays, require_known_arrays
from sonnx.executor.executor import active_rules, check_conforming
from sonnx.executor.node_errors import place_of
from sonnx.executor.node_validity import NodeValidity
from sonnx.graph.call import Calls
from sonnx.graph.environment import declared_facts
from sonnx.graph.interpreter import interpret
from sonnx.language.evaluator import RUN_TIME, TensorFacts
from sonnx.model.ir import Model
from sonnx.numerics.enclosures.arithmetic import FORMATS, above, below, centre
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.enclosures.values import Around, Condition, NotBounded, Value, nothing
from sonnx.numerics.formats import ELEMENTS, Array

MAX_TIGHTENED = 4096
"""Elements of a graph output up to which each gets its own row in the adjoint pass."""

CLOSE_ENOUGH = 2.0**-10
"""The share of the largest value of an output that its error may have at a point before differences are bounded."""

MAX_AROUND = 2**24
"""Numbers in all values up to which differences to a reference run are bounded: each of them is kept three times."""


@dataclass(frozen=True, eq=False)
class Run:
    """One interpretation: the best value known of each name, in order, and the conditions."""

    values: Mapping[str, Value]
    conditions: Sequence[Condition]
    domain: BoundsDomain

    def sharpened(self, names: Sequence[str]) -> Run:
        """The run with better bounds of all elements of these values."""
        return replace_data(self, values={
            name: self.domain.sharpen(value) if name in names else value for name, value in self.values.items()
        })  # fmt: skip

    def joined(self, ideal: Run, computed: Run) -> Run:
        """The run with the smaller one of its bounds and of those around a reference run, for each value."""
        values = {
            name: value.joined(Around(ideal.values[name], computed.values[name])) for name, value in self.values.items()
        }
        shown = all(condition.holds for condition in self.conditions)
        better = all(condition.holds for condition in computed.conditions)
        conditions = self.conditions if shown or not better else computed.conditions
        return replace_data(self, values=values, conditions=conditions)


class Analyser:
    """Analyses one model on any number of boxes.

    Args:
        model: the model.
        hypotheses: about the implementations.
        folder: where the model file stands.
        edition: the edition whose texts define the operators.
        tighten: use the adjoint pass.
        relax: use the relaxation.
        rounds: see `BoundsDomain`.
        conforming: whether the model is known to conform to the edition.
    """

    def __init__(
        self,
        model: Model,
        hypotheses: Hypotheses,
        folder: Path | None = None,
        edition: str | None = None,
        *,
        tighten: bool = True,
        relax: bool = True,
        rounds: int = kinks.ROUNDS,
        conforming: bool = False,
    ) -> None:
        self.model, self.hypotheses, self.folder = model, hypotheses, folder
        self.tighten, self.relax, self.rounds = tighten, relax, rounds
        self.active = active_rules(edition)
        self.calls = Calls(model, self.active.edition, beyond_edition=True)
        nodes = model.graph.nodes
        kernels = {place_of(nodes[k], k): why for k, why in hypotheses.readings.kernel_nodes(model).items()}
        self.memory = Memory(NodeValidity(self.active), conforming, kernels=kernels)
        self.places = self._places()

    def _places(self) -> dict[str, Value]:
        """For each output of a node a value of which nothing is known yet: its name, its node, how many read it."""
        graph = self.model.graph
        readers: dict[str, int] = {}
        for name in (
            *(node_input for node in graph.nodes for node_input in node.inputs),
            *(value.name for value in graph.outputs),
        ):
            readers[name] = readers.get(name, 0) + 1
        places: dict[str, Value] = {}
        facts = {value.name: declared_facts(value.type) for value in (*graph.value_info, *graph.outputs)}
        unknown = TensorFacts(RUN_TIME, RUN_TIME, RUN_TIME)
        for index, node in enumerate(graph.nodes):
            for name in filter(None, node.outputs):
                why = f"the value {quote(name)} is read before its node"
                places[name] = empty(
                    name, facts.get(name, unknown), why, node=place_of(node, index), readers=readers.get(name, 0)
                )
        return places

    def run(self, box: Box, kind: type[BoundsDomain] = BoundsDomain, *, around: bool = False) -> Run:
        """The bounds of every value on a box, in a domain.

        Args:
            box: the ranges of the inputs.
            kind: the domain.
            around: bound the differences to a reference run as well, and keep the smaller bounds.

        Raises:
            NotBounded: a node has no transfer function, or an output is not defined.
        """
        is_point = all(interval.is_point for interval in box.values())
        domain = kind(
            self.hypotheses, self.folder, self.memory, tighten=self.tighten,
            relax=self.relax, at_point=is_point, rounds=self.rounds,
        )  # fmt: skip
        plain = self._interpreted(domain, {name: (interval.low, interval.high, None) for name, interval in box.items()})
        if not around or not self.tighten or (is_point and self._is_close(plain)):
            return plain
        return self.around_reference(box, plain)

    def _is_close(self, run: Run) -> bool:
        """Whether the errors of the outputs are small beside their values: nothing closer is worth its time."""
        outputs = [run.values[output.name] for output in self.model.graph.outputs if output.name in run.values]
        return all(
            not value.unbounded and value.error.max(initial=0.0) <= CLOSE_ENOUGH * value.magnitude.max(initial=0.0)
            for value in outputs
        )

    def around_reference(self, box: Box, plain: Run) -> Run:
        """A run with the bounds around a reference run, where these are smaller."""
        wholes = [value.name for value in self.model.graph.inputs if value.type.element not in FORMATS]
        if any(name in box and not box[name].is_point for name in wholes):
            return plain  # the centre of a range of whole numbers need not be one
        if sum(value.low.size for value in plain.values.values()) > MAX_AROUND:
            plain.domain.coarse += [output.name for output in self.model.graph.outputs]
            return plain
        reference = ReferenceDomain(self.hypotheses, self.folder, self.memory)
        middles = {name: centre(interval.low, interval.high) for name, interval in box.items()}
        names = [output.name for output in self.model.graph.outputs]
        with np.errstate(all="ignore"):
            try:
                ideal = self._interpreted(reference, {name: (m, m, radius) for name, (m, radius) in middles.items()})
                ideal = ideal.sharpened(names)
                computed = self._interpreted(
                    ComputedDomain(reference, self.hypotheses),
                    {name: (interval.low, interval.high, None) for name, interval in box.items()},
                ).sharpened(names)
            except NotBounded:
                return plain
        plain.domain.coarse[:] = computed.domain.coarse
        return plain.joined(ideal, computed)

    def _interpreted(self, domain: BoundsDomain, ends: Mapping[str, tuple[Array, Array, Array | None]]) -> Run:
        """One interpretation on inputs between two ends and with errors."""
        elements = {value.name: value.type.element or "" for value in self.model.graph.inputs}
        boxes = {name: _input(name, elements[name], *parts) for name, parts in ends.items()}
        with np.errstate(all="ignore"):
            interpretation = interpret(self.model, domain, self.calls, given={**boxes, **self.places}, main_only=True)
        scope = interpretation.scopes[0]
        values: dict[str, Value] = {}
        computed = (*ends, *(name for visit in scope.visits for name in visit.node.outputs if name))
        defined = {*computed, *(tensor.name for tensor in self.model.graph.initializers)}
        for name in dict.fromkeys((*computed, *(output.name for output in self.model.graph.outputs))):
            if name not in defined:
                raise NotBounded(f"a graph output is {quote(name)}, which nothing before it defines")
            value = interpretation.values[scope.values[name]]
            if value is not None:
                values[name] = domain.latest(value)
        return Run(values, domain.conditions, domain)

    def nodes(self, box: Box, computed: Mapping[str, Array]) -> Mapping[str, Value]:
        """What each node may make of the inputs that an implementation computed for it, by the name of its output.

        A computed value outside its range, widened by its error, shows that the node's implementation is outside the
        hypotheses, whatever the nodes before it did.

        Args:
            box: a point.
            computed: every value of the run, by name.
        """
        domain = NodesDomain(self.hypotheses, self.folder, self.memory, computed)
        elements = {value.name: value.type.element or "" for value in self.model.graph.inputs}
        boxes = {name: _input(name, elements[name], one.low, one.high) for name, one in box.items()}
        with np.errstate(all="ignore"):
            interpret(self.model, domain, self.calls, given={**boxes, **self.places}, main_only=True)
        return domain.nodes

    def attained(self, box: Box, output: Value) -> float | None:
        """How far a run at the centre of the box is off in the element of an output with the largest error, each node
        rounding in the direction that moves it most, as a share of that error; None where there is no such run.

        Args:
            box: the ranges of the inputs.
            output: the bounds of an output.
        """
        if output.unbounded or output.transfer is None or not output.error.any() or output.element not in FORMATS:
            return None
        row = attained.worst_row(output)
        worst = attained.directions(output, row)
        if worst is None:
            return None
        kinds = {value.name: ELEMENTS[value.type.element or ""] for value in self.model.graph.inputs}
        point = {
            name: np.clip(
                (0.5 * each.low + 0.5 * each.high).astype(kinds[name]).astype(np.float64), each.low, each.high
            )
            for name, each in box.items()
        }  # fmt: skip
        runs = []
        for signs in ({}, worst):
            domain = attained.InjectedDomain(self.hypotheses, self.folder, self.memory, signs)
            try:
                self._interpreted(domain, {name: (array, array, None) for name, array in point.items()})
            except NotBounded:
                return None
            if output.name not in domain.nodes:
                return None
            runs.append(float((row * domain.nodes[output.name].low).sum()))
        share = abs(runs[1] - runs[0]) / float(output.error.max())
        return min(share, 1.0) if np.isfinite(share) else None


def _input(name: str, element: str, low: Array, high: Array, error: Array | None = None) -> Value:
    zero = nothing(low.shape)
    return Value(name, TensorFacts(element, low.shape, RUN_TIME), low, high, zero if error is None else error, zero)


def tightened(run: Run, name: str) -> Value:
    """The value of a name, its ranges and errors tightened by the adjoint pass; in a large network those of its largest
    elements only.
    """
    value, domain = run.values[name], run.domain
    if value.unbounded or domain.is_read_once(value) or value.low.size > MAX_TIGHTENED:
        return value
    domain.work = 0
    every = np.argsort(-value.high.reshape(-1), kind="stable")[: domain.room(value)]
    if len(every) < value.low.size:
        domain.coarse.append(name)
    with np.errstate(all="ignore"):
        if domain.relax and bool((value.low < value.high).any()):
            value = domain.tightened_range(value, every, domain.rounds)
        return domain.tightened_error(value, every) if domain.tighten else value


def bound_model(
    model: Model,
    box: Box,
    hypotheses: Hypotheses,
    path: Path | None = None,
    edition: str | None = None,
    *,
    unchecked: bool = False,
    differences: Sequence[tuple[int, int]] = (),
    argmax: bool = False,
) -> Bounds:
    """The bounds of a model on a whole box.

    Args:
        model: the model.
        box: the ranges of its inputs.
        hypotheses: about the implementations.
        path: of the model file.
        edition: the edition the model must conform to; the default edition if None.
        unchecked: bound a model that does not conform, where its operators have bounds.
        differences: pairs (i, j) of elements of the first output: is their order the same in every implementation?
        argmax: is the largest element of the first output the same?

    Raises:
        UsageError: an unknown edition, or a difference of elements that do not exist.
        NotConforming: the model does not conform; it carries the report.
        NotBounded: a node has no transfer function.
    """
    name = PurePath(path).name if path else "model"
    require_arrays(model)
    active, folder = active_rules(edition), path.parent if path else None
    if unchecked:
        facts = stated_facts(model, active)
    else:
        facts, _ = check_conforming(model, active, name, folder)
    require_known_arrays(facts, model.limits)
    analyser = Analyser(model, hypotheses, folder, edition, conforming=not unchecked)
    run = analyser.run(box, around=True)
    outputs = [value.name for value in model.graph.outputs]
    final = {output: tightened(run, output) for output in outputs if output in run.values}
    tensors = [tensor_of(final.get(called, value), called in final) for called, value in run.values.items()]
    decisions = []
    if outputs and outputs[0] in final and (differences or argmax):
        decisions = decision_bounds(final[outputs[0]], differences, argmax=argmax)
    return Bounds(
        name, replace(active.conditions, checked=not unchecked, hypotheses=hypotheses.name), hypotheses,
        tuple(tensors), tuple(run.conditions),
        tuple(decisions), box,
        shares(final[outputs[0]]) if outputs and outputs[0] in final else (),
        coarse=tuple(dict.fromkeys(run.domain.coarse)),
        not_run=tuple(dict.fromkeys(run.domain.not_run)),
        attained=analyser.attained(box, final[outputs[0]]) if outputs and outputs[0] in final else None,
    )  # fmt: skip


def tensor_of(value: Value, is_output: bool) -> TensorBounds:
    """The bounds of a value as a report has them."""
    return TensorBounds(
        value.name, value.node, value.element, value.low, value.high, value.introduced,
        value.error, is_output, value.unbounded,
    )  # fmt: skip


# ------------------------------------------------------------------ decisions and shares


def decision_bounds(
    output: Value, differences: Sequence[tuple[int, int]], *, argmax: bool, rounds: int = kinks.ROUNDS
) -> list[DecisionBounds]:
    """Whether differences of elements, and the place of the largest element, are the same in every implementation.

    Raises:
        UsageError: an element does not exist.
    """
    size = output.low.size
    for pair in differences:
        if not all(0 <= number < size for number in pair) or pair[0] == pair[1]:
            raise UsageError(f"--difference {pair[0]}-{pair[1]}: the output has elements 0 to {size - 1}")
    if output.unbounded:
        return [DecisionBounds(f"{i} - {j}", -np.inf, np.inf, np.inf, False) for i, j in differences] + (
            [DecisionBounds("argmax", -np.inf, np.inf, np.inf, False)] if argmax else []
        )
    decisions = []
    if differences:
        first, second = np.array(differences).T
        bounds = _closer(output, first, second, _differences(output, first, second), rounds)
        decisions = [_decision(f"{i} - {j}", *ends) for i, j, *ends in zip(first, second, *bounds, strict=True)]
    if argmax:
        decisions.append(_largest(output, rounds))
    return decisions


def _decision(what: str, low: float, high: float, error: float) -> DecisionBounds:
    return DecisionBounds(what, float(low), float(high), float(error), bool(low - error > 0 or high + error < 0))


def _largest(output: Value, rounds: int) -> DecisionBounds:
    """Whether one element is the largest for every input and in every implementation.

    The adjoint pass bounds its differences from the others: the least sure one first, then the others that the bounds
    of the elements do not decide, until one is not proved.
    """
    best = int(np.argmax(output.low.reshape(-1)))
    what, others = f"argmax = {best}", np.delete(np.arange(output.low.size), best)
    if not len(others):
        return DecisionBounds(what, np.inf, np.inf, 0.0, True)
    low, high, error = _differences(output, np.full(len(others), best), others)
    waiting = np.argsort(low - error)[: max(1, int((low <= error).sum()))]
    for part in np.split(waiting, [1, 16]):
        pairs = np.full(len(part), best), others[part]
        low[part], high[part], error[part] = _closer(output, *pairs, (low[part], high[part], error[part]), rounds)
        if (low[part] <= error[part]).any():
            break
    worst = int(np.argmin(low - error))
    return replace(_decision(what, low[worst], high[worst], error[worst]), same=bool((low > error).all()))


def _differences(output: Value, i: Array, j: Array) -> tuple[Array, Array, Array]:
    """The ranges and the errors of the elements i minus the elements j, by those of the elements."""
    low, high, error = (array.reshape(-1) for array in (output.low, output.high, output.error))
    return below(low[i] - high[j]), above(high[i] - low[j]), above(error[i] + error[j])


def _closer(
    output: Value, i: Array, j: Array, differences: tuple[Array, Array, Array], rounds: int
) -> tuple[Array, Array, Array]:
    """The ranges and the errors of these differences, tightened by the adjoint pass where that helps."""
    least, most, error = (np.array(array) for array in differences)
    if output.transfer is None:
        return least, most, error
    with np.errstate(all="ignore"):
        for part in blocks(np.arange(len(i)), output):
            rows = adjoint.one_hot(output.shape, i[part]) - adjoint.one_hot(output.shape, j[part])
            low, high = kinks.ranges(output, rows, rounds)
            least[part], most[part] = np.fmax(least[part], low), np.fmin(most[part], high)
            error[part] = np.fmin(error[part], adjoint.errors(output, rows))
    return least, most, error


def shares(output: Value) -> tuple[tuple[str, float], ...]:
    """The share of each node in the bound of the output element with the largest error, largest first."""
    if output.unbounded or output.transfer is None or not output.low.size:
        return ()
    row = adjoint.one_hot(output.low.shape, np.array([int(np.argmax(output.error))]))
    with np.errstate(all="ignore"):
        parts = adjoint.contributions(output, row)
    all_parts = sum(parts.values()) or 1.0
    return tuple(sorted(((node, part / all_parts) for node, part in parts.items()), key=lambda pair: -pair[1]))


__all__ = ["Analyser", "NotBounded", "Run", "bound_model", "decision_bounds", "shares", "tensor_of", "tightened"]
