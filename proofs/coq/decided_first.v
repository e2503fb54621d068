(* Every second question of any_size.toml, apart from the rest so that two processes can decide them. *)
From Coq Require Import List.
From Sonnx Require Import theorems rules questions.

(* The search finds a proof for each question. *)
Lemma first_decided : forallb (decides_question catalogue) questions.first = true.
Proof. vm_cast_no_check (eq_refl true). Qed.
