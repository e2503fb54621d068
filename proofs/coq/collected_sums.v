(* Sums whose terms have factors of the sizes that `Factors` names: the bounds that `Hypotheses.sum` computes of them
   (sonnx/numerics/enclosures/hypotheses.py), for every order and grouping. *)
From Coq Require Import Reals ZArith Bool List Permutation Lia Lra.
From Flocq Require Import Core.
From Sonnx Require Import rounding operands factors.
Import ListNotations.
Local Open Scope R_scope.

Fixpoint factors_of_product p : list R := match p with
  | Factor x => [x] | Product a b => factors_of_product a ++ factors_of_product b end.
Fixpoint factor_lists t : list (list R) := match t with
  | Leaf p => [factors_of_product p] | Scale k t => map (app (factors_of_product k)) (factor_lists t)
  | Rounded t => factor_lists t | Sum a b => factor_lists a ++ factor_lists b end.

Definition collects (sizes : list R) t := forall factors, In factors (factor_lists t) -> collected sizes factors.

Lemma size_of_factors : forall p, size p = products (map sized (factors_of_product p)).
Proof. induction p; simpl; [unfold sized; ring | rewrite products_sized, IHp1, IHp2; reflexivity]. Qed.
Lemma some_factor : forall p, (1 <= length (factors_of_product p))%nat.
Proof. induction p; simpl; [lia | rewrite app_length; lia]. Qed.
Lemma largest_attained : forall t, exists factors, In factors (factor_lists t) /\ largest t = products (map sized factors).
Proof.
  induction t; simpl.
  - exists (factors_of_product p); split; [left; reflexivity | apply size_of_factors].
  - destruct IHt as [f [I E]]; exists (factors_of_product k ++ f); split; [apply in_map; assumption |].
    rewrite products_sized, size_of_factors, E; reflexivity.
  - assumption.
  - destruct IHt1 as [f [I E]]; destruct IHt2 as [g [J G]].
    destruct (Rle_or_lt (largest t1) (largest t2)) as [M | M].
    + exists g; rewrite Rmax_right by assumption; split; [apply in_or_app; right |]; assumption.
    + exists f; rewrite Rmax_left by lra; split; [apply in_or_app; left |]; assumption.
Qed.
Lemma some_factors : forall t f, In f (factor_lists t) -> (1 <= length f)%nat.
Proof.
  induction t; simpl; intros f I.
  - destruct I as [I | []]; subst; apply some_factor.
  - apply in_map_iff in I; destruct I as [g [E I]]; subst; rewrite app_length; pose proof (some_factor k); lia.
  - auto.
  - apply in_app_or in I; destruct I; auto.
Qed.
(* A scale has a term of two factors. *)
Lemma scaled_lists : forall t, whole t = false -> exists f, In f (factor_lists t) /\ (2 <= length f)%nat.
Proof.
  intros [] H; simpl in H; try discriminate; destruct (largest_attained t) as [f [I _]].
  exists (factors_of_product k ++ f); split; [apply in_map; assumption |]; rewrite app_length.
  pose proof (some_factor k); pose proof (some_factors t f I); lia.
Qed.

Lemma product_followed_outside : forall W p around, outside 2 W (around ++ factors_of_product p) ->
  product_followed W (products (map sized around)) p.
Proof.
  intros W; induction p; simpl; intros around C; [exact I |]; repeat split.
  - apply around_outside with (1 := C); rewrite app_length; pose proof (some_factor p1); pose proof (some_factor p2); lia.
  - rewrite size_of_factors, <- products_sized; apply IHp1; apply outside_permuted with (2 := C).
    rewrite <- app_assoc; apply Permutation_app_head; apply Permutation_app_comm.
  - rewrite size_of_factors, <- products_sized; apply IHp2; rewrite <- app_assoc; exact C.
Qed.
Lemma product_but_one_outside : forall A p around, outside 1 A (around ++ factors_of_product p) ->
  product_but_one A (products (map sized around)) p.
Proof.
  intros A; induction p; simpl; intros around C.
  - apply around_outside with (1 := C); simpl; lia.
  - split; rewrite size_of_factors, <- products_sized; [apply IHp1 | apply IHp2; rewrite <- app_assoc; exact C].
    apply outside_permuted with (2 := C); rewrite <- app_assoc; apply Permutation_app_head; apply Permutation_app_comm.
Qed.

