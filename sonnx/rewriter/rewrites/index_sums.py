"""Einsum of two operands as one product of matrices, or of stacks of them, between Transpose and Reshape.

Each element of the output is one sum of the same products.
"""

from __future__ import annotations

from collections.abc import Sequence

from sonnx.equivalence.interpretation.index_sums import product_form
from sonnx.rewriter import descriptions
from sonnx.rewriter.node_builders import SHAPE_AS_INPUT, NodeSequence, attribute, with_attributes
from sonnx.rewriter.operator_names import OperatorName
from sonnx.rewriter.rewrite import Replacement, Trigger, rewrite
from sonnx.rewriter.site import Site


@rewrite("written-sum", Trigger.RULE_FAILS, makes_executable=True)
def written_sum(site: Site) -> Replacement | None:
    """Both operands with their axes in order, as matrices or stacks; MatMul; the axes of the output in their order."""
    shapes, written = (site.shape(0), site.shape(1)), site.attributes.get("equation")
    known = [shape for shape in shapes if shape is not None]
    if len(site.node.inputs) != 2 or len(known) != 2 or written is None or written.reference:
        return None
    form = product_form(str(written.value), known)
    if form is None or site.operator_set < SHAPE_AS_INPUT:
        return None
    sequence = NodeSequence(site.node.outputs[0], site.operator_set)
    names = []
    for name, operand in zip(site.node.inputs, form.operands, strict=True):
        ordered = _transposed(sequence, name, operand.order, sequence.name("ordered"))
        names.append(sequence.reshape(ordered, operand.shape))
    product = sequence.add(OperatorName.MATMUL, names, sequence.name("product"))
    in_order = form.order == tuple(range(len(form.order)))
    apart = sequence.reshape(product, form.result, sequence.output if in_order else "")
    if not in_order:
        _transposed(sequence, apart, form.order, sequence.output)
    return sequence.replacement(descriptions.call(site.node), "Transpose, Reshape and MatMul")


def _transposed(sequence: NodeSequence, source: str, order: Sequence[int], output: str) -> str:
    """Append a Transpose, none where the axes are in order."""
    if tuple(order) == tuple(range(len(order))):
        return source
    sequence.add(OperatorName.TRANSPOSE, (source,), output)
    sequence.nodes[-1] = with_attributes(sequence.nodes[-1], {"perm": attribute("perm", "ints", tuple(order))})
    return output
