"""Import the operator set in which every operator has the version its text specifies.

Only where the version in force now means the same: it is specified or equivalent in the operator's data file, and
everything the node writes, and what it leaves out, says the same in both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sonnx.checker.report import Where
from sonnx.model.ir import Import, Model, Node, subgraphs
from sonnx.model.scopes import standard
from sonnx.profile import catalogue
from sonnx.profile.definitions import Operator, Parameter, at
from sonnx.rewriter.rewrite import Rewrite
from sonnx.rewriter.site import World

RULES = ("operator-version",)


def rewrite(model: Model, world: World) -> tuple[Model, Iterator[Rewrite]]:
    """The model with another version of the standard operator set, the least one that serves every node."""
    now = world.operator_set
    if now is None or not world.in_force.strict or not world.wants_any(RULES) or model.functions:
        return model, iter(())
    nodes = model.graph.nodes
    wanted = [number for number in range(1, catalogue.editions().operator_set + 1) if _serves(nodes, now, number)]
    if not nodes or not wanted or now in wanted:
        return model, iter(())
    least = min(wanted)
    imports = tuple(Import(one.domain, least) if standard(one.domain) == "" else one for one in model.imports)
    where, before, after = Where("model", "model"), f"operator set {now}", f"operator set {least}"
    return replace(model, imports=imports), iter((Rewrite("specified-versions", RULES, where, before, after),))


def _serves(nodes: tuple[Node, ...], now: int, then: int) -> bool:
    return all(_stays(node, now, then) for node in {_form(node): node for node in nodes}.values())


def _form(node: Node) -> object:
    """What of a node decides whether its version may change: equal nodes are asked once."""
    return node.operator, node.domain, len(node.inputs), frozenset(each.name for each in node.attributes)


def _stays(node: Node, now: int, then: int) -> bool:
    """Whether a node means the same under another operator set, and has the specified version there."""
    known = None if standard(node.domain) else catalogue.operator(node.operator)
    if known is None or next(subgraphs(node), None) is not None:
        return False
    one, other = known.version_at(now), known.version_at(then)
    if one is None or other is None or (known.specified is not None and other != known.specified):
        return False
    return one == other or (one in known.equivalent and _same_call(known, node, one, other))


def _same_call(known: Operator, node: Node, one: int, other: int) -> bool:
    written = {attribute.name for attribute in node.attributes}
    parameters = [each for each in known.parameters if _alive(each, one) or _alive(each, other)]
    return _inputs(known, one)[: len(node.inputs)] == _inputs(known, other)[: len(node.inputs)] and all(
        _same_parameter(each, each.name in written, one, other) for each in parameters
    )


def _inputs(known: Operator, version: int) -> list[str]:
    alive = [each for each in known.inputs if each.since <= version and (each.before is None or version < each.before)]
    return [each.name for each in alive]


def _same_parameter(parameter: Parameter, written: bool, one: int, other: int) -> bool:
    """A parameter that is written must be one in both versions; one that is not must mean the same left out."""
    if written:
        moved = parameter.input is not None and parameter.input <= max(one, other)
        return _alive(parameter, one) and _alive(parameter, other) and not moved
    absent = [at(parameter.absent, version) if _alive(parameter, version) else None for version in (one, other)]
    texts = {each.text if each else "" for each in absent}
    added = not (_alive(parameter, one) and _alive(parameter, other))
    return len(texts) == 1 or added


def _alive(parameter: Parameter, version: int) -> bool:
    return parameter.since <= version and (parameter.before is None or version < parameter.before)
