"""The interpreter of models: one walk over scopes, values and nodes, for every analysis.

A *domain* says what a value is (facts, solver terms, ranges) and what a call does to its values.  The interpreter knows
nothing about any analysis.  It resolves names, tells constants from defaults, builds each call once, and evaluates
equal calls on equal values once:

    model -> interpret(domain) -> Interpretation: a value for each name, a result for each call

A *transformer* may put other nodes in the place of a node; these are visited in its stead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from sonnx.graph.call import Call, Calls
from sonnx.language.steps import steps_of_model
from sonnx.model.ir import NOT_STATED, Model, Node, SparseTensor, Tensor, Type
from sonnx.model.scopes import Scope, scopes

ValueT = TypeVar("ValueT", bound=Hashable)
ResultT = TypeVar("ResultT")

OMITTED = 0
"""The number of an input or output that is left out."""


class Transferred(NamedTuple, Generic[ValueT, ResultT]):
    """What a call does: the values of its outputs after it, None where one is left out, and what the analysis says."""

    outputs: Sequence[ValueT | None]
    result: ResultT


class AnalysisDomain(Protocol[ValueT, ResultT]):
    """What a value is, and what a call does to values.  Values are frozen: equal ones are evaluated once."""

    def declared(self, type_: Type) -> ValueT:
        """The value that a declaration states; `NOT_STATED` is the type of a value without a declaration."""

    def constant(self, tensor: Tensor, replaceable: bool) -> ValueT:
        """The value of an initializer; a replaceable one is the default of a graph input that a caller may give."""

    def sparse(self, tensor: SparseTensor) -> ValueT:
        """The value of a sparse initializer."""

    def call(
        self, call: Call, inputs: Sequence[ValueT | None], outputs: Sequence[ValueT | None]
    ) -> Transferred[ValueT, ResultT]:
        """What a call does to its values; `outputs` are those its outputs are declared to have."""


class Visit(Struct, Generic[ValueT, ResultT], frozen=True):
    """One node at its position, its call, the numbers of the values it sees and makes, and the result of the call."""

    position: int
    node: Node
    call: Call
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    result: ResultT


class ScopeResult(Struct, Generic[ValueT, ResultT]):
    """One scope: the numbers of its declarations by name, of several what they state together, and of its values after
    the last node; a visit for each node, in order.
    """

    scope: Scope
    declared: dict[str, int]
    values: dict[str, int]
    visits: list[Visit[ValueT, ResultT]]


class Values(Generic[ValueT]):
    """The different values of an interpretation, numbered: numbers are compared faster than values."""

    def __init__(self) -> None:
        self._numbers: dict[ValueT, int] = {}
        self._known: list[ValueT | None] = [None]

    def number(self, value: ValueT) -> int:
        """The number of this value; equal values have one number."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self._known)
            self._known.append(value)
        return number

    def __getitem__(self, number: int) -> ValueT | None:
        """The value of a number, None for `OMITTED`."""
        return self._known[number]

    def all(self, numbers: Sequence[int]) -> list[ValueT | None]:
        """The values of numbers."""
        return [self._known[number] for number in numbers]


class Interpretation(Struct, Generic[ValueT, ResultT], frozen=True):
    """A model in a domain: every scope, a graph before those nested in it, functions after the main graph."""

    model: Model
    scopes: tuple[ScopeResult[ValueT, ResultT], ...]
    values: Values[ValueT]
    calls: Calls

    def value(self, name: str, scope: int = 0) -> ValueT | None:
        """The value of a name in a scope after its last node, None where nothing is known of it."""
        return self.values[self.scopes[scope].values.get(name, OMITTED)]

    def visits(self) -> Iterator[tuple[Scope, Visit[ValueT, ResultT]]]:
        """Every node with its scope, in order."""
        for scope in self.scopes:
            for visit in scope.visits:
                yield scope.scope, visit


class Transformer(Protocol[ValueT, ResultT]):
    """Rewrites a model while its nodes are visited."""

    def before(self, node: Node) -> Node:
        """The node to visit in place of this one."""

    def after(self, visit: Visit[ValueT, ResultT], place: Place[ValueT, ResultT]) -> Sequence[Node] | None:
        """The nodes that replace a visited node, None where it stays."""


