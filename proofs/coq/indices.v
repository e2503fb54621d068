(* The place of an element in memory, for any number of axes: inductions of the theorems layout.*. *)
From Coq Require Import ZArith List Lia.
Import ListNotations.
Open Scope Z_scope.

Fixpoint size (shape : list Z) := match shape with [] => 1 | d :: rest => d * size rest end.

(* Row by row: the offset of an index. *)
Fixpoint offset (shape index : list Z) := match shape, index with
  | _ :: rest, i :: more => i * size rest + offset rest more | _, _ => 0 end.

Inductive inside : list Z -> list Z -> Prop :=
| no_axis : inside [] []
| axis : forall d rest i more, 0 <= i < d -> inside rest more -> inside (d :: rest) (i :: more).

Theorem offset_bounded : forall shape index, inside shape index -> 0 <= offset shape index < size shape.
Proof. intros s i H; induction H; simpl; [lia | nia]. Qed.

Theorem offset_injective : forall shape index other, inside shape index -> inside shape other ->
  offset shape index = offset shape other -> index = other.
Proof.
  induction shape as [| d rest IH]; intros index other H H' E; inversion H; inversion H'; subst; [reflexivity |].
  simpl in E; pose proof (offset_bounded _ _ H4) as B; pose proof (offset_bounded _ _ H9) as B'.
  assert (i = i0) by nia; subst; f_equal; apply IH; try assumption; lia.
Qed.

Theorem offset_onto : forall shape place, Forall (fun d => 0 <= d) shape -> 0 <= place < size shape ->
  exists index, inside shape index /\ offset shape index = place.
Proof.
  induction shape as [| d rest IH]; intros place P H; simpl in H.
  - exists []; split; [constructor | simpl; lia].
  - inversion P; subst; assert (S : 0 < size rest) by nia.
    destruct (IH (place mod size rest) H3 (Z.mod_pos_bound _ _ S)) as [more [M E]].
    exists (place / size rest :: more); split.
    + constructor; [| assumption]; split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia].
    + simpl; rewrite E; pose proof (Z.div_mod place (size rest)); lia.
Qed.

Theorem size_positive : forall shape, Forall (fun d => 1 <= d) shape -> 1 <= size shape.
Proof. intros s H; induction H; simpl; nia. Qed.

(* From the first axis on. *)
Fixpoint before (index other : list Z) := match index, other with
  | i :: more, j :: others => i < j \/ i = j /\ before more others | _, _ => False end.

Theorem offset_ordered : forall shape index other, inside shape index -> inside shape other ->
  (offset shape index < offset shape other <-> before index other).
Proof.
  induction shape as [| d rest IH]; intros index other H H'; inversion H; inversion H'; subst; simpl; [lia |].
  pose proof (offset_bounded _ _ H4) as B; pose proof (offset_bounded _ _ H9) as B'.
  specialize (IH _ _ H4 H9); destruct (Z.lt_trichotomy i i0) as [L | [L | L]].
  - split; [intros; left; assumption | intros; nia].
  - subst; split; [intros; right; split; [reflexivity | apply IH; lia] |].
    intros [X | [_ X]]; [lia | apply IH in X; lia].
  - split; [intros; nia | intros [X | [X _]]; lia].
Qed.
