(* Operands that underflow to 0: an implementation may take subnormal numbers for 0 before it computes with them.  The
   function `flushed_operands` of sonnx/numerics/enclosures/arithmetic.py adds for it to the error of a sum. *)
From Coq Require Import Reals Bool Lia Lra.
From Sonnx Require Import rounding.
Local Open Scope R_scope.

(* The factors of a product, and of a term at most. *)
Fixpoint factor_count p := match p with Factor _ => 1%nat | Product a b => (factor_count a + factor_count b)%nat end.
Fixpoint factors_of_term t := match t with
  | Leaf p => factor_count p | Scale k t => (factor_count k + factors_of_term t)%nat | Rounded t => factors_of_term t
  | Sum a b => Nat.max (factors_of_term a) (factors_of_term b) end.

(* All factors but one have sizes of a product of at most A; K is that of those around. *)
Fixpoint product_but_one (A K : R) p := match p with
  | Factor _ => K <= A
  | Product a b => product_but_one A (K * size b) a /\ product_but_one A (K * size a) b end.
Fixpoint but_one (A K : R) t := match t with
  | Leaf p => product_but_one A K p
  | Scale k t => product_but_one A (K * largest t) k /\ but_one A (K * size k) t
  | Rounded t => but_one A K t
  | Sum a b => but_one A K a /\ but_one A K b end.

(* So what follows any rounding has sizes of a product of at most A, too. *)
Lemma product_but_one_around : forall A p K, 0 <= K -> product_but_one A K p -> K <= A /\ product_followed A K p.
Proof.
  intros A; induction p; intros K HK H; simpl in H |- *; [split; [exact H | exact I] |].
  destruct H as [H1 H2]; pose proof (size_least p1); pose proof (size_least p2).
  assert (K1 : K <= K * size p2) by nra. assert (K2 : K <= K * size p1) by nra.
  destruct (IHp1 (K * size p2) ltac:(lra) H1) as [A1 F1]; destruct (IHp2 (K * size p1) ltac:(lra) H2) as [A2 F2].
  repeat split; try assumption; lra.
Qed.
Lemma but_one_followed : forall A t K, 0 <= K -> but_one A K t -> K <= A /\ followed false A K t.
Proof.
  intros A; induction t; intros K HK H; simpl in H |- *.
  - apply product_but_one_around; assumption.
  - destruct H as [H1 H2]; pose proof (largest_least t); pose proof (size_least k).
    assert (K1 : K <= K * largest t) by nra. assert (K2 : K <= K * size k) by nra.
    destruct (product_but_one_around A k (K * largest t) ltac:(lra) H1) as [A1 F1].
    destruct (IHt (K * size k) ltac:(lra) H2) as [A2 F2]; repeat split; try assumption; lra.
  - destruct (IHt K HK H) as [A1 F1]; repeat split; try assumption; right; assumption.
  - destruct H as [H1 H2]; destruct (IHt1 K HK H1) as [A1 F1]; destruct (IHt2 K HK H2) as [A2 F2].
    repeat split; try assumption; right; assumption.
Qed.

Section Moved.
Variable normal : R.
Hypothesis normal_positive : 0 <= normal.

(* A number that is taken for another one, not further from 0. *)
Definition moved_number taken x := Rabs (taken - x) <= normal /\ Rabs taken <= Rabs x.
Lemma taken_for_zero : forall x, Rabs x < normal -> moved_number 0 x.
Proof.
  intros x H; split; [rewrite Rminus_0_l, Rabs_Ropp; lra | rewrite Rabs_R0; apply Rabs_pos].
Qed.
Lemma taken_as_it_is : forall x, moved_number x x.
Proof. intros x; split; [rewrite Rminus_diag_eq by reflexivity; rewrite Rabs_R0; assumption | lra]. Qed.

