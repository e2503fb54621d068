"""Where the step from base and step to any number is made: in Why3, in Coq, or in prose that a reader checks.

The solvers decide base and step of an induction as separate obligations, or the step alone.  A sentence about any
number of inputs, elements, axes or roundings needs the induction too.
"""

from __future__ import annotations

from collections.abc import Mapping

from sonnx.proofs.coq_questions import proved

WHY3_FILE = "proofs/why3/induction.mlw"
SUMS_FILE = "proofs/why3/sums.mlw"
WHY3: Mapping[str, str] = {
    "argmax.element-is-maximum": "element_is_maximum",
    "argmax.element-is-maximum-bits": "element_is_maximum",
    "argmax.scan": "scan",
    "argmax.unique": "selected_is_unique",
    "broadcast.by-pairs": "each_two_so_together",
    "broadcast.fold": "joined_fits",
    "integers.fold": "fold_over_any_number",
    "kernel.extremes": "fold_over_any_number",
    "kernel.mended-zeros": "fold_over_any_number",
    "max.concatenation": "concatenation",
    "max.fold": "fold_max",
    "max.order-of-operands": "order_of_operands",
    "max.tree": "one_axis_after_another",
    "values.powers": "base_and_step",
}
"""The lemma or function of the file for each theorem whose induction it makes."""
SUMS: Mapping[str, str] = {
    "bounds.maximum": "moved_largest",
    "conv.additive": "additive_in_weights",
    "conv.bias": "bias_added",
    "conv.identity": "identity",
    "conv.moved": "moved_input",
    "conv.permuted": "permuted_channels",
    "conv.scaled-input": "scaled_input",
    "conv.scaled-weights": "scaled_weights",
    "conv.zero-input": "zero_input",
    "conv.zero-weights": "zero_weights",
    "equivalence.difference": "distance_of_sums",
    "equivalence.input-scale": "scaled_input",
    "equivalence.output-scale": "scaled_weights",
}
"""The same for lemmas about sums of real numbers, and of products."""
COQ: Mapping[str, str] = {
    "bounds.growth": "growth_outweighed of proofs/coq/rounding.v",
    "bounds.partial-sum": "partial_sums_bounded of proofs/coq/rounding.v",
    "bounds.sum-errors": "error_of_parts of proofs/coq/rounding.v",
    "bounds.sum-gamma": "growth_gamma of proofs/coq/rounding.v",
    "bounds.sum-growth": "relative_error of proofs/coq/rounding.v",
    "bounds.sum-last": "last_addition of proofs/coq/rounding.v",
    "bounds.sum-roundings": "roundings_counted of proofs/coq/rounding.v",
    "bounds.sum-scales": "error_of_parts of proofs/coq/rounding.v",
    "bounds.sum-underflow": "underflow of proofs/coq/rounding.v",
    "layout.offset-bounded": "offset_bounded of proofs/coq/indices.v",
    "layout.offset-injective": "offset_ordered of proofs/coq/indices.v",
    "layout.offset-onto": "offset_onto of proofs/coq/indices.v",
}
"""The lemma in Coq for each theorem whose induction it makes; of sums, for the operations of floating-point formats."""
PROSE: Mapping[str, str] = {
    "accuracy.MatMul-code": "over the roundings of a sum from the left",
    "accuracy.MatMul-derived": "over the roundings of a sum from the left",
    "accuracy.MatMul-propagated": "over the products of a sum",
    "argmax.merge": "over the parts of a tree",
    "argmax.usual-element-but-zeros": "over the elements",
    "argmax.usual-element-but-zeros-bits": "over the elements",
    "bounds.telescoping": "over the rows and columns; the obligation has two of each",
    "broadcast.fold-equals-joint": "over the inputs",
    "layout.carry": "over the axes",
    "layout.no-overflow": "over the axes",
    "layout.strides": "over the axes",
    "reduction.keepdims-same-elements": "over the axes",
    "reduction.one-after-another": "over the reduced axes",
}
"""What the induction in prose goes over, for each theorem that needs one and has none in Why3 or Coq."""


def induction(theorem: str) -> str:
    """The induction from the obligations of a theorem to its sentence, "" if it needs none."""
    if theorem in WHY3:
        return f"Why3: {WHY3[theorem]} of {WHY3_FILE}"
    if theorem in proved():
        return "Coq: decides_question_ok of proofs/coq/theorems.v"
    if theorem in SUMS:
        return f"Why3: {SUMS[theorem]} of {SUMS_FILE}"
    if theorem in COQ:
        return f"Coq: {COQ[theorem]}"
    return f"prose: {PROSE[theorem]}" if theorem in PROSE else ""
