(* Remainders of the linear maps that sonnx/numerics/enclosures passes errors by: of a rectifier on one side of its kink,
   of a quotient, and of a clip; and why multiples of a divided neuron may be taken off a row. *)
From Coq Require Import Reals Lra Psatz.
Local Open Scope R_scope.

(* x where x >= 0, a x elsewhere. *)
Definition rectified (a x : R) := if Rle_dec 0 x then x else a * x.

(* An absolute value of (1 - a) t, where |t| is bounded. *)
Ltac scaled t := match goal with |- Rabs ?z <= Rabs (1 - ?a) * _ =>
  replace z with ((1 - a) * t) by ring; rewrite Rabs_mult;
  apply Rmult_le_compat_l; [apply Rabs_pos | apply Rabs_le; lra] end.

(* The slope 1, of an argument that is at least l, and of one that is at most e away. *)
Theorem rectifier_right : forall a l e x d, l <= x -> Rabs d <= e -> l <= e ->
  Rabs (rectified a (x + d) - rectified a x - d) <= Rabs (1 - a) * (e - l).
Proof.
  intros; assert (Hd : - e <= d <= e) by (revert H0; unfold Rabs; destruct (Rcase_abs d); lra).
  unfold rectified; destruct (Rle_dec 0 (x + d)), (Rle_dec 0 x).
  - scaled 0.
  - scaled x.
  - scaled (- (x + d)).
  - scaled (- d).
Qed.

(* The slope a, of an argument that is at most h. *)
Theorem rectifier_left : forall a h e x d, x <= h -> Rabs d <= e -> - h <= e ->
  Rabs (rectified a (x + d) - rectified a x - a * d) <= Rabs (1 - a) * (h + e).
Proof.
  intros; assert (Hd : - e <= d <= e) by (revert H0; unfold Rabs; destruct (Rcase_abs d); lra).
  unfold rectified; destruct (Rle_dec 0 (x + d)), (Rle_dec 0 x).
  - scaled d.
  - scaled (x + d).
  - scaled (- x).
  - scaled 0.
Qed.

(* A difference of two quotients, by those of the numerators and of the divisors. *)
Theorem quotient_difference : forall a b c d, b <> 0 -> d <> 0 ->
  c / d - a / b = / d * (c - a) - a / b * / d * (d - b).
Proof. intros; field; split; assumption. Qed.

(* How far a product with a factor of a range is from one with its centre. *)
Theorem off_centre : forall s c r d e, Rabs (s - c) <= r -> Rabs d <= e -> Rabs (s * d - c * d) <= r * e.
Proof.
  intros s c r d e Hs Hd; replace (s * d - c * d) with ((s - c) * d) by ring; rewrite Rabs_mult.
  apply Rmult_le_compat; try apply Rabs_pos; assumption.
Qed.

(* Two steps: ideal values around a reference, computed ones around ideal ones.  A reference that is itself off counts. *)
Theorem around_reference : forall (f : R -> R) x r v w delta, Rabs (f x - f r) <= w -> Rabs (f r - v) <= delta ->
  Rabs (f x - v) <= w + delta.
Proof.
  intros f x r v w delta Hf Hv; replace (f x - v) with ((f x - f r) + (f r - v)) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _); lra.
Qed.

(* On the side s z >= 0 of a neuron a row is at least the row less n s z. *)
Theorem side_of_neuron : forall row n s z bound, 0 <= n -> 0 <= s * z -> bound <= row - n * (s * z) -> bound <= row.
Proof. intros; assert (0 <= n * (s * z)) by (apply Rmult_le_pos; assumption); lra. Qed.

(* Every input is on one of the two sides. *)
Theorem two_sides : forall z, 0 <= 1 * z \/ 0 <= -1 * z.
Proof. intros z; destruct (Rle_dec 0 z); lra. Qed.
