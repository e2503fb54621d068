"""The site of a rewrite: one node with its signature, the facts of its inputs, and the rules that fail there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

from msgspec import Struct

from sonnx.checker.rules import SubjectResults
from sonnx.checker.verdicts import Verdict
from sonnx.executor.prepared_call import PreparedNode
from sonnx.graph.call import Call
from sonnx.graph.environment import NOTHING_STATED, environment
from sonnx.graph.interpreter import Visit
from sonnx.language.evaluator import TensorFacts, Unknown, evaluate, first_unknown
from sonnx.language.parser import parse
from sonnx.language.structure import equalities
from sonnx.model.ir import Attribute, Node, Tensor
from sonnx.numerics.application import Application
from sonnx.operators import StatedOperator, is_executable, operator_facts
from sonnx.profile.definitions import Input, at
from sonnx.profile.signature import Signature
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.pieces import Pieces, WholeValue, joined, part_of

Shape = tuple[int, ...]

SILENT = "silent-cases"
"""The erratum of rules against cases that a file can state and that have no meaning in the text."""


class Site(Struct, frozen=True, dict=True):
    """A node with everything a rewrite may ask about it.

    `inputs` are the facts of its inputs, None for an omitted one; `outputs` the computed facts of its outputs,
    `declared` the declared ones.  `constants` are the values known before the model runs, `visible` the values defined
    before the node, `used` the values that something reads, `pieces` the values that
    consist of others.  `failing` are the slugs that fail here and are selected,
    `invalid` those by which the node is not valid ONNX, or states a case of which the text says nothing: it has no
    meaning except to a rewrite that serves one of them.
    """

    context: RewriteContext
    node: Node
    call: Call
    inputs: tuple[TensorFacts | None, ...]
    outputs: tuple[TensorFacts, ...]
    declared: tuple[TensorFacts, ...]
    constants: Mapping[str, Tensor]
    visible: Collection[str]
    used: set[str]
    pieces: Mapping[str, Pieces]
    failing: frozenset[str]
    invalid: frozenset[str]
    producer_of: Callable[[str], Site | None]
    """The node that stays and gives a value, None for other values."""

    # The operator

    @property
    def in_standard_domain(self) -> bool:
        """Whether the node is of the standard domain, "" or "ai.onnx"."""
        return not self.call.domain

    @property
    def qualified_operator(self) -> str:
        """The operator, behind its domain where that is another one than the standard domain."""
        return f"{self.call.domain}.{self.node.operator}" if self.call.domain else self.node.operator

    @property
    def operator_facts(self) -> StatedOperator:
        """What is known of the operator of the node."""
        return operator_facts(self.node.operator, self.node.domain)

    @property
    def operator_set(self) -> int:
        """The version of the standard operator set that the model imports, 0 where it imports none."""
        return self.context.operator_set or 0

    @property
    def signature(self) -> Signature | None:
        """The operator under the edition and operator set, None where the profile has no data file of it."""
        return self.call.signature

    def failing_of(self, *names: str) -> tuple[str, ...]:
        """The failing slugs with one of these names, as a whole or after the operator, sorted."""
        return tuple(sorted(slug for slug in self.failing if slug in names or slug.rpartition(".")[2] in names))

    # Values of the rule language

    @cached_property
    def environment(self) -> Mapping[str, Any]:
        """Every name of the operator's rules with its value."""
        candidate = self.call.signature
        return {} if candidate is None else environment(candidate, self.node.attributes, self.inputs, self.declared)

    def evaluate(self, source: str) -> Any:
        """The value of an expression of the rule language at this node, None where it is not known."""
        found = evaluate(parse(source), self.environment)
        return None if first_unknown(found) is not None else found

    def known(self, name: str) -> Any:
        """The value of a parameter or a defined name, None where it is not known."""
        found = self.environment.get(name)
        return None if found is None or first_unknown(found) is not None else found

    @cached_property
    def application(self) -> Application | None:
        """How the executor applies the operator, None where it does not know it or not all of its parameters."""
        prepared = self.context.run_domain.call(self.call, self.inputs, self.declared)
        return prepared.result.application if isinstance(prepared.result, PreparedNode) else None

    # Attributes, inputs and outputs

    @property
    def attributes(self) -> Mapping[str, Attribute]:
        """The written attributes by name."""
        return {attribute.name: attribute for attribute in self.node.attributes}

    def flag(self, name: str, absent: int) -> int | None:
        """The attribute that is 0 or 1, None where it has another value, to which ONNX gives no meaning."""
        written = self.attributes.get(name)
        value = absent if written is None else written.value
        return value if type(value) is int and value in (0, 1) else None

    @property
    def only_first_input_varies(self) -> bool:
        """Whether all other inputs are constants, so that the output shape is computed and not only declared."""
        return all(name in self.constants for name in self.node.inputs[1:] if name)

    def constant(self, index: int) -> Tensor | None:
        """The constant that is an input, None where the value is known at run time only."""
        name = self.node.inputs[index] if index < len(self.node.inputs) else ""
        return self.constants.get(name)

    def producer(self, index: int) -> Site | None:
        """The site of the node that gives an input, None for an input of the graph or a constant."""
        name = self.node.inputs[index] if index < len(self.node.inputs) else ""
        return self.producer_of(name) if name else None

    def shape(self, index: int) -> Shape | None:
        """The shape of an input, None where not every dimension is known or no tensor can have it."""
        given = self.inputs[index] if index < len(self.inputs) else None
        return None if given is None else _known_shape(given.shape)

    def output_shape(self, index: int = 0) -> Shape | None:
        """The shape of an output, None where not every dimension is known or no tensor can have it."""
        return _known_shape(self.outputs[index].shape) if index < len(self.outputs) else None

    def element_type(self, index: int) -> str | None:
        """The element type of an input, None where it is not known."""
        given = self.inputs[index] if index < len(self.inputs) else None
        return None if given is None or isinstance(given.type, Unknown) else given.type

    def required_element_type(self, formal: Input) -> str | None:
        """The element type an input must have: that of its type variable, or the fixed one."""
        candidate = self.call.signature
        members = candidate.groups.get(formal.type) if candidate else None
        if members is None:
            return formal.type or None
        for operand, given in zip(candidate.inputs if candidate else (), self.inputs, strict=False):
            if operand.name in members and given is not None and not isinstance(given.type, Unknown):
                return given.type
        allowed = (
            at(self.call.definition.types[formal.type], candidate.version)
            if candidate and self.call.definition
            else None
        )
        return allowed[0] if allowed and len(allowed) == 1 else None

    def required_shape(self, name: str) -> Shape | None:
        """The shape that the operator's rules require of an input, by `NAME.shape == …` or `NAME.rank == 0`."""
        for rule in self.call.signature.rules if self.call.signature else ():
            for left, right in equalities(rule.require) if rule.require else ():
                if (left.text, right.text) == (f"{name}.rank", "0"):
                    return ()
                if left.text == f"{name}.shape":
                    value = self.evaluate(right.text)
                    return value if isinstance(value, tuple) else None
        return None