Definition outside_around out W around t := forall f, In f (factor_lists t) -> outside out W (around ++ f).
Lemma scaled_around : forall out W around k t, outside_around out W around (Scale k t) ->
  outside_around out W (around ++ factors_of_product k) t /\
  exists f, largest t = products (map sized f) /\ outside out W ((around ++ f) ++ factors_of_product k).
Proof.
  intros out W around k t C; assert (D : outside_around out W (around ++ factors_of_product k) t).
  { intros f I; rewrite <- app_assoc; apply C; simpl; apply in_map; assumption. }
  split; [exact D |]; destruct (largest_attained t) as [f [I E]]; exists f; split; [exact E |].
  apply outside_permuted with (2 := D f I); rewrite <- !app_assoc; apply Permutation_app_head; apply Permutation_app_comm.
Qed.
Lemma sum_around : forall out W around a b, outside_around out W around (Sum a b) ->
  outside_around out W around a /\ outside_around out W around b.
Proof. intros out W around a b C; split; intros f I; apply C; simpl; apply in_or_app; [left | right]; assumption. Qed.

Theorem followed_outside : forall W t around, outside_around 2 W around t ->
  followed true W (products (map sized around)) t.
Proof.
  intros W; assert (L : forall t around, outside_around 2 W around t ->
    whole t = true \/ products (map sized around) <= W).
  { intros t around C; destruct (whole t) eqn:D; [left; reflexivity | right].
    destruct (scaled_lists t D) as [f [I N]]; apply around_outside with (1 := C f I); assumption. }
  induction t; intros around C; simpl.
  - apply product_followed_outside; apply C; left; reflexivity.
  - destruct (scaled_around _ _ _ _ _ C) as [D [f [E G]]]; split.
    + rewrite E, <- products_sized; apply product_followed_outside; assumption.
    + rewrite size_of_factors, <- products_sized; apply IHt; exact D.
  - split; [exact (L t around C) | apply IHt; exact C].
  - destruct (sum_around _ _ _ _ _ C) as [A B]; repeat split; [| apply IHt1; exact A | apply IHt2; exact B].
    destruct (L t1 around A) as [X | X]; [| right; exact X]; destruct (L t2 around B) as [Y | Y]; [| right; exact Y].
    left; rewrite X, Y; reflexivity.
Qed.
Theorem but_one_outside : forall A t around, outside_around 1 A around t ->
  but_one A (products (map sized around)) t.
Proof.
  intros A; induction t; intros around C; simpl.
  - apply product_but_one_outside; apply C; left; reflexivity.
  - destruct (scaled_around _ _ _ _ _ C) as [D [f [E G]]]; split.
    + rewrite E, <- products_sized; apply product_but_one_outside; assumption.
    + rewrite size_of_factors, <- products_sized; apply IHt; exact D.
  - apply IHt; exact C.
  - destruct (sum_around _ _ _ _ _ C) as [B D]; split; [apply IHt1; exact B | apply IHt2; exact D].
Qed.

(* ------------------------------------------------------------------ the bounds of the code *)

Lemma factors_counted : forall sizes t, collects sizes t -> (factors_of_term t <= length sizes)%nat.
Proof.
  intros sizes t C; assert (X : exists f, In f (factor_lists t) /\ length f = factors_of_term t).
  { clear C; assert (N : forall p, length (factors_of_product p) = factor_count p)
      by (induction p; simpl; [reflexivity | rewrite app_length; lia]).
    induction t; simpl.
    - exists (factors_of_product p); split; [left; reflexivity | apply N].
    - destruct IHt as [f [I E]]; exists (factors_of_product k ++ f); split; [apply in_map; exact I |].
      rewrite app_length, N; lia.
    - exact IHt.
    - destruct IHt1 as [f [I E]]; destruct IHt2 as [g [J G]].
      destruct (Nat.max_spec (factors_of_term t1) (factors_of_term t2)) as [[_ M] | [_ M]]; rewrite M.
      + exists g; split; [apply in_or_app; right |]; assumption.
      + exists f; split; [apply in_or_app; left |]; assumption. }
  destruct X as [f [I E]]; destruct (C f I); lia.
Qed.

Lemma after_rounding_positive : forall sizes, Forall (Rle 1) sizes -> 0 <= after_rounding sizes.
Proof.
  intros sizes H; unfold after_rounding, all_but; pose proof (firstn_least (length sizes - 2) sizes H); lra.
Qed.

