(* The error of a sum of products in floating-point arithmetic: what the function sum_error of
   sonnx/numerics/enclosures/arithmetic.py bounds.  The operations are those of Flocq, rounding to nearest with any rule
   for ties, gradual underflow or underflow to 0; overflow is excluded, since `sonnx bound` reports it as a condition. *)
From Coq Require Import Reals ZArith Bool Lia Lra Psatz.
From Flocq Require Import Core Relative.
Local Open Scope R_scope.

(* ------------------------------------------------------------------ formats and roundings *)

(* The precision of a format and the exponent of its least subnormal number: tests compare them with FORMATS. *)
Definition float16_precision := 11%Z.   Definition float16_exponent := (-24)%Z.
Definition bfloat16_precision := 8%Z.   Definition bfloat16_exponent := (-133)%Z.
Definition float_precision := 24%Z.     Definition float_exponent := (-149)%Z.
Definition double_precision := 53%Z.    Definition double_exponent := (-1074)%Z.

Definition unit (precision : Z) := bpow radix2 (- precision).
Definition tiny (exponent : Z) := bpow radix2 exponent.
Definition normal (precision exponent : Z) := bpow radix2 (exponent + precision - 1).

(* What numbers may be rounded to: of relative error u, and of absolute error `least` where a rounding underflows.  Equal
   numbers need not be rounded to the same. *)
Definition rounds (u least : R) (rounded : R -> R -> Prop) :=
  forall x v, rounded x v -> exists d e, Rabs d <= u /\ Rabs e <= least /\ v = x * (1 + d) + e.

Definition nearest (precision exponent : Z) (ties : Z -> bool) (x : R) :=
  round radix2 (FLT_exp exponent precision) (Znearest ties) x.

(* To nearest with any rule for ties; or the same, and below the least normal number perhaps to 0. *)
Definition to_nearest (precision exponent : Z) (x v : R) := exists ties, v = nearest precision exponent ties x.
Definition flushed (precision exponent : Z) (x v : R) := to_nearest precision exponent x v \/
  v = 0 /\ exists r, to_nearest precision exponent x r /\ Rabs r < normal precision exponent.

Lemma half_spacing : forall precision, / 2 * bpow radix2 (- precision + 1) = unit precision.
Proof. intros p; unfold unit; rewrite bpow_plus; simpl; lra. Qed.

Theorem nearest_rounds : forall precision exponent, (0 < precision)%Z ->
  rounds (unit precision) (tiny exponent) (to_nearest precision exponent).
Proof.
  intros p m Hp x v [ties E]; subst v.
  destruct (error_N_FLT radix2 m p Hp ties x) as [d [e [Hd [He [_ Hx]]]]].
  exists d, e; rewrite half_spacing in Hd; unfold nearest, tiny.
  pose proof (bpow_gt_0 radix2 m); repeat split; try assumption; lra.
Qed.

(* Also of a number below the least normal number that rounds to 0. *)
Theorem flushed_rounds : forall precision exponent, (0 < precision)%Z ->
  rounds (unit precision) (normal precision exponent) (flushed precision exponent).
Proof.
  intros p m Hp x v H; pose proof (nearest_rounds p m Hp x) as Hr.
  assert (Ht : tiny m <= normal p m) by (apply bpow_le; lia).
  assert (Hu : 0 < unit p) by apply bpow_gt_0.
  destruct H as [H | [E [r [[ties R] Hs]]]].
  - destruct (Hr v H) as [d [e [Hd [He Hx]]]]; exists d, e; repeat split; try assumption; lra.
  - exists 0, (- x); rewrite Rabs_R0, Rabs_Ropp; repeat split; try lra.
    destruct (Rle_or_lt (Rabs x) (normal p m)) as [Hx | Hx]; [assumption |].
    exfalso; apply (Rlt_irrefl (normal p m)); apply Rle_lt_trans with (2 := Hs); subst r.
    unfold nearest; apply abs_round_ge_generic; [apply FLT_exp_valid; exact Hp | apply valid_rnd_N | | lra].
    apply generic_format_FLT_bpow; [exact Hp | lia].
Qed.

(* One rounding: `rounding_error`. *)
Theorem error_of_rounding : forall u least rounded, rounds u least rounded ->
  forall x v, rounded x v -> Rabs (v - x) <= u * Rabs x + least.
Proof.
  intros u least f Hf x v H; destruct (Hf x v H) as [d [e [Hd [He Hx]]]]; rewrite Hx.
  replace (x * (1 + d) + e - x) with (d * x + e) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _); rewrite Rabs_mult.
  pose proof (Rmult_le_compat_r _ _ _ (Rabs_pos x) Hd); lra.
Qed.

(* A number computed in another format and rounded to the element type: an accumulator, or Cast. *)
Theorem error_of_second_rounding : forall u least rounded, rounds u least rounded -> 0 <= u ->
  forall computed exact error largest v, Rabs (computed - exact) <= error -> Rabs exact <= largest -> rounded computed v ->
  Rabs (v - exact) <= error + (u * (largest + error) + least).
Proof.
  intros u least f Hf Hu c x E L v Hc Hx Hv.
  pose proof (error_of_rounding u least f Hf c v Hv) as Hr.
  assert (Hs : Rabs c <= L + E).
  { replace c with (x + (c - x)) by ring; apply Rle_trans with (1 := Rabs_triang _ _); lra. }
  pose proof (Rmult_le_compat_l _ _ _ Hu Hs).
  replace (v - x) with ((v - c) + (c - x)) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _); lra.
Qed.

(* ------------------------------------------------------------------ sums in any order and grouping *)

(* A product in any grouping, each multiplication rounded: also one of constants alone, which is multiplied in advance. *)
Inductive product :=
| Factor (x : R)
| Product (a b : product).

Fixpoint value p := match p with Factor x => x | Product a b => value a * value b end.

(* How many multiplications; and the product of the sizes of the factors, each taken as at least 1. *)
Fixpoint multiplications p := match p with
  | Factor _ => 0%nat | Product a b => S (multiplications a + multiplications b) end.
Fixpoint size p := match p with Factor x => Rmax 1 (Rabs x) | Product a b => size a * size b end.

(* How an implementation computes a sum: a product; a factor times a part, not rounded; a rounding of a product or scale;
   a rounded addition.  A fused multiplication and addition is Sum (Scale a b) c; a scale after the sum is
   Rounded (Scale k (Sum ...)), where k may itself be a rounded product of constants. *)
Inductive tree :=
| Leaf (p : product)
| Scale (k : product) (t : tree)
| Rounded (t : tree)
| Sum (a b : tree).

Fixpoint exact t := match t with
  | Leaf p => value p | Scale k t => value k * exact t | Rounded t => exact t | Sum a b => exact a + exact b end.

(* The sum of the absolute values of the terms. *)
Fixpoint absolute t := match t with
  | Leaf p => Rabs (value p) | Scale k t => Rabs (value k) * absolute t | Rounded t => absolute t
  | Sum a b => absolute a + absolute b end.

Fixpoint terms t := match t with
  | Leaf _ => 1%nat | Scale _ t => terms t | Rounded t => terms t | Sum a b => (terms a + terms b)%nat end.

(* How many roundings a term has at most beside the additions; how many additions it passes; both. *)
Fixpoint scalings t := match t with
  | Leaf p => multiplications p | Scale k t => (multiplications k + scalings t)%nat | Rounded t => S (scalings t)
  | Sum a b => Nat.max (scalings a) (scalings b) end.
Fixpoint additions t := match t with
  | Leaf _ => 0%nat | Scale _ t => additions t | Rounded t => additions t
  | Sum a b => S (Nat.max (additions a) (additions b)) end.
Fixpoint depth t := match t with
  | Leaf p => multiplications p | Scale k t => (multiplications k + depth t)%nat | Rounded t => S (depth t)
  | Sum a b => S (Nat.max (depth a) (depth b)) end.

(* All roundings, those of a factor once for each term that it multiplies. *)
Fixpoint roundings t := match t with
  | Leaf p => multiplications p | Scale k t => (terms t * multiplications k + roundings t)%nat
  | Rounded t => S (roundings t) | Sum a b => S (roundings a + roundings b) end.

(* The sum of the sizes of the terms, and the largest one. *)
Fixpoint mass t := match t with
  | Leaf p => size p | Scale k t => size k * mass t | Rounded t => mass t | Sum a b => mass a + mass b end.
Fixpoint largest t := match t with
  | Leaf p => size p | Scale k t => size k * largest t | Rounded t => largest t
  | Sum a b => Rmax (largest a) (largest b) end.

(* With gradual underflow a sum of numbers of the format that underflows is exact, and so is a number of the format: the
   argument of a rounding is `whole` where it is one of these.  `gradual` is false for underflow to 0. *)
Definition whole t := match t with Scale _ _ => false | _ => true end.
Definition loss (spared : bool) : R := if spared then 0 else 1.
Definition may_lose (spared : bool) (K W : R) := spared = true \/ K <= W.

(* What underflow adds, in units of `least`: each rounding times what follows it. *)
Fixpoint product_losses least p := match p with
  | Factor _ => 0
  | Product a b => product_losses least a * (size b + product_losses least b * least) +
      size a * product_losses least b + 1 end.
Fixpoint losses (gradual : bool) least t := match t with
  | Leaf p => product_losses least p
  | Scale k t => product_losses least k * (mass t + losses gradual least t * least) + size k * losses gradual least t
  | Rounded t => losses gradual least t + loss (gradual && whole t)
  | Sum a b => losses gradual least a + losses gradual least b + loss (gradual && whole a && whole b) end.

(* The sizes of the exact values of the additions, times the factors that follow. *)
Fixpoint partial_sums t := match t with
  | Leaf _ => 0 | Scale k t => Rabs (value k) * partial_sums t | Rounded t => partial_sums t
  | Sum a b => partial_sums a + partial_sums b + Rabs (exact a + exact b) end.