class Place(Generic[ValueT, ResultT]):
    """Where a node stands: what a transformer reads and writes of the scope around it."""

    def __init__(self, run: _Run[ValueT, ResultT], result: ScopeResult[ValueT, ResultT]) -> None:
        self._run, self._result = run, result

    def values(self, numbers: Sequence[int]) -> list[ValueT | None]:
        """The values of numbers."""
        return self._run.values.all(numbers)

    def value(self, name: str) -> ValueT | None:
        """The value of a name, None where it has none yet."""
        return self._run.values[self._result.values.get(name, OMITTED)]

    def declared(self, name: str) -> ValueT | None:
        """The value that a name is declared to have, None where it is not declared."""
        return self._run.values[self._result.declared.get(name, OMITTED)]

    def define(self, name: str, value: ValueT) -> None:
        """Give a name a value."""
        self._result.values[name] = self._run.values.number(value)

    def rename(self, old: str, new: str) -> None:
        """Give a value another name."""
        if old in self._result.values:
            self._result.values[new] = self._result.values.pop(old)


def interpret(
    model: Model,
    domain: AnalysisDomain[ValueT, ResultT],
    calls: Calls,
    *,
    given: Mapping[str, ValueT] | None = None,
    transformer: Transformer[ValueT, ResultT] | None = None,
    main_only: bool = False,
) -> Interpretation[ValueT, ResultT]:
    """A model in a domain.

    Args:
        model: the model.
        domain: what values are and what calls do.
        calls: how nodes become calls.
        given: values of the main graph that replace declarations and constants.
        transformer: what replaces nodes.
        main_only: visit the main graph, without graphs inside nodes and functions.
    """
    run = _Run(model, domain, calls, transformer)
    every = scopes(model)
    listed = [next(iter(every))] if main_only else list(every)
    with steps_of_model(model.limits["steps"]):
        for index, scope in enumerate(listed):
            run.scope(scope, given if index == 0 and given else {})
    return Interpretation(model, tuple(run.results.values()), run.values, calls)


