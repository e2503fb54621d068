(* Substitution of an expression for a name, and expressions without Let. *)
From Coq Require Import ZArith QArith String List Bool.
From Sonnx Require Import syntax values evaluation.
Import ListNotations.
Open Scope Z_scope.

(* Whether an expression reads a name from outside. *)
Fixpoint reads (x : string) (e : expr) : bool :=
  match e with
  | Int _ | Float _ | Text _ | Nil | Undefined => false
  | Name y => String.eqb x y
  | Cons a b | Item a b | Arithmetic _ a b | Compare _ a b | And a b | Or a b | Range a b => reads x a || reads x b
  | Field a _ | Negative a | Not a | Flatten a | Apply _ a | Stated a => reads x a
  | Part a b c | If a b c => reads x a || reads x b || reads x c
  | ForAll y s p | Exists y s p | Let y s p => reads x s || (negb (String.eqb x y) && reads x p)
  | Collect y s q a => reads x s || (negb (String.eqb x y) && (reads x q || reads x a))
  | Reduce y z b s a => reads x s || reads x a || (negb (String.eqb x y) && negb (String.eqb x z) && reads x b)
  end.

(* The same, which stops at the first part that does. *)
Definition mentions := Eval cbv beta delta [andb orb negb reads] in reads.

Lemma on_list_ext : forall v f g, (forall l, f l = g l) -> on_list v f = on_list v g.
Proof. intros [] f g H; simpl; auto. Qed.

Lemma chosen_ext : forall f g l, (forall v, f v = g v) -> chosen f l = chosen g l.
Proof. intros f g l H; unfold chosen; induction l as [| v l IH]; simpl; [reflexivity |]; rewrite H, IH; reflexivity. Qed.