(* The factors that follow a rounding have sizes of a product of at most W; K is that of those around. *)
Fixpoint product_followed (W K : R) p := match p with
  | Factor _ => True
  | Product a b => K <= W /\ product_followed W (K * size b) a /\ product_followed W (K * size a) b end.
Fixpoint followed (gradual : bool) (W K : R) t := match t with
  | Leaf p => product_followed W K p
  | Scale k t => product_followed W (K * largest t) k /\ followed gradual W (K * size k) t
  | Rounded t => may_lose (gradual && whole t) K W /\ followed gradual W K t
  | Sum a b => may_lose (gradual && whole a && whole b) K W /\ followed gradual W K a /\ followed gradual W K b end.

Lemma loss_between : forall spared, 0 <= loss spared <= 1.
Proof. intros []; simpl; lra. Qed.
Lemma loss_followed : forall spared K W, 0 <= W -> may_lose spared K W -> K * loss spared <= W.
Proof. intros [] K W HW [H | H]; simpl; try lra; discriminate. Qed.

Lemma terms_positive : forall t, (1 <= terms t)%nat.
Proof. induction t; simpl; lia. Qed.
Lemma depth_by_terms : forall t, (depth t <= terms t - 1 + scalings t)%nat.
Proof. induction t; simpl; try lia; pose proof (terms_positive t1); pose proof (terms_positive t2); lia. Qed.
Lemma depth_by_additions : forall t, (depth t <= additions t + scalings t)%nat.
Proof. induction t; simpl; lia. Qed.

(* The code counts n r + n roundings (`roundings`). *)
Theorem roundings_counted : forall t, (roundings t + 1 <= terms t * scalings t + terms t)%nat.
Proof.
  induction t; simpl; try lia.
  - pose proof (terms_positive t); nia.
  - pose proof (terms_positive t1); pose proof (terms_positive t2).
    pose proof (Nat.le_max_l (scalings t1) (scalings t2)); pose proof (Nat.le_max_r (scalings t1) (scalings t2)).
    generalize dependent (Nat.max (scalings t1) (scalings t2)); intros; nia.
Qed.

Lemma absolute_positive : forall t, 0 <= absolute t.
Proof. induction t; simpl; try lra; try apply Rabs_pos. pose proof (Rabs_pos (value k)); nra. Qed.
Lemma exact_bounded : forall t, Rabs (exact t) <= absolute t.
Proof.
  induction t; simpl; try lra.
  - rewrite Rabs_mult; apply Rmult_le_compat_l; [apply Rabs_pos | assumption].
  - apply Rle_trans with (1 := Rabs_triang _ _); lra.
Qed.
Lemma partial_sums_positive : forall t, 0 <= partial_sums t.
Proof.
  induction t; simpl; try lra.
  - pose proof (Rabs_pos (value k)); nra.
  - pose proof (Rabs_pos (exact t1 + exact t2)); lra.
Qed.
Lemma size_least : forall p, 1 <= size p.
Proof. induction p; simpl; [apply Rmax_l | nra]. Qed.
Lemma value_bounded : forall p, Rabs (value p) <= size p.
Proof.
  induction p; simpl; [apply Rmax_r |].
  rewrite Rabs_mult; apply Rmult_le_compat; try apply Rabs_pos; assumption.
Qed.
Lemma largest_least : forall t, 1 <= largest t.
Proof.
  induction t; simpl; try assumption; try apply size_least.
  - pose proof (size_least k); nra.
  - apply Rle_trans with (1 := IHt1); apply Rmax_l.
Qed.
Lemma mass_largest : forall t, mass t <= INR (terms t) * largest t.
Proof.
  induction t; simpl mass; simpl largest; simpl terms.
  - simpl; lra.
  - pose proof (size_least k) as P; pose proof (Rmult_le_compat_l _ _ _ (Rle_trans _ _ _ Rle_0_1 P) IHt); lra.
  - assumption.
  - rewrite plus_INR; pose proof (pos_INR (terms t1)); pose proof (pos_INR (terms t2)).
    pose proof (Rmult_le_compat_l _ _ _ H (Rmax_l (largest t1) (largest t2))).
    pose proof (Rmult_le_compat_l _ _ _ H0 (Rmax_r (largest t1) (largest t2))); lra.
Qed.
Lemma mass_least : forall t, 1 <= mass t.
Proof.
  induction t; simpl; try lra; try apply size_least.
  pose proof (size_least k); nra.
Qed.
Lemma absolute_mass : forall t, absolute t <= mass t.
Proof.
  induction t; simpl; try lra; try apply value_bounded.
  apply Rmult_le_compat; try apply Rabs_pos; try apply absolute_positive; try assumption; apply value_bounded.
Qed.

Section Losses.
Variables (gradual : bool) (least : R).
Hypothesis least_positive : 0 <= least.

Lemma product_losses_positive : forall p, 0 <= product_losses least p.
Proof.
  induction p; simpl; try lra.
  pose proof (size_least p1); pose proof (size_least p2).
  assert (0 <= product_losses least p2 * least) by (apply Rmult_le_pos; assumption).
  assert (0 <= product_losses least p1 * (size p2 + product_losses least p2 * least)) by (apply Rmult_le_pos; lra).
  assert (0 <= size p1 * product_losses least p2) by (apply Rmult_le_pos; lra). lra.
Qed.
Lemma losses_positive : forall t, 0 <= losses gradual least t.
Proof.
  induction t; simpl; [apply product_losses_positive | | |].
  - pose proof (size_least k); pose proof (product_losses_positive k); pose proof (mass_least t).
    assert (0 <= losses gradual least t * least) by (apply Rmult_le_pos; assumption).
    assert (0 <= product_losses least k * (mass t + losses gradual least t * least)) by (apply Rmult_le_pos; lra).
    assert (0 <= size k * losses gradual least t) by (apply Rmult_le_pos; lra). lra.
  - pose proof (loss_between (gradual && whole t)); lra.
  - pose proof (loss_between (gradual && whole t1 && whole t2)); lra.
Qed.

(* How much the underflow of what is multiplied can enlarge. *)
Definition enlarged n := (1 + least) ^ n.
Lemma enlarged_least : forall n, 1 <= enlarged n.
Proof. intros n; apply pow_R1_Rle; lra. Qed.
Lemma enlarged_plus : forall m n, enlarged (m + n) = enlarged m * enlarged n.
Proof. intros; apply pow_add. Qed.
Lemma enlarged_next : forall n x, 1 <= x -> x * enlarged n + least <= x * enlarged (S n).
Proof.
  intros n x H; change (enlarged (S n)) with ((1 + least) * enlarged n); pose proof (enlarged_least n).
  assert (1 <= x * enlarged n) by nra. nra.
Qed.
Lemma enlarged_monotone : forall m n, (m <= n)%nat -> enlarged m <= enlarged n.
Proof. intros m n H; apply Rle_pow; [lra | assumption]. Qed.

Lemma product_enlarged : forall p, size p + product_losses least p * least <= size p * enlarged (multiplications p).
Proof.
  induction p; simpl size; simpl product_losses; simpl multiplications.
  - unfold enlarged; simpl; lra.
  - pose proof (size_least p1); pose proof (size_least p2).
    pose proof (product_losses_positive p1); pose proof (product_losses_positive p2).
    assert (SS : 1 <= size p1 * size p2) by nra.
    apply Rle_trans with (2 := enlarged_next _ _ SS); rewrite enlarged_plus.
    assert (0 <= product_losses least p1 * least) by (apply Rmult_le_pos; assumption).
    assert (0 <= product_losses least p2 * least) by (apply Rmult_le_pos; assumption).
    assert (F : (size p1 + product_losses least p1 * least) * (size p2 + product_losses least p2 * least) <=
      (size p1 * enlarged (multiplications p1)) * (size p2 * enlarged (multiplications p2)))
      by (apply Rmult_le_compat; lra).
    lra.
Qed.

Lemma enlarged_sum : forall t, mass t + losses gradual least t * least + least <= mass t * enlarged (S (scalings t)).
Proof.
  induction t; simpl mass; simpl losses; simpl scalings.
  - apply Rle_trans with (2 := enlarged_next _ _ (size_least p)); pose proof (product_enlarged p); lra.
  -
    replace (S (multiplications k + scalings t)) with (multiplications k + S (scalings t))%nat by lia.
    rewrite enlarged_plus; pose proof (product_enlarged k) as E; pose proof (size_least k); pose proof (mass_least t).
    pose proof (product_losses_positive k); pose proof (losses_positive t).
    assert (0 <= product_losses least k * least) by (apply Rmult_le_pos; assumption).
    assert (0 <= losses gradual least t * least) by (apply Rmult_le_pos; assumption).
    assert (F : (size k + product_losses least k * least) * (mass t + losses gradual least t * least + least) <=
      (size k * enlarged (multiplications k)) * (mass t * enlarged (S (scalings t)))) by (apply Rmult_le_compat; lra).
    assert (least <= (size k + product_losses least k * least) * least) by nra.
    lra.
  - apply Rle_trans with (2 := enlarged_next _ _ (mass_least t)).
    pose proof (loss_between (gradual && whole t)); nra.
  - set (m := Nat.max (scalings t1) (scalings t2)); pose proof (mass_least t1); pose proof (mass_least t2).
    assert (loss (gradual && whole t1 && whole t2) * least <= least)
      by (pose proof (loss_between (gradual && whole t1 && whole t2)); nra).
    assert (A : enlarged (S (scalings t1)) <= enlarged (S m)) by (apply enlarged_monotone; unfold m; lia).
    assert (B : enlarged (S (scalings t2)) <= enlarged (S m)) by (apply enlarged_monotone; unfold m; lia).
    assert (mass t1 * enlarged (S (scalings t1)) <= mass t1 * enlarged (S m)) by (apply Rmult_le_compat_l; lra).
    assert (mass t2 * enlarged (S (scalings t2)) <= mass t2 * enlarged (S m)) by (apply Rmult_le_compat_l; lra).
    lra.
Qed.

(* theorems bounds.folded-constant and bounds.factors-left: the factors that follow a rounding. *)
Lemma product_losses_counted : forall W p K, 0 <= K -> 0 <= W -> product_followed W K p ->
  K * product_losses least p <= INR (multiplications p) * W * enlarged (multiplications p).
