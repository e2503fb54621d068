"""Every rewrite, in the order they run: on the whole model, on each node, then on the whole model again.

At each node the first rewrite that applies is taken, and the list is tried again from its start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sonnx.rewriter.rewrite import Completion, NodeRewriting, Preparation, Rewrite
from sonnx.rewriter.rewrites import (
    cleanup,
    constants,
    convolutions,
    data_movement,
    declarations,
    explicit_parameters,
    functions_and_branches,
    matrix_products,
    names_and_order,
    operand_shapes,
    operator_substitutes,
    versions,
)

PREPARATIONS: tuple[Rewrite[Preparation], ...] = (
    constants.CONSTANT_INPUTS,
    constants.DENSE_CONSTANTS,
    names_and_order.NAMED_GRAPH,
    names_and_order.SORTED_NODES,
    versions.SPECIFIED_VERSIONS,
    names_and_order.UNIQUE_NAMES,
)
"""What the visit of the nodes relies on: order, names, constants."""

NODE_REWRITES: tuple[Rewrite[NodeRewriting], ...] = (
    # These remove the node, so that nothing else needs to be written at it.
    functions_and_branches.CONSTANT_CONDITION,
    constants.FOLDED_CONSTANT,
    functions_and_branches.FUNCTION_CALL,
    operator_substitutes.SAME_VALUE,
    constants.STATIC_SHAPE,
    # These change the node, or put others in its place.
    operand_shapes.BROADCAST_BY_MAXIMUM,
    operand_shapes.CONSTANT_BROADCAST,
    constants.CONSTANT_FORM,
    explicit_parameters.DEFAULT_ATTRIBUTES,
    explicit_parameters.DERIVED_PADDING,
    data_movement.GATHERED_PART,
    operator_substitutes.GREATER_AS_LESS,
    convolutions.GROUPED_CONVOLUTION,
    matrix_products.MATRIX_PRODUCTS,
    explicit_parameters.NEGATIVE_AXIS,
    explicit_parameters.OMITTED_INPUTS,
    data_movement.RESHAPED,
    operand_shapes.SCALAR_CONSTANT,
    explicit_parameters.SLICE_BOUNDS,
    data_movement.SPLIT_PARTS,
    operator_substitutes.SUM_AS_ADD,
    matrix_products.TRANSPOSED_CONSTANT,
    data_movement.TRANSPOSED_PARTS,
)

COMPLETIONS: tuple[Rewrite[Completion], ...] = (
    cleanup.DEAD_NODES,
    cleanup.DUPLICATE_CONSTANTS,
    cleanup.OMITTED_OUTPUTS,
    declarations.EXPLICIT_DECLARATIONS,
    convolutions.FOLDED_BATCH_NORMALIZATION,
    versions.FORMAT_VERSION,
    functions_and_branches.UNCALLED_FUNCTIONS,
    cleanup.UNUSED_VALUES,
)
"""What the visit leaves behind, and what can be said only after it."""


def every_rewrite() -> dict[str, Rewrite[Callable[..., Any]]]:
    """All rewrites by name, in the order they run."""
    listed: tuple[Rewrite[Callable[..., Any]], ...] = (*PREPARATIONS, *NODE_REWRITES, *COMPLETIONS)
    return {rewrite.name: rewrite for rewrite in listed}
