"""Constants: graph inputs with defaults, sparse constants, forms of Constant, and values computed before the run."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from msgspec.structs import replace

from sonnx.base.errors import Stop
from sonnx.base.escaping import escape
from sonnx.checker.verdicts import Where
from sonnx.equivalence.interpretation.constant_results import constant_result, has_constant_result
from sonnx.executor.constant_node import values_of
from sonnx.language.builtins import clamped, from_first
from sonnx.language.evaluator import TensorFacts, first_unknown
from sonnx.model.ir import NOT_STATED, Graph, Node, SparseTensor, Tensor, subgraphs
from sonnx.model.scopes import Scope, canonical_domain
from sonnx.numerics.formats import ELEMENTS, Array
from sonnx.rewriter import constant_tensors, descriptions
from sonnx.rewriter.context import RewriteContext
from sonnx.rewriter.node_builders import attribute
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Edit, ModelChange, Replacement, Trigger, changed_graph, rewrite
from sonnx.rewriter.site import Site

IR_VERSION_OF_DEFAULTS = 4
"""From this IR version on, an initializer of a graph input is a default that callers may replace (ONNX IR)."""


@rewrite("constant-inputs", Trigger.RULE_SELECTED)
def constant_inputs(context: RewriteContext) -> ModelChange | None:
    """The model without these inputs; below IR version 4 they are constants already."""
    graph = context.model.graph
    constant = {tensor.name for tensor in graph.initializers}
    if (context.model.ir_version or 0) < IR_VERSION_OF_DEFAULTS:
        return None
    changes = "callers can no longer give it another value"
    edits = [
        Edit(
            Where(f"graph/input[{index}]", "value", operand.name),
            "graph input with a default",
            "constant",
            None,
            changes,
        )
        for index, operand in enumerate(graph.inputs)
        if operand.name in constant
    ]
    return changed_graph(
        context, edits, inputs=tuple(operand for operand in graph.inputs if operand.name not in constant)
    )


MAX_DENSE_BYTES = 1 << 26
"""A larger dense constant changes the size of the file so much that a person should decide."""


@rewrite("dense-constants", Trigger.RULE_SELECTED, makes_executable=True)
def dense_constants(context: RewriteContext) -> ModelChange | None:
    """The model with its sparse constants written out.

    Initializers of the main graph, and the sparse values of Constant there and in functions.  A constant is left sparse
    where it is declared as sparse, may be given by the caller, or has indices that are not as ONNX requires.
    """
    model, graph = context.model, context.model.graph
    initializers = dict(_dense_initializers(graph))
    sparse = tuple(
        sparse_initializer
        for index, sparse_initializer in enumerate(graph.sparse_initializers)
        if index not in initializers
    )
    edits = [
        _dense_edit(
            Where(f"graph/sparse_initializer[{index}]", "tensor", tensor.name),
            graph.sparse_initializers[index],
            tensor,
        )
        for index, tensor in initializers.items()
    ]
    nodes, more = _dense_nodes("graph", graph.nodes)
    bodies = [_dense_nodes(f"function[{index}]", function.nodes) for index, function in enumerate(model.functions)]
    edits += [*more, *(edit for _, found in bodies for edit in found)]
    if not edits:
        return None
    changed = replace(
        graph,
        initializers=(*graph.initializers, *initializers.values()),
        sparse_initializers=sparse,
        nodes=nodes,
    )
    functions = [replace(function, nodes=body) for function, (body, _) in zip(model.functions, bodies, strict=True)]
    return ModelChange(replace(model, graph=changed, functions=tuple(functions)), tuple(edits))


def _dense_initializers(graph: Graph) -> Iterator[tuple[int, Tensor]]:
    scope = Scope("graph", graph, {})
    taken = {*scope.graph_inputs, *(initializer.name for initializer in graph.initializers)}
    for index, sparse in enumerate(graph.sparse_initializers):
        if sparse.name in taken or scope.declared.get(sparse.name, NOT_STATED).holds_sparse:
            continue
        taken.add(sparse.name)
        tensor = constant_tensors.dense(sparse, sparse.name, MAX_DENSE_BYTES)
        if tensor is not None:
            yield index, tensor


def _dense_nodes(place: str, nodes: tuple[Node, ...]) -> tuple[tuple[Node, ...], list[Edit]]:
    changed, edits = list(nodes), []
    for index, node in enumerate(nodes):
        found = _dense_node(node)
        if found is not None:
            changed[index], sparse, tensor = found
            where = Where(f"{place}/node[{index}]", "node", node.name, node.operator)
            edits.append(_dense_edit(where, sparse, tensor))
    return tuple(changed), edits


def _dense_node(node: Node) -> tuple[Node, SparseTensor, Tensor] | None:
    if node.operator != OperatorName.CONSTANT or canonical_domain(node.domain) or len(node.attributes) != 1:
        return None
    [written] = node.attributes
    if written.name != "sparse_value" or not isinstance(written.value, SparseTensor):
        return None
    tensor = constant_tensors.dense(written.value, "", MAX_DENSE_BYTES)
    if tensor is None:
        return None
    return replace(node, attributes=(attribute("value", "tensor", tensor),)), written.value, tensor


def _dense_edit(where: Where, sparse: SparseTensor, tensor: Tensor) -> Edit:
    before = f"sparse {escape(sparse.element or 'no type')} {list(sparse.dims)}"
    return Edit(where, before, f"dense {descriptions.tensor(tensor)}")


NUMBER_ATTRIBUTES = {"value_int": "int64", "value_ints": "int64", "value_float": "float", "value_floats": "float"}
"""The attributes of Constant that are numbers, with the element type of their tensor (ONNX Constant-12)."""


@rewrite("constant-form", Trigger.RULE_FAILS)
def constant_form(site: Site) -> Replacement | None:
    """Constant with the tensor of its numbers."""
    if len(site.node.attributes) != 1:
        return None
    [written] = site.node.attributes
    tensor = _tensor_of_numbers(written.name, written.value)
    if tensor is None:
        return None
    value = attribute("value", "tensor", tensor)
    node = replace(site.node, attributes=(value,))
    return Replacement((node,), descriptions.attribute(written), descriptions.attribute(value))


def _tensor_of_numbers(name: str, value: object) -> Tensor | None:
    element = NUMBER_ATTRIBUTES.get(name)
    if element is None:
        return None
    dims = (len(value),) if isinstance(value, tuple) else ()
    return constant_tensors.from_numbers("", element, value, dims)


MAX_FOLDED_ELEMENTS = 1 << 20
"""A larger result is not computed."""


NOT_CORRECTED = ("X-type", "scale-scalar", "zero-point-shape", "no-blocks", "default-axis")
"""The rules about DequantizeLinear for which a node of a constant has no other form."""


@rewrite("folded-constant", Trigger.RULE_SELECTED)
def folded_constant(site: Site) -> Replacement | None:
    """No node: its outputs are constants, as the reference executor computes them.

    Its definitions are exact or round correctly, so that the constants are the values of the profile.  A node that
    makes numbers of quantized ones stays where the profile has it, because its constants are larger than what they are
    made of.
    """
    node = site.node
    inputs = [site.constants[name] for name in dict.fromkeys(node.inputs) if name in site.constants]
    all_constant = len(inputs) == len(set(node.inputs)) > 0
    if not all_constant or not site.in_standard_domain or next(subgraphs(node), None) is not None:
        return None
    if node.operator == OperatorName.DEQUANTIZE_LINEAR and not site.failing_of(*NOT_CORRECTED):
        return None
    found = _exact_result(site, inputs)
    if found is None:
        if not all(_foldable(site, facts) for facts in site.outputs):
            return None
        found = _outputs_of(site, inputs)
    if not found:
        return None
    constants = tuple(constant_tensors.from_array(name, values) for name, values in found.items())
    after = ", ".join(map(descriptions.tensor, constants))
    return Replacement((), descriptions.call(node), f"constant {after}", constants)


def _exact_result(site: Site, inputs: list[Tensor]) -> dict[str, Array] | None:
    """The output of an operator that the executor does not run, where it is exact."""
    by_name = dict(zip(dict.fromkeys(site.node.inputs), inputs, strict=True))
    if not has_constant_result(site.node.operator):
        return None
    arrays = [constant_tensors.decoded(by_name[name]) for name in site.node.inputs]
    if any(array is None for array in arrays):
        return None
    found = constant_result(site.node, arrays)
    return None if found is None else {site.node.outputs[0]: found}


def _foldable(site: Site, facts: TensorFacts) -> bool:
    """Whether an output has a type and size that is folded, by what is known before it is computed."""
    if _gives_known_elements(site):
        return True
    shape: Any = None if first_unknown(facts.shape) is not None else facts.shape
    return shape is not None and prod(shape) <= MAX_FOLDED_ELEMENTS and facts.type in ELEMENTS


def _gives_known_elements(site: Site) -> bool:
    """Whether each output element is an element of an input, or one that an attribute states."""
    return site.operator_facts.moves or site.operator_facts.states_elements


def _outputs_of(site: Site, inputs: list[Tensor]) -> dict[str, Array]:
    """The outputs of the node alone, empty where the executor has no values for it."""
    constants = dict(zip(dict.fromkeys(site.node.inputs), inputs, strict=True))
    try:
        return values_of(site.node, site.call, constants, site.context.run_domain)
    except Stop:
        return {}


@rewrite("static-shape", Trigger.RULE_SELECTED)
def static_shape(site: Site) -> Replacement | None:
    """No node: its output is a constant."""
    node, shape = site.node, site.shape(0)
    references = {node_attribute.name for node_attribute in node.attributes if node_attribute.reference}
    if shape is None or len(node.outputs) != 1 or {"start", "end"} & references:
        return None
    numbers = prod(shape) if node.operator == OperatorName.SIZE else shape[slice(*_span(site, len(shape)))]
    dims = () if isinstance(numbers, int) else (len(numbers),)
    constant = constant_tensors.from_numbers(node.outputs[0], "int64", numbers, dims)
    if constant is None:
        return None
    before = f"{descriptions.call(node)}, of shape {list(shape)}"
    return Replacement((), before, f"constant {descriptions.tensor(constant)}", (constant,))


def _span(site: Site, rank: int) -> tuple[int, int]:
    """The axes from start to end, both brought into the rank (ONNX Shape-15)."""
    start, end = (site.attributes[name].value if name in site.attributes else None for name in ("start", "end"))
    first = clamped(from_first(start, rank), 0, rank) if isinstance(start, int) else 0
    last = clamped(from_first(end, rank), 0, rank) if isinstance(end, int) else rank
    return first, last
