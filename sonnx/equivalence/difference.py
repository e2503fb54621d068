"""What changed between two models: nodes, constants, findings of the check, and which evidence stands.

Both models are interpreted with one store of terms, so that a node whose outputs are the same terms computes the same.
Nodes that differ are compared part by part with the node they became (`node_pairs.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec import Struct

from sonnx.base.errors import BadInput
from sonnx.base.escaping import escape, plural, quote
from sonnx.checker.report import Finding, Report
from sonnx.checker.request import CheckRequest, check_model
from sonnx.checker.verdicts import Verdict
from sonnx.equivalence import keys
from sonnx.equivalence.changes import (
    ConstantChange,
    EvidenceStanding,
    FindingChange,
    ModelChanges,
    NodeChange,
    NodePlace,
    NodeStatus,
)
from sonnx.equivalence.decision import compare_sized
from sonnx.equivalence.interpretation import terms_of
from sonnx.equivalence.node_pairs import GraphTerms, Pairs
from sonnx.equivalence.options import EquivalenceOptions, PairOptions
from sonnx.equivalence.result import Answer, Equivalence
from sonnx.equivalence.sides import Side, demand_same_type, sized_sides, with_shapes
from sonnx.equivalence.terms import Term, empty_store
from sonnx.equivalence.walk import Walk
from sonnx.executor.model_inputs import required_inputs
from sonnx.model.ir import Attribute, Graph, Model, Node, Tensor, Type, subgraphs
from sonnx.model.scopes import canonical_domain, function_key
from sonnx.numerics.formats import TEXT, Array, patterns
from sonnx.profile import catalogue

STANDS, PARTLY, RENEW = "stands", "stands in part", "renew"
MAX_WRITTEN = 60
"""Characters of an attribute's value that a change shows."""


def changes_of(first: Side, second: Side, options: PairOptions) -> ModelChanges:
    """What changed between two models.

    Raises:
        BadInput: a constant has no values, or a shape does not fit.
        UsageError: an unknown edition, or a symbol that neither model has.
    """
    edition = catalogue.edition_named(options.edition).name
    first, second = sized_sides(first, second, options)
    answer, claim = _answer(first, second, options)
    if answer is not None and answer.binding:
        first = with_shapes(first, answer.binding)
        names = {name: options.renamed.get(name, name) for name in answer.binding}
        second = with_shapes(second, {names[name]: shape for name, shape in answer.binding.items()})
    compared = _compared(first, second, options, edition)
    nodes = tuple(compared.nodes())
    request = CheckRequest(edition)
    reports = [check_model(side.model, "", request, side.file.name) for side in (first, second)]
    return ModelChanges(
        first.file, second.file, edition,
        None if answer is None else answer.answer,
        claim,
        tuple(_header(first.model, second.model, options.renamed)),
        nodes,
        (reports[0].verdict, reports[1].verdict),
        tuple(_findings(reports[0], reports[1], compared.pairs)),
        tuple(_evidence(nodes, answer)),
    )  # fmt: skip


def _answer(first: Side, second: Side, options: PairOptions) -> tuple[Equivalence | None, str]:
    """Whether both are the same function, and for which shapes; None with the reason where this cannot be asked."""
    try:
        answer = compare_sized(first, second, EquivalenceOptions.of(options)).result
    except BadInput as stop:
        return None, str(stop)
    shapes = ", ".join(f"{escape(name)} of shape {list(shape)}" for name, shape in answer.binding.items())
    return answer, f"for {shapes} only" if shapes else ""


def _compared(first: Side, second: Side, options: PairOptions, edition: str) -> Compared:
    store = empty_store(edition)
    inputs = [[value.name for value in required_inputs(side.model)] for side in (first, second)]
    names = {name: options.renamed.get(name, name) for name in inputs[0]}
    types = {value.name: value.type for value in second.model.graph.inputs}
    own = {value.name: value.type for value in first.model.graph.inputs}
    shared = {other: name for name, other in names.items() if other in types and _one_type(own[name], types[other])}
    _, values = terms_of(first.model, store, first.folder, {name: name for name in names})
    others = {name: shared.get(name, f"{name} of the second model") for name in inputs[1]}
    _, its = terms_of(second.model, store, second.folder, others)
    every = {value.name: options.renamed.get(value.name, value.name) for value in first.model.graph.outputs}
    known = {name: other for name, other in names.items() if other in shared}
    sides = GraphTerms(first.model.graph, values), GraphTerms(second.model.graph, its)
    return Compared(first.model, second.model, *sides, Pairs(*sides, every | known), Walk(store))


