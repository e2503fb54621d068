"""The domain of ranges and errors on the interpreter of models.

A value is a `Value`.  A call applies the transfer function of its operator, records what must hold for its values to be
finite, and keeps what the adjoint pass needs.  Values of different nodes are different, also where they are equal: two
implementations of equal nodes may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sonnx.base.errors import NotExecutable, Stop
from sonnx.base.escaping import quote
from sonnx.bounds import adjoint, kinks
from sonnx.executor.node_validity import NodeValidity
from sonnx.executor.prepared_call import PreparedCall, operand_facts
from sonnx.graph.call import Call
from sonnx.graph.environment import NOTHING_STATED, declared_facts
from sonnx.graph.interpreter import Transferred
from sonnx.language.evaluator import TensorFacts
from sonnx.model.ir import NOT_STATED, SparseTensor, Tensor, Type
from sonnx.numerics.application import UNDEFINED_INPUT_ERRORS, Application, NoValue
from sonnx.numerics.broadcasting import NUMPY_SINCE
from sonnx.numerics.constant_data import decode
from sonnx.numerics.enclosures.arithmetic import FORMATS, above, below
from sonnx.numerics.enclosures.hypotheses import Hypotheses
from sonnx.numerics.enclosures.values import (
    NO_WRAP_AROUND,
    Condition,
    Context,
    Lines,
    NotBounded,
    Transfer,
    Value,
    constant,
    new_serial,
    nothing,
    spread,
)
from sonnx.numerics.formats import ELEMENTS, NAMES, TEXT, Array, format_of, is_integer, is_small_float, limits_of
from sonnx.operators import Operator, find_operator

MAX_ROWS = 8192
"""Elements of one value that get rows of their own in the adjoint pass; of more, only this many."""

MAX_WORK = 2**31
"""Numbers in the rows that one analysis follows back at most; values beyond it keep their forward errors."""

POINT_WORK, LARGE = 2**25, 2**20
"""MAX_WORK for a box that is a point; where a row has more numbers than LARGE, one row is followed all the same."""


def empty(name: str, facts: TensorFacts, unbounded: str, **more: Any) -> Value:
    """A value of which nothing is known; `unbounded` says why."""
    zero = nothing(())
    return Value(name, facts, zero, zero, zero, zero, unbounded=unbounded, **more)


@dataclass
class Memory:
    """What runs on several boxes share: valid nodes, constants, parameters of calls, where elements go.

    In a model that is known to conform, what a transfer function raises is a defect of this tool, and not caught.
    """

    validity: NodeValidity
    conforming: bool = False
    constants: dict[int, Value] = field(default_factory=dict)
    applications: dict[Any, Application] = field(default_factory=dict)
    layouts: dict[Any, Any] = field(default_factory=dict)
    kernels: Mapping[str, str] = field(default_factory=dict)
    """Why nodes, by their places, have no bounds: the runtime of the hypotheses has kernels of its own for them."""


class BoundsDomain:
    """Values are ranges with errors; a call gives the conditions of its values.

    Args:
        hypotheses: about the implementations.
        folder: where the model file stands, for constants outside it.
        memory: what runs share.
        tighten: use the adjoint pass for errors where a slope is not one number.
        relax: use the relaxation for ranges there.
        at_point: the box is a point, where an analysis is to take a few runs' time.
        rounds: of `kinks.ranges` for outputs; inside the network slopes are chosen, where there are any.
    """

    block_elements = adjoint.BLOCK_ELEMENTS
    """Numbers in the widest rows of errors that are followed at once."""

    def __init__(
        self, hypotheses: Hypotheses, folder: Path | None, memory: Memory, *, tighten: bool = True, relax: bool = True,
        at_point: bool = False, rounds: int = 0,
    ) -> None:  # fmt: skip
        self.hypotheses, self.folder, self.memory, self.at_point = hypotheses, folder, memory, at_point
        self.tighten, self.relax, self.rounds = tighten, relax and not at_point, rounds
        self.conditions: list[Condition] = []
        self.refined: dict[int, Value] = {}
        self.origins: dict[int, int | None] = {}
        self.not_run: list[str] = []
        """The nodes whose form of the operator was not run in the runtime that the hypotheses are about."""
        self.rows = self.work = 0
        self.coarse: list[str] = []
        """The values that keep their forward errors, because their rows are too many numbers."""

    def room(self, value: Value) -> int:
        """How many elements of a value can get a row in the adjoint pass with the work that is left."""
        size = ancestors_size(value)
        most = MAX_WORK if not self.at_point else POINT_WORK if size <= LARGE else size
        return max(0, min(MAX_WORK, most) - self.work) // max(size, 1)

    def affords(self, value: Value, rows: int) -> bool:
        """Whether the work that is left allows so many rows; if so, they are charged."""
        if rows > min(MAX_ROWS, self.room(value)):
            if value.name:
                self.coarse.append(value.name)
            return False
        self.work += rows * ancestors_size(value)
        return True

    def is_read_once(self, value: Value) -> bool:
        """Whether every element depends on elements that vary independently, and on each of them by one path only.

        Then the forward pass is exact but for its roundings, and the adjoint pass finds nothing better.
        """
        origins = [self._origin(operand) for operand in value.transfer.inputs] if value.transfer is not None else []
        return None not in origins and len(set(origins)) == len(origins)

    def _origin(self, value: Value) -> int | None:
        """The serial number of the value where the chain of elementwise functions that ends here starts; None where a
        node that is not elementwise made that value.
        """
        passed = list[int]()
        while value.serial not in self.origins and (operand := _argument(value)) is not None:
            passed.append(value.serial)
            value = operand
        origin = self.origins.get(value.serial, None if value.transfer is not None else value.serial)
        self.origins |= dict.fromkeys(passed, origin)
        return origin

    def declared(self, type_: Type) -> Value:
        """A value of the declared type and shape; nothing is known of its elements."""
        facts = NOTHING_STATED if type_ == NOT_STATED else declared_facts(type_)
        return empty("", facts, "the value is not made by any node before its use")

    def constant(self, tensor: Tensor, replaceable: bool) -> Value:
        """The value of an initializer; a default that a caller may replace is taken as it is."""
        value = self.memory.constants.get(id(tensor))
        if value is None:
            value = self.memory.constants[id(tensor)] = _finite_constant(tensor.name, decode(tensor, self.folder))
        return value

    def sparse(self, tensor: SparseTensor) -> Value:
        """Sparse tensors have no bounds."""
        raise NotBounded(f"the constant {quote(tensor.name)} is sparse, which has no bounds")

    def call(
        self, call: Call, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
    ) -> Transferred[Value, tuple[Condition, ...]]:
        """The bounds of the outputs of a call."""
        first = next((output for output in outputs if output is not None), None)
        if first is None:  # a node without outputs computes nothing
            return Transferred(list(outputs), ())
        stopped = next((operand.unbounded for operand in inputs if operand is not None and operand.unbounded), "")
        before = len(self.conditions)
        if stopped:
            values = [output and replace(output, unbounded=stopped) for output in outputs]
            return Transferred(values, ())
        try:
            with np.errstate(all="ignore"):
                values = self._outputs(call, inputs, outputs, first.node)
        except NoValue as error:
            raise NotBounded(f"{first.node}: {error} ({error.rule})") from None
        except Stop as error:
            if isinstance(error, NotBounded):
                raise
            raise NotBounded(f"{first.node}: {error}") from None
        except MemoryError:
            raise NotBounded(f"{first.node}: its bounds do not fit into memory") from None
        except UNDEFINED_INPUT_ERRORS as error:
            if self.memory.conforming:
                raise
            text = f"{first.node}: its operator has no bounds for inputs of these types and shapes"
            raise NotBounded(text) from error
        return Transferred(values, tuple(self.conditions[before:]))

    def _outputs(
        self, call: Call, inputs: Sequence[Value | None], outputs: Sequence[Value | None], node: str
    ) -> list[Value | None]:
        """The bounds of the outputs of a call; `outputs` have their names, `node` is where the call stands."""
        if call.calls_function or call.domain:
            raise NotBounded(f"{node}: calls of functions and operators of other domains have no bounds")
        self.memory.validity.require(call)
        operands = [None if operand is None else self.latest(operand) for operand in inputs]
        application, operator = self._application(call, operands), find_operator(call.operator)
        reading = self.memory.kernels.get(node, "") or self.hypotheses.readings.deviation(application)
        if reading:
            why = f"{node}: not bounded under the hypotheses {self.hypotheses.name}: {reading}"
            return [output and replace(output, unbounded=why) for output in outputs]
        if not self.hypotheses.readings.was_run(application):
            self.not_run.append(node)
        if operands and operands[0] is None:
            raise NotBounded(f"{node}: its first input is left out")
        exact = None if operator is None else _exact(operator, application, operands, outputs)
        if exact is not None:
            return exact
        return self._transferred(operator, application, operands, outputs, node)

    def _transferred(
        self,
        operator: Operator | None,
        application: Application,
        inputs: Sequence[Value | None],
        outputs: Sequence[Value | None],
        node: str,
    ) -> list[Value | None]:
        """The outputs by the transfer function of the operator; not known where one of its conditions is not shown."""
        present = [operand for operand in inputs if operand is not None]
        if operator is None or operator.bound is None or not present:
            raise NotBounded(f"{node}: the operator {quote(application.operator)} has no bounds yet")
        before = len(self.conditions)

        def require(name: str, holds: bool, detail: str) -> bool:
            self.conditions.append(Condition(node, name, holds, detail))
            return holds

        context = Context(
            stated=self.hypotheses, application=application, element=_computed_in(present), refine=self._refine,
            require=require, settled=self.settled, sharpen=self.sharpen, outputs=len(outputs),
            cache=self.memory.layouts, node=node,
        )  # fmt: skip
        is_recorded = NO_WRAP_AROUND in operator.shown_by.values()
        transfers = [_whole(context, transfer, is_recorded) for transfer in operator.bound(context, inputs)]
        failed = next((condition for condition in self.conditions[before:][::-1] if not condition.holds), None)
        why = "" if failed is None else f"{node}: {failed.name} is not shown ({failed.detail})"
        return [
            output and self.settled(_bounded(output, transfer, context.element, why, node))
            for output, transfer in zip(outputs, transfers, strict=True)
        ]

    def settled(self, value: Value) -> Value:
        """What the domain makes of a value that a transfer gives: of an output of a node, or of a step of one."""
        return value

    def sharpen(self, value: Value) -> Value:
        """The value with better bounds of all elements, where the domain has a way to find them."""
        return value

    def _application(self, call: Call, inputs: Sequence[Value | None]) -> Application:
        """The parameters of the call on inputs of these shapes and constants."""
        facts = operand_facts(inputs)
        key = call, tuple(facts)
        application = self.memory.applications.get(key)
        if application is not None:
            return application
        prepared = PreparedCall.of(call, facts).explicit()
        application, operator = prepared.application(), prepared.operator
        aligns = operator is not None and operator.axis_broadcasting and application.version < NUMPY_SINCE
        if "broadcast" in prepared.attributes or (aligns and "axis" in prepared.attributes):
            raise NotExecutable("broadcasting along an axis, as before operator set 7, has no bounds")
        self.memory.applications[key] = application
        return application

    # ------------------------------------------------------------------ better bounds where they matter

    def _refine(self, value: Value, wanted: Callable[[Value], Array]) -> Value:
        """See `enclosures.values.Refine`: the adjoint pass and the relaxation for the elements marked."""
        value = self.refined.get(value.serial, value)
        if value.is_point or value.transfer is None or not self.tighten or self.is_read_once(value):
            return value
        marked = np.flatnonzero(wanted(value))
        if not len(marked) or not self.affords(value, len(marked)):
            return value
        if self.relax and bool((value.low.reshape(-1)[marked] < value.high.reshape(-1)[marked]).any()):
            value = self.tightened_range(value, marked, min(self.rounds, 1))
            marked = np.flatnonzero(wanted(value))
        value = self.tightened_error(value, marked)
        self.refined[value.serial] = value
        return value

    def tightened_range(self, value: Value, marked: Array, rounds: int) -> Value:
        """The value with the ranges of elements by the relaxation."""
        low, high = np.array(value.low).reshape(-1), np.array(value.high).reshape(-1)
        width = high - low
        least = 1e-9 * (1e-30 + np.abs(low) + np.abs(high)) + value.error.reshape(-1) / 16
        significant = marked[(width > least)[marked]]
        for part in blocks(significant, value):
            least, most = kinks.ranges(value, adjoint.one_hot(value.shape, part), rounds)
            low[part], high[part] = np.fmax(low[part], least), np.fmin(high[part], most)  # a NaN shows nothing
            self.rows += 2 * len(part)
        if value.element not in FORMATS:
            low, high = np.ceil(low), np.floor(high)
        return replace(value, low=low.reshape(value.shape), high=high.reshape(value.shape))

    def tightened_error(self, value: Value, marked: Array) -> Value:
        """The value with the errors of elements by the adjoint pass."""
        if not value.has_error or not len(marked):
            return value
        error = np.array(value.error).reshape(-1)
        for part in blocks(marked, value, self.block_elements):
            error[part] = np.fmin(error[part], adjoint.errors(value, adjoint.one_hot(value.shape, part)))
            self.rows += len(part)
        error = error if value.element in FORMATS else np.floor(error)
        return replace(value, error=error.reshape(value.shape))

    def latest(self, value: Value) -> Value:
        """The value with the best bounds known."""
        return self.refined.get(value.serial, value)


class NodesDomain(BoundsDomain):
    """Each node by itself: its inputs are the values an implementation computed, which have no error here.

    Args:
        hypotheses: about the implementations.
        folder: where the model file stands.
        memory: what runs share.
        computed: the values by name, from one run of the implementation.
    """

    def __init__(
        self, hypotheses: Hypotheses, folder: Path | None, memory: Memory, computed: Mapping[str, Array]
    ) -> None:
        super().__init__(hypotheses, folder, memory, tighten=False)
        self.computed = computed
        self.nodes: dict[str, Value] = {}
        """What each node may make of its inputs, by the name of its output."""

    def call(
        self, call: Call, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
    ) -> Transferred[Value, tuple[Condition, ...]]:
        """The bounds of the outputs of a call; what follows sees the computed values."""
        values, conditions = super().call(call, inputs, outputs)
        return Transferred([value and self._following(value) for value in values], conditions)

    def _following(self, value: Value) -> Value:
        """What the nodes after it see of a value: what was computed, without error."""
        if value.is_point or value.unbounded:
            return value
        self.nodes[value.name] = value
        array = self.computed[value.name].astype(np.float64)
        why = "" if np.isfinite(array).all() else f"{value.node}: computed an infinity or NaN"
        zero = nothing(array.shape)
        return replace(value, low=array, high=array, error=zero, introduced=zero, transfer=None, unbounded=why)


def _computed_in(inputs: Sequence[Value]) -> str:
    """The type a call computes in: that of the first input that varies, floating-point numbers before integers."""

    def rank(value: Value) -> tuple[bool, bool, bool]:
        return value.element not in FORMATS, value.element == "bool", value.is_point

    return min(inputs, key=rank).element


def _whole(context: Context, transfer: Transfer, is_recorded: bool) -> Transfer:
    """The transfer of integers and truth values: ranges have whole ends, and no value wraps around; recorded where that
    does not hold, or where a rule is shown by it.
    """
    element = transfer.element or context.element
    if element in FORMATS:
        return transfer
    kind = ELEMENTS[element]
    low, high = np.ceil(transfer.low), np.floor(transfer.high)
    if kind == np.bool_:
        return replace(transfer, low=np.maximum(low, 0.0), high=np.minimum(high, 1.0))
    if not is_integer(kind):
        raise NotExecutable(f"elements of type {element} have no bounds")
    least, most = limits_of(kind)
    error = _error(transfer, element)
    inside = (below(low - error) > float(least) - 1) & (above(high + error) < float(most) + 1)
    if low.size and not transfer.saturates and (is_recorded or not inside.all()):
        ends = f"{low.min():.6g} to {high.max():.6g}, error {error.max():.3g}"
        context.require(NO_WRAP_AROUND, bool(inside.all()), f"values from {ends}, in the type {element}")
    return replace(transfer, low=low, high=high)


def _error(transfer: Transfer, element: str) -> Array:
    """The error of a value by its transfer: the sum of its parts, rounded up; of integers a whole number."""
    error = transfer.error
    return spread(error if element in FORMATS else np.floor(error), transfer.low.shape)


def _stays_exact(operator: Operator, inputs: Sequence[Value]) -> bool:
    """Whether the outputs are the same in every implementation: shapes, or constants that nothing rounds."""
    constants = all(operand.is_point for operand in inputs)
    whole = all(operand.element not in FORMATS for operand in inputs)
    return operator.reads_shapes_only or (constants and (operator.exact or whole))


def _bounded(output: Value, transfer: Transfer, element: str, why: str, node: str) -> Value:
    """The value of an output by its transfer; `why` says why nothing is known of it, "" where something is."""
    element, shape = transfer.element or element, transfer.low.shape
    error = _error(transfer, element)
    ends = np.min(transfer.low, initial=0.0), np.max(transfer.high, initial=0.0), np.max(error, initial=0.0)
    if not why and not np.isfinite(ends).all():
        why = f"{node}: the range or the error explodes"
    return replace(
        output, facts=TensorFacts(element, shape, output.facts.values), low=transfer.low, high=transfer.high,
        error=error, transfer=transfer, unbounded=why, introduced=spread(transfer.introduced, shape),
        serial=new_serial(),
    )  # fmt: skip


def _exact(
    operator: Operator, application: Application, inputs: Sequence[Value | None], outputs: Sequence[Value | None]
) -> list[Value | None] | None:
    """The outputs where they are the same in every implementation: constants; None where they are not."""
    present = [operand for operand in inputs if operand is not None]
    if not _stays_exact(operator, present):
        return None
    arrays = [
        None if operand is None else np.zeros(operand.shape) if operand.exact is None else operand.exact
        for operand in inputs
    ]
    values = [
        output and replace(_finite_constant(output.name, array), node=output.node, readers=output.readers)
        for output, array in zip(outputs, operator.define(application, arrays), strict=True)
    ]
    return None if operator.bound is not None and _rounded(present[:1], values) else values


def _rounded(inputs: Sequence[Value], outputs: Sequence[Value | None]) -> bool:
    """Whether a conversion between types rounded: an implementation may round another way, so it has an error."""
    pairs = [(x, y) for x in inputs for y in outputs if y is not None and x.element != y.element]
    return any(
        y.element in FORMATS and not (x.low is x.high and x.shape == y.shape and np.array_equal(x.low, y.low))
        for x, y in pairs
    )  # fmt: skip


def _argument(value: Value) -> Value | None:
    """The value of which an elementwise function made this one; None where nothing or another operator made it."""
    transfer = value.transfer
    elementwise = transfer is not None and len(transfer.inputs) == 1 and isinstance(transfer.relaxation, Lines)
    return transfer.inputs[0] if transfer is not None and elementwise else None


def ancestors_size(value: Value) -> int:
    """How many elements a value and all values that it is made of have."""
    seen, waiting = {value.serial: value.low.size}, [value]
    while waiting:
        transfer = waiting.pop().transfer
        for operand in (*transfer.inputs, *transfer.followed.inputs) if transfer is not None else ():
            if operand.serial not in seen:
                seen[operand.serial] = operand.low.size
                waiting.append(operand)
    return sum(seen.values())


def blocks(marked: Array, value: Value, most: int = adjoint.BLOCK_ELEMENTS) -> list[Array]:
    """The elements in blocks whose widest rows have at most so many numbers, or one row."""
    widest = max(1, value.low.size)
    operand = value
    seen = 0
    while operand.transfer is not None and operand.transfer.inputs and seen < 64:
        operand, seen = operand.transfer.inputs[0], seen + 1
        widest = max(widest, operand.low.size)
    step = max(1, most // widest)
    return [marked[start : start + step] for start in range(0, len(marked), step)]


def _finite_constant(name: str, array: Array) -> Value:
    if array.dtype == TEXT or array.dtype.kind == "c":
        raise NotBounded(f"the constant {quote(name)} is of type {NAMES[array.dtype]}, which has no bounds")
    value = constant(name, array)
    float_like = format_of(array.dtype) is not None or is_small_float(array.dtype)
    if float_like and not np.isfinite([value.low.min(initial=0.0), value.low.max(initial=0.0)]).all():
        return replace(constant(name, np.zeros_like(array)), unbounded=f"the constant {quote(name)} is infinite or NaN")
    return value