Proof.
  intros W; induction p; intros K HK HW H.
  - simpl; lra.
  - change (multiplications (Product p1 p2)) with (S (multiplications p1 + multiplications p2)).
    rewrite S_INR, plus_INR; simpl in H |- *; destruct H as [H1 [H2 H3]].
    pose proof (size_least p1); pose proof (size_least p2).
    assert (K1 : 0 <= K * size p1) by (apply Rmult_le_pos; lra).
    assert (K2 : 0 <= K * size p2) by (apply Rmult_le_pos; lra).
    specialize (IHp1 _ K2 HW H2); specialize (IHp2 _ K1 HW H3).
    set (a := multiplications p1) in *; set (b := multiplications p2) in *.
    pose proof (enlarged_least a); pose proof (enlarged_least b); pose proof (pos_INR a); pose proof (pos_INR b).
    pose proof (product_enlarged p2) as E; fold b in E; pose proof (product_losses_positive p1).
    assert (M : enlarged (a + b) <= enlarged (S (a + b))) by (apply enlarged_monotone; lia).
    assert (Q1 : enlarged b <= enlarged (a + b)) by (apply enlarged_monotone; lia).
    assert (Q2 : 1 <= enlarged (a + b)) by apply enlarged_least.
    assert (F1 : K * (product_losses least p1 * (size p2 + product_losses least p2 * least)) <=
      INR a * W * enlarged (a + b)).
    { apply Rle_trans with (K * size p2 * product_losses least p1 * enlarged b).
      - assert (PKL : 0 <= K * product_losses least p1) by (apply Rmult_le_pos; lra).
        pose proof (Rmult_le_compat_l _ _ _ PKL E); lra.
      - rewrite enlarged_plus, <- Rmult_assoc; apply Rmult_le_compat_r; lra. }
    assert (0 <= INR b * W) by (apply Rmult_le_pos; lra).
    assert (F2 : INR b * W * enlarged b <= INR b * W * enlarged (a + b)) by (apply Rmult_le_compat_l; lra).
    assert (F3 : W * 1 <= W * enlarged (a + b)) by (apply Rmult_le_compat_l; lra).
    assert (0 <= (INR a + INR b + 1) * W) by (apply Rmult_le_pos; lra).
    assert (F4 : (INR a + INR b + 1) * W * enlarged (a + b) <= (INR a + INR b + 1) * W * enlarged (S (a + b)))
      by (apply Rmult_le_compat_l; lra).
    lra.
Qed.

Lemma losses_counted : forall W t K, 0 <= K -> 0 <= W -> followed gradual W K t ->
  K * losses gradual least t <= INR (roundings t) * W * enlarged (S (scalings t)).
