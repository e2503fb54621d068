(* What the main theorems assume; assumptions.toml has what they may. *)
From Sonnx Require Import correctness lengths_first rounding operands factors collected_sums indices theorems.
Print Assumptions encode_correct.
Print Assumptions condition_correct.
Print Assumptions guarded_ok.
Print Assumptions guarded_correct.
Print Assumptions error_of_sum.
Print Assumptions error_of_sum_of_depth.
Print Assumptions nearest_rounds.
Print Assumptions flushed_rounds.
Print Assumptions error_of_float_sum.
Print Assumptions error_of_cast.
Print Assumptions growth_outweighed.
Print Assumptions error_of_collected_sum.
Print Assumptions error_of_collected_sum_of_depth.
Print Assumptions error_of_flushed_collected_sum.
Print Assumptions error_of_flushed_collected_sum_of_depth.
Print Assumptions covers_operands.
Print Assumptions covers_times.
Print Assumptions covers_scaled.
Print Assumptions parts_collected.
Print Assumptions covers_collected.
Print Assumptions covers_either.
Print Assumptions offset_bounded.
Print Assumptions offset_ordered.
Print Assumptions offset_onto.
Print Assumptions decides_question_ok.