LARGEST = 2**63 - 1
"""The most elements that a constant of int64 can count."""


def _known_shape(shape: Any) -> Shape | None:
    """The shape, None where an extent is not known or a rewrite could not write the number of elements."""
    if not isinstance(shape, tuple) or first_unknown(shape) is not None:
        return None
    return shape if prod(max(1, extent) for extent in shape) <= LARGEST else None


def site_of(
    context: RewriteContext,
    visit: Visit[TensorFacts, SubjectResults],
    inputs: Sequence[TensorFacts | None],
    outputs: Sequence[TensorFacts],
    declared: Sequence[TensorFacts],
    constants: Mapping[str, Tensor],
    used: set[str],
    pieces: Mapping[str, Pieces],
    visible: Collection[str],
    producer_of: Callable[[str], Site | None],
) -> Site:
    """The site of a visited node; `outputs` are the facts of its outputs after it, `declared` the declared ones."""
    node, call = visit.node, visit.call
    failed = [result for result in visit.result.reported if result.verdict is Verdict.FAIL]
    if call.signature is None:
        outputs = [*_executed(context, call, inputs, outputs)]
        if not is_executable(node):
            hints = (context.hints.get(name, NOTHING_STATED) for name in node.outputs)
            outputs = list(map(_completed, outputs, hints))
    return Site(
        context,
        node,
        call,
        tuple(inputs),
        tuple(outputs),
        tuple(declared),
        constants,
        visible,
        used,
        pieces,
        failing=frozenset(filter(context.selects, (result.rule.slug for result in failed))),
        invalid=frozenset(result.rule.slug for result in failed if result.breaks_onnx or SILENT in result.rule.errata),
        producer_of=producer_of,
    )


