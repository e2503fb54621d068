(* What the main theorems assume: nothing beyond the kernel of Coq. *)
From Sonnx Require Import correctness.
Print Assumptions encode_correct.
Print Assumptions condition_correct.