(* What the theorems about trees ask of a format and of the factors of the terms. *)
Ltac of_collected := let f := fresh in let I := fresh in intros f I; match goal with C : collects _ _ |- _ => apply (C f I) end.
Ltac gradual_underflow bound p m t :=
  apply bound with (rounded := to_nearest p m) (gradual := true) (grid := multiple m); try assumption; try (apply bpow_ge_0);
  [ apply bpow_le | apply nearest_rounds | apply nearest_keeps | apply after_rounding_positive
  | apply (followed_outside _ t []) ]; assumption || of_collected.
Ltac underflow_to_zero bound p m t s :=
  apply bound with (rounded := flushed p m) (t := t); try assumption; try (apply bpow_ge_0);
  [ apply bpow_le | apply flushed_rounds | apply (but_one_outside _ s []) | apply le_INR; apply factors_counted ];
  assumption || of_collected.

(* With gradual underflow, of operands that are numbers of a format. *)
Theorem error_of_collected_sum : forall precision exponent sizes t v r S y, (0 < precision)%Z ->
  (exponent <= - precision)%Z -> Forall (Rle 1) sizes -> collects sizes t -> on_grid (multiple exponent) t -> computes (to_nearest precision exponent) t v ->
  INR (scalings t) <= r -> absolute t <= S -> Rabs (exact t) <= y -> (INR (terms t) + r) * unit precision < 1 ->
  Rabs (v - exact t) <=
    sum_error (unit precision) (INR (terms t)) r S y
      (after_rounding sizes * tiny exponent * enlargement (unit precision) (tiny exponent) r).
Proof.
  intros p m sizes t v r S y Hp Hm F C G HC Hr HS Hy Hu.
  gradual_underflow error_of_sum p m t.
Qed.

(* With underflow to 0, of operands that may be taken for 0, too, where they are below the least normal number `small`. *)
Theorem error_of_flushed_collected_sum : forall precision exponent small sizes t s v r S y, (0 < precision)%Z ->
  (exponent + precision - 1 <= - precision)%Z -> 0 <= small -> collects sizes s -> moved small t s -> computes (flushed precision exponent) t v ->
  INR (scalings s) <= r -> absolute s <= S -> Rabs (exact s) <= y -> (INR (terms s) + r) * unit precision < 1 ->
  Rabs (v - exact s) <=
    sum_error (unit precision) (INR (terms s)) r S y
      (after_operand sizes * normal precision exponent * enlargement (unit precision) (normal precision exponent) r) +
    flushed_operands (INR (terms s)) (INR (length sizes)) (after_operand sizes * small).
Proof.
  intros p m small sizes t s v r S y Hp Hm Hs C M HC Hr HS Hy Hu.
  underflow_to_zero error_of_flushed_sum p m t s.
Qed.

(* The same where no term passes more than so many additions. *)
Theorem error_of_collected_sum_of_depth : forall precision exponent sizes t v r passed S, (0 < precision)%Z ->
  (exponent <= - precision)%Z -> Forall (Rle 1) sizes -> collects sizes t -> on_grid (multiple exponent) t -> computes (to_nearest precision exponent) t v ->
  INR (scalings t) <= r -> INR (additions t) <= passed -> absolute t <= S ->
  (INR (terms t) + r) * unit precision < 1 -> (r + passed) * unit precision < 1 ->
  Rabs (v - exact t) <=
    sum_error_of_depth (unit precision) (INR (terms t)) r passed S
      (after_rounding sizes * tiny exponent * enlargement (unit precision) (tiny exponent) r).
Proof.
  intros p m sizes t v r passed S Hp Hm F C G HC Hr HD HS Hu Hu'.
  gradual_underflow error_of_sum_of_depth p m t.
Qed.
Theorem error_of_flushed_collected_sum_of_depth : forall precision exponent small sizes t s v r passed S,
  (0 < precision)%Z -> (exponent + precision - 1 <= - precision)%Z -> 0 <= small -> collects sizes s ->
  moved small t s -> computes (flushed precision exponent) t v -> INR (scalings s) <= r -> INR (additions s) <= passed -> absolute s <= S ->
  (INR (terms s) + r) * unit precision < 1 -> (r + passed) * unit precision < 1 ->
  Rabs (v - exact s) <=
    sum_error_of_depth (unit precision) (INR (terms s)) r passed S
      (after_operand sizes * normal precision exponent * enlargement (unit precision) (normal precision exponent) r) +
    flushed_operands (INR (terms s)) (INR (length sizes)) (after_operand sizes * small).
Proof.
  intros p m small sizes t s v r passed S Hp Hm Hs C M HC Hr HD HS Hu Hu'.
  underflow_to_zero error_of_flushed_sum_of_depth p m t s.
Qed.
