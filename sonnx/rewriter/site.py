"""One node as rewrites see it: its signature, the facts of its inputs, and which rules fail there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType
from typing import Any

from sonnx.base.errors import Stop
from sonnx.checker.call import judge_facts, judge_form
from sonnx.checker.report import Verdict
from sonnx.checker.rules import ActiveRules
from sonnx.executor.preparation import Applier
from sonnx.graph.call import Call
from sonnx.graph.environment import environment, evaluate
from sonnx.language.evaluator import Evaluator, TensorFacts, Unknown, first_unknown
from sonnx.language.parser import parse
from sonnx.language.structure import equalities
from sonnx.model.ir import Attribute, Function, Node, Tensor
from sonnx.model.scopes import standard
from sonnx.numerics.formats import NAMES
from sonnx.profile import catalogue
from sonnx.profile.definitions import Input, at
from sonnx.profile.signature import Signature, resolve, signature
from sonnx.rewriter.rewrite import name_of


@dataclass(frozen=True)
class World:
    """What all nodes of a model share."""

    in_force: ActiveRules
    operator_set: int | None
    functions: Mapping[tuple[str, str, str], Function] = field(default_factory=dict)
    selected: frozenset[str] | None = None
    """The slugs rewrites may serve, None for all."""
    options: frozenset[str] = frozenset()
    """The rewrites that are made only when asked for, and are."""
    kinds: frozenset[str] | None = None
    """The kinds of rewrites that are made, None for all."""

    def makes(self, module: ModuleType) -> bool:
        """Whether rewrites of a module are made."""
        asked = getattr(module, "OPTION", "") in ("", *self.options)
        return asked and (self.kinds is None or name_of(module) in self.kinds)

    def wants(self, slug: str) -> bool:
        """Whether a rule is to be served: it is in force, and selected where some are."""
        in_force = slug in self.in_force.slugs or "." in slug
        return in_force and (self.selected is None or slug in self.selected)

    def wants_any(self, slugs: Iterable[str]) -> bool:
        """Whether one of the rules is to be served."""
        return any(map(self.wants, slugs))


@dataclass(frozen=True)
class Site:
    """A node in its place.

    `inputs` are the facts of its inputs, None for one left out; `outputs` those after it; `constants` the tensors of
    values known before the model runs; `failing` the slugs that fail here and are to be served; `used` the
    values something uses.
    """

    world: World
    node: Node
    call: Call
    inputs: tuple[TensorFacts | None, ...]
    outputs: tuple[TensorFacts, ...]
    constants: Mapping[str, Tensor]
    failing: frozenset[str]
    used: frozenset[str]
    declared: tuple[TensorFacts, ...]
    visible: Collection[str] = ()
    """The values defined before the node."""
    invalid: frozenset[str] = frozenset()
    """The slugs by which the node is no valid ONNX: it has no meaning but for what mends these."""

    @property
    def signature(self) -> Signature | None:
        """The operator as edition and operator set see it, None where the catalogue does not have it."""
        return self.call.signature

    @cached_property
    def names(self) -> Mapping[str, Any]:
        """Every name of the operator's rules by its value."""
        made = self.call.signature
        return {} if made is None else environment(made, self.node.attributes, self.inputs, self.declared)

    @property
    def steady(self) -> bool:
        """Whether all inputs but the first are constants, so that a declared shape is not all there is to go by."""
        return all(name in self.constants for name in self.node.inputs[1:] if name)

    @property
    def attributes(self) -> Mapping[str, Attribute]:
        """The written attributes by name."""
        return {attribute.name: attribute for attribute in self.node.attributes}

    def fails(self, names: Iterable[str]) -> tuple[str, ...]:
        """The failing slugs that are of these names, alone or behind the operator."""
        wanted = set(names)
        return tuple(sorted(slug for slug in self.failing if slug in wanted or slug.rpartition(".")[2] in wanted))

    def value(self, text: str) -> Any:
        """An expression of the rule language for this node, None where it is not known."""
        found = evaluate(parse(text), Evaluator(), self.names)
        return None if first_unknown(found) is not None else found

    def known(self, name: str) -> Any:
        """A parameter or defined name, None where it is not known."""
        found = self.names.get(name)
        return None if found is None or first_unknown(found) is not None else found

    def shape(self, index: int) -> tuple[int, ...] | None:
        """The shape of an input, None where not all of it is known."""
        given = self.inputs[index] if index < len(self.inputs) else None
        return None if given is None else _whole(given.shape)

    def output_shape(self, index: int = 0) -> tuple[int, ...] | None:
        """The shape of an output, None where not all of it is known."""
        return _whole(self.outputs[index].shape)

    def element(self, index: int) -> str | None:
        """The element type of an input, None where it is not known."""
        given = self.inputs[index] if index < len(self.inputs) else None
        return None if given is None or isinstance(given.type, Unknown) else given.type

    def constant(self, index: int) -> Tensor | None:
        """The constant an input is, None where it is known at run time only."""
        name = self.node.inputs[index] if index < len(self.node.inputs) else ""
        return self.constants.get(name)

    def element_of(self, formal: Input) -> str | None:
        """The element type an input must have: that of its type variable, or the fixed one."""
        made = self.call.signature
        members = made.groups.get(formal.type) if made else None
        if members is None:
            return formal.type or None
        for each, given in zip(made.inputs if made else (), self.inputs, strict=False):
            if each.name in members and given is not None and not isinstance(given.type, Unknown):
                return given.type
        allowed = at(self.call.known.types[formal.type], made.version) if made and self.call.known else None
        return allowed[0] if allowed and len(allowed) == 1 else None

    def shape_demanded(self, name: str) -> tuple[int, ...] | None:
        """The shape the operator's own rules ask of an input: by `NAME.shape == …` or `NAME.rank == 0`."""
        for rule in self.call.signature.rules if self.call.signature else ():
            for left, right in equalities(rule.require) if rule.require else ():
                if (left.text, right.text) == (f"{name}.rank", "0"):
                    return ()
                if left.text == f"{name}.shape":
                    value = self.value(right.text)
                    return value if isinstance(value, tuple) else None
        return None


