(* What the main theorems assume; assumptions.toml has what they may. *)
From Sonnx Require Import correctness rounding indices theorems.
Print Assumptions encode_correct.
Print Assumptions condition_correct.
Print Assumptions error_of_sum.
Print Assumptions error_of_sum_of_depth.
Print Assumptions nearest_rounds.
Print Assumptions flushed_rounds.
Print Assumptions error_of_float_sum.
Print Assumptions error_of_cast.
Print Assumptions growth_outweighed.
Print Assumptions offset_bounded.
Print Assumptions offset_ordered.
Print Assumptions offset_onto.
Print Assumptions decides_question_ok.