(* The same tree, with some of its factors taken for others. *)
Inductive moved_product : product -> product -> Prop :=
| moved_factor : forall x y, moved_number x y -> moved_product (Factor x) (Factor y)
| moved_times : forall a b c d, moved_product a c -> moved_product b d -> moved_product (Product a b) (Product c d).
Inductive moved : tree -> tree -> Prop :=
| moved_leaf : forall p q, moved_product p q -> moved (Leaf p) (Leaf q)
| moved_scale : forall k l t s, moved_product k l -> moved t s -> moved (Scale k t) (Scale l s)
| moved_rounded : forall t s, moved t s -> moved (Rounded t) (Rounded s)
| moved_sum : forall a b c d, moved a c -> moved b d -> moved (Sum a b) (Sum c d).

Lemma moved_product_shape : forall p q, moved_product p q ->
  multiplications p = multiplications q /\ size p <= size q /\ Rabs (value p) <= Rabs (value q).
Proof.
  intros p q H; induction H; simpl.
  - destruct H as [_ H]; repeat split; [apply Rle_max_compat_l |]; assumption.
  - destruct IHmoved_product1 as [M1 [S1 V1]]; destruct IHmoved_product2 as [M2 [S2 V2]]; rewrite M1, M2, !Rabs_mult.
    pose proof (size_least a); pose proof (size_least b).
    repeat split; apply Rmult_le_compat; try apply Rabs_pos; try assumption; lra.
Qed.
Lemma moved_shape : forall t s, moved t s ->
  terms t = terms s /\ scalings t = scalings s /\ additions t = additions s /\ absolute t <= absolute s /\
  largest t <= largest s.
Proof.
  intros t s H; induction H; simpl.
  - destruct (moved_product_shape p q H) as [M [S V]]; rewrite M; repeat split; assumption.
  - destruct (moved_product_shape k l H) as [M [S V]]; destruct IHmoved as [E1 [E2 [E3 [A L]]]]; rewrite M, E1, E2, E3.
    pose proof (size_least k); pose proof (largest_least t); pose proof (absolute_positive t).
    repeat split; apply Rmult_le_compat; try apply Rabs_pos; try assumption; lra.
  - destruct IHmoved as [E1 [E2 [E3 [A L]]]]; repeat split; try rewrite E2; auto.
  - destruct IHmoved1 as [E1 [E2 [E3 [A1 L1]]]]; destruct IHmoved2 as [F1 [F2 [F3 [A2 L2]]]].
    rewrite E1, E2, E3, F1, F2, F3; repeat split; [lra |].
    apply Rmax_lub; [apply Rle_trans with (1 := L1); apply Rmax_l | apply Rle_trans with (1 := L2); apply Rmax_r].
Qed.

Lemma moved_product_but_one : forall A p q, moved_product p q -> forall K K', 0 <= K -> K <= K' ->
  product_but_one A K' q -> product_but_one A K p.
Proof.
  intros A p q H; induction H; intros K K' HK HL HB; simpl in *; [lra |].
  destruct HB as [B1 B2]; destruct (moved_product_shape _ _ H) as [_ [S1 _]].
  destruct (moved_product_shape _ _ H0) as [_ [S2 _]]; pose proof (size_least a); pose proof (size_least b).
  split; [apply IHmoved_product1 with (3 := B1) | apply IHmoved_product2 with (3 := B2)];
    try (apply Rmult_le_pos; lra); apply Rmult_le_compat; lra.
Qed.
Lemma moved_but_one : forall A t s, moved t s -> forall K K', 0 <= K -> K <= K' -> but_one A K' s -> but_one A K t.
Proof.
  intros A t s H; induction H; intros K K' HK HL HB; simpl in *.
  - apply moved_product_but_one with (1 := H) (4 := HB); assumption.
  - destruct HB as [B1 B2]; destruct (moved_product_shape _ _ H) as [_ [S1 _]].
    destruct (moved_shape _ _ H0) as [_ [_ [_ [_ L]]]]; pose proof (size_least k); pose proof (largest_least t).
    split; [apply moved_product_but_one with (1 := H) (4 := B1) | apply IHmoved with (3 := B2)];
      try (apply Rmult_le_pos; lra); apply Rmult_le_compat; lra.
  - apply IHmoved with (3 := HB); assumption.
  - destruct HB as [B1 B2]; split; [apply IHmoved1 with (3 := B1) | apply IHmoved2 with (3 := B2)]; assumption.