Lemma collected_ext : forall v f f' g g', (forall x, f x = f' x) -> (forall x, g x = g' x) ->
  on_list v (fun l => strict (map f l) (VList (map g (chosen f l)))) =
  on_list v (fun l => strict (map f' l) (VList (map g' (chosen f' l)))).
Proof.
  intros v f f' g g' F G; apply on_list_ext; intros l.
  rewrite (map_ext f f' F), (chosen_ext f f' l F), (map_ext g g' G); reflexivity.
Qed.

Lemma folded_ext : forall (f g : value -> value -> value) l start, (forall a b, f a b = g a b) -> fold_left f l start = fold_left g l start.
Proof. intros f g l; induction l as [| v l IH]; simpl; intros start H; [reflexivity |]; rewrite H; auto. Qed.

(* An evaluation depends on the values of names only. *)
Lemma eval_ext : forall e (names others : environment), (forall x, names x = others x) -> eval e names = eval e others.
Proof.
  assert (U : forall (names others : environment) y v, (forall x, names x = others x) ->
    forall x, updated names y v x = updated others y v x).
  { intros names others y v H x; unfold updated; destruct (String.eqb y x); auto. }
  induction e; intros names others H; simpl; auto;
    try (rewrite (IHe _ _ H); reflexivity);
    try (rewrite (IHe1 _ _ H), (IHe2 _ _ H); reflexivity);
    try (rewrite (IHe1 _ _ H), (IHe2 _ _ H), (IHe3 _ _ H); reflexivity).
  - rewrite (IHe1 _ _ H); apply on_list_ext; intros l; f_equal; apply map_ext; intros v; apply IHe2; auto.
  - rewrite (IHe1 _ _ H); apply on_list_ext; intros l; f_equal; apply map_ext; intros v; apply IHe2; auto.
  - rewrite (IHe1 _ _ H); apply collected_ext; intros v; [apply IHe2 | apply IHe3]; auto.
  - rewrite (IHe1 _ _ H); apply IHe2; auto.
  - rewrite (IHe2 _ _ H), (IHe3 _ _ H); apply on_list_ext; intros l; apply folded_ext; intros a b; apply IHe1; auto.
Qed.

Lemma updated_twice : forall names x v w y, updated (updated names x v) x w y = updated names x w y.
Proof. intros; unfold updated; destruct (String.eqb x y); reflexivity. Qed.

Lemma updated_other : forall names x y v w z, String.eqb x y = false ->
  updated (updated names x v) y w z = updated (updated names y w) x v z.
Proof.
  intros; unfold updated; destruct (String.eqb y z) eqn:E, (String.eqb x z) eqn:E'; try reflexivity.
  apply String.eqb_eq in E, E'; subst; rewrite String.eqb_refl in H; discriminate.
Qed.

Ltac split_or := repeat match goal with H : _ || _ = false |- _ => apply orb_false_elim in H; destruct H end.

Lemma eval_without : forall e x, mentions x e = false -> forall names v, eval e (updated names x v) = eval e names.
Proof.
  change mentions with reads; assert (B : forall e x y, (reads x e = false -> forall names v, eval e (updated names x v) = eval e names) ->
    negb (String.eqb x y) && reads x e = false ->
    forall names v w, eval e (updated (updated names x v) y w) = eval e (updated names y w)).
  { intros e x y H M names v w; destruct (String.eqb x y) eqn:E; simpl in M.
    - apply String.eqb_eq in E; subst; apply eval_ext; intros z; apply updated_twice.
    - rewrite <- (H M (updated names y w) v); apply eval_ext; intros z; apply updated_other; assumption. }
  induction e; intros x M names v; simpl in M |- *; split_or; auto;
    try (rewrite IHe by assumption; reflexivity);
    try (rewrite IHe1, IHe2 by assumption; reflexivity);
    try (rewrite IHe1, IHe2, IHe3 by assumption; reflexivity).
  - unfold updated; rewrite M; reflexivity.
  - rewrite IHe1 by assumption; apply on_list_ext; intros l; f_equal; apply map_ext; intros w; apply B; auto.
  - rewrite IHe1 by assumption; apply on_list_ext; intros l; f_equal; apply map_ext; intros w; apply B; auto.
  - rewrite IHe1 by assumption; rewrite Bool.andb_orb_distrib_r in H0; split_or.
    apply collected_ext; intros w; apply B; auto.
  - rewrite IHe1 by assumption; apply B; auto.
  - rewrite IHe2, IHe3 by assumption; apply on_list_ext; intros l; apply folded_ext; intros a b.
    destruct (String.eqb x item) eqn:E.
    + apply String.eqb_eq in E; subst; apply eval_ext; intros z; unfold updated; destruct (String.eqb item z); reflexivity.
    + destruct (String.eqb x total) eqn:E'; simpl in H0.
      * apply String.eqb_eq in E'; subst; apply eval_ext; intros z; unfold updated.
        destruct (String.eqb item z), (String.eqb total z); reflexivity.
      * rewrite <- (IHe1 x H0 (updated (updated names total a) item b) v); apply eval_ext; intros z.
        unfold updated; destruct (String.eqb item z) eqn:I, (String.eqb total z) eqn:T, (String.eqb x z) eqn:X;
          try reflexivity; apply String.eqb_eq in X; subst;
          rewrite String.eqb_sym in E, E'; congruence.
Qed.

(* [e] with [t] for a name; where a loop of [e] has a variable that [t] reads, a Let is left. *)
Fixpoint subst (x : string) (t e : expr) : expr :=
  match e with
  | Int _ | Float _ | Text _ | Nil | Undefined => e
  | Name y => if String.eqb x y then t else e
  | Cons a b => Cons (subst x t a) (subst x t b)
  | Item a b => Item (subst x t a) (subst x t b)
  | Arithmetic s a b => Arithmetic s (subst x t a) (subst x t b)
  | Compare s a b => Compare s (subst x t a) (subst x t b)
  | And a b => And (subst x t a) (subst x t b)
  | Or a b => Or (subst x t a) (subst x t b)
  | Range a b => Range (subst x t a) (subst x t b)
  | Field a f => Field (subst x t a) f
  | Negative a => Negative (subst x t a)
  | Not a => Not (subst x t a)
  | Flatten a => Flatten (subst x t a)
  | Apply f a => Apply f (subst x t a)
  | Stated a => Stated (subst x t a)
  | Part a b c => Part (subst x t a) (subst x t b) (subst x t c)
  | If a b c => If (subst x t a) (subst x t b) (subst x t c)
  | ForAll y s p => if String.eqb x y then ForAll y (subst x t s) p
                    else if mentions y t then (if mentions x e then Let x t e else e) else ForAll y (subst x t s) (subst x t p)
  | Exists y s p => if String.eqb x y then Exists y (subst x t s) p
                    else if mentions y t then (if mentions x e then Let x t e else e) else Exists y (subst x t s) (subst x t p)
  | Let y s p => if String.eqb x y then Let y (subst x t s) p
                    else if mentions y t then (if mentions x e then Let x t e else e) else Let y (subst x t s) (subst x t p)
  | Collect y s q a => if String.eqb x y then Collect y (subst x t s) q a
                    else if mentions y t then (if mentions x e then Let x t e else e) else Collect y (subst x t s) (subst x t q) (subst x t a)
  | Reduce y z b s a =>
      if String.eqb x y || String.eqb x z || mentions y t || mentions z t then (if mentions x e then Let x t e else e)
      else Reduce y z (subst x t b) (subst x t s) (subst x t a)
  end.

Lemma subst_ok : forall x t e names, eval (subst x t e) names = eval e (updated names x (eval t names)).
Proof.
  assert (B : forall x t e y, (forall names, eval (subst x t e) names = eval e (updated names x (eval t names))) ->
    String.eqb x y = false -> mentions y t = false -> forall names v,
    eval (subst x t e) (updated names y v) = eval e (updated (updated names x (eval t names)) y v)).
  { intros x t e y H E M names v; rewrite H, (eval_without t y M).
    apply eval_ext; intros z; apply updated_other; rewrite String.eqb_sym; assumption. }
  assert (S : forall x e y v, String.eqb x y = true -> forall names w,
    eval e (updated names y v) = eval e (updated (updated names x w) y v)).
  { intros x e y v E names w; apply String.eqb_eq in E; subst; apply eval_ext; intros z; symmetry; apply updated_twice. }
  assert (L : forall x t e names, eval (if mentions x e then Let x t e else e) names = eval e (updated names x (eval t names))).
  { intros x t e names; destruct (mentions x e) eqn:M; [reflexivity | symmetry; apply eval_without; exact M]. }
  intros x t e; induction e; intros names; cbn [subst]; try reflexivity;
    try (simpl; rewrite IHe; reflexivity);
    try (simpl; rewrite IHe1, IHe2; reflexivity);
    try (simpl; rewrite IHe1, IHe2, IHe3; reflexivity).
  - simpl; unfold updated; destruct (String.eqb x name); reflexivity.
  - destruct (String.eqb x variable) eqn:E; [| destruct (mentions variable t) eqn:M; [apply L |]];
      simpl; rewrite IHe1; apply on_list_ext; intros l; f_equal; apply map_ext; intros v; auto.
  - destruct (String.eqb x variable) eqn:E; [| destruct (mentions variable t) eqn:M; [apply L |]];
      simpl; rewrite IHe1; apply on_list_ext; intros l; f_equal; apply map_ext; intros v; auto.
  - destruct (String.eqb x variable) eqn:E; [| destruct (mentions variable t) eqn:M; [apply L |]];
      simpl; rewrite IHe1; apply collected_ext; intros v; auto.
  - destruct (String.eqb x name) eqn:E; [| destruct (mentions name t) eqn:M; [apply L |]];
      simpl; rewrite IHe1; auto.
  - destruct (String.eqb x total || String.eqb x item || mentions total t || mentions item t) eqn:M; [apply L |].
    split_or; simpl; rewrite IHe2, IHe3; apply on_list_ext; intros l; apply folded_ext; intros a b.
    rewrite IHe1, (eval_without t item), (eval_without t total) by assumption; apply eval_ext; intros z; unfold updated.
    destruct (String.eqb x z) eqn:X; [| reflexivity]; apply String.eqb_eq in X; subst.
    rewrite (String.eqb_sym item), (String.eqb_sym total).
    repeat match goal with H : String.eqb _ _ = false |- _ => rewrite H; clear H end; reflexivity.
Qed.

(* An expression without Let, where no variable is captured, and with the length of a shape for a rank. *)
Fixpoint inline (e : expr) : expr :=
  match e with
  | Int _ | Float _ | Text _ | Nil | Undefined | Name _ => e
  | Cons a b => Cons (inline a) (inline b)
  | Item a b => Item (inline a) (inline b)
  | Arithmetic s a b => Arithmetic s (inline a) (inline b)
  | Compare s a b => Compare s (inline a) (inline b)
  | And a b => And (inline a) (inline b)
  | Or a b => Or (inline a) (inline b)
  | Range a b => Range (inline a) (inline b)
  | Field a f => if String.eqb f "rank" then Apply Len (Field (inline a) "shape") else Field (inline a) f
  | Negative a => Negative (inline a)
  | Not a => Not (inline a)
  | Flatten a => Flatten (inline a)
  | Apply f a => Apply f (inline a)
  | Stated a => Stated (inline a)
  | Part a b c => Part (inline a) (inline b) (inline c)
  | If a b c => If (inline a) (inline b) (inline c)
  | ForAll y s p => ForAll y (inline s) (inline p)
  | Exists y s p => Exists y (inline s) (inline p)
  | Let y s p => subst y (inline s) (inline p)
  | Collect y s q a => Collect y (inline s) (inline q) (inline a)
  | Reduce y z b s a => Reduce y z (inline b) (inline s) (inline a)
  end.

Lemma inline_ok : forall e names, eval (inline e) names = eval e names.
Proof.
  induction e; intros names; simpl; try reflexivity;
    try (rewrite IHe; reflexivity);
    try (rewrite IHe1, IHe2; reflexivity);
    try (rewrite IHe1, IHe2, IHe3; reflexivity).
  - destruct (String.eqb field "rank") eqn:E; simpl; rewrite IHe; [| reflexivity].
    apply String.eqb_eq in E; subst; destruct (eval e names); reflexivity.
  - rewrite IHe1; apply on_list_ext; intros l; f_equal; apply map_ext; auto.
  - rewrite IHe1; apply on_list_ext; intros l; f_equal; apply map_ext; auto.
  - rewrite IHe1; apply collected_ext; auto.
  - rewrite subst_ok, IHe1, IHe2; reflexivity.
  - rewrite IHe2, IHe3; apply on_list_ext; intros l; apply folded_ext; auto.
Qed.
