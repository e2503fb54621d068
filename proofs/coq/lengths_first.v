(* A comparison with a list that is written out: the evaluation reads the items only where the lengths are equal, and the
   translation of sonnx/prover demands only there that items which are names are defined.  [guarded] compares the lengths first,
   for lists of names and numbers or for [all], which does not change the evaluation; so the translation of the guarded
   expression is one of the expression, for more calls. *)
From Coq Require Import ZArith String List Bool Lia.
From Sonnx Require Import syntax values evaluation encoding correctness.
Import ListNotations.
Open Scope Z_scope.

Section Guarded.
Variable all : bool.

Definition plain (e : expr) : bool := match e with Name _ | Int _ => true | _ => false end.
Fixpoint written_out (e : expr) : option nat :=
  match e with
  | Nil => Some 0%nat | Cons item rest => if all || plain item then option_map S (written_out rest) else None | _ => None
  end.

Definition with_length (list : expr) (n : nat) (comparison : expr) : expr :=
  And (Compare Equal (Apply Len list) (Int (Z.of_nat n))) comparison.

Fixpoint guarded (e : expr) : expr :=
  match e with
  | Compare Equal a b =>
      let compared := Compare Equal (guarded a) (guarded b) in
      match written_out b, written_out a with
      | Some n, _ => with_length (guarded a) n compared
      | None, Some n => with_length (guarded b) n compared
      | None, None => compared
      end
  | Int _ | Float _ | Text _ | Name _ | Nil | Undefined => e
  | Cons a b => Cons (guarded a) (guarded b)
  | Field r f => Field (guarded r) f
  | Item s i => Item (guarded s) (guarded i)
  | Part s a b => Part (guarded s) (guarded a) (guarded b)
  | Arithmetic sign a b => Arithmetic sign (guarded a) (guarded b)
  | Negative a => Negative (guarded a)
  | Compare sign a b => Compare sign (guarded a) (guarded b)
  | And a b => And (guarded a) (guarded b)
  | Or a b => Or (guarded a) (guarded b)
  | Not a => Not (guarded a)
  | If c a b => If (guarded c) (guarded a) (guarded b)
  | ForAll x s p => ForAll x (guarded s) (guarded p)
  | Exists x s p => Exists x (guarded s) (guarded p)
  | Collect x s q a => Collect x (guarded s) (guarded q) (guarded a)
  | Flatten a => Flatten (guarded a)
  | Apply f a => Apply f (guarded a)
  | Range a b => Range (guarded a) (guarded b)
  | Stated a => Stated (guarded a)
  | Let x a b => Let x (guarded a) (guarded b)
  | Reduce x y b s a => Reduce x y (guarded b) (guarded s) (guarded a)
  end.

Lemma written_out_ok : forall e n names, written_out e = Some n ->
  exists items, eval e names = VList items /\ length items = n.
Proof.
  induction e; intros n names H; try discriminate H; simpl in H.
  - inversion H; exists []; split; reflexivity.
  - destruct (all || plain e1); [| discriminate H].
    destruct (written_out e2) as [m |]; [| discriminate H]; inversion H.
    destruct (IHe2 m names eq_refl) as [items [E L]]; exists (eval e1 names :: items); simpl; rewrite E, L; split; reflexivity.
Qed.

Lemma kleene_cases : forall parts, kleene false parts = VBool false \/ kleene false parts = VBool true \/
  exists c, kleene false parts = VUnknown c None.
Proof.
  intros parts; unfold kleene, strict; destruct (existsb _ parts); [left; reflexivity |].
  destruct (strongest parts) as [c |]; [right; right; exists c | right; left]; reflexivity.
Qed.

Definition counted (v : value) := on_list v (apply Len).
Lemma length_first : forall v w items, w = VList items -> forall found, found = equal v w \/ found = equal w v ->
  kleene false [equal (counted v) (VInt (Z.of_nat (length items))); found] = found.
