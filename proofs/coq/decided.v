(* The theorems of any_size.toml hold for calls of any size. *)
From Coq Require Import List.
From Sonnx Require Import theorems rules questions.

(* The search finds a proof for each question. *)
Lemma decided : forallb (decides_question catalogue) questions.questions = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

Theorem all_decided : Forall (fun q => forall names, call_fits (of_call q) names ->
  Forall (means (entry_named catalogue (entry q)) names) (goals q)) questions.questions.
Proof.
  apply Forall_forall; exact (fun q I => decides_question_ok catalogue q (proj1 (forallb_forall _ _) decided q I)).
Qed.
Print Assumptions all_decided.