class _Run(Generic[ValueT, ResultT]):
    """One interpretation in progress: what it reads is frozen, what it writes is here."""

    def __init__(
        self,
        model: Model,
        domain: AnalysisDomain[ValueT, ResultT],
        calls: Calls,
        transformer: Transformer[ValueT, ResultT] | None,
    ) -> None:
        self.model, self.domain, self.calls, self.transformer = model, domain, calls, transformer
        self.values = Values[ValueT]()
        self.results: dict[str, ScopeResult[ValueT, ResultT]] = {}
        self.transferred: dict[object, tuple[Call, tuple[int, ...], tuple[int, ...], ResultT]] = {}
        self.of_types: dict[Type, int] = {}
        self.kinds: dict[object, int] = {}
        self.undeclared = self.declared(NOT_STATED)

    def scope(self, scope: Scope, given: Mapping[str, ValueT]) -> None:
        """Visit every node of a scope, in order, and keep the result by its place."""
        declared = self.declarations(scope)
        values = self.stated(scope, declared)
        values.update((name, self.values.number(value)) for name, value in given.items())
        scope_result = self.results[scope.place] = ScopeResult[ValueT, ResultT](scope, declared, values, [])
        nodes = enumerate(scope.graph.nodes)
        scope_result.visits[:] = (
            self.visits(scope_result, nodes) if self.transformer is None else self.replaced(scope_result, nodes)
        )

    def replaced(
        self, scope_result: ScopeResult[ValueT, ResultT], nodes: Iterable[tuple[int, Node]]
    ) -> Iterator[Visit[ValueT, ResultT]]:
        """A visit for each node that the transformer leaves in its place."""
        assert self.transformer is not None  # noqa: S101  the caller asks
        waiting, place, values = deque(nodes), Place(self, scope_result), scope_result.values
        while waiting:
            index, node = waiting.popleft()
            node = self.transformer.before(node)
            before = {name: values.get(name, self.undeclared) for name in node.outputs}
            [visit] = self.visits(scope_result, [(index, node)])
            values.update(before)  # the transformer may give these names other values
            instead = self.transformer.after(visit, place)
            if instead is None:
                stay = zip(node.outputs, visit.outputs, strict=True)
                values.update((name, number) for name, number in stay if values[name] == before[name])
                yield visit
            else:
                waiting.extendleft((index, inner_node) for inner_node in reversed(instead))

    def declarations(self, scope: Scope) -> dict[str, int]:
        """The number of the value that each name of a scope is declared to have."""
        declared, last, number = dict[str, int](), NOT_STATED, self.undeclared
        for name, type_ in scope.declared.items():
            if type_ is not last:  # most neighbours have one type
                last, number = type_, self.declared(type_)
            declared[name] = number
        return declared

    def stated(self, scope: Scope, declared: dict[str, int]) -> dict[str, int]:
        """The values of a scope before its first node: declarations, constants, and outputs of nodes."""
        graph, values = scope.graph, {**declared, "": OMITTED}
        newer = (self.model.ir_version or 0) >= 4
        for tensor in graph.initializers:
            if tensor.name:
                replaceable = newer and tensor.name in scope.graph_inputs
                values[tensor.name] = self.values.number(self.domain.constant(tensor, replaceable))
        for sparse in graph.sparse_initializers:
            if sparse.name not in values:
                values[sparse.name] = self.values.number(self.domain.sparse(sparse))
        for node in graph.nodes:
            for name in node.outputs:
                if name not in values:
                    values[name] = self.undeclared
        return values

    def declared(self, type_: Type) -> int:
        number = self.of_types.get(type_)
        if number is None:
            number = self.of_types[type_] = self.values.number(self.domain.declared(type_))
        return number

    def visits(
        self, scope_result: ScopeResult[ValueT, ResultT], nodes: Iterable[tuple[int, Node]]
    ) -> Iterator[Visit[ValueT, ResultT]]:
        """Evaluate the call of each node, or remember it; the names of its outputs have the values after it."""
        values, scope, undeclared = scope_result.values, scope_result.scope, self.undeclared
        kind = self.kinds.setdefault(scope.kind, len(self.kinds))
        remembered = self.transferred
        for index, node in nodes:
            try:
                inputs = tuple([values[name] for name in node.inputs])
                outputs = tuple([values[name] for name in node.outputs])
            except KeyError:
                inputs = tuple([values[name] if name in values else self.outer(scope, name) for name in node.inputs])
                outputs = tuple([values.get(name, undeclared) for name in node.outputs])
            attributes = tuple([attribute.identity for attribute in node.attributes]) if node.attributes else ()
            key = (node.operator, node.domain, node.overload, inputs, outputs, attributes, kind)
            transferred = remembered.get(key)
            if transferred is None:
                transferred = remembered[key] = self.transfer(scope, node, inputs, outputs)
            call, inputs, after, result = (
                transferred  # the equal tuple of the first call is kept, not one for each node
            )
            if after != outputs:
                values.update(zip(node.outputs, after, strict=True))
                values[""] = OMITTED
            yield Visit(index, node, call, inputs, after, result)

    def transfer(
        self, scope: Scope, node: Node, inputs: tuple[int, ...], outputs: tuple[int, ...]
    ) -> tuple[Call, tuple[int, ...], tuple[int, ...], ResultT]:
        """Build the call of a node and evaluate it: the call, its inputs, its outputs afterwards, and its result."""
        call = self.calls.of(scope, node)
        after, result = self.domain.call(call, self.values.all(inputs), self.values.all(outputs))
        return (
            call,
            inputs,
            tuple([OMITTED if output is None else self.values.number(output) for output in after]),
            result,
        )

    def outer(self, scope: Scope, name: str) -> int:
        """The value of a name in the graphs around, after their last node; undeclared where they have none."""
        around = scope.outer
        while around is not None:
            number = self.results[around.place].values.get(name)
            if number is not None:
                return number
            around = around.outer
        return self.undeclared