def _one_type(one: Type, other: Type) -> bool:
    try:
        demand_same_type("", one, other)
    except BadInput:
        return False
    return True


# ------------------------------------------------------------------ nodes


class Content(Struct, frozen=True):
    """What of a pair of nodes differs."""

    changes: tuple[str, ...]
    constants: tuple[ConstantChange, ...]


@dataclass(eq=False)
class Compared:
    """Two models in terms of one store, with their pairs of nodes."""

    one: Model
    other: Model
    first: GraphTerms
    second: GraphTerms
    pairs: Pairs
    walk: Walk
    _upstream: dict[int, bool] = field(default_factory=dict)

    def nodes(self) -> Iterator[NodeChange]:
        """All nodes, in the order of the second model; those that are gone at their place in the first one."""
        moved = _out_of_order(self.pairs.forward)
        made = {index: self._pair(index, other, index in moved) for index, other in sorted(self.pairs.forward.items())}
        gone = [number for number in range(len(self.first.graph.nodes)) if number not in self.pairs.forward]
        names = _names(self.first.values), _names(self.second.values)
        for index, limit in enumerate(self._limits(moved)):
            while gone and gone[0] < limit:
                yield self._single(NodeStatus.GONE, self.first, gone.pop(0), names[1])
            before = self.pairs.backward.get(index)
            if before is None:
                yield self._single(NodeStatus.NEW, self.second, index, names[0])
            else:
                yield made[before]
        for index in gone:
            yield self._single(NodeStatus.GONE, self.first, index, names[1])

    def _limits(self, moved: set[int]) -> list[int]:
        """For each node of the second model the place in the first one of the next node that has not moved."""
        limits, limit = list[int](), len(self.first.graph.nodes)
        for index in reversed(range(len(self.second.graph.nodes))):
            before = self.pairs.backward.get(index)
            limit = limit if before is None or before in moved else before
            limits.append(limit)
        return limits[::-1]

    def _single(self, status: NodeStatus, side: GraphTerms, index: int, names: Mapping[int, str]) -> NodeChange:
        place = _place(side.graph, index)
        terms = [term for term in side.terms(side.graph.nodes[index].outputs) if term is not None]
        same = [names.get(term.number, "") for term in terms]
        value, counterpart = (Answer.IDENTICAL, same[0]) if same and all(same) else (None, "")
        if value is None and status is NodeStatus.GONE:
            counterpart = self._rounded(side.graph.nodes[index])
            value = Answer.ROUNDING if counterpart else None
        first, second = (place, None) if status is NodeStatus.GONE else (None, place)
        return NodeChange(status, first, second, value, counterpart)

    def _rounded(self, node: Node) -> str:
        """The value of the second model that takes the place of the only output of a node, and is equal up to
        rounding; "" where there is none.
        """
        names = [output for output in node.outputs if output]
        one = self.first.values.get(names[0]) if len(names) == 1 else None
        if one is None:
            return ""
        for other in dict.fromkeys((*names, *self.pairs.replacements(names[0]))):
            another = self.second.values.get(other)
            if another is not None and self.walk.matches(one, another):
                return other
        return ""

    def _pair(self, index: int, other: int, moved: bool) -> NodeChange:
        mine, its = self.first.graph.nodes[index], self.second.graph.nodes[other]
        value = self._value(mine, its)
        content = self._content(mine, its, value)
        differs = bool(content.changes or content.constants)
        status = NodeStatus.CHANGED if differs else NodeStatus.MOVED if moved else NodeStatus.SAME
        upstream = not differs and value is Answer.IDENTICAL and self._inputs_unchanged(mine, its)
        self._upstream[index] = upstream
        return NodeChange(
            status, _place(self.first.graph, index), _place(self.second.graph, other), value,
            changes=content.changes, constants=content.constants,
            renamed=(mine.name, mine.outputs) != (its.name, its.outputs), upstream_unchanged=upstream,
        )  # fmt: skip

    def _inputs_unchanged(self, mine: Node, its: Node) -> bool:
        """Whether what both nodes read is computed by the same nodes; nodes with graphs read more than their inputs."""
        if any(True for _ in subgraphs(mine)):
            return False
        for name, other in zip(mine.inputs, its.inputs, strict=True):
            maker = self.first.makers.get(name)
            if maker is not None and not (self.pairs.partner(name) == other and self._upstream.get(maker[0], False)):
                return False
        return True

    def _value(self, mine: Node, its: Node) -> Answer:
        answer = Answer.IDENTICAL
        listed = self.first.terms(mine.outputs), self.second.terms(its.outputs)
        if len(mine.outputs) != len(its.outputs):
            return Answer.UNDECIDED
        for one, other, name in zip(*listed, mine.outputs, strict=True):
            if not name or (one is other and one is not None):
                continue
            if one is None or other is None or not self.walk.matches(one, other):
                return Answer.UNDECIDED
            answer = Answer.ROUNDING
        return answer

    def _content(self, mine: Node, its: Node, value: Answer) -> Content:
        changes, constants = [*_attribute_changes(mine, its)], list[ConstantChange]()
        if mine.operator == "Constant" and not mine.domain and mine.outputs and its.outputs:
            one, another = self.first.values.get(mine.outputs[0]), self.second.values.get(its.outputs[0])
            if one is not None and another is not None and one.is_constant and another.is_constant:
                changes = []
                constants += _constant_changes(one, another, mine.outputs[0], its.outputs[0])
        for place in range(max(len(mine.inputs), len(its.inputs))):
            name, other = (node.inputs[place] if place < len(node.inputs) else "" for node in (mine, its))
            if not name or not other:
                if name or other:
                    changes.append(f"input {place}: {_read(name)} -> {_read(other)}")
                continue
            one, another = self.first.values.get(name), self.second.values.get(other)
            if one is not None and another is not None and one.is_constant and another.is_constant:
                constants += _constant_changes(one, another, name, other)
            elif not self._corresponds(name, other, one, another):
                changes.append(f"input {place}: {_read(name)} -> {_read(other)}")
        if len(mine.outputs) != len(its.outputs):
            changes.append(f"outputs: {len(mine.outputs)} -> {len(its.outputs)}")
        if value is Answer.UNDECIDED:
            changes += _meaning_changes(self.one, self.other, mine)
        return Content(tuple(changes), tuple(constants))

    def _corresponds(self, name: str, other: str, one: Term | None, another: Term | None) -> bool:
        if self.pairs.partner(name) == other or (one is another and one is not None):
            return True
        return one is not None and another is not None and self.walk.matches(one, another)


