"""Put the nodes of a model-local function where it is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sonnx.model.ir import Attribute, Function, Node, subgraphs
from sonnx.model.scopes import imports_of, standard
from sonnx.rewriter import descriptions, naming
from sonnx.rewriter.rewrite import Change
from sonnx.rewriter.site import Site

RULES = ("operator-in-profile", "no-model-local-function")
FIRST = True


def rewrite(site: Site) -> Change | None:
    """The body with the values of the call, if it means the same operator set as the model."""
    node = site.node
    function = site.world.functions.get(_key(node))
    if function is None or not site.world.wants_any(RULES) or not _inlinable(site, function):
        return None
    inputs = (*node.inputs, *[""] * (len(function.inputs) - len(node.inputs)))
    names = dict(zip(function.inputs, inputs, strict=True))
    taken = {*names.values(), *node.outputs}
    results = dict(zip(function.outputs, node.outputs, strict=False))
    for name in dict.fromkeys(name for each in function.nodes for name in each.outputs if name):
        given = results.get(name)
        names[name] = given if given else naming.fresh(name, taken)
    same = tuple((results[name], names[name]) for name in function.inputs if results.get(name))
    attributes = {each.name: each for each in (*function.defaults, *node.attributes)}
    nodes = tuple(_with(naming.renamed(each, names, outputs=True), attributes) for each in function.nodes)
    return Change(nodes, descriptions.call(node), f"its {len(nodes)} nodes", same=same)


def _inlinable(site: Site, function: Function) -> bool:
    own = imports_of(function.imports).get("")
    plain = all(next(subgraphs(each), None) is None for each in function.nodes)
    fits = len(site.node.inputs) <= len(function.inputs) and len(site.node.outputs) <= len(function.outputs)
    recursive = _key(site.node) in _called(_key(site.node), site.world.functions)
    return plain and fits and not recursive and own in (None, site.world.operator_set)


def _key(node: Node) -> tuple[str, str, str]:
    return standard(node.domain), node.operator, node.overload


def _called(key: tuple[str, str, str], functions: Mapping[tuple[str, str, str], Function]) -> set[tuple[str, str, str]]:
    """The functions that the body of one calls, directly or through others."""
    found: set[tuple[str, str, str]] = set()
    waiting = [key]
    while waiting:
        body = functions[waiting.pop()].nodes
        new = {_key(each) for each in body} & functions.keys() - found
        found |= new
        waiting += sorted(new)
    return found


def _with(node: Node, given: Mapping[str, Attribute]) -> Node:
    """The node with the attributes the call gives; one that is given by nobody is not written."""
    made = [_resolved(each, given) for each in node.attributes]
    return replace(node, attributes=tuple(each for each in made if each is not None))


def _resolved(attribute: Attribute, given: Mapping[str, Attribute]) -> Attribute | None:
    if not attribute.reference:
        return attribute
    found = given.get(attribute.reference)
    return None if found is None else replace(found, name=attribute.name)
