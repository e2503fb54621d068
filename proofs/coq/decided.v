(* The theorems of any_size.toml hold for calls of any size. *)
From Coq Require Import List.
From Sonnx Require Import theorems rules questions decided_first decided_rest.

Lemma decided : forallb (decides_question catalogue) questions.questions = true.
Proof. exact (eq_trans (forallb_app _ _ _) (andb_true_intro (conj first_decided rest_decided))). Qed.

Theorem all_decided : Forall (fun q => forall names, call_fits (of_call q) names ->
  Forall (means (entry_named catalogue (entry q)) names) (goals q)) questions.questions.
Proof.
  apply Forall_forall; exact (fun q I => decides_question_ok catalogue q (proj1 (forallb_forall _ _) decided q I)).
Qed.
Print Assumptions all_decided.