def _names(values: Mapping[str, Term]) -> dict[int, str]:
    return {term.number: name for name, term in reversed(list(values.items()))}


def _read(name: str) -> str:
    return quote(name) if name else "left out"


def _place(graph: Graph, index: int) -> NodePlace:
    node = graph.nodes[index]
    domain = canonical_domain(node.domain)
    operator = f"{domain}.{node.operator}" if domain else node.operator
    return NodePlace(index, node.name, operator, next(filter(None, node.outputs), ""))


def _out_of_order(forward: Mapping[int, int]) -> set[int]:
    """The nodes of the first graph outside one longest row of pairs that both graphs have in one order."""
    listed = sorted(forward.items())
    ends, rows, before = list[int](), list[int](), dict[int, int]()
    for number, (_, other) in enumerate(listed):
        at = bisect_left(ends, other)
        before[number] = rows[at - 1] if at else -1
        ends[at : at + 1], rows[at : at + 1] = [other], [number]
    kept, number = set[int](), rows[-1] if rows else -1
    while number >= 0:
        kept.add(listed[number][0])
        number = before[number]
    return forward.keys() - kept


def _attribute_changes(mine: Node, its: Node) -> Iterator[str]:
    one, other = ({attribute.name: attribute for attribute in node.attributes} for node in (mine, its))
    for name in sorted(one.keys() | other.keys()):
        if keys.frozen(one.get(name)) != keys.frozen(other.get(name)):
            yield f"{escape(name)}: {_written(one.get(name))} -> {_written(other.get(name))}"