def _whole(shape: Any) -> tuple[int, ...] | None:
    return shape if isinstance(shape, tuple) and first_unknown(shape) is None else None


def look(
    world: World,
    node: Node,
    inputs: Sequence[TensorFacts | None],
    declared: Sequence[TensorFacts],
    constants: Mapping[str, Tensor],
    used: frozenset[str],
    visible: Collection[str],
) -> Site:
    """A node in its place, judged."""
    call = call_of(world, node)
    answers = judge_form(call, world.in_force)
    more, computed = judge_facts(call, inputs, [None if not name else each for name, each in _named(node, declared)],
                                 world.in_force)  # fmt: skip
    if call.signature is None:
        computed = [*_executed(world, node, inputs, computed)]
    failed = [answer for answer in (*answers, *more) if answer.verdict is Verdict.FAIL]
    failing = frozenset(answer.rule.slug for answer in failed)
    invalid = frozenset(answer.rule.slug for answer in failed if answer.breaks_onnx)
    wanted = frozenset(filter(world.wants, failing))
    return Site(world, node, call, tuple(inputs), tuple(computed), constants, wanted, used, tuple(declared),
                visible, invalid)  # fmt: skip


def _executed(
    world: World, node: Node, inputs: Sequence[TensorFacts | None], declared: Sequence[TensorFacts]
) -> Iterator[TensorFacts]:
    """The types and shapes the executor gives the outputs of an operator without a data file; else as declared."""
    applier = Applier(world.in_force, world.operator_set, conforming=False)
    try:
        prepared = None if node.domain else applier.prepare(node, inputs)
    except Stop:
        prepared = None
    made = prepared.expected if prepared else None
    for index, stated in enumerate(declared):
        if made is None or index >= len(made):
            yield stated
        else:
            shape, kind = made[index]
            yield stated._replace(
                type=NAMES[kind] if isinstance(stated.type, Unknown) else stated.type,
                shape=shape if first_unknown(stated.shape) is not None else stated.shape,
            )


def _named(node: Node, declared: Sequence[TensorFacts]) -> Iterable[tuple[str, TensorFacts]]:
    return zip(node.outputs, declared, strict=True)


def call_of(world: World, node: Node) -> Call:
    """The node as the rules about calls see it; an operator outside the edition by its ONNX text, for its shapes."""
    domain, edition = standard(node.domain), world.in_force.edition
    calls_function = (domain, node.operator, node.overload) in world.functions
    described = None if domain or calls_function else catalogue.operator(node.operator)
    version = described.version_at(world.operator_set) if described and world.operator_set is not None else None
    made = None
    if described is not None and version is not None:
        made = signature(node.operator, version, edition.name)
        made = made or resolve(described, version, "onnx", world.in_force.editions, edition.name)
    return Call(
        operator=node.operator,
        domain=domain,
        overload=node.overload,
        operator_set=world.operator_set,
        version=version,
        attributes=node.attributes,
        inputs=tuple(map(bool, node.inputs)),
        outputs=tuple(map(bool, node.outputs)),
        known=described,
        signature=made,
        status="" if domain or calls_function else edition.status(node.operator),
        imported=world.operator_set is not None or bool(domain),
        in_function=False,
        calls_function=calls_function,
        strict=world.in_force.strict,
    )


def with_attributes(node: Node, changed: Mapping[str, Attribute | None]) -> Node:
    """The node with attributes replaced, added at the end, or removed where None stands."""
    kept = [changed.get(each.name, each) for each in node.attributes]
    there = {each.name for each in node.attributes}
    added = [each for name, each in changed.items() if name not in there]
    return replace(node, attributes=tuple(each for each in (*kept, *added) if each is not None))