def _executed(
    context: RewriteContext, call: Call, inputs: Sequence[TensorFacts | None], declared: Iterable[TensorFacts]
) -> Iterator[TensorFacts]:
    """The types and shapes that the executor gives the outputs of an operator without a data file; else as declared."""
    stated = list(declared)
    computed = context.run_domain.call(call, inputs, stated).outputs
    for facts, tensor_facts in zip(stated, computed, strict=False):
        yield facts if tensor_facts is None else _completed(facts, tensor_facts)
    yield from stated[len(computed) :]


def _completed(facts: TensorFacts, found: TensorFacts) -> TensorFacts:
    """The facts, with the type and the shape that another source knows completely."""
    if first_unknown(found.shape) is not None:
        return facts
    return facts._replace(
        type=found.type if isinstance(facts.type, Unknown) else facts.type,
        shape=found.shape if first_unknown(facts.shape) is not None else facts.shape,
    )


def pieces_of(site: Site, known: Mapping[str, Pieces]) -> Pieces:
    """The values that make up the first output of a node, where it only moves whole ones; else none."""
    node, result, first = site.node, site.output_shape(), site.shape(0)
    if site.invalid or not site.in_standard_domain or not result or first is None or 0 in result:
        return ()
    given = known.get(node.inputs[0], (WholeValue(node.inputs[0], prod(first)),))
    match node.operator:
        case _ if site.operator_facts.keeps_order:
            return given
        case OperatorName.SLICE:
            cut = _cut(site, first)
            return () if cut is None else part_of(given, first, *cut)
        case OperatorName.CONCAT:
            axis, shapes = site.known("axis"), [site.shape(index) for index in range(len(node.inputs))]
            if axis is None or None in shapes or prod(result[: axis % len(result)]) != 1:
                return ()
            sizes = zip(node.inputs, shapes, strict=True)
            return joined(known.get(name, (WholeValue(name, prod(shape or ())),)) for name, shape in sizes)
    return ()


def _cut(site: Site, shape: Shape) -> tuple[int, tuple[int, int]] | None:
    """The only axis that a Slice cuts, and from where to where; None where it is another one."""
    lists = [site.known(name) for name in ("starts", "ends", "axes", "steps")]
    if None in lists or len({len(items) for items in lists}) != 1:
        return None
    cuts = [
        (axis, (start, end))
        for start, end, axis, step in zip(*lists, strict=True)
        if step == 1 and 0 <= axis < len(shape) and 0 <= start < end <= shape[axis] and end - start < shape[axis]
    ]
    whole = sum(
        step == 1 and start == 0 and 0 <= axis < len(shape) and end >= shape[axis]
        for start, end, axis, step in zip(*lists, strict=True)
    )
    return cuts[0] if len(cuts) == 1 and whole == len(lists[0]) - 1 else None