Qed.

(* How far the exact values are apart: a factor changes its term by `normal` times the other ones. *)
Lemma moved_value : forall A p q, moved_product p q -> forall K, 0 <= K -> product_but_one A K q ->
  K * Rabs (value p - value q) <= INR (factor_count q) * (normal * A).
Proof.
  intros A p q H; induction H; intros K HK HB; simpl value; simpl factor_count.
  - simpl in *; destruct H as [H _]; pose proof (Rabs_pos (x - y)).
    assert (K * Rabs (x - y) <= A * normal) by (apply Rmult_le_compat; assumption). lra.
  - destruct HB as [B1 B2]; fold product_but_one in B1, B2; pose proof (size_least c); pose proof (size_least d).
    specialize (IHmoved_product1 (K * size d) ltac:(apply Rmult_le_pos; lra) B1).
    specialize (IHmoved_product2 (K * size c) ltac:(apply Rmult_le_pos; lra) B2).
    destruct (moved_product_shape _ _ H0) as [_ [_ V]]; pose proof (value_bounded c); pose proof (value_bounded d).
    replace (value a * value b - value c * value d)
      with ((value a - value c) * value b + value c * (value b - value d)) by ring.
    rewrite plus_INR; pose proof (Rabs_triang ((value a - value c) * value b) (value c * (value b - value d))) as T.
    rewrite !Rabs_mult in T; pose proof (Rabs_pos (value a - value c)); pose proof (Rabs_pos (value b - value d)).
    assert (T1 : Rabs (value a - value c) * Rabs (value b) <= Rabs (value a - value c) * size d)
      by (apply Rmult_le_compat_l; lra).
    assert (T2 : Rabs (value c) * Rabs (value b - value d) <= size c * Rabs (value b - value d))
      by (apply Rmult_le_compat_r; lra).
    pose proof (Rmult_le_compat_l K _ _ HK (Rle_trans _ _ _ T (Rplus_le_compat _ _ _ _ T1 T2))); lra.
Qed.

(* All factors of all terms. *)
Fixpoint all_factors t := match t with
  | Leaf p => factor_count p | Scale k t => (terms t * factor_count k + all_factors t)%nat | Rounded t => all_factors t
  | Sum a b => (all_factors a + all_factors b)%nat end.
Lemma all_factors_counted : forall t, (all_factors t <= terms t * factors_of_term t)%nat.
Proof.
  induction t; simpl; try lia.
  pose proof (Nat.le_max_l (factors_of_term t1) (factors_of_term t2)).
  pose proof (Nat.le_max_r (factors_of_term t1) (factors_of_term t2)).
  generalize dependent (Nat.max (factors_of_term t1) (factors_of_term t2)); intros; nia.
Qed.
Lemma absolute_largest : forall t, absolute t <= INR (terms t) * largest t.
Proof. intros t; apply Rle_trans with (1 := absolute_mass t); apply mass_largest. Qed.

Lemma moved_exact : forall A t s, moved t s -> forall K, 0 <= K -> but_one A K s ->
  K * Rabs (exact t - exact s) <= INR (all_factors s) * (normal * A).
