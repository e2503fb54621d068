"""Calls of model-local functions and branches of constant conditions, replaced by the nodes inside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from sonnx.base.errors import Unfinished
from sonnx.base.escaping import quote
from sonnx.checker.verdicts import Where
from sonnx.model import value_names
from sonnx.model.ir import Attribute, Function, Graph, Node, subgraphs
from sonnx.model.limits import exceeded
from sonnx.model.scopes import function_key, imports_of
from sonnx.rewriter import descriptions
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.inlining import FunctionKey, callee, calls
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence
from sonnx.rewriter.rewrite import Edit, ModelChange, Replacement, Trigger, rewrite
from sonnx.rewriter.site import Site


@rewrite("constant-condition", Trigger.RULE_FAILS, makes_executable=True)
def constant_condition(site: Site) -> Replacement | None:
    """The nodes and constants of the branch that is taken.

    Not where the branch defines a name that is defined around it: it is open which value a user of the name gets.
    """
    node, condition = site.node, site.constant(0)
    if condition is None or condition.element != "bool" or condition.data is None or len(condition.data) != 1:
        return None
    taken = "then_branch" if condition.data[0] else "else_branch"
    branch = site.attributes[taken].value if taken in site.attributes else None
    if not isinstance(branch, Graph) or branch.sparse_initializers or len(branch.outputs) != len(node.outputs):
        return None
    around = value_names.TakenNames((*node.inputs, *node.outputs, *value_names.names_inside(node)))
    own = [name for branch_node in branch.nodes for name in branch_node.outputs if name] + [
        initializer.name for initializer in branch.initializers
    ]
    if any(name in site.visible for name in own):
        return None
    names = {name: value_names.unused(name, around) for name in dict.fromkeys(own)}
    nodes = tuple(value_names.renamed(branch_node, names, outputs=True) for branch_node in branch.nodes)
    constants = tuple(replace(initializer, name=names[initializer.name]) for initializer in branch.initializers)
    pairs = zip(node.outputs, branch.outputs, strict=True)
    same = tuple((old, names.get(value.name, value.name)) for old, value in pairs if old)
    before = f"{descriptions.call(node)}, which is {bool(condition.data[0])}"
    kept = _constant_outputs(site, branch, same)
    nodes, constants = (*nodes, *kept.nodes), (*constants, *kept.constants)
    same = tuple(pair for pair in same if all(pair[0] not in added.outputs for added in kept.nodes))
    return Replacement(nodes, before, f"the nodes of {taken}", constants, same)


def _constant_outputs(site: Site, branch: Graph, same: Iterable[tuple[str, str]]) -> NodeSequence:
    """A Reshape for each graph output that is a constant of a branch: an initializer cannot be an output."""
    outputs = {value.name for value in site.context.model.graph.outputs}
    results = dict(zip(site.node.outputs, branch.outputs, strict=True))
    dims = {tensor.name: tensor.dims for tensor in branch.initializers}
    sequence = NodeSequence(next(iter(site.node.outputs)), site.operator_set)
    for old, new in same:
        shape = dims.get(results[old].name)
        if old in outputs and shape is not None and site.operator_set >= SHAPE_AS_INPUT:
            sequence.reshape(new, shape, old)
    return sequence


@rewrite("function-call", Trigger.RULE_SELECTED, makes_executable=True)
def function_call(site: Site) -> Replacement | None:
    """The body of the function with the values of the call."""
    node = site.node
    function = site.context.functions.get(callee(node))
    if function is None or not _inlinable(site, function):
        return None
    inputs = (*node.inputs, *[""] * (len(function.inputs) - len(node.inputs)))
    names = dict(zip(function.inputs, inputs, strict=True))
    taken = value_names.TakenNames((*names.values(), *node.outputs))
    listed = [(name, result) for name, result in zip(function.outputs, node.outputs, strict=False) if result]
    results = dict(reversed(listed))
    for name in dict.fromkeys(name for function_node in function.nodes for name in function_node.outputs if name):
        names[name] = results.get(name) or value_names.unused(name, taken)
    same = tuple((result, names[name]) for name, result in listed if names.get(name, result) != result)
    attributes = {default.name: default for default in (*function.defaults, *node.attributes)}
    nodes = tuple(
        _with_call_attributes(value_names.renamed(function_node, names, outputs=True), attributes)
        for function_node in function.nodes
    )
    return Replacement(nodes, descriptions.call(node), f"its {len(nodes)} nodes", same=same)


def _inlinable(site: Site, function: Function) -> bool:
    """Whether the body has the operator set of the model, no nested graphs, and the call fits and is not recursive.

    Raises:
        Unfinished: the graph would have more nodes than a file may have.
    """
    own = imports_of(function.imports).get("")
    flat = all(next(subgraphs(node), None) is None for node in function.nodes)
    fits = len(site.node.inputs) <= len(function.inputs) and len(site.node.outputs) <= len(function.outputs)
    ends = callee(site.node) in site.context.inlined_sizes
    if not (flat and fits and ends and own in (None, site.context.operator_set)):
        return False
    _require_few(site.context)
    return True


def _require_few(context: RewriteContext) -> None:
    limits = context.model.limits
    if context.inlined_size > limits["nodes"]:
        number = exceeded(limits, "nodes", context.inlined_size)
        raise Unfinished(f"with its calls of functions replaced, and counting these, the graph {number}")


def _reachable(start: Iterable[FunctionKey], functions: Mapping[FunctionKey, Function]) -> set[FunctionKey]:
    """The functions that the bodies of some call, directly or through others, in graphs inside nodes too."""
    found: set[FunctionKey] = set()
    waiting = list(start)
    while waiting:
        new = set(calls(functions[waiting.pop()].nodes)) & functions.keys() - found
        found |= new
        waiting += sorted(new)
    return found


def _with_call_attributes(node: Node, given: Mapping[str, Attribute]) -> Node:
    """The node with the attributes the call gives; a referenced attribute that nobody gives is not written."""
    resolved = [_resolved(attribute, given) for attribute in node.attributes]
    return replace(node, attributes=tuple(attribute for attribute in resolved if attribute is not None))


def _resolved(attribute: Attribute, given: Mapping[str, Attribute]) -> Attribute | None:
    if not attribute.reference:
        return attribute
    found = given.get(attribute.reference)
    return None if found is None else replace(found, name=attribute.name)


@rewrite("uncalled-functions", Trigger.RULE_SELECTED, makes_executable=True)
def uncalled_functions(context: RewriteContext) -> ModelChange | None:
    """The model with the functions that its graph calls, directly or through others."""
    model, functions = context.model, context.functions
    roots = set(calls(model.graph.nodes)) & functions.keys()
    called = roots | _reachable(roots, functions)
    kept = tuple(function for function in model.functions if function_key(function) in called)
    edits = [
        Edit(Where(f"function[{index}]", "function", function.name), f"function {quote(function.name)}", "removed")
        for index, function in enumerate(model.functions)
        if function_key(function) not in called
    ]
    return ModelChange(replace(model, functions=kept), edits) if edits else None