Proof.
  intros v w items -> found H; unfold counted.
  destruct v as [| | | | l | | c s]; try (destruct H as [-> | ->]; reflexivity).
  - assert (E : found = VBool false /\ length l <> length items \/
      length l = length items /\ exists parts, found = kleene false parts).
    { destruct (Nat.eq_dec (length l) (length items)) as [L | L].
      - right; split; [exact L |]; destruct H as [-> | ->]; simpl equal; rewrite L, Nat.eqb_refl; eauto.
      - left; split; [| exact L]; destruct H as [-> | ->]; simpl equal;
          [| apply Nat.neq_sym in L]; rewrite (proj2 (Nat.eqb_neq _ _) L); reflexivity. }
    cbn [on_list apply equal]; destruct E as [[-> L] | [L [parts E]]].
    + unfold kleene; cbn [existsb is_truth]; rewrite orb_true_r; reflexivity.
    + rewrite L, Z.eqb_refl; destruct (kleene_cases parts) as [F | [F | [c F]]]; rewrite E, F; reflexivity.
  - destruct s; destruct H as [-> | ->]; destruct c; reflexivity.
Qed.

Theorem guarded_ok : forall e names, eval (guarded e) names = eval e names.
Proof.
  assert (M : forall (f g : value -> value) items, (forall v, f v = g v) -> map f items = map g items)
    by (intros; apply map_ext; assumption).
  assert (L : forall v f g, (forall items, f items = g items) -> on_list v f = on_list v g)
    by (intros [] f g H; simpl; auto).
  induction e; intros names; cbn [guarded eval]; try reflexivity;
    try (rewrite ?IHe, ?IHe1, ?IHe2, ?IHe3; reflexivity).
  - destruct sign; cbn [eval]; rewrite ?IHe1, ?IHe2; try reflexivity.
    destruct (written_out e2) as [n |] eqn:B.
    + destruct (written_out_ok e2 n names B) as [items [E N]]; unfold with_length; cbn [eval compare].
      rewrite IHe1, IHe2; subst n; apply (length_first (eval e1 names) _ items E); left; reflexivity.
    + destruct (written_out e1) as [n |] eqn:A; cbn [eval compare]; rewrite ?IHe1, ?IHe2; try reflexivity.
      destruct (written_out_ok e1 n names A) as [items [E N]]; unfold with_length; cbn [eval compare].
      rewrite IHe1, IHe2; subst n; apply (length_first (eval e2 names) _ items E); right; reflexivity.
  - rewrite IHe1; apply L; intros; f_equal; apply M; auto.
  - rewrite IHe1; apply L; intros; f_equal; apply M; auto.
  - rewrite IHe1; apply L; intros items.
    rewrite (M (fun v => eval (guarded e2) (updated names variable v)) (fun v => eval e2 (updated names variable v)) items
      (fun v => IHe2 _)); f_equal; f_equal; unfold chosen.
    rewrite (filter_ext (fun v => is_truth true (eval (guarded e2) (updated names variable v)))
      (fun v => is_truth true (eval e2 (updated names variable v))) (fun v => f_equal _ (IHe2 _)) items); apply M; auto.
  - rewrite IHe2, IHe3; apply L; intros items; generalize (eval e3 names).
    induction items as [| v items IH]; intros sum; simpl; [reflexivity | rewrite IHe1; apply IH].
Qed.

(* So a proof about the term of a guarded condition says what it says of the condition. *)
Corollary guarded_correct : forall m bound e names scope d t, agrees m names scope ->
  encode bound (guarded e) scope = Some (d, STruth t) ->
  (truth_of m (conj d t) = true -> eval e names = VBool true) /\
  (truth_of m (conj d (neg t)) = true -> eval e names = VBool false).
Proof. intros m bound e names scope d t A E; rewrite <- (guarded_ok e names); eapply condition_correct; eassumption. Qed.
End Guarded.