def _written(attribute: Attribute | None) -> str:
    if attribute is None:
        return "not written"
    value: Any = attribute.value
    if isinstance(value, Tensor | Graph):
        return "a tensor" if isinstance(value, Tensor) else "a graph"
    text = escape(str(list(value) if isinstance(value, tuple) else value))
    return text if len(text) <= MAX_WRITTEN else f"{text[:MAX_WRITTEN]}..."


def _meaning_changes(first: Model, second: Model, node: Node) -> Iterator[str]:
    """What decides the meaning of a node beside its attributes: the function it calls, or its operator set."""
    bodies = []
    for model in (first, second):
        known = {function_key(model_function): model_function for model_function in model.functions}
        function = known.get((canonical_domain(node.domain), node.operator, node.overload))
        bodies.append(None if function is None else keys.frozen(function.nodes))
    if bodies[0] != bodies[1]:
        yield "the function that it calls"
    versions = [_imports(model).get(canonical_domain(node.domain)) for model in (first, second)]
    if versions[0] != versions[1] and bodies == [None, None]:
        yield f"operator set: {versions[0]} -> {versions[1]}"


def _imports(model: Model) -> dict[str, int | None]:
    return {canonical_domain(import_.domain): import_.version for import_ in model.imports}


# ------------------------------------------------------------------ constants


def _constant_changes(one: Term, other: Term, name: str, its_name: str) -> Iterator[ConstantChange]:
    """The change of a constant; none where both are equal."""
    if one is other:
        return
    first, second = one.array, other.array
    assert first is not None  # noqa: S101  constants have values
    assert second is not None  # noqa: S101  see above
    types = [f"{term.facts.type} {list(term.array.shape)}" for term in (one, other) if term.array is not None]
    if types[0] != types[1]:
        yield ConstantChange(name, its_name, types[0], types[1], first.size, first.size, None, None)
        return
    differs = first != second if first.dtype == TEXT else patterns(first) != patterns(second)
    largest, relative = _distance(first, second)
    yield ConstantChange(name, its_name, types[0], "", first.size, int(np.count_nonzero(differs)), largest, relative)


def _distance(first: Array, second: Array) -> tuple[float | None, float | None]:
    """The largest difference of two elements, and relative to the largest element of the first array."""
    if first.dtype == TEXT or first.dtype.kind == "c":
        return None, None
    wide = first.astype(np.float64), second.astype(np.float64)
    finite = np.isfinite(wide[0]) & np.isfinite(wide[1])
    with np.errstate(all="ignore"):
        largest = float(np.max(np.abs(wide[0] - wide[1])[finite], initial=0.0))
        size = float(np.max(np.abs(wide[0])[finite], initial=0.0))
    if not (finite | (wide[0] == wide[1]) | ((wide[0] != wide[0]) & (wide[1] != wide[1]))).all():
        return None, None
    return (largest if np.isfinite(largest) else None), (largest / size if size and np.isfinite(largest) else None)


# ------------------------------------------------------------------ header and findings


def _header(first: Model, second: Model, renamed: Mapping[str, str]) -> Iterator[str]:
    for what in ("input", "output"):
        one, other = (
            {value.name: value.type for value in getattr(model.graph, f"{what}s")} for model in (first, second)
        )
        names = {name: renamed.get(name, name) for name in one}
        for name, its_name in names.items():
            if its_name not in other:
                yield f"the {what} {quote(name)} is gone"
            elif one[name] != other[its_name]:
                yield f"the {what} {quote(name)}: {one[name]} -> {other[its_name]}"
            elif name != its_name:
                yield f"the {what} {quote(name)} is called {quote(its_name)}"
        yield from (f"the {what} {quote(name)} is new" for name in other if name not in names.values())
    versions = _imports(first), _imports(second)
    for domain in sorted(versions[0].keys() | versions[1].keys()):
        before, after = (version.get(domain, "none") for version in versions)
        if before != after:
            yield f"operator set{f' of {quote(domain)}' if domain else ''}: {before} -> {after}"
    if first.ir_version != second.ir_version:
        yield f"IR version: {first.ir_version} -> {second.ir_version}"