Proof.
  intros A t s H; induction H; intros K HK HB; simpl exact; simpl all_factors; simpl in HB.
  - apply moved_value; assumption.
  - destruct HB as [B1 B2]; pose proof (size_least l); pose proof (largest_least s).
    pose proof (moved_value A k l H (K * largest s) ltac:(apply Rmult_le_pos; lra) B1) as M.
    specialize (IHmoved (K * size l) ltac:(apply Rmult_le_pos; lra) B2).
    destruct (moved_shape _ _ H0) as [_ [_ [_ [AB _]]]]; pose proof (exact_bounded t); pose proof (value_bounded l).
    pose proof (absolute_largest s); pose proof (pos_INR (terms s)).
    replace (value k * exact t - value l * exact s)
      with ((value k - value l) * exact t + value l * (exact t - exact s)) by ring.
    rewrite plus_INR, mult_INR.
    pose proof (Rabs_triang ((value k - value l) * exact t) (value l * (exact t - exact s))) as T.
    rewrite !Rabs_mult in T; pose proof (Rabs_pos (value k - value l)); pose proof (Rabs_pos (exact t - exact s)).
    assert (T1 : Rabs (value k - value l) * Rabs (exact t) <= Rabs (value k - value l) * (INR (terms s) * largest s))
      by (apply Rmult_le_compat_l; lra).
    assert (T2 : Rabs (value l) * Rabs (exact t - exact s) <= size l * Rabs (exact t - exact s))
      by (apply Rmult_le_compat_r; lra).
    pose proof (Rmult_le_compat_l K _ _ HK (Rle_trans _ _ _ T (Rplus_le_compat _ _ _ _ T1 T2))) as X.
    pose proof (Rmult_le_compat_l (INR (terms s)) _ _ (pos_INR _) M); lra.
  - apply IHmoved; assumption.
  - destruct HB as [B1 B2]; specialize (IHmoved1 K HK B1); specialize (IHmoved2 K HK B2); rewrite plus_INR.
    replace (exact a + exact b - (exact c + exact d)) with ((exact a - exact c) + (exact b - exact d)) by ring.
    pose proof (Rmult_le_compat_l K _ _ HK (Rabs_triang (exact a - exact c) (exact b - exact d))); lra.
Qed.
End Moved.

(* What the code adds: n terms of at most so many factors, `lost` the product of A and the least normal number. *)
Definition flushed_operands (n factors lost : R) := 2 * n * factors * lost.

Section Bound.
Variables (u least normal : R) (rounded : R -> R -> Prop).
Hypothesis unit_positive : 0 <= u.
Hypothesis least_positive : 0 <= least.
Hypothesis least_small : least <= u.
Hypothesis normal_positive : 0 <= normal.
Hypothesis rounding : rounds u least rounded.

Lemma sum_error_moved : forall n r S y d lost, (n = 1 \/ 2 <= n) -> 0 <= r -> 0 <= d -> (n + r) * u < 1 ->
  sum_error u n r S (y + d) lost + d <= sum_error u n r S y lost + 2 * d.
Proof.
  intros n r S y d lost Hn Hr Hd Hu; unfold sum_error; cbv zeta; assert (NU : n * u <= (n + r) * u) by nra.
  destruct (Rlt_dec 1 n); [| lra]; destruct Hn as [Hn | Hn]; [lra |]; rewrite Rmax_left by lra.
  assert (((n - 2) * u / 2 + u) * d <= 1 * d) by (apply Rmult_le_compat_r; lra). lra.
Qed.

Lemma one_or_more : forall t, INR (terms t) = 1 \/ 2 <= INR (terms t).
Proof.
  intros t; pose proof (terms_positive t); destruct (Nat.eq_dec (terms t) 1) as [E | E].
  - left; rewrite E; reflexivity.
  - right; apply (le_INR 2); lia.
Qed.
Lemma moved_terms : forall t s factors A, moved normal t s -> INR (factors_of_term s) <= factors -> but_one A 1 s -> 0 <= A ->
  Rabs (exact t - exact s) <= INR (terms s) * factors * (A * normal).
