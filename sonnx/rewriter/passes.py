"""Every rewrite, in the order they run: on the whole model, on each node, then on the whole model again.

At each node the first rewrite that applies is taken, and the list is tried again from its start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sonnx.rewriter.rewrite import ModelRewriting, NodeRewriting, Rewrite
from sonnx.rewriter.rewrites import (
    activations,
    approximations,
    averages,
    choices,
    cleanup,
    constants,
    convolutions,
    data_movement,
    decision_trees,
    declarations,
    dynamic_quantization,
    estimators,
    explicit_parameters,
    functions_and_branches,
    index_sums,
    lookups,
    loops,
    matrix_products,
    moved_transpositions,
    names_and_order,
    normalizations,
    operand_shapes,
    operator_substitutes,
    products_and_order,
    quantized_numbers,
    rearrangements,
    recurrent_cells,
    resampling,
    spatial_axes,
    stated_meanings,
    sums,
    sums_of_products,
    transposed_convolutions,
    transpositions,
    versions,
)

PREPARATIONS: tuple[Rewrite[ModelRewriting], ...] = (
    constants.constant_inputs,
    constants.dense_constants,
    names_and_order.named_graph,
    names_and_order.unique_names,
    names_and_order.sorted_nodes,
    versions.merged_imports,
    versions.raised_operator_set,
    versions.specified_versions,
)
"""What the visit of the nodes relies on: order, names, constants."""

NODE_REWRITES: tuple[Rewrite[NodeRewriting], ...] = (
    # These remove the node, so that nothing else needs to be written at it.
    functions_and_branches.constant_condition,
    constants.folded_constant,
    functions_and_branches.function_call,
    loops.unrolled_loop,
    loops.unrolled_scan,
    operator_substitutes.cast_like_as_cast,
    operator_substitutes.same_value,
    constants.static_shape,
    rearrangements.moved_constant,
    # These change the node, or put others in its place.
    operand_shapes.broadcast_by_maximum,
    operand_shapes.constant_broadcast,
    constants.constant_form,
    explicit_parameters.default_attributes,
    quantized_numbers.quantized_numbers,
    quantized_numbers.moved_quantized,
    dynamic_quantization.dynamic_products,
    dynamic_quantization.dynamic_scale,
    explicit_parameters.derived_padding,
    explicit_parameters.ceiling_as_padding,
    activations.hard_sigmoid,
    spatial_axes.line_as_plane,
    spatial_axes.space_as_planes,
    rearrangements.moved_blocks,
    rearrangements.repeated_elements,
    resampling.weighted_samples,
    rearrangements.repeated_tensor,
    rearrangements.masked_triangle,
    stated_meanings.stated_steps,
    stated_meanings.stated_formula,
    stated_meanings.stated_attention,
    approximations.approximated_gelu,
    approximations.approximated_erf,
    averages.averaged_windows,
    averages.divided_windows,
    choices.chosen_numbers,
    choices.chosen_sign,
    data_movement.gathered_part,
    lookups.extracted_features,
    lookups.looked_up_rows,
    lookups.moved_conversion,
    operator_substitutes.greater_as_less,
    sums_of_products.repeated_channels,
    convolutions.grouped_convolution,
    sums_of_products.scaled_constants,
    sums_of_products.scaled_products,
    sums_of_products.chained_sum,
    decision_trees.chosen_leaf,
    decision_trees.summed_trees,
    estimators.linear_estimator,
    estimators.linear_classifier,
    estimators.linear_kernel,
    estimators.normalized_sum,
    matrix_products.matrix_products,
    index_sums.written_sum,
    explicit_parameters.negative_axis,
    explicit_parameters.omitted_inputs,
    explicit_parameters.unlimited_side,
    data_movement.reshaped,
    operand_shapes.scalar_constant,
    explicit_parameters.slice_bounds,
    data_movement.split_parts,
    operator_substitutes.sum_as_add,
    sums.summed_products,
    sums.divided_sums,
    products_and_order.multiplied_parts,
    products_and_order.ordered_elements,
    normalizations.normalized_layers,
    normalizations.normalized_responses,
    recurrent_cells.unrolled_cells,
    transposed_convolutions.spread_convolution,
    matrix_products.transposed_constant,
    transpositions.transposed_parts,
)

LAST_OF_NODES: tuple[Rewrite[NodeRewriting], ...] = (transpositions.transposed_parts,)
"""Of these, what waits where the moves may make it unnecessary."""

MOVES: tuple[Rewrite[ModelRewriting], ...] = (moved_transpositions.moved_transpositions,)
"""What needs the shapes of the visit of the nodes; the nodes are visited again after them."""

COMPLETIONS: tuple[Rewrite[ModelRewriting], ...] = (
    cleanup.dead_nodes,
    cleanup.duplicate_constants,
    cleanup.omitted_outputs,
    declarations.explicit_declarations,
    convolutions.folded_batch_normalization,
    versions.format_version,
    functions_and_branches.uncalled_functions,
    cleanup.unused_values,
)
"""What the visit leaves behind, and what can be said only after it."""


def every_rewrite() -> dict[str, Rewrite[Callable[..., Any]]]:
    """All rewrites by name, in the order they run."""
    listed: tuple[Rewrite[Callable[..., Any]], ...] = (*PREPARATIONS, *NODE_REWRITES, *MOVES, *COMPLETIONS)
    return {rewrite.name: rewrite for rewrite in listed}