def _findings(first: Report, second: Report, pairs: Pairs) -> Iterator[FindingChange]:
    """The findings of either model that the other one does not have at the node or value that corresponds."""
    before = [(_subject(root, pairs), root) for root in first.roots]
    after = [(_subject(root, None), root) for root in second.roots]
    for listed, others, new in ((before, after, False), (after, before, True)):
        left = Counter(subject for subject, _ in others)
        for subject, finding in listed:
            if left[subject] > 0:
                left[subject] -= 1
            else:
                where = finding.where
                yield FindingChange(
                    new,
                    finding.rule,
                    finding.verdict,
                    where.place,
                    where.kind,
                    where.name,
                    where.operator,
                    finding.actual,
                )


def _subject(finding: Finding, pairs: Pairs | None) -> tuple[str, Verdict, str]:
    """What a finding is about, by the places and names of the second model where `pairs` has them."""
    where = finding.where
    begin, bracket, rest = where.place.partition("graph/node[")
    number, close, inner = rest.partition("]")
    if bracket and not begin and number.isdigit():
        index = int(number) if pairs is None else pairs.forward.get(int(number))
        place = f"node {index}{close}{inner}" if index is not None else f"gone {number}{inner}"
        return finding.rule, finding.verdict, place
    name = where.name if pairs is None else pairs.partner(where.name) or where.name
    return finding.rule, finding.verdict, f"{where.kind} {name}" if where.name else where.place


# ------------------------------------------------------------------ evidence


def _evidence(nodes: Sequence[NodeChange], answer: Equivalence | None) -> Iterator[EvidenceStanding]:
    pairs = [node for node in nodes if node.first is not None and node.second is not None]
    whole = len(pairs) == len(nodes)
    identical = sum(pair.value is Answer.IDENTICAL for pair in pairs)
    unchanged = sum(pair.upstream_unchanged for pair in pairs)
    total = sum(node.second is not None for node in nodes)
    all_same = answer is not None and answer.answer is Answer.IDENTICAL and not answer.binding

    def of(number: int) -> str:
        return f"{number} of {plural(total, 'node')} of the second model"

    yield EvidenceStanding(
        "verdict (sonnx check)", RENEW, "the whole model, as shown above", "a verdict is about one file",
    )  # fmt: skip
    yield EvidenceStanding(
        "exact values (sonnx run)", STANDS if all_same else PARTLY if identical else RENEW,
        "all outputs" if all_same else f"the values of {of(identical)}",
        "identical values have equal bits for every input",
    )  # fmt: skip
    yield EvidenceStanding(
        "ranges of ideal values (sonnx bound)", STANDS if all_same else PARTLY if identical else RENEW,
        "all outputs" if all_same else f"the values of {of(identical)}",
        "equal exact values have equal ideal values",
    )  # fmt: skip
    same_nodes = STANDS if whole and unchanged == total else PARTLY if unchanged else RENEW
    yield EvidenceStanding(
        "error bounds (sonnx bound)", same_nodes, f"the values of {of(unchanged)}",
        "they depend on every operation before",
    )  # fmt: skip
    yield EvidenceStanding(
        "proofs about symbols (sonnx prove)", same_nodes, f"the calls of {of(unchanged)}",
        "a proof is about one call and its shapes",
    )  # fmt: skip
    for name in ("values of a runtime (sonnx compare)", "measured time and memory"):
        yield EvidenceStanding(name, RENEW, "the whole model", "a runtime may compile another graph in another way")
    yield EvidenceStanding("evidence pack (sonnx audit)", RENEW, "the whole pack", "it names the SHA-256 of the model")
