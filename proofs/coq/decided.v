(* The theorems of any_size.toml hold for calls of any size. *)
From Coq Require Import List.
From Sonnx Require Import theorems rules questions.

(* The search finds a proof for each question; so each theorem holds (decides_question_ok). *)
Theorem all_decided : Forall (fun q => forall names, call_fits (of_call q) names ->
  Forall (means (entry_named catalogue (entry q)) names) (goals q)) questions.questions.
Proof.
  apply Forall_forall; intros q I; apply decides_question_ok; revert q I; apply forallb_forall.
  vm_cast_no_check (eq_refl true).
Qed.
Print Assumptions all_decided.