Proof.
  intros W; induction t; intros K HK HW H.
  - simpl in H |- *; pose proof (product_losses_counted W p K HK HW H) as L; pose proof (pos_INR (multiplications p)).
    assert (0 <= INR (multiplications p) * W) by (apply Rmult_le_pos; lra).
    pose proof (enlarged_monotone (multiplications p) (S (multiplications p)) ltac:(lia)).
    apply Rle_trans with (1 := L); apply Rmult_le_compat_l; assumption.
  - change (roundings (Scale k t)) with (terms t * multiplications k + roundings t)%nat; rewrite plus_INR, mult_INR.
    change (scalings (Scale k t)) with (multiplications k + scalings t)%nat.
    replace (S (multiplications k + scalings t)) with (multiplications k + S (scalings t))%nat by lia.
    simpl in H |- *; destruct H as [H1 H2]; set (q := multiplications k) in *; set (s := S (scalings t)).
    pose proof (size_least k); pose proof (largest_least t); pose proof (mass_least t).
    pose proof (product_losses_positive k) as PK; pose proof (losses_positive t) as PT.
    assert (K1 : 0 <= K * largest t) by (apply Rmult_le_pos; lra).
    assert (K2 : 0 <= K * size k) by (apply Rmult_le_pos; lra).
    pose proof (product_losses_counted W k _ K1 HW H1) as L1; specialize (IHt _ K2 HW H2); fold q in L1; fold s in IHt.
    pose proof (enlarged_sum t) as E; fold s in E; pose proof (mass_largest t) as ML.
    pose proof (enlarged_least q); pose proof (enlarged_least s); pose proof (pos_INR (terms t)); pose proof (pos_INR q).
    pose proof (pos_INR (roundings t)); rewrite enlarged_plus.
    assert (E' : mass t + losses gradual least t * least <= INR (terms t) * largest t * enlarged s).
    { apply Rle_trans with (mass t * enlarged s); [lra | apply Rmult_le_compat_r; lra]. }
    assert (F1 : K * (product_losses least k * (mass t + losses gradual least t * least)) <=
      INR (terms t) * INR q * W * (enlarged q * enlarged s)).
    { assert (PKL : 0 <= K * product_losses least k) by (apply Rmult_le_pos; lra).
      pose proof (Rmult_le_compat_l _ _ _ PKL E') as X.
      assert (PTE : 0 <= INR (terms t) * enlarged s) by (apply Rmult_le_pos; lra).
      pose proof (Rmult_le_compat_l _ _ _ PTE L1) as Y. lra. }
    assert (0 <= INR (roundings t) * W * enlarged s) by (apply Rmult_le_pos; [apply Rmult_le_pos |]; lra).
    assert (F2 : INR (roundings t) * W * enlarged s * 1 <= INR (roundings t) * W * enlarged s * enlarged q)
      by (apply Rmult_le_compat_l; lra).
    lra.
  - change (roundings (Rounded t)) with (S (roundings t)); rewrite S_INR; simpl in H; destruct H as [H1 H2].
    apply loss_followed in H1; [| exact HW].
    change (scalings (Rounded t)) with (S (scalings t)); simpl losses.
    specialize (IHt K HK HW H2); set (s := S (scalings t)) in *; pose proof (enlarged_least s).
    pose proof (enlarged_monotone s (S s) ltac:(lia)); pose proof (pos_INR (roundings t)).
    assert (0 <= INR (roundings t) * W) by (apply Rmult_le_pos; lra).
    assert (INR (roundings t) * W * enlarged s <= INR (roundings t) * W * enlarged (S s))
      by (apply Rmult_le_compat_l; lra).
    assert (W * 1 <= W * enlarged (S s)) by (apply Rmult_le_compat_l; lra). lra.
  - change (roundings (Sum t1 t2)) with (S (roundings t1 + roundings t2)); rewrite S_INR, plus_INR.
    change (scalings (Sum t1 t2)) with (Nat.max (scalings t1) (scalings t2)); simpl losses.
    simpl in H; destruct H as [H1 [H2 H3]]; specialize (IHt1 K HK HW H2); specialize (IHt2 K HK HW H3).
    apply loss_followed in H1; [| exact HW].
    set (s := S (Nat.max (scalings t1) (scalings t2))).
    pose proof (enlarged_monotone (S (scalings t1)) s ltac:(unfold s; lia)).
    pose proof (enlarged_monotone (S (scalings t2)) s ltac:(unfold s; lia)).
    pose proof (enlarged_least s); pose proof (pos_INR (roundings t1)); pose proof (pos_INR (roundings t2)).
    assert (0 <= INR (roundings t1) * W) by (apply Rmult_le_pos; lra).
    assert (0 <= INR (roundings t2) * W) by (apply Rmult_le_pos; lra).
    assert (INR (roundings t1) * W * enlarged (S (scalings t1)) <= INR (roundings t1) * W * enlarged s)
      by (apply Rmult_le_compat_l; lra).
    assert (INR (roundings t2) * W * enlarged (S (scalings t2)) <= INR (roundings t2) * W * enlarged s)
      by (apply Rmult_le_compat_l; lra).
    assert (W * 1 <= W * enlarged s) by (apply Rmult_le_compat_l; lra). lra.
Qed.

End Losses.

(* The numbers that gradual underflow keeps: their sums are of these again, and a rounding of one has a relative error
   only.  With underflow to 0 nothing is kept. *)
Record keeps (u : R) (rounded : R -> R -> Prop) (gradual : bool) (grid : R -> Prop) : Prop := {
  kept_sum : forall x y, grid x -> grid y -> grid (x + y);
  kept_rounding : forall x v, rounded x v -> grid v;
  kept_exactly : gradual = true -> forall x v, grid x -> rounded x v -> exists d, Rabs d <= u /\ v = x * (1 + d) }.

(* The multiples of the least subnormal number. *)
Definition multiple (exponent : Z) (x : R) := exists n, x = IZR n * tiny exponent.

Lemma nearest_keeps : forall precision exponent, (0 < precision)%Z ->
  keeps (unit precision) (to_nearest precision exponent) true (multiple exponent).
Proof.
  intros p m Hp; split.
  - intros x y [n X] [k Y]; exists (n + k)%Z; rewrite X, Y, plus_IZR; ring.
  - intros x v [ties E]; subst v; exists (Znearest ties (scaled_mantissa radix2 (FLT_exp m p) x) *
      2 ^ (cexp radix2 (FLT_exp m p) x - m))%Z.
    assert (C : (m <= cexp radix2 (FLT_exp m p) x)%Z) by (unfold cexp, FLT_exp; lia).
    unfold nearest, round, F2R, tiny; cbn [Fnum Fexp]; rewrite mult_IZR, Rmult_assoc; f_equal.
    change 2%Z with (radix_val radix2); rewrite IZR_Zpower by lia; rewrite <- bpow_plus; f_equal; lia.
  - intros _ x v [n X] [ties V]; subst v; destruct (Rlt_or_le (Rabs x) (normal p m)) as [Hs | Hs].
    + exists 0; rewrite Rabs_R0; split; [apply bpow_ge_0 |].
      unfold nearest; rewrite round_generic; [ring | apply valid_rnd_N |].
      apply generic_format_FLT_FIX; [exact Hp | |].
      * apply Rlt_le; apply Rlt_le_trans with (1 := Hs); apply bpow_le; lia.
      * apply generic_format_FIX; exists (Float radix2 n m); [exact X | reflexivity].
    + destruct (relative_error_N_FLT_ex radix2 m p Hp ties x Hs) as [d [Hd E]].
      exists d; rewrite half_spacing in Hd; split; assumption.
Qed.

(* Underflow to 0 keeps nothing, and the same holds where nothing is known of the underflow. *)
Lemma flushed_keeps : forall u rounded, keeps u rounded false (fun _ => True).
Proof. intros; split; intros; try exact I; discriminate. Qed.

(* The operands are such numbers. *)
Fixpoint on_grid (grid : R -> Prop) t := match t with
  | Leaf (Factor x) => grid x | Leaf (Product _ _) => True | Scale _ t => on_grid grid t | Rounded t => on_grid grid t
  | Sum a b => on_grid grid a /\ on_grid grid b end.

Section Computation.
Variables (u least : R) (rounded : R -> R -> Prop) (gradual : bool) (grid : R -> Prop).
Hypothesis unit_positive : 0 <= u.
Hypothesis least_positive : 0 <= least.
Hypothesis rounding : rounds u least rounded.
Hypothesis keeping : keeps u rounded gradual grid.

Inductive computes_product : product -> R -> Prop :=
| computes_factor : forall x, computes_product (Factor x) x
| computes_times : forall a b x y v, computes_product a x -> computes_product b y -> rounded (x * y) v ->
    computes_product (Product a b) v.
Inductive computes : tree -> R -> Prop :=
| computes_leaf : forall p v, computes_product p v -> computes (Leaf p) v
| computes_scale : forall k t x y, computes_product k x -> computes t y -> computes (Scale k t) (x * y)
| computes_rounded : forall t x v, computes t x -> rounded x v -> computes (Rounded t) v
| computes_sum : forall a b x y v, computes a x -> computes b y -> rounded (x + y) v -> computes (Sum a b) v.

(* What is computed is c + e: c has the relative errors only, e is what underflow adds. *)
Inductive relative_product : product -> R -> R -> Prop :=
| factor : forall x, relative_product (Factor x) x 0
| times : forall a b c c' e e' d h, relative_product a c e -> relative_product b c' e' -> Rabs d <= u -> Rabs h <= least ->
    relative_product (Product a b) (c * c' * (1 + d)) ((e * (c' + e') + c * e') * (1 + d) + h).
Inductive relative : tree -> R -> R -> Prop :=
| leaf : forall p c e, relative_product p c e -> relative (Leaf p) c e
| scale : forall k t c c' e e', relative_product k c e -> relative t c' e' ->
    relative (Scale k t) (c * c') (e * (c' + e') + c * e')
| single : forall t c e d h, relative t c e -> Rabs d <= u -> Rabs h <= loss (gradual && whole t) * least ->
    relative (Rounded t) (c * (1 + d)) (e * (1 + d) + h)
| sum : forall a b c c' e e' d h, relative a c e -> relative b c' e' -> Rabs d <= u ->
    Rabs h <= loss (gradual && whole a && whole b) * least ->
    relative (Sum a b) ((c + c') * (1 + d)) ((e + e') * (1 + d) + h).

Lemma computed_product_relative : forall p v, computes_product p v -> exists c e, relative_product p c e /\ v = c + e.
Proof.
  intros p v C; induction C.
  - exists x, 0; split; [constructor | ring].
  - destruct IHC1 as [c [e [H1 E]]]; destruct IHC2 as [c' [e' [H2 E']]].
    destruct (rounding _ _ H) as [d [h [Hd [Hh R]]]].
    exists (c * c' * (1 + d)), ((e * (c' + e') + c * e') * (1 + d) + h).
    split; [constructor; assumption | rewrite R, E, E'; ring].
Qed.
Lemma whole_on_grid : forall t v, computes t v -> on_grid grid t -> whole t = true -> grid v.
Proof.
  intros t v C; destruct C; simpl; intros G W; try discriminate; try (eapply (kept_rounding _ _ _ _ keeping); eassumption).
  destruct H; [assumption |]; eapply (kept_rounding _ _ _ _ keeping); eassumption.
Qed.
(* A rounding whose argument underflow keeps loses nothing. *)
Lemma rounding_with_loss : forall (spared : bool) x v, rounded x v -> (spared = true -> gradual = true /\ grid x) ->
  exists d h, Rabs d <= u /\ Rabs h <= loss spared * least /\ v = x * (1 + d) + h.
Proof.
  intros [] x v V H; simpl.
  - destruct (H eq_refl) as [G X]; destruct (kept_exactly _ _ _ _ keeping G x v X V) as [d [D E]].
    exists d, 0; rewrite Rabs_R0; repeat split; try assumption; lra.
  - destruct (rounding x v V) as [d [h [D [L E]]]]; exists d, h; repeat split; try assumption; lra.
Qed.
Lemma computed_relative : forall t v, computes t v -> on_grid grid t -> exists c e, relative t c e /\ v = c + e.
Proof.
  intros t v C; induction C; intros G; simpl in G.
  - destruct (computed_product_relative p v H) as [c [e [H1 E]]]; exists c, e; split; [constructor; assumption | exact E].
  - destruct (computed_product_relative k x H) as [c [e [H1 E]]]; destruct (IHC G) as [c' [e' [H' E']]].
    exists (c * c'), (e * (c' + e') + c * e'); split; [constructor; assumption | rewrite E, E'; ring].
  - destruct (IHC G) as [c [e [H1 E]]].
    destruct (rounding_with_loss (gradual && whole t) x v H) as [d [h [Hd [Hh R]]]].
    { intros S; apply andb_prop in S; destruct S; split; [| apply (whole_on_grid t)]; assumption. }
    exists (c * (1 + d)), (e * (1 + d) + h); split; [constructor; assumption | rewrite R, E; ring].
  - destruct G as [G1 G2]; destruct (IHC1 G1) as [c [e [H1 E]]]; destruct (IHC2 G2) as [c' [e' [H' E']]].
    destruct (rounding_with_loss (gradual && whole a && whole b) (x + y) v H) as [d [h [Hd [Hh R]]]].
    { intros S; apply andb_prop in S; destruct S as [S W]; apply andb_prop in S; destruct S as [S V].
      split; [exact S |]; apply (kept_sum _ _ _ _ keeping); [apply (whole_on_grid a) | apply (whole_on_grid b)];
        assumption. }
    exists ((c + c') * (1 + d)), ((e + e') * (1 + d) + h); split; [constructor; assumption | rewrite R, E, E'; ring].
Qed.

Definition growth n := (1 + u) ^ n.
Lemma growth_least : forall n, 1 <= growth n.
Proof. intros n; apply pow_R1_Rle; lra. Qed.
Lemma growth_monotone : forall m n, (m <= n)%nat -> growth m <= growth n.
Proof. intros m n H; apply Rle_pow; [lra | assumption]. Qed.
Lemma growth_next : forall n, growth (S n) = (1 + u) * growth n.
Proof. reflexivity. Qed.

(* theorem bounds.sum-gamma, over all roundings: 1 + γ_n = 1 / (1 - n u). *)
Definition gamma (n : R) := n * u / (1 - n * u).
Lemma growth_times : forall n, INR n * u <= 1 -> growth n * (1 - INR n * u) <= 1.
Proof.
  induction n; intros H.
  - simpl; unfold growth; simpl; lra.
  - rewrite S_INR in H |- *; rewrite growth_next.
    assert (H' : INR n * u <= 1) by nra; specialize (IHn H').
    pose proof (growth_least n); pose proof (pos_INR n); nra.
Qed.
Theorem growth_gamma : forall n m, INR n <= m -> m * u < 1 -> growth n <= 1 + gamma m.
Proof.
  intros n m Hm H; assert (Hn : INR n * u <= m * u) by nra.
  pose proof (growth_times n) as G; specialize (G ltac:(lra)); unfold gamma.
  pose proof (growth_least n).
  apply Rmult_le_reg_r with (1 - m * u); [lra |].
  replace ((1 + m * u / (1 - m * u)) * (1 - m * u)) with 1 by (field; lra). nra.
Qed.

Lemma rounded_size : forall c d, Rabs d <= u -> Rabs (c * (1 + d) - c) <= u * Rabs c.
Proof.
  intros c d H; replace (c * (1 + d) - c) with (d * c) by ring; rewrite Rabs_mult.
  apply Rmult_le_compat_r; [apply Rabs_pos | assumption].
Qed.

Lemma grown_size : forall e d, Rabs d <= u -> Rabs (e * (1 + d)) <= (1 + u) * Rabs e.
Proof.
  intros e d H; rewrite Rabs_mult, Rmult_comm; apply Rmult_le_compat_r; [apply Rabs_pos |].
  apply Rle_trans with (1 := Rabs_triang _ _); rewrite Rabs_R1; lra.
Qed.

Lemma growth_plus : forall m n, growth (m + n) = growth m * growth n.
Proof. intros; apply pow_add. Qed.
Lemma product_error : forall a b x y g h, Rabs (a - x) <= (g - 1) * Rabs x -> Rabs (b - y) <= (h - 1) * Rabs y ->
  1 <= g -> 1 <= h -> Rabs (a * b - x * y) <= (g * h - 1) * (Rabs x * Rabs y).
Proof.
  intros a b x y g h Ha Hb Hg Hh; pose proof (Rabs_pos x); pose proof (Rabs_pos y).
  replace (a * b - x * y) with ((a - x) * (b - y) + (a - x) * y + x * (b - y)) by ring.
  pose proof (Rabs_triang ((a - x) * (b - y) + (a - x) * y) (x * (b - y))) as T1.
  pose proof (Rabs_triang ((a - x) * (b - y)) ((a - x) * y)) as T2.
  rewrite !Rabs_mult in *.
  assert (Rabs (a - x) * Rabs (b - y) <= ((g - 1) * Rabs x) * ((h - 1) * Rabs y))
    by (apply Rmult_le_compat; try apply Rabs_pos; assumption).
  pose proof (Rmult_le_compat_r _ _ _ H0 Ha); pose proof (Rmult_le_compat_l _ _ _ H Hb); lra.
Qed.
Lemma rounded_error : forall c d x g, Rabs d <= u -> 1 <= g -> forall s, Rabs x <= s -> Rabs (c - x) <= (g - 1) * s ->
  Rabs (c * (1 + d) - x) <= ((1 + u) * g - 1) * s.
Proof.
  intros c d x g Hd Hg s Hs Hc; pose proof (rounded_size c d Hd).
  assert (S1 : Rabs c <= g * s).
  { replace c with (x + (c - x)) by ring; apply Rle_trans with (1 := Rabs_triang _ _); lra. }
  replace (c * (1 + d) - x) with ((c * (1 + d) - c) + (c - x)) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _); nra.
Qed.
Lemma product_relative_error : forall p c e, relative_product p c e ->
  Rabs (c - value p) <= (growth (multiplications p) - 1) * Rabs (value p).
Proof.
  intros p c e H; induction H; simpl value; simpl multiplications.
  - unfold growth; simpl; rewrite Rminus_diag_eq by reflexivity; rewrite Rabs_R0; lra.
  - rewrite growth_next, growth_plus; apply rounded_error; try assumption.
    + pose proof (growth_least (multiplications a)); pose proof (growth_least (multiplications b)); nra.
    + lra.
    + rewrite Rabs_mult; apply product_error; try assumption; apply growth_least.
Qed.
(* theorem bounds.sum-growth, by induction over the tree. *)
Theorem relative_error : forall t c e, relative t c e -> Rabs (c - exact t) <= (growth (depth t) - 1) * absolute t.
Proof.
  intros t c e H; induction H; simpl exact; simpl absolute; simpl depth.
  - apply (product_relative_error p c e H).
  - rewrite growth_plus; pose proof (product_relative_error k c e H) as P; pose proof (absolute_positive t).
    pose proof (growth_least (multiplications k)); pose proof (growth_least (depth t)); pose proof (Rabs_pos (value k)).
    pose proof (exact_bounded t) as X.
    replace (c * c' - value k * exact t) with ((c - value k) * (exact t) + c * (c' - exact t)) by ring.
    assert (C : Rabs c <= growth (multiplications k) * Rabs (value k)).
    { replace c with (value k + (c - value k)) by ring; apply Rle_trans with (1 := Rabs_triang _ _); lra. }
    apply Rle_trans with (1 := Rabs_triang _ _); rewrite !Rabs_mult.
    pose proof (Rmult_le_compat _ _ _ _ (Rabs_pos _) (Rabs_pos _) P X).
    pose proof (Rmult_le_compat _ _ _ _ (Rabs_pos _) (Rabs_pos _) C IHrelative); lra.
  - rewrite growth_next; pose proof (rounded_size c d H0).
    pose proof (exact_bounded t); pose proof (absolute_positive t); pose proof (growth_least (depth t)).
    assert (S1 : Rabs c <= growth (depth t) * absolute t).
    { replace c with (exact t + (c - exact t)) by ring; apply Rle_trans with (1 := Rabs_triang _ _); lra. }
    replace (c * (1 + d) - exact t) with ((c * (1 + d) - c) + (c - exact t)) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _); nra.
  - rewrite growth_next; set (m := Nat.max (depth a) (depth b)).
    assert (A : growth (depth a) <= growth m) by (apply growth_monotone; unfold m; lia).
    assert (B : growth (depth b) <= growth m) by (apply growth_monotone; unfold m; lia).
    pose proof (absolute_positive a); pose proof (absolute_positive b).
    pose proof (exact_bounded a); pose proof (exact_bounded b); pose proof (growth_least m).
    pose proof (rounded_size (c + c') d H1).
    assert (E1 : Rabs (c - exact a) <= (growth m - 1) * absolute a) by nra.
    assert (E2 : Rabs (c' - exact b) <= (growth m - 1) * absolute b) by nra.
    assert (S1 : Rabs (c + c') <= growth m * (absolute a + absolute b)).
    { replace (c + c') with ((exact a + (c - exact a)) + (exact b + (c' - exact b))) by ring.
      apply Rle_trans with (1 := Rabs_triang _ _).
      pose proof (Rabs_triang (exact a) (c - exact a)); pose proof (Rabs_triang (exact b) (c' - exact b)); lra. }
    replace ((c + c') * (1 + d) - (exact a + exact b))
      with (((c + c') * (1 + d) - (c + c')) + ((c - exact a) + (c' - exact b))) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _); pose proof (Rabs_triang (c - exact a) (c' - exact b)); nra.
Qed.

(* theorem bounds.sum-underflow: each rounding costs `least` once, grown by the later ones. *)
Lemma product_size : forall p c e, relative_product p c e -> Rabs c <= growth (multiplications p) * size p.
Proof.
  intros p c e H; pose proof (product_relative_error p c e H); pose proof (value_bounded p).
  pose proof (growth_least (multiplications p)).
  replace c with (value p + (c - value p)) by ring; apply Rle_trans with (1 := Rabs_triang _ _).
  assert (growth (multiplications p) * Rabs (value p) <= growth (multiplications p) * size p)
    by (apply Rmult_le_compat_l; lra). lra.
Qed.
Lemma tree_size : forall t c e, relative t c e -> Rabs c <= growth (depth t) * mass t.
Proof.
  intros t c e H; pose proof (relative_error t c e H); pose proof (exact_bounded t); pose proof (absolute_mass t).
  pose proof (growth_least (depth t)).
  replace c with (exact t + (c - exact t)) by ring; apply Rle_trans with (1 := Rabs_triang _ _).
  assert (growth (depth t) * absolute t <= growth (depth t) * mass t) by (apply Rmult_le_compat_l; lra). lra.
Qed.
(* The errors e and f of two numbers c and b that are multiplied. *)
Lemma multiplied : forall g h m n l k c b e f, 1 <= g -> 1 <= h -> 0 <= l -> 0 <= k -> 0 <= m -> 0 <= n ->
  Rabs c <= g * m -> Rabs b <= h * n -> Rabs e <= g * l * least -> Rabs f <= h * k * least ->
  Rabs (e * (b + f) + c * f) <= g * h * (l * (n + k * least) + m * k) * least.
Proof.
  intros g h m n l k c b e f Hg Hh Hl Hk Hm Hn Hc Hb He Hf.
  assert (B : Rabs (b + f) <= h * (n + k * least)) by (apply Rle_trans with (1 := Rabs_triang _ _); lra).
  apply Rle_trans with (1 := Rabs_triang _ _); rewrite !Rabs_mult.
  pose proof (Rmult_le_compat _ _ _ _ (Rabs_pos _) (Rabs_pos _) He B).
  pose proof (Rmult_le_compat _ _ _ _ (Rabs_pos _) (Rabs_pos _) Hc Hf); lra.
Qed.
Lemma rounded_loss : forall e d h g l, Rabs d <= u -> Rabs h <= least -> 1 <= g -> Rabs e <= g * l * least ->
  Rabs (e * (1 + d) + h) <= (1 + u) * g * (l + 1) * least.
Proof.
  intros e d h g l Hd Hh Hg He; pose proof (grown_size e d Hd); apply Rle_trans with (1 := Rabs_triang _ _).
  assert (G : 1 <= (1 + u) * g) by nra. pose proof (Rmult_le_compat_r _ _ _ least_positive G).
  pose proof (Rmult_le_compat_l (1 + u) _ _ ltac:(lra) He); lra.
Qed.
Lemma product_underflow : forall p c e, relative_product p c e ->
  Rabs e <= growth (multiplications p) * product_losses least p * least.
Proof.
  intros p c e H; induction H; simpl product_losses; simpl multiplications.
  - rewrite Rabs_R0; lra.
  - rewrite growth_next, growth_plus; pose proof (growth_least (multiplications a)) as GA.
    pose proof (growth_least (multiplications b)) as GB; apply rounded_loss; try assumption; [nra |].
    pose proof (size_least a); pose proof (size_least b).
    apply multiplied; try assumption; try lra; try apply product_losses_positive; try assumption;
      eapply product_size; eassumption.
Qed.
Lemma grown_least : forall g x, 1 <= g -> 0 <= x -> x <= g * x.
Proof. intros g x G X; pose proof (Rmult_le_compat_r _ _ _ X G); lra. Qed.
Theorem underflow : forall t c e, relative t c e -> Rabs e <= growth (depth t) * losses gradual least t * least.
Proof.
  intros t c e H; induction H; simpl losses; simpl depth.
  - eapply product_underflow; eassumption.
  - rewrite growth_plus; pose proof (growth_least (multiplications k)); pose proof (growth_least (depth t)).
    pose proof (size_least k); pose proof (mass_least t).
    apply multiplied; try assumption; try lra; try (apply product_losses_positive; assumption);
      try (apply losses_positive; assumption).
    + eapply product_size; eassumption.
    + eapply tree_size; eassumption.
    + eapply product_underflow; eassumption.
  - rewrite growth_next; pose proof (grown_size e d H0); pose proof (growth_least (depth t)).
    pose proof (losses_positive gradual least least_positive t); apply Rle_trans with (1 := Rabs_triang _ _).
    assert (G : 1 <= (1 + u) * growth (depth t)) by nra.
    assert (L : loss (gradual && whole t) * least <= (1 + u) * growth (depth t) * (loss (gradual && whole t) * least))
      by (apply grown_least; [assumption | apply Rmult_le_pos; [apply loss_between | assumption]]).
    pose proof (Rmult_le_compat_l (1 + u) _ _ ltac:(lra) IHrelative); lra.
  - rewrite growth_next; set (m := Nat.max (depth a) (depth b)).
    assert (A : growth (depth a) <= growth m) by (apply growth_monotone; unfold m; lia).
    assert (B : growth (depth b) <= growth m) by (apply growth_monotone; unfold m; lia).
    pose proof (losses_positive gradual least least_positive a) as PA.
    pose proof (losses_positive gradual least least_positive b) as PB; pose proof (growth_least m).
    assert (LA : 0 <= losses gradual least a * least) by nra. assert (LB : 0 <= losses gradual least b * least) by nra.
    assert (E1 : Rabs e <= growth m * (losses gradual least a * least)) by nra.
    assert (E2 : Rabs e' <= growth m * (losses gradual least b * least)) by nra.
    set (one := loss (gradual && whole a && whole b)) in *.
    assert (P1 : 0 <= one * least) by (apply Rmult_le_pos; [apply loss_between | assumption]).
    pose proof (grown_size (e + e') d H1); pose proof (Rabs_triang e e').
    assert (G : 1 <= (1 + u) * growth m) by nra.
    assert (L : one * least <= (1 + u) * growth m * (one * least)) by (apply grown_least; assumption).
    apply Rle_trans with (1 := Rabs_triang _ _).
    assert (F : (1 + u) * Rabs (e + e') <=
      (1 + u) * (growth m * (losses gradual least a * least) + growth m * (losses gradual least b * least)))
      by (apply Rmult_le_compat_l; lra).
    lra.
Qed.

Lemma growth_roundings : forall n, growth n - 1 <= INR n * u * growth n.
Proof.
  induction n.
  - unfold growth; simpl; lra.
  - rewrite S_INR, growth_next; pose proof (growth_least n); pose proof (pos_INR n).
    assert (0 <= INR n * u * growth n * u) by (repeat apply Rmult_le_pos; lra).
    assert (0 <= u * u * growth n) by (repeat apply Rmult_le_pos; lra). lra.
Qed.
(* theorems bounds.sum-errors and bounds.sum-scales, by induction over the tree. *)
Theorem error_of_parts : forall g t c e, relative t c e -> growth (depth t) - 1 <= g ->
  Rabs (c - exact t) <=
    u * (INR (scalings t) * (1 + g) * absolute t + (INR (terms t) - 1) * g * absolute t + partial_sums t).
Proof.
  intros g t c e H; induction H; intros G.
  - pose proof (product_relative_error p c e H) as P; pose proof (growth_roundings (multiplications p)) as X.
    simpl in G |- *; pose proof (Rabs_pos (value p)); pose proof (pos_INR (multiplications p)).
    assert (X' : growth (multiplications p) - 1 <= INR (multiplications p) * u * (1 + g)).
    { apply Rle_trans with (1 := X); apply Rmult_le_compat_l; [apply Rmult_le_pos |]; lra. }
    pose proof (Rmult_le_compat_r _ _ _ H0 X'); lra.
  - change (scalings (Scale k t)) with (multiplications k + scalings t)%nat; rewrite plus_INR.
    simpl in G |- *; pose proof (product_relative_error k c e H) as P; pose proof (growth_roundings (multiplications k)) as X.
    rewrite growth_plus in G; pose proof (growth_least (multiplications k)) as G1; pose proof (growth_least (depth t)) as G2.
    assert (GT : growth (depth t) - 1 <= g) by nra. specialize (IHrelative GT).
    pose proof (relative_error t c' e' H0) as E; pose proof (absolute_positive t) as PA; pose proof (exact_bounded t) as PX.
    pose proof (Rabs_pos (value k)) as PK; pose proof (pos_INR (multiplications k)) as PM.
    assert (C : Rabs c' <= growth (depth t) * absolute t).
    { replace c' with (exact t + (c' - exact t)) by ring; apply Rle_trans with (1 := Rabs_triang _ _); lra. }
    assert (X' : (growth (multiplications k) - 1) * growth (depth t) <= INR (multiplications k) * u * (1 + g)).
    { apply Rle_trans with (INR (multiplications k) * u * growth (multiplications k) * growth (depth t)).
      - apply Rmult_le_compat_r; lra.
      - rewrite Rmult_assoc; apply Rmult_le_compat_l; [apply Rmult_le_pos |]; lra. }
    replace (c * c' - value k * exact t) with (value k * (c' - exact t) + (c - value k) * c') by ring.
    apply Rle_trans with (1 := Rabs_triang _ _); rewrite !Rabs_mult.
    pose proof (Rmult_le_compat_l _ _ _ PK IHrelative) as Y1.
    pose proof (Rmult_le_compat _ _ _ _ (Rabs_pos _) (Rabs_pos _) P C) as Y2.
    assert (Y3 : 0 <= Rabs (value k) * absolute t) by (apply Rmult_le_pos; lra).
    pose proof (Rmult_le_compat_r _ _ _ Y3 X') as Y4; lra.
  - change (scalings (Rounded t)) with (S (scalings t)); rewrite S_INR; simpl in G |- *.
    assert (G' : growth (depth t) - 1 <= g).
    { apply Rle_trans with (2 := G); pose proof (growth_monotone (depth t) (S (depth t))) as M.
      specialize (M ltac:(lia)); lra. }
    specialize (IHrelative G').
    pose proof (relative_error _ _ _ H) as E; pose proof (absolute_positive t); pose proof (exact_bounded t).
    assert (S1 : Rabs c <= (1 + g) * absolute t).
    { replace c with (exact t + (c - exact t)) by ring; apply Rle_trans with (1 := Rabs_triang _ _); nra. }
    pose proof (rounded_size c d H0); pose proof (Rmult_le_compat_l _ _ _ unit_positive S1).
    replace (c * (1 + d) - exact t) with ((c * (1 + d) - c) + (c - exact t)) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _); lra.
  - change (terms (Sum a b)) with (terms a + terms b)%nat; rewrite plus_INR.
    change (scalings (Sum a b)) with (Nat.max (scalings a) (scalings b)).
    change (depth (Sum a b)) with (S (Nat.max (depth a) (depth b))) in G.
    assert (GA : growth (depth a) - 1 <= g).
    { pose proof (growth_monotone (depth a) (S (Nat.max (depth a) (depth b))) ltac:(lia)); lra. }
    assert (GB : growth (depth b) - 1 <= g).
    { pose proof (growth_monotone (depth b) (S (Nat.max (depth a) (depth b))) ltac:(lia)); lra. }
    specialize (IHrelative1 GA); specialize (IHrelative2 GB).
    set (m := INR (Nat.max (scalings a) (scalings b))).
    assert (MA : INR (scalings a) <= m) by (apply le_INR; lia).
    assert (MB : INR (scalings b) <= m) by (apply le_INR; lia).
    assert (NA : 1 <= INR (terms a)) by (apply (le_INR 1); apply terms_positive).
    assert (NB : 1 <= INR (terms b)) by (apply (le_INR 1); apply terms_positive).
    pose proof (growth_least (depth a)).
    assert (Hg : 0 <= g) by lra.
    pose proof (absolute_positive a) as PA; pose proof (absolute_positive b) as PB.
    pose proof (relative_error _ _ _ H) as EA; pose proof (relative_error _ _ _ H0) as EB.
    assert (EA' : Rabs (c - exact a) <= g * absolute a) by nra.
    assert (EB' : Rabs (c' - exact b) <= g * absolute b) by nra.
    simpl exact; simpl absolute; simpl partial_sums.
    assert (S1 : Rabs (c + c') <= Rabs (exact a + exact b) + g * (absolute a + absolute b)).
    { replace (c + c') with ((exact a + exact b) + ((c - exact a) + (c' - exact b))) by ring.
      apply Rle_trans with (1 := Rabs_triang _ _); pose proof (Rabs_triang (c - exact a) (c' - exact b)); lra. }
    pose proof (rounded_size (c + c') d H1) as R1; pose proof (Rmult_le_compat_l _ _ _ unit_positive S1) as R2.
    replace ((c + c') * (1 + d) - (exact a + exact b))
      with (((c + c') * (1 + d) - (c + c')) + ((c - exact a) + (c' - exact b))) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _); pose proof (Rabs_triang (c - exact a) (c' - exact b)) as R3.
    assert (F1 : INR (scalings a) * (1 + g) * absolute a <= m * (1 + g) * absolute a)
      by (apply Rmult_le_compat_r; [assumption | apply Rmult_le_compat_r; lra]).
    assert (F2 : INR (scalings b) * (1 + g) * absolute b <= m * (1 + g) * absolute b)
      by (apply Rmult_le_compat_r; [assumption | apply Rmult_le_compat_r; lra]).
    assert (GPA : 0 <= g * absolute a) by nra. assert (GPB : 0 <= g * absolute b) by nra.
    assert (F3 : INR (terms a) * (g * absolute a) <= (INR (terms a) + INR (terms b) - 1) * (g * absolute a))
      by (apply Rmult_le_compat_r; lra).
    assert (F4 : INR (terms b) * (g * absolute b) <= (INR (terms a) + INR (terms b) - 1) * (g * absolute b))
      by (apply Rmult_le_compat_r; lra).
    assert (F : INR (scalings a) * (1 + g) * absolute a + (INR (terms a) - 1) * g * absolute a + partial_sums a +
      (INR (scalings b) * (1 + g) * absolute b + (INR (terms b) - 1) * g * absolute b + partial_sums b) +
      (Rabs (exact a + exact b) + g * (absolute a + absolute b)) <=
      m * (1 + g) * (absolute a + absolute b) + (INR (terms a) + INR (terms b) - 1) * g * (absolute a + absolute b) +
      (partial_sums a + partial_sums b + Rabs (exact a + exact b))) by lra.
    pose proof (Rmult_le_compat_l _ _ _ unit_positive F); lra.
Qed.

End Computation.

(* theorem bounds.partial-sum, by induction over the tree: a part and the rest of the sum. *)
Lemma partial_sums_bounded : forall S H y, (forall P Q, P + Q = y -> Rabs P + Rabs Q <= S -> Rabs P <= H) ->
  forall t K z, 0 <= H -> Rabs z + Rabs K * absolute t <= S -> K * exact t + z = y ->
  Rabs K * partial_sums t <= (INR (terms t) - 1) * H.
Proof.
  intros S H y HH; induction t; intros K z Hp Hs Hy.
  - simpl; lra.
  - simpl in *; rewrite <- Rmult_assoc, <- Rabs_mult; apply (IHt (K * value k) z); try assumption.
    + rewrite Rabs_mult; lra.
    + lra.
  - simpl in *; apply (IHt K z); assumption.
  - change (terms (Sum t1 t2)) with (terms t1 + terms t2)%nat; rewrite plus_INR; simpl in Hs, Hy |- *.
    pose proof (exact_bounded t1) as E1; pose proof (exact_bounded t2) as E2; pose proof (Rabs_pos K) as PK.
    pose proof (Rmult_le_compat_l _ _ _ PK E1); pose proof (Rmult_le_compat_l _ _ _ PK E2).
    assert (I1 : Rabs K * partial_sums t1 <= (INR (terms t1) - 1) * H).
    { apply (IHt1 K (z + K * exact t2)); [assumption | | lra].
      pose proof (Rabs_triang z (K * exact t2)) as T; rewrite Rabs_mult in T; lra. }
    assert (I2 : Rabs K * partial_sums t2 <= (INR (terms t2) - 1) * H).
    { apply (IHt2 K (z + K * exact t1)); [assumption | | lra].
      pose proof (Rabs_triang z (K * exact t1)) as T; rewrite Rabs_mult in T; lra. }
    assert (I3 : Rabs K * Rabs (exact t1 + exact t2) <= H).
    { rewrite <- Rabs_mult; apply (HH _ z); [lra |].
      rewrite Rabs_mult; pose proof (Rabs_triang (exact t1) (exact t2)) as T.
      pose proof (Rmult_le_compat_l _ _ _ PK T); lra. }
    lra.
Qed.

(* theorem bounds.sum-last: the last addition has the sum itself. *)
Lemma last_addition : forall S H y, (forall P Q, P + Q = y -> Rabs P + Rabs Q <= S -> Rabs P <= H) ->
  forall t K, 0 <= H -> (2 <= terms t)%nat -> Rabs K * absolute t <= S -> K * exact t = y ->
  Rabs K * partial_sums t <= (INR (terms t) - 2) * H + Rabs y.
Proof.
  intros S H y HH; induction t; intros K Hp Hn Hs Hy.
  - simpl in Hn; lia.
  - simpl in *; rewrite <- Rmult_assoc, <- Rabs_mult; apply IHt; try assumption; [rewrite Rabs_mult; lra | lra].
  - simpl in *; apply IHt; assumption.
  - change (terms (Sum t1 t2)) with (terms t1 + terms t2)%nat; rewrite plus_INR; simpl in Hs, Hy |- *.
    pose proof (exact_bounded t1) as E1; pose proof (exact_bounded t2) as E2; pose proof (Rabs_pos K) as PK.
    pose proof (Rmult_le_compat_l _ _ _ PK E1); pose proof (Rmult_le_compat_l _ _ _ PK E2).
    pose proof (partial_sums_bounded S H y HH t1 K (K * exact t2) Hp) as I1.
    pose proof (partial_sums_bounded S H y HH t2 K (K * exact t1) Hp) as I2.
    rewrite Rabs_mult in I1, I2; specialize (I1 ltac:(lra) ltac:(lra)); specialize (I2 ltac:(lra) ltac:(lra)).
    assert (I3 : Rabs K * Rabs (exact t1 + exact t2) = Rabs y) by (rewrite <- Rabs_mult; f_equal; lra).
    lra.
Qed.

Lemma half_of_sum : forall S y P Q, P + Q = y -> Rabs P + Rabs Q <= S -> Rabs P <= (S + Rabs y) / 2.
Proof.
  intros S y P Q Hy Hs; assert (P = y + - Q) as E by lra.
  pose proof (Rabs_triang y (- Q)) as T; rewrite <- E, Rabs_Ropp in T; lra.
Qed.

(* ------------------------------------------------------------------ what the code computes *)

(* The bound of `sum_error` for sums in any order, before it is rounded outward.  n terms with r roundings each, S at
   least the sum of their absolute values, y at least the size of the sum, `lost` the product of W and `least`. *)
Definition sum_error (u n r S y lost : R) :=
  let g := gamma u (n + r) in
  let half := Rmax (n - 2) 0 * u / 2 in
  (r * u + (n - 1 + r) * u * g + half) * S + (if Rlt_dec 1 n then (half + u) * y else 0) +
    (n * r + n) * lost * (1 + g).

(* The one for orders in which no term passes more than so many additions. *)
Definition sum_error_of_depth (u n r depth S lost : R) :=
  gamma u (r + depth) * S + (n * r + n) * lost * (1 + gamma u (n + r)).

(* How much underflow can enlarge what it is multiplied by, beyond one more rounding: 1 in every format for r up to 6, and
   with gradual underflow for thousands. *)
Definition enlargement (u least r : R) :=
  if Rle_dec ((r + 1) * least * (1 + u)) u then 1 else 1 / (1 - (r + 1) * least).

Lemma one_term : forall t, terms t = 1%nat -> partial_sums t = 0.
Proof.
  induction t; simpl; intros H; try reflexivity.
  - rewrite IHt by assumption; ring.
  - auto.
  - pose proof (terms_positive t1); pose proof (terms_positive t2); lia.
Qed.

Section Bound.
Variables (u least : R) (rounded : R -> R -> Prop) (gradual : bool) (grid : R -> Prop).
Hypothesis unit_positive : 0 <= u.
Hypothesis least_positive : 0 <= least.
Hypothesis least_small : least <= u.
Hypothesis rounding : rounds u least rounded.
Hypothesis keeping : keeps u rounded gradual grid.

Lemma enlargement_least : forall r, 0 <= r -> (r + 1) * least < 1 -> 1 <= enlargement u least r.
Proof.
  intros r Hr H; unfold enlargement; destruct (Rle_dec _ _); [lra |].
  assert (0 <= (r + 1) * least) by (apply Rmult_le_pos; lra).
  apply Rmult_le_reg_r with (1 - (r + 1) * least); [lra |].
  replace (1 / (1 - (r + 1) * least) * (1 - (r + 1) * least)) with 1 by (field; lra); lra.
Qed.
Lemma enlarged_at_most : forall n r, INR n <= r -> (r + 1) * least < 1 ->
  enlarged least (S n) <= (1 + u) * enlargement u least r.
Proof.
  intros n r Hn H; pose proof (S_INR n) as SN; pose proof (pos_INR n) as PN.
  assert (M : INR (S n) * least <= (r + 1) * least) by (apply Rmult_le_compat_r; lra).
  pose proof (growth_times least least_positive (S n) ltac:(lra)) as G; change (growth least (S n)) with (enlarged least (S n)) in G.
  assert (P : 0 < 1 - INR (S n) * least) by lra; pose proof (enlarged_least least least_positive (S n)) as X.
  assert (Q : enlarged least (S n) * (1 - (r + 1) * least) <= 1).
  { apply Rle_trans with (2 := G); apply Rmult_le_compat_l; lra. }
  unfold enlargement; destruct (Rle_dec ((r + 1) * least * (1 + u)) u) as [C | C].
  - apply Rmult_le_reg_r with (1 - (r + 1) * least); [lra |]; lra.
  - apply Rmult_le_reg_r with (1 - (r + 1) * least); [lra |].
    replace ((1 + u) * (1 / (1 - (r + 1) * least)) * (1 - (r + 1) * least)) with (1 + u) by (field; lra); lra.
Qed.

Lemma lost_at_most : forall t r W E g, INR (scalings t) <= r -> 0 <= W -> followed gradual W 1 t -> 0 <= E ->
  enlarged least (S (scalings t)) <= (1 + u) * E -> growth u (S (depth t)) <= 1 + g ->
  growth u (depth t) * losses gradual least t * least <= (INR (terms t) * r + INR (terms t)) * (W * least * E) * (1 + g).
Proof.
  intros t r W E g Hr HW HF PE HE HG.
  pose proof (losses_counted gradual least least_positive W t 1 ltac:(lra) HW HF) as L; rewrite Rmult_1_l in L.
  pose proof (roundings_counted t) as C; apply le_INR in C; rewrite !plus_INR, mult_INR in C; simpl (INR 1) in C.
  pose proof (losses_positive gradual least least_positive t); pose proof (growth_least u unit_positive (depth t)) as GL.
  pose proof (pos_INR (terms t)); pose proof (pos_INR (roundings t)); rewrite growth_next in HG.
  assert (C' : INR (terms t) * INR (scalings t) <= INR (terms t) * r) by (apply Rmult_le_compat_l; lra).
  assert (P : 0 <= INR (roundings t) * W) by (apply Rmult_le_pos; lra).
  assert (L1 : losses gradual least t <= INR (roundings t) * W * ((1 + u) * E))
    by (apply Rle_trans with (1 := L); apply Rmult_le_compat_l; lra).
  assert (L2 : INR (roundings t) * W <= (INR (terms t) * r + INR (terms t)) * W) by (apply Rmult_le_compat_r; lra).
  assert (L3 : INR (roundings t) * W * E <= (INR (terms t) * r + INR (terms t)) * W * E)
    by (apply Rmult_le_compat_r; assumption).
  pose proof (Rmult_le_compat_l (growth u (depth t)) _ _ ltac:(lra) L1) as F1.
  assert (PWE : 0 <= INR (roundings t) * W * E) by (apply Rmult_le_pos; assumption).
  assert (PG : 0 <= (1 + u) * growth u (depth t)) by (apply Rmult_le_pos; lra).
  assert (F2 : INR (roundings t) * W * E * ((1 + u) * growth u (depth t)) <=
    (INR (terms t) * r + INR (terms t)) * W * E * (1 + g)) by (apply Rmult_le_compat; assumption).
  assert (F : growth u (depth t) * losses gradual least t <= (INR (terms t) * r + INR (terms t)) * W * E * (1 + g)) by lra.
  pose proof (Rmult_le_compat_r _ _ _ least_positive F); lra.
Qed.
Lemma underflow_small : forall n r, 1 <= n -> 0 <= r -> (n + r) * u < 1 -> (r + 1) * least < 1.
Proof. intros n r Hn Hr H; assert ((r + 1) * least <= (n + r) * u) by (apply Rmult_le_compat; lra); lra. Qed.

(* In any order and grouping, with products and scales rounded or fused, and constants multiplied in advance.  W stands for
   `Factors.after_rounding`, with underflow to 0 for `Factors.after_operand`. *)
Theorem error_of_sum : forall t v r S y W, computes rounded t v ->
  INR (scalings t) <= r -> absolute t <= S -> Rabs (exact t) <= y -> 0 <= W -> followed gradual W 1 t ->
  on_grid grid t -> (INR (terms t) + r) * u < 1 ->
  Rabs (v - exact t) <= sum_error u (INR (terms t)) r S y (W * least * enlargement u least r).
Proof.
  intros t v r S y W HC Hr HS Hy HW HF HO Hu; set (n := INR (terms t)); set (g := gamma u (n + r)).
  assert (N1 : 1 <= n) by (apply (le_INR 1); apply terms_positive).
  assert (D : INR (Datatypes.S (depth t)) <= n + r).
  { pose proof (depth_by_terms t) as D; apply le_INR in D; pose proof (terms_positive t).
    rewrite plus_INR, minus_INR in D by assumption; simpl (INR 1) in D; rewrite S_INR; unfold n; lra. }
  pose proof (growth_gamma u unit_positive _ _ D Hu) as HG; fold g in HG.
  destruct (computed_relative u least rounded gradual grid rounding keeping t v HC HO) as [c [e [H E]]].
  pose proof (pos_INR (scalings t)) as PS.
  assert (RL : (r + 1) * least < 1) by (apply (underflow_small n r N1 ltac:(lra) Hu)).
  pose proof (enlargement_least r ltac:(lra) RL) as EL.
  pose proof (growth_monotone u unit_positive (depth t) (Datatypes.S (depth t)) ltac:(lia)) as GS.
  pose proof (error_of_parts u least gradual unit_positive g t c e H ltac:(lra)) as P.
  pose proof (underflow u least gradual unit_positive least_positive t c e H) as U.
  pose proof (lost_at_most t r W (enlargement u least r) g Hr HW HF ltac:(lra) (enlarged_at_most _ _ Hr RL) HG) as L; fold n in L.
  pose proof (growth_least u unit_positive (depth t)); assert (Hg : 0 <= g) by lra.
  pose proof (absolute_positive t) as PA; pose proof (pos_INR (scalings t)) as PR; pose proof (Rabs_pos (exact t)) as PY.
  assert (A1 : INR (scalings t) * (1 + g) * absolute t <= r * (1 + g) * S).
  { apply Rmult_le_compat; try lra; [| apply Rmult_le_compat_r; lra]. apply Rmult_le_pos; lra. }
  assert (A2 : (n - 1) * g * absolute t <= (n - 1) * g * S).
  { apply Rmult_le_compat_l; [apply Rmult_le_pos; lra | assumption]. }
  assert (Q : u * partial_sums t <= Rmax (n - 2) 0 * u / 2 * S +
    (if Rlt_dec 1 n then (Rmax (n - 2) 0 * u / 2 + u) * y else 0)).
  { destruct (Nat.eq_dec (terms t) 1) as [O | O].
    - rewrite one_term by assumption; unfold n; rewrite O; simpl INR; rewrite Rmax_right by lra.
      destruct (Rlt_dec 1 1); lra.
    - assert (N2 : (2 <= terms t)%nat) by (pose proof (terms_positive t); lia).
      assert (N2' : 2 <= n) by (apply (le_INR 2); assumption).
      rewrite Rmax_left by lra; destruct (Rlt_dec 1 n) as [_ | X]; [| lra].
      assert (K : 1 * exact t = exact t) by ring.
      assert (HS' : Rabs 1 * absolute t <= S) by (rewrite Rabs_R1; lra).
      pose proof (last_addition S ((S + Rabs (exact t)) / 2) (exact t) (half_of_sum S (exact t)) t 1
        ltac:(lra) N2 HS' K) as B.
      rewrite Rabs_R1, Rmult_1_l in B; fold n in B.
      assert (B' : partial_sums t <= (n - 2) * ((S + y) / 2) + y).
      { apply Rle_trans with (1 := B); assert ((n - 2) * ((S + Rabs (exact t)) / 2) <= (n - 2) * ((S + y) / 2))
          by (apply Rmult_le_compat_l; lra); lra. }
      pose proof (Rmult_le_compat_l _ _ _ unit_positive B'); lra. }
  assert (A : INR (scalings t) * (1 + g) * absolute t + (n - 1) * g * absolute t <= r * (1 + g) * S + (n - 1) * g * S)
    by lra.
  pose proof (Rmult_le_compat_l _ _ _ unit_positive A) as A'.
  rewrite E; replace (c + e - exact t) with ((c - exact t) + e) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _); unfold sum_error; fold g; fold n in P.
  cbv zeta; lra.
Qed.

(* Where no term passes more than so many additions: pairwise sums, lanes. *)
Theorem error_of_sum_of_depth : forall t v r passed S W, computes rounded t v ->
  INR (scalings t) <= r -> INR (additions t) <= passed -> absolute t <= S -> 0 <= W ->
  followed gradual W 1 t -> on_grid grid t -> (INR (terms t) + r) * u < 1 -> (r + passed) * u < 1 ->
  Rabs (v - exact t) <= sum_error_of_depth u (INR (terms t)) r passed S (W * least * enlargement u least r).
Proof.
  intros t v r passed S W HC Hr Hd HS HW HF HO Hu Hu'; set (n := INR (terms t)); set (g := gamma u (n + r)).
  assert (N1 : 1 <= n) by (apply (le_INR 1); apply terms_positive).
  assert (D : INR (Datatypes.S (depth t)) <= n + r).
  { pose proof (depth_by_terms t) as D; apply le_INR in D; pose proof (terms_positive t).
    rewrite plus_INR, minus_INR in D by assumption; simpl (INR 1) in D; rewrite S_INR; unfold n; lra. }
  assert (D' : INR (depth t) <= r + passed).
  { pose proof (depth_by_additions t) as X; apply le_INR in X; rewrite plus_INR in X; lra. }
  pose proof (growth_gamma u unit_positive _ _ D Hu) as HG; fold g in HG.
  pose proof (growth_gamma u unit_positive _ _ D' Hu') as HG'.
  destruct (computed_relative u least rounded gradual grid rounding keeping t v HC HO) as [c [e [H E]]].
  pose proof (pos_INR (scalings t)) as PS.
  assert (RL : (r + 1) * least < 1) by (apply (underflow_small n r N1 ltac:(lra) Hu)).
  pose proof (enlargement_least r ltac:(lra) RL) as EL.
  pose proof (relative_error u least gradual unit_positive t c e H) as P.
  pose proof (underflow u least gradual unit_positive least_positive t c e H) as U.
  pose proof (lost_at_most t r W (enlargement u least r) g Hr HW HF ltac:(lra) (enlarged_at_most _ _ Hr RL) HG) as L; fold n in L.
  pose proof (growth_least u unit_positive (depth t)); pose proof (absolute_positive t).
  assert (A : (growth u (depth t) - 1) * absolute t <= gamma u (r + passed) * S) by (apply Rmult_le_compat; lra).
  rewrite E; replace (c + e - exact t) with ((c - exact t) + e) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _); unfold sum_error_of_depth; fold g n; lra.
Qed.

End Bound.

(* theorem bounds.growth, over all roundings: the lemma of `grown`. *)
Theorem growth_outweighed : forall u n, 0 <= u -> 2 * (INR n * u) <= 1 -> 1 <= (1 + 2 * (INR n * u)) * (1 - u) ^ n.
Proof.
  intros u n Hu; induction n; intros H.
  - simpl; lra.
  - pose proof (pos_INR n) as P; rewrite S_INR in *.
    assert (PU : 0 <= INR n * u) by (apply Rmult_le_pos; lra).
    specialize (IHn ltac:(lra)); change ((1 - u) ^ S n) with ((1 - u) * (1 - u) ^ n).
    assert (F : 0 <= (1 - u) ^ n) by (apply pow_le; lra).
    assert (G : 0 <= u * (1 - 2 * ((INR n + 1) * u))) by (apply Rmult_le_pos; lra).
    assert (E : 1 + 2 * (INR n * u) <= (1 + 2 * ((INR n + 1) * u)) * (1 - u)) by lra.
    pose proof (Rmult_le_compat_r _ _ _ F E); lra.
Qed.

(* float32, with gradual underflow: the operations of IEEE 754 but for overflow. *)
Corollary error_of_float_sum : forall t v r S y W, computes (to_nearest float_precision float_exponent) t v ->
  INR (scalings t) <= r -> absolute t <= S -> Rabs (exact t) <= y -> 0 <= W -> followed true W 1 t ->
  on_grid (multiple float_exponent) t -> (INR (terms t) + r) * unit float_precision < 1 ->
  Rabs (v - exact t) <=
    sum_error (unit float_precision) (INR (terms t)) r S y
      (W * tiny float_exponent * enlargement (unit float_precision) (tiny float_exponent) r).
Proof.
  intros t v r S y W C; intros.
  apply error_of_sum with (rounded := to_nearest float_precision float_exponent) (gradual := true)
    (grid := multiple float_exponent); try assumption;
    try (apply bpow_ge_0); try (apply bpow_le; unfold float_exponent, float_precision; lia).
  - apply nearest_rounds; reflexivity.
  - apply nearest_keeps; reflexivity.
Qed.

(* Cast from one format to another, of a number that the first one holds with an error. *)
Corollary error_of_cast : forall precision exponent, (0 < precision)%Z ->
  forall computed exact error largest v, Rabs (computed - exact) <= error -> Rabs exact <= largest ->
  to_nearest precision exponent computed v ->
  Rabs (v - exact) <= error + (unit precision * (largest + error) + tiny exponent).
Proof.
  intros p m Hp; apply error_of_second_rounding; [apply nearest_rounds; assumption | apply bpow_ge_0].
Qed.