Proof.
  intros t s f A M F B HA; pose proof (moved_exact normal A t s M 1 ltac:(lra) B) as X.
  pose proof (all_factors_counted s) as C; apply le_INR in C; rewrite mult_INR in C; pose proof (pos_INR (terms s)).
  assert (P : 0 <= normal * A) by (apply Rmult_le_pos; assumption).
  assert (INR (terms s) * INR (factors_of_term s) <= INR (terms s) * f) by (apply Rmult_le_compat_l; assumption).
  assert (INR (all_factors s) * (normal * A) <= INR (terms s) * f * (normal * A)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(* What is computed of the operands as they are taken, and the exact sum of the operands as they are. *)
Theorem error_of_flushed_sum : forall t s v r S y A factors, moved normal t s -> computes rounded t v ->
  INR (scalings s) <= r -> absolute s <= S -> Rabs (exact s) <= y -> but_one A 1 s -> INR (factors_of_term s) <= factors ->
  (INR (terms s) + r) * u < 1 ->
  Rabs (v - exact s) <=
    sum_error u (INR (terms s)) r S y (A * least * enlargement u least r) +
    flushed_operands (INR (terms s)) factors (A * normal).
Proof.
  intros t s v r S y A f M HC Hr HS Hy HB HF Hu.
  destruct (moved_shape normal t s M) as [ET [ES [_ [AB _]]]]; pose proof (pos_INR (scalings s)).
  pose proof (moved_but_one normal A t s M 1 1 ltac:(lra) ltac:(lra) HB) as HB'.
  destruct (but_one_followed A t 1 ltac:(lra) HB') as [A1 HW].
  pose proof (moved_terms t s f A M HF HB ltac:(lra)) as D; set (d := INR (terms s) * f * (A * normal)) in *.
  pose proof (Rabs_pos (exact t - exact s)).
  assert (Y : Rabs (exact t) <= y + d).
  { replace (exact t) with (exact s + (exact t - exact s)) by ring; apply Rle_trans with (1 := Rabs_triang _ _); lra. }
  assert (G : on_grid (fun _ => True) t) by (clear; induction t; simpl; auto; destruct p; exact I).
  pose proof (error_of_sum u least rounded false (fun _ => True) unit_positive least_positive least_small rounding
    (flushed_keeps u rounded) t v r S (y + d) A HC ltac:(rewrite ES; lra) ltac:(lra) Y ltac:(lra) HW G ltac:(rewrite ET; lra)) as E.
  rewrite ET in E; pose proof (sum_error_moved (INR (terms s)) r S y d (A * least * enlargement u least r)
    (one_or_more s) ltac:(lra) ltac:(lra) Hu) as X.
  replace (v - exact s) with ((v - exact t) + (exact t - exact s)) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _); unfold flushed_operands; fold d.
  replace (2 * INR (terms s) * f * (A * normal)) with (2 * d) by (unfold d; ring). lra.
Qed.

Theorem error_of_flushed_sum_of_depth : forall t s v r passed S A factors, moved normal t s -> computes rounded t v ->
  INR (scalings s) <= r -> INR (additions s) <= passed -> absolute s <= S -> but_one A 1 s ->
  INR (factors_of_term s) <= factors -> (INR (terms s) + r) * u < 1 -> (r + passed) * u < 1 ->
  Rabs (v - exact s) <=
    sum_error_of_depth u (INR (terms s)) r passed S (A * least * enlargement u least r) +
    flushed_operands (INR (terms s)) factors (A * normal).
Proof.
  intros t s v r passed S A f M HC Hr Hp HS HB HF Hu Hu'.
  destruct (moved_shape normal t s M) as [ET [ES [EA [AB _]]]]; pose proof (pos_INR (scalings s)).
  pose proof (moved_but_one normal A t s M 1 1 ltac:(lra) ltac:(lra) HB) as HB'.
  destruct (but_one_followed A t 1 ltac:(lra) HB') as [A1 HW].
  pose proof (moved_terms t s f A M HF HB ltac:(lra)) as D; set (d := INR (terms s) * f * (A * normal)) in *.
  pose proof (Rabs_pos (exact t - exact s)).
  assert (G : on_grid (fun _ => True) t) by (clear; induction t; simpl; auto; destruct p; exact I).
  pose proof (error_of_sum_of_depth u least rounded false (fun _ => True) unit_positive least_positive least_small rounding
    (flushed_keeps u rounded) t v r passed S A HC ltac:(rewrite ES; lra) ltac:(rewrite EA; lra) ltac:(lra) ltac:(lra) HW G
    ltac:(rewrite ET; lra) Hu') as E.
  rewrite ET in E.
  replace (v - exact s) with ((v - exact t) + (exact t - exact s)) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _); unfold flushed_operands; fold d.
  replace (2 * INR (terms s) * f * (A * normal)) with (2 * d) by (unfold d; ring). lra.
Qed.
End Bound.
